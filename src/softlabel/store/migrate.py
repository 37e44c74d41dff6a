"""Bringing a database up to the schema of this version, by Alembic, when it is opened to write."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING

import sqlalchemy as sa

from softlabel.errors import StoreError
from softlabel.store.engine import Engines, begin
from softlabel.store.schema import identity

if TYPE_CHECKING:
    from alembic.config import Config

REVISIONS = ("0001", "0002", "0003", "0004", "0005")
HEAD = REVISIONS[-1]
VERSION = sa.text("SELECT version_num FROM alembic_version")


def upgrade(engines: Engines, *, create: bool = True) -> None:
    """Run what is missing, in one transaction that only one process can be in."""
    with engines.write.connect() as connection, connection.begin():
        begin(connection)
        found = _known(connection, engines.name, create)
        if found != HEAD:
            run(connection, HEAD)
        if identify(connection) is None:
            values = {"id": secrets.token_hex(8), "created_at": time.time()}
            connection.execute(sa.insert(identity), values)


def refuse_older(engines: Engines) -> None:
    """Reading changes nothing: a database of another schema must be brought up to date first."""
    with engines.read.connect() as connection:
        found = _known(connection, engines.name, create=False)
    if found != HEAD:
        raise StoreError(
            f"{engines.name} was written by an older softlabel (schema {found}, this one reads "
            f"{HEAD}), and reading does not change it; take a backup (softlabel backup), then "
            "bring it up to date with softlabel migrate, or by serving the study"
        )


def _known(connection: sa.Connection, name: str, create: bool) -> str | None:
    found = revision(connection)
    if found is None and not create:
        raise StoreError(f"{name} holds no answers: it is empty")
    if found is not None and found not in REVISIONS:
        raise StoreError(
            f"{name} was written by a newer softlabel: its schema is {found!r}, this one knows "
            f"{', '.join(REVISIONS)}; update softlabel, or use another database"
        )
    return found


def identify(connection: sa.Connection) -> str | None:
    """Which database this is, whatever it is called."""
    return connection.execute(sa.select(identity.c.id)).scalar()


def touch(connection: sa.Connection) -> None:
    """A write that leaves everything as it is.  There and back: SQLite writes no page for an
    update that changes nothing."""
    for _ in range(2):
        connection.execute(sa.update(identity).values(created_at=-identity.c.created_at))


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
