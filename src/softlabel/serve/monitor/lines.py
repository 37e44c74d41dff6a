"""A stored answer as it leaves the house: one line of JSON, exactly what the browser sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from softlabel import registry
from softlabel.elicit import versions_read
from softlabel.store import ResponseRow
from softlabel.study import Study

SCHEMA = "softlabel.response/1"
SENT = ("answer", "touched", "skip", "timing", "events", "client", "delivery")  # by the browser


def line(study: Study, row: ResponseRow) -> dict[str, Any]:
    """One response in the schema that ``softlabel label`` reads."""
    sent = payload(row)
    return {
        "schema": SCHEMA,
        "response_uuid": row.id,
        "project": study.name,
        "session": row.session,
        "annotator": row.annotator,
        "item": row.item,
        "labels": list(study.labels),
        "supersedes": row.supersedes,
        "presentation": _presentation(study, row),
        **{key: sent.get(key) for key in SENT},
        "received_at": iso(row.received_at),
        "late": row.late,
        **({"simulated": True} if row.simulated else {}),
    }


def payload(row: ResponseRow) -> dict[str, Any]:
    """What the browser sent, value for value."""
    found: dict[str, Any] = json.loads(row.payload)
    return found


def dump(value: Any) -> str:
    """JSON on one line.  What UTF-8 cannot hold (half a surrogate pair) stays escaped."""
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() or _is_utf8(text) else json.dumps(value)


def iso(at: float) -> str:
    """A moment in UTC, to the microsecond."""
    return datetime.fromtimestamp(at, UTC).isoformat()


def options(study: Study, row: ResponseRow) -> Mapping[str, Any]:
    """The settings of the mode that differed from its defaults when it asked.

    Where they were not written down they are the study's, if the mode is still its own.
    """
    if row.frame is not None:
        found: Mapping[str, Any] = json.loads(row.mode_options)
        return found
    mode = study.mode
    same = row.mode == mode.name and row.mode_version in versions_read(mode)
    return registry.settings(mode) if same else {}


def _presentation(study: Study, row: ResponseRow) -> dict[str, Any]:
    set_apart = options(study, row)
    return {
        "kind": row.kind,
        "repeat_of": row.repeat_of,
        "position": row.position,
        "batch": row.batch,
        "mode": row.mode,
        "mode_version": row.mode_version,
        **({"mode_options": dict(set_apart)} if set_apart else {}),
        "frame": row.frame or study.frame,
        "label_order": list(row.label_order),
        "suggestion_arm": None,
    }


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
