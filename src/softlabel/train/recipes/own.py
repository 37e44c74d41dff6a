"""The run of a recipe that learns in a way of its own: another loop, or several networks."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from softlabel.deliver import Deliver
from softlabel.errors import SoftlabelError
from softlabel.io import Tell, silent
from softlabel.metrics import evaluate
from softlabel.tables import Predictions
from softlabel.train import Config
from softlabel.train.recipes.base import DRAWS, Recipe, begun
from softlabel.train.recipes.lesson import Lesson
from softlabel.train.runs import Run

Singles = npt.NDArray[np.float32]


class Learn(Protocol):
    """Learns a lesson and predicts its held-out items: logits (m, k); ``folder`` is for the log."""

    def __call__(
        self,
        config: Config,
        lesson: Any,
        deliver: Deliver | None,
        *,
        seed: int,
        folder: Path,
        tell: Tell,
    ) -> Singles: ...


@dataclass(frozen=True)
class Own:
    """A recipe and its way to learn; its runs are folders like all others."""

    recipe: Recipe
    learn: Learn

    def begun(
        self, config: Config, lesson: Lesson, deliver: Deliver | None, *, seed: int, out: str | Path
    ) -> Run:
        """The folder of a run: new, interrupted or finished."""
        return begun(self.recipe, config, lesson, deliver, seed=seed, out=out)

    def completed(
        self,
        config: Config,
        lesson: Lesson,
        deliver: Deliver | None,
        *,
        seed: int,
        out: str | Path,
        tell: Tell = silent,
    ) -> Run:
        """The run, finished: at once if it was, and from the beginning if it was interrupted.

        Otherwise as ``softlabel.train.recipes.base.completed``, but that no network is kept.
        """
        run = self.begun(config, lesson, deliver, seed=seed, out=out)
        if run.finished:
            return run
        with run.claimed():
            if run.finished:  # by whoever held it until now
                return run
            began = time.perf_counter()
            try:
                logits = self.learn(config, lesson, deliver, seed=seed, folder=run.path, tell=tell)
            except SoftlabelError as error:
                run.fail(str(error))
                raise
            predictions = Predictions(lesson.index, softmax(logits.astype(np.float64), axis=1))
            tell("scoring")
            scores = evaluate.scores(predictions, lesson.people, draws=DRAWS)
            facts = {"recipe": self.recipe.name, "kind": self.recipe.kind}
            more = {"seconds": time.perf_counter() - began}
            run.finish(predictions, scores, lesson.people, {"logits": logits}, facts | more)
        return run
