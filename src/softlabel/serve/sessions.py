"""Who is asking: a random token in a cookie, of which the store knows the hash."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import json
import re
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import numpy as np
from fastapi import Request
from starlette.responses import Response

from softlabel.errors import Conflict
from softlabel.serve.recruit import Arrival
from softlabel.serve.secret import hash_token, new_token
from softlabel.serve.site import Site, read, written
from softlabel.store import Session
from softlabel.study import Study

COOKIE = "softlabel"
RETURN_COOKIE = "softlabel-return"
TOKEN = re.compile(rb"[A-Za-z0-9_-]{43}")
MONTH = 30 * 24 * 3600
MOST_KNOWN = 50_000
TURNS = 64


class Sessions:
    """Finds the session of a request, and lets people in."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.cookie = f"__Host-{COOKIE}" if site.secure else COOKIE
        self._cookie = self.cookie.encode()
        self._known: OrderedDict[str, str] = OrderedDict()  # from token hash to session id
        self._turns = [asyncio.Lock() for _ in range(TURNS)]

    # ── finding ──────────────────────────────────────────────────────────────────────────────

    def known_token(self, headers: Mapping[bytes, bytes]) -> str | None:
        """The hash of the request's token if it has opened a session before."""
        found = self._hash(headers.get(b"cookie"))
        return found if found in self._known else None

    async def session(self, request: Request) -> Session | None:
        """The session as the store has it now."""
        found = self._hash(_cookie_header(request))
        if found is None:
            return None
        session = await read(self.site.store.session, found)
        if session is not None and session.study == self.site.study.name:
            self._remember(found, session)
            return session
        self._known.pop(found, None)
        return None

    @asynccontextmanager
    async def turn(self, request: Request) -> AsyncIterator[Session | None]:
        """The session, for as long as something is changed: two tabs wait for each other."""
        found = self._hash(_cookie_header(request))
        if found is None:
            yield None
            return
        async with self._turns[hash(found) % TURNS]:
            yield await self.session(request)

    async def session_id(self, request: Request) -> str | None:
        """Which session, from memory if possible: answers come this way.

        Whether it still exists is seen when the store is asked to add to it.
        """
        found = self._hash(_cookie_header(request))
        if found is not None and found in self._known:
            return self._known[found]
        session = await self.session(request)
        return None if session is None else session.id

    def forget(self, session: str) -> None:
        """Drop what is remembered of a session that has ended."""
        for found in [key for key, known in self._known.items() if known == session]:
            del self._known[found]

    def _hash(self, header: bytes | None) -> str | None:
        token = cookie_in(header, self._cookie)
        return hash_token(token.decode()) if token and TOKEN.fullmatch(token) else None

    def _remember(self, found: str, session: Session) -> None:
        self._known[found] = session.id
        if len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)

    # ── letting in ───────────────────────────────────────────────────────────────────────────

    async def enter(self, kind: str, arrival: Arrival | None) -> tuple[Session, str] | None:
        """The one session of this person and a token for it; None if they come as another."""
        site, token = self.site, new_token()
        arrival = arrival or Arrival(secrets.token_hex(16))
        annotator = site.secret.pseudonym(kind, arrival.id)
        visit = arrival.session and site.secret.pseudonym(f"{kind}-session", arrival.session)
        entering = site.store.enter(
            site.study.name,
            annotator,
            hash_token(token),
            label_order_of=lambda number: label_order(site.study, number),
            seed=site.study.seed,
            recruiter_session=visit,
            now=site.now(),
        )
        try:
            session = await written(entering)
        except Conflict:
            return None
        self._remember(hash_token(token), session)
        return session, token

    def give(self, response: Response, token: str) -> None:
        """Put the token into the browser, out of reach of scripts and of other sites."""
        response.set_cookie(
            self.cookie,
            token,
            max_age=MONTH,
            path="/",
            secure=self.site.secure,
            httponly=True,
            samesite="lax",
        )

    # ── the way back ─────────────────────────────────────────────────────────────────────────

    def give_return(self, response: Response, arrival: Arrival) -> None:
        """Let the browser itself keep the recruiter's id where the way back needs it."""
        text = base64.urlsafe_b64encode(json.dumps([arrival.id, arrival.session]).encode()).decode()
        response.set_cookie(
            RETURN_COOKIE,
            f"{text}.{self.site.secret.sign('return:' + text)}",
            max_age=MONTH,
            path="/",
            secure=self.site.secure,
            httponly=True,
            samesite="lax",
        )

    def arrival(self, request: Request) -> Arrival | None:
        """What the browser kept for the way back, if it is what we gave it."""
        text, _, signature = request.cookies.get(RETURN_COOKIE, "").rpartition(".")
        if not hmac.compare_digest(
            self.site.secret.sign("return:" + text).encode(), signature.encode()
        ):
            return None
        try:
            return Arrival(*json.loads(base64.urlsafe_b64decode(text)))
        except (ValueError, TypeError, binascii.Error):
            return None


def label_order(study: Study, number: int) -> Sequence[str]:
    """The order of labels for the n-th person: shuffled once, the same for ever."""
    if study.label_order == "fixed":
        return study.labels
    order = np.random.default_rng([study.seed % 2**64, number]).permutation(len(study.labels))
    return [study.labels[place] for place in order]


def cookie_in(header: bytes | None, name: bytes) -> bytes | None:
    """The value of a cookie in the header that the browser sent."""
    for part in (header or b"").split(b";"):
        key, _, value = part.strip().partition(b"=")
        if key == name:
            return value
    return None


def _cookie_header(request: Request) -> bytes | None:
    return next((value for key, value in request.scope["headers"] if key == b"cookie"), None)
