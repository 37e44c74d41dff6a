"""Labels without answers: the same target in every epoch, or a class drawn from it."""

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from softlabel.deliver import base
from softlabel.registry import Options
from softlabel.tables import Floats, Ints


@dataclass(frozen=True, eq=False)
class Fixed:
    """``labels`` (m, k) in every epoch."""

    labels: Floats

    def labels_for(self, epoch: int, indices: Ints, rng: base.Draws) -> Floats:
        """(b, k) the rows of these items."""
        return self.labels[base.check_rows(indices, len(self.labels))]

    def expected(self) -> Floats:
        """(m, k) the labels themselves."""
        return self.labels


@dataclass(frozen=True)
class Hard(Options):
    """The given class; where none was given, the most probable one of the soft label.

    Mean over epochs: that one-hot label.  Of equally probable classes, the first.
    """

    name: ClassVar[str] = "hard"
    paper: ClassVar[str] = "the usual practice"

    def __call__(self, known: base.TrainingLabels, rng: base.Draws) -> Fixed:
        """Return what each epoch delivers of these labels."""
        return Fixed(base.one_hot(base.choose_class(known), known.pooled.shape[1]))


@dataclass(frozen=True)
class Aggregate(Options):
    """The pooled label; an item without one keeps its given class.

    Mean over epochs: that label.
    """

    name: ClassVar[str] = "aggregate"
    paper: ClassVar[str] = "Peterson et al. 2019; Uma et al. 2020"

    def __call__(self, known: base.TrainingLabels, rng: base.Draws) -> Fixed:
        """Return what each epoch delivers of these labels."""
        return Fixed(base.fill_soft_labels(known))


@dataclass(frozen=True)
class Smoothing(Options):
    """(1 - beta) on the class that ``hard`` would deliver, plus beta / k on every class.

    Mean over epochs: that label.
    """

    beta: float = 0.05

    name: ClassVar[str] = "smoothing"
    limits: ClassVar = {"beta": (0, 1)}
    paper: ClassVar[str] = "Szegedy et al. 2016; beta = 0.05 in Collins, Bhatt & Weller 2022"

    def __call__(self, known: base.TrainingLabels, rng: base.Draws) -> Fixed:
        """Return what each epoch delivers of these labels."""
        k = known.pooled.shape[1]
        return Fixed((1 - self.beta) * base.one_hot(base.choose_class(known), k) + self.beta / k)


@dataclass(frozen=True)
class Uniform(Options):
    """1 / k on every class of every item.

    Mean over epochs: the same.
    """

    name: ClassVar[str] = "uniform"
    paper: ClassVar[str] = "Collins, Bhatt & Weller 2022, table 1 (uniform)"

    def __call__(self, known: base.TrainingLabels, rng: base.Draws) -> Fixed:
        """Return what each epoch delivers of these labels."""
        return Fixed(np.full(known.pooled.shape, 1 / known.pooled.shape[1]))


@dataclass(frozen=True)
class Random(Options):
    """k uniform(0, 1) numbers divided by their sum, drawn once per run and item.

    Mean over epochs: that label.  It knows nothing of the item, and stays nearer to even than a
    flat Dirichlet distribution.
    """

    name: ClassVar[str] = "random"
    paper: ClassVar[str] = "Collins, Bhatt & Weller 2022, table 1 (random)"

    def __call__(self, known: base.TrainingLabels, rng: base.Draws) -> Fixed:
        """Return what each epoch delivers of these labels."""
        m, k = known.pooled.shape
        draw = rng.uniform(self.name, np.arange(m)[:, None], np.arange(k))
        draw = np.maximum(draw, np.finfo(np.float64).tiny)  # one class: 0 / 0 would be no label
        return Fixed(draw / draw.sum(axis=1, keepdims=True))


# ── stochastic label sampling: one class per item, drawn from its soft label ─────────────────


@dataclass(frozen=True, eq=False)
class Drawn:
    """One-hot draws from ``labels`` (m, k), each kept for ``every`` epochs.

    ``purpose`` keys the draws: deliveries of the same purpose draw the same numbers.
    """

    labels: Floats
    purpose: str
    every: int = 1
    upto: Floats = field(init=False, repr=False)  # (m, k) chance of a class or one before it

    def __post_init__(self) -> None:
        upto = self.labels.cumsum(axis=1)
        # published labels are rounded: the last entry must be exactly 1, or no class may be drawn
        object.__setattr__(self, "upto", upto / upto[:, -1:])

    def labels_for(self, epoch: int, indices: Ints, rng: base.Draws) -> Floats:
        """(b, k) one-hot."""
        rows = base.check_rows(indices, len(self.labels))
        draw = rng.uniform(self.purpose, epoch // self.every, rows)
        # the first class whose upper end lies above the draw; one without a chance never is
        return base.one_hot((self.upto[rows] <= draw[:, None]).sum(axis=1), self.labels.shape[1])

    def expected(self) -> Floats:
        """(m, k) the distribution that is drawn from."""
        return np.diff(self.upto, axis=1, prepend=0.0)


@dataclass(frozen=True)
class SLS(Options):
    """One class y per item and epoch, drawn from the pooled label p.

    Mean over epochs: p.  The mean gradient is that of the soft label, E[q - e_y] = q - p, with
    covariance diag(p) - p p' on top, of total variance 1 - |p|^2.
    """

    name: ClassVar[str] = "sls"
    paper: ClassVar[str] = "Gheibi & Ghazizadeh 2026, arXiv 2605.20642"

    def __call__(self, known: base.TrainingLabels, rng: base.Draws) -> Drawn:
        """Return what each epoch delivers of these labels."""
        return Drawn(base.fill_soft_labels(known), self.name)


@dataclass(frozen=True)
class P19(SLS):
    """One class per fetch, drawn from the item's pooled label p.

    Mean over epochs: p.  A loop that fetches each item once per epoch gets ``sls``, by other draws.
    """

    name: ClassVar[str] = "p19"
    paper: ClassVar[str] = "Peterson et al. 2019 (the released training code)"


@dataclass(frozen=True)
class StaleSLS(Options):
    """One class per item from its pooled label p, drawn again only every ``every`` epochs.

    Mean over epochs: p.  The draws are those of ``sls``: with ``every=1`` the two are equal.
    """

    every: int = 5

    name: ClassVar[str] = "stale-sls"
    limits: ClassVar = {"every": (1, math.inf)}
    paper: ClassVar[str] = "Gheibi & Ghazizadeh 2026, arXiv 2605.20642"

    def __call__(self, known: base.TrainingLabels, rng: base.Draws) -> Drawn:
        """Return what each epoch delivers of these labels."""
        return Drawn(base.fill_soft_labels(known), SLS.name, self.every)


@dataclass(frozen=True)
class ShuffledSLS(Options):
    """``sls`` after a random permutation of the pooled labels over all items, once per run.

    Mean over epochs: the pooled label of the item that the permutation put in this one's place.
    The mean over items is that of the unshuffled labels.  A model should fall to chance.
    """

    name: ClassVar[str] = "shuffled-sls"
    paper: ClassVar[str] = "Gheibi & Ghazizadeh 2026, arXiv 2605.20642"

    def __call__(self, known: base.TrainingLabels, rng: base.Draws) -> Drawn:
        """Return what each epoch delivers of these labels."""
        order = np.argsort(rng.uniform(self.name, "order", np.arange(len(known))))
        return Drawn(base.fill_soft_labels(known)[order], self.name)
