"""How often somebody may ask: token buckets in bounded memory."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass


@dataclass(frozen=True)
class Rate:
    """``burst`` requests at once, and ``per_second`` more as time passes."""

    burst: float
    per_second: float


class Buckets:
    """One bucket per key.  The key that was quiet longest is forgotten first, full again."""

    def __init__(self, rate: Rate, most: int = 50_000) -> None:
        self.rate, self.most = rate, most
        self._left: OrderedDict[object, tuple[float, float]] = OrderedDict()

    def wait(self, key: object, now: float) -> float:
        """0 if the request may go on, otherwise the seconds until one may."""
        left, since = self._left.pop(key, (self.rate.burst, now))
        left = min(self.rate.burst, left + (now - since) * self.rate.per_second)
        allowed = left >= 1
        self._left[key] = (left - 1 if allowed else left, now)
        if len(self._left) > self.most:
            self._left.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self.rate.per_second

    def __len__(self) -> int:
        return len(self._left)
