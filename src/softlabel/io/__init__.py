"""Files in and out: votes, soft votes, collected answers and the JSON of CIFAR-10S.

Every kind of answer that can be read can also be written; soft labels are written only.  An error
about a file names its line, column and value.
"""

from softlabel._util.files import check_output
from softlabel._util.progress import Progress, silent
from softlabel.io.csv_files import Cell, escape_formula, escape_formulas
from softlabel.io.large import (
    LARGE,
    Coding,
    Scan,
    compact_names,
    has_blank,
    match_classes,
    scan_votes,
)
from softlabel.io.source import AnswerTable, Repeats, Source, collect_records, read_answers
from softlabel.io.votes import find_codes, read_gold, sort_naturally
from softlabel.io.write import (
    ANSWER_KINDS,
    COUNT,
    LABEL_KINDS,
    check_class_names,
    write_answers,
    write_batches,
    write_soft_labels,
    write_table,
)

__all__ = [
    "ANSWER_KINDS", "COUNT", "LABEL_KINDS", "LARGE", "AnswerTable", "Cell", "Coding", "Progress",
    "Repeats", "Scan", "Source", "check_class_names", "check_output", "collect_records",
    "compact_names", "escape_formula", "escape_formulas", "find_codes", "has_blank",
    "match_classes", "read_answers", "read_gold", "scan_votes", "silent", "sort_naturally",
    "write_answers", "write_batches", "write_soft_labels", "write_table",
]  # fmt: skip
