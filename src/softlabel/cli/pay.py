"""``pay`` and ``who``: the money of a study, and the people behind its pseudonyms."""

from __future__ import annotations

import getpass
import shlex
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from softlabel.cli import shared
from softlabel.errors import SoftlabelError

if TYPE_CHECKING:
    from softlabel.serve import pay as payroll
    from softlabel.store import Payment, Store
    from softlabel.study import Study

ALL = 1_000_000  # rows of a table: whoever approves sees each payment
STATES = ("planned", "approved", "sent", "confirmed")


@shared.command()
def who(  # noqa: PLR0913  options, each with its own help
    folder: Path,
    ids: Path,
    output: Path | None = None,
    back: Path | None = None,
    attributes: bool = False,
    column: str | None = None,
    db: str | None = None,
    load: Path | None = None,
) -> None:
    """Map the ids in a platform's list to the pseudonyms of a study, or back.

    Adds the columns annotator, stage and answered to the list. With --back, adds the column id to
    a table of pseudonyms instead. With --attributes, writes what people told the platform about
    themselves, without ids. Ids are never written to the database.
    """
    from softlabel import io
    from softlabel._util.files import write_atomically
    from softlabel.serve import databases, pay

    shared.load_strategies(load)
    if attributes and back is not None:
        raise SoftlabelError("--attributes writes a table without ids; do not give --back as well")
    if output is not None:
        io.check_output(output, ("csv",), str(back or ids))
    with databases.open_with_key(folder, db) as (study, store, secret):
        people = pay.identify(study, secret, ids, column)
        known = {session.annotator for session in store.sessions(study.name)}
        here = known & people.id_of.keys()
        if attributes:
            text, found = pay.describe_people(study, store, people)
            told = f"{len(people.id_of):,} ids: {found:,} took part; ids are left out"
        elif back is None:
            text = pay.add_pseudonyms(study, store, people)
            told = f"{len(people.id_of):,} ids: {len(here):,} took part"
        else:
            text, found = pay.add_ids(people, back)
            told = f"{back}: {found:,} rows have an id"
    if output is None:
        typer.echo(text, nl=False)
    else:
        with write_atomically(output, private=True) as part:
            part.write_text(text, "utf-8")
        told += f"; wrote {output}"
    typer.echo(told, err=True)
    if missing := len(known) - len(here):
        typer.echo(f"{missing:,} people in the study are not in {ids}", err=True)


@shared.command()
def pay(  # noqa: PLR0913  options, each with its own help
    folder: Path,
    bonus: Path | None = None,
    kind: list[str] | None = None,
    plan: bool = False,
    approve: str | None = None,
    send: Path | None = None,
    ids: Path | None = None,
    column: str | None = None,
    confirm: str | None = None,
    undo: str | None = None,
    because: str | None = None,
    drop: bool = False,
    ledger: bool = False,
    yes: bool = False,
    db: str | None = None,
    load: Path | None = None,
) -> None:
    """Compute what people are paid, and keep the ledger that pays nobody twice.

    Without options nothing is written: a table shows everybody's minutes, base pay, score and
    bonus. Then --plan, --approve NAME, --send FILE.csv --ids IDS.csv, and --confirm TRANSFER.
    """
    shared.load_strategies(load)
    asked = {
        **{"--plan": plan, "--approve": approve is not None, "--send": send is not None},
        **{"--confirm": confirm is not None, "--undo": undo is not None},
        **{"--drop": drop, "--ledger": ledger},
    }
    steps = [name for name, given in asked.items() if given]
    if len(steps) > 1:
        raise SoftlabelError(f"one step at a time: give {' or '.join(steps)}")
    if (send is None) != (ids is None):
        raise SoftlabelError("--send FILE.csv and --ids IDS.csv go together")
    if undo is not None and not (because or "").strip():
        raise SoftlabelError("--undo needs --because: how is it known that nothing was paid?")
    if not steps or plan:
        _compute(folder, db, bonus, kind, plans=plan)
    elif ledger:
        _show_ledger(folder, db)
    elif approve is not None:
        _approve(folder, db, approve, yes=yes)
    elif send is not None and ids is not None:
        _send(folder, db, send, ids, column)
    elif confirm is not None:
        _confirm(folder, db, confirm)
    elif undo is not None:
        _undo(folder, db, undo, because or "", yes=yes)
    else:
        _drop(folder, db, yes=yes)


def _compute(
    folder: Path,
    db: str | None,
    bonus: Path | None,
    kinds: Sequence[str] | None,
    *,
    plans: bool,
) -> None:
    """Show what everybody is to be paid; plan it if that is asked for."""
    from softlabel.serve import databases
    from softlabel.serve import pay as payroll

    def make_bill(study: Study, store: Store) -> payroll.Bill:
        own = None if bonus is None else payroll.read_own(bonus, payroll.get_pay(study).currency)
        return payroll.make_bill(study, store, own, payroll.parse_kinds(kinds or ()))

    if not plans:
        from softlabel import study as studies

        study = studies.read(folder)
        with databases.open_to_read(folder, db) as store:
            _show_bill(study, make_bill(study, store))
        typer.echo("\nnothing was written; --plan writes this to the ledger")
        return
    with databases.open_study(folder, db) as (study, store, _):
        bill = make_bill(study, store)
        new = payroll.plan(study, store, bill, time.time(), _login())
        _show_bill(study, bill)
        if not new:
            typer.echo("\nnothing to plan: everything is in the ledger already")
            return
        typer.echo(f"\nplanned {_sum(new)}; next: --approve with your name")


def _show_bill(study: Study, bill: payroll.Bill) -> None:
    from softlabel.study import money

    def write(units: int) -> str:
        return money.format_units(units, bill.pay.currency) if units else "–"

    def cells(line: payroll.Line) -> dict[str, Any]:
        score = "–" if line.score is None else f"{line.score.score:.3f}"
        amounts = {str(name): write(line.amount(name)) for name in shown}
        return {
            "annotator": line.annotator,
            "minutes": f"{line.minutes:.1f}",
            "score": score,
            **amounts,
            "why": "; ".join(line.why),
        }

    shown = [name for name, units in bill.totals.items() if units or name != "screenout"]
    rows = [cells(line) for line in bill.lines]
    shared.show_table(f"{len(rows)} people, in {bill.pay.currency}", rows, ALL)
    typer.echo("")
    totals = bill.totals
    facts = {str(name): bill.say(totals[name]) for name in shown}
    for name in facts:
        if name not in bill.kinds:
            facts[name] += f", paid by {study.recruit.kind}, not by this ledger"
    total = sum(totals.values())
    if cut := sum(line.cut for line in bill.lines):
        facts["cut to the cap"] = f"{cut:,} people; see why"
    shared.show_facts(facts | {"total": bill.say(total)})
    if bill.most is not None and total > bill.most:
        text = f"note: [pay] cap_total allows {bill.say(bill.most)}; --plan refuses more"
        typer.echo(text, err=True)
    if bill.under_way:
        typer.echo(
            f"note: {bill.under_way} people are under way; their pay, and scores that are compared "
            "with their answers, will change",
            err=True,
        )


def _approve(folder: Path, db: str | None, name: str, *, yes: bool) -> None:
    from softlabel.serve import databases
    from softlabel.serve import pay as payroll

    with databases.open_study(folder, db) as (study, store, _):
        rows, place = payroll.select(store, study, "planned"), shlex.quote(str(folder))
        if not rows:
            raise SoftlabelError(f"nothing is planned; see softlabel pay {place} --ledger")
        _show_payments(rows)
        if not yes:
            typer.confirm(f"\nApprove {_sum(rows)}, as {name}?", abort=True, err=True)
        payroll.approve(store, rows, time.time(), name)
        typer.echo(f"\napproved {_sum(rows)}, by {name}")
        by_token = f"softlabel prolific bonus {place}, or " * (study.recruit.kind == "prolific")
        typer.echo(f"next: {by_token}--send FILE.csv --ids IDS.csv")


def _send(folder: Path, db: str | None, path: Path, ids: Path, column: str | None) -> None:
    from softlabel.serve import databases
    from softlabel.serve import pay as payroll

    with databases.open_study(folder, db) as (study, store, secret):
        people = payroll.identify(study, secret, ids, column)
        sent = payroll.send(study, store, people.id_of, path, time.time(), _login())
    typer.echo(f"sent {_sum(sent.payments)}, as transfer {sent.transfer}; wrote {path}")
    if sent.without_id:
        typer.echo(f"{sent.without_id} approved payments have no id in {ids}; they wait", err=True)
    typer.echo(f"upload it once, then: --confirm {sent.transfer}")


def _confirm(folder: Path, db: str | None, transfer: str) -> None:
    from softlabel.serve import databases
    from softlabel.serve import pay as payroll

    with databases.open_study(folder, db) as (study, store, _):
        rows = payroll.confirm(study, store, transfer, time.time(), _login())
    typer.echo(f"confirmed {_sum(rows)}")


def _undo(folder: Path, db: str | None, transfer: str, because: str, *, yes: bool) -> None:
    from softlabel.serve import databases
    from softlabel.serve import pay as payroll

    with databases.open_study(folder, db) as (study, store, _):
        if not yes:
            question = f"Was nothing of transfer {transfer} paid? If it was, people are paid twice"
            typer.confirm(question, abort=True, err=True)
        rows = payroll.undo(study, store, transfer, because, time.time(), _login())
    typer.echo(f"approved again: {_sum(rows)}")


def _drop(folder: Path, db: str | None, *, yes: bool) -> None:
    from softlabel.serve import databases

    with databases.open_study(folder, db) as (study, store, _):
        rows = [row for row in store.payments(study.name) if row.state in STATES[:2]]
        if not rows:
            raise SoftlabelError("everything in the ledger was sent; that cannot be deleted")
        if not yes:
            question = f"Delete {_sum(rows)}, not sent yet, from the ledger?"
            typer.confirm(question, abort=True, err=True)
        dropped = store.drop_payments(study.name, time.time(), _login()).result()
    typer.echo(f"deleted {_sum(dropped)}")


def _show_ledger(folder: Path, db: str | None) -> None:
    from softlabel import study as studies
    from softlabel.serve import databases

    study = studies.read(folder)
    with databases.open_to_read(folder, db) as store:
        rows = store.payments(study.name)
    if not rows:
        typer.echo("the ledger is empty")
        return
    _show_payments(rows)
    typer.echo("")
    by_state = {state: [row for row in rows if row.state == state] for state in STATES}
    shared.show_facts({state: _sum(those) for state, those in by_state.items() if those})


def _show_payments(rows: Iterable[Payment]) -> None:
    from softlabel.records import format_time
    from softlabel.study import money

    table = [
        {
            "annotator": row.annotator,
            "kind": row.kind,
            row.currency: money.format_units(row.amount, row.currency),
            "state": row.state,
            "transfer": row.transfer or "–",
            "since": format_time(row.changed_at)[:16],
            "why": row.detail.get("why", ""),
        }
        for row in rows
    ]
    kinds = Counter(row["kind"] for row in table)
    shared.show_table(", ".join(f"{n} {kind}" for kind, n in kinds.items()), table, ALL)


def _sum(rows: Sequence[Payment]) -> str:
    from softlabel.study import money

    currency = rows[0].currency
    total = money.format_units(sum(row.amount for row in rows), currency)
    return f"{len(rows):,} payment{'s' if len(rows) > 1 else ''}, {total} {currency}"


def _login() -> str:
    """Return who runs the command, for the audit log."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
