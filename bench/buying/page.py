"""The page about the frontier, its figure and the result in the README, from the stored numbers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from buying.answers import PRICE, Budget
from buying.measuring import ANY, BOUGHT
from buying.pools import FLOORS
from results import table, write_block

from softlabel.report import Frame, Html, Line, charts, drawing, el, standalone_svg

ROOT = Path(__file__).parents[2]
PAGE, README = ROOT / "docs" / "frontier.md", ROOT / "README.md"
PICTURE = ROOT / "docs" / "pictures" / "frontier.svg"
SHOWN = 0.001  # the floor of the figure
TICKS = (1.8, 4, 8, 16, 32, 64, 128, 192)  # from one vote to six rich answers
SIDES = {"votes": "votes", "rich": "rich answers", "both": "one rich answer and votes"}
Row = dict[str, Any]
Results = dict[str, Any]


def dump(value: object, indent: int = 0) -> str:
    """Return the results as text: an entry to a line, and so is each row of a list."""
    deeper = " " * (indent + 1)
    if isinstance(value, dict):
        parts = [f"{json.dumps(name)}: {dump(one, indent + 1)}" for name, one in value.items()]
        return "{\n" + ",\n".join(deeper + part for part in parts) + "\n" + " " * indent + "}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        rows = ",\n".join(deeper + json.dumps(row) for row in value)
        return f"[\n{rows}\n{' ' * indent}]"
    return json.dumps(value)


# ── reading the results ──────────────────────────────────────────────────────────────────────


def budget_of(row: Row) -> Budget:
    """Return what a row of the results is about."""
    first = row["side"] == "first choices"
    return Budget(row["votes_bought"], row["rich_bought"], first)


def find_difference(
    results: Results, first: Budget, second: Budget, floor: float, target: str = "votes"
) -> list[float]:
    """Return a difference of labels, with its interval."""
    for row in results["labels"][target][ANY]["differences"]:
        pair = budget_of(row["first"]), budget_of(row["second"])
        if pair == (first, second) and row["floor"] == floor:
            return list(row["difference"])
    raise LookupError(f"{first} and {second} are not compared at {floor}")


def find_learned(results: Results, setting: str, first: Budget, second: Budget) -> list[float]:
    """Return a difference of what models learned, with its interval."""
    for row in results[setting]["differences"]:
        if (budget_of(row["first"]), budget_of(row["second"])) == (first, second):
            return list(row["difference"])
    raise LookupError(f"{first} and {second} are not compared")


def find_worth(
    results: Results, budget: Budget, floor: float, target: str = "votes"
) -> list[float]:
    """Return how many votes come as close as a budget, with its interval."""
    for row in results["labels"][target][ANY]["worths"]:
        if budget_of(row) == budget and row["floor"] == floor:
            return list(row["votes"])
    raise LookupError(f"{budget} has no worth at {floor}")


# ── words and tables ─────────────────────────────────────────────────────────────────────────


def short(value: float, digits: int = 3, sign: bool = False) -> str:
    """Write a number as the pages do: .048, +.281."""
    text = f"{value:{'+' if sign else ''}.{digits}f}"
    return re.sub(r"^([+-]?)0\.", r"\1.", text)


def interval(score: Sequence[float], digits: int = 3, sign: bool = False) -> str:
    """Write a number and its interval: +.281 [.250, .312]."""
    low, high = (short(one, digits) for one in score[1:])
    return f"{short(score[0], digits, sign)} [{low}, {high}]"


def cell(score: Sequence[float], digits: int = 3, sign: bool = False) -> str:
    """Write the same for a table: in a narrow column the interval stays on one line."""
    return interval(score, digits, sign).replace(", ", ",\u00a0")


def priced(budget: Budget) -> str:
    """Write a budget with its seconds, briefly: 1 rich + 17 votes (63 s)."""
    rich = f"{budget.rich} rich" if budget.rich else ""
    votes = f"{budget.votes} votes" if budget.votes else ""
    named = " + ".join(part for part in (rich, votes) if part)
    named = f"first choices of {budget.rich}" if budget.first else named
    return f"{named} ({budget.seconds:.0f}\u00a0s)"


def tabulate_differences(rows: Sequence[Row]) -> str:
    """Make a row for each pair, a column for each floor."""
    pairs: dict[tuple[Budget, Budget], list[str]] = {}
    for row in rows:
        pair = budget_of(row["first"]), budget_of(row["second"])
        pairs.setdefault(pair, []).append(cell(row["difference"], sign=True))
    lines = [
        [f"{priced(first)} − {priced(second)}", *cells] for (first, second), cells in pairs.items()
    ]
    return table([["KL, first − second", *heads()], *lines])


def heads() -> list[str]:
    """Name the columns of the floors."""
    return [f"floor\u00a0{short(floor, 4).rstrip('0')}" for floor in FLOORS]


def against_votes(row: Row) -> bool:
    """Return True if something is compared with votes alone."""
    return budget_of(row["second"]).side == "votes"


def tabulate_curves(results: Results) -> str:
    """Make a row for each budget: KL at the floor of the figure, and the pools that were chosen."""
    lines = [["bought", "seconds", "KL", "with nothing but these answers", "pool"]]
    alone = {budget_of(row): row for row in curves(results, BOUGHT)}
    for row in curves(results, ANY):
        budget, best = budget_of(row), max(row["pools"], key=row["pools"].get)
        lines.append([budget.words, f"{budget.seconds:.1f}", cell(row["kl"])])
        lines[-1] += [cell(alone[budget]["kl"]), best]
    return table(lines)


def curves(results: Results, regime: str) -> Iterator[Row]:
    """Go through the budgets at the floor of the figure."""
    rows = results["labels"]["votes"][regime]["curves"]
    return (row for row in rows if row["floor"] == SHOWN)


def tabulate_worths(results: Results, target: str) -> str:
    """Make a row for each number of rich answers: their worth in votes, and the break-even."""
    rows = results["labels"][target][ANY]["worths"]
    by_budget: dict[Budget, list[Row]] = {}
    for row in rows:
        by_budget.setdefault(budget_of(row), []).append(row)
    lines = [["as close as", *heads(), "break-even, seconds"]]
    for budget, worths in by_budget.items():
        if budget.first:
            continue
        cells = [cell(row["votes"], 1) for row in worths]
        shown = next(row["votes"] for row in worths if row["floor"] == SHOWN)
        even = [votes * PRICE.seconds_per_vote / budget.rich for votes in shown]
        lines.append([budget.words, *cells, cell(even, 1)])
    return table(lines)


def tabulate_students(found: Row) -> str:
    """Make a row for each budget."""
    lines = [["taught by", "seconds", "cross-entropy", "accuracy", "better pool"]]
    for row in found["rows"]:
        best = max(row["pools"], key=row["pools"].get)
        scores = [cell(row["cross_entropy"]), cell(row["accuracy"])]
        lines.append([budget_of(row).words, f"{row['seconds']:.1f}", *scores, best])
    return f"{table(lines)}\n\n{tabulate_learned(found['differences'])}"


def tabulate_learned(rows: Sequence[Row]) -> str:
    """Make a row for each pair of budgets that models learned from, with every judge there is."""
    judges = {"difference": "judged by votes", "judged by rich answers": "judged by rich answers"}
    judges = {key: words for key, words in judges.items() if key in rows[0]}
    lines = [["cross-entropy, first − second", *judges.values()]]
    for row in rows:
        first, second = (priced(budget_of(row[part])) for part in ("first", "second"))
        cells = [cell(row[key], sign=True) for key in judges]
        lines.append([f"{first} − {second}", *cells])
    return table(lines)


def tabulate_before(results: Results) -> str:
    """Make the table of the old comparison: means by the old rule, and the best pool of each."""
    six = Budget(rich=6), Budget(rich=6, first=True)
    lines = [["floor", "rich answers", "first choices", "difference", "best pool of each side"]]
    for row in results["labels"]["before"]:
        best = find_difference(results, *six, row["floor"])
        cells = [short(row["rich"]), short(row["first"]), cell(row["difference"], sign=True)]
        lines.append([f"{row['floor']:g}", *cells, cell(best, sign=True)])
    return table(lines)


# ── words ────────────────────────────────────────────────────────────────────────────────────

ONE, SIX = Budget(rich=1), Budget(rich=6)


def answer(results: Results) -> str:
    """Answer the question of the page in a few points."""
    worth, seconds = find_worth(results, SIX, SHOWN), PRICE.seconds_per_vote
    first = find_worth(results, ONE, SHOWN)
    even = [votes * seconds / number for votes, number in ((first[0], 1), (worth[0], 6))]
    mirrored = find_worth(results, ONE, SHOWN, "rich answers")
    gaps = [find_difference(results, ONE, Budget(votes=17), floor) for floor in FLOORS]
    mixed = find_difference(results, Budget(17, 1), Budget(votes=34), SHOWN)
    added = [find_difference(results, SIX, SIX._replace(first=True), floor) for floor in FLOORS]
    taught = find_learned(results, "students", ONE, Budget(votes=17))
    early = find_learned(results, "paper", ONE, Budget(votes=16))
    late = find_learned(results, "paper", Budget(rich=3), Budget(votes=51))
    few = find_learned(results, "students", SIX, Budget(votes=5))
    level = find_difference(results, Budget(rich=4), Budget(votes=40), SHOWN, "rich answers")
    better = find_difference(results, Budget(17, 1), Budget(votes=34), SHOWN, "rich answers")
    least, most = min(gap[1] for gap in gaps), max(gap[2] for gap in gaps)
    return "\n".join([
        f"- **Buy votes**, at the prices of these two forms. One rich answer (32 s) brings the "
        f"label as close to held-out people as {interval(first, 1)} votes "
        f"({first[0] * seconds:.1f} s), six (192 s) as close as {interval(worth, 1)} "
        f"({worth[0] * seconds:.1f} s). In the time of one rich answer, 17 votes come closer by "
        f"{interval(gaps[FLOORS.index(SHOWN)])} nats. At every floor from .0001 to .01, with the "
        f"best pool of each side, the interval of this difference is above 0: between "
        f"{short(least)} and {short(most)}.",
        f"- **Adding a rich answer to votes** does not pay, either: a label of one and 17 votes is "
        f"farther from held-out people than one of 34 votes, which take as long, by "
        f"{interval(mixed)} nats.",
        f"- **A rich answer pays below {even[0]:.1f} s** if it is the only one, and below "
        f"{even[1]:.1f} s if six are asked for (a vote takes 1.8 s).",
        f"- **It holds a little more than a vote of the same person.** Six rich answers are "
        f"closer than the first choices of the same six people by {interval(negate(added[0]))} "
        f"(floor .0001) to {interval(negate(added[-1]))} nats (floor .01). Ask for them where "
        f"people, not seconds, are scarce.",
        f"- **If other people's rich answers are what you want to predict**, one is worth "
        f"{interval(mirrored, 1)} votes, and votes still win at equal seconds up to three rich "
        f"answers (96 s). But votes answer another question and level off: four rich answers "
        f"(128 s) are level with 40 votes, {interval(level, sign=True)}, and one with 17 votes is "
        f"closer than 34 votes, by {interval(negate(better))}.",
        f"- **A model that is taught by these labels alone learns more from votes.** With one rich "
        f"answer per image, its cross-entropy on other images is higher than with 17 votes by "
        f"{interval(taught)} nats; with six (192 s), higher than with five votes (9 s) by "
        f"{interval(few)}. Among 6,000 other images with hard labels, little of this is left: "
        f"16 votes teach better than one rich answer by {interval(early)}, and three rich answers "
        f"are level with 51 votes: {interval(late)}.",
    ])  # fmt: skip


def negate(score: Sequence[float]) -> list[float]:
    """Turn a difference around."""
    value, low, high = score
    return [-value, -high, -low]


def say_result(results: Results) -> str:
    """Say the result in a paragraph, for the README."""
    first, six = (find_worth(results, one, SHOWN) for one in (ONE, SIX))
    gap = find_difference(results, ONE, Budget(votes=17), SHOWN)
    taught = find_learned(results, "students", ONE, Budget(votes=17))
    return (
        f"**One result.** *Should you buy rich answers or more votes?* Votes, if a rich answer "
        f"takes 32 s and a vote 1.8 s, as in CIFAR-10S and CIFAR-10H. On the 1,000 images that "
        f"have both, one rich answer makes a label as good as {interval(first, 1)} votes, six as "
        f"good as {interval(six, 1)} (KL to held-out people). In the time of one rich answer, 17 "
        f"votes come closer by {interval(gap)} nats, and a model taught by these images alone "
        f"learns more from them, by {interval(taught)} nats. Each side has its best pool, chosen "
        f"on other images; intervals are 95 % over images and people; the sign holds for every "
        f"floor from .0001 to .01. "
        f"[Rich answers or more votes?](docs/frontier.md) has the figure, mixtures of both, and "
        f"the break-even price."
    )


# ── the figure ───────────────────────────────────────────────────────────────────────────────


def draw(results: Results, width: float = 660) -> Html:
    """Draw label quality, and below it what models learn, against seconds per item."""
    labels = [(budget_of(row), row["kl"]) for row in curves(results, ANY)]
    learned = [(budget_of(row), row["cross_entropy"]) for row in results["students"]["rows"]]
    first = draw_panel(
        labels,
        Frame(
            "How close labels come to people",
            "KL of held-out votes, by what was bought and its seconds",
            "seconds per item",
            "Labels: KL to held-out votes (nats); lower is better",
            *(width, 330),
        ),
    )
    second = draw_panel(
        learned,
        Frame(
            "What a model learns",
            "Cross-entropy of votes on other images, by what was bought and its seconds",
            "seconds per item",
            "Model taught by these labels: cross-entropy on other images (nats)",
            *(width, 330),
        ),
        zero=False,
    )
    top = drawing.chart_height(first) + 14
    whole = Frame("Rich answers or more votes?", "Two charts against seconds per item", width=width)
    lower = el("g", second, transform=f"translate(0 {top:g})")
    return drawing.svg_document(whole, top + drawing.chart_height(second), first, lower)


def draw_panel(
    points: Sequence[tuple[Budget, list[float]]], frame: Frame, *, zero: bool = True
) -> Html:
    """Draw a curve with its band for each side, on a scale of doublings."""
    lines = []
    for side, name in SIDES.items():
        mine = [(b, s) for b, s in points if b.side == side and (side != "both" or b.rich == 1)]
        x = [math.log2(budget.seconds) for budget, _ in mine]
        value, low, high = ([score[part] for _, score in mine] for part in range(3))
        words = [f"{budget.words}, {budget.seconds:.0f} s" for budget, _ in mine]
        lines.append(Line(name, x, value, low, high, words))
    named = {math.log2(seconds): f"{seconds:g}" for seconds in TICKS}
    return charts.lines(lines, frame, named=named, zero=zero)


def picture(results: Results) -> str:
    """Return the figure as a file."""
    return standalone_svg(draw(results))


# ── writing ──────────────────────────────────────────────────────────────────────────────────


def blocks(results: Results) -> dict[str, str]:
    """Make everything on the page that is made of numbers."""
    labels = results["labels"]
    return {
        "answer": answer(results),
        "floors": tabulate_differences(labels["votes"][ANY]["differences"]),
        "worths": tabulate_worths(results, "votes"),
        "curves": tabulate_curves(results),
        "alone": tabulate_differences(
            [row for row in labels["votes"][BOUGHT]["differences"] if against_votes(row)]
        ),
        "mirrored": tabulate_differences(labels["rich answers"][ANY]["differences"]),
        "mirrored worths": tabulate_worths(results, "rich answers"),
        "students": tabulate_students(results["students"]),
        "paper": tabulate_learned(results["paper"]["differences"]),
        "before": tabulate_before(results),
    }


def write(results: Results) -> None:
    """Write the tables, the figure and the result in the README."""
    for name, text in blocks(results).items():
        write_block(PAGE, "frontier", name, text)
    PICTURE.write_text(picture(results), "utf-8", newline="\n")
    text = README.read_text("utf-8")
    before, found, rest = text.partition("**One result.**")
    assert found, "the README has no place for the result"
    after = rest.partition("\n")[2]
    README.write_text(f"{before}{say_result(results)}\n{after}", "utf-8", newline="\n")
