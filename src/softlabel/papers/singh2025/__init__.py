"""Singh, Tiwari, Hasanbeig & Gupta 2025, "Soft-Label Training Preserves Epistemic Uncertainty",
arXiv 2511.14117: the majority's label against the distribution of all labels, on six sets.

Known to us are the abstract and the captions of the figures.  The four tables, the networks and
the splits are not, so ours are our own, and say so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from softlabel.papers.claims import Cell, Recipe
from softlabel.papers.singh2025 import data
from softlabel.papers.singh2025 import scores as measuring
from softlabel.papers.singh2025.claims import HARD, SOFT, claims, facts
from softlabel.papers.singh2025.figures import figures, tables
from softlabel.train import Run

if TYPE_CHECKING:  # claims can be read without torch
    from softlabel.train import Lesson

NAME = "singh2025"
TITLE = "Singh et al. 2025: Soft-Label Training Preserves Epistemic Uncertainty"
COVER = "curves"
SEEDS: dict[Recipe, int] = {"paper": 5, "cpu": 5, "features": 10}
DELIVERED = {SOFT: "aggregate", HARD: "hard"}
ENCODER = "roberta-base"  # of the recipe "paper": a usual choice, and not known to be theirs

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


def cells(recipe: Recipe, quick: bool = False, encoder: str = ENCODER) -> Sequence[Cell]:
    """Soft and hard for each set; ``encoder`` is a name on a model hub, or a folder."""
    made = []
    for name in data.SETS:
        base, settings, lesson = _quick(name, recipe) if quick else _full(name, recipe, encoder)
        for label, deliver in DELIVERED.items():
            made.append(Cell(f"{name} {label}", lesson, deliver, settings, base))
    return made


def probes(run: Run, cell: Cell) -> Mapping[str, float]:
    """See ``singh2025_scores``; and what the training items' mean label would score."""
    taught = cell.lesson().teaching.pooled
    return {**measuring.scores(run), **measuring.constant(taught, run.people.probs)}


# ── what is trained on what ──────────────────────────────────────────────────────────────────

Made = tuple[str, dict[str, Any], Callable[[], "Lesson"]]  # base, settings, lesson


def _full(name: str, recipe: Recipe, encoder: str) -> Made:
    if name == data.PICTURES:
        base = {"cpu": "small", "features": "features", "paper": "g26"}[recipe]
        return base, {}, data.pictures
    if recipe == "features":
        return "features", {}, partial(_frozen, name)
    if recipe == "cpu":
        return "words", {"net": f"words:texts={_sides(name)}"}, partial(_words, name)
    return "hub", {"net": f"hub/{encoder}"}, partial(_hub, name, encoder)


def _quick(name: str, recipe: Recipe) -> Made:
    if name == data.PICTURES:
        from softlabel.papers.claims import quick

        features = recipe == "features"
        base = "features" if features else "small"
        return base, {"epochs": 2}, partial(_watched, partial(quick.lesson, features=features))
    if recipe == "features":
        return "features", {"epochs": 2}, partial(_simulated, name, "bag")
    settings = {"net": f"words:texts={_sides(name)}", "epochs": 2}
    return "words", settings, partial(_simulated, name, "words")


def _sides(name: str) -> int:
    return 2 if name.startswith("chaosnli") else 1


@cache
def _words(name: str) -> Lesson:
    from softlabel.train import text_words

    return data.lesson(name, text_words.rows, f"words-{text_words.WORDS}")


@cache
def _frozen(name: str) -> Lesson:
    from softlabel.train import text_encoders

    encoder = text_encoders.MiniLM()
    return data.lesson(name, partial(text_encoders.paired, encoder=encoder), encoder.name)


@cache
def _hub(name: str, encoder: str) -> Lesson:
    from softlabel.train import text_hub

    text_hub.known(encoder)
    return data.lesson(name, partial(text_hub.rows, place=encoder), encoder)


@cache
def _simulated(name: str, reader: str) -> Lesson:
    from softlabel.train import text, text_words

    read = partial(text_words.rows, words=10) if reader == "words" else data.bags
    return replace(text.lesson(data.simulated(name), read, reader), watched=True)


def _watched(lesson: Callable[[], Lesson]) -> Lesson:
    return replace(lesson(), watched=True)
