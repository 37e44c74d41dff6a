"""``softlabel score``: files of every kind in, tables and reports out, mistakes by place."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ET

import numpy as np
import polars as pl
import pytest

from softlabel import Index, Predictions, io, metrics
from softlabel.aggregate import Dirichlet, Mean
from softlabel.sampling import votes_from_counts

LABELS = ["no", "maybe", "yes"]
M = 40
RNG = np.random.default_rng(8)
TRUTH = RNG.dirichlet([0.6, 0.5, 0.6], M)
COUNTS = RNG.multinomial(4, TRUTH)
GUESS = np.round(0.6 * TRUTH + 0.4 / 3, 6)
GUESS[:, 0] = 1 - GUESS[:, 1:].sum(axis=1)
ITEMS = [f"t{i}" for i in range(M)]
INDEX = Index(ITEMS, [], LABELS)
VOTES = votes_from_counts(INDEX, COUNTS)
FEW = ("--draws", 20)


def frame(probs=GUESS, labels=LABELS):
    columns = dict(zip(labels, probs.T, strict=True))
    return pl.DataFrame({"item": ITEMS} | columns).sample(M, shuffle=True, seed=2)


@pytest.fixture
def files(tmp_path):
    frame().write_csv(tmp_path / "model.csv")
    rows = [
        f"{ITEMS[item]},p{place % 9},{LABELS[label]}\n"
        for place, (item, label) in enumerate(zip(VOTES.item, VOTES.label, strict=True))
    ]
    (tmp_path / "votes.csv").write_text("item,annotator,label\n" + "".join(rows))
    return tmp_path


def table(out: str) -> dict[str, list[str]]:
    lines = out.split(":\n", 1)[1].splitlines()
    return {line.split()[0]: line.split() for line in lines[1:] if line.startswith("  ")}


def test_the_table_has_every_metric_with_its_interval_and_ceiling(run, files):
    done = run("score", files / "model.csv", files / "votes.csv", *FEW)
    assert (done.code, done.err) == (0, "")
    assert f"items      {M}" in done.out
    rows = table(done.out)
    assert set(rows) == set(metrics.METRICS) - {"w1-index"}
    value = metrics.kl(COUNTS / 4, GUESS).mean()
    assert rows["kl"][:3] == ["kl", "lower", f"{value:.4f}"]
    ceilings = metrics.ceilings(COUNTS, {"kl": metrics.kl})
    assert rows["kl"][-1] == f"{ceilings['kl'].value:.4f}"


def soft_labels(pool):
    return pool(VOTES)


PREDICTIONS = {
    "model.tsv": lambda path: frame().write_csv(path, separator="\t"),
    "model.parquet": lambda path: frame().write_parquet(path),
    "model.jsonl": lambda path: frame().write_ndjson(path),
    "model.npz": lambda path: np.savez(path, item=ITEMS, labels=LABELS, probs=GUESS),
}
PEOPLE = {
    "votes.csv": lambda path: None,
    "counts.csv": lambda path: frame(COUNTS).write_csv(path),
    "counts.jsonl": lambda path: frame(COUNTS).write_ndjson(path),
    "soft.csv": lambda path: io.write_soft_labels(soft_labels(Mean()), path),
    "soft.jsonl": lambda path: io.write_soft_labels(soft_labels(Mean()), path),
    "soft.parquet": lambda path: io.write_soft_labels(soft_labels(Mean()), path),
    "soft.npz": lambda path: io.write_soft_labels(soft_labels(Mean()), path),
}


@pytest.mark.parametrize(
    ("model", "people"),
    [*((model, "votes.csv") for model in PREDICTIONS), *(("model.csv", one) for one in PEOPLE)],
)
def test_files_of_every_kind_give_the_same_number(run, files, model, people):
    for name, write in {**PREDICTIONS, **PEOPLE}.items():
        if name in (model, people):
            write(files / name)
    out = files / "scores.json"
    done = run("score", files / model, files / people, "--metric", "kl", "--out", out, *FEW)
    assert (done.code, done.err) == (0, "")
    found = json.loads(out.read_text())["metrics"]["kl"]
    assert found["value"] == pytest.approx(metrics.kl(COUNTS / 4, GUESS).mean(), abs=1e-6)
    assert found["ceiling"] is not None


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "npz"])
def test_what_a_pool_adds_to_its_labels_is_no_class(run, files, kind):
    """Intervals, and what this or a pool of somebody's own says of each item."""
    pooled = Dirichlet()(VOTES)
    low, high = pooled.belief.interval()
    more = {"low": low, "high": high, "gain": pooled.belief.gain(), "people": np.full(M, 0.3)}
    io.write_soft_labels(pooled, files / f"pooled.{kind}", more | {"of my own": np.ones(M)})
    people = files / f"pooled.{kind}"
    back = run("score", people, files / "votes.csv", "--metric", "brier", "--normalise", *FEW)
    if kind != "npz":  # holds probabilities
        assert f"{metrics.brier(COUNTS / 4, pooled.probs).mean():.4f}" in back.out
    done = run("score", files / "model.csv", people, "--metric", "brier", *FEW)
    assert done.code == 0
    assert f"{metrics.brier(pooled.probs, GUESS).mean():.4f}" in done.out
    assert "noise ceiling  not known: soft labels do not say how many people" in done.out


def test_many_classes_in_json_lines(run, files):
    labels = [f"c{j}" for j in range(40)]
    probs = RNG.dirichlet(np.ones(40), M)
    index = Index(ITEMS, [], labels)
    soft = Mean()(votes_from_counts(index, RNG.multinomial(6, probs)))
    io.write_soft_labels(soft, files / "many.jsonl")
    np.savez(files / "many.npz", item=ITEMS, labels=labels, probs=probs)
    done = run("score", files / "many.npz", files / "many.jsonl", "--metric", "brier", *FEW)
    assert f"{metrics.brier(soft.probs, probs).mean():.4f}" in done.out


def test_reports(run, files):
    other = 0.3 * TRUTH + 0.7 / 3
    frame(other / other.sum(axis=1, keepdims=True)).write_csv(files / "other.csv")
    out = [files / f"report.{kind}" for kind in ("html", "json", "csv", "svg")]
    asked = [word for path in out for word in ("--out", path)]
    files_given = (files / "model.csv", files / "votes.csv", "--compare", files / "other.csv")
    done = run("score", *files_given, *asked, "--ordered", *FEW)
    assert (done.code, done.err) == (0, "")
    assert "no < maybe < yes" in done.out
    rows = list(csv.DictReader(out[2].read_text().splitlines()))
    stored = json.loads(out[1].read_text())
    assert [row["metric"] for row in rows] == list(stored["metrics"])
    shares = COUNTS / 4
    gap = metrics.w1_index(shares, GUESS).mean() - metrics.w1_index(shares, other).mean()
    assert float(stored["metrics"]["w1-index"]["difference"]) == pytest.approx(gap, abs=1e-6)
    assert stored["ordered"] is True
    page = ET.fromstring(out[0].read_text().split("\n", 1)[1])
    text = " ".join(page.itertext())
    assert "Compared with" in text
    assert "w1-index" in text
    assert ET.fromstring(out[3].read_text()).tag.endswith("svg")


WRONG = {
    "t0,0.5,0.6,0.1": "line 2: the probabilities sum to 1.2, not to 1; if they are rounded",
    "t0,-0.5,1.4,0.1": "line 2, column 'no', value '-0.5': a probability must not be negative",
    "t0,x,0.4,0.1": "line 2, column 'no', value 'x': not a number; besides item, every column",
    "t0,,0.9,0.1": "line 2, column 'no': the cell is empty; every item needs a prediction",
    "t0,nan,0.9,0.1": "line 2, column 'no', value 'nan': NaN is no probability",
    "t0,1,0,0\nt0,1,0,0": "line 3, column 'item', value 't0': this item is there already",
    "t0,1,0": "line 2: has 3 fields, but the header has 4",
}


@pytest.mark.parametrize("line", WRONG)
def test_mistakes_in_predictions_are_named_by_place(run, files, line):
    (files / "bad.csv").write_text(f"item,no,maybe,yes\n{line}\n")
    done = run("score", files / "bad.csv", files / "votes.csv")
    assert (done.code, done.out) == (1, "")
    assert f"{files / 'bad.csv'}, {WRONG[line]}" in done.err


def test_counts_and_logits_are_taken_on_request(run, files):
    frame(np.log(GUESS)).write_csv(files / "logits.csv")
    frame(GUESS * 50).write_csv(files / "weights.csv")
    wanted = f"{metrics.kl(COUNTS / 4, GUESS).mean():.4f}"
    for name, option in (("logits.csv", "--from-logits"), ("weights.csv", "--normalise")):
        given = (files / name, files / "votes.csv", "--metric", "kl", *FEW)
        assert run("score", *given).code == 1
        done = run("score", *given, option)
        assert (done.code, wanted in done.out) == (0, True)


def test_strangers_are_refused(run, files):
    (files / "alien.csv").write_text("item,annotator,label\nt0,p,perhaps\n")
    done = run("score", files / "model.csv", files / "alien.csv")
    assert done.code == 1
    assert "line 2, column 'label', value 'perhaps': no such class" in done.err
    frame()[:30].write_csv(files / "some.csv")
    done = run("score", files / "some.csv", files / "votes.csv")
    assert "has no prediction of item" in done.err
    assert "(nor of 9 more)" in done.err
    assert run("score", files / "some.csv", files / "votes.csv", "--common", *FEW).code == 0
    done = run("score", files / "votes.csv", files / "votes.csv")
    assert done.code == 1
    done = run("score", files / "model.csv", files / "votes.csv", "--out", files / "model.csv")
    assert "is the input itself" in done.err


def test_predictions_of_npz_are_checked(run, files):
    np.savez(files / "bad.npz", item=ITEMS, labels=LABELS, probs=GUESS * 2)
    done = run("score", files / "bad.npz", files / "votes.csv")
    assert done.code == 1
    assert "does not hold predictions" in done.err
    assert isinstance(io.read_predictions(files / "model.csv"), Predictions)
