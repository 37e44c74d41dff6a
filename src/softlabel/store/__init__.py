"""Where answers are kept: SQLite by default, PostgreSQL by address."""

from __future__ import annotations

from softlabel.errors import MissingExtra

try:
    from softlabel.store.backup import Contents, backup, read_contents, restore
    from softlabel.store.engine import display_name
    from softlabel.store.store import Store, open
except ModuleNotFoundError as error:
    if error.name not in ("sqlalchemy", "alembic", "psycopg"):
        raise
    raise MissingExtra("keeping answers", "serve") from error
from softlabel.store.rows import (
    FINAL_STAGES,
    MAX_HELD,
    MAX_REVISIONS,
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
    "FINAL_STAGES", "MAX_HELD", "MAX_REVISIONS", "Ack", "Contents", "Crowd", "Event", "Invitation",
    "ItemRow", "NewResponse", "Plan", "Portion", "Progress", "ResponseRow", "Session", "Showing",
    "Store", "StoredStudy", "TimedAnswer", "Timing", "backup", "display_name", "open",
    "read_contents", "restore",
]  # fmt: skip
