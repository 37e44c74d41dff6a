"""From the name of a file to a table of answers, whatever its kind and shape."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from softlabel._util.files import STREAM, file_kind
from softlabel._util.progress import Progress, silent
from softlabel.elicit import Mode
from softlabel.errors import DataError, FileError, nearest
from softlabel.io.classic import read_classic, read_collins
from softlabel.io.columns import SECONDS
from softlabel.io.csv_files import read_csv
from softlabel.io.formats import Format, find_format, make_answers, read_table
from softlabel.io.formats.base import Head
from softlabel.io.formats.crowds import CODES
from softlabel.io.json_files import parse_lines, parse_object, read_vote_lines
from softlabel.io.large import LARGE, read_large
from softlabel.io.sheet import (
    BOM,
    PARQUET,
    Reading,
    Shape,
    Sheet,
    detect_shape,
    is_blank,
    read_bytes,
    read_parquet,
    read_text,
)
from softlabel.io.votes import (
    is_counted,
    merge_ids,
    merge_spellings,
    prepare,
    read_counts,
    read_votes,
)
from softlabel.records import (
    JUDGED,
    Line,
    check_record,
    describe_left_out,
    join_lists,
    read_records,
)
from softlabel.sampling import first_presentation
from softlabel.tables import Annotations, Bools, Floats, Names, Statements

AnswerTable = Statements | Annotations
Repeats = Literal["first", "last", "mean", "all", "error"]

PLAIN = ("csv", "jsonl", "parquet", "json", "tsv")
KINDS = (*PLAIN, *(f"{kind}.gz" for kind in PLAIN))
ONE_EACH = (
    "holds one distribution for each item and no annotators: these are labels or predictions, not "
    "answers; if they are answers, add a column annotator"
)
EVERY_ARM = "all"  # what stands for every arm of a comparison
OTHER_ARM = "asked in another arm"
COUNTS = "counts of votes, without annotators"
SHOWN = 12  # classes that are named where counts are read


@dataclass(frozen=True, eq=False)
class Source:
    """The answers that were read, and how to find a row again for an error message.

    ``repeats`` is what to do by default where one person answered one item more than once.
    ``left_out`` counts the answers of a study that are not for labels: practice, checks, skipped,
    superseded.  ``late`` answers count: they were given, but after the study had stopped waiting.
    ``seconds`` (n,) is the time each answer took, NaN where it is not known.  ``skips`` counts
    each person's skipped items, by reason.  ``simulated`` counts answers of simulated people.
    ``asked`` counts the answers by how they were asked for: mode, version, options and frame.
    ``arm`` (n,) names the way in which each answer was asked for, and ``votes`` (n,) says which of
    them are plain votes; both only of studies.
    ``branch`` (n,) is the share of each answer that was said of branches as wholes.  ``read_as``
    names the format, where it is not a table or records of ours; ``notes`` is what else to know;
    ``contents`` is what people saw of each item; ``places`` (n,) says where each answer stands in a
    file of another program.
    """

    name: str
    answers: AnswerTable
    line_of: Callable[[int], int] | None = None
    repeats: Repeats = "error"
    left_out: Mapping[str, int] = field(default_factory=dict)
    late: int = 0
    seconds: Floats | None = None
    skips: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    simulated: int = 0
    asked: Mapping[str, int] = field(default_factory=dict)
    branch: Floats | None = None
    arm: Names | None = None
    votes: Bools | None = None
    read_as: str = ""
    notes: tuple[str, ...] = ()
    contents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    places: Sequence[str] = ()

    @property
    def facts(self) -> dict[str, str]:
        """What to report about the reading: what was left out and what came late."""
        facts = {"read as": self.read_as, "left out": describe_left_out(self.left_out)}
        facts["note"] = "; ".join(self.notes)
        if self.arm is not None and len(counts := Counter(self.arm.tolist())) > 1:
            facts["arms"] = ", ".join(f"{name} {count:,}" for name, count in counts.items())
        if self.late:
            facts["late"] = f"{self.late:,} answers came after their time was over; they count"
        if self.branch is not None and (whole := int((self.branch > 0).sum())):
            facts["branch answers"] = f"{whole:,}; a branch is shared evenly by the classes in it"
        return {name: text for name, text in facts.items() if text}

    def refuse_mixtures(self) -> None:
        """Refuse answers to different questions: their mean would answer none of them."""
        if len(self.asked) > 1:
            ways = "; ".join(f"{count:,} by {way}" for way, count in self.asked.items())
            raise DataError(
                f"{self.name}: the answers were asked for in {len(self.asked)} ways ({ways}) and "
                "are not pooled; --mode NAME takes those of one mode, whatever its options, --arm "
                f"NAME those of one arm, and --arm {EVERY_ARM} pools them together"
            )

    def take_arm(self, name: str) -> "Source":
        """Return the answers of one arm of a comparison; with ``all`` those of every arm, which may
        then be pooled together."""
        if self.arm is None or self.votes is None:
            raise DataError(f"{self.name}: --arm {name}: is no export of a study, so has no arms")
        if name == EVERY_ARM:
            return replace(self, asked={})
        known = list(dict.fromkeys(self.arm.tolist()))
        if name not in known:
            hint = nearest(name, known) or f"; there are: {', '.join(known)}"
            raise DataError(f"{self.name}: --arm {name}: no such arm{hint}")
        rows = np.flatnonzero(self.arm == name)
        answers, line_of = _drop_unused(self.answers.take(rows)), self.line_of
        if isinstance(answers, Statements) and self.votes[rows].all():
            first = answers.named[:, 0]
            answers = Annotations(answers.index, answers.item, answers.annotator, label=first)
        columns: dict[str, Any] = {
            key: None if (column := getattr(self, key)) is None else column[rows]
            for key in ("seconds", "branch", "arm", "votes")
        }
        return replace(
            self,
            answers=answers,
            line_of=None if line_of is None else lambda row: line_of(int(rows[row])),
            left_out=dict(self.left_out) | {OTHER_ARM: len(self.answers) - len(rows)},
            asked={
                way: count
                for way, count in self.asked.items()
                if way.endswith(f", arm {name}") or way.startswith(f"{name} version")
            },
            **columns,
        )

    def refuse_repeats(self) -> None:
        """Refuse a second answer of one person to one item."""
        again = np.flatnonzero(~first_presentation(self.answers))
        if not len(again):
            return
        row, table = int(again[0]), self.answers
        same = (table.item == table.item[row]) & (table.annotator == table.annotator[row])
        first = int(same.argmax())
        who = table.index.annotators[table.annotator[row]]
        what = table.index.items[table.item[row]]
        event = f"{who!r} answered item {what!r}"
        rest = f" ({len(again)} answers are repeats)" if len(again) > 1 else ""
        rest += "; say what to do with --repeats first, last, mean or all"
        if self.places:
            where = f"({self.places[first]}) and again ({self.places[row]})"
            raise DataError(f"{self.name}: {event} {where}{rest}")
        if self.line_of is None:
            where = f"in row {first + 1} and again in row {row + 1}"
            raise DataError(f"{self.name}: {event} {where}{rest}")
        reason = f"{event} on line {self.line_of(first)} and again here{rest}"
        raise FileError(self.name, reason, line=self.line_of(row))


def _drop_unused(answers: AnswerTable) -> AnswerTable:
    """Return the same answers without the items and people that have none."""
    index = answers.index
    items, item = np.unique(answers.item, return_inverse=True)
    people, annotator = np.unique(answers.annotator, return_inverse=True)
    if answers.anonymous:
        return replace(answers, index=replace(index, items=index.items[items]), item=item)
    index = replace(index, items=index.items[items], annotators=index.annotators[people])
    return replace(answers, index=index, item=item, annotator=annotator)


def read_answers(
    path: str | Path,
    labels: Sequence[str] | None = None,
    mode: Mode | None = None,
    progress: Progress = silent,
    reading: Reading | None = None,
) -> Source:
    """Read hard votes, soft votes, counts, classic responses, collected records, the JSON of
    CIFAR-10S or the files of another program; ``-`` is standard input.
    ``labels`` is the full list of classes (else those that the file declares or that occur):
    anything outside it is an error.  ``mode`` reads the answers that were given through it, with
    its repairs for instance.  ``progress`` hears of each batch of a large file of hard votes.
    ``reading`` says what to do where the file leaves a choice."""
    path, reading = Path(path), reading or Reading()
    if path != STREAM and not path.exists():
        raise FileError(path, "there is no such file")
    wanted = None if labels is None else list(labels)
    foreign = find_format(path, reading.format, named=bool(reading.columns))
    if foreign is not None:
        return _read_foreign(path, *foreign, wanted, reading)
    if path.is_dir():
        raise FileError(path, "is a folder, not a file")
    kind = _sniff(path) if path == STREAM else file_kind(path, KINDS).removesuffix(".gz")
    if kind == "json":
        return Source(str(path), read_collins(path, read_text(path), wanted, mode))
    if kind == "jsonl":
        return _read_lines(path, wanted, mode, reading)
    if path.suffix.lower() in (".csv", ".parquet") and path.stat().st_size >= LARGE:
        votes = read_large(path, kind, wanted, progress, reading)
        if votes is not None:
            # row 0 of CSV is on line 2, after the header
            return Source(str(path), votes, (lambda row: row + 2) if kind == "csv" else None)
    sheet = read_parquet(path) if kind == "parquet" else read_csv(path)
    if "response_uuid" in sheet.frame.columns:
        reason = "is a study's export for spreadsheets; labels are made from its .jsonl"
        raise FileError(path, reason)
    shape = detect_shape(path, sheet.frame.columns, reading.columns)
    if shape.kind == "classic":
        said = read_classic(merge_ids(sheet, shape, reading), shape, wanted, mode)
        return Source(str(path), said, sheet.line_of)
    return _read_votes(sheet, shape, wanted, reading)


def _read_foreign(
    path: Path, how: Format, head: Head, labels: list[str] | None, reading: Reading
) -> Source:
    """Read the file of another program."""
    table = read_table(how, head)
    made = make_answers(path, how, table, labels, reading)
    return Source(
        str(path),
        made.answers,
        left_out=made.left_out,
        seconds=made.seconds,
        read_as=how.name,
        notes=made.notes,
        contents=table.contents,
        places=made.places,
    )


def _sniff(path: Path) -> str:
    """Return the kind of a file by how it begins."""
    data = read_bytes(path)
    if data.startswith(PARQUET):
        return "parquet"
    text = data.removeprefix(BOM).lstrip()
    if not text.startswith((b"{", b"[")):
        return "csv"
    try:
        first = parse_object(path, text.splitlines()[0])
    except FileError:
        return "json"  # an object over several lines
    return "json" if first and all(isinstance(value, list) for value in first.values()) else "jsonl"


def _read_votes(sheet: Sheet, shape: Shape, labels: list[str] | None, reading: Reading) -> Source:
    name = str(sheet.path)
    sheet.refuse_models()
    if labels is None and shape.kind == "hard":
        declared = sheet.frame[shape.answer[0]].dtype
        labels = declared.categories.to_list() if isinstance(declared, pl.Enum) else None
    if labels is None and shape.kind == "soft" and reading.spelling != "keep":
        try:
            merge_spellings(dict.fromkeys(shape.answer, 1), None, "refuse")
        except ValueError as error:
            reason = str(error).partition(";")[0].replace(" (1 times)", "")
            say = "rename one, or say --spelling keep if they are different classes"
            raise FileError(sheet.path, f"the columns {reason}; {say}") from None
    if labels is None and shape.kind == "soft" and shape.annotator is None:
        _refuse_wide(sheet.path)
    sheet, left_out = prepare(sheet, shape, labels, reading)
    if shape.kind == "soft" and (sheet.anonymous or shape.annotator is None):
        votes = read_counts(sheet, shape, labels)
        if votes is not None:
            classes = votes.index.labels.tolist()
            shown = ", ".join(classes[:SHOWN]) + (", …" if len(classes) > SHOWN else "")
            read_as = f"{COUNTS}: the classes are {shown}"
            return Source(name, votes, left_out=left_out, read_as=read_as)
    votes = read_votes(sheet, shape, labels, reading)
    if shape.kind == "soft" and shape.annotator is None and votes.votes_per_item().max() == 1:
        raise FileError(sheet.path, ONE_EACH)
    seconds, notes = _read_seconds(sheet, shape)
    told = f"votes of unknown people, as many as {shape.count!r} says"
    return Source(
        name,
        votes,
        sheet.line_of,
        left_out=left_out,
        seconds=seconds,
        read_as=told if is_counted(sheet, shape) else "",
        notes=notes,
    )


def _refuse_wide(path: Path) -> None:
    """Refuse to take for counts what may be the numbers of classes: a file beside names them."""
    beside = path.with_suffix(CODES)
    if beside.is_file():
        raise FileError(
            path,
            f"could mean two things: beside it is {beside.name}, so a column may be an annotator "
            "and a number a class (say --from cleanlab); if columns are classes and numbers count "
            "votes, name the classes with --labels",
        )


def _read_seconds(sheet: Sheet, shape: Shape) -> tuple[Floats | None, tuple[str, ...]]:
    """Return the column ``seconds`` beside hard votes, and what to say if it holds no times."""
    if shape.kind != "hard" or SECONDS not in sheet.frame.columns or SECONDS in shape.answer:
        return None, ()
    cells = sheet.frame[SECONDS]
    cells = cells.set(is_blank(cells), None)
    numbers = cells.cast(pl.Float64, strict=False)
    if numbers.null_count() > cells.null_count() or (numbers < 0).any():
        return None, (f"the column {SECONDS!r} is not read: not all of it is numbers of seconds",)
    times = numbers.fill_null(np.nan).to_numpy()
    return (None if np.isnan(times).all() else times), ()


def read_sheet(path: Path) -> Sheet:
    """Return a CSV, TSV or Parquet file as it stands, with all its columns."""
    if path != STREAM and not path.is_file():
        raise FileError(path, "is no file" if path.exists() else "there is no such file")
    kind = _sniff(path) if path == STREAM else file_kind(path, KINDS).removesuffix(".gz")
    return read_parquet(path) if kind == "parquet" else read_csv(path)


def read_lines(path: Path) -> list[Line]:
    """Return the objects of a file of JSON lines, each with the number of its line.  A log of what
    models said may end in the middle of a line, which was never acknowledged and is not read."""
    data = read_text(path)
    if JUDGED.encode() in data.partition(b"\n")[0]:
        data = data[: data.rfind(b"\n") + 1]
    return list(parse_lines(path, data))


def read_export(path: str | Path) -> list[dict[str, Any]]:
    """Return every record of a study's export to ``.jsonl``, as it is: also practice, checks, skips
    and people who were left out."""
    path = Path(path)
    if not path.is_file():
        raise FileError(path, "there is no such file")
    if file_kind(path, KINDS).removesuffix(".gz") != "jsonl":
        raise FileError(path, "is no export of a study; export the study to a .jsonl file first")
    records = []
    for row in join_lists(path, parse_lines(path, read_text(path))):
        check_record(path, row)
        records.append(row[1])
    if not records:
        raise FileError(path, "holds no answers")
    return records


def _read_lines(
    path: Path, labels: list[str] | None, mode: Mode | None, reading: Reading
) -> Source:
    """Read JSON lines: records if the first has a schema, else votes."""
    data = read_text(path)
    if "schema" not in next(parse_lines(path, data))[1]:
        return _read_votes(*read_vote_lines(path, data, reading), labels, reading)
    source = _collect(path, parse_lines(path, data), labels, mode)
    if not len(source.answers):
        left_out = describe_left_out(source.left_out)
        raise FileError(path, f"holds no answers to label; left out: {left_out}")
    return source


def collect_records(
    rows: Iterable[dict[str, Any]],
    labels: Sequence[str] | None = None,
    mode: Mode | None = None,
    where: str = "responses",
) -> Source:
    """Read records that have been parsed already; error messages call them ``where`` and count them
    from 1.  With ``labels`` there may be no records, and then the table is empty."""
    return _collect(where, enumerate(rows, 1), None if labels is None else list(labels), mode)


def _collect(
    where: str | Path, rows: Iterable[Line], labels: list[str] | None, mode: Mode | None
) -> Source:
    facts = read_records(where, rows, labels, mode)._asdict()
    line_of, asked_again = facts.pop("lines").__getitem__, facts.pop("asked_again")
    by_design = (first_presentation(facts["answers"]) | np.array(asked_again, np.bool_)).all()
    return Source(str(where), line_of=line_of, repeats="first" if by_design else "error", **facts)
