"""What runs will cost, before they start: one run from a trial step, and one line for many."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch.utils.flop_counter import FlopCounterMode

from softlabel.errors import SoftlabelError
from softlabel.train.config import Config
from softlabel.train.loop import choose_device, choose_half
from softlabel.train.losses import soft_cross_entropy
from softlabel.train.networks import count_parameters, make_network
from softlabel.train.runner import JobState
from softlabel.train.runs import replaced_runs

WORK = 4e10  # floating-point operations of the trial step: a second on a laptop's core


@dataclass(frozen=True)
class Cost:
    """Of one run: ``flops`` are of one item forward, ``seconds`` of all epochs on this machine."""

    net: str
    parameters: int
    flops: int
    items: int
    epochs: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.net}: {self.parameters:,} parameters, {self.flops / 1e6:.1f} MFLOP per item; "
            f"{self.epochs} epochs of {self.items:,} items: about {format_seconds(self.seconds)}"
        )


def estimate_cost(
    config: Config, items: int, classes: int = 10, shape: tuple[int, ...] = (32, 32, 3)
) -> Cost:
    """Estimate the cost of a run from a trial step of this network on this device.

    The step has as many of a batch's items as take a moment, forward and backward; its time per
    item is multiplied by all items of all epochs.
    """
    item = (shape[-1], *shape[:-1])  # (3, h, w) or (d,)
    takes = "" if len(item) > 1 else "; networks for features are linear and mlp:hidden=256"
    with _blaming(f"device = {config.device!r} is not on this machine; auto takes what there is"):
        device = choose_device(config)
        torch.zeros(1, device=device).tolist()
    with _blaming(f"net = {config.net!r} does not work on inputs of the shape {item}{takes}"):
        net = make_network(config.net, classes, 0, shape[-1]).to(device)
        with FlopCounterMode(display=False) as counter:
            net.eval()(torch.zeros(1, *item, device=device))
    flops = counter.get_total_flops()
    batch = int(min(config.batch, max(2, WORK / max(3 * flops, 1))))
    x = torch.zeros(batch, *item, device=device)
    target = torch.full((batch, classes), 1 / classes, device=device)
    if len(shape) == 3 and config.channels_last:
        net = net.arrange()
        x = x.contiguous(memory_format=torch.channels_last)
    net.train()
    half = choose_half(config, device)
    trials = []
    for _ in range(3):
        started = time.perf_counter()
        with torch.autocast(device.type, dtype=half, enabled=half is not None):
            scores = net(x)
        soft_cross_entropy(scores.to(x.dtype), target).backward()
        if x.is_cuda:
            torch.cuda.synchronize()
        trials.append(time.perf_counter() - started)
    seconds = min(trials) / batch * items * config.epochs
    return Cost(config.net, count_parameters(net), flops, items, config.epochs, seconds)


@contextmanager
def _blaming(setting: str) -> Iterator[None]:
    """Tell what torch raises before there are data as the fault of a ``setting``."""
    try:
        yield
    except (AssertionError, LookupError, RuntimeError, TypeError, ValueError) as error:
        reason = str(error).partition("\n")[0].partition(". ")[0]
        raise SoftlabelError(f"{setting} ({reason})") from None


def estimate_jobs(states: Sequence[JobState], at_once: int) -> str:
    """Return one line: how many runs, how many are finished, and how long the rest will take.

    Each kind of network is tried for a moment.  For runs on a cluster only this machine's time is
    known.  Runs that other code made before are counted: they are made again.
    """
    waiting = [state for state in states if state.state != "finished"]
    known: dict[str, float] = {}
    total, threads = 0.0, torch.get_num_threads()
    torch.set_num_threads(1 if at_once > 1 else threads)  # as many as the runs will have
    try:
        for state in waiting:
            if state.job.seconds is not None:
                key = f"{state.job.seconds} s"
                known[key] = state.job.seconds
            else:
                config, (shape, classes) = state.job.config, state.job.size()
                key = f"{config.net} {config.epochs} {config.batch} {shape}"
                if key not in known:
                    known[key] = estimate_cost(config, shape[0], classes, shape[1:]).seconds
            total += known[key] * (1 - state.epoch / state.epochs)
    finally:
        torch.set_num_threads(threads)
    text = f"{len(states):,} run{'' if len(states) == 1 else 's'}"
    if finished := len(states) - len(waiting):
        text += f", {finished} finished already"
    if not waiting:
        return f"{text}: nothing to do"
    if replaced := len(replaced_runs(state.run for state in waiting)):
        text += f", {replaced} made before with other code"
    each = [format_seconds(seconds) for seconds in sorted(set(known.values()))]
    span = each[0] if len(each) == 1 else f"{each[0]} to {each[-1]}"
    lanes = min(at_once, len(waiting))
    return (
        f"{text}; {len(waiting)} to do, about {span} each, {lanes} at a time: "
        f"about {format_seconds(total / lanes)}"
    )


def format_seconds(seconds: float) -> str:
    """Return a time as people say it.

    >>> format_seconds(44.2), format_seconds(300), format_seconds(40_000)
    ('44 s', '5 min', '11 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
