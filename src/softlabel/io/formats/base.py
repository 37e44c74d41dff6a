"""What a format is: how its files are recognised, and the rows that are read from them.

A reader returns one ``Table``, whatever the format: a row per answer, and a count of everything
that did not become a row, by reason.  ``make_answers`` turns it into the arrays of ``tables``.
"""

import csv
import hmac
import io
import json
import os
import re
import secrets
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import polars as pl

from softlabel._util.files import STREAM, shorten
from softlabel.elicit import Answer
from softlabel.errors import DataError, FileError
from softlabel.io.csv_files import find_separator, read_csv
from softlabel.io.json_files import parse_json, parse_lines
from softlabel.io.sheet import (
    BOM,
    LARGEST,
    MODEST,
    PARQUET,
    RATIO,
    ZIP,
    Reading,
    read_bytes,
    read_parquet,
    read_text,
)
from softlabel.io.votes import join_twins, merge_spellings, sort_naturally
from softlabel.records import Line, describe_left_out, json_type, stack_answers
from softlabel.tables import Annotations, Floats, Index, Ints, Statements, names

UNREADABLE = (  # what looking at a file that is something else may raise
    *(DataError, OSError, ValueError, RecursionError, csv.Error, zipfile.BadZipFile),
    *(pl.exceptions.PolarsError, pl.exceptions.PanicException),
)
PEEK = 2**20  # bytes in which the first line of a file must end
KEY = "SOFTLABEL_PSEUDONYM_KEY"  # the environment variable whose value makes pseudonyms
PERSONAL = re.compile(  # an e-mail address, an id of Prolific, an id of Mechanical Turk
    r"[^@\s]+@[^@\s]+\.[^@\s]+|[0-9a-f]{24}|A[0-9A-Z]{11,20}"
)
OTHER_QUESTIONS, NOTHING = "to other questions", "without an answer"
MACHINES, PEOPLE = "by machines", "by people"
TOTAL_TOLERANCE = 1e-4  # of one, by which the totals of distributions may differ

Choice = tuple[str, ...]  # the labels that were chosen, usually one
Kind = Literal["person", "machine"]


class Row(NamedTuple):
    """One answer: labels that were chosen, or a number for each label (``partial``: the rest was
    not said).  ``place`` says where it stands in the file; ``task`` is the question."""

    item: str
    annotator: str | None
    answer: Choice | Mapping[str, float]
    place: str
    task: str = ""
    kind: Kind = "person"
    seconds: float | None = None
    partial: bool = False


@dataclass(frozen=True)
class Table:
    """What a reader found.

    ``left_out`` counts what did not become a row, by reason.  ``labels`` is the order of the
    classes of each task, where the file declares it; ``main`` the task that is meant if none is
    asked for.  ``total`` is what distributions add up to, where the file declares that.
    ``contents`` is what people saw of each item.
    """

    rows: Sequence[Row]
    left_out: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    main: str | None = None
    total: float | None = None
    contents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Head:
    """How a file begins, for readers to claim it.

    ``first`` is the whole value of a JSON file, the object on the first line of JSON lines, the
    columns of a table, or the names of the files in a folder or zip archive.
    """

    path: Path
    kind: Literal["json", "lines", "table", "folder", "zip"]
    first: Any

    @property
    def record(self) -> dict[str, Any]:
        """The first object of JSON lines or of a JSON list; empty if there is none."""
        first = self.first if self.kind in ("json", "lines") else {}
        first = first[0] if isinstance(first, list) else first
        return first if isinstance(first, dict) else {}

    def lines(self) -> Iterator[Line]:
        """Yield the objects of JSON lines, each with its line; of a JSON list, with its place."""
        if self.kind == "lines":
            yield from parse_lines(self.path, read_text(self.path))
            return
        values = self.first if isinstance(self.first, list) else [self.first]
        for number, value in enumerate(values, 1):
            if not isinstance(value, dict):
                reason = f"entry {number} must be an object, not {json_type(value)}"
                raise FileError(self.path, reason, value=shorten(value))
            yield number, value

    def rows(self) -> Iterator[Line]:
        """Yield the rows of a table, each with its number; an empty cell is an empty text."""
        parquet = _read_start(self.path).startswith(PARQUET)
        frame = (
            read_parquet(self.path).frame if parquet else read_csv(self.path).frame.fill_null("")
        )
        yield from enumerate(frame.iter_rows(named=True), 1)

    def members(self, *endings: str) -> Iterator[tuple[Path, bytes]]:
        """Yield the files with these endings in a folder or archive, with their bytes."""
        chosen = [name for name in self.first if Path(name).suffix.lower() in endings]
        if self.kind == "folder":
            yield from ((self.path / name, read_bytes(self.path / name)) for name in chosen)
            return
        with zipfile.ZipFile(self.path) as box:
            whole = sum(box.getinfo(name).file_size for name in chosen)
            most = min(max(MODEST, RATIO * self.path.stat().st_size), LARGEST)
            if whole > most:
                raise FileError(self.path, f"unpacks to {whole:,} bytes, more than {most:,}")
            yield from ((self.path / name, box.read(name)) for name in chosen)


def read_head(path: Path) -> Head | None:
    """Return how a file begins; None if it is nothing that a format could be in.

    What is wrong with the file is not said here, but by whoever reads it.
    """
    try:
        if path.is_dir():
            inside = (one.relative_to(path) for one in path.rglob("*") if one.is_file())
            # hidden files are nobody's answers; in a study folder they hold its secret
            shown = (one for one in inside if not any(part.startswith(".") for part in one.parts))
            return Head(path, "folder", sorted(one.as_posix() for one in shown))
        start = _read_start(path)
        if start.startswith(PARQUET):
            data = io.BytesIO(read_bytes(path)) if path.suffix.lower() == ".gz" else path
            return Head(path, "table", list(pl.read_parquet_schema(data)))
        if start.startswith(ZIP):
            with zipfile.ZipFile(path) as box:
                return Head(path, "zip", sorted(box.namelist()))
        return _read_text_head(path, start.removeprefix(BOM).lstrip())
    except UNREADABLE:
        return None


def _read_start(path: Path) -> bytes:
    if path == STREAM or path.suffix.lower() == ".gz":
        return read_bytes(path)
    with path.open("rb") as file:
        return file.read(PEEK)


def _read_text_head(path: Path, start: bytes) -> Head | None:
    line = start.partition(b"\n")[0]
    if not start.startswith((b"{", b"[")):
        columns = _split_cells(line, find_separator(line))
        return Head(path, "table", columns) if len(columns) > 1 else None
    if line.rstrip().endswith(b"}") and start.startswith(b"{"):
        try:
            first = json.loads(line)
        except ValueError:
            first = None  # an object over several lines
        if isinstance(first, dict) and start[len(line) :].strip():  # there is more than one line
            return Head(path, "lines", first)
    value = parse_json(path, read_text(path))
    if isinstance(value, dict) or (isinstance(value, list) and value):
        return Head(path, "json", value)
    return None


def _split_cells(line: bytes, mark: str) -> list[str]:
    return next(csv.reader([line.decode().rstrip("\r")], delimiter=mark), [])


# ── formats ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Format:
    """Files of another program.  The options of all readers: ``item`` is the key that names an
    item, ``task`` the question whose answers are taken, ``who`` gave them; ``multilabel`` takes
    answers of several labels as yes or no for each; ``keep_ids`` keeps e-mail addresses and ids of
    platforms instead of replacing them by pseudonyms."""

    item: str = ""
    task: str = ""
    who: Literal["people", "machines", "all"] = "people"
    multilabel: bool = False
    keep_ids: bool = False

    name: ClassVar[str]
    paper: ClassVar[str] = ""  # where the format is documented
    personal: ClassVar[bool] = False  # the ids of annotators are those of a platform
    suffixes: ClassVar[tuple[str, ...]] = ()  # of files that are written
    holds: ClassVar[Literal["answers", "labels", "items"]] = "answers"  # what is written
    soft: ClassVar[bool] = False  # an answer that is written may be a distribution
    shows: ClassVar[bool] = False  # what people saw is written, too

    @classmethod
    def claims(cls, head: Head) -> bool:
        """Return whether a file is of this format, by its content."""
        raise NotImplementedError

    def read(self, head: Head) -> Table:
        """Read a whole file."""
        raise NotImplementedError


class Collector:
    """Collects rows, what people saw, and counts of what is left out."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[Row] = []
        self.left_out: Counter[str] = Counter()
        self.contents: dict[str, dict[str, Any]] = {}
        self.notes: list[str] = []

    def table(self, **more: Any) -> Table:
        return Table(
            self.rows, dict(self.left_out), contents=self.contents, notes=tuple(self.notes), **more
        )

    def error(
        self, place: str, reason: str, key: str | None = None, value: Any = None
    ) -> FileError:
        return FileError(self.path, f"{place}: {reason}", column=key, value=shorten(value))

    def get(self, holder: Any, key: str, place: str, kind: type | tuple[type, ...]) -> Any:
        """Return ``holder[key]``, which must be of this kind."""
        if not isinstance(holder, dict):
            raise self.error(place, f"must be an object, not {json_type(holder)}", value=holder)
        if key not in holder:
            raise self.error(place, "this key is missing", key)
        value = holder[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.error(place, f"cannot be {json_type(value)} here", key, value)
        return value

    def name(self, value: Any, place: str, key: str) -> str:
        """Return a name: text, or a number as text."""
        if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
            what = "empty" if value == "" else json_type(value)
            raise self.error(place, f"must be text or a number, not {what}", key, value)
        return str(value)

    def number(self, value: Any, place: str, key: str) -> float:
        """Return a number that may be written as text; it is finite and not negative."""
        try:
            number = float(value)
            if isinstance(value, bool) or not 0 <= number < float("inf"):
                raise ValueError
        except (TypeError, ValueError):
            raise self.error(place, "must be a number, not negative", key, value) from None
        return number


# ── from rows to arrays ──────────────────────────────────────────────────────────────────────


class Made(NamedTuple):
    """Answers as arrays, the seconds they took, what to say about them, and where each stands."""

    answers: Annotations | Statements
    seconds: Floats | None
    left_out: dict[str, int]
    notes: tuple[str, ...]
    places: tuple[str, ...]


def make_answers(
    path: Path, how: Format, table: Table, labels: Sequence[str] | None, reading: Reading
) -> Made:
    """Return the answers to one question by those who were asked for."""
    left_out = Counter(table.left_out)
    rows = _choose_people(path, how, table.rows, left_out)
    rows = _unfold(path, how, rows, left_out)
    task, rows = _choose_task(path, how, table, rows, left_out)
    if not rows:
        shown = describe_left_out(left_out) or "nothing"
        raise FileError(path, f"holds no answers that count; left out: {shown}")
    rows, notes = _hide_ids(how, _join_ids(path, rows, reading))
    declared = labels or table.labels.get(task)
    rows = _merge(path, rows, declared, reading)
    classes = list(declared or sort_naturally({label for row in rows for label in row.answer}))
    code = {label: number for number, label in enumerate(classes)}
    for row in rows:
        for label in row.answer:
            if label not in code:
                reason = f"{row.place}: no such class; the classes are {', '.join(classes[:20])}"
                raise FileError(path, reason, value=shorten(label))
    items, item = _number(row.item for row in rows)
    people, annotator = _number(row.annotator for row in rows)
    index = Index(names(items), names(people), names(classes))
    seconds = np.array([np.nan if row.seconds is None else row.seconds for row in rows])
    answers = _stack(path, index, (item, annotator), rows, code, table.total)
    timed = None if np.isnan(seconds).all() else seconds
    counted = {why: count for why, count in left_out.items() if count}
    places = tuple(row.place for row in rows)
    return Made(answers, timed, counted, (*table.notes, *notes), places)


def _choose_people(
    path: Path, how: Format, rows: Sequence[Row], left_out: Counter[str]
) -> list[Row]:
    if how.who == "all":
        return list(rows)
    wanted, other = ("person", MACHINES) if how.who == "people" else ("machine", PEOPLE)
    chosen = [row for row in rows if row.kind == wanted]
    if rows and not chosen:
        instead = "machines" if how.who == "people" else "people"
        reason = f"holds no answers {PEOPLE if wanted == 'person' else MACHINES}"
        if shown := describe_left_out(left_out):
            reason += f" (left out: {shown})"
        raise FileError(path, f"{reason}; for the others say --from {how.name}:who={instead}")
    left_out[other] += len(rows) - len(chosen)
    return chosen


def _unfold(path: Path, how: Format, rows: list[Row], left_out: Counter[str]) -> list[Row]:
    """Settle answers of no label and of several: refuse the latter, or ask of each label whether it
    was chosen."""
    several = {row.task for row in rows if not isinstance(row.answer, Mapping)}
    if how.multilabel:
        classes = {
            task: sort_naturally(
                {label for row in rows if row.task == task for label in row.answer}
            )
            for task in several
        }
        return [
            row._replace(
                task=label if len(several) == 1 else f"{row.task}/{label}",
                answer=("yes" if label in row.answer else "no",),
            )
            for row in rows
            for label in classes.get(row.task, ())
        ] + [row for row in rows if row.task not in several]
    kept = []
    for row in rows:
        if not row.answer:
            left_out[NOTHING] += 1
            continue
        if not isinstance(row.answer, Mapping) and len(row.answer) > 1:
            shown = ", ".join(map(repr, row.answer))
            reason = f"{row.place}: names {len(row.answer)} labels, {shown}, in one answer"
            say = f"take them one at a time with --from {how.name}:multilabel=true,task=LABEL"
            if not how.task or how.task == row.task:
                raise FileError(path, f"{reason}; {say}")
            left_out[OTHER_QUESTIONS] += 1
            continue
        kept.append(row)
    return kept


def _choose_task(
    path: Path, how: Format, table: Table, rows: list[Row], left_out: Counter[str]
) -> tuple[str, list[Row]]:
    counts = Counter(row.task for row in rows)
    task = how.task
    if not task:
        only = next(iter(counts), "") if len(counts) < 2 else None
        task = table.main if table.main in counts else only  # type: ignore[assignment]
    if task is None or (rows and task not in counts):
        shown = ", ".join(f"{name!r} ({count:,} answers)" for name, count in counts.items())
        first = next(iter(counts))
        reason = (
            f"holds several questions: {shown}"
            if task is None
            else (f"holds no question {task!r}; there are {shown}")
        )
        raise FileError(path, f"{reason}; choose one: --from {how.name}:task={first}")
    left_out[OTHER_QUESTIONS] += len(rows) - counts[task]
    return task, [row for row in rows if row.task == task]


def _join_ids(path: Path, rows: list[Row], reading: Reading) -> list[Row]:
    """Settle ids of items and annotators that differ by the space around them only."""
    for key in ("item", "annotator"):
        ids = pl.Series(key, [getattr(row, key) for row in rows], dtype=pl.String)
        joined = join_twins(ids, path, reading.spelling)
        if joined is not ids:
            rows = [row._replace(**{key: name}) for row, name in zip(rows, joined, strict=True)]
    return rows


def _hide_ids(how: Format, rows: list[Row]) -> tuple[list[Row], list[str]]:
    """Replace ids by which people could be found; the same id gets the same pseudonym."""
    if how.keep_ids:
        return rows, []
    given = os.environ.get(KEY, "").encode()
    key = given or secrets.token_bytes(16)
    hidden = {
        row.annotator: hmac.new(key, row.annotator.encode(), sha256).hexdigest()[:12]
        for row in rows
        if row.annotator is not None
        and row.kind == "person"
        and (how.personal or PERSONAL.fullmatch(row.annotator))
    }
    if not hidden:
        return rows, []
    rows = [row._replace(annotator=hidden.get(row.annotator, row.annotator)) for row in rows]  # type: ignore[arg-type]
    return rows, [
        f"{len(hidden):,} ids of people replaced by pseudonyms (keep_ids=true keeps them)"
    ]


def _merge(
    path: Path, rows: list[Row], labels: Sequence[str] | None, reading: Reading
) -> list[Row]:
    counts = Counter(label for row in rows for label in row.answer)
    try:
        same = merge_spellings(counts, labels, reading.spelling)
    except ValueError as error:
        raise FileError(path, str(error)) from None
    if not same:
        return rows
    merged = []
    for row in rows:
        if isinstance(row.answer, Mapping):
            sums: Counter[str] = Counter()
            for label, number in row.answer.items():
                sums[same.get(label, label)] += number  # type: ignore[assignment]
            merged.append(row._replace(answer=dict(sums)))
        else:
            merged.append(row._replace(answer=tuple(same.get(one, one) for one in row.answer)))
    return merged


def _number(values: Iterable[str | None]) -> tuple[list[str], Ints]:
    """Return the distinct names in order of first appearance and each row's code, -1 for None."""
    codes: dict[str, int] = {}
    rows = [-1 if name is None else codes.setdefault(name, len(codes)) for name in values]
    return list(codes), np.array(rows, dtype=np.int64)


def _stack(
    path: Path,
    index: Index,
    who: tuple[Ints, Ints],
    rows: list[Row],
    code: Mapping[str, int],
    total: float | None,
) -> Annotations | Statements:
    if any(row.partial for row in rows):
        possible = np.ones(len(code), dtype=np.bool_)
        said = []
        for row in rows:
            numbers = (
                row.answer if isinstance(row.answer, Mapping) else dict.fromkeys(row.answer, 1)
            )
            named = tuple(code[label] for label in numbers)
            percent = tuple(100 * number if row.partial else np.nan for number in numbers.values())
            said.append(Answer(named, percent, possible))
        return stack_answers(index, *who, said)
    soft = [row for row in rows if isinstance(row.answer, Mapping)]
    if not soft:
        label = np.array([code[row.answer[0]] for row in rows])  # type: ignore[index]
        return Annotations(index, *who, label=label)
    if len(soft) < len(rows):
        odd = next(row for row in rows if not isinstance(row.answer, Mapping))
        reason = f"{odd.place}: is a vote, and others are distributions; choose one with task="
        raise FileError(path, reason)
    probs = np.zeros((len(rows), len(code)))
    for number, row in enumerate(soft):
        for name, value in row.answer.items():  # type: ignore[union-attr]
            probs[number, code[name]] = value
    sums = probs.sum(axis=1)
    whole = total if total is not None else float(sums[0])
    off = np.flatnonzero(~(abs(sums - whole) <= TOTAL_TOLERANCE * max(whole, 1e-9)))
    if whole <= 0 or len(off):
        row, found = rows[int(off[0]) if len(off) else 0], sums[int(off[0]) if len(off) else 0]
        first = "" if total is not None else f" as at {rows[0].place}"
        reason = f"{row.place}: the numbers sum to {found:g}, not to {whole:g}{first}"
        raise FileError(path, reason, value=shorten(dict(row.answer)))  # type: ignore[arg-type]
    return Annotations(index, *who, probs=probs / sums[:, None])


# ── writing ──────────────────────────────────────────────────────────────────────────────────


def hide_annotators(index: Index, order: Callable[[list[str]], None]) -> Index:
    """Return the index with the annotators called a1, a2, ... in an order that is not kept."""
    people = [f"a{number}" for number in range(1, len(index.annotators) + 1)]
    order(people)
    return replace(index, annotators=names(people))


def each_vote(answers: Annotations) -> Iterator[tuple[str, str | None, str]]:
    """Yield item, annotator and label of hard votes."""
    assert answers.label is not None, "votes"
    index = answers.index
    people: list[str | None] = [*index.annotators.tolist(), None]
    items, labels = index.items.tolist(), index.labels.tolist()
    for item, who, label in zip(answers.item, answers.annotator, answers.label, strict=True):
        yield items[item], people[who], labels[label]
