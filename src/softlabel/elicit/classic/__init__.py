"""The form of Collins et al. 2022: most probable class with a chance, an alternative with a
chance, and every class it is definitely not."""

import math
import re
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from softlabel import registry
from softlabel.elicit import c22, fields
from softlabel.elicit.mode import Answer, Field, Labels, Payload, Rng, Seconds, Speech
from softlabel.errors import ResponseError, UnknownName
from softlabel.tables import LARGEST_PERCENT, Floats

P_IS_0 = "p-is-0"  # "8p" -> 80: p is beside 0 on the keyboard
ZERO_IS_100 = "zero-is-100"  # a most probable class with chance 0 -> 100: taken for a slip
REPAIRS = (P_IS_0, ZERO_IS_100)
NO_PERCENT = "must be a number from 0 to 100"
Wording = Literal["plain", "c22"]


@dataclass(frozen=True)
class Classic:
    """Reads ``{"top", "p1", "second", "p2", "impossible"}``; chances are percentages.

    ``repairs`` names the slips to repair, joined by ``+``; each repaired answer lists its repairs.
    The default repairs are the two that the authors made in CIFAR-10S; ``repairs=none`` makes none.
    Chances above 100, sums other than 100, a class named twice, and a class both named and ruled
    out are implausible but not malformed: they are kept as they are.

    ``strict`` is for asking, while the person can still correct the answer.  It repairs nothing,
    and refuses a chance outside 0 to 100, a first class with chance 0, an alternative that is the
    first class, a chance without an alternative, and a class both named and ruled out.  Sums other
    than 100, an alternative likelier than the first class, and an alternative without a number are
    no contradictions and are accepted.

    ``wording`` chooses the questions: ``plain`` ones in every language and frame, or those of the
    paper (``c22``), word for word, which are in English and ask what 100 others would say of an
    image.
    """

    repairs: str = "+".join(REPAIRS)
    strict: bool = False
    wording: Wording = "plain"

    name: ClassVar[str] = "classic"
    version: ClassVar[int] = 1
    paper: ClassVar[str] = "Collins, Bhatt & Weller 2022, arXiv 2207.00810, figure 7"
    fields: ClassVar[tuple[Field, ...]] = (
        Field("top", "choice", True, "Which class is it most probably?"),
        Field("p1", "percent", True, "With what chance, 0 to 100?"),
        Field("second", "choice", False, "Which is the runner-up, if any?"),
        Field("p2", "percent", False, "With what chance, 0 to 100?"),
        Field("impossible", "subset", False, "Which classes is it definitely not?"),
    )
    recorded: ClassVar[tuple[str, ...]] = ("violations",)
    # the median of CIFAR-10S; a form is filled in, not answered by single keys
    seconds: ClassVar[Seconds] = Seconds(32.0, measured=True, slower=5.0)

    def __post_init__(self) -> None:
        registry.check_choice("wording of Classic", self.wording, get_args(Wording))

    @property
    def speaks(self) -> Speech:
        """In which language and frame, and about what, the chosen wording can ask."""
        if self.wording == "plain":
            return Speech()
        return Speech(f"wording={self.wording}", c22.LANGUAGE, c22.FRAME, c22.CHANNEL)

    def rules(self) -> dict[str, Any]:
        asks = {} if self.wording == "plain" else {"wording": dict(c22.WORDS)}
        return {"strict": self.strict, **asks}

    def read(self, payload: Payload, labels: Labels) -> Answer:
        fields.refuse_unknown_keys(payload, self.fields, self.recorded)
        fields.check_texts("violations", payload.get("violations"))
        repaired: list[str] = []
        codes = fields.number_classes(labels)
        named = [fields.read_class("top", payload["top"], codes)]
        p1 = self._read_percent("p1", payload["p1"], repaired)
        if p1 == 0 and self._repairs(ZERO_IS_100):
            repaired.append(ZERO_IS_100)
            p1 = 100.0
        percent = [p1]
        if payload.get("second") not in (None, ""):
            named.append(fields.read_class("second", payload["second"], codes))
            given = payload.get("p2") not in (None, "")
            percent.append(self._read_percent("p2", payload["p2"], repaired) if given else math.nan)
        # without an alternative, p2 has no meaning and is not read
        ruled_out = fields.read_list("impossible", payload.get("impossible") or None)
        possible = np.ones(len(labels), dtype=np.bool_)
        possible[[fields.read_class("impossible", value, codes) for value in ruled_out]] = False
        if self.strict:
            same = len(named) == 2 and named[0] == named[1]
            named_out = not possible[named].all()
            unused = len(named) == 1 and payload.get("p2") not in (None, "")
            fields.refuse_if(
                payload,
                (percent[0] > 100, "p1", NO_PERCENT),
                (percent[-1] > 100, "p2", NO_PERCENT),
                (percent[0] == 0, "p1", "the most probable class has some chance"),
                (unused, "p2", "there is no alternative that could have a chance"),
                (same, "second", "is the most probable class already; name another one or none"),
                (named_out, "impossible", "a class that was named cannot be ruled out too"),
            )
        return Answer(tuple(named), tuple(percent), possible, tuple(dict.fromkeys(repaired)))

    def simulate(self, belief: Floats, labels: Labels, rng: Rng) -> dict[str, Any]:
        """Name the two likeliest classes in steps of 5 %, and rule out classes below 2 %."""
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
        unlikely = (label for label, p in zip(labels, belief, strict=True) if p < 0.02)
        return answer | {"impossible": [label for label in unlikely if label not in named]}

    def operate(self, page: Any, answer: Payload, labels: Labels) -> None:
        """Fill in the form from top to bottom."""
        top, second, impossible = (page.locator("fieldset.block").nth(n) for n in range(3))
        top.locator("label.option").nth(labels.index(answer["top"])).click()
        page.fill('[data-field="p1"]', f"{answer['p1']:g}")
        place = len(labels) if answer["second"] is None else labels.index(answer["second"])
        second.locator("label.option").nth(place).click()
        if answer["p2"] is not None:
            page.fill('[data-field="p2"]', f"{answer['p2']:g}")
        for label in answer["impossible"]:
            impossible.locator("label.option").nth(labels.index(label)).click()
        page.locator("#answer .button.primary").click()

    def _read_percent(self, field: str, value: Any, repaired: list[str]) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ResponseError(field, value, NO_PERCENT)
        text = str(value).strip()
        if re.fullmatch(r"\d{1,3},\d{1,2}", text):  # a decimal comma; 1,000 might be a thousand
            text = text.replace(",", ".")
        if self._repairs(P_IS_0) and re.fullmatch(r"[1-9]p", text):
            repaired.append(P_IS_0)
            text = text[0] + "0"
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not number <= LARGEST_PERCENT or "_" in text:  # written so that NaN is refused too
            raise ResponseError(field, value, NO_PERCENT)
        if number < 0:
            raise ResponseError(field, value, "a chance cannot be negative; say 0 to 100")
        return number

    def _repairs(self, repair: str) -> bool:
        chosen = self.repairs.split("+")
        if unknown := set(chosen) - {*REPAIRS, "none", ""}:
            raise UnknownName("repair", min(unknown), (*REPAIRS, "none"))
        return repair in chosen and not self.strict
