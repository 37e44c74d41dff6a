"""A study is run from outside: its state, who is left out, an audit log, payments, submissions."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

COUNTER = sa.BigInteger().with_variant(sa.Integer, "sqlite")

# a log that can be corrected proves nothing: the database itself refuses to change it
APPEND_ONLY = {
    "sqlite": [
        f"""CREATE TRIGGER audit_{verb} BEFORE {verb} ON audit
        BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END"""
        for verb in ("update", "delete")
    ],
    "postgresql": [
        """CREATE FUNCTION refuse_audit() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'the audit log is append-only'; END $$""",
        """CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON audit
        FOR EACH ROW EXECUTE FUNCTION refuse_audit()""",
    ],
}


def upgrade() -> None:
    for column in (
        sa.Column("state", sa.Text, nullable=False, server_default="open"),
        sa.Column("revision", sa.Integer, nullable=False, server_default="0"),
        sa.Column("per_item_set", sa.Integer),
        sa.Column("people_cap", sa.Integer),
    ):
        op.add_column("study", column)
    for column in (
        sa.Column("excluded_at", sa.Float),
        sa.Column("excluded_because", sa.Text),
        sa.Column("language", sa.Text),
    ):
        op.add_column("session", column)
    op.create_table(
        "audit",
        sa.Column("seq", COUNTER, primary_key=True),
        sa.Column("study", sa.Text, sa.ForeignKey("study.name"), nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("audit_by_study", "audit", ["study", "seq"])
    op.create_table(
        "payment",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("study", sa.Text, sa.ForeignKey("study.name"), nullable=False),
        sa.Column("annotator", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("amount", sa.Integer, nullable=False),
        sa.Column("currency", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("transfer", sa.Text),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("changed_at", sa.Float, nullable=False),
        sa.UniqueConstraint("study", "annotator", "kind"),
    )
    op.create_table(
        "submission",
        sa.Column("study", sa.Text, sa.ForeignKey("study.name"), primary_key=True),
        sa.Column("visit", sa.Text, primary_key=True),
        sa.Column("annotator", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("seen_at", sa.Float, nullable=False),
    )
    op.create_table(
        "webhook",
        sa.Column("study", sa.Text, sa.ForeignKey("study.name"), primary_key=True),
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("received_at", sa.Float, nullable=False),
    )
    for statement in APPEND_ONLY[op.get_bind().dialect.name]:
        op.execute(statement)
