"""Opening a database: one engine that writes, one that only reads, and the current schema."""

import os
import secrets
import sqlite3
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.pool import QueuePool

from softlabel.errors import MissingExtra, StoreError
from softlabel.store.file import ReadOnlyFile, WatchedFile, inspect
from softlabel.store.schema import identity

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
    "idle_in_transaction_session_timeout": f"{3 * SECONDS_TO_WAIT}s",  # for a frozen writer
}
REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008")
HEAD = REVISIONS[-1]
VERSION = sa.text("SELECT version_num FROM alembic_version")


class Engines(NamedTuple):
    """The two engines of one database, and its name in error messages."""

    write: sa.Engine
    read: sa.Engine
    name: str
    file: WatchedFile | ReadOnlyFile | None = None  # of an SQLite database

    @property
    def is_sqlite(self) -> bool:
        return self.write.dialect.name == SQLITE

    def check(self) -> None:
        """Raise if the database is no longer the one that was opened."""
        if self.file is not None:
            self.file.check()

    def dispose(self) -> None:
        if isinstance(self.file, WatchedFile):
            with suppress(StoreError):
                self.file.check()
            if self.file.lost and not self.file.abandon():
                return
        self.read.dispose()
        self.write.dispose()
        if isinstance(self.file, WatchedFile):
            self.file.close()


def make_engines(place: str | Path, *, create: bool, read_only: bool = False) -> Engines:
    """Return the engines of a path, a ``sqlite:///`` or a ``postgresql://`` address; with
    ``read_only`` both are the reading engine, and nothing is ever changed."""
    where = locate(place)
    if isinstance(where, Path):
        return _open_sqlite(where, create=create, read_only=read_only)
    try:
        write = sa.create_engine(where, pool_pre_ping=True, pool_size=1, max_overflow=0)
    except ModuleNotFoundError:
        raise MissingExtra("PostgreSQL", "serve") from None
    read = sa.create_engine(
        where,
        pool_pre_ping=True,
        pool_size=READERS,
        pool_reset_on_return=None,
        isolation_level="AUTOCOMMIT",
    )
    _set_on_connect(write, POSTGRESQL_SETTINGS)
    _set_on_connect(read, {"default_transaction_read_only": "on"})
    name = where.render_as_string(hide_password=True)
    return Engines(read if read_only else write, read, name)


def locate(place: str | Path) -> Path | sa.URL:
    """Return the path of an SQLite database, or the address of a PostgreSQL one."""
    if isinstance(place, Path) or "://" not in place:
        return Path(place).absolute()
    try:
        url = sa.make_url(place)
    except sa.exc.ArgumentError:
        raise StoreError("the address of the database cannot be read; say scheme://…") from None
    if url.get_backend_name() == SQLITE:
        if url.database in (None, "", ":memory:"):
            raise StoreError(f"{place!r} names no file; say sqlite:///answers.db")
        return Path(str(url.database)).absolute()
    if url.get_backend_name() in (POSTGRESQL, "postgres"):
        return url.set(drivername="postgresql+psycopg")
    raise StoreError(
        f"answers cannot be kept in {url.get_backend_name()!r}; say a path, sqlite:///answers.db "
        "or postgresql://user@host/name"
    )


def display_name(place: str | Path) -> str:
    """Return the path or the address of a database, without its password."""
    where = locate(place)
    return str(where) if isinstance(where, Path) else where.render_as_string(hide_password=True)


def begin(connection: sa.Connection) -> None:
    """Become the one writer of the database until the transaction ends."""
    connection.exec_driver_sql(BEGIN[connection.dialect.name])


def _open_sqlite(path: Path, *, create: bool, read_only: bool) -> Engines:
    if (read_only or not create) and not path.exists():
        raise StoreError(f"there is no database at {path}")
    file: WatchedFile | ReadOnlyFile
    try:
        if not read_only:
            with suppress(FileExistsError):
                # only the owner may read answers; SQLite gives its side files the same mode
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        inspect(path)
        file = ReadOnlyFile(path) if read_only else WatchedFile(path)
    except OSError as error:
        doing = "read" if read_only else "open"
        raise StoreError(f"cannot {doing} the database {path}: {error.strerror}") from None
    make = partial(
        sa.create_engine,
        "sqlite://",
        poolclass=QueuePool,
        pool_reset_on_return=None,
        max_overflow=0,
    )
    read = write = make(creator=lambda: file.connect(SECONDS_TO_WAIT), pool_size=2 * READERS)
    if isinstance(file, WatchedFile):
        write = make(creator=partial(_connect_to_write, file), pool_size=1)
    return Engines(write, read, str(path), file)


def _connect_to_write(file: WatchedFile) -> sqlite3.Connection:
    connection = file.connect(SECONDS_TO_WAIT, "rw")
    (journal,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
    if journal != "wal":
        text = f"SQLite cannot keep a write-ahead log beside {file.path}; use a local disk"
        raise StoreError(text)
    for setting in SQLITE_SETTINGS:
        connection.execute(f"PRAGMA {setting}").fetchall()
    return connection


def _set_on_connect(engine: sa.Engine, settings: dict[str, str]) -> None:
    def connected(connection: Any, _: Any) -> None:
        for key, value in settings.items():
            connection.execute(f"SET {key} = '{value}'")
        connection.commit()

    sa.event.listen(engine, "connect", connected)


def upgrade(engines: Engines, *, create: bool = True) -> None:
    """Run the missing migrations, in one transaction that only one process can be in."""
    with engines.write.connect() as connection, connection.begin():
        begin(connection)
        if _check_revision(connection, engines.name, create) != HEAD:
            run_migrations(connection, HEAD)
        if read_identity(connection) is None:
            values = {"id": secrets.token_hex(8), "created_at": time.time()}
            connection.execute(sa.insert(identity), values)


def refuse_older(engines: Engines) -> None:
    """Raise if the schema is not current; reading does not change a database."""
    with engines.read.connect() as connection:
        revision = _check_revision(connection, engines.name, create=False)
    if revision != HEAD:
        raise StoreError(
            f"{engines.name} was written by an older softlabel (schema {revision}, this one reads "
            f"{HEAD}), and reading does not change it; take a backup (softlabel backup), then "
            "bring it up to date with softlabel migrate, or by serving the study"
        )


def _check_revision(connection: sa.Connection, name: str, create: bool) -> str | None:
    revision = read_revision(connection)
    if revision is None and not create:
        raise StoreError(f"{name} holds no answers: it is empty")
    if revision is not None and revision not in REVISIONS:
        raise StoreError(
            f"{name} was written by a newer softlabel: its schema is {revision!r}, this one knows "
            f"{', '.join(REVISIONS)}; update softlabel, or use another database"
        )
    return revision


def read_revision(connection: sa.Connection) -> str | None:
    """Return the migration that the database is at, or None if it is empty."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(VERSION).scalar()


def read_identity(connection: sa.Connection) -> str | None:
    return connection.execute(sa.select(identity.c.id)).scalar()


def write_and_undo(connection: sa.Connection) -> None:
    """Write a value and change it back: SQLite writes no page for an update without effect."""
    for _ in range(2):
        connection.execute(sa.update(identity).values(created_at=-identity.c.created_at))


def run_migrations(connection: sa.Connection, target: str) -> None:
    """Upgrade to a revision, inside the transaction of the connection."""
    from alembic import command  # slow to import, and rarely needed

    config = alembic_config()
    config.attributes["connection"] = connection
    command.upgrade(config, target)


def alembic_config() -> Any:
    """Return Alembic's settings: where the migrations are."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "softlabel.store:migrations")
    return config
