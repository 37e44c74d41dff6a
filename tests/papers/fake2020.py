"""A paper that nobody wrote: two cells of simulated people on features, learned in a second."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np

from softlabel import metrics
from softlabel.datasets import MissingData
from softlabel.papers.claims import quick as made_up
from softlabel.papers.claims import tuning
from softlabel.papers.claims.claims import Claim, Published
from softlabel.papers.claims.figures import Words, along, curve, over, reliability, scatter
from softlabel.papers.claims.papers import Cell
from softlabel.papers.claims.results import Table
from softlabel.tables import Score
from softlabel.train import Validation
from softlabel.train.predict import load_network

NAME = "fake2020"
TITLE = "Nobody 2020: labels that were made up"
SEEDS = {"features": 3}
FEW = {"epochs": int(os.environ.get("FAKE_EPOCHS", "3")), "checkpoint_seconds": 0.0}


def cells(recipe, quick=False):
    if recipe == "paper":
        return []
    on_features = recipe.startswith("features")

    def lesson():
        return made_up.lesson(features=on_features)

    def rich():
        return made_up.lesson(rich=True, features=on_features)

    if recipe == "features-tuned":
        arms = {"hard": Cell("", validated, "hard", FEW), "soft": Cell("", validated, settings=FEW)}
        return tuning.make_cells(recipe, {arm: {"": cell} for arm, cell in arms.items()})
    hard = Cell("hard", lesson, "hard", FEW)
    again = Cell("table 2/hard", lesson, "hard", FEW)  # the same run, told twice
    return [hard, Cell("soft", rich, "aggregate", FEW), again]


def validated():
    """The same with a few of the held-out items to choose by."""
    split = made_up.lesson(features=True)
    return replace(split, validation=Validation(split.held[:20], split.people.probs[:20]))


def probes(run, cell):
    net = load_network(run)
    true, predicted = run.people.probs, run.predictions.probs
    size = sum(float((part.detach() ** 2).sum()) for part in net.parameters())
    bins = metrics.reliability(true, predicted, 4, "mass")
    found = {"size": size, "tv": float(metrics.total_variation(true, predicted).mean())}
    found |= {f"slice/{a}": size * (1 + a * a) for a in (-1, 0, 1)}
    found |= {f"confidence/{i}": float(x) for i, x in enumerate(bins.confidence)}
    found |= {f"right/{i}": float(x) for i, x in enumerate(bins.right)}
    found["of-" + ("table-2" if cell.name.startswith("table 2") else "table-1")] = 1.0
    found["undefined"] = float("nan")
    return found


def claims(recipe):
    return [
        Claim("t1-hard", "Table 1", "hard labels score about 1.7", "value",
              lambda r: r.mean("hard", "cross-entropy"), Published(1.7, 0.5, "ci95")),
        Claim("t1-order", "Table 1", "soft | labels are closer", "ordering",
              lambda r: r.difference("soft", "hard", "kl"), direction="below"),
        Claim("t1-wrong", "Table 1", "accuracy is 2", "value",
              lambda r: r.mean("hard", "accuracy"), Published(2.0, 0.1, "sd", secondhand=True)),
        Claim("t9", "Table 9", "nobody knows", "value", lambda r: r.mean("unheard of", "kl"),
              Published(0.0), reason="the paper does not say what was trained"),
        Claim("t8", "Table 8", "not a number", "value", lambda r: r.mean("hard", "undefined"),
              Published(0.0)),
    ]  # fmt: skip


def facts():
    pictures = made_up.LEARN + made_up.HELD
    return [
        Claim("n", "Section 1", "there are 280 pictures", "exact",
              lambda r: Score(pictures, pictures, pictures, 1), Published(280), 0.0),
        Claim("lost", "Section 2", "the data are lost", "exact", _lost, Published(1)),
    ]  # fmt: skip


def _lost(results):
    raise MissingData("lost: softlabel data fetch lost")


def tables(results):
    rows = [(cell, f"{len(results.values(cell, 'kl'))}") for cell in results.cells]
    return [Table("Table 1", ("cell", "runs"), rows, "As printed.")]


def figures(results):
    cells = {0.0: "hard", 1.0: "soft"}
    words = ("x", "y")
    bins = range(4)
    sure, right = (
        [float(np.mean(results.values("hard", f"{name}/{i}"))) for i in bins]
        for name in ("confidence", "right")
    )
    return [
        curve(Words("curve", "A curve", "KL over <labels>.", *words),
              [over(results, cells, "kl", "KL")], named={0.0: "hard", 1.0: "soft"}),
        curve(Words("slice", "A slice", "Loss.", *words), [along(results, "hard", "slice/", "h")]),
        reliability(Words("bins", "Reliability", "Bins.", *words), {"hard": (sure, right)}),
        scatter(Words("dots", "Dots", "Cells.", *words), {"cells": ([0.0, 1.0], [1.0, 2.0])}),
    ]  # fmt: skip
