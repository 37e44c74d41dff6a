"""A run that has left the numbers."""

from __future__ import annotations

from softlabel.errors import SoftlabelError


class DivergedError(SoftlabelError):
    """The loss is no longer a finite number: where, and at which learning rate."""

    def __init__(self, epoch: int, step: int, lr: float) -> None:
        self.epoch, self.step, self.lr = epoch, step, lr
        super().__init__(
            f"training diverged: the loss is not a finite number in epoch {epoch}, step {step} of "
            f"it, at learning rate {lr:.3g}; try a lower lr, or clip = 1 (the log is kept)"
        )
