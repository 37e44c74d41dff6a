"""The checks that every strategy passes, ours and yours.

``check_mode``, ``check_construct``, ``check_aggregate``, ``check_deliver``, ``check_metric``,
``check_format`` and ``check_policy`` run all checks of a family and raise ``AssertionError`` with a
sentence on the first that fails; an error of the strategy's own passes through.  Each check tests
one property: it is a public function of a chapter here whose first parameter is the strategy.
Strategies loaded with ``--load`` are checked too.
"""

from collections.abc import Callable, Sequence
from inspect import isfunction, signature
from types import ModuleType
from typing import Any

from softlabel import io
from softlabel.aggregate import Aggregate
from softlabel.construct import Construct
from softlabel.deliver import Deliver
from softlabel.elicit import Mode
from softlabel.testing import answers, pools, training
from softlabel.testing.answers import LABELS
from softlabel.testing.examples import example_soft, example_statements, example_votes
from softlabel.testing.training import example_teaching

__all__ = [
    "AGGREGATE_CHECKS", "CONSTRUCT_CHECKS", "DELIVER_CHECKS", "FORMAT_CHECKS", "METRIC_CHECKS",
    "MODE_CHECKS", "POLICY_CHECKS", "check_aggregate", "check_construct", "check_deliver",
    "check_family", "check_format", "check_metric", "check_mode", "check_policy", "example_soft",
    "example_statements", "example_teaching", "example_votes",
]  # fmt: skip


def _checks(chapter: ModuleType, first: str) -> tuple[Callable[..., None], ...]:
    """Return the public functions of a chapter with this first parameter, in the page's order."""
    functions = [value for value in vars(chapter).values() if isfunction(value)]
    own = [function for function in functions if function.__module__ == chapter.__name__]
    public = [function for function in own if not function.__name__.startswith("_")]
    return tuple(check for check in public if next(iter(signature(check).parameters), "") == first)


MODE_CHECKS = _checks(answers, "mode")
CONSTRUCT_CHECKS = _checks(answers, "construct")
AGGREGATE_CHECKS = _checks(pools, "aggregate")
DELIVER_CHECKS = _checks(training, "deliver")
METRIC_CHECKS = _checks(training, "metric")
FORMAT_CHECKS = _checks(answers, "reader")
POLICY_CHECKS = _checks(pools, "policy")


def check_mode(mode: Mode, labels: Sequence[str] = LABELS) -> None:
    """Run all checks of a mode, with these classes."""
    for check in MODE_CHECKS:
        check(mode, labels)


def check_construct(construct: Construct) -> None:
    """Run all checks of a construction."""
    for check in CONSTRUCT_CHECKS:
        check(construct)


def check_aggregate(aggregate: Aggregate) -> None:
    """Run all checks of an aggregator."""
    for check in AGGREGATE_CHECKS:
        check(aggregate)


def check_deliver(deliver: Deliver) -> None:
    """Run all checks of a delivery."""
    for check in DELIVER_CHECKS:
        check(deliver)


def check_metric(metric: Callable[..., Any]) -> None:
    """Run all checks of a metric."""
    for check in METRIC_CHECKS:
        check(metric)


def check_format(reader: io.formats.Format) -> None:
    """Run all checks of a format of other programs' files."""
    for check in FORMAT_CHECKS:
        check(reader)


def check_policy(policy: Any) -> None:
    """Run all checks of a policy that decides what to ask next."""
    for check in POLICY_CHECKS:
        check(policy)


def check_family(family: str, strategy: Any) -> None:
    """Run the checks of a family by its name; a family without checks is an error, not a pass."""
    checks: dict[str, Callable[..., None]] = {
        "mode": check_mode,
        "construct": check_construct,
        "aggregate": check_aggregate,
        "deliver": check_deliver,
        "metric": check_metric,
        "format": check_format,
        "policy": check_policy,
    }
    assert family in checks, f"there are no checks for the family {family!r}"
    checks[family](strategy if family == "metric" else strategy())
