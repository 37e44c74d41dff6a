"""Every registered strategy passes the checks of its family; and every check can fail."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from softlabel import DataError, registry, testing
from softlabel.aggregate import Belief, DawidSkene, Dirichlet, Majority, Mean, Softmax
from softlabel.construct import Clamp, Select, Uniform
from softlabel.deliver import SLS, Control, Hard, Smoothing, StaleSLS, Subsample
from softlabel.io import formats
from softlabel.metrics.base import pair
from softlabel.tables import Annotations, SoftLabels

MEMBERS = [
    pytest.param(family, kind, id=f"{family}-{name}")
    for family in registry.families()
    for name, kind in registry.members(family).items()
]
VARIANTS = [
    *(Clamp(top, 0.2, "strict") for top in (1, 2, "all")),
    Uniform(top=1),
    Select(),
]


@pytest.mark.parametrize(("family", "kind"), MEMBERS)
def test_registered_strategies_pass(family, kind):
    testing.check_family(family, kind)


@pytest.mark.parametrize("construct", VARIANTS, ids=str)
def test_constructions_pass_with_other_parameters(construct):
    testing.check_construct(construct)


@pytest.mark.parametrize(
    "aggregate", [Softmax(0.3), Majority("random", 3), Majority("split")], ids=str
)
def test_aggregators_pass_with_other_parameters(aggregate):
    testing.check_aggregate(aggregate)


@pytest.mark.parametrize(
    "deliver",
    [Smoothing(0), StaleSLS(1), StaleSLS(50), Control("sorted"), Subsample(1, "per-annotator")],
    ids=str,
)
def test_deliveries_pass_with_other_parameters(deliver):
    testing.check_deliver(deliver)


def test_a_family_without_checks_is_no_pass():
    with pytest.raises(AssertionError, match="no checks for the family 'pool'"):
        testing.check_family("pool", object)


# ── broken on purpose: one per check ─────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Broken:
    """A strategy that spoils what a sound one returns."""

    sound: Any
    spoil: Any
    name: ClassVar[str] = "broken"
    estimand: ClassVar[str] = "distribution"
    ruled_out_stays_zero: ClassVar[bool] = True

    def __call__(self, said, map=map, shards=1):
        made = self.sound(said) if isinstance(self.sound, Clamp) else self.sound(said, map, shards)
        return self.spoil(made, said, shards)


def unchecked(table, **columns):
    """A table with columns that its own check would refuse."""
    made = object.__new__(type(table))
    for name, value in {**vars(table), **columns}.items():
        object.__setattr__(made, name, value)
    return made


def shifted_by_rows(made, said, shards):
    probs = np.array(made.soft())
    probs[0] = probs[0][::-1]
    return replace(made, probs=probs)


def by_class_position(made, said, shards):
    weights = made.soft() * np.arange(1, made.soft().shape[1] + 1)
    return replace(made, probs=weights / weights.sum(axis=1, keepdims=True))


def leaking(made, said, shards):
    return replace(made, probs=0.9 * made.soft() + 0.1 / made.soft().shape[1])


def wandering(made, said, shards):
    step = np.random.default_rng().random(made.soft().shape) * 1e-3
    probs = made.soft() * (1 + step)
    return replace(made, probs=probs / probs.sum(axis=1, keepdims=True))


BROKEN_CONSTRUCTIONS = {
    "sum to 1": lambda made, said, shards: unchecked(made, probs=made.soft() * 1.1),
    "order of the rows": shifted_by_rows,
    "classes in another order": by_class_position,
    "ruled out and not named": leaking,
    "two calls differ|order of the rows": wandering,
    "one label per answer": lambda made, said, shards: made.take(np.arange(len(made) - 1)),
}


@pytest.mark.parametrize("complaint", BROKEN_CONSTRUCTIONS)
def test_construction_checks_can_fail(complaint):
    with pytest.raises(Exception, match=complaint):
        testing.check_construct(Broken(Clamp(), BROKEN_CONSTRUCTIONS[complaint]))


def tilt(probs, weights):
    probs = probs * weights
    return probs / probs.sum(axis=1, keepdims=True)


def last_row_counts_double(made, said, shards):
    probs = np.array(made.probs)
    probs[said.item[-1]] = (probs[said.item[-1]] + said.soft()[-1]) / 2
    return replace(made, probs=probs)


def first_annotator_decides(made, said, shards):
    probs = np.array(made.probs)
    rows = said.annotator == 0
    probs[said.item[rows]] = said.soft()[rows]
    return replace(made, probs=probs)


def loser_wins(made, said, shards):
    return replace(made, probs=(1 - made.probs) / 2)


def depends_on_shards(made, said, shards):
    return replace(made, probs=tilt(made.probs, 1 + 1e-6 * shards * np.arange(3)))


def mostly_wrong(made, said, shards):
    """Right where people are unanimous, wrong elsewhere."""
    split = made.probs.max(axis=1) < 1
    return replace(made, probs=np.where(split[:, None], 1 - made.probs, made.probs * 2) / 2)


def guesses_for_silence(made, said, shards):
    silent = made.count == 0
    return unchecked(made, probs=np.where(silent[:, None], 1 / 3, made.probs))


def pool_wandering(made, said, shards):
    return replace(
        made, probs=tilt(made.probs, 1 + 1e-14 * np.random.default_rng().random(made.probs.shape))
    )


def by_alphabet(made, said, shards):
    order = np.argsort(np.argsort(said.index.labels.tolist()))
    return replace(made, probs=tilt(made.probs, 1 + 0.1 * order))


BROKEN_AGGREGATORS = {
    "sum to 1": lambda made, said, shards: unchecked(made, probs=made.probs * 1.1),
    "number of answers": lambda made, said, shards: replace(made, count=made.count + 1),
    "order of the rows": last_row_counts_double,
    "renumbering annotators": first_annotator_decides,
    "classes in another order": lambda made, said, shards: replace(
        made, probs=tilt(made.probs, np.array([1.0, 1.1, 1.2]))
    ),
    "everybody named one class": loser_wins,
    "shards change": depends_on_shards,
    "planted truths": mostly_wrong,
    "must have no label": guesses_for_silence,
    "two calls differ": pool_wandering,
    "its labels say 'truth'": lambda made, said, shards: replace(made, estimand="truth"),
    "other names": by_alphabet,
}


def complaints(broken):
    """What the checks say against a strategy."""
    failed = []
    for check in testing.AGGREGATE_CHECKS:
        try:
            check(broken)
        except Exception as error:  # noqa: BLE001 - tables refuse with an error of their own
            failed.append(str(error))
    return failed


@pytest.mark.parametrize("complaint", BROKEN_AGGREGATORS)
def test_aggregator_checks_can_fail(complaint):
    failed = complaints(Broken(Mean(), BROKEN_AGGREGATORS[complaint]))
    assert any(complaint in text for text in failed), failed


@dataclass(frozen=True)
class BrokenTruth:
    """Dawid and Skene's, spoilt."""

    spoil: Any
    n_iter: int = 100
    name: ClassVar[str] = "broken"
    estimand: ClassVar[str] = "truth"

    def __call__(self, said, map=None, shards=None, *, gold=None, start=None):
        made = DawidSkene()(said, map, shards, gold=gold, start=start)
        return self.spoil(made, said, gold, start)


def doubts_the_sure(made, said, gold, start):
    return made if said.hard else replace(made, probs=tilt(made.probs, np.array([1, 1.1, 1.2])))


def forgets_gold(made, said, gold, start):
    return made if gold is None else DawidSkene()(said)


def hears_codes_only(made, said, gold, start):
    return DawidSkene()(said) if isinstance(gold, dict) else made


def moves_on(made, said, gold, start):
    return made if start is None else replace(made, probs=made.probs[:, [1, 2, 0]])


def loses_ground(made, said, gold, start):
    return made if start is None else replace(made, trace=made.trace - 1)


BROKEN_TRUTHS = {
    "(one-hot) give another label": doubts_the_sure,
    "whose class is known has another": forgets_gold,
    "gold by name and gold by code": hears_codes_only,
    "starting from its own result gives another": moves_on,
    "of the objective": loses_ground,
    "the objective falls": lambda made, *_: replace(made, trace=made.trace[::-1]),
    "not a finite number": lambda made, *_: replace(made, trace=made.trace * np.nan),
    "never asked has a skill": lambda made, *_: replace(made, skill=np.nan_to_num(made.skill)),
    "one entry per annotator": lambda made, *_: replace(made, skill=made.skill[1:]),
    "was asked has no skill": lambda made, *_: replace(made, skill=made.skill * np.nan),
    "confusion does not sum": lambda made, *_: replace(made, confusion=made.confusion * 2),
    "prior does not sum": lambda made, *_: replace(made, prior=made.prior * 2),
    "are no limits": lambda made, *_: replace(
        made, confusion_low=made.confusion + 0.1, confusion_high=made.confusion
    ),
}


@pytest.mark.parametrize("complaint", BROKEN_TRUTHS)
def test_checks_of_truth_can_fail(complaint):
    failed = complaints(BrokenTruth(BROKEN_TRUTHS[complaint]))
    assert any(complaint in text for text in failed), failed


@dataclass(frozen=True)
class BrokenSplit:
    """The empirical Bayes pool, spoilt."""

    spoil: Any
    name: ClassVar[str] = "broken"
    estimand: ClassVar[str] = "distribution"

    def __call__(self, said, map=map, shards=1, *, prior=None):
        return self.spoil(Dirichlet()(said, map, shards, prior=prior))


class BrokenBelief(Belief):
    """A belief whose answers are spoilt by ``limits`` and ``worth``."""

    limits = staticmethod(lambda low, high, level: (low, high))
    worth = staticmethod(lambda gain: gain)

    def interval(self, level=0.9):
        return self.limits(*super().interval(level), level)

    def gain(self):
        return self.worth(super().gain())


def believing(**spoilt):
    kind = type("Odd", (BrokenBelief,), {name: staticmethod(f) for name, f in spoilt.items()})
    return lambda made: replace(
        made, belief=kind(made.index, made.belief.evidence, made.belief.prior)
    )


BROKEN_SPLITS = {
    "not the mean of the belief": lambda made: replace(
        made, probs=tilt(made.probs, np.array([1, 1.1, 1.2]))
    ),
    "limits are not in order": believing(limits=lambda low, high, level: (high, low)),
    "do not hold their mean": believing(limits=lambda low, high, level: (low * 0, low * 0 + 1e-3)),
    "does not hold that of 50 %": believing(
        limits=lambda low, high, level: (low, (low + high) / 2 if level > 0.95 else high)
    ),
    "one entry per item": believing(worth=lambda gain: gain[1:]),
    "expected gain of a vote is": believing(worth=lambda gain: gain - 1),
}


@pytest.mark.parametrize("complaint", BROKEN_SPLITS)
def test_checks_of_splits_can_fail(complaint):
    failed = complaints(BrokenSplit(BROKEN_SPLITS[complaint]))
    assert any(complaint in text for text in failed), failed


def test_a_pool_for_two_classes_is_asked_about_two():
    seen = set()

    @dataclass(frozen=True)
    class Two:
        name: ClassVar[str] = "two"
        estimand: ClassVar[str] = "distribution"
        classes: ClassVar[int] = 2

        def __call__(self, said, map=map, shards=1):
            seen.add(len(said.index.labels))
            return Mean()(said, map, shards)

    testing.check_aggregate(Two())
    assert seen == {2}


@dataclass(frozen=True)
class BrokenDelivery:
    """Drawn classes, spoilt: ``spoil(labels, epoch, indices, known, asked)``, ``asked`` times."""

    spoil: Any
    foretell: Any = lambda mean: mean
    name: ClassVar[str] = "broken"
    paper: ClassVar[str] = "none"

    def __call__(self, known, rng):
        return SpoiltLabels(self, known, SLS()(known, rng))


class SpoiltLabels:
    def __init__(self, broken, known, sound):
        self.broken, self.known, self.sound, self.asked = broken, known, sound, 0

    def labels_for(self, epoch, indices, rng):
        self.asked += 1
        made = self.sound.labels_for(epoch, indices, rng)
        return self.broken.spoil(made, epoch, indices, self.known, self.asked)

    def expected(self):
        return self.broken.foretell(self.sound.expected())


def by_neighbour(labels, *_):
    return np.roll(labels, 1, axis=0)


def by_row_order(labels, epoch, indices, known, asked):
    return labels if known.each is None or known.each.item[0] < 2 else labels[:, ::-1]


def by_global_numbers(labels, *_):
    np.random.random()  # noqa: NPY002
    return labels


def by_pythons_numbers(labels, *_):
    random.random()
    return labels


INSIDES: dict[Any, Any] = {}


def lent(labels, epoch, indices, known, asked):
    return INSIDES.setdefault((id(known), epoch, tuple(indices)), labels)


BROKEN_DELIVERIES = {
    "sum to 1": BrokenDelivery(lambda labels, *_: labels * 1.1),
    "labels of shape": BrokenDelivery(lambda labels, *_: labels[:, :-1]),
    "not float64": BrokenDelivery(lambda labels, *_: labels.astype(np.float32)),
    "no items give labels of shape": BrokenDelivery(
        lambda labels, *_: labels if len(labels) else np.zeros((0, 9))
    ),
    "batches of 1 differ": BrokenDelivery(by_neighbour),
    "another one after a resume": BrokenDelivery(
        lambda labels, epoch, indices, known, asked: labels if asked < 4 else labels[:, ::-1]
    ),
    "order of the annotations' rows": BrokenDelivery(by_row_order),
    "numpy's global": BrokenDelivery(by_global_numbers),
    "Python's global": BrokenDelivery(by_pythons_numbers),
    "two runs differ": BrokenDelivery(
        lambda labels, *_: np.random.default_rng().permutation(labels)
    ),
    "writing into labels": BrokenDelivery(lent),
    "not the expected one ": BrokenDelivery(
        lambda labels, *_: labels, lambda mean: tilt(mean, np.array([1, 1, 2]))
    ),
    "never change are not the expected": BrokenDelivery(
        lambda labels, *_: np.full(labels.shape, 1 / labels.shape[1])
    ),
}


@pytest.mark.parametrize("complaint", BROKEN_DELIVERIES)
def test_delivery_checks_can_fail(complaint):
    failed = []
    for check in testing.DELIVER_CHECKS:
        try:
            check(BROKEN_DELIVERIES[complaint])
        except (AssertionError, DataError, ValueError) as error:
            failed.append(str(error))
    assert any(complaint in text for text in failed), failed


def test_a_delivery_without_an_expected_mean_fails():
    @dataclass(frozen=True)
    class Silent(Hard):
        def __call__(self, known, rng):
            return SimpleNamespace(labels_for=super().__call__(known, rng).labels_for)

    with pytest.raises(AssertionError, match=r"has no expected\(\)"):
        testing.check_deliver(Silent())


def lower(function, proper=False, distance=False):
    function.better, function.proper, function.distance = "lower", proper, distance
    return function


def variation(true, found):
    return abs(true - found).sum(axis=1) / 2


def strictly(true, found):
    rows = np.stack([true, found])
    if not (np.allclose(rows.sum(axis=2), 1) and (rows >= 0).all()):
        raise DataError("no distributions")
    return true, found


def checked(function):
    return lambda true, found: function(*pair(true, found))


BROKEN_METRICS = {
    "better = None": lambda true, found: abs(true - found).sum(axis=1),
    "returns shape": lower(lambda true, found: abs(true - found)),
    "item order matters": lower(lambda true, found: abs(true - found).sum(axis=1).cumsum()),
    "class order matters": lower(lambda true, found: abs(true - found)[:, 0]),
    "are changed": lower(lambda true, found: np.multiply(found, 0, out=found).sum(axis=1)),
    "computed in float32": lower(lambda true, found: (found * found).sum(axis=1) ** 3),
    "give NaN": lower(
        lambda true, found: np.where((true == 0).any(axis=1), np.nan, abs(true - found).sum(axis=1))
    ),
    "a row of counts gives": lower(variation),
    "does not name its row": lower(lambda true, found: variation(*strictly(true, found))),
    "beats the truth": lower(checked(variation), proper=True),
    "not 0 between": lower(checked(lambda true, found: 1 + variation(true, found)), distance=True),
    "below 0": lower(checked(lambda true, found: -variation(true, found)), distance=True),
}


@pytest.mark.parametrize("complaint", BROKEN_METRICS)
def test_metric_checks_can_fail(complaint):
    with pytest.raises(AssertionError, match=complaint):
        testing.check_metric(BROKEN_METRICS[complaint])


def test_examples_hold_every_odd_answer():
    said = testing.example_statements()
    assert said.contradictory.any()
    assert (~said.possible.any(axis=1)).any()
    assert isinstance(testing.example_votes()[0], Annotations)
    assert isinstance(Mean()(testing.example_soft()), SoftLabels)


def test_format_checks_can_fail():
    class Greedy(formats.Format):
        name: ClassVar[str] = "greedy"

        @classmethod
        def claims(cls, head):
            return head.kind == "table"

    class Endless(Greedy):
        claims = classmethod(lambda cls, head: False)

        def write(self, answers, path, contents): ...

    with pytest.raises(AssertionError, match="greedy claims table that begin with"):
        testing.check_format(Greedy())
    with pytest.raises(AssertionError, match=r"greedy has the endings \(\)"):
        testing.check_format(Endless())


@dataclass(frozen=True)
class Asking:
    score: Any
    name: ClassVar[str] = "asking"
    looks: ClassVar[bool] = False

    def __call__(self, belief, answers, rate):
        return self.score(belief, answers)


@pytest.mark.parametrize(
    ("complaint", "score"),
    [
        ("scores have shape", lambda belief, answers: belief.mean()),
        ("not a finite number", lambda belief, answers: answers / 0.0),
        ("depends on the others", lambda belief, answers: 1.0 * np.arange(len(answers))),
        ("looks is False", lambda belief, answers: belief.gain()),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_policy_checks_can_fail(complaint, score):
    with pytest.raises(AssertionError, match=complaint):
        testing.check_policy(Asking(score))
