"""People on Prolific and in the database: compare the two, and approve or screen out.

Whatever is written into the database about a visit is under a pseudonym.  Prolific's own ids are
only in the memory of the process that asks for them.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from softlabel._util.machine import keep_doing
from softlabel.errors import SoftlabelError
from softlabel.serve.recruit.link import Link, read_link
from softlabel.serve.recruit.prolific import Client, Visit, open_client
from softlabel.serve.recruit.recruiters import prolific_url
from softlabel.serve.secret import Secret
from softlabel.store import ENDED, Session, Store, Submission
from softlabel.study import Study

KIND = "prolific"
EVERY = 600.0  # seconds between two looks at the platform
# A reply is dated in whole seconds, and what it lists was true a moment before it was sent: a
# message from so many seconds before its date, or later, is newer than what it lists.
SLACK = 2.0
WAITING = "AWAITING REVIEW"
TURNED_AWAY = ("screened-out", "full")  # stages of people who return with the screen-out code
MOST_APPROVED = 100  # in one request

log = logging.getLogger("softlabel.serve")


@dataclass(frozen=True)
class Desk:
    """What an action needs: the study, its database and key, the platform, and who acts."""

    study: Study
    store: Store
    secret: Secret
    client: Client
    actor: str
    now: Callable[[], float] = time.time

    @property
    def link(self) -> Link:
        return read_link(self.study.folder)

    @property
    def remote(self) -> str:
        """The id of the study on Prolific."""
        if (id := self.link.study) is None:
            raise SoftlabelError(
                f"study {self.study.name!r} is not on Prolific yet; run first: softlabel prolific "
                f"draft {self.study.folder} --url https://…"
            )
        return id

    def log(self, action: str, **detail: object) -> None:
        """Record an action in the audit log."""
        name = f"prolific-{action}"
        self.store.audit_platform(self.study.name, name, detail, self.now(), self.actor).result()

    def pseudonym(self, person: str) -> str:
        return self.secret.pseudonym(KIND, person)

    def visit_pseudonym(self, submission: str) -> str:
        return self.secret.pseudonym(f"{KIND}-session", submission)


def make_news(
    study: Study,
    secret: Secret,
    *,
    submission: str,
    person: str,
    status: str,
    at: float,
    now: float,
) -> Submission:
    """Return the status of a submission as the store keeps it."""
    visit = secret.pseudonym(f"{KIND}-session", submission)
    return Submission(study.name, visit, secret.pseudonym(KIND, person), status, at, now)


# ── comparing ────────────────────────────────────────────────────────────────────────────────


@dataclass
class Comparison:
    """Prolific and the database side by side.

    ``statuses`` counts submissions; ``released`` are showings given back; ``strangers`` finished
    on Prolific and are not in the database; ``unfinished`` finished there and not here; ``turned``
    wait there for the pay of people who were turned away here; ``missing`` are done here, and
    Prolific has no such submission, or counts it as returned or timed out.
    """

    statuses: Counter[str] = field(default_factory=Counter)
    released: int = 0
    strangers: list[str] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)
    turned: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def compare(desk: Desk, visits: Sequence[Visit] | None = None) -> Comparison:
    """Ask Prolific about everybody, take in what is new, and report what does not fit."""
    visits = desk.client.list_visits(desk.remote) if visits is None else visits
    found = Comparison(Counter(visit.status for visit in visits))
    before = {one.visit: one.status for one in desk.store.submissions(desk.study.name)}
    writing = []
    for visit in visits:
        if before.get(desk.visit_pseudonym(visit.id)) != visit.status:
            news = make_news(
                desk.study,
                desk.secret,
                submission=visit.id,
                person=visit.person,
                status=visit.status,
                at=visit.at - SLACK,
                now=desk.now(),
            )
            writing.append(desk.store.record_submission(news))
    found.released = sum(one.result().released for one in writing)
    known = {one.recruiter_session: one for one in desk.store.sessions(desk.study.name)}
    seen = {desk.visit_pseudonym(visit.id): visit for visit in visits}
    for name, visit in seen.items():
        if visit.status in (WAITING, "APPROVED"):
            if name not in known:
                found.strangers.append(visit.id)
            elif known[name].stage in TURNED_AWAY and visit.status == WAITING:
                found.turned.append(visit.id)
            elif known[name].stage != "done":
                found.unfinished.append(visit.id)
    for session in known.values():
        there = seen.get(session.recruiter_session or "")
        if session.stage == "done" and (there is None or there.status in ENDED):
            found.missing.append(session.annotator)
    return found


@contextmanager
def keep_asking(study: Study, store: Store, secret: Secret) -> Iterator[None]:
    """Compare with Prolific every ten minutes, in a thread of its own, while the body runs.

    Without a token in the environment nobody is asked, nor by a rehearsal, unless what it asks is
    on this machine.
    """
    local = (urlsplit(prolific_url()).hostname or "") in ("127.0.0.1", "localhost", "::1")
    try:
        client = open_client() if study.recruit.kind == KIND else None
    except SoftlabelError:
        client = None
    if client is None or (store.rehearsal and not local):
        yield
        return
    desk = Desk(study, store, secret, client, "server")

    def ask() -> None:
        try:
            if desk.link.study is not None:
                compare(desk)
        except SoftlabelError as error:
            log.warning("asking Prolific failed: %s", error)

    try:
        with keep_doing(ask, EVERY, "softlabel-prolific"):
            yield
    finally:
        client.__exit__()


# ── approving ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Approval:
    """Who is to be approved, by submission id, and who is not, with the reason; ``turned`` if some
    of these were turned away."""

    ready: tuple[str, ...]
    refused: tuple[tuple[str, str], ...]
    turned: bool = False


def review(desk: Desk) -> Approval:
    """Look through those who wait for review: only those who are done in the database are ready."""
    visits = desk.client.list_visits(desk.remote)
    found = compare(desk, visits)
    known = {one.recruiter_session: one for one in desk.store.sessions(desk.study.name)}
    ready, refused = [], []
    for visit in visits:
        if visit.status == WAITING:
            session = known.get(desk.visit_pseudonym(visit.id))
            if reason := _refuse(desk, visit, session):
                refused.append((visit.id, reason))
            else:
                ready.append(visit.id)
    return Approval(tuple(ready), tuple(refused), bool(found.turned))


def _refuse(desk: Desk, visit: Visit, session: Session | None) -> str | None:
    """Return why somebody cannot be approved, or None."""
    if session is None:
        return "not in the database"
    if session.annotator != desk.pseudonym(visit.person):
        return "entered as somebody else"
    return None if session.stage == "done" else f"not done: {session.stage}"


def approve(desk: Desk, approval: Approval) -> int:
    """Approve those who are ready; return how many Prolific has approved of them."""
    for start in range(0, len(approval.ready), MOST_APPROVED):
        some = approval.ready[start : start + MOST_APPROVED]
        desk.log("approve", submissions=len(some))
        desk.client.approve(desk.remote, some)
    after = desk.client.list_visits(desk.remote)
    compare(desk, after)
    wanted = set(approval.ready)
    return sum(visit.id in wanted and visit.status == "APPROVED" for visit in after)


# ── screening out ────────────────────────────────────────────────────────────────────────────


def list_screened_out(desk: Desk) -> list[Visit]:
    """Return the submissions of people whom the study turned away, and who were not paid."""
    visits = desk.client.list_visits(desk.remote)
    compare(desk, visits)
    known = {one.recruiter_session: one for one in desk.store.sessions(desk.study.name)}
    out = []
    for visit in visits:
        session = known.get(desk.visit_pseudonym(visit.id))
        if session is None or session.annotator != desk.pseudonym(visit.person):
            continue
        if session.stage in TURNED_AWAY and visit.status in ("ACTIVE", WAITING):
            out.append(visit)
    return out
