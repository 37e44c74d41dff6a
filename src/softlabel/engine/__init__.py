"""The same steps on a Dask cluster: votes in parts, and workers that go through them.

``softlabel.engine.cluster`` needs Dask (``pip install 'softlabel[cluster]'``); the rest does not.
"""

from softlabel.engine import partitions
from softlabel.engine.fitting import check_works_on_parts, fit_parts
from softlabel.engine.labelling import ClusterPlan, connect_cluster, label_on_cluster
from softlabel.engine.partitions import Partitions, open_folder, read_part, split_file, split_table

__all__ = [
    "ClusterPlan", "Partitions", "check_works_on_parts", "connect_cluster", "fit_parts",
    "label_on_cluster", "open_folder", "partitions", "read_part", "split_file", "split_table",
]  # fmt: skip
