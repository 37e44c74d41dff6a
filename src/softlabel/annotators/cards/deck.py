"""All cards: what is common to everybody, and everybody."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from softlabel.annotators import agree
from softlabel.annotators.cards.card import Card, Labels, described
from softlabel.annotators.cards.reference import Reference, reference_of
from softlabel.annotators.cards.temperature import temperature
from softlabel.annotators.quality import FEW, PRESETS, Rules, judge, usual
from softlabel.errors import DataError
from softlabel.metrics import spread
from softlabel.sampling import first_presentation
from softlabel.tables import Annotations, Floats, Ints, SoftLabels, Statements

MOST_CELLS = 50_000_000  # of all confusion matrices together: 400 MB


@dataclass(frozen=True, eq=False)
class Cards:
    """``people`` with most flags come first, then those who agree least with the others.

    ``reference`` says in words what confusion and reliability are against; agreement, calibration
    and temperature are always against the others.  ``temperature`` is the one that fits everybody
    together (NaN for plain votes, which state no chances).  ``repeats`` are everybody's.
    """

    labels: tuple[str, ...]
    items: int
    answers: int
    reference: str
    temperature: float
    repeats: agree.Repeats
    people: tuple[Card, ...]


def cards(
    each: Annotations,
    said: Statements | None = None,
    *,
    gold: Ints | None = None,
    pooled: SoftLabels | None = None,
    seconds: Floats | None = None,
    rules: Rules = PRESETS["paper"],
    skips: Mapping[str, Mapping[str, int]] | None = None,
) -> Cards:
    """The cards of everybody who answered, or of whom only ``skips`` are known.

    ``each`` holds one label per answer, repeats included, in the order in which they were given;
    ``said`` the statements they were made from, row by row, where there are any: then ``rules``
    are applied.  ``gold`` (m,) are class codes, -1 unknown; ``pooled`` a truth posterior of the
    same items; ``seconds`` (n,) the time each answer took, NaN unknown.  ``skips`` says how often
    each person skipped an item, by reason.
    """
    if each.anonymous:
        raise DataError("annotators cannot be described: some answers are anonymous")
    reference = reference_of(len(each.index.labels), gold, pooled)
    once = each.take(first_presentation(each))
    common = _common_temperature(once)
    people = _described(once, reference, common)
    everybody, mine = agree.steadiness(each, said)
    people = {
        a: replace(card, repeats=mine.get(card.annotator, agree.NEVER))
        for a, card in people.items()
    }
    people = _with_skill(_with_times(people, each, seconds), pooled)
    if said is not None:
        people = _judged(people, said, rules, gold)
    return Cards(
        labels=tuple(each.index.labels.tolist()),
        items=int((each.votes_per_item() > 0).sum()),
        answers=len(each),
        reference=reference.words,
        temperature=common,
        repeats=everybody,
        people=_flagged(_with_skips(people, skips or {})),
    )


Deck = dict[int, Card]  # by the annotator's code


def _common_temperature(once: Annotations) -> float:
    if once.probs is None:
        return math.nan
    shared = once.votes_per_item()[once.item] > 1
    own, item = once.probs[shared], once.item[shared]
    return temperature(own, agree.others(own, once.counts()[item]))


def _described(once: Annotations, reference: Reference, common: float) -> Deck:
    _, people, k = once.index.shape
    beside = agree.cards(once)
    matrix = people * k * k <= MOST_CELLS
    return {
        a: described(beside[a], labels, common, matrix) for a, labels in _by_person(once, reference)
    }


def _by_person(once: Annotations, reference: Reference) -> Iterator[tuple[int, Labels]]:
    """The labels of each annotator who answered, with their code."""
    counts, size = once.counts(), once.votes_per_item()
    order = np.argsort(once.annotator, kind="stable")
    codes, start = np.unique(once.annotator[order], return_index=True)
    for a, rows in zip(codes.tolist(), np.split(order, start)[1:], strict=True):
        item = once.item[rows]
        own = once.take(rows).soft()
        others = agree.others(own, counts[item])
        found, known = reference.rows(item, others)
        yield a, Labels(own, others, size[item] > 1, found, known)


def _with_times(people: Deck, each: Annotations, seconds: Floats | None) -> Deck:
    """Answers counted and timed, repeats included."""
    answers = np.bincount(each.annotator, minlength=len(each.index.annotators))
    taken = np.full(len(each), math.nan) if seconds is None else np.asarray(seconds)
    if len(taken) != len(each):
        raise DataError(f"seconds has {len(taken)} entries for {len(each)} answers")
    order = np.argsort(each.annotator, kind="stable")
    times = np.split(taken[order], np.cumsum(answers)[:-1])
    return {
        a: replace(card, answers=int(answers[a]), seconds=spread(times[a].tolist()))
        for a, card in people.items()
    }


def _with_skips(people: Deck, skips: Mapping[str, Mapping[str, int]]) -> Deck:
    """With what each person skipped, and a card for those who did nothing else."""
    found = {a: replace(card, skips=skips.get(card.annotator, {})) for a, card in people.items()}
    silent = sorted(skips.keys() - {card.annotator for card in people.values()})
    cards = (Card(annotator=name, answers=0, skips=skips[name]) for name in silent)
    return found | dict(enumerate(cards, start=max(people, default=-1) + 1))


def _with_skill(people: Deck, pooled: SoftLabels | None) -> Deck:
    """What the truth pool thinks of each person, where it thinks of people at all."""
    skill: Floats = getattr(pooled, "skill", np.zeros(0))
    if not len(skill):
        return people
    return {a: replace(card, skill=float(skill[a])) for a, card in people.items()}


def _judged(people: Deck, said: Statements, rules: Rules, gold: Ints | None) -> Deck:
    verdicts = {verdict.annotator: verdict for verdict in judge(said, rules, gold)}
    return {
        a: replace(
            card,
            flags=verdicts[card.annotator].reasons,
            remarks=verdicts[card.annotator].remarks,
        )
        for a, card in people.items()
    }


def _flagged(people: Deck) -> tuple[Card, ...]:
    """With the flags that take everybody to see, in the order in which they deserve a look."""
    common = usual(
        (card.seconds.median for card in people.values()),
        (card.agreement for card in people.values() if card.answers >= FEW),
    )
    found = []
    for card in people.values():
        strange = common.flags(card.answers, card.seconds.median, card.agreement)
        found.append(replace(card, flags=(*card.flags, *strange)))
    return tuple(sorted(found, key=_rank))


def _rank(card: Card) -> tuple[int, bool, float, str]:
    unknown = math.isnan(card.agreement)
    return -len(card.flags), unknown, 0.0 if unknown else card.agreement, card.annotator
