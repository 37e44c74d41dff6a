"""What is trained for Collins, Bhatt & Weller 2022, the most valuable first.

The same cells under every recipe: the paper's three networks (then the name begins with that of the
network), our small one, or a head on frozen features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from softlabel.papers.claims import Cell, Recipe
from softlabel.papers.collins2022.labels import lesson
from softlabel.papers.collins2022.names import (
    BETAS,
    FRESH,
    FRESH_LONG,
    LONG,
    M_10H,
    M_10S,
    NETWORKS,
    PEOPLE,
    SPREADS,
    T2_EACH,
    beta_cell,
    spread_cell,
)
from softlabel.papers.collins2022.settings import CIFAR, FEATURES, GENERATED

QUICK_CELLS = ("hard", "10h/mean", "t2-clamp/mean", T2_EACH, "t2-clamp/1", "smoothing")
QUICK = {"epochs": 2, "batch": 16}
EACH = f"subsample:m={PEOPLE},then=per-annotator"


def cells(recipe: Recipe, quick: bool = False) -> Sequence[Cell]:
    """Tables 1 and 2, few annotators, varieties, curves, traps, and what is chosen on validation
    images; of the paper's networks first all of this for the cheapest."""
    if recipe == "data":
        return []
    if quick:
        where = FEATURES if recipe == "features" else GENERATED
        found = [cell for cell in _cells(where, QUICK) if cell.name in QUICK_CELLS]
    else:
        found = list(_cells(CIFAR))
    if recipe == "paper":  # which has so many epochs anyway
        found = [cell for cell in found if not cell.name.endswith(FRESH_LONG)]
        return [
            Cell(f"{net}/{cell.name}", cell.lesson, cell.deliver, cell.settings, f"c22-{net}")
            for net in (NETWORKS[:1] if quick else NETWORKS)
            for cell in found
        ]
    if recipe == "features":  # which cannot be cropped
        return [cell for cell in found if FRESH not in cell.name]
    return found


Make = Callable[..., Cell]  # of name, labels, delivery and settings


def _cells(where: str, settings: Mapping[str, Any] | None = None) -> Iterator[Cell]:
    def cell(name: str, labels: str, deliver: str, **more: Any) -> Cell:
        return Cell(name, partial(lesson, where, labels), deliver, {**(settings or {}), **more})

    yield from _printed(cell)
    for labels, more in (("10h", M_10H[2:]), ("t2-clamp", M_10S[2:])):  # of figures 6 and 10
        for m in more:
            yield cell(f"{labels}/{m}", labels, _few(m))
    yield from _traps(cell)
    yield from _tuned(cell)


def _printed(cell: Make) -> Iterator[Cell]:
    """Of tables 1 and 2, of table 3, and of tables 4 to 6."""
    yield cell("hard", "t2-clamp", "hard")
    yield cell("10h/mean", "10h", "aggregate")
    yield cell("t2-clamp/mean", "t2-clamp", f"subsample:m={PEOPLE},then=aggregate")
    yield cell("10h/each", "10h", "per-annotator")
    yield cell(T2_EACH, "t2-clamp", EACH)
    yield cell("uniform", "t2-clamp", "mixed:then=uniform")
    yield cell("random", "t2-clamp", "mixed:then=random")
    for m in (1, 2):
        for labels in ("10h", "t2-clamp"):
            yield cell(f"{labels}/{m}", labels, _few(m))
    for labels in ("t1-unif", "t1-clamp", "t2-unif", "select"):
        yield cell(f"{labels}/each", labels, EACH)
    yield cell("smoothing", "smoothing 0.05", "aggregate")


def _traps(cell: Make) -> Iterator[Cell]:
    """Labels as the released code has them; and crops that are fresh in every epoch, where the
    recipes freeze them as the released code does, and once more for as long as the paper trains."""
    for labels in ("t1-none", "t2-none", "released"):
        yield cell(f"{labels}/each", labels, EACH)
    for called, more in ((FRESH, {}), (FRESH_LONG, {"epochs": LONG})):
        fresh = partial(cell, augment="per_epoch", **more)
        yield fresh(f"hard{called}", "t2-clamp", "hard")
        yield fresh(f"10h/each{called}", "10h", "per-annotator")
        yield fresh(f"{T2_EACH}{called}", "t2-clamp", EACH)


def _tuned(cell: Make) -> Iterator[Cell]:
    """The grids from which validation images choose, less what is a cell already."""
    for spread in SPREADS:
        if (name := spread_cell(spread)) != T2_EACH:
            yield cell(name, f"t2-clamp {spread}", EACH)
    for beta in BETAS:
        if (name := beta_cell(beta)) not in ("hard", "smoothing"):
            yield cell(name, f"smoothing {beta}", "aggregate")


def _few(m: int) -> str:
    """By turns the labels of ``m`` annotators per image, drawn once per run."""
    return f"subsample:m={m},then=per-annotator"
