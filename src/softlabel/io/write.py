"""Write soft labels, answers and other tables, each in a shape that can be read again.

In CSV, text that a spreadsheet would run has an apostrophe before it; see ``escape_formula``.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

from softlabel._util.files import file_kind, write_atomically
from softlabel.errors import DataError
from softlabel.io.classic import classic_table, collins_json
from softlabel.io.columns import ANNOTATOR, ITEM, LABEL, SECONDS, names_of
from softlabel.io.csv_files import escape_formulas
from softlabel.io.sheet import RESERVED
from softlabel.records import LISTS, MOST_LISTED, LabelLists, dump_json, records_of_statements
from softlabel.tables import (
    ANONYMOUS,
    Annotations,
    Floats,
    Predictions,
    SoftLabels,
    Statements,
    as_texts,
)

LABEL_KINDS = ("csv", "parquet", "jsonl", "npz")
ANSWER_KINDS = ("csv", "parquet", "jsonl", "json")
COUNT = "count"
PROBS = "probs"  # a label with many classes, in JSON lines
GROUP = 20_000  # rows of one row group of Parquet: what a reader holds at a time
TYPES: Mapping[type, Any] = {str: pl.String, int: pl.Int64, float: pl.Float64, bool: pl.Boolean}


def write_soft_labels(
    soft: SoftLabels, path: str | Path, more: Mapping[str, Floats] | None = None
) -> None:
    """Write ``item``, one column per class, ``count``; an item without answers has empty cells.
    ``more`` follows: an array (m, k) called low as the columns ``low:CLASS``, an array (m,) called
    gain as the column ``gain``; in ``.npz``, arrays under their names.  JSON lines with more than
    30 classes name them once, on the first line, and hold lists in their order."""
    path, more = Path(path), {**soft.more, **(more or {})}
    kind = file_kind(path, LABEL_KINDS)
    soft = replace(soft, more=more)
    frame = soft_label_frame(soft, path)
    with write_atomically(path) as part:
        if kind == "npz":
            soft.save(part)
        elif kind == "jsonl":
            write_label_lines(frame.lazy(), part, soft.index.labels.tolist(), more)
        else:
            _write_frame(frame, part, kind)


def soft_label_frame(soft: SoftLabels, path: Path | None = None) -> pl.DataFrame:
    """Return soft labels as the table that files hold (``path``, if there is one); names are
    text."""
    labels = soft.index.labels.tolist()
    further = _split_columns(soft.more, labels)
    check_class_names(labels, (ITEM, COUNT, *soft.more, *further), path)
    columns: dict[str, Any] = {ITEM: pl.Series(soft.index.items.tolist(), dtype=pl.String)}
    probs: Mapping[str, Any] = _split_columns({"": soft.probs}, labels)
    for name, values in {**probs, COUNT: soft.count, **further}.items():
        cells = pl.Series(np.ascontiguousarray(values))
        columns[name] = cells if name == COUNT or soft.answered.all() else cells.fill_nan(None)
    return pl.DataFrame(columns)


def write_predictions(predictions: Predictions, path: str | Path) -> None:
    """Write ``item`` and one column per class; in ``.npz``, the arrays item, labels and probs."""
    path, index = Path(path), predictions.index
    kind = file_kind(path, LABEL_KINDS)
    labels = index.labels.tolist()
    check_class_names(labels, (ITEM,), path)
    with write_atomically(path) as part:
        if kind == "npz":
            texts = {"item": as_texts(index.items), "labels": as_texts(index.labels)}
            with part.open("wb") as file:
                np.savez_compressed(file, allow_pickle=False, **texts, probs=predictions.probs)
            return
        columns: dict[str, Any] = {ITEM: pl.Series(index.items.tolist(), dtype=pl.String)}
        for name, values in _split_columns({"": predictions.probs}, labels).items():
            columns[name] = np.ascontiguousarray(values)
        frame = pl.DataFrame(columns)
        if kind == "jsonl":
            write_label_lines(frame.lazy(), part, labels)
        else:
            _write_frame(frame, part, kind)


def write_label_lines(
    table: pl.LazyFrame, path: Path, labels: Sequence[str], more: Collection[str] = ()
) -> None:
    """Write a table of soft labels as JSON lines, a key per class.  Of more than 30 classes the
    names stand on the first line only, and each line has lists in their order: ``probs``, and one
    for each of ``more`` that has a column per class."""
    if len(labels) <= MOST_LISTED:
        table.sink_ndjson(path)
        return
    taken = set(table.collect_schema().names())
    lists = {PROBS: list(labels)}
    lists |= {name: [f"{name}:{label}" for label in labels] for name in more if name not in taken}
    inside = {column for columns in lists.values() for column in columns}
    # an item without answers has null, not a list of them
    made = [
        pl.when(pl.col(columns[0]).is_not_null()).then(pl.concat_list(columns)).alias(name)
        for name, columns in lists.items()
    ]
    others = [name for name in table.collect_schema().names() if name not in inside]
    with path.open("wb") as file:
        file.write(f"{dump_json({'schema': LISTS, 'labels': list(labels)})}\n".encode())
        for rows in table.select(*others, *made).collect_batches(chunk_size=GROUP):
            rows.write_ndjson(file)


def write_answers(
    answers: Statements | Annotations, path: str | Path, seconds: Floats | None = None
) -> None:
    """Write one row per answer: responses, hard votes or soft votes.  ``seconds`` (n,) is a column
    more beside hard votes: what each of them took, NaN where it is not known."""
    path = Path(path)
    kind = file_kind(path, ANSWER_KINDS)
    if isinstance(answers, Statements) and kind in ("json", "jsonl"):
        split, records = LabelLists().split, records_of_statements(answers)
        lines = (f"{dump_json(line)}\n" for record in records for line in split(record))
        text = collins_json(answers) if kind == "json" else "".join(lines)
        with write_atomically(path, private=True) as part:
            part.write_text(text, "utf-8")
        return
    if kind == "json":
        raise DataError(f"{path}: .json holds statements, and these are votes; write to .jsonl")
    # votes alone are read again without names: a distribution without one could be a label
    hard = isinstance(answers, Annotations) and answers.hard
    nobody = hard and bool((answers.annotator == ANONYMOUS).all())
    if kind != "jsonl" and answers.anonymous and not nobody:
        raise DataError(
            f"{path}: who answered is not known, and a table needs a name in every row; write to "
            f".jsonl{' or .json' if isinstance(answers, Statements) else ''}"
        )
    items = pl.Series(answers.index.items.tolist(), dtype=pl.String)
    people = pl.Series([*answers.index.annotators.tolist(), None], dtype=pl.String)
    assert ANONYMOUS == -1, "the last entry stands for people without a name"
    author = people.gather(answers.annotator % len(people))
    who = {ITEM: items.gather(answers.item), ANNOTATOR: author}
    if nobody and kind != "jsonl":
        del who[ANNOTATOR]
    labels = answers.index.labels.tolist()
    if isinstance(answers, Statements):
        frame = classic_table(answers, who)
    elif answers.label is not None:
        # as an Enum, Parquet keeps the classes that nobody chose, and their order
        column = pl.Series(labels, dtype=pl.Enum(labels)).gather(answers.label)
        frame = pl.DataFrame(who | {LABEL: column})
        if seconds is not None:
            frame = frame.with_columns(pl.Series(SECONDS, seconds).fill_nan(None))
    else:
        check_class_names(labels, (*RESERVED, *names_of("label", labels)), path)
        columns = _split_columns({"": answers.soft()}, labels).items()
        votes = {label: pl.Series(np.ascontiguousarray(values)) for label, values in columns}
        frame = pl.DataFrame(who | votes)
    with write_atomically(path, private=True) as part:
        _write_frame(frame, part, kind)


def write_table(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write a table of any kind as CSV."""
    with write_atomically(path) as part:
        escape_formulas(pl.DataFrame(rows)).write_csv(part)


def write_batches(
    batches: Iterable[Sequence[Sequence[Any]]], columns: Mapping[str, type], path: Path
) -> None:
    """Write Parquet of any length in constant memory: each batch of rows becomes a small file, and
    a query that streams joins them.  ``columns`` are str, int, float or bool; None is null."""
    schema = {name: TYPES[kind] for name, kind in columns.items()}
    with (
        write_atomically(path, private=True) as whole,
        # named like the temporary file, so that both are removed if their writer is killed
        TemporaryDirectory(dir=whole.parent, prefix=f"{whole.name}s-") as folder,
    ):
        parts = [Path(folder, "0.parquet")]
        pl.DataFrame(schema=schema).write_parquet(parts[0])  # no rows at all is a file, too
        for number, rows in enumerate(batches, 1):
            parts.append(Path(folder, f"{number}.parquet"))
            pl.DataFrame(rows, schema=schema, orient="row", strict=True).write_parquet(parts[-1])
        pl.scan_parquet(parts, glob=False).sink_parquet(whole, row_group_size=GROUP)


def check_class_names(
    labels: Collection[str], taken: Collection[str], path: Path | None = None
) -> None:
    """Refuse a class with the name of a column that the table, or the file, itself needs."""
    for label in labels:
        if label in taken:
            where, what = ("", "table") if path is None else (f"{path}: ", "file")
            reason = f"a class is called {label!r}, which is a column of the {what} itself"
            raise DataError(f"{where}{reason}; give the class another name in the answers")


def _split_columns(arrays: Mapping[str, Floats], labels: Sequence[str]) -> dict[str, Floats]:
    """Split arrays (m, k) into one column per class, ``NAME:CLASS`` (``CLASS`` alone for the label
    itself); arrays (m,) stay as they are."""
    columns: dict[str, Floats] = {}
    for name, array in arrays.items():
        if array.ndim == 1:
            columns[name] = array
        else:
            prefix = f"{name}:" if name else ""
            columns |= {f"{prefix}{label}": array[:, j] for j, label in enumerate(labels)}
    return columns


def _write_frame(frame: pl.DataFrame, path: Path, kind: str) -> None:
    if kind == "csv":
        escape_formulas(frame).write_csv(path)
    elif kind == "parquet":
        frame.write_parquet(path)
    else:
        frame.write_ndjson(path)
