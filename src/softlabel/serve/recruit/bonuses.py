"""Money through Prolific: bonuses, and the fixed pay of people who were screened out.

To pay is not idempotent there: who asks twice pays twice.  So the ledger says that a payment is
sent before Prolific is asked, and no request that moves money is repeated.  If its outcome is not
known, the payment stays sent until Prolific shows it as paid, or until an hour has passed in which
Prolific shows that nothing was paid: then a person may release it.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from softlabel.errors import Conflict, SoftlabelError
from softlabel.serve import pay
from softlabel.serve.recruit.prolific import MOST_PAID, ProlificError, Visit
from softlabel.serve.recruit.submissions import Desk, compare, list_screened_out
from softlabel.store import Payment
from softlabel.study import Study, money

PROOF = 3600.0  # seconds after which a payment that Prolific does not show was not made
TRANSFER = "prolific-transfer"  # the event that holds what had been paid before
BONUS, OUT = "prolific:bonus:", "prolific:screenout:"  # how our transfers begin
DIGITS = 2  # after the point: 30 alone would be thirty pounds


@dataclass(frozen=True)
class Open:
    """A transfer whose payments are not all confirmed, and for how many seconds."""

    transfer: str
    payments: int
    amount: int
    age: float


def list_due(desk: Desk) -> tuple[Payment, ...]:
    """Return the bonuses that a person has approved and that were not sent."""
    rows = desk.store.payments(desk.study.name)
    return tuple(row for row in rows if row.kind == "bonus" and row.state == "approved")


def send_bonuses(desk: Desk) -> tuple[int, int]:
    """Pay every approved bonus; return how many people got how much in all."""
    if waiting := list_open(desk):
        text = ", ".join(one.transfer for one in waiting)
        raise Conflict(
            "transfer",
            f"transfers that are not confirmed: {text}; run first: softlabel prolific reconcile",
        )
    due = list_due(desk)
    visits = _visits_by_person(desk)
    lost = [row.annotator for row in due if row.annotator not in visits]
    if lost:
        raise SoftlabelError(
            f"{len(lost)} of {len(due)} bonuses are for people whom Prolific does not list, for "
            f"instance {lost[0]}; nothing was sent"
        )
    for start in range(0, len(due), MOST_PAID):
        _send(desk, due[start : start + MOST_PAID], visits)
    return len(due), sum(row.amount for row in due)


def _send(desk: Desk, rows: Sequence[Payment], visits: dict[str, Visit]) -> None:
    """Pay one bulk payment: prepare, write that it is sent, pay once."""
    amounts = {
        visits[row.annotator].person: money.format_units(row.amount, row.currency, DIGITS)
        for row in rows
    }
    total = sum(row.amount for row in rows)
    bulk = desk.client.prepare_bonuses(desk.remote, amounts)
    told = bulk.get("amount")
    if told is not None and round(told) != total:
        raise SoftlabelError(
            f"Prolific would pay {round(told):,} instead of {total:,} of the smallest unit; "
            "nothing was sent"
        )
    transfer = BONUS + str(bulk["id"])
    _write_sent(desk, rows, transfer, visits)
    try:
        desk.client.pay_bonuses(transfer.removeprefix(BONUS))
    except ProlificError as error:  # it answered that it did not
        _undo_if_unpaid(desk, transfer, f"Prolific refused: {error.status}")
        raise


def _write_sent(
    desk: Desk, rows: Sequence[Payment], transfer: str, visits: dict[str, Visit]
) -> None:
    """Write what had been paid before, and that these payments are sent."""
    before = {row.id: sum(desk.client.get_visit(visits[row.annotator].id).bonuses) for row in rows}
    detail = {"transfer": transfer, "before": before}
    desk.store.event(desk.study.name, None, TRANSFER, detail, desk.now()).result()
    ids = [row.id for row in rows]
    moving = desk.store.move_payments(ids, "approved", "sent", transfer, desk.now(), desk.actor)
    moving.result()


# ── screened out ─────────────────────────────────────────────────────────────────────────────


def get_screenout(study: Study) -> tuple[int, str]:
    """Return what people are paid who are turned away, in the smallest unit, and the currency."""
    if study.pay is None or not study.pay.screenout:
        raise SoftlabelError(
            "study.toml does not say what people get who are turned away: set screenout under [pay]"
        )
    units = money.to_units(study.pay.screenout, study.pay.currency)
    return money.round_half_up(units), study.pay.currency


def bill_screened_out(desk: Desk) -> tuple[pay.Bill, dict[str, Visit]]:
    """Return what everybody is paid whom the study turned away, and their visits by pseudonym."""
    get_screenout(desk.study)
    visits = {desk.pseudonym(visit.person): visit for visit in list_screened_out(desk)}
    return pay.bill_screenouts(desk.study, desk.store, visits), visits


def pay_screened_out(desk: Desk) -> int:
    """Pay everybody whom the study turned away, within the caps; return how many were paid.

    Each person is a transfer of their own, so that one broken connection concerns one person.
    """
    bill, visits = bill_screened_out(desk)
    pay.plan(desk.study, desk.store, bill, desk.now(), desk.actor)
    rows = [
        row
        for row in desk.store.payments(desk.study.name)
        if row.kind == "screenout" and row.annotator in visits
    ]
    planned = [row.id for row in rows if row.state == "planned"]
    if planned:  # whoever started this command has agreed to it
        moving = desk.store.move_payments(
            planned, "planned", "approved", None, desk.now(), desk.actor
        )
        moving.result()
    paid = 0
    for row in rows:
        if row.state in ("planned", "approved"):
            _screen_out(desk, row, visits[row.annotator])
            paid += 1
    return paid


def _screen_out(desk: Desk, row: Payment, visit: Visit) -> None:
    transfer = OUT + secrets.token_hex(8)
    moving = desk.store.move_payments(
        [row.id], "approved", "sent", transfer, desk.now(), desk.actor
    )
    moving.result()
    try:
        desk.client.screen_out(
            desk.remote, visit.id, money.format_units(row.amount, row.currency, DIGITS)
        )
    except ProlificError as error:
        _undo_if_unpaid(desk, transfer, f"Prolific refused: {error.status}")
        raise
    _confirm(desk, [row], transfer)


# ── finding out ──────────────────────────────────────────────────────────────────────────────


def list_open(desk: Desk) -> tuple[Open, ...]:
    """Return the transfers that are sent and not confirmed."""
    groups: dict[str, list[Payment]] = {}
    for row in desk.store.payments(desk.study.name):
        if row.state == "sent" and (row.transfer or "").startswith((BONUS, OUT)):
            groups.setdefault(row.transfer or "", []).append(row)
    return tuple(
        Open(
            transfer,
            len(rows),
            sum(row.amount for row in rows),
            desk.now() - min(row.changed_at for row in rows),
        )
        for transfer, rows in groups.items()
    )


def settle(desk: Desk) -> tuple[int, tuple[Open, ...]]:
    """Confirm what Prolific shows as paid; return how many, and the transfers still open."""
    confirmed = 0
    for one in list_open(desk):
        rows, paid = _rows(desk, one.transfer), _paid(desk, one.transfer)
        done = [row for row in rows if row.state == "sent" and row.id in paid]
        _confirm(desk, done, one.transfer)
        confirmed += len(done)
    return confirmed, list_open(desk)


def release(desk: Desk, transfer: str) -> int:
    """Make a transfer approved again of which Prolific shows nothing as paid after an hour; return
    how many payments it held."""
    settle(desk)
    one = next((each for each in list_open(desk) if each.transfer == transfer), None)
    if one is None:
        names = ", ".join(each.transfer for each in list_open(desk)) or "none"
        raise SoftlabelError(f"no open transfer is called {transfer!r}; there are: {names}")
    if one.age < PROOF:
        minutes = (PROOF - one.age) / 60
        raise SoftlabelError(
            f"{transfer} was sent {one.age / 60:.0f} minutes ago, and Prolific may still be paying "
            f"it; try again in {minutes:.0f} minutes"
        )
    reason = f"Prolific shows nothing as paid after {one.age / 60:.0f} minutes"
    return len(desk.store.undo_transfer(transfer, reason, desk.now(), desk.actor).result())


def _confirm(desk: Desk, rows: Sequence[Payment], transfer: str) -> None:
    if rows:
        ids = [row.id for row in rows]
        moving = desk.store.move_payments(
            ids, "sent", "confirmed", transfer, desk.now(), desk.actor
        )
        moving.result()


def _rows(desk: Desk, transfer: str) -> list[Payment]:
    rows = desk.store.payments(desk.study.name)
    return [row for row in rows if row.transfer == transfer]


def _paid(desk: Desk, transfer: str) -> set[str]:
    """Return the payments of a transfer that Prolific shows as paid."""
    visits, before = _visits_by_person(desk), _paid_before(desk, transfer)
    paid = set()
    for row in _rows(desk, transfer):
        visit = visits.get(row.annotator)
        if visit is None:
            continue
        if transfer.startswith(OUT):
            shown = visit.status == "SCREENED OUT"
        else:
            now = sum(desk.client.get_visit(visit.id).bonuses)
            shown = now - before.get(row.id, 0) >= row.amount
        if shown:
            paid.add(row.id)
    return paid


def _paid_before(desk: Desk, transfer: str) -> dict[str, int]:
    for event in desk.store.events(desk.study.name, TRANSFER):
        if event.detail.get("transfer") == transfer:
            before: Any = event.detail["before"]
            return {str(id): int(sum) for id, sum in before.items()}
    return {}


def _undo_if_unpaid(desk: Desk, transfer: str, reason: str) -> None:
    """Make a transfer approved again, if Prolific shows none of it as paid."""
    if not _paid(desk, transfer):
        undoing = desk.store.undo_transfer(transfer, reason, desk.now(), desk.actor)
        undoing.result()


def _visits_by_person(desk: Desk) -> dict[str, Visit]:
    """Return the submission of each person in the database, by pseudonym."""
    visits = desk.client.list_visits(desk.remote)
    compare(desk, visits)
    known = {one.recruiter_session for one in desk.store.sessions(desk.study.name)}
    return {
        desk.pseudonym(visit.person): visit
        for visit in visits
        if desk.visit_pseudonym(visit.id) in known
    }
