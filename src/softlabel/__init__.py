"""softlabel carries what every annotator believes from the person to the model."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from softlabel import (
        aggregate,
        allocate,
        annotators,
        construct,
        datasets,
        deliver,
        elicit,
        errors,
        io,
        judges,
        metrics,
        publish,
        records,
        registry,
        sampling,
        simulate,
        study,
        tables,
        testing,
        train,
    )
    from softlabel.errors import (
        DataError,
        EstimandWarning,
        FileError,
        LeftOutWarning,
        ResponseError,
        SoftlabelError,
        UnknownName,
    )
    from softlabel.labelling import annotations, label
    from softlabel.scoring import score
    from softlabel.study import Study
    from softlabel.tables import Annotations, Index, Predictions, Score, SoftLabels, Statements

__version__ = "0.3.0"

HOMES = {
    "labelling": "annotations label",
    "scoring": "score",
    "study": "Study",
    "tables": "Annotations Index Predictions Score SoftLabels Statements",
    "errors": "DataError EstimandWarning FileError LeftOutWarning ResponseError SoftlabelError "
    "UnknownName",
}

__all__ = [
    "Annotations", "DataError", "EstimandWarning", "FileError", "Index", "LeftOutWarning",
    "Predictions", "ResponseError", "Score", "SoftLabels", "SoftlabelError", "Statements", "Study",
    "UnknownName", "aggregate", "allocate", "annotations", "annotators", "construct", "datasets",
    "deliver", "elicit", "errors", "io", "judges", "label", "metrics", "publish", "records",
    "registry", "sampling", "score", "simulate", "study", "tables", "testing", "train",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a room when it is first used: ``import softlabel`` itself costs nothing."""
    for room, names in HOMES.items():
        if name in names.split():
            return getattr(import_module(f"softlabel.{room}"), name)
    if name in __all__:
        return import_module(f"softlabel.{name}")
    raise AttributeError(f"module 'softlabel' has no attribute {name!r}")


def __dir__() -> list[str]:
    """What there is, for completion; names are imported when they are used."""
    return sorted({*__all__, "__version__"})
