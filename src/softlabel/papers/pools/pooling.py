"""The replay of the pools: how well they predict held-out votes, compared with our targets.

It uses CIFAR-10H (10,000 images, among them the 1,000 of CIFAR-10S), the rich answers of CIFAR-10S,
and ChaosNLI.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from softlabel import datasets
from softlabel.construct import Clamp
from softlabel.papers.claims import Table
from softlabel.papers.pools import votes as replay
from softlabel.papers.pools.answers import score_answers, score_recalibration
from softlabel.tables import Annotations, Index, Ints, names

SEED = 500
INSIDE = "Share of held-out votes inside 90 % predictive intervals"


@dataclass(frozen=True)
class Target:
    """One target, what we measured, and whether it is met."""

    what: str
    target: str
    ours: str
    met: bool


@dataclass(frozen=True)
class Outcome:
    """Everything that was measured; ``quick`` if it was only a part of the replay."""

    quick: bool
    targets: list[Target]
    tables: list[Table]


@dataclass(frozen=True, eq=False)
class Data:
    """What is replayed."""

    all_images: replay.Population
    thousand: replay.Population
    rich: Annotations
    nli: tuple[Index, Ints]


def run(quick: bool = False, tell: replay.Tell = lambda step: None) -> Outcome:
    """Run the whole replay, or with ``quick`` one split and a fifth of the images."""
    tell("reading CIFAR-10H, CIFAR-10S and ChaosNLI")
    data = load(quick)
    seeds, counts = data.thousand.seeds, data.thousand.counts
    natural, chosen = (replay.score_votes(part, tell) for part in (data.all_images, data.thousand))
    numbers = (1, 6) if quick else (1, 2, 3, 4, 5, 6)
    alone, both = score_answers(data.rich, counts, seeds, numbers, tell)
    inside = replay.measure_coverage(data.thousand, tell)
    chaosnli = replay.Population("ChaosNLI", *data.nli, 2, seeds[:2], ())
    outside = replay.measure_coverage(chaosnli, tell)
    nli = replay.score_nli(*data.nli, seeds[:2], tell)
    columns = tuple(map(str, data.all_images.votes))
    entropy_rows: list[tuple[str, ...]] = []
    for name, cells in natural.entropy_r.items():
        means = (np.mean(cells.get(votes, np.nan)) for votes in columns)
        entropy_rows.append((name, *("–" if np.isnan(r) else f"{r:.3f}" for r in means)))
    title = f"Correlation with the entropy of held-out votes, {data.all_images.name}"
    tables = [
        natural.kl.table(f"KL, votes of {data.all_images.name}"),
        natural.tv.table(f"Total variation, votes of {data.all_images.name}"),
        Table(title, ("", *columns), entropy_rows),
        chosen.kl.table(f"KL, votes of {data.thousand.name}"),
        chosen.tv.table(f"Total variation, votes of {data.thousand.name}"),
        alone.table("KL, rich answers without votes, by their number"),
        both.table("KL, votes + rich answers"),
        replay.tabulate_coverage(inside, f"{INSIDE}, {data.thousand.name}"),
        replay.tabulate_coverage(outside, f"{INSIDE}, ChaosNLI"),
        nli.table("KL*, ChaosNLI, by votes per item"),
        score_recalibration(data.rich, counts, seeds, numbers, tell),
    ]
    targets = check_targets(natural.kl, alone, inside, nli)
    for name, coverage in (("CIFAR-10H", inside), ("ChaosNLI", outside)):
        for model in replay.POOLS:
            what = f"{name}, {model}: held-out votes inside 90 % intervals"
            share = replay.mean_coverage(coverage, f"{model}, same images")
            targets.append(_check_coverage(what, share))
    return Outcome(quick, targets, tables)


def load(quick: bool) -> Data:
    """Load the data sets, reduced for a quick replay."""
    votes, answers = datasets.cifar10h.load("counts"), datasets.cifar10s.load("first")
    assert answers.statements is not None, "CIFAR-10S holds statements"
    rich = Clamp()(answers.statements)
    counts, labels = votes.arrays["counts"], votes.index.labels
    few = np.arange(0, len(counts), 5 if quick else 1)
    seeds = tuple(range(SEED, SEED + (1 if quick else 4)))
    tried = (2, 5, 20) if quick else (1, 2, 3, 5, 10, 20)
    every = Index(votes.index.items[few], names([]), labels)
    relabelled = Index(rich.index.items, names([]), labels)
    thousand = np.array([int(item) for item in rich.index.items.tolist()])
    name = f"the {len(thousand):,} images of CIFAR-10S"
    return Data(
        replay.Population(f"{len(few):,} images", every, counts[few], 2, seeds[:2], tried),
        replay.Population(name, relabelled, counts[thousand], 5, seeds, tried),
        rich,
        replay.load_nli(),
    )


def check_targets(
    kl: replay.Ledger, alone: replay.Ledger, inside: replay.Coverage, nli: replay.Ledger
) -> list[Target]:
    """Compare our numbers with the targets."""
    mixture_kl = kl.value("mixture, 3 levels, other images", 5)
    targets = [
        Target(what, f"<= {limit:.3f}", f"{ours:.4f}", ours <= limit)
        for what, limit, ours in (
            ("5 votes per image, mixture: KL", 0.090, mixture_kl),
            ("6 rich answers, stack: KL", 0.200, alone.value("stack", 6)),
            ("1 rich answer, stack: KL", 0.43, alone.value("stack", 1)),
        )
    ]
    for place in ("top", "second"):
        for votes in replay.COVERAGE_VOTES:
            what = f"90 % interval of the {place} class, {votes} votes: held-out votes inside"
            share = float(np.mean(inside[replay.OTHER, place, votes]))
            targets.append(_check_coverage(what, share))
    for votes in replay.NLI_VOTES[1:]:
        one, mixture = nli.value(replay.ONE, votes), nli.value(replay.MIXTURE, votes)
        what = f"ChaosNLI, {votes} votes, mixture: KL* no more than one Dirichlet"
        targets.append(Target(what, f"<= {one:.4f}", f"{mixture:.4f}", mixture <= one))
    return targets


def _check_coverage(what: str, share: float) -> Target:
    return Target(what, "0.87 to 0.93", f"{share:.3f}", 0.87 <= share <= 0.93)


# ── the page ─────────────────────────────────────────────────────────────────────────────────

HEAD = Path(__file__).with_suffix(".md").read_text("utf-8")


def make_page(outcome: Outcome) -> str:
    """Return the whole page in Markdown."""
    tables = (tabulate_targets(outcome), *outcome.tables)
    sections = [f"## {table.title}\n\n{table.markdown()}" for table in tables]
    note = "\nA quick replay: one split, a fifth of the images.\n" if outcome.quick else ""
    return "\n".join([HEAD + note, *sections])


def tabulate_targets(outcome: Outcome) -> Table:
    """List each target, our number, and whether it is met."""
    rows: list[tuple[str, ...]] = [
        (one.what, one.target, one.ours, "pass" if one.met else "FAIL") for one in outcome.targets
    ]
    return Table("Targets", ("what", "target", "ours", ""), rows)
