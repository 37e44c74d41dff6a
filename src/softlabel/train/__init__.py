"""Training on soft labels: losses, networks, recipes, and a loop that can be read top to bottom.

Names are imported when they are first used: run folders are read without torch.
"""

from typing import TYPE_CHECKING, Any

from softlabel._util.doors import lazy_names

if TYPE_CHECKING:
    from softlabel.train import (
        attacks,
        encoders,
        predict,
        recipes,
        runner,
        runs,
        sharpness,
        splits,
        tagging,
        text,
        text_encoders,
        worker,
    )
    from softlabel.train import encoders as features
    from softlabel.train import predict as odin
    from softlabel.train import predict as predicting
    from softlabel.train import predict as weights
    from softlabel.train import recipes as folds

    # OLD NAME
    from softlabel.train import runner as crew
    from softlabel.train import splits as published
    from softlabel.train import text as text_words
    from softlabel.train import text_encoders as text_hub
    from softlabel.train.config import Config, change_settings, changed, parse_settings, parsed
    from softlabel.train.costs import (
        cost,
        estimate_cost,
        estimate_jobs,
        format_seconds,
        price,
        spoken,
    )
    from softlabel.train.encoders import ENCODERS, Encoder, encode, encode_split, encoded
    from softlabel.train.identity import code_digest, name, run_name
    from softlabel.train.jobs import Job, Source, Trainer, file_job, read_grid
    from softlabel.train.loop import DivergedError, choose_device, device_of, fit
    from softlabel.train.networks import Net
    from softlabel.train.recipes import RECIPES, Own, Recipe
    from softlabel.train.runner import Hear, JobState, Standing, Watch
    from softlabel.train.runs import Run, describe_stale, stale_runs
    from softlabel.train.splits import (
        Folded,
        FoldedSplit,
        Inputs,
        Known,
        Lesson,
        PublishedData,
        Split,
        read,
        read_split,
    )
    from softlabel.train.tagging import Sentences, SentenceSplit
    from softlabel.train.text import Reader, Texts

__all__ = [
    "ENCODERS",
    "RECIPES",
    "Config",
    "DivergedError",
    "Encoder",
    "Folded",
    "FoldedSplit",
    "Hear",
    "Inputs",
    "Job",
    "JobState",
    "Known",
    "Lesson",
    "Net",
    "Own",
    "PublishedData",
    "Reader",
    "Recipe",
    "Run",
    "SentenceSplit",
    "Sentences",
    "Source",
    "Split",
    "Standing",
    "Texts",
    "Trainer",
    "Watch",
    "attacks",
    "change_settings",
    "changed",
    "choose_device",
    "code_digest",
    "cost",
    "crew",
    "describe_stale",
    "device_of",
    "encode",
    "encode_split",
    "encoded",
    "encoders",
    "estimate_cost",
    "estimate_jobs",
    "features",
    "file_job",
    "fit",
    "folds",
    "format_seconds",
    "name",
    "odin",
    "parse_settings",
    "parsed",
    "predict",
    "predicting",
    "price",
    "published",
    "read",
    "read_grid",
    "read_split",
    "recipes",
    "run_name",
    "runner",
    "runs",
    "sharpness",
    "splits",
    "spoken",
    "stale_runs",
    "tagging",
    "text",
    "text_encoders",
    "text_hub",
    "text_words",
    "weights",
    "worker",
]

OLD_MODULES = {  # OLD NAME
    "crew": "runner",
    "features": "encoders",
    "folds": "recipes",
    "odin": "predict",
    "predicting": "predict",
    "published": "splits",
    "text_hub": "text_encoders",
    "text_words": "text",
    "weights": "predict",
}

MODULES = {  # the names of the door, by the module that holds them; "" holds the modules
    "": "attacks encoders predict recipes runner runs sharpness splits tagging text "
    "text_encoders worker",
    "config": "Config change_settings parse_settings",
    "costs": "estimate_cost estimate_jobs format_seconds",
    "encoders": "ENCODERS Encoder encode encode_split",
    "identity": "code_digest run_name",
    "jobs": "Job Source Trainer file_job read_grid",
    "loop": "DivergedError choose_device fit",
    "networks": "Net",
    "recipes": "RECIPES Recipe",
    "runner": "JobState Watch",
    "runs": "Run describe_stale stale_runs",
    "splits": "FoldedSplit Inputs PublishedData Split read_split",
    "tagging": "SentenceSplit",
    "text": "Reader Texts",
}
OLD_NAMES = {  # OLD NAME
    "config": "changed parsed",
    "costs": "cost price spoken",
    "encoders": "encoded",
    "identity": "name",
    "loop": "device_of",
    "recipes": "Own",
    "runner": "Hear Standing",
    "splits": "Folded Known Lesson read",
    "tagging": "Sentences",
}
_HOMES = {name: home for home, names in MODULES.items() for name in names.split()}
_HOMES |= {name: home for home, names in OLD_NAMES.items() for name in names.split()}  # OLD NAME
_get = lazy_names(__name__, _HOMES, ("training", "train"))


def __getattr__(name: str) -> Any:
    return _get(OLD_MODULES.get(name, name))
