"""The same experiment in a minute, without data: simulated people look at generated pictures."""

from __future__ import annotations

import numpy as np

from softlabel import simulate
from softlabel.aggregate import Mean
from softlabel.construct import Clamp, Hard
from softlabel.deliver import Teaching
from softlabel.elicit import Classic
from softlabel.elicit import Hard as Vote
from softlabel.metrics import one_hot
from softlabel.pictures import shapes
from softlabel.recipes.published import Known
from softlabel.reproduce.collins2022_settings import GENERATED, Exam, Setting
from softlabel.tables import Annotations, Index, Ints, Names, SoftLabels, names

LEARN, RELABELLED, HELD, APART = 96, 32, 60, 12  # pictures; the relabelled are among the first
PEOPLE, PER_ITEM, SIDE = 12, 6, 16


def generated(seed: int = 22) -> Setting:
    """96 pictures to learn from, 32 of them relabelled; 60 with votes and 12 with rich answers held
    out."""
    rng = np.random.default_rng(seed)
    blend = shapes.weights(LEARN + HELD + APART, rng)
    images = np.stack([shapes.draw(row, rng, SIDE) for row in blend])
    truth, gold = shapes.truth(blend), blend.argmax(axis=1)
    items = names([f"picture-{i:03d}" for i in range(len(blend))])
    persons = simulate.people(PEOPLE, rng)
    index = Index(items, names([f"person-{i}" for i in range(PEOPLE)]), names(shapes.LABELS))
    shown = simulate.plan(len(items), PEOPLE, rng, per_item=PER_ITEM)
    labels = index.labels.tolist()
    rich = simulate.answers(truth, persons, Classic(), labels, rng, showings=shown)
    voted = simulate.answers(truth, persons, Vote(), labels, rng)
    said = simulate.statements(index, Classic(), rich)
    votes = Hard()(simulate.statements(index, Vote(), voted))
    held, apart = items[LEARN : LEARN + HELD], items[LEARN + HELD :]
    people = {"10h": _of(votes, held), "10s": _of(Clamp()(said), apart)}
    rows = {"10h": gold[LEARN : LEARN + HELD], "10s": gold[LEARN + HELD :]}
    asked = np.arange(RELABELLED)
    known = Known(
        GENERATED,
        items,
        images,
        items[:LEARN],
        gold[:LEARN],
        Teaching(gold[:LEARN], one_hot(gold[:LEARN], len(labels))),
        items[LEARN:],
        people["10h"],
    )
    few = said.take(np.isin(said.item, asked))
    return Setting(
        known,
        few,
        few,
        votes.take(np.isin(votes.item, asked)),
        {name: Exam(people[name], rows[name], 10) for name in people},
        None,
    )


def _of(said: Annotations, wanted: Names) -> SoftLabels:
    """Mean labels of these items."""
    soft = Mean()(said)
    place: dict[str, int] = {item: row for row, item in enumerate(soft.index.items.tolist())}
    rows: Ints = np.array([place[item] for item in wanted.tolist()])
    index = Index(wanted, names([]), soft.index.labels)
    return SoftLabels(index, soft.probs[rows], soft.count[rows])
