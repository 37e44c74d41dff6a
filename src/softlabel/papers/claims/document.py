"""The same findings as one self-contained page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from softlabel import __version__
from softlabel.papers.claims.claims import VERDICTS, Judged, Recipe
from softlabel.papers.claims.findings import Findings
from softlabel.papers.claims.scoring import Table
from softlabel.papers.claims.sheet import (
    CALLED,
    KINDS,
    columns_of,
    failing,
    of_kind,
    ours,
    printed,
    reasons,
    rows_of,
    summary,
    tables_of,
)
from softlabel.report import Html, Section, el, figure, join, listing, page
from softlabel.report import table as html_table

LEAD = """Each claim beside our number, its interval and a verdict, for each way of training apart.
A number holds where its interval and the published one overlap. An ordering holds where our
difference has the published sign, excludes 0 and is not smaller than the published one; with the
sign alone it is weaker."""


def document(every: Sequence[Findings], title: str = "Papers, claim by claim") -> str:
    """The whole page."""
    sections = [
        Section("In short", [_plain(summary(one)) for one in every]),
        *(section(one) for one in every),
    ]
    return page(title, [LEAD], sections, f"Made by softlabel {__version__}.")


def section(found: Findings) -> Section:
    """One paper: what did not hold, all claims, tables, figures."""
    parts: list[str] = []
    wrong = failing(found)
    if found.judged:
        parts.append(el("h3", "What did not hold"))
        parts.append(listing(*wrong) if wrong else "Nothing that was tested fails.")
    for kind in KINDS:
        some = of_kind(found.judged, kind)
        if some:
            parts.append(_claims(kind, some))
    untested = reasons(found)
    if untested:
        parts += [el("h3", "Untested, and why"), listing(*untested)]
    parts += [_plain(table, f" ({CALLED[recipe]})") for recipe, table in tables_of(found)]
    for recipe, drawn in found.figures():
        parts.append(figure(drawn.draw, f"{drawn.title} ({CALLED[recipe]}). {drawn.caption}"))
    return Section(found.paper.TITLE, parts)


def _claims(kind: str, claims: Mapping[Recipe, Sequence[Judged]]) -> Html:
    rows = [
        (
            claim.where,
            el("span", claim.says, class_="words"),
            printed(claim),
            *("–" if one is None else mark(one) for one in judgements),
        )
        for claim, judgements in rows_of(claims)
    ]
    return html_table(kind.capitalize(), columns_of(kind, claims), rows)


def mark(one: Judged) -> Html:
    """The verdict, told by its word and its shape as well as by its colour, and our number."""
    shape = dict(zip(VERDICTS, "●◐○–", strict=True))[one.verdict]
    below = "; ".join(part for part in (ours(one.ours), one.reason) if part not in ("", "–"))
    verdict = el("span", f"{shape} {one.verdict}", class_=f"verdict {one.verdict}")
    return join(verdict, el("small", below))


def _plain(table: Table, more: str = "") -> Html:
    note = el("p", table.note) if table.note else ""
    return join(html_table(f"{table.title}{more}", table.columns, table.rows), note)
