"""What to ask next is decided live: the weight of each item, chances of showings, the ranking."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column("item", sa.Column("weight", sa.Float))
    op.add_column("showing", sa.Column("propensity", sa.Float))
    op.create_table(
        "ranking",
        sa.Column("study", sa.Text, sa.ForeignKey("study.name"), primary_key=True),
        sa.Column("most", sa.Integer, nullable=False),
        sa.Column("places", sa.Integer),
        sa.Column("explore", sa.Float, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("report", sa.Text, nullable=False),
    )
    # on both databases: the items that are not done, the one to ask about first at the end
    op.execute(
        "CREATE INDEX item_by_priority ON item "
        "(study, kind, (weight / ((taken + 1) * (taken + 1)))) WHERE weight > 0"
    )
