"""Files in and out: votes, soft votes, collected answers and the JSON of CIFAR-10S.

Every kind of answer that can be read can also be written; soft labels are written only.  An error
about a file names its line, column and value.
"""

from softlabel._util.files import check_output
from softlabel._util.progress import Progress, silent
from softlabel.io import large, write
from softlabel.io.csv_files import Cell, escape_formula, escape_formulas
from softlabel.io.source import (
    AnswerTable,
    Repeats,
    Source,
    collect_records,
    read_answers,
    read_export,
)
from softlabel.io.votes import find_codes, read_gold, sort_naturally
from softlabel.io.write import write_answers, write_label_lines, write_soft_labels, write_table

__all__ = [
    "AnswerTable", "Cell", "Progress", "Repeats", "Source", "check_output", "collect_records",
    "escape_formula", "escape_formulas", "find_codes", "large", "read_answers", "read_export",
    "read_gold", "silent", "sort_naturally", "write", "write_answers", "write_label_lines",
    "write_soft_labels", "write_table",
]  # fmt: skip
