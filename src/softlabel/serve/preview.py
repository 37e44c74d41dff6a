"""A preview of a study: every page that participants see, listed beside a frame that shows it.

The pages come from the real server over a database in a temporary folder, which is deleted at the
end.  A click in the list makes a new person, brings them to the page, and forgets the last one.
"""

import asyncio
import base64
import json
import os
import re
import secrets
import sys
import tempfile
import uuid
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Message, Receive, Scope, Send

from softlabel import registry
from softlabel import store as stores
from softlabel import study as studies
from softlabel.errors import StudyError
from softlabel.serve.app import LOOPBACK, make_app
from softlabel.serve.databases import put_study
from softlabel.serve.guard import HEADERS
from softlabel.serve.participant.sessions import COOKIE, RETURN_COOKIE, label_order
from softlabel.serve.process import Ready, Server, configure, ignore_signals, listen
from softlabel.serve.secret import Secret, hash_token, new_token
from softlabel.serve.sights import Sight, list_reasons, list_sights
from softlabel.serve.site import Clock, load_template
from softlabel.store import Session, Store
from softlabel.study import Study

HOME = "/preview"
MINE = b"preview-"  # begins our cookies: a study served on this machine keeps its own
OURS = COOKIE.encode()
POLICY = HEADERS["content-security-policy"]
FRAMED = {
    b"content-security-policy": POLICY.replace("frame-ancestors 'none'", "frame-ancestors 'self'"),
    b"x-frame-options": "SAMEORIGIN",
}
LISTING = {"content-security-policy": f"{POLICY}; frame-src 'self'"}
OK = 200
MOST_SKIPS = 200  # items that somebody skips to be screened out
Headers = Sequence[tuple[bytes, bytes]]


def show_preview(folder: Path, *, port: int = 0, ready: Ready | None = None) -> None:
    """Serve the preview of a study folder, on this machine only, until the process is stopped."""
    with (
        listen("127.0.0.1", port) as listener,
        tempfile.TemporaryDirectory(prefix="softlabel-preview-") as place,
        ExitStack() as stack,
        ignore_signals(),
    ):
        preview = Preview(folder, Path(place), stack)
        PreviewServer(configure(preview), preview.study.name, None, ready).run([listener])


class PreviewServer(Server):
    """Print the address of the list as soon as the server listens."""

    def announce(self, address: str) -> str:
        """Print the address; return the one to open."""
        home = address.rstrip("/") + HOME
        sys.stdout.write(f"softlabel previews {self.name} at {home}\n")
        sys.stdout.flush()
        return home


class Preview:
    """The application: the list of pages, the ways to each of them, and the pages themselves."""

    study: Study
    store: Store

    def __init__(self, folder: Path, place: Path, stack: ExitStack) -> None:
        self.folder, self.place, self._stack = folder, place, stack
        self.secret = Secret(secrets.token_bytes(32), researcher="")
        self._stamp = stamp_files(folder)
        self._adopt(studies.read(folder))

    def _adopt(self, study: Study) -> None:
        """Show this version of the study, over a database of its own."""
        database = self.place / f"{secrets.token_hex(8)}.db"
        self.store = self._stack.enter_context(stores.open(database))
        self.study, self.now = study, Clock(self.store.newest())
        put_study(study, self.store, self.now())
        self.sights = {sight.name: sight for sight in list_sights(study)}
        self.languages: tuple[str, ...] = getattr(study, "languages", (study.language,))
        self._apps: dict[str, FastAPI] = {}  # by mode; "" is the study's own
        self._seen: dict[str, Sight] = {}  # by the hash of a person's token

    def _read_again(self) -> tuple[str, ...]:
        """Adopt the study if its files have changed; return the mistakes in it."""
        stamp = stamp_files(self.folder)
        if stamp == self._stamp:
            return ()
        try:
            study = studies.read(self.folder)
        except StudyError as error:
            return tuple(map(str, error.problems))
        self._stamp = stamp
        self._adopt(study)
        return ()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request as the study's server would, in a page that we may frame."""
        scope = {**scope, "headers": read_cookies(scope["headers"])}
        sight = self._seen.get(self._token(scope["headers"]))
        app = self._app(sight.mode if sight else "")
        if sight and sight.pretends and scope["path"] == "/api/answers":
            scope, receive = await self._pretend(scope, receive)

        async def send_framed(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = frame(message["headers"], scope["path"])
            await send(message)

        await app(scope, receive, send_framed)

    def _app(self, mode: str) -> FastAPI:
        """Return the study's server; in another mode if one is given."""
        if mode not in self._apps:
            study = self.study if not mode else in_mode(self.study, mode)
            app = make_app(study, self.store, self.secret, now=self.now, hosts=LOOPBACK)
            app.add_api_route(HOME, self.show_list, response_class=HTMLResponse)
            app.add_api_route(HOME + "/show/{name}", self.show, response_class=Response)
            app.add_api_route(HOME + "/error/{status}", self.fail, response_class=Response)
            app.add_api_route(HOME + "/left", self.show_way_back, response_class=HTMLResponse)
            self._apps[mode] = app
        return self._apps[mode]

    # ── our own pages ────────────────────────────────────────────────────────────────────────

    async def show_list(self) -> Response:
        """The list of all pages, and the frame beside it; changes of the study are read."""
        problems = self._read_again()
        groups: dict[str, list[Sight]] = {}
        for sight in self.sights.values():
            groups.setdefault(sight.group, []).append(sight)
        return self._render(
            "preview.html", groups=groups, languages=self.languages, problems=problems
        )

    async def show_way_back(self, to: str = "") -> Response:
        """Where people return to, instead of going there."""
        return self._render("preview-left.html", address=to)

    async def fail(self, status: int) -> Response:
        """An error page."""
        raise HTTPException(status)

    def _render(self, template: str, **values: Any) -> Response:
        text = load_template(template).render(study=self.study, **values)
        return HTMLResponse(text)

    async def show(self, request: Request, name: str, language: str = "") -> Response:
        """Bring a new person to a page."""
        if name not in self.sights or language not in ("", *self.languages):
            raise HTTPException(404)
        sight, cookies = self.sights[name], []
        await self._forget(self._token(request.scope["headers"]))
        token = new_token()
        if sight.stage is not None:
            await self._bring(sight, token)
            cookies += [(COOKIE, token), (RETURN_COOKIE, self._sign_arrival())]
        if len(self.languages) > 1:
            form = {"language": language or self.languages[0]}
            status, headers, _ = await self._ask("/language", cookies, form=form)
            cookies += read_set_cookies(headers)
        if sight.form is None:
            response: Response = RedirectResponse(sight.path, 303)
        else:
            status, headers, body = await self._ask(sight.path, cookies, form=sight.form)
            response = Response(body, status, media_type="text/html")
        for cookie, value in cookies:
            response.set_cookie(cookie, value, httponly=True, samesite="lax")
        if sight.stage is None:
            response.delete_cookie(COOKIE)
        return response

    # ── people ───────────────────────────────────────────────────────────────────────────────

    async def _bring(self, sight: Sight, token: str) -> None:
        """Let somebody in who has come as far as this page."""
        store, study, hashed = self.store, self.study, hash_token(token)
        self._seen[hashed] = sight
        entering = store.enter(
            study.name,
            secrets.token_hex(8),
            hashed,
            label_order_of=lambda number: label_order(study, number),
            seed=study.seed,
            recruiter_session=None,
            now=self.now(),
        )
        session: Session = await asyncio.wrap_future(entering)
        for _ in range(sight.tries):
            await asyncio.wrap_future(store.quiz_try(session.id, False, {}, self.now()))
        if sight.works:
            await self._move(session, "task")
            await self._work(sight, token)
        if not sight.ends:
            await self._move(session, sight.stage or "")

    def _sign_arrival(self) -> str:
        """Return what the browser keeps of the recruiter's ids, for the way back."""
        text = base64.urlsafe_b64encode(json.dumps(["preview", "preview"]).encode()).decode()
        return f"{text}.{self.secret.sign('return:' + text)}"

    async def _move(self, session: Session, stage: str) -> None:
        moving = self.store.set_stage(session.id, stage, event="preview", detail={}, now=self.now())
        await asyncio.wrap_future(moving)

    async def _work(self, sight: Sight, token: str) -> None:
        """Answer the practice, or skip items until the session ends."""
        cookies = [(COOKIE, token)]
        for _ in range(MOST_SKIPS):
            _, _, text = await self._ask("/api/plan", cookies)
            showings = json.loads(text).get("showings", [])
            wanted = [
                shown
                for shown in showings
                if not shown["answered"] and (sight.ends or shown["phase"] == "practice")
            ]
            for shown in wanted:
                given: dict[str, Any] = {"answer": self._answer(sight)}
                if sight.ends:
                    given = {"skip": list_reasons(self.study)[0]}
                body = {"response_uuid": str(uuid.uuid4()), "position": shown["position"], **given}
                status, _, said = await self._ask("/api/answers", cookies, body=json.dumps(body))
                if status != OK or json.loads(said).get("ended"):
                    return
            if not wanted or not sight.ends:
                return

    def _answer(self, sight: Sight) -> dict[str, Any]:
        """Return what somebody says who believes the reference of the first practice item."""
        study, first = self.study, next(iter(self.study.practice), None)
        even = [1 / len(study.labels)] * len(study.labels)
        belief = np.array((first and first.gold) or even)
        mode = in_mode(study, sight.mode).mode if sight.mode else study.mode
        return dict(mode.simulate(belief, study.labels, np.random.default_rng(0)))

    async def _pretend(self, scope: Scope, receive: Receive) -> tuple[Scope, Receive]:
        """Turn a skip, which can be given in every mode alike, into a simulated answer."""
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        fields = json.loads(body)
        if fields.get("skip"):
            fields |= {"skip": None, "answer": self._answer(self.sights["feedback"])}
        body = json.dumps(fields).encode()
        return _replace_body(scope, body)

    async def _forget(self, hashed: str) -> None:
        """Forget the last person, whose places become free."""
        self._seen.pop(hashed, None)
        session = await asyncio.to_thread(self.store.session, hashed) if hashed else None
        if session is not None:
            await asyncio.wrap_future(self.store.forget(self.study.name, session.annotator))

    def _token(self, headers: Headers) -> str:
        """Return the hash of the token in the cookies of a request, or nothing."""
        for name, value in _split_cookies(headers):
            if name == OURS:
                return hash_token(value.decode("latin-1"))
        return ""

    async def _ask(
        self,
        path: str,
        cookies: Iterable[tuple[str, str]],
        form: Mapping[str, str] | None = None,
        body: str | None = None,
    ) -> tuple[int, Headers, bytes]:
        """Send a request to the study's server in this process, as a program would."""
        sent = (urlencode(form) if form is not None else body or "").encode()
        kind = b"application/json" if form is None else b"application/x-www-form-urlencoded"
        text = "; ".join(f"{name}={value}" for name, value in cookies)
        scope: Scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET" if form is None and body is None else "POST",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [
                *((b"host", b"127.0.0.1"), (b"x-softlabel", b"1"), (b"content-type", kind)),
                *((b"cookie", text.encode()), (b"content-length", str(len(sent)).encode())),
            ],
            "client": ("127.0.0.1", 0),
            "server": ("127.0.0.1", 0),
        }
        scope, receive = _replace_body(scope, sent)
        status, headers, parts = 500, [], []

        async def collect(message: Message) -> None:
            nonlocal status, headers
            if message["type"] == "http.response.start":
                status, headers = message["status"], message["headers"]
            else:
                parts.append(message.get("body", b""))

        sight = self._seen.get(self._token(scope["headers"]))
        await self._app(sight.mode if sight else "")(scope, receive, collect)
        return status, headers, b"".join(parts)


def in_mode(study: Study, mode: str) -> Study:
    """Return the study in another mode, in all its languages."""
    changed = {"mode": registry.parse("mode", mode), "mode_text": mode}
    others: Mapping[str, Study] = getattr(study, "others", {})
    if others:
        spoken = {code: replace(one, **changed) for code, one in others.items()}
        changed["others"] = spoken
    return replace(study, **changed)


def stamp_files(folder: Path) -> dict[str, tuple[int, int]]:
    """Return when each file of a study was changed, and its size; hidden ones are not read."""
    stamps = {}
    for top, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            about = os.stat(os.path.join(top, name))
            stamps[os.path.join(top, name)] = (about.st_mtime_ns, about.st_size)
    return stamps


# ── requests and responses ───────────────────────────────────────────────────────────────────


def read_cookies(headers: Headers) -> Headers:
    """Keep only our own cookies, under the names that the study's server uses."""
    own = [
        name.removeprefix(MINE) + b"=" + value
        for name, value in _split_cookies(headers)
        if name.startswith(MINE)
    ]
    rest = [(name, value) for name, value in headers if name != b"cookie"]
    return [*rest, (b"cookie", b"; ".join(own))] if own else rest


def frame(headers: Headers, path: str) -> Headers:
    """Let our own page frame this one, rename its cookies, and stay in the preview."""
    listing = path == HOME
    made: list[tuple[bytes, bytes]] = []
    for name, value in headers:
        if name == b"set-cookie":
            value = MINE + value
        elif name == b"location" and re.match(rb"https?:", value):
            value = f"{HOME}/left?{urlencode({'to': value.decode('latin-1')})}".encode()
        elif name in FRAMED and not listing:
            value = FRAMED[name].encode()
        elif listing and name.decode() in LISTING:
            value = LISTING[name.decode()].encode()
        made.append((name, value))
    return made


def read_set_cookies(headers: Headers) -> list[tuple[str, str]]:
    """Return name and value of each cookie that a response sets."""
    pairs = (
        value.partition(b";")[0].partition(b"=") for name, value in headers if name == b"set-cookie"
    )
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, _, value in pairs]


def _split_cookies(headers: Headers) -> Iterable[tuple[bytes, bytes]]:
    for header, text in headers:
        if header == b"cookie":
            for part in text.split(b";"):
                name, _, value = part.strip().partition(b"=")
                yield name, value


def _replace_body(scope: MutableMapping[str, Any], body: bytes) -> tuple[Scope, Receive]:
    """Return a request with this body."""
    rest = [(name, value) for name, value in scope["headers"] if name != b"content-length"]
    headers = [*rest, (b"content-length", str(len(body)).encode())]

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return {**scope, "headers": headers}, receive
