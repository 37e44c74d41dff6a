"""``evaluate`` and ``report``: scores of runs, as tables and as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from softlabel.cli.shared import (
    NO_PAPERS,
    Load,
    app,
    has_papers,
    json_text,
    load_strategies,
    show_table,
)
from softlabel.errors import SoftlabelError, UnknownName

if TYPE_CHECKING:
    from softlabel.report import Section
    from softlabel.tables import Score, SoftLabels
    from softlabel.train import Run


TITLES = {"scratch": "trained from scratch", "features": "trained on another network's features"}
Groups = dict[str, list["Run"]]


@app.command()
def evaluate(
    folder: Annotated[Path, typer.Argument(metavar="RUNS", help="A folder of run folders.")],
    against: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.npz|NAME",
            help="People's soft labels of the items: a file, or cifar10h or cifar10s for their "
            "test items. Default: what each run was tested against.",
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:key=value,...]",
            help="A metric; may be repeated; see 'softlabel list metric'.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="KEY[,KEY]",
            help="Settings to group runs by (default: all in which the runs differ).",
        ),
    ] = None,
    than: Annotated[
        str | None,
        typer.Option(
            metavar="GROUP",
            help="The group to compare the others with, such as deliver=hard, or just hard.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    load: Load = None,
) -> None:
    """Score the predictions of finished runs against people.

    Prints two tables: the mean of each metric over the seeds of a group, with a 95 % confidence
    interval (Student's t, clipped to the range of the metric); and the differences between groups,
    paired by seed, with intervals over items and seeds.
    """
    from softlabel.metrics import evaluate as evaluating
    from softlabel.train import runs

    load_strategies(load)
    found = runs.find(folder)
    if not found:
        waiting = sum(1 for _ in runs.list_runs(folder))
        raise SoftlabelError(f"{folder}: has no finished run ({waiting} are not finished)")
    _note_stale(found)
    names = metric or list(evaluating.DEFAULT)
    answer: dict[str, Any] = {}
    for kind, (keys, groups) in by_kind(found, None if by is None else by.split(",")).items():
        people = _people(against, groups)
        means = {name: evaluating.over_runs(of, people, names) for name, of in groups.items()}
        base = base_group(than, keys, groups)
        pairs: dict[str, dict[str, Score]] = {name: {} for name in groups if name != base}
        for one in names if pairs else ():
            known = {name: evaluating.measured(of, people, one) for name, of in groups.items()}
            for name, table in pairs.items():
                table[one] = evaluating.difference(known[name], known[base])
        answer[kind] = {
            **{"by": keys, "runs": _plain(means)},
            **{"than": base, "differences": _plain(pairs)},
        }
        if not as_json:
            items = len(evaluating.matched(next(iter(groups.values()))[0].predictions, people).true)
            _show(f"{TITLES.get(kind, kind)}, {items:,} items, mean over seeds", groups, means)
            if pairs:
                _show(f"difference from {base}, seed by seed, over items and seeds", groups, pairs)
    if as_json:
        typer.echo(json_text(answer))


def _note_stale(found: Sequence[Run]) -> str:
    """Print how many of the runs other code made, if any did, and return it."""
    from softlabel.train import describe_stale

    if note := describe_stale(found):
        typer.echo(f"note: {note}", err=True)
    return note


def show_runs(found: Sequence[Run]) -> None:
    """Show the stored scores of finished runs, averaged over seeds."""
    import numpy as np

    from softlabel.metrics import evaluate, intervals

    for kind, (_, groups) in by_kind(found, None).items() if found else ():
        means: dict[str, dict[str, Score]] = {}
        for name, of in groups.items():
            kept = [run.scores for run in of]
            for key in kept[0]:
                values = np.array([scores[key].value for scores in kept])
                many = len(values) > 1
                one = (
                    intervals.over_seeds(values, bounds=evaluate.bounds(key))
                    if many
                    else kept[0][key]
                )
                means.setdefault(name, {})[key] = one
        over = "mean over seeds" if len(found) > len(groups) else "interval over items"
        _show(f"{TITLES.get(kind, kind)}, {over}", groups, means)


class Table(NamedTuple):
    """Groups of runs of one kind, each called by the settings that make it and their values."""

    by: list[str]
    groups: Groups


def by_kind(found: Sequence[Run], by: Sequence[str] | None) -> dict[str, Table]:
    """Groups of runs, those on features apart from those from scratch."""
    from softlabel.train import runs

    def kind(run: Run) -> str:
        return str(run.value("kind"))

    tables = {}
    for name, some in groupby(sorted(found, key=kind, reverse=True), key=kind):
        of = list(some)
        keys = list(by or runs.find_differences(of) or ["deliver"])
        tables[name] = Table(keys, runs.group(of, keys, named=True))
    return tables


def _people(against: str | None, groups: Groups) -> SoftLabels:
    from softlabel.tables import SoftLabels

    if against is None:
        return next(iter(groups.values()))[0].people
    if against.endswith(".npz"):
        return SoftLabels.load(against)
    from softlabel.train import splits

    if against not in splits.PUBLISHED:
        raise UnknownName(
            "file or set of people's labels", against, [*splits.PUBLISHED, "FILE.npz"]
        )
    return splits.load_people(against)


def base_group(than: str | None, keys: Sequence[str], groups: Groups) -> str:
    """The group called ``than``, with or without the names of its settings; else hard labels if
    there are any: what everybody compares with."""
    values = {name: [str(of[0].value(key)) for key in keys] for name, of in groups.items()}
    if than is None:
        hard = [name for name, row in values.items() if any("hard" in _parts(one) for one in row)]
        return (hard or list(groups))[0]
    called = {", ".join(row): name for name, row in values.items()}
    called |= {name: name for name in groups}
    if than not in called:
        raise UnknownName("group of runs", than, groups)
    return called[than]


def _parts(value: str) -> list[str]:
    return value.replace(":", ",").split(",")


def _show(title: str, groups: Groups, rows: Mapping[str, Mapping[str, Score]]) -> None:
    shown = []
    columns = list(next(iter(rows.values())))
    for name, scores in rows.items():
        cells = {metric: _cell(scores[metric]) for metric in columns}
        shown.append({"group": name, "runs": str(len(groups[name])), **cells})
    show_table(title, shown, len(shown))


def _cell(score: Score) -> str:
    interval = "" if score.low != score.low else f" [{score.low:.4f}, {score.high:.4f}]"
    return f"{score.value:.4f}{interval}"


def _plain(rows: Mapping[str, Mapping[str, Score]]) -> dict[str, Any]:
    return {
        name: {
            metric: {"value": score.value, "low": score.low, "high": score.high, "runs": score.n}
            for metric, score in scores.items()
        }
        for name, scores in rows.items()
    }


@app.command()
def report(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="[RUNS] FILE.html",
            help="A folder of runs and the page to write. Without a folder: the results that come "
            "with the package.",
        ),
    ],
) -> None:
    """Write a self-contained page about the four papers, or about your own runs.

    Runs of papers ('softlabel reproduce PAPER --out RUNS') are shown claim by claim, each with a
    verdict; other runs with their scores, differences and calibration.
    """
    from softlabel._util.files import write_atomically

    *folder, target = paths
    if len(folder) > 1 or target.suffix != ".html":
        raise SoftlabelError(
            "use 'softlabel report RUNS FILE.html' or 'softlabel report FILE.html'"
        )
    text = _of_runs(folder[0]) if folder else _shipped()
    with write_atomically(target) as part:
        part.write_text(text, "utf-8")
    typer.echo(f"wrote {target}")


def _shipped() -> str:
    if not has_papers():
        raise SoftlabelError(f"{NO_PAPERS}; for your own runs: softlabel report RUNS FILE.html")
    from softlabel.papers import PAPERS, findings, make_html, papers

    every = [findings.judge_shipped(papers.find(name)) for name in PAPERS]
    return make_html([one for one in every if one.results])


def _of_runs(folder: Path) -> str:
    from softlabel.train import runs

    found = runs.find(folder)
    note = _note_stale(found)
    if has_papers():
        from softlabel.papers import PAPERS, findings, list_started, make_html, papers

        names = dict.fromkeys(name for name, _ in list_started(folder) if name in PAPERS)
        if names:
            return make_html([findings.judge_folder(papers.find(name), folder) for name in names])
    from softlabel import __version__
    from softlabel.report import page

    if not found:
        raise SoftlabelError(f"{folder}: has no finished run")
    lead = ["Predictions of finished runs, compared with people's labels of the same items."]
    lead += [f"{note}."] if note else []
    return page(
        f"The runs in {folder}", lead, _sections(found), f"Made by softlabel {__version__}."
    )


def _sections(found: Sequence[Run]) -> list[Section]:
    from softlabel.report import runs_section

    made = []
    for kind, (keys, groups) in by_kind(found, None).items():
        people = next(iter(groups.values()))[0].people
        title = TITLES.get(kind, kind).capitalize()
        made.append(runs_section(title, groups, people, base_group(None, keys, groups)))
    return made
