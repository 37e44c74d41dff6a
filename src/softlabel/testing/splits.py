"""What pools promise that ask how people split, and say how sure they are of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from softlabel.aggregate import Aggregate, Belief, Posterior
from softlabel.tables import Annotations, SoftLabels
from softlabel.testing.examples import close
from softlabel.testing.pools import inputs

LEVEL = 0.9


def _believed(aggregate: Aggregate) -> Iterator[tuple[SoftLabels, Belief]]:
    for said in inputs(aggregate):
        soft = aggregate(_with_silence(said))
        belief = getattr(soft, "belief", None)
        if belief is not None:
            yield soft, belief


def _with_silence(said: Annotations) -> Annotations:
    """One item has no answers."""
    return said.take(said.item != 3)


def the_label_is_the_mean_of_the_belief(aggregate: Aggregate) -> None:
    """Of pools that are a Bayesian posterior; others may hold a belief beside their label."""
    for soft, belief in _believed(aggregate):
        if not isinstance(getattr(soft, "fitted", None), Posterior):
            continue
        label = soft.probs[soft.answered]
        close(belief.mean()[soft.answered], label, "the label is not the mean of the belief", 1e-9)


def intervals_hold_the_mean(aggregate: Aggregate) -> None:
    """With equal tails the mean of a lopsided belief may lie outside, by at most a tail."""
    tail = (1 - LEVEL) / 2
    for _, belief in _believed(aggregate):
        low, high = belief.interval(LEVEL)
        mean = belief.mean()
        assert ((low >= 0) & (low <= high) & (high <= 1)).all(), "limits are not in order in 0..1"
        inside = (mean >= low - tail - 1e-9) & (mean <= high + tail + 1e-9)
        assert inside.all(), f"{int((~inside).sum())} intervals do not hold their mean"
        narrow, wide = belief.interval(0.5), belief.interval(0.99)
        ordered = (wide[0] <= narrow[0] + 1e-9) & (narrow[1] <= wide[1] + 1e-9)
        assert ordered.all(), "an interval of 99 % does not hold that of 50 %"


def one_more_vote_never_hurts(aggregate: Aggregate) -> None:
    for soft, belief in _believed(aggregate):
        gain = belief.gain()
        assert gain.shape == soft.count.shape, "gain has one entry per item"
        assert (gain >= 0).all(), f"the expected gain of a vote is {float(gain.min()):.3g}"


SPLIT_CHECKS: tuple[Callable[[Aggregate], None], ...] = (
    the_label_is_the_mean_of_the_belief,
    intervals_hold_the_mean,
    one_more_vote_never_hurts,
)
