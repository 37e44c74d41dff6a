"""Downloads: answers as files, written while they are sent, and a table of all people."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Callable, Mapping
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
from softlabel.serve.site import Site
from softlabel.store import Session, Store
from softlabel.study import Study

PARQUET, COLLINS = "responses.parquet", "human_soft_labels_data.json"
PEOPLE = "people.csv"
FILES = {  # the media type and the description of each
    "responses.jsonl": (
        "application/x-ndjson",
        "Every answer exactly as the browser sent it, with what was shown and all times. "
        "The command softlabel label reads it.",
    ),
    "responses.csv": (
        "text/csv; charset=utf-8",
        "One row per answer, for spreadsheets and R. Text that a spreadsheet would run as a "
        "formula begins with an apostrophe.",
    ),
    PARQUET: ("application/vnd.apache.parquet", "The same table with types, for data frames."),
    COLLINS: (
        "application/json",
        "The published shape of CIFAR-10S: records by item, without annotators, practice, "
        "checks and repeats.",
    ),
    PEOPLE: (
        "text/csv; charset=utf-8",
        "One row per person: how far they came, seconds, agreement, checks, flags, and what "
        "they said at the end.",
    ),
}


class Downloads:
    """The page that offers the files, and the files."""

    def __init__(self, site: Site, live: LiveOverview) -> None:
        self.site, self.live = site, live

    def page(self) -> Response:
        """What there is to download."""
        study = self.site.study
        stored = self.site.store.progress(study.name).responses
        refusal = refuse_json(study)
        files = []
        for name, (_, what) in FILES.items():
            possible = refusal is None or name != COLLINS
            more = "" if possible else f" Not for this study: {refusal}."
            files.append({"name": name, "what": what + more, "possible": possible})
        return self.site.render(
            "research/export.html",
            page="Export",
            rehearsal=wording.rehearsal_note(self.live.counts().simulated),
            count=f"{wording.count(stored)} answers are stored, practice, checks and repeats "
            "included.",
            files=files,
            folder=study.folder.name,
        )

    def send(self, name: str) -> Response:
        """All answers as one file."""
        study, store = self.site.study, self.site.store
        if name not in FILES or (name == COLLINS and refuse_json(study) is not None):
            raise HTTPException(404)
        headers = {"content-disposition": f'attachment; filename="{study.name}-{name}"'}
        media_type = FILES[name][0]
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
        text = chunks(study, store, name.rpartition(".")[2])
        return StreamingResponse(text, media_type=media_type, headers=headers)


# ── people ───────────────────────────────────────────────────────────────────────────────────

COLUMNS: dict[str, Callable[[Session, Card], Cell]] = {
    "annotator": lambda session, person: session.annotator,
    "simulated": lambda session, person: session.simulated,
    "session": lambda session, person: session.id,
    "stage": lambda session, person: session.stage,
    "entered_at": lambda session, person: format_time(session.entered_at),
    "quiz_tries": lambda session, person: session.quiz_tries,
    "answered": lambda session, person: session.answered,
    "skipped": lambda session, person: session.skipped,
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
    without an answer in it.  The questions of the debrief are the last columns.
    """
    text = io.StringIO(newline="")
    table = csv.writer(text)
    table.writerow(map(escape_formula, (*COLUMNS, *(question.text for question in study.debrief))))
    known = {one.annotator: one for one in overview.people()}
    debriefs = {event.annotator: event.detail for event in store.debriefs(study.name)}
    for session in store.sessions(study.name):
        name = session.annotator
        person = known.get(name) or Card(name, 0)
        cells = [column(session, person) for column in COLUMNS.values()]
        cells += [answer for _, answer in debrief_answers(study, debriefs.get(name, {}))]
        known_cells = (None if cell != cell else cell for cell in cells)  # NaN is empty
        table.writerow(map(escape_formula, known_cells))
    return text.getvalue().encode()


def debrief_answers(study: Study, detail: Mapping[str, object]) -> list[tuple[str, Cell]]:
    """Return the questions of the debrief with one person's answers, None for those left out."""
    answers = ((asked.text, detail.get(f"Q{n}")) for n, asked in enumerate(study.debrief))
    return [(text, None if answer is None else str(answer)) for text, answer in answers]
