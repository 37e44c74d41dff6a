"""The way of money: plan, approve, send, confirm.

Each step is written to the ledger before anything leaves the house.  So if the machine stops at
any point, money may be late, but nobody is paid twice.
"""

import csv
import io
import os
import secrets
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from softlabel.errors import FileError, SoftlabelError
from softlabel.serve.pay.bill import Bill
from softlabel.serve.secret import write_private
from softlabel.store import NewPayment, Payment, Store
from softlabel.study import Study, money

FEWEST_DIGITS = 2  # of the amounts in the platform's file


class Sent(NamedTuple):
    """A transfer: its payments, and how many approved ones have no id in the platform's list."""

    transfer: str
    payments: tuple[Payment, ...]
    without_id: int


def plan(study: Study, store: Store, bill: Bill, now: float, actor: str) -> tuple[Payment, ...]:
    """Add what is not in the ledger yet; refuse more than the caps allow."""
    total, most = sum(bill.totals.values()), bill.most
    if most is not None and total > most:
        raise SoftlabelError(
            f"all pay together is {bill.say(total)}, and [pay] cap_total allows {bill.say(most)}; "
            "nothing was planned: raise the cap, or change the rule of the bonus"
        )
    rows = [
        NewPayment(
            study.name,
            line.annotator,
            kind,
            line.amount(kind),
            bill.pay.currency,
            {"minutes": round(line.minutes, 2), "why": "; ".join(line.why)}
            | ({} if line.score is None else {"score": line.score.score}),
        )
        for line in bill.lines
        for kind in bill.kinds
        if line.amount(kind)
    ]
    left = None if most is None else most - _count_by_platform(store, study, bill)
    return store.plan_payments(rows, now, actor, most_each=bill.most_each, most=left).result()


def _count_by_platform(store: Store, study: Study, bill: Bill) -> int:
    """Return what the platform pays itself, and the ledger does not have."""
    known = {(row.annotator, row.kind) for row in store.payments(study.name)}
    return sum(
        line.amount(kind)
        for line in bill.lines
        for kind in bill.totals
        if kind not in bill.kinds and (line.annotator, kind) not in known
    )


def select(store: Store, study: Study, state: str) -> tuple[Payment, ...]:
    """Return the payments that are at a state."""
    return tuple(row for row in store.payments(study.name) if row.state == state)


def approve(store: Store, rows: Sequence[Payment], now: float, actor: str) -> tuple[Payment, ...]:
    """Approve exactly these payments, which ``actor`` has seen."""
    if not actor.strip():
        raise SoftlabelError("approved by whom? give the name of the person who approves")
    ids = [row.id for row in rows]
    return store.move_payments(ids, "planned", "approved", None, now, actor.strip()).result()


def send(
    study: Study, store: Store, ids: Mapping[str, str], path: Path, now: float, actor: str
) -> Sent:
    """Mark what is approved as sent, then write it to the platform's file: an id and an amount per
    line.  ``ids`` maps pseudonyms to the platform's ids.

    If writing fails the payments stay sent, because a file may exist somewhere; they are sent again
    only after ``undo``.
    """
    approved = select(store, study, "approved")
    rows = [row for row in approved if row.annotator in ids]
    if not rows:
        raise SoftlabelError(_explain_nothing(study, store, len(approved)))
    _check_new(path)
    transfer = secrets.token_hex(4)
    move = store.move_payments([row.id for row in rows], "approved", "sent", transfer, now, actor)
    sent = move.result()
    try:
        written = write_private(path, format_file(sent, ids), overwrite=False)
        reason = None if written else "is there already"
    except OSError as error:
        reason = f"cannot be written: {error.strerror}"
    if reason is not None:
        folder = shlex.quote(str(study.folder))
        raise FileError(
            path,
            f"{reason}; the payments of transfer {transfer} are marked as sent: "
            f"softlabel pay {folder} --undo {transfer} makes them approved again",
        )
    return Sent(transfer, sent, len(approved) - len(rows))


def format_file(rows: Sequence[Payment], ids: Mapping[str, str]) -> str:
    """Return the platform's bulk format, without a header: an id, and all that the person gets."""
    sums: dict[str, int] = {}
    for row in rows:
        sums[row.annotator] = sums.get(row.annotator, 0) + row.amount
    text = io.StringIO(newline="")
    table = csv.writer(text, lineterminator="\n")
    for who, units in sorted(sums.items()):
        table.writerow([ids[who], money.format_units(units, rows[0].currency, FEWEST_DIGITS)])
    return text.getvalue()


def confirm(
    study: Study, store: Store, transfer: str, now: float, actor: str
) -> tuple[Payment, ...]:
    """Mark a transfer as paid."""
    rows = [row for row in select(store, study, "sent") if row.transfer == transfer]
    if not rows:
        raise SoftlabelError(f"no transfer {transfer!r} is waiting; {_list_open(study, store)}")
    ids = [row.id for row in rows]
    return store.move_payments(ids, "sent", "confirmed", transfer, now, actor).result()


def undo(
    study: Study, store: Store, transfer: str, reason: str, now: float, actor: str
) -> tuple[Payment, ...]:
    """Make a transfer of which nothing was paid approved again."""
    if not any(row.transfer == transfer for row in store.payments(study.name)):
        raise SoftlabelError(f"there is no transfer {transfer!r}; {_list_open(study, store)}")
    return store.undo_transfer(transfer, reason, now, actor).result()


def _explain_nothing(study: Study, store: Store, approved: int) -> str:
    if approved:
        return (
            f"none of the {approved} approved payments belongs to an id in this list; is it the "
            "platform's list of this study?"
        )
    if planned := len(select(store, study, "planned")):
        return f"nothing is approved: {planned} payments are planned and wait for --approve NAME"
    return f"nothing is approved, so there is nothing to send; {_list_open(study, store)}"


def _list_open(study: Study, store: Store) -> str:
    waiting = sorted({row.transfer or "" for row in select(store, study, "sent")})
    if not waiting:
        return "no transfer waits for confirmation"
    return (
        f"these transfers wait for --confirm, or --undo if nothing was paid: {', '.join(waiting)}"
    )


def _check_new(path: Path) -> None:
    """Refuse a file that exists or cannot be written, before anything is marked as sent."""
    if path.exists():
        raise FileError(path, "is there already; name a new file")
    folder = path.absolute().parent
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        raise FileError(path, f"cannot write into {folder}")
