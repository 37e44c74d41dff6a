"""The room where answers are kept: SQLite by default, PostgreSQL by address."""

from __future__ import annotations

from softlabel.errors import MissingExtra

try:
    from softlabel.store.backup import Contents, backup, contents, restore
    from softlabel.store.store import Store, name_of, open
except ModuleNotFoundError as error:
    if error.name not in ("sqlalchemy", "alembic", "psycopg"):
        raise
    raise MissingExtra("keeping answers", "serve") from error
from softlabel.store.rows import (
    AHEAD,
    LEFT,
    Ack,
    Crowd,
    Event,
    Invitation,
    ItemRow,
    NewResponse,
    Plan,
    Portion,
    Progress,
    ResponseRow,
    Session,
    Showing,
    StoredStudy,
    TimedAnswer,
    Timing,
)

__all__ = [
    "AHEAD",
    "LEFT",
    "Ack",
    "Contents",
    "Crowd",
    "Event",
    "Invitation",
    "ItemRow",
    "NewResponse",
    "Plan",
    "Portion",
    "Progress",
    "ResponseRow",
    "Session",
    "Showing",
    "Store",
    "StoredStudy",
    "TimedAnswer",
    "Timing",
    "backup",
    "contents",
    "name_of",
    "open",
    "restore",
]
