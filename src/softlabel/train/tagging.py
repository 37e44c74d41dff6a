"""Tagging words of sentences: the recipe of Uma et al. 2020 for parts of speech.

An item is a word, and its tag depends on its neighbours, so batches are whole sentences; all else
is as for pictures: the same deliveries, losses and crowd layers.  Training ends after 20 epochs,
and the network of the epoch that did best on the sentences of ``choosing`` is kept.  A run takes
about a minute; one that is interrupted starts again.
"""

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
from softlabel.io import Progress
from softlabel.tables import Ints
from softlabel.train.config import Config
from softlabel.train.identity import digest
from softlabel.train.loop import DivergedError, Learner, append_log, choose_device, write_log
from softlabel.train.networks import build
from softlabel.train.networks.text import COLUMNS, LETTERS, UNKNOWN, Tagger
from softlabel.train.objectives import Objective, make_objective
from softlabel.train.predict import Singles
from softlabel.train.recipes import read_recipe
from softlabel.train.schedules import find_schedule
from softlabel.train.splits import Split

Table = npt.NDArray[np.int64]  # (m, c) of words: sentence, code, letters

# ── words as numbers ─────────────────────────────────────────────────────────────────────────


def build_vocabulary(words: Iterable[str], least: int = 2) -> dict[str, int]:
    """Return codes from 1 for the words that occur ``least`` times.  Rarer ones share the code 0,
    so that in training, too, there are words that only their spelling tells apart."""
    counts = Counter(words)
    known = sorted(word for word in counts if counts[word] >= least)
    return {word: code for code, word in enumerate(known, 1)}


def word_table(words: Sequence[str], sentence: Ints, codes: dict[str, int]) -> Table:
    """Return (m, 2 + 20): the sentence of each word, its code, and its first letters."""
    rows = np.zeros((len(words), COLUMNS), dtype=np.int64)
    rows[:, 0] = sentence
    rows[:, 1] = [codes.get(word, UNKNOWN) for word in words]
    for row, word in enumerate(words):
        letters = np.frombuffer(word.encode()[:LETTERS], dtype=np.uint8)
        rows[row, 2 : 2 + len(letters)] = 1 + letters.astype(np.int64)
    return rows


# ── what is learned ──────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class SentenceSplit(Split):
    """A split whose items are words and whose inputs are tables of them.  ``choosing`` are words,
    with their ``choosing_gold`` tags, by which the best epoch is chosen; they are neither learned
    from nor tested on."""

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
        """Hashes of the inputs and of the words that the epoch is chosen by."""
        chosen = {"choosing": self.choosing, "gold": self.choosing_gold}
        return {**super().hashes, "choosing_sha": digest(chosen)}


# ── learning ─────────────────────────────────────────────────────────────────────────────────


def learn_tagging(
    config: Config,
    split: SentenceSplit,
    deliver: Deliver | None,
    seed: int,
    folder: Path,
    tell: Progress,
) -> Singles:
    """Return logits (m, k) of the words held out, by the network of the epoch that tagged the words
    of ``choosing`` best."""
    device, draws = choose_device(config), Draws(seed)
    taught = split.teaching if deliver is None else deliver(split.teaching, draws)
    rows = torch.from_numpy(split.inputs)
    objective = make_objective(config, taught, draws, device, len(rows))
    net = make_tagger(objective.classes, 1 + int(rows[:, 1].max()), seed).to(device)
    learner = Learner(config, net, objective.layer, device)
    write_log(folder, [])
    best, kept = -1.0, deepcopy(net.state_dict())
    for epoch in range(config.epochs):
        started = time.perf_counter()
        loss, lr = _run_epoch(learner, objective, rows, epoch, draws)
        right = float((predict_tags(net, split.choosing).argmax(1) == split.choosing_gold).mean())
        if right > best:
            best, kept = right, deepcopy(net.state_dict())
        line = {"epoch": epoch, "loss": loss, "lr": lr, "choosing": right}
        line["seconds"] = round(time.perf_counter() - started, 3)
        append_log(folder, line)
        tell(f"training: epoch {epoch + 1} of {config.epochs}", epoch + 1, config.epochs)
    net.load_state_dict(kept)
    return predict_tags(net, split.held)


def make_tagger(classes: int, words: int, seed: int) -> Tagger:
    """Make a tagger with starting weights drawn from ``seed``."""
    return build(lambda: Tagger(classes, words), seed)


def _run_epoch(
    learner: Learner, objective: Objective, rows: torch.Tensor, epoch: int, draws: Draws
) -> tuple[float, float]:
    """Train on every sentence once; return the mean loss and the last learning rate."""
    config, lr = learner.config, 0.0
    schedule = find_schedule(config.schedule)
    learner.net.train()
    places = find_sentences(rows[:, 0].numpy())
    order = np.argsort(draws.uniform("order of sentences", epoch, np.arange(len(places))))
    places = [places[number] for number in order]
    items = np.concatenate([np.arange(part.start, part.stop) for part in places])
    objective.start_epoch(epoch, items)
    total, low = 0.0, 0
    for step, part in enumerate(batches(places, config.batch)):
        words = torch.cat([rows[place] for place in part]).to(learner.device)
        whole = slice(low, low + len(words))  # of the epoch's rows
        lr = config.lr * schedule.factor(epoch, low / len(rows), config.epochs)
        loss = objective.loss(learner.forward(words), whole)
        if not loss.isfinite():
            raise DivergedError(epoch, step, lr)
        learner.step(loss / (objective.weight(whole) if config.reduction == "mean" else 1), lr)
        total, low = total + float(loss.detach()), whole.stop
    return total / objective.weight(slice(0, low)), lr


def predict_tags(net: nn.Module, words: Table, batch: int = 64) -> Singles:
    """Return logits (m, k) of each word in its sentence."""
    device = next(net.parameters()).device
    net.eval()
    rows = torch.from_numpy(words)
    with torch.inference_mode():
        parts = [
            net(torch.cat([rows[place] for place in part]).to(device))
            for part in batches(find_sentences(words[:, 0]), batch)
        ]
    return torch.cat(parts).float().cpu().numpy()


def find_sentences(sentence: Ints) -> list[slice]:
    """Return the rows of each sentence; those of one sentence stand together.

    >>> find_sentences(np.array([4, 4, 2, 2, 2]))
    [slice(0, 2, None), slice(2, 5, None)]
    """
    edges = [0, *(np.flatnonzero(np.diff(sentence)) + 1).tolist(), len(sentence)]
    return [slice(low, high) for low, high in pairwise(edges)]


def batches(places: list[slice], size: int) -> Iterator[list[slice]]:
    """Yield so many sentences at a time."""
    for low in range(0, len(places), size):
        yield places[low : low + size]


POS = read_recipe("u20-pos", learn_tagging)
