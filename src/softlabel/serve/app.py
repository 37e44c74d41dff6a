"""Wiring: a study, a store and a secret become an application."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Scope

from softlabel import __version__
from softlabel.errors import Conflict, ResponseError, SoftlabelError, StoreError
from softlabel.serve import recruit, research, texts
from softlabel.serve.api import Api, error
from softlabel.serve.clock import Clock
from softlabel.serve.documented import READY, describe
from softlabel.serve.entry import Entry
from softlabel.serve.guard import Guard, Limits
from softlabel.serve.leaving import Leaving
from softlabel.serve.media import MediaTable
from softlabel.serve.pages import Pages, home
from softlabel.serve.plans import PlanWriter
from softlabel.serve.ready import Complaints, Ready
from softlabel.serve.render import Renderer
from softlabel.serve.secret import Secret
from softlabel.serve.sessions import Sessions
from softlabel.serve.site import Site
from softlabel.serve.static import StaticTable
from softlabel.serve.vacancy import Newcomers
from softlabel.store import Store
from softlabel.study import Study

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
NAMES = {400: "request", 403: "origin", 404: "path", 405: "method", 413: "size"}
NAMES |= {421: "host", 429: "rate", 500: "mistake", 503: "store"}


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
    """The application that serves this study.

    ``now`` is a clock that does not go back; by default one that starts after everything in the
    store.  ``url`` is the address that people see, if known; ``hosts`` are the names that requests
    may call us by, and any will do if there are none.
    """
    words, recruiter = texts.load(study.language), recruit.make(study.recruit)
    site = Site(
        study=study,
        store=store,
        secret=secret,
        texts=words,
        render=Renderer(study, words, recruiter.platform()),
        recruiter=recruiter,
        now=now or Clock(store.newest()),
        secure=bool(url) and urlsplit(url).scheme == "https",
    )
    sessions, newcomers, static = Sessions(site), Newcomers(site), StaticTable()
    pages = Pages(site, sessions, newcomers)
    leaving = Leaving(site, sessions, pages)
    app = FastAPI(
        title=study.title,
        version=__version__,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # looking costs 6 %
    )
    Api(site, sessions, newcomers, PlanWriter(study, words, static)).add_to(app)
    Entry(site, sessions, pages, leaving).add_to(app)
    pages.add_to(app)
    leaving.add_to(app)
    static.add_to(app)
    MediaTable(study).add_to(app)
    app.include_router(research.router(site))
    app.add_api_route("/health", partial(health, store), methods=["GET"])
    complaints = Complaints()
    app.add_api_route("/ready", Ready(store, complaints).answer, methods=["GET"], responses=READY)
    app.openapi = partial(describe, app)  # type: ignore[method-assign]
    refuse = partial(refusal, site)
    app.add_exception_handler(HTTPException, partial(on_http_error, site))
    app.add_exception_handler(RequestValidationError, partial(on_bad_request, site))
    app.add_exception_handler(ResponseError, on_unreadable_answer)
    app.add_exception_handler(Conflict, partial(on_conflict, site))
    app.add_exception_handler(StoreError, partial(on_store_error, site, complaints))
    app.add_middleware(
        Guard,
        refuse=refuse,
        token_of=sessions.known_token,
        limits=limits or Limits(),
        secure=site.secure,
        hosts=LOOPBACK | {host_of(url)} if url else hosts,
    )
    return app


def check_url(url: str) -> None:
    """Refuse a public address at which our pages could not be found."""
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
            f"--url {url!r}: a study stands at the root of a name, so the address must end after "
            f"the host: {parts.scheme}://{parts.netloc}; give each study a name of its own, such "
            "as https://birds.example.org"
        )


def host_of(url: str) -> str:
    """The name in an address as a Host header says it, without the port."""
    name = urlsplit(url).hostname or ""
    return f"[{name}]" if ":" in name else name


async def health(store: Store) -> dict[str, bool]:
    """Whether the server answers."""
    return {"ok": True, "rehearsal": True} if store.rehearsal else {"ok": True}


def refusal(site: Site, scope: Scope, status: int, headers: dict[str, str]) -> Response:
    """No, in JSON for programs and as a page for people."""
    if scope["path"].startswith("/api"):
        return error(status, NAMES.get(status, "request"), headers)
    return site.render.error(status, headers)


async def on_http_error(site: Site, request: Request, wrong: Exception) -> Response:
    assert isinstance(wrong, HTTPException)
    return refusal(site, request.scope, wrong.status_code, dict(wrong.headers or {}))


async def on_bad_request(site: Site, request: Request, wrong: Exception) -> Response:
    return refusal(site, request.scope, 400, {})


async def on_unreadable_answer(request: Request, wrong: Exception) -> Response:
    assert isinstance(wrong, ResponseError)
    return error(422, "answer", field=wrong.field, reason=wrong.reason)


async def on_conflict(site: Site, request: Request, wrong: Exception) -> Response:
    """What is stored stands; a page shows where the person is by now."""
    assert isinstance(wrong, Conflict)
    if request.url.path.startswith("/api"):
        return error(409, wrong.reason)
    return home()


async def on_store_error(
    site: Site, complaints: Complaints, request: Request, wrong: Exception
) -> Response:
    """The store said no: nothing was changed, and the person may try again."""
    complaints.tell(str(wrong))
    return refusal(site, request.scope, 503, {"retry-after": "5"})
