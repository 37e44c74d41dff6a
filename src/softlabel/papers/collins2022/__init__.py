"""Collins, Bhatt & Weller 2022, "Eliciting and Learning with Soft Labels from Every Annotator"
(HCOMP, arXiv 2207.00810): 248 people, 1,000 images of CIFAR-10, and what networks learn from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from softlabel.papers.claims import Cell, Scale
from softlabel.papers.collins2022.cells import make_cells
from softlabel.papers.collins2022.claims import claims
from softlabel.papers.collins2022.facts import facts
from softlabel.papers.collins2022.figures import figures, tables
from softlabel.train import Run

if TYPE_CHECKING:
    from softlabel.train import Split

__all__ = ["COVER", "NAME", "TITLE", "cells", "claims", "facts", "figures", "probes", "tables"]

NAME = "collins2022"
TITLE = "Collins, Bhatt & Weller 2022: Eliciting and Learning with Soft Labels from Every Annotator"
COVER = "m-curve"


def cells(scale: Scale, quick: bool = False) -> Sequence[Cell]:
    """Return what is trained at this scale."""
    return make_cells(scale, quick, _load_lesson)


def _load_lesson(images: str, labels: str) -> Split:
    from softlabel.papers.collins2022.labels import make_lesson  # claims are read without torch

    return make_lesson(images, labels)


def probes(run: Run, cell: Cell) -> Mapping[str, float]:
    """Measure a finished run."""
    from softlabel.papers.collins2022.labels import score_run  # claims are read without torch

    return score_run(run, cell)
