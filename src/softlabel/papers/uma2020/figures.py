"""Tables 2 and 3 of Uma et al. 2020 with our numbers beside the printed ones, and their figures."""

from collections.abc import Sequence

from softlabel.papers.claims import Figure, Published, Results, Table, Words
from softlabel.papers.claims import figures as draw
from softlabel.papers.uma2020 import numbers
from softlabel.papers.uma2020.numbers import (
    ROWS,
    SCORE_NAMES,
    SCORES,
    TASK_NAMES,
    TASKS,
    Condition,
    printed,
)

WORDS, NOTES = draw.read_words(__file__)
# not in the paper; columns of the tasks that have them
MORE_SCORES: dict[str, str] = numbers.PUBLISHED["more_scores"]


def tables(results: Results) -> list[Table]:
    """Return Tables 2 and 3 of the tasks that were run."""
    tasks = _tasks_run(results)
    return [_table_2(results, tasks), *(_table_3(results, task) for task in tasks)] if tasks else []


def figures(results: Results) -> list[Figure]:
    """Draw the part of Table 3 of each task that was run."""
    drawn = []
    for task in _tasks_run(results):
        charts = {}
        for score in SCORES:
            pairs = {}
            for row in ROWS:
                ours = results.mean(numbers.condition_of(row, task).name, score)
                pairs[numbers.ROW_NAMES[row]] = ours, printed(row, task, score)
            called = SCORE_NAMES[score]
            words = Words(score, f"{TASK_NAMES[task]}: {called}", "", called, "")
            charts[called] = draw.beside(words, pairs)
        ways = WORDS["ways"]
        caption = f"{ways.caption}  {NOTES[task]}"
        words = Words(f"{task}-ways", f"{TASK_NAMES[task]}: {ways.title}", caption)
        drawn.append(draw.panels(words, charts))
    return drawn


def _tasks_run(results: Results) -> list[str]:
    """Return the tasks that have a run of some row of Table 3."""
    cells = {task: [numbers.condition_of(row, task).name for row in ROWS] for task in TASKS}
    return [task for task in TASKS if any(len(results.values(c, SCORES[0])) for c in cells[task])]


def _table_2(results: Results, tasks: Sequence[str]) -> Table:
    rows: list[tuple[str, ...]] = []
    for way in numbers.SOFT_WAYS:
        row: list[str] = [way]
        for task in tasks:
            row.append(_ours(results, Condition(task, way), "accuracy"))
            row.append(_text(printed(way, task, "accuracy"), "accuracy"))
        rows.append(tuple(row))
    heads = (f"{TASK_NAMES[task]}, {what}" for task in tasks for what in ("accuracy", "printed"))
    title = "Table 2: soft labels made two ways"
    return Table(title, ("labels", *heads), rows, NOTES["spread"])


def _table_3(results: Results, task: str) -> Table:
    """The paper's five rows, then the other soft label and a condition of our own."""
    rows: list[tuple[numbers.Row | None, Condition]] = []
    rows += [(row, numbers.condition_of(row, task)) for row in ROWS]
    rows += [(None, Condition(task, way)) for way in numbers.SOFT_WAYS if way != numbers.SOFT[task]]
    if task == "labelme":
        rows.append((None, Condition(task, "crowd-layer")))  # as in the authors' code
    scored = {name for _, condition in rows for name in results.names(condition)}
    more = [score for score in MORE_SCORES if score in scored]
    lines: list[tuple[str, ...]] = []
    for row, condition in rows:
        called = numbers.ROW_NAMES.get(condition.way, condition.way)
        if condition.way == "crowd-layer" and task == "labelme":
            called += ", in batches" if condition.batches else ", all photographs at once"
        line = [f"{numbers.ROW_NAMES[row]}: {called}" if row == "soft" else called]
        line.append(str(len(results.values(condition, SCORES[0]))))
        for score in SCORES:
            line.append(_ours(results, condition, score))
            line.append(_text(printed(row, task, score), score) if row else "")
        lines.append((*line, *(_ours(results, condition, score) for score in more)))
    columns = [
        "labels",
        "runs",
        *(name for score in SCORES for name in (SCORE_NAMES[score], "printed")),
    ]
    columns += [MORE_SCORES[score] for score in more]
    note = f"{NOTES[task]} {NOTES['spread']}"
    return Table(f"Table 3: {TASK_NAMES[task]}", tuple(columns), lines, note)


def _ours(results: Results, condition: Condition, score: str) -> str:
    """Show mean and standard deviation over seeds, as the paper does."""
    values = results.values(condition.name, score)
    if not len(values):
        return "–"
    sd = float(values.std(ddof=1)) if len(values) > 1 else None
    return _text(Published(float(values.mean()), sd, "sd"), score)


def _text(number: Published, score: str) -> str:
    """Show a number as the paper prints it: accuracies in per cent."""
    scale = 100 if score.endswith("accuracy") else 1
    text = f"{scale * number.value:.2f}"
    return text if number.half is None else f"{text} ± {scale * number.half:.2f}"
