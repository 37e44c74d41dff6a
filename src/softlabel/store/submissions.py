"""What a platform says about people's visits, and what that does to their places.

News of a visit may come twice, late and in any order, by messages and by asking: each carries the
time at which it was true, and only newer news counts.  A visit is stored under its pseudonym.
"""

import json
from typing import Any, Literal, NamedTuple

import sqlalchemy as sa
from sqlalchemy import bindparam as bind

from softlabel.store import sessions
from softlabel.store.rows import FINAL_STAGES
from softlabel.store.schema import audit, event, session, submission, webhook

Status = Literal[
    "RESERVED", "ACTIVE", "AWAITING REVIEW", "RETURNED", "TIMED-OUT", "REJECTED", "APPROVED",
    "SCREENED OUT",
]  # fmt: skip
ENDED = ("RETURNED", "TIMED-OUT")  # the platform gives the place to somebody else
RANK: dict[str, int] = {"RESERVED": 0, "ACTIVE": 1, "AWAITING REVIEW": 2} | dict.fromkeys(
    ENDED, 2
)  # of news of one second the later step counts; decisions rank highest
LEFT = "returned"  # the event of a session that the platform ended


class Submission(NamedTuple):
    """One visit: ``at`` is when the status was true, ``seen_at`` when we learned it."""

    study: str
    visit: str
    annotator: str
    status: str
    at: float
    seen_at: float


class News(NamedTuple):
    """What came of one piece of news: the status before and now, whether it was new, and how many
    showings were given back."""

    before: str | None
    after: str
    new: bool
    released: int = 0


COLUMNS = tuple(submission.c[name] for name in Submission._fields)
_visit = (submission.c.study == bind("of"), submission.c.visit == bind("which"))
BY_VISIT = sa.select(*COLUMNS).where(*_visit)
BY_STUDY = sa.select(*COLUMNS).where(submission.c.study == bind("of")).order_by(submission.c.visit)
UPDATE = (
    sa.update(submission)
    .where(*_visit)
    .values(status=bind("status_now"), at=bind("true_at"), seen_at=bind("now"))
)
SESSION = sa.select(session.c.id).where(
    session.c.study == bind("of"), session.c.recruiter_session == bind("which")
)
TAKEN = sa.select(webhook.c.id).where(webhook.c.study == bind("of"), webhook.c.id == bind("which"))
LAST_LEFT = (
    sa.select(event.c.detail)
    .where(event.c.study == bind("of"), event.c.annotator == bind("who"), event.c.name == LEFT)
    .order_by(event.c.seq.desc())
    .limit(1)
)


def record(connection: sa.Connection, news: Submission) -> News:
    """Take in what the platform says about a visit, if it is newer than what is known.

    Whoever returned the study is not expected any more: their session ends.  Whoever ran out of
    time loses what they hold and may still go on.  Their answers stay.
    """
    values: dict[str, Any] = {"of": news.study, "which": news.visit}
    row = connection.execute(BY_VISIT, values).first()
    known = None if row is None else Submission(*row)
    if known is None:
        connection.execute(sa.insert(submission), news._asdict())
    elif _moment(news) <= _moment(known):
        return News(known.status, known.status, False)
    else:
        changed = {"status_now": news.status, "true_at": news.at, "now": news.seen_at}
        connection.execute(UPDATE, values | changed)
    before = known and known.status
    if before == news.status:
        return News(before, news.status, False)
    return News(before, news.status, True, _follow(connection, news, before))


def record_message(
    connection: sa.Connection, id: str, news: Submission, is_ours: bool
) -> News | None:
    """Take in a message once; None if it was taken in before, or is about somebody else's study.

    ``is_ours`` says that the message names our study; otherwise the visit must be known.
    """
    values = {"of": news.study, "which": id}
    if connection.execute(TAKEN, values).first() is not None:
        return None
    row = {"study": news.study, "id": id, "received_at": news.seen_at}
    connection.execute(sa.insert(webhook), row)
    visit = {"of": news.study, "which": news.visit}
    known = any(connection.execute(query, visit).first() for query in (SESSION, BY_VISIT))
    return record(connection, news) if known or is_ours else None


def add_audit(
    connection: sa.Connection, of: str, action: str, detail: dict[str, Any], now: float, actor: str
) -> None:
    values = {"study": of, "at": now, "actor": actor, "action": action}
    connection.execute(sa.insert(audit), values | {"detail": json.dumps(detail)})


def _follow(connection: sa.Connection, news: Submission, before: str | None) -> int:
    """Do to the session what the platform did to the visit; return the showings given back."""
    row = connection.execute(SESSION, {"of": news.study, "which": news.visit}).first()
    if row is None:
        return 0
    me = sessions.get(connection, row.id)
    detail = {"status": news.status, "stage": me.stage}
    if news.status in ENDED and me.stage not in FINAL_STAGES:
        released = sessions.release(connection, me.id)
        now = news.seen_at
        if news.status == "RETURNED":
            sessions.set_stage(connection, me.id, "closed", LEFT, detail, now)
        else:
            sessions.add_event(connection, me.study, me.annotator, "timed-out", detail, now)
        return released
    if (before, news.status, me.stage) == ("RETURNED", "ACTIVE", "closed"):  # taken back
        values = {"of": news.study, "who": me.annotator}
        left = connection.execute(LAST_LEFT, values).scalar()
        if left is not None:
            stage = json.loads(left)["stage"]
            sessions.set_stage(connection, me.id, stage, "active-again", detail, news.seen_at)
    return 0


def _moment(news: Submission) -> tuple[int, int, float]:
    """Return what orders news: replies carry whole seconds, so within one the later step counts."""
    return int(news.at), RANK.get(news.status, 3), news.at
