"""Our own scripts and styles, read once at start; nothing else can be asked for."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

FOLDER = Path(__file__).parent / "static"
TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".json": "application/json",
    ".woff2": "font/woff2",
}
ICON = "icon.svg"
AGAIN = "no-cache"  # kept by the browser, but asked about: a new version shows at once


@dataclass(frozen=True)
class File:
    """A file as it is sent."""

    plain: bytes
    packed: bytes
    type: str
    etag: str


class StaticTable:
    """From name to content."""

    def __init__(self, folder: Path = FOLDER) -> None:
        paths = [path for path in sorted(folder.rglob("*")) if path.suffix in TYPES]
        self.files = {path.relative_to(folder).as_posix(): _read(path) for path in paths}

    def add_to(self, app: FastAPI) -> None:
        app.add_api_route(
            "/static/{name:path}", self.send, response_class=Response, responses={404: {}}
        )
        app.add_api_route("/favicon.ico", self.icon, include_in_schema=False)

    async def icon(self, request: Request) -> Response:
        """For browsers that ask before they have read the page."""
        return await self.send(request, ICON)

    async def send(self, request: Request, name: str) -> Response:
        """A script or a style of the pages."""
        file = self.files.get(name)
        if file is None:
            raise HTTPException(404)
        headers = {"cache-control": AGAIN, "etag": file.etag, "vary": "accept-encoding"}
        if request.headers.get("if-none-match") == file.etag:
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers["content-encoding"] = "gzip"
            return Response(file.packed, headers=headers, media_type=file.type)
        return Response(file.plain, headers=headers, media_type=file.type)


def _read(path: Path) -> File:
    plain = path.read_bytes()
    etag = f'"{sha256(plain).hexdigest()[:32]}"'
    return File(plain, gzip.compress(plain, 6, mtime=0), TYPES[path.suffix], etag)
