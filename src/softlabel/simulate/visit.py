"""One simulated person in front of one browser, from the recruiter's link to the last page.

A visit uses nothing but the pages and the interface that a browser uses: it reads which form is on
the page, sends what a person would send, and keeps an answer until it is acknowledged.
"""

import asyncio
import re
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlencode

from softlabel.errors import SoftlabelError
from softlabel.simulate.client import Log, Refused, Reply, RetryingClient
from softlabel.simulate.people import MEDIA, Habits, Participant, Truth, simulate_timing
from softlabel.study import Question, Recruit, Study

MOST_PAGES = 100  # more pages than this before the first item means that they go in circles
FORM = re.compile(r'<form\b[^>]*\baction="/(consent|questions|instructions|quiz|debrief)"')
NEXT = re.compile(r'<a\b(?=[^>]*\bclass="[^"]*\bprimary\b)[^>]*\bhref="(/\?page=\d+)"')
TASK = re.compile(r'<main\b[^>]*\bid="task"')
CLIENT = {"pointer": "fine", "viewport": [1280, 800], "locale": "en", "app": "softlabel simulate"}
REMARK = "(a simulated person)"
HEX_ID = 24  # digits of an id on Prolific

End = Literal["finished", "left", "turned away", "failed"]
Json = Mapping[str, Any]


class Left(Exception):
    """This person leaves before the end."""


@dataclass(frozen=True, eq=False)
class Site:
    """A running study, and what people need to take part in it."""

    url: str
    study: Study
    truth: Truth
    habits: Habits


@dataclass(frozen=True)
class Outcome:
    """How one person's visit ended, and the ids of the answers that the server acknowledged."""

    end: End
    acknowledged: tuple[str, ...]


class Looks:
    """One person's answers to items, each time they look at one."""

    def __init__(self, site: Site, participant: Participant) -> None:
        self.site, self.participant = site, participant
        self.seen: Counter[str] = Counter()  # how often each item was seen
        self.mode: Any = site.study.mode

    def follow(self, plan: Json) -> None:
        """Answer in the way in which this person is asked, in a study that compares some."""
        if plan.get("arm") is not None:
            self.mode = self.site.study.arms[plan["arm"]].mode

    def look(self, showing: Mapping[str, Any]) -> tuple[str, str]:
        """Return the item of a showing, and the occasion: the phase and the number of the look."""
        item = self.site.truth.identify(showing)
        self.seen[item] += 1
        return item, f"{showing['phase']} {self.seen[item]}"

    def answer(self, item: str, occasion: str) -> dict[str, Any]:
        study, truth = self.site.study, self.site.truth.of[item]
        return self.participant.answer(item, truth, occasion, self.mode, study.labels)


class Visit:
    """One visit: ``enter``, then ``work`` and ``ask_more`` by turns until it has an ``end``."""

    def __init__(self, site: Site, participant: Participant, log: Log) -> None:
        self.site, self.participant, self.log = site, participant, log
        self.client = RetryingClient(site.url, log)
        self.acknowledged: list[str] = []
        self.end: End | None = None
        self._looks = Looks(site, participant)
        self._plan: dict[str, Any] = {}
        self._answered: set[int] = set()
        self._media: set[str] = set()
        self._quizzes = 0
        self._leaving = asyncio.Event()
        self._last: int | None = None  # how many answers this person gives before leaving

    @property
    def outcome(self) -> Outcome:
        return Outcome(self.end or "failed", tuple(self.acknowledged))

    async def enter(self, link: str) -> None:
        """Go through consent, instructions and quiz, and get the first items."""
        async with self._until_end():
            page = await self._fill_forms(await self._get_page(link))
            if not TASK.search(page.text):
                self.end = "turned away"
                return
            self._plan = (await self.client.get("/api/plan")).json()
            self._looks.follow(self._plan)
            if self._plan["study"] != self.site.study.name:
                raise Refused(f"{self.site.url} serves the study {self._plan['study']!r}")
            for showing in self._plan["showings"]:
                if showing["answered"]:
                    self._looks.look(showing)
            total = self._plan["total"] - self._plan["answered"]
            luck = self.participant.draw("leave")
            if luck.random() < self.site.habits.leavers:
                self._last = int(luck.integers(1, max(2, total)))
            self.log.expected += self._last or total

    async def work(self) -> None:
        """Answer what is open; then leave, or finish if there is nothing more to come."""
        async with self._until_end():
            for showing in self.open():
                if len(self._answered) == self._last:
                    raise Left
                await self._answer(showing)
            if self._plan["more"]:
                return
            gate = (await self.client.post_json("/api/finish", {})).json()
            if gate["open"]:
                await self._fill_forms(await self._get_page("/"))
                self.end = "finished"
            elif self._answered.issuperset(gate["missing"]):
                raise Refused(f"POST /api/finish misses {gate['missing']}, which were acknowledged")

    async def ask_more(self) -> None:
        """Ask for the next items."""
        async with self._until_end():
            self._plan = (await self.client.get("/api/plan")).json()
            self._looks.follow(self._plan)

    def leave(self) -> None:
        """Leave: whoever is thinking goes; an answer that is on its way still arrives."""
        self._leaving.set()

    async def stay(self) -> None:
        """Do all that comes after ``enter``, without waiting for anybody."""
        while self.end is None:
            await self.work()
            if self.end is None:
                await self.ask_more()

    def open(self) -> list[dict[str, Any]]:
        """Return the showings that this person holds and has not answered."""
        return [
            showing
            for showing in self._plan["showings"]
            if not showing["answered"] and showing["position"] not in self._answered
        ]

    @asynccontextmanager
    async def _until_end(self) -> AsyncIterator[None]:
        """End the visit on a failure, and close the browser when it has ended."""
        try:
            yield
        except Left:
            self.end = "left"
        except (OSError, SoftlabelError) as error:
            self.log.errors[f"gave up: {type(error).__name__}: {error}"] += 1
            self.end = "failed"
        finally:
            if self.end is not None:
                await self.client.close()

    async def _fill_forms(self, page: Reply) -> Reply:
        """Fill in every form, up to a page that has none."""
        study = self.site.study
        for number in range(MOST_PAGES):
            step = NEXT.search(page.text) or FORM.search(page.text)
            if step is None:
                return page
            await self._think("page", number)
            if step.re is NEXT:
                page = await self._get_page(step[1])
                continue
            form, wrong = step[1], 0
            if form == "quiz" and study.quiz is not None:
                self._quizzes += 1
                unsure = self.participant.draw("quiz").random() < self.site.habits.fail_quiz
                hopeless = self.participant.draw("hopeless").random() < self.site.habits.hopeless
                wrong = int(hopeless or (self._quizzes == 1 and study.quiz.tries > 1 and unsure))
            fields = fill_form(study, form, wrong)
            page = await self._follow(await self.client.post_form(f"/{form}", fields))
        raise Refused("the pages of the study go in circles")

    async def _get_page(self, path: str) -> Reply:
        return await self._follow(await self.client.get(path))

    async def _follow(self, reply: Reply) -> Reply:
        while reply.status == 303:
            reply = await self.client.get(reply.headers["location"])
        return reply

    async def _answer(self, showing: Mapping[str, Any]) -> None:
        item, occasion = self._looks.look(showing)
        for address in (showing.get(name) for name in MEDIA):
            if address is not None and address not in self._media:  # not in this browser's cache
                await self.client.get(address)
                self._media.add(address)
        await self._think(item, occasion)
        answer = self._looks.answer(item, occasion)
        luck = self.participant.draw(item, occasion, "timing")
        timing = simulate_timing(answer, self._looks.mode, luck)
        record, habits = make_record(showing["position"], answer, timing), self.site.habits
        network = self.participant.draw(f"{item} {occasion}", "network")
        broken, twice, share = network.random(3)  # a network as bad as it is set to be
        if broken < habits.disconnects:
            await self.client.deliver_partly(record, 1.0 if share > 0.5 else share)
        await self.client.deliver(record)
        self.acknowledged.append(record["response_uuid"])
        self.log.acknowledge()
        if twice < habits.duplicates:
            await self.client.deliver(record)
        self._answered.add(showing["position"])

    async def _think(self, *about: object) -> None:
        """Take the time that a person takes before they act."""
        mean = self.site.habits.think
        if mean:
            seconds = self.participant.draw(*about, "think").exponential(mean)
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._leaving.wait()
        if self._leaving.is_set():
            raise Left


def make_record(position: int, answer: Json, timing: Json) -> dict[str, Any]:
    """Return an answer as the page sends it, with one click per field in the log of events."""
    return {
        "response_uuid": str(uuid.uuid4()),
        "position": position,
        "answer": answer,
        "skip": None,
        "touched": True,
        "supersedes": None,
        "timing": timing,
        "events": [[at, "click", "", name] for name, at in timing["fields"].items()],
        "client": CLIENT,
        "delivery": {"attempt": 0, "queued_ms": 0},
    }


def fill_form(study: Study, form: str, wrong: int = 0) -> dict[str, str]:
    """Return what a person enters in a form; every quiz answer is ``wrong`` options off."""
    if form == "consent":
        return dict.fromkeys(("adult", "read", "agree"), "on")
    if form == "quiz" and study.quiz is not None:
        questions = enumerate(study.quiz.questions)
        return {f"q{i}": str(((q.right or 0) + wrong) % len(q.options)) for i, q in questions}
    if form in ("questions", "debrief"):
        before = form == "questions"
        asked, prefix = (study.before, "b") if before else (study.debrief, "d")
        fields = ((f"{prefix}{place}", question) for place, question in enumerate(asked))
        return dict(_answer_question(name, question) for name, question in fields)
    return {}


def _answer_question(name: str, question: Question) -> tuple[str, str]:
    """Return the first option, the least number, or a remark, as a form sends it."""
    if question.kind == "choices":
        return f"{name}.0", "on"
    if question.options:
        return name, "0"
    if question.kind == "number":
        ends = (end for end in (question.low, question.high) if end is not None)
        return name, f"{next(ends, 0):.12g}"
    return name, REMARK[: int(question.high or len(REMARK))]


def make_links(study: Study, people: Sequence[Participant], db: str | None) -> list[str]:
    """Return the path by which each person comes, as the study's recruiter would send them.

    Ids belong to the seed, so that the same people come back as themselves.  Invitations are new,
    and are written into the database of the rehearsal.
    """
    if study.recruit.kind != "invitation":
        return [_make_link(study.recruit, participant) for participant in people]
    from softlabel import store
    from softlabel.serve import databases, secret

    tokens = [secret.new_token() for _ in people]
    place = databases.place_of(study.folder, db, rehearsal=True)
    with store.open(place, create=False) as answers:
        for person, token in zip(people, tokens, strict=True):
            name = f"simulated-{person.seed}-{person.number}-{token[:6]}"
            answers.invite(study.name, name, secret.hash_token(token), time.time()).result()
    return [f"/i/{token}" for token in tokens]


def _make_link(recruit: Recruit, participant: Participant) -> str:
    def draw_hex(name: str) -> str:
        return participant.draw("recruiter", name).bytes(HEX_ID // 2).hex()

    if recruit.kind == "open":
        return "/"
    if recruit.kind == "prolific":
        names = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
        return "/?" + urlencode({name: draw_hex(name) for name in names})
    number = participant.number
    readable = [f"simulated-{participant.seed}-{number}", f"simulated{number}", f"{number:04d}"]
    for text in (*readable, f"{number:08d}", f"A{number:012d}", draw_hex("id")):
        if recruit.id_pattern is None or re.fullmatch(recruit.id_pattern, text):
            fields = {recruit.id_param or "id": text}
            if recruit.session_param:
                fields[recruit.session_param] = draw_hex("session")
            return "/?" + urlencode(fields)
    raise SoftlabelError(
        f"study.toml, recruit.id_pattern = {recruit.id_pattern!r}: simulated people have no id "
        f"that fits, for instance {readable[0]!r} or {number:04d}; allow one of them for a trial"
    )
