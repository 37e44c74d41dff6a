"""Every stored answer as a file: a piece at a time, so that memory stays the same at any size."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from softlabel.elicit import Classic, c22
from softlabel.errors import SoftlabelError
from softlabel.io import Cell, escaped
from softlabel.serve.monitor.flat import columns, flat
from softlabel.serve.monitor.lines import dump, line
from softlabel.serve.researcher.sample import Reader
from softlabel.store import ResponseRow, Store
from softlabel.study import Study

PIECE = 200  # answers that are held at a time
KINDS = ("jsonl", "csv", "parquet", "json", "jsonl.gz", "csv.gz", "json.gz")

Count = Callable[[int], None]


def export(study: Study, store: Store, path: Path, count: Count = lambda done: None) -> int:
    """Write all answers; the name of the file says how.  Returns how many there are.

    The file is either whole or not there.  ``count`` is told how many are written so far.
    """
    from softlabel import io as files
    from softlabel._util.files import aside
    from softlabel.io import write_batches

    kind = files.check_target(path, KINDS, str(study.folder))
    counted = _Counted(count)
    if kind == "parquet":
        write_batches(rows(study, store, counted), columns(study), path)
        return counted.done
    text = chunks(study, store, kind.removesuffix(".gz"), counted)
    write = gzip.open if kind.endswith(".gz") else open
    with aside(path, private=True) as part, write(part, "wb") as file:
        for chunk in text:
            file.write(chunk)
    return counted.done


def chunks(
    study: Study, store: Store, kind: str, counted: Callable[[int], None] = lambda more: None
) -> Iterator[bytes]:
    """The text of an export, piece by piece; ``counted`` is told how many answers are in each."""
    made = {"jsonl": _json_lines, "csv": _csv, "json": _collins}[kind]
    return made(study, store, counted)


def rows(
    study: Study, store: Store, counted: Callable[[int], None]
) -> Iterator[list[tuple[Cell, ...]]]:
    """The same as rows of a table, many at a time."""
    for piece in _pieces(store.responses(study.name)):
        yield [flat(study, row) for row in piece]
        counted(len(piece))


def refuse_json(study: Study) -> str | None:
    """Why the answers of a study cannot be written in the shape of CIFAR-10S, if they cannot."""
    if study.mode.name != Classic.name:
        return f".json holds answers of the mode classic, and these are {study.mode.name}"
    for label in study.labels:
        if label.lower() in c22.NO_ALTERNATIVE:
            return f"a label is called {label!r}, which in .json means no alternative"
    return None


class _Counted:
    """Adds up what was written."""

    def __init__(self, tell: Count) -> None:
        self.done, self.tell = 0, tell

    def __call__(self, more: int) -> None:
        self.done += more
        self.tell(self.done)


def _pieces(found: Iterator[ResponseRow]) -> Iterator[list[ResponseRow]]:
    while piece := list(islice(found, PIECE)):
        yield piece


def _json_lines(study: Study, store: Store, counted: Callable[[int], None]) -> Iterator[bytes]:
    for piece in _pieces(store.responses(study.name)):
        yield "".join(f"{dump(line(study, row))}\n" for row in piece).encode()
        counted(len(piece))


def _csv(study: Study, store: Store, counted: Callable[[int], None]) -> Iterator[bytes]:
    text = io.StringIO(newline="")
    table = csv.writer(text)  # lines end as RFC 4180 says
    table.writerow(columns(study))
    yield _taken(text)
    for piece in rows(study, store, counted):
        table.writerows(map(escaped, row) for row in piece)
        yield _taken(text)


def _taken(text: io.StringIO) -> bytes:
    """What was written so far, which is then forgotten."""
    whole = text.getvalue().encode()
    text.seek(0)
    text.truncate()
    return whole


def _collins(study: Study, store: Store, counted: Callable[[int], None]) -> Iterator[bytes]:
    """``{item: [records]}``: each person's first answer to each target that was not skipped."""
    if (reason := refuse_json(study)) is not None:
        raise SoftlabelError(f"{reason}; write to .jsonl, .csv or .parquet")
    reader, before = Reader(study), b"{"
    for item in study.items:
        records = [
            _record(study, reader, row)
            for row in store.responses_to(study.name, item.id)
            if row.kind == "target" and row.answer_json is not None and not row.superseded
        ]
        if records:
            yield before + f"{dump(item.id)}: {dump(records)}".encode()
            before = b", "
            counted(len(records))
    yield b"{}" if before == b"{" else b"}"


def _record(study: Study, reader: Reader, row: ResponseRow) -> dict[str, Any]:
    """One answer as it was read: with its slips mended, as in the published file."""
    said = reader.said(row)
    if said is None or row.mode != Classic.name:
        raise SoftlabelError(
            f"{study.name}: answer {row.id} was given in the mode {row.mode!r} (version "
            f"{row.mode_version}) and cannot be read as {study.mode_text!r}; write to .jsonl"
        )
    labels = study.labels
    two = len(said.named) > 1
    chance = said.percent[1] if two else None
    return c22.to_record(
        {
            "top": labels[said.named[0]],
            "p1": said.percent[0],
            "second": labels[said.named[1]] if two else None,
            "p2": None if chance is None or chance != chance else chance,
            "impossible": [
                label for label, may in zip(labels, said.possible, strict=True) if not may
            ],
        }
    )
