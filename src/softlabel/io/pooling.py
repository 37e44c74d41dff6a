"""One label per item, and what must be told about how it came about."""

from __future__ import annotations

import numpy as np

from softlabel import registry
from softlabel.aggregate import Aggregate, LabelDistribution, TruthPosterior, takes
from softlabel.errors import SoftlabelError
from softlabel.tables import DOUBT, ESTIMATES, Annotations, Bools, Floats, Ints, SoftLabels

Facts = dict[str, str]

LEVEL = 0.9  # of credible intervals
SAME = 1e-6  # a label nearer than this to the mean of a belief is that mean


def pooled(aggregate: Aggregate, each: Annotations, gold: Ints | None = None) -> SoftLabels:
    """The labels; ``gold`` (m,) are classes that are known (-1: not known), for pools that take
    them."""
    if gold is None:
        return aggregate(each)
    check_gold(aggregate)
    made: SoftLabels = aggregate(each, gold=gold)  # type: ignore[call-arg]
    return made


def check_gold(aggregate: Aggregate) -> None:
    """Refuse a pool that would pass over what is known, and name those that learn from it."""
    if not takes(aggregate, "gold"):
        known = registry.members("aggregate").items()
        able = [name for name, kind in known if takes(kind, "gold")]
        raise SoftlabelError(
            f"--gold: {aggregate.name} does not learn from items whose class is known; pools that "
            f"do: {', '.join(able)}"
        )


def outcome(soft: SoftLabels, gold: Ints | None = None) -> Facts:
    """What the labels estimate and how sure they are of it, and what the pool has to say."""
    facts = {"estimates": ESTIMATES[soft.estimand]}
    if gold is not None:
        facts["gold"] = f"{int((gold >= 0).sum()):,} items fixed"
    if isinstance(soft, LabelDistribution) and soft.chosen:
        facts["chosen"] = f"{soft.chosen}: {soft.why}"
    if isinstance(soft, TruthPosterior) and len(soft.trace):
        end = "converged" if soft.converged else "not converged"
        facts["fit"] = f"{len(soft.trace)} steps, {end}; {soft.objective} {soft.trace[-1]:.6g}"
    doubt = float(soft.entropy(soft.estimand)[soft.answered].mean())
    return facts | {"mean entropy": f"{doubt:.4f} nats ({DOUBT[soft.estimand]})"}


def beliefs(soft: SoftLabels) -> dict[str, Floats]:
    """What is believed about how people split over each item: ``low`` and ``high`` (m, k), 90 %
    credible limits of each class, and ``gain`` (m,), what one more vote would teach in nats.

    Only for labels that are the mean of the belief: a label and its interval must be one belief.
    """
    belief = getattr(soft, "belief", None)
    if soft.estimand != "distribution":
        raise SoftlabelError(
            f"--intervals: {soft.made_by} estimates {ESTIMATES['truth']}, and its label says how "
            f"sure that is; intervals are for pools that estimate {ESTIMATES['distribution']}"
        )
    if belief is None:
        raise SoftlabelError(
            f"--intervals: {soft.made_by} gives a label and no belief about it; try "
            "--aggregate auto, dirichlet or dirichlet-mixture"
        )
    nobody = ~soft.answered
    if abs(belief.mean() - soft.probs)[~nobody].max(initial=0) > SAME:
        chosen = getattr(soft, "chosen", "")
        pool = f"{soft.made_by} (here: {chosen})" if chosen else soft.made_by
        raise SoftlabelError(
            f"--intervals: {pool} has no model of how sure its label is, and intervals of another "
            "model need not contain it; leave --intervals out, or use --aggregate dirichlet or "
            "dirichlet-mixture, which take votes and soft answers"
        )
    low, high = belief.interval(LEVEL)
    found = {"low": low, "high": high, "gain": belief.gain()}
    return {name: _blanked(values, nobody) for name, values in found.items()}


def _blanked(values: Floats, nobody: Bools) -> Floats:
    """NaN where nobody answered: what is believed of all items is no finding about this one."""
    values = np.array(values)
    values[nobody] = np.nan
    return values
