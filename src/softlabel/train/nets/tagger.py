"""A tagger of sentences: a bi-LSTM over words, which are known by name and by spelling.

Plank, Søgaard & Goldberg 2016 join the two vectors of a word; here attention decides, number by
number, how much comes from each (Rei, Crichton & Pyysalo 2016), so that a word never seen before
is read from its letters.

Letters in shapes: t words of some whole sentences, one after the other; d numbers per word.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence, pad_packed_sequence

from softlabel.train.nets.base import Net

LETTERS = 20  # of a word that are read; longer ones are cut
COLUMNS = 2 + LETTERS  # of the table of words: sentence, code of the word, letters
UNKNOWN = 0  # code of all words that were seen too seldom to have a vector of their own
BYTES = 257  # letters are UTF-8 bytes, counted from 1; 0 is none


class Tagger(Net):
    """Words, a table of whole numbers (t, 2 + letters), to logits (t, k).

    A row holds the number of its sentence (rows of one sentence stand together), the word's code,
    below ``words`` (0: unknown), and its letters.  It stands apart from ``NETS``: its rows do not
    stand alone, and ``fit`` would tear sentences apart.
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
        """(t, 2 d) what both directions know at each word."""
        known, spelt = self.words(x[:, 1]), self._spelt(x[:, 2:])
        share = self.attention(torch.cat([known, spelt], dim=1))
        word = share * known + (1 - share) * spelt  # (t, d)
        length = torch.unique_consecutive(x[:, 0], return_counts=True)[1]
        packed = pack_sequence(list(word.split(length.tolist())), enforce_sorted=False)
        padded, _ = pad_packed_sequence(self.sentence(packed)[0], batch_first=True)
        place = torch.arange(padded.shape[1], device=x.device)
        return padded[place < length[:, None]]

    def _spelt(self, letters: Tensor) -> Tensor:
        """(t, d) of each word, the last states of both directions; the same word is read once."""
        distinct, which = torch.unique(letters, dim=0, return_inverse=True)
        length = (distinct > 0).sum(dim=1).clamp(min=1).cpu()
        packed = pack_padded_sequence(
            self.letters(distinct), length, batch_first=True, enforce_sorted=False
        )
        _, (last, _) = self.spelling(packed)
        return torch.cat([last[0], last[1]], dim=1)[which]
