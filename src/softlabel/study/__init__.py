"""Study folders: read them with every mistake at once, or write a new one that can be served."""

from softlabel.study import shapes
from softlabel.study.folder import find_problems, read
from softlabel.study.model import Item, Media, Pay, Question, Quiz, Recruit, Study, estimate
from softlabel.study.new import write_new
from softlabel.study.recruiting import MAX_ID_LENGTH
from softlabel.study.schema import json_schema

__all__ = [
    "MAX_ID_LENGTH", "Item", "Media", "Pay", "Question", "Quiz", "Recruit", "Study", "estimate",
    "find_problems", "json_schema", "read", "shapes", "write_new",
]  # fmt: skip
