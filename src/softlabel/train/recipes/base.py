"""What a recipe is, and the run that all of them share."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from scipy.special import softmax

from softlabel import registry
from softlabel.deliver import Deliver, Draws
from softlabel.errors import SoftlabelError
from softlabel.io import Tell, silent
from softlabel.metrics import evaluate
from softlabel.tables import Predictions
from softlabel.train import Config, fit, predicting, runs
from softlabel.train.recipes import watching, weights
from softlabel.train.recipes.lesson import Lesson
from softlabel.train.runs import Run
from softlabel.train.runs.naming import NAMED

Kind = Literal["scratch", "features"]
VOTES = "votes"  # in place of a delivery, where a crowd layer takes every vote itself
DRAWS = 200  # of the bootstrap in scores.json; `softlabel evaluate` draws more


@dataclass(frozen=True)
class Recipe:
    """A configuration under a name.  ``kind`` keeps what was learned from scratch apart from what
    was learned on another network's features; ``source`` is the file that says why."""

    name: str
    kind: Kind
    config: Config
    source: str


def described(
    recipe: Recipe, config: Config, lesson: Lesson, deliver: Deliver | None
) -> dict[str, object]:
    """All that decides what comes of a run, as JSON keeps it, and what things were called."""
    return {
        "recipe": recipe.name,
        "kind": recipe.kind,
        "deliver": VOTES if deliver is None else registry.describe(deliver),
        **config.decides(),
        **lesson.hashes,
        NAMED: dict(lesson.named),
    }


def begun(
    recipe: Recipe,
    config: Config,
    lesson: Lesson,
    deliver: Deliver | None,
    *,
    seed: int,
    out: str | Path,
) -> Run:
    """The folder of a run: new, interrupted or finished."""
    about = described(recipe, config, lesson, deliver)
    source = Path(recipe.source).read_text("utf-8")
    return runs.start(out, about, lesson.arrays(), seed, source)


def completed(
    recipe: Recipe,
    config: Config,
    lesson: Lesson,
    deliver: Deliver | None,
    *,
    seed: int,
    out: str | Path,
    tell: Tell = silent,
) -> Run:
    """The run, finished: at once if it was, from its checkpoint if it was interrupted."""
    run = begun(recipe, config, lesson, deliver, seed=seed, out=out)
    if run.finished:
        return run
    with run.claimed():
        if run.finished:  # by whoever held it until now
            return run
        began = time.perf_counter()
        try:
            known = lesson.teaching
            taught = known if deliver is None else deliver(known, Draws(seed))
            check = watching.held_out(lesson) if lesson.watched else None
            trained = fit(
                config, lesson.inputs, taught, seed=seed, folder=run.path, tell=tell, check=check
            )
        except SoftlabelError as error:
            run.fail(str(error))
            raise
        logits = predicting.logits(trained.net, lesson.held)
        predictions = Predictions(lesson.index, softmax(logits.astype(np.float64), axis=1))
        classes, inputs = logits.shape[1], lesson.inputs.shape[-1]
        weights.keep(run, trained.net, classes, inputs)
        tell("scoring")
        scores = evaluate.scores(predictions, lesson.people, draws=DRAWS)
        facts = {"recipe": recipe.name, "kind": recipe.kind, "seconds": time.perf_counter() - began}
        run.finish(predictions, scores, lesson.people, {"logits": logits}, facts)
    return run
