"""Studies, items, sessions, showings, answers, events."""

import sqlalchemy as sa
from alembic import op

from softlabel.store.schema import limit_to, required

revision = "0001"
down_revision = None

Counter = sa.BigInteger().with_variant(sa.Integer, "sqlite")
LIVE = "kind <> 'repeat' AND state <> 'released'"


def upgrade() -> None:
    op.create_table(
        "study",
        sa.Column("name", sa.Text, primary_key=True),
        *required(sa.Text, "toml", "labels"),
        *required(sa.Integer, "per_item", "entered"),
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
        *required(sa.Integer, "place", "taken"),
    )
    op.create_index("item_by_taken", "item", ["study", "kind", "taken", "place", "id"])
    op.create_index("item_by_batch", "item", ["study", "batch"])
    op.create_table(
        "session",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("study", sa.Text, sa.ForeignKey("study.name"), nullable=False),
        sa.Column("annotator", sa.Text, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        *required(sa.Text, "stage", "label_order"),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.Column("recruiter_session", sa.Text),
        *required(sa.Integer, "quiz_tries", "answered"),
        *required(sa.Float, "lease_end", "lease_seconds"),
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
        *required(sa.Text, "study", "item", "kind"),
        sa.Column("repeat_of", sa.Integer),
        sa.Column("batch", sa.Text),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("response", sa.Text),
        sa.ForeignKeyConstraint(["study", "item"], ["item.study", "item.id"]),
    )
    op.create_index("showing_by_item", "showing", ["study", "item"])
    op.create_index("showing_once", "showing", ["session", "item"], unique=True, **limit_to(LIVE))
    op.create_table(
        "response",
        sa.Column("seq", Counter, primary_key=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        *required(sa.Text, "study", "session", "annotator", "item", "kind"),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("repeat_of", sa.Integer),
        sa.Column("batch", sa.Text),
        sa.Column("mode", sa.Text, nullable=False),
        sa.Column("mode_version", sa.Integer, nullable=False),
        sa.Column("answer", sa.Text),
        *required(sa.Text, "payload", "digest"),
        sa.Column("skip", sa.Text),
        sa.Column("supersedes", sa.Text),
        sa.Column("received_at", sa.Float, nullable=False),
        *(
            sa.Column(f"{name}_ms", sa.Float)
            for name in ("first_input", "submit", "active", "hidden")
        ),
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
        *required(sa.Text, "name", "detail"),
        sa.Column("at", sa.Float, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("event_by_name", "event", ["study", "name"])
    op.create_index("event_by_annotator", "event", ["study", "annotator"])
