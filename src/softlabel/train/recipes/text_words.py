"""Texts as rows of numbers for the network ``words``: no vocabulary, nothing learned elsewhere.

Every word is cut into pieces, itself and its character trigrams, and each piece goes by its hash to
one of a few thousand buckets: words never seen share pieces with those that were.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from softlabel.train.nets.words import BUCKETS, PIECES

WORDS = 64  # of a text; what comes after is not read
WORD = re.compile(r"[^\W_]+|[^\w\s]")  # letters and digits, or one sign


def rows(sides: Sequence[Sequence[str]], words: int = WORDS) -> npt.NDArray[np.float32]:
    """(m, texts x words x pieces) of one or two texts for each of m items.

    Numbers of buckets are whole, and exact as 32-bit floats, which is what training takes.

    >>> rows([["A cat."]], words=4).shape
    (1, 32)
    """
    made = np.zeros((len(sides[0]), len(sides), words, PIECES), dtype=np.float32)
    for side, texts in enumerate(sides):
        for item, text in enumerate(texts):
            for place, word in enumerate(WORD.findall(text.lower())[:words]):
                found = pieces(word)
                made[item, side, place, : len(found)] = found
    return made.reshape(len(made), -1)


@cache
def pieces(word: str) -> tuple[int, ...]:
    """The buckets of a word: of itself, then of its trigrams, as many as there is room for.

    >>> len(pieces("cat")), len(pieces("a")), len(pieces("incomprehensible"))
    (4, 2, 8)
    """
    whole = f"<{word}>"
    trigrams = [whole[at : at + 3] for at in range(len(whole) - 2)]
    return tuple(bucket(piece) for piece in [f"={word}", *trigrams][:PIECES])


def bucket(piece: str) -> int:
    """From 1 to the last, the same on every machine; 0 is left for nothing."""
    number = int.from_bytes(blake2b(piece.encode(), digest_size=8).digest(), "little")
    return 1 + number % (BUCKETS - 1)
