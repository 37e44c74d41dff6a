"""Where Alembic starts: it works on the connection it is given, inside that transaction."""

from alembic import context

from softlabel.store.schema import metadata

if hasattr(context, "config"):  # only while Alembic is at work: importing the file does nothing
    connection = context.config.attributes["connection"]
    context.configure(connection=connection, target_metadata=metadata)
    with context.begin_transaction():
        context.run_migrations()
