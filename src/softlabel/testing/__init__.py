"""The checks every strategy passes, ours and yours.

``check_mode``, ``check_construct``, ``check_aggregate``, ``check_deliver`` and ``check_metric`` run
all properties of a family and raise ``AssertionError`` with a sentence on the first that does not
hold; an error of the strategy's own passes through.  Each property is a function, listed beneath
its family; strategies loaded with ``--load`` go through them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from softlabel.aggregate import Aggregate
from softlabel.construct import Construct
from softlabel.deliver import Deliver
from softlabel.elicit import Mode
from softlabel.testing.constructions import CONSTRUCT_CHECKS
from softlabel.testing.deliveries import DELIVER_CHECKS, example_teaching
from softlabel.testing.examples import example_soft, example_statements, example_votes
from softlabel.testing.modes import LABELS, MODE_CHECKS
from softlabel.testing.pools import POOL_CHECKS
from softlabel.testing.scores import METRIC_CHECKS
from softlabel.testing.splits import SPLIT_CHECKS
from softlabel.testing.truths import TRUTH_CHECKS

__all__ = [
    "AGGREGATE_CHECKS",
    "CONSTRUCT_CHECKS",
    "DELIVER_CHECKS",
    "METRIC_CHECKS",
    "MODE_CHECKS",
    "check_aggregate",
    "check_construct",
    "check_deliver",
    "check_family",
    "check_metric",
    "check_mode",
    "example_soft",
    "example_statements",
    "example_teaching",
    "example_votes",
]


AGGREGATE_CHECKS = (*POOL_CHECKS, *TRUTH_CHECKS, *SPLIT_CHECKS)


def check_mode(mode: Mode, labels: Sequence[str] = LABELS) -> None:
    """All properties of a way of asking, asked about these classes."""
    for check in MODE_CHECKS:
        check(mode, labels)


def check_construct(construct: Construct) -> None:
    """All properties of a construction."""
    for check in CONSTRUCT_CHECKS:
        check(construct)


def check_aggregate(aggregate: Aggregate) -> None:
    """All properties of an aggregator; those of one family are passed over by the other."""
    for check in AGGREGATE_CHECKS:
        check(aggregate)


def check_deliver(deliver: Deliver) -> None:
    """All properties of a way to deliver labels."""
    for check in DELIVER_CHECKS:
        check(deliver)


def check_metric(metric: Callable[..., Any]) -> None:
    """All properties of a metric."""
    for check in METRIC_CHECKS:
        check(metric)


def check_family(family: str, strategy: Any) -> None:
    """The checks of a family by its name; a family without checks is an error, not a pass."""
    checks: dict[str, Callable[[Any], None]] = {
        "mode": lambda kind: check_mode(kind()),
        "construct": lambda kind: check_construct(kind()),
        "aggregate": lambda kind: check_aggregate(kind()),
        "deliver": lambda kind: check_deliver(kind()),
        "metric": check_metric,
    }
    assert family in checks, f"there are no checks for the family {family!r}"
    checks[family](strategy)
