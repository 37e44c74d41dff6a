"""Singh, Tiwari, Hasanbeig & Gupta 2025, "Soft-Label Training Preserves Epistemic Uncertainty",
arXiv 2511.14117: the majority's label against the distribution of all labels, on six sets.

We know the abstract and the captions of the figures, but not the four tables, the networks and the
splits.  Those here are our own choice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from softlabel.papers.claims import Cell, Recipe
from softlabel.papers.claims import quick as generated
from softlabel.papers.singh2025 import data
from softlabel.papers.singh2025.claims import claims, facts
from softlabel.papers.singh2025.data import PICTURES, SETS, Condition, Labels
from softlabel.papers.singh2025.figures import figures, score_constant, score_run, tables
from softlabel.train import Run

if TYPE_CHECKING:  # claims can be read without torch
    from softlabel.train import Lesson

NAME = "singh2025"
TITLE = "Singh et al. 2025: Soft-Label Training Preserves Epistemic Uncertainty"
COVER = "curves"
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

DELIVERIES: dict[Labels, str] = {"soft": "aggregate", "hard": "hard"}
ENCODER = "roberta-base"  # of the recipe "paper": a usual choice, and not known to be theirs
Trained = tuple[str, dict[str, Any], Callable[[], "Lesson"]]  # base recipe, settings, lesson


def cells(recipe: Recipe, quick: bool = False, encoder: str = ENCODER) -> list[Cell]:
    """Return soft and hard labels for each set; ``encoder`` is a name on a model hub, or a
    folder."""
    made = []
    for name in SETS:
        base, settings, lesson = _quick(name, recipe) if quick else _full(name, recipe, encoder)
        for labels, deliver in DELIVERIES.items():
            made.append(Cell(Condition(name, labels).name, lesson, deliver, settings, base))
    return made


def probes(run: Run, cell: Cell) -> Mapping[str, float]:
    """Return the scores of the run, and those of the training items' mean label."""
    return score_run(run) | score_constant(cell.lesson().teaching.pooled, run.people.probs)


def _full(name: str, recipe: Recipe, encoder: str) -> Trained:
    if name == PICTURES:
        base = {"cpu": "small", "features": "features", "paper": "g26"}[recipe]
        return base, {}, data.pictures
    if recipe == "features":
        return "features", {}, partial(_frozen, name)
    if recipe == "cpu":
        return "words", {"net": f"words:texts={data.texts_per_item(name)}"}, partial(_words, name)
    return "hub", {"net": f"hub/{encoder}"}, partial(_hub, name, encoder)


def _quick(name: str, recipe: Recipe) -> Trained:
    base = "features" if recipe == "features" else "small" if name == PICTURES else "words"
    settings: dict[str, Any] = {"epochs": 2}
    if name == PICTURES:
        return base, settings, partial(_shapes, recipe == "features")
    if base == "words":
        settings["net"] = f"words:texts={data.texts_per_item(name)}"
    return base, settings, partial(_simulated, name, "bag" if base == "features" else "words")


# ── lessons; torch is loaded when one is read ────────────────────────────────────────────────


@cache
def _words(name: str) -> Lesson:
    from softlabel.train import text_words

    return data.lesson(data.texts(name), text_words.rows, f"words-{text_words.WORDS}")


@cache
def _frozen(name: str) -> Lesson:
    from softlabel.train import text_encoders

    encoder = text_encoders.MiniLM()
    read = partial(text_encoders.paired, encoder=encoder)
    return data.lesson(data.texts(name), read, encoder.name)


@cache
def _hub(name: str, encoder: str) -> Lesson:
    from softlabel.train import text_hub

    text_hub.known(encoder)
    return data.lesson(data.texts(name), partial(text_hub.rows, place=encoder), encoder)


@cache
def _simulated(name: str, reader: str) -> Lesson:
    from softlabel.train import text_words

    read = partial(text_words.rows, words=10) if reader == "words" else data.bags
    return data.lesson(data.simulated(name), read, reader)


def _shapes(features: bool) -> Lesson:
    return replace(generated.lesson(features=features), watched=True)
