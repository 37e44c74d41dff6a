"""Where answers are kept: SQLite by default, PostgreSQL by address."""

from softlabel.errors import MissingExtra

try:
    from softlabel.store.backup import Contents, backup, read_contents, restore
    from softlabel.store.control import Act
    from softlabel.store.engine import display_name
    from softlabel.store.payments import NewPayment, Payment, PaymentKind, Work
    from softlabel.store.store import Store, open
    from softlabel.store.submissions import ENDED, News, Submission
except ModuleNotFoundError as error:
    if error.name not in ("sqlalchemy", "alembic", "psycopg"):
        raise
    raise MissingExtra("keeping answers", "serve") from error
from softlabel.store import rows
from softlabel.store.rows import (
    FINAL_STAGES,
    FLAGS,
    AuditEntry,
    Control,
    Filters,
    ItemRow,
    Live,
    Minutes,
    NewResponse,
    Plan,
    Portion,
    Ranking,
    ResponseRow,
    Session,
    Showing,
    TimedAnswer,
    Timing,
)

__all__ = [
    "ENDED", "FINAL_STAGES", "FLAGS", "Act", "AuditEntry", "Contents", "Control", "Filters",
    "ItemRow", "Live", "Minutes", "NewPayment", "NewResponse", "News", "Payment", "PaymentKind",
    "Plan", "Portion", "Ranking", "ResponseRow", "Session", "Showing", "Store", "Submission",
    "TimedAnswer", "Timing", "Work", "backup", "display_name", "open", "read_contents", "restore",
    "rows",
]  # fmt: skip
