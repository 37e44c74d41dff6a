"""``reproduce``: recompute published numbers from the data and from training runs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from softlabel.cli.contents import Contents
from softlabel.cli.progress import progress
from softlabel.cli.shared import NO_PAPERS, app, has_papers, show_table
from softlabel.cli.train import live
from softlabel.errors import SoftlabelError

if TYPE_CHECKING:
    from softlabel.papers import Findings, Judged, Paper, Table
    from softlabel.train import JobState

reproduce = typer.Typer(
    cls=Contents,
    help="Recompute published numbers from the data and from training runs.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

# ── papers ───────────────────────────────────────────────────────────────────────────────────

Recipe = Annotated[
    Literal["cpu", "features", "paper"] | None,
    typer.Option(
        help="cpu: a small network from scratch; features: a head on frozen features; paper: the "
        "paper's own networks and schedule. Default: all stored results; for training, cpu.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Train: make the runs missing from this folder. Without it, nothing is trained and "
        "the results that come with the package are shown.",
    ),
]
Seeds = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Runs per cell (default: 5; 10 on features)."),
]
Quick = Annotated[
    bool,
    typer.Option(
        "--quick",
        help="Run everything in about a minute without data: simulated people, generated pictures.",
    ),
]
Dry = Annotated[
    bool, typer.Option("--dry", help="Only print how many runs are left and how long they take.")
]
Page = Annotated[
    Path | None, typer.Option("--output", metavar="FILE.html", help="Also write a page.")
]


def _command(name: str, title: str) -> None:
    """One command per paper; they differ in the name alone."""

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
        _command(_name, _title)
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
    """Facts, then training if asked for, then claims; ``name`` may be a Python file too."""
    from softlabel.papers import papers

    if out is None and not quick and (seeds is not None or dry):
        raise SoftlabelError("--seeds and --dry need --out DIR, where the runs are trained")
    if output is not None and output.suffix != ".html":
        raise SoftlabelError(f"--output {output}: the name must end in .html")
    one = papers.find(name)
    typer.echo(one.TITLE)
    if quick:
        with tempfile.TemporaryDirectory() as place:
            _rehearse(name, recipe or "cpu", seeds, out or Path(place), dry)
        return
    trouble = "" if out is None else _train(name, recipe or "cpu", seeds, out, False, dry)
    if dry:
        return
    found = _findings(one, recipe, out)
    _show_findings(found)
    if output is not None:
        from softlabel._util.files import write_atomically
        from softlabel.papers import make_html

        with write_atomically(output) as part:
            part.write_text(make_html([found], one.TITLE), "utf-8")
        typer.echo(f"\nwrote {output}")
    if trouble:
        raise SoftlabelError(trouble)


def _train(name: str, recipe: str, seeds: int | None, out: Path, quick: bool, dry: bool) -> str:
    """Say what it costs and do it; what to say of runs that did not finish, if any."""
    from softlabel.papers import running
    from softlabel.train import estimate_jobs, runner

    with progress() as tell:
        standings = running.find_states(name, cast(Any, recipe), seeds, out, quick, tell)
        tell("trying one step of each kind")
        line = estimate_jobs(standings, running.PROCESSES)
    typer.echo(line)
    if dry:
        return ""
    with live(_told_apart) as hear:
        runner.run_jobs(standings, hear, processes=running.PROCESSES)
    return running.describe_unfinished(standings)


def _told_apart(standings: Sequence[JobState]) -> list[list[str]]:
    from softlabel.papers import running

    jobs = [one.job for one in standings]
    rows = ([running.source_of(job).cell, str(job.seed)] for job in jobs)
    return [["cell", "seed"], *rows]


def _findings(one: Paper, recipe: str | None, out: Path | None) -> Findings:
    """Of the folder, or as stored; facts are computed where their data are."""
    from softlabel.papers import findings

    kept = findings.judge_shipped(one)
    with progress() as tell:
        facts: Sequence[Judged] = findings.compute_facts(one, tell)
    if all(fact.verdict == "untested" for fact in facts):
        facts = kept.facts
    if out is not None:
        return findings.judge_folder(one, out, facts)
    results = {key: some for key, some in kept.results.items() if recipe in (None, key)}
    return findings.judge_paper(one, results, facts)


def _rehearse(name: str, recipe: str, seeds: int | None, out: Path, dry: bool) -> None:
    """A quick run, and what it has to show: scores, and that the claims can be computed."""
    from softlabel.papers import collect, papers, rehearse, tabulate_scores

    trouble = _train(name, recipe, seeds, out, True, dry)
    if trouble:
        raise SoftlabelError(trouble)
    if dry:
        return
    one = papers.find(name)
    results = collect(out, one.NAME, cast(Any, recipe), quick=True)
    _show(tabulate_scores("made-up pictures and people", results))
    told = [rehearse(claim, results) for claim in one.claims(cast(Any, recipe))]
    computed = sum(claim.ours is not None for claim in told)
    typer.echo(
        f"\n{computed} of {len(told)} claims were computed on these; made-up data test none of them"
    )


def _show_findings(found: Findings) -> None:
    """Every claim; at the end, where it is read first, what did not hold and how many did."""
    from softlabel.papers import describe_failures, tabulate_verdicts

    for title, judgements in found.judged.items():
        _show_claims(title, judgements)
    if found.judged:
        typer.echo("\nwhat did not hold:")
        for told in describe_failures(found) or ["nothing that was tested"]:
            typer.echo(f"  {told}")
        _show(tabulate_verdicts(found))
    if not found.claims:
        typer.echo("\nno results are stored; use --out DIR to train, or --quick for a rehearsal")


def _show_claims(recipe: str, judgements: Sequence[Judged]) -> None:
    """The claims of one recipe; counts that are in no paper stand apart and are counted apart."""
    from softlabel.papers import RECOUNTS, SCALE_NAMES, count_in_words, group_of, tabulate_claims

    recounts = [one for one in judgements if group_of(one.claim) == RECOUNTS]
    claims = [one for one in judgements if one not in recounts]
    _show(tabulate_claims(SCALE_NAMES[cast(Any, recipe)], claims))
    reasons = dict.fromkeys(one.reason for one in claims if one.reason)
    for reason in reasons:
        some = sum(one.reason == reason for one in claims)
        typer.echo(f"  untested ({some}): {reason}")
    typer.echo(f"  {count_in_words(claims)}")
    differ = [one for one in recounts if one.verdict != "holds"]
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
    """Replay CIFAR-10H, CIFAR-10S and ChaosNLI, and compare how well each pool predicts held-out
    votes with its target."""
    from softlabel._util.files import write_atomically
    from softlabel.papers import pooling as replay

    if data is not None:
        os.environ["SOFTLABEL_DATA"] = str(data)  # where all data sets are looked for
    with progress() as tell:
        outcome = replay.run(quick, tell)
    for table in (*outcome.tables, replay.tabulate_targets(outcome)):
        _show(table)
    if output is not None:
        with write_atomically(output) as part:
            part.write_text(replay.make_page(outcome), "utf-8")
        typer.echo(f"\nwrote {output}")


def _show(table: Table) -> None:
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    show_table(table.title, rows, len(rows))
    if table.note:
        typer.echo(f"  {table.note}")
