"""The ledger: what is to be paid to whom, and how far each payment is.

A payment is planned, approved by a person, sent and confirmed.  It never goes back, except that a
transfer of which nothing was paid is undone.  There is one payment of each kind per person, and
each step is taken by comparing the state and setting it in one transaction: of two who take the
same step, one is refused.  Every step writes a row of the audit log in that transaction; those
rows contain sums and no person, because they cannot be deleted.
"""

import json
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import sqlalchemy as sa
from sqlalchemy import bindparam as bind

from softlabel.errors import Absent, Conflict, StoreError
from softlabel.store.schema import audit, payment, response, session
from softlabel.store.sessions import hide_name

PaymentKind = Literal["base", "bonus", "screenout"]
PaymentState = Literal["planned", "approved", "sent", "confirmed"]
STEPS: Mapping[tuple[str, str], str] = {  # from and to, and its name in the audit log
    ("planned", "approved"): "pay-approve",
    ("approved", "sent"): "pay-send",
    ("sent", "confirmed"): "pay-confirm",
}
UNSENT = ("planned", "approved")
MANY = 500  # ids per statement


class NewPayment(NamedTuple):
    """A payment to plan; ``amount`` is in the smallest unit of the currency."""

    study: str
    annotator: str
    kind: PaymentKind
    amount: int
    currency: str
    detail: Mapping[str, object] = {}


class Payment(NamedTuple):
    """A row of the ledger; ``transfer`` is what it was sent with, None if it was not sent."""

    id: str
    study: str
    annotator: str
    kind: PaymentKind
    amount: int
    currency: str
    state: PaymentState
    transfer: str | None
    detail: Mapping[str, object]
    changed_at: float


class Work(NamedTuple):
    """What one person has done, for pay.  ``active`` are the seconds that their browser measured on
    items; ``last_at`` is when their last answer came, None if none did."""

    annotator: str
    stage: str
    answered: int
    entered_at: float
    simulated: bool
    excluded: bool
    active: float
    last_at: float | None


COLUMNS = tuple(payment.c[name] for name in Payment._fields)
_of_study = payment.c.study == bind("of")
_some = payment.c.id.in_(bind("some", expanding=True))
BY_STUDY = sa.select(*COLUMNS).where(_of_study).order_by(payment.c.annotator, payment.c.kind)
BY_ID = sa.select(*COLUMNS).where(_some)
BY_TRANSFER = sa.select(*COLUMNS).where(payment.c.transfer == bind("carrier"))
MOVE = (
    sa.update(payment)
    .where(_some, payment.c.state == bind("before"))
    .values(state=bind("after"), transfer=bind("carrier"), changed_at=bind("now"))
)
CONFIRM = MOVE.where(payment.c.transfer == bind("carrier"))
DROP = sa.delete(payment).where(_some, payment.c.state.in_(UNSENT))
WORK = (
    sa.select(
        session.c.annotator,
        session.c.stage,
        session.c.answered,
        session.c.entered_at,
        session.c.simulated,
        session.c.excluded_at.is_not(None),
        sa.func.coalesce(sa.func.sum(response.c.active_ms), 0.0) / 1000,
        sa.func.max(response.c.received_at),
    )
    .select_from(session.outerjoin(response, response.c.session == session.c.id))
    .where(session.c.study == bind("of"))
    .group_by(session.c.id)
    .order_by(session.c.number)
)


def to_payment(row: Any) -> Payment:
    return Payment(*row)._replace(detail=json.loads(row.detail))


def to_work(row: Any) -> Work:
    return Work._make(row)._replace(simulated=bool(row[4]), excluded=bool(row[5]))


def plan(
    connection: sa.Connection,
    rows: Sequence[NewPayment],
    now: float,
    actor: str,
    most_each: int | None = None,
    most: int | None = None,
) -> tuple[Payment, ...]:
    """Add payments; a person who has one of that kind keeps the one they have.  Return the new
    ones.  ``most_each`` and ``most`` limit what a person, and all together, have in the ledger."""
    if not rows:
        return ()
    of = _get_only({row.study for row in rows}, "studies")
    known = [to_payment(row) for row in connection.execute(BY_STUDY, {"of": of})]
    currencies = {row.currency for row in rows} | {row.currency for row in known}
    _get_only(currencies, f"currencies in {of!r}")
    taken, new = {(row.annotator, row.kind) for row in known}, []
    for row in rows:
        if row.amount <= 0:
            raise StoreError(f"{row.kind} of {row.annotator} is {row.amount}; plan more than 0")
        names = (row.annotator, hide_name(row.annotator))
        if taken.isdisjoint((name, row.kind) for name in names):
            taken.add((row.annotator, row.kind))
            new.append(
                Payment(secrets.token_hex(8), *row[:5], "planned", None, dict(row.detail), now)
            )
    if not new:
        return ()
    _check_caps([*known, *new], {row.annotator for row in new}, most_each, most)
    values = [row._asdict() | {"detail": json.dumps(row.detail)} for row in new]
    connection.execute(sa.insert(payment), values)
    _log(connection, of, "pay-plan", new, now, actor)
    return tuple(new)


def move(
    connection: sa.Connection,
    ids: Collection[str],
    before: str,
    after: str,
    transfer: str | None,
    now: float,
    actor: str,
) -> tuple[Payment, ...]:
    """Move all of these payments by one step, or none of them."""
    if (before, after) not in STEPS:
        raise StoreError(f"a payment does not go from {before!r} to {after!r}")
    if (after == "approved") != (transfer is None):
        raise StoreError(f"a payment that becomes {after} has {'no' if transfer else 'a'} transfer")
    if after == "sent" and connection.execute(BY_TRANSFER, {"carrier": transfer}).first():
        raise Conflict("transfer", f"the transfer {transfer!r} was made before; begin another")
    wanted = sorted(set(ids))
    values = {"before": before, "after": after, "carrier": transfer, "now": now}
    statement = CONFIRM if after == "confirmed" else MOVE
    moved = sum(
        connection.execute(statement, values | {"some": some}).rowcount for some in _split(wanted)
    )
    if moved != len(wanted):
        text = f"{len(wanted) - moved} of {len(wanted)} payments are not {before!r} any more"
        raise Conflict("payment", f"{text}; nothing was changed")
    rows = _find(connection, wanted)
    if rows:
        of = _get_only({row.study for row in rows}, "studies")
        _log(connection, of, STEPS[before, after], rows, now, actor, transfer=transfer)
    return rows


def undo(
    connection: sa.Connection, transfer: str, reason: str, now: float, actor: str
) -> tuple[Payment, ...]:
    """Make the payments of a transfer approved again, because nothing of it was paid."""
    rows = [to_payment(row) for row in connection.execute(BY_TRANSFER, {"carrier": transfer})]
    if not rows:
        raise Absent("transfer", f"there is no transfer {transfer!r} in the ledger")
    if not reason.strip():
        raise StoreError("say how it is known that nothing was paid")
    values = {"before": "sent", "after": "approved", "carrier": None, "now": now}
    ids = [row.id for row in rows]
    moved = sum(connection.execute(MOVE, values | {"some": some}).rowcount for some in _split(ids))
    if moved != len(ids):
        raise Conflict("payment", f"the transfer {transfer!r} is confirmed; nothing was changed")
    more = {"transfer": transfer, "reason": reason}
    _log(connection, rows[0].study, "pay-undo", rows, now, actor, **more)
    return _find(connection, ids)


def drop(connection: sa.Connection, of: str, now: float, actor: str) -> tuple[Payment, ...]:
    """Delete the payments that were not sent, to plan them anew; return them."""
    all_rows = [to_payment(row) for row in connection.execute(BY_STUDY, {"of": of})]
    rows = [row for row in all_rows if row.state in UNSENT]
    for some in _split([row.id for row in rows]):
        connection.execute(DROP, {"some": some})
    if rows:
        _log(connection, of, "pay-drop", rows, now, actor)
    return tuple(rows)


def _check_caps(
    rows: Sequence[Payment], people: Collection[str], most_each: int | None, most: int | None
) -> None:
    """Refuse a ledger that would contain too much, in all or for one of these people."""
    total = sum(row.amount for row in rows)
    if most is not None and total > most:
        raise Conflict("cap", f"the ledger would hold {total:,} units, {most:,} are allowed")
    sums: dict[str, int] = {}
    for row in rows:
        sums[row.annotator] = sums.get(row.annotator, 0) + row.amount
    for who in sorted(people):
        if most_each is not None and sums[who] > most_each:
            text = f"the ledger would hold {sums[who]:,} units for {who}"
            raise Conflict("cap", f"{text}, {most_each:,} are allowed")


def _find(connection: sa.Connection, ids: Sequence[str]) -> tuple[Payment, ...]:
    found = (connection.execute(BY_ID, {"some": some}).all() for some in _split(ids))
    return tuple(to_payment(row) for rows in found for row in rows)


def _split(ids: Sequence[str]) -> Iterable[Sequence[str]]:
    return (ids[start : start + MANY] for start in range(0, len(ids), MANY))


def _get_only(values: set[str], what: str) -> str:
    if len(values) != 1:
        text = f"payments of several {what}: {', '.join(sorted(values))}"
        raise StoreError(f"{text}; take those of one")
    return values.pop()


def _log(
    connection: sa.Connection,
    of: str,
    action: str,
    rows: Sequence[Payment],
    now: float,
    actor: str,
    **more: object,
) -> None:
    sums = {"payments": len(rows), "amount": sum(row.amount for row in rows)}
    detail = {**sums, "currency": rows[0].currency, **more}
    values = {"study": of, "at": now, "actor": actor, "action": action}
    connection.execute(sa.insert(audit), values | {"detail": json.dumps(detail)})
