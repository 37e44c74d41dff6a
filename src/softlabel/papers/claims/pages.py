"""The pages about the papers: Markdown with figures as files, and one self-contained HTML page."""

import tomllib
from collections.abc import Sequence
from pathlib import Path

from softlabel import __version__
from softlabel.papers.claims import figures
from softlabel.papers.claims.claims import VERDICTS, Judged, count
from softlabel.papers.claims.figures import Figure
from softlabel.papers.claims.findings import (
    CLAIMED,
    GROUP_NAMES,
    Findings,
    compare_scales,
    count_verdicts,
    describe_contradictions,
    describe_differences,
    describe_untested,
    format_ours,
    format_published,
    format_verdict,
    group_of,
    tabulate_changes,
    tabulate_verdicts,
)
from softlabel.papers.claims.papers import Paper
from softlabel.papers.claims.results import SCALE_NAMES, SCALES, Scale, Table, flatten
from softlabel.report import (
    WIDE,
    Html,
    Section,
    el,
    figure,
    join,
    listing,
    page,
    standalone_svg,
)
from softlabel.report import table as html_table

NO_DIFFERENCE = "Nothing that was tested."
UNTESTED = "Untested claims, with reasons"
FOLDER = "pictures/results"
LONG = 40  # rows; a longer table of claims is folded
TEXTS = tomllib.loads(Path(__file__).with_name("pages.toml").read_text("utf-8"))
COVER = "verdicts.svg"
# verdicts of what training decides, and their colours
BARS = {
    "holds": "#7cc6a4",
    "smaller": "#cfe6a8",
    "undecided": "#dcdfe4",
    "contradicted": "#f0a58a",
}


def make_markdown(every: Sequence[Findings]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the pages by name (a summary, and one for each paper), and their pictures."""
    pictures: dict[str, str] = {}
    pages = {f"results/{one.paper.NAME}.md": _paper_page(one, pictures) for one in every}
    summary = [TEXTS["summary"], summarise_papers(every).markdown()]
    if drawn := draw_verdicts(every, WIDE):
        pictures[COVER] = standalone_svg(drawn)
        summary.append(f"![Verdicts on what the papers claim]({FOLDER}/{COVER})\n")
        summary.append(f"{flatten(TEXTS['cover'])}\n")
    summary.append(TEXTS["reading"])
    for one in every:
        summary += _summarise(one)
    return {"results.md": "\n".join(summary)} | pages, pictures


def summarise_papers(every: Sequence[Findings]) -> Table:
    """Make the table that opens the pages: one row per paper, one column per scale, with the facts
    of the released data and what the papers claim about training."""
    scales: tuple[Scale, ...] = ("data", *SCALES)
    columns = ("paper", *(SCALE_NAMES[scale] for scale in scales))
    rows: list[tuple[str, ...]] = []
    for findings in every:
        cells = []
        for scale in scales:
            some = [one for one in findings.judged.get(scale, ()) if _is_claimed(one, scale)]
            cells.append(", ".join(count_verdicts(some)) or "–")
        title = findings.paper.TITLE
        rows.append((f"[{title.partition(':')[0]}](#{make_anchor(title)})", *cells))
    return Table("Papers", columns, rows)


def _is_claimed(one: Judged, scale: Scale) -> bool:
    wanted = (GROUP_NAMES["exact"],) if scale == "data" else CLAIMED
    return group_of(one.claim) in wanted


def draw_verdicts(every: Sequence[Findings], width: float) -> Html | None:
    """Draw the shares of the verdicts on what was tested: a bar for each paper and scale."""
    rows: dict[str, list[float]] = {}
    for findings in every:
        for scale, judgements in findings.claims.items():
            counts = count(one for one in judgements if _is_claimed(one, scale))
            numbers = [counts[verdict] for verdict in BARS]  # type: ignore[index]
            if sum(numbers):
                name = f"{findings.paper.TITLE.partition(':')[0]}, {SCALE_NAMES[scale]}"
                rows[f"{name} ({sum(numbers)})"] = [x / sum(numbers) for x in numbers]
    words = figures.Words("verdicts", "Verdicts on what the papers claim", TEXTS["cover"])
    colours = list(BARS.values())
    drawn = figures.shares(words, rows, list(BARS), legend=True, colours=colours)
    return drawn.draw(width) if rows else None


def make_anchor(heading: str) -> str:
    """Return the name that a heading has in links.

    >>> make_anchor("Uma et al. 2020: A Case for Soft Loss Functions")
    'uma-et-al-2020-a-case-for-soft-loss-functions'
    """
    kept = "".join(one for one in heading.lower() if one.isalnum() or one in " -_")
    return kept.replace(" ", "-")


def _summarise(findings: Findings) -> list[str]:
    """Write how many claims hold, the cover figure of most runs, and what is contradicted."""
    paper = findings.paper
    parts = [f"## {paper.TITLE}\n", tabulate_verdicts(findings).markdown()]
    covers = [one for one in findings.figures() if one[1].name == getattr(paper, "COVER", None)]
    if covers:
        scale, drawn = max(covers, key=lambda cover: len(findings.results[cover[0]].all))
        picture = f"![{drawn.title}]({FOLDER}/{_picture_name(paper, scale, drawn)})"
        caption = f"{drawn.title} ({SCALE_NAMES[scale]}). {flatten(drawn.caption)}"
        parts.append(f"{picture}\n\n{caption}\n")
    if changes := tabulate_changes(findings):
        link = f"[Which ones](results/{paper.NAME}.md#{make_anchor(changes.title)})."
        parts.append(f"{changes.note} {link}\n")
    if findings.judged:
        for heading, sentences in _describe(findings).items():
            parts += [f"**{heading}**\n", _list(sentences)]
    else:
        parts.append("No results are stored yet.\n")
    links = f"[Every claim](results/{paper.NAME}.md), [how we reproduce it](papers/{paper.NAME}.md)"
    return [*parts, f"{links}.\n"]


def _describe(findings: Findings) -> dict[str, list[str]]:
    """Return sentences by their heading."""
    return {
        "What our runs contradict": describe_contradictions(findings) or [NO_DIFFERENCE],
        "Facts and numbers that differ": describe_differences(findings) or [NO_DIFFERENCE],
    }


def _paper_page(findings: Findings, pictures: dict[str, str]) -> str:
    """Write the page of one paper: how many claims hold, contents, figures, claims, tables."""
    parts: dict[str, str] = {}  # by heading
    for scale, drawn in findings.figures():
        name = _picture_name(findings.paper, scale, drawn)
        assert name not in pictures, f"two figures are called {name}"
        pictures[name] = standalone_svg(drawn.draw(WIDE))
        text = f"![{drawn.title}](../{FOLDER}/{name})\n\n{flatten(drawn.caption)}\n"
        parts[f"{drawn.title} ({SCALE_NAMES[scale]})"] = text
    for one in compare_scales(findings.judged):
        text = one.table().markdown()
        if len(one.rows) > LONG:
            text = f"<details><summary>{len(one.rows)} claims</summary>\n\n{text}\n</details>\n"
        parts[one.title] = text
    if changes := tabulate_changes(findings):
        parts[changes.title] = changes.markdown()
    if untested := describe_untested(findings):
        parts[UNTESTED] = _list(untested)
    for scale, table in findings.tables():
        parts[f"{table.title} ({SCALE_NAMES[scale]})"] = table.markdown()
    head = [f"# {findings.paper.TITLE}\n", TEXTS["paper"], tabulate_verdicts(findings).markdown()]
    contents = " · ".join(f"[{heading}](#{make_anchor(heading)})" for heading in parts)
    body = (f"## {heading}\n\n{text}" for heading, text in parts.items())
    return "\n".join([*head, f"**Contents**: {contents}\n", *body])


def _picture_name(paper: Paper, scale: Scale, drawn: Figure) -> str:
    return f"{paper.NAME}-{scale}-{drawn.name}.svg"


def _list(points: Sequence[str]) -> str:
    return "\n".join(f"- {flatten(point)}" for point in points) + "\n"


# ── one page in HTML ─────────────────────────────────────────────────────────────────────────


def make_html(every: Sequence[Findings], title: str = "Papers, claim by claim") -> str:
    """Return the page about these papers: what is contradicted, all claims, tables, figures."""
    sections = [Section("Summary", [_html_table(tabulate_verdicts(one)) for one in every])]
    for findings in every:
        parts: list[str] = []
        if findings.judged:
            for heading, sentences in _describe(findings).items():
                parts += [el("h3", heading), listing(*sentences)]
        for group in compare_scales(findings.judged):
            rows = []
            for claim, judgements in group.rows:
                says = el("span", claim.says, class_="words")
                marks = ("–" if one is None else mark_verdict(one) for one in judgements)
                rows.append((claim.where, says, format_published(claim), *marks))
            parts.append(html_table(group.title, group.columns, rows))
        if changes := tabulate_changes(findings):
            parts.append(_html_table(changes))
        if untested := describe_untested(findings):
            parts += [el("h3", UNTESTED), listing(*untested)]
        for scale, table in findings.tables():
            parts.append(_html_table(table, f" ({SCALE_NAMES[scale]})"))
        for scale, drawn in findings.figures():
            caption = f"{drawn.title} ({SCALE_NAMES[scale]}). {drawn.caption}"
            parts.append(figure(drawn.draw, caption))
        sections.append(Section(findings.paper.TITLE, parts))
    return page(title, [TEXTS["html"]], sections, f"Made by softlabel {__version__}.")


def mark_verdict(one: Judged) -> Html:
    """Show the verdict by word, shape and colour, and our number below."""
    shape = dict(zip(VERDICTS, "●◐◌○○·–", strict=True))[one.verdict]
    below = "; ".join(part for part in (format_ours(one.ours), one.reason) if part not in ("", "–"))
    word = el("span", f"{shape} {format_verdict(one)}", class_=f"verdict {one.verdict}")
    return join(word, el("small", below))


def _html_table(table: Table, more: str = "") -> Html:
    note = el("p", table.note) if table.note else ""
    return join(html_table(f"{table.title}{more}", table.columns, table.rows), note)
