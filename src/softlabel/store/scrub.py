"""Removing the last traces of deleted rows from an SQLite file, without rewriting all of it.

``secure_delete`` overwrites deleted rows and freed pages with zeros.  What it misses are copies in
the unused middle of pages, left there when SQLite moved rows from one page to another.  They are
overwritten here, under the write lock and with an empty log.  SQLite never reads these bytes.
"""

from __future__ import annotations

import os
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import contextmanager

from softlabel.store.file import Watched, log_size

INTERIOR, LEAF = (2, 5), (10, 13)  # how pages of tables and indexes begin
PIECE = 256  # pages read at a time
MOST = 2**24  # pages; up to here no other page can begin like one of these
SECONDS = 2.0  # to wait for readers: everybody who writes waits as long


def scrub(connection: sqlite3.Connection, file: Watched, seconds: float) -> bool:
    """Empty the log, then the unused bytes; False if another program is in the way."""
    clearable = _is_clearable(connection)
    if not clearable:
        connection.execute("VACUUM")
    with _patience(connection, min(seconds, SECONDS), seconds):
        if not file.renew(connection, "TRUNCATE"):
            return False
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


def unused(page: bytes, at: int = 0) -> tuple[int, int]:
    """Where the unused middle of a page begins and ends; nothing for pages of other kinds."""
    if page[at] not in INTERIOR + LEAF:
        return 0, 0
    cells, content = struct.unpack_from(">HH", page, at + 3)
    begin = (12 if page[at] in INTERIOR else 8) + 2 * cells
    return begin, content or 65536


def _is_clearable(connection: sqlite3.Connection) -> bool:
    """Whether pages of tables can be told from all others by how they begin."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (maps,) = connection.execute("PRAGMA auto_vacuum").fetchone()
    return not maps and int(pages) <= MOST


def _clear(connection: sqlite3.Connection, fd: int) -> None:
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    zeros = bytes(size)
    changed = False
    for first in range(1, pages, PIECE):  # page 0 holds the schema alone
        piece = os.pread(fd, PIECE * size, first * size)
        for at in range(0, len(piece), size):
            begin, end = unused(piece, at)
            if begin < end <= size and piece[at + begin : at + end] != zeros[: end - begin]:
                os.pwrite(fd, zeros[: end - begin], first * size + at + begin)
                changed = True
    if changed:
        os.fsync(fd)


@contextmanager
def _patience(connection: sqlite3.Connection, now: float, later: float) -> Iterator[None]:
    connection.execute(f"PRAGMA busy_timeout = {round(1000 * now)}")
    try:
        yield
    finally:
        connection.execute(f"PRAGMA busy_timeout = {round(1000 * later)}")
