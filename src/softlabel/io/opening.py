"""The bytes of a file, or a sentence about why they cannot be had."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from pathlib import Path

from softlabel.errors import FileError

BOM = b"\xef\xbb\xbf"
MODEST = 200_000_000  # bytes that any gzip file may unpack to
RATIO = 100  # times its size that a larger one may; votes compress ten to thirty times
LARGEST = 8_000_000_000
STEP = 2**22
RAISE = "SOFTLABEL_UNPACKED_MB"  # the environment variable that allows more
MAGIC = {  # how files begin that are something else than text
    b"\xff\xfe": "it looks like UTF-16",
    b"\xfe\xff": "it looks like UTF-16",
    b"\x1f\x8b": "it looks like gzip; its name should end in .gz",
    b"PAR1": "it looks like Parquet; its name should end in .parquet",
    b"PK\x03\x04": "it looks like a zip archive or a spreadsheet; save the sheet as CSV (UTF-8)",
}


def content(path: Path) -> bytes:
    """All bytes, unpacked if the name ends in ``.gz``."""
    try:
        data = path.read_bytes()
        if path.suffix.lower() == ".gz":
            data = _unpacked(path, data)
    except FileNotFoundError:
        raise FileError(path, "there is no such file") from None
    except IsADirectoryError:
        raise FileError(path, "is a folder, not a file") from None
    except EOFError:
        raise FileError(path, "the gzip data break off before their end; copy it again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise FileError(path, f"is not sound gzip data ({error})") from None
    except OSError as error:
        raise FileError(path, f"cannot be read: {error.strerror}") from None
    if not data:
        raise FileError(path, "is empty")
    return data


def _unpacked(path: Path, packed: bytes) -> bytes:
    """All of it, as long as it is not far more than the file leads to expect: a megabyte of gzip
    can hold a gigabyte of zeros."""
    most = max(min(max(MODEST, RATIO * len(packed)), LARGEST), _allowed(path))
    parts, size = [], 0
    with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
        while part := file.read(STEP):
            size += len(part)
            if size > most:
                raise FileError(
                    path,
                    f"its {len(packed):,} bytes unpack to more than {most:,}, which is more than a "
                    f"table of answers does; if it is sound, set {RAISE} to the megabytes it needs",
                )
            parts.append(part)
    return b"".join(parts)


def _allowed(path: Path) -> int:
    """Bytes that the environment allows."""
    given = os.environ.get(RAISE) or "0"
    if not given.isdecimal():
        raise FileError(path, f"cannot be unpacked: {RAISE} = {given!r} is no number of megabytes")
    return int(given) * 10**6


def text(path: Path) -> bytes:
    """The content of a text file: UTF-8 for certain, without the byte order mark."""
    data = content(path)
    if not data.removeprefix(BOM).strip():
        raise FileError(path, "is empty")
    for magic, guess in MAGIC.items():
        if data.startswith(magic):
            raise FileError(path, f"is not UTF-8 text: {guess}", line=1)
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise _not_utf8(path, data, error.start) from None
    if b"\0" in data:
        guess = "it looks like UTF-16 or a binary file; save it as UTF-8"
        raise _at(path, data, data.index(b"\0"), guess)
    return data.removeprefix(BOM)


def _not_utf8(path: Path, data: bytes, start: int) -> FileError:
    rest = data.decode(errors="ignore")
    if b"\0" in data:
        guess = "it looks like UTF-16 or a binary file"
    elif not rest.isascii():
        guess = "other parts of the file are UTF-8, so two encodings are mixed"
    elif all(c.isprintable() or c.isspace() for c in rest):
        guess = "it looks like latin-1 (Windows-1252)"
    else:
        guess = "it looks like a binary file"
    return _at(path, data, start, f"{guess}; save it as UTF-8")


def _at(path: Path, data: bytes, start: int, guess: str) -> FileError:
    """The error for one byte, found by its line and its place in the line."""
    line = data.count(b"\n", 0, start) + 1
    place = start - data.rfind(b"\n", 0, start)
    reason = f"byte {place} (0x{data[start]:02x}) is not UTF-8 text: {guess}"
    return FileError(path, reason, line=line)
