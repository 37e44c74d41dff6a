"""Seconds per answer and per field, by mode."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from softlabel import registry
from softlabel.metrics import Spread, spread

SUBMIT = "submit"  # the last step, which is no field

Steps = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Seconds:
    """One mode: the whole answer, the wait until the first input, and the steps after it.

    ``steps`` holds, for every field and for the submission, the seconds since the step before it:
    the steps of one answer add up to the time from showing to submission.
    """

    mode: str
    answer: Spread
    first: Spread
    steps: Mapping[str, Spread]


def steps(fields: Mapping[str, float], submit_ms: float | None) -> Steps:
    """The fields in the order in which they were left, each with the seconds since the one before.

    >>> steps({"top": 1240, "certainty": 1910}, 2310)
    (('top', 1.24), ('certainty', 0.67), ('submit', 0.4))
    """
    ends = [(at, False, name) for name, at in fields.items()]
    if submit_ms is not None:
        ends.append((submit_ms, True, SUBMIT))
    found, before = [], 0.0
    for at, _, name in sorted(ends):
        found.append((name, round((at - before) / 1000, 3)))
        before = at
    return tuple(found)


def by_mode(answers: Iterable[tuple[str, float, float, Steps]]) -> tuple[Seconds, ...]:
    """Of ``(mode, whole answer, first input, steps)``: modes with most answers first, steps in the
    order in which they are asked."""
    whole: dict[str, list[float]] = {}
    first: dict[str, list[float]] = {}
    parts: dict[str, dict[str, list[float]]] = {}
    for mode, answer, begun, taken in answers:
        whole.setdefault(mode, []).append(answer)
        first.setdefault(mode, []).append(begun)
        mine = parts.setdefault(mode, {})
        for name, time in taken:
            mine.setdefault(name, []).append(time)
    return tuple(
        Seconds(
            mode,
            spread(whole[mode]),
            spread(first[mode]),
            {name: spread(parts[mode][name]) for name in _in_order(mode, parts[mode])},
        )
        for mode in sorted(whole, key=lambda mode: -len(whole[mode]))
    )


def _in_order(mode: str, found: Iterable[str]) -> list[str]:
    """As the mode asks; what it does not know after that, and the submission last."""
    known = registry.members("mode").get(mode)
    asked = {field.name: place for place, field in enumerate(known.fields)} if known else {}
    return sorted(found, key=lambda name: (name == SUBMIT, asked.get(name, len(asked)), name))
