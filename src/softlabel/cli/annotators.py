"""``inspect``, ``agree`` and ``annotators``: look at annotators before trusting their labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from softlabel.cli import shared
from softlabel.errors import SoftlabelError

if TYPE_CHECKING:
    from softlabel.annotators import Cards, Inspection, Verdict
    from softlabel.io import AnswerTable

SHOWN = 20  # rows of a long table
KINDS = ("html", "json", "csv")
Rules = Annotated[str, typer.Option(help="Quality rules: paper or reference.")]
TableFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE.csv", help="Write the full table of annotators to this file."),
]


@shared.app.command()
def inspect(  # noqa: PLR0913  (a command has as many arguments as options)
    source: shared.Input,
    rules: Rules = "paper",
    construct: shared.Construct = None,
    aggregate: shared.Pool = "mean",
    labels: shared.Labels = None,
    gold: shared.Gold = None,
    output: TableFile = None,
    load: shared.Load = None,
) -> None:
    """Report unusual annotators, whom the rules exclude and why, and how the labels change.

    The rules are about stated chances. Votes state none, so the rules exclude no voter; voters who
    repeat one class, contradict themselves or agree with nobody get a remark.
    """
    from softlabel import annotators, io
    from softlabel.tables import Annotations

    if output is not None:
        io.check_output(output, ("csv",), source)
    chosen = annotators.get_rules(rules)
    shared.load_strategies(load)
    build = shared.parse_strategy("construct", construct or "clamp")
    pool = shared.parse_strategy("aggregate", aggregate)
    with shared.progress() as tell:
        answers = shared.open_answers(source, shared.split_labels(labels), tell)
        votes = isinstance(answers.table, Annotations)
        if construct is not None and votes:
            raise SoftlabelError(
                f"--construct {construct}: these are votes, which are labels already; omit it"
            )
        # the rule of at least 3 s is for the form of the data sets; answers by keys are quicker
        seconds = answers.seconds if source.startswith(shared.DATASET) else None
        known = answers.gold if gold is None else io.read_gold(gold, answers.table.index)
        tell("judging")
        result = annotators.inspect(answers.table, chosen, build, pool, known, seconds)
    shared.show_facts(_describe_answers(answers.table, answers.facts))
    if known is None and chosen.accuracy is not None and not votes:
        shared.show_facts({"accuracy": "unknown without --gold, so this rule excludes nobody"})
    _show_verdicts(result)
    if output is not None:
        _write_table(output, [_row(verdict) for verdict in result.verdicts])


def _describe_answers(table: AnswerTable, facts: dict[str, str]) -> dict[str, str]:
    from softlabel import annotators
    from softlabel.tables import Annotations

    people, items = (len(set(column.tolist())) for column in (table.annotator, table.item))
    facts = {"answers": f"{len(table):,} by {people:,} annotators on {items:,} items"} | facts
    if isinstance(table, Annotations):
        again, _ = annotators.measure_repeats(table)
        if again.pairs:
            facts["repeats"] = (
                f"{again.pairs:,}: top class changed in {100 * again.change_rate:.2f} %"
            )
        return facts | {"rules": "apply to stated chances; votes state none and break none"}
    steady, rounding = annotators.measure_stability(table), annotators.measure_rounding(table)
    if steady.pairs:
        facts["repeats"] = (
            f"{steady.pairs:,}: top class changed in {100 * steady.change_rate:.2f} %, its chance "
            f"moved by {steady.mean_points:.2f} points"
        )
    if rounding.n:
        share = f"{100 * rounding.multiple_of_5:.1f} %"
        facts["rounding"] = f"{share} of {rounding.n:,} chances are multiples of 5"
    odd = {name: int(rows.sum()) for name, rows in annotators.flag_answers(table).items()}
    return facts | {name: f"{count:,}" for name, count in odd.items() if count}


def _show_verdicts(result: Inspection) -> None:
    import numpy as np

    excluded = [_row(verdict) for verdict in result.out]
    title = f"excluded by rules {result.rules.name!r} (version {result.rules.version})"
    shared.show_table(
        f"{len(excluded)} of {len(result.verdicts)} annotators {title}", excluded, SHOWN
    )
    if excluded:
        moved = "no item keeps a label"
        if result.worst is not None:
            item, most = result.worst
            moved = (
                f"{np.nanmean(result.moved):.4f} on average (total variation), at most "
                f"{most:.4f} on item {item!r}"
            )
        shared.show_facts(
            {
                "labels move by": moved,
                "top class changes": f"on {result.top_changed:,} items",
                "items without answers": f"{len(result.lost):,}",
            }
        )
    noted = [_row(verdict) for verdict in result.verdicts if verdict.keep and verdict.remarks]
    shared.show_table(f"{len(noted)} others with remarks, who are not excluded", noted, SHOWN)


def _row(verdict: Verdict) -> dict[str, Any]:
    return {
        "annotator": verdict.annotator,
        "answers": verdict.answers,
        "accuracy": "" if verdict.accuracy != verdict.accuracy else f"{verdict.accuracy:.2f}",
        "why": "; ".join((*verdict.reasons, *verdict.remarks)),
    }


@shared.app.command()
def agree(
    source: shared.Input,
    construct: shared.Construct = None,
    distance: Annotated[
        Literal["brier", "total-variation", "hellinger"],
        typer.Option(help="Distance between two labels; 1 between two different classes."),
    ] = "brier",
    repeats: shared.Repeats = None,
    labels: shared.Labels = None,
    output: TableFile = None,
    load: shared.Load = None,
) -> None:
    """Measure agreement between annotators, and list who agrees least with the others."""
    from softlabel import io
    from softlabel.annotators import measure_agreement
    from softlabel.label import construct_labels

    if output is not None:
        io.check_output(output, ("csv",), source)
    plan = shared.make_plan(load, construct, repeats=repeats)
    with shared.progress() as tell:
        opened = shared.open_source(source, shared.split_labels(labels), tell)
        tell("comparing annotators")
        each, made_by = construct_labels(opened, plan)
        result = measure_agreement(each, distance)
    shared.show_facts(
        {
            "answers": f"{len(each):,} on {result.items:,} items, "
            f"{result.shared:,} with two or more",
            **opened.facts,
            "construction": made_by,
            "observed agreement": str(result.observed),
            f"alpha ({distance})": str(result.alpha),
            "intervals": "95 %, bootstrap over items",
        }
    )
    rows = [
        {
            "annotator": card.annotator,
            "answers": card.answers,
            "agreement": f"{card.agreement:.3f}",
            "entropy": f"{card.sharpness:.3f}",
        }
        for card in result.cards
    ]
    if output is not None and not rows:
        raise SoftlabelError(f"{source} does not say who answered: no annotators to write")
    if rows:
        shared.show_table("annotators, least agreement with the others first", rows, SHOWN)
    if output is not None:
        _write_table(output, rows)


def _write_table(path: Path, rows: list[dict[str, Any]]) -> None:
    from softlabel import io

    io.write_table(rows, path)
    typer.echo(f"\nwrote {path}")


@shared.app.command()
def annotators(  # noqa: PLR0913  (a command has as many arguments as options)
    source: shared.Input,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the report cards to this file: a page (.html), everything (.json), or one "
            "row per annotator (.csv).",
        ),
    ] = None,
    aggregate: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[:key=value,...]",
            help="Compare annotators with the posterior of this truth pool (for example "
            "dawid-skene) instead of with the other annotators.",
        ),
    ] = None,
    gold: shared.Gold = None,
    rules: Rules = "paper",
    construct: shared.Construct = None,
    labels: shared.Labels = None,
    load: shared.Load = None,
) -> None:
    """Write a report card for every annotator: confusion, reliability, calibration, speed, flags.

    Nobody is excluded and no label changes. Without --gold or --aggregate, annotators are compared
    with the gold of a published data set, or else with the mean label of the others.
    """
    from softlabel import io
    from softlabel.annotators import get_rules, make_cards
    from softlabel.label import Plan, aggregate_labels, construct_labels
    from softlabel.sampling import one_per_annotator
    from softlabel.tables import Statements

    if output is not None:
        io.check_output(output, KINDS, source)
    chosen = get_rules(rules)
    shared.load_strategies(load)
    with shared.progress() as tell:
        answers = shared.open_answers(source, shared.split_labels(labels), tell)
        plan = Plan(construct=shared.parse_strategy("construct", construct), repeats="all")
        each, made_by = construct_labels(io.Source(source, answers.table), plan)
        known = None if gold is None else io.read_gold(gold, each.index)
        pool = shared.parse_strategy("aggregate", aggregate)
        posterior = pool and aggregate_labels(pool, one_per_annotator(each), known)
        tell("describing annotators")
        cards = make_cards(
            each,
            answers.table if isinstance(answers.table, Statements) else None,
            gold=answers.gold if known is None and pool is None else known,
            pooled=posterior,
            seconds=answers.seconds,
            rules=chosen,
            skips=answers.skips,
        )
        if output is not None:
            _write_cards(output, cards, Path(source.removeprefix(shared.DATASET)).name)
    _show_cards(cards, answers.facts | {"construction": made_by})
    if output is not None:
        typer.echo(f"\nwrote {output}")


def _write_cards(output: Path, cards: Cards, name: str) -> None:
    from softlabel import io
    from softlabel.annotators import card_row, cards_document
    from softlabel.report import annotators_page

    kind = output.suffix.lower()
    if kind == ".csv":  # what is not known is an empty cell
        rows = (card_row(card).items() for card in cards.people)
        io.write_table([{key: None if v != v else v for key, v in row} for row in rows], output)
    else:
        page = (
            annotators_page(cards, name)
            if kind == ".html"
            else shared.json_text(cards_document(cards))
        )
        shared.write_text(output, page)


def _show_cards(cards: Cards, facts: dict[str, str]) -> None:
    from softlabel.report import format_number

    flagged = sum(bool(card.flags) for card in cards.people)
    facts = {
        "annotators": f"{len(cards.people):,}, {flagged:,} with flags",
        "answers": f"{cards.answers:,} on {cards.items:,} items",
        **facts,
        "compared with": cards.reference,
    }
    if cards.repeats.pairs:
        facts["repeats"] = (
            f"{cards.repeats.pairs:,}: top class changed in "
            f"{100 * cards.repeats.change_rate:.1f} %, label moved by {cards.repeats.variation:.3f}"
        )
    if cards.temperature == cards.temperature:
        facts["temperature"] = f"{cards.temperature:.2f} for all together (for this report only)"
    shared.show_facts(facts)
    rows = [
        {
            "annotator": card.annotator,
            "answers": f"{card.answers:,}",
            "skips": f"{card.skipped:,}",
            "agreement": format_number(card.agreement),
            "reliability": format_number(card.reliability.value),
            "sharpness": format_number(card.sharpness),
            "temperature": format_number(card.temperature),
            "repeats": f"{card.repeats.changed} of {card.repeats.pairs} changed"
            if card.repeats.pairs
            else "–",
            "seconds": format_number(card.seconds.median, 1),
            "flags": "; ".join(card.flags),
        }
        for card in cards.people
    ]
    shared.show_table("most flags first, then least agreement with the others", rows, SHOWN)
