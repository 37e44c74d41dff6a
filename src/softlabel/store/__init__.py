"""The room where answers are kept: SQLite by default, PostgreSQL by address."""

from __future__ import annotations

from softlabel.errors import MissingExtra

try:
    from softlabel.store.store import Store, open
except ModuleNotFoundError as error:
    if error.name not in ("sqlalchemy", "alembic", "psycopg"):
        raise
    raise MissingExtra("keeping answers", "serve") from error
from softlabel.store.rows import (
    AHEAD,
    LEFT,
    Ack,
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
    "open",
]
