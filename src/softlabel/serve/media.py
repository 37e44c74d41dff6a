"""Pictures and recordings: addressed by the hash of their content, typed by their first bytes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response

from softlabel.study import Item, Media, Study

FOR_EVER = "private, max-age=31536000, immutable"
SMALL = 256 * 1024  # bytes that are read at once: handing them to a thread takes longer


@dataclass(frozen=True)
class Found:
    """A file as it was when the server started."""

    media: Media
    stat: os.stat_result


class MediaTable:
    """From hash to file.  What is not in the table cannot be asked for, whatever its path."""

    def __init__(self, study: Study) -> None:
        self._found = dict(_table((*study.items, *study.practice, *study.checks)))

    def add_to(self, app: FastAPI) -> None:
        app.add_api_route(
            "/media/{sha256}", self.send, response_class=Response, responses={404: {}}
        )

    async def send(self, sha256: str) -> Response:
        """A picture or a recording of the study."""
        found = self._found.get(sha256)
        if found is None or not _is_unchanged(found):
            raise HTTPException(404)
        headers = {
            "cache-control": FOR_EVER,
            "content-disposition": "inline",
            "etag": f'"{sha256}"',
        }
        path, mime = found.media.path, found.media.mime
        if mime.startswith("image/") and found.stat.st_size <= SMALL:
            return Response(path.read_bytes(), headers=headers, media_type=mime)
        return FileResponse(path, media_type=mime, stat_result=found.stat, headers=headers)


def address(media: Media | None) -> str | None:
    """Where the browser finds it."""
    return None if media is None else f"/media/{media.sha256}"


def _table(items: Iterable[Item]) -> Iterable[tuple[str, Found]]:
    for item in items:
        for media in item.media:
            yield media.sha256, Found(media, media.path.stat())


def _is_unchanged(found: Found) -> bool:
    """A file that was edited since is not what its hash says, so it is not sent."""
    try:
        now = found.media.path.stat()
    except OSError:
        return False
    then = found.stat
    return (now.st_size, now.st_mtime_ns) == (then.st_size, then.st_mtime_ns)
