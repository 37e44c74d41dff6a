"""The list of data sets, their papers, and what happens when a file is damaged."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import numpy as np
import pytest

from softlabel import datasets
from softlabel.datasets import DATASETS, MissingData
from softlabel.datasets.reading import read_json_lines
from softlabel.errors import DataError, SoftlabelError, UnknownName

DOCS = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text()
NAMES = [f"{info.name}/{part}" for info in datasets.list_infos() for part in info.parts] + [
    info.name for info in datasets.list_infos() if not info.parts
]


def test_names():
    assert list(DATASETS) == [info.name for info in datasets.list_infos()]
    assert len(DATASETS) == 19
    assert datasets.DATASETS["crowd"].INFO.parts[0] == "dog"


@pytest.mark.parametrize("info", datasets.list_infos(), ids=lambda info: info.name)
def test_every_data_set_says_where_it_comes_from(info):
    assert info.title
    assert info.licence
    assert info.cite
    assert info.home.startswith(("https://", "http://"))
    for file in info.files:
        assert file.url or info.by_hand or info.name in ("cifar10", "cifar100")
        assert not file.url or file.url.startswith("https://")
        assert file.sha256 or file.check or file.name == "politeness_text.jsonl"
        assert not file.sha256 or len(file.sha256) == 64


@pytest.mark.parametrize("info", datasets.list_infos(), ids=lambda info: info.name)
def test_every_data_set_is_documented(info):
    (row,) = [line for line in DOCS.splitlines() if line.startswith(f"| `{info.name}` ")]
    assert info.home in row
    assert info.licence in row
    assert f"\n## {info.name}\n" in DOCS
    for part in info.parts:
        assert f"`{part}`" in DOCS


def test_unknown_names():
    with pytest.raises(UnknownName, match=r"no data set called 'chaosnil' \(did you mean"):
        datasets.load("chaosnil/snli")
    with pytest.raises(
        UnknownName, match=r"no part of chaosnli called 'snl'.*alphanli, mnli, snli"
    ):
        datasets.load("chaosnli/snl")
    with pytest.raises(SoftlabelError, match="parts; say one of chaosnli/snli, chaosnli/mnli, "):
        datasets.load("chaosnli")
    with pytest.raises(SoftlabelError, match="rte has no parts"):
        datasets.load("rte/x")
    with pytest.raises(UnknownName):
        datasets.find_files("nothing")


@pytest.mark.parametrize("name", NAMES)
def test_without_files_every_data_set_says_how_to_get_them(name, own_folder):
    with pytest.raises(MissingData, match=r"(?s)is not in .*(softlabel data fetch|by hand)"):
        datasets.load(name)
    assert set(datasets.find_files(name).values()) == {None}


def test_files_of_the_release_are_the_right_ones(data_folder):
    here = [name for name in DATASETS if any(datasets.find_files(name).values())]
    assert {name: datasets.verify(name) for name in here} == {name: [] for name in here}
    assert here


# ── damaged files ────────────────────────────────────────────────────────────────────────────


def cut(data):
    return data[: len(data) // 2]


def npz(**arrays):
    box = io.BytesIO()
    np.savez_compressed(box, **arrays)
    return box.getvalue()


LABELS = b"item,worker,label\n" + b"0,1,2\n" * 500
GOOD = {
    "crowd/cf": {"cf.label.csv": LABELS, "cf.truth.csv": b"item,truth\n0,2\n"},
    "rte": {
        "annotations.csv": b"item,worker,label,gold\n3,0,1,1\n",
        "text.jsonl": b'{"item": 3, "premise": "a", "hypothesis": "b", "task": "CD"}\n',
    },
}
BAD = [
    (
        "crowd/cf",
        "cf.label.csv.gz",
        cut(gzip.compress(LABELS, mtime=0)),
        "cf.label.csv.gz: damaged",
    ),
    ("crowd/cf", "cf.label.csv.gz", b"not a gzip", "cf.label.csv.gz: damaged"),
    ("crowd/cf", "cf.label.csv", b"", "cf.label.csv: damaged"),
    ("crowd/cf", "cf.label.csv", b"item,label\n0,1\n", "worker"),
    ("crowd/cf", "cf.label.csv", b"item,worker,label\n0,1,2\n0,2\n", "line 3, column 'label'"),
    ("crowd/cf", "cf.label.csv", b"item,worker,label\n0,1,x\n", "damaged"),
    ("crowd/cf", "cf.truth.csv", b"item,truth\n7,2\n", "cf.truth.csv: damaged"),
    ("rte", "text.jsonl", b'{"item": 3, "premise": ', "text.jsonl: damaged"),
    ("rte", "text.jsonl", b'{"item": 4}\n', "text.jsonl: damaged"),
    ("rte", "text.jsonl", b"[1]\n", "text.jsonl: damaged"),
    ("rte", "text.jsonl", b"\xff\xfe", "text.jsonl: damaged"),
    ("rte", "annotations.csv", b"item,worker,label,gold\n3,0,7,1\n", "label code outside"),
    ("labelme", "labelme.npz", cut(npz(answers=np.zeros((9, 9)))), "labelme.npz: damaged"),
    ("labelme", "labelme.npz", npz(answers=np.zeros((9, 9))), "labelme.npz: damaged"),
    ("cifar10n", "cifar10n.npz", b"", "cifar10n.npz: damaged"),
    ("cifar10n", "cifar10n.npz", npz(clean=np.array([{}])), "cifar10n.npz: damaged"),  # a pickle
    ("cifar10h", "cifar10h-counts.npy", b"\x93NUMPY", "cifar10h-counts.npy: damaged"),
    ("cifar10h", "cifar10h-raw.zip", b"PK\x03\x04", "cifar10h-raw.zip: damaged"),
    ("cifar10h", "cifar10h-raw.csv", b"annotator_id\n1\n", "cifar10h-raw.csv: damaged"),
    ("cifar10", "test.npz", b"PK", "test.npz: damaged"),
    ("cifar10", "cifar-10-binary.tar.gz", gzip.compress(b"x", mtime=0)[:-3], "tar.gz: damaged"),
    ("chaosnli/snli", "chaosNLI_snli.jsonl", b'{"uid": "a"}\n', "snli.jsonl: damaged"),
    (
        "popquorn/politeness",
        "politeness_annotations.csv",
        b"instance_id,annotator,politeness\n0,1,6\n",
        "line 2, column 'politeness', value",
    ),
    ("dices", "dices_350_crowdsourced.json", b"{}", "crowdsourced.json: damaged"),
    ("alttest/wax", "wax.human.json", b"[1]", "wax.human.json: damaged"),
    ("popquorn_models/politeness", "polite_results_w2.tsv", b"instance_id\n1\n", "no column ends"),
    (
        "popquorn_models/politeness",
        "polite_results_w2.tsv",
        b"instance_id\ta_base\n1\t2\n1\t3\n",
        "an item has two lines",
    ),
    ("model_vs_human/edge", "trials.csv", b"experiment\nedge\n", "trials.csv: damaged"),
    ("cifar10s", "raw_human_data.csv", b"a,b\n1,2\n", "raw_human_data.csv: damaged"),
    ("cifar10s", "raw_human_data.csv", b"", "holds answers for 0 images"),
]


@pytest.mark.parametrize(
    ("name", "file", "data", "told"),
    BAD,
    ids=[f"{case[1]}-{i}" for i, case in enumerate(BAD)],  # the bytes hold the time
)
def test_damaged_files_are_named(name, file, data, told, own_folder):
    folder = own_folder / name.partition("/")[0]
    folder.mkdir()
    for other, good in GOOD.get(name, {}).items():
        if not file.startswith(other):
            (folder / other).write_bytes(good)
    (folder / file).write_bytes(data)
    with pytest.raises(DataError) as caught:
        datasets.load(name)
    assert told in str(caught.value)


@pytest.mark.parametrize("name", GOOD)
def test_the_same_files_undamaged(name, own_folder):
    folder = own_folder / name.partition("/")[0]
    folder.mkdir()
    for other, good in GOOD[name].items():
        (folder / other).write_bytes(good)
    assert len(datasets.load(name).index.items) == 1


def test_a_line_of_json_ends_at_its_line_feed(tmp_path):
    """Not at the other characters that Python's splitlines takes for line ends."""
    text = {"text": "one\u2028two\u0085three"}
    (tmp_path / "a.jsonl").write_text(json.dumps(text, ensure_ascii=False) + "\n", "utf-8")
    assert read_json_lines(tmp_path / "a.jsonl") == [text]
