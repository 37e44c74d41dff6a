"""The pages of results in Markdown, and their pictures; made of stored results alone."""

from __future__ import annotations

from collections.abc import Sequence

from softlabel.papers.claims.figures import Figure
from softlabel.papers.claims.findings import Findings
from softlabel.papers.claims.scoring import Table
from softlabel.papers.claims.sheet import (
    CALLED,
    KINDS,
    failing,
    of_kind,
    reasons,
    side_by_side,
    summary,
    tables_of,
)
from softlabel.report import WIDE, alone

FOLDER = "pictures/results"
LONG = 40  # rows of claims that nobody reads from the first to the last
HEAD = """\
# Results

Four papers, claim by claim, beside our own runs. These pages are made by \
`python tools/results.py` from the \
[stored results](../src/softlabel/reproduce/results/README.md) and nothing else; \
[how to run it yourself](tutorials/reproduce.md).

Every training claim is judged three times, and never across: by a **small network** trained from \
scratch (`cpu`), by a head on **frozen features** of a network that has seen other pictures \
(`features`), and by **the paper's network** and schedule (`paper`). Our intervals are 95 %, \
Student's t over seeds; n is the number of runs. Published intervals are as printed (`sd`: a \
standard deviation).

A *number* **holds** where both intervals overlap, else it **fails**. An *ordering* **holds** \
where our difference has the published sign, its interval excludes 0, and it is not smaller than \
the published one beyond both intervals; with the same sign alone it is **weaker**; else it \
**fails**. A fact of the released data **holds** to its printed digits; *counts that are in no \
paper* were made in the same files before, by other code. **Untested** says why. With few runs \
intervals are wide, and a number that holds says little: look at n.
"""
PAPER = """\
[All papers, and what verdicts mean](../results.md). Made by `python tools/results.py` from stored \
runs.
"""


def markdown(every: Sequence[Findings]) -> tuple[dict[str, str], dict[str, str]]:
    """The pages by their names (one that sums up, and one for each paper), and their pictures."""
    pictures: dict[str, str] = {}
    pages, short = {}, [HEAD]
    for one in every:
        pages[f"results/{one.paper.NAME}.md"] = "\n".join(_paper(one, pictures))
        short += _short(one)
    return {"results.md": "\n".join(short)} | pages, pictures


def _short(found: Findings) -> list[str]:
    """How many claims hold, the picture that says most, and the claims that do not hold."""
    name = found.paper.NAME
    more = f"[Every claim](results/{name}.md), [how it is reproduced](papers/{name}.md).\n"
    wanted = getattr(found.paper, "COVER", None)
    covers = [(recipe, figure) for recipe, figure in found.figures() if figure.name == wanted]
    cover = [
        f"![{figure.title}]({FOLDER}/{_file(found, recipe, figure)})\n\n"
        f"{figure.title} ({CALLED[recipe]}). {_flat(figure.caption)}\n"
        for recipe, figure in sorted(covers, key=lambda one: -len(found.results[one[0]].all))
    ]
    return [
        f"## {found.paper.TITLE}\n",
        _table(summary(found)),
        *cover[:1],
        *_wrong(found),
        more,
    ]


def _file(found: Findings, recipe: str, figure: Figure) -> str:
    return f"{found.paper.NAME}-{recipe}-{figure.name}.svg"


def _wrong(found: Findings) -> list[str]:
    if not found.judged:
        return ["No results are stored yet.\n"]
    wrong = failing(found)
    return [
        "**What did not hold**\n",
        _list(wrong) if wrong else "Nothing that was tested fails.\n",
    ]


def _paper(found: Findings, pictures: dict[str, str]) -> list[str]:
    parts = [f"# {found.paper.TITLE}\n", PAPER]
    for kind in KINDS:
        some = of_kind(found.judged, kind)
        if some:
            table = side_by_side(kind, some)
            parts.append(_folded(table) if len(table.rows) > LONG else _titled(table))
    untested = reasons(found)
    if untested:
        parts += ["## Untested, and why\n", _list(untested)]
    for recipe, table in tables_of(found):
        parts.append(_titled(table, f" ({CALLED[recipe]})"))
    for recipe, figure in found.figures():
        name = _file(found, recipe, figure)
        assert name not in pictures, f"two figures are called {name}"
        pictures[name] = alone(figure.draw(WIDE))
        parts.append(f"## {figure.title} ({CALLED[recipe]})\n")
        parts.append(f"![{figure.title}](../{FOLDER}/{name})\n\n{_flat(figure.caption)}\n")
    return parts


def _titled(table: Table, more: str = "") -> str:
    note = f"\n{_flat(table.note)}\n" if table.note else ""
    return f"## {table.title}{more}\n\n{_table(table)}{note}"


def _folded(table: Table) -> str:
    """A long table that opens when it is asked for."""
    title = f"<summary>{table.title}: {len(table.rows)}</summary>"
    return f"<details>{title}\n\n{_table(table)}\n</details>\n"


def _table(table: Table) -> str:
    lines = [table.columns, tuple("---" for _ in table.columns), *table.rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines) + "\n"


def _cell(text: str) -> str:
    return _flat(text).replace("|", "\\|")


def _list(points: Sequence[str]) -> str:
    return "\n".join(f"- {_flat(point)}" for point in points) + "\n"


def _flat(text: str) -> str:
    return " ".join(text.split())
