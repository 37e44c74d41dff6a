"""Every answer keeps in which of the ways of asking that a study compares it was asked for."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("response", sa.Column("arm", sa.Text))
