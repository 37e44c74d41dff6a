"""Files in and out: votes, soft votes, collected answers, the JSON of CIFAR-10S, and the files of
other programs (``formats``).

Every kind of answer that can be read can also be written, and so can soft labels.  An error
about a file names its line, column and value.
"""

from softlabel._util.files import check_output
from softlabel._util.progress import Progress, silent
from softlabel.io import columns, formats, large, write
from softlabel.io.csv_files import Cell, escape_formula, escape_formulas
from softlabel.io.sheet import Reading, Shape, Sheet
from softlabel.io.soft_labels import Numbers, read_people, read_predictions
from softlabel.io.source import (
    AnswerTable,
    Repeats,
    Source,
    collect_records,
    read_answers,
    read_export,
    read_lines,
    read_sheet,
)
from softlabel.io.votes import (
    ABSENT,
    find_codes,
    join_twins,
    read_gold,
    read_votes,
    sort_naturally,
)
from softlabel.io.write import (
    soft_label_frame,
    write_answers,
    write_label_lines,
    write_soft_labels,
    write_table,
)

__all__ = [
    "ABSENT", "AnswerTable", "Cell", "Numbers", "Progress", "Reading", "Repeats", "Shape", "Sheet",
    "Source", "check_output", "collect_records", "columns", "escape_formula", "escape_formulas",
    "find_codes", "formats", "join_twins", "large", "read_answers", "read_export", "read_gold",
    "read_lines", "read_people", "read_predictions", "read_sheet", "read_votes", "silent",
    "soft_label_frame", "sort_naturally", "write", "write_answers", "write_label_lines",
    "write_soft_labels", "write_table",
]  # fmt: skip
