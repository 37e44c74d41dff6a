"""softlabel carries what every annotator believes from the person to the model."""

from softlabel import aggregate, construct, elicit, metrics
from softlabel.errors import DataError, FileError, ResponseError, SoftlabelError, UnknownName
from softlabel.tables import Annotations, Index, Predictions, Score, SoftLabels, Statements

__version__ = "0.1.0"

__all__ = [
    "Annotations",
    "DataError",
    "FileError",
    "Index",
    "Predictions",
    "ResponseError",
    "Score",
    "SoftLabels",
    "SoftlabelError",
    "Statements",
    "UnknownName",
    "aggregate",
    "construct",
    "elicit",
    "metrics",
]
