"""Study folders: read strictly, with every mistake at once; and a new one that runs as it is."""

from softlabel.study.estimate import estimate
from softlabel.study.folder import problems, read
from softlabel.study.model import Item, Media, Pay, Question, Quiz, Recruit, Study
from softlabel.study.new import write_new
from softlabel.study.patterns import LONGEST
from softlabel.study.pictures import png, shapes
from softlabel.study.schema import schema

__all__ = [
    "LONGEST",
    "Item",
    "Media",
    "Pay",
    "Question",
    "Quiz",
    "Recruit",
    "Study",
    "estimate",
    "png",
    "problems",
    "read",
    "schema",
    "shapes",
    "write_new",
]
