"""Downloads: written while they are sent, in constant memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fastapi import Depends
from fastapi.routing import APIRouter
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, Response, StreamingResponse

from softlabel.serve import monitor
from softlabel.serve.monitor import Watch, words
from softlabel.serve.research import notes
from softlabel.serve.research.door import HOME, Door
from softlabel.serve.site import Site

JSONL, CSV, PARQUET = "responses.jsonl", "responses.csv", "responses.parquet"
COLLINS, PEOPLE = "human_soft_labels_data.json", "people.csv"
TYPES = {
    JSONL: "application/x-ndjson",
    CSV: "text/csv; charset=utf-8",
    PARQUET: "application/vnd.apache.parquet",
    COLLINS: "application/json",
    PEOPLE: "text/csv; charset=utf-8",
}
WHAT = {
    JSONL: "Every answer exactly as the browser sent it, with what was shown and all times. "
    "The command softlabel label reads it.",
    CSV: "One row per answer, for spreadsheets and R. Text that a spreadsheet would run as a "
    "formula begins with an apostrophe.",
    PARQUET: "The same table with types, for data frames.",
    COLLINS: "The published shape of CIFAR-10S: records by item, without annotators, practice, "
    "checks and repeats.",
    PEOPLE: "One row per person: how far they came, seconds, agreement, checks, flags, and what "
    "they said at the end.",
}


@dataclass(frozen=True)
class File:
    """One way to take the answers home."""

    name: str
    what: str
    possible: bool = True


class Downloads:
    """The page that offers them, and the files."""

    def __init__(self, site: Site, door: Door, watch: Watch) -> None:
        self.site, self.door, self.watch = site, door, watch

    def router(self) -> APIRouter:
        router = APIRouter(prefix=f"{HOME}/export", dependencies=[Depends(self.door.require)])
        router.add_api_route(
            "", self.page, methods=["GET"], response_class=HTMLResponse, responses={303: {}}
        )
        router.add_api_route(
            "/{name}",
            self.send,
            methods=["GET"],
            response_class=Response,
            responses={303: {}, 404: {}},
        )
        return router

    def page(self) -> Response:
        """What there is to download."""
        stored = self.site.store.progress(self.site.study.name).responses
        count = f"{words.count(stored)} answers are stored, practice, checks and repeats included."
        return self.site.render(
            "research/export.html",
            page="Export",
            rehearsal=notes.rehearsal(self.watch.standing().simulated),
            count=count,
            files=self._files(),
            folder=self.site.study.folder.name,
        )

    def send(self, name: str) -> Response:
        """All answers as one file."""
        study, store = self.site.study, self.site.store
        refused = name == COLLINS and monitor.refuse_json(study) is not None
        if name not in TYPES or refused:
            raise HTTPException(404)
        headers = {"content-disposition": f'attachment; filename="{study.name}-{name}"'}
        if name == PARQUET:
            return self._parquet(headers)
        if name == PEOPLE:
            self.watch.renew()
            table = monitor.roster(study, store, self.watch.overview())
            return Response(table, media_type=TYPES[name], headers=headers)
        chunks: Iterator[bytes] = monitor.chunks(study, store, name.rpartition(".")[2])
        return StreamingResponse(chunks, media_type=TYPES[name], headers=headers)

    def _parquet(self, headers: dict[str, str]) -> Response:
        """A format that begins with its end: it is made in a file, which is then removed."""
        folder = tempfile.TemporaryDirectory(prefix="softlabel-")
        path = Path(folder.name) / PARQUET
        monitor.export(self.site.study, self.site.store, path)
        return FileResponse(
            path,
            media_type=TYPES[PARQUET],
            headers=headers,
            background=BackgroundTask(folder.cleanup),
        )

    def _files(self) -> list[File]:
        refusal = monitor.refuse_json(self.site.study)
        collins = WHAT[COLLINS] + (f" Not for this study: {refusal}." if refusal else "")
        told = WHAT | {COLLINS: collins}
        return [File(name, what, refusal is None or name != COLLINS) for name, what in told.items()]
