"""Training on soft labels: losses, networks, recipes, and a loop that can be read top to bottom.

Names are imported when they are first used: run folders are read without torch.
"""

from typing import TYPE_CHECKING

from softlabel._util.doors import lazy_names

if TYPE_CHECKING:
    from softlabel.train.config import Config, change_settings, parse_settings
    from softlabel.train.costs import estimate_cost, estimate_jobs, format_seconds
    from softlabel.train.encoders import ENCODERS, Encoder, encode, encode_split
    from softlabel.train.identity import CODE, code_digest, run_name
    from softlabel.train.jobs import Job, Source, Trainer, file_job, read_grid
    from softlabel.train.loop import DivergedError, choose_device, fit
    from softlabel.train.networks import Net
    from softlabel.train.recipes import RECIPES, Recipe
    from softlabel.train.runner import JobState, Watch
    from softlabel.train.runs import Run, describe_stale, stale_runs
    from softlabel.train.splits import (
        FoldedSplit,
        Inputs,
        PublishedData,
        Split,
        Validation,
        read_inputs,
        read_split,
    )
    from softlabel.train.tagging import SentenceSplit
    from softlabel.train.text import Reader, Texts

__all__ = [
    "CODE", "ENCODERS", "RECIPES", "Config", "DivergedError", "Encoder", "FoldedSplit", "Inputs",
    "Job", "JobState", "Net", "PublishedData", "Reader", "Recipe", "Run", "SentenceSplit", "Source",
    "Split", "Texts", "Trainer", "Validation", "Watch", "attacks", "change_settings",
    "choose_device", "code_digest", "describe_stale", "encode", "encode_split", "encoders",
    "estimate_cost", "estimate_jobs", "file_job", "fit", "format_seconds", "parse_settings",
    "predict", "read_grid", "read_inputs", "read_split", "recipes", "run_name", "runner", "runs",
    "sharpness", "splits", "stale_runs", "tagging", "text", "text_encoders", "worker",
]  # fmt: skip

MODULES = {  # the names of the door, by the module that holds them; "" holds the modules
    "": "attacks encoders predict recipes runner runs sharpness splits tagging text "
    "text_encoders worker",
    "config": "Config change_settings parse_settings",
    "costs": "estimate_cost estimate_jobs format_seconds",
    "encoders": "ENCODERS Encoder encode encode_split",
    "identity": "CODE code_digest run_name",
    "jobs": "Job Source Trainer file_job read_grid",
    "loop": "DivergedError choose_device fit",
    "networks": "Net",
    "recipes": "RECIPES Recipe",
    "runner": "JobState Watch",
    "runs": "Run describe_stale stale_runs",
    "splits": "FoldedSplit Inputs PublishedData Split Validation read_inputs read_split",
    "tagging": "SentenceSplit",
    "text": "Reader Texts",
}
HOMES = {name: home for home, names in MODULES.items() for name in names.split()}
__getattr__ = lazy_names(__name__, HOMES, ("training", "train"))
