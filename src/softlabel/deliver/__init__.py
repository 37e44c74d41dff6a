"""Labels to rows of one epoch: every way to hand what people believe to training."""

from softlabel.deliver.base import NO_CLASS, Deliver, Delivery, Draws, Teaching

DELIVERIES: dict[str, type[Deliver]] = {}

__all__ = ["DELIVERIES", "NO_CLASS", "Deliver", "Delivery", "Draws", "Teaching"]
