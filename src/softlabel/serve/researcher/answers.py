"""All answers with filters, and what people wrote: comments on items, and the last questions."""

from datetime import UTC, datetime, tzinfo
from typing import Annotated, Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fastapi import Query
from starlette.responses import Response

from softlabel.records import format_time
from softlabel.serve.researcher import wording
from softlabel.serve.researcher.login import HOME
from softlabel.serve.researcher.pages import (
    MANY,
    Before,
    Number,
    Pages,
    Text,
    page_links,
    read_comment,
)
from softlabel.serve.researcher.questions import word_answers
from softlabel.store import FLAGS, Filters, ResponseRow

MOST_READ = 5000  # answers that are looked through for a page of those with one label on top
PEOPLE_PER_PAGE = 50
FLAG_NAMES = {
    "late": "came late",
    "replaced": "replaced by a later answer",
    "excluded": "of people left out",
    "skipped": "skipped",
    "repeat": "repeats",
}
Zone = Annotated[str, Query(max_length=60)]
Moment = Annotated[str, Query(max_length=40)]


class AnswerPages:
    """Handlers of the answers and of what people wrote."""

    def __init__(self, pages: Pages) -> None:
        self.pages, self.site = pages, pages.site

    def answers(  # noqa: PLR0913  one parameter per field of the form
        self,
        item: Text = "",
        person: Text = "",
        label: Text = "",
        flag: Text = "",
        since: Annotated[Moment, Query(alias="from")] = "",
        until: Annotated[Moment, Query(alias="to")] = "",
        zone: Zone = "",
        before: Before = None,
    ) -> Response:
        """The answers that pass the filters, newest first."""
        form = {"item": item, "person": person, "label": label, "flag": flag}
        form |= {"from": since, "to": until, "zone": zone}
        form = {name: value.strip() for name, value in form.items()}
        filters, wrong = self._read_filters(form)
        rows: list[ResponseRow] = []
        last: int | None = None
        if not wrong:
            rows, last = self._find(filters, before)
        kept = {name: value for name, value in form.items() if value}
        counts = self.pages.live.counts()
        return self.pages.render(
            "answers",
            answers=self.pages.answer_rows(rows),
            form=form,
            flags=FLAG_NAMES,
            labels=self.site.study.labels,
            wrong=wrong,
            filtered=any(value for name, value in kept.items() if name != "zone"),
            skips=counts.skips,
            newest=f"{HOME}/answers?{urlencode(kept)}" if before is not None else "",
            earlier="" if last is None else f"{HOME}/answers?{urlencode(kept | {'before': last})}",
        )

    def comments(self, before: Before = None, page: Number = 1) -> Response:
        """What people wrote, newest first: about items, and at the end."""
        study, store, now = self.site.study, self.site.store, self.site.now()
        rows = store.commented(study.name, before=before, most=MANY)
        written = [(row, read_comment(row.payload)) for row in rows]
        about = [
            {
                "time": wording.moment(row.received_at, now),
                "iso": format_time(row.received_at),
                "item": row.item,
                "annotator": row.annotator,
                "text": text,
            }
            for row, text in written
            if text
        ]
        ends = sorted(store.debriefs(study.name), key=lambda event: -event.seq)
        start = (page - 1) * PEOPLE_PER_PAGE
        said = [
            {
                "time": wording.moment(event.at, now),
                "iso": format_time(event.at),
                "annotator": event.annotator,
                "answers": [(q, a) for q, a in word_answers(study, "debrief", event.detail) if a],
            }
            for event in ends[start : start + PEOPLE_PER_PAGE]
        ]
        last = rows[-1].seq if len(rows) == MANY else None
        return self.pages.render(
            "comments",
            about=about,
            said=said,
            people=wording.count(len(ends)),
            newest=f"{HOME}/comments" if before is not None else "",
            earlier="" if last is None else f"{HOME}/comments?before={last}",
            **page_links("/comments", {}, page, len(ends), PEOPLE_PER_PAGE),
        )

    def _read_filters(self, form: dict[str, str]) -> tuple[Filters, str]:
        """Return what the form asks for, or a sentence on what cannot be read in it."""
        zone, wrong = read_zone(form["zone"]), ""
        times: dict[str, float | None] = {}
        for name in ("from", "to"):
            try:
                times[name] = read_moment(form[name], zone)
            except ValueError:
                wrong = f"{form[name]!r} is no time; write it as 2026-05-31T18:00."
        if form["flag"] and form["flag"] not in FLAGS:
            wrong = f"{form['flag']!r} is no flag; there are {', '.join(FLAGS)}."
        if form["label"] and form["label"] not in self.site.study.labels:
            wrong = f"{form['label']!r} is no label of this study."
        if any("\0" in value for value in form.values()):
            wrong = "A filter contains a NUL character."
        if wrong:
            return Filters(), wrong
        flag: Any = form["flag"] or None
        return Filters(
            item=form["item"] or None,
            annotator=form["person"] or None,
            mentions=form["label"] or None,
            flag=flag,
            since=times["from"],
            until=times["to"],
        ), ""

    def _find(self, filters: Filters, before: int | None) -> tuple[list[ResponseRow], int | None]:
        """Return a page of answers, and the number before which the next page begins.

        The store finds answers that mention a label; here only those are kept that give it most.
        """
        store, name = self.site.store, self.site.study.name
        found: list[ResponseRow] = []
        seen = 0
        while True:
            rows = store.find_responses(name, filters, before=before, most=MANY)
            chosen = self._keep_top(rows, filters.mentions)
            room = MANY - len(found)
            found += chosen[:room]
            if len(chosen) > room:
                return found, found[-1].seq
            if len(rows) < MANY:
                return found, None
            before, seen = rows[-1].seq, seen + len(rows)
            if len(found) >= MANY or seen >= MOST_READ:
                return found, before

    def _keep_top(self, rows: tuple[ResponseRow, ...], label: str | None) -> list[ResponseRow]:
        if label is None:
            return list(rows)
        place = self.site.study.labels.index(label)
        beliefs = self.pages.read_beliefs(rows)
        pairs = zip(rows, beliefs, strict=True)
        return [row for row, one in pairs if one is not None and one[place] == one.max()]


def read_zone(name: str) -> tzinfo:
    """Return the reader's time zone; UTC if it is not known here."""
    try:
        return ZoneInfo(name) if name else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def read_moment(text: str, zone: tzinfo) -> float | None:
    """Return a time of a form in seconds since 1970; None for nothing.

    >>> read_moment("1970-01-01T01:00", UTC)
    3600.0
    """
    if not text:
        return None
    at = datetime.fromisoformat(text)
    return (at if at.tzinfo else at.replace(tzinfo=zone)).timestamp()
