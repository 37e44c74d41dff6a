"""Files in and files out.

Read are hard votes, soft votes, collected responses and the JSON of CIFAR-10S; written are soft
labels and every answer that can be read.  What is wrong with a file is said with its line, column
and value.
"""

from softlabel._util.files import check_target
from softlabel._util.progress import Tell, silent
from softlabel.io import loading
from softlabel.io.batches import write_batches
from softlabel.io.codes import Coding, codes_among, compact
from softlabel.io.comma import Cell, escaped, escaped_table
from softlabel.io.gold import read_gold
from softlabel.io.jobs import Plan, export, label, labelled, prepared
from softlabel.io.large import LARGE, Scan, blank, places_of, scan_votes
from softlabel.io.loading import their_mistake
from softlabel.io.pooling import Facts, check_gold, pooled
from softlabel.io.source import Repeats, Said, Source, read, read_rows, source_of
from softlabel.io.writing import (
    COUNT,
    SAID_KINDS,
    SOFT_KINDS,
    refuse_classes,
    write_rows,
    write_said,
    write_soft,
)

__all__ = [
    "COUNT",
    "LARGE",
    "SAID_KINDS",
    "SOFT_KINDS",
    "Cell",
    "Coding",
    "Facts",
    "Plan",
    "Repeats",
    "Said",
    "Scan",
    "Source",
    "Tell",
    "blank",
    "check_gold",
    "check_target",
    "codes_among",
    "compact",
    "escaped",
    "escaped_table",
    "export",
    "label",
    "labelled",
    "loading",
    "places_of",
    "pooled",
    "prepared",
    "read",
    "read_gold",
    "read_rows",
    "refuse_classes",
    "scan_votes",
    "silent",
    "source_of",
    "their_mistake",
    "write_batches",
    "write_rows",
    "write_said",
    "write_soft",
]
