"""One line that says what many runs will cost, before they start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from softlabel.train import cost
from softlabel.train.costing import spoken
from softlabel.train.recipes.crew import Standing


def price(standings: Sequence[Standing], at_once: int) -> str:
    """How many runs, how many are there already, and how long the rest will take.

    Each kind of network is tried for a moment; of runs that are on a cluster only this machine's
    time is known.
    """
    todo = [one for one in standings if one.state != "finished"]
    known: dict[str, float] = {}
    total = 0.0
    for one in todo:
        if one.job.takes is not None:
            key = f"{one.job.takes} s"
            known[key] = one.job.takes
        else:
            config, (shape, classes) = one.job.config, one.job.size()
            key = f"{config.net} {config.epochs} {config.batch} {shape}"
            if key not in known:
                with _threads(1 if at_once > 1 else torch.get_num_threads()):
                    known[key] = cost(config, shape[0], classes, shape[1:]).seconds
        total += known[key] * (1 - one.epoch / one.epochs)
    there = len(standings) - len(todo)
    text = f"{_count(len(standings), 'run')}"
    if there:
        text += f", {there} finished already"
    if not todo:
        return f"{text}: nothing to do"
    each = sorted(set(known.values()))
    span = spoken(each[0]) if len(each) == 1 else f"{spoken(each[0])} to {spoken(each[-1])}"
    lanes = min(at_once, len(todo))
    return (
        f"{text}; {len(todo)} to do, about {span} each, {lanes} at a time: "
        f"about {spoken(total / lanes)}"
    )


@contextmanager
def _threads(number: int) -> Iterator[None]:
    """As many as the runs will have."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
