"""Training on soft labels: losses, networks, and a loop that can be read top to bottom."""

from typing import TYPE_CHECKING

from softlabel._util.doors import lazy_names

if TYPE_CHECKING:
    from softlabel.train import attacks, odin, predicting, runs, sharpness
    from softlabel.train.config import Config
    from softlabel.train.costing import cost, spoken
    from softlabel.train.crowd import CrowdLayer, Votes
    from softlabel.train.diverging import DivergedError
    from softlabel.train.loop import Trained, device_of, fit
    from softlabel.train.nets import Net
    from softlabel.train.recipes import (
        RECIPES,
        Recipe,
        crew,
        features,
        folds,
        published,
        tagging,
        text,
        text_encoders,
        text_hub,
        text_words,
        weights,
    )
    from softlabel.train.recipes.base import begun, completed
    from softlabel.train.recipes.crew import Hear, Standing
    from softlabel.train.recipes.encoders import ENCODERS, Encoder, encoded
    from softlabel.train.recipes.folds import Folded
    from softlabel.train.recipes.jobs import Job, read_grid
    from softlabel.train.recipes.lesson import Inputs, Lesson, read
    from softlabel.train.recipes.own import Own
    from softlabel.train.recipes.price import price
    from softlabel.train.recipes.published import Known
    from softlabel.train.recipes.settings import changed, parsed
    from softlabel.train.recipes.tagging import Sentences
    from softlabel.train.recipes.text import Reader, Texts
    from softlabel.train.recipes.worker import made, main
    from softlabel.train.runs import Run
    from softlabel.train.runs.naming import name

__all__ = [
    "ENCODERS",
    "RECIPES",
    "Config",
    "CrowdLayer",
    "DivergedError",
    "Encoder",
    "Folded",
    "Hear",
    "Inputs",
    "Job",
    "Known",
    "Lesson",
    "Net",
    "Own",
    "Reader",
    "Recipe",
    "Run",
    "Sentences",
    "Standing",
    "Texts",
    "Trained",
    "Votes",
    "attacks",
    "begun",
    "changed",
    "completed",
    "cost",
    "crew",
    "device_of",
    "encoded",
    "features",
    "fit",
    "folds",
    "made",
    "main",
    "name",
    "odin",
    "parsed",
    "predicting",
    "price",
    "published",
    "read",
    "read_grid",
    "runs",
    "sharpness",
    "spoken",
    "tagging",
    "text",
    "text_encoders",
    "text_hub",
    "text_words",
    "weights",
]

__getattr__ = lazy_names(
    __name__,
    {
        "Config": "config",
        "CrowdLayer": "crowd",
        "DivergedError": "diverging",
        "ENCODERS": "recipes.encoders",
        "Encoder": "recipes.encoders",
        "Folded": "recipes.folds",
        "Hear": "recipes.crew",
        "Inputs": "recipes.lesson",
        "Job": "recipes.jobs",
        "Known": "recipes.published",
        "Lesson": "recipes.lesson",
        "Net": "nets",
        "Own": "recipes.own",
        "RECIPES": "recipes",
        "Reader": "recipes.text",
        "Recipe": "recipes",
        "Run": "runs",
        "Sentences": "recipes.tagging",
        "Standing": "recipes.crew",
        "Texts": "recipes.text",
        "Trained": "loop",
        "Votes": "crowd",
        "attacks": "",
        "begun": "recipes.base",
        "changed": "recipes.settings",
        "completed": "recipes.base",
        "cost": "costing",
        "crew": "recipes.",
        "device_of": "loop",
        "encoded": "recipes.encoders",
        "features": "recipes.",
        "fit": "loop",
        "folds": "recipes.",
        "made": "recipes.worker",
        "main": "recipes.worker",
        "name": "runs.naming",
        "odin": "",
        "parsed": "recipes.settings",
        "predicting": "",
        "price": "recipes.price",
        "published": "recipes.",
        "read": "recipes.lesson",
        "read_grid": "recipes.jobs",
        "runs": "",
        "sharpness": "",
        "spoken": "costing",
        "tagging": "recipes.",
        "text": "recipes.",
        "text_encoders": "recipes.",
        "text_hub": "recipes.",
        "text_words": "recipes.",
        "weights": "recipes.",
    },
    ("training", "train"),
)
