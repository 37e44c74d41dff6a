"""Study folders: read them with every mistake at once, or write a new one that can be served."""

from softlabel.study import mixing, money, presets, setup, shapes
from softlabel.study.added import keep_table, list_added
from softlabel.study.catalogue import LANGUAGES, load_words
from softlabel.study.findings import has_control
from softlabel.study.folder import check_table, find_problems, read
from softlabel.study.model import (
    SECONDS_AROUND,
    SKIPS,
    About,
    Advert,
    Allocate,
    Arm,
    Compare,
    Condition,
    Item,
    Media,
    Pay,
    Question,
    Quiz,
    Recruit,
    Study,
    estimate,
)
from softlabel.study.new import write_new
from softlabel.study.pages import list_own_instructions
from softlabel.study.questions import LONGEST, ONE_LINE, name_questions
from softlabel.study.recruiting import MAX_ID_LENGTH
from softlabel.study.schema import json_schema

__all__ = [
    "LANGUAGES", "LONGEST", "MAX_ID_LENGTH", "ONE_LINE", "SECONDS_AROUND", "SKIPS", "About",
    "Advert", "Allocate", "Arm", "Compare", "Condition", "Item", "Media", "Pay", "Question", "Quiz",
    "Recruit",
    "Study", "check_table", "estimate", "find_problems", "has_control", "json_schema", "keep_table",
    "list_added", "list_own_instructions", "load_words", "mixing", "money", "name_questions",
    "presets", "read", "setup", "shapes", "write_new",
]  # fmt: skip
