"""Sessions: the stages of taking part, who sends a request, and who may be given items."""

import asyncio
import base64
import binascii
import hmac
import json
import math
import re
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from hashlib import blake2b

import numpy as np
from fastapi import Request
from starlette.responses import Response

from softlabel.errors import Conflict
from softlabel.serve.guard import network_of, parse_address
from softlabel.serve.participant.plans import portion_size
from softlabel.serve.recruit import Arrival
from softlabel.serve.secret import hash_token, new_token
from softlabel.serve.site import Site
from softlabel.serve.texts import LANGUAGE_COOKIE, choose_language, speaking
from softlabel.store import Session, Showing
from softlabel.study import Study

CONSENT, QUESTIONS, INSTRUCTIONS, QUIZ = "consent", "questions", "instructions", "quiz"
TASK, DEBRIEF, DONE = "task", "debrief", "done"
SCREENED_OUT, NO_CONSENT = "screened-out", "no-consent"
WITHDRAWN, FULL, CLOSED = "withdrawn", "full", "closed"
PAUSED = "paused"  # the page of people who have to wait; no stage
BEFORE_TASK = frozenset({CONSENT, QUESTIONS, INSTRUCTIONS, QUIZ})
UNDER_WAY = BEFORE_TASK | {TASK, DEBRIEF}

COOKIE = "softlabel"
RETURN_COOKIE = "softlabel-return"
TOKEN = re.compile(rb"[A-Za-z0-9_-]{43}")
MONTH = 30 * 24 * 3600
MOST_KNOWN = 50_000  # tokens and networks that are remembered
LOCKS = 64
RETRY_AFTER = "60"  # seconds until somebody who has to wait may try again


def list_stages(study: Study) -> tuple[str, ...]:
    """Return the stages of somebody who completes the study."""
    questions = (QUESTIONS,) if study.before else ()
    quiz = (QUIZ,) if study.quiz is not None else ()
    debrief = (DEBRIEF,) if study.debrief else ()
    return (CONSENT, *questions, INSTRUCTIONS, *quiz, TASK, *debrief, DONE)


def next_stage(study: Study, stage: str) -> str:
    """Return the stage that follows."""
    stages = list_stages(study)
    return stages[stages.index(stage) + 1]


def stage_after_task(
    study: Study, session: Session, showings: Sequence[Showing]
) -> tuple[str, str, dict[str, object]]:
    """Return where the task leads, on, or out for somebody who skipped too many items, and the
    event with its detail.

    The store ends sessions that pass the limit.  This finds people who got fewer items than others,
    answered none of them, and skipped more than so few allow.
    """
    targets = [shown for shown in showings if shown.kind == "target" and shown.response is not None]
    skipped_all = all(shown.state == "skipped" for shown in targets)
    most = study.skips_among(len(targets)) if skipped_all else study.most_skips
    if session.skipped > most:
        return SCREENED_OUT, SCREENED_OUT, {"reason": "skips", "skipped": session.skipped}
    return next_stage(study, TASK), "answered-all", {}


def speak_to(study: Study, request: Request, language: str | None) -> None:
    """Set the language of this request; ``language`` is that of the session, if it has one."""
    if len(study.languages) > 1:
        chosen = (language, request.cookies.get(LANGUAGE_COOKIE))
        speaking.set(choose_language(study.languages, request.headers, chosen))


class Sessions:
    """Find the session of a request by a random token in a cookie; the store knows its hash."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.cookie = f"__Host-{COOKIE}" if site.secure else COOKIE
        self._known: OrderedDict[str, str] = OrderedDict()  # from token hash to session id
        self._locks = [asyncio.Lock() for _ in range(LOCKS)]

    def known_token(self, headers: Mapping[bytes, bytes]) -> str | None:
        """Return the hash of the request's token if it has opened a session before."""
        hashed = self._hash(headers.items())
        return hashed if hashed in self._known else None

    async def session(self, request: Request) -> Session | None:
        """Return the session as the store has it now; what is said from here on is said in the
        person's language."""
        hashed = self._hash(request.scope["headers"])
        session = None
        if hashed is not None:
            session = await asyncio.to_thread(self.site.store.session, hashed)
            if session is not None and session.study == self.site.study.name:
                self._remember(hashed, session)
            else:
                self._known.pop(hashed, None)
                session = None
        speak_to(self.site.study, request, session and session.language)
        return session

    @asynccontextmanager
    async def lock(self, request: Request) -> AsyncIterator[Session | None]:
        """Return the session and lock it for a change: two tabs wait for each other."""
        hashed = self._hash(request.scope["headers"])
        if hashed is None:
            speak_to(self.site.study, request, None)
            yield None
            return
        async with self._locks[hash(hashed) % LOCKS]:
            yield await self.session(request)

    async def session_id(self, request: Request) -> str | None:
        """Return the id of the session, from memory if possible: every answer needs it.

        Whether the session still exists shows when the store is asked to add to it.
        """
        hashed = self._hash(request.scope["headers"])
        if hashed is not None and hashed in self._known:
            return self._known[hashed]
        session = await self.session(request)
        return None if session is None else session.id

    def forget(self, session: str) -> None:
        """Drop what is remembered of a session that has ended."""
        for hashed in [key for key, known in self._known.items() if known == session]:
            del self._known[hashed]

    async def enter(self, kind: str, arrival: Arrival | None) -> tuple[Session, str] | None:
        """Return the one session of this person and a new token for it.

        None if they entered before under another id of the recruiter's session.
        """
        site, token = self.site, new_token()
        arrival = arrival or Arrival(secrets.token_hex(16))
        visit = arrival.session and site.secret.pseudonym(f"{kind}-session", arrival.session)
        entering = site.store.enter(
            site.study.name,
            site.secret.pseudonym(kind, arrival.id),
            hash_token(token),
            label_order_of=lambda number: label_order(site.study, number),
            seed=site.study.seed,
            recruiter_session=visit,
            now=site.now(),
        )
        try:
            session = await asyncio.wrap_future(entering)
        except Conflict:
            return None
        self._remember(hash_token(token), session)
        return session, token

    def give_token(self, response: Response, token: str) -> None:
        """Put the token into the browser, out of reach of scripts and of other sites."""
        self._set_cookie(response, self.cookie, token)

    def give_arrival(self, response: Response, arrival: Arrival) -> None:
        """Let the browser itself keep the recruiter's ids that the return address needs."""
        text = base64.urlsafe_b64encode(json.dumps([arrival.id, arrival.session]).encode()).decode()
        signature = self.site.secret.sign("return:" + text)
        self._set_cookie(response, RETURN_COOKIE, f"{text}.{signature}")

    def arrival(self, request: Request) -> Arrival | None:
        """Return the recruiter's ids that the browser kept, if we signed them."""
        text, _, signature = request.cookies.get(RETURN_COOKIE, "").rpartition(".")
        right = self.site.secret.sign("return:" + text)
        if not hmac.compare_digest(right.encode(), signature.encode()):
            return None
        try:
            return Arrival(*json.loads(base64.urlsafe_b64decode(text)))
        except (ValueError, TypeError, binascii.Error):
            return None

    def give_language(self, response: Response, language: str) -> None:
        """Let the browser keep the language that was chosen, also before there is a session."""
        self._set_cookie(response, LANGUAGE_COOKIE, language)

    def _set_cookie(self, response: Response, name: str, value: str) -> None:
        response.set_cookie(
            name, value, max_age=MONTH, secure=self.site.secure, httponly=True, samesite="lax"
        )

    def _hash(self, headers: Iterable[tuple[bytes, bytes]]) -> str | None:
        """Return the hash of the token in the Cookie header, if there is one."""
        header = next((value for key, value in headers if key == b"cookie"), b"")
        for part in header.split(b";"):
            key, _, value = part.strip().partition(b"=")
            if key == self.cookie.encode():
                return hash_token(value.decode()) if TOKEN.fullmatch(value) else None
        return None

    def _remember(self, hashed: str, session: Session) -> None:
        self._known[hashed] = session.id
        if len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)


def label_order(study: Study, number: int) -> Sequence[str]:
    """Return the order of labels for the n-th person, which never changes."""
    if study.label_order == "fixed":
        return study.labels
    order = np.random.default_rng([study.seed % 2**64, number]).permutation(len(study.labels))
    return [study.labels[place] for place in order]


class Newcomers:
    """People who were given items and have not answered any, counted by network address.

    Otherwise somebody who opens an open study again and again would hold all its places.  An
    address is kept in memory only, while such a person holds items, and only as a hash whose key
    ends with the process.
    """

    def __init__(self, site: Site) -> None:
        self.site, self.most = site, most_newcomers(site.study)
        self.lease_seconds = 60.0 * site.study.lease_minutes
        self._key = secrets.token_bytes(32)
        self._came: OrderedDict[bytes, dict[str, float]] = OrderedDict()  # session -> when

    def adopt(self, study: Study) -> None:
        """Count for another version of the study from now on."""
        self.most = most_newcomers(study)

    async def admit(self, request: Request, session: str) -> bool:
        """Whether this person may have items now; if so, they are counted."""
        address = parse_address(request.client.host if request.client else "")
        # a loopback address says nothing about people: a proxy on this machine has it as well
        if address is None or address.is_loopback or not self.site.recruiter.walk_in:
            return True
        key = blake2b(network_of(address).encode(), key=self._key).digest()
        if len(self._came.get(key, ())) >= self.most:
            await self._drop_ended(key)
        came = self._came.setdefault(key, {})
        admitted = session in came or len(came) < self.most
        if admitted:  # counted at once: no other request gets in between
            came[session] = self.site.now()
        self._came.move_to_end(key)
        # drop the address that was seen longest ago, unless somebody there holds items
        oldest, came = next(iter(self._came.items()))
        if max(came.values(), default=0.0) + self.lease_seconds <= self.site.now():
            await self._drop_ended(oldest)
            if self._came.get(oldest):
                self._came.move_to_end(oldest)
            else:
                self._came.pop(oldest, None)
        while len(self._came) > MOST_KNOWN:
            self._came.popitem(last=False)
        return admitted

    async def _drop_ended(self, key: bytes) -> None:
        """Keep only the people who still hold items, or were admitted a moment ago."""
        came = dict(self._came.get(key, {}))
        ends = await asyncio.to_thread(self.site.store.unanswered, list(came))
        now = self.site.now()
        for session, since in came.items():
            end = ends.get(session, -1.0)
            if (end or since + self.lease_seconds) <= now:
                self._came.get(key, {}).pop(session, None)


def most_newcomers(study: Study) -> int:
    """Return half the number of people who could hold all places of the study between them."""
    portions = math.ceil(len(study.items) * study.per_item / portion_size(study))
    places = len(study.batches) * study.per_item or portions
    return max(1, max(study.per_item, places) // 2)
