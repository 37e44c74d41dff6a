"""The client of Prolific's API.

A request that can be repeated without harm is repeated when the platform is busy or the connection
breaks.  A request that moves money is sent once: when its outcome is not known, ``Unclear`` says
so, and only a look at the platform can tell.
"""

import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Self
from urllib.parse import urlsplit

import httpx

from softlabel.errors import SoftlabelError
from softlabel.serve.recruit.recruiters import prolific_url

TOKEN = "PROLIFIC_TOKEN"
PATH = "/api/v1/"
TRIES = 6
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0  # seconds
TIMEOUT = 30.0
PAGE = 100  # submissions per request
BUSY = 429
AMBIGUOUS = (408, 409)  # timed out, or in conflict with itself: perhaps it was done
MOST_PAID = 200  # people in one bulk payment
LOCAL = ("127.0.0.1", "localhost", "::1")

Json = Mapping[str, Any]


class ProlificError(SoftlabelError):
    """Prolific refused a request: ``status`` is the HTTP status."""

    def __init__(self, what: str, status: int, text: str) -> None:
        self.status = status
        super().__init__(f"Prolific refused {what}: {status} {' '.join(text.split())[:300]}")


class Unclear(SoftlabelError):
    """Nobody knows whether Prolific did what it was asked."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(
            f"it is not known whether Prolific did this: {what} ({why}); nothing was repeated. "
            "Wait some minutes, then run: softlabel prolific reconcile DIR"
        )


@dataclass(frozen=True)
class Visit:
    """A submission as Prolific has it; ``bonuses`` are in the smallest unit."""

    id: str
    person: str
    status: str
    bonuses: tuple[int, ...]
    at: float  # when Prolific said so, by its own clock


class Client:
    """Requests to one account.  ``wait`` sleeps between tries."""

    def __init__(
        self, token: str, url: str | None = None, wait: Callable[[float], None] = time.sleep
    ) -> None:
        self.wait, url = wait, url or prolific_url()
        parts = urlsplit(url)
        if parts.scheme != "https" and parts.hostname not in LOCAL:
            raise SoftlabelError(
                f"PROLIFIC_URL = {url!r}: the token is sent to https:// addresses only, or to this "
                "machine"
            )
        self._http = httpx.Client(
            base_url=url + PATH,
            headers={"authorization": f"Token {token}"},
            timeout=TIMEOUT,
            follow_redirects=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    # ── studies ──────────────────────────────────────────────────────────────────────────────

    def find_study(self, internal_name: str) -> Json | None:
        """Return the study with this internal name, if there is one."""
        for study in self._list("studies/", {}):
            if study.get("internal_name") == internal_name:
                return study
        return None

    def get_study(self, study: str) -> Json:
        return self._ask("GET", f"studies/{study}/")

    def create_study(self, fields: Json) -> Json:
        """Create a draft; sent once, because a second request would make a second draft."""
        return self._ask("POST", "studies/", fields, once=True)

    def change_study(self, study: str, fields: Json) -> Json:
        return self._ask("PATCH", f"studies/{study}/", fields)

    def move_study(self, study: str, action: str) -> Json:
        """Publish, pause, start or stop; to ask again changes nothing."""
        return self._ask("POST", f"studies/{study}/transition/", {"action": action})

    # ── submissions ──────────────────────────────────────────────────────────────────────────

    def list_visits(self, study: str) -> list[Visit]:
        """Return all submissions of a study."""
        query = {"study": study, "page_size": PAGE}
        return [_to_visit(row) for row in self._list("submissions/", query)]

    def get_visit(self, submission: str) -> Visit:
        """Return one submission, with what was paid on it."""
        return _to_visit(self._ask("GET", f"submissions/{submission}/"))

    def approve(self, study: str, submissions: Sequence[str]) -> None:
        """Approve these; to approve again changes nothing."""
        fields = {"study_id": study, "submission_ids": list(submissions)}
        self._ask("POST", "submissions/bulk-approve/", fields)

    def screen_out(self, study: str, submission: str, amount: str) -> None:
        """Pay a fixed amount to somebody who was screened out; moves money, sent once."""
        fields = {
            "submission_ids": [submission],
            "bonus_per_submission": float(amount),
            "increase_places": True,
        }
        self._ask("POST", f"studies/{study}/screen-out-submissions/", fields, once=True)

    # ── bonuses ──────────────────────────────────────────────────────────────────────────────

    def prepare_bonuses(self, study: str, amounts: Mapping[str, str]) -> Json:
        """Set up a bulk payment, by person; nothing is paid yet, so that it may be repeated."""
        lines = "\n".join(f"{person},{amount}" for person, amount in amounts.items())
        fields = {"study_id": study, "csv_bonuses": lines}
        return self._ask("POST", "submissions/bonus-payments/", fields)

    def pay_bonuses(self, bulk: str) -> None:
        """Pay a bulk payment; moves money, sent once: a repetition would pay twice."""
        self._ask("POST", f"bulk-bonus-payments/{bulk}/pay/", once=True)

    # ── messages ─────────────────────────────────────────────────────────────────────────────

    def get_workspace(self, project: str | None = None) -> str:
        """Return the id of the workspace of a project, or of the account's first one."""
        if project is not None:
            return str(self._ask("GET", f"projects/{project}/")["workspace"])
        rows = list(self._list("workspaces/", {}))
        if not rows:
            raise SoftlabelError("this token of Prolific belongs to no workspace")
        return str(rows[0]["id"])

    def subscribe(self, workspace: str, target: str) -> tuple[str, str]:
        """Have changes of submissions sent to an address; return the subscription and the secret
        that signs them.  Prolific takes a subscription after it was confirmed with a secret."""
        known = self._list("hooks/secrets/", {"workspace_id": workspace})
        secrets = [row for row in known if row.get("value")]
        if not secrets:  # a new one would end those of other studies
            secrets = [self._ask("POST", "hooks/secrets/", {"workspace_id": workspace})]
        fields = {
            "workspace_id": workspace,
            "event_type": "submission.status.change",
            "target_url": target,
        }
        reply = self._send("POST", "hooks/subscriptions/", fields, once=True)
        id = str(reply.json()["id"])
        confirm = {"secret": reply.headers.get("x-hook-secret", "")}
        self._ask("POST", f"hooks/subscriptions/{id}/", confirm)
        return id, str(secrets[-1]["value"])

    # ── requests ─────────────────────────────────────────────────────────────────────────────

    def _list(self, path: str, query: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the rows of all pages, each with the time at which Prolific sent it."""
        page = 1
        while True:
            reply = self._send("GET", path, query={**query, "page": page})
            body, at = reply.json(), _date(reply)
            rows = body.get("results", [])
            yield from ({**row, "sent_at": at} for row in rows)
            if not rows or not (body.get("_links") or {}).get("next", {}).get("href"):
                return
            page += 1

    def _ask(
        self, method: str, path: str, fields: Json | None = None, *, once: bool = False
    ) -> dict[str, Any]:
        reply = self._send(method, path, fields, once=once)
        body = reply.json() if reply.content else {}
        return {**body, "sent_at": _date(reply)} if isinstance(body, dict) else {}

    def _send(
        self,
        method: str,
        path: str,
        fields: Json | None = None,
        *,
        query: Mapping[str, Any] | None = None,
        once: bool = False,
    ) -> httpx.Response:
        what, wait = f"{method} {path}", FIRST_WAIT
        for left in reversed(range(TRIES)):
            try:
                reply = self._http.request(method, path, json=fields, params=query)
            except httpx.HTTPError as error:
                if once and not isinstance(error, httpx.ConnectError):
                    raise Unclear(what, type(error).__name__) from None
                if once or not left:
                    host = self._http.base_url.host
                    text = f"{host} cannot be reached ({type(error).__name__})"
                    raise SoftlabelError(f"{text}; nothing was done: {what}") from None
            else:
                if reply.is_success:
                    return reply
                if once and (reply.status_code >= 500 or reply.status_code in AMBIGUOUS):
                    raise Unclear(what, f"status {reply.status_code}")
                again = reply.status_code == BUSY or reply.status_code >= 500
                if once or not left or not again:
                    raise ProlificError(what, reply.status_code, reply.text)
                wait = max(wait, _retry_after(reply))
            self.wait(wait * random.uniform(0.5, 1.0))
            wait = min(2 * wait, LONGEST_WAIT)
        raise AssertionError("the last try returns or raises")


def open_client() -> Client:
    """Return the client of the account whose token is in the environment."""
    token = os.environ.get(TOKEN, "").strip()
    if not token:
        raise SoftlabelError(
            f"the environment variable {TOKEN} is not set: create a token in Prolific's settings, "
            f"and set it for this command only, for instance: {TOKEN}=… softlabel prolific …"
        )
    return Client(token)


def _to_visit(row: Json) -> Visit:
    person = row.get("participant_id") or row.get("participant") or ""
    paid = tuple(round(amount) for amount in row.get("bonus_payments") or ())
    return Visit(row["id"], str(person), spell_status(row["status"]), paid, row["sent_at"])


def spell_status(status: str) -> str:
    """Return a status as we store it; Prolific writes some of them in two ways."""
    text = status.upper().replace("_", " ")
    return "TIMED-OUT" if text in ("TIMED OUT", "TIMED-OUT") else text


def _date(reply: httpx.Response) -> float:
    """Return the time of a reply by the sender's clock."""
    try:
        return parsedate_to_datetime(reply.headers["date"]).timestamp()
    except (KeyError, ValueError):
        return time.time()


def _retry_after(reply: httpx.Response) -> float:
    text = reply.headers.get("retry-after", "")
    return min(float(text), LONGEST_WAIT) if text.isdigit() else 0.0
