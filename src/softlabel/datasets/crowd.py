"""Thirteen label-only sets on which ways to infer the truth from a crowd are compared.

Gathered by Li, Rubinstein & Cohn 2019, "Truth Inference at Scale", from SpectralMethodsMeetEM,
active-crowd-toolkit, crowd_truth_inference and CrowdScale 2013.  The collection is under the MIT
licence.  From 300 items (cf) to 42,624 (fact_eval, 216,725 labels); in some sets gold covers a
part of the items only, and some hold several labels of one worker for one item.
"""

from __future__ import annotations

from urllib.parse import quote

import numpy as np
import polars as pl

from softlabel.datasets._fetch import locate
from softlabel.datasets._read import coded, numbered, reading, repeats, table
from softlabel.datasets.base import Dataset, File, Info
from softlabel.tables import Annotations, Index

DATA = (
    "https://raw.githubusercontent.com/yuan-li/truth-inference-at-scale/"
    "ff6d32971fb3ca17e2f0c784a126d8b26495dbce/data"
)
# name: folder of the repository, sha256 of its label.csv and of its truth.csv
SETS = {
    "dog": (
        "crowd_truth_inference/s4_Dog data",
        "c240c0efc442e4936b35f28424d66fb04e687c0f29b254af94c26e15a71aa820",
        "b299494a7aba3cf5abcd3b0e002f6e899f3e1f1d864a26703325db355555cb76",
    ),
    "trec": (
        "SpectralMethodsMeetEM/trec",
        "8bfc1d6036ab5b9e489755db7ea89be80a1ec0fe523527cf7966cb52f662696b",
        "e66a5ae31d542fcf1dc929d568d2f9489245fe201e48ff322b7de1f19f9e5dd6",
    ),
    "cf": (
        "active-crowd-toolkit/CF",
        "b0f98ddc9afefffcaf9670f591a3441b1bfc3eab70f8e4c35746310962920f06",
        "8d8f1b773b310fa91e550658ef88baedc4c522ccd395a1ffa9c185327b88080f",
    ),
    "cf_amt": (
        "active-crowd-toolkit/CF_amt",
        "6b016e49c6a166960f83ec246350ad2fbb34229348e85db84809477f49f15c5a",
        "b6fb9e58d0f026751ad33a57c3dea28389c2b957b77271bb127380f5f0935b8b",
    ),
    "ms": (
        "active-crowd-toolkit/MS",
        "4e59b88dbe48a0cd545a745c9718f3955729205d29da1bf883adc64bf7a3e378",
        "981c635d5cde03cd903bf319b030178420bc8aa3b6a3b7846abea4e974bc2294",
    ),
    "sp": (
        "active-crowd-toolkit/SP",
        "f7925ededbb2586bb8c787d29d0dc0fc28103daee5d436e683b42d555780e467",
        "26546f7031104001c4aa134268fe0a5df74e35b5ca7e7b7e56967849024e3ab3",
    ),
    "sp_amt": (
        "active-crowd-toolkit/SP_amt",
        "c3ca981b7b64bde4ca2fed9b19bd3123a59e4d9b62a6931b2b61e0d8c8174a56",
        "0ef0eb520fc75972f4a586e1b639983ec204ce4eda363d726ccef4bc4ef42fe0",
    ),
    "zencrowd_all": (
        "active-crowd-toolkit/ZenCrowd_all",
        "2ff13aee821c35744ee94e11b5b0fb127ea33689b5fe35f3603caaecc6aaa289",
        "c9369759a8085f7b228277c4c067cfe35a7ceaf3a90ed524c3def878ede3c5c1",
    ),
    "zencrowd_in": (
        "active-crowd-toolkit/ZenCrowd_in",
        "bf5e8d2360cda1982fd4fbe70f489d61cfde4357b37f0945037eeb6f2340e47e",
        "584cc8c1f25e2aaed9d6affe656c2022109072785fcd2f6693993af3efa5974b",
    ),
    "product": (
        "crowd_truth_inference/d_jn-product",
        "525098daa3d9aa4919160ecef7daaf65a42d2b92c01ffbb5b5ff17b63110b366",
        "cd86cc6574fa1693520085eb4b4919e6676afbdffbf53b708edadeeb0150d2f6",
    ),
    "relevance": (
        "crowd_truth_inference/s4_Relevance",
        "0577f8e46cbec9901dd7b33ec3626f95cc70f90c54c86f9df4a02d7a841cd8ca",
        "32d8553b523a811a6fdb90051c7bc87e6065bae4471da6e613f9a5f3fbed2709",
    ),
    "adult": (
        "crowd_truth_inference/s5_AdultContent",
        "d72988724f7cdd628ce21fa1aaabecc4d03aef21bf59644d9e4033b774ac9a32",
        "1c52c5d528d16e031360d87ce384a80611bf23dedd5c7cfddf2c8ffc058772cb",
    ),
    "fact_eval": (
        "crowdscale2013/fact_eval",
        "c8be134ea9adb9fe5984657dcd1894dce89ba93a539a600a62654c801d6e6d3a",
        "5e0ea8af9d225cd4d03e175d279e5ab00958c6f74c3ebf85b068a271a83ad741",
    ),
}


def _files(name: str) -> tuple[File, File]:
    folder, label, truth = SETS[name]
    beside = "SpectralMethodsMeetEM/dog" if name == "dog" else folder  # labels and truth apart
    return (
        File(f"{name}.label.csv", label, f"{DATA}/{quote(folder)}/label.csv"),
        File(f"{name}.truth.csv", truth, f"{DATA}/{quote(beside)}/truth.csv"),
    )


INFO = Info(
    name="crowd",
    title="Truth inference at scale",
    home="https://github.com/yuan-li/truth-inference-at-scale",
    licence="MIT (the collection)",
    files=tuple(file for name in SETS for file in _files(name)),
    parts=tuple(SETS),
    cite="Li, Rubinstein & Cohn 2019, Truth Inference at Scale, WWW, arXiv 1902.08918",
)


def load(part: str = "") -> Dataset:
    """The votes of one set with their workers, and gold where it is known."""
    labels_path, truth_path = (locate(INFO, file.name) for file in _files(INFO.part(part)))
    number = pl.Int64
    said = table(labels_path, {"item": number, "worker": number, "label": number})
    truth = table(truth_path, {"item": number, "truth": number})
    items, item = coded(said["item"].to_numpy())
    workers, worker = coded(said["worker"].to_numpy())
    with reading(truth_path):
        k = 1 + max(said["label"].to_numpy().max(), truth["truth"].to_numpy().max())
        code = {name: i for i, name in enumerate(items.tolist())}
        gold = np.full(len(items), -1)
        gold[[code[str(i)] for i in truth["item"].to_list()]] = truth["truth"].to_numpy()
    index = Index(items, workers, numbered(range(k)))
    annotations = Annotations(index, item, worker, label=said["label"].to_numpy())
    known = int((gold >= 0).sum())
    notes = repeats(annotations)
    if known < len(gold):
        notes += (f"Gold is known for {known} of {len(gold)} items.",)
    return Dataset(f"crowd/{part}", INFO, index, None, annotations, gold, notes=notes)
