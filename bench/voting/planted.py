"""Votes by people with planted confusion matrices, in shuffled order, as files of codes.

Everybody is right about a class with a chance from Beta(8, 3); mistakes are spread by a
Dirichlet(.5); one in twenty answers at random.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

CHUNK = 1_000_000
SPAMMERS = 0.05
COLUMNS = ("item", "annotator", "label")


@dataclass(frozen=True)
class Size:
    name: str
    items: int
    per_item: int
    annotators: int
    classes: int = 10

    @property
    def votes(self) -> int:
        return self.items * self.per_item


SIZES = {
    size.name: size
    for size in (
        Size("tiny", 1_000, 5, 200),
        Size("small", 10_000, 51, 2_571),
        Size("medium", 1_000_000, 5, 10_000),
        Size("large", 10_000_000, 5, 100_000),
    )
}


def confusions(size: Size, rng: np.random.Generator) -> np.ndarray:
    """(annotators, true, said) chances."""
    a, k = size.annotators, size.classes
    right = rng.beta(8, 3, (a, k))
    wrong = rng.dirichlet(np.full(k - 1, 0.5), (a, k)) * (1 - right[..., None])
    table = np.empty((a, k, k), np.float32)
    for j in range(k):
        table[:, j, j] = right[:, j]
        table[:, j, np.arange(k) != j] = wrong[:, j]
    table[rng.random(a) < SPAMMERS] = 1 / k
    return table


def generate(size: Size, folder: Path, seed: int = 0) -> None:
    """Write item.npy, annotator.npy, label.npy (one row per vote) and truth.npy."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, size.classes, size.items, dtype=np.int16)
    table = confusions(size, rng).cumsum(axis=2)
    order = rng.permutation(size.votes).astype(np.int32)  # the vote at each row
    first = rng.integers(0, size.annotators, size.items, dtype=np.int32)
    stride = rng.integers(1, size.annotators // size.per_item, size.items, dtype=np.int32)
    kinds = (np.int32, np.int32, np.int16)
    columns = [np.empty(size.votes, kind) for kind in kinds]
    for start in range(0, size.votes, CHUNK):
        item, turn = np.divmod(order[start : start + CHUNK], size.per_item)
        who = (first[item] + stride[item].astype(np.int64) * turn) % size.annotators
        chances = table[who, truth[item]]
        label = (chances < rng.random((len(item), 1), np.float32)).sum(axis=1)
        made = (item, who, np.minimum(label, size.classes - 1))
        for column, values in zip(columns, made, strict=True):
            column[start : start + CHUNK] = values
    for name, column in zip((*COLUMNS, "truth"), (*columns, truth), strict=True):
        np.save(folder / f"{name}.npy", column)


def main() -> None:
    """In a process of its own, whose memory is then free again: SIZE FOLDER."""
    import sys

    generate(SIZES[sys.argv[1]], Path(sys.argv[2]))


if __name__ == "__main__":
    main()
