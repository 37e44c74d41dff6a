"""What a crowd met: how long requests took, what went wrong, and how far everybody came."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

Request = Literal["page", "plan", "media", "answer"]
End = Literal["finished", "left", "turned away", "failed"]
Progress = Callable[[int, int], None]  # answers acknowledged, answers expected so far


@dataclass
class Log:
    """Shared by everybody who walks at the same time."""

    progress: Progress | None = None
    latencies: defaultdict[Request, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: Counter[str] = field(default_factory=Counter)
    waits: int = 0  # how often the server asked somebody to slow down
    expected: int = 0
    answered: int = 0

    def expect(self, answers: int) -> None:
        self.expected += answers

    def acknowledge(self) -> None:
        self.answered += 1
        if self.progress is not None:
            self.progress(self.answered, max(self.expected, self.answered))


@dataclass(frozen=True)
class Outcome:
    """How one person's visit ended, and the ids of the answers that the server acknowledged."""

    end: End
    acknowledged: tuple[str, ...]


@dataclass(frozen=True)
class Report:
    """What came of sending people to a study.

    ``people`` are in the order of their numbers; ``errors`` counts requests that failed, also
    those that a second try rescued; ``waits`` how often the server asked somebody to slow down;
    ``latencies`` are seconds by kind of request.
    """

    people: tuple[Outcome, ...]
    seconds: float
    errors: Mapping[str, int]
    waits: int
    latencies: Mapping[Request, list[float]]

    @property
    def acknowledged(self) -> int:
        return sum(len(one.acknowledged) for one in self.people)

    @property
    def finished(self) -> int:
        return sum(one.end == "finished" for one in self.people)
