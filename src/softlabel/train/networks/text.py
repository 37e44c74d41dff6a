"""Networks on text: ``words``, a small one on hashed words, and a tagger of sentences.

``words`` learns from scratch: hashed pieces, one convolution, one hidden layer.  A text comes as
numbers of buckets, ``PIECES`` for each of its words (the word itself and its character trigrams, as
in fastText, Bojanowski et al. 2017), 0 where there is none; ``softlabel.train.text`` makes such
rows.  Two texts stand one after the other.

The tagger is a bi-LSTM over words, which are known by name and by spelling.  Plank, Søgaard &
Goldberg 2016 join the two vectors of a word; here attention decides, number by number, how much
comes from each (Rei, Crichton & Pyysalo 2016), so that a new word is read from its letters.
Letters in its shapes: t words of some whole sentences, one after the other; d numbers per word.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence, pad_packed_sequence

from softlabel.errors import DataError
from softlabel.train.networks.base import Net

PIECES = 8  # buckets of one word
BUCKETS = 8192

LETTERS = 20  # of a word that are read; longer ones are cut
COLUMNS = 2 + LETTERS  # of the table of words: sentence, code of the word, letters
UNKNOWN = 0  # code of all words that were seen too seldom to have a vector of their own
BYTES = 257  # letters are UTF-8 bytes, counted from 1; 0 is none


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
        read = [self.text(ids[:, side]) for side in range(self.texts)]
        if self.texts == 1:
            return self.body(read[0])
        u, v = read
        return self.body(torch.cat([u, v, (u - v).abs(), u * v], dim=1))

    def text(self, ids: Tensor) -> Tensor:
        """Return (b, 2 w) of words (b, n, pieces)."""
        piece_given = (ids > 0).unsqueeze(3)
        pieces = F.embedding(ids, self.table.weight) * piece_given
        words = pieces.sum(2) / piece_given.sum(2).clamp(min=1)  # (b, n, w)
        word_given = piece_given.any(2)
        mean = words.sum(1) / word_given.sum(1).clamp(min=1)
        near = F.relu(self.near(words.transpose(1, 2).unsqueeze(3))).squeeze(3)  # (b, w, n)
        return torch.cat([mean, (near * word_given.transpose(1, 2)).amax(2)], dim=1)

    def inspect(self, x: Tensor) -> None:
        """Refuse inputs that are not buckets: features of some encoder, for instance."""
        if (x < 0).any() or (x >= self.buckets).any() or (x != x.round()).any():
            raise DataError(
                f"the network 'words' takes whole numbers from 0 to {self.buckets - 1}, the "
                "buckets of words; these inputs are something else"
            )


class Tagger(Net):
    """Words, a table of whole numbers (t, 2 + letters), to logits (t, k).

    A row holds the number of its sentence (rows of one sentence stand together), the word's code,
    below ``words`` (0: unknown), and its letters.  It is not in ``NETS``, because ``fit`` would
    tear sentences apart.
    """

    def __init__(self, classes: int, words: int, size: int = 128, letter_size: int = 32) -> None:
        super().__init__()
        self.words = nn.Embedding(words, size)
        self.letters = nn.Embedding(BYTES, letter_size)
        self.spelling = nn.LSTM(letter_size, size // 2, bidirectional=True, batch_first=True)
        self.attention = nn.Sequential(
            nn.Linear(2 * size, size), nn.Tanh(), nn.Linear(size, size), nn.Sigmoid()
        )
        self.sentence = nn.LSTM(size, size, bidirectional=True, batch_first=True)
        self.head = nn.Linear(2 * size, classes)

    def features(self, x: Tensor) -> Tensor:
        """Return (t, 2 d), the states of both directions at each word."""
        # the spelling of a word: the last states of both directions; the same word is read once
        distinct, which = torch.unique(x[:, 2:], dim=0, return_inverse=True)
        length = (distinct > 0).sum(dim=1).clamp(min=1).cpu()
        packed = pack_padded_sequence(
            self.letters(distinct), length, batch_first=True, enforce_sorted=False
        )
        last = self.spelling(packed)[1][0]
        spelt = torch.cat([last[0], last[1]], dim=1)[which]  # (t, d)
        known = self.words(x[:, 1])
        share = self.attention(torch.cat([known, spelt], dim=1))
        word = share * known + (1 - share) * spelt  # (t, d)
        length = torch.unique_consecutive(x[:, 0], return_counts=True)[1]
        packed = pack_sequence(list(word.split(length.tolist())), enforce_sorted=False)
        padded, _ = pad_packed_sequence(self.sentence(packed)[0], batch_first=True)
        place = torch.arange(padded.shape[1], device=x.device)
        return padded[place < length[:, None]]
