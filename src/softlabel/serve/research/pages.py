"""The researcher's pages: read only, rendered on the server, true within seconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Depends, Query
from fastapi.routing import APIRouter
from markupsafe import Markup
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from softlabel.metrics import spread
from softlabel.serve.monitor import Overview, Person, Watch, words
from softlabel.serve.monitor.roster import said_at_the_end
from softlabel.serve.monitor.window import Reader
from softlabel.serve.research import browser, charts, figures, notes, persons, tiles
from softlabel.serve.research.door import HOME, Door
from softlabel.serve.research.told import Told, told
from softlabel.serve.site import Site
from softlabel.store import ResponseRow

LATEST, MANY = 8, 100  # answers on the overview, and on the page of answers
FLAGGED = 5  # people on the overview
PER_PAGE = 100  # people

Number = Annotated[int, Query(ge=1, le=10**6)]
Text = Annotated[str, Query(max_length=200)]


class Pages:
    """Handlers are plain functions: they run in threads beside the loop that serves answers."""

    def __init__(self, site: Site, door: Door, watch: Watch) -> None:
        self.site, self.door, self.watch = site, door, watch
        self.reader = Reader(site.study)

    def router(self) -> APIRouter:
        router = APIRouter(
            prefix=HOME,
            dependencies=[Depends(self.door.require)],
            default_response_class=HTMLResponse,
        )
        pages: dict[str, Callable[..., Response]] = {
            "": self.overview,
            "/items": self.items,
            "/people": self.people,
            "/people/{annotator}": self.person,
            "/answers": self.answers,
        }
        for path, page in pages.items():
            router.add_api_route(path, page, methods=["GET"], responses={303: {}})
        return router

    def overview(self) -> Response:
        """How far the study is, how good its answers are, what it costs."""
        found, study = self.watch.overview(), self.site.study
        flagged = [person for person in found.people() if person.flags]
        return self._page(
            "overview",
            tiles=tiles.tiles(found),
            per_item=Markup(charts.answers_per_item(found.standing.histogram, study.per_item)),
            **_over_time(found),
            time_taken=Markup(charts.time_taken(found.insight.seconds if found.insight else ())),
            fields=figures.fields(found.insight),
            agreement=figures.agreement(found.insight),
            agreement_note=notes.agreement_note(found.insight),
            repeats_and_cost=figures.repeats_and_cost(found),
            stages=figures.stages(found),
            flagged=flagged[:FLAGGED],
            flagged_note=notes.flagged_note(found, len(flagged)),
            latest=self._told(self.site.store.latest(study.name, LATEST)),
            scope=notes.scope(found.insight),
            scope_note=notes.scope_note(found.insight),
            soon=found.insight is None,
        )

    def items(self, order: Text = "disagreement", find: Text = "", page: Number = 1) -> Response:
        """Each item with everybody's distributions."""
        found = self.watch.overview()
        order = order if order in browser.ORDERS else "disagreement"
        every = browser.ordered(self.site.study, found, order, find.strip())
        start = (page - 1) * browser.PER_PAGE
        shown = every[start : start + browser.PER_PAGE]
        query = {"order": order, "find": find}
        return self._page(
            "items",
            cards=[
                browser.card(self.reader, self.site.store, item, start + place)
                for place, item in enumerate(shown, 1)
            ],
            orders=browser.ORDERS,
            order=order,
            find=find,
            first=start + 1,
            **_turning("/items", query, page, len(every), browser.PER_PAGE),
            note=notes.items_note(found.insight),
        )

    def people(self, page: Number = 1) -> Response:
        """Everybody who answered or skipped, those with most flags first."""
        found = self.watch.overview()
        every = found.people()
        stages, skipped = found.standing.stage_of, found.standing.skipped
        shown = every[(page - 1) * PER_PAGE : page * PER_PAGE]
        return self._page(
            "people",
            rows=[
                persons.person_row(
                    one, stages.get(one.annotator, ""), skipped.get(one.annotator, 0)
                )
                for one in shown
            ],
            caption=notes.people_caption(found, len(every)),
            empty=notes.none_yet(found.insight),
            scope_note=notes.scope_note(found.insight),
            soon=found.insight is None,
            **_turning("/people", {}, page, len(every), PER_PAGE),
        )

    def person(self, annotator: str) -> Response:
        """One annotator: numbers, flags and answers."""
        study, store = self.site.study, self.site.store
        # text with a NUL is nobody's name, and PostgreSQL would not even be asked
        session = None if "\0" in annotator else store.session_of(study.name, annotator)
        if session is None:
            raise HTTPException(404)
        found = self.watch.overview()
        known = {one.annotator: one for one in found.people()}
        person = known.get(annotator) or Person(annotator, 0, spread([]))
        rows = store.responses_by(study.name, annotator)
        median = found.insight.median if found.insight else float("nan")
        times = [(row.timing.active_ms or 0) / 1000 for row in rows if row.skip is None]
        return self._page(
            "person",
            annotator=annotator,
            person=person,
            figures=persons.person_figures(person, session),
            seconds=Markup(charts.one_by_one(times, median)),
            caption=f"{words.count(len(rows))} stored, newest first",
            answers=self._told(rows[::-1][:MANY]),
            last_words=self._last_words(annotator),
        )

    def answers(self) -> Response:
        """What came in last."""
        rows = self.site.store.latest(self.site.study.name, MANY)
        return self._page("answers", answers=self._told(rows))

    def _told(self, rows: Sequence[ResponseRow]) -> list[Told]:
        return told(self.reader, rows, self.site.now())

    def _last_words(self, annotator: str) -> list[tuple[str, str]]:
        """What the person said at the end, if they came so far."""
        study = self.site.study
        for event in self.site.store.debriefs(study.name):
            if event.annotator == annotator:
                told = said_at_the_end(study, event.detail)
                return [(asked, str(answer or words.NONE)) for asked, answer in told]
        return []

    def _page(self, name: str, **values: Any) -> Response:
        """The page; once it is sent, what is out of date is computed anew."""
        tab = {"person": "People"}.get(name, name.capitalize())
        simulated = notes.rehearsal(self.watch.standing().simulated)
        response = self.site.render(
            f"research/{name}.html", page=tab, rehearsal=simulated, **values
        )
        response.background = BackgroundTask(self.watch.renew)
        return response


def _over_time(found: Overview) -> dict[str, Any]:
    if found.insight is None:
        return {"over_time": "", "over_time_note": notes.LATER}
    speed = found.insight.speed
    note = f"Targets per {speed.unit}, of {notes.scope(found.insight)}."
    return {"over_time": Markup(charts.answers_over_time(speed)), "over_time_note": note}


def _turning(
    path: str, query: dict[str, str], page: int, total: int, per_page: int
) -> dict[str, str]:
    """Links to the pages before and after, and where this one is."""

    def link(number: int) -> str:
        kept = {key: value for key, value in query.items() if value}
        return f"{HOME}{path}?{urlencode(kept | {'page': number})}"

    first, last = (page - 1) * per_page + 1, min(page * per_page, total)
    return {
        "before": link(page - 1) if page > 1 else "",
        "after": link(page + 1) if last < total else "",
        "where": f"{first} to {last} of {words.count(total)}" if last >= first else "",
    }
