"""The researcher's pages that show: rendered on the server, at most seconds old."""

import json
from collections.abc import Callable, Sequence
from typing import Annotated, Any
from urllib.parse import urlencode

import numpy as np
from fastapi import Query
from markupsafe import Markup
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.responses import Response

from softlabel.annotators import Card
from softlabel.records import format_time
from softlabel.serve.participant.plans import describe_more, media_address
from softlabel.serve.researcher import allocation, charts, wording
from softlabel.serve.researcher.charts import answer_in_words, in_words
from softlabel.serve.researcher.login import HOME
from softlabel.serve.researcher.overview import LiveOverview, Overview
from softlabel.serve.researcher.questions import read_details, word_answers
from softlabel.serve.researcher.sample import (
    Reader,
    label_statements,
    list_modes,
    statements,
    to_seconds,
)
from softlabel.serve.site import Site
from softlabel.store import FINAL_STAGES, ResponseRow
from softlabel.study import Item, Study
from softlabel.tables import Floats

LATEST, MANY = 8, 100  # answers on the overview, and on the page of answers
FLAGGED = 5  # people on the overview
PEOPLE_PER_PAGE, ITEMS_PER_PAGE = 100, 24
MOST_BARS = 12  # people under an item
NAME = 8  # characters of a pseudonym beside a bar
ORDERS = {
    "disagreement": "most disagreement first",
    "fewest": "fewest answers first",
    "most": "most answers first",
    "given": "as in the study",
    "checks": "checks and practice",
}

Number = Annotated[int, Query(ge=1, le=10**6)]
Text = Annotated[str, Query(max_length=200)]
Before = Annotated[int | None, Query(ge=1, le=2**53)]  # the number of a row


class Pages:
    """Handlers are plain functions: they run in threads beside the loop that serves answers."""

    def __init__(self, site: Site, live: LiveOverview) -> None:
        self.site, self.live = site, live
        self.reader = Reader(site.study)

    def overview(self) -> Response:
        """How far the study is, how good its answers are, what it costs."""
        overview, study = self.live.overview(), self.site.study
        insight = overview.insight
        flagged = [person for person in overview.people() if person.flags]
        wanted = overview.counts.per_item_wanted
        over_time, over_time_note = "", wording.LATER
        if insight is not None:
            over_time = charts.answers_over_time(insight.speed)
            over_time_note = f"Targets per {insight.speed.unit}, of {wording.scope(insight)}."
        per_item = charts.answers_per_item(overview.counts.histogram, wanted)
        return self.render(
            "overview",
            tiles=wording.make_tiles(overview),
            per_item=Markup(per_item),
            wanted_note=wording.wanted_note(study, wanted),
            **self._describe_allocation(overview),
            minutes=wording.minutes_note(overview),
            over_time=Markup(over_time),
            over_time_note=over_time_note,
            time_taken=Markup(charts.time_taken(insight.seconds if insight else ())),
            fields=wording.seconds_rows(insight),
            agreement=wording.agreement_rows(insight),
            agreement_note=wording.agreement_note(insight),
            repeats_and_cost=wording.repeat_and_cost_rows(overview),
            stages=wording.stage_rows(overview),
            flagged=flagged[:FLAGGED],
            flagged_note=wording.flagged_note(overview, len(flagged)),
            latest=self.answer_rows(self.site.store.latest(study.name, LATEST)),
            scope=wording.scope(insight),
            scope_note=wording.scope_note(insight),
            soon=insight is None,
            arms=insight and insight.arms,
            compares=study.compare is not None,
        )

    def _describe_allocation(self, overview: Overview) -> dict[str, Any]:
        """Return the card of a study that decides live what to ask next."""
        progress = allocation.read_progress(self.site.study, overview.counts)
        if progress is None:
            return {"allocation": None}
        return {
            "allocation": allocation.list_facts(progress),
            "allocation_note": allocation.describe(progress),
            "allocation_chart": Markup(allocation.draw(progress)),
        }

    def items(self, order: Text = "disagreement", find: Text = "", page: Number = 1) -> Response:
        """Each item with everybody's distributions."""
        overview = self.live.overview()
        order = order if order in ORDERS else "disagreement"
        items = sort_items(self.site.study, overview, order, find.strip())
        start, query = (page - 1) * ITEMS_PER_PAGE, {"order": order, "find": find}
        shown = items[start : start + ITEMS_PER_PAGE]
        return self.render(
            "items",
            cards=[self._card(item, start + place) for place, item in enumerate(shown, 1)],
            orders=ORDERS,
            **query,
            first=start + 1,
            **page_links("/items", query, page, len(items), ITEMS_PER_PAGE),
            note=wording.items_note(overview.insight),
        )

    def people(self, page: Number = 1) -> Response:
        """Everybody who answered or skipped, those with most flags first."""
        overview = self.live.overview()
        insight, people = overview.insight, overview.people()
        stages, skipped = overview.counts.stage_of, overview.counts.skipped
        minutes = overview.counts.minutes
        shown = [
            (
                card,
                stages.get(card.annotator, ""),
                skipped.get(card.annotator, 0),
                minutes.get(card.annotator),
            )
            for card in people[(page - 1) * PEOPLE_PER_PAGE : page * PEOPLE_PER_PAGE]
        ]
        return self.render(
            "people",
            rows=[wording.person_row(*numbers) for numbers in shown],
            caption=wording.people_caption(overview, len(people)),
            empty=wording.empty_note(insight),
            scope_note=wording.scope_note(insight),
            soon=insight is None,
            excluded=overview.counts.excluded,
            **page_links("/people", {}, page, len(people), PEOPLE_PER_PAGE),
        )

    def person(self, annotator: str) -> Response:
        """One annotator: numbers, flags and answers."""
        study, store = self.site.study, self.site.store
        # text with a NUL is nobody's name, and PostgreSQL would not even be asked
        session = None if "\0" in annotator else store.session_of(study.name, annotator)
        if session is None:
            raise HTTPException(404)
        overview = self.live.overview()
        known = {card.annotator: card for card in overview.people()}
        person = known.get(annotator) or Card(annotator, 0)
        rows = store.responses_by(study.name, annotator)
        median = overview.insight.median if overview.insight else float("nan")
        times = [(row.timing.active_ms or 0) / 1000 for row in rows if row.skip is None]
        words = {}
        for stage, details in read_details(study, store).items():
            said = word_answers(study, stage, details[annotator]) if annotator in details else []
            words[stage] = [(text, "" if one is None else str(one)) for text, one in said]
        return self.render(
            "person",
            annotator=annotator,
            person=person,
            session=session,
            ended=session.stage in FINAL_STAGES,
            figures=wording.person_figures(person, session, overview.counts.minutes.get(annotator)),
            seconds=Markup(charts.one_by_one(times, median)),
            caption=f"{wording.count(len(rows))} stored, newest first"
            + (f"; the latest {MANY} are shown" if len(rows) > MANY else ""),
            more=f"{HOME}/answers?{urlencode({'person': annotator})}",
            answers=self.answer_rows(rows[::-1][:MANY]),
            words=words,
        )

    def render(self, name: str, **values: Any) -> Response:
        """Render a page; once it is sent, compute what is out of date."""
        tab = {"person": "People"}.get(name, name.capitalize())
        rehearsal = wording.rehearsal_note(self.live.counts().simulated)
        shown = self.site.render(f"research/{name}.html", page=tab, rehearsal=rehearsal, **values)
        shown.background = BackgroundTask(self.live.renew)
        return shown

    def _card(self, item: Item, place: int) -> dict[str, Any]:
        """Describe one item with its answers; file names and gold are for the researcher alone."""
        study = self.site.study
        stored = self.site.store.responses_to(study.name, item.id)
        rows = [row for row in stored if not row.superseded and row.excluded is None]
        first = [row for row in rows if row.kind != "repeat"]
        beliefs = {
            row.annotator: belief
            for row, belief in zip(first, self.read_beliefs(first), strict=True)
            if belief is not None
        }
        mean = np.mean(list(beliefs.values()), axis=0) if beliefs else None
        bars = ""
        if mean is not None:
            few = {name[:NAME]: belief for name, belief in list(beliefs.items())[:MOST_BARS]}
            title = f"What people said about {item.id}"
            bars = charts.beliefs({"everybody": mean} | few, study.labels, title)
        skipped, repeats = sum(row.skip is not None for row in first), len(rows) - len(first)
        given, of = len(first) - skipped, ""
        if item.kind == "target" and study.allocate is None:
            of = f" of {study.per_item}"
        counted = [f"{wording.count(given)}{of} answers" if given != 1 or of else "1 answer"]
        counted += [f"{skipped} skipped"] if skipped else []
        counted += [f"{repeats} repeat{'s' if repeats > 1 else ''}"] if repeats else []
        counted += [f"the first {MOST_BARS} are shown"] if given > MOST_BARS else []
        return {
            "anchor": f"item-{place}",
            "id": item.id,
            "kind": item.kind,
            "image": media_address(item.image),
            "audio": media_address(item.audio),
            "text": item.text,
            "alt": item.alt,
            "files": [file.path.name for file in item.media],
            "markdown": item.markdown,
            **describe_more(item),
            "gold": "" if item.gold is None else in_words(np.array(item.gold), study.labels),
            "counted": ", ".join(counted),
            "pooled": "" if mean is None else in_words(mean, study.labels),
            "beliefs": Markup(bars),
            "branches": wording.branches_note([self.reader.read_answer(row) for row in first]),
        }

    def read_beliefs(self, rows: Sequence[ResponseRow]) -> list[Floats | None]:
        """Return each row's distribution over the labels; None where it has none."""
        answers = [self.reader.read(row) for row in rows]
        given = statements(self.site.study.labels, answers)
        soft = iter(label_statements(given, list_modes(answers)).soft() if len(given) else ())
        return [None if one.answer is None else next(soft) for one in answers]

    def answer_rows(self, rows: Sequence[ResponseRow]) -> list[dict[str, str]]:
        """Describe stored answers in their order."""
        described = []
        for row, belief in zip(rows, self.read_beliefs(rows), strict=True):
            said = self.reader.read_answer(row)
            if row.skip is not None:
                answer = f"skipped: {row.skip.replace('_', ' ')}"
            elif belief is None or said is None:
                answer = "cannot be read"
            else:
                answer = answer_in_words(said, belief, self.site.study.labels)
            notes = (
                ("late", row.late),
                ("replaced", row.superseded),
                ("left out", row.excluded is not None),
            )
            described.append(
                {
                    "time": wording.moment(row.received_at, self.site.now()),
                    "iso": format_time(row.received_at),
                    "item": row.item,
                    "item_link": f"{HOME}/items?{urlencode({'find': row.item})}",
                    "annotator": row.annotator,
                    "kind": row.kind,
                    "note": ", ".join(name for name, holds in notes if holds),
                    "answer": answer,
                    "comment": read_comment(row.payload),
                    "seconds": wording.seconds(to_seconds(row.timing.active_ms)),
                }
            )
        return described


def read_comment(payload: str) -> str:
    """Return what the person wrote about the item, or nothing."""
    text = json.loads(payload).get("comment") if '"comment"' in payload else None
    return text.strip() if isinstance(text, str) else ""


def sort_items(study: Study, overview: Overview, order: str, find: str) -> list[Item]:
    """Return the items whose id matches ``find``, or all in the order asked for."""
    others = [*study.checks, *study.practice]
    if find:
        items = [*study.items, *others]
        exact = [item for item in items if item.id == find]
        return exact or [item for item in items if find.casefold() in item.id.casefold()]
    distance = overview.insight.disagreement if overview.insight is not None else {}
    answers = overview.counts.per_item
    keys: dict[str, Callable[[Item], float]] = {
        "disagreement": lambda item: -distance.get(item.id, -1.0),
        "fewest": lambda item: answers.get(item.id, 0),
        "most": lambda item: -answers.get(item.id, 0),
        "given": lambda item: 0,
    }
    return others if order == "checks" else sorted(study.items, key=keys[order])


def page_links(
    path: str, query: dict[str, str], page: int, total: int, size: int
) -> dict[str, str]:
    """Return the links to the pages before and after, and the position of this one."""

    def link(number: int) -> str:
        kept = {key: value for key, value in query.items() if value}
        return f"{HOME}{path}?{urlencode(kept | {'page': number})}"

    first, last = (page - 1) * size + 1, min(page * size, total)
    return {
        "before": link(page - 1) if page > 1 else "",
        "after": link(page + 1) if last < total else "",
        "where": f"{first} to {last} of {wording.count(total)}" if last >= first else "",
    }
