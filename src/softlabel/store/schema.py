"""The tables, as the newest migration leaves them.

Only ``annotator`` refers to a person; it is a keyed hash of the id that the recruiter uses.
Lists and objects are stored as JSON text, because they are always read whole.
"""

from typing import Any

import sqlalchemy as sa
from sqlalchemy import Boolean, Column, Float, ForeignKey, Index, Integer, Table, Text

metadata = sa.MetaData()
Counter = sa.BigInteger().with_variant(Integer, "sqlite")  # SQLite counts only INTEGER keys


def required(kind: Any, *names: str) -> list[Column[Any]]:
    """Make columns of one type that are never null."""
    return [Column(name, kind, nullable=False) for name in names]


def limit_to(condition: str) -> dict[str, Any]:
    """Limit an index to some rows, on both databases."""
    return dict.fromkeys(("sqlite_where", "postgresql_where"), sa.text(condition))


# what one more answer to an item is worth, given those that are there or on their way
PRIORITY = "weight / ((taken + 1) * (taken + 1))"

identity = Table(  # one row: the id of this database, whatever its file is called
    "identity",
    metadata,
    Column("id", Text, primary_key=True),
    Column("created_at", Float, nullable=False),
)

study = Table(
    "study",
    metadata,
    Column("name", Text, primary_key=True),
    *required(Text, "toml", "labels"),
    Column("per_item", Integer, nullable=False),
    Column("entered", Integer, nullable=False),  # the number of people who have entered so far
    Column("created_at", Float, nullable=False),
    Column("mode", Text),  # how people are asked, as JSON; null: not recorded
    Column("state", Text, nullable=False, server_default="open"),  # open, paused or closed
    Column("revision", Integer, nullable=False, server_default="0"),  # grows with every action
    Column("per_item_set", Integer),  # answers per item set by hand; null: as in the study file
    Column("people_cap", Integer),  # most people who may be given items; null: no limit
)

batch = Table(
    "batch",
    metadata,
    Column("study", ForeignKey("study.name"), primary_key=True),
    Column("name", Text, primary_key=True),
    Column("taken", Integer, nullable=False),  # sessions that hold it or have finished it
)

item = Table(
    "item",
    metadata,
    Column("study", ForeignKey("study.name"), primary_key=True),
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("batch", Text),
    Column("place", Integer, nullable=False),  # a stable random number: where walks pass it
    Column("taken", Integer, nullable=False),  # open and answered showings as a target
    Column("digest", Text),  # of what is shown; null: not recorded
    Column("weight", Float),  # in a live ranking; 0: it is done, null: not ranked yet
    Index("item_by_taken", "study", "kind", "taken", "place", "id"),
    Index("item_by_batch", "study", "batch", "kind", "taken"),
    Index("item_by_priority", "study", "kind", sa.text(f"({PRIORITY})"), **limit_to("weight > 0")),
)

session = Table(
    "session",
    metadata,
    Column("id", Text, primary_key=True),
    Column("study", ForeignKey("study.name"), nullable=False),
    Column("annotator", Text, nullable=False),
    Column("number", Integer, nullable=False),
    *required(Text, "stage", "label_order"),
    Column("seed", sa.BigInteger, nullable=False),
    Column("recruiter_session", Text),
    *required(Integer, "quiz_tries", "answered"),
    Column("lease_end", Float, nullable=False),  # 0: holds nothing
    Column("lease_seconds", Float, nullable=False),
    Column("batch", Text),  # the batch in which this session takes a seat
    Column("entered_at", Float, nullable=False),
    Column("simulated", Boolean, nullable=False, server_default=sa.false()),
    Column("skipped", Integer, nullable=False, server_default="0"),  # showings, without practice
    Column("excluded_at", Float),  # null: this person's answers count
    Column("excluded_because", Text),
    Column("language", Text),  # chosen by the person; null: the study's own
    sa.UniqueConstraint("study", "annotator"),
    sa.UniqueConstraint("study", "number"),
    Index("session_by_lease", "study", "lease_end"),
)

token = Table(
    "token",
    metadata,
    Column("hash", Text, primary_key=True),
    Column("session", ForeignKey("session.id"), nullable=False),
    Column("created_at", Float, nullable=False),
    Index("token_by_session", "session"),
)

# all showings but the targets that were answered or skipped, of which there may be thousands
UNSETTLED = "kind <> 'target' OR state IN ('open', 'released')"
LIVE = "kind <> 'repeat' AND state <> 'released'"

showing = Table(
    "showing",
    metadata,
    Column("session", ForeignKey("session.id"), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    *required(Text, "study", "item", "kind"),
    Column("repeat_of", Integer),
    Column("batch", Text),
    Column("state", Text, nullable=False),
    Column("response", Text),  # the id of the answer that counts now
    Column("revisions", Integer, nullable=False, server_default="0"),  # responses after the first
    Column("propensity", Float),  # the chance that this item had at its turn; null: not live
    sa.ForeignKeyConstraint(["study", "item"], ["item.study", "item.id"]),
    Index("showing_by_item", "study", "item"),
    # what a person has still to do, without scanning all that they did
    Index("showing_unsettled", "session", "position", **limit_to(UNSETTLED)),
    # no item twice to one person, whatever happens elsewhere
    Index("showing_once", "session", "item", unique=True, **limit_to(LIVE)),
)

response = Table(
    "response",
    metadata,
    Column("seq", Counter, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    *required(Text, "study", "session", "annotator", "item", "kind"),
    Column("position", Integer, nullable=False),
    Column("repeat_of", Integer),
    Column("batch", Text),
    Column("mode", Text, nullable=False),
    Column("mode_version", Integer, nullable=False),
    Column("answer", Text),
    *required(Text, "payload", "digest"),
    Column("skip", Text),
    Column("supersedes", Text),
    Column("received_at", Float, nullable=False),
    *(Column(f"{name}_ms", Float) for name in ("first_input", "submit", "active", "hidden")),
    Column("fields", Text, nullable=False),
    Column("late", Boolean, nullable=False, server_default=sa.false()),
    Column("mode_options", Text, nullable=False, server_default="{}"),
    Column("frame", Text),  # null: not recorded, nor were the options
    Column("arm", Text),  # of a comparison of ways of asking; null: there was none
    sa.ForeignKeyConstraint(["session", "position"], ["showing.session", "showing.position"]),
    Index("response_by_study", "study", "seq"),
    Index("response_by_item", "study", "item"),
    Index("response_by_showing", "session", "position"),
    sqlite_autoincrement=True,  # a number is never reused, not even after a deletion
)

event = Table(
    "event",
    metadata,
    Column("seq", Counter, primary_key=True),
    Column("study", ForeignKey("study.name"), nullable=False),
    Column("annotator", Text),
    *required(Text, "name", "detail"),
    Column("at", Float, nullable=False),
    Index("event_by_name", "study", "name"),
    Index("event_by_annotator", "study", "annotator"),
    sqlite_autoincrement=True,
)

invitation = Table(
    "invitation",
    metadata,
    Column("study", ForeignKey("study.name"), primary_key=True),
    Column("name", Text, primary_key=True),
    Column("token_hash", Text, nullable=False, unique=True),
    Column("annotator", Text),
    Column("created_at", Float, nullable=False),
    Column("revoked_at", Float),
)

audit = Table(  # who did what to a running study; triggers refuse every update and deletion
    "audit",
    metadata,
    Column("seq", Counter, primary_key=True),
    Column("study", ForeignKey("study.name"), nullable=False),
    Column("at", Float, nullable=False),
    Column("actor", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Index("audit_by_study", "study", "seq"),
    sqlite_autoincrement=True,
)

payment = Table(  # one row per person and kind of payment, so that nothing is paid twice
    "payment",
    metadata,
    Column("id", Text, primary_key=True),
    Column("study", ForeignKey("study.name"), nullable=False),
    Column("annotator", Text, nullable=False),
    Column("kind", Text, nullable=False),  # base, bonus or screenout
    Column("amount", Integer, nullable=False),  # in the smallest unit of the currency
    Column("currency", Text, nullable=False),
    Column("state", Text, nullable=False),  # planned, approved, sent or confirmed
    Column("transfer", Text),  # what it was sent with; null: not sent
    Column("detail", Text, nullable=False),
    Column("changed_at", Float, nullable=False),
    sa.UniqueConstraint("study", "annotator", "kind"),
)

submission = Table(  # what the platform says about a visit, under the visit's pseudonym
    "submission",
    metadata,
    Column("study", ForeignKey("study.name"), primary_key=True),
    Column("visit", Text, primary_key=True),  # as session.recruiter_session
    Column("annotator", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("at", Float, nullable=False),  # by the platform's clock
    Column("seen_at", Float, nullable=False),
)

webhook = Table(  # messages of the platform that were taken in, so that none counts twice
    "webhook",
    metadata,
    Column("study", ForeignKey("study.name"), primary_key=True),
    Column("id", Text, primary_key=True),
    Column("received_at", Float, nullable=False),
)

ranking = Table(  # of a study that decides live what to ask next
    "ranking",
    metadata,
    Column("study", ForeignKey("study.name"), primary_key=True),
    Column("most", Integer, nullable=False),  # answers per item
    Column("places", Integer),  # of all items together, as the budget allows; null: no limit
    Column("explore", Float, nullable=False),  # the share of places given to items at random
    Column("at", Float, nullable=False),  # when somebody last began to rank
    Column("report", Text, nullable=False),  # what is known about the study, as JSON
)
