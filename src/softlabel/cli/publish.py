"""``publish``: a study as a data set that can be cited."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from softlabel.cli import shared, wizard
from softlabel.cli.status import open_study
from softlabel.errors import SoftlabelError

if TYPE_CHECKING:
    from softlabel.publish import Material

USUAL = "CC-BY-4.0"


@shared.command()
def publish(  # noqa: PLR0913  (a command has as many arguments as options)
    source: Path,
    output: Path,
    licence: str | None = None,
    author: list[str] | None = None,
    version: str = "1.0.0",
    date: str = "",
    url: str = "",
    construct: str | None = None,
    aggregate: str = "dirichlet",
    mode: str | None = None,
    include_items: bool = False,
    include_text: Path | None = None,
    accept_findings: bool = False,
    replace: bool = False,
    db: str | None = None,
    load: Path | None = None,
) -> None:
    """Write a data set that can be cited: answers, soft labels, a card, and how they came about.

    The folder holds Parquet files that Hugging Face's datasets, polars and pandas read, a card
    (README.md), a data statement, Croissant, a citation and checksums. Annotators get new
    pseudonyms. People left out are marked, not removed. The same study gives the same bytes.

    Comments, answers to questions and reasons for leaving people out are not published: they are
    listed in OUT.review.csv, beside the folder. Write yes into its column publish where a text may
    be published, and publish again with --include-text OUT.review.csv. If anything looks like an
    e-mail address, a telephone number, an IP address or the id of a platform, nothing is written
    until it is gone or accepted.
    """
    from softlabel.publish import Choices, check_folder, find_licence
    from softlabel.publish import publish as write

    shared.load_strategies(load)
    check_folder(output, replace)
    chosen = find_licence(licence or _ask_licence())
    with shared.progress() as tell:
        tell(f"reading {source}")
        material = _open(source, db)
        choices = Choices(
            licence=chosen.name,
            authors=tuple(author or ()),
            version=version,
            date=date,
            url=url,
            construct=shared.parse_strategy("construct", construct),
            aggregate=shared.parse_strategy("aggregate", aggregate),
            mode=shared.parse_strategy("mode", mode),
            items=include_items,
            text=include_text,
            accept=accept_findings,
        )
        facts = write(material, output, choices, replace, tell)
    shared.show_facts(facts)
    if not author:
        typer.echo("note: nobody is named as author; name them with --author", err=True)


def _open(source: Path, db: str | None) -> Material:
    """Open a study folder with its database, or a study's export."""
    from softlabel import io
    from softlabel.publish import Material
    from softlabel.records import record_of_stored

    if not source.is_dir():
        if db is not None:
            raise SoftlabelError(f"--db {db}: {source} is no study folder, so it has no database")
        records = io.read_export(source)
        return Material(str(records[0].get("project") or source.name.partition(".")[0]), records)
    from softlabel.serve import write_questions

    with open_study(source, db) as (study, store):
        records = [record_of_stored(study, row) for row in store.responses(study.name)]
        questions = [json.loads(line) for line in write_questions(study, store)]
    return Material(study.name, records, study, questions)


def _ask_licence() -> str:
    from softlabel.publish import explain_licences, find_licence

    usual = explain_licences()
    if not wizard.is_terminal():
        raise SoftlabelError(
            f"--licence is missing: say on what terms others may use the data, for example "
            f"--licence {USUAL}.\n{usual}"
        )
    purpose = f"On what terms may others use the answers and labels?\n{usual}"
    return wizard.ask("Licence", purpose, USUAL, lambda text: find_licence(text).name)
