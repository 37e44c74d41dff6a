"""Regular expressions that strangers' texts are matched with: none may take long.

Python tries the alternatives of a pattern one after the other, and some patterns have more of them
than there are seconds: ``(a+)+`` needs 2**30 steps to refuse thirty letters.  So the steps are
counted from the pattern, for the longest id that is looked at, as if every choice were open at
every place; that is never too few, and for usual patterns not too many.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from re import _parser as parser  # type: ignore[attr-defined]  # the only reader of patterns
from typing import Any

LONGEST = 200  # characters of an id; longer ones are refused before they are matched
MOST = 100_000  # steps: a few milliseconds
NO_IDS = ("", " ", "{{%ID%}}")  # nothing, a blank, and what a recruiter failed to fill in
BETTER = "for instance [A-Za-z0-9_-]{1,64}"


class _TooMany(Exception):
    pass


def fault_of_pattern(pattern: str) -> str | None:
    """Why a pattern cannot be used to recognise ids, or None."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what Python will read differently one day
            matches = re.compile(pattern).fullmatch
        _count(parser.parse(pattern))
    except _TooMany:
        return (
            f"could take very long to refuse an id: write no repeat inside a repeat, as in (a+)+, "
            f"and say how often at most, {BETTER}"
        )
    except (re.error, OverflowError, RecursionError, Warning) as wrong:
        return f"is not a regular expression: {wrong}"
    for text in NO_IDS:
        if matches(text):
            return f"matches {text!r} too, which is no id; name the characters of an id, {BETTER}"
    return None


def _count(sequence: Iterable[tuple[Any, Any]]) -> tuple[int, int]:
    """In how many ways this can match, and in how many steps they can all be tried."""
    ways, steps = 1, 1
    for kind, value in sequence:
        more_ways, more_steps = _count_one(str(kind), value)
        steps += ways * more_steps
        ways *= more_ways
        if max(steps, ways) > MOST:
            raise _TooMany
    return ways, steps


def _count_one(kind: str, value: Any) -> tuple[int, int]:
    if kind.endswith("_REPEAT"):
        least, most, inner = value
        return _repeated(int(least), int(most), *_count(inner))
    if kind == "BRANCH":
        return _either(value[1])
    if kind == "GROUPREF_EXISTS":
        return _either([value[1], value[2] or []])
    if kind in ("SUBPATTERN", "ASSERT", "ASSERT_NOT"):
        return _count(value[-1])
    if kind == "ATOMIC_GROUP":
        return _count(value)
    return 1, 1  # a character, a place, or what a group has matched


def _either(alternatives: Iterable[Any]) -> tuple[int, int]:
    counted = [_count(one) for one in alternatives]
    return sum(ways for ways, _ in counted), sum(steps for _, steps in counted)


def _repeated(least: int, most: int, ways: int, steps: int) -> tuple[int, int]:
    """Something repeated from least to most times, in a text that may be as long as an id."""
    all_ways, all_steps, so_far = 0, 0, 1
    for number in range(min(most, max(least, LONGEST)) + 1):
        if number >= least:
            all_ways += so_far
        all_steps += so_far * steps
        so_far *= ways
        if max(all_steps, so_far) > MOST:
            raise _TooMany
    return all_ways, all_steps
