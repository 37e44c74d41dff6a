"""How the cells of Collins, Bhatt & Weller 2022 are called: by the labels and, after the stroke,
how they are delivered (see ``collins2022_printed``)."""

from __future__ import annotations

NETWORKS = ("resnet34a", "vgg11", "resnet50")
PEOPLE = 6  # rich answers per image; 200 of the 1,000 images have a seventh
VOTES = 51  # about as many of CIFAR-10H
M_10H, M_10S = (1, 2, 4, 8, 16, 32), (1, 2, 3, 4, 5)  # of figures 6 and 10, beside all
SPREADS = (0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4)  # gamma of the paper, which chose 0.1
BETAS = (0.0, 1e-4, 1e-3, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4)  # of smoothing, which chose 0.05
FRESH = ", fresh crops"  # behind the name of a cell
LONG = 65  # epochs, the paper's
FRESH_LONG = f"{FRESH}, {LONG} epochs"
T2_EACH = "t2-clamp/each"


def spread_cell(spread: float) -> str:
    """The cell of T2-clamp, de-aggregated, with this spread (the paper's gamma)."""
    return T2_EACH if spread == 0.1 else f"t2-clamp {spread}/each"


def beta_cell(beta: float) -> str:
    """The cell of label smoothing by this much."""
    return {0.0: "hard", 0.05: "smoothing"}.get(beta, f"smoothing {beta}")


def m_cells(labels: str) -> dict[int, str]:
    """The cells of the M curve, by number of annotators."""
    few = {m: f"{labels}/{m}" for m in (M_10H if labels == "10h" else M_10S)}
    return few | {VOTES if labels == "10h" else PEOPLE: f"{labels}/each"}


# scored on validation images too
TUNED = {*map(spread_cell, SPREADS), *map(beta_cell, BETAS)}
