"""How a person answers on the real page: by keys where keys are quickest, else by clicks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

Said = Mapping[str, Any]
CERTAINTY = "QWERT"  # the keys of the five steps
REST = {"ruled_out": "X", "possible": "Z", "unsaid": "C"}


def hard(page: Page, said: Said, labels: Sequence[str]) -> None:
    """One press: it is sent at once."""
    page.keyboard.type(_key(said["label"], labels))


def quick(page: Page, said: Said, labels: Sequence[str]) -> None:
    """Label, alternatives, what is ruled out, certainty, the rest; the last one sends it.

    Of two labels the certainty is the last one."""
    for label in (said["top"], *said["alternatives"]):
        page.keyboard.type(_key(label, labels))
    for label in said["excluded"]:
        for digit in _key(label, labels):
            page.keyboard.press(f"Shift+Digit{digit}")
    page.keyboard.press(CERTAINTY[said["certainty"] - 1])
    named = len(said["alternatives"]) + len(said["excluded"]) + 1
    if len(labels) > 2 and (said["alternatives"] or said["rest"] == "possible"):
        page.keyboard.press(REST[said["rest"]] if named < len(labels) else "Enter")


def classic(page: Page, said: Said, labels: Sequence[str]) -> None:
    """The form, from top to bottom."""
    top, second, impossible = (page.locator("fieldset.block").nth(n) for n in range(3))
    top.locator("label.option").nth(labels.index(said["top"])).click()
    page.fill('[data-field="p1"]', f"{said['p1']:g}")
    place = len(labels) if said["second"] is None else labels.index(said["second"])
    second.locator("label.option").nth(place).click()
    if said["p2"] is not None:
        page.fill('[data-field="p2"]', f"{said['p2']:g}")
    for label in said["impossible"]:
        impossible.locator("label.option").nth(labels.index(label)).click()
    page.locator("#answer .button.primary").click()


def chips(page: Page, said: Said, labels: Sequence[str]) -> None:
    """A number for each label, a cross on what is ruled out, and the rest."""
    rows = page.locator(".chip-row")
    for label, count in said["chips"].items():
        rows.nth(labels.index(label)).locator("button.count").click()
        page.locator("input.count").fill(str(count))
        page.locator("input.count").press("Enter")
    for label in said["excluded"]:
        rows.nth(labels.index(label)).locator("button.out").click()
    _click_rest(page, said["rest"])


def search(page: Page, said: Said, labels: Sequence[str]) -> None:
    """Find each label by typing, give it its chips, limit the branches, and the rest."""
    for place, pick in enumerate(said["picks"]):
        page.fill("#search-box", pick["node"].rpartition("/")[2])
        page.locator(f'#found [data-name="{pick["node"]}"]').click()
        for _ in range(pick["chips"] if place else 0):
            page.locator(".pick").nth(place).locator("button.step").last.click()
    for branch in said["scope"]:
        page.locator(".scope button", has_text=branch.rpartition("/")[2]).first.click()
    _click_rest(page, said["rest"])


HANDS: dict[str, Callable[[Page, Said, Sequence[str]], None]] = {
    "hard": hard,
    "quick": quick,
    "classic": classic,
    "chips": chips,
    "search": search,
}


def _key(label: str, labels: Sequence[str]) -> str:
    """What is typed for a label: its place on this person's page."""
    place = labels.index(label) + 1
    return str(place % 10) if len(labels) <= 10 else f"{place:0{len(str(len(labels)))}d}"


def _click_rest(page: Page, rest: str) -> None:
    """Say what is with the others; where there are none, only go on."""
    choice = page.locator(f'[data-rest="{rest}"]')
    (choice if choice.is_visible() else page.locator('[data-rest="done"]')).click()
