"""A Prolific of our own, for tests and rehearsals: real HTTP on this machine, and all its faults.

It speaks as much of the API as ``recruit.prolific`` uses, publishes signing keys, sends people by
signed links and sends messages.  It also does what the real one does on a bad day: messages come
late, twice and in another order, requests are refused with 429 or fail with 500 after they were
carried out, submissions change their status afterwards.  It pays whoever asks it to pay, twice if
it is asked twice, and counts the money.
"""

import asyncio
import json
import logging
import random
import re
import secrets
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx
import jwt
import uvicorn
from cryptography.hazmat.primitives.asymmetric import rsa
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from softlabel.serve.process import listen
from softlabel.serve.recruit.signed import ISSUER, KEYS
from softlabel.serve.recruit.webhooks import ID, SENT_AT, SIGNATURE, TRUE_AT, sign

TOKEN = "fake-token"
LINK_MINUTES = 60
ALLOWED = {  # where a submission may go from each status
    "RESERVED": {"ACTIVE", "RETURNED", "TIMED-OUT"},
    "ACTIVE": {"AWAITING REVIEW", "RETURNED", "TIMED-OUT", "SCREENED OUT", "APPROVED"},
    "AWAITING REVIEW": {"APPROVED", "REJECTED", "RETURNED", "SCREENED OUT"},
    "TIMED-OUT": {"AWAITING REVIEW", "RETURNED", "ACTIVE"},
    "RETURNED": {"ACTIVE"},  # support can undo it
    "APPROVED": set(),
    "REJECTED": {"APPROVED"},
    "SCREENED OUT": set(),
}
MOVES = {"PUBLISH": "ACTIVE", "START": "ACTIVE", "PAUSE": "PAUSED", "STOP": "AWAITING REVIEW"}

log = logging.getLogger("softlabel.serve")


def new_id() -> str:
    """Return an id as Prolific makes them: 24 hexadecimal digits."""
    return secrets.token_hex(12)


@dataclass
class FakeSubmission:
    """One person's place in a study; sums are in the smallest unit."""

    id: str
    study: str
    person: str
    status: str = "RESERVED"
    code: str | None = None
    bonuses: list[int] = field(default_factory=list)
    changed_at: float = 0.0

    def describe(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "study_id": self.study,
            "participant_id": self.person,
            "status": self.status,
            "entered_code": self.code,
            "bonus_payments": self.bonuses,
        }


@dataclass
class Fault:
    """The next ``times`` requests whose line matches fail, after they were carried out or before;
    status 0 drops the connection."""

    pattern: str
    status: int
    acted: bool = False
    times: int = 1


class FakeProlific:
    """The platform: its state, its HTTP interface, and what a test or a rehearsal does to it.

    ``now`` is its clock; ``seed`` decides on the order of messages; ``key`` signs links at first.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        now: Callable[[], float] = time.time,
        key: rsa.RSAPrivateKey | None = None,
    ) -> None:
        self.now, self.luck = now, random.Random(seed)
        self.studies: dict[str, dict[str, Any]] = {}
        self.submissions: dict[str, FakeSubmission] = {}
        self.bulks: dict[str, dict[str, int]] = {}
        self.rewards: Counter[str] = Counter()  # by submission
        self.paid: Counter[str] = Counter()  # bonuses and screen-outs, by person
        self.times_paid: Counter[str] = Counter()  # by bulk payment: more than 1 is a disaster
        self.requests: list[str] = []
        self.faults: list[Fault] = []
        self.hooks: dict[str, dict[str, Any]] = {}
        self.messages: list[dict[str, Any]] = []  # not delivered yet
        self.pays_later = False  # whether bonuses are paid only when ``pay_now`` is called
        self._unpaid: list[str] = []
        self._secret = ""
        self._keys: list[tuple[str, rsa.RSAPrivateKey]] = []
        self._lock = threading.RLock()
        self.url = ""
        self.rotate_keys(key=key)

    # ── what people do ───────────────────────────────────────────────────────────────────────

    def rotate_keys(self, keep: int = 1, key: rsa.RSAPrivateKey | None = None) -> None:
        """Sign with a new key from now on, and publish it with the last ``keep`` old ones."""
        new = key or rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._keys = [*(self._keys[-keep:] if keep else []), (uuid.uuid4().hex, new)]

    def take_place(self, study: str, person: str | None = None) -> tuple[FakeSubmission, str]:
        """Let somebody take a place; return the submission and the link that they open."""
        with self._lock:
            about = self.studies[study]
            if about["status"] != "ACTIVE":
                raise ValueError(f"study {study} is {about['status']}: nobody can take a place")
            if self.places_left(study) <= 0:
                raise ValueError(f"study {study} has no place left")
            new = FakeSubmission(new_id(), study, person or new_id(), changed_at=self.now())
            self.submissions[new.id] = new
        self.change(new.id, "ACTIVE")
        return new, self.make_link(new)

    def list_open(self) -> list[str]:
        """Return the published studies that have places left."""
        with self._lock:
            active = [id for id, one in self.studies.items() if one["status"] == "ACTIVE"]
            return [id for id in active if self.places_left(id) > 0]

    def places_left(self, study: str) -> int:
        gone = ("RETURNED", "TIMED-OUT", "REJECTED", "SCREENED OUT")
        held = sum(
            one.study == study and one.status not in gone for one in self.submissions.values()
        )
        return int(self.studies[study]["total_available_places"]) - held

    def make_link(self, one: FakeSubmission, **changes: Any) -> str:
        """Return the link of a submission, signed if the study asks for it; ``changes`` replace
        claims of the token."""
        about = self.studies[one.study]
        address = about["external_study_url"]
        ids = {"PROLIFIC_PID": one.person, "STUDY_ID": one.study, "SESSION_ID": one.id}
        for name, value in ids.items():
            address = address.replace(f"{{{{%{name}%}}}}", value)
        if not about.get("is_external_study_url_secure"):
            return str(address)
        parts = urlsplit(address)
        claims = {
            "iss": ISSUER,
            "aud": f"{parts.scheme}://{parts.hostname}",
            "sub": one.id,
            "iat": int(self.now()),
            "exp": int(self.now()) + 60 * LINK_MINUTES,
            "prolific": ids,
        }
        return f"{parts.scheme}://{parts.netloc}{parts.path}?prolific_token=" + self.sign_token(
            claims | changes
        )

    def sign_token(self, claims: dict[str, Any]) -> str:
        id, key = self._keys[-1]
        return jwt.encode(claims, key, algorithm="RS256", headers={"kid": id})

    def complete(self, submission: str, code: str) -> None:
        """Enter a completion code; what happens is what the study says about the code."""
        one = self.submissions[submission]
        one.code = code
        known = {each["code"]: each for each in self.studies[one.study]["completion_codes"]}
        actions = {each["action"] for each in known.get(code, {"actions": []})["actions"]}
        self.change(submission, "RETURNED" if "REQUEST_RETURN" in actions else "AWAITING REVIEW")

    def change(self, submission: str, status: str) -> None:
        """Change the status of a submission, and queue the message about it."""
        with self._lock:
            one = self.submissions[submission]
            if status not in ALLOWED[one.status]:
                raise ValueError(f"a submission does not go from {one.status} to {status}")
            one.status, one.changed_at = status, max(self.now(), one.changed_at + 0.001)
            if status == "APPROVED":
                self.rewards[one.id] += int(self.studies[one.study]["reward"])
            self.messages.append(
                {
                    "id": uuid.uuid4().hex,
                    "at": one.changed_at,
                    "body": {
                        "event_type": "submission.status.change",
                        "resource_id": one.id,
                        "participant_id": one.person,
                        "study_id": one.study,
                        "status": status,
                    },
                }
            )

    def list_people(self) -> str:
        """Return the table of submissions that a researcher downloads from Prolific's pages."""
        rows = [
            f"{one.id},{one.person},{one.status},{one.code or ''}\n"
            for one in self.submissions.values()
        ]
        return "".join(["Submission id,Participant id,Status,Completion code\n", *rows])

    # ── messages ─────────────────────────────────────────────────────────────────────────────

    def deliver(
        self, *, shuffle: bool = False, twice: float = 0.0, lose: float = 0.0
    ) -> Counter[int]:
        """Send the queued messages, in another order, some of them twice or not at all, as told;
        return the statuses of the replies."""
        with self._lock:
            waiting, self.messages = self.messages, []
        if shuffle:
            self.luck.shuffle(waiting)
        replies: Counter[int] = Counter()
        with httpx.Client(timeout=10) as http:
            for message in waiting:
                if self.luck.random() < lose:
                    continue
                for _ in range(2 if self.luck.random() < twice else 1):
                    for hook in self.hooks.values():
                        if hook["confirmed"]:
                            replies[self.send(http, hook["target_url"], message)] += 1
        return replies

    def send(self, http: httpx.Client, target: str, message: dict[str, Any]) -> int:
        """Send one message; return the status of the reply, 0 if there was none."""
        body, moment = json.dumps(message["body"]).encode(), str(int(self.now()))
        headers = {
            SENT_AT: moment,
            SIGNATURE: sign(self._secret, moment, body),
            ID: message["id"],
            TRUE_AT: str(message["at"]),
            "content-type": "application/json",
        }
        with suppress(httpx.HTTPError):
            return http.post(target, content=body, headers=headers).status_code
        return 0

    def pay_now(self) -> None:
        """Carry out the bonus payments that were asked for."""
        with self._lock:
            waiting, self._unpaid = self._unpaid, []
            for bulk in waiting:
                self._pay(bulk)

    def _pay(self, bulk: str) -> None:
        for person, amount in self.bulks[bulk].items():
            self.paid[person] += amount
            for one in self.submissions.values():
                if one.person == person:
                    one.bonuses.append(amount)
                    break

    # ── the interface ────────────────────────────────────────────────────────────────────────

    def make_app(self) -> Starlette:
        api = "/api/v1/"
        routes = [
            (KEYS, "GET", self._show_keys),
            (f"{api}studies/", "GET", self._list_studies),
            (f"{api}studies/", "POST", self._create_study),
            (f"{api}studies/{{id}}/", "GET", self._show_study),
            (f"{api}studies/{{id}}/", "PATCH", self._change_study),
            (f"{api}studies/{{id}}/transition/", "POST", self._move_study),
            (f"{api}studies/{{id}}/screen-out-submissions/", "POST", self._screen_out),
            (f"{api}submissions/", "GET", self._list_submissions),
            (f"{api}submissions/bulk-approve/", "POST", self._approve),
            (f"{api}submissions/bonus-payments/", "POST", self._prepare),
            (f"{api}submissions/{{id}}/", "GET", self._show_submission),
            (f"{api}bulk-bonus-payments/{{id}}/pay/", "POST", self._pay_bulk),
            (f"{api}workspaces/", "GET", self._list_workspaces),
            (f"{api}projects/{{id}}/", "GET", self._show_project),
            (f"{api}hooks/secrets/", "GET", self._list_secrets),
            (f"{api}hooks/secrets/", "POST", self._make_secret),
            (f"{api}hooks/subscriptions/", "POST", self._subscribe),
            (f"{api}hooks/subscriptions/{{id}}/", "POST", self._confirm),
        ]
        return Starlette(
            routes=[
                Route(path, self._guard(handle), methods=[method])
                for path, method, handle in routes
            ]
        )

    def _guard(self, handle: Callable[[Request, Any], Response]) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response:
            line = f"{request.method} {request.url.path}"
            self.requests.append(line)
            if KEYS not in line and request.headers.get("authorization") != f"Token {TOKEN}":
                return JSONResponse({"error": {"detail": "invalid token"}}, 401)
            fault = next((one for one in self.faults if re.search(one.pattern, line)), None)
            if fault is not None:
                fault.times -= 1
                if fault.times <= 0:
                    self.faults.remove(fault)
            body = json.loads(await request.body() or b"{}")
            if fault is None or fault.acted:
                with self._lock:
                    reply = handle(request, body)
            if fault is None:
                return reply
            if fault.status == 0:
                raise _CutError
            headers = {"retry-after": "0"} if fault.status == 429 else {}
            return JSONResponse({"error": {"detail": "a bad day"}}, fault.status, headers)

        return answer

    def _show_keys(self, request: Request, body: Any) -> Response:
        public = [
            (id, jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key())) for id, key in self._keys
        ]
        keys = [json.loads(text) | {"kid": id, "alg": "RS256", "use": "sig"} for id, text in public]
        return JSONResponse({"keys": keys})

    def _list_studies(self, request: Request, body: Any) -> Response:
        return _page(request, list(self.studies.values()))

    def _create_study(self, request: Request, body: Any) -> Response:
        new = {**body, "id": new_id(), "status": "UNPUBLISHED"}
        self.studies[new["id"]] = new
        return JSONResponse(new, 201)

    def _show_study(self, request: Request, body: Any) -> Response:
        known = self.studies.get(request.path_params["id"])
        return JSONResponse(known) if known else _refuse("no such study", 404)

    def _change_study(self, request: Request, body: Any) -> Response:
        known = self.studies[request.path_params["id"]]
        if known["status"] != "UNPUBLISHED":
            if set(body) != {"total_available_places"}:
                return _refuse("only places can change after publishing")
            if body["total_available_places"] < known["total_available_places"]:
                return _refuse("places can only grow")
        known |= body
        return JSONResponse(known)

    def _move_study(self, request: Request, body: Any) -> Response:
        known, action = self.studies[request.path_params["id"]], body.get("action")
        before = {"PUBLISH": "UNPUBLISHED", "START": "PAUSED", "PAUSE": "ACTIVE"}
        if known["status"] == MOVES[action]:
            return JSONResponse(known)
        if action in before and known["status"] != before[action]:
            return _refuse(f"a study does not {action} from {known['status']}")
        known["status"] = MOVES[action]
        return JSONResponse(known)

    def _list_submissions(self, request: Request, body: Any) -> Response:
        of = request.query_params.get("study")
        rows = [one.describe() for one in self.submissions.values() if one.study == of]
        for row in rows:
            row.pop("bonus_payments")  # only the page of one submission has them
        return _page(request, rows)

    def _show_submission(self, request: Request, body: Any) -> Response:
        known = self.submissions.get(request.path_params["id"])
        return JSONResponse(known.describe()) if known else _refuse("no such submission", 404)

    def _approve(self, request: Request, body: Any) -> Response:
        for id in body["submission_ids"]:
            if id not in self.submissions or self.submissions[id].study != body["study_id"]:
                return _refuse(f"{id} is no submission of this study")
        for id in body["submission_ids"]:
            if self.submissions[id].status == "AWAITING REVIEW":
                self.change(id, "APPROVED")
        return JSONResponse({"message": "being approved"})

    def _screen_out(self, request: Request, body: Any) -> Response:
        for id in body["submission_ids"]:
            one = self.submissions[id]
            if "SCREENED OUT" not in ALLOWED[one.status]:
                return _refuse(f"{id} is {one.status}")
            self.change(id, "SCREENED OUT")
            self.paid[one.person] += round(100 * body["bonus_per_submission"])
        return JSONResponse({"message": "screened out"})

    def _prepare(self, request: Request, body: Any) -> Response:
        people = {one.person for one in self.submissions.values() if one.study == body["study_id"]}
        amounts: dict[str, int] = {}
        for line in body["csv_bonuses"].splitlines():
            person, amount = line.split(",")
            if person not in people:
                return _refuse(f"{person} did not take part")
            amounts[person] = round(100 * float(amount))
        id, total = new_id(), sum(amounts.values())
        self.bulks[id] = amounts
        told = {"id": id, "study": body["study_id"], "amount": total, "fees": total / 4}
        return JSONResponse(told | {"total_amount": total * 1.25}, 201)

    def _pay_bulk(self, request: Request, body: Any) -> Response:
        id = request.path_params["id"]
        if id not in self.bulks:
            return _refuse("no such payment", 404)
        self.times_paid[id] += 1
        if self.pays_later:
            self._unpaid.append(id)
        else:
            self._pay(id)
        return JSONResponse({"message": "being paid"}, 202)

    def _list_workspaces(self, request: Request, body: Any) -> Response:
        return _page(request, [{"id": "a" * 24, "title": "My workspace"}])

    def _show_project(self, request: Request, body: Any) -> Response:
        return JSONResponse({"id": request.path_params["id"], "workspace": "b" * 24})

    def _list_secrets(self, request: Request, body: Any) -> Response:
        return _page(request, [{"id": "s" * 24, "value": self._secret}] if self._secret else [])

    def _make_secret(self, request: Request, body: Any) -> Response:
        self._secret = secrets.token_urlsafe(32)
        return JSONResponse({"id": "s" * 24, "value": self._secret}, 201)

    def _subscribe(self, request: Request, body: Any) -> Response:
        id, proof = new_id(), secrets.token_urlsafe(16)
        self.hooks[id] = {**body, "id": id, "proof": proof, "confirmed": False}
        return JSONResponse({"id": id, "is_enabled": False}, 201, {"x-hook-secret": proof})

    def _confirm(self, request: Request, body: Any) -> Response:
        hook = self.hooks[request.path_params["id"]]
        if body.get("secret") != hook["proof"]:
            return _refuse("wrong secret")
        hook["confirmed"] = True
        return JSONResponse({"id": hook["id"], "is_enabled": True})

    # ── running ──────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def run(self, port: int = 0) -> Iterator["FakeProlific"]:
        """Serve on this machine, in a thread, until the body ends; port 0 is a free one."""
        listener = listen("127.0.0.1", port)
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        app = _CutConnections(self.make_app())
        config = uvicorn.Config(
            app, log_level="critical", access_log=False, lifespan="off", ws="none", loop="asyncio"
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        try:
            yield self
        finally:
            server.should_exit = True
            thread.join(10)
            listener.close()


class _CutError(Exception):
    """The connection is to break."""


class _CutConnections:
    """Break the connection where a handler asks for it: uvicorn closes an unfinished reply."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await self.app(scope, receive, send)
        except _CutError:
            start = {"type": "http.response.start", "status": 200}
            await send(start | {"headers": [(b"content-length", b"1000")]})
            await send({"type": "http.response.body", "body": b"{", "more_body": True})
            await asyncio.sleep(0)


def _page(request: Request, rows: list[dict[str, Any]]) -> Response:
    """Return one page of a list, with a link to the next."""
    size = int(request.query_params.get("page_size", 20))
    page = int(request.query_params.get("page", 1))
    more = len(rows) > page * size
    link = {"next": {"href": f"{request.url}" if more else None}}
    return JSONResponse({"results": rows[(page - 1) * size : page * size], "_links": link})


def _refuse(text: str, status: int = 400) -> Response:
    return JSONResponse({"error": {"detail": text}}, status)
