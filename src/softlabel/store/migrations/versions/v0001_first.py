"""Studies, items, sessions, showings, answers, events."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

Counter = sa.BigInteger().with_variant(sa.Integer, "sqlite")
LIVE = sa.text("kind <> 'repeat' AND state <> 'released'")


def upgrade() -> None:
    _studies()
    _sessions()
    _answers()


def _studies() -> None:
    op.create_table(
        "study",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("toml", sa.Text, nullable=False),
        sa.Column("labels", sa.Text, nullable=False),
        sa.Column("per_item", sa.Integer, nullable=False),
        sa.Column("entered", sa.Integer, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
    )
    op.create_table(
        "batch",
        sa.Column("study", sa.Text, sa.ForeignKey("study.name"), primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("taken", sa.Integer, nullable=False),
    )
    op.create_table(
        "item",
        sa.Column("study", sa.Text, sa.ForeignKey("study.name"), primary_key=True),
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("batch", sa.Text),
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("taken", sa.Integer, nullable=False),
    )
    op.create_index("item_by_taken", "item", ["study", "kind", "taken", "place", "id"])
    op.create_index("item_by_batch", "item", ["study", "batch"])


def _sessions() -> None:
    op.create_table(
        "session",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("study", sa.Text, sa.ForeignKey("study.name"), nullable=False),
        sa.Column("annotator", sa.Text, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("stage", sa.Text, nullable=False),
        sa.Column("label_order", sa.Text, nullable=False),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.Column("recruiter_session", sa.Text),
        sa.Column("quiz_tries", sa.Integer, nullable=False),
        sa.Column("answered", sa.Integer, nullable=False),
        sa.Column("lease_end", sa.Float, nullable=False),
        sa.Column("lease_seconds", sa.Float, nullable=False),
        sa.Column("batch", sa.Text),
        sa.Column("entered_at", sa.Float, nullable=False),
        sa.UniqueConstraint("study", "annotator"),
        sa.UniqueConstraint("study", "number"),
    )
    op.create_index("session_by_lease", "session", ["study", "lease_end"])
    op.create_table(
        "token",
        sa.Column("hash", sa.Text, primary_key=True),
        sa.Column("session", sa.Text, sa.ForeignKey("session.id"), nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
    )
    op.create_index("token_by_session", "token", ["session"])
    op.create_table(
        "showing",
        sa.Column("session", sa.Text, sa.ForeignKey("session.id"), primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("study", sa.Text, nullable=False),
        sa.Column("item", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("repeat_of", sa.Integer),
        sa.Column("batch", sa.Text),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("response", sa.Text),
        sa.ForeignKeyConstraint(["study", "item"], ["item.study", "item.id"]),
    )
    op.create_index("showing_by_item", "showing", ["study", "item"])
    op.create_index(
        "showing_once",
        "showing",
        ["session", "item"],
        unique=True,
        sqlite_where=LIVE,
        postgresql_where=LIVE,
    )


def _answers() -> None:
    op.create_table(
        "response",
        sa.Column("seq", Counter, primary_key=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("study", "session", "annotator")),
        sa.Column("item", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("repeat_of", sa.Integer),
        sa.Column("batch", sa.Text),
        sa.Column("mode", sa.Text, nullable=False),
        sa.Column("mode_version", sa.Integer, nullable=False),
        sa.Column("answer", sa.Text),
        sa.Column("payload", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("skip", sa.Text),
        sa.Column("supersedes", sa.Text),
        sa.Column("received_at", sa.Float, nullable=False),
        *(sa.Column(f"{name}_ms", sa.Float) for name in ("first_input", "submit", "active")),
        sa.Column("hidden_ms", sa.Float),
        sa.Column("fields", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(["session", "position"], ["showing.session", "showing.position"]),
        sqlite_autoincrement=True,
    )
    op.create_index("response_by_study", "response", ["study", "seq"])
    op.create_index("response_by_item", "response", ["study", "item"])
    op.create_index("response_by_showing", "response", ["session", "position"])
    op.create_table(
        "event",
        sa.Column("seq", Counter, primary_key=True),
        sa.Column("study", sa.Text, sa.ForeignKey("study.name"), nullable=False),
        sa.Column("annotator", sa.Text),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("event_by_name", "event", ["study", "name"])
    op.create_index("event_by_annotator", "event", ["study", "annotator"])
