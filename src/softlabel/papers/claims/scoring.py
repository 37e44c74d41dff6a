"""How a label is judged by votes held out, and the tables that hold the scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import psi

from softlabel.metrics import entropy, kl
from softlabel.tables import Floats, Ints, Score


def grassberger(counts: Ints) -> Floats:
    """(m,) entropy of the distribution behind counts (Grassberger 2003):

    log N - (1/N) sum_k n_k G(n_k), G(n) = psi(n) + (-1)^n/2 [psi((n + 1)/2) - psi(n/2)].
    What is left of the bias is at most 1/(2N), the same for all labels of an item.
    """
    n = np.arange(1, int(counts.max()) + 1)
    g = np.r_[0, psi(n) + 0.5 * (-1.0) ** n * (psi((n + 1) / 2) - psi(n / 2))]
    total = counts.sum(axis=1)
    return np.asarray(np.log(total) - (counts * g[counts]).sum(axis=1) / total)


def kl_star(share: Floats, label: Floats, entropies: Floats) -> Floats:
    """(m,) cross-entropy to the shares held out, minus the entropy of all votes: KL without the
    constant that few held-out votes leave in it."""
    return kl(share, label) + entropy(share) - entropies


@dataclass(eq=False)
class Ledger:
    """Scores by row and column of a table, one per item, averaged over splits."""

    columns: Sequence[str]
    kept: dict[str, dict[str, list[Floats]]] = field(default_factory=dict)

    def add(self, row: str, column: object, by_item: Floats) -> None:
        """Of one split."""
        self.kept.setdefault(row, {}).setdefault(str(column), []).append(by_item)

    def value(self, row: str, column: object) -> float:
        """The mean over items and splits."""
        return float(np.mean(self.by_item(row, column)))

    def by_item(self, row: str, column: object) -> Floats:
        """(m,) means over splits."""
        return np.asarray(np.mean(self.kept[row][str(column)], axis=0))

    def gain(self, row: str, over: str, column: object) -> tuple[float, float]:
        """How much lower ``row`` is than ``over``, and 1.96 standard errors over items."""
        difference = self.by_item(over, column) - self.by_item(row, column)
        return float(difference.mean()), half_width(difference)

    def table(self, title: str) -> Table:
        rows = []
        for name, cells in self.kept.items():
            shown = [
                _shown(self, name, column) if column in cells else "–" for column in self.columns
            ]
            rows.append((name, *shown))
        return Table(title, ("", *map(str, self.columns)), rows)


@dataclass(frozen=True)
class Table:
    """A table of text for a page or a terminal."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    note: str = ""


def shown(score: Score | None, form: str = ".3f", half: str = ".3f") -> str:
    """A mean with half of its interval; of one run, which has none, the number alone.

    >>> shown(Score(-0.5, -0.75, -0.25, 5)), shown(Score(2.0, math.nan, math.nan, 1)), shown(None)
    ('−0.500 ±0.250', '2.000', '–')
    """
    if score is None:
        return "–"
    width = score.half
    more = f" ±{width:{half}}" if math.isfinite(width) else ""
    return f"{score.value:{form}}{more}".replace("-", "−")


def half_width(values: Floats) -> float:
    """1.96 standard errors of the mean."""
    return float(1.96 * values.std(ddof=1) / np.sqrt(len(values)))


def _shown(ledger: Ledger, row: str, column: str) -> str:
    values = ledger.by_item(row, column)
    return f"{values.mean():.4f} ±{half_width(values):.3f}"
