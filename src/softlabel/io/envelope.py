"""What surrounds a collected answer: what must be there, and which answers are not for labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from softlabel.errors import FileError
from softlabel.io.sheet import short

SCHEMA = "softlabel.response/1"
KEYS = ("schema", "item", "annotator", "labels", "presentation", "answer")
COUNTED = ("target", "repeat")  # a person's first answer to an item, and a later one
APART = {"training": "practice", "gold": "checks", "attention": "checks"}
SKIPS = ("media_broken", "not_in_list", "cannot_judge")
OTHERWISE = "asked through another mode"
LEFT_OUT = ("practice", "checks", "skipped", "superseded", OTHERWISE)

Line = tuple[int, dict[str, Any]]  # its number, from 1, and what stands there


def wrong(path: str | Path, row: Line, column: str, value: object, reason: str) -> FileError:
    """The complaint about one value of a response."""
    return FileError(path, reason, line=row[0], column=column, value=short(value))


def sort_out(path: str | Path, rows: Iterable[Line]) -> tuple[list[Line], list[Line], Counter[str]]:
    """All responses, those that count in the order in which they count, and how many do not.

    Left out are practice, checks (gold and attention), what was skipped, and what was replaced by
    a later answer.
    """
    every = list(rows)
    for row in every:
        _check(path, row)
    replaced = {row[1].get("supersedes") for row in every} - {None}
    kept, left_out = [], Counter[str]()
    for row in every:
        why = _why_not(row[1], replaced)
        if why is None:
            kept.append(row)
        else:
            left_out[why] += 1
    # they may come in any order, but what was shown first counts as first
    kept.sort(key=lambda row: COUNTED.index(row[1]["presentation"]["kind"]))
    return every, kept, left_out


def skips_of(every: Iterable[Line]) -> dict[str, dict[str, int]]:
    """How often each named person skipped an item, by reason; practice is not counted."""
    rows = [row for _, row in every]
    replaced = {row.get("supersedes") for row in rows} - {None}
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        practice = row["presentation"]["kind"] == "training"
        stands = row["answer"] is None and row.get("response_uuid") not in replaced
        if stands and not practice and row["annotator"] is not None:
            mine = found.setdefault(str(row["annotator"]), {})
            mine[row["skip"]] = mine.get(row["skip"], 0) + 1
    return found


def told(left_out: Mapping[str, int]) -> str:
    """``12 practice, 1 skipped``; nothing if nothing was left out."""
    return ", ".join(f"{left_out[why]:,} {why}" for why in LEFT_OUT if left_out.get(why))


def _why_not(response: dict[str, Any], replaced: set[Any]) -> str | None:
    kind = response["presentation"]["kind"]
    if kind in APART:
        return APART[kind]
    if response.get("response_uuid") in replaced:
        return "superseded"
    return "skipped" if response["answer"] is None else None


def _check(path: str | Path, row: Line) -> None:
    """The keys that every response has; more are allowed and not looked at."""
    line, response = row
    if not isinstance(response, dict):
        raise FileError(path, "a response must be an object", line=line, value=short(response))
    for key in KEYS:
        if key not in response:
            raise FileError(path, "a response must have this key", line=line, column=key)
    if response["schema"] != SCHEMA:
        raise wrong(path, row, "schema", response["schema"], f"must be {SCHEMA!r}")
    shown = response["presentation"]
    if not isinstance(shown, dict):
        raise wrong(path, row, "presentation", shown, "must be an object")
    kinds = (*COUNTED, *APART)
    if not isinstance(shown.get("kind"), str) or shown["kind"] not in kinds:
        reason = f"must be one of {', '.join(kinds)}"
        raise wrong(path, row, "presentation.kind", shown.get("kind"), reason)
    for key in ("response_uuid", "supersedes"):
        if not isinstance(response.get(key), str | None):
            raise wrong(path, row, key, response[key], "must be text or null")
    _check_skip(path, row)


def _check_skip(path: str | Path, row: Line) -> None:
    answer, skip = row[1]["answer"], row[1].get("skip")
    if skip is not None and (not isinstance(skip, str) or skip not in SKIPS):
        raise wrong(path, row, "skip", skip, f"must be null or one of {', '.join(SKIPS)}")
    if skip is not None and answer is not None:
        raise wrong(path, row, "answer", answer, f"must be null, as it was skipped ({skip})")
    if skip is None and answer is None:
        raise wrong(path, row, "answer", answer, "is null, and skip does not say why")
