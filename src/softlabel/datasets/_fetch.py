"""Finding the files of a data set, fetching them, and telling whether they are the right ones."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import os
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import numpy as np

from softlabel.datasets._read import reading
from softlabel.datasets.base import File, Info
from softlabel.errors import FileError, SoftlabelError

Report = Callable[[str, int, int | None], None]  # file, bytes so far, bytes in all if known

CHUNK = 1 << 16
TIMEOUT = 60  # seconds without a byte before a server is given up


class MissingData(SoftlabelError):
    """A file that is not on this machine: which, where it was looked for, how to get it."""


class FetchError(SoftlabelError):
    """A download that failed: the address and what it answered."""


# ── finding ──────────────────────────────────────────────────────────────────────────────────


def cache(info: Info) -> Path:
    """Where fetched files go."""
    own = os.environ.get("SOFTLABEL_CACHE")
    user = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return (Path(own) if own else Path(user) / "softlabel").expanduser() / "data" / info.name


def folders(info: Info) -> list[Path]:
    """Where files are looked for, first the user's own folder."""
    own = os.environ.get("SOFTLABEL_DATA")
    return [*([Path(own).expanduser() / info.name] if own else []), cache(info)]


def find(info: Info, filename: str) -> Path | None:
    """The file, perhaps with ``.gz`` added, or None."""
    places = (folder / name for folder in folders(info) for name in (filename, filename + ".gz"))
    return next((path for path in places if path.is_file()), None)


def where(info: Info) -> dict[str, Path | None]:
    """The place of each file of the data set on this machine."""
    return {file.name: find(info, file.name) for file in info.files}


def locate(info: Info, filename: str) -> Path:
    """The file, or ``MissingData`` that says how to get it."""
    path = find(info, filename)
    if path is None:
        raise MissingData(_missing(info, filename))
    return path


def _missing(info: Info, filename: str) -> str:
    places = " nor in ".join(map(str, folders(info)))
    if not os.environ.get("SOFTLABEL_DATA"):
        places += f" (nor in $SOFTLABEL_DATA/{info.name}, as that variable is not set)"
    text = f"{info.name}: {filename} is not in {places}.\n"
    if any(file.url for file in info.files if file.name == filename):
        return text + f"Get it with: softlabel data fetch {info.name}"
    files = [file.name for file in info.files if not file.url and find(info, file.name) is None]
    wanted = " and ".join(files or [filename])
    return (
        f"{text}It must be got by hand. {info.by_hand.rstrip()}\nPut {wanted} into such a folder."
    )


# ── checking ─────────────────────────────────────────────────────────────────────────────────


def verify(info: Info) -> list[str]:
    """What is wrong with the files that are here; reads all of them, so it takes a while."""
    here = [(file, path) for file in info.files if (path := find(info, file.name))]
    if not here:
        return [f"{info.name}: none of its files is here"]
    return [wrong for file, path in here if (wrong := problem(file, path))]


def problem(file: File, path: Path) -> str:
    """Why this is not the file as released; nothing if it is, or if nobody can tell."""
    try:
        got = digest(path, file.name)
        if file.sha256 not in (None, got):
            return f"{path}: sha256 is {got}, expected {file.sha256}"
        return file.check(path) if file.check else ""
    except (FileError, MissingData) as error:
        return str(error)


def digest(path: Path, name: str) -> str:
    """The sha256 of the file called ``name``, kept at ``path`` as it is or inside a ``.gz``."""
    sha = hashlib.sha256()
    with reading(path):
        if name.endswith(".npz"):
            with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                for key in sorted(arrays):
                    array = arrays[key]
                    sha.update(f"{key} {array.dtype.str} {array.shape}\n".encode())
                    sha.update(np.ascontiguousarray(array).data)
            return sha.hexdigest()
        wrapped = path.name == name + ".gz"
        with cast(BinaryIO, gzip.open(path)) if wrapped else path.open("rb") as stream:
            while chunk := stream.read(CHUNK):
                sha.update(chunk)
    return sha.hexdigest()


# ── fetching ─────────────────────────────────────────────────────────────────────────────────


def fetch(info: Info, report: Report | None = None) -> list[Path]:
    """Download what has an address and is not here yet; returns the new files.

    A broken download resumes.  Nothing takes its place before its checksum is right.  Files that
    have no address and are not here either end in ``MissingData``, after the others were fetched.
    """
    tell = report or (lambda file, done, total: None)
    folder = cache(info)
    folder.mkdir(parents=True, exist_ok=True)
    new: list[Path] = []
    for url in dict.fromkeys(file.url for file in info.files if file.url):
        wanted = [file for file in info.files if file.url == url and _wants(info, file)]
        if wanted:
            new += _get(url, wanted, folder, tell)
    for file in info.files:
        if not file.url and info.by_hand and find(info, file.name) is None:
            raise MissingData(_missing(info, file.name))
    return new


def _wants(info: Info, file: File) -> bool:
    path = find(info, file.name)
    if path is None:
        return True
    wrong = problem(file, path)
    if wrong and path.parent != cache(info):
        raise FileError(path, f"hides the fetched file and should be moved away: {wrong}")
    return bool(wrong)


def _get(url: str, files: list[File], folder: Path, tell: Report) -> list[Path]:
    """What one address gives: a file, or an archive from which members are taken."""
    first = files[0]
    name = Path(urlsplit(url).path).name if first.inner else first.name
    part = folder / f"{name}.part"
    _download(url, part, lambda done, total: tell(name, done, total))
    if not first.inner:
        return [_keep(first, part)]
    try:
        return [_keep(file, _extract(part, file)) for file in files]
    finally:
        for left in (name, *(file.name for file in files)):
            (folder / f"{left}.part").unlink(missing_ok=True)


def _download(url: str, part: Path, tell: Callable[[int, int | None], None]) -> None:
    """Write what the address gives to ``part``, going on where an earlier attempt stopped."""
    done = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "softlabel"} | ({"Range": f"bytes={done}-"} if done else {})
    total = None
    try:
        with urlopen(Request(url, headers=headers), timeout=TIMEOUT) as answer:
            if answer.status != http.HTTPStatus.PARTIAL_CONTENT:
                done = 0  # the server cannot resume and sends the whole
            if length := answer.headers.get("Content-Length"):
                total = done + int(length)
            with part.open("ab" if done else "wb") as out:
                while chunk := answer.read(CHUNK):
                    out.write(chunk)
                    done += len(chunk)
                    tell(done, total)
    except HTTPError as error:
        error.close()
        if not (done and error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE):
            raise FetchError(f"{url} answered {error.code} {error.reason}") from None
        # nothing is left to send: the part is whole, or its checksum will tell
    except (OSError, http.client.HTTPException) as error:
        raise FetchError(
            f"{url}: {getattr(error, 'reason', error)}; fetch again to go on"
        ) from None
    if total is not None and done < total:
        raise FetchError(f"{url}: broke off after {done} of {total} bytes; fetch again to go on")


def _extract(archive: Path, file: File) -> Path:
    """One member of an archive, beside it; names inside the archive decide no path."""
    assert file.inner is not None, "only members of archives are extracted"
    part = archive.parent / f"{file.name}.part"
    with reading(archive), part.open("wb") as out:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as box, box.open(file.inner) as member:
                shutil.copyfileobj(member, out)
        else:
            with tarfile.open(archive) as tape:
                found = tape.extractfile(file.inner)
                if found is None:
                    raise ValueError(f"{file.inner} is not a file")
                shutil.copyfileobj(found, out)
    return part


def _keep(file: File, part: Path) -> Path:
    """Give a finished download its name, if it is the right file."""
    target = part.parent / file.name
    wrong = problem(file, part)
    if wrong:
        part.unlink()
        raise FetchError(f"{file.name} from {file.url} was not kept: {wrong}")
    return part.replace(target)
