"""``score``: predictions of a model against what people said."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from softlabel.cli import shared

if TYPE_CHECKING:
    from softlabel.scoring import Measured, Scores
    from softlabel.tables import Score

KINDS = ("html", "json", "csv", "svg")


@shared.command()
def score(  # noqa: PLR0913  (a command has as many arguments as options)
    predictions: Path,
    people: Path,
    compare: Path | None = None,
    out: list[Path] | None = None,
    metric: list[str] | None = None,
    labels: str | None = None,
    ordered: bool = False,
    common: bool = False,
    normalise: bool = False,
    from_logits: bool = False,
    draws: int = 500,
    seed: int = 0,
    load: Path | None = None,
) -> None:
    """Score the predictions of a model against what people said.

    Prints every metric with its 95 % interval (bootstrap over items) and its noise ceiling: what a
    model that knew the true distributions would score against as many votes. With --compare, prints
    the differences of two models on the same items, with their intervals. Items and classes are
    matched by name; their order does not matter.
    """
    from softlabel import io, scoring

    for path in out or ():
        for source in (predictions, people, *([compare] if compare else [])):
            io.check_output(path, KINDS, str(source))
    shared.load_strategies(load)
    with shared.progress() as tell:
        scores = scoring.score(
            predictions,
            people,
            compare,
            progress=tell,
            measures=metric or (),
            labels=shared.split_labels(labels),
            ordered=True if ordered else None,
            common=common,
            normalise=normalise,
            from_logits=from_logits,
            draws=draws,
            seed=seed,
        )
    _show(scores)
    for path in out or ():
        _write(scores, path)
        typer.echo(f"wrote {path}")


def _show(scores: Scores) -> None:
    order = " < ".join(scores.labels) if scores.ordered else ", ".join(scores.labels)
    facts = {"items": f"{scores.n:,}", "classes": order}
    facts["intervals"] = "95 %, bootstrap over items"
    if scores.no_ceiling:
        facts["noise ceiling"] = f"not known: {scores.no_ceiling}"
    shared.show_facts(facts)
    for note in scores.notes:
        typer.echo(f"note: {note}")
    name, people, other = scores.names
    title = f"{name} against {people}"
    if other:
        title += f"; the difference is {Path(name).name} minus {Path(other).name}"
    rows = [_row(scores[name], scores.names, not scores.no_ceiling) for name in scores]
    shared.show_table(title, rows, len(rows), rich=True)


def _row(one: Measured, names: tuple[str, str, str], ceiling: bool) -> dict[str, Any]:
    row = {"metric": one.name, "better": one.better, "score": _cell(one.score)}
    if ceiling:
        row["ceiling"] = _number(one.ceiling)
    if one.difference is not None:
        winner = {"predictions": Path(names[0]).name, "other": Path(names[2]).name, "": "–"}
        row |= {"other": _cell(one.other), "difference": _cell(one.difference)}
        row["better model"] = winner[one.winner]
    return row


def _cell(score: Score | None) -> str:
    if score is None or not math.isfinite(score.low):
        return _number(score)
    return f"{score.value:.4f} [{score.low:.4f}, {score.high:.4f}]"


def _number(score: Score | None) -> str:
    return "–" if score is None or math.isnan(score.value) else f"{score.value:.4f}"


def _write(scores: Scores, path: Path) -> None:
    from softlabel import io
    from softlabel.report import reliability_diagram, scores_page, standalone_svg

    kind = path.suffix.lower().removeprefix(".")
    if kind == "csv":
        io.write_table(scores.to_rows(), path)
        return
    made = {
        "json": lambda: f"{shared.json_text(scores.to_dict())}\n",
        "svg": lambda: standalone_svg(reliability_diagram(scores)),
        "html": lambda: scores_page(scores),
    }
    shared.write_text(path, made[kind]())
