"""``serve``, ``invite``, ``forget``: a running study and its participants."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from softlabel.cli.shared import Database, Folder, Load, app, load_strategies, show_facts
from softlabel.errors import SoftlabelError

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@app.command()
def serve(  # noqa: PLR0913  options, each with its own help
    folder: Folder,
    host: Annotated[
        str,
        typer.Option(help="The address to listen on; only the default is local to this machine."),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port to listen on; 0 picks a free one.")
    ] = 8000,
    db: Database = None,
    url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="The public address behind a proxy, without a path: https://birds.example.org",
        ),
    ] = None,
    browser: Annotated[bool, typer.Option("--open", help="Open the study in a browser.")] = False,
    new_token: Annotated[
        bool | None,
        typer.Option(
            "--new-token/--no-token",
            help="Create a new researcher token and revoke the old one. --no-token creates none, "
            "not even at the first start.",
        ),
    ] = None,
    rehearsal: Annotated[
        bool, typer.Option("--rehearsal", help="Mark all participants as simulated, permanently.")
    ] = False,
    new_database: Annotated[
        bool,
        typer.Option(
            "--new-database", help="Accept a new or other database if the study's own is missing."
        ),
    ] = False,
    new_secret: Annotated[
        bool,
        typer.Option(
            "--new-secret",
            help="Continue with a different secret.json than the one used for the pseudonyms in "
            "the database. Returning people count as new.",
        ),
    ] = False,
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a new token to this file, readable only by you, instead of printing it "
            "where a service log would keep it.",
        ),
    ] = None,
    load: Load = None,
) -> None:
    """Serve a study until stopped. Acknowledged answers are never lost."""
    from softlabel import serve as room
    from softlabel.serve import Choice, Handover

    def open_page(address: str) -> None:
        typer.launch(address)

    load_strategies(load)
    if host not in LOOPBACK:
        typer.echo(
            f"warning: {host} can be reached from other machines, without encryption; "
            "a proxy with a certificate in front of 127.0.0.1 is safer",
            err=True,
        )
    room.run(
        folder,
        host=host,
        port=port,
        database=Choice(db, rehearsal, new_database, new_secret),
        url=url,
        token=Handover(bool(new_token), token_file, wanted=new_token is not False),
        ready=open_page if browser else None,
    )


@app.command()
def invite(
    folder: Folder,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Names of the people to invite.")
    ] = None,
    revoke: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Revoke this person's link.")
    ] = None,
    show: Annotated[bool, typer.Option("--list", help="List the invited people.")] = False,
    url: Annotated[
        str, typer.Option(metavar="URL", help="The public address of the study.")
    ] = "http://127.0.0.1:8000",
    db: Database = None,
    load: Load = None,
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


@app.command()
def forget(
    folder: Folder,
    person: Annotated[
        str,
        typer.Argument(
            metavar="PERSON",
            help="The pseudonym, the recruiter's id, the name in the invitation, or the deletion "
            "code that an open study shows.",
        ),
    ],
    db: Database = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    load: Load = None,
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
