"""Finding a label among thousands by the beginning of its words."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from heapq import nsmallest

from softlabel.elicit import prefixes

LAST = "\U0010ffff"
MOST = 100  # labels that are found at a time
MANY = 500  # fitting keys from which on the result is kept: there are few such beginnings
WORDS = re.compile(r"[^\W_]+")


class LabelIndex:
    """Names, inner nodes of a hierarchy ("animal/cat") and synonyms, by every word in them.

    A name that begins with what was typed comes first, then names with such a word, then
    labels with such a synonym.  ``path`` stands between the steps of a hierarchy.
    """

    def __init__(
        self, labels: Sequence[str], synonyms: Mapping[str, Sequence[str]], path: str = "/"
    ) -> None:
        self.synonyms, self.path = synonyms, path
        names = dict.fromkeys(node for label in labels for node in (*prefixes(label, path), label))
        self._names = list(names)
        keys = (key for place in range(len(names)) for key in self._keys(place))
        self._keys_in_order = sorted(set(keys))
        self._found: dict[str, list[int]] = {}

    def find(self, typed: str, limit: int = 20) -> list[dict[str, object]]:
        """At most ``limit`` labels, and never more than 100, the best first."""
        wanted = " ".join(typed.casefold().split())
        places = self._found.get(wanted)
        if places is None:
            first = bisect_left(self._keys_in_order, (wanted,))
            last = bisect_left(self._keys_in_order, (wanted + LAST,))
            places = self._best(first, last)
            if last - first > MANY:
                self._found[wanted] = places
        return [self._shown(self._names[place]) for place in places[:limit]]

    def _best(self, first: int, last: int) -> list[int]:
        """Where the best names are that keys from ``first`` to ``last`` lead to."""
        best: dict[int, int] = {}
        for _, rank, place in self._keys_in_order[first:last]:
            best[place] = min(rank, best.get(place, rank))
        return nsmallest(MOST, best, key=lambda place: (best[place], place))

    def _keys(self, place: int) -> Iterator[tuple[str, int, int]]:
        name = self._names[place]
        own = name.rpartition(self.path)[2] if self.path else name
        yield from ((whole.casefold(), 0, place) for whole in (name, own))
        yield from ((rest, 1, place) for rest in _from_each_word(name))
        for synonym in self.synonyms.get(name, ()):
            yield from ((rest, 2, place) for rest in _from_each_word(synonym))

    def _shown(self, name: str) -> dict[str, object]:
        return {"name": name, "synonyms": list(self.synonyms.get(name, ()))}


def _from_each_word(text: str) -> Iterator[str]:
    """The rest of the text from the beginning of each of its words."""
    text = " ".join(text.casefold().split())
    yield from (text[word.start() :] for word in WORDS.finditer(text))
