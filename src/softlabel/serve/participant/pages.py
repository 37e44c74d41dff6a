"""The pages of a participant: the ways in, the forms of each stage, and the ways out."""

import asyncio
import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from softlabel.errors import Conflict
from softlabel.serve.participant import sessions as stages
from softlabel.serve.participant.plans import lease_plan
from softlabel.serve.participant.questions import (
    AFTER,
    BEFORE,
    Answers,
    Asked,
    describe_questions,
    read_answers,
)
from softlabel.serve.participant.sessions import (
    CLOSED,
    PAUSED,
    RETRY_AFTER,
    Newcomers,
    Sessions,
    next_stage,
)
from softlabel.serve.recruit import Arrival, Refused, fill_address, find_outcome
from softlabel.serve.running import Running
from softlabel.serve.secret import hash_token
from softlabel.serve.site import Site, describe_form, read_form
from softlabel.serve.static import list_preloads
from softlabel.serve.texts import speaking
from softlabel.store import Session
from softlabel.study import Study

BOXES = ("adult", "read", "agree")
TEXT = {"type": "string"}
BOX = {"type": "string", "enum": ["on"]}
FRESH = 5.0  # seconds for which the last look at the store still counts: many arrive at once


class Pages:
    """Handlers of all pages.  A form that does not fit the session's stage changes nothing."""

    def __init__(
        self, site: Site, sessions: Sessions, newcomers: Newcomers, running: Running
    ) -> None:
        self.site, self.sessions, self.newcomers = site, sessions, newcomers
        self.running = running
        self.adopt(site.study)
        site.listen(self.adopt)
        self._full, self._checked_at = False, -math.inf

    def adopt(self, study: Study) -> None:
        """Give out the items of another version of the study from now on."""
        self.lease_plan = lease_plan(study)

    def add_to(self, app: FastAPI) -> None:
        add = partial(app.add_api_route, response_class=HTMLResponse)
        decline = {"type": "string", "enum": ["1"]}
        consent = describe_form(**dict.fromkeys(BOXES, BOX), decline=decline)
        keep = describe_form(keep={"type": "string", "enum": ["yes", "no"]})
        add("/", self.home)
        add("/i/{token}", self.invited)
        add("/consent", self.consent, methods=["POST"], **consent)
        add("/questions", self.questions, methods=["POST"], **describe_form(b0=TEXT, b1=TEXT))
        add("/instructions", self.instructions, methods=["POST"])
        add("/quiz", self.quiz, methods=["POST"], **describe_form(q0=TEXT, q1=TEXT))
        add("/language", self.ask_language, methods=["GET"])
        add("/language", self.choose_language, methods=["POST"], **describe_form(language=TEXT))
        add("/debrief", self.debrief, methods=["POST"], **describe_form(d0=TEXT, d1=TEXT))
        add("/withdraw", self.ask_withdraw, methods=["GET"])
        add("/withdraw", self.withdraw, methods=["POST"], **keep)
        add("/left", self.left, methods=["GET"])
        add("/leave", self.leave, methods=["GET"])

    # ── ways in ──────────────────────────────────────────────────────────────────────────────

    async def home(self, request: Request, page: str = "1") -> Response:
        """The page of the current stage; parameters of the recruiter are taken in and removed."""
        recruiter = self.site.recruiter
        look, given = recruiter.arrival, dict(request.query_params)
        arrival = await asyncio.to_thread(look, given) if recruiter.fetches else look(given)
        stages.speak_to(self.site.study, request, None)
        if isinstance(arrival, Refused):
            return self._refuse(arrival)
        if arrival is not None:
            return await self._let_in(recruiter.name, arrival)
        session = await self.sessions.session(request)
        if session is None and not recruiter.walk_in:
            return self._refuse(Refused(recruiter.missing, {}))
        if (halted := await self._halted(session)) is not None:
            return self._show(session, stage=halted)
        new = session is None or session.stage == stages.CONSENT
        if new and await self._is_full():
            if session is None:  # who has not come in yet may look again later
                return self._show(None, stage=stages.FULL)
            await self._move(session, stages.FULL, "full")
            return redirect_home()
        spoken = self.site.study.speak(speaking.get())
        last = max(1, len(spoken.instructions))
        number = int(page) if page in map(str, range(1, last + 1)) else 1
        stage, skipped = (session.stage, session.skipped) if session else (None, 0)
        returns = self._return_address(request, stage, skipped) is not None
        return self._show(session, page=number, returns=returns)

    async def invited(self, request: Request, token: str) -> Response:
        """The way in by a personal link."""
        site = self.site
        stages.speak_to(site.study, request, None)
        invitation = await asyncio.to_thread(site.store.invitation, hash_token(token))
        if invitation and invitation.study == site.study.name and invitation.revoked_at is None:
            return await self._let_in("invitation", Arrival(invitation.name))
        return site.render.message("entry_revoked_title", "entry_revoked", 404)

    async def _halted(self, session: Session | None, *, now: bool = False) -> str | None:
        """Return ``paused`` or ``closed`` if that is why this person gets nothing to do now; what
        somebody holds may be finished."""
        state = (await self.running.look(now=now)).state
        if state == "open":
            return None
        if session is None or session.stage in stages.BEFORE_TASK:
            return state
        if session.stage == stages.TASK:
            leasing = self.site.store.lease(session.id, self.lease_plan, self.site.now())
            try:  # whoever holds items, or has answered all there are for them, goes on
                await asyncio.wrap_future(leasing)
            except Conflict as conflict:
                return conflict.reason if conflict.reason in (PAUSED, CLOSED) else None
        return None

    async def _is_full(self) -> bool:
        """Whether every item is answered or held by somebody who is still at work."""
        now, store, study = self.site.now(), self.site.store, self.site.study
        if now - self._checked_at > FRESH:
            self._checked_at = now
            plan = self.lease_plan
            look = partial(store.has_room, study.name, batches=plan.batches, live=plan.live)
            room = await asyncio.to_thread(look)
            if not room:
                await asyncio.wrap_future(store.release_expired(study.name, now))
                room = await asyncio.to_thread(look)
            self._full = not room
        return self._full

    async def _let_in(self, kind: str, arrival: Arrival) -> Response:
        entered = await self.sessions.enter(kind, arrival)
        if entered is None:
            return self.site.render.message("entry_other_title", "entry_other_session", 409)
        response = redirect_home()
        self.sessions.give_token(response, entered[1])
        if self.site.recruiter.needs_arrival():
            self.sessions.give_arrival(response, arrival)
        return response

    def _refuse(self, refused: Refused) -> Response:
        text, status = refused.text, refused.status
        headers = {"retry-after": RETRY_AFTER} if status == 503 else None
        return self.site.render.message("entry_title", text, status, headers, **refused.values)

    # ── forms ────────────────────────────────────────────────────────────────────────────────

    async def consent(self, request: Request) -> Response:
        """Agree to take part, or not."""
        fields = await read_form(request)
        async with self.sessions.lock(request) as session:
            walks_in = session is None and self.site.recruiter.walk_in
            if not (walks_in or (session is not None and session.stage == stages.CONSENT)):
                return redirect_home()
            if (halted := await self._halted(session)) is not None:
                return self._show(session, stage=halted)
            if "decline" in fields:
                if session is None:  # nothing is kept of somebody who walked in and declined
                    return self._show(None, stage=stages.NO_CONSENT)
                await self._move(session, stages.NO_CONSENT, "no-consent")
                return redirect_home()
            if any(fields.get(box) != "on" for box in BOXES):
                return self._show(session, 422, missing=True, picked=fields)
            response = redirect_home()
            if session is None:
                entered = await self.sessions.enter(self.site.recruiter.name, None)
                assert entered is not None, "who walks in comes for the first time"
                session, token = entered
                self.sessions.give_token(response, token)
            await self._keep_language(session, speaking.get())
            await self._move(session, next_stage(self.site.study, stages.CONSENT), "consent")
            return response

    async def ask_language(self, request: Request) -> Response:
        """Choose a language in the middle of the task."""
        session = await self.sessions.session(request)
        if session is None or len(self.site.study.languages) < 2:
            return redirect_home()
        return self.site.render("language.html", step=None, session=session)

    async def choose_language(self, request: Request) -> Response:
        """Go on in another language of the study."""
        fields, response = await read_form(request), redirect_home()
        language = fields.get("language")
        if language in self.site.study.languages:
            async with self.sessions.lock(request) as session:
                self.sessions.give_language(response, language)
                if session is not None:
                    await self._keep_language(session, language)
        return response

    async def _keep_language(self, session: Session, language: str | None) -> None:
        """Store the language of a session, if there is a choice."""
        if language is not None and session.language != language:
            await asyncio.wrap_future(self.site.store.set_language(session.id, language))

    async def questions(self, request: Request) -> Response:
        """Store the answers to the questions before the first item."""
        fields = await read_form(request)
        async with self.sessions.lock(request) as session:
            if session is not None and session.stage == stages.QUESTIONS:
                answers = read_answers(self.site.study.before, fields, BEFORE)
                if answers.faults:
                    return self._show(session, 422, answers=answers, picked=fields)
                await self._move(session, stages.INSTRUCTIONS, "before", answers.given)
            return redirect_home()

    async def instructions(self, request: Request) -> Response:
        """Go on from the instructions."""
        async with self.sessions.lock(request) as session:
            if session is not None and session.stage == stages.INSTRUCTIONS:
                to = next_stage(self.site.study, stages.INSTRUCTIONS)
                if (halted := await self._halted(session, now=to == stages.TASK)) is not None:
                    return self._show(session, stage=halted)
                if to == stages.TASK and not await self.newcomers.admit(request, session.id):
                    return self._busy()
                await self._move(session, to, "instructions")
            return redirect_home()

    async def quiz(self, request: Request) -> Response:
        """Check the answers to the quiz."""
        fields = await read_form(request)
        study = self.site.study
        async with self.sessions.lock(request) as session:
            if session is None or session.stage != stages.QUIZ:
                return redirect_home()
            if fields.get("try", str(session.quiz_tries)) != str(session.quiz_tries):
                return redirect_home()  # this try was counted already: a form that was sent twice
            assert study.quiz is not None, "without a quiz nobody is at that stage"
            asked = study.quiz.questions
            picked = [_option(fields, f"q{n}", len(one.options)) for n, one in enumerate(asked)]
            if None in picked:
                return self._show(session, 422, missing=True, picked=fields)
            passed = picked == [question.right for question in asked]
            if (halted := await self._halted(session, now=True)) is not None:
                return self._show(session, stage=halted)  # and no try is counted
            if passed and not await self.newcomers.admit(request, session.id):
                return self._busy()  # and no try is counted
            detail, now = {"picked": picked}, self.site.now()
            trying = self.site.store.quiz_try(session.id, passed, detail, now)
            session = await asyncio.wrap_future(trying)
            if passed:
                await self._move(session, next_stage(study, stages.QUIZ), "quiz-passed")
            else:
                again = session.quiz_tries < study.quiz.tries
                to = stages.INSTRUCTIONS if again else stages.SCREENED_OUT
                await self._move(session, to, "quiz-failed")
            return redirect_home()

    async def debrief(self, request: Request) -> Response:
        """Store the answers to the last questions."""
        fields = await read_form(request)
        async with self.sessions.lock(request) as session:
            if session is not None and session.stage == stages.DEBRIEF:
                answers = read_answers(self.site.study.debrief, fields, AFTER)
                if answers.faults:
                    return self._show(session, 422, answers=answers, picked=fields)
                await self._move(session, stages.DONE, "debrief", answers.given)
            return redirect_home()

    def _busy(self) -> Response:
        """Too many people at this address have just begun; this one can go on later."""
        return self.site.render.message("busy_title", "busy", 429, {"retry-after": RETRY_AFTER})

    # ── ways out ─────────────────────────────────────────────────────────────────────────────

    async def ask_withdraw(self, request: Request) -> Response:
        """Ask what is to become of the answers."""
        session = await self.sessions.session(request)
        if session is None or session.stage not in stages.UNDER_WAY:
            return redirect_home()
        code = self._deletion_code(session)
        return self.site.render("withdraw.html", step=None, session=session, delete_code=code)

    async def withdraw(self, request: Request) -> Response:
        """Leave the study; the answers are kept or deleted."""
        fields = await read_form(request)
        async with self.sessions.lock(request) as session:
            if session is None or session.stage not in stages.UNDER_WAY:
                return redirect_home()
            if fields.get("keep") not in ("yes", "no"):
                return RedirectResponse("/withdraw", 303)
            forget = fields["keep"] == "no"
            await asyncio.wrap_future(self.site.store.withdraw(session.id, forget, self.site.now()))
            self.sessions.forget(session.id)
            if not forget:
                return redirect_home()
            response = RedirectResponse("/left", 303)
            if language := speaking.get():  # the session that knew it is deleted
                self.sessions.give_language(response, language)
            return response

    async def left(self, request: Request) -> Response:
        """Good-bye to somebody of whom nothing is known any more, but what their browser says."""
        stages.speak_to(self.site.study, request, None)
        returns = self._return_address(request, stages.WITHDRAWN) is not None
        return self._show(None, stage=stages.WITHDRAWN, returns=returns)

    async def leave(self, request: Request) -> Response:
        """Go back to the recruiter, if the session has ended."""
        session = await self.sessions.session(request)
        gone = session is None and "left" in request.query_params
        stage = stages.WITHDRAWN if gone else session and session.stage
        skipped = session.skipped if session else 0
        address = self._return_address(request, stage, skipped)
        return redirect_home() if address is None else RedirectResponse(address, 302)

    def _return_address(self, request: Request, stage: str | None, skipped: int = 0) -> str | None:
        """Return the recruiter's address for this stage, if its blanks can still be filled."""
        outcome = find_outcome(stage, skipped)
        address = outcome and self.site.recruiter.addresses[outcome]
        return fill_address(address, self.sessions.arrival(request)) if address else None

    def _show(
        self,
        session: Session | None,
        status: int = 200,
        *,
        stage: str = "",
        answers: Answers | None = None,
        **values: Any,
    ) -> HTMLResponse:
        """Render the page of the given stage, of the session's, or the first; ``answers`` to
        its questions could not be accepted."""
        stage = stage or (session.stage if session else stages.CONSENT)
        asks = self.site.study.in_arm(session and self.site.study.arm_of(session.number))
        asks = asks.speak(speaking.get())
        steps, recruiter = stages.list_stages(self.site.study), self.site.recruiter
        outcome = find_outcome(stage, session.skipped if session else 0)
        asked: list[Asked] = []
        if stage in (stages.QUESTIONS, stages.DEBRIEF):
            early = stage == stages.QUESTIONS
            questions, prefix = (asks.before, BEFORE) if early else (asks.debrief, AFTER)
            asked = describe_questions(questions, prefix, self.site.render.texts, answers)
        shown: dict[str, Any] = {
            "study": asks,
            "stage": stage,
            "step": steps.index(stage) + 1 if stage in steps else None,
            "session": session,
            "missing": False,
            "picked": {},
            "asked": asked,
            "page": 1,
            "code": outcome and recruiter.codes[outcome],
            "returns": False,
            "walk_in": recruiter.walk_in,
            "delete_code": self._deletion_code(session),
        }
        if asks.mode != self.site.study.mode:
            shown["preloads"] = list_preloads(asks.mode)
        return self.site.render(f"{stage}.html", status, None, **(shown | values))

    def _deletion_code(self, session: Session | None) -> str | None:
        """Return the code of somebody who walked in; others are known by an id."""
        if session is None or not self.site.recruiter.walk_in:
            return None
        return self.site.secret.deletion_code(session.annotator)

    async def _move(
        self, session: Session, to: str, event: str, detail: Mapping[str, Any] | None = None
    ) -> None:
        """Move to a stage; whoever reaches the task gets items, or learns that none are left."""
        store, now = self.site.store, self.site.now()
        if to == stages.TASK:
            try:
                portion = await asyncio.wrap_future(store.lease(session.id, self.lease_plan, now))
            except Conflict:  # paused or closed this moment: the page that comes next says so
                self.running.expire()
                raise
            to = to if portion.shown else stages.FULL
        moving = store.set_stage(
            session.id, to, event=event, detail=detail or {}, now=now, leaves=session.stage
        )
        await asyncio.wrap_future(moving)


def redirect_home() -> RedirectResponse:
    """Lead to the page of the session's stage, whatever that is by now."""
    return RedirectResponse("/", 303)


def _option(fields: Mapping[str, str], name: str, options: int) -> int | None:
    """Return the option picked in a field; None if none was, or none that exists."""
    text = fields.get(name, "")
    known = text.isascii() and text.isdigit() and len(text) <= 4
    return int(text) if known and int(text) < options else None
