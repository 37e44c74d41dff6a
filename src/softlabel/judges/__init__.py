"""Models as annotators: ask them, keep what they said, and read it beside what people said.

``read_judges`` reads what models said, from a file or a table.  ``ask`` asks a server, a program or
a function about the items of a study.
"""

from softlabel.frames import read_judges
from softlabel.judges.asking import SAMPLES, Bill, Estimate, Prices, ask, estimate, find_log
from softlabel.judges.endpoint import Command, Endpoint
from softlabel.judges.prompt import TEMPLATE, Prompt

__all__ = [
    "SAMPLES", "TEMPLATE", "Bill", "Command", "Endpoint", "Estimate", "Prices", "Prompt", "ask",
    "estimate", "find_log", "read_judges",
]  # fmt: skip
