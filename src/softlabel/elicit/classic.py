"""The form of Collins et al. 2022: most probable class with a chance, an alternative with a
chance, and every class it is definitely not."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from softlabel.elicit.base import (
    Answer,
    Field,
    Payload,
    codes_of,
    read_class,
    refuse_unknown_keys,
)
from softlabel.errors import ResponseError, UnknownName
from softlabel.tables import LARGEST_PERCENT, Floats

P_IS_0 = "p-is-0"  # "8p" -> 80: p stands beside 0 on the keyboard
ZERO_IS_100 = "zero-is-100"  # a most probable class with chance 0 -> 100: judged a slip
REPAIRS = (P_IS_0, ZERO_IS_100)


@dataclass(frozen=True)
class Classic:
    """Reads ``{"top", "p1", "second", "p2", "impossible"}``; chances are percentages.

    ``repairs`` names the slips that are mended, joined by ``+``; each mended answer says so.
    They are the two that the authors mended in CIFAR-10S; ``repairs=none`` mends nothing.
    Chances above 100, sums other than 100, a class named twice or named and ruled out are
    implausible, not malformed: they are kept as they are.
    """

    repairs: str = "+".join(REPAIRS)

    name: ClassVar[str] = "classic"
    version: ClassVar[int] = 1
    paper: ClassVar[str] = "Collins, Bhatt & Weller 2022, arXiv 2207.00810, figure 7"
    fields: ClassVar[tuple[Field, ...]] = (
        Field("top", "choice", True, "Which class would most people pick?"),
        Field("p1", "percent", True, "With what chance, 0 to 100?"),
        Field("second", "choice", False, "Which is the runner-up, if any?"),
        Field("p2", "percent", False, "With what chance, 0 to 100?"),
        Field("impossible", "subset", False, "Which classes is it definitely not?"),
    )

    def read(self, payload: Payload, labels: Sequence[str]) -> Answer:
        refuse_unknown_keys(payload, self.fields)
        mended: list[str] = []
        codes = codes_of(labels)
        named = [read_class("top", payload["top"], codes)]
        p1 = self._percent("p1", payload["p1"], mended)
        if p1 == 0 and self._mends(ZERO_IS_100):
            mended.append(ZERO_IS_100)
            p1 = 100.0
        percent = [p1]
        if payload.get("second") not in (None, ""):
            named.append(read_class("second", payload["second"], codes))
            given = payload.get("p2") not in (None, "")
            percent.append(self._percent("p2", payload["p2"], mended) if given else math.nan)
        # without an alternative whatever stands in p2 is about nothing and is not read
        ruled_out = payload.get("impossible") or ()
        if isinstance(ruled_out, str) or not isinstance(ruled_out, Sequence):
            raise ResponseError("impossible", ruled_out, "must be a list of classes")
        possible = np.ones(len(labels), dtype=np.bool_)
        possible[[read_class("impossible", value, codes) for value in ruled_out]] = False
        return Answer(tuple(named), tuple(percent), possible, tuple(dict.fromkeys(mended)))

    def simulate(
        self, belief: Floats, labels: Sequence[str], rng: np.random.Generator
    ) -> dict[str, Any]:
        """Names the two likeliest classes in steps of 5 %, rules out what has under 2 %."""
        order = np.argsort(-belief + rng.random(len(belief)) * 1e-9)  # ties in random order
        answer: dict[str, Any] = {
            "top": labels[order[0]],
            "p1": max(5, 5 * round(20 * belief[order[0]])),
            "second": None,
            "p2": None,
        }
        if len(labels) > 1 and belief[order[1]] >= 0.025:
            answer |= {"second": labels[order[1]], "p2": 5 * round(20 * belief[order[1]])}
        named = (answer["top"], answer["second"])
        doubted = (label for label, p in zip(labels, belief, strict=True) if p < 0.02)
        return answer | {"impossible": [label for label in doubted if label not in named]}

    def _percent(self, field: str, value: Any, mended: list[str]) -> float:
        text = str(value).strip()
        if self._mends(P_IS_0) and re.fullmatch(r"[1-9]p", text):
            mended.append(P_IS_0)
            text = text[0] + "0"
        try:
            number = math.nan if isinstance(value, bool) else float(text)
        except ValueError:
            number = math.nan
        if not number <= LARGEST_PERCENT or "_" in text:  # so written, NaN is refused too
            raise ResponseError(field, value, "must be a number from 0 to 100")
        if number < 0:
            raise ResponseError(field, value, "a chance cannot be negative; say 0 to 100")
        return number

    def _mends(self, repair: str) -> bool:
        wanted = self.repairs.split("+")
        unknown = set(wanted) - {*REPAIRS, "none", ""}
        if unknown:
            raise UnknownName("repair", min(unknown), (*REPAIRS, "none"))
        return repair in wanted
