"""What "50 %" means to different people, and whether mending it helps the pool.

Each annotator has a temperature t: q proportional to (s + .01)^(1/t), fitted so that their
answers foretell the mean of the others' (no votes are used), with log t ~ N(mu, .5^2).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from softlabel.aggregate import Sharpened, Weighted, search, shares
from softlabel.metrics import cross_entropy, kl
from softlabel.papers.claims import Ledger, Table
from softlabel.papers.pools.answers import FOLDS, LIMITS, ordered
from softlabel.papers.pools.hard import BUILD, CLIP
from softlabel.papers.pools.replaying import Replay, crossed, replay
from softlabel.tables import Annotations, Bools, Floats, Index, Ints, names

GRID = np.linspace(-1.5, 1.5, 121)  # of log t
SPREAD = 0.5
PLAIN, MENDED, HEAVY = "answers as given", "recalibrated", "weighted by reliability"


def temperatures(each: Annotations) -> Floats:
    """(a,) t of every annotator, by leaving their own answers out of the consensus."""
    soft = each.soft()
    size = each.votes_per_item()[each.item]
    target = (each.counts()[each.item] - soft) / np.maximum(size - 1, 1)[:, None]
    people = len(each.index.annotators)
    losses = np.stack(
        [
            np.bincount(each.annotator, cross_entropy(target, mended(soft, t), CLIP), people)
            for t in np.exp(GRID)
        ]
    )  # (grid, a)
    crowd = GRID[losses.sum(axis=1).argmin()]
    pulled = losses + ((GRID - crowd) ** 2 / (2 * SPREAD**2))[:, None]
    return np.asarray(np.exp(GRID[pulled.argmin(axis=0)]))


def mended(soft: Floats, t: Floats | float) -> Floats:
    """(n, k) answers at another temperature."""
    power = np.log(soft + 0.01) / np.reshape(t, (-1, 1))
    weights = np.exp(power - power.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def score(
    each: Annotations,
    counts: Ints,
    seeds: tuple[int, ...],
    answers: tuple[int, ...],
    tell: Callable[[str], None],
) -> tuple[Ledger, Ledger]:
    """KL of the linear pool, and of the same sharpened, of three kinds of answers; the answers as
    given have the same .01 added, so that nothing but the temperature differs."""
    linear, sharp = (Ledger(tuple(map(str, answers))) for _ in range(2))
    index = Index(each.index.items, names([]), each.index.labels)
    t = temperatures(each)[each.annotator]
    given, again = (
        Annotations(each.index, each.item, each.annotator, probs=mended(each.soft(), heat))
        for heat in (1.0, t)
    )
    weights = Weighted().fit(given)
    for seed in seeds:
        tell(f"recalibration, split {seed}")
        made = replay(index, counts, BUILD, seed)
        plain, new = ordered(given, answers, seed), ordered(again, answers, seed)
        for number in answers:
            pools = {
                PLAIN: shares(plain[number].counts()),
                MENDED: shares(new[number].counts()),
                HEAVY: weights.rows(weights.sums(plain[number])),
            }
            for name, lin in pools.items():
                linear.add(name, number, kl(made.share, lin))
                sharp.add(name, number, kl(made.share, _sharpened(made, lin, seed)))
    return linear, sharp


def _sharpened(made: Replay, lin: Floats, seed: int) -> Floats:
    """Extremised with an even floor, both numbers fitted on other images."""

    def label(rest: Bools, test: Bools) -> Floats:
        def loss(floor: float, power: float) -> float:
            tried = Sharpened(floor, power, None).labels(lin[rest])
            return float(cross_entropy(made.share[rest], tried, CLIP).mean())

        floor, power = search(loss, [0.1, 1.0], LIMITS)
        return Sharpened(floor, power, None).labels(lin[test])

    return crossed(len(lin), FOLDS, seed, label)


def table(linear: Ledger, sharp: Ledger) -> Table:
    """Gains over the answers as given, with 1.96 standard errors over images; below 0 is worse."""
    rows = []
    for title, ledger in (("linear pool", linear), ("then extremised", sharp)):
        for name in (MENDED, HEAVY):
            gains = [ledger.gain(name, PLAIN, number) for number in ledger.columns]
            shown = [f"{gain:+.4f} ±{half:.4f}" for gain, half in gains]
            rows.append((f"{title}, {name}", *shown))
    heads = ("gain in KL, by number of answers", *linear.columns)
    return Table("Recalibrating people, paired over images", heads, rows)
