"""Collins, Bhatt & Weller 2022, "Eliciting and Learning with Soft Labels from Every Annotator"
(HCOMP, arXiv 2207.00810): 248 people, 1,000 images of CIFAR-10, and what networks learn from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from softlabel.papers.claims import Cell, Recipe
from softlabel.papers.collins2022.claims import claims
from softlabel.papers.collins2022.facts import facts
from softlabel.papers.collins2022.figures import figures
from softlabel.papers.collins2022.tables import tables
from softlabel.train import Run

__all__ = ["COVER", "NAME", "TITLE", "cells", "claims", "facts", "figures", "probes", "tables"]

NAME = "collins2022"
TITLE = "Collins, Bhatt & Weller 2022: Eliciting and Learning with Soft Labels from Every Annotator"
COVER = "m-curve"


def cells(recipe: Recipe, quick: bool = False) -> Sequence[Cell]:
    """What is trained, most valuable first."""
    from softlabel.papers.collins2022 import cells as collins2022_cells

    return collins2022_cells.cells(recipe, quick)


def probes(run: Run, cell: Cell) -> Mapping[str, float]:
    """What is measured on a finished run."""
    from softlabel.papers.collins2022 import probes as collins2022_probes

    return collins2022_probes.probes(run, cell)
