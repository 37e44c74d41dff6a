"""Which items a person sees again at the end."""

from __future__ import annotations

from softlabel.study.allocation import Allocation
from softlabel.study.batches import Targets
from softlabel.study.findings import Findings
from softlabel.study.settings import FILE, Settings

STEP, USUAL = 5, 2  # CIFAR-10S repeated two items, those at places 5 and 10


def read_repeats(
    settings: Settings, allocation: Allocation | None, targets: Targets, findings: Findings
) -> tuple[int, ...]:
    """Places among a person's own items, counted from 0, in the order of the repeats."""
    section, size = settings.file.items, own_items(settings, targets)
    count, positions = section.repeats, section.repeat_positions
    if count is None and positions is None and allocation is not None:
        count = allocation.repeats
        positions = None if allocation.positions is None else list(allocation.positions)
    if settings.broken & {"items.repeats", "items.repeat_positions"} or not size:
        return ()
    if positions is not None:
        _check(count, positions, size, findings)
        return tuple(positions)
    if count is None:
        return tuple(place for place in range(STEP, STEP * USUAL + 1, STEP) if place < size)
    if count > size:
        reason = f"a person has {size} items only, so at most {size} can come again"
        findings.wrong(FILE, "items.repeats", count, reason)
        return ()
    return spread(count, size)


def own_items(settings: Settings, targets: Targets) -> int:
    """How many items every person has at least: the smallest batch, or ``per_annotator``."""
    if targets.batches:
        return min(map(len, targets.batches.values()))
    wanted = settings.file.items.per_annotator
    return min(wanted or len(targets.items), len(targets.items))


def spread(count: int, size: int) -> tuple[int, ...]:
    """Places 5, 10, 15 and so on; where these do not fit, evenly spread ones.

    >>> spread(2, 25), spread(4, 12)
    ((5, 10), (2, 4, 7, 9))
    """
    if count * STEP < size:
        return tuple(STEP * n for n in range(1, count + 1))
    return tuple((n * size) // (count + 1) for n in range(1, count + 1))


def _check(count: int | None, positions: list[int], size: int, findings: Findings) -> None:
    key = "items.repeat_positions"
    if count is not None and count != len(positions):
        reason = f"repeats = {count}, so there must be as many places"
        findings.wrong(FILE, key, positions, reason)
    for place in dict.fromkeys(positions):
        if place >= size:
            reason = f"a person has {size} items, at places 0 to {size - 1}"
            findings.wrong(FILE, key, place, reason)
        if positions.count(place) > 1:
            findings.wrong(FILE, key, place, "stands there more than once")
