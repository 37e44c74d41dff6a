"""How a table shows itself: one line for a console, a small page with bars for a notebook.

The page is one element with its own style, loads nothing, and shows at most ten rows.  Its colours
are taken from the notebook (text) or stand out from light and dark paper alike (bars).
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import count, islice
from math import isnan
from typing import Any

MOST_ROWS = 10
MOST_CLASSES = 6  # of more, a row shows its first three alone
FIRST = 3
LONGEST = 40  # characters of a name

STYLE = """
.softlabel table {border-collapse: collapse; margin: .3em 0; font-variant-numeric: tabular-nums}
.softlabel th, .softlabel td {padding: .15em .7em; text-align: left; background: none;
  border-bottom: 1px solid rgba(128, 128, 128, .35); color: inherit; white-space: nowrap}
.softlabel .n {text-align: right}
.softlabel .bar {display: inline-block; width: 5em; height: .7em; margin-right: .5em;
  border-radius: .15em; background: rgba(128, 128, 128, .25)}
.softlabel .bar span {display: block; height: 100%; border-radius: inherit; background: #4a90d9}
.softlabel small {opacity: .75}
"""


def describe(table: Any) -> str:
    """Return one line about a table: how much it holds of what."""
    name = type(table).__name__
    if hasattr(table, "low"):
        return f"{name}({table.value:.4g} [{table.low:.4g}, {table.high:.4g}], n={table.n})"
    if hasattr(table, "items"):
        return f"{name}({_sizes(table)})"
    if not hasattr(table, "item"):  # one row per item
        more = [f"{len(table):,} items", _classes(table.index)]
        if hasattr(table, "estimates"):
            more += [table.estimates, *([f"by {table.made_by}"] if table.made_by else [])]
        return f"{name}({'; '.join(more)})"
    what = "answers" if hasattr(table, "named") else "votes" if table.hard else "soft votes"
    people = "not known" if table.anonymous else f"{len(table.index.annotators):,}"
    sizes = f"{len(table.index.items):,} items; annotators: {people}; {_classes(table.index)}"
    return f"{name}({len(table):,} {what}; {sizes})"


def _sizes(index: Any) -> str:
    return f"{len(index.items):,} items; {len(index.annotators):,} annotators; {_classes(index)}"


def _classes(index: Any) -> str:
    shown = ", ".join(_brief(name) for name in index.labels[:MOST_CLASSES].tolist())
    rest = ", …" if len(index.labels) > MOST_CLASSES else ""
    return f"{len(index.labels):,} class{'es' * (len(index.labels) > 1)}: {shown}{rest}"


def _brief(name: object) -> str:
    text = str(name)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


# ── the page ─────────────────────────────────────────────────────────────────────────────────


def draw(table: Any) -> str:
    """Return a table as HTML that stands alone."""
    if hasattr(table, "low"):
        body = _draw_score(table)
    elif hasattr(table, "items"):
        axes = ("items", "annotators", "labels")
        body = _draw_rows(
            ("", "", "first of them"),
            ([_text(axis), _number(len(names)), _text(_list(names))] for axis, names in
             ((axis, getattr(table, axis)) for axis in axes)),
            3,
        )  # fmt: skip
    elif hasattr(table, "item"):
        body = _draw_answers(table)
    else:
        body = _draw_labels(table)
    return f'<div class="softlabel"><style>{STYLE}</style>{body}</div>'


def _draw_rows(head: Iterable[str], rows: Iterable[list[str]], total: int, note: str = "") -> str:
    """Return a table of cells; ``head`` is text, ``rows`` are HTML."""
    titles = "".join(f"<th>{escape(title)}</th>" for title in head)
    lines = "".join(f"<tr>{''.join(row)}</tr>" for row in islice(rows, MOST_ROWS))
    left = f"{total - MOST_ROWS:,} more rows" if total > MOST_ROWS else ""
    notes = "; ".join(filter(None, (left, note)))
    return (
        f"<table><thead><tr>{titles}</tr></thead><tbody>{lines}</tbody></table>"
        f"<small>{escape(notes)}</small>"
    )


def _text(value: object) -> str:
    return f"<td>{escape(_brief(value))}</td>"


def _number(value: float) -> str:
    return f'<td class="n">{value:,}</td>'


def _list(names: Any) -> str:
    return ", ".join(map(str, names[:FIRST].tolist())) + (", …" if len(names) > FIRST else "")


def _bar(share: float, limits: tuple[float, float] | None = None, name: object = None) -> str:
    """Return a cell with a bar and its number, the limits of an interval, the name of a class."""
    if isnan(share):
        return "<td>–</td>"
    width = f"{100 * min(max(share, 0), 1):.1f}"
    between = "" if limits is None else f" <small>{limits[0]:.2f}–{limits[1]:.2f}</small>"
    called = "" if name is None else f" {escape(_brief(name))}"
    return (
        f'<td><span class="bar"><span style="width: {width}%"></span></span>'
        f"{share:.2f}{between}{called}</td>"
    )


def _draw_labels(table: Any) -> str:
    """Draw one row per item, with a bar for each class."""
    more: Mapping[str, Any] = getattr(table, "more", {})
    answers = getattr(table, "count", None)
    items, labels = table.index.ids("items", MOST_ROWS), table.index.ids("labels")
    head = ["item", *_class_titles(labels), *(["answers"] if answers is not None else [])]

    def rows() -> Iterable[list[str]]:
        for row, item in zip(count(), items):
            limits = None
            if "low" in more:
                limits = list(
                    zip(more["low"][row].tolist(), more["high"][row].tolist(), strict=True)
                )
            cells = _class_cells(labels, table.probs[row].tolist(), limits)
            last = [] if answers is None else [_number(int(answers[row]))]
            yield [_text(item), *cells, *last]

    estimate = getattr(table, "estimates", "predictions")
    maker = getattr(table, "made_by", "")
    left_out = getattr(table, "facts", {}).get("left out", "")
    note = [estimate, f"by {maker}" if maker else "", f"left out: {left_out}" if left_out else ""]
    return _draw_rows(head, rows(), len(table), "; ".join(filter(None, note)))


def _class_titles(labels: Sequence[Any]) -> list[str]:
    if len(labels) <= MOST_CLASSES:
        return [_brief(label) for label in labels]
    return ["most probable", "second", "third"]


def _class_cells(
    labels: Sequence[Any], probs: Sequence[float], limits: Any = None
) -> Iterable[str]:
    """Return a bar for each class, or for the most probable ones of many."""
    if len(labels) <= MOST_CLASSES:
        bounds = limits or [None] * len(probs)
        return [_bar(share, bound) for share, bound in zip(probs, bounds, strict=True)]
    first = sorted(range(len(probs)), key=lambda place: -probs[place])[:FIRST]
    return [_bar(probs[at], limits[at] if limits else None, labels[at]) for at in first]


def _draw_answers(table: Any) -> str:
    """Draw one row per answer: the class, the bars of a soft vote, or what was stated."""
    index = table.index
    items, labels = index.ids("items"), index.ids("labels")
    people = [*index.ids("annotators"), "not known"]  # the last stands for code -1
    soft = getattr(table, "probs", None) is not None
    statements = hasattr(table, "named")
    head = ["item", "annotator", *(_class_titles(labels) if soft else ["label"])]
    if statements:
        head = [*head[:2], "stated", "ruled out"]

    def rows() -> Iterable[list[str]]:
        for row in range(min(len(table), MOST_ROWS)):
            cells = [_text(items[table.item[row]]), _text(people[table.annotator[row]])]
            if statements:
                yield [*cells, *_statement_cells(table, row, labels)]
            elif soft:
                yield [*cells, *_class_cells(labels, table.probs[row].tolist())]
            else:
                yield [*cells, _text(labels[table.label[row]])]

    return _draw_rows(head, rows(), len(table), describe(table))


def _statement_cells(table: Any, row: int, labels: Sequence[Any]) -> list[str]:
    named = [
        f"{labels[code]}" + ("" if isnan(chance) else f" {chance:g} %")
        for code, chance in zip(table.named[row].tolist(), table.percent[row].tolist(), strict=True)
        if code >= 0
    ]
    ruled_out = [str(labels[code]) for code in (~table.possible[row]).nonzero()[0].tolist()]
    return [_text(", ".join(named)), _text(", ".join(ruled_out) or "–")]


def _draw_score(score: Any) -> str:
    """Draw a value with its interval, and a bar where it is a share."""
    share = score.value if score.low >= 0 and score.high <= 1 else None
    bar = "<td></td>" if share is None else _bar(share)
    numbers = [f"{value:.4g}" for value in (score.value, score.low, score.high)]
    cells = [*(f'<td class="n">{number}</td>' for number in numbers), _number(score.n), bar]
    return _draw_rows(("value", "low", "high", "n", ""), [cells], 1)
