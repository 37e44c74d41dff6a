"""``evaluate`` and ``report``: scores of runs, as tables and as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from softlabel.cli import shared
from softlabel.errors import SoftlabelError, UnknownName

if TYPE_CHECKING:
    from softlabel.tables import Score, SoftLabels
    from softlabel.train import Run

TITLES = {
    "scratch": "trained from scratch",
    "features": "trained on another network's features",
    "tuned": "another network, trained further",
}
Groups = dict[str, list["Run"]]
Scores = Mapping[str, Mapping[str, "Score"]]  # by group and metric


@shared.command()
def evaluate(
    folder: Path,
    against: str | None = None,
    metric: list[str] | None = None,
    by: str | None = None,
    than: str | None = None,
    as_json: bool = False,
    load: Path | None = None,
) -> None:
    """Score the predictions of finished runs against people's labels.

    Prints two tables: the mean of each metric over the seeds of a group, with a 95 % confidence
    interval (Student's t, clipped to the range of the metric); and the differences between groups,
    paired by seed, with intervals over items and seeds.
    """
    from softlabel.metrics import evaluate as evaluating
    from softlabel.train import runs

    shared.load_strategies(load)
    finished = runs.find(folder)
    if not finished:
        waiting = sum(1 for _ in runs.list_runs(folder))
        raise SoftlabelError(f"{folder}: has no finished run ({waiting} are not finished)")
    names = metric or list(evaluating.DEFAULT)
    result: dict[str, Any] = {}
    for kind, (keys, groups) in _by_kind(finished, by.split(",") if by else None).items():
        people = _load_people(against, groups)
        means = {group: evaluating.over_runs(of, people, names) for group, of in groups.items()}
        base = _base_group(than, keys, groups)
        pairs: dict[str, dict[str, Score]] = {group: {} for group in groups if group != base}
        for name in names if pairs else ():
            known = {group: evaluating.measured(of, people, name) for group, of in groups.items()}
            for group, scores in pairs.items():
                scores[name] = evaluating.difference(known[group], known[base])
        result[kind] = {"by": keys, "runs": _plain(means), "than": base}
        result[kind]["differences"] = _plain(pairs)
        if not as_json:
            items = len(evaluating.matched(next(iter(groups.values()))[0].predictions, people).true)
            _show(f"{TITLES.get(kind, kind)}, {items:,} items, mean over seeds", groups, means)
            if pairs:
                _show(f"difference from {base}, seed by seed, over items and seeds", groups, pairs)
    if as_json:
        typer.echo(shared.json_text(result))
    _note_stale(finished)


def _note_stale(finished: Sequence[Run]) -> str:
    """Print how many of the runs other code made, if any did, and return it."""
    from softlabel.train import describe_stale

    if note := describe_stale(finished):
        typer.echo(f"note: {note}", err=True)
    return note


def show_runs(finished: Sequence[Run]) -> None:
    """Show the stored scores of finished runs, averaged over seeds."""
    import numpy as np

    from softlabel.metrics import evaluate, intervals

    for kind, (_, groups) in _by_kind(finished, None).items():
        means: dict[str, dict[str, Score]] = {}
        for group, runs in groups.items():
            means[group] = dict(runs[0].scores)
            for name in means[group] if len(runs) > 1 else ():
                values = np.array([run.scores[name].value for run in runs])
                bounds = evaluate.bounds(name)
                means[group][name] = intervals.over_seeds(values, bounds=bounds)
        over = "mean over seeds" if len(finished) > len(groups) else "interval over items"
        _show(f"{TITLES.get(kind, kind)}, {over}", groups, means)


def _by_kind(finished: Sequence[Run], by: list[str] | None) -> dict[str, tuple[list[str], Groups]]:
    """Group runs by settings, separately for each kind (features, scratch); return the settings and
    the groups, which are called by the values of these settings."""
    from softlabel.train import runs

    def kind_of(run: Run) -> str:
        return str(run.value("kind"))

    tables = {}
    for kind, members in groupby(sorted(finished, key=kind_of, reverse=True), key=kind_of):
        of = list(members)
        keys = list(by or runs.find_differences(of) or ["deliver"])
        tables[kind] = keys, runs.group(of, keys, named=True)
    return tables


def _load_people(against: str | None, groups: Groups) -> SoftLabels:
    from softlabel.tables import SoftLabels

    if against is None:
        return next(iter(groups.values()))[0].people
    if against.endswith(".npz"):
        return SoftLabels.load(against)
    from softlabel.train import splits

    if against not in splits.PUBLISHED:
        known = [*splits.PUBLISHED, "FILE.npz"]
        raise UnknownName("file or set of people's labels", against, known)
    return splits.load_people(against)


def _base_group(than: str | None, keys: Sequence[str], groups: Groups) -> str:
    """Return the group called ``than``, with or without the names of its settings; by default the
    first with hard labels, the usual baseline, or else the first."""
    values = {group: [str(of[0].value(key)) for key in keys] for group, of in groups.items()}
    if than is None:
        words = {group: ",".join(row).replace(":", ",").split(",") for group, row in values.items()}
        return next((group for group in groups if "hard" in words[group]), next(iter(groups)))
    called = {", ".join(row): group for group, row in values.items()}
    called |= {group: group for group in groups}
    if than not in called:
        raise UnknownName("group of runs", than, groups)
    return called[than]


def _show(title: str, groups: Groups, rows: Scores) -> None:
    def cell(score: Score) -> str:
        interval = "" if score.low != score.low else f" [{score.low:.4f}, {score.high:.4f}]"
        return f"{score.value:.4f}{interval}"

    columns = list(next(iter(rows.values())))
    table = [
        {"group": group, "runs": str(len(groups[group]))}
        | {metric: cell(scores[metric]) for metric in columns}
        for group, scores in rows.items()
    ]
    shared.show_table(title, table, len(table))


def _plain(rows: Scores) -> dict[str, Any]:
    return {
        group: {
            metric: {"value": score.value, "low": score.low, "high": score.high, "runs": score.n}
            for metric, score in scores.items()
        }
        for group, scores in rows.items()
    }


@shared.command()
def report(paths: list[Path]) -> None:
    """Write a self-contained page about the four papers, or about your own runs.

    Runs of papers ('softlabel reproduce PAPER --out RUNS') are shown claim by claim, each with a
    verdict; other runs with their scores, differences and calibration.
    """
    *folder, target = paths
    if len(folder) > 1 or target.suffix != ".html":
        raise SoftlabelError(
            "use 'softlabel report RUNS FILE.html' or 'softlabel report FILE.html'"
        )
    text = ""
    if shared.has_papers():
        from softlabel.papers import PAPERS, collecting, findings, pages, papers

        if not folder:
            shipped = [findings.judge_shipped(papers.find(name)) for name in PAPERS]
            text = pages.make_html([paper for paper in shipped if paper.results])
        else:
            started = dict.fromkeys(name for name, _ in collecting.list_started(folder[0]))
            known = [papers.find(name) for name in started if name in PAPERS]
            judged = [findings.judge_folder(paper, folder[0]) for paper in known]
            text = pages.make_html(judged) if judged else ""
    elif not folder:
        advice = "for your own runs: softlabel report RUNS FILE.html"
        raise SoftlabelError(f"{shared.NO_PAPERS}; {advice}")
    shared.write_text(target, text or _make_page(folder[0]))
    typer.echo(f"wrote {target}")


def _make_page(folder: Path) -> str:
    """Return the page about the runs in a folder."""
    from softlabel import __version__
    from softlabel.report import page, runs_section
    from softlabel.train import runs

    finished = runs.find(folder)
    if not finished:
        raise SoftlabelError(f"{folder}: has no finished run")
    sections = []
    for kind, (keys, groups) in _by_kind(finished, None).items():
        title = TITLES.get(kind, kind).capitalize()
        people = next(iter(groups.values()))[0].people
        sections.append(runs_section(title, groups, people, _base_group(None, keys, groups)))
    lead = ["Predictions of finished runs, compared with people's labels of the same items."]
    lead += [f"{note}."] if (note := _note_stale(finished)) else []
    return page(f"The runs in {folder}", lead, sections, f"Made by softlabel {__version__}.")
