"""``inspect``, ``agree`` and ``annotators``: look at annotators before trusting their labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from softlabel.cli import shared
from softlabel.errors import SoftlabelError

if TYPE_CHECKING:
    from softlabel.annotators import Cards, rules
    from softlabel.io import AnswerTable

SHOWN = 20  # rows of a long table


@shared.command()
def inspect(  # noqa: PLR0913  (a command has as many arguments as options)
    source: str,
    rules: str = "paper",
    construct: str | None = None,
    aggregate: str = "mean",
    labels: str | None = None,
    gold: Path | None = None,
    output: Path | None = None,
    load: Path | None = None,
    told: shared.Told = shared.NOTHING_TOLD,
) -> None:
    """Report unusual annotators, whom the rules exclude and why, and how the labels change.

    The rules are about stated chances. Votes state none, so the rules exclude no voter; voters who
    repeat one class, contradict themselves or agree with nobody get a remark.
    """
    import numpy as np

    from softlabel import annotators, io
    from softlabel.tables import Annotations

    if output is not None:
        io.check_output(output, ("csv",), source)
    chosen = annotators.get_rules(rules)
    shared.load_strategies(load)
    build = shared.parse_strategy("construct", construct or "clamp")
    pool = shared.parse_strategy("aggregate", aggregate)
    with shared.progress() as tell:
        classes, reading = (
            shared.split_labels(labels),
            told.make_reading(),
        )
        opened, known = shared.open_answers(source, classes, tell, reading)
        votes = isinstance(opened.answers, Annotations)
        if construct is not None and votes:
            raise SoftlabelError(
                f"--construct {construct}: these are votes, which are labels already; omit it"
            )
        # the rule of at least 3 s is for the form of the data sets; answers by keys are quicker
        seconds = opened.seconds if source.startswith(shared.DATASET) else None
        if gold is not None:
            known = io.read_gold(gold, opened.answers.index)
        tell("judging")
        result = annotators.inspect(opened.answers, chosen, build, pool, known, seconds)
    shared.show_facts(_describe_answers(opened.answers, opened.facts))
    if known is None and chosen.accuracy is not None and not votes:
        shared.show_facts({"accuracy": "unknown without --gold, so this rule excludes nobody"})
    excluded = [_row(verdict) for verdict in result.out]
    title = f"annotators excluded by rules {chosen.name!r} (version {chosen.version})"
    shared.show_table(f"{len(excluded)} of {len(result.verdicts)} {title}", excluded, SHOWN)
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
            changed = f"top class changed in {100 * again.change_rate:.2f} %"
            facts["repeats"] = f"{again.pairs:,}: {changed}"
        return facts | {"rules": "apply to stated chances; votes state none and break none"}
    steady = annotators.repeats.measure_stability(table)
    rounding = annotators.rules.measure_rounding(table)
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


def _row(verdict: rules.Verdict) -> dict[str, Any]:
    return {
        "annotator": verdict.annotator,
        "answers": verdict.answers,
        "accuracy": "" if verdict.accuracy != verdict.accuracy else f"{verdict.accuracy:.2f}",
        "why": "; ".join((*verdict.reasons, *verdict.remarks)),
    }


@shared.command()
def agree(  # noqa: PLR0913  (a command has as many arguments as options)
    source: str,
    construct: str | None = None,
    distance: Literal["brier", "total-variation", "hellinger", "ordinal", "interval"] = "brier",
    repeats: shared.Repeats | None = None,
    labels: str | None = None,
    output: Path | None = None,
    load: Path | None = None,
    ordered: bool = False,
    told: shared.Told = shared.NOTHING_TOLD,
) -> None:
    """Measure agreement between annotators, and list who agrees least with the others.

    Of classes that are steps of a scale (--ordered), ordinal and interval alpha are printed too.
    """
    from softlabel import io
    from softlabel.annotators import measure_agreement
    from softlabel.labelling import construct_labels

    if output is not None:
        io.check_output(output, ("csv",), source)
    plan = shared.make_plan(load, construct, repeats=repeats)
    with shared.progress() as tell:
        reading = told.make_reading()
        opened = shared.open_source(source, shared.split_labels(labels), tell, reading=reading)
        opened = shared.mark_ordered(opened) if ordered else opened
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
            **{f"alpha ({scale})": str(score) for scale, score in result.scales.items()},
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


@shared.command()
def annotators(  # noqa: PLR0913  (a command has as many arguments as options)
    source: str,
    output: Path | None = None,
    aggregate: str | None = None,
    gold: Path | None = None,
    rules: str = "paper",
    construct: str | None = None,
    labels: str | None = None,
    load: Path | None = None,
    told: shared.Told = shared.NOTHING_TOLD,
) -> None:
    """Write a report card for every annotator: confusion, reliability, calibration, speed, flags.

    Nobody is excluded and no label changes. Without --gold or --aggregate, annotators are compared
    with the gold of a published data set, or else with the mean label of the others.
    """
    from softlabel import io
    from softlabel.annotators import get_rules, make_cards
    from softlabel.labelling import Plan, aggregate_labels, construct_labels
    from softlabel.sampling import one_per_annotator
    from softlabel.tables import Statements

    if output is not None:
        io.check_output(output, ("html", "json", "csv"), source)
    chosen = get_rules(rules)
    shared.load_strategies(load)
    with shared.progress() as tell:
        classes, reading = (
            shared.split_labels(labels),
            told.make_reading(),
        )
        opened, published = shared.open_answers(source, classes, tell, reading)
        plan = Plan(construct=shared.parse_strategy("construct", construct), repeats="all")
        each, made_by = construct_labels(io.Source(source, opened.answers), plan)
        known = None if gold is None else io.read_gold(gold, each.index)
        pool = shared.parse_strategy("aggregate", aggregate)
        posterior = pool and aggregate_labels(pool, one_per_annotator(each), known)
        tell("describing annotators")
        cards = make_cards(
            each,
            opened.answers if isinstance(opened.answers, Statements) else None,
            gold=published if known is None and pool is None else known,
            pooled=posterior,
            seconds=opened.seconds,
            rules=chosen,
            skips=opened.skips,
        )
        if output is not None:
            _write_cards(output, cards, Path(source.removeprefix(shared.DATASET)).name)
    _show_cards(cards, opened.facts | {"construction": made_by})
    if output is not None:
        typer.echo(f"\nwrote {output}")


def _write_cards(output: Path, found: Cards, name: str) -> None:
    from softlabel import io
    from softlabel.annotators import cards
    from softlabel.report import annotators_page

    kind = output.suffix.lower()
    if kind == ".csv":  # what is not known is an empty cell
        rows = (cards.card_row(card).items() for card in found.people)
        io.write_table([{key: None if v != v else v for key, v in row} for row in rows], output)
    elif kind == ".html":
        shared.write_text(output, annotators_page(found, name))
    else:
        shared.write_text(output, shared.json_text(cards.cards_document(found)))


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
