"""The six sets of Singh et al. 2025: texts and pictures with the distribution of people's labels.

ChaosNLI and POPQUORN are published without a split: one item in five is held out by the hash of its
name.  Items of ChaosNLI with the same premise, or the same first and last sentence of a story, are
held out together, by the hash of that text.  CIFAR-10H has the 7,000 and 3,000 images of Uma et al.
2020.

The hard label is the class that most people gave.  The authors of ChaosNLI decided its ties; in the
other sets the first of the tied classes is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from softlabel import datasets
from softlabel.aggregate import Mean
from softlabel.papers.claims import quick as generated
from softlabel.papers.claims import tuning
from softlabel.randomness import name_keys
from softlabel.tables import Floats, Index, Ints, SoftLabels, names

if TYPE_CHECKING:
    from softlabel.train import Reader, Split, Texts

CHAOSNLI = ("chaosnli/snli", "chaosnli/mnli", "chaosnli/alphanli")
POPQUORN = ("popquorn/offensiveness", "popquorn/politeness")
PICTURES = "cifar10h"
SETS = (*CHAOSNLI, *POPQUORN, PICTURES)
FAMILIES = (CHAOSNLI, POPQUORN, (PICTURES,))
Labels = Literal["soft", "hard", "annotators"]  # the last: ratings, with annotators' offsets
LABELS: tuple[Labels, Labels] = ("hard", "soft")
Base = Literal["words", "features", "hub"]  # recipes that read texts


@dataclass(frozen=True)
class Condition:
    """A set and the labels that a model learns; ``name`` is that of its cell."""

    dataset: str
    labels: Labels

    @property
    def name(self) -> str:
        return f"{self.dataset} {self.labels}"


@cache
def texts(name: str) -> Texts:
    """Return premise and hypothesis of an inference problem, or the two whole stories, or one
    text, with people's labels."""
    from softlabel.train import Texts

    data = datasets.load(name)
    assert data.annotations is not None, f"{name} is votes"
    pooled = Mean()(data.annotations)
    columns = {key: list(map(str, column.tolist())) for key, column in data.texts.items()}
    sides: tuple[list[str], ...]
    if "hyp1" in columns:
        first, last = columns["obs1"], columns["obs2"]
        stories = (zip(first, columns[hyp], last, strict=True) for hyp in ("hyp1", "hyp2"))
        sides = tuple([" ".join(parts) for parts in story] for story in stories)
    elif "premise" in columns:
        sides = columns["premise"], columns["hypothesis"]
    else:
        sides = (columns["text"],)
    shared = [columns[key] for key in ("premise", "obs1", "obs2") if key in columns]
    group = [" ".join(parts) for parts in zip(*shared, strict=True)] if shared else None
    hard = data.arrays.get("majority", pooled.probs.argmax(axis=1))
    return Texts(name, sides, pooled, np.asarray(hard, dtype=np.int64), group)


def texts_per_item(name: str) -> int:
    """Return 2 for inference problems, else 1."""
    return 2 if "nli" in name else 1


@cache
def votes(name: str) -> Ints:
    """Return (m, k) how many people gave each label."""
    annotations = datasets.load(name).annotations
    assert annotations is not None, f"{name} is votes"
    return np.asarray(annotations.counts(), dtype=np.int64)


@cache
def pictures() -> Split:
    """Return CIFAR-10H, where the hard label is the majority's, not the one CIFAR-10 gives."""
    from softlabel.train import read_split

    lesson = read_split(PICTURES)
    hard = lesson.teaching.pooled.argmax(axis=1)
    return replace(lesson, teaching=replace(lesson.teaching, hard=hard), watched=True)


def tuned_pictures() -> Split:
    """Return CIFAR-10H with validation images."""
    return tuning.add_validation(pictures())


@cache
def read_lesson(name: str, base: Base, quick: bool, encoder: str, validated: bool = False) -> Split:
    """Return a set of texts as a base recipe reads them: by words, by frozen features, or by an
    encoder of a hub.  With ``quick`` texts are simulated; if ``validated``, some are set aside."""
    from softlabel.train import text, text_encoders

    read_split: Reader
    if base == "words":
        read_split = partial(text.hash_words, words=10) if quick else text.hash_words
        reader = "words" if quick else f"words-{text.MAX_WORDS}"
    elif base == "hub":
        text_encoders.register_hub(encoder)
        read_split, reader = partial(text_encoders.token_rows, place=encoder), encoder
    elif quick:
        read_split, reader = bags, "bag"
    else:
        frozen = text_encoders.MiniLM()
        read_split, reader = partial(text_encoders.encode_texts, encoder=frozen), frozen.name
    given = simulated(name) if quick else texts(name)
    lesson = text.split_texts(given, read_split, reader, validated)
    return replace(lesson, watched=True)


@cache
def constant(name: str, validated: bool = False) -> Floats:
    """Return the mean label of the items that a set teaches; no text is read for it."""
    if name == PICTURES:
        return np.asarray(pictures().teaching.pooled.mean(axis=0))
    from softlabel.train import text

    lesson = text.split_texts(texts(name), _read_nothing, "nothing", validated)
    return np.asarray(lesson.teaching.pooled.mean(axis=0))


def _read_nothing(sides: Sequence[Sequence[str]]) -> npt.NDArray[np.float32]:
    return np.zeros((len(sides[0]), 1), dtype=np.float32)


# ── generated pictures and texts, for a quick look without data ──────────────────────────────

ABOUT = {
    "good": ("lovely", "kind", "thanks", "great"),
    "middling": ("plain", "usual", "some", "fair"),
    "bad": ("awful", "rude", "never", "worst"),
}
CLASSES = tuple(ABOUT)
FILLERS = ("the", "day", "was", "it", "and", "we", "said", "so")


def simulated(name: str, items: int = 120, people: int = 10) -> Texts:
    """Return sentences that mix the words of three classes, and labels drawn from the mixture."""
    from softlabel.train import Texts

    rng = np.random.default_rng(sum(name.encode()))
    blend = rng.dirichlet(np.full(len(CLASSES), 0.5), size=items)
    counts = rng.multinomial(people, blend)

    def sentence(row: Floats) -> str:
        classes = rng.choice(len(CLASSES), size=4, p=row)
        words = [str(rng.choice(ABOUT[CLASSES[one]])) for one in classes]
        return " ".join(part for word in words for part in (str(rng.choice(FILLERS)), word))

    sides = tuple([sentence(row) for row in blend] for _ in range(texts_per_item(name)))
    index = Index(names([f"{name} {i}" for i in range(items)]), names([]), names(CLASSES))
    pooled = SoftLabels(index, counts / people, np.full(items, people))
    return Texts(f"simulated {name}", sides, pooled, counts.argmax(axis=1))


def bags(sides: Sequence[Sequence[str]]) -> npt.NDArray[np.float32]:
    """Return (m, 64) how often words fall into each of 64 buckets: features for a quick look."""
    counts = np.zeros((len(sides[0]), 64), dtype=np.float32)
    for texts in sides:
        for row, text in zip(counts, texts, strict=True):
            np.add.at(row, (name_keys(names(text.split())) % np.uint64(64)).astype(np.int64), 1)
    return counts


def shapes(features: bool) -> Split:
    """Return drawn shapes and the votes of simulated people."""
    return replace(generated.lesson(features=features), watched=True)
