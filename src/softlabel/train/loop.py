"""The loop: from items and their labels to a trained network, top to bottom.

All random draws are keyed by seed, epoch and item (``Draws``): the order, the crops, the labels.
So a run that was killed and resumed, and a run in several processes, does what an undisturbed run
in one process does.  On one machine with one number of threads a rerun gives the same bits.
"""

from __future__ import annotations

import json
import math
import os
import pickle
import time
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from softlabel._util.files import write_atomically
from softlabel._util.progress import Progress, silent
from softlabel.deliver import Delivery, Draws, TrainingLabels
from softlabel.errors import DataError, FileError, SoftlabelError
from softlabel.randomness import name_keys
from softlabel.tables import names
from softlabel.train import networks, ranks
from softlabel.train.config import OPTIMISERS, Config
from softlabel.train.data import Pictures, epoch_order, prepare, to_device
from softlabel.train.losses import CrowdLayer
from softlabel.train.objectives import Objective, make_objective
from softlabel.train.runs import CHECKPOINT, LOG, open_synced
from softlabel.train.schedules import find_schedule

Check = Callable[[nn.Module, int], Mapping[str, float]]
Line = dict[str, Any]

VALIDATION = "validation "  # before the names of scores on validation items in the log
HALF_CPU = ("avx512_bf16", "amx_bf16")  # what a CPU that computes in bfloat16 has
INSPECTED = 2000  # pictures that a network may inspect before its first step
(DROPOUT,) = name_keys(names(["dropout"])).tolist()


class DivergedError(SoftlabelError):
    """The loss is no longer a finite number: where, and at which learning rate."""

    def __init__(self, epoch: int, step: int, lr: float) -> None:
        self.epoch, self.step, self.lr = epoch, step, lr
        super().__init__(
            f"training diverged: the loss is not a finite number in epoch {epoch}, step {step} of "
            f"it, at learning rate {lr:.3g}; try a lower lr, or clip = 1 (the log is kept)"
        )


@dataclass(frozen=True, eq=False)
class Trained:
    """The network, ready for use; one line of log per epoch; the crowd layer, if there was one."""

    net: networks.Net
    log: tuple[Line, ...]
    layer: CrowdLayer | None = None


def fit(
    config: Config,
    inputs: npt.NDArray[Any],
    delivery: Delivery | TrainingLabels,
    *,
    seed: int,
    folder: Path | None = None,
    tell: Progress = silent,
    check: Check | None = None,
) -> Trained:
    """Train a network on uint8 pictures (m, h, w, 3) or float32 features (m, d).

    ``delivery`` gives the labels of every epoch (for a crowd layer: the ``TrainingLabels`` itself).
    ``folder`` holds ``checkpoint.pt``, from which a stopped run resumes exactly, and
    ``log.jsonl``.  ``check(net, epoch)`` returns numbers to be logged after every epoch; among them
    must be the score on validation items by which ``config.keep`` chooses the epoch.
    """
    ranks.join()
    device, draws = choose_device(config), Draws(seed)
    table = to_device(inputs, device)
    if not len(table):
        raise DataError("there are no items to train on")
    ranks.own_part(len(table) % config.batch or min(config.batch, len(table)))  # the last batch
    objective = make_objective(config, delivery, draws, device, len(table))
    pictures = Pictures(table, config.augment, draws)
    dtype = getattr(torch, config.dtype)
    net = networks.make_network(config.net, objective.classes, seed, table.shape[-1])
    net = net.to(device, dtype)
    net.inspect(prepare(pictures.inputs[:INSPECTED], dtype))
    if config.channels_last and table.ndim == 4:
        net = net.arrange()
    learner = Learner(config, net, objective.layer, device)

    digest = blake2b(np.ascontiguousarray(inputs).data, digest_size=8).hexdigest()
    made_by = {**config.identity(), "seed": seed, "inputs": digest, "labels": objective.digest}
    record = _Record(folder if ranks.rank() == 0 else None, made_by, config.checkpoint_seconds)
    state = ranks.broadcast(record.resume())
    if state is not None:
        learner.restore(state)
        record.log = state["log"]
    tell = tell if ranks.rank() == 0 else silent

    schedule = find_schedule(config.schedule)
    for epoch in range(len(record.log), config.epochs):
        started = time.perf_counter()
        if schedule.resets(epoch, config.epochs):
            learner.optimiser.state.clear()  # momentum, and all else it keeps
        loss, lr = _run_epoch(learner, objective, pictures, epoch, tell, record)
        threads = torch.get_num_threads() if device.type == "cpu" else 0
        line: Line = {"epoch": epoch, "loss": loss, "lr": lr}
        line |= {"seconds": round(time.perf_counter() - started, 3), "threads": threads}
        if check is not None:
            line |= check(learner.result.eval(), epoch)
        if config.keep != "last" and is_best(config.keep, [*record.log, line]):
            learner.best = deepcopy(learner.result.state_dict())
        record.add(line, learner, last=epoch + 1 == config.epochs)
    if learner.best is not None:
        learner.result.load_state_dict(learner.best)
    return Trained(learner.result.eval(), tuple(record.log), objective.layer)


def is_best(score: str, log: Sequence[Line]) -> bool:
    """Return True if the last epoch of the log is better than all before it on validation items.

    >>> is_best("accuracy", [{"validation accuracy": 0.8}, {"validation accuracy": 0.8}])
    False
    """
    name = f"{VALIDATION}{score}"
    if name not in log[-1]:
        raise DataError(f"keep = {score!r} chooses an epoch by validation items; there are none")
    values = [line[name] if score == "accuracy" else -line[name] for line in log]
    return all(values[-1] > value for value in values[:-1])


def choose_device(config: Config) -> torch.device:
    """Return the device that is named, or else this process's own GPU, or else the CPU."""
    if config.device != "auto":
        return torch.device(config.device)
    if not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))


def choose_half(config: Config, device: torch.device) -> torch.dtype | None:
    """Return the half precision in which scores are computed on this device, or None."""
    if config.dtype != "float32":
        return None
    if device.type == "cuda" and config.amp:
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    if device.type == "cpu" and config.amp_on_cpu:
        able: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()  # older: unknown
        return torch.bfloat16 if any(map(able.get, HALF_CPU)) else None
    return None


def _run_epoch(
    learner: Learner,
    objective: Objective,
    pictures: Pictures,
    epoch: int,
    tell: Progress,
    record: _Record,
) -> tuple[float, float]:
    """Train on every item once; return the mean loss and the last learning rate."""
    config, dtype = learner.config, getattr(torch, learner.config.dtype)
    items = epoch_order(pictures.draws, epoch, len(pictures.inputs))
    starts = range(0, len(items), config.batch)
    objective.start_epoch(epoch, items)
    table = pictures.epoch(epoch, items)
    losses = torch.zeros(len(starts), dtype=dtype, device=learner.device)
    before = f", loss {record.log[-1]['loss']:.3f}" if record.log else ""
    step = f"training: epoch {epoch + 1} of {config.epochs}{before}"
    schedule, lrs = find_schedule(config.schedule), []
    learner.net.train()
    devices = [learner.device] if learner.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):  # torch's global generator, for dropout
        torch.manual_seed(int(pictures.draws.uniform(DROPOUT, epoch, ranks.rank()) * 2**53))
        for number, start in enumerate(starts):
            whole = slice(start, min(start + config.batch, len(items)))
            part = ranks.own_part(whole.stop - start)
            rows = slice(start + part.start, start + part.stop)
            scores = learner.scores(prepare(table[rows], dtype))
            loss = objective.loss(scores, rows)  # of this process's rows
            losses[number] = loss.detach()
            factor = schedule.factor(epoch, (number + 0.5) / len(starts), config.epochs)
            lrs.append(config.lr * factor)
            over = objective.weight(whole) if config.reduction == "mean" else 1
            learner.step(loss / over, lrs[-1])
            if learner.device.type == "cpu" and ranks.size() == 1:  # a look costs nothing here
                _check_loss(losses[number:], epoch, number, lrs, record)
            tell(step, epoch * len(starts) + number + 1, config.epochs * len(starts))
    losses = ranks.total(losses).cpu()  # the one time in an epoch that a GPU is waited for
    _check_loss(losses, epoch, 0, lrs, record)
    return float(losses.double().sum()) / objective.weight(slice(0, len(items))), lrs[-1]


def _check_loss(losses: Tensor, epoch: int, first: int, lrs: list[float], record: _Record) -> None:
    """Stop if a loss is not finite, and add a line to the log that says so."""
    wrong = ~losses.isfinite()
    if wrong.any():
        step = first + int(wrong.nonzero()[0])
        record.note({"epoch": epoch, "step": step, "lr": lrs[step], "diverged": True})
        raise DivergedError(epoch, step, lrs[step])


# ── one network in training ──────────────────────────────────────────────────────────────────


class Learner:
    """A network, the layer of its objective if it has one, their optimiser and averages."""

    def __init__(
        self, config: Config, net: networks.Net, layer: CrowdLayer | None, device: torch.device
    ):
        self.config, self.net, self.layer, self.device = config, net, layer, device
        self.parameters = [each for each in net.parameters() if each.requires_grad]
        groups: list[dict[str, Any]] = [{"params": self.parameters}]
        if layer is not None:  # decay would draw annotators to zero, not to their start
            own = list(layer.parameters())
            groups.append({"params": own, "weight_decay": 0.0})
            self.parameters = self.parameters + own
        common = {"lr": config.lr, "weight_decay": config.weight_decay}
        common["fused"] = True  # one pass over the weights, on CPUs too
        if config.optimiser == "sgd":
            common["momentum"] = config.momentum
            common["nesterov"] = config.nesterov and config.momentum > 0
        self.optimiser = OPTIMISERS[config.optimiser](groups, **common)
        self.average = deepcopy(net) if config.ema else None
        self.half = choose_half(config, device)
        self.scaler = torch.amp.GradScaler(device.type, enabled=self.half == torch.float16)
        self.forward = torch.compile(net) if config.compile else net
        parts: dict[str, Any] = {"net": net, "layer": layer, "average": self.average}
        parts |= {"optimiser": self.optimiser, "scaler": self.scaler}
        self.parts = {name: part for name, part in parts.items() if part is not None}
        self.best: dict[str, Any] | None = None  # the weights of the epoch to keep, if not the last

    def scores(self, x: Tensor) -> Tensor:
        """Return logits (b, k), computed in half precision where that is wanted."""
        enabled = self.half is not None
        with torch.autocast(self.device.type, dtype=self.half, enabled=enabled):
            return self.forward(x).to(x.dtype)

    def step(self, loss: Tensor, lr: float) -> None:
        """Step down the gradient of ``loss``, summed over all processes."""
        for group in self.optimiser.param_groups:
            group["lr"] = lr
        self.optimiser.zero_grad()
        self.scaler.scale(loss).backward()
        gradients = [each.grad for each in self.parameters if each.grad is not None]
        ranks.sum_gradients(gradients)
        if self.config.clip:
            self.scaler.unscale_(self.optimiser)
            nn.utils.clip_grad_norm_(self.parameters, self.config.clip)
        self.scaler.step(self.optimiser)
        self.scaler.update()
        if self.average is not None:
            states = self.average.state_dict().values(), self.net.state_dict().values()
            with torch.no_grad():
                for old, new in zip(*states, strict=True):
                    if old.is_floating_point():
                        old.lerp_(new, 1 - self.config.ema)
                    else:  # a counter
                        old.copy_(new)

    @property
    def result(self) -> networks.Net:
        """The network to use: the average, if there is one."""
        return self.net if self.average is None else self.average

    def state(self) -> dict[str, Any]:
        """Return all that the next step depends on."""
        return {name: part.state_dict() for name, part in self.parts.items()} | {"best": self.best}

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to a ``state``."""
        for name, part in self.parts.items():
            part.load_state_dict(state[name])
        self.best = state["best"]


# ── the log and the checkpoint ───────────────────────────────────────────────────────────────


class _Record:
    """The log and the checkpoint of a run; without a folder, the log alone.

    A checkpoint is either whole or the one before, whenever the power goes.
    """

    def __init__(self, folder: Path | None, made_by: dict[str, Any], every: float) -> None:
        self.folder, self.made_by, self.every = folder, made_by, every
        self.log: list[Line] = []
        self.saved = -math.inf

    def resume(self) -> dict[str, Any] | None:
        """Return the state of an earlier attempt, if any, and cut its log back to that moment.

        A checkpoint of another run is refused.  Only tensors and plain values are read: nothing
        in the file is executed.
        """
        if self.folder is None:
            return None
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / CHECKPOINT
        if not path.exists():
            write_log(self.folder, [])
            return None
        try:
            state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        except (RuntimeError, pickle.UnpicklingError, EOFError):
            reason = "is no checkpoint, or a damaged one; remove it to start again"
            raise FileError(path, reason) from None
        for key, value in self.made_by.items():
            other = state["made_by"].get(key)
            if other != value:
                reason = f"is of another run: there {key} is {other!r}, here {value!r}; "
                raise FileError(path, f"{reason}remove it to start again, or use another folder")
        write_log(self.folder, state["log"])
        return state

    def add(self, line: Line, learner: Learner, last: bool) -> None:
        """Add the line of an epoch, and save a checkpoint if it is time to."""
        self.log.append(line)
        self.note(line)
        if self.folder and (last or time.monotonic() - self.saved >= self.every):
            with open_synced(self.folder / CHECKPOINT) as file:
                torch.save({**learner.state(), "log": self.log, "made_by": self.made_by}, file)
            self.saved = time.monotonic()

    def note(self, line: Line) -> None:
        """Write a line to the log file alone."""
        if self.folder:
            append_log(self.folder, line)


def write_log(folder: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    """Write the log anew, one JSON object per line."""
    with write_atomically(folder / LOG) as part:
        part.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def append_log(folder: Path, line: Mapping[str, Any]) -> None:
    """Add one line to the log."""
    with (folder / LOG).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
