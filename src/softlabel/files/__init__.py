"""Files in and files out.

Read are hard votes, soft votes, collected responses and the JSON of CIFAR-10S; written are soft
labels and every answer that can be read.  What is wrong with a file is said with its line, column
and value.
"""

from softlabel.files.aside import check_target
from softlabel.files.gold import read_gold
from softlabel.files.jobs import Plan, export, label, labelled, prepared
from softlabel.files.source import Repeats, Said, Source, read, read_rows, source_of
from softlabel.files.telling import Tell, silent
from softlabel.files.writing import (
    SAID_KINDS,
    SOFT_KINDS,
    write_rows,
    write_said,
    write_soft,
)

__all__ = [
    "SAID_KINDS",
    "SOFT_KINDS",
    "Plan",
    "Repeats",
    "Said",
    "Source",
    "Tell",
    "check_target",
    "export",
    "label",
    "labelled",
    "prepared",
    "read",
    "read_gold",
    "read_rows",
    "silent",
    "source_of",
    "write_rows",
    "write_said",
    "write_soft",
]
