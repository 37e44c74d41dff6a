"""The application: a study, a store and a secret, wired together; and the checks of its health."""

import asyncio
import logging
import re
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from functools import partial
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import Scope

from softlabel import __version__
from softlabel.errors import Conflict, ResponseError, SoftlabelError, StoreError
from softlabel.serve import recruit
from softlabel.serve.guard import Guard, Limits
from softlabel.serve.participant import sessions as stages
from softlabel.serve.participant.api import Api, describe_api, json_error
from softlabel.serve.participant.pages import Pages
from softlabel.serve.participant.plans import MediaTable, PlanWriter, list_parts
from softlabel.serve.participant.sessions import Newcomers, Sessions
from softlabel.serve.recruit import make_recruiter
from softlabel.serve.researcher.routes import add_routes
from softlabel.serve.running import Running
from softlabel.serve.secret import Secret
from softlabel.serve.site import Clock, Renderer, Site
from softlabel.serve.static import StaticTable, list_preloads
from softlabel.serve.texts import speaking
from softlabel.store import Store
from softlabel.study import Study

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
ERROR_NAMES = {400: "request", 403: "origin", 404: "path", 405: "method", 413: "size"}
ERROR_NAMES |= {421: "host", 429: "rate", 500: "mistake", 503: "store"}
FRESH = 1.0  # seconds for which the result of a check is used again: anybody may ask
PATIENCE = 5.0  # seconds for one write
PUBLIC_REASONS = {  # a part of the database's message, and what the public may know of it
    "full": "the disk is full",
    "locked": "the database is locked",
    "not the file that was opened": "the database file was moved, deleted or replaced",
    "onnect": "the database cannot be reached",
    "disk I/O": "the disk cannot be written",
}

log = logging.getLogger("softlabel.serve")


def make_app(
    study: Study,
    store: Store,
    secret: Secret,
    *,
    now: Callable[[], float] | None = None,
    url: str | None = None,
    hosts: frozenset[str] | None = None,
    limits: Limits | None = None,
) -> FastAPI:
    """Make the application that serves this study.

    ``now`` is a clock that does not go back; by default it starts after everything in the store.
    ``url`` is the public address, if known.  ``hosts`` are the host names accepted; None: any.
    """
    names = (urlsplit(url).netloc,) if url else tuple(LOOPBACK)
    recruiter = make_recruiter(study.recruit, names, partial(find_remote, study))
    render = Renderer(
        study,
        steps=stages.list_stages(study),
        leaving=stages.UNDER_WAY - {stages.CONSENT} | {stages.PAUSED},
        platform=recruiter.platform(),
        preloads=list_preloads(study.mode),
        parts=list_parts(study),
    )
    now, secure = now or Clock(store.newest()), bool(url) and urlsplit(url).scheme == "https"
    site = Site(study, store, secret, render, recruiter, now, secure)
    sessions, newcomers, static = Sessions(site), Newcomers(site), StaticTable()
    running, media = Running(site), MediaTable(study)
    site.listen(render.adopt, newcomers.adopt, media.adopt)
    store_errors = StoreErrors()
    app = FastAPI(
        title=study.title,
        version=__version__,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # looking costs 6 %
    )
    app.state.beside = _rank_beside(site)
    plan_writer = PlanWriter(study, render.catalogues, static)
    Api(site, sessions, newcomers, running, plan_writer).add_to(app)
    Pages(site, sessions, newcomers, running).add_to(app)
    static.add_to(app)
    media.add_to(app)
    add_routes(app, site, running)
    if study.recruit.kind == "prolific":
        recruit.webhooks.Hooks(site).add_to(app)
    app.add_api_route("/health", partial(health, store), methods=["GET"])
    not_ready = {503: {"description": "answers cannot be stored now; says why"}}
    ready = Ready(store, store_errors).answer
    app.add_api_route("/ready", ready, methods=["GET"], responses=not_ready)  # type: ignore[arg-type]
    app.openapi = partial(describe_api, app)  # type: ignore[method-assign]
    if url:  # as in a Host header, without the port
        name = urlsplit(url).hostname or ""
        hosts = LOOPBACK | {f"[{name}]" if ":" in name else name}
    _handle_errors(app, site, store_errors)
    app.add_middleware(
        Guard,
        refuse=partial(refuse, site),
        token_of=sessions.known_token,
        limits=limits or Limits(),
        secure=secure,
        hosts=hosts,
    )
    return app


def _rank_beside(site: Site) -> AbstractContextManager[None]:
    """Return what runs beside the server: the ranking of a study that decides live what to ask."""
    if site.study.allocate is None:
        return nullcontext()
    from softlabel.serve.ranking import Ranker, keep_ranking  # loads what models are fitted with

    ranker = Ranker(site.study, site.store, site.now)
    site.listen(ranker.adopt)
    return keep_ranking(ranker)


def find_remote(study: Study) -> str | None:
    """Return the id of the study at its recruiter, if it is known."""
    return recruit.link.read_link(study.folder).study


def check_url(url: str) -> None:
    """Refuse a public address at which the pages could not be found."""
    try:
        parts = urlsplit(url)
        named = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        named, parts = False, urlsplit("")
    if parts.scheme not in ("http", "https") or not named or re.search(r"[\s\\@]", url):
        raise SoftlabelError(
            f"--url {url!r}: the address must begin with http:// or https:// and name a host, "
            "such as https://birds.example.org"
        )
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        raise SoftlabelError(
            f"--url {url!r}: a study is served at the root of a host, so the address must end "
            f"after the host: {parts.scheme}://{parts.netloc}; give each study a host name of its "
            "own, such as https://birds.example.org"
        )


def refuse(site: Site, scope: Scope, status: int, headers: dict[str, str]) -> Response:
    """Make an error response: JSON for programs, a page for people."""
    if scope["path"].startswith("/api"):
        return json_error(status, ERROR_NAMES.get(status, "request"), headers)
    if speaking.get() is None:  # nobody has looked yet who is asking
        stages.speak_to(site.study, Request(scope), None)
    return site.render.error(status, headers)


def _handle_errors(app: FastAPI, site: Site, store_errors: "StoreErrors") -> None:
    @app.exception_handler(HTTPException)
    @app.exception_handler(RequestValidationError)
    async def on_http_error(request: Request, error: Exception) -> Response:
        if not isinstance(error, HTTPException):  # a request that cannot be read
            return refuse(site, request.scope, 400, {})
        return refuse(site, request.scope, error.status_code, dict(error.headers or {}))

    @app.exception_handler(ResponseError)
    async def on_unreadable_answer(request: Request, error: ResponseError) -> Response:
        return json_error(422, "answer", field=error.field, reason=error.reason)

    @app.exception_handler(Conflict)
    async def on_conflict(request: Request, error: Conflict) -> Response:
        """What is stored stays; a page shows the stage that the person has reached by now."""
        if request.url.path.startswith("/api"):
            return json_error(409, error.reason)
        return RedirectResponse("/", 303)

    @app.exception_handler(StoreError)
    async def on_store_error(request: Request, error: StoreError) -> Response:
        """Nothing was changed, and the person may try again."""
        store_errors.log(str(error))
        return refuse(site, request.scope, 503, {"retry-after": "5"})


async def health(store: Store) -> dict[str, bool]:
    """Whether the server answers."""
    return {"ok": True, "rehearsal": True} if store.rehearsal else {"ok": True}


class StoreErrors:
    """Log store errors with the time; log the same one once a minute, with its count."""

    def __init__(self, quiet: float = 60.0) -> None:
        self.quiet = quiet  # seconds during which the same error is only counted
        self._more: dict[str, int] = {}

    def log(self, text: str) -> None:
        """Log the error now, or count it."""
        if text in self._more:
            self._more[text] += 1
            return
        self._more[text] = 0
        log.error("%s the store refused: %s", _timestamp(), text)

        def sum_up() -> None:
            if more := self._more.pop(text):
                log.error("%s %d more times in %.0f s: %s", _timestamp(), more, self.quiet, text)

        asyncio.get_running_loop().call_later(self.quiet, sum_up)


class Ready:
    """Handler of ``/ready``: store something that changes nothing, one write at a time."""

    def __init__(self, store: Store, store_errors: StoreErrors) -> None:
        self.store, self.store_errors = store, store_errors
        self._check: asyncio.Task[str] | None = None
        self._reason, self._until = "", 0.0

    async def answer(self) -> Response:
        """Whether answers can be stored: 200, or 503 and why not."""
        if time.monotonic() >= self._until:
            if self._check is None or self._check.done():
                self._check = asyncio.create_task(self._probe())
            try:
                self._reason = await asyncio.wait_for(asyncio.shield(self._check), PATIENCE)
            except TimeoutError:
                self._reason = f"the database did not answer within {PATIENCE:.0f} s"
            self._until = time.monotonic() + FRESH
        if not self._reason:
            return JSONResponse({"ready": True})
        return JSONResponse({"ready": False, "reason": self._reason}, 503, {"retry-after": "5"})

    async def _probe(self) -> str:
        try:
            await asyncio.wrap_future(self.store.probe())
        except StoreError as error:
            self.store_errors.log(str(error))
            text = str(error).replace(self.store.name, "")
            known = (reason for part, reason in PUBLIC_REASONS.items() if part in text)
            return next(known, "the database cannot be written")
        return ""


def _timestamp() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
