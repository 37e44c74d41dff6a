"""Bringing a database up to the schema of this version, by Alembic, when it is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from softlabel.errors import StoreError
from softlabel.store.engine import Engines, begin

if TYPE_CHECKING:
    from alembic.config import Config

REVISIONS = ("0001", "0002", "0003", "0004", "0005")
HEAD = REVISIONS[-1]
VERSION = sa.text("SELECT version_num FROM alembic_version")


def upgrade(engines: Engines, *, create: bool = True) -> None:
    """Run what is missing, in one transaction that only one process can be in."""
    with engines.write.connect() as connection, connection.begin():
        begin(connection)
        found = revision(connection)
        if found == HEAD:
            return
        if found is None and not create:
            raise StoreError(f"{engines.name} holds no answers: it is empty")
        if found is not None and found not in REVISIONS:
            raise StoreError(
                f"{engines.name} was written by a newer softlabel: its schema is {found!r}, this "
                f"one knows {', '.join(REVISIONS)}; update softlabel, or use another database"
            )
        run(connection, HEAD)


def revision(connection: sa.Connection) -> str | None:
    """Which migration the database is at, or None if it is empty."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(VERSION).scalar()


def run(connection: sa.Connection, target: str) -> None:
    """Upgrade to a revision, inside the transaction of the connection."""
    from alembic import command  # only when there is something to do: starting stays quick

    config = settings()
    config.attributes["connection"] = connection
    command.upgrade(config, target)


def settings() -> Config:
    """Alembic's settings: where the migrations are."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "softlabel.store:migrations")
    return config
