"""Skips and revisions are counted, simulated people marked, and contents recognised.

What a person has still to do is found without looking at all that they have done.
"""

import sqlalchemy as sa
from alembic import op

from softlabel.store.schema import limit_to

revision = "0005"
down_revision = "0004"

# a skip used to count as an answer: it gives its place back, and is counted apart
SKIPPED = (
    """UPDATE showing SET state = 'skipped' WHERE state = 'answered'
    AND response IN (SELECT id FROM response WHERE skip IS NOT NULL)""",
    """UPDATE item SET taken = taken - (SELECT count(*) FROM showing
    WHERE showing.study = item.study AND showing.item = item.id
    AND showing.kind = 'target' AND showing.state = 'skipped')""",
    """UPDATE session SET
    answered = (SELECT count(*) FROM showing JOIN response ON response.id = showing.response
    WHERE showing.session = session.id AND response.skip IS NULL),
    skipped = (SELECT count(*) FROM showing WHERE showing.session = session.id
    AND showing.kind <> 'training' AND showing.state = 'skipped')""",
)


def upgrade() -> None:
    simulated = sa.Column("simulated", sa.Boolean, nullable=False, server_default=sa.false())
    op.add_column("session", simulated)
    op.add_column("session", sa.Column("skipped", sa.Integer, nullable=False, server_default="0"))
    op.add_column("showing", sa.Column("revisions", sa.Integer, nullable=False, server_default="0"))
    op.add_column("item", sa.Column("digest", sa.Text))
    op.add_column("study", sa.Column("mode", sa.Text))
    op.create_table(
        "identity",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("created_at", sa.Float, nullable=False),
    )
    only = limit_to("kind <> 'target' OR state IN ('open', 'released')")
    op.create_index("showing_unsettled", "showing", ["session", "position"], **only)
    for statement in SKIPPED:
        op.execute(statement)
