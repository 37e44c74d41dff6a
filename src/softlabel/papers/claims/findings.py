"""All that is known about one paper: its claims judged at every scale, as tables and sentences.

``pages`` writes them as Markdown and HTML.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from softlabel.datasets import MissingData
from softlabel.io import Progress, silent
from softlabel.metrics import evaluate
from softlabel.papers.claims import results as files
from softlabel.papers.claims.claims import (
    TESTED,
    VERDICTS,
    Claim,
    Judged,
    Kind,
    count,
    judge,
    judge_all,
    verdict,
)
from softlabel.papers.claims.collecting import collect, list_started
from softlabel.papers.claims.figures import Figure
from softlabel.papers.claims.items import RunScore
from softlabel.papers.claims.papers import Paper
from softlabel.papers.claims.results import SCALE_NAMES, SCALES, Results, Scale, Table, show_score
from softlabel.papers.claims.tuning import CHOSEN_BY, DECAYS, pick_settings
from softlabel.tables import Score

NOT_STORED = "not computed yet"
CHANGES = "Verdicts that the test items change"
CONSTANT = "constant/"  # before the scores of a model that predicts the same label for every item
TUNED_NOTES = {
    "chosen": (
        "Weight decay, strength and epoch of every arm are chosen by the cross-entropy to the same "
        "validation items; 95 % intervals over runs. Arms have the names of cells."
    ),
    "chosen epoch": (
        "The epoch of every arm is chosen by the cross-entropy to the same validation items; "
        "weight decay is not searched. Frozen is a head on frozen features, untuned. 95 % "
        "intervals over runs. Arms have the names of cells."
    ),
    "constant": " A constant predicts the training items' mean label for every item.",
}


@dataclass(frozen=True, eq=False)
class Findings:
    """A paper, the ``facts`` of its released data, its ``claims`` and ``results`` by scale; at the
    scales that are tuned, also the setting that was chosen for every arm.  ``by_runs`` are the
    same claims, judged by intervals over runs alone."""

    paper: Paper
    facts: Sequence[Judged] = ()
    results: Mapping[Scale, Results] = field(default_factory=dict)
    claims: Mapping[Scale, Sequence[Judged]] = field(default_factory=dict)
    chosen: Mapping[Scale, Mapping[str, str]] = field(default_factory=dict)
    by_runs: Mapping[Scale, Sequence[Judged]] = field(default_factory=dict)

    @property
    def judged(self) -> dict[Scale, Sequence[Judged]]:
        """Facts and claims by scale."""
        facts: dict[Scale, Sequence[Judged]] = {"data": self.facts} if self.facts else {}
        return facts | dict(self.claims)

    def figures(self) -> list[tuple[Scale, Figure]]:
        """Return the figures that the paper draws of each scale's results."""
        draw: Callable[[Results], Sequence[Figure]] = getattr(self.paper, "figures", lambda _: [])
        return [(scale, one) for scale, some in self._untuned() for one in draw(some)]

    def _untuned(self) -> list[tuple[Scale, Results]]:
        return [(scale, some) for scale, some in self.results.items() if scale not in DECAYS]

    def tables(self) -> list[tuple[Scale, Table]]:
        """Return the paper's tables with our numbers; without them a table of all scores."""
        make: Callable[[Results], Sequence[Table]] = getattr(self.paper, "tables", lambda _: [])
        tables = [(scale, one) for scale, some in self._untuned() for one in make(some)]
        if not tables:
            tables = [
                (scale, tabulate_scores("All scores", some)) for scale, some in self._untuned()
            ]
        return [*tables, *((scale, tabulate_tuned(self, scale)) for scale in self.chosen)]


def judge_paper(
    paper: Paper, results: Mapping[Scale, Results], facts: Sequence[Judged] = ()
) -> Findings:
    """Judge every claim of the paper by the results of each scale.

    Where arms are tuned, only some of what the paper compares is trained, and differences between
    arms are all that is judged.
    """
    known, claims, chosen, by_runs = {}, {}, {}, {}
    for scale in SCALES:
        if scale not in results:
            continue
        some, settings = pick_settings(results[scale])
        judged = judge_all(paper.claims(scale), some)
        without = replace(some, all=[replace(one, items={}) for one in some.all])
        by_runs[scale] = judge_all(paper.claims(scale), without)
        if settings:
            chosen[scale] = settings
            judged = [
                one
                for one in judged
                if one.claim.kind in (*TESTED, "measurement") and one.verdict != "untested"
            ]
        known[scale], claims[scale] = some, judged
    return Findings(paper, facts, known, claims, chosen, by_runs)


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
    return f"{value} [{low}, {high}] n={score.n}{_format_items(score)}"


def _format_items(score: Score) -> str:
    """Write of how many items an interval is, and of how many runs, if not of all."""
    if not isinstance(score, RunScore) or not score.items:
        return ""
    items = f" × {score.items:,} items"
    return items if score.known == score.n else f" ({score.known}{items})"


def format_verdict(one: Judged) -> str:
    """Write a verdict with the p-value corrected for its family, if it is a test."""
    if math.isnan(one.holm):
        return one.verdict
    p = "< .001" if one.holm < 0.001 else f"{one.holm:.3f}".removeprefix("0")
    return f"{one.verdict} (Holm p {p})"


# ── tables ───────────────────────────────────────────────────────────────────────────────────

GROUP_NAMES: dict[Kind, str] = {
    "exact": "facts",
    "ordering": "orderings",
    "equivalence": "equivalences",
    "value": "numbers",
    "measurement": "measurements of open questions",
}
OPEN = "orderings that the paper's own interval leaves open"
RECOUNTS = "counts not in the paper"
DERIVED = "arithmetic on printed numbers"
APART = (RECOUNTS, DERIVED)  # which are no claims of the paper
GROUPS = ("facts", "orderings", OPEN, "equivalences", "numbers", GROUP_NAMES["measurement"], *APART)
CLAIMED = (GROUP_NAMES["ordering"], GROUP_NAMES["equivalence"])  # that training decides


def group_of(claim: Claim) -> str:
    """Return the heading under which a claim is shown and counted."""
    if claim.published is not None and claim.published.recounted:
        return RECOUNTS
    if claim.published is not None and claim.published.derived:
        return DERIVED
    return GROUP_NAMES[claim.kind] if claim.established else OPEN


def tabulate_claims(title: str, judgements: Sequence[Judged]) -> Table:
    """Make the table of one scale for a terminal, long texts last."""
    rows: list[tuple[str, ...]] = []
    for one in judgements:
        numbers = format_published(one.claim), format_ours(one.ours)
        rows.append((format_verdict(one), *numbers, one.claim.where, one.claim.says))
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
                f"{format_verdict(one)}: {format_ours(one.ours)}".removesuffix(": –")
                if one
                else "–"
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
            before = "computed before" if group == DERIVED else before
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


def tabulate_changes(findings: Findings) -> Table | None:
    """List the verdicts that are others if test items are drawn again with the runs, with both
    intervals; the note counts them, and says how much wider the intervals are.  None without
    items."""
    rows: list[tuple[str, ...]] = []
    widths: dict[int, list[float]] = {}
    for scale, every in findings.claims.items():
        before = {one.claim.id: one for one in findings.by_runs.get(scale, ())}
        for one in every:
            old = before.get(one.claim.id)
            if old is None or not isinstance(one.ours, RunScore) or not one.ours.items:
                continue
            if one.claim.kind == "measurement":  # which has no verdict
                continue
            if old.ours and old.ours.half:
                widths.setdefault(one.ours.items, []).append(one.ours.half / old.ours.half)
            if old.verdict != one.verdict:
                both = (f"{each.verdict}: {format_ours(each.ours)}" for each in (old, one))
                rows.append((SCALE_NAMES[scale], one.claim.where, one.claim.says, *both))
    if not widths:
        return None
    ratios = ", ".join(
        f"{median(some):.1f} times with {items:,} items (median of {len(some)})"
        for items, some in sorted(widths.items())
    )
    of = sum(map(len, widths.values()))
    note = (
        f"{len(rows)} of {of} verdicts change if test items are drawn again with the runs. The "
        f"intervals are wider then: {ratios}."
    )
    columns = ("judged by", "where", "claim", "over runs alone", "over runs and items")
    return Table(CHANGES, columns, rows, note)


def tabulate_tuned(findings: Findings, scale: Scale) -> Table:
    """Put the arms as the paper trains them beside the same arms tuned alike."""
    base: Scale = "cpu" if scale == "cpu-tuned" else "features"
    untuned, tuned = findings.results.get(base), findings.results[scale]
    every = {name: name for name in evaluate.DEFAULT}
    names: Mapping[str, str] = getattr(findings.paper, "SCORES", every)
    apart = ("frozen", "fine-tuned") if scale == "fine-tuned" else ("untuned", "tuned")
    columns = ["arm", "setting", "runs", "validation cross-entropy"]
    constant = {name for name in names if any(CONSTANT + name in one.scores for one in tuned.all)}
    for name, words in names.items():
        kinds = (*apart, "constant") if name in constant else apart
        columns += [f"{words}, {kind}" for kind in kinds]
    rows: list[tuple[str, ...]] = []
    for arm, setting in findings.chosen[scale].items():
        scores = []
        for name in names:
            before = untuned.mean(arm, name) if untuned else None
            scores += [show_score(before), show_score(tuned.mean(arm, name))]
            if name in constant:
                known = tuned.values(arm, CONSTANT + name)
                scores.append(f"{known.mean():.3f}" if len(known) else "–")
        validation = show_score(tuned.mean(arm, CHOSEN_BY))
        rows.append((arm, setting, str(len(tuned.of_cell(arm))), validation, *scores))
    note = TUNED_NOTES["chosen epoch" if scale == "fine-tuned" else "chosen"]
    note += TUNED_NOTES["constant"] if constant else ""
    return Table("Every arm tuned alike", tuple(columns), rows, note)


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
    """Return a text such as ``5 hold, 1 undecided, 3 untested, of 9``."""
    return f"{', '.join(count_verdicts(judgements)) or 'none'}, of {len(judgements)}"


def count_verdicts(judgements: Sequence[Judged]) -> list[str]:
    """Return the verdicts that occur, each with its number."""
    words = {"holds": "hold", "differs": "differ"}
    counts = count(judgements).items()
    return [f"{number} {words.get(one, one)}" for one, number in counts if number]


def describe_contradictions(findings: Findings) -> list[str]:
    """Describe what our runs contradict, one by one; orderings that the paper's own interval leaves
    open are counted."""
    sentences = []
    for scale, judgements in findings.judged.items():
        against = [one for one in judgements if one.verdict == "contradicted"]
        sentences += [_compare(one, scale) for one in against if one.claim.established]
        unsure = [one for one in against if not one.claim.established]
        if unsure:
            are = "ordering is" if len(unsure) == 1 else "orderings are"
            sentences.append(
                f"{len(unsure)} {are} contradicted that the paper's own interval leaves open "
                f"({SCALE_NAMES[scale]}): {_list_places(unsure)}."
            )
    return sentences


def describe_differences(findings: Findings) -> list[str]:
    """Describe the facts that differ, one by one, and count the numbers that do."""
    sentences = []
    for scale, judgements in findings.judged.items():
        differ = [one for one in judgements if one.verdict == "differs"]
        sentences += [_compare(one, scale) for one in differ if one.claim.kind != "value"]
        numbers = [one for one in differ if one.claim.kind == "value"]
        if numbers:
            tested = [one for one in judgements if one.claim.kind == "value"]
            tested = [one for one in tested if one.verdict != "untested"]
            lie = "lies" if len(numbers) == 1 else "lie"
            sentences.append(
                f"{len(numbers)} of {len(tested)} numbers {lie} outside the published intervals "
                f"({SCALE_NAMES[scale]}): {_list_places(numbers)}."
            )
    return sentences


def _compare(one: Judged, scale: Scale) -> str:
    """Write the published number and ours."""
    published, ours = format_published(one.claim), format_ours(one.ours)
    says = f"{one.claim.where}: {one.claim.says.rstrip('.')}"
    return f"{says}. Published {published}; ours {ours} ({SCALE_NAMES[scale]})."


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
