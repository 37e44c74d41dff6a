"""``inspect`` and ``agree``: looking at people before trusting their labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from softlabel.cli.progress import progress
from softlabel.cli.shared import (
    DATASET,
    Construct,
    Gold,
    Input,
    Labels,
    Load,
    Pool,
    Repeats,
    app,
    load_strategies,
    make_plan,
    open_answers,
    open_source,
    show_facts,
    show_table,
    split,
)
from softlabel.errors import SoftlabelError

if TYPE_CHECKING:
    from softlabel.annotators import Card, Inspection, Verdict
    from softlabel.io import AnswerTable

SHOWN = 20  # rows of a long table

TableFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE.csv", help="Write the whole table of annotators to this file."),
]


@app.command()
def inspect(  # noqa: PLR0913  (a command has as many arguments as options)
    source: Input,
    rules: Annotated[str, typer.Option(help="Quality rules: paper or reference.")] = "paper",
    construct: Construct = None,
    aggregate: Pool = "mean",
    labels: Labels = None,
    gold: Gold = None,
    output: TableFile = None,
    load: Load = None,
) -> None:
    """Say who answers oddly, who would fall out and why, and what that would change.

    The rules are about stated chances. Votes state none, so they exclude no voter; voters who
    repeat one class, contradict themselves or agree with nobody are remarked on.
    """
    from softlabel import io as files
    from softlabel import registry
    from softlabel.annotators import get_rules
    from softlabel.annotators import inspect as inspect_annotators
    from softlabel.tables import Statements

    _check_table(output, source)
    chosen = get_rules(rules)
    load_strategies(load)
    build = registry.parse("construct", construct or "clamp")
    pool = registry.parse("aggregate", aggregate)
    with progress() as tell:
        opened = open_answers(source, split(labels), tell)
        said, known, told = opened.said, opened.gold, opened.told
        _check_construct(construct, said)
        of_the_form = source.startswith(
            DATASET
        )  # the floor of 3 s is for the form; keys are quicker
        seconds = opened.seconds if of_the_form else None
        if gold is not None:
            known = files.read_gold(gold, said.index)
        tell("judging")
        found = inspect_annotators(said, chosen, build, pool, known, seconds)
    _show_answers(said, told)
    if known is None and chosen.accuracy is not None and isinstance(said, Statements):
        show_facts({"accuracy": "not known without --gold, so that clause excludes nobody"})
    _show_verdicts(found)
    if output is not None:
        _write(output, [_row(verdict) for verdict in found.verdicts])


@app.command()
def agree(
    source: Input,
    construct: Construct = None,
    distance: Annotated[
        Literal["brier", "total-variation", "hellinger"],
        typer.Option(help="Between two labels; all are 1 between different classes."),
    ] = "brier",
    repeats: Repeats = None,
    labels: Labels = None,
    output: TableFile = None,
    load: Load = None,
) -> None:
    """Say how far people agree, beyond chance, and who agrees least with the others."""
    from softlabel.annotators import measure_agreement
    from softlabel.label import construct_labels

    _check_table(output, source)
    plan = make_plan(load, construct, repeats=repeats)
    with progress() as tell:
        opened = open_source(source, split(labels), tell)
        tell("comparing people")
        each, made_by = construct_labels(opened, plan)
        found = measure_agreement(each, distance)
    show_facts(
        {
            "answers": f"{len(each):,} on {found.items:,} items, {found.shared:,} with two or more",
            **opened.facts,
            "construction": made_by,
            "observed agreement": str(found.observed),
            f"alpha ({distance})": str(found.alpha),
            "intervals": "95 %, bootstrap over items",
        }
    )
    rows = [_card(card) for card in found.cards]
    if output is not None and not rows:
        raise SoftlabelError(f"{source} does not say who answered: no annotators to write")
    if rows:
        show_table("annotators, least agreement with the others first", rows, SHOWN)
    if output is not None:
        _write(output, rows)


def _check_construct(construct: str | None, said: AnswerTable) -> None:
    from softlabel.tables import Annotations

    if construct is not None and isinstance(said, Annotations):
        raise SoftlabelError(
            f"--construct {construct}: these are votes, which are labels already; leave it out"
        )


def _show_answers(said: AnswerTable, told: dict[str, str]) -> None:
    from softlabel.annotators import (
        flag_answers,
        measure_repeats,
        measure_rounding,
        measure_stability,
    )
    from softlabel.tables import Annotations

    people, items = (len(set(column.tolist())) for column in (said.annotator, said.item))
    facts = {"answers": f"{len(said):,} by {people:,} annotators on {items:,} items"} | told
    if isinstance(said, Annotations):
        again, _ = measure_repeats(said)
        if again.pairs:
            changed = f"{again.change_rate:.2%}".replace("%", " %")
            facts["repeats"] = f"{again.pairs:,}: top class changed in {changed}"
        show_facts(facts | {"rules": "about stated chances; votes state none and break none"})
        return
    steady, round_ = measure_stability(said), measure_rounding(said)
    if steady.pairs:
        facts["repeats"] = (
            f"{steady.pairs:,}: top class changed in {steady.change_rate:.2%}".replace("%", " %")
            + f", its chance moved by {steady.mean_points:.2f} points"
        )
    if round_.n:
        share = f"{100 * round_.multiple_of_5:.1f} %"
        facts["rounding"] = f"{share} of {round_.n:,} chances are multiples of 5"
    odd = {name: int(rows.sum()) for name, rows in flag_answers(said).items()}
    show_facts(facts | {name: f"{count:,}" for name, count in odd.items() if count})


def _show_verdicts(found: Inspection) -> None:
    import numpy as np

    out = [_row(verdict) for verdict in found.out]
    title = f"would fall out by rules {found.rules.name!r} (version {found.rules.version})"
    show_table(f"{len(out)} of {len(found.verdicts)} annotators {title}", out, SHOWN)
    if out:
        worst, moved = found.worst, "no item keeps a label"
        if worst is not None:
            mean = found.moved[~np.isnan(found.moved)].mean()
            moved = f"{mean:.4f} on average (total variation), at most {worst[1]:.4f} on item "
            moved += repr(worst[0])
        changes = {"top class changes": f"on {found.top_changed:,} items"}
        show_facts(
            {"labels move by": moved} | changes | {"items without answers": f"{len(found.lost):,}"}
        )
    noted = [_row(verdict) for verdict in found.verdicts if verdict.keep and verdict.remarks]
    show_table(f"{len(noted)} others with remarks, which exclude nobody", noted, SHOWN)


def _row(verdict: Verdict) -> dict[str, Any]:
    return {
        "annotator": verdict.annotator,
        "answers": verdict.answers,
        "accuracy": "" if verdict.accuracy != verdict.accuracy else f"{verdict.accuracy:.2f}",
        "why": "; ".join((*verdict.reasons, *verdict.remarks)),
    }


def _card(card: Card) -> dict[str, Any]:
    return {
        "annotator": card.annotator,
        "answers": card.answers,
        "agreement": f"{card.agreement:.3f}",
        "entropy": f"{card.sharpness:.3f}",
    }


def _check_table(path: Path | None, source: str) -> None:
    """Refuse a file that cannot be written before any work is done for it."""
    from softlabel import io

    if path is not None:
        io.check_output(path, ("csv",), source)


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    from softlabel import io

    io.write_table(rows, path)
    typer.echo(f"\nwrote {path}")
