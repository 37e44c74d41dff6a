"""The checks of modes hold for any classes and options, and each of them can fail."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from softlabel import registry, testing
from softlabel.elicit import Answer, Chips, Classic, Field, Quick, Search
from softlabel.elicit.fields import number_classes, read_class, refuse_unknown_keys

VARIANTS = [
    Classic(strict=True),
    Classic(repairs="none"),
    Quick("55+100"),
    Chips(10),
    Chips(50, allow_unallocated=True),
    Search(100),
    Search(path=""),
]
CLASSES = [["yes", "no"], ["one"], [f"a/{i}" for i in range(30)], ["a", "a/b", "a/b/c", "0"]]


@pytest.mark.parametrize("mode", VARIANTS, ids=repr)
def test_modes_pass_with_other_parameters(mode):
    testing.check_mode(mode)


@pytest.mark.parametrize("labels", CLASSES, ids=str)
@pytest.mark.parametrize("name", registry.members("mode"))
def test_modes_pass_with_other_classes(name, labels):
    testing.check_mode(registry.make("mode", name), labels)


# ── broken on purpose ────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Vote:
    """A sound mode of one field."""

    name: ClassVar[str] = "vote"
    version: ClassVar[int] = 1
    fields: ClassVar[tuple[Field, ...]] = (Field("label", "choice", True, "Which?"),)

    def rules(self) -> dict[str, Any]:
        return {}

    def read(self, payload, labels):
        refuse_unknown_keys(payload, self.fields)
        code = read_class("label", payload["label"], number_classes(labels))
        return Answer((code,), (100.0,), np.ones(len(labels), dtype=np.bool_))

    def simulate(self, belief, labels, rng):
        return {"label": labels[int(belief.argmax())]}


def test_the_vote_is_sound():
    testing.check_mode(Vote())


class NoVersion(Vote):
    version = "1"


class VersionNought(Vote):
    version = 0


class AsksNothing(Vote):
    fields = (Field("label", "choice", True, " "),)


class OddKind(Vote):
    fields = (Field("label", "guess", True, "Which?"),)


class SameNameTwice(Vote):
    fields = (*Vote.fields, *Vote.fields)


class NoFields(Vote):
    fields = ()


class RulesOfTuples(Vote):
    def rules(self):
        return {"steps": (1, 2)}


class RulesOfNumpy(Vote):
    def rules(self):
        return {"steps": np.int64(3)}


class SendsNumpy(Vote):
    def simulate(self, belief, labels, rng):
        return {"label": np.str_(labels[0]), "at": np.int64(1)}


class SendsNonsense(Vote):
    def simulate(self, belief, labels, rng):
        return {"label": "nothing"}


class TakesAnything(Vote):
    def read(self, payload, labels):
        label = payload.get("label") if isinstance(payload, dict) else None
        code = labels.index(label) if label in labels else 0
        return Answer((code,), (100.0,), np.ones(len(labels), dtype=np.bool_))


class BlamesAnother(Vote):
    def read(self, payload, labels):
        if "label" not in payload:
            refuse_unknown_keys({"other": 1}, self.fields)
        return Vote.read(self, payload, labels)


class TakesUnknownKeys(Vote):
    def read(self, payload, labels):
        known = {"label": payload["label"]} if "label" in payload else payload
        return Vote.read(self, known, labels)


class TakesUnknownClasses(Vote):
    def read(self, payload, labels):
        refuse_unknown_keys(payload, self.fields)
        label = payload["label"]
        return Vote.read(self, {"label": label if label in labels else labels[0]}, labels)


class CrashesOnLists(Vote):
    def read(self, payload, labels):
        if isinstance(payload, dict):
            hash(payload.get("label"))
        return Vote.read(self, payload, labels)


class StatesTooMuch(Vote):
    def read(self, payload, labels):
        return Vote.read(self, payload, labels)._replace(percent=(1e9,))


class ForgetsChances(Vote):
    def read(self, payload, labels):
        return Vote.read(self, payload, labels)._replace(percent=())


class ForgetsClasses(Vote):
    def read(self, payload, labels):
        return Vote.read(self, payload, labels)._replace(possible=np.ones(2, dtype=np.bool_))


class GivesTuples(Vote):
    def read(self, payload, labels):
        return tuple(Vote.read(self, payload, labels))


class LooksAtTheOrder(Vote):
    def read(self, payload, labels):
        read = Vote.read(self, payload, labels)
        possible = read.possible.copy()
        possible[-1] = read.named[0] == len(labels) - 1
        return read._replace(possible=possible)


BROKEN = {
    NoVersion: "must be a whole number",
    VersionNought: "must be 1 or more",
    AsksNothing: "asks nothing",
    OddKind: "unknown kind 'guess'",
    SameNameTwice: "the same name",
    NoFields: "at least one field",
    RulesOfTuples: "must survive JSON",
    RulesOfNumpy: "is not JSON",
    SendsNumpy: "is not JSON",
    SendsNonsense: "a simulated answer is refused",
    TakesAnything: "read without its required field 'label'",
    BlamesAnother: "'label' is missing and 'other' is blamed",
    TakesUnknownKeys: "read with an unknown key",
    TakesUnknownClasses: "'no such class' is read as a class",
    CrashesOnLists: "unhashable type",
    StatesTooMuch: "a chance must be from 0 to",
    ForgetsChances: "each class named has a chance",
    ForgetsClasses: "possible has shape",
    GivesTuples: "not an Answer",
    LooksAtTheOrder: "classes in another order give another reading",
}


@pytest.mark.parametrize("kind", BROKEN, ids=lambda kind: kind.__name__)
def test_mode_checks_can_fail(kind):
    with pytest.raises(Exception, match=BROKEN[kind]):
        testing.check_family("mode", kind)


def test_what_was_being_read_when_it_crashed_is_noted():
    with pytest.raises(TypeError) as error:
        testing.check_mode(CrashesOnLists())
    assert "reading the answer {'label': []}" in error.value.__notes__


def test_every_check_is_broken_by_something():
    """A check that nothing here breaks is not known to work."""
    fallen = set()
    for kind in BROKEN:
        for check in testing.MODE_CHECKS:
            try:
                check(kind(), ["cat", "dog", "fish"])
            except Exception:  # noqa: BLE001 - tables refuse with errors of their own
                fallen.add(check)
    assert fallen == set(testing.MODE_CHECKS)


def test_a_mode_is_checked_as_it_is_configured():
    with pytest.raises(Exception, match="no n of Chips"):
        testing.check_mode(replace(Chips(), n=7))
