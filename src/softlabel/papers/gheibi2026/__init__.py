"""Gheibi & Ghazizadeh 2026, "Same Target, Different Basins: Hard vs. Soft Labels for Annotator
Distributions", arXiv 2605.20642.

Single votes, drawn (SLS) or taken in turn (multipass), have the same expected loss as the shares of
all votes; what differs is the noise.  The paper holds them against soft labels and majority votes
on CIFAR-10H, with all votes and with few.  Its numbers are known to us from reading notes alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from softlabel.papers.claims import Cell, Recipe
from softlabel.papers.gheibi2026.cells import PROBED, cells
from softlabel.papers.gheibi2026.claims import claims
from softlabel.papers.gheibi2026.facts import facts
from softlabel.papers.gheibi2026.figures import figures
from softlabel.papers.gheibi2026.tables import tables

if TYPE_CHECKING:
    from softlabel.train import Run

NAME = "gheibi2026"
TITLE = "Gheibi & Ghazizadeh 2026: Same target, different basins"
COVER = "by-votes"
SEEDS: dict[Recipe, int] = {"paper": 5, "cpu": 5, "features": 10}

__all__ = [
    "COVER",
    "NAME",
    "SEEDS",
    "TITLE",
    "cells",
    "claims",
    "facts",
    "figures",
    "probes",
    "tables",
]


def probes(run: Run, cell: Cell) -> Mapping[str, float]:
    """Scores against people and distances for every run; flatness and detection where votes are all
    or five; and whatever its pairs say whose other half is finished."""
    from softlabel.papers.gheibi2026.flat import flatness
    from softlabel.papers.gheibi2026.look import Look, against_people, taught_and_learned
    from softlabel.papers.gheibi2026.outside import outside
    from softlabel.papers.gheibi2026.pairs import pairs

    look = Look(run, cell)
    found = against_people(run) | taught_and_learned(look) | pairs(look)
    if cell.name in PROBED:
        found |= flatness(look) | outside(look)
    return found
