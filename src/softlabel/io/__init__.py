"""Files in and out: votes, soft votes, collected answers and the JSON of CIFAR-10S.

Every kind of answer that can be read can also be written; soft labels are written only.  An error
about a file names its line, column and value.
"""

from softlabel import plugins as loading  # OLD NAME
from softlabel._util.files import check_output, check_target
from softlabel._util.progress import Progress, Tell, silent
from softlabel.io.csv_files import Cell, escape_formula, escape_formulas, escaped, escaped_table
from softlabel.io.large import (
    LARGE,
    Coding,
    Scan,
    blank,
    compact,
    compact_names,
    has_blank,
    match_classes,
    places_of,
    scan_votes,
)
from softlabel.io.source import (
    AnswerTable,
    Repeats,
    Said,
    Source,
    collect_records,
    read,
    read_answers,
    read_rows,
)
from softlabel.io.votes import codes_among, find_codes, read_gold, sort_naturally
from softlabel.io.write import (
    ANSWER_KINDS,
    COUNT,
    LABEL_KINDS,
    SAID_KINDS,
    SOFT_KINDS,
    check_class_names,
    refuse_classes,
    write_answers,
    write_batches,
    write_rows,
    write_said,
    write_soft,
    write_soft_labels,
    write_table,
)
from softlabel.plugins import describe_user_error as their_mistake  # OLD NAME

__all__ = [
    "ANSWER_KINDS",
    "COUNT",
    "LABEL_KINDS",
    "LARGE",
    "SAID_KINDS",
    "SOFT_KINDS",
    "AnswerTable",
    "Cell",
    "Coding",
    "Progress",
    "Repeats",
    "Said",
    "Scan",
    "Source",
    "Tell",
    "blank",
    "check_class_names",
    "check_output",
    "check_target",
    "codes_among",
    "collect_records",
    "compact",
    "compact_names",
    "escape_formula",
    "escape_formulas",
    "escaped",
    "escaped_table",
    "find_codes",
    "has_blank",
    "loading",
    "match_classes",
    "places_of",
    "read",
    "read_answers",
    "read_gold",
    "read_rows",
    "refuse_classes",
    "scan_votes",
    "silent",
    "sort_naturally",
    "their_mistake",
    "write_answers",
    "write_batches",
    "write_rows",
    "write_said",
    "write_soft",
    "write_soft_labels",
    "write_table",
]
