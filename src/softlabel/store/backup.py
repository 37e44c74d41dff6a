"""Copies of an SQLite database: made while it is in use, and restored while it is not."""

import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from softlabel.errors import StoreError
from softlabel.store.engine import POSTGRESQL, REVISIONS, locate
from softlabel.store.file import ReadOnlyFile, connect, inspect, log_of, log_size, owns_log

SECONDS = 5.0  # to wait for another program's lock
COUNTED = {"studies": "study", "people": "session", "answers": "response"}


class Contents(NamedTuple):
    """What a file holds; ``id`` is None in databases of the first version."""

    id: str | None
    revision: str
    rows: dict[str, int]


def backup(place: str | Path, to: Path) -> Contents:
    """Copy a database as it is now, even while it is in use; the copy is complete or absent."""
    path = _sqlite_path(place, "pg_dump --format=custom --file={file} '{address}'", to)
    if to.exists():
        raise StoreError(f"{to} is there already; name another file")
    if not to.absolute().parent.is_dir():
        raise StoreError(f"{to}: there is no folder {to.absolute().parent}")
    with _verified_copy(path, to.absolute()) as (part, copied):
        os.link(part, to)  # unlike rename, refuses to replace a file
    return copied


def restore(place: str | Path, source: Path) -> tuple[Contents, Path | None]:
    """Put a copy in the place of a database that nobody is using; return what it holds, and where
    the file that was there before is kept."""
    path = _sqlite_path(place, "pg_restore --clean --if-exists --dbname='{address}' {file}", source)
    if not path.parent.is_dir():
        raise StoreError(f"{path}: there is no folder {path.parent}")
    if path.exists() and path.samefile(source):
        raise StoreError(f"{source} is the database itself; name a backup of it")
    with _verified_copy(source.absolute(), path) as (part, copied):
        kept = _move_away(path)
        os.link(part, path)
    _sync(path.parent)
    return copied, kept


def read_contents(path: Path) -> Contents:
    """Return what a file holds, which must be an undamaged database of ours."""
    path = path.absolute()
    if not path.is_file():
        raise StoreError(f"there is no file {path}")
    inspect(path)
    try:
        with closing(ReadOnlyFile(path).connect(SECONDS)) as connection:
            (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                raise StoreError(f"{path} is damaged: {verdict}")
            query = "SELECT version_num FROM alembic_version"
            (revision,) = connection.execute(query).fetchone() or ("",)
            if revision not in REVISIONS:
                text = f"{path} was written by a newer softlabel: its schema is {revision!r}"
                raise StoreError(text)
            id = None
            if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'identity'").fetchone():
                (id,) = connection.execute("SELECT id FROM identity").fetchone() or (None,)
            rows = {
                name: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                for name, table in COUNTED.items()
            }
            return Contents(id, revision, rows)
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {error}") from None


def _sqlite_path(place: str | Path, command: str, file: Path) -> Path:
    where = locate(place)
    if isinstance(where, Path):
        return where
    address = where.set(drivername=POSTGRESQL).render_as_string(hide_password=True)
    full = command.format(file=file, address=address)
    raise StoreError(f"this is PostgreSQL, which has its own tools; use: {full}")


@contextmanager
def _verified_copy(source: Path, to: Path) -> Iterator[tuple[Path, Contents]]:
    """Make a verified copy beside ``to``, on the disk, which only its owner can read."""
    if not source.is_file():
        raise StoreError(f"there is no database at {source}")
    inspect(source)
    part = to.with_name(f".{to.name}.{secrets.token_hex(8)}.part")
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with (
            closing(ReadOnlyFile(source).connect(SECONDS)) as reading,
            closing(sqlite3.connect(part, isolation_level=None)) as writing,
        ):
            reading.backup(writing)  # in one step: it never has to start again
            writing.execute("PRAGMA journal_mode=DELETE")
        copied = read_contents(part)
        _sync(part)
        yield part, copied
        _sync(part.parent)
    except OSError as error:
        raise StoreError(f"{to} cannot be written: {error.strerror}") from None
    except sqlite3.Error as error:
        raise StoreError(f"{source} cannot be copied to {to}: {error}") from None
    finally:
        part.unlink(missing_ok=True)


def _move_away(path: Path) -> Path | None:
    """Rename the database that is there, with a time stamp; refuse if it is in use."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    kept = path.with_name(f"{path.name}.replaced-{stamp}")
    if kept.exists():
        raise StoreError(f"{kept} is there already; wait a second and try again")
    exists = path.exists()
    if exists:
        with _exclusive_lock(path) if owns_log(path) else nullcontext():
            path.rename(kept)
    if log_size(path):  # of a file that was deleted or copied over
        log_of(path).rename(log_of(kept))
    log_of(path).unlink(missing_ok=True)
    path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
    return kept if exists else None


@contextmanager
def _exclusive_lock(path: Path) -> Iterator[None]:
    """Keep everybody else from opening the database, even to read; move its log into it."""
    with closing(connect(path, "mode=rw", timeout=0.5)) as connection:
        try:
            connection.execute("PRAGMA locking_mode=EXCLUSIVE")
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("COMMIT")  # the lock stays until it is closed
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                reason = "is in use by a server or another program; stop it first"
                raise StoreError(f"{path} {reason}") from None
        except sqlite3.DatabaseError:
            pass  # it is damaged, which is why it is being replaced
        yield


def _sync(path: Path) -> None:
    """Write a file, or the names in a folder, to the disk."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
