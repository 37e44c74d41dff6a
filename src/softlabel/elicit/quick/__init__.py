"""Quick: the likeliest class, the certainty, alternatives, and one choice about the rest."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from softlabel.elicit import fields
from softlabel.elicit.mode import Answer, Field, Labels, Payload, Rng, Seconds
from softlabel.errors import SoftlabelError
from softlabel.tables import Floats

MOST_ALTERNATIVES = 3
MOST_LEVELS = 5
CERTAINTY_KEYS = "QWERT"  # on the page, one for each step
REST_KEYS = {"ruled_out": "X", "possible": "Z", "unsaid": "C"}


@dataclass(frozen=True)
class Quick:
    """A class, a step of certainty, up to three alternatives in order, and the rest.

    ``certainty`` holds the chances of the steps in percent, joined by ``+``; the last is 100.
    The class named first has the chance of its step.  Alternatives share what is left, each
    twice the next.  ``rest="possible"``: all other classes together count as one more, last
    alternative, whose share is left unstated; ``"ruled_out"``: they are impossible;
    ``"unsaid"``: they are possible, but the alternatives take all that is left.  If another class
    would become likelier than the first, the first is raised until it is not: "guessing" between
    two classes is 50 to 50.  Without alternatives the rest must be ``possible``: what the first
    class leaves is spread evenly over the classes not excluded.  A contradictory answer is refused.

    Answers of version 1 are read in the same way.  Version 2 adds ``repeated``; it spreads the
    rest if no alternative is named, and asks for no alternative if there are only two classes.
    """

    certainty: str = "40+60+80+95+100"

    name: ClassVar[str] = "quick"
    version: ClassVar[int] = 2
    earlier: ClassVar[tuple[int, ...]] = (1,)
    paper: ClassVar[str] = "ours; the inputs of Collins, Bhatt & Weller 2022 with fewer keystrokes"
    fields: ClassVar[tuple[Field, ...]] = (
        Field("top", "choice", True, "Which class is it most likely?"),
        Field("certainty", "scale", True, "How sure are you?"),
        Field("alternatives", "choices", False, "What else could it be, likeliest first?"),
        Field("excluded", "subset", False, "Which classes is it definitely not?"),
        Field("rest", "rest", False, "And all the others?"),
    )
    recorded: ClassVar[tuple[str, ...]] = ("repeated",)
    seconds: ClassVar[Seconds] = Seconds(5.7)  # predicted by a keystroke-level model

    def rules(self) -> dict[str, Any]:
        return {"certainty": self.levels(), "alternatives": MOST_ALTERNATIVES}

    def levels(self) -> list[int]:
        """Return the chance of each step of certainty, in percent."""
        texts = self.certainty.split("+")
        levels = [int(text) for text in texts if text.isascii() and text.isdigit()]
        rising = all(a < b for a, b in zip([0, *levels], levels, strict=False))
        if len(levels) != len(texts) or not rising or levels[-1] != 100:
            raise SoftlabelError(
                f"Quick: certainty = {self.certainty!r} must be rising whole numbers of percent "
                "that end in 100, such as 40+60+80+95+100"
            )
        if not 2 <= len(levels) <= MOST_LEVELS:
            raise SoftlabelError(
                f"Quick: certainty = {self.certainty!r} has {len(levels)} steps; 2 to "
                f"{MOST_LEVELS} can be asked for"
            )
        return levels

    def read(self, payload: Payload, labels: Labels) -> Answer:
        fields.refuse_unknown_keys(payload, self.fields, self.recorded)
        fields.check_repeated(payload)
        levels, codes = self.levels(), fields.number_classes(labels)
        top = fields.read_class("top", payload["top"], codes)
        level = levels[fields.read_whole("certainty", payload["certainty"], 1, len(levels)) - 1]
        others = fields.read_classes("alternatives", payload.get("alternatives"), codes)
        excluded = fields.read_classes("excluded", payload.get("excluded"), codes)
        rest = fields.read_rest(payload)
        named = (top, *others)
        possible = np.full(len(labels), rest != "ruled_out")
        possible[excluded] = False
        left = int(possible.sum()) - int(possible[list(named)].sum())
        possible[list(named)] = True
        many = f"at most {MOST_ALTERNATIVES} alternatives can be named"
        same = f"{payload['top']!r} is the class named first; it is no alternative to itself"
        named_out = "a class that was named cannot be ruled out too"
        too_sure = "a certain answer has no alternative; lower the certainty or name none"
        no_other = "an uncertain answer names an alternative or leaves the rest possible"
        only_one = "no other class is possible, so the answer must be certain"
        alone = level < 100 and not others
        fields.refuse_if(
            payload,
            (len(others) > MOST_ALTERNATIVES, "alternatives", many),
            (top in others, "alternatives", same),
            (not set(named).isdisjoint(excluded), "excluded", named_out),
            (level == 100 and bool(others), "alternatives", too_sure),
            (alone and rest != "possible", "certainty", no_other),
            (alone and not left, "certainty", only_one),
        )
        if level == 100:
            return Answer(named, (100.0,), possible)
        percent = _chances(level, len(others), left if rest == "possible" else 0)
        return Answer(named, percent, possible)

    def simulate(self, belief: Floats, labels: Labels, rng: Rng) -> dict[str, Any]:
        """Take the nearest step of certainty, then the alternatives and rest that fit best."""
        order = fields.order_by_belief(belief, rng)
        levels = np.array(self.levels())
        certainty = 1 + int(abs(levels - 100 * belief[order[0]]).argmin())
        answer: dict[str, Any] = {"top": labels[order[0]], "certainty": certainty}
        if certainty == len(levels):
            return answer | {"alternatives": [], "excluded": [], "rest": "ruled_out"}
        # with two classes the page asks for no alternative: the other one has the rest
        most = min(MOST_ALTERNATIVES, len(labels) - 1) if len(labels) > 2 else 0
        shapes = [(others, False) for others in range(1, most + 1)]
        shapes += [(others, True) for others in range(min(most, len(labels) - 2) + 1)]
        level = int(levels[certainty - 1])
        _, others, kept = min(_fit(belief[order], level, *shape) for shape in shapes)
        named, unnamed = order[1 : 1 + others], order[1 + others :]
        return answer | {
            "alternatives": [labels[k] for k in named],
            "excluded": [labels[k] for k in unnamed[kept:]] if kept else [],
            "rest": "possible" if kept else "ruled_out",
        }

    def operate(self, page: Any, answer: Payload, labels: Labels) -> None:
        """Press keys: class, alternatives, what is ruled out, certainty, the rest.

        The last one sends the answer; with two classes that is the certainty.
        """
        for label in (answer["top"], *answer["alternatives"]):
            page.keyboard.type(fields.label_keys(label, labels))
        for label in answer["excluded"]:
            for digit in fields.label_keys(label, labels):
                page.keyboard.press(f"Shift+Digit{digit}")
        page.keyboard.press(CERTAINTY_KEYS[answer["certainty"] - 1])
        named = len(answer["alternatives"]) + len(answer["excluded"]) + 1
        if len(labels) > 2 and (answer["alternatives"] or answer["rest"] == "possible"):
            page.keyboard.press(REST_KEYS[answer["rest"]] if named < len(labels) else "Enter")


def _fit(belief: Floats, level: int, others: int, possible: bool) -> tuple[float, int, int]:
    """Return the distance of an answer from a belief (likeliest first), the number of alternatives,
    and how many other classes stay possible: those at least a tenth as likely as the average."""
    unnamed = belief[1 + others :]
    kept = int((unnamed >= unnamed.mean() / 10).sum()) if possible else 0
    percent = np.array(_chances(level, others, kept)) / 100
    label = np.zeros_like(belief)
    label[: 1 + others] = percent
    if kept:
        label[1 + others : 1 + others + kept] = (1 - percent.sum()) / kept
    return float(abs(label - belief).sum()), others, kept


def _chances(level: int, others: int, left: int) -> tuple[float, ...]:
    """Return the percent of the first class and of the alternatives; ``left`` further classes share
    what one more alternative would get (0: they get nothing)."""
    weights = [2.0**power for power in reversed(range(others + (left > 0)))]
    rival = max(weights[0] if others else 0.0, weights[-1] / left if left else 0.0)
    least = 100 * rival / (rival + sum(weights))
    top = max(level, -fields.round_down(-least))
    unit = fields.round_down((100 - top) / sum(weights))
    shares = [unit * weight for weight in weights[:others]]
    if not left:  # all is stated, and sums to exactly 100
        shares[0] += 100 - top - sum(shares)
    return float(top), *shares
