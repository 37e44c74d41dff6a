"""Practised hands on the real page: they enter an answer with as few inputs as the page allows, by
keyboard, mouse or touch.  The page counts the inputs and times how long it takes to go on."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from softlabel.elicit import MODES, fields
from softlabel.elicit.mode import Labels, Payload

Device = Literal["keyboard", "mouse", "touch"]
DEVICES: tuple[Device, ...] = ("keyboard", "mouse", "touch")

# Operators of the keystroke-level model (Card, Moran & Newell 1980), in seconds.
KEY, POINT, CLICK, HOME, MENTAL = 0.28, 1.1, 0.2, 0.4, 1.35

SHARES = {1: (100,), 2: (80, 20), 3: (60, 25, 15), 4: (50, 25, 15, 10), 5: (75, 25)}
OPEN = 5  # from so many classes on, two are named and the others stay possible
CHIPS = 20
LISTED = 5  # found labels that are seen at a glance
LOOKED = 0.3  # seconds; the page takes a second tap at once for half of a double one
SWIPE = 0.7  # of the screen's height, by one scroll

WATCH = """() => {
  const seen = { events: [], last: 0, waited: null };
  const modifiers = ["Shift", "Control", "Alt", "Meta"];
  const note = (kind) => seen.events.push(kind);
  addEventListener("keydown", (event) => {
    if (event.repeat) return;
    note(modifiers.includes(event.key) ? "modifier" : "key");
    seen.last = event.timeStamp;
  }, true);
  addEventListener("pointerdown", () => note("press"), true);
  addEventListener("pointerup", (event) => { seen.last = event.timeStamp; }, true);
  const painted = (then) => requestAnimationFrame(() => requestAnimationFrame(then));
  const task = document.querySelector("#task");
  let position = task.dataset.position;
  new MutationObserver(() => {
    if (task.dataset.position === position) return;
    position = task.dataset.position;
    const { last } = seen;
    painted(() => { seen.waited = performance.now() - last; });
  }).observe(task, { attributes: true, attributeFilter: ["data-position"] });
  window.softlabelSeen = seen;
}"""
TAKE = """() => {
  const { events, waited } = window.softlabelSeen;
  window.softlabelSeen.events = [];
  window.softlabelSeen.waited = null;
  return { events, waited };
}"""
SETTLE = """() => new Promise((done) =>
  requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))))"""
FIND = """(one, part) => {
  const box = one.getBoundingClientRect();
  const [x, y] = [box.left + part * box.width, box.top + box.height / 2];
  return { x, y, seen: one.contains(document.elementFromPoint(x, y)) };
}"""
SCROLL = f"""(one, part) => {{
  const before = scrollY;
  one.scrollIntoView({{ block: "center", behavior: "instant" }});
  return {{ ...({FIND})(one, part), by: scrollY - before }};
}}"""


@dataclass(frozen=True)
class Taken:
    """What one answer took: key presses (and modifiers held with them), presses of the pointer,
    scrolls, moves of the hand between mouse and keyboard, decisions, and the page's own time."""

    keys: int
    modifiers: int
    presses: int
    scrolls: int
    moves: int
    decisions: int
    waited: float  # ms from the last input until the next item was painted

    @property
    def inputs(self) -> int:
        """A key with a modifier is one input; the model counts the modifier as a key."""
        return self.keys + self.presses + self.scrolls

    @property
    def seconds(self) -> float:
        keys = KEY * (self.keys + self.modifiers)
        pointing = (POINT + CLICK) * (self.presses + self.scrolls)
        return keys + pointing + HOME * self.moves + MENTAL * self.decisions


# ── what is said ─────────────────────────────────────────────────────────────────────────────


def say(mode: str, classes: Sequence[str], support: int, labels: Labels) -> dict[str, Any]:
    """Return the answer of somebody to whom ``support`` classes are possible, likeliest first."""
    shares = SHARES[support]
    named = list(classes[: len(shares)])
    rest = "possible" if support == OPEN else "ruled_out"
    chips = {name: share * CHIPS // 100 for name, share in zip(named, shares, strict=True)}
    if mode == "hard":
        return {"label": named[0]}
    if mode == "chips":
        return {"n": CHIPS, "chips": chips, "unallocated": 0, "excluded": [], "rest": rest}
    if mode == "search":
        picks = [{"node": name, "chips": count} for name, count in chips.items()]
        return {"n": CHIPS, "picks": picks, "scope": [], "rest": rest}
    if mode == "classic":
        return _say_classic(classes, support, labels)
    if support == 1:
        return {"top": named[0], "certainty": 5, "alternatives": [], "excluded": [], "rest": rest}
    level = 2 if shares[0] < 70 else 3
    others, rest = ([], "possible") if len(labels) == 2 else (named[1:], rest)
    said = {"top": named[0], "certainty": level, "alternatives": others}
    return said | {"excluded": [], "rest": rest}


def _say_classic(classes: Sequence[str], support: int, labels: Labels) -> dict[str, Any]:
    """The form names two classes; further ones are those that are not ruled out."""
    shares = SHARES[support]
    possible = labels if support == OPEN else classes[:support]
    second, p2 = (classes[1], str(shares[1])) if support > 1 else (None, None)
    impossible = [label for label in labels if label not in possible]
    return {
        "top": classes[0],
        "p1": str(shares[0]),
        "second": second,
        "p2": p2,
        "impossible": impossible,
    }


def count_decisions(mode: str, answer: Payload, labels: Labels) -> int:
    """Count what has to be decided: each class named, each amount that does not follow from the
    others, and the rest where it is asked for.  To be certain of a class is one decision."""
    asked = len(labels) > 2
    if mode == "hard":
        return 1
    if mode == "quick":
        others = len(answer["alternatives"])
        return 1 if answer["certainty"] == 5 else 2 + others + (asked and others > 0)
    if mode == "classic":
        return 4 if answer["second"] is None else 5
    if mode == "chips":
        named = len(answer["chips"])
        return (2 * named - 1 if asked else named) + asked
    counts = [pick["chips"] for pick in answer["picks"]]
    amounts = 0 if counts == _share(len(counts)) else len(counts) - 1
    return len(counts) + amounts + 1


def _share(parts: int) -> list[int]:
    return [CHIPS // parts + (place < CHIPS % parts) for place in range(parts)]


# ── hands ────────────────────────────────────────────────────────────────────────────────────


class Hands:
    """Somebody at the page of a mode, with a keyboard, a mouse or a finger."""

    def __init__(self, page: Any, mode: str, labels: Labels, device: Device) -> None:
        self.page, self.mode, self.labels, self.device = page, mode, labels, device
        self.scrolls, self.position = 0, ""
        page.evaluate(WATCH)

    def answer(self, said: Payload) -> Taken:
        """Enter an answer, and wait until the next item can be answered."""
        if not self.position:
            self._wait()
        if self.device == "touch":
            time.sleep(LOOKED)
        self.page.evaluate(TAKE)
        self.scrolls = 0
        way = "keyboard" if self.device == "keyboard" else "pointer"
        ENTER[self.mode, way](self, said)
        self._wait()
        self.page.evaluate(SETTLE)
        seen = self.page.evaluate(TAKE)
        counts = Counter(seen["events"])
        return Taken(
            counts["key"],
            counts["modifier"],
            counts["press"],
            self.scrolls,
            self._count_moves(seen["events"]),
            count_decisions(self.mode, said, self.labels),
            seen["waited"],
        )

    def _wait(self) -> None:
        new = f'#task[data-ready="yes"]:not([data-position="{self.position}"])'
        self.page.wait_for_selector(new, state="attached")
        self.position = self.page.locator("#task").get_attribute("data-position")

    def _count_moves(self, events: Sequence[str]) -> int:
        """Count how often the hand went from the mouse to the keyboard or back, beginning and
        ending at the mouse, because the next answer begins there."""
        if self.device != "mouse":
            return 0
        places = ["press", *("key" if kind == "modifier" else kind for kind in events), "press"]
        return sum(before != after for before, after in pairwise(places))

    # inputs --------------------------------------------------------------------------------

    def keys(self, *names: str) -> None:
        for name in names:
            self.page.keyboard.press(name)

    def digits(self, label: str) -> None:
        self.keys(*fields.label_keys(label, self.labels))

    def press(self, place: Any, part: float = 0.5) -> None:
        """Click or tap, after scrolling if need be; ``part`` is how far along a bar."""
        self.page.evaluate(SETTLE)  # what the page scrolls by itself, nobody has to
        spot = place.evaluate(FIND, part)
        if not spot["seen"]:
            spot = place.evaluate(SCROLL, part)
            assert spot["seen"], (self.mode, self.device, place)
            self.scrolls += math.ceil(abs(spot["by"]) / (SWIPE * self.page.viewport_size["height"]))
        press = self.page.mouse.click if self.device == "mouse" else self.page.touchscreen.tap
        press(spot["x"], spot["y"])

    def press_rest(self, rest: str) -> None:
        choice = self.page.locator(f'[data-rest="{rest}"]')
        self.press(choice if choice.is_visible() else self.page.locator('[data-rest="done"]'))


def operate(hands: Hands, said: Payload) -> None:
    """The keys of the mode's own simulated person, who is as quick as can be."""
    mode: Any = MODES[hands.mode]()
    mode.operate(hands.page, said, hands.labels)


def press_hard(hands: Hands, said: Payload) -> None:
    hands.press(hands.page.locator("button.label").nth(hands.labels.index(said["label"])))


def press_quick(hands: Hands, said: Payload) -> None:
    rows = hands.page.locator(".label-row button.label")
    hands.press(rows.nth(hands.labels.index(said["top"])))
    for label in said["alternatives"]:
        hands.press(rows.nth(hands.labels.index(label)))
    hands.press(hands.page.locator(f'[data-level="{said["certainty"]}"]'))
    if said["certainty"] < 5 and len(hands.labels) > 2:
        hands.press_rest(said["rest"])


def type_chips(hands: Hands, said: Payload) -> None:
    """The largest amount is last, because one key lays all that is left."""
    *small, (largest, _) = sorted(said["chips"].items(), key=lambda one: one[1])
    for label, count in small:
        hands.digits(label)
        hands.keys(*_steps(count - 1, "PageUp", "ArrowRight", "ArrowLeft"))
    two = len(hands.labels) == 2
    if not (two and small):  # of two, the other one has what is left
        hands.digits(largest)
        hands.keys("a")
    hands.keys("Enter" if two else {"ruled_out": "x", "possible": "z"}[said["rest"]])


def _steps(by: int, five: str, more: str, fewer: str) -> list[str]:
    """Return the fewest steps of five and of one that go up by so many."""
    fives = min(range(by // 5 + 2), key=lambda n: n + abs(by - 5 * n))
    ones = by - 5 * fives
    return [five] * fives + [more if ones > 0 else fewer] * abs(ones)


def press_chips(hands: Hands, said: Payload) -> None:
    laid = list(said["chips"].items())
    for label, count in laid[:1] if len(hands.labels) == 2 else laid:
        row = hands.page.locator(".chip-row").nth(hands.labels.index(label))
        hands.press(row.locator(".track"), (count - 0.5) / CHIPS)
    hands.press_rest(said["rest"])


def type_classic(hands: Hands, said: Payload) -> None:
    """From question to question by Tab; ``Shift+X`` ticks all classes that were not named."""
    hands.keys("Tab", *_choose(hands.labels.index(said["top"]), hands.labels), "Tab", *said["p1"])
    none = hands.page.locator("fieldset").nth(1).locator(".option").last.inner_text()
    options = [*hands.labels, none]
    place = len(hands.labels) if said["second"] is None else hands.labels.index(said["second"])
    hands.keys("Tab", *_choose(place, options))
    if said["p2"] is not None:
        hands.keys("Tab", *said["p2"])
    if every := _ticks(said, hands.labels):
        if every[0] is None:
            hands.keys("Shift+X")
        at = -1
        if said["p2"] is None and every != [None]:
            hands.keys("Tab")  # past the second box
        for place in sorted(hands.labels.index(label) for label in every if label is not None):
            hands.keys(*["Tab"] * (place - at), "Space")
            at = place
    hands.keys("Control+Enter")


def _choose(place: int, options: Sequence[str]) -> list[str]:
    """Return the fewest keys that choose an option of a list whose first one has the focus: arrows,
    which go round, or its first letter, which goes to the next that begins with it."""
    up = len(options) - place
    arrows = ["ArrowDown"] * place if place <= up else ["ArrowUp"] * up
    letter = options[place][0].lower()
    same = [n for n, option in enumerate(options) if option.lower().startswith(letter)]
    same = [n for n in same if n > 0] + [n for n in same if n == 0]
    letters = [letter] * (same.index(place) + 1)
    return min(arrows or ["Space"], letters, key=len)


def _ticks(said: Payload, labels: Labels) -> list[str | None]:
    """Return which boxes to press; None first is the button that ticks all not named."""
    impossible = said["impossible"]
    unnamed = [label for label in labels if label not in (said["top"], said["second"])]
    kept: list[str | None] = [label for label in unnamed if label not in impossible]
    return [None, *kept] if 1 + len(kept) <= len(impossible) else list(impossible)


def press_classic(hands: Hands, said: Payload) -> None:
    page, labels = hands.page, hands.labels
    top, second, impossible = (page.locator("fieldset.block").nth(n) for n in range(3))
    hands.press(top.locator("label.option").nth(labels.index(said["top"])))
    hands.press(page.locator('[data-field="p1"]'))
    hands.keys(*said["p1"])
    place = len(labels) if said["second"] is None else labels.index(said["second"])
    hands.press(second.locator("label.option").nth(place))
    if said["p2"] is not None:
        hands.press(page.locator('[data-field="p2"]'))
        hands.keys(*said["p2"])
    for label in _ticks(said, labels):
        if label is None:
            hands.press(impossible.locator("button"))
        else:
            hands.press(impossible.locator("label.option").nth(labels.index(label)))
    hands.press(page.locator("#answer .button.primary"))


def type_search(hands: Hands, said: Payload) -> None:
    """Letters until the label is on top of the list; amounts from the box, which stays empty."""
    for pick in said["picks"]:
        _find(hands, pick["node"], 1)
        hands.keys("Enter")
    selected = len(said["picks"]) - 1
    for place, by in _changes(said):
        if place != selected:
            hands.keys(f"Control+{place + 1}")
            selected = place
        more, fewer = ("NumpadAdd", "NumpadSubtract") if by > 0 else ("NumpadSubtract", "NumpadAdd")
        hands.keys(*_steps(abs(by), "PageUp" if by > 0 else "PageDown", more, fewer))
    hands.keys({"ruled_out": "Alt+x", "possible": "Alt+z"}[said["rest"]])


def press_search(hands: Hands, said: Payload) -> None:
    """A finger opens the keyboard of the screen first; the box of a computer has the focus."""
    for pick in said["picks"]:
        if hands.device == "touch":
            hands.press(hands.page.locator("#search-box"))
        _find(hands, pick["node"], LISTED)
        hands.press(hands.page.locator(f'#found [data-name="{pick["node"]}"]'))
    for place, _ in _changes(said):
        track = hands.page.locator(".pick").nth(place).locator(".track")
        hands.press(track, (said["picks"][place]["chips"] - 0.5) / CHIPS)
    hands.press_rest(said["rest"])


def _find(hands: Hands, name: str, within: int) -> None:
    """Type a name until it is among the first that are found."""
    for letter in name:
        hands.keys(letter)
        found = hands.page.locator("#found [data-name]").evaluate_all(
            "(all, most) => all.slice(0, most).map((one) => one.dataset.name)", within
        )
        if name in found:
            return


def _changes(said: Payload) -> Iterator[tuple[int, int]]:
    """Yield the picks whose equal share is to be changed, and by how much; who gives comes first,
    and the first pick has what the others leave."""
    even = _share(len(said["picks"]))
    by = [pick["chips"] - equal for pick, equal in zip(said["picks"], even, strict=True)]
    changed = [(place, more) for place, more in enumerate(by) if place and more]
    yield from sorted(changed, key=lambda one: one[1])


ENTER: Mapping[tuple[str, str], Callable[[Hands, Payload], None]] = {
    ("hard", "keyboard"): operate,
    ("hard", "pointer"): press_hard,
    ("quick", "keyboard"): operate,
    ("quick", "pointer"): press_quick,
    ("chips", "keyboard"): type_chips,
    ("chips", "pointer"): press_chips,
    ("classic", "keyboard"): type_classic,
    ("classic", "pointer"): press_classic,
    ("search", "keyboard"): type_search,
    ("search", "pointer"): press_search,
}
