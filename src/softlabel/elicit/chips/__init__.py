"""Chips: a handful of chips, laid on the classes in proportion to belief."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from softlabel.elicit import fields
from softlabel.elicit.mode import Answer, Field, Labels, Payload, Rng, Seconds
from softlabel.errors import ResponseError
from softlabel.registry import check_parameters
from softlabel.tables import Floats

ChipCount = Literal[10, 20, 50, 100]  # so that each chip is a whole number of percent


@dataclass(frozen=True)
class Chips:
    """``n`` chips on the classes: a class with c of them has the chance c / n.

    With ``allow_unallocated`` some chips may stay in the hand.  Their share is left unstated, so
    that a construction spreads it over the classes still possible.  Classes without chips are
    possible unless ``excluded`` or the ``rest`` is ``ruled_out``.  Contradictions are refused.
    """

    n: ChipCount = 20
    allow_unallocated: bool = False

    name: ClassVar[str] = "chips"
    version: ClassVar[int] = 2
    earlier: ClassVar[tuple[int, ...]] = (1,)
    paper: ClassVar[str] = "Goldstein & Rothschild 2014; the roulette of Oakley & O'Hagan's SHELF"
    fields: ClassVar[tuple[Field, ...]] = (
        Field("chips", "chips", True, "Of all the chips, how many does each class get?"),
        Field("excluded", "subset", False, "Which classes is it definitely not?"),
        Field("rest", "rest", False, "And the classes without chips?"),
    )
    recorded: ClassVar[tuple[str, ...]] = ("n", "unallocated", "repeated")
    seconds: ClassVar[Seconds] = Seconds(7.0)  # predicted by a keystroke-level model

    def rules(self) -> dict[str, Any]:
        check_parameters(self)
        return {"n": self.n, "allow_unallocated": self.allow_unallocated}

    def read(self, payload: Payload, labels: Labels) -> Answer:
        check_parameters(self)
        fields.refuse_unknown_keys(payload, self.fields, self.recorded)
        fields.read_whole("n", payload.get("n"), self.n, self.n)
        fields.check_repeated(payload)
        codes = fields.number_classes(labels)
        if not isinstance(payload["chips"], Mapping):
            raise ResponseError("chips", payload["chips"], "must map classes to numbers of chips")
        counts: dict[int, int] = {}
        for name, count in payload["chips"].items():
            code = fields.read_class("chips", name, codes)
            fields.refuse_if(payload, (code in counts, "chips", f"the class {name!r} occurs twice"))
            counts[code] = fields.read_whole("chips", count, 0, self.n)
        laid = {code: count for code, count in counts.items() if count}
        excluded = fields.read_classes("excluded", payload.get("excluded"), codes)
        reason = "a class that holds chips cannot be ruled out too"
        fields.refuse_if(payload, (not laid.keys().isdisjoint(excluded), "excluded", reason))
        possible = np.full(len(labels), fields.read_rest(payload) != "ruled_out")
        possible[excluded] = False
        total = sum(laid.values())
        spare = self.n - total
        exactly = "at least 1 and at most" if self.allow_unallocated else "exactly"
        reason = f"{exactly} {self.n} chips must lie on the classes, not {total}"
        wrong = not total or spare < 0 or (spare > 0 and not self.allow_unallocated)
        fields.refuse_if(payload, (wrong, "chips", reason))
        if payload.get("unallocated") is not None or spare:
            fields.read_whole("unallocated", payload.get("unallocated"), spare, spare)
        reason = f"{spare} chips are left in the hand, so some class without chips is possible"
        closed = possible.sum() <= len(laid)
        fields.refuse_if(payload, (bool(spare and closed), "rest", reason))
        named = tuple(sorted(laid, key=lambda code: -laid[code]))  # ties as they were recorded
        possible[list(named)] = True
        return Answer(named, tuple(100 * laid[code] / self.n for code in named), possible)

    def simulate(self, belief: Floats, labels: Labels, rng: Rng) -> dict[str, Any]:
        """Round the belief to whole chips; call the rest possible if it holds 5 % or more and there
        are more than two classes: of two, the chips leave nothing open."""
        check_parameters(self)
        weights = np.append(belief, 0.0)  # the last one is for what stays in the hand
        if self.allow_unallocated:
            small = belief < 0.5 / self.n
            weights = np.append(np.where(small, 0.0, belief), belief[small].sum())
        *laid, spare = fields.apportion(weights, self.n, rng).tolist()
        if not any(laid):  # at least one chip must be laid
            laid[fields.order_by_belief(belief, rng)[0]], spare = 1, spare - 1
        without = sum(p for p, count in zip(belief.tolist(), laid, strict=True) if not count)
        return {
            "n": self.n,
            "chips": {label: count for label, count in zip(labels, laid, strict=True) if count},
            "unallocated": spare,
            "excluded": [],
            "rest": "possible" if spare or (without >= 0.05 and len(labels) > 2) else "ruled_out",
        }

    def operate(self, page: Any, answer: Payload, labels: Labels) -> None:
        """Write a number for each class, click what is ruled out, and then the rest."""
        rows = page.locator(".chip-row")
        for label, count in answer["chips"].items():
            rows.nth(labels.index(label)).locator("button.count").click()
            page.locator("input.count").fill(str(count))
            page.locator("input.count").press("Enter")
        for label in answer["excluded"]:
            rows.nth(labels.index(label)).locator("button.out").click()
        fields.click_rest(page, answer["rest"])
