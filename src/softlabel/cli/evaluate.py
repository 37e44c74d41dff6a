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
    paired by seed, with intervals over items and seeds. Groups that were tested against different
    labels are not compared, unless you say --against.
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
        means = {
            group: evaluating.over_runs(of, people[group], names) for group, of in groups.items()
        }
        base = _base_group(than, keys, groups)
        pairs = _compare(groups, people, base, names)
        result[kind] = {"by": keys, "runs": _plain(means), "than": base}
        result[kind]["differences"] = _plain(pairs)
        if not as_json:
            tested = {
                len(evaluating.matched(of[0].predictions, people[group]).true)
                for group, of in groups.items()
            }
            items = " or ".join(f"{count:,}" for count in sorted(tested))
            _show(f"{TITLES.get(kind, kind)}, {items} items, mean over seeds", groups, means)
            if pairs:
                _show(f"difference from {base}, seed by seed, over items and seeds", groups, pairs)
        if others := [group for group in groups if group not in (base, *pairs)]:
            apart = f"{'; '.join(others)}: tested against other labels than {base}"
            _note(f"{apart}, so not compared with it; say --against")
        _note_rest(groups, keys)
    if as_json:
        typer.echo(shared.json_text(result))
    _note(runs.describe_stale(finished))


def _compare(
    groups: Groups, people: Mapping[str, SoftLabels], base: str, names: Sequence[str]
) -> dict[str, dict[str, Score]]:
    """Return the differences from ``base`` of the groups that are scored against its labels."""
    from softlabel.metrics import evaluate as evaluating

    alike = [group for group in groups if people[group] is people[base]]
    pairs: dict[str, dict[str, Score]] = {group: {} for group in alike if group != base}
    for name in names if pairs else ():
        known = {group: evaluating.measured(groups[group], people[base], name) for group in alike}
        for group, scores in pairs.items():
            scores[name] = evaluating.difference(known[group], known[base])
    return pairs


def _note(text: str) -> list[str]:
    """Print a note, if there is anything to note, and return it as a paragraph."""
    if text:
        typer.echo(f"note: {text}", err=True)
    return [f"{text}."] if text else []


def _note_rest(groups: Groups, keys: Sequence[str]) -> list[str]:
    """Note in what else the runs differ: a difference between groups may come from that, too."""
    from softlabel.train import runs

    rest = runs.describe_differences([run for of in groups.values() for run in of], keys)
    return _note(f"these runs also differ in: {rest}" if rest else "")


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


def _load_people(against: str | None, groups: Groups) -> dict[str, SoftLabels]:
    """Return the labels that each group is scored against, by default what its own runs were tested
    against.  Equal labels are one object, so ``is`` tells which groups can be compared."""
    from softlabel.tables import SoftLabels

    if against is None:
        return _find_tested(groups)
    if against.endswith(".npz"):
        return dict.fromkeys(groups, SoftLabels.load(against))
    from softlabel.train import splits

    if against not in splits.PUBLISHED:
        known = [*splits.PUBLISHED, "FILE.npz"]
        raise UnknownName("file or set of people's labels", against, known)
    return dict.fromkeys(groups, splits.load_people(against))


def _find_tested(groups: Groups) -> dict[str, SoftLabels]:
    known: dict[object, SoftLabels] = {}
    found: dict[str, SoftLabels] = {}
    for group, of in groups.items():
        for run in of:
            own = run.people
            names = (tuple(axis.tolist()) for axis in (own.index.items, own.index.labels))
            same = known.setdefault((*names, own.probs.tobytes(), own.count.tobytes()), own)
            if found.setdefault(group, same) is not same:
                raise SoftlabelError(
                    f"{group}: runs {of[0].name} and {run.name} were tested against different "
                    "labels; say --against, or add people_sha to --by"
                )
    return found


def _base_group(than: str | None, keys: Sequence[str], groups: Groups) -> str:
    """Return the group called ``than``, with or without the names of its settings, or the only one
    with this setting; by default the first with hard labels, the usual baseline, or else the
    first."""

    key, equals, value = (than or "deliver=hard").partition("=")
    if not equals:
        key, value = "deliver", key
    fitting = [
        group for group, of in groups.items() if {str(run.value(key)) for run in of} == {value}
    ]
    if than is None:
        return next(iter([*fitting, *groups]))
    called = {
        ", ".join(str(of[0].value(key)) for key in keys): group for group, of in groups.items()
    }
    called |= {group: group for group in groups}
    if len(fitting) == 1:
        called.setdefault(than, fitting[0])
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
    lead = ["Predictions of finished runs, compared with people's labels of the same items."]
    for kind, (keys, groups) in _by_kind(finished, None).items():
        title = TITLES.get(kind, kind).capitalize()
        tested = _load_people(None, groups)
        sets = list(dict.fromkeys(tested.values()))
        if len(sets) > 1:
            lead += ["Runs that were tested against different labels are not compared."]
        for number, people in enumerate(sets, 1):
            some = {group: of for group, of in groups.items() if tested[group] is people}
            which = f", test {number} of {len(sets)}" if len(sets) > 1 else ""
            base = _base_group(None, keys, some)
            sections.append(runs_section(title + which, some, people, base))
        lead += _note_rest(groups, keys)
    lead += _note(runs.describe_stale(finished))
    return page(f"The runs in {folder}", lead, sections, f"Made by softlabel {__version__}.")
