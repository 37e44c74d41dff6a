"""Chips: a handful of chips, laid on the classes in proportion to belief."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from softlabel.elicit.base import Answer, Field, Payload
from softlabel.elicit.fields import (
    codes_of,
    read_class,
    read_classes,
    read_repeated,
    read_rest,
    read_whole,
    refuse_unknown_keys,
)
from softlabel.elicit.shares import apportion, likeliest_first
from softlabel.errors import ResponseError
from softlabel.registry import check_parameters
from softlabel.tables import Floats

Chipful = Literal[10, 20, 50, 100]  # so many that each chip is a whole number of percent


@dataclass(frozen=True)
class Chips:
    """``n`` chips on the classes: a class with c of them has the chance c / n.

    With ``allow_unallocated`` some chips may stay in the hand; what they stand for is left
    unstated, so that a construction spreads it over the classes still possible.  Classes without
    chips are possible unless they are ``excluded`` or the ``rest`` is ``ruled_out``.  A
    contradictory answer is refused.
    """

    n: Chipful = 20
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

    def rules(self) -> dict[str, Any]:
        check_parameters(self)
        return {"n": self.n, "allow_unallocated": self.allow_unallocated}

    def read(self, payload: Payload, labels: Sequence[str]) -> Answer:
        check_parameters(self)
        refuse_unknown_keys(payload, self.fields, self.recorded)
        read_whole("n", payload.get("n"), self.n, self.n)
        read_repeated(payload)
        codes = codes_of(labels)
        laid = self._laid(payload, codes)
        excluded = read_classes("excluded", payload.get("excluded"), codes)
        if not laid.keys().isdisjoint(excluded):
            raise ResponseError(
                "excluded", payload["excluded"], "a class that holds chips cannot be ruled out too"
            )
        possible = np.full(len(labels), read_rest(payload) != "ruled_out")
        possible[excluded] = False
        self._refuse_a_wrong_sum(payload, sum(laid.values()), bool(possible.sum() > len(laid)))
        named = tuple(sorted(laid, key=lambda code: -laid[code]))  # ties as they were recorded
        possible[list(named)] = True
        return Answer(named, tuple(100 * laid[code] / self.n for code in named), possible)

    def _laid(self, payload: Payload, codes: Mapping[str, int]) -> dict[int, int]:
        """Chips by class, where there are some."""
        chips = payload["chips"]
        if not isinstance(chips, Mapping):
            raise ResponseError("chips", chips, "must say how many chips each class has")
        laid: dict[int, int] = {}
        for name, count in chips.items():
            code = read_class("chips", name, codes)
            if code in laid:
                raise ResponseError("chips", chips, f"the class {name!r} stands there twice")
            laid[code] = read_whole("chips", count, 0, self.n)
        return {code: count for code, count in laid.items() if count}

    def _refuse_a_wrong_sum(self, payload: Payload, laid: int, open_classes: bool) -> None:
        spare = self.n - laid
        if not laid or spare < 0 or (spare and not self.allow_unallocated):
            exactly = "at least 1 and at most" if self.allow_unallocated else "exactly"
            reason = f"{exactly} {self.n} chips must lie on the classes, not {laid}"
            raise ResponseError("chips", payload["chips"], reason)
        if payload.get("unallocated") is not None or spare:
            read_whole("unallocated", payload.get("unallocated"), spare, spare)
        if spare and not open_classes:
            reason = f"{spare} chips are left in the hand, so some class without chips is possible"
            raise ResponseError("rest", payload.get("rest"), reason)

    def simulate(
        self, belief: Floats, labels: Sequence[str], rng: np.random.Generator
    ) -> dict[str, Any]:
        """Rounds to whole chips; calls the rest possible where it holds 5 % or more.

        Of two classes the page does not ask about the rest: the chips say all.
        """
        check_parameters(self)
        weights = np.append(belief, 0.0)  # last: what stays in the hand
        if self.allow_unallocated:
            small = belief < 0.5 / self.n
            weights = np.append(np.where(small, 0.0, belief), belief[small].sum())
        *laid, spare = apportion(weights, self.n, rng).tolist()
        if not any(laid):  # one chip at least must be laid
            laid[likeliest_first(belief, rng)[0]], spare = 1, spare - 1
        doubted = sum(p for p, count in zip(belief.tolist(), laid, strict=True) if not count)
        return {
            "n": self.n,
            "chips": {label: count for label, count in zip(labels, laid, strict=True) if count},
            "unallocated": spare,
            "excluded": [],
            "rest": "possible" if spare or (doubted >= 0.05 and len(labels) > 2) else "ruled_out",
        }
