"""Find texts in which all typed words occur: inside of words, or with one slip of the keyboard.

``finding.js`` does the same in the browser for studies whose labels fit on the page.
"""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice

WORDS = re.compile(r"[^\W_]+")
SHORTEST = 2  # characters typed from which on texts are searched inside of words
SLIP = 4  # letters of a word from which on one of them may be wrong
LAST = "\U0010ffff"


def fold(text: str) -> str:
    """Return the text without accents, capitals and spare blanks, as the page compares it.

    >>> fold(" Crème  Brûlée")
    'creme brulee'
    """
    if not text.isascii():
        letters = unicodedata.normalize("NFKD", text)
        text = "".join(one for one in letters if not unicodedata.category(one).startswith("M"))
    return " ".join(text.lower().split())


def split_words(text: str) -> list[str]:
    """Return the words of a text that was folded."""
    return WORDS.findall(text)


class FuzzyIndex:
    """Texts, each found by its place."""

    def __init__(self, texts: Sequence[str]) -> None:
        rows = [" ".join(split_words(text)) for text in texts]
        self._joined = "\n".join(rows)
        self._starts = list(accumulate((len(row) + 1 for row in rows[:-1]), initial=0))
        holders: dict[str, list[int]] = {}
        for place, row in enumerate(rows):
            for word in dict.fromkeys(row.split(" ")):
                holders.setdefault(word, []).append(place)
        self._holders = holders
        self._words = sorted(holders)

    def find_inside(self, typed: str, most: int) -> list[int]:
        """Return the first places whose text holds every typed word, also inside of its words."""
        words = split_words(typed)
        if not words or len(typed) < SHORTEST:
            return []
        words.sort(key=self._joined.count)  # the rarest leads
        return list(islice(self._places_with(words), most))

    def find_near(self, typed: str, most: int) -> list[int]:
        """Return the first places whose text holds every typed word, of which those with four
        letters or more may have one letter wrong, missing, too many or swapped with the next."""
        found: set[int] | None = None
        for word in split_words(typed):
            own = set(self._places_with([word]))
            if len(word) >= SLIP:
                near = dict.fromkeys(self._words_near(word))
                own.update(place for one in near for place in self._holders[one])
            found = own if found is None else found & own
            if not found:
                return []
        return sorted(found or ())[:most]

    def _places_with(self, words: Sequence[str]) -> Iterator[int]:
        """Yield the places whose text holds each of the words."""
        first, *others = words
        at = self._joined.find(first)
        while at >= 0:
            place = bisect_right(self._starts, at) - 1
            end = self._starts[place + 1] - 1 if place + 1 < len(self._starts) else None
            row = self._joined[self._starts[place] : end]
            if all(word in row for word in others):
                yield place
            at = -1 if end is None else self._joined.find(first, end)

    def _words_near(self, typed: str) -> Iterator[str]:
        """Yield the words that begin like the typed one, but for one slip.

        Up to the slip everything is right, so only beginnings that occur have to be continued.
        """
        for at in range(len(typed) + 1):
            right, left = typed[:at], typed[at:]
            if not self._occurs(right):
                return
            if left:
                yield from self._begin(right + left[1:])  # one too many
            if len(left) > 1:
                yield from self._begin(right + left[1] + left[0] + left[2:])  # swapped
            for letter in self._letters_after(right):
                yield from self._begin(right + letter + left[1:])  # a wrong one
                yield from self._begin(right + letter + left)  # one missing

    def _begin(self, start: str) -> list[str]:
        first = bisect_left(self._words, start)
        return self._words[first : bisect_left(self._words, start + LAST)]

    def _occurs(self, start: str) -> bool:
        first = bisect_left(self._words, start)
        return first < len(self._words) and self._words[first].startswith(start)

    def _letters_after(self, start: str) -> Iterator[str]:
        """Yield each letter that follows this beginning in some word."""
        at = bisect_left(self._words, start)
        while at < len(self._words) and self._words[at].startswith(start):
            if len(self._words[at]) == len(start):
                at += 1
                continue
            letter = self._words[at][len(start)]
            yield letter
            at = bisect_left(self._words, start + letter + LAST, at)
