"""``prolific`` and ``rehearse``: recruit and pay people on Prolific, or practise it."""

from __future__ import annotations

import getpass
import shlex
from collections.abc import Iterator, Sized
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from softlabel.cli import shared
from softlabel.errors import SoftlabelError

if TYPE_CHECKING:
    from softlabel.serve import recruit

prolific = shared.make_group(
    "Recruit and pay people on Prolific; the API token is in the environment variable "
    "PROLIFIC_TOKEN."
)
shared.app.add_typer(prolific, name="prolific")
MOST = 20  # lines of a list


@contextmanager
def _open_desk(folder: Path, db: str | None) -> Iterator[recruit.submissions.Desk]:
    from softlabel.serve import databases, recruit

    with (
        recruit.prolific.open_client() as client,
        databases.open_study(folder, db) as (study, store, secret),
    ):
        recruit.advert.get_advert(study)
        yield recruit.submissions.Desk(study, store, secret, client, _login())


@shared.command(prolific)
def draft(folder: Path, url: str, db: str | None = None, load: Path | None = None) -> None:
    """Create the study on Prolific as a draft, or bring it up to date."""
    from softlabel.serve import check_url, recruit

    shared.load_strategies(load)
    check_url(url)
    with _open_desk(folder, db) as desk:
        typer.echo(recruit.advert.draft(desk, url))
        typer.echo(f"look at it on Prolific, then: {_next('publish', folder, db)}")


@shared.command(prolific)
def publish(
    folder: Path, yes: bool = False, db: str | None = None, load: Path | None = None
) -> None:
    """Publish the draft, or go on after a pause. People can take part from then on."""
    from softlabel.serve import recruit

    shared.load_strategies(load)
    with _open_desk(folder, db) as desk:
        units, places = recruit.advert.count_units(desk.study), desk.study.advert.places  # type: ignore[union-attr]
        each, total = (_say(desk, amount) for amount in (units, units * places))
        if not yes:
            question = f"Publish {places} places at {each}, {total} without Prolific's fee?"
            typer.confirm(question, abort=True, err=True)
        typer.echo(recruit.advert.publish(desk))


@shared.command(prolific)
def pause(folder: Path, db: str | None = None, load: Path | None = None) -> None:
    """Let nobody new in on Prolific; people at work may finish."""
    from softlabel.serve import recruit

    shared.load_strategies(load)
    with _open_desk(folder, db) as desk:
        typer.echo(recruit.advert.pause(desk))


@shared.command(prolific)
def approve(
    folder: Path, yes: bool = False, db: str | None = None, load: Path | None = None
) -> None:
    """Approve the people who wait for review and are done in the database; nobody else."""
    from softlabel.serve import recruit

    shared.load_strategies(load)
    with _open_desk(folder, db) as desk:
        approval = recruit.submissions.review(desk)
        if approval.refused:
            rows = [{"submission": id, "reason": why} for id, why in approval.refused]
            shared.show_table("not approved", rows, MOST)
            if approval.turned:
                typer.echo(
                    f"people who were turned away are paid by: {_next('screenout', folder, db)}"
                )
        if not approval.ready:
            typer.echo("nobody to approve")
            return
        total = _say(desk, recruit.advert.count_units(desk.study) * len(approval.ready))
        if not yes:
            question = f"Approve {_count(approval.ready)}, to be paid {total} in all?"
            typer.confirm(question, abort=True, err=True)
        done = recruit.submissions.approve(desk, approval)
        typer.echo(f"approved {done:,} of {len(approval.ready):,}")
        if done < len(approval.ready):
            typer.echo(
                f"Prolific is still at it; look again with: {_next('reconcile', folder, db)}"
            )


@shared.command(prolific)
def screenout(
    folder: Path, yes: bool = False, db: str | None = None, load: Path | None = None
) -> None:
    """Pay the people whom the study turned away what [pay] screenout says, each once."""
    from softlabel.serve import recruit

    shared.load_strategies(load)
    with _open_desk(folder, db) as desk:
        bill, visits = recruit.bonuses.bill_screened_out(desk)
        people = [line for line in bill.lines if line.annotator in visits]
        if cut := [line for line in people if line.cut]:
            rows = [{"annotator": one.annotator, "gets": bill.say(one.screenout)} for one in cut]
            shared.show_table("cut to [pay] cap_per_person", rows, MOST)
        people = [line for line in people if line.screenout]
        if not people:
            typer.echo("nobody to screen out")
            return
        _warn_if_complete(desk, folder, db)
        if not yes:
            total = bill.say(sum(line.screenout for line in people))
            question = f"Screen out {_count(people)}, and pay them {total}?"
            typer.confirm(question, abort=True, err=True)
        typer.echo(f"paid {_count(range(recruit.bonuses.pay_screened_out(desk)))}")


@shared.command(prolific)
def bonus(folder: Path, yes: bool = False, db: str | None = None, load: Path | None = None) -> None:
    """Pay the approved bonuses of the ledger, each once; see 'softlabel pay'."""
    from softlabel.serve import recruit

    shared.load_strategies(load)
    with _open_desk(folder, db) as desk:
        due = recruit.bonuses.list_due(desk)
        if not due:
            typer.echo(
                f"no bonus is approved and unsent; see: softlabel pay {_quote(folder)} --ledger"
            )
            return
        total = _say(desk, sum(row.amount for row in due))
        if not yes:
            question = f"Pay {len(due):,} bonuses, {total} without Prolific's fee?"
            typer.confirm(question, abort=True, err=True)
        people, _ = recruit.bonuses.send_bonuses(desk)
        typer.echo(
            f"sent {people:,} bonus{'es' if people > 1 else ''}, {total}; confirm with: "
            f"{_next('reconcile', folder, db)}"
        )


@shared.command(prolific)
def reconcile(
    folder: Path,
    release: str | None = None,
    yes: bool = False,
    db: str | None = None,
    load: Path | None = None,
) -> None:
    """Compare Prolific with the database and the ledger, and take in what is new."""
    from softlabel.serve import recruit

    shared.load_strategies(load)
    with _open_desk(folder, db) as desk:
        found = recruit.submissions.compare(desk)
        confirmed, waiting = recruit.bonuses.settle(desk)
        _warn_if_complete(desk, folder, db)
        shared.show_facts(
            {status.lower(): f"{count:,}" for status, count in sorted(found.statuses.items())}
            | {"places released": f"{found.released:,}", "payments confirmed": f"{confirmed:,}"}
        )
        lists = {
            "finished on Prolific, not in the database": found.strangers,
            "finished on Prolific, not done here": found.unfinished,
            f"turned away here, paid by {_next('screenout', folder, db)}": found.turned,
            "done here, not finished on Prolific": found.missing,
        }
        for title, ids in lists.items():
            if ids:
                shared.show_table(f"{len(ids):,} {title}", [{"id": id} for id in ids], MOST)
        if release is not None:
            if not yes:
                question = f"Make the payments of {release} approved again, to be sent anew?"
                typer.confirm(question, abort=True, err=True)
            number = recruit.bonuses.release(desk, release)
            typer.echo(f"\n{number:,} payments are approved again")
        elif waiting:
            rows = [
                {
                    "transfer": one.transfer,
                    "payments": one.payments,
                    "amount": _say(desk, one.amount),
                    "minutes": f"{one.age / 60:.0f}",
                }
                for one in waiting
            ]
            shared.show_table("sent, and not shown as paid", rows, MOST)


@shared.command(prolific)
def pretend(
    folder: Path,
    port: int = 8010,
    think: float = 0.0,
    ids: Path | None = None,
    seed: int = 0,
    load: Path | None = None,
) -> None:
    """Practise without an account: serve a Prolific of our own, until stopped.

    It takes the commands of this group, if the two variables that it prints are set. While the
    study is published there, simulated people come, leave, and finish. No money moves.
    """
    from softlabel import io, simulate

    shared.load_strategies(load)
    if ids is not None:
        io.check_output(ids, ("csv",), str(folder))
    simulate.pretend(folder, port=port, seed=seed, think=think, ids=ids, tell=typer.echo)


@shared.command()
def rehearse(
    folder: Path,
    annotators: int | None = None,
    seed: int = 0,
    keep: Path | None = None,
    load: Path | None = None,
) -> None:
    """Play a whole study on a Prolific of our own, with simulated people, and print the bill.

    People come, leave, run out of time, fail the quiz and finish; messages are lost, doubled and
    late; connections break. The study folder is not changed: everything happens in a copy.
    """
    from softlabel import simulate

    shared.load_strategies(load)
    with shared.progress() as tell:
        played = simulate.rehearse(
            folder, people=annotators, seed=seed, keep=keep, tell=lambda step: tell(step)
        )
    shared.show_facts(played.facts)
    shared.show_table("the bill", played.bill, MOST)
    for text in played.wrong:
        typer.echo(f"wrong: {text}", err=True)
    if played.wrong:
        raise typer.Exit(1)


def _say(desk: recruit.submissions.Desk, units: int) -> str:
    from softlabel.study import money

    if desk.study.pay is None:
        raise SoftlabelError("study.toml has no table [pay]; say there what people are paid")
    currency = desk.study.pay.currency
    return f"{money.format_units(units, currency)} {currency}"


def _warn_if_complete(desk: recruit.submissions.Desk, folder: Path, db: str | None) -> None:
    """Say so if people still come for whom there is nothing to answer, and who are paid for it."""
    from softlabel.serve import recruit

    progress = desk.store.progress(desk.study.name)
    if progress.answered < progress.wanted:
        return
    if desk.client.get_study(desk.remote)["status"] in recruit.advert.RUNNING:
        typer.echo(
            "note: the study has all its answers, and whoever comes now is turned away and paid "
            f"for it; stop that first with: {_next('pause', folder, db)}",
            err=True,
        )


def _count(people: Sized) -> str:
    return f"{len(people):,} {'person' if len(people) == 1 else 'people'}"


def _next(command: str, folder: Path, db: str | None) -> str:
    """Return a command of this group as it is typed."""
    words = f"softlabel prolific {command} {_quote(folder)}"
    return words if db is None else f"{words} --db {shlex.quote(db)}"


def _quote(folder: Path) -> str:
    return shlex.quote(str(folder))


def _login() -> str:
    """Return who runs the command, for the audit log."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
