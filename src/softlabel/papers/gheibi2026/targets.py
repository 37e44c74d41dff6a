"""How far what is taught is from what all people say, and what is learned of it, item by item."""

from __future__ import annotations

import numpy as np

from softlabel import metrics, registry
from softlabel.deliver import Draws, Foretold, Teaching
from softlabel.papers.gheibi2026.cells import delivery, group_of
from softlabel.tables import Floats

EDGES = (0.0, 0.02, 0.1, 0.2, 0.4, 1.0)  # of total variation between the kept and all votes


def sparse(cell: str, known: Teaching, seed: int) -> Floats:
    """(m, k) the shares of the votes that a run of this cell keeps, however it delivers them."""
    return _made(delivery(group_of(cell), "soft"), known, seed).expected()


def distances(deliver: str, known: Teaching, seed: int, epochs: int) -> dict[str, float]:
    """Mean distances to the shares of all votes: of the ``target``, which the policy delivers in
    the long run, and of the labels that were ``taught`` in these epochs."""
    made, rng = _made(deliver, known, seed), Draws(seed)
    rows = np.arange(len(known))
    taught = sum(made.labels_for(epoch, rows, rng) for epoch in range(epochs)) / epochs
    found = {}
    for what, labels in (("target", made.expected()), ("taught", np.asarray(taught))):
        found[f"{what}/total-variation"] = metrics.total_variation(known.pooled, labels)
        found[f"{what}/js-distance"] = metrics.js_distance(known.pooled, labels)
        found[f"{what}/kl"] = metrics.kl(labels, known.pooled)
    means = {name: float(values.mean()) for name, values in found.items()}
    # labels with mass where nobody voted (smoothed, shuffled) are infinitely far by KL
    return {name: mean for name, mean in means.items() if np.isfinite(mean)}


def by_distance(full: Floats, kept: Floats, predicted: Floats) -> dict[str, float]:
    """The mean cross-entropy to all people's shares of the training items whose kept votes lie so
    far from these: ``learned/0.1-0.2``.  Intervals without an item are left out."""
    far = metrics.total_variation(full, kept)
    loss = metrics.cross_entropy(full, predicted)
    bins = np.clip(np.searchsorted(EDGES, far, side="right") - 1, 0, len(EDGES) - 2)
    return {f"learned/{bin_name(one)}": float(loss[bins == one].mean()) for one in np.unique(bins)}


def bin_name(number: int) -> str:
    """
    >>> bin_name(1)
    '0.02-0.1'
    """
    return f"{EDGES[number]:g}-{EDGES[number + 1]:g}"


def _made(deliver: str, known: Teaching, seed: int) -> Foretold:
    made: Foretold = registry.parse("deliver", deliver)(known, Draws(seed))
    return made
