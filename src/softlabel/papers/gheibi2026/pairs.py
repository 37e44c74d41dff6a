"""Two runs side by side: taught softly and by single votes, or the same from two seeds.

The scores of a pair are kept with whichever of the two is looked at while the other is finished; so
that none is missed, both keep them under one name.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.stats import rankdata

from softlabel import metrics, registry
from softlabel.papers.gheibi2026 import targets
from softlabel.papers.gheibi2026.cells import PROBED, delivery, group_of, policy_of
from softlabel.papers.gheibi2026.flat import barrier
from softlabel.papers.gheibi2026.look import SEEN, Look
from softlabel.tables import Floats
from softlabel.train import Run, predicting
from softlabel.train import name as name_of

SOFT, SINGLE = "soft", ("sls", "multipass")
COMPARED = 500  # items held out whose features are compared between seeds


def twin(run: Run, deliver: str, seed: int) -> Run | None:
    """The finished run beside this one that differs in its delivery or its seed alone."""
    described = registry.describe(registry.parse("deliver", deliver))
    config = {**run.config, "deliver": described}
    other = Run(run.path.with_name(name_of(config, run.labels, seed)))
    return other if other.finished else None


def pairs(look: Look) -> dict[str, float]:
    """All that can be said of this run and the others that are there."""
    return _with_other_policies(look) | _with_other_seeds(look)


def _with_other_policies(look: Look) -> dict[str, float]:
    found: dict[str, float] = {}
    name, policy = look.cell.name, policy_of(look.cell.name)
    others = SINGLE if policy == SOFT else (SOFT,) if policy in SINGLE else ()
    for other in others:
        there = _look(look, other, look.run.seed)
        if there is None:
            continue
        soft, single = (look, there) if policy == SOFT else (there, look)
        called = policy_of(single.cell.name)
        found |= gain_by_distance(soft, single, called)
        if name in PROBED:
            found |= barrier(soft, single, called)
    return found


def gain_by_distance(soft: Look, single: Look, name: str) -> dict[str, float]:
    """Spearman's correlation over training items: how far the kept votes are from all of them, and
    how much nearer to all people the network taught by single votes ends than that taught softly.

    Undefined where all votes are kept.
    """
    known, full = soft.lesson.teaching, soft.full[:SEEN]
    kept = targets.sparse(soft.cell.name, known, soft.run.seed)[:SEEN]
    far = metrics.js_distance(full, kept)
    if np.ptp(far) < 1e-12:
        return {}
    one, two = (
        metrics.cross_entropy(full, predicting.probs(each.net, each.lesson.inputs[:SEEN]))
        for each in (soft, single)
    )
    return {f"gain-by-distance/{name}": metrics.correlation(rankdata(far), rankdata(one - two))}


def _with_other_seeds(look: Look) -> dict[str, float]:
    if look.cell.name not in PROBED:
        return {}
    found = {}
    for name, seed in (("next", look.run.seed + 1), ("previous", look.run.seed - 1)):
        there = _look(look, policy_of(look.cell.name), seed)
        if there is not None:
            held = look.lesson.held[:COMPARED]
            both = (predicting.features(each.net, held) for each in (look, there))
            found[f"cka/{name}"] = cka(*(rows.astype(np.float64) for rows in both))
    return found


def cka(first: Floats, second: Floats) -> float:
    """Linear centred kernel alignment of two tables of features (m, d) of the same items
    (Kornblith et al. 2019); 1 where one is the other turned and scaled."""
    one, two = (rows - rows.mean(axis=0) for rows in (first, second))
    shared = np.linalg.norm(one.T @ two) ** 2
    return float(shared / (np.linalg.norm(one.T @ one) * np.linalg.norm(two.T @ two)))


def _look(look: Look, policy: str, seed: int) -> Look | None:
    group = group_of(look.cell.name)
    cell = replace(look.cell, name=f"{group}/{policy}", deliver=delivery(group, policy))
    run = twin(look.run, delivery(group, policy), seed) if seed >= 0 else None
    return None if run is None else Look(run, cell)
