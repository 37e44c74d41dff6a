"""A method whose worker dies in the middle of a step, once.  Workers import it from here."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from softlabel.aggregate import DawidSkene


@dataclass(frozen=True)
class Mortal(DawidSkene):
    """Ends its own process in the step after the file ``alive`` was made, and removes the file."""

    alive: str = ""

    def step(self, part, parameters):
        if part.number == 1 and Path(self.alive).exists():
            Path(self.alive).unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().step(part, parameters)
