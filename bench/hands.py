"""What an answer takes in each mode: inputs counted on the real page, and seconds predicted.

    python bench/hands.py [--quick] [--write]

Simulated hands answer in a real Chromium, by keyboard, mouse and touch, for 2 to 1,000 labels.
They are practised: they take the way with the fewest inputs and make no slips.  The page counts key
presses, clicks or taps, and scrolls; a key with Shift, Ctrl or Alt is one input.  Everything from
the first look at an item until it is sent counts, also the decision about the rest.

Seconds follow the keystroke-level model: .28 s for a key (a modifier is one more), 1.1 s to point
and .2 s to click or tap, .4 s from mouse to keyboard or back, and 1.35 s for each decision: a
class, an amount that does not follow from the others, the rest.

Each answer is one of five kinds: one class, two, three, four, or two with the others possible.  In
the mix they have the weights of CIFAR-10S.  What the page itself takes, from the last input until
the next item is painted, is measured.  At the end the stored answers must be those that were meant.

With ``--write`` the tables go into RESULTS.md and into docs/cost.md.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import results
from asking import hands
from asking import study as asked
from asking.hands import DEVICES, Device, Hands, Taken

from softlabel import store
from softlabel.simulate.browser import launch_chromium
from softlabel.simulate.crowd import run_server

COUNTS = {"hard": (2, 5, 10, 30), "quick": (2, 5, 10, 30), "chips": (2, 5, 10, 30)}
COUNTS |= {"classic": (2, 5, 10, 30), "search": (30, 1000)}
MIX = {1: 0.35, 2: 0.28, 3: 0.11, 4: 0.11, 5: 0.15}  # classes possible in an answer of CIFAR-10S
TIMES = 4  # answers of each kind
SCREENS: dict[Device, dict[str, Any]] = {
    "keyboard": {"viewport": {"width": 1280, "height": 800}},
    "mouse": {"viewport": {"width": 1280, "height": 800}},
    "touch": {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True},
}
TITLE = "Inputs and seconds per answer"
DOCS = Path(__file__).parents[1] / "docs"
BEGINNINGS = (
    "b",
    "br",
    "c",
    "ch",
    "d",
    "dr",
    "f",
    "fl",
    "g",
    "h",
    "l",
    "m",
    "n",
    "p",
    "s",
    "sh",
    "t",
)
MIDDLES = ("a", "ai", "e", "ea", "i", "o", "oo", "u")
ENDS = ("ck", "d", "l", "m", "n", "nd", "ng", "p", "r", "rt", "s", "st", "t", "x")


def name_labels(count: int) -> list[str]:
    """The classes of CIFAR-10, and beyond ten made-up names of two syllables, as short as real
    ones; about four letters tell one of a thousand from the others."""
    if count <= len(asked.LABELS):
        return asked.LABELS[:count]
    rng, names = np.random.default_rng(0), dict.fromkeys(asked.LABELS)
    while len(names) < count:
        parts = [rng.choice(some) for some in (BEGINNINGS, MIDDLES, ENDS, MIDDLES, ENDS)]
        names["".join(parts)] = None
    return list(names)


@dataclass(frozen=True)
class Measured:
    """All answers of one mode, number of labels and device, by the classes possible in them."""

    mode: str
    labels: int
    device: Device
    taken: dict[int, list[Taken]]

    def inputs(self, support: int) -> float:
        return float(np.mean([one.inputs for one in self.taken[support]]))

    def seconds(self, support: int) -> float:
        return float(np.mean([one.seconds for one in self.taken[support]]))

    def mix(self, values: dict[int, float]) -> float:
        weights = {support: MIX[support] for support in values}
        return sum(weights[k] * values[k] for k in values) / sum(weights.values())

    @property
    def waits(self) -> list[float]:
        return [one.waited for some in self.taken.values() for one in some]


# ── measuring ────────────────────────────────────────────────────────────────────────────────


def measure(browser: Any, mode: str, count: int, times: int) -> Iterator[Measured]:
    """One study, and a visit with each device."""
    labels = name_labels(count)
    supports = [support for support in MIX if support <= count]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "hands"
        asked.write_mode(folder, mode, labels, items=len(supports) * times + 1)
        meant: list[dict[str, Any]] = []
        with run_server(folder) as server:
            for device in DEVICES:
                context = browser.new_context(**SCREENS[device])
                page = enter(context, server.url)
                shown = context.request.get(f"{server.url}/api/plan").json()["labels"] or labels
                somebody = Hands(page, mode, shown, device)
                rng, taken = np.random.default_rng(0), {support: [] for support in supports}
                for support in supports * times:
                    classes = rng.permutation(labels)[: max(2, support)].tolist()
                    said = hands.say(mode, classes, support, labels)
                    taken[support].append(somebody.answer(said))
                    meant.append(said)
                await_sent(page)
                context.close()
                yield Measured(mode, count, device, taken)
        check_stored(folder, meant)


def enter(context: Any, url: str) -> Any:
    """Go straight to the first item."""
    boxes = {"adult": "on", "read": "on", "agree": "on"}
    for path, form in (("consent", boxes), ("instructions", {})):
        context.request.post(
            f"{url}/{path}", form=form, headers={"X-Softlabel": "1"}, max_redirects=0
        )
    page = context.new_page()
    page.goto(url)
    page.wait_for_selector("#task[data-position]", state="attached")
    return page


def await_sent(page: Any) -> None:
    """Answers are sent behind the page's back."""
    page.wait_for_load_state("networkidle")


def check_stored(folder: Path, meant: Sequence[dict[str, Any]]) -> None:
    """The store holds what the hands meant, in that order: they entered it, and nothing else."""
    with store.open(folder / ".softlabel" / "answers.db", create=False) as answers:
        stored = [json.loads(row.answer_json or "{}") for row in answers.responses("hands")]
    assert len(stored) == len(meant), (len(stored), len(meant))
    for one, said in zip(stored, meant, strict=True):
        same = {key: _plain(one.get(key)) for key in said}
        assert same == {key: _plain(value) for key, value in said.items()}, (one, said)


def _plain(value: Any) -> Any:
    """Sets of classes have no order."""
    if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
        return sorted(value)
    return value


# ── telling ──────────────────────────────────────────────────────────────────────────────────


def tabulate(measured: Sequence[Measured]) -> list[list[str]]:
    head = ["mode", "labels", "device", "inputs, one class", "two", "mix"]
    head += ["seconds, one class", "two", "mix", "page ms, median", "p95"]
    return [head, *map(row, measured)]


def row(one: Measured) -> list[str]:
    cells = [one.mode, f"{one.labels:,}", one.device]
    for value in (one.inputs, one.seconds):
        each = {support: value(support) for support in one.taken}
        cells += [f"{each[1]:.1f}", f"{each[2]:.1f}", f"{one.mix(each):.1f}"]
    median, high = np.percentile(one.waits, [50, 95]).tolist()
    return [*cells, f"{median:.0f}", f"{high:.0f}"]


def compare(measured: Sequence[Measured]) -> list[list[str]]:
    """The short table of the documentation: the mix, by mode and number of labels."""
    made = [["mode", "labels", *(f"{device}: inputs, seconds" for device in DEVICES)]]
    for mode, counts in COUNTS.items():
        for count in counts:
            cells = []
            for one in (m for m in measured if (m.mode, m.labels) == (mode, count)):
                inputs, seconds = (
                    one.mix({support: value(support) for support in one.taken})
                    for value in (one.inputs, one.seconds)
                )
                cells.append(f"{inputs:.1f}, {seconds:.1f}")
            if cells:
                made.append([f"[`{mode}`](modes/{mode}.md)", f"{count:,}", *cells])
    return made


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one answer of each kind, few labels")
    parser.add_argument("--write", action="store_true", help="put the tables into their pages")
    parser.add_argument("--mode", choices=COUNTS, help="only this one")
    given = parser.parse_args(argv)
    if given.write and (given.quick or given.mode):
        parser.error("--write needs all modes, and not --quick")
    load, measured = os.getloadavg()[0], list[Measured]()
    with launch_chromium() as browser:
        for mode, counts in COUNTS.items():
            if given.mode in (None, mode):
                for count in counts[-2:] if given.quick else counts:
                    for one in measure(browser, mode, count, 1 if given.quick else TIMES):
                        measured.append(one)
                        print(" | ".join(row(one)), flush=True)
        version = browser.version
    whole = results.table(tabulate(measured))
    if given.write:
        about = (
            f"`python bench/hands.py --write`: {TIMES} answers of each of five kinds per line, "
            "in a real page; how inputs and seconds are counted is said in its docstring. *Mix*: "
            "35 % of answers hold one class possible, 28 % two, 11 % three, 11 % four, 15 % more, "
            "as in CIFAR-10S (of two labels: one or two). Page: from the last input until the next "
            f"item is painted. Load average before it began: {load:.1f}. Chromium {version}. "
            f"{results.circumstances()}"
        )
        results.write_section(TITLE, [about, whole])
        results.write_block(DOCS / "cost.md", "hands", "modes", results.table(compare(measured)))
    print("\n" + whole)


if __name__ == "__main__":
    main()
