"""The same pools out of one machine: votes in parts, and a cluster that works through them.

``softlabel.engine.cluster`` needs Dask (``pip install 'softlabel[cluster]'``); the rest does not.
"""

from softlabel.engine.fitting import check_works, fitted
from softlabel.engine.folder import open_folder
from softlabel.engine.jobs import Job, connected, label
from softlabel.engine.partitions import Part, Partitions, Reading, read_part
from softlabel.engine.split import split_file, split_table

__all__ = [
    "Job",
    "Part",
    "Partitions",
    "Reading",
    "check_works",
    "connected",
    "fitted",
    "label",
    "open_folder",
    "read_part",
    "split_file",
    "split_table",
]
