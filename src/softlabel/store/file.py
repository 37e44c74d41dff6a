"""The file of an SQLite database: whether it is still the one that was opened, and its last bytes.

SQLite keeps writing to a file that was deleted or moved, and reads its log on top of a file that
was copied over the old one.  Both would lose acknowledged answers, so every commit and every read
checks the file itself.

Device and inode show whether another file was put in its place.  A file that was copied over it
keeps the inode; it is recognised by a generation in the header (``user_version``), which the writer
raises before and after every complete checkpoint.  Until a checkpoint is complete all newer pages
are in the log, so a copy of the same generation does no harm; an older copy has a smaller one.
"""

import ctypes
import errno
import os
import sqlite3
import struct
import time
from contextlib import closing, suppress
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
    """The parts of the first page that identify a database and its generation."""

    page_size: int
    generation: int
    mark: int


# ── open files ───────────────────────────────────────────────────────────────────────────────


class ReadOnlyFile:
    """A file that is only read; without a log beside it, it must not change meanwhile."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.quiet = not log_size(path)
        self._opened = self._stat()

    def connect(self, timeout: float) -> sqlite3.Connection:
        """Open a connection; without a log nothing is written, not even beside the file."""
        return connect(self.path, "immutable=1" if self.quiet else "mode=ro", timeout)

    def check(self) -> None:
        """Raise if the file was changed while it was read without locks."""
        if self.quiet and self._stat() != self._opened:
            raise StoreError(f"{self.path} was changed while it was being read; run this again")

    def _stat(self) -> tuple[int, ...]:
        info = _stat(self.path)
        if info is None:
            raise StoreError(f"there is no database at {self.path}")
        return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns


class WatchedFile:
    """A file that is written.  Once ``lost``, it stays lost until it is opened again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fd = _descriptors.open(path)
        self._file = _inode(os.fstat(self.fd))
        self._log: tuple[int, int] | None = None
        self._log_limit = LOG_GROWTH
        self._least: Header | None = None
        self._connections: list[sqlite3.Connection] = []
        self.lost = ""

    def connect(self, timeout: float, mode: str = "ro") -> sqlite3.Connection:
        connection = connect(self.path, f"mode={mode}", timeout)
        self._connections.append(connection)
        return connection

    def check(self) -> None:
        """Raise if the file at the path is no longer the one that was opened."""
        for _ in range(LOOKS):
            trouble = self.lost or self._find_trouble()
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

    def checkpoint(self, connection: sqlite3.Connection, how: str = "PASSIVE") -> bool:
        """Move the log into the file, as a new generation; False if readers were in the way."""
        generation = _raise_generation(connection)
        busy, log, moved = connection.execute(f"PRAGMA wal_checkpoint({how})").fetchone()
        if busy or log != moved:
            self._log_limit = log_size(self.path) + LOG_GROWTH
            return False
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        (mark,) = connection.execute("PRAGMA application_id").fetchone()
        self._least = Header(size, generation, mark)
        return True

    def begin_log(self, connection: sqlite3.Connection) -> None:
        """Make the first entry of an empty log: from now on copies differ from the file."""
        _raise_generation(connection)
        info = os.stat(log_of(self.path))
        self._log, self._log_limit = _inode(info), info.st_size + LOG_GROWTH

    @property
    def log_is_long(self) -> bool:
        return log_size(self.path) > self._log_limit

    def close(self) -> None:
        _descriptors.close(self.fd)

    def abandon(self) -> bool:
        """Let go of a lost file, because closing would write the log into whatever file is there
        now, and delete the log; return True if connections may be closed."""
        for connection in self._connections:
            if hasattr(connection, "setconfig"):  # Python 3.12
                connection.setconfig(NO_CHECKPOINT_ON_CLOSE, True)
            else:
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))  # never closed
        return all(hasattr(connection, "setconfig") for connection in self._connections)

    def _find_trouble(self) -> str:
        info, log = _stat(self.path), _stat(log_of(self.path))
        if info is None:
            return "it was deleted or moved"
        if _inode(info) != self._file:
            return "another file was put in its place"
        if self._log is not None and (log is None or _inode(log) != self._log):
            return f"its log {log_of(self.path).name} was deleted or moved"
        header, least = parse_header(os.pread(self.fd, HEADER, 0)), self._least
        if least is None:
            return ""
        same = header is not None and header._replace(generation=least.generation) == least
        if header is None or not same or header.generation < least.generation:
            return "another file was copied over it"
        self._least = header  # another process may have raised the generation
        return ""


class _Descriptors:
    """One descriptor per file.  Closing any descriptor of a file drops all locks that the process
    has on it, SQLite's too, so it is closed only after its last user."""

    def __init__(self) -> None:
        self._lock, self._users = Lock(), dict[int, int]()
        self._known = dict[tuple[int, int], int]()

    def open(self, path: Path) -> int:
        with self._lock:
            fd = self._known.get(_inode(os.stat(path)))
            if fd is None:
                try:
                    fd = os.open(path, os.O_RDWR)
                except OSError as error:
                    if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                        raise
                    fd = os.open(path, os.O_RDONLY)
                self._known[_inode(os.fstat(fd))] = fd
            self._users[fd] = self._users.get(fd, 0) + 1
            return fd

    def close(self, fd: int) -> None:
        with self._lock:
            self._users[fd] -= 1
            if not self._users[fd]:
                del self._users[fd], self._known[_inode(os.fstat(fd))]
                os.close(fd)


_descriptors = _Descriptors()


def connect(path: Path, how: str, timeout: float) -> sqlite3.Connection:
    """Open a connection without implicit transactions, which the pool lends to one thread."""
    return sqlite3.connect(
        f"{path.as_uri()}?{how}",
        uri=True,
        timeout=timeout,
        isolation_level=None,
        check_same_thread=False,
    )


# ── the file and its log ─────────────────────────────────────────────────────────────────────


def to_mark(identity: str) -> int:
    """Return the id of a database as SQLite's header can hold it; 0 means none."""
    return int(identity[:7], 16) + 1


def log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def log_size(path: Path) -> int:
    info = _stat(log_of(path))
    return 0 if info is None else info.st_size


def _stat(path: Path) -> os.stat_result | None:
    with suppress(FileNotFoundError):
        return os.stat(path)
    return None


def _inode(info: os.stat_result) -> tuple[int, int]:
    return info.st_dev, info.st_ino


def parse_header(data: bytes) -> Header | None:
    if len(data) < HEADER or not data.startswith(MAGIC):
        return None
    size, generation, mark = struct.unpack_from(">16xH42xi4xi", data)
    return Header(65536 if size == 1 else size, generation, mark)


def read_header(path: Path) -> Header | None:
    fd = _descriptors.open(path)
    try:
        return parse_header(os.pread(fd, HEADER, 0))
    finally:
        _descriptors.close(fd)


def inspect(path: Path) -> None:
    """Refuse a file that is not a database of ours, before SQLite can change a byte of it."""
    if not path.stat().st_size:
        return
    if read_header(path) is None:
        raise StoreError(f"{path} is not a database; nothing in it was changed; name another file")
    if not owns_log(path):
        raise StoreError(
            f"{log_of(path)} does not belong to {path}: another file was copied over the "
            "database while its log was there; restore a backup with softlabel restore, which "
            "keeps both files under other names"
        )
    try:
        with closing(ReadOnlyFile(path).connect(timeout=10)) as connection:
            rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            tables = {name for (name,) in rows}
    except sqlite3.Error as error:
        raise StoreError(
            f"cannot open the database {path}: {error}; if it is damaged, restore a backup with "
            "softlabel restore"
        ) from None
    if tables and not tables >= TABLES:
        raise StoreError(
            f"{path} is a database of another program: it has the tables "
            f"{', '.join(sorted(tables)[:5])}; nothing in it was changed; name another file"
        )


def owns_log(path: Path) -> bool:
    """Return whether the log beside a file, if any, was written for it: its first pages are at most
    one generation newer than the file."""
    for _ in range(LOOKS):
        log, header = _read_log_headers(log_of(path)), read_header(path)
        if not log or header is None:
            return True
        marked_alike = not header.mark or not log[0].mark or header.mark == log[0].mark
        if marked_alike and log[0].generation - 1 <= header.generation <= log[-1].generation:
            return True
        time.sleep(PAUSE)
    return False


def _read_log_headers(log: Path) -> list[Header]:
    """Return the versions of the first page in a log, oldest first."""
    headers: list[Header] = []
    with suppress(FileNotFoundError), log.open("rb") as file:
        start = file.read(LOG_HEADER)
        if len(start) < LOG_HEADER:
            return []
        (size,) = struct.unpack_from(">I", start, 8)
        while len(frame := file.read(FRAME_HEADER)) == FRAME_HEADER:
            if frame[8:16] != start[16:24]:  # left over from before the log was restarted
                break
            first = file.read(HEADER)
            if frame[:4] == b"\0\0\0\1" and (header := parse_header(first)):
                headers.append(header)
            file.seek(size - HEADER, os.SEEK_CUR)
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


# ── scrubbing ────────────────────────────────────────────────────────────────────────────────
# ``secure_delete`` overwrites deleted rows and freed pages with zeros.  It misses copies in the
# unused middle of pages, left there when SQLite moved rows from one page to another.  They are
# overwritten here, under the write lock and with an empty log.  SQLite never reads these bytes.

INTERIOR, LEAF = (2, 5), (10, 13)  # first bytes of the pages of tables and indexes
PIECE = 256  # pages read at a time
MOST_PAGES = 2**24  # up to here no other page can begin like one of these
SCRUB_SECONDS = 2.0  # to wait for readers; all writers wait as long


def scrub(connection: sqlite3.Connection, file: WatchedFile, seconds: float) -> bool:
    """Empty the log and overwrite unused bytes; False if another program is in the way."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (maps,) = connection.execute("PRAGMA auto_vacuum").fetchone()
    clearable = not maps and int(pages) <= MOST_PAGES  # else no page's kind is known for certain
    if not clearable:
        connection.execute("VACUUM")
    connection.execute(f"PRAGMA busy_timeout = {round(1000 * min(seconds, SCRUB_SECONDS))}")
    try:
        if not file.checkpoint(connection, "TRUNCATE"):
            return False
    finally:
        connection.execute(f"PRAGMA busy_timeout = {round(1000 * seconds)}")
    connection.execute("BEGIN IMMEDIATE")
    try:
        empty = not log_size(file.path)
        if empty and clearable:
            _clear(connection, file.fd)
    finally:
        connection.execute("ROLLBACK")
    connection.execute("PRAGMA shrink_memory")  # else old pages would be written again
    file.begin_log(connection)
    return empty


def _clear(connection: sqlite3.Connection, fd: int) -> None:
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    zeros = bytes(size)
    changed = False
    for first in range(1, pages, PIECE):  # page 0 holds only the schema
        piece = os.pread(fd, PIECE * size, first * size)
        for at in range(0, len(piece), size):
            if piece[at] not in INTERIOR + LEAF:
                continue
            cells, content = struct.unpack_from(">HH", piece, at + 3)
            begin = (12 if piece[at] in INTERIOR else 8) + 2 * cells
            end = content or 65536  # of the unused middle
            if begin < end <= size and piece[at + begin : at + end] != zeros[: end - begin]:
                os.pwrite(fd, zeros[: end - begin], first * size + at + begin)
                changed = True
    if changed:
        os.fsync(fd)
