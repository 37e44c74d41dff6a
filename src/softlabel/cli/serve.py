"""``serve``, ``invite``, ``forget``: a running study and its participants."""

import time
from pathlib import Path

import typer

from softlabel.cli.shared import command, load_strategies, show_facts
from softlabel.errors import SoftlabelError


@command()
def serve(  # noqa: PLR0913  options, each with its own help
    folder: Path,
    host: str = "127.0.0.1",
    port: int = 8000,
    db: str | None = None,
    url: str | None = None,
    browser: bool = False,
    new_token: bool | None = None,
    rehearsal: bool = False,
    new_database: bool = False,
    new_secret: bool = False,
    token_file: Path | None = None,
    load: Path | None = None,
) -> None:
    """Serve a study until stopped. Acknowledged answers are never lost."""
    from softlabel.serve import Choice, Handover, run

    load_strategies(load)
    if host not in ("127.0.0.1", "localhost", "::1"):
        typer.echo(
            f"warning: {host} can be reached from other machines, without encryption; "
            "a proxy with a certificate in front of 127.0.0.1 is safer",
            err=True,
        )
    run(
        folder,
        host=host,
        port=port,
        database=Choice(db, rehearsal, new_database, new_secret),
        url=url,
        token=Handover(bool(new_token), token_file, wanted=new_token is not False),
        ready=typer.launch if browser else None,
    )


@command()
def invite(
    folder: Path,
    names: list[str] | None = None,
    revoke: list[str] | None = None,
    show: bool = False,
    url: str = "http://127.0.0.1:8000",
    db: str | None = None,
    load: Path | None = None,
) -> None:
    """Create personal links to a study; each is shown once and can be revoked."""
    from softlabel.serve import check_url, databases, recruit

    load_strategies(load)
    check_url(url)
    now = time.time()
    with databases.open_study(folder, db) as (study, store, key):
        for name in revoke or ():
            recruit.revoke(study, store, name, now)
            typer.echo(f"{name}  the link is revoked; a new link needs another name")
        for name in names or ():
            path = recruit.invite(study, store, key, name, now)
            typer.echo(f"{name}  {url.rstrip('/')}{path}")
        if show:
            for person in store.invitations(study.name):
                state = "open" if person.revoked_at is None else "revoked"
                typer.echo(f"{person.name}  {state}")
        elif not names and not revoke:
            raise SoftlabelError("no names given; give names, --revoke NAME or --list")


@command()
def forget(
    folder: Path, person: str, db: str | None = None, yes: bool = False, load: Path | None = None
) -> None:
    """Delete everything about a person from the study's database, permanently."""
    from softlabel.serve import databases, recruit

    load_strategies(load)
    with databases.open_study(folder, db) as (study, store, key):
        annotator = recruit.find_annotator(study, store, key, person)
        if not yes:
            question = f"Delete everything about {annotator} from {study.name}, permanently?"
            typer.confirm(question, abort=True, err=True)
        deleted = store.forget(study.name, annotator).result()
        show_facts({table: f"{rows} deleted" for table, rows in deleted.items()})
