"""What every delivery promises.

It is asked about votes, soft answers and pooled labels alone, with unequal counts and with items
that nobody was asked about.  A policy that cannot do without the annotators' own labels refuses
pooled ones with ``DataError``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from softlabel.aggregate import Mean
from softlabel.deliver import Deliver, Delivery, Draws, Teaching
from softlabel.errors import DataError
from softlabel.tables import Floats, check_simplex
from softlabel.testing.examples import close, example_soft, example_votes

RNG = Draws(5)
EPOCHS = (0, 1, 2, 7, 10**9)
CHANCE = 1e-9  # that a policy which is right fails the statistical check


def example_teaching(seed: int = 0, soft: bool = False, items: int = 40) -> Teaching:
    """Votes or soft answers, their mean and the true class; nobody was asked about every tenth
    item."""
    votes, truth = example_votes(seed, items)
    each = example_soft(seed, items) if soft else votes
    each = each.take(each.item % 10 != 3)
    return Teaching.of(Mean()(each), each, truth)


def examples(deliver: Deliver) -> Iterator[Teaching]:
    """Votes, soft answers, and pooled labels alone if the policy does with those."""
    yield example_teaching()
    yield example_teaching(soft=True)
    alone = replace(example_teaching(soft=True), each=None)
    try:
        deliver(alone, RNG)
    except DataError:
        return
    yield alone


def epoch_of(delivery: Delivery, known: Teaching, epoch: int) -> Floats:
    """(m, k) the labels of all items."""
    return delivery.labels_for(epoch, np.arange(len(known)), RNG)


# ── the promises ─────────────────────────────────────────────────────────────────────────────


def delivered_labels_are_on_the_simplex(deliver: Deliver) -> None:
    for known in examples(deliver):
        delivery = deliver(known, RNG)
        for epoch in EPOCHS:
            labels = epoch_of(delivery, known, epoch)
            found, wanted = np.shape(labels), known.pooled.shape
            assert found == wanted, f"labels of shape {found}, not (items, classes) = {wanted}"
            assert labels.dtype == np.float64, f"labels are {labels.dtype}, not float64"
            check_simplex(deliver.name, labels)
        none = delivery.labels_for(0, np.zeros(0, dtype=np.int64), RNG)
        assert none.shape == (0, wanted[1]), f"no items give labels of shape {none.shape}"


def batches_do_not_matter(deliver: Deliver) -> None:
    for known in examples(deliver):
        delivery = deliver(known, RNG)
        order = np.random.default_rng(1).integers(0, len(known), 60)  # some more than once
        for epoch in EPOCHS:
            whole = epoch_of(delivery, known, epoch)[order]
            for size in (1, 7, 60):
                parts = [
                    delivery.labels_for(epoch, order[first : first + size], RNG)
                    for first in range(0, len(order), size)
                ]
                close(np.concatenate(parts), whole, f"batches of {size} differ", exact=True)


def epochs_can_be_asked_in_any_order(deliver: Deliver) -> None:
    """A run that is resumed at a later epoch sees what it would have seen."""
    for known in examples(deliver):
        through = deliver(known, RNG)
        seen = [epoch_of(through, known, epoch) for epoch in range(9)]
        resumed = deliver(known, RNG)
        for epoch in (8, 5, 0):
            again = epoch_of(resumed, known, epoch)
            close(again, seen[epoch], f"epoch {epoch} is another one after a resume", exact=True)


def delivering_ignores_row_order(deliver: Deliver) -> None:
    for known in examples(deliver):
        if known.each is None:
            continue
        order = np.random.default_rng(2).permutation(len(known.each))
        moved = replace(known, each=known.each.take(order))
        one, other = deliver(known, RNG), deliver(moved, RNG)
        for epoch in EPOCHS:
            close(
                epoch_of(other, moved, epoch),
                epoch_of(one, known, epoch),
                "the labels depend on the order of the annotations' rows",
            )


def nothing_is_drawn_elsewhere(deliver: Deliver) -> None:
    """Neither from numpy's global numbers nor from Python's, and nothing is left behind there."""
    for known in examples(deliver):
        before = random.getstate(), _numpys_state()
        one = epoch_of(deliver(known, RNG), known, 3)
        now = random.getstate(), _numpys_state()
        assert before[0] == now[0], "draws from Python's global random numbers"
        assert before[1] == now[1], "draws from numpy's global random numbers"
        close(epoch_of(deliver(known, RNG), known, 3), one, "two runs differ", exact=True)


def _numpys_state() -> str:
    state: Any = np.random.get_state(legacy=False)  # noqa: NPY002  # looked at, never used
    return str(state["state"]["key"].tolist()) + str(state["state"]["pos"])


def labels_are_the_callers_own(deliver: Deliver) -> None:
    for known in examples(deliver):
        delivery = deliver(known, RNG)
        first = epoch_of(delivery, known, 0)
        kept = first.copy()
        first[:] = 0
        close(epoch_of(delivery, known, 0), kept, "writing into labels changes later ones")


def the_mean_over_epochs_is_as_foretold(deliver: Deliver) -> None:
    """Exactly if the labels never change, otherwise within what chance allows (Bernstein's
    inequality, over all items and classes at once)."""
    draws = 1000
    for known in examples(deliver):
        delivery = deliver(known, RNG)
        expected = getattr(delivery, "expected", None)
        assert expected is not None, "the delivery does not foretell its mean: expected()"
        wanted = expected()
        check_simplex(f"expected() of {deliver.name}", wanted)
        kept = _epochs_that_labels_are_kept(delivery, known)
        if not kept:
            found = epoch_of(delivery, known, 0)
            close(found, wanted, "labels that never change are not the expected ones")
            continue
        found = np.zeros_like(wanted)
        for draw in range(draws):
            found += epoch_of(delivery, known, kept * draw) / draws
        log = np.log(2 * wanted.size / CHANCE)
        # a label between 0 and 1 of mean p has a variance of at most p (1 - p)
        bound = np.sqrt(2 * wanted * (1 - wanted).clip(0) * log / draws) + log / (3 * draws)
        over = float((abs(found - wanted) - bound).max())
        assert over <= 0, (
            f"the mean over {draws} draws is not the expected one "
            f"(by {over:.3g} more than chance allows)"
        )


def _epochs_that_labels_are_kept(delivery: Delivery, known: Teaching, most: int = 100) -> int:
    """The first epoch with other labels than epoch 0; 0 if there is none."""
    first = epoch_of(delivery, known, 0)
    changed = (not np.array_equal(epoch_of(delivery, known, e), first) for e in range(1, most))
    return next((epoch for epoch, other in enumerate(changed, 1) if other), 0)


DELIVER_CHECKS: tuple[Callable[[Deliver], None], ...] = (
    delivered_labels_are_on_the_simplex,
    batches_do_not_matter,
    epochs_can_be_asked_in_any_order,
    delivering_ignores_row_order,
    nothing_is_drawn_elsewhere,
    labels_are_the_callers_own,
    the_mean_over_epochs_is_as_foretold,
)
