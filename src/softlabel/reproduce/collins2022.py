"""Collins, Bhatt & Weller 2022, "Eliciting and Learning with Soft Labels from Every Annotator"
(HCOMP, arXiv 2207.00810): 248 people, 1,000 images of CIFAR-10, and what networks learn from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from softlabel.reproduce.claims import Recipe
from softlabel.reproduce.collins2022_claims import claims
from softlabel.reproduce.collins2022_facts import facts
from softlabel.reproduce.collins2022_figures import figures
from softlabel.reproduce.collins2022_tables import tables
from softlabel.reproduce.papers import Cell
from softlabel.runs import Run

__all__ = ["COVER", "NAME", "TITLE", "cells", "claims", "facts", "figures", "probes", "tables"]

NAME = "collins2022"
TITLE = "Collins, Bhatt & Weller 2022: Eliciting and Learning with Soft Labels from Every Annotator"
COVER = "m-curve"


def cells(recipe: Recipe, quick: bool = False) -> Sequence[Cell]:
    """What is trained, most valuable first."""
    from softlabel.reproduce import collins2022_cells  # needs torch, which claims can do without

    return collins2022_cells.cells(recipe, quick)


def probes(run: Run, cell: Cell) -> Mapping[str, float]:
    """What is measured on a finished run."""
    from softlabel.reproduce import collins2022_probes

    return collins2022_probes.probes(run, cell)
