"""``new``, ``batches``, ``check``, ``backup``, ``restore``, ``migrate``: a study folder and its
database."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from softlabel.cli import shared, wizard
from softlabel.errors import SoftlabelError, StudyError

if TYPE_CHECKING:
    from softlabel.io import Progress


@shared.command()
def new(  # noqa: PLR0913  options, each with its own help
    folder: Path,
    export: Path | None = None,
    images: Path | None = None,
    audio: Path | None = None,
    video: Path | None = None,
    table: Path | None = None,
    text: str | None = None,
    labels: str | None = None,
    mode: str | None = None,
    seed: int | None = None,
    load: Path | None = None,
    from_: str | None = None,
    preset: str | None = None,
    enlarge: int | None = None,
) -> None:
    """Create a study from your own pictures, recordings, videos or texts, ready to edit.

    With EXPORT, the items and the labels are those of an export of another program, such as Label
    Studio, LeWiDi, Argilla or doccano; see 'softlabel list format'.

    Without options, a terminal asks for them; elsewhere an example with drawn shapes is written.
    Files are copied into the study folder.
    """
    from softlabel import study

    shared.load_strategies(load)
    given = {"image": images, "audio": audio, "video": video, "table": table, "export": export}
    if from_ is not None and export is None:
        raise SoftlabelError(f"--from {from_} needs an export: softlabel new DIR EXPORT")
    source = wizard.choose_source(given, text)
    if source is None and labels is not None:
        raise SoftlabelError("--labels needs items: add --images, --audio, --video or --table")
    asked = wizard.choose_preset(preset, mode, enlarge, source is not None)
    if source is not None:
        if seed is not None:
            raise SoftlabelError("--seed is for the drawn shapes of the example; omit it")
        made, notes = _write_own(folder, source, labels, from_, asked)
    elif asked.mode is None and seed is None and wizard.is_terminal():
        made, notes = wizard.ask_all(folder)
    else:
        made, notes = study.write_new(folder, mode=asked.mode or "quick", seed=seed or 0), ()
    for path in made:
        typer.echo(f"wrote {path}")
    for media, word in (("images", "pictures"), ("audio", "recordings"), ("video", "videos")):
        if count := sum(path.is_file() for path in (folder / media).rglob("*")):
            typer.echo(f"wrote {count} {word} in {folder / media}")
    for note in notes:
        typer.echo(f"note: {note}", err=True)
    place = shlex.quote(str(folder))
    steps = [f"softlabel {command} {place}" for command in ("check", "preview", "serve")]
    typer.echo(f"\nnext: {steps[0]}, {steps[1]}, then {steps[2]}")


def _write_own(
    folder: Path,
    source: tuple[str, Path, list[str]],
    labels: str | None,
    from_: str | None,
    asked: wizard.Asked,
) -> wizard.Made:
    """Write a study of the items that the options name."""
    from softlabel import study

    how = shared.parse_strategy("format", from_)
    material, known = wizard.open_material(*source, how)
    chosen = list(known) if known and labels is None else wizard.read_labels(labels, material)
    if asked.enlarge is not None:
        material = study.presets.enlarge_material(material, asked.enlarge)
    items = None if asked.preset is None else asked.preset.fit_items(material)
    return study.setup.write_own(folder, material, chosen, mode=asked.mode, items=items)


@shared.command()
def batches(  # noqa: PLR0913  options, each with its own help
    source: str,
    out: Path,
    items: Path | None = None,
    size: int = 25,
    easy: int = 3,
    ambiguous_from: float = 0.25,
    easy_up_to: float = 0.1,
    number: int | None = None,
    without_easy: int = 0,
    seed: int = 0,
) -> None:
    """Divide items into batches of ambiguous and a few easy items, as Collins et al. 2022 did.

    INPUT tells how clear each item is: soft labels of 'softlabel label', answers of any kind,
    which are averaged, or a table with the columns item and entropy (in nats). Every batch has the
    same number of easy items and is filled with ambiguous ones, both drawn at random; no item is in
    two batches.

    OUTPUT is a table of items with the column batch, from which 'softlabel new' makes a study, or
    an allocation (.json) for the key items.allocation of a study.
    """
    from softlabel import io
    from softlabel.study import mixing

    kind = io.check_output(out, ("csv", "jsonl", "json"), source)
    if kind == "json" and items is not None:
        raise SoftlabelError(f"--items {items}: an allocation names items only; write to .csv")
    mixture = mixing.Mixture(size, easy, ambiguous_from, easy_up_to, number, without_easy, seed)
    with shared.progress() as tell:
        known = _measure_items(source, tell)
    rows = None if items is None else mixing.read_items(items)
    missing = 0
    if rows is not None:
        missing = sum(item not in known for item in rows)
        known = {item: nats for item, nats in known.items() if item in rows}
        if not known:
            raise SoftlabelError(f"{items}: none of its ids is an item of {source}")
    mixed = mixing.mix(known, mixture)
    shared.write_text(out, mixing.render(mixed, kind, rows))
    found = mixed.items
    facts = {
        "batches": f"{len(mixed.batches):,} of {size} items",
        "ambiguous": f"{mixed.count('ambiguous'):,} of {len(found.ambiguous):,}, "
        f"entropy from {ambiguous_from:g} nats",
        "easy": f"{mixed.count('easy'):,} of {len(found.easy):,}, up to {easy_up_to:g} nats",
        "neither": f"{len(found.between):,}, in no batch",
    }
    if missing:
        facts["unknown"] = f"{missing:,} items of {items} without a label, in no batch"
    shared.show_facts(facts | {"wrote": str(out)})


def _measure_items(source: str, tell: Progress) -> dict[str, float]:
    """Return the entropy of each item of an input, in nats."""
    from softlabel import io, labelling
    from softlabel.study import mixing
    from softlabel.tables import SoftLabels

    plan = labelling.Plan()
    if source.startswith(shared.DATASET):
        return mixing.measure_labels(
            labelling.pool_source(shared.open_source(source, None, tell), plan)
        )
    if (given := mixing.read_entropies(Path(source))) is not None:
        return given
    people = io.read_people(source)
    if not isinstance(people, SoftLabels):
        people = labelling.pool_source(people, plan)
    return mixing.measure_labels(people)


@shared.command()
def preview(
    folder: Path,
    port: int = 0,
    browser: bool = True,
    load: Path | None = None,
) -> None:
    """Show every page that participants see, in a browser. Nothing is stored.

    The pages are listed beside a frame whose width can be that of a phone. Answers go into a
    temporary database, which is deleted when you stop the command.
    """
    from softlabel.serve import show_preview

    shared.load_strategies(load)
    show_preview(folder, port=port, ready=typer.launch if browser else None)


@shared.command()
def check(folder: Path, load: Path | None = None) -> None:
    """Check a study folder: list all mistakes, or estimate people, time and pay."""
    from softlabel import study as studies

    shared.load_strategies(load)
    try:
        study = studies.read(folder)
    except StudyError as error:
        for problem in error.problems:
            typer.echo(str(problem))
        count = len(error.problems)
        mistakes = "1 mistake" if count == 1 else f"{count} mistakes"
        typer.echo(f"error: {mistakes} in {folder}; correct and check again", err=True)
        raise typer.Exit(1) from None
    for note in study.notes:
        typer.echo(f"note: {note}", err=True)
    guess = studies.estimate(study)
    source = "measured" if guess.measured else "predicted"
    facts = {
        "study": f"{study.name}: {study.title}",
        "labels": f"{len(study.labels):,}",
        "mode": f"{study.asks.removeprefix('mode ')}, {study.frame.replace('_', ' ')}",
        "items": f"{len(study.items):,}, {len(study.practice)} for practice, "
        f"{len(study.checks)} checks",
    }
    if study.batches:
        facts["batches"] = f"{len(study.batches):,}"
    facts |= {
        "per person": f"{study.items_per_person:,} items, {study.showings_per_person:,} answers "
        "with practice, checks and repeats",
        "people": f"{study.people_needed:,} at least, for {study.per_item} answers per item"
        + (" on average" if study.allocate else ""),
        "minutes": f"about {guess.minutes:.0f} per person at {guess.seconds:g} s per answer "
        f"({source})",
    }
    if study.pay is not None:
        currency = study.pay.currency
        facts["pay"] = (
            f"{guess.session:.2f} {currency} per person, {guess.total:,.2f} {currency} in total; "
            f"about {guess.per_hour:.2f} {currency} per hour"
        )
    shared.show_facts(facts)


@shared.command()
def backup(folder: Path, file: Path | None = None, db: str | None = None) -> None:
    """Copy a study's database to a file, even while it is being served.

    The copy is verified and readable only by its owner. It does not contain the study's
    secret.json; back that up separately, because pseudonyms depend on it.
    """
    from softlabel import store
    from softlabel.serve import databases

    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    target = file or Path(f"{folder.resolve().name}-{stamp}.db")
    copied = store.backup(databases.place_of(folder, db), target)
    shared.show_facts({name: f"{n:,}" for name, n in copied.rows.items()} | {"wrote": str(target)})


@shared.command()
def restore(folder: Path, file: Path, db: str | None = None, new_database: bool = False) -> None:
    """Replace a study's database with a backup.

    Refused while a server or another command has the database open. The previous file is kept
    under another name.
    """
    from softlabel.serve import databases

    copied, kept = databases.restore(folder, db, file, new_database=new_database)
    facts = {name: f"{n:,}" for name, n in copied.rows.items()}
    shared.show_facts(facts | ({"kept": str(kept)} if kept else {}) | {"restored": str(file)})


@shared.command()
def migrate(folder: Path, db: str | None = None) -> None:
    """Upgrade a study's database to the schema of this version of softlabel.

    Commands that only read refuse an older schema. Back up first: an older softlabel cannot read
    the database afterwards.
    """
    from softlabel import store
    from softlabel.serve import databases

    with store.open(databases.place_of(folder, db), create=False) as opened:
        typer.echo(f"{opened.name} is up to date")
