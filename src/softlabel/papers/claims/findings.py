"""All that is known about one paper: its claims judged at every scale, as text and as pages.

The pages are written in Markdown (with their figures as files) and as one self-contained HTML page.
"""

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from softlabel import __version__
from softlabel.datasets import MissingData
from softlabel.io import Progress, silent
from softlabel.metrics import evaluate
from softlabel.papers.claims import results as files
from softlabel.papers.claims.claims import VERDICTS, Claim, Judged, Kind, count, judge, verdict
from softlabel.papers.claims.collecting import collect, list_started
from softlabel.papers.claims.figures import Figure
from softlabel.papers.claims.papers import Paper
from softlabel.papers.claims.results import SCALE_NAMES, SCALES, Results, Scale, Table, flatten
from softlabel.report import WIDE, Html, Section, el, figure, join, listing, page, standalone_svg
from softlabel.report import table as html_table
from softlabel.tables import Score

NOT_STORED = "not computed yet"


@dataclass(frozen=True, eq=False)
class Findings:
    """A paper, the ``facts`` of its released data, its ``claims`` and ``results`` by scale."""

    paper: Paper
    facts: Sequence[Judged] = ()
    results: Mapping[Scale, Results] = field(default_factory=dict)
    claims: Mapping[Scale, Sequence[Judged]] = field(default_factory=dict)

    @property
    def judged(self) -> dict[Scale, Sequence[Judged]]:
        """Facts and claims by scale."""
        facts: dict[Scale, Sequence[Judged]] = {"data": self.facts} if self.facts else {}
        return facts | dict(self.claims)

    def figures(self) -> list[tuple[Scale, Figure]]:
        """Return the figures that the paper draws of each scale's results."""
        draw: Callable[[Results], Sequence[Figure]] = getattr(self.paper, "figures", lambda _: [])
        return [(scale, one) for scale, some in self.results.items() for one in draw(some)]

    def tables(self) -> list[tuple[Scale, Table]]:
        """Return the paper's tables with our numbers; without them a table of all scores."""
        make: Callable[[Results], Sequence[Table]] = getattr(self.paper, "tables", lambda _: [])
        tables = [(scale, one) for scale, some in self.results.items() for one in make(some)]
        return tables or [
            (scale, tabulate_scores("All scores", some)) for scale, some in self.results.items()
        ]


def judge_paper(
    paper: Paper, results: Mapping[Scale, Results], facts: Sequence[Judged] = ()
) -> Findings:
    """Judge every claim of the paper by the results of each scale."""
    known = {scale: results[scale] for scale in SCALES if scale in results}
    claims = {
        scale: [judge(claim, some) for claim in paper.claims(scale)]
        for scale, some in known.items()
    }
    return Findings(paper, facts, known, claims)


def judge_shipped(paper: Paper, folder: str | Path = files.SHIPPED) -> Findings:
    """Judge the paper by the stored results that come with the package."""
    stored = files.read_facts(paper.NAME, folder)
    facts = [_judge_fact(claim, stored.get(claim.id), NOT_STORED) for claim in paper.facts()]
    return judge_paper(paper, files.read_shipped(paper.NAME, folder), facts)


def judge_folder(paper: Paper, out: str | Path, facts: Sequence[Judged] = ()) -> Findings:
    """Judge the paper by the runs in a folder."""
    scales = [scale for name, scale in list_started(out) if name == paper.NAME]
    return judge_paper(paper, {one: collect(out, paper.NAME, one) for one in scales}, facts)


def compute_facts(paper: Paper, tell: Progress = silent) -> list[Judged]:
    """Compute the facts of the released data now; without the data they are untested."""
    facts = []
    claims = paper.facts()
    for number, claim in enumerate(claims):
        tell("facts of the data", number, len(claims))
        try:
            facts.append(judge(claim, Results([], paper.NAME, "data")))
        except MissingData as missing:
            facts.append(_judge_fact(claim, None, f"no data: {str(missing).splitlines()[0]}"))
    return facts


def _judge_fact(claim: Claim, score: Score | None, why: str) -> Judged:
    outcome = verdict(claim, score)
    return Judged(claim, score, outcome, (claim.reason or why) if outcome == "untested" else "")


# ── numbers ──────────────────────────────────────────────────────────────────────────────────


def format_number(value: float, digits: int | None = None) -> str:
    """Write a number with ``digits`` decimals, or with as many as its size deserves.

    >>> [format_number(x) for x in (0.12345, 12.345, 6723.0, -2e-5, float("nan"))]
    ['0.123', '12.3', '6723', '−0.00002', '–']
    """
    if not math.isfinite(value):
        return "–"
    return f"{value:.{_decimals(value) if digits is None else digits}f}".replace("-", "−")


def _decimals(value: float) -> int:
    """Three for a number below ten, more for a very small one, none for a whole one."""
    if abs(value) >= 10:
        return 0 if value == round(value) else 1
    return 5 if 0 < abs(value) < 0.001 else 3


def _format_alone(value: float) -> str:
    """Write a number without an interval; a whole one is a count."""
    return format_number(value, 0 if float(value).is_integer() else None)


def format_published(claim: Claim) -> str:
    """Write what was published: 1.11 ± 0.02."""
    published = claim.published
    if published is None:
        return "–" if claim.direction is None else f"{claim.direction} 0"
    mark = " (second-hand)" if published.secondhand else ""
    if published.half is None:
        return f"{_format_alone(published.value)}{mark}"
    digits = max(_decimals(published.value), 1)
    value, half = (format_number(x, digits) for x in (published.value, published.half))
    return f"{value} ± {half}{' sd' if published.spread == 'sd' else ''}{mark}"


def format_ours(score: Score | None) -> str:
    """Write our number with its interval and n."""
    if score is None or not math.isfinite(score.value):
        return "–"
    if score.low == score.high or not math.isfinite(score.low):
        return f"{_format_alone(score.value)} n={score.n}"
    digits = max(_decimals(score.value), 1)
    value, low, high = (format_number(x, digits) for x in (score.value, score.low, score.high))
    return f"{value} [{low}, {high}] n={score.n}"


# ── tables ───────────────────────────────────────────────────────────────────────────────────

GROUP_NAMES: dict[Kind, str] = {"exact": "facts", "ordering": "orderings", "value": "numbers"}
RECOUNTS = "counts not in the paper"
GROUPS = (*GROUP_NAMES.values(), RECOUNTS)


def group_of(claim: Claim) -> str:
    """Return the heading under which a claim is shown and counted."""
    if claim.published is not None and claim.published.recounted:
        return RECOUNTS
    return GROUP_NAMES[claim.kind]


def tabulate_claims(title: str, judgements: Sequence[Judged]) -> Table:
    """Make the table of one scale for a terminal, long texts last."""
    rows: list[tuple[str, ...]] = []
    for one in judgements:
        numbers = format_published(one.claim), format_ours(one.ours)
        rows.append((one.verdict, *numbers, one.claim.where, one.claim.says))
    return Table(title, ("verdict", "published", "ours", "where", "claim"), rows)


@dataclass(frozen=True)
class Comparison:
    """The claims of one group: a row per claim, a judgement (or None) per scale."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Claim, list[Judged | None]]]

    def table(self) -> Table:
        """As text: the verdict and our number of each scale in its column."""
        rows: list[tuple[str, ...]] = []
        for claim, judgements in self.rows:
            texts = (
                f"{one.verdict}: {format_ours(one.ours)}".removesuffix(": –") if one else "–"
                for one in judgements
            )
            rows.append((claim.where, claim.says, format_published(claim), *texts))
        return Table(self.title, self.columns, rows)


def compare_scales(judged: Mapping[Scale, Sequence[Judged]]) -> list[Comparison]:
    """Put the judgements of all scales side by side, group by group."""
    comparisons = []
    for group in GROUPS:
        by_id = {
            scale: {one.claim.id: one for one in every if group_of(one.claim) == group}
            for scale, every in judged.items()
        }
        by_id = {scale: some for scale, some in by_id.items() if some}
        claims = {key: one.claim for some in reversed(by_id.values()) for key, one in some.items()}
        order = dict.fromkeys(key for some in by_id.values() for key in some)
        rows = [(claims[key], [some.get(key) for some in by_id.values()]) for key in order]
        if rows:
            before = "counted before" if group == RECOUNTS else "published"
            columns = ("where", "claim", before, *(SCALE_NAMES[scale] for scale in by_id))
            comparisons.append(Comparison(group.capitalize(), columns, rows))
    return comparisons


def tabulate_verdicts(findings: Findings) -> Table:
    """Count how many claims of each group hold at each scale."""
    rows: list[tuple[str, ...]] = []
    for scale, every in findings.judged.items():
        results = findings.results.get(scale)
        runs = str(len({one.run for one in results.all}) or "–") if results else "–"
        for group in GROUPS:
            if some := [one for one in every if group_of(one.claim) == group]:
                counted = (str(number) for number in count(some).values())
                rows.append((SCALE_NAMES[scale], group, runs, *counted))
    note = files.describe_code(findings.results.values()) if findings.results else ""
    columns = ("judged by", "claims", "runs", *VERDICTS)
    return Table(findings.paper.TITLE, columns, rows, note)


def tabulate_scores(title: str, results: Results, names: Sequence[str] = evaluate.DEFAULT) -> Table:
    """List every cell with its number of runs and its scores over seeds."""
    kept = [name for name in names if any(name in one.scores for one in results.all)]
    rows: list[tuple[str, ...]] = []
    for cell in results.cells:
        scores = (format_ours(results.mean(cell, name)).partition(" n=")[0] for name in kept)
        rows.append((cell, str(len(results.of_cell(cell))), *scores))
    return Table(title, ("cell", "runs", *kept), rows)


# ── sentences ────────────────────────────────────────────────────────────────────────────────


def count_in_words(judgements: Sequence[Judged]) -> str:
    """Return a text such as ``5 hold, 1 weaker, 0 fail, 3 untested, of 9``."""
    return f"{', '.join(_count_verdicts(judgements, 0))}, of {len(judgements)}"


def _count_verdicts(judgements: Sequence[Judged], least: int = 1) -> list[str]:
    """Return the verdicts that occur, each with its number."""
    words = {"holds": "hold", "fails": "fail"}
    counts = count(judgements).items()
    return [f"{number} {words.get(one, one)}" for one, number in counts if number >= least]


def describe_failures(findings: Findings) -> list[str]:
    """Describe the claims that fail: facts and orderings one by one.

    Two kinds are only counted: numbers of another network than the paper's, because they depend on
    the network, and orderings whose published 95 % interval includes 0.
    """
    sentences = []
    for scale, judgements in findings.judged.items():
        name = SCALE_NAMES[scale]
        tested = sum(one.claim.kind == "value" and one.verdict != "untested" for one in judgements)
        numbers, unsure = [], []
        for one in judgements:
            claim, published = one.claim, one.claim.published
            if one.verdict != "fails":
                continue
            if claim.kind == "value" and scale in ("cpu", "features"):
                numbers.append(one)
            elif (claim.kind == "ordering" and published is not None) and (
                published.spread == "ci95" and published.low <= 0 <= published.high
            ):
                unsure.append(one)
            else:
                sentences.append(
                    f"{claim.where}: {claim.says.rstrip('.')}. Published "
                    f"{format_published(claim)}; ours {format_ours(one.ours)} ({name})."
                )
        if unsure:
            are = "ordering is" if len(unsure) == 1 else "orderings are"
            sentences.append(
                f"{len(unsure)} {are} reversed whose published interval includes 0 ({name}): "
                f"{_list_places(unsure)}."
            )
        if numbers:
            lie = "lies" if len(numbers) == 1 else "lie"
            sentences.append(
                f"{len(numbers)} of {tested} numbers {lie} outside the published intervals "
                f"({name}, which is not the paper's network): {_list_places(numbers)}."
            )
    return sentences


def describe_untested(findings: Findings) -> list[str]:
    """Describe why claims are untested: each reason once, with the places it applies to."""
    by_reason: dict[tuple[Scale, str], list[Judged]] = {}
    for scale, judgements in findings.judged.items():
        for one in judgements:
            if one.verdict == "untested":
                by_reason.setdefault((scale, one.reason), []).append(one)
    return [
        f"{reason} ({SCALE_NAMES[scale]}; {len(some)}: {_list_places(some)})"
        for (scale, reason), some in by_reason.items()
    ]


def _list_places(judgements: Sequence[Judged], most: int = 4) -> str:
    places = list(dict.fromkeys(one.claim.where for one in judgements))
    return "; ".join(places[:most]) + ("; …" if len(places) > most else "")


# ── pages in Markdown ────────────────────────────────────────────────────────────────────────

FAILURES, ALL_HOLD = "What did not hold", "No tested claim fails."
UNTESTED = "Untested claims, with reasons"
FOLDER = "pictures/results"
LONG = 40  # rows; a longer table of claims is folded
TEXTS = tomllib.loads(Path(__file__).with_name("findings.toml").read_text("utf-8"))


def make_markdown(every: Sequence[Findings]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the pages by name (a summary, and one for each paper), and their pictures."""
    pictures: dict[str, str] = {}
    pages = {f"results/{one.paper.NAME}.md": _paper_page(one, pictures) for one in every}
    summary = [TEXTS["summary"], summarise_papers(every).markdown(), TEXTS["reading"]]
    for one in every:
        summary += _summarise(one)
    return {"results.md": "\n".join(summary)} | pages, pictures


def summarise_papers(every: Sequence[Findings]) -> Table:
    """Make the table that opens the pages: one row per paper, one column per scale, with the facts
    of the released data and the orderings, which are what the papers claim."""
    scales: tuple[Scale, ...] = ("data", *SCALES)
    columns = ("paper", *(SCALE_NAMES[scale] for scale in scales))
    rows: list[tuple[str, ...]] = []
    for findings in every:
        cells = []
        for scale in scales:
            judgements = findings.judged.get(scale, ())
            wanted = GROUP_NAMES["exact" if scale == "data" else "ordering"]
            some = [one for one in judgements if group_of(one.claim) == wanted]
            cells.append(", ".join(_count_verdicts(some)) or "–")
        title = findings.paper.TITLE
        rows.append((f"[{title.partition(':')[0]}](#{make_anchor(title)})", *cells))
    return Table("Papers", columns, rows)


def make_anchor(heading: str) -> str:
    """Return the name that a heading has in links.

    >>> make_anchor("Uma et al. 2020: A Case for Soft Loss Functions")
    'uma-et-al-2020-a-case-for-soft-loss-functions'
    """
    kept = "".join(one for one in heading.lower() if one.isalnum() or one in " -_")
    return kept.replace(" ", "-")


def _summarise(findings: Findings) -> list[str]:
    """Write how many claims hold, the cover figure of most runs, and the claims that fail."""
    paper = findings.paper
    parts = [f"## {paper.TITLE}\n", tabulate_verdicts(findings).markdown()]
    covers = [one for one in findings.figures() if one[1].name == getattr(paper, "COVER", None)]
    if covers:
        scale, drawn = max(covers, key=lambda cover: len(findings.results[cover[0]].all))
        picture = f"![{drawn.title}]({FOLDER}/{_picture_name(paper, scale, drawn)})"
        caption = f"{drawn.title} ({SCALE_NAMES[scale]}). {flatten(drawn.caption)}"
        parts.append(f"{picture}\n\n{caption}\n")
    if findings.judged:
        failures = describe_failures(findings)
        parts += [f"**{FAILURES}**\n", _list(failures) if failures else f"{ALL_HOLD}\n"]
    else:
        parts.append("No results are stored yet.\n")
    links = f"[Every claim](results/{paper.NAME}.md), [how we reproduce it](papers/{paper.NAME}.md)"
    return [*parts, f"{links}.\n"]


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
    """Return the page about these papers: what did not hold, all claims, tables and figures."""
    sections = [Section("Summary", [_html_table(tabulate_verdicts(one)) for one in every])]
    for findings in every:
        parts: list[str] = []
        if findings.judged:
            failures = describe_failures(findings)
            parts += [el("h3", FAILURES), listing(*failures) if failures else ALL_HOLD]
        for group in compare_scales(findings.judged):
            rows = []
            for claim, judgements in group.rows:
                says = el("span", claim.says, class_="words")
                marks = ("–" if one is None else mark_verdict(one) for one in judgements)
                rows.append((claim.where, says, format_published(claim), *marks))
            parts.append(html_table(group.title, group.columns, rows))
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
    shape = dict(zip(VERDICTS, "●◐○–", strict=True))[one.verdict]
    below = "; ".join(part for part in (format_ours(one.ours), one.reason) if part not in ("", "–"))
    word = el("span", f"{shape} {one.verdict}", class_=f"verdict {one.verdict}")
    return join(word, el("small", below))


def _html_table(table: Table, more: str = "") -> Html:
    note = el("p", table.note) if table.note else ""
    return join(html_table(f"{table.title}{more}", table.columns, table.rows), note)
