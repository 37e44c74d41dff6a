"""The same labels for the loops people already use: torch, Hugging Face, scikit-learn.

Each needs its own package and is imported when it is named, so that scikit-learn can be used
without torch and torch without scikit-learn.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from softlabel.errors import MissingExtra

if TYPE_CHECKING:
    from softlabel.integrations.estimator import SoftLabelClassifier, neg_cross_entropy
    from softlabel.integrations.huggingface import to_huggingface
    from softlabel.integrations.labelled import LabelledDataset

__all__ = ["LabelledDataset", "SoftLabelClassifier", "neg_cross_entropy", "to_huggingface"]

HOMES = {  # name: (file, package that must be installed, extra that installs it)
    "LabelledDataset": ("labelled", "torch", "train"),
    "SoftLabelClassifier": ("estimator", "sklearn", "sklearn"),
    "neg_cross_entropy": ("estimator", "sklearn", "sklearn"),
    "to_huggingface": ("huggingface", "datasets", "huggingface"),
}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'softlabel.integrations' has no attribute {name!r}")
    file, package, extra = HOMES[name]
    if find_spec(package) is None:
        raise MissingExtra(name, extra)
    return getattr(import_module(f"softlabel.integrations.{file}"), name)
