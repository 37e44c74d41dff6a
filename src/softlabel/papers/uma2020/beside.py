"""Tables 2 and 3 of Uma et al. 2020 with our numbers beside the printed ones."""

from __future__ import annotations

from collections.abc import Sequence

from softlabel.papers.claims import Figure, Published, Results, Table, Words, beside, panels
from softlabel.papers.uma2020.claims import CALLED, trained
from softlabel.papers.uma2020.tables import NORMALISERS, SCORES, SHOWN, TASKS, WAYS, printed

NOTES = {
    "pos": "Ours: twelve tags, no word vectors learned elsewhere, 90 tweets held out; the votes "
    "that predictions are held against are softmax of counts.",
    "labelme": "Ours: features of 1,000 photographs averaged over places. Accuracy is on 1,188 "
    "photographs without votes; the rest on the 1,000, each by a network that had not seen it, "
    "against softmax of counts.",
    "cifar10h": "Ours: Dawid-Skene and the crowd layer see planted annotators, to whom the "
    "released counts were dealt.",
}
MORE = {  # scores besides the paper's, of the tasks that have them
    "held/accuracy": "accuracy on photographs with votes",
    "lowlands/accuracy": "accuracy on the Lowlands tweets",
    "share/cross-entropy": "cross-entropy to shares",
    "share/entropy-pearson": "entropy correlation with shares",
}
ROWS = {"pos": (), "labelme": ("crowd-layer-batches",), "cifar10h": ()}  # cells of no row


def tables(results: Results) -> list[Table]:
    """Of the tasks that were run."""
    tasks = _run(results)
    if not tasks:
        return []
    return [_second(results, tasks), *(_third(results, task) for task in tasks)]


def figures(results: Results) -> list[Figure]:
    """One for each task that was run: its part of Table 3."""
    return [
        panels(
            f"{task}-ways",
            f"{SHOWN[task]}: right, and right about people",
            "Table 3, a panel for each column: mean over runs with a 95 % interval, and the "
            f"printed mean with its standard deviation.  {NOTES[task]}",
            {score: _drawn(results, task, score) for score in SCORES},
        )
        for task in _run(results)
    ]


def _drawn(results: Results, task: str, score: str) -> Figure:
    rows = {
        CALLED[way]: (results.mean(trained(task, way), score), printed(way, task, score))
        for way in WAYS
    }
    return beside(Words(score, f"{SHOWN[task]}: {score}", "", score, ""), rows)


def _run(results: Results) -> list[str]:
    """The tasks that have a run of some way of Table 3."""
    return [
        task
        for task in TASKS
        if any(len(results.values(trained(task, way), SCORES[0])) for way in WAYS)
    ]


def _second(results: Results, tasks: Sequence[str]) -> Table:
    columns = ["labels"]
    for task in tasks:
        columns += [f"{SHOWN[task]}, accuracy", f"{SHOWN[task]}, printed"]
    rows: list[tuple[str, ...]] = []
    for way in NORMALISERS:
        row = [way]
        for task in tasks:
            there = printed(way, task, "accuracy")
            row += [_ours(results, f"{task}/{way}", "accuracy"), _printed(there, "accuracy")]
        rows.append(tuple(row))
    return Table("Table 2: soft labels made two ways", tuple(columns), rows)


def _third(results: Results, task: str) -> Table:
    """The paper's five rows, then the other soft label and cells of ours."""
    more = [name for name in MORE if any(results.names(cell, name) for cell in results.cells)]
    more = [name for name in more if any(len(results.values(f"{task}/{w}", name)) for w in WAYS)]
    columns = ["labels", "runs"]
    for score in SCORES:
        columns += [score, "printed"]
    rows: list[tuple[str, ...]] = []
    kept = [trained(task, way) for way in WAYS]
    others = [f"{task}/{way}" for way in (*NORMALISERS, *ROWS[task])]
    for way, cell in [*zip(WAYS, kept, strict=True), *(("", c) for c in others if c not in kept)]:
        name = cell.partition("/")[2]
        row = [f"{CALLED[way]}: {name}" if way == "soft" else CALLED.get(name, name)]
        row.append(str(len(results.values(cell, SCORES[0]))))
        for score in SCORES:
            row.append(_ours(results, cell, score))
            row.append(_printed(printed(way, task, score), score) if way else "")
        row += [_ours(results, cell, name) for name in more]
        rows.append(tuple(row))
    columns += [MORE[name] for name in more]
    return Table(f"Table 3: {SHOWN[task]}", tuple(columns), rows, NOTES[task])


def _ours(results: Results, cell: str, score: str) -> str:
    """Mean and standard deviation over seeds, as the paper has them."""
    values = results.values(cell, score)
    if not len(values):
        return "–"
    sd = float(values.std(ddof=1)) if len(values) > 1 else None
    return _printed(Published(float(values.mean()), sd, "sd"), score)


def _printed(there: Published, score: str) -> str:
    """As the paper prints it: accuracies in per cent."""
    scale = 100 if score.endswith("accuracy") else 1
    shown = f"{scale * there.value:.2f}"
    return shown if there.half is None else f"{shown} ± {scale * there.half:.2f}"
