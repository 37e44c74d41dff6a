"""Opening the database: one engine that writes, one that can only read."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.pool import QueuePool

from softlabel.errors import MissingExtra, StoreError
from softlabel.store.file import Looked, Watched, inspect

SECONDS_TO_WAIT = 10  # for a lock that another program holds
READERS = 8
SQLITE, POSTGRESQL = "sqlite", "postgresql"
BEGIN = {
    SQLITE: "BEGIN IMMEDIATE",
    # as on SQLite there is one writer at a time, in whatever process: answers are numbered in
    # the order in which they become visible, quotas hold, and nothing can deadlock
    POSTGRESQL: "SELECT pg_advisory_xact_lock(hashtext(current_schema() || '.softlabel'))",
}
SQLITE_SETTINGS = (
    *("synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"),
    "wal_autocheckpoint=0",  # the writer does it, as a new generation of the file
)
POSTGRESQL_SETTINGS = {
    "synchronous_commit": "on",  # whatever the server's default: acknowledged means durable
    "lock_timeout": f"{SECONDS_TO_WAIT}s",
    "idle_in_transaction_session_timeout": f"{3 * SECONDS_TO_WAIT}s",  # a frozen writer lets go
}
OPTIONS: dict[str, Any] = {"poolclass": QueuePool, "pool_reset_on_return": None}
Connect = Callable[[], sqlite3.Connection]


class Engines(NamedTuple):
    """The two doors of one database, and how error messages call it."""

    write: sa.Engine
    read: sa.Engine
    name: str
    file: Watched | Looked | None = None  # of an SQLite database

    @property
    def is_sqlite(self) -> bool:
        return self.write.dialect.name == SQLITE

    def check(self) -> None:
        """Raise if the database is no longer the one that was opened."""
        if self.file is not None:
            self.file.check()

    def dispose(self) -> None:
        if isinstance(self.file, Watched):
            with suppress(StoreError):
                self.file.check()
            if self.file.lost and not self.file.abandon():
                return
        self.read.dispose()
        self.write.dispose()
        if isinstance(self.file, Watched):
            self.file.close()


def make_engines(place: str | Path, *, create: bool, read_only: bool = False) -> Engines:
    """The engines of a path, a ``sqlite:///`` or a ``postgresql://`` address.

    With ``read_only`` both are the one that reads, and nothing is ever changed.
    """
    path, url = locate(place)
    if path is not None:
        return _sqlite_looking(path) if read_only else _sqlite(path, create)
    assert url is not None, "one of the two"
    engines = _postgresql(url)
    return engines._replace(write=engines.read) if read_only else engines


def locate(place: str | Path) -> tuple[Path | None, sa.URL | None]:
    """The file of an SQLite database, or the address of a PostgreSQL one."""
    if isinstance(place, Path) or "://" not in place:
        return Path(place).absolute(), None
    try:
        url = sa.make_url(place)
    except sa.exc.ArgumentError:
        raise StoreError("the address of the database cannot be read; say scheme://…") from None
    if url.get_backend_name() == SQLITE:
        if url.database in (None, "", ":memory:"):
            raise StoreError(f"{place!r} names no file; say sqlite:///answers.db")
        return Path(str(url.database)).absolute(), None
    if url.get_backend_name() in (POSTGRESQL, "postgres"):
        return None, url
    raise StoreError(
        f"answers cannot be kept in {url.get_backend_name()!r}; say a path, sqlite:///answers.db "
        "or postgresql://user@host/name"
    )


def shown(url: sa.URL) -> str:
    """An address without its password."""
    return url.set(drivername="postgresql+psycopg").render_as_string(hide_password=True)


def begin(connection: sa.Connection) -> None:
    """Become the one writer of the database until the transaction ends."""
    connection.exec_driver_sql(BEGIN[connection.dialect.name])


def _sqlite(path: Path, create: bool) -> Engines:
    if not create and not path.exists():
        raise StoreError(f"there is no database at {path}")
    try:
        with suppress(FileExistsError):
            # what people said is nobody else's to read; SQLite gives its side files the same mode
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        inspect(path)
        file = Watched(path)
    except OSError as error:
        raise StoreError(f"cannot open the database {path}: {error.strerror}") from None
    write = sa.create_engine(
        "sqlite://", creator=_sqlite_writer(file), pool_size=1, max_overflow=0, **OPTIONS
    )
    read = _sqlite_reading(lambda: file.connect("ro", SECONDS_TO_WAIT))
    return Engines(write, read, str(path), file)


def _sqlite_looking(path: Path) -> Engines:
    if not path.exists():
        raise StoreError(f"there is no database at {path}")
    try:
        inspect(path)
        file = Looked(path)
    except OSError as error:
        raise StoreError(f"cannot read the database {path}: {error.strerror}") from None
    read = _sqlite_reading(lambda: file.connect(SECONDS_TO_WAIT))
    return Engines(read, read, str(path), file)


def _sqlite_reading(creator: Connect) -> sa.Engine:
    return sa.create_engine(
        "sqlite://", creator=creator, pool_size=2 * READERS, max_overflow=0, **OPTIONS
    )


def _sqlite_writer(file: Watched) -> Connect:
    def connect() -> sqlite3.Connection:
        connection = file.connect("rw", SECONDS_TO_WAIT)
        (journal,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
        if journal != "wal":
            raise StoreError(
                f"{file.path} is where SQLite can keep no write-ahead file; use a local disk"
            )
        for setting in SQLITE_SETTINGS:
            connection.execute(f"PRAGMA {setting}").fetchall()
        return connection

    return connect


def _postgresql(url: sa.URL) -> Engines:
    name = shown(url)
    url = url.set(drivername="postgresql+psycopg")
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
