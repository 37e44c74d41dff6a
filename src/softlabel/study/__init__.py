"""Study folders: read strictly, with every mistake at once; and a new one that runs as it is."""

from softlabel.study.folder import problems, read
from softlabel.study.model import Item, Media, Pay, Question, Quiz, Recruit, Study
from softlabel.study.new import write_new
from softlabel.study.schema import schema

__all__ = [
    "Item",
    "Media",
    "Pay",
    "Question",
    "Quiz",
    "Recruit",
    "Study",
    "problems",
    "read",
    "schema",
    "write_new",
]
