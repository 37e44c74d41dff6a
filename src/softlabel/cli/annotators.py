"""``annotators``: one report card per person."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softlabel.cli.progress import progress
from softlabel.cli.shared import (
    DATASET,
    Answers,
    Construct,
    Gold,
    Input,
    Labels,
    Load,
    app,
    json_text,
    load_strategies,
    open_answers,
    show_facts,
    show_table,
    split,
)

if TYPE_CHECKING:
    from softlabel.annotators import Card, Cards
    from softlabel.tables import Annotations, Ints, SoftLabels

SHOWN = 20  # people in the terminal
KINDS = ("html", "json", "csv")


@app.command()
def annotators(  # noqa: PLR0913  (a command has as many arguments as options)
    source: Input,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the cards to this file: a page (.html), everything (.json), or one row per "
            "person (.csv).",
        ),
    ] = None,
    aggregate: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[:key=value,...]",
            help="Hold people against the posterior of this truth pool (dawid-skene, for instance) "
            "instead of what the others said.",
        ),
    ] = None,
    gold: Gold = None,
    rules: Annotated[str, typer.Option(help="Quality rules: paper or reference.")] = "paper",
    construct: Construct = None,
    labels: Labels = None,
    load: Load = None,
) -> None:
    """Say of every annotator how they answer: confusion, reliability, calibration, speed, flags.

    Nobody is excluded and no label changes. Without --gold or --aggregate people are held against
    the gold of a published data set, or else against the mean label of the others.
    """
    from softlabel import io
    from softlabel.annotators import get_rules, make_cards

    if output is not None:
        io.check_output(output, KINDS, source)
    chosen = get_rules(rules)
    load_strategies(load)
    with progress() as tell:
        opened = open_answers(source, split(labels), tell)
        each, made_by = _labelled(source, opened, construct)
        known = None if gold is None else io.read_gold(gold, each.index)
        posterior = _pooled(aggregate, each, known)
        if known is None and posterior is None:
            known = opened.gold
        tell("describing people")
        found = make_cards(
            each,
            _statements(opened),
            gold=known,
            pooled=posterior,
            seconds=opened.seconds,
            rules=chosen,
            skips=opened.skips,
        )
        if output is not None:
            _write(output, found, source)
    show_facts(_facts(found, opened, made_by))
    rows = [_row(card) for card in found.people]
    show_table("most flags first, then least agreement with the others", rows, SHOWN)
    if output is not None:
        typer.echo(f"\nwrote {output}")


def _labelled(source: str, opened: Answers, construct: str | None) -> tuple[Annotations, str]:
    """One label per answer, repeats included."""
    from softlabel import registry
    from softlabel.io import Source
    from softlabel.label import Plan, construct_labels

    build = None if construct is None else registry.parse("construct", construct)
    plan = Plan(construct=build, repeats="all")
    return construct_labels(Source(source, opened.said), plan)


def _statements(opened: Answers) -> Any:
    from softlabel.tables import Statements

    return opened.said if isinstance(opened.said, Statements) else None


def _pooled(aggregate: str | None, each: Annotations, gold: Ints | None) -> SoftLabels | None:
    """Everybody's first answers, pooled."""
    if aggregate is None:
        return None
    from softlabel import registry
    from softlabel.label import aggregate_labels
    from softlabel.sampling import one_per_annotator

    return aggregate_labels(registry.parse("aggregate", aggregate), one_per_annotator(each), gold)


def _write(output: Path, found: Cards, source: str) -> None:
    from softlabel import io
    from softlabel._util.files import write_atomically
    from softlabel.annotators import card_row, cards_document
    from softlabel.report import annotators_page

    if output.suffix.lower() == ".csv":
        io.write_table([_blank(card_row(card)) for card in found.people], output)
        return
    page = output.suffix.lower() == ".html"
    name = Path(source.removeprefix(DATASET)).name
    text = annotators_page(found, name) if page else json_text(cards_document(found))
    with write_atomically(output) as part:
        part.write_text(text, "utf-8")


def _blank(row: dict[str, Any]) -> dict[str, Any]:
    """What is not known is an empty cell."""
    return {key: None if value != value else value for key, value in row.items()}


def _facts(found: Cards, opened: Answers, made_by: str) -> dict[str, str]:
    flagged = sum(bool(card.flags) for card in found.people)
    facts = {
        "annotators": f"{len(found.people):,}, {flagged:,} with flags",
        "answers": f"{found.answers:,} on {found.items:,} items",
        **opened.told,
        "construction": made_by,
        "held against": found.reference,
    }
    if found.repeats.pairs:
        facts["repeats"] = (
            f"{found.repeats.pairs:,}: top class changed in "
            f"{100 * found.repeats.change_rate:.1f} %, label moved by {found.repeats.variation:.3f}"
        )
    if found.temperature == found.temperature:
        facts["temperature"] = f"{found.temperature:.2f} for all together (for this report only)"
    return facts


def _row(card: Card) -> dict[str, Any]:
    from softlabel.report import format_number

    steady = card.repeats
    return {
        "annotator": card.annotator,
        "answers": f"{card.answers:,}",
        "skips": f"{card.skipped:,}",
        "agreement": format_number(card.agreement),
        "reliability": format_number(card.reliability.value),
        "sharpness": format_number(card.sharpness),
        "temperature": format_number(card.temperature),
        "repeats": f"{steady.changed} of {steady.pairs} changed" if steady.pairs else "–",
        "seconds": format_number(card.seconds.median, 1),
        "flags": "; ".join(card.flags),
    }
