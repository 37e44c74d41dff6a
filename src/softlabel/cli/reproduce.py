"""``reproduce``: recompute published numbers from the data and from training runs."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from softlabel.cli.shared import (
    NO_PAPERS,
    app,
    has_papers,
    make_group,
    progress,
    show_table,
    write_text,
)
from softlabel.cli.train import live
from softlabel.errors import SoftlabelError

if TYPE_CHECKING:
    from softlabel.papers import Findings, Judged, Paper, Table
    from softlabel.train import JobState

reproduce = make_group("Recompute published numbers from the data and from training runs.")

# ── papers ───────────────────────────────────────────────────────────────────────────────────

Recipe = Annotated[
    Literal["cpu", "features", "paper"] | None,
    typer.Option(
        help="cpu: a small network trained from scratch; features: a head on frozen features; "
        "paper: the paper's own networks and schedule. Default: all stored results; for training, "
        "cpu."
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Train the runs that are missing from this folder. Without it, nothing is trained and "
        "the results that come with the package are shown.",
    ),
]
Seeds = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Runs per cell (default: 5; 10 on features).")
]
Quick = Annotated[
    bool,
    typer.Option("--quick", help="Rehearse in about a minute on simulated people and pictures."),
]
Dry = Annotated[
    bool, typer.Option("--dry", help="Only print how many runs remain and how long they take.")
]
Page = Annotated[
    Path | None, typer.Option("--output", metavar="FILE.html", help="Also write a page.")
]


def _add_command(name: str, title: str) -> None:
    def command(
        recipe: Recipe = None,
        seeds: Seeds = None,
        quick: Quick = False,
        out: Out = None,
        dry: Dry = False,
        output: Page = None,
    ) -> None:
        paper(name, recipe, seeds, quick, out, dry, output)

    text = (
        f"{title}.\n\nShows each claim with our number, its interval and a verdict: holds, "
        "weaker, fails or untested. Training can be stopped at any time: finished runs are "
        "kept, and the rest resumes when started again."
    )
    reproduce.command(name, help=text)(command)


def _refuse() -> None:
    """Recompute published numbers (not part of this installation)."""
    raise SoftlabelError(NO_PAPERS)


if has_papers():
    from softlabel.papers import PAPERS

    app.add_typer(reproduce, name="reproduce")
    for _name, _title in PAPERS.items():
        _add_command(_name, _title)
else:
    _anything = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command("reproduce", context_settings=_anything)(_refuse)


def paper(
    name: str,
    recipe: str | None = None,
    seeds: int | None = None,
    quick: bool = False,
    out: Path | None = None,
    dry: bool = False,
    output: Path | None = None,
) -> None:
    """Train if asked to, then show facts and claims; ``name`` may also be a Python file."""
    from softlabel.papers import papers

    if out is None and not quick and (seeds is not None or dry):
        raise SoftlabelError("--seeds and --dry need --out DIR, where the runs are trained")
    if output is not None and output.suffix != ".html":
        raise SoftlabelError(f"--output {output}: the name must end in .html")
    module = papers.find(name)
    typer.echo(module.TITLE)
    if quick:
        with tempfile.TemporaryDirectory() as place:
            _rehearse(name, recipe or "cpu", seeds, out or Path(place), dry)
        return
    trouble = "" if out is None else _train(name, recipe or "cpu", seeds, out, False, dry)
    if dry:
        return
    found = _judge(module, recipe, out)
    _show_findings(found)
    if output is not None:
        from softlabel.papers import make_html

        write_text(output, make_html([found], module.TITLE))
        typer.echo(f"\nwrote {output}")
    if trouble:
        raise SoftlabelError(trouble)


def _train(name: str, recipe: str, seeds: int | None, out: Path, quick: bool, dry: bool) -> str:
    """Print the cost of the runs and train them; return a message if some did not finish."""
    from softlabel.papers import running
    from softlabel.train import estimate_jobs, runner

    def describe(states: Sequence[JobState]) -> list[list[str]]:
        jobs = (state.job for state in states)
        return [["cell", "seed"], *([running.source_of(j).cell, str(j.seed)] for j in jobs)]

    with progress() as tell:
        states = running.find_states(name, cast(Any, recipe), seeds, out, quick, tell)
        tell("trying one step of each kind")
        line = estimate_jobs(states, running.PROCESSES)
    typer.echo(line)
    if dry:
        return ""
    with live(describe) as hear:
        runner.run_jobs(states, hear, processes=running.PROCESSES)
    return running.describe_unfinished(states)


def _judge(module: Paper, recipe: str | None, out: Path | None) -> Findings:
    """Judge the runs in a folder, or the stored results; compute facts where their data are."""
    from softlabel.papers import findings

    stored = findings.judge_shipped(module)
    with progress() as tell:
        facts: Sequence[Judged] = findings.compute_facts(module, tell)
    if all(fact.verdict == "untested" for fact in facts):
        facts = stored.facts
    if out is not None:
        return findings.judge_folder(module, out, facts)
    results = {key: result for key, result in stored.results.items() if recipe in (None, key)}
    return findings.judge_paper(module, results, facts)


def _rehearse(name: str, recipe: str, seeds: int | None, out: Path, dry: bool) -> None:
    """Do a quick run; show its scores, and that the claims can be computed."""
    from softlabel.papers import collect, papers, rehearse, tabulate_scores

    trouble = _train(name, recipe, seeds, out, True, dry)
    if trouble:
        raise SoftlabelError(trouble)
    if dry:
        return
    module = papers.find(name)
    results = collect(out, module.NAME, cast(Any, recipe), quick=True)
    _show(tabulate_scores("made-up pictures and people", results))
    claims = [rehearse(claim, results) for claim in module.claims(cast(Any, recipe))]
    computed = sum(claim.ours is not None for claim in claims)
    typer.echo(
        f"\n{computed} of {len(claims)} claims were computed on made-up data, which tests none of "
        "them"
    )


def _show_findings(found: Findings) -> None:
    """Show every claim; at the end, where it is read first, what did not hold and how many did."""
    from softlabel.papers import describe_failures, tabulate_verdicts

    for recipe, judgements in found.judged.items():
        _show_claims(recipe, judgements)
    if found.judged:
        typer.echo("\nwhat did not hold:")
        for line in describe_failures(found) or ["nothing that was tested"]:
            typer.echo(f"  {line}")
        _show(tabulate_verdicts(found))
    if not found.claims:
        typer.echo("\nno results are stored; use --out DIR to train, or --quick for a rehearsal")


def _show_claims(recipe: str, judgements: Sequence[Judged]) -> None:
    """Show the claims of one recipe; recounts, which are in no paper, are listed separately."""
    from softlabel.papers import RECOUNTS, SCALE_NAMES, count_in_words, group_of, tabulate_claims

    recounts = [judged for judged in judgements if group_of(judged.claim) == RECOUNTS]
    claims = [judged for judged in judgements if judged not in recounts]
    _show(tabulate_claims(SCALE_NAMES[cast(Any, recipe)], claims))
    for reason, count in Counter(judged.reason for judged in claims if judged.reason).items():
        typer.echo(f"  untested ({count}): {reason}")
    typer.echo(f"  {count_in_words(claims)}")
    differ = [judged for judged in recounts if judged.verdict != "holds"]
    if differ:
        _show(tabulate_claims(RECOUNTS, differ))
    if recounts:
        same = len(recounts) - len(differ)
        typer.echo(f"  not among these: {same} of {len(recounts)} {RECOUNTS} come out the same")


# ── pools ────────────────────────────────────────────────────────────────────────────────────


@reproduce.command()
def pooling(
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            exists=True,
            file_okay=False,
            help="The folder of data sets. Default: $SOFTLABEL_DATA and the cache.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use one split and a fifth of the images.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE.md", help="Also write a page.")
    ] = None,
) -> None:
    """Measure how well each pool predicts held-out votes of CIFAR-10H, CIFAR-10S and ChaosNLI, and
    compare it with its target."""
    from softlabel.papers import pooling as replay

    if data is not None:
        os.environ["SOFTLABEL_DATA"] = str(data)  # where data sets are searched for
    with progress() as tell:
        outcome = replay.run(quick, tell)
    for table in (*outcome.tables, replay.tabulate_targets(outcome)):
        _show(table)
    if output is not None:
        write_text(output, replay.make_page(outcome))
        typer.echo(f"\nwrote {output}")


def _show(table: Table) -> None:
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    show_table(table.title, rows, len(rows))
    if table.note:
        typer.echo(f"  {table.note}")
