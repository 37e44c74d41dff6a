"""A small network on words, learned from scratch: hashed pieces, one convolution, one hidden layer.

A text comes as numbers of buckets, ``pieces`` for each of its words (the word itself and its
character trigrams, as in fastText, Bojanowski et al. 2017), 0 where there is none; two texts stand
one after the other.  See ``softlabel.train.recipes.text_words``, which makes such rows.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from softlabel.errors import DataError
from softlabel.train.nets.base import Net

PIECES = 8  # buckets of one word
BUCKETS = 8192


class Words(Net):
    """A word is the mean of its pieces; a text the mean of its words beside the maximum of a
    convolution over three; two texts u and v are [u, v, |u - v|, u * v] (after InferSent, Conneau
    et al. 2017).

    ``inputs`` are texts x words x pieces; 602,691 parameters for two texts and three classes.
    """

    def __init__(
        self,
        classes: int,
        inputs: int = PIECES,
        texts: int = 1,
        buckets: int = BUCKETS,
        width: int = 64,
        hidden: int = 128,
    ) -> None:
        super().__init__()
        if texts not in (1, 2) or inputs % (texts * PIECES):
            raise DataError(
                f"{inputs} numbers are not {texts} texts of words of {PIECES} pieces each; "
                "texts is 1 or 2"
            )
        self.texts, self.buckets = texts, buckets
        # a linear layer for its table alone: it starts, like all others, from the run's seed
        self.table = nn.Linear(width, buckets, bias=False)
        self.near = nn.Conv2d(width, width, (3, 1), padding=(1, 0))
        both = 2 * width
        self.body = nn.Sequential(nn.Linear(both if texts == 1 else 4 * both, hidden), nn.ReLU())
        self.head = nn.Linear(hidden, classes)

    def features(self, x: Tensor) -> Tensor:
        ids = x.long().view(len(x), self.texts, -1, PIECES)
        read = [self.text(ids[:, one]) for one in range(self.texts)]
        return self.body(read[0] if self.texts == 1 else torch.cat(pair(*read), dim=1))

    def text(self, ids: Tensor) -> Tensor:
        """(b, 2 w) of words (b, n, pieces)."""
        there = (ids > 0).unsqueeze(3)  # of pieces
        pieces = F.embedding(ids, self.table.weight) * there
        words = pieces.sum(2) / there.sum(2).clamp(min=1)  # (b, n, w)
        some = there.any(2)  # of words
        mean = words.sum(1) / some.sum(1).clamp(min=1)
        near = F.relu(self.near(words.transpose(1, 2).unsqueeze(3))).squeeze(3)  # (b, w, n)
        return torch.cat([mean, (near * some.transpose(1, 2)).amax(2)], dim=1)

    def look(self, x: Tensor) -> None:
        """Refuse what are no buckets: features that something else has made, for instance."""
        if (x < 0).any() or (x >= self.buckets).any() or (x != x.round()).any():
            raise DataError(
                f"the network 'words' takes whole numbers from 0 to {self.buckets - 1}, the "
                "buckets of words; these inputs are something else"
            )


def pair(u: Tensor, v: Tensor) -> list[Tensor]:
    """What can be seen in two texts side by side."""
    return [u, v, (u - v).abs(), u * v]
