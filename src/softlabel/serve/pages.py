"""The pages of a participant: forms that the server renders from the stage of the session."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from softlabel.serve import flow
from softlabel.serve.documented import form
from softlabel.serve.forms import chosen, read_form
from softlabel.serve.plans import lease_plan
from softlabel.serve.recruit.base import OUTCOMES
from softlabel.serve.sessions import Sessions
from softlabel.serve.site import Site, written
from softlabel.serve.vacancy import LATER, Newcomers
from softlabel.store import Session
from softlabel.study import Question

BOXES = ("adult", "read", "agree")
TEXT = {"type": "string"}
BOX = {"type": "string", "enum": ["on"]}


class Pages:
    """Handlers of the forms.  A form that does not fit the stage changes nothing."""

    def __init__(self, site: Site, sessions: Sessions, newcomers: Newcomers) -> None:
        self.site, self.sessions, self.newcomers = site, sessions, newcomers
        self.lease_plan = lease_plan(site.study)

    def add_to(self, app: FastAPI) -> None:
        add = partial(app.add_api_route, response_class=HTMLResponse)
        consent = form(adult=BOX, read=BOX, agree=BOX, decline={"type": "string", "enum": ["1"]})
        add("/consent", self.consent, methods=["POST"], **consent)
        add("/instructions", self.instructions, methods=["POST"])
        add("/quiz", self.quiz, methods=["POST"], **form(q0=TEXT, q1=TEXT))
        add("/debrief", self.debrief, methods=["POST"], **form(d0=TEXT, d1=TEXT))

    # ── showing ──────────────────────────────────────────────────────────────────────────────

    def show(
        self,
        session: Session | None,
        status: int = 200,
        *,
        stage: str = flow.CONSENT,
        **values: Any,
    ) -> HTMLResponse:
        """The page of the session's stage; without a session, of the stage that is given."""
        stage = stage if session is None else session.stage
        way = flow.steps(self.site.study)
        outcome = OUTCOMES.get(stage)
        recruiter = self.site.recruiter
        told: dict[str, Any] = {
            "stage": stage,
            "step": way.index(stage) + 1 if stage in way else None,
            "session": session,
            "missing": False,
            "picked": {},
            "page": 1,
            "code": outcome and recruiter.code(outcome),
            "returns": False,
            "walk_in": recruiter.walk_in,
            "delete_code": self.delete_code(session),
        }
        return self.site.render(flow.PAGES[stage], status, None, **(told | values))

    def delete_code(self, session: Session | None) -> str | None:
        """What somebody who walked in needs to have their answers deleted; others have an id."""
        if session is None or not self.site.recruiter.walk_in:
            return None
        return self.site.secret.deletion_code(session.annotator)

    async def turn_away(self, session: Session | None) -> Response:
        """Nothing is left to do; who has not come in yet may look again later."""
        if session is None:
            return self.show(None, stage=flow.FULL)
        await self._go(session, flow.FULL, "full")
        return home()

    # ── forms ────────────────────────────────────────────────────────────────────────────────

    async def consent(self, request: Request) -> Response:
        """Agree to take part, or not."""
        fields = await read_form(request)
        async with self.sessions.turn(request) as session:
            if session is None and not self.site.recruiter.walk_in:
                return home()
            if session is not None and session.stage != flow.CONSENT:
                return home()
            if "decline" in fields:
                return await self._decline(session)
            if any(fields.get(box) != "on" for box in BOXES):
                return self.show(session, 422, missing=True, picked=fields)
            if session is None:
                return await self._walk_in()
            await self._go(session, flow.after(self.site.study, flow.CONSENT), "consent")
            return home()

    async def _walk_in(self) -> Response:
        entered = await self.sessions.enter(self.site.recruiter.name, None)
        assert entered is not None, "who walks in comes for the first time"
        session, token = entered
        await self._go(session, flow.after(self.site.study, flow.CONSENT), "consent")
        response = home()
        self.sessions.give(response, token)
        return response

    async def _decline(self, session: Session | None) -> Response:
        """Of somebody who walked in and declined nothing at all is kept."""
        if session is None:
            return self.show(None, stage=flow.NO_CONSENT)
        await self._go(session, flow.NO_CONSENT, "no-consent")
        return home()

    async def instructions(self, request: Request) -> Response:
        """Go on from the instructions."""
        async with self.sessions.turn(request) as session:
            if session is not None and session.stage == flow.INSTRUCTIONS:
                to = flow.after(self.site.study, flow.INSTRUCTIONS)
                if to == flow.TASK and not await self.newcomers.admit(request, session.id):
                    return self._busy()
                await self._go(session, to, "instructions")
            return home()

    async def quiz(self, request: Request) -> Response:
        """Check the answers to the quiz."""
        fields = await read_form(request)
        async with self.sessions.turn(request) as session:
            if session is None or session.stage != flow.QUIZ:
                return home()
            if fields.get("try", str(session.quiz_tries)) != str(session.quiz_tries):
                return home()  # this try was counted already: a form that was sent twice
            return await self._judge(request, session, fields)

    async def _judge(
        self, request: Request, session: Session, fields: Mapping[str, str]
    ) -> Response:
        study, store = self.site.study, self.site.store
        assert study.quiz is not None, "without a quiz nobody is at that stage"
        asked = study.quiz.questions
        picked = [chosen(fields, f"q{n}", len(one.options)) for n, one in enumerate(asked)]
        if None in picked:
            return self.show(session, 422, missing=True, picked=fields)
        passed = all(place == one.right for place, one in zip(picked, asked, strict=True))
        if passed and not await self.newcomers.admit(request, session.id):
            return self._busy()  # and no try is counted
        detail = {"picked": picked}
        tried = await written(store.quiz_try(session.id, passed, detail, self.site.now()))
        to = flow.after_quiz(study, passed, tried.quiz_tries)
        await self._go(tried, to, "quiz-passed" if passed else "quiz-failed")
        return home()

    async def debrief(self, request: Request) -> Response:
        """Store the answers to the last questions."""
        fields = await read_form(request)
        async with self.sessions.turn(request) as session:
            if session is not None and session.stage == flow.DEBRIEF:
                asked = enumerate(self.site.study.debrief)
                said = {f"Q{n}": _said(fields, f"d{n}", question) for n, question in asked}
                to = flow.after(self.site.study, flow.DEBRIEF)
                await self._go(session, to, "debrief", said)
            return home()

    def _busy(self) -> Response:
        """Too many have just begun where this person is; they can go on from here later."""
        page = self.site.texts.page
        words = {"title": page["busy_title"], "text": page["busy"]}
        return self.site.render("message.html", 429, {"retry-after": LATER}, **words)

    # ── stages ───────────────────────────────────────────────────────────────────────────────

    async def _go(
        self, session: Session, to: str, event: str, detail: Mapping[str, Any] | None = None
    ) -> None:
        """Move to a stage; whoever reaches the task is given items, or told that none are left."""
        store, now = self.site.store, self.site.now()
        if to == flow.TASK:
            portion = await written(store.lease(session.id, self.lease_plan, now))
            if not portion.shown:
                to = flow.FULL
        moving = store.set_stage(
            session.id, to, event=event, detail=detail or {}, now=now, leaves=session.stage
        )
        await written(moving)


def home() -> RedirectResponse:
    """Back to the page of the stage, wherever that is by now."""
    return RedirectResponse("/", 303)


def _said(fields: Mapping[str, str], name: str, question: Question) -> str | None:
    """An answer of the debrief: an option in words, or the text; None if it was left empty."""
    if question.options:
        place = chosen(fields, name, len(question.options))
        return None if place is None else question.options[place]
    return fields.get(name, "").strip() or None
