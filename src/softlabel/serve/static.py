"""Scripts and styles, read once at start; nothing else can be asked for.

They are our own files in ``static/`` and, under ``modes/``, the scripts of registered modes.
"""

import gzip
import posixpath
import re
from functools import cache
from hashlib import sha256
from pathlib import Path

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from softlabel import elicit, registry
from softlabel.errors import SoftlabelError

FOLDER = Path(__file__).parent / "static"
TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
AGAIN = "no-cache"  # kept by the browser, but asked about: a new version shows at once
IMPORT = re.compile(r'^(?:import|export)\b[^"()=]*"([^"]+)"', re.MULTILINE)


class StaticTable:
    """From name to content, plain and packed, headers and media type."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self.files: dict[str, tuple[bytes, bytes, dict[str, str], str]] = {}
        for name, path in find_files(folder).items():
            plain = path.read_bytes()
            etag = f'"{sha256(plain).hexdigest()[:32]}"'
            headers = {"cache-control": AGAIN, "etag": etag, "vary": "accept-encoding"}
            self.files[name] = plain, pack(plain), headers, TYPES[path.suffix]

    def add_to(self, app: FastAPI) -> None:
        app.get("/static/{name:path}", response_class=Response, responses={404: {}})(self.send)
        app.add_api_route("/favicon.ico", self.icon, include_in_schema=False)

    async def icon(self, request: Request) -> Response:
        """For browsers that ask before they have read the page."""
        return await self.send(request, "icon.svg")

    async def send(self, request: Request, name: str) -> Response:
        """A script or a style of the pages."""
        if name not in self.files:
            raise HTTPException(404)
        plain, packed, headers, kind = self.files[name]
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers = headers | {"content-encoding": "gzip"}
            return Response(packed, headers=headers, media_type=kind)
        return Response(plain, headers=headers, media_type=kind)


@cache  # for every application of a process
def pack(plain: bytes) -> bytes:
    """Return the content of a file as browsers like to get it."""
    return gzip.compress(plain, 6, mtime=0)


def find_files(folder: Path = FOLDER) -> dict[str, Path]:
    """Return every file that is served, by its name below ``/static/``."""
    files = {
        path.relative_to(folder).as_posix(): path
        for path in sorted(folder.rglob("*"))
        if path.suffix in TYPES
    }
    scripts = map(elicit.mode.find_scripts, registry.members("mode").values())
    for path in (elicit.mode.FORM, *sum(scripts, ())):
        other = files.setdefault(f"modes/{path.name}", path)
        if other != path:
            raise SoftlabelError(f"two scripts of modes have the same name: {other} and {path}")
    return files


def list_preloads(mode: elicit.Mode) -> list[str]:
    """Return the scripts that the page of the task imports in this mode, itself excluded.

    The page asks for all of them at once, not for one after the other as it reads their imports.
    """
    files = find_files()
    page = f"modes/{mode.name}.js"
    names: set[str] = set()
    waiting = ["task.js", page if page in files else f"modes/{elicit.mode.FORM.name}"]
    while waiting:
        name = waiting.pop()
        if name in files and name not in names:
            names.add(name)
            for target in IMPORT.findall(files[name].read_text("utf-8")):
                full = posixpath.join("/static", posixpath.dirname(name), target)
                waiting.append(posixpath.normpath(full).removeprefix("/static/"))
    return sorted(names - {"task.js"})
