"""Check the files of a data set, and fetch those that are missing."""

import gzip
import hashlib
import http.client
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

from softlabel.datasets.base import File, Info, MissingData, cache_folder, explain_missing, find
from softlabel.datasets.reading import explain_damage
from softlabel.errors import FileError, SoftlabelError

Report = Callable[[str, int, int | None], None]  # file, bytes so far, bytes in all if known

CHUNK = 1 << 16
TIMEOUT = 60  # seconds without a byte before a server is given up


class FetchError(SoftlabelError):
    """A download that failed: the address and what it answered."""


# ── checking ─────────────────────────────────────────────────────────────────────────────────


def verify(info: Info) -> list[str]:
    """Return what is wrong with the files that are here; it reads all of them, which takes time."""
    here = [(file, path) for file in info.files if (path := find(info, file.name))]
    if not here:
        return [f"{info.name}: none of its files is here"]
    return [wrong for file, path in here if (wrong := find_problem(file, path))]


def find_problem(file: File, path: Path) -> str:
    """Return why this is not the file as released; "" if it is, or if it cannot be known."""
    try:
        got = digest(path, file.name)
        if file.sha256 not in (None, got):
            return f"{path}: sha256 is {got}, expected {file.sha256}"
        return file.check(path) if file.check else ""
    except (FileError, MissingData) as error:
        return str(error)


def digest(path: Path, name: str) -> str:
    """Return the sha256 of the file ``name``, kept at ``path`` as it is or inside a ``.gz``."""
    sha = hashlib.sha256()
    with explain_damage(path):
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
    """Download what has an address and is not here yet; return the new files.

    A broken download resumes.  No file gets its name before its checksum is right.  Files that
    have no address and are not here either raise ``MissingData``, after the others were fetched.
    """
    report = report or (lambda file, done, total: None)
    folder = cache_folder(info)
    folder.mkdir(parents=True, exist_ok=True)
    new: list[Path] = []
    for url in dict.fromkeys(file.url for file in info.files if file.url):
        wanted = [file for file in info.files if file.url == url and _is_wanted(info, file)]
        if wanted:
            new += _fetch_url(url, wanted, folder, report)
    for file in info.files:
        if not file.url and info.by_hand and find(info, file.name) is None:
            raise MissingData(explain_missing(info, file.name))
    return new


def _is_wanted(info: Info, file: File) -> bool:
    path = find(info, file.name)
    if path is None:
        return True
    wrong = find_problem(file, path)
    if wrong and path.parent != cache_folder(info):
        raise FileError(path, f"hides the fetched file and should be moved away: {wrong}")
    return bool(wrong)


def _fetch_url(url: str, files: list[File], folder: Path, report: Report) -> list[Path]:
    """Fetch what one address gives: a file, or an archive from which members are taken."""
    first = files[0]
    name = Path(urlsplit(url).path).name if first.inner else first.name
    part = folder / f"{name}.part"
    _download(url, part, lambda done, total: report(name, done, total))
    if not first.inner:
        return [_keep(first, part)]
    try:
        return [_keep(file, _extract(part, file)) for file in files]
    finally:
        for left in (name, *(file.name for file in files)):
            (folder / f"{left}.part").unlink(missing_ok=True)


def _download(url: str, part: Path, report: Callable[[int, int | None], None]) -> None:
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
                    report(done, total)
    except HTTPError as error:
        error.close()
        if not (done and error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE):
            raise FetchError(f"{url} answered {error.code} {error.reason}") from None
        # nothing is left to send: the part is whole, or its checksum will tell
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise FetchError(f"{url}: {reason}; fetch again to go on") from None
    if total is not None and done < total:
        raise FetchError(f"{url}: broke off after {done} of {total} bytes; fetch again to go on")


def _extract(archive: Path, file: File) -> Path:
    """Write one member of an archive beside it; names inside the archive decide no path."""
    assert file.inner is not None, "only members of archives are extracted"
    part = archive.parent / f"{file.name}.part"
    with explain_damage(archive), part.open("wb") as out:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as box, box.open(file.inner) as member:
                shutil.copyfileobj(member, out)
        else:
            with tarfile.open(archive) as tape:
                extracted = tape.extractfile(file.inner)
                if extracted is None:
                    raise ValueError(f"{file.inner} is not a file")
                shutil.copyfileobj(extracted, out)
    return part


def _keep(file: File, part: Path) -> Path:
    """Give a finished download its name, if it is the right file."""
    wrong = find_problem(file, part)
    if wrong:
        part.unlink()
        raise FetchError(f"{file.name} from {file.url} was not kept: {wrong}")
    return part.replace(part.parent / file.name)
