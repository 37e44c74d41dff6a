"""Export every stored answer to a file, a piece at a time, so that any size needs little memory.

JSON lines hold the records of ``softlabel.records``, CSV and Parquet one row per answer for
spreadsheets, R and data frames, and JSON the shape in which CIFAR-10S was released.
"""

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from softlabel._util.files import write_atomically
from softlabel.elicit import Classic, Field, c22
from softlabel.errors import SoftlabelError
from softlabel.io import Cell, check_output, escape_formula, write
from softlabel.records import (
    LabelLists,
    dump_json,
    format_time,
    options_when_asked,
    record_of_stored,
)
from softlabel.serve.researcher.sample import Reader
from softlabel.store import ResponseRow, Store, Timing
from softlabel.study import Study

PIECE = 200  # answers that are held at a time
KINDS = ("jsonl", "csv", "parquet", "json", "jsonl.gz", "csv.gz", "json.gz")
COLUMNS: Mapping[str, type] = {  # of a table, whatever the mode
    "response_uuid": str,
    "session": str,
    "annotator": str,
    "simulated": bool,
    "item": str,
    "kind": str,
    "position": int,
    "repeat_of": int,
    "batch": str,
    "mode": str,
    "mode_version": int,
    "mode_options": str,
    "frame": str,
    "received_at": str,
    "late": bool,
    "partial": bool,
    "supersedes": str,
    "superseded": bool,
    "excluded": bool,
    "excluded_because": str,
    "skip": str,
    "touched": bool,
    **dict.fromkeys(("media_ready_ms", *Timing._fields[:4]), float),
}
NUMBERS = ("percent", "scale")  # kinds of fields that hold one number
TEXTS = ("choice", "rest")  # kinds that hold one text; all others are written as JSON

Count = Callable[[int, int], None]  # with numbers of answers and of skips


def _ignore(answers: int, skips: int) -> None:
    pass


def export_answers(study: Study, store: Store, path: Path, count: Count = _ignore) -> int:
    """Write all answers and skips, in the kind that the file's name ends in; return how many there
    are.

    The file is either whole or absent.  ``count`` is called with how many are written so far.
    """
    kind = check_output(path, KINDS, str(study.folder))
    done = skipped = 0

    def counted(answers: int, skips: int) -> None:
        nonlocal done, skipped
        done, skipped = done + answers, skipped + skips
        count(done, skipped)

    if kind == "parquet":
        write.write_batches(_table_rows(study, store, counted), columns(study), path)
        return done + skipped
    text = chunks(study, store, kind.removesuffix(".gz"), counted)
    open_file = gzip.open if kind.endswith(".gz") else open
    with write_atomically(path, private=True) as part, open_file(part, "wb") as file:
        for chunk in text:
            file.write(chunk)
    return done + skipped


def chunks(study: Study, store: Store, kind: str, counted: Count = _ignore) -> Iterator[bytes]:
    """Yield the text of an export by pieces; ``counted`` is called with what is in each."""
    if kind == "json":
        yield from _collins(study, store, counted)
    elif kind == "csv":
        text = io.StringIO(newline="")
        table = csv.writer(text)  # lines end as in RFC 4180
        table.writerow(columns(study))
        yield text.getvalue().encode()
        for rows in _table_rows(study, store, counted):
            text.seek(0)
            text.truncate()
            table.writerows(map(escape_formula, row) for row in rows)
            yield text.getvalue().encode()
    else:
        lists = LabelLists()
        for piece in _pieces(study, store, counted):
            lines = (line for row in piece for line in lists.split(record_of_stored(study, row)))
            yield "".join(f"{dump_json(line)}\n" for line in lines).encode()


def _pieces(study: Study, store: Store, counted: Count) -> Iterator[list[ResponseRow]]:
    rows = store.responses(study.name)
    while piece := list(islice(rows, PIECE)):
        yield piece
        skips = sum(row.skip is not None for row in piece)
        counted(len(piece) - skips, skips)


def columns(study: Study) -> dict[str, type]:
    """Return names and types: what is always there, then two columns for each field of the mode,
    its time and its answer, then the whole answer as JSON, the comment if one is asked for, and in
    a live study the chance that the item had of being chosen."""
    fields = list_fields(study)
    return {
        **COLUMNS,
        **({"arm": str} if study.compare else {}),
        **{f"{field.name}_ms": float for field in fields},
        **{f"answer_{field.name}": float if field.kind in NUMBERS else str for field in fields},
        "answer": str,
        **({"comment": str} if study.comment else {}),
        **({"propensity": float} if study.allocate else {}),
        "label_order": str,
    }


def list_fields(study: Study) -> tuple[Field, ...]:
    """Return the fields of the mode; of modes that are compared, each name once."""
    return tuple({field.name: field for mode in study.modes for field in mode.fields}.values())


def _table_rows(study: Study, store: Store, counted: Count) -> Iterator[list[tuple[Cell, ...]]]:
    """Yield pieces of the table; a column is the row's own field of that name unless made here."""
    fields, names = list_fields(study), tuple(columns(study))
    asked = {mode.name for mode in study.modes}

    def cells(row: ResponseRow) -> tuple[Cell, ...]:
        sent = json.loads(row.payload)
        answer, times = sent.get("answer"), sent.get("timing") or {}
        own = answer if isinstance(answer, dict) and row.mode in asked else {}
        made = {
            "response_uuid": row.id,
            "mode_options": dump_json(options_when_asked(study, row)),
            "frame": row.frame or study.frame,
            "received_at": format_time(row.received_at),
            "touched": bool(sent.get("touched")),
            "excluded": row.excluded is not None,
            "excluded_because": row.excluded,
            "media_ready_ms": _number(times.get("media_ready_ms")),
            **{name: _number(getattr(row.timing, name)) for name in Timing._fields[:4]},
            **{f"{field.name}_ms": _number(row.timing.fields.get(field.name)) for field in fields},
            **{f"answer_{field.name}": _cell(own.get(field.name), field.kind) for field in fields},
            "answer": None if answer is None else dump_json(answer),
            "comment": sent.get("comment") or None,
            "label_order": dump_json(list(row.label_order)),
        }
        return tuple(made[name] if name in made else getattr(row, name) for name in names)

    for piece in _pieces(study, store, counted):
        yield [cells(row) for row in piece]


def _cell(value: Any, kind: str) -> Cell:
    if value is None or kind in NUMBERS:
        return _number(value)
    return value if kind in TEXTS and isinstance(value, str) else dump_json(value)


def _number(value: Any) -> float | None:
    """Return what can be read as a number; whatever else a person typed is in ``answer``."""
    try:
        return None if value is None else float(json.loads(str(value)))
    except (ValueError, TypeError):
        return None


# ── the JSON of CIFAR-10S ────────────────────────────────────────────────────────────────────


def refuse_json(study: Study) -> str | None:
    """Return why the answers of a study cannot be written in the shape of CIFAR-10S, or None."""
    modes = [mode.name for mode in study.modes]
    if modes != [Classic.name]:
        return f".json holds answers of the mode classic, and these are {', '.join(modes)}"
    for label in study.labels:
        if label.lower() in c22.NO_ALTERNATIVE:
            return f"a label is called {label!r}, which in .json means no alternative"
    return None


def _collins(study: Study, store: Store, counted: Count) -> Iterator[bytes]:
    """Yield ``{item: [records]}``: each person's first answer to each target, skips excepted."""
    if (reason := refuse_json(study)) is not None:
        raise SoftlabelError(f"{reason}; write to .jsonl, .csv or .parquet")
    reader, labels, before = Reader(study), study.labels, b"{"

    def record(row: ResponseRow) -> dict[str, Any]:
        """Return one answer as it was read: with its slips repaired, as in the published file."""
        answer = reader.read_answer(row)
        if answer is None or row.mode != Classic.name:
            raise SoftlabelError(
                f"{study.name}: answer {row.id} was given in the mode {row.mode!r} (version "
                f"{row.mode_version}) and cannot be read as {study.mode_text!r}; write to .jsonl"
            )
        two = len(answer.named) > 1
        chance = answer.percent[1] if two else None
        fields = {
            "top": labels[answer.named[0]],
            "p1": answer.percent[0],
            "second": labels[answer.named[1]] if two else None,
            "p2": None if chance is None or chance != chance else chance,
            "impossible": [x for x, may in zip(labels, answer.possible, strict=True) if not may],
        }
        return c22.to_record(fields)

    for item in study.items:
        records = [
            record(row)
            for row in store.responses_to(study.name, item.id)
            if row.kind == "target"
            and row.answer_json is not None
            and not row.superseded
            and row.excluded is None
        ]
        if records:
            yield before + f"{dump_json(item.id)}: {dump_json(records)}".encode()
            before = b", "
            counted(len(records), 0)
    yield b"{}" if before == b"{" else b"}"
