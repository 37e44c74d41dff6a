"""The file of an SQLite database: is it still the one that was opened?

SQLite keeps writing to a file that was deleted or moved, and reads its log on top of a file that
was copied over the old one.  Both would lose acknowledged answers, so every commit and every read
looks at the file itself.

Device and inode tell whether another file was put in its place.  A file that was copied over it
keeps the inode; it is told by a generation in the header (``user_version``), which the writer
raises before and after every complete checkpoint.  Until a checkpoint is complete all newer pages
are in the log, so a copy of the same generation does no harm; a copy from before has a smaller one.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sqlite3
import struct
import time
from contextlib import closing
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from softlabel.errors import StoreError

MAGIC = b"SQLite format 3\0"
HEADER = 100  # bytes
LOG_HEADER, FRAME_HEADER = 32, 24
TABLES = {"alembic_version", "study", "session", "response"}  # of every version of ours
LOOKS, PAUSE = 3, 0.05  # a checkpoint of another process may be half done
LOG_GROWTH = 4 << 20  # bytes
NO_CHECKPOINT_ON_CLOSE = 1006  # SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE


class Header(NamedTuple):
    """What the first page says: which database it is, and of which generation."""

    page_size: int
    generation: int
    mark: int


class Looked:
    """A file that is only read; if no log lies beside it, it must stay as it is meanwhile."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.quiet = not log_size(path)
        self._found = self._stat()

    def connect(self, timeout: float) -> sqlite3.Connection:
        """Without a log nothing is written anywhere, not even beside the file."""
        how = "immutable=1" if self.quiet else "mode=ro"
        return connect(self.path, how, timeout)

    def check(self) -> None:
        """Raise if the file was changed while it was read without locks."""
        if self.quiet and self._stat() != self._found:
            raise StoreError(f"{self.path} was changed while it was being read; run this again")

    def _stat(self) -> tuple[int, ...]:
        found = stat(self.path)
        if found is None:
            raise StoreError(f"there is no database at {self.path}")
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


class Watched:
    """A file that is written.  Once ``lost``, it stays so until it is opened anew."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fd = _descriptors.open(path)
        self._file = _same(os.fstat(self.fd))
        self._log: tuple[int, int] | None = None
        self._log_limit = LOG_GROWTH
        self._least: Header | None = None
        self._connections: list[sqlite3.Connection] = []
        self.lost = ""

    def connect(self, mode: str, timeout: float) -> sqlite3.Connection:
        made = connect(self.path, f"mode={mode}", timeout)
        self._connections.append(made)
        return made

    def check(self) -> None:
        """Raise if what is at the path is no longer what was opened."""
        for _ in range(LOOKS):
            trouble = self.lost or self._trouble()
            if not trouble:
                return
            if self.lost:
                break
            time.sleep(PAUSE)
        self.lost = trouble
        raise StoreError(
            f"{self.path} is not the file that was opened: {trouble}; nothing is stored until "
            "it is put back, or restored from a backup, and the server is started again"
        )

    def renew(self, connection: sqlite3.Connection, how: str = "PASSIVE") -> bool:
        """Move the log into the file, as a new generation; False if readers were in the way."""
        generation = _raise_generation(connection)
        busy, log, moved = connection.execute(f"PRAGMA wal_checkpoint({how})").fetchone()
        if busy or log != moved:
            self._log_limit = log_size(self.path) + LOG_GROWTH
            return False
        self._settle(connection, generation)
        return True

    def begin_log(self, connection: sqlite3.Connection) -> None:
        """The first thing in an empty log: from now on copies differ from the file."""
        _raise_generation(connection)
        found = os.stat(log_of(self.path))
        self._log, self._log_limit = _same(found), found.st_size + LOG_GROWTH

    @property
    def log_is_long(self) -> bool:
        return log_size(self.path) > self._log_limit

    def close(self) -> None:
        _descriptors.close(self.fd)

    def abandon(self) -> bool:
        """Let go of a lost file without touching anything; True if connections may be closed.

        Closing would write the log into whatever file is there now, and delete the log.
        """
        for connection in self._connections:
            if hasattr(connection, "setconfig"):  # Python 3.12
                connection.setconfig(NO_CHECKPOINT_ON_CLOSE, True)
            else:
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))  # never closed
        return all(hasattr(connection, "setconfig") for connection in self._connections)

    def _settle(self, connection: sqlite3.Connection, generation: int) -> None:
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        (mark,) = connection.execute("PRAGMA application_id").fetchone()
        self._least = Header(size, generation, mark)

    def _trouble(self) -> str:
        found, log = stat(self.path), stat(log_of(self.path))
        if found is None:
            return "it was deleted or moved"
        if _same(found) != self._file:
            return "another file was put in its place"
        if self._log is not None and (log is None or _same(log) != self._log):
            return f"its log {log_of(self.path).name} was deleted or moved"
        header, least = header_of(os.pread(self.fd, HEADER, 0)), self._least
        if least is None:
            return ""
        if (
            header is None
            or (header.page_size, header.mark) != (least.page_size, least.mark)
            or header.generation < least.generation
        ):
            return "another file was copied over it"
        if header.generation > least.generation:  # raised by another process
            self._least = header
        return ""


class _Descriptors:
    """One descriptor per file.  Closing any descriptor of a file drops all locks that the process
    has on it, SQLite's too, so it is closed only after the last user has gone."""

    def __init__(self) -> None:
        self._lock, self._users = Lock(), dict[int, int]()
        self._known = dict[tuple[int, int], int]()

    def open(self, path: Path) -> int:
        with self._lock:
            known = self._known.get(_same(os.stat(path)))
            if known is None:
                known = _open(path)
                self._known[_same(os.fstat(known))] = known
            self._users[known] = self._users.get(known, 0) + 1
            return known

    def close(self, fd: int) -> None:
        with self._lock:
            self._users[fd] -= 1
            if not self._users[fd]:
                del self._users[fd], self._known[_same(os.fstat(fd))]
                os.close(fd)


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        return os.open(path, os.O_RDONLY)


_descriptors = _Descriptors()


def connect(path: Path, how: str, timeout: float) -> sqlite3.Connection:
    """No transactions but those that are asked for; one thread at a time, as the pool sees to."""
    return sqlite3.connect(
        f"{path.as_uri()}?{how}",
        uri=True,
        timeout=timeout,
        isolation_level=None,
        check_same_thread=False,
    )


def mark_of(identity: str) -> int:
    """The id of a database as SQLite's header can hold it; 0 means none."""
    return int(identity[:7], 16) + 1


def log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def log_size(path: Path) -> int:
    found = stat(log_of(path))
    return 0 if found is None else found.st_size


def stat(path: Path) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def header_of(data: bytes) -> Header | None:
    if len(data) < HEADER or not data.startswith(MAGIC):
        return None
    (size,) = struct.unpack_from(">H", data, 16)
    (generation,) = struct.unpack_from(">i", data, 60)
    (mark,) = struct.unpack_from(">i", data, 68)
    return Header(65536 if size == 1 else size, generation, mark)


def read_header(path: Path) -> Header | None:
    fd = _descriptors.open(path)
    try:
        return header_of(os.pread(fd, HEADER, 0))
    finally:
        _descriptors.close(fd)


def inspect(path: Path) -> None:
    """Refuse what is no database of ours, before SQLite can change a byte of it."""
    if not path.stat().st_size:
        return
    if read_header(path) is None:
        raise StoreError(f"{path} is not a database; nothing in it was changed; name another file")
    if not belongs(path):
        raise StoreError(
            f"{log_of(path)} does not belong to {path}: another file was copied over the "
            "database while its log was there; restore a backup with softlabel restore, which "
            "keeps both files under other names"
        )
    tables = _tables(path)
    if tables and not tables >= TABLES:
        raise StoreError(
            f"{path} is a database of another program: it has the tables "
            f"{', '.join(sorted(tables)[:5])}; nothing in it was changed; name another file"
        )


def belongs(path: Path) -> bool:
    """Whether the log beside a file, if there is one, was written for it."""
    for _ in range(LOOKS):
        if _log_belongs(path):
            return True
        time.sleep(PAUSE)
    return False


def _tables(path: Path) -> set[str]:
    try:
        with closing(Looked(path).connect(timeout=10)) as looking:
            rows = looking.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            return {name for (name,) in rows}
    except sqlite3.Error as error:
        raise StoreError(
            f"cannot open the database {path}: {error}; if it is damaged, restore a backup with "
            "softlabel restore"
        ) from None


def _log_belongs(path: Path) -> bool:
    """Whether the first pages in the log are no more than one generation after the file's."""
    log = _generations(log_of(path))
    found = read_header(path)
    if not log or found is None:
        return True
    if found.mark and log[0].mark and found.mark != log[0].mark:
        return False
    return log[0].generation - 1 <= found.generation <= log[-1].generation


def _generations(log: Path) -> list[Header]:
    """The first pages in a log, oldest first."""
    headers = []
    try:
        with log.open("rb") as file:
            start = file.read(LOG_HEADER)
            if len(start) < LOG_HEADER:
                return []
            (size,) = struct.unpack_from(">I", start, 8)
            while len(frame := file.read(FRAME_HEADER)) == FRAME_HEADER:
                if frame[8:16] != start[16:24]:  # left over from before the log began anew
                    break
                first = file.read(HEADER)
                if frame[:4] == b"\0\0\0\1" and (header := header_of(first)):
                    headers.append(header)
                file.seek(size - HEADER, os.SEEK_CUR)
    except FileNotFoundError:
        return []
    return headers


def _raise_generation(connection: sqlite3.Connection) -> int:
    connection.execute("BEGIN IMMEDIATE")
    try:
        (before,) = connection.execute("PRAGMA user_version").fetchone()
        connection.execute(f"PRAGMA user_version = {before + 1}")
        connection.execute("COMMIT")
    except sqlite3.Error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return int(before) + 1


def _same(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino
