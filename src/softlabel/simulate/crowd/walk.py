"""One simulated person in front of one browser, from the first page to the last.

The walk uses nothing but the pages and the interface that a browser uses: it reads which form is
on the page, sends what a person would send, and keeps an answer until it is acknowledged.
"""

from __future__ import annotations

import asyncio
import re
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from softlabel.errors import SoftlabelError
from softlabel.simulate.crowd import timing
from softlabel.simulate.crowd.http import Reply
from softlabel.simulate.crowd.line import Line, Refused
from softlabel.simulate.crowd.log import End, Log, Outcome
from softlabel.simulate.crowd.people import Habits, Somebody
from softlabel.simulate.crowd.truth import Truth
from softlabel.study import Question, Study

PAGES = 100  # more pages than this before the first item means that they go in circles
FORM = re.compile(r'<form\b[^>]*\baction="/(consent|instructions|quiz|debrief)"')
NEXT = re.compile(r'<a\b(?=[^>]*\bclass="[^"]*\bprimary\b)[^>]*\bhref="(/\?page=\d+)"')
TASK = re.compile(r'<main\b[^>]*\bid="task"')


class Left(Exception):
    """This person has had enough."""


@dataclass(frozen=True, eq=False)
class Site:
    """A running study, and what people need to take part in it."""

    url: str
    study: Study
    truth: Truth
    habits: Habits


class Walk:
    """One visit: ``enter``, then ``work`` and ``ask_more`` by turns until it has an ``end``."""

    def __init__(self, site: Site, somebody: Somebody, log: Log) -> None:
        self.site, self.somebody, self.log = site, somebody, log
        self.line = Line(site.url, log)
        self.acknowledged: list[str] = []
        self.end: End | None = None
        self._plan: dict[str, Any] = {}
        self._answered: set[int] = set()
        self._looks: Counter[str] = Counter()  # how often each item was seen
        self._media: set[str] = set()
        self._quizzes = 0
        self._leaving = asyncio.Event()
        self._last: int | None = None  # how many answers it takes until this person has enough

    @property
    def outcome(self) -> Outcome:
        return Outcome(self.end or "failed", tuple(self.acknowledged))

    async def enter(self, entrance: str) -> None:
        """Consent, instructions, quiz, and the first items."""
        async with self._to_the_end():
            page = await self._forms(await self._page(entrance))
            if not TASK.search(page.text):
                self.end = "turned away"
                return
            await self._get_plan()
            if self._plan["study"] != self.site.study.name:
                raise Refused(f"{self.site.url} serves the study {self._plan['study']!r}")
            before = (one for one in self._plan["showings"] if one["answered"])
            self._looks.update(self.site.truth.item(one) for one in before)
            total = self._plan["total"] - self._plan["answered"]
            luck = self.somebody.draw("leave")
            if luck.random() < self.site.habits.leavers:
                self._last = int(luck.integers(1, max(2, total)))
            self.log.expect(self._last or total)

    async def work(self) -> None:
        """Answer what is open; then leave, or finish if there is nothing more to come."""
        async with self._to_the_end():
            for showing in self.open():
                if len(self._answered) == self._last:
                    raise Left
                await self._answer(showing)
            if not self._plan["more"]:
                await self._finish()

    async def ask_more(self) -> None:
        """Ask for the next items."""
        async with self._to_the_end():
            await self._get_plan()

    def leave(self) -> None:
        """Have enough: whoever is thinking goes, an answer that is on its way still arrives."""
        self._leaving.set()

    async def stay(self) -> None:
        """All that comes after ``enter``, without waiting for anybody."""
        while self.end is None:
            await self.work()
            if self.end is None:
                await self.ask_more()

    def open(self) -> list[dict[str, Any]]:
        """What this person holds and has not answered."""
        return [
            showing
            for showing in self._plan["showings"]
            if not showing["answered"] and showing["position"] not in self._answered
        ]

    @asynccontextmanager
    async def _to_the_end(self) -> AsyncIterator[None]:
        """A failure ends the visit, and whatever ends it closes the browser."""
        try:
            yield
        except Left:
            self.end = "left"
        except (OSError, SoftlabelError) as error:
            self.log.errors[f"gave up: {type(error).__name__}: {error}"] += 1
            self.end = "failed"
        finally:
            if self.end is not None:
                await self.line.close()

    # ── pages ────────────────────────────────────────────────────────────────────────────────

    async def _forms(self, page: Reply) -> Reply:
        """Fill in every form, up to a page that has none."""
        for number in range(PAGES):
            more, form = NEXT.search(page.text), FORM.search(page.text)
            if more is None and form is None:
                return page
            await self._think("page", number)
            if more is not None:
                page = await self._page(more[1])
            elif form is not None:
                page = await self._submit(form[1])
        raise Refused("the pages of the study go in circles")

    async def _submit(self, form: str) -> Reply:
        study = self.site.study
        fields = {}
        if form == "consent":
            fields = {"adult": "on", "read": "on", "agree": "on"}
        elif form == "quiz" and study.quiz is not None:
            fields = self._quiz_answers(study.quiz.questions, study.quiz.tries)
        elif form == "debrief":
            fields = {f"d{i}": _remark(one) for i, one in enumerate(study.debrief)}
        return await self._follow(await self.line.post_form(f"/{form}", fields))

    def _quiz_answers(self, questions: tuple[Question, ...], tries: int) -> dict[str, str]:
        self._quizzes += 1
        unsure = self.somebody.draw("quiz").random() < self.site.habits.fail_quiz
        wrong = int(self._quizzes == 1 and tries > 1 and unsure)
        right = [((one.right or 0) + wrong) % len(one.options) for one in questions]
        return {f"q{i}": str(option) for i, option in enumerate(right)}

    async def _page(self, path: str) -> Reply:
        return await self._follow(await self.line.get("page", path))

    async def _follow(self, reply: Reply) -> Reply:
        return await self._page(reply.headers["location"]) if reply.status == 303 else reply

    # ── items ────────────────────────────────────────────────────────────────────────────────

    async def _get_plan(self) -> None:
        self._plan = (await self.line.get("plan", "/api/plan")).json()

    async def _finish(self) -> None:
        gate = (await self.line.post_json("page", "/api/finish", {})).json()
        if gate["open"]:
            await self._forms(await self._page("/"))
            self.end = "finished"
        elif self._answered.issuperset(gate["missing"]):
            raise Refused(f"POST /api/finish misses {gate['missing']}, which were acknowledged")

    async def _answer(self, showing: Mapping[str, Any]) -> None:
        study, truth = self.site.study, self.site.truth
        item = truth.item(showing)
        self._looks[item] += 1
        occasion = f"{showing['phase']} {self._looks[item]}"
        await self._look_at(showing)
        await self._think(item, occasion)
        said = self.somebody.says(item, truth.of[item], occasion, study.mode, study.labels)
        times = timing.block(said, study.mode, self.somebody.draw(item, occasion, "timing"))
        await self._send(
            {
                "response_uuid": str(uuid.uuid4()),
                "position": showing["position"],
                "answer": said,
                "skip": None,
                "touched": True,
                "supersedes": None,
                "timing": times,
                "events": timing.events(times),
                "client": timing.CLIENT,
                "delivery": {"attempt": 0, "queued_ms": 0},
            },
            f"{item} {occasion}",
        )
        self._answered.add(showing["position"])

    async def _think(self, *about: object) -> None:
        """Take the time that a person takes before they act."""
        mean = self.site.habits.think
        if mean:
            with suppress(TimeoutError):
                async with asyncio.timeout(self.somebody.draw(*about, "think").exponential(mean)):
                    await self._leaving.wait()
        if self._leaving.is_set():
            raise Left

    async def _look_at(self, showing: Mapping[str, Any]) -> None:
        """Fetch what the item shows, unless this browser has it already."""
        for address in (showing["image"], showing["audio"]):
            if address is not None and address not in self._media:
                await self.line.get("media", address)
                self._media.add(address)

    async def _send(self, answer: dict[str, Any], occasion: str) -> None:
        """Send an answer through a network as bad as it is set to be."""
        habits = self.site.habits
        broken, twice, share = self.somebody.draw(occasion, "network").random(3)
        if broken < habits.disconnects:
            await self.line.break_off(answer, 1.0 if share > 0.5 else share)
        await self.line.deliver(answer)
        self.acknowledged.append(answer["response_uuid"])
        self.log.acknowledge()
        if twice < habits.duplicates:
            await self.line.deliver(answer)


def _remark(question: Question) -> str:
    return "0" if question.options else "(a simulated person)"
