"""Texts to learn from: items of one text or two, split by name, as rows of numbers.

Here are the rows for the network ``words``, which learns from scratch: no vocabulary, nothing
learned elsewhere.  Every word is cut into pieces, itself and its character trigrams, and each piece
goes by its hash to one of a few thousand buckets: words never seen share pieces with those that
were.  ``text_encoders`` makes rows with pre-trained encoders.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from softlabel.deliver import TrainingLabels
from softlabel.errors import DataError
from softlabel.tables import Ints, SoftLabels, names
from softlabel.train.networks.text import BUCKETS, PIECES
from softlabel.train.splits import ONE_IN, Split, Validation, choose_held_out, select_labels

MAX_WORDS = 64  # of a text; what comes after is not read
WORD = re.compile(r"[^\W_]+|[^\w\s]")  # letters and digits, or one sign

Reader = Callable[[Sequence[Sequence[str]]], npt.NDArray[np.float32]]


@dataclass(frozen=True, eq=False)
class Texts:
    """m items, each of as many texts as there are ``sides``: how people labelled them, and the one
    class (``hard``) that is taught where their distribution is not.

    Items of one ``group``, such as those with the same premise, are learned from or held out
    together; without groups every item is its own.
    """

    name: str
    sides: tuple[Sequence[str], ...]
    pooled: SoftLabels
    hard: Ints
    group: Sequence[str] | None = None

    def __post_init__(self) -> None:
        sizes = {len(self.hard), len(self.pooled), *map(len, self.sides)}
        if len(sizes) != 1 or len(self.sides) not in (1, 2):
            raise DataError(
                f"{self.name}: {[len(side) for side in self.sides]} texts, {len(self.pooled)} "
                f"labels and {len(self.hard)} classes are not one or two texts for each item"
            )


def split_texts(texts: Texts, read: Reader, reader: str, validated: bool = False) -> Split:
    """Split texts: four groups in five to learn from, the others held out; ``read`` makes the rows
    of all of them, and ``reader`` is its name.  If ``validated``, one group in five of those to
    learn from is set aside, to choose an epoch or a setting by people's labels."""
    rows = read(texts.sides)
    items = texts.pooled.index.items
    groups = items if texts.group is None else names(texts.group)
    held = choose_held_out(groups)
    if not held.any() or held.all():
        raise DataError(f"{texts.name}: {len(held)} items are too few to hold one in {ONE_IN} out")
    aside = ~held & validated
    if validated:
        aside[~held] = choose_held_out(names([f"validation {one}" for one in groups[~held]]))
    learn = ~held & ~aside
    people = select_labels(texts.pooled, items[held])
    teaching = TrainingLabels.of(select_labels(texts.pooled, items[learn]), hard=texts.hard[learn])
    split = Split.of(rows[learn], teaching, rows[held], people)
    chosen = Validation(rows[aside], texts.pooled.probs[aside]) if validated else None
    return replace(split, named={"texts": texts.name, "encoder": reader}, validation=chosen)


def hash_words(sides: Sequence[Sequence[str]], words: int = MAX_WORDS) -> npt.NDArray[np.float32]:
    """Return (m, texts x words x pieces) of one or two texts for each of m items.

    Numbers of buckets are whole, and exact as 32-bit floats, which training takes.

    >>> hash_words([["A cat."]], words=4).shape
    (1, 32)
    """
    rows = np.zeros((len(sides[0]), len(sides), words, PIECES), dtype=np.float32)
    for side, texts in enumerate(sides):
        for item, text in enumerate(texts):
            for place, word in enumerate(WORD.findall(text.lower())[:words]):
                buckets = word_pieces(word)
                rows[item, side, place, : len(buckets)] = buckets
    return rows.reshape(len(rows), -1)


@cache
def word_pieces(word: str) -> tuple[int, ...]:
    """Return the buckets of a word: of itself, then of its trigrams, as many as there is room for.

    >>> len(word_pieces("cat")), len(word_pieces("a")), len(word_pieces("incomprehensible"))
    (4, 2, 8)
    """
    whole = f"<{word}>"
    trigrams = [whole[at : at + 3] for at in range(len(whole) - 2)]
    pieces = [f"={word}", *trigrams][:PIECES]
    hashes = [blake2b(piece.encode(), digest_size=8).digest() for piece in pieces]
    # from 1 to the last, the same on every machine; 0 is left for nothing
    return tuple(1 + int.from_bytes(each, "little") % (BUCKETS - 1) for each in hashes)
