"""``reproduce``: recompute published numbers from the data and from training runs."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import typer

from softlabel.cli import shared
from softlabel.cli.train import live
from softlabel.errors import SoftlabelError

if TYPE_CHECKING:
    from softlabel.papers import Judged, Table, findings
    from softlabel.train import JobState

# as in softlabel.papers, which may not be there
Scale = Literal["cpu", "cpu-tuned", "features", "features-tuned", "fine-tuned", "paper"]

reproduce = shared.make_group("Recompute published numbers from the data and from training runs.")


@dataclass(frozen=True)
class Wanted:
    """Which runs of a paper are wanted, where, and whether they are only counted."""

    recipe: str | None = None
    seeds: int | None = None
    cells: tuple[str, ...] = ()
    quick: bool = False
    out: Path | None = None
    dry: bool = False


def _add_command(name: str, title: str) -> None:
    def reproduce_paper(
        recipe: Scale | None = None,
        seeds: int | None = None,
        cells: list[str] | None = None,
        quick: bool = False,
        out: Path | None = None,
        dry: bool = False,
        output: Path | None = None,
    ) -> None:
        listed = ";".join(cells or []).split(";")
        names = tuple(one.strip() for one in listed if one.strip())
        paper(name, Wanted(recipe, seeds, names, quick, out, dry), output)

    text = (
        f"{title}.\n\nShows each claim with our number, its interval and a verdict: holds, "
        "smaller, undecided, contradicted or untested. Training can be stopped at any time: "
        "finished runs are kept, and the rest resumes when started again."
    )
    shared.command(reproduce, name=name, help=text)(reproduce_paper)


def _refuse() -> None:
    """Recompute published numbers (not part of this installation)."""
    raise SoftlabelError(shared.NO_PAPERS)


if shared.has_papers():
    from softlabel.papers import PAPERS

    shared.app.add_typer(reproduce, name="reproduce")
    for _name, _title in PAPERS.items():
        _add_command(_name, _title)
else:
    _anything = {"allow_extra_args": True, "ignore_unknown_options": True}
    shared.app.command("reproduce", context_settings=_anything)(_refuse)


def paper(name: str, wanted: Wanted, output: Path | None = None) -> None:
    """Train if asked to, then show facts and claims; ``name`` may also be a Python file."""
    from softlabel.papers import findings, pages, papers

    out = wanted.out
    if out is None and not wanted.quick and (wanted.seeds is not None or wanted.dry):
        raise SoftlabelError("--seeds and --dry need --out DIR, where the runs are trained")
    if wanted.cells and (out is None or wanted.quick):
        raise SoftlabelError("--cells needs --out DIR, where the runs are trained, and no --quick")
    if output is not None and output.suffix != ".html":
        raise SoftlabelError(f"--output {output}: the name must end in .html")
    module = papers.find(name)
    typer.echo(module.TITLE)
    if wanted.quick:
        with tempfile.TemporaryDirectory() as place:
            _rehearse(name, replace(wanted, out=out or Path(place)))
        return
    trouble = "" if out is None else _train(name, wanted)
    if wanted.dry:
        return
    stored = findings.judge_shipped(module)
    with shared.progress() as tell:
        facts: Sequence[Judged] = findings.compute_facts(module, tell)
    if all(fact.verdict == "untested" for fact in facts):
        facts = stored.facts  # where the data are not on this machine
    if out is not None:
        found = findings.judge_folder(module, out, facts)
    else:
        results = {
            key: result for key, result in stored.results.items() if wanted.recipe in (None, key)
        }
        found = findings.judge_paper(module, results, facts)
    _show_findings(found)
    if output is not None:
        shared.write_text(output, pages.make_html([found], module.TITLE))
        typer.echo(f"\nwrote {output}")
    if trouble:
        raise SoftlabelError(trouble)


def _train(name: str, wanted: Wanted) -> str:
    """Print the cost of the runs and train them; return a message if some did not finish."""
    from softlabel.papers import running
    from softlabel.train import estimate_jobs, runner

    def describe(states: Sequence[JobState]) -> list[list[str]]:
        jobs = (state.job for state in states)
        return [["cell", "seed"], *([running.source_of(j).cell, str(j.seed)] for j in jobs)]

    recipe: Any = wanted.recipe or "cpu"
    processes = 0 if wanted.quick else running.PROCESSES  # to start one takes longer than a look
    stages = running.count_stages(recipe, wanted.quick, wanted.cells)
    trouble = ""
    for stage in range(stages):
        with shared.progress() as tell:
            out = cast(Path, wanted.out)
            states = running.find_states(
                name, recipe, wanted.seeds, out, wanted.quick, tell, wanted.cells
            )
            tell("trying one step of each kind")
            line = estimate_jobs(states, processes or 1)
        if stages > 1:
            typer.echo(("search for the best settings: ", "the chosen settings: ")[stage], nl=False)
        typer.echo(line)
        if wanted.dry:
            return ""
        with live(describe) as hear:
            runner.run_jobs(states, hear, processes=processes)
        trouble = trouble or running.describe_unfinished(states)
    return trouble


def _rehearse(name: str, wanted: Wanted) -> None:
    """Do a quick run; show its scores, and that the claims can be computed."""
    from softlabel.papers import collecting, findings, papers, rehearse

    trouble = _train(name, wanted)
    if trouble:
        raise SoftlabelError(trouble)
    if wanted.dry:
        return
    module, recipe = papers.find(name), cast(Any, wanted.recipe or "cpu")
    results = collecting.collect(cast(Path, wanted.out), module.NAME, recipe, quick=True)
    _show(findings.tabulate_scores("made-up pictures and people", results))
    claims = [rehearse(claim, results) for claim in module.claims(recipe)]
    computed = sum(claim.ours is not None for claim in claims)
    typer.echo(
        f"\n{computed} of {len(claims)} claims were computed on made-up data, which tests none of "
        "them"
    )


def _show_findings(found: findings.Findings) -> None:
    """Show every claim; at the end, where it is read first, what did not hold and how many did."""
    from softlabel.papers import SCALE_NAMES, findings

    for recipe, judgements in found.judged.items():
        # what is in no paper, or only arithmetic on what is, is listed separately
        apart = {
            group: [one for one in judgements if findings.group_of(one.claim) == group]
            for group in findings.APART
        }
        claims = [one for one in judgements if findings.group_of(one.claim) not in apart]
        _show(findings.tabulate_claims(SCALE_NAMES[cast(Any, recipe)], claims))
        for reason, count in Counter(judged.reason for judged in claims if judged.reason).items():
            typer.echo(f"  untested ({count}): {reason}")
        typer.echo(f"  {findings.count_in_words(claims)}")
        for group, some in apart.items():
            differ = [judged for judged in some if judged.verdict != "holds"]
            if differ:
                _show(findings.tabulate_claims(group, differ))
            if some:
                same = f"{len(some) - len(differ)} of {len(some)} {group}"
                typer.echo(f"  not among these: {same} come out the same")
    if found.judged:
        for heading, describe in (
            ("what our runs contradict", findings.describe_contradictions),
            ("facts and numbers that differ", findings.describe_differences),
        ):
            typer.echo(f"\n{heading}:")
            for line in describe(found) or ["nothing that was tested"]:
                typer.echo(f"  {line}")
        _show(findings.tabulate_verdicts(found))
    if not found.claims:
        typer.echo("\nno results are stored; use --out DIR to train, or --quick for a rehearsal")


@shared.command(reproduce)
def pooling(data: Path | None = None, quick: bool = False, output: Path | None = None) -> None:
    """Measure how well each pool predicts held-out votes of CIFAR-10H, CIFAR-10S and ChaosNLI, and
    compare it with its target."""
    from softlabel.papers import pooling as replay

    if data is not None:
        os.environ["SOFTLABEL_DATA"] = str(data)  # where data sets are searched for
    with shared.progress() as tell:
        outcome = replay.run(quick, tell)
    for table in (*outcome.tables, replay.tabulate_targets(outcome)):
        _show(table)
    if output is not None:
        shared.write_text(output, replay.make_page(outcome))
        typer.echo(f"\nwrote {output}")


def _show(table: Table) -> None:
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    shared.show_table(table.title, rows, len(rows))
    if table.note:
        typer.echo(f"  {table.note}")
