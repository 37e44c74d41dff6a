"""Words of sentences, tagged: the recipe of Uma et al. 2020 for parts of speech.

An item is a word, and its tag depends on its neighbours, so batches are whole sentences; all else
is as for pictures: the same deliveries, losses and crowd layers.  Training ends after 20 epochs,
and the network of the epoch that did best on the sentences of ``choosing`` is kept.  A run takes
about a minute; one that is interrupted begins anew.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from softlabel.deliver import Deliver, Draws
from softlabel.errors import DataError
from softlabel.io import Tell, silent
from softlabel.tables import Ints
from softlabel.train import Config, DivergedError, checkpoints, runs
from softlabel.train.learner import Learner
from softlabel.train.loop import device_of
from softlabel.train.nets.base import begin
from softlabel.train.nets.tagger import COLUMNS, LETTERS, UNKNOWN, Tagger
from softlabel.train.objectives import Objective, objective
from softlabel.train.recipes.base import Recipe
from softlabel.train.recipes.lesson import Lesson
from softlabel.train.recipes.own import Own, Singles
from softlabel.train.schedules import schedule

Table = npt.NDArray[np.int64]  # (m, c) of words: sentence, code, letters

CONFIG = Config(
    net="tagger",  # bi-LSTM of size 128 over words and letters, with attention between the two
    epochs=20,
    batch=8,  # sentences; the paper does not say
    optimiser="adam",
    lr=1e-3,
    schedule="constant",
    weight_decay=0.0,
    augment="none",
    channels_last=False,
)


# ── words as numbers ─────────────────────────────────────────────────────────────────────────


def vocabulary(words: Iterable[str], least: int = 2) -> dict[str, int]:
    """Codes from 1 of the words that are there ``least`` times.  Rarer ones share the code 0, so
    that in training, too, there are words that only their spelling tells apart."""
    counts = Counter(words)
    known = sorted(word for word in counts if counts[word] >= least)
    return {word: code for code, word in enumerate(known, 1)}


def table(words: Sequence[str], sentence: Ints, codes: dict[str, int]) -> Table:
    """(m, 2 + 20) the sentence of each word, its code, and its first letters."""
    rows = np.zeros((len(words), COLUMNS), dtype=np.int64)
    rows[:, 0] = sentence
    rows[:, 1] = [codes.get(word, UNKNOWN) for word in words]
    for row, word in enumerate(words):
        letters = np.frombuffer(word.encode()[:LETTERS], dtype=np.uint8)
        rows[row, 2 : 2 + len(letters)] = 1 + letters.astype(np.int64)
    return rows


# ── what is learned ──────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class Sentences(Lesson):
    """A lesson whose items are words and whose inputs are tables of them.  ``choosing`` are words,
    with their ``choosing_gold`` tags, that say which epoch was best; they are neither learned from
    nor tested on."""

    choosing: Table = field(kw_only=True)
    choosing_gold: Ints = field(kw_only=True)

    def __post_init__(self) -> None:
        for what, rows, count in (
            ("to learn", self.inputs, len(self.teaching)),
            ("held out", self.held, len(self.index.items)),
            ("to choose by", self.choosing, len(self.choosing_gold)),
        ):
            if rows.dtype != np.int64 or rows.shape != (count, COLUMNS) or not count:
                raise DataError(
                    f"words {what}: {rows.dtype} {rows.shape} for {count} tags; a table of words "
                    f"is int64 (m, {COLUMNS})"
                )

    @cached_property
    def hashes(self) -> dict[str, str]:
        """What was seen, predicted and chosen by."""
        chosen = {"choosing": self.choosing, "gold": self.choosing_gold}
        return {**super().hashes, "choosing_sha": runs.digest(chosen)}


# ── learning ─────────────────────────────────────────────────────────────────────────────────


def learn(
    config: Config,
    lesson: Sentences,
    deliver: Deliver | None,
    *,
    seed: int,
    folder: Path,
    tell: Tell = silent,
) -> Singles:
    """(m, k) logits of the words held out, by the network of the epoch that tagged the words of
    ``choosing`` best."""
    device, draws = device_of(config), Draws(seed)
    taught = lesson.teaching if deliver is None else deliver(lesson.teaching, draws)
    rows = torch.from_numpy(lesson.inputs)
    aim = objective(config, taught, draws, device, len(rows))
    net = tagger(aim.classes, 1 + int(rows[:, 1].max()), seed).to(device)
    learner = Learner(config, net, aim.layer, device)
    checkpoints.write_log(folder, [])
    best, kept = -1.0, deepcopy(net.state_dict())
    for epoch in range(config.epochs):
        begun = time.perf_counter()
        loss, lr = _epoch(learner, aim, rows, epoch, draws)
        right = float((logits(net, lesson.choosing).argmax(1) == lesson.choosing_gold).mean())
        if right > best:
            best, kept = right, deepcopy(net.state_dict())
        line = {"epoch": epoch, "loss": loss, "lr": lr, "choosing": right}
        line["seconds"] = round(time.perf_counter() - begun, 3)
        checkpoints.add_to_log(folder, line)
        tell(f"training: epoch {epoch + 1} of {config.epochs}", epoch + 1, config.epochs)
    net.load_state_dict(kept)
    return logits(net, lesson.held)


def tagger(classes: int, words: int, seed: int) -> Tagger:
    """Starting weights drawn from ``seed``; torch's global generator stays as it was."""
    with torch.random.fork_rng(devices=[]):
        net = Tagger(classes, words)
    begin(net, torch.Generator().manual_seed(seed))
    return net


def _epoch(
    learner: Learner, aim: Objective, rows: torch.Tensor, epoch: int, draws: Draws
) -> tuple[float, float]:
    """Every sentence once, in an order of this epoch; the mean loss and the last learning rate."""
    config, plan, lr = learner.config, schedule(learner.config.schedule), 0.0
    learner.net.train()
    places = spans(rows[:, 0].numpy())
    order = np.argsort(draws.uniform("order of sentences", epoch, np.arange(len(places))))
    places = [places[number] for number in order]
    aim.turn(epoch, np.concatenate([np.arange(part.start, part.stop) for part in places]))
    total, low = 0.0, 0
    for step, part in enumerate(batches(places, config.batch)):
        words = torch.cat([rows[place] for place in part]).to(learner.device)
        whole = slice(low, low + len(words))  # of the epoch's rows
        lr = config.lr * plan.factor(epoch, low / len(rows), config.epochs)
        loss = aim.loss(learner.forward(words), whole)
        if not loss.isfinite():
            raise DivergedError(epoch, step, lr)
        learner.step(loss / (aim.weight(whole) if config.reduction == "mean" else 1), lr)
        total, low = total + float(loss.detach()), whole.stop
    return total / aim.weight(slice(0, low)), lr


def logits(net: nn.Module, words: Table, batch: int = 64) -> Singles:
    """(m, k) scores of each word in its sentence."""
    device = next(net.parameters()).device
    net.eval()
    rows = torch.from_numpy(words)
    with torch.inference_mode():
        parts = [
            net(torch.cat([rows[place] for place in part]).to(device))
            for part in batches(spans(words[:, 0]), batch)
        ]
    return torch.cat(parts).float().cpu().numpy()


def spans(sentence: Ints) -> list[slice]:
    """The rows of each sentence; those of one sentence stand together.

    >>> spans(np.array([4, 4, 2, 2, 2]))
    [slice(0, 2, None), slice(2, 5, None)]
    """
    edges = [0, *(np.flatnonzero(np.diff(sentence)) + 1).tolist(), len(sentence)]
    return [slice(low, high) for low, high in pairwise(edges)]


def batches(places: list[slice], size: int) -> Iterator[list[slice]]:
    """So many sentences at a time."""
    for low in range(0, len(places), size):
        yield places[low : low + size]


POS = Own(Recipe("u20-pos", "scratch", CONFIG, __file__), learn)
