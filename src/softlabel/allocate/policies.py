"""Policies: which item to ask about next, in which mode, and when to stop.

A policy scores every item; the ``Allocation`` asks where the score is highest.  With the belief
q = E[p] about the split of an item after m answers, and the price of the next answer in seconds:

* ``uniform``: the fewest answers first, so that all items get equally many;
* ``greedy``: the expected gain in KL per second, G / t, with
  G = H(q_n) - sum_k q_n(k) H(q_{n + e_k}) (``Belief.gain``), blended with the next;
* ``entropy``: H(q) / (m + 1) per second, which does not look ahead.

A ``Price`` says what an answer in a mode costs and what it is worth.  A ``Fit`` turns evidence into
beliefs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, cast

import numpy as np
from scipy.special import entr

from softlabel.aggregate import Belief, DirichletMixture, Judged, Prior, choose_for_votes
from softlabel.errors import DataError
from softlabel.registry import FAMILIES, Options
from softlabel.tables import Annotations, Floats, Index, Ints

SECONDS_PER_VOTE = 1.8  # the median of CIFAR-10H
MOST = 10**6  # answers per item: no limit in practice
# Measured in replays (docs/allocate.md).  With a prior of many votes of other items the gain is
# trusted, and choosing pays unless items can hardly be told apart.  With one learned from few votes
# per item, of these or of others, the entropy is as good a guide; mean(H)^2 / mean(H^2) was .9 to 1
# where choosing did not clearly pay, and .5 to .9 where it did.
TRUSTED_BLEND, COLD_BLEND = 0.25, 0.5
TRUSTED_EVEN, COLD_EVEN = 0.99, 0.9
JOIN_ITEMS, JOIN_VOTES = 2000, 4.0  # from which on these items have a prior of their own ...
OWN_SHARE = 0.2  # ... with this weight beside that of other items


# ── what an answer costs, and what it is worth ───────────────────────────────────────────────


@dataclass(frozen=True)
class Price(Options):
    """An answer in a mode takes ``seconds`` and teaches as much as ``worth`` votes.

    A rich answer is worth about one vote (.7 to 1.4, see docs/pools/worth.md).
    """

    mode: str = "hard"
    seconds: float = SECONDS_PER_VOTE
    worth: float = 1.0

    limits: ClassVar = {"seconds": (1e-3, 1e6), "worth": (1e-3, 1e3)}

    @property
    def rate(self) -> float:
        """Votes per second."""
        return self.worth / self.seconds


# ── from evidence to beliefs ─────────────────────────────────────────────────────────────────


class Fit(Protocol):
    """Makes the belief about all items from their evidence, and says how far to trust it: what
    ``least``, ``blend`` and ``even`` of a policy are where it leaves them open."""

    @property
    def least(self) -> int: ...
    @property
    def blend(self) -> float: ...
    @property
    def even(self) -> float: ...

    def __call__(self, index: Index, evidence: Floats) -> Belief: ...


@dataclass(frozen=True, eq=False)
class FitVotes:
    """The belief of the pool that suits the votes: one Dirichlet or a mixture, as ``auto`` chooses.

    With a ``prior`` fitted to other items: that prior, and from 2,000 items with four votes each on
    the prior of these items beside it, with a fifth of the weight.  ``trusted`` says whether it was
    learned from many votes per item (more than ten): otherwise the policy looks at it as at one
    learned from the few votes of these items.
    """

    prior: Prior | None = None
    trusted: bool = True

    @property
    def _sure(self) -> bool:
        return self.prior is not None and self.trusted

    @property
    def least(self) -> int:
        """One answer with a prior; two where the prior is learned from these items."""
        return 2 if self.prior is None else 1

    @property
    def blend(self) -> float:
        """How much the entropy counts beside the gain."""
        return TRUSTED_BLEND if self._sure else COLD_BLEND

    @property
    def even(self) -> float:
        """Above which evenness all items are asked equally often."""
        return TRUSTED_EVEN if self._sure else COLD_EVEN

    def __call__(self, index: Index, evidence: Floats) -> Belief:
        """Return the belief about all items."""
        answered = int((evidence.sum(axis=1) > 0).sum())
        if self.prior is not None:
            many = answered >= JOIN_ITEMS and evidence.sum() >= JOIN_VOTES * answered
            prior = self.prior.among(index.labels)
            return Belief(index, evidence, join(prior, index, evidence) if many else prior)
        chosen, _ = choose_for_votes(index, evidence.sum(axis=1))
        return Belief(index, evidence, chosen.fit(index, evidence))


@dataclass(eq=False)
class FitJudged:
    """The belief of people and models: what ``judges`` said of the items (some of them may not be
    asked about) moves the prior of each.  ``why`` says after each fit what was learned of them."""

    judges: Annotations
    why: str = ""

    least, blend, even = 1, COLD_BLEND, COLD_EVEN

    def __call__(self, index: Index, evidence: Floats) -> Belief:
        """Return the belief about all items."""
        place = {item: code for code, item in enumerate(index.items.tolist())}
        code = np.array([place.get(item, -1) for item in self.judges.index.items.tolist()])
        said = self.judges.take(code[self.judges.item] >= 0)
        known = replace(said.index, items=index.items, labels=index.labels, ordered=index.ordered)
        said = replace(said, index=known, item=code[said.item])
        belief, _, self.why = Judged().believe(index, evidence, said)
        return belief


def join(prior: Prior, index: Index, evidence: Floats) -> Prior:
    """Return the prior of other items and the one of these, as one."""
    own = DirichletMixture().fit(index, evidence)
    alpha = np.concatenate([prior.alpha, own.alpha])
    weight = np.concatenate([(1 - OWN_SHARE) * prior.weight, OWN_SHARE * own.weight])
    wide = prior.wide and join(prior.wide, index, evidence)
    return Prior(index.labels, alpha, weight, f"{prior.made_by}; {own.made_by}", wide)


# ── policies ─────────────────────────────────────────────────────────────────────────────────


class Policy(Protocol):
    """A policy: a frozen dataclass of its parameters, called with the belief about some items.

    ``stop``: an item is done when the expected gain per second falls below this many nats (0:
    never).  ``most``: answers per item, at most.  ``least``: answers that every item gets first.
    ``explore``: the share of questions that go to an unfinished item
    drawn at random, so that every assignment has a known chance above 0.  ``even``: items get
    equally many answers while their uncertainty differs so little that choosing among them does
    not pay, that is while mean(H)^2 / mean(H^2) is above this number (1: choose always).  What is
    None is as the ``Fit`` says.
    """

    name: ClassVar[str]
    paper: ClassVar[str]
    looks: ClassVar[bool]  # whether scores depend on the belief

    @property
    def stop(self) -> float: ...
    @property
    def most(self) -> int: ...
    @property
    def least(self) -> int | None: ...
    @property
    def explore(self) -> float: ...
    @property
    def even(self) -> float | None: ...

    def __call__(self, belief: Belief, answers: Ints, rate: Floats) -> Floats:
        """Return the score (j,) of each item, given its answers so far (j,) and how many votes a
        second buys (j,); the highest is asked first."""


class Rules(Options):
    """What all policies share: limits of their options, and names."""

    paper: ClassVar[str] = ""
    limits: ClassVar = {
        "stop": (0, 1e6),
        "most": (1, MOST),
        "least": (0, MOST),
        "explore": (0, 1),
        "even": (0, 1),
    }


@dataclass(frozen=True)
class Uniform(Rules):
    """Ask about the item with the fewest answers: equally many for all."""

    stop: float = 0.0
    most: int = MOST
    least: int | None = None
    explore: float = 0.0

    name: ClassVar[str] = "uniform"
    paper: ClassVar[str] = "the usual quota"
    looks: ClassVar[bool] = False
    even: ClassVar[float] = 1.0
    limits: ClassVar = {key: Rules.limits[key] for key in ("stop", "most", "least", "explore")}

    def __call__(self, belief: Belief, answers: Ints, rate: Floats) -> Floats:
        """Return the score (j,) of each item: fewer answers first."""
        return -np.asarray(answers, dtype=np.float64)


@dataclass(frozen=True)
class Greedy(Rules):
    """Ask where one more answer is expected to bring the label closest to the split, per second.

    The score is G^(1 - blend) (H / (m + 1))^blend.  The gain G is right if the belief is; the
    entropy needs no look ahead, so a blend is better than either where the belief is rough.
    """

    stop: float = 0.0
    most: int = MOST
    least: int | None = None
    explore: float = 0.05
    blend: float | None = None
    even: float | None = None

    name: ClassVar[str] = "greedy"
    paper: ClassVar[str] = "Lindley 1956"
    looks: ClassVar[bool] = True
    limits: ClassVar = {**Rules.limits, "blend": (0, 1)}

    def __call__(self, belief: Belief, answers: Ints, rate: Floats) -> Floats:
        """Return the score (j,) of each item: gain and entropy per second, blended."""
        gain = np.maximum(belief.gain(), 0)
        blend = COLD_BLEND if self.blend is None else self.blend
        if not blend:
            return gain * rate
        doubt = measure_doubt(belief) / (answers + 1)
        return np.asarray(gain ** (1 - blend) * doubt**blend * rate)


@dataclass(frozen=True)
class Entropy(Rules):
    """Ask where the label is most uncertain for its number of answers: H(q) / (m + 1) per second.

    It does not look ahead, and is robust where the belief is wrong.
    """

    stop: float = 0.0
    most: int = MOST
    least: int | None = None
    explore: float = 0.05
    even: float | None = None

    name: ClassVar[str] = "entropy"
    paper: ClassVar[str] = "Lewis & Gale 1994"
    looks: ClassVar[bool] = True

    def __call__(self, belief: Belief, answers: Ints, rate: Floats) -> Floats:
        """Return the score (j,) of each item: its entropy per answer and second."""
        return np.asarray(measure_doubt(belief) / (answers + 1) * rate)


def settle(policy: Policy, fit: Fit) -> Policy:
    """Return the policy with what it leaves open as the fit says."""
    changed: Any = policy
    for name in ("least", "blend", "even"):
        if getattr(policy, name, 0) is None:
            changed = replace(changed, **{name: getattr(fit, name)})
    return cast(Policy, changed)


def measure_doubt(belief: Belief) -> Floats:
    """(j,) the entropy H(q) of each label, in nats."""
    return np.asarray(entr(belief.mean()).sum(axis=1))


POLICIES: dict[str, type[Policy]] = FAMILIES["policy"]
POLICIES.update({kind.name: kind for kind in (Greedy, Entropy, Uniform)})


def check_prices(prices: Sequence[Price]) -> tuple[Price, ...]:
    """Refuse a mode that is there twice, and no mode at all."""
    modes = [price.mode for price in prices]
    if not modes:
        raise DataError("prices: at least one mode is needed")
    if len(set(modes)) < len(modes):
        twice = next(mode for mode in modes if modes.count(mode) > 1)
        raise DataError(f"prices: the mode {twice!r} is there twice; give each mode one price")
    return tuple(prices)
