"""The JSON interface that the task page talks to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from softlabel import registry
from softlabel.elicit import Answer
from softlabel.errors import Absent, ResponseError
from softlabel.serve import feedback, flow
from softlabel.serve.bodies import AnswerBody, read_answer
from softlabel.serve.documented import ANSWERS, FINISH, LABELS, PLAN
from softlabel.serve.labels import MOST, LabelIndex
from softlabel.serve.plans import PlanWriter, lease_plan
from softlabel.serve.sessions import Sessions
from softlabel.serve.site import Site, read, written
from softlabel.serve.vacancy import LATER, Newcomers
from softlabel.store import Ack, NewResponse, Portion, Session, Showing, Timing

JSON = "application/json"


class Api:
    """Handlers of ``/api``; the one for answers is as short as it can be."""

    def __init__(
        self, site: Site, sessions: Sessions, newcomers: Newcomers, plan_writer: PlanWriter
    ) -> None:
        self.site, self.sessions, self.newcomers = site, sessions, newcomers
        self.plan_writer = plan_writer
        self.lease_plan, self.most_skips = lease_plan(site.study), site.study.most_skips
        path = getattr(site.study.mode, "path", "")
        self.labels_index = LabelIndex(site.study.labels, site.study.synonyms, path)
        self._mode_options = json.dumps(registry.settings(site.study.mode))

    def add_to(self, app: FastAPI) -> None:
        add = app.add_api_route
        add("/api/answers", self.answers, methods=["POST"], **ANSWERS)
        add("/api/plan", self.plan, methods=["GET"], **PLAN)
        add("/api/finish", self.finish, methods=["POST"], **FINISH)
        add("/api/labels", self.labels, methods=["GET"], **LABELS)

    async def answers(self, request: Request) -> Response:
        """Store one answer; the acknowledgement means that it is on the disk."""
        session = await self.sessions.session_id(request)
        if session is None:
            return error(401, "session")
        raw = await request.body()
        body = read_answer(raw)
        answer = self._read(body)
        response = self._response(body, raw)
        try:
            ack = await written(self._store(session, response))
        except Absent as wrong:
            return self._explain(session, body, wrong)
        told = self._feedback(ack, answer)
        ended = b',"ended":true' if ack.ended else b""
        return Response(
            b'{"acknowledged":"%b","feedback":%b%b}' % (body.response_uuid.encode(), told, ended),
            media_type=JSON,
        )

    def _store(self, session: str, response: NewResponse) -> Future[Ack]:
        now, most = self.site.now(), self.most_skips
        return self.site.store.answer(session, response, now, most_skips=most)

    def _read(self, body: AnswerBody) -> Answer | None:
        """What the answer says, if the mode can read it."""
        if body.answer is None:
            return None
        return self.site.study.mode.read(body.answer, self.site.study.labels)

    def _response(self, body: AnswerBody, raw: bytes) -> NewResponse:
        mode, timing = self.site.study.mode, body.timing
        return NewResponse(
            id=body.response_uuid,
            position=body.position,
            answer_json=None if body.answer is None else json.dumps(body.answer),
            payload=raw.decode(),
            mode=mode.name,
            mode_version=mode.version,
            digest=body.digest(),
            skip=body.skip,
            supersedes=body.supersedes,
            timing=Timing(
                timing.first_input_ms,
                timing.submit_ms,
                timing.active_ms,
                timing.hidden_ms,
                timing.fields,
            ),
            mode_options=self._mode_options,
            frame=self.site.study.frame,
        )

    def _feedback(self, ack: Ack, answer: Answer | None) -> bytes:
        """What is said about practice, while the study still has it."""
        if ack.kind != "training":
            return b"null"
        practice = next((one for one in self.site.study.practice if one.id == ack.item), None)
        if practice is None:
            return b"null"
        return json.dumps(feedback.of(self.site.study, practice, answer)).encode()

    def _explain(self, session: str, body: AnswerBody, wrong: Absent) -> Response:
        """The person was forgotten meanwhile, or was never shown anything there."""
        if wrong.what == "session":
            self.sessions.forget(session)
            return error(401, "session")
        raise ResponseError("position", body.position, "this session has no such place") from wrong

    async def plan(self, request: Request) -> Response:
        """What to show next, after taking more for this session if it needs some."""
        session = await self.sessions.session(request)
        if session is None:
            return error(401, "session")
        if session.stage != flow.TASK:
            return error(409, "stage", stage=session.stage)
        return JSONResponse(self.plan_writer(session, await self._lease(request, session)))

    async def finish(self, request: Request) -> Response:
        """Open the gate if the store holds every answer; otherwise say what is missing."""
        async with self.sessions.turn(request) as session:
            if session is None:
                return error(401, "session")
            if session.stage in flow.BEFORE_TASK:
                return error(409, "stage", stage=session.stage)
            if session.stage == flow.TASK:
                if missing := await self._missing(request, session):
                    return JSONResponse({"open": False, "missing": missing})
                await self._pass_gate(session, await read(self.site.store.showings, session.id))
            return JSONResponse({"open": True, "next": "/"})

    async def labels(
        self,
        request: Request,
        q: Annotated[str, Query(max_length=100)] = "",
        limit: Annotated[int, Query(ge=1, le=MOST)] = 20,
    ) -> Response:
        """Labels of which a word, or a word of a synonym, begins like this."""
        if await self.sessions.session_id(request) is None:
            return error(401, "session")
        return JSONResponse({"labels": self.labels_index.find(q, limit)})

    async def _lease(self, request: Request, session: Session) -> Portion:
        """Items for this session; who let all of them go unanswered is a newcomer again."""
        begins = session.answered == 0 and session.lease_end == 0
        if begins and not await self.newcomers.admit(request, session.id):
            raise HTTPException(429, headers={"retry-after": LATER})
        return await written(self.site.store.lease(session.id, self.lease_plan, self.site.now()))

    async def _missing(self, request: Request, session: Session) -> list[int]:
        """Places without an answer, of what the person holds and of what is still theirs to get."""
        missing = await read(self.site.store.missing, session.id)
        if missing:
            return list(missing)
        portion = await self._lease(request, session)
        return [one.position for one in portion.showings if one.state == "open"]

    async def _pass_gate(self, session: Session, showings: Sequence[Showing]) -> None:
        site, to = self.site, flow.after_task(self.site.study, session, showings)
        out = to == flow.SCREENED_OUT
        event = flow.SCREENED_OUT if out else "answered-all"
        detail = {"reason": "skips", "skipped": session.skipped} if out else {}
        moving = site.store.set_stage(
            session.id, to, event=event, detail=detail, now=site.now(), leaves=session.stage
        )
        await written(moving)


def error(
    status: int, name: str, headers: Mapping[str, str] | None = None, **more: Any
) -> JSONResponse:
    """A refusal that a program can read."""
    return JSONResponse({"error": name} | more, status, dict(headers or {}))
