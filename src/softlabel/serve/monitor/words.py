"""Numbers as people say them: on the dashboard and in the terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime

NONE = "–"


def count(n: float) -> str:
    """1234 -> 1,234; a dash where there is no number."""
    return f"{n:,.0f}" if math.isfinite(n) else NONE


def number(value: float, digits: int = 2) -> str:
    """With so many decimals and a real minus sign; a dash where there is no number."""
    return f"{value:,.{digits}f}".replace("-", "−") if math.isfinite(value) else NONE


def seconds(value: float) -> str:
    """Short times with one decimal, long ones without.

    >>> seconds(2.34), seconds(123.4)
    ('2.3', '123')
    """
    return number(value, 1 if value < 100 else 0)


def skips(by_reason: Mapping[str, int]) -> str:
    """How often items were skipped, and why.

    >>> skips({"cannot_judge": 2, "not_in_list": 1}), skips({})
    ('3 (2 cannot judge, 1 not in list)', '0')
    """
    if not by_reason:
        return "0"
    why = (f"{count(n)} {reason.replace('_', ' ')}" for reason, n in by_reason.items())
    return f"{count(sum(by_reason.values()))} ({', '.join(why)})"


def share(part: float, whole: float) -> str:
    """A percentage; never 100 before all is there.

    >>> share(999, 1000), share(1, 3), share(0, 0)
    ('99 %', '33 %', '–')
    """
    return f"{math.floor(100 * part / whole)} %" if whole else NONE


def duration(hours: float) -> str:
    """How long something will take, to the precision that a forecast has.

    >>> duration(0.3), duration(5.2), duration(60)
    ('18 min', '5 h 10 min', '2 days 12 h')
    """
    if not math.isfinite(hours):
        return NONE
    minutes = round(hours * 60)
    if minutes < 60:
        return f"{max(minutes, 1)} min"
    if minutes < 48 * 60:
        tens = round(minutes / 10) * 10
        return f"{tens // 60} h {tens % 60} min" if tens % 60 else f"{tens // 60} h"
    days, rest = divmod(round(hours), 24)
    return f"{days} days {rest} h" if rest else f"{days} days"


def money(amount: float, currency: str) -> str:
    """An amount and its currency."""
    return f"{currency} {amount:,.2f}" if math.isfinite(amount) else NONE


def clock(at: float) -> str:
    """The time of day in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M:%S")


def moment(at: float, now: float) -> str:
    """The time of day in UTC; of another day, the date with it."""
    then, today = (datetime.fromtimestamp(one, UTC) for one in (at, now))
    return clock(at) if then.date() == today.date() else then.strftime("%d %b %H:%M")


def day(at: float) -> str:
    """The date and the time in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")
