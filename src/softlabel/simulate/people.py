"""People we made up: their beliefs and faults are known, so what a method finds can be checked.

A simulated person sees the truth of an item (m, k) through errors of their own, settles on an
opinion, and answers through a mode exactly as a browser would send it::

    persons = people(24, rng)
    shown = plan(m, 24, rng, per_item=10, repeats=2)
    responses = answers(truth, persons, Classic(), labels, rng, showings=shown)
    said = statements(index, Classic(), responses)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import softmax

from softlabel.elicit import Mode
from softlabel.errors import SoftlabelError
from softlabel.records import stack
from softlabel.registry import check_parameters
from softlabel.tables import Floats, Index, Statements, check_simplex

UNSEEN = 1e-6  # chance below which nobody notices a class; keeps log 0 out of the opinions
Kind = Literal["target", "repeat"]


@dataclass(frozen=True)
class Person:
    """Someone whose faults are known.

    ``noise`` is the standard deviation of their error in each log chance; ``wobble`` the share of
    its variance that is new at every look, so that a repeated answer differs from the first.
    ``sharpness`` is an exponent on the belief: above 1 they sound surer than they have reason to
    be, below 1 less sure.  ``carelessness`` is the share of answers given without looking: the
    belief is then drawn evenly from all distributions.
    """

    noise: float = 0.5
    sharpness: float = 1.0
    carelessness: float = 0.0
    wobble: float = 0.25

    def __post_init__(self) -> None:
        check_parameters(
            self, noise=(0, 100), sharpness=(0, 100), carelessness=(0, 1), wobble=(0, 1)
        )


class Showing(NamedTuple):
    """One item on one person's screen; ``repeat`` marks an item they have seen before."""

    item: int
    annotator: int
    kind: Kind = "target"


class Response(NamedTuple):
    """One answer as a browser would send it.  ``careless`` says what no real study knows."""

    item: int
    annotator: int
    kind: Kind
    answer: dict[str, Any]
    careless: bool


def people(n: int, rng: np.random.Generator, careless: float = 0.1) -> list[Person]:
    """A plausible crowd: most people attentive and roughly calibrated, ``careless * n`` (rounded)
    of them clicking through most of their pages."""
    if n < 1 or not 0 <= careless <= 1:
        raise SoftlabelError(f"people(n={n}, careless={careless}): n >= 1 and careless in 0..1")
    # with 0.8 attentive people agree, and repeat themselves, about as closely as in CIFAR-10S
    noise = np.exp(rng.normal(np.log(0.8), 0.3, n))
    sharpness = np.exp(rng.normal(0.0, 0.25, n))
    lapses = rng.beta(1, 40, n)
    asleep = rng.permutation(n)[: round(careless * n)]
    lapses[asleep] = rng.uniform(0.5, 0.9, len(asleep))
    rows = zip(noise.tolist(), sharpness.tolist(), lapses.tolist(), strict=True)
    return [Person(*settings) for settings in rows]


def plan(
    items: int,
    annotators: int,
    rng: np.random.Generator,
    *,
    per_item: int | None = None,
    repeats: int = 0,
) -> list[Showing]:
    """Who sees what: ``per_item`` different people per item (everybody if None), equally busy,
    each in an order of their own; the first ``repeats`` items of each come back at the end."""
    per_item = annotators if per_item is None else per_item
    if not 1 <= per_item <= annotators:
        raise SoftlabelError(
            f"per_item = {per_item}: must be from 1 to the {annotators} annotators"
        )
    if repeats < 0:
        raise SoftlabelError(f"repeats = {repeats}: must be 0 or more")
    load = np.zeros(annotators)
    seen: list[list[int]] = [[] for _ in range(annotators)]
    for item in rng.permutation(items).tolist():
        # least busy first; the random part only breaks ties
        for person in np.argsort(load + rng.random(annotators) / 2)[:per_item].tolist():
            seen[person].append(item)
            load[person] += 1
    showings = []
    for person, own in enumerate(seen):
        order = rng.permutation(own).tolist() if own else []
        showings += [Showing(item, person) for item in order]
        showings += [Showing(item, person, "repeat") for item in order[:repeats]]
    return showings


def opinions(truth: Floats, persons: Sequence[Person], rng: np.random.Generator) -> Floats:
    """(a, m, k) log chances on which each person has settled for each item: the truth plus the
    lasting part of their error.  Give the same ones to two modes to ask the same people twice."""
    truth = np.asarray(truth, dtype=np.float64)
    check_simplex("truth", truth)
    lasting = np.array([p.noise * np.sqrt(1 - p.wobble) for p in persons])
    errors = rng.standard_normal((len(persons), *truth.shape))
    return np.log(np.maximum(truth, UNSEEN)) + lasting[:, None, None] * errors


def belief(person: Person, opinion: Floats, rng: np.random.Generator) -> Floats:
    """(k,) what a person believes at one look at an item they have this opinion (k,) of."""
    fresh = person.noise * np.sqrt(person.wobble) * rng.standard_normal(opinion.shape)
    return np.asarray(softmax(person.sharpness * (opinion + fresh)))


def look(person: Person, opinion: Floats, rng: np.random.Generator) -> tuple[Floats, bool]:
    """(k,) what a person answers by when an item comes up, and whether they did not look at it:
    then it is any distribution."""
    if rng.random() < person.carelessness:
        return rng.dirichlet(np.ones(len(opinion))), True
    return belief(person, opinion, rng), False


def answers(
    truth: Floats,
    persons: Sequence[Person],
    mode: Mode,
    labels: Sequence[str],
    rng: np.random.Generator,
    *,
    showings: Sequence[Showing] | None = None,
    held: Floats | None = None,
) -> list[Response]:
    """What these people send when asked about items with this truth (m, k), in order of showing.

    Without ``showings`` everybody sees every item once; ``held`` are their ``opinions``, drawn
    here if not given.
    """
    held = opinions(truth, persons, rng) if held is None else held
    items, k = np.asarray(truth).shape
    if held.shape != (len(persons), items, k) or len(labels) != k:
        raise SoftlabelError(
            f"{len(persons)} persons, {len(labels)} labels and a truth of shape {(items, k)} "
            f"do not fit opinions of shape {held.shape}"
        )
    showings = plan(items, len(persons), rng) if showings is None else showings
    responses = []
    for item, who, kind in showings:
        believed, careless = look(persons[who], held[who, item], rng)
        answer = mode.simulate(believed, labels, rng)
        responses.append(Response(item, who, kind, answer, careless))
    return responses


def statements(index: Index, mode: Mode, responses: Sequence[Response]) -> Statements:
    """The same answers, read by the mode that asked for them."""
    labels = index.labels.tolist()
    item = np.array([response.item for response in responses], dtype=np.int64)
    annotator = np.array([response.annotator for response in responses], dtype=np.int64)
    read = [mode.read(response.answer, labels) for response in responses]
    return stack(index, item, annotator, read)
