"""The record of one collected answer: its kinds, skips and keys, how it is read and written.

A record is one JSON object in the schema ``softlabel.response/1``.  The browser sends the answer,
the server adds what was shown to whom, an export writes one object per line, and ``softlabel
label`` reads them.  What each record holds is decided here and nowhere else.  A list of more than
30 labels is written once, on a line of its own, and records refer to it.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from softlabel import registry
from softlabel._util.files import shorten
from softlabel.elicit import Answer, Classic, Hard, Mode, readable_versions
from softlabel.errors import FileError, ResponseError, SoftlabelError
from softlabel.sampling import first_presentation
from softlabel.tables import (
    ANONYMOUS,
    Annotations,
    Bools,
    Floats,
    Index,
    Ints,
    Names,
    Statements,
    broken,
    names,
)

SCHEMA = "softlabel.response/1"
KEYS = ("schema", "item", "annotator", "labels", "presentation", "answer")  # every record has them
SENT = ("answer", "touched", "skip", "timing", "events", "client", "delivery")  # by the browser
PRESENTED = ("kind", "repeat_of", "position", "batch", "mode", "mode_version")  # as stored
COMMENT, LONGEST_COMMENT = "comment", 2000  # the key of what a person wrote, and its characters
ARM = "arm"  # the key of the way of asking, in a study that compares some
ORDERED = "ordered"  # the key that says that labels are steps of a scale
REPAIRS = "repairs"  # the key of a record that was repaired before it was written
LISTS = "softlabel.labels/1"  # the schema of a line with a list of labels that records refer to
JUDGED = "softlabel.judge/1"  # the schema of the first line of a log of what a model said
JUDGES = "judges"  # the folder of these logs in a study folder
MOST_LISTED = 30  # labels that a record itself holds; a longer list has a line of its own

Kind = Literal["target", "repeat", "training", "gold", "attention"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SKIPS = ("media_broken", "not_in_list", "cannot_judge")  # the usual reasons for giving no answer
SKIP = r"^[a-z][a-z0-9_]{0,39}$"  # the name of a reason; studies may have their own
ASKED = ("target", "repeat")  # kinds that count for labels: a person's first answer, a later one
PRACTICE = "training"
CHECKS = ("gold", "attention")  # items whose answer is known
SET_APART = {PRACTICE: "practice"} | dict.fromkeys(CHECKS, "checks")
OTHER_MODE = "asked through another mode"
EXCLUDED = "of people left out"
LEFT_OUT = ("practice", "checks", "skipped", "superseded", EXCLUDED, OTHER_MODE)  # as reported

LONGEST = 1e12  # milliseconds; no clock shows more

Line = tuple[int, dict[str, Any]]  # the number of a line, from 1, and the record on it


# ── which records count ──────────────────────────────────────────────────────────────────────


def check_record(path: str | Path, row: Line) -> None:
    """Refuse a record without the keys that every record has; other keys are allowed."""
    line, record = row
    if not isinstance(record, dict):
        raise FileError(path, "a response must be an object", line=line, value=shorten(record))
    for key in KEYS:
        if key not in record:
            raise FileError(path, "a response must have this key", line=line, column=key)
    shown, answer, skip = record["presentation"], record["answer"], record.get("skip")
    kind = shown.get("kind") if isinstance(shown, dict) else None
    texts = [(key, record.get(key)) for key in ("response_uuid", "supersedes")]
    for right, column, value, reason in (
        (record["schema"] == SCHEMA, "schema", record["schema"], f"must be {SCHEMA!r}"),
        (isinstance(shown, dict), "presentation", shown, "must be an object"),
        (kind in KINDS, "presentation.kind", kind, f"must be one of {', '.join(KINDS)}"),
        *((isinstance(text, str | None), key, text, "must be text or null") for key, text in texts),
        (_is_skip(skip), "skip", skip, f"must be null or the name of a reason, such as {SKIPS[0]}"),
        (None in (skip, answer), "answer", answer, f"must be null, as it was skipped ({skip})"),
        (skip or answer is not None, "answer", answer, "is null, and skip does not say why"),
    ):
        if not right:
            raise _wrong(path, row, column, value, reason)


def _is_skip(skip: object) -> bool:
    return skip is None or (isinstance(skip, str) and re.fullmatch(SKIP, skip) is not None)


def select_answers(
    path: str | Path, every: Sequence[Line]
) -> tuple[list[Line], Counter[str], dict[str, Counter[str]]]:
    """Return the records that count for labels in the order in which they count, how many do not,
    by reason (practice, checks, skipped, superseded by a later answer, of people whom the
    researcher left out), and how often each named person skipped an item, by reason, practice
    excepted."""
    for row in every:
        check_record(path, row)
    replaced = {record.get("supersedes") for _, record in every} - {None}
    kept, left_out, skips = [], Counter[str](), dict[str, Counter[str]]()
    for row in every:
        record, kind = row[1], row[1]["presentation"]["kind"]
        superseded, skipped = record.get("response_uuid") in replaced, record["answer"] is None
        if record.get("excluded"):
            left_out[EXCLUDED] += 1
            continue
        if skipped and not superseded and kind != PRACTICE and record["annotator"] is not None:
            skips.setdefault(str(record["annotator"]), Counter())[record["skip"]] += 1
        if kind in SET_APART:
            left_out[SET_APART[kind]] += 1
        elif superseded or skipped:
            left_out["superseded" if superseded else "skipped"] += 1
        else:
            kept.append(row)
    # records may come in any order, but a target counts before its repeat
    kept.sort(key=lambda row: ASKED.index(row[1]["presentation"]["kind"]))
    return kept, left_out, skips


def describe_left_out(left_out: Mapping[str, int]) -> str:
    """Write ``12 practice, 1 skipped``, or nothing if nothing was left out."""
    reasons = dict.fromkeys((*LEFT_OUT, *left_out))
    return ", ".join(f"{left_out[why]:,} {why}" for why in reasons if left_out.get(why))


# ── long lists of labels, written once ───────────────────────────────────────────────────────


class LabelLists:
    """Split long lists of labels from records: each list becomes a line of its own, before the
    first record that refers to it by its ``id``, a hash of its content."""

    def __init__(self) -> None:
        self._written: set[str] = set()

    def split(self, record: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the lists that were not written before, then the record."""
        shown = record["presentation"]
        for holder, key in ((record, "labels"), (shown, "label_order")):
            labels = holder.get(key)
            if not isinstance(labels, list) or len(labels) <= MOST_LISTED:
                continue
            name = sha256(dump_json(labels).encode("utf-8", "surrogatepass")).hexdigest()[:16]
            if name not in self._written:
                self._written.add(name)
                yield {"schema": LISTS, "id": name, "labels": labels}
            if holder is record:
                record = record | {key: name}
            else:
                record = record | {"presentation": shown | {key: name}}
        yield record


def join_lists(path: str | Path, rows: Iterable[Line]) -> Iterator[Line]:
    """Yield the records with the lists of labels that they refer to; records that hold their lists
    themselves stay as they are."""
    lists: dict[str, list[Any]] = {}

    def find(row: Line, column: str, name: str) -> list[Any]:
        if name not in lists:
            reason = f"no line above holds this list of labels (schema {LISTS!r})"
            raise _wrong(path, row, column, name, reason)
        return lists[name]

    for row in rows:
        line, record = row
        if not isinstance(record, dict):
            yield row
            continue
        if record.get("schema") == LISTS:
            for key, kind in (("id", str), ("labels", list)):
                if not isinstance(record.get(key), kind):
                    right = "text" if kind is str else "a list of labels"
                    raise _wrong(path, row, key, record.get(key), f"must be {right}")
            lists[record["id"]] = record["labels"]
            continue
        if isinstance(name := record.get("labels"), str):
            record = record | {"labels": find(row, "labels", name)}
        shown = record.get("presentation")
        if isinstance(shown, dict) and isinstance(name := shown.get("label_order"), str):
            order = find(row, "presentation.label_order", name)
            record = record | {"presentation": shown | {"label_order": order}}
        yield line, record


# ── reading ──────────────────────────────────────────────────────────────────────────────────


class Collected(NamedTuple):
    """The answers that count, the line of each, whether the study itself asked for it a second
    time, and the facts that ``io.Source`` explains; ``asked`` is empty where one mode was wanted.
    """

    answers: Statements | Annotations
    lines: list[int]
    asked_again: list[bool]
    seconds: Floats
    late: int
    simulated: int
    left_out: Mapping[str, int]
    skips: Mapping[str, Mapping[str, int]]
    asked: Mapping[str, int]
    branch: Floats
    arm: Names
    votes: Bools


def read_records(
    path: str | Path, rows: Iterable[Line], labels: list[str] | None, mode: Mode | None = None
) -> Collected:
    """Read records into statements, or into votes if votes are all that was asked for.  Each answer
    is read by the mode that its ``presentation`` names, with the ``mode_options`` given there;
    ``mode`` takes the place of the mode of its name, and answers to other modes are left out."""
    every = list(join_lists(path, rows))
    kept, left_out, skips = select_answers(path, every)
    if mode is not None:
        own = [row for row in kept if row[1]["presentation"].get("mode") == mode.name]
        left_out[OTHER_MODE] = len(kept) - len(own)
        kept = own
    labels = _read_labels(path, every, labels)
    modes: dict[str, Mode] = {}  # each is made once
    answers = [_read_answer(path, row, labels, mode, modes) for row in kept]
    records = [record for _, record in kept]
    items, item = _read_names(path, kept, "item")
    people: list[str] = []
    annotator: Ints = np.full(len(kept), ANONYMOUS)  # where annotators were not released
    anonymous = [row for row in kept if row[1]["annotator"] is None]
    if not anonymous:
        people, annotator = _read_names(path, kept, "annotator")
    elif len(anonymous) < len(kept):
        reason = "is null here but named elsewhere; name all of them or none"
        raise _wrong(path, anonymous[0], "annotator", None, reason)
    index = Index(names(items), names(people), names(labels), ordered=_read_ordered(path, every))
    table: Statements | Annotations
    if {record["presentation"]["mode"] for record in records} == {Hard.name}:
        votes = np.array([answer.named[0] for answer in answers])
        table = Annotations(index, item, annotator, label=votes)
    else:
        table = stack_answers(index, item, annotator, answers)
    return Collected(
        answers=table,
        lines=[line for line, _ in kept],
        # a repeat, or an answer that came after its place had been given out anew
        asked_again=[
            record["presentation"]["kind"] == "repeat" or bool(record.get("late"))
            for record in records
        ],
        seconds=np.array([read_seconds(record) for record in records], dtype=np.float64),
        late=sum(bool(record.get("late")) for record in records),
        simulated=sum(bool(record.get("simulated")) for record in records),
        left_out=dict(left_out),
        skips={person: dict(own) for person, own in skips.items()},
        asked=dict(Counter(_describe_asking(record) for record in records if mode is None)),
        branch=np.array(
            [sum(one.percent for one in answer.branches) / 100 for answer in answers], np.float64
        ),
        arm=names([_name_arm(record) for record in records]),
        votes=np.array([r["presentation"]["mode"] == Hard.name for r in records], np.bool_),
    )


def parse_name(value: object) -> str:
    """Return text, or a whole number as text; ``ValueError`` says why another value is no name."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise ValueError(f"must be text or a whole number, not {json_type(value)}")
    if not value or value.isspace():
        raise ValueError("is empty")
    if "\0" in value:
        raise ValueError("holds a NUL character")
    if not is_utf8(value):
        raise ValueError("holds half a character (a lone surrogate)")
    return value


def json_type(value: object) -> str:
    """Return what a JSON value is, in words."""
    kinds = {type(None): "null", bool: "true or false", list: "a list", dict: "an object"}
    return kinds.get(type(value), "text" if isinstance(value, str) else "a number")


def add_repairs(answer: Answer, repairs: Iterable[str]) -> Answer:
    """Return the answer with the repairs that were made before it was written."""
    return answer._replace(repairs=tuple(dict.fromkeys((*answer.repairs, *map(str, repairs)))))


def stack_answers(index: Index, item: Ints, annotator: Ints, answers: list[Answer]) -> Statements:
    """Stack answers into a table, one row per answer, with the repairs made in each row."""
    width = max((len(answer.named) for answer in answers), default=0)
    named = np.full((len(answers), width), -1)
    percent = np.full((len(answers), width), np.nan)
    repairs: dict[str, np.ndarray[tuple[int], np.dtype[np.bool_]]] = {}
    for row, answer in enumerate(answers):
        named[row, : len(answer.named)] = answer.named
        percent[row, : len(answer.percent)] = answer.percent
        for repair in answer.repairs:
            repairs.setdefault(repair, np.zeros(len(answers), dtype=np.bool_))[row] = True
    possible = np.array([answer.possible for answer in answers], dtype=np.bool_)
    possible = possible.reshape(len(answers), len(index.labels))
    ordered = dict(sorted(repairs.items()))
    return Statements(index, item, annotator, named, percent, possible, ordered)


def votes_to_statements(votes: Annotations) -> Statements:
    """Return hard votes as statements: one class named with 100 %, no class ruled out."""
    assert votes.label is not None, "only hard votes name one class"
    sure = np.full((len(votes), 1), 100.0)
    possible = np.ones((len(votes), len(votes.index.labels)), dtype=np.bool_)
    named = votes.label[:, None]
    return Statements(votes.index, votes.item, votes.annotator, named, sure, possible)


def _read_answer(
    path: str | Path, row: Line, labels: Sequence[str], given: Mode | None, modes: dict[str, Mode]
) -> Answer:
    """Read one answer with ``given``, or else with the mode that asked for it and its options."""
    record, shown = row[1], row[1]["presentation"]
    mode = given
    if mode is None:
        options = shown.get("mode_options") or {}
        if not isinstance(options, dict):
            raise _wrong(path, row, "presentation.mode_options", options, "must be an object")
        text = f"{shown.get('mode')}:{','.join(f'{key}={value}' for key, value in options.items())}"
        try:
            if text not in modes:
                for key, value in options.items():
                    if "," in f"{key}{value}" or "=" in key:
                        raise SoftlabelError(f"{key} = {value!r} is no option of a mode")
                # parsed as on the command line, so that each option has the type it must have
                asked: Mode = registry.parse("mode", text)
                asked.rules()  # refuses impossible values
                modes[text] = asked
        except SoftlabelError as error:
            column = f"presentation.{'mode_options' if options else 'mode'}"
            raise FileError(path, str(error), line=row[0], column=column) from None
        mode = modes[text]
    version, known = shown.get("mode_version"), readable_versions(mode)
    if type(version) is not int or version not in known:
        which = f"version{'s' if len(known) > 1 else ''} {' and '.join(map(str, known))}"
        reason = f"answers of the mode {mode.name!r} are read in {which} only"
        raise _wrong(path, row, "presentation.mode_version", version, reason)
    try:
        answer: Answer = mode.read(record["answer"], labels)
    except ResponseError as error:
        column = "answer" if error.field == "answer" else f"answer.{error.field}"
        raise _wrong(path, row, column, error.value, error.reason) from None
    return add_repairs(answer, record.get(REPAIRS, ()))


def _wrong(path: str | Path, row: Line, column: str, value: object, reason: str) -> FileError:
    return FileError(path, reason, line=row[0], column=column, value=shorten(value))


def _read_labels(path: str | Path, rows: list[Line], wanted: list[str] | None) -> list[str]:
    """Return the classes, in the order wanted; every record must hold the same list."""
    if not rows:
        if wanted is None:
            raise FileError(path, "there are no responses, so the classes are not known")
        return wanted
    first = rows[0][1]["labels"]
    try:
        if not isinstance(first, list) or not first:
            raise ValueError("must be a list of all classes")
        labels = [parse_name(label) for label in first]
        if len(set(labels)) != len(labels):
            raise ValueError("holds a class twice")
    except ValueError as error:
        raise _wrong(path, rows[0], "labels", first, str(error)) from None
    for row in rows:
        if row[1]["labels"] is not first and row[1]["labels"] != first:
            reason = f"must be the list of line {rows[0][0]}: {', '.join(labels)}"
            raise _wrong(path, row, "labels", row[1]["labels"], reason)
    if wanted is not None and sorted(wanted) != sorted(labels):
        reason = f"these are not the classes asked for: {', '.join(wanted)}"
        raise _wrong(path, rows[0], "labels", first, reason)
    return wanted or labels


def _read_ordered(path: str | Path, rows: list[Line]) -> bool:
    """Return whether the study says that its labels are steps of a scale."""
    for row in rows:
        if not isinstance(said := row[1].get(ORDERED, False), bool):
            raise _wrong(path, row, ORDERED, said, "must be true or false")
    return any(row[1].get(ORDERED, False) for row in rows)


def _read_names(path: str | Path, rows: list[Line], key: str) -> tuple[list[str], Ints]:
    """Return the distinct names in order of first appearance, and the code of each row's name."""
    codes: dict[str, int] = {}
    column = []
    for row in rows:
        try:
            column.append(codes.setdefault(parse_name(row[1][key]), len(codes)))
        except ValueError as error:
            raise _wrong(path, row, key, row[1][key], str(error)) from None
    return list(codes), np.array(column, dtype=np.int64)


def read_seconds(record: Mapping[str, Any]) -> float:
    """Return how long the person looked at the item, NaN where the page did not measure it."""
    timing = record.get("timing")
    taken = timing.get("active_ms") if isinstance(timing, dict) else None
    if not isinstance(taken, int | float) or isinstance(taken, bool) or not 0 <= taken <= LONGEST:
        return math.nan
    return taken / 1000


def _name_arm(record: Mapping[str, Any]) -> str:
    """Return the arm in which an answer was asked for; in a study without any, its mode."""
    shown = record["presentation"]
    options = shown.get("mode_options") or {}
    text = ",".join(f"{key}={value}" for key, value in options.items())
    return str(shown.get(ARM) or f"{shown.get('mode')}{text and f':{text}'}")


def _describe_asking(record: Mapping[str, Any]) -> str:
    """Return how this answer was asked for: mode, options, version and frame."""
    shown = record["presentation"]
    options = shown.get("mode_options") or {}
    text = ",".join(f"{key}={value}" for key, value in options.items())
    frame = f", frame {shown['frame']}" if shown.get("frame") else ""
    frame += f", arm {shown[ARM]}" if shown.get(ARM) else ""
    return f"{shown.get('mode')}{text and f':{text}'} version {shown.get('mode_version')}{frame}"


# ── writing ──────────────────────────────────────────────────────────────────────────────────


def record_of_stored(study: Any, row: Any) -> dict[str, Any]:
    """Return the record of a stored answer (a ``store.ResponseRow`` of a ``study.Study``), with
    exactly what the browser sent."""
    sent = json.loads(row.payload)
    options = options_when_asked(study, row)
    return {
        "schema": SCHEMA,
        "response_uuid": row.id,
        "project": study.name,
        "session": row.session,
        "annotator": row.annotator,
        "item": row.item,
        "labels": list(study.labels),
        **({ORDERED: True} if study.ordered else {}),
        "supersedes": row.supersedes,
        "presentation": {
            **{key: getattr(row, key) for key in PRESENTED},
            **({"mode_options": options} if options else {}),
            "frame": row.frame or study.frame,
            **describe_arm(study, row.arm),
            "label_order": list(row.label_order),
            "suggestion_arm": None,
            **({"propensity": row.propensity} if row.propensity is not None else {}),
        },
        **{key: sent.get(key) for key in SENT},
        **({COMMENT: sent[COMMENT]} if sent.get(COMMENT) else {}),
        "received_at": format_time(row.received_at),
        "late": row.late,
        **({"simulated": True} if row.simulated else {}),
        **({"partial": True} if row.partial else {}),
        **({"excluded": row.excluded} if row.excluded else {}),
    }


def describe_arm(study: Any, name: str | None) -> dict[str, Any]:
    """Return the arm of an answer and the wording of its question; nothing where there is none."""
    if name is None:
        return {}
    arms = {arm.name: arm for arm in study.compare.arms} if study.compare else {}
    known = arms.get(name)
    if known is None or known.wording is None:
        return {ARM: name}
    return {ARM: name, "wording": known.wording, "question": known.question}


def options_when_asked(study: Any, row: Any) -> dict[str, Any]:
    """Return the mode's settings that differed from its defaults when it asked; where they were not
    stored, they are the study's if the mode is still its own."""
    if row.frame is not None:
        return dict(json.loads(row.mode_options))
    mode = study.mode
    same = row.mode == mode.name and row.mode_version in readable_versions(mode)
    return dict(registry.settings(mode)) if same else {}


def records_of_statements(statements: Statements) -> Iterator[dict[str, Any]]:
    """Yield a record per row, as if the classic form had asked for it."""
    items, people = statements.index.items.tolist(), statements.index.annotators.tolist()
    labels, first = statements.index.labels.tolist(), first_presentation(statements)
    repairs = repairs_by_row(statements)
    for row, answer in enumerate(classic_answers(statements)):
        person = statements.annotator[row]
        yield {
            "schema": SCHEMA,
            "item": items[statements.item[row]],
            "annotator": None if person == ANONYMOUS else people[person],
            "labels": labels,
            "presentation": {
                "kind": "target" if first[row] else "repeat",
                "mode": Classic.name,
                "mode_version": Classic.version,
            },
            "answer": answer,
            **({ORDERED: True} if statements.index.ordered else {}),
            **({REPAIRS: repairs[row]} if repairs[row] else {}),
        }


def classic_answers(statements: Statements) -> Iterator[dict[str, Any]]:
    """Yield each row as the classic form would have recorded it."""
    named, percent = statements.named, statements.percent
    third = "a third class is named, and the classic form asks for two; export soft votes instead"
    broken("Statements", (named[:, 2:] >= 0).any(axis=1), f"{third} (--construct clamp)")
    first = percent[:, 0] if named.shape[1] else np.full(len(statements), math.nan)
    broken("Statements", np.isnan(first), "no first class with a chance; the form asks for one")
    labels = statements.index.labels
    for row in range(len(statements)):
        two = named.shape[1] > 1 and named[row, 1] >= 0
        yield {
            "top": labels[named[row, 0]],
            "p1": float(percent[row, 0]),
            "second": labels[named[row, 1]] if two else None,
            "p2": float(percent[row, 1]) if two and not math.isnan(percent[row, 1]) else None,
            "impossible": labels[~statements.possible[row]].tolist(),
        }


def repairs_by_row(statements: Statements) -> list[list[str]]:
    """Return the names of the repairs made in each row."""
    repairs = statements.repairs.items()
    return [[name for name, rows in repairs if rows[row]] for row in range(len(statements))]


def dump_json(value: Any) -> str:
    """Write JSON on one line; half a surrogate pair, which UTF-8 cannot hold, stays escaped."""
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() or is_utf8(text) else json.dumps(value)


def is_utf8(text: str) -> bool:
    """Return whether the text can be written as UTF-8: it holds no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def format_time(at: float) -> str:
    """Write a time in UTC, to the microsecond."""
    return datetime.fromtimestamp(at, UTC).isoformat()
