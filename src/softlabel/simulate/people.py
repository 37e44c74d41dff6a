"""Simulated people: their beliefs and faults are known, so what a method finds can be checked.

A simulated person sees the truth of an item (m, k) through errors of their own, settles on an
opinion, and answers through a mode exactly as a browser would send it::

    persons = draw_people(24, rng)
    showings = plan_showings(m, 24, rng, per_item=10, repeats=2)
    responses = simulate_answers(truth, persons, Classic(), labels, rng, showings=showings)
    said = read_responses(index, Classic(), responses)

A ``Participant`` is such a person in front of a browser.  Each of their draws depends on a seed, a
person, an item and an occasion, never on an order: the same participant gives the same answer
about the same item however many others answer meanwhile.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy.special import softmax

from softlabel import elicit
from softlabel.errors import DataError, FileError, SoftlabelError
from softlabel.records import stack_answers
from softlabel.registry import check_parameters
from softlabel.tables import Floats, Index, Statements, check_simplex

if TYPE_CHECKING:
    from softlabel.study import Study

UNSEEN = 1e-6  # chance below which nobody notices a class; keeps log 0 out of the opinions
CARELESS = 1 / 8  # of the participants
FILE = "truth.csv"  # in the study folder: id, one column per label
DOUBT = 0.4  # Dirichlet concentration of beliefs that are made up: mostly one label, often two
Screen = tuple[str | None, ...]  # pictures, sound, video, texts
MEDIA = ("image", "image_2", "audio", "video")
Kind = Literal["target", "repeat"]


@dataclass(frozen=True)
class Person:
    """Someone whose faults are known.

    ``noise`` is the standard deviation of their error in each log chance; ``wobble`` the share of
    its variance that is new at every look, so that a repeated answer differs from the first.
    ``sharpness`` is an exponent on the belief: above 1 they sound surer than they have reason to
    be, below 1 less sure.  ``carelessness`` is the share of answers given without looking: the
    belief is then drawn uniformly from all distributions.
    """

    noise: float = 0.5
    sharpness: float = 1.0
    carelessness: float = 0.0
    wobble: float = 0.25

    def __post_init__(self) -> None:
        shares = dict.fromkeys(("carelessness", "wobble"), (0, 1))
        check_parameters(self, noise=(0, 100), sharpness=(0, 100), **shares)


class Showing(NamedTuple):
    """One item on one person's screen; ``repeat`` marks an item they have seen before."""

    item: int
    annotator: int
    kind: Kind = "target"


class Response(NamedTuple):
    """One answer as a browser would send it.  ``careless`` is known only of simulated people."""

    item: int
    annotator: int
    kind: Kind
    answer: dict[str, Any]
    careless: bool


def draw_people(n: int, rng: np.random.Generator, careless: float = 0.1) -> list[Person]:
    """Draw plausible people: most are attentive and roughly calibrated, and ``careless * n``
    (rounded) of them click through most of their pages."""
    if n < 1 or not 0 <= careless <= 1:
        raise SoftlabelError(f"draw_people({n=}, {careless=}): n >= 1 and careless in 0..1")
    # with 0.8 attentive people agree, and repeat themselves, about as closely as in CIFAR-10S
    noise = np.exp(rng.normal(np.log(0.8), 0.3, n))
    sharpness = np.exp(rng.normal(0.0, 0.25, n))
    lapses = rng.beta(1, 40, n)
    asleep = rng.permutation(n)[: round(careless * n)]
    lapses[asleep] = rng.uniform(0.5, 0.9, len(asleep))
    rows = zip(noise.tolist(), sharpness.tolist(), lapses.tolist(), strict=True)
    return [Person(*settings) for settings in rows]


def plan_showings(
    items: int,
    annotators: int,
    rng: np.random.Generator,
    *,
    per_item: int | None = None,
    repeats: int = 0,
) -> list[Showing]:
    """Plan who sees what: ``per_item`` different people per item (everybody if None), equally busy,
    each in an order of their own; the first ``repeats`` items of each come back at the end."""
    per_item = annotators if per_item is None else per_item
    if not 1 <= per_item <= annotators:
        raise SoftlabelError(f"{per_item = }: must be from 1 to the {annotators} annotators")
    if repeats < 0:
        raise SoftlabelError(f"{repeats = }: must be 0 or more")
    load = np.zeros(annotators)
    seen: list[list[int]] = [[] for _ in range(annotators)]
    for item in rng.permutation(items).tolist():
        # the least busy first; the random part only breaks ties
        for person in np.argsort(load + rng.random(annotators) / 2)[:per_item].tolist():
            seen[person].append(item)
            load[person] += 1
    showings = []
    for person, own in enumerate(seen):
        order = rng.permutation(own).tolist() if own else []
        showings += [Showing(item, person) for item in order]
        showings += [Showing(item, person, "repeat") for item in order[:repeats]]
    return showings


def draw_opinions(truth: Floats, persons: Sequence[Person], rng: np.random.Generator) -> Floats:
    """Draw the log chances (a, m, k) on which each person has settled for each item: the truth plus
    the lasting part of their error.  Given to two modes, they ask the same people twice."""
    truth = np.asarray(truth, dtype=np.float64)
    check_simplex("truth", truth)
    lasting = np.array([p.noise * np.sqrt(1 - p.wobble) for p in persons])
    errors = rng.standard_normal((len(persons), *truth.shape))
    return np.log(np.maximum(truth, UNSEEN)) + lasting[:, None, None] * errors


def draw_belief(person: Person, opinion: Floats, rng: np.random.Generator) -> tuple[Floats, bool]:
    """Draw the belief (k,) that a person answers by at one look at an item, given their opinion of
    it, and whether they were careless: then it is any distribution."""
    if rng.random() < person.carelessness:
        return rng.dirichlet(np.ones(len(opinion))), True
    fresh = person.noise * np.sqrt(person.wobble) * rng.standard_normal(opinion.shape)
    return np.asarray(softmax(person.sharpness * (opinion + fresh))), False


def simulate_answers(
    truth: Floats,
    persons: Sequence[Person],
    mode: elicit.Mode,
    labels: Sequence[str],
    rng: np.random.Generator,
    *,
    showings: Sequence[Showing] | None = None,
    held: Floats | None = None,
) -> list[Response]:
    """Return what these people send about items with this truth (m, k), in order of showing.

    Without ``showings`` everybody sees every item once; ``held`` are their opinions (None: drawn).
    """
    held = draw_opinions(truth, persons, rng) if held is None else held
    items, k = np.asarray(truth).shape
    if held.shape != (len(persons), items, k) or len(labels) != k:
        raise SoftlabelError(
            f"{len(persons)} persons, {len(labels)} labels and a truth of shape {(items, k)} "
            f"do not fit opinions of shape {held.shape}"
        )
    responses = []
    showings = plan_showings(items, len(persons), rng) if showings is None else showings
    for item, who, kind in showings:
        belief, careless = draw_belief(persons[who], held[who, item], rng)
        answer = mode.simulate(belief, labels, rng)
        responses.append(Response(item, who, kind, answer, careless))
    return responses


def read_responses(index: Index, mode: elicit.Mode, responses: Sequence[Response]) -> Statements:
    """Read these answers by the mode that asked for them."""
    labels = index.labels.tolist()
    item = np.array([response.item for response in responses], dtype=np.int64)
    annotator = np.array([response.annotator for response in responses], dtype=np.int64)
    answers = [mode.read(response.answer, labels) for response in responses]
    return stack_answers(index, item, annotator, answers)


# ── people in front of a browser ─────────────────────────────────────────────────────────────


def keyed_rng(seed: int, *names: object) -> np.random.Generator:
    """Return the random generator that belongs to a seed and these names."""
    digest = blake2b("\x1f".join(map(str, (seed, *names))).encode(), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))


@dataclass(frozen=True)
class Habits:
    """How people treat their browsers: shares of answers sent twice and of requests broken off in
    the middle, of people who fail the quiz at first, of ``hopeless`` people who fail it every time,
    and of people who leave before the end; ``think`` is the mean time, in seconds, that they really
    take over each page and item."""

    duplicates: float = 0.0
    disconnects: float = 0.0
    fail_quiz: float = 0.0
    leavers: float = 0.0
    think: float = 0.0
    hopeless: float = 0.0

    def __post_init__(self) -> None:
        rates = ("duplicates", "disconnects", "fail_quiz", "leavers", "hopeless")
        check_parameters(self, **dict.fromkeys(rates, (0, 1)), think=(0, 86_400))


@dataclass(frozen=True)
class Participant:
    """The ``number``-th simulated person of a seed."""

    number: int
    person: Person
    seed: int

    def draw(self, *occasion: object) -> np.random.Generator:
        """Return this person's random generator for one occasion."""
        return keyed_rng(self.seed, self.number, *occasion)

    def answer(
        self, item: str, truth: Floats, occasion: str, mode: elicit.Mode, labels: Sequence[str]
    ) -> dict[str, Any]:
        """Answer about an item with this truth (k,).  On another occasion the opinion is the same,
        and the look at the item is a new one."""
        held = draw_opinions(truth[None], [self.person], self.draw(item, "opinion"))[0, 0]
        rng = self.draw(item, occasion)
        return mode.simulate(draw_belief(self.person, held, rng)[0], labels, rng)


def draw_participants(annotators: int, seed: int) -> list[Participant]:
    """Draw so many people; one in eight hardly looks."""
    persons = draw_people(annotators, keyed_rng(seed, "people"), CARELESS)
    return [Participant(number, person, seed) for number, person in enumerate(persons)]


# Milliseconds, medians: 1.3 s to decide and 1 s per further input, by the keystroke-level model.
FIRST_INPUT, PER_FIELD, SUBMIT = 1300.0, 1000.0, 500.0
SPREAD = 0.4  # standard deviation of the logarithm
DISTRACTED = 0.02  # share of answers during which the page was hidden for a while


def simulate_timing(
    answer: Mapping[str, Any], mode: elicit.Mode, rng: np.random.Generator
) -> dict[str, Any]:
    """Return the timing of one answer as a browser measures it: ms since the item was painted."""
    given = [field.name for field in mode.fields if answer.get(field.name) not in (None, [], {})]
    medians = np.array([FIRST_INPUT, *[PER_FIELD] * (len(given) - 1), SUBMIT])
    expected = elicit.mode.expected_seconds(mode)
    slower = 1.0 if expected is None else expected.slower
    steps = medians * slower * np.exp(rng.normal(0, SPREAD, len(medians)))
    hidden = rng.exponential(20_000.0) if rng.random() < DISTRACTED else 0.0
    moments = np.cumsum(steps)
    submit = round(float(moments[-1] + hidden))
    return {
        "media_ready_ms": round(float(rng.gamma(4, 25))),
        "first_input_ms": round(float(moments[0])),
        "submit_ms": submit,
        "active_ms": submit - round(hidden),
        "hidden_ms": round(hidden),
        "fields": {name: round(at) for name, at in zip(given, moments.tolist(), strict=False)},
    }


# ── what they can know of an item on their screen ────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class Truth:
    """The truth of each item.  The server never names an item; it is known by what can be seen."""

    ids: Mapping[Screen, str]
    of: Mapping[str, Floats]  # (k,) by item id, in the study's order of labels

    def identify(self, showing: Mapping[str, Any]) -> str:
        """Return the id of the item in a showing of the plan."""
        media = (showing.get(name) for name in MEDIA)
        files = (address and address.rpartition("/")[2] for address in media)
        texts = (one["text"] for one in showing.get("texts", ()))
        seen = (*files, showing["text"], *texts)
        if seen not in self.ids:
            raise DataError(f"the server shows {seen}, which is no item of this study folder")
        return self.ids[seen]


def read_truth(study: Study, seed: int) -> Truth:
    """Return the truth of every item: from truth.csv, or else the item's gold, or else made up by
    the seed.  The text of an attention check overrides what can be seen, so its gold comes first.
    Of two items that look the same, the first one is known."""
    path = study.folder / FILE
    written = read_truth_file(path, study.labels) if path.is_file() else {}
    ids: dict[Screen, str] = {}
    of: dict[str, Floats] = {}
    for item in (*study.items, *study.practice, *study.checks):
        media = (getattr(item, name) for name in MEDIA)
        files = (file and file.sha256 for file in media)
        ids.setdefault((*files, item.text, *(text for _, text in item.texts)), item.id)
        if item.gold is not None and (item.id not in written or item.kind == "attention"):
            of[item.id] = np.array(item.gold)
        elif item.id in written:
            of[item.id] = written[item.id]
        else:
            rng = keyed_rng(seed, "truth", item.id)
            of[item.id] = rng.dirichlet(np.full(len(study.labels), DOUBT))
    return Truth(ids, of)


def read_truth_file(path: Path, labels: tuple[str, ...]) -> dict[str, Floats]:
    """Read a distribution over these labels for each item id."""
    truth = {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        for name in ("id", *labels):
            if name not in (rows.fieldnames or ()):
                raise FileError(path, "there is no such column", line=1, column=name)
        for row in rows:
            try:
                probs = np.array([float(row[label]) for label in labels])
                check_simplex("truth", probs[None])
            except (TypeError, ValueError, DataError) as error:
                raise FileError(path, str(error), line=rows.line_num) from None
            truth[row["id"]] = probs
    return truth
