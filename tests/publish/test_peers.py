"""A release as other programs see it: Hugging Face's datasets, mlcroissant, YAML parsers.

The first two bring many packages.  They are used if they can be imported here, or by the Python
that SOFTLABEL_PEERS names; ``make test`` sets one up in ``.venv/peers``.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import softlabel
from softlabel.publish.tables import make_table

EXAMPLE = """
configs:
- {config_name: labels, data_files: labels.parquet, default: true}
features:
- {name: item, dtype: string}
- name: label
  dtype: {class_label: {names: {'0': cat, '1': dog}}}
- {name: soft_label, list: float32, length: 2}
"""  # in the shape that datasets 5.2 writes


def peer(module):
    """A Python that can import a module, or skip."""
    if importlib.util.find_spec(module):
        return sys.executable
    other = os.environ.get("SOFTLABEL_PEERS")
    if other is None:
        pytest.skip(f"{module} is not installed; name a Python that has it in SOFTLABEL_PEERS")
    if not Path(other).exists():
        pytest.skip(f"{module} is not installed, and pip could not install it for {other}")
    probe = f"import importlib.util, sys; sys.exit(not importlib.util.find_spec({module!r}))"
    assert not subprocess.run([other, "-c", probe], check=False).returncode, f"{other}: no {module}"
    return other


def ask(python, code, folder, tmp_path):
    """Run code in another Python; return what it prints as JSON."""
    done = subprocess.run(
        [python, "-W", "ignore", "-c", code, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={
            **os.environ,
            **{"HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1"},
            "PYTHONPATH": str(Path(softlabel.__file__).parents[1]),
        },
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_the_head_of_the_card_is_as_hugging_face_writes_it(release):
    yaml = pytest.importorskip("yaml")
    _, head, _ = (release() / "README.md").read_text().split("---\n", 2)
    parsed = yaml.safe_load(head)
    assert parsed["license"] == "cc-by-4.0"
    assert parsed["configs"][0] == yaml.safe_load(EXAMPLE)["configs"][0]
    assert [one["config_name"] for one in parsed["dataset_info"]] == [
        *("labels", "answers", "annotators", "items"),
    ]
    two = make_table("labels", [{"item": "i", "label": 0, "soft_label": [1, 0]}], ["cat", "dog"])
    wanted = yaml.safe_load(EXAMPLE)["features"]
    assert [one for one in two.features() if one in wanted] == wanted


def test_citation_is_yaml_with_what_a_citation_needs(release):
    yaml = pytest.importorskip("yaml")
    out = release(authors=('A. "Quoted" Researcher',), url="https://example.org/shapes")
    cited = yaml.safe_load((out / "CITATION.cff").read_text())
    assert cited["authors"] == [{"name": 'A. "Quoted" Researcher'}]
    assert {"cff-version", "message", "title", "type", "version", "url"} <= set(cited)
    assert cited["license"] == "CC-BY-4.0"
    own = release(out="own", licence="https://example.org/terms")
    assert yaml.safe_load((own / "CITATION.cff").read_text())["license-url"] == (
        "https://example.org/terms"
    )


def test_croissant_describes_every_column_of_every_file(release):
    out = release(items=True)
    told = json.loads((out / "croissant.json").read_text())
    sets = {one["@id"]: one for one in told["recordSet"]}
    for file in told["distribution"]:
        assert file["sha256"] == hashlib.sha256((out / file["contentUrl"]).read_bytes()).hexdigest()
        name = file["@id"].removesuffix(".parquet")
        fields = [field["source"]["extract"]["column"] for field in sets[name]["field"]]
        assert fields == list(pl.read_parquet_schema(out / file["@id"]))
    assert len(told["distribution"]) == len(list(out.glob("*.parquet")))
    assert told["conformsTo"][1] == "http://mlcommons.org/croissant/RAI/1.0"
    assert "Krippendorff's alpha 0." in told["rai:dataAnnotationAnalysis"][1]
    assert told["rai:annotationsPerItem"] == "3 to 3, mean 3.00"
    assert told["rai:machineAnnotationTools"] == ["6 of 6 annotators are simulated"]


def test_hugging_face_gives_it_back(release, tmp_path):
    out = release(items=True)
    code = """
import json, sys, datasets
datasets.disable_progress_bars()
told = {}
for name in datasets.get_dataset_config_names(sys.argv[1]):
    rows = datasets.load_dataset(sys.argv[1], name, split="train")
    names = getattr(rows.features.get("label"), "names", None)
    told[name] = {"rows": rows.to_list(), "names": names}
default = datasets.load_dataset(sys.argv[1], split="train")
told["default"] = default.column_names
print(json.dumps(told, default=str))
"""
    told = ask(peer("datasets"), code, out, tmp_path)
    names = ["circle", "square", "triangle", "star", "cross", "heart"]
    assert told["labels"]["names"] == told["answers"]["names"] == names
    assert told["default"] == list(pl.read_parquet_schema(out / "labels.parquet"))
    for table in ("labels", "answers", "annotators", "items"):
        rows = pl.read_parquet(out / f"{table}.parquet").to_dicts()
        for row in rows:
            row.pop("when", None)  # the same moment, in other words
        assert [{**row, "when": 0} for row in told[table]["rows"]] == [
            {**row, "when": 0} for row in rows
        ]


def test_tables_of_hugging_face_go_in(release, tmp_path):
    """Lists of votes, whose classes have names; labels as they were published, for metrics."""
    code = """
import importlib.util, json, sys
if not importlib.util.find_spec("polars"):  # an environment of somebody's own
    print(json.dumps(None))
    sys.exit()
import datasets, softlabel
datasets.disable_progress_bars()
labels = datasets.load_dataset(sys.argv[1], split="train")
score = softlabel.metrics.cross_entropy(labels, labels.shuffle(seed=1))
classes = datasets.List(datasets.ClassLabel(names=["no", "yes", "never"]))
kinds = {"id": datasets.Value("string"), "votes": classes}
lists = {"id": ["a", "b"], "votes": [[0, 1, 1], [1, -1]]}
votes = softlabel.annotations(datasets.Dataset.from_dict(lists, datasets.Features(kinds)))
told = {"score": score.tolist(), "counts": votes.counts().tolist()}
print(json.dumps({**told, "labels": votes.index.labels.tolist()}))
"""
    out = release()
    told = ask(peer("datasets"), code, out, tmp_path)
    if told is None:
        pytest.skip("the Python of SOFTLABEL_PEERS has no polars")
    assert told["labels"] == ["no", "yes", "never"]
    assert told["counts"] == [[1, 2, 0], [0, 1, 0]]
    entropy = pl.read_parquet(out / "labels.parquet")["entropy"]
    assert told["score"] == pytest.approx(entropy.to_list(), abs=1e-5)


def test_mlcroissant_validates_and_reads_it(release, tmp_path):
    out = release(items=True, authors=("A. Researcher",), url="https://example.org/shapes")
    code = """
import json, sys, mlcroissant
data = mlcroissant.Dataset(sys.argv[1] + "/croissant.json")  # raises what is wrong
counts = {one.uuid: len(list(data.records(one.uuid))) for one in data.metadata.record_sets}
issues = data.metadata.ctx.issues
wrong = {"errors": sorted(issues.errors), "warnings": sorted(issues.warnings)}
print(json.dumps({"counts": counts, **wrong}))
"""
    told = ask(peer("mlcroissant"), code, out, tmp_path)
    tables = ("labels", "answers", "annotators", "items")
    counts = {name: pl.read_parquet(out / f"{name}.parquet").height for name in tables}
    assert told == {"counts": {"classes": 6, **counts}, "errors": [], "warnings": []}
