"""Where Alembic starts: it works on the connection it is given, inside that transaction."""

from __future__ import annotations

from alembic import context

from softlabel.store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
