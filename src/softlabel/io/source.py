"""From the name of a file to a table, whatever its kind and shape."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from softlabel._util.files import kind_of
from softlabel._util.progress import Tell, silent
from softlabel.elicit import Mode
from softlabel.errors import DataError, FileError
from softlabel.io import jsontext
from softlabel.io.classic import read_classic, read_collins
from softlabel.io.comma import read_csv
from softlabel.io.envelope import Line, told
from softlabel.io.large import LARGE, read_large
from softlabel.io.opening import text
from softlabel.io.parquet import read_parquet
from softlabel.io.responses import read_responses
from softlabel.io.shapes import shape_of
from softlabel.io.sheet import Sheet
from softlabel.io.votelines import read_vote_lines
from softlabel.io.votes import read_votes
from softlabel.sampling import first_presentation
from softlabel.tables import Annotations, Floats, Statements

Said = Statements | Annotations
Repeats = Literal["first", "mean", "all", "error"]

KINDS = (*("csv", "jsonl", "parquet", "json"), *("csv.gz", "jsonl.gz", "parquet.gz", "json.gz"))


@dataclass(frozen=True, eq=False)
class Source:
    """What was read, and how to find a row again in order to complain about it.

    ``repeats`` is what to do, unless told, where one person answered one item more than once.
    ``left_out`` counts the answers of a study that are not for labels: practice, checks, skipped,
    superseded.  ``late`` answers count: they were given, but after the study had stopped waiting.
    ``seconds`` (n,) is the time each answer took, NaN where it is not known.  ``skips`` says how
    often each person skipped an item, by reason.  ``simulated`` counts answers that simulated
    people gave.  ``asked`` counts the answers by how they were asked for: the mode, its version
    and options, the frame.
    """

    name: str
    said: Said
    line_of: Callable[[int], int] | None = None
    repeats: Repeats = "error"
    left_out: Mapping[str, int] = field(default_factory=dict)
    late: int = 0
    seconds: Floats | None = None
    skips: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    simulated: int = 0
    asked: Mapping[str, int] = field(default_factory=dict)

    @property
    def facts(self) -> dict[str, str]:
        """What must be told about the reading: what was left out and what came late."""
        found = {"left out": told(self.left_out)}
        if self.late:
            found["late"] = f"{self.late:,} answers came after their time was over; they count"
        return {name: text for name, text in found.items() if text}

    def refuse_mixtures(self) -> None:
        """Complain about answers to different questions: their mean is an answer to none."""
        if len(self.asked) > 1:
            ways = "; ".join(f"{count:,} by {way}" for way, count in self.asked.items())
            raise DataError(
                f"{self.name}: the answers were asked for in {len(self.asked)} ways ({ways}) and "
                "are not pooled; --mode NAME takes those of one mode, whatever its options"
            )

    def refuse_repeats(self) -> None:
        """Complain about the first person who answered an item a second time."""
        again = np.flatnonzero(~first_presentation(self.said))
        if not len(again):
            return
        row, said = int(again[0]), self.said
        same = (said.item == said.item[row]) & (said.annotator == said.annotator[row])
        first = int(same.argmax())
        who = said.index.annotators[said.annotator[row]]
        what = said.index.items[said.item[row]]
        rest = f" ({len(again)} answers are repeats)" if len(again) > 1 else ""
        remedy = "say what to do with --repeats first, mean or all"
        if self.line_of is None:
            raise DataError(
                f"{self.name}: {who!r} answered item {what!r} in row {first + 1} and again in row "
                f"{row + 1}{rest}; {remedy}"
            )
        raise FileError(
            self.name,
            f"{who!r} answered item {what!r} on line {self.line_of(first)} and again here{rest}; "
            f"{remedy}",
            line=self.line_of(row),
        )


def read(
    path: str | Path,
    labels: Sequence[str] | None = None,
    mode: Mode | None = None,
    tell: Tell = silent,
) -> Source:
    """Hard votes, soft votes or statements; the module docstrings say which shapes there are.

    ``labels`` is the full list of classes: anything outside it is an error.  Without it the
    classes are those the file declares or those that occur.  ``mode`` reads the answers that were
    given through it, with its repairs for instance, instead of the mode's defaults.  Large files
    of hard votes are read in batches; ``tell`` hears how far they are.
    """
    path = Path(path)
    if not path.exists():
        raise FileError(path, "there is no such file")
    if path.is_dir():
        raise FileError(path, "is a folder, not a file")
    kind = kind_of(path, KINDS).removesuffix(".gz")
    wanted = None if labels is None else list(labels)
    if kind == "json":
        return Source(str(path), read_collins(path, text(path), wanted, mode))
    if kind == "jsonl":
        data = text(path)
        _, first = next(jsontext.lines(path, data))
        if "schema" in first:
            source = _of_responses(path, jsontext.lines(path, data), wanted, mode)
            if not len(source.said):
                raise FileError(
                    path, f"holds no answers to label; left out: {told(source.left_out)}"
                )
            return source
        sheet, shape = read_vote_lines(path, data)
        return Source(str(path), read_votes(sheet, shape, wanted), sheet.line_of)
    large = path.suffix.lower() != ".gz" and path.stat().st_size >= LARGE
    said = read_large(path, kind, wanted, tell) if large else None
    if said is not None:
        return Source(str(path), said, _line_after_header if kind == "csv" else None)
    return _of_sheet(read_csv(path) if kind == "csv" else read_parquet(path), wanted, mode)


def _line_after_header(row: int) -> int:
    return row + 2


def read_rows(
    rows: Iterable[dict[str, Any]],
    labels: Sequence[str] | None = None,
    mode: Mode | None = None,
    where: str = "responses",
) -> Source:
    """Responses that have been parsed already, read as the lines of a file would be.

    ``where`` is what they are called in complaints, which count them from 1.  With ``labels``
    there may be none, and then the table is empty.
    """
    return _of_responses(where, enumerate(rows, 1), None if labels is None else list(labels), mode)


def _of_responses(
    where: str | Path, rows: Iterable[Line], labels: list[str] | None, mode: Mode | None
) -> Source:
    found = read_responses(where, rows, labels, mode)
    by_design = bool((first_presentation(found.said) | np.array(found.again, np.bool_)).all())
    return Source(
        str(where),
        found.said,
        found.lines.__getitem__,
        repeats="first" if by_design else "error",
        left_out=dict(found.left_out),
        late=found.late,
        seconds=np.array(found.seconds, dtype=np.float64),
        skips=found.skips,
        simulated=found.simulated,
        asked=dict(found.asked),
    )


def source_of(name: str, said: Said, repeats: Repeats = "first") -> Source:
    """A table from elsewhere as a source; items keep their order, so that labels made here can be
    laid beside those made in Python."""
    return Source(name, said, repeats=repeats)


def _of_sheet(sheet: Sheet, labels: list[str] | None, mode: Mode | None) -> Source:
    if "response_uuid" in sheet.frame.columns:
        raise FileError(
            sheet.path, "is a study's export for spreadsheets; labels are made from its .jsonl"
        )
    shape = shape_of(sheet.path, sheet.frame.columns)
    if shape.kind == "classic":
        return Source(str(sheet.path), read_classic(sheet, shape, labels, mode), sheet.line_of)
    return Source(str(sheet.path), read_votes(sheet, shape, labels), sheet.line_of)
