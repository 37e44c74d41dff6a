"""The loop: from items and their labels to a trained network, top to bottom.

Whatever is random is keyed by seed, epoch and item (``Draws``): the order, the crops, the labels.
So a run that was killed and resumed, and a run in several processes, does what an undisturbed run
in one process does.  On one machine with one number of threads a rerun gives the same bits.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from softlabel._util.progress import Tell, silent
from softlabel.deliver import Delivery, Draws, Teaching
from softlabel.errors import DataError
from softlabel.randomness import name_keys
from softlabel.tables import names
from softlabel.train import checkpoints, nets, ranks
from softlabel.train.config import Config
from softlabel.train.crowd import CrowdLayer
from softlabel.train.data import Pictures, on_device, order, ready
from softlabel.train.diverging import DivergedError
from softlabel.train.learner import Learner
from softlabel.train.objectives import Objective, objective
from softlabel.train.schedules import schedule

Check = Callable[[nn.Module, int], Mapping[str, float]]
Line = dict[str, Any]

SEEN = 2000  # pictures that a network may look at before its first step
(DROPOUT,) = name_keys(names(["dropout"])).tolist()


@dataclass(frozen=True, eq=False)
class Trained:
    """The network, ready for use; one line of log per epoch; the crowd layer, if there was one."""

    net: nets.Net
    log: tuple[Line, ...]
    layer: CrowdLayer | None = None


def fit(
    config: Config,
    inputs: npt.NDArray[Any],
    delivery: Delivery | Teaching,
    *,
    seed: int,
    folder: Path | None = None,
    tell: Tell = silent,
    check: Check | None = None,
) -> Trained:
    """Train a network on uint8 pictures (m, h, w, 3) or float32 features (m, d).

    ``delivery`` gives the labels of every epoch (for a crowd layer: the ``Teaching`` itself).  In
    ``folder`` are kept ``checkpoint.pt``, from which a stopped run goes on exactly, and
    ``log.jsonl``.  ``check(net, epoch)`` gives numbers to be logged after every epoch.
    """
    ranks.join()
    device, draws = device_of(config), Draws(seed)
    table = on_device(inputs, device)
    _check_sizes(config, len(table))
    aim = objective(config, delivery, draws, device, len(table))
    pictures = Pictures(table, config.augment, draws)
    learner = Learner(config, _begin(config, pictures, aim.classes, seed), aim.layer, device)

    made_by = {**config.decides(), "seed": seed, "inputs": _digest(inputs), "labels": aim.digest}
    record = _Record(folder if ranks.rank() == 0 else None, made_by, config.checkpoint_seconds)
    state = ranks.shared(record.resume())
    if state is not None:
        learner.restore(state)
        record.log = state["log"]
    tell = tell if ranks.rank() == 0 else silent

    plan = schedule(config.schedule)
    for epoch in range(len(record.log), config.epochs):
        begun = time.perf_counter()
        if plan.resets(epoch, config.epochs):
            learner.forget()
        loss, lr = _epoch(learner, aim, pictures, epoch, tell, record)
        line: Line = {"epoch": epoch, "loss": loss, "lr": lr}
        line |= {"seconds": round(time.perf_counter() - begun, 3), "threads": _threads(device)}
        if check is not None:
            line |= check(learner.result.eval(), epoch)
        record.add(line, learner, last=epoch + 1 == config.epochs)
    return Trained(learner.result.eval(), tuple(record.log), aim.layer)


def _epoch(
    learner: Learner,
    aim: Objective,
    pictures: Pictures,
    epoch: int,
    tell: Tell,
    record: _Record,
) -> tuple[float, float]:
    """Every item once; the mean loss and the last learning rate."""
    config, dtype = learner.config, getattr(torch, learner.config.dtype)
    items = order(pictures.draws, epoch, len(pictures.inputs))
    starts = range(0, len(items), config.batch)
    aim.turn(epoch, items)
    table = pictures.epoch(epoch, items)
    losses = torch.zeros(len(starts), dtype=dtype, device=learner.device)
    before = f", loss {record.log[-1]['loss']:.3f}" if record.log else ""
    doing = f"training: epoch {epoch + 1} of {config.epochs}{before}"
    plan, lrs = schedule(config.schedule), []
    learner.net.train()
    with _own_dropout(learner.device, pictures.draws, epoch):
        for number, start in enumerate(starts):
            whole = slice(start, min(start + config.batch, len(items)))
            part = ranks.mine(whole.stop - start)
            rows = slice(start + part.start, start + part.stop)
            scores = learner.scores(ready(table[rows], dtype))
            loss = aim.loss(scores, rows)  # of this process's rows
            losses[number] = loss.detach()
            factor = plan.factor(epoch, (number + 0.5) / len(starts), config.epochs)
            lrs.append(config.lr * factor)
            over = aim.weight(whole) if config.reduction == "mean" else 1
            learner.step(loss / over, lrs[-1])
            if learner.device.type == "cpu" and ranks.size() == 1:  # looking costs nothing here
                _look(losses[number:], epoch, number, lrs, record)
            tell(doing, epoch * len(starts) + number + 1, config.epochs * len(starts))
    losses = ranks.total(losses).cpu()  # the one time in an epoch that a GPU is waited for
    _look(losses, epoch, 0, lrs, record)
    return float(losses.double().sum()) / aim.weight(slice(0, len(items))), lrs[-1]


def _look(losses: Tensor, epoch: int, first: int, lrs: list[float], record: _Record) -> None:
    """Stop if a loss is not finite, and leave a line in the log that says so."""
    wrong = ~losses.isfinite()
    if wrong.any():
        step = first + int(wrong.nonzero()[0])
        record.note({"epoch": epoch, "step": step, "lr": lrs[step], "diverged": True})
        raise DivergedError(epoch, step, lrs[step])


class _Record:
    """The log and the checkpoint of a run; without a folder, the log alone."""

    def __init__(self, folder: Path | None, made_by: dict[str, Any], every: float) -> None:
        self.folder, self.made_by, self.every = folder, made_by, every
        self.log: list[Line] = []
        self.saved = -math.inf

    def resume(self) -> dict[str, Any] | None:
        """The state of an earlier attempt; its log, too, goes back to that moment."""
        if self.folder is None:
            return None
        self.folder.mkdir(parents=True, exist_ok=True)
        state = checkpoints.load(self.folder, self.made_by)
        checkpoints.write_log(self.folder, state["log"] if state else [])
        return state

    def add(self, line: Line, learner: Learner, last: bool) -> None:
        """An epoch is over."""
        self.log.append(line)
        self.note(line)
        if self.folder and (last or time.monotonic() - self.saved >= self.every):
            state = {**learner.state(), "log": self.log, "made_by": self.made_by}
            checkpoints.save(self.folder, state)
            self.saved = time.monotonic()

    def note(self, line: Line) -> None:
        if self.folder:
            checkpoints.add_to_log(self.folder, line)


def device_of(config: Config) -> torch.device:
    """The one that is named, or else this process's own GPU, or else the CPU."""
    if config.device != "auto":
        return torch.device(config.device)
    if not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))


def _begin(config: Config, pictures: Pictures, classes: int, seed: int) -> nets.Net:
    """The network before its first step, on the device, in the layout that is fastest there."""
    inputs, dtype = pictures.inputs, getattr(torch, config.dtype)
    net = nets.make(config.net, classes, seed, inputs.shape[-1]).to(inputs.device, dtype)
    net.look(ready(inputs[:SEEN], dtype))
    if config.channels_last and inputs.ndim == 4:
        net = net.arranged()
    return net


def _check_sizes(config: Config, count: int) -> None:
    if count == 0:
        raise DataError("there are no items to train on")
    ranks.mine(count % config.batch or min(config.batch, count))  # of the last batch, too


@contextmanager
def _own_dropout(device: torch.device, draws: Draws, epoch: int) -> Iterator[None]:
    """Dropout draws from torch's global generator: for an epoch it is ours, and keyed."""
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(int(draws.uniform(DROPOUT, epoch, ranks.rank()) * 2**53))
        yield


def _threads(device: torch.device) -> int:
    return torch.get_num_threads() if device.type == "cpu" else 0


def _digest(inputs: npt.NDArray[Any]) -> str:
    return blake2b(np.ascontiguousarray(inputs).data, digest_size=8).hexdigest()
