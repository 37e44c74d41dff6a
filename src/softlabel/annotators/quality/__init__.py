"""Which answers look wrong, and which annotators would fall out by which declared rule.

Nothing here drops anything: rules are values with a version, the result says who and why.
"""

from softlabel.annotators.quality.answers import ERRORS, Rounding, flags, rounding
from softlabel.annotators.quality.beside import FEW, Usual, far_below, usual
from softlabel.annotators.quality.rules import LONG_RUN, PRESETS, Rules, Verdict, judge, preset

__all__ = [
    "ERRORS",
    "FEW",
    "LONG_RUN",
    "PRESETS",
    "Rounding",
    "Rules",
    "Usual",
    "Verdict",
    "far_below",
    "flags",
    "judge",
    "preset",
    "rounding",
    "usual",
]
