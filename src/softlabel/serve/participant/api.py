"""The JSON interface of the task page: what may be sent, its description, and the handlers."""

import asyncio
import json
import math
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Annotated, Any, Self

import numpy as np
from fastapi import FastAPI, Query, Request
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from softlabel import records, registry
from softlabel.construct import Clamp
from softlabel.elicit import Answer
from softlabel.errors import Absent, Conflict, ResponseError
from softlabel.serve.participant import sessions as stages
from softlabel.serve.participant.plans import MOST_LABELS, LabelIndex, PlanWriter, lease_plan
from softlabel.serve.participant.sessions import TASK, Newcomers, Sessions
from softlabel.serve.running import Running
from softlabel.serve.site import Site
from softlabel.store import NewResponse, Session, Showing, Timing, rows
from softlabel.study import Arm, Item, Study
from softlabel.tables import Index, names

# ── what may be sent: strict, and limited in every direction ─────────────────────────────────

Uuid = Annotated[str, Field(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
Milliseconds = Annotated[float, Field(ge=0, le=1e10, allow_inf_nan=False)]
Word = Annotated[str, Field(max_length=200)]
DEEPEST = 6  # levels of nesting


class Body(BaseModel):
    """Only what is named, only of its type."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class TimingBody(Body):
    """Milliseconds since the item was shown."""

    media_ready_ms: Milliseconds | None = None
    first_input_ms: Milliseconds | None = None
    submit_ms: Milliseconds | None = None
    active_ms: Milliseconds | None = None
    hidden_ms: Milliseconds | None = None
    fields: Annotated[dict[Word, Milliseconds], Field(max_length=50)] = {}


class DeliveryBody(Body):
    """How often this answer was sent, and how long it waited in the browser."""

    attempt: Annotated[int, Field(ge=1, le=10**6)] = 1
    queued_ms: Milliseconds = 0.0


class AnswerBody(Body):
    """One answer, or the reason for skipping the item, with its times and events."""

    response_uuid: Uuid
    position: Annotated[int, Field(ge=0, le=10**6)]
    answer: dict[Word, Any] | None = None
    skip: Annotated[str, Field(pattern=records.SKIP)] | None = None
    touched: bool = True
    supersedes: Uuid | None = None
    comment: Annotated[str, Field(max_length=records.LONGEST_COMMENT)] | None = None
    timing: TimingBody = TimingBody()
    events: Annotated[
        list[Annotated[list[Milliseconds | Word | None], Field(min_length=2, max_length=6)]],
        Field(max_length=2000),
    ] = []
    client: Annotated[dict[Word, Any], Field(max_length=30)] = {}
    delivery: DeliveryBody = DeliveryBody()

    @model_validator(mode="after")
    def _either_answered_or_skipped(self) -> Self:
        if (self.answer is None) == (self.skip is None):
            raise ValueError("an answer, or a reason for skipping, and not both")
        if not (_is_plain(self.answer) and _is_plain(self.client)):
            raise ValueError(f"only finite numbers, and no deeper than {DEEPEST} levels")
        return self

    def digest(self) -> str:
        """Return a hash of what may not differ between two deliveries of one answer."""
        content = [self.position, self.answer, self.skip, self.supersedes]
        content += [self.comment] if self.comment else []
        return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def read_answer(raw: bytes) -> AnswerBody:
    """Read the body of an answer; ``ResponseError`` names the first field that is wrong."""
    try:
        return AnswerBody.model_validate_json(raw)
    except ValidationError as wrong:
        first = wrong.errors(include_url=False, include_context=False)[0]
        field = ".".join(map(str, first["loc"])) or "body"
        raise ResponseError(field, None, first["msg"]) from wrong


def _is_plain(value: Any, depth: int = 0) -> bool:
    """Whether any JSON reader understands this: NaN and endless nesting are not JSON."""
    if depth > DEEPEST:
        return False
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return all(_is_plain(part, depth + 1) for part in parts)
    return not isinstance(value, float) or math.isfinite(value)


# ── the OpenAPI description of routes that read their bodies by hand ─────────────────────────

REF = "#/components/schemas/{model}"


def _describe(statuses: Mapping[int, str], body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the options of a route: the meaning of each status, and the schema of its body."""
    content = {"required": True, "content": {"application/json": {"schema": body}}}
    extra = {} if body is None else {"openapi_extra": {"requestBody": content}}
    responses = {status: {"description": text} for status, text in statuses.items()}
    return {**extra, "responses": responses}


SESSION = {401: "no session"}
STORE = SESSION | {503: "the store cannot write now; try again later"}
STAGE = STORE | {409: "not at this stage"}
STORED = {
    200: "stored: acknowledged is its id; ended is true if the session is over, as it is for "
    "somebody who has skipped more items than the study allows",
    409: "another answer stands in its place (conflict, answered), it was revised too often "
    "(revisions), or the session is over (left, withdrawn)",
    413: "larger than 64 kB",
    422: "an answer that cannot be read: field and reason",
    429: "too many requests; try again later",
}
ANSWERS = _describe(STORE | STORED, {"$ref": REF.format(model="AnswerBody")})
PLAN = _describe(STAGE | {429: "not now; try again later"})
LABELS = _describe(SESSION | {400: "a query that cannot be read"})
FINISH = _describe(STAGE, {"type": "object", "maxProperties": 0})


def describe_api(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI description, with the bodies that FastAPI does not see."""
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, routes=app.routes)
        known = schema.setdefault("components", {}).setdefault("schemas", {})
        for model in (AnswerBody, TimingBody, DeliveryBody):
            known[model.__name__] = model.model_json_schema(ref_template=REF)
            known[model.__name__].pop("$defs", None)
        app.openapi_schema = schema
    return app.openapi_schema


class Api:
    """Handlers of ``/api``; the one for answers does as little as possible."""

    def __init__(
        self,
        site: Site,
        sessions: Sessions,
        newcomers: Newcomers,
        running: Running,
        plan_writer: PlanWriter,
    ) -> None:
        self.site, self.sessions, self.newcomers = site, sessions, newcomers
        self.running, self.plan_writer = running, plan_writer
        self.adopt(site.study)
        site.listen(self.adopt, plan_writer.adopt)
        paths = (getattr(mode, "path", "") for mode in site.study.modes)
        path = next(filter(None, paths), "")
        self.labels_index = LabelIndex(site.study.labels, site.study.synonyms, path)
        arms = site.study.compare.arms if site.study.compare else ()
        modes = {None: site.study.mode} | {arm.name: arm.mode for arm in arms}
        self._mode_options = {arm: json.dumps(registry.settings(modes[arm])) for arm in modes}

    def adopt(self, study: Study) -> None:
        """Give out the items of another version of the study from now on."""
        self.lease_plan, self.most_skips = lease_plan(study), study.most_skips

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
            return json_error(401, "session")
        study, raw = self.site.study, await request.body()
        body = read_answer(raw)
        if body.skip is not None and body.skip not in study.skip_reasons:
            raise ResponseError("skip", body.skip, "is no reason for skipping in this study")
        arm = await self._find_arm(request, body.position)
        mode = study.mode if arm is None else arm.mode
        answer = None if body.answer is None else mode.read(body.answer, study.labels)
        response = NewResponse(
            id=body.response_uuid,
            position=body.position,
            answer_json=None if body.answer is None else json.dumps(body.answer),
            payload=raw.decode(),
            mode=mode.name,
            mode_version=mode.version,
            digest=body.digest(),
            skip=body.skip,
            supersedes=body.supersedes,
            timing=Timing(*(getattr(body.timing, name) for name in Timing._fields)),
            mode_options=self._mode_options[None if arm is None else arm.name],
            frame=study.frame,
            arm=None if arm is None else arm.name,
        )
        now, most = self.site.now(), self.most_skips
        storing = self.site.store.answer(session, response, now, most_skips=most)
        try:
            ack = await asyncio.wrap_future(storing)
        except Absent as wrong:
            if wrong.what == "session":  # it was forgotten meanwhile
                self.sessions.forget(session)
                return json_error(401, "session")
            reason = "this session has no such place"
            raise ResponseError("position", body.position, reason) from wrong
        feedback = b"null"
        if ack.kind == records.PRACTICE:  # None if the item has left the study since
            practice = next((item for item in study.practice if item.id == ack.item), None)
            feedback = json.dumps(practice and practice_feedback(study, practice, answer)).encode()
        ended = b',"ended":true' if ack.ended else b""
        fields = body.response_uuid.encode(), feedback, ended
        text = b'{"acknowledged":"%b","feedback":%b%b}' % fields
        return Response(text, media_type="application/json")

    async def plan(self, request: Request) -> Response:
        """What to show next, after taking more for this session if it needs some."""
        session = await self.sessions.session(request)
        if session is None:
            return json_error(401, "session")
        if session.stage != TASK:
            return json_error(409, "stage", stage=session.stage)
        await self.running.look()
        portion = await self._lease(request, session)
        arm = find_arm(self.site.study, session, portion.showings)
        return JSONResponse(self.plan_writer(session, portion, arm))

    async def finish(self, request: Request) -> Response:
        """Open the gate if the store holds every answer; otherwise say what is missing."""
        site = self.site
        async with self.sessions.lock(request) as session:
            if session is None:
                return json_error(401, "session")
            if session.stage in stages.BEFORE_TASK:
                return json_error(409, "stage", stage=session.stage)
            if session.stage == TASK:
                missing = list(await asyncio.to_thread(site.store.missing, session.id))
                if not missing:  # of what the person holds; more may still be theirs to get
                    held = (await self._lease(request, session)).showings
                    missing = [shown.position for shown in held if shown.state == "open"]
                if missing:
                    return JSONResponse({"open": False, "missing": missing})
                showings = await asyncio.to_thread(site.store.showings, session.id)
                to, event, detail = stages.stage_after_task(site.study, session, showings)
                moving = site.store.set_stage(
                    session.id, to, event=event, detail=detail, now=site.now(), leaves=TASK
                )
                await asyncio.wrap_future(moving)
            return JSONResponse({"open": True, "next": "/"})

    async def labels(
        self,
        request: Request,
        q: Annotated[str, Query(max_length=100)] = "",
        limit: Annotated[int, Query(ge=1, le=MOST_LABELS)] = 20,
        under: Annotated[str | None, Query(max_length=1000)] = None,
    ) -> Response:
        """Labels in which this occurs, or those directly ``under`` a branch ("": outermost)."""
        if await self.sessions.session_id(request) is None:
            return json_error(401, "session")
        if under is not None:
            return JSONResponse({"labels": self.labels_index.list_under(under)})
        return JSONResponse({"labels": self.labels_index.find(q, limit)})

    async def _find_arm(self, request: Request, position: int) -> Arm | None:
        """Return the arm in which this person was asked at a position; None without arms, in which
        case nothing is read."""
        study = self.site.study
        if study.compare is None:
            return None
        session = await self.sessions.session(request)
        if session is None or study.compare.by == "person":
            return session and study.arm_of(session.number)
        showings = await asyncio.to_thread(self.site.store.showings, session.id)
        return find_arm(study, session, showings, position)

    async def _lease(self, request: Request, session: Session) -> rows.Portion:
        """Lease items to this session; whoever let a whole lease end unanswered is new again."""
        begins = session.answered == 0 and session.lease_end == 0
        if begins and not await self.newcomers.admit(request, session.id):
            raise HTTPException(429, headers={"retry-after": stages.RETRY_AFTER})
        leasing = self.site.store.lease(session.id, self.lease_plan, self.site.now())
        try:
            portion = await asyncio.wrap_future(leasing)
        except Conflict:  # the page that comes next must know that the study is paused or closed
            self.running.expire()
            raise
        await self.running.know(portion)
        return portion


def find_arm(
    study: Study, session: Session, showings: Sequence[Showing], position: int | None = None
) -> Arm | None:
    """Return the arm of a session; where batches are compared, that of the batch at a position, or
    of the latest batch, to which practice items belong."""
    batches = [shown.batch for shown in showings if shown.batch is not None]
    own = [shown.batch for shown in showings if shown.position == position and shown.batch]
    return study.arm_of(session.number, next(iter([*own, *reversed(batches)]), None))


def json_error(
    status: int, name: str, headers: Mapping[str, str] | None = None, **more: Any
) -> JSONResponse:
    """Make an error response that a program can read."""
    return JSONResponse({"error": name} | more, status, dict(headers or {}))


def practice_feedback(study: Study, item: Item, answer: Answer | None) -> dict[str, Any]:
    """Return the study's text on a practice item, the person's distribution, and the reference.

    The answer becomes a point on the simplex without any smoothing; None where there is nothing.
    """

    def by_label(probs: Any) -> dict[str, float]:
        pairs = zip(study.labels, probs, strict=True)
        return {label: round(float(p), 4) for label, p in pairs if p > 0}

    yours = None
    if answer is not None:
        index = Index(names(["this"]), names(["you"]), names(study.labels))
        code = np.zeros(1, dtype=np.int64)
        made = Clamp(spread=0.0)(records.stack_answers(index, code, code, [answer]))
        yours = by_label(made.soft()[0])
    reference = None if item.gold is None else by_label(item.gold)
    return {"text": item.feedback, "yours": yours, "reference": reference}
