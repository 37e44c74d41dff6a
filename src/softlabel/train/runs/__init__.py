"""Run folders: what was trained, from which labels, by which code, and what came of it.

A folder is named by a hash of configuration, labels and seed, so a finished run is never repeated
and an unfinished one is found again.  Everything in it is plain: JSON, text and arrays.
"""

from softlabel.train.runs.finding import differing, every, find, group
from softlabel.train.runs.folder import Busy, Run, start
from softlabel.train.runs.naming import digest, name

__all__ = ["Busy", "Run", "differing", "digest", "every", "find", "group", "name", "start"]
