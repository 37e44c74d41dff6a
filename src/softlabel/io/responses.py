"""What people said, as collected: one JSON object per answer, read by the mode that asked."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from softlabel import registry
from softlabel.elicit import Answer, Hard, Mode, versions_read
from softlabel.errors import FileError, ResponseError, SoftlabelError
from softlabel.io import jsontext
from softlabel.io.classic import with_repairs
from softlabel.io.codes import coded
from softlabel.io.envelope import OTHERWISE, Line, skips_of, sort_out, wrong
from softlabel.records import stack
from softlabel.tables import ANONYMOUS, Annotations, Index, Ints, Statements, names

LONGEST = 1e12  # ms; no clock says more


class Responses(NamedTuple):
    """What was said, the line of each answer, whether the study itself asked for it a second
    time, the seconds it took (NaN: not known), how many came late, how many lines were left out,
    by reason, how often each person skipped an item, by reason, how many answers simulated people
    gave, and how many were asked for in which way (unless one mode was asked for)."""

    said: Statements | Annotations
    lines: list[int]
    again: list[bool]
    seconds: list[float]
    late: int
    left_out: Mapping[str, int]
    skips: Mapping[str, Mapping[str, int]]
    simulated: int
    asked: Mapping[str, int]


def read_responses(
    path: str | Path, rows: Iterable[Line], labels: list[str] | None, mode: Mode | None = None
) -> Responses:
    """Statements; or votes, if all that was asked for were votes.

    Each answer is read by the mode that its ``presentation`` names, with the ``mode_options``
    given there; ``mode`` takes the place of the mode of its name, and answers to other modes are
    left out.
    """
    every, kept, left_out = sort_out(path, rows)
    if mode is not None:
        mine = [row for row in kept if row[1]["presentation"].get("mode") == mode.name]
        left_out[OTHERWISE] = len(kept) - len(mine)
        kept = mine
    labels = _labels(path, every, labels)
    readers = _Readers(path, mode)
    answers = [_answer(path, row, labels, readers) for row in kept]
    items, item = coded(pl.Series([_name(path, row, "item") for row in kept], dtype=pl.String))
    people, annotator = _people(path, kept)
    index = Index(names(items), names(people), names(labels))
    lines = [line for line, _ in kept]
    again = [_asked_again(response) for _, response in kept]
    late = sum(bool(response.get("late")) for _, response in kept)
    simulated = sum(bool(response.get("simulated")) for _, response in kept)
    ways = (_asked(response) for _, response in kept if mode is None)
    seconds = [_seconds(response) for _, response in kept]
    rest = (lines, again, seconds, late, left_out, skips_of(every), simulated, Counter(ways))
    if {row[1]["presentation"]["mode"] for row in kept} == {Hard.name}:
        votes = np.array([answer.named[0] for answer in answers])
        return Responses(Annotations(index, item, annotator, label=votes), *rest)
    return Responses(stack(index, item, annotator, answers), *rest)


def _asked(response: Mapping[str, Any]) -> str:
    """How this answer was asked for: mode, version, options and frame."""
    shown = response["presentation"]
    options = shown.get("mode_options") or {}
    text = ",".join(f"{key}={value}" for key, value in options.items())
    frame = f", frame {shown['frame']}" if shown.get("frame") else ""
    return f"{shown.get('mode')}{text and f':{text}'} version {shown.get('mode_version')}{frame}"


def _asked_again(response: Mapping[str, Any]) -> bool:
    """A repeat; or an answer that came after its place had been given out anew."""
    return response["presentation"]["kind"] == "repeat" or bool(response.get("late"))


def _seconds(response: Mapping[str, Any]) -> float:
    """The time that the person looked at the item, where the page measured it."""
    timing = response.get("timing")
    taken = timing.get("active_ms") if isinstance(timing, dict) else None
    if not isinstance(taken, int | float) or isinstance(taken, bool) or not 0 <= taken <= LONGEST:
        return math.nan
    return taken / 1000


def _labels(path: str | Path, rows: list[Line], wanted: list[str] | None) -> list[str]:
    """The classes, in the order wanted; every response must hold the same list."""
    if not rows:
        if wanted is None:
            raise FileError(path, "there are no responses, so the classes are not known")
        return wanted
    found = rows[0][1]["labels"]
    try:
        if not isinstance(found, list) or not found:
            raise ValueError("must be a list of all classes")
        labels = [jsontext.name(label) for label in found]
        if len(set(labels)) != len(labels):
            raise ValueError("holds a class twice")
    except ValueError as error:
        raise wrong(path, rows[0], "labels", found, str(error)) from None
    for row in rows:
        if row[1]["labels"] != found:
            reason = f"must be the list of line {rows[0][0]}: {', '.join(labels)}"
            raise wrong(path, row, "labels", row[1]["labels"], reason)
    if wanted is not None and sorted(wanted) != sorted(labels):
        reason = f"these are not the classes asked for: {', '.join(wanted)}"
        raise wrong(path, rows[0], "labels", found, reason)
    return wanted or labels


def _name(path: str | Path, row: Line, key: str) -> str:
    try:
        return jsontext.name(row[1][key])
    except ValueError as error:
        raise wrong(path, row, key, row[1][key], str(error)) from None


def _people(path: str | Path, rows: list[Line]) -> tuple[list[str], Ints]:
    """Null on every line: they were never released; null on some lines: a mistake."""
    nobody = [row for row in rows if row[1]["annotator"] is None]
    if len(nobody) == len(rows):
        return [], np.full(len(rows), ANONYMOUS)
    if nobody:
        reason = "is null here but named elsewhere; name all of them or none"
        raise wrong(path, nobody[0], "annotator", None, reason)
    return coded(pl.Series([_name(path, row, "annotator") for row in rows]))


# ── one answer ───────────────────────────────────────────────────────────────────────────────


class _Readers:
    """The modes of a file, each made once."""

    def __init__(self, path: str | Path, given: Mode | None) -> None:
        self.path, self.given = path, given
        self.made: dict[str, Mode] = {}

    def of(self, row: Line) -> Mode:
        """The mode that asked for this answer, with the options it had."""
        shown = row[1]["presentation"]
        name = str(shown.get("mode"))
        if self.given is not None and self.given.name == name:
            return self.given
        options = shown.get("mode_options") or {}
        if not isinstance(options, dict):
            raise wrong(self.path, row, "presentation.mode_options", options, "must be an object")
        text = f"{name}:{','.join(f'{key}={value}' for key, value in options.items())}"
        try:
            if text not in self.made:
                self.made[text] = _make(name, options, text)
        except SoftlabelError as error:
            column = f"presentation.{'mode_options' if options else 'mode'}"
            raise FileError(self.path, str(error), line=row[0], column=column) from None
        return self.made[text]


def _make(name: str, options: Mapping[str, Any], text: str) -> Mode:
    """Options are read as on the command line, so that each has the type it must have."""
    for key, value in options.items():
        if "," in f"{key}{value}" or "=" in key:
            raise SoftlabelError(f"{key} = {value!r} is no option of a mode")
    mode: Mode = registry.parse("mode", text)
    mode.rules()  # complains about values that cannot be
    return mode


def _answer(path: str | Path, row: Line, labels: Sequence[str], readers: _Readers) -> Answer:
    response = row[1]
    mode = readers.of(row)
    version = response["presentation"].get("mode_version")
    known = versions_read(mode)
    if type(version) is not int or version not in known:
        which = f"version{'s' if len(known) > 1 else ''} {' and '.join(map(str, known))}"
        reason = f"answers of the mode {mode.name!r} are read in {which} only"
        raise wrong(path, row, "presentation.mode_version", version, reason)
    try:
        answer: Answer = mode.read(response["answer"], labels)
    except ResponseError as error:
        column = "answer" if error.field == "answer" else f"answer.{error.field}"
        raise wrong(path, row, column, error.value, error.reason) from None
    return with_repairs(answer, response.get("repairs", ()))
