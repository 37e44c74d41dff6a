"""The six sets of Singh et al. 2025: texts and pictures with the distribution of people's labels.

ChaosNLI and POPQUORN are published without a split: one item in five is held out by the hash of its
name (``held_out``).  CIFAR-10H has the 7,000 and 3,000 of Uma et al. 2020.
The class that is taught as a hard label is the one most people gave: as the authors of ChaosNLI
decided its ties, the first of equals in the other sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from softlabel import datasets
from softlabel.aggregate import Mean
from softlabel.randomness import name_keys
from softlabel.tables import Floats, Index, Ints, SoftLabels, names

if TYPE_CHECKING:
    from softlabel.train import Lesson, Reader, Texts

TEXTS = (
    "chaosnli/snli",
    "chaosnli/mnli",
    "chaosnli/alphanli",
    "popquorn/offensiveness",
    "popquorn/politeness",
)
PICTURES = "cifar10h"
SETS = (*TEXTS, PICTURES)
HYPOTHESES = ("hyp1", "hyp2")
FAMILIES = {"ChaosNLI": TEXTS[:3], "POPQUORN": TEXTS[3:], "CIFAR-10H": (PICTURES,)}


@cache
def texts(name: str) -> Texts:
    """Of an inference problem premise and hypothesis, or the two whole stories; else one text."""
    from softlabel.train import Texts

    data = datasets.load(name)
    assert data.annotations is not None, f"{name} is votes"
    pooled = Mean()(data.annotations)
    said = {key: list(map(str, column.tolist())) for key, column in data.texts.items()}
    sides: tuple[list[str], ...]
    if name == "chaosnli/alphanli":
        stories = (zip(said["obs1"], said[hyp], said["obs2"], strict=True) for hyp in HYPOTHESES)
        sides = tuple([" ".join(parts) for parts in story] for story in stories)
    elif name.startswith("chaosnli"):
        sides = said["premise"], said["hypothesis"]
    else:
        sides = (said["text"],)
    hard = data.arrays.get("majority", pooled.probs.argmax(axis=1))
    return Texts(name, sides, pooled, np.asarray(hard, dtype=np.int64))


@cache
def votes(name: str) -> Ints:
    """(m, k) how many people gave each label."""
    said = datasets.load(name).annotations
    assert said is not None, f"{name} is votes"
    return np.asarray(said.counts(), dtype=np.int64)


@cache
def pictures() -> Lesson:
    """CIFAR-10H, where the hard label is the majority's, not the one CIFAR-10 gives."""
    from softlabel.train import read

    lesson = read(PICTURES)
    hard = lesson.teaching.pooled.argmax(axis=1)
    return replace(lesson, teaching=replace(lesson.teaching, hard=hard), watched=True)


def lesson(name: str, read: Reader, reader: str) -> Lesson:
    """Of one of the five sets of texts, read by ``read``, whose name is ``reader``."""
    from softlabel.train import text

    return replace(text.lesson(texts(name), read, reader), watched=True)


# ── for a quick look, without any data ───────────────────────────────────────────────────────

KINDS = ("good", "middling", "bad")
ABOUT = {
    "good": ("lovely", "kind", "thanks", "great"),
    "middling": ("plain", "usual", "some", "fair"),
    "bad": ("awful", "rude", "never", "worst"),
}
FILLERS = ("the", "day", "was", "it", "and", "we", "said", "so")


def simulated(name: str, items: int = 120, people: int = 10) -> Texts:
    """Sentences that mix the words of three classes, and people who answer by the mixture."""
    from softlabel.train import Texts

    rng = np.random.default_rng(sum(name.encode()))
    blend = rng.dirichlet(np.full(len(KINDS), 0.5), size=items)
    counts = rng.multinomial(people, blend)
    sides = tuple([_sentence(row, rng) for row in blend] for _ in range(2 if "nli" in name else 1))
    index = Index(names([f"{name} {i}" for i in range(items)]), names([]), names(list(KINDS)))
    pooled = SoftLabels(index, counts / people, np.full(items, people))
    return Texts(f"simulated {name}", sides, pooled, counts.argmax(axis=1))


def bags(sides: Sequence[Sequence[str]]) -> npt.NDArray[np.float32]:
    """(m, 64) how often words fall into each of 64 buckets: features enough for a quick look."""
    made = np.zeros((len(sides[0]), 64), dtype=np.float32)
    for texts in sides:
        for row, text in zip(made, texts, strict=True):
            np.add.at(row, (name_keys(names(text.split())) % np.uint64(64)).astype(np.int64), 1)
    return made


def _sentence(blend: Floats, rng: np.random.Generator) -> str:
    kinds = rng.choice(len(KINDS), size=4, p=blend)
    said = [str(rng.choice(ABOUT[KINDS[kind]])) for kind in kinds]
    return " ".join(word for one in said for word in (str(rng.choice(FILLERS)), one))
