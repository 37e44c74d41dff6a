"""Whether a batch has room is found in an index, not by looking at every item."""

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.drop_index("item_by_batch", "item")
    op.create_index("item_by_batch", "item", ["study", "batch", "kind", "taken"])
