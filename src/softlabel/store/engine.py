"""Opening the database: one engine that writes, one that can only read."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.pool import QueuePool

from softlabel.errors import MissingExtra, StoreError

SECONDS_TO_WAIT = 10  # for a lock that another program holds
READERS = 8
SQLITE, POSTGRESQL = "sqlite", "postgresql"
BEGIN = {
    SQLITE: "BEGIN IMMEDIATE",
    # as on SQLite there is one writer at a time, in whatever process: answers are numbered in
    # the order in which they become visible, quotas hold, and nothing can deadlock
    POSTGRESQL: "SELECT pg_advisory_xact_lock(hashtext(current_schema() || '.softlabel'))",
}
SQLITE_SETTINGS = ("synchronous=FULL", "foreign_keys=ON", "secure_delete=ON")
POSTGRESQL_SETTINGS = {
    "synchronous_commit": "on",  # whatever the server's default: acknowledged means durable
    "lock_timeout": f"{SECONDS_TO_WAIT}s",
    "idle_in_transaction_session_timeout": f"{3 * SECONDS_TO_WAIT}s",  # a frozen writer lets go
}
Connect = Callable[[], sqlite3.Connection]


class Engines(NamedTuple):
    """The two doors of one database, and how error messages call it."""

    write: sa.Engine
    read: sa.Engine
    name: str

    @property
    def is_sqlite(self) -> bool:
        return self.write.dialect.name == SQLITE

    def dispose(self) -> None:
        self.read.dispose()
        self.write.dispose()


def make_engines(place: str | Path, *, create: bool) -> Engines:
    """The engines of a path, a ``sqlite:///`` or a ``postgresql://`` address."""
    if isinstance(place, Path) or "://" not in place:
        return _sqlite(Path(place), create)
    try:
        url = sa.make_url(place)
    except sa.exc.ArgumentError:
        raise StoreError("the address of the database cannot be read; say scheme://…") from None
    if url.get_backend_name() == SQLITE:
        if url.database in (None, "", ":memory:"):
            raise StoreError(f"{place!r} names no file; say sqlite:///answers.db")
        return _sqlite(Path(str(url.database)), create)
    if url.get_backend_name() in (POSTGRESQL, "postgres"):
        return _postgresql(url)
    raise StoreError(
        f"answers cannot be kept in {url.get_backend_name()!r}; say a path, sqlite:///answers.db "
        "or postgresql://user@host/name"
    )


def begin(connection: sa.Connection) -> None:
    """Become the one writer of the database until the transaction ends."""
    connection.exec_driver_sql(BEGIN[connection.dialect.name])


def _sqlite(path: Path, create: bool) -> Engines:
    path = path.absolute()
    if not create and not path.exists():
        raise StoreError(f"there is no database at {path}")
    try:
        # what people said is nobody else's to read; SQLite gives its side files the same mode
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise StoreError(f"cannot open the database {path}: {error.strerror}") from None
    options: dict[str, Any] = {"poolclass": QueuePool, "pool_reset_on_return": None}
    write = sa.create_engine(
        "sqlite://", creator=_sqlite_writer(path), pool_size=1, max_overflow=0, **options
    )
    read = sa.create_engine("sqlite://", creator=_sqlite_reader(path), pool_size=READERS, **options)
    return Engines(write, read, str(path))


def _sqlite_writer(path: Path) -> Connect:
    def connect() -> sqlite3.Connection:
        connection = _connect_sqlite(path, "rw")
        (journal,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
        if journal != "wal":
            raise StoreError(
                f"{path} is where SQLite can keep no write-ahead file; use a local disk"
            )
        for setting in SQLITE_SETTINGS:
            connection.execute(f"PRAGMA {setting}").fetchall()
        return connection

    return connect


def _sqlite_reader(path: Path) -> Connect:
    return lambda: _connect_sqlite(path, "ro")


def _connect_sqlite(path: Path, mode: str) -> sqlite3.Connection:
    """No transactions but those that are asked for; one thread at a time, as the pool sees to."""
    return sqlite3.connect(
        f"{path.as_uri()}?mode={mode}",
        uri=True,
        timeout=SECONDS_TO_WAIT,
        isolation_level=None,
        check_same_thread=False,
    )


def _postgresql(url: sa.URL) -> Engines:
    url = url.set(drivername="postgresql+psycopg")
    name = url.render_as_string(hide_password=True)
    try:
        write = sa.create_engine(url, pool_pre_ping=True, pool_size=1, max_overflow=0)
    except ModuleNotFoundError:
        raise MissingExtra("PostgreSQL", "serve") from None
    read = sa.create_engine(
        url,
        pool_pre_ping=True,
        pool_size=READERS,
        pool_reset_on_return=None,
        isolation_level="AUTOCOMMIT",
    )
    _set_on_connect(write, POSTGRESQL_SETTINGS)
    _set_on_connect(read, {"default_transaction_read_only": "on"})
    return Engines(write, read, name)


def _set_on_connect(engine: sa.Engine, settings: dict[str, str]) -> None:
    def connected(connection: Any, _: Any) -> None:
        for key, value in settings.items():
            connection.execute(f"SET {key} = '{value}'")
        connection.commit()

    sa.event.listen(engine, "connect", connected)
