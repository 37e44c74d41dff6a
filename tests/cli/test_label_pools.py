"""``softlabel label`` with pools that learn: gold, what is told of the fit, and intervals."""

from __future__ import annotations

import csv
import re

import numpy as np
import polars as pl
import pytest

from softlabel import SoftLabels
from softlabel import io as files
from softlabel.aggregate import AGGREGATORS, Dirichlet, takes
from softlabel.testing import example_votes


@pytest.fixture
def votes(tmp_path):
    path = tmp_path / "v.csv"
    files.write_answers(example_votes()[0], path)
    return path


def rows_of(path):
    with path.open(newline="") as file:
        return {row["item"]: row for row in csv.DictReader(file)}


def facts_of(done):
    assert (done.code, done.err) == (0, "")
    return {name: value.strip() for name, value in done.facts.items()}


# ── what is told ─────────────────────────────────────────────────────────────────────────────


def test_a_truth_pool_says_what_it_estimates_and_how_the_fit_went(run, votes, tmp_path):
    facts = facts_of(run("label", votes, tmp_path / "s.csv", "--aggregate", "dawid-skene"))
    assert facts["estimates"] == "which class is true"
    assert facts["mean entropy"].endswith("nats (how sure of the true class)")
    steps, end = facts["fit"].split(" steps, ")
    assert int(steps) > 1
    assert end.startswith("converged; evidence lower bound -")


def test_a_fit_that_was_stopped_says_so(run, votes, tmp_path):
    words = ("--aggregate", "dawid-skene:n_iter=2,tol=0")
    facts = facts_of(run("label", votes, tmp_path / "s.csv", *words))
    assert facts["fit"].startswith("2 steps, not converged; ")


def test_a_heuristic_has_no_fit_to_tell_of(run, votes, tmp_path):
    assert "fit" not in facts_of(run("label", votes, tmp_path / "s.csv", "--aggregate", "wawa"))


def test_auto_says_what_it_chose_and_why(run, votes, tmp_path):
    facts = facts_of(run("label", votes, tmp_path / "s.csv", "--aggregate", "auto"))
    assert facts["estimates"] == "how people split"
    assert facts["chosen"].startswith("dirichlet: 40 items with ")
    assert "fewer than 200 items" in facts["chosen"]


def test_the_list_says_what_every_pool_estimates(run):
    out = run("list", "aggregate").out
    for name, kind in AGGREGATORS.items():
        line = next(line for line in out.splitlines() if re.match(rf"  {name}[: ]", line))
        wanted = {"truth": "which class is true", "distribution": "how people split"}
        assert line.endswith(f"(estimates {wanted[kind.estimand]})")


# ── gold ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "name", [name for name, kind in AGGREGATORS.items() if takes(kind, "gold")]
)
def test_gold_items_have_their_class(run, tmp_path, name):
    said = example_votes(labels=getattr(AGGREGATORS[name], "classes", 3))[0]
    files.write_answers(said, tmp_path / "v.csv")
    (tmp_path / "gold.csv").write_text(
        "item,label\nitem-0,class-1\nitem-1,class-0\nother,class-0\n"
    )
    words = ("--aggregate", name, "--gold", tmp_path / "gold.csv")
    facts = facts_of(run("label", tmp_path / "v.csv", tmp_path / "s.csv", *words))
    assert facts["gold"] == "2 items fixed"
    rows = rows_of(tmp_path / "s.csv")
    assert (float(rows["item-0"]["class-1"]), float(rows["item-1"]["class-0"])) == (1, 1)


@pytest.mark.parametrize(
    ("gold", "pool", "complaint"),
    [
        (
            "item,label\nitem-0,klass-1\n",
            "wawa",
            "gold.csv, line 2, column 'label', value 'klass-1'",
        ),
        ("item,label\nitem-0,class-1\nitem-0,class-2\n", "wawa", "gold.csv, line 3"),
        ("item,klass\nitem-0,class-1\n", "wawa", "column 'label': must have this column"),
        ("item,label\nnobody,class-1\n", "wawa", "names none of the items"),
        ("item,label\nitem-0,class-1\n", "mean", "--gold: mean does not learn from items"),
        (None, "wawa", "gold.csv: there is no such file"),
    ],
)
def test_gold_that_cannot_be_used_is_refused(run, votes, tmp_path, gold, pool, complaint):
    if gold is not None:
        (tmp_path / "gold.csv").write_text(gold)
    words = ("--aggregate", pool, "--gold", tmp_path / "gold.csv")
    done = run("label", votes, tmp_path / "s.csv", *words)
    assert (done.code, done.out) == (1, "")
    assert complaint in done.err
    assert not (tmp_path / "s.csv").exists()


def test_pools_that_take_gold_are_named_to_those_who_ask_another(run, votes, tmp_path):
    (tmp_path / "gold.csv").write_text("item,label\nitem-0,class-1\n")
    done = run("label", votes, tmp_path / "s.csv", "--gold", tmp_path / "gold.csv")
    able = [name for name, kind in AGGREGATORS.items() if takes(kind, "gold")]
    assert done.err.strip().endswith(", ".join(able))


# ── intervals ────────────────────────────────────────────────────────────────────────────────


def test_intervals_and_gain_are_those_of_the_belief(run, votes, tmp_path):
    said = files.read_answers(votes).answers
    made = Dirichlet()(said)
    low, high = made.belief.interval(0.9)
    for kind in ("csv", "parquet", "npz"):
        words = ("--aggregate", "dirichlet", "--intervals")
        facts_of(run("label", votes, tmp_path / f"s.{kind}", *words))
    frame = pl.read_csv(tmp_path / "s.csv")
    labels = said.index.labels.tolist()
    assert frame.columns[-7:] == [
        *(f"{end}:{name}" for end in ("low", "high") for name in labels),
        "gain",
    ]
    for number, name in enumerate(labels):
        np.testing.assert_allclose(frame[f"low:{name}"], low[:, number], atol=1e-12)
        np.testing.assert_allclose(frame[f"high:{name}"], high[:, number], atol=1e-12)
    np.testing.assert_allclose(frame["gain"], made.belief.gain(), atol=1e-12)
    assert pl.read_parquet(tmp_path / "s.parquet").columns == frame.columns
    with np.load(tmp_path / "s.npz") as file:
        np.testing.assert_allclose(file["low"], low, atol=1e-12)
        np.testing.assert_allclose(file["gain"], made.belief.gain(), atol=1e-12)
    np.testing.assert_allclose(SoftLabels.load(tmp_path / "s.npz").probs, made.probs)


def test_without_the_option_the_file_is_as_ever(run, votes, tmp_path):
    facts_of(run("label", votes, tmp_path / "s.csv", "--aggregate", "dirichlet"))
    assert (tmp_path / "s.csv").read_text().splitlines()[0] == "item,class-0,class-1,class-2,count"


def test_a_truth_has_no_interval(run, votes, tmp_path):
    done = run("label", votes, tmp_path / "s.csv", "--aggregate", "wawa", "--intervals")
    assert (done.code, "Wawa() estimates which class is true" in done.err) == (1, True)
    assert not (tmp_path / "s.csv").exists()


@pytest.mark.parametrize("pool", ["share", "mean", "softmax", "extremised"])
def test_a_pool_without_a_model_has_no_interval(run, votes, tmp_path, pool):
    done = run("label", votes, tmp_path / "s.csv", "--aggregate", pool, "--intervals")
    assert done.code == 1
    assert "no model of how sure its label is" in done.err
    assert "--aggregate dirichlet or dirichlet-mixture" in done.err
    assert not (tmp_path / "s.csv").exists()
