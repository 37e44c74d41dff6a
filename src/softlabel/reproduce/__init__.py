"""Published and promised numbers, worked out again from the data."""

from softlabel.reproduce import pooling

__all__ = ["pooling"]
