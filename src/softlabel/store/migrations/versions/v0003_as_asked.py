"""Every answer keeps how it was asked for: the settings of its mode, and the frame."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    settings = sa.Column("mode_options", sa.Text, nullable=False, server_default="{}")
    op.add_column("response", settings)
    op.add_column("response", sa.Column("frame", sa.Text))
