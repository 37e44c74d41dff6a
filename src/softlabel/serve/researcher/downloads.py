"""Downloads: answers as files, written while they are sent, and a table of all people."""

import csv
import io
import tempfile
from collections.abc import Callable
from pathlib import Path

from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response, StreamingResponse

from softlabel.annotators import Card
from softlabel.io import Cell, escape_formula
from softlabel.records import format_time
from softlabel.serve.researcher import wording
from softlabel.serve.researcher.export import chunks, export_answers, refuse_json
from softlabel.serve.researcher.overview import LiveOverview, Overview
from softlabel.serve.researcher.questions import (
    list_cells,
    list_columns,
    read_details,
    write_questions,
)
from softlabel.serve.site import Site
from softlabel.store import Session, Store
from softlabel.study import Study

PARQUET, COLLINS, PEOPLE = "responses.parquet", "human_soft_labels_data.json", "people.csv"
QUESTIONS = "questions.jsonl"
FILES = {  # the media type of each; the page describes them
    "responses.jsonl": "application/x-ndjson",
    "responses.csv": "text/csv; charset=utf-8",
    PARQUET: "application/vnd.apache.parquet",
    COLLINS: "application/json",
    PEOPLE: "text/csv; charset=utf-8",
    QUESTIONS: "application/x-ndjson",
}


class Downloads:
    """The page that offers the files, and the files."""

    def __init__(self, site: Site, live: LiveOverview) -> None:
        self.site, self.live = site, live

    def page(self) -> Response:
        """What there is to download."""
        study = self.site.study
        return self.site.render(
            "research/export.html",
            page="Export",
            rehearsal=wording.rehearsal_note(self.live.counts().simulated),
            count=wording.count(self.site.store.progress(study.name).responses),
            refused={COLLINS: refusal} if (refusal := refuse_json(study)) else {},
            folder=study.folder.name,
        )

    def send(self, name: str) -> Response:
        """All answers as one file."""
        study, store = self.site.study, self.site.store
        if name not in FILES or (name == COLLINS and refuse_json(study) is not None):
            raise HTTPException(404)
        headers = {"content-disposition": f'attachment; filename="{study.name}-{name}"'}
        media_type = FILES[name]
        if name == PARQUET:  # cannot be streamed: it is written to a file, which is then removed
            folder = tempfile.TemporaryDirectory(prefix="softlabel-")
            path = Path(folder.name) / PARQUET
            export_answers(study, store, path)
            removal = BackgroundTask(folder.cleanup)
            return FileResponse(path, media_type=media_type, headers=headers, background=removal)
        if name == PEOPLE:
            self.live.renew()
            table = write_roster(study, store, self.live.overview())
            return Response(table, media_type=media_type, headers=headers)
        if name == QUESTIONS:
            lines = (line.encode() for line in write_questions(study, store))
            return StreamingResponse(lines, media_type=media_type, headers=headers)
        text = chunks(study, store, name.rpartition(".")[2])
        return StreamingResponse(text, media_type=media_type, headers=headers)


COLUMNS: dict[str, Callable[[Session, Card], Cell]] = {
    "annotator": lambda session, person: session.annotator,
    "simulated": lambda session, person: session.simulated,
    "session": lambda session, person: session.id,
    "stage": lambda session, person: session.stage,
    "entered_at": lambda session, person: format_time(session.entered_at),
    "quiz_tries": lambda session, person: session.quiz_tries,
    "answered": lambda session, person: session.answered,
    "skipped": lambda session, person: session.skipped,
    "excluded": lambda session, person: session.excluded_at is not None,
    "excluded_because": lambda session, person: session.excluded_because,
    "targets_and_repeats": lambda session, person: person.answers,
    "seconds_median": lambda session, person: person.seconds.median,
    "agreement": lambda session, person: person.agreement,
    "entropy": lambda session, person: person.sharpness,
    "repeats": lambda session, person: person.repeats.pairs,
    "repeats_changed": lambda session, person: person.repeats.changed,
    "repeats_variation": lambda session, person: person.repeats.variation,
    "gold": lambda session, person: person.gold.n,
    "gold_failed": lambda session, person: person.gold.failed,
    "gold_variation": lambda session, person: person.gold.variation,
    "attention": lambda session, person: person.attention.n,
    "attention_failed": lambda session, person: person.attention.failed,
    "flags": lambda session, person: "; ".join(person.flags),
    "remarks": lambda session, person: "; ".join(person.remarks),
}


def write_roster(study: Study, store: Store, overview: Overview) -> bytes:
    """Return one row per person as CSV, in the order in which people came in.

    Formulas are escaped as in the export.  Columns that need the sample are empty for people
    without an answer in it.  The questions before and after the items are the last columns.
    """
    text = io.StringIO(newline="")
    table = csv.writer(text)
    table.writerow(map(escape_formula, (*COLUMNS, *list_columns(study))))
    known = {one.annotator: one for one in overview.people()}
    details = read_details(study, store)
    for session in store.sessions(study.name):
        name = session.annotator
        person = known.get(name) or Card(name, 0)
        cells = [column(session, person) for column in COLUMNS.values()]
        cells += list_cells(study, details, name)
        known_cells = (None if cell != cell else cell for cell in cells)  # NaN is empty
        table.writerow(map(escape_formula, known_cells))
    return text.getvalue().encode()
