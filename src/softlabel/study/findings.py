"""What reading a folder brings to light: mistakes, which block it, and oddities, which do not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from softlabel.errors import Problem, nearest

SHOWN = 20  # mistakes of one kind that are listed one by one; the rest of them are counted
COMPARED = 20_000  # names that are compared, for a kind, to find the nearest spelling


@dataclass
class _Kind:
    """Mistakes of one kind in the lines of one file: where each value stands first, how often."""

    known: tuple[str, ...]
    lines: dict[str, tuple[str, object, int]] = field(default_factory=dict)  # by repr


class Findings:
    """A notebook that every reader of a study folder writes into; nobody stops at the first."""

    def __init__(self) -> None:
        self.notes: list[Problem] = []
        self._problems: list[Problem | tuple[str, str, str]] = []
        self._kinds: dict[tuple[str, str, str], _Kind] = {}
        self._count = 0

    def __len__(self) -> int:
        """How many mistakes have been made; cheap, unlike the list of them."""
        return self._count

    def wrong(self, file: str, key: str, value: object, reason: str) -> None:
        """One mistake."""
        self._count += 1
        self._problems.append(_problem(file, key, value, reason))

    def odd(self, file: str, key: str, value: object, reason: str) -> None:
        """Something allowed that may not be meant."""
        self.notes.append(_problem(file, key, value, reason))

    def line(
        self,
        file: str,
        place: str,
        column: str,
        value: object,
        reason: str,
        known: Iterable[str] = (),
    ) -> None:
        """A mistake in one of many lines; ``known`` are the right spellings, if it is a name.

        The same mistake in a thousand lines is one mistake: it is listed once per value, and
        after twenty values counted.
        """
        self._count += 1
        kind = (file, column, reason)
        if kind not in self._kinds:
            self._kinds[kind] = _Kind(tuple(known))
            self._problems.append(kind)
        lines = self._kinds[kind].lines
        first, _, count = lines.get(repr(value), (place, value, 0))
        lines[repr(value)] = (first, value, count + 1)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All mistakes, in the order in which they were found."""
        listed: list[Problem] = []
        for entry in self._problems:
            listed += [entry] if isinstance(entry, Problem) else self._listed(*entry)
        return tuple(listed)

    def _listed(self, file: str, column: str, reason: str) -> list[Problem]:
        kind = self._kinds[file, column, reason]
        listed = []
        entries = list(kind.lines.values())
        hinted = max(1, COMPARED // max(1, len(kind.known)))
        for number, (place, value, count) in enumerate(entries[:SHOWN]):
            known = kind.known if number < hinted and value is not None else ()
            hint = nearest(str(value), known)
            more = f" (and {count - 1} more lines)" if count > 1 else ""
            listed.append(_problem(file, f"{place}, {column}", value, f"{reason}{hint}{more}"))
        left = sum(count for _, _, count in entries[SHOWN:])
        if left:
            listed.append(_problem(file, column, None, f"{left} more lines: {reason}"))
        return listed


def _problem(file: str, key: str, value: object, reason: str) -> Problem:
    """A problem on one line, whatever characters the names in it are made of."""
    return Problem(_plain(file), _plain(key), value, _plain(reason))


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
