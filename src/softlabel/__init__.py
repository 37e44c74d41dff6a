"""softlabel carries what every annotator believes from the person to the model."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from softlabel import (
        aggregate,
        agree,
        cards,
        construct,
        cost,
        datasets,
        deliver,
        elicit,
        errors,
        evaluate,
        files,
        inspection,
        intervals,
        metrics,
        quality,
        reading,
        registry,
        runs,
        sampling,
        simulate,
        study,
        tables,
        testing,
    )
    from softlabel.errors import (
        DataError,
        EstimandWarning,
        FileError,
        ResponseError,
        SoftlabelError,
        UnknownName,
    )
    from softlabel.study import Study
    from softlabel.tables import Annotations, Index, Predictions, Score, SoftLabels, Statements

__version__ = "0.1.0"

TABLES = ["Annotations", "Index", "Predictions", "Score", "SoftLabels", "Statements"]
ERRORS = [
    "DataError",
    "EstimandWarning",
    "FileError",
    "ResponseError",
    "SoftlabelError",
    "UnknownName",
]
HOMES = {
    **dict.fromkeys(TABLES, "softlabel.tables"),
    **dict.fromkeys(ERRORS, "softlabel.errors"),
    "Study": "softlabel.study",
}

__all__ = [
    "Annotations",
    "DataError",
    "EstimandWarning",
    "FileError",
    "Index",
    "Predictions",
    "ResponseError",
    "Score",
    "SoftLabels",
    "SoftlabelError",
    "Statements",
    "Study",
    "UnknownName",
    "aggregate",
    "agree",
    "cards",
    "construct",
    "cost",
    "datasets",
    "deliver",
    "elicit",
    "errors",
    "evaluate",
    "files",
    "inspection",
    "intervals",
    "metrics",
    "quality",
    "reading",
    "registry",
    "runs",
    "sampling",
    "simulate",
    "study",
    "tables",
    "testing",
]


def __getattr__(name: str) -> Any:
    """Rooms are opened when they are entered: ``import softlabel`` itself costs nothing."""
    if name in HOMES:
        return getattr(import_module(HOMES[name]), name)
    if name in __all__:
        return import_module(f"softlabel.{name}")
    raise AttributeError(f"module 'softlabel' has no attribute {name!r}")
