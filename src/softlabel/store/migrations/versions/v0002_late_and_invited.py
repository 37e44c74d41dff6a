"""Answers that came after their lease ended are marked; people can be invited by name."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    late = sa.Column("late", sa.Boolean, nullable=False, server_default=sa.false())
    op.add_column("response", late)
    op.create_table(
        "invitation",
        sa.Column("study", sa.Text, sa.ForeignKey("study.name"), primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("token_hash", sa.Text, nullable=False, unique=True),
        sa.Column("annotator", sa.Text),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("revoked_at", sa.Float),
    )
