"""A stored answer as one row of a table: for spreadsheets, R and data frames."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from softlabel.io import Cell
from softlabel.serve.monitor.lines import dump, iso, options, payload
from softlabel.store import ResponseRow
from softlabel.study import Study

ALWAYS: Mapping[str, type] = {
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
    "supersedes": str,
    "superseded": bool,
    "skip": str,
    "touched": bool,
    "media_ready_ms": float,
    "first_input_ms": float,
    "submit_ms": float,
    "active_ms": float,
    "hidden_ms": float,
}
NUMBERS = ("percent", "scale")  # kinds of fields that hold one number
TEXTS = ("choice", "rest")  # kinds that hold one text; all others are written as JSON


def columns(study: Study) -> dict[str, type]:
    """Names and types: what is always there, then two for each field of the mode, its time and
    its answer, then the whole answer as JSON."""
    fields = study.mode.fields
    return {
        **ALWAYS,
        **{f"{field.name}_ms": float for field in fields},
        **{f"answer_{field.name}": float if field.kind in NUMBERS else str for field in fields},
        "answer": str,
        "label_order": str,
    }


def flat(study: Study, row: ResponseRow) -> tuple[Cell, ...]:
    """One cell per column."""
    sent = payload(row)
    answer, times = sent.get("answer"), sent.get("timing") or {}
    mine = answer if isinstance(answer, dict) and row.mode == study.mode.name else {}
    return (
        row.id,
        row.session,
        row.annotator,
        row.simulated,
        row.item,
        row.kind,
        row.position,
        row.repeat_of,
        row.batch,
        row.mode,
        row.mode_version,
        dump(dict(options(study, row))),
        row.frame or study.frame,
        iso(row.received_at),
        row.late,
        row.supersedes,
        row.superseded,
        row.skip,
        bool(sent.get("touched")),
        _number(times.get("media_ready_ms")),
        *map(_number, row.timing[:4]),
        *(_number(row.timing.fields.get(field.name)) for field in study.mode.fields),
        *(_cell(mine.get(field.name), field.kind) for field in study.mode.fields),
        None if answer is None else dump(answer),
        dump(list(row.label_order)),
    )


def _cell(value: Any, kind: str) -> Cell:
    if value is None:
        return None
    if kind in NUMBERS:
        return _number(value)
    if kind in TEXTS and isinstance(value, str):
        return value
    return dump(value)


def _number(value: Any) -> float | None:
    """What can be read as a number; what a person typed besides stands in ``answer``."""
    try:
        return None if value is None else float(json.loads(str(value)))
    except (ValueError, TypeError):
        return None
