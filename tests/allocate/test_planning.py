"""Forecasts: against simulated studies that really ran, and against sums worked out by hand."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import entropy

from softlabel import DataError, Index, study
from softlabel.aggregate import Belief, Prior
from softlabel.allocate import (
    Allocation,
    FitVotes,
    Greedy,
    Pilot,
    Price,
    Uniform,
    cost_of_answer,
    draw_plan,
    forecast,
    measure_seconds,
)
from softlabel.cli import main

ALPHA = np.array([1.0, 0.5, 0.2])
LABELS = ["x", "y", "z"]


def index_of(items):
    return Index([f"i{i}" for i in range(items)], [], LABELS)


def known_prior():
    return FitVotes(Prior(index_of(0).labels, [ALPHA], [1.0]))


def pilot_of(items, votes, rng, fit=None, held=0):
    split = rng.dirichlet(ALPHA, items) + 1e-9
    split /= split.sum(axis=1, keepdims=True)
    counts = rng.multinomial(votes, split).astype(float)
    return Pilot(index_of(items), counts, fit or FitVotes(), held), split


def test_splits_are_drawn_from_the_belief():
    """Mean and variance of a Dirichlet posterior, by their formulas."""
    belief = Belief(index_of(1), [[3.0, 0.0, 1.0]], known_prior().prior)
    many = belief.take(np.zeros(1, dtype=int))
    rng = np.random.default_rng(0)
    drawn = np.concatenate([many.draw(rng) for _ in range(4000)])
    total = ALPHA + np.array([3, 0, 1])
    mean = total / total.sum()
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=0.01)
    np.testing.assert_allclose(drawn.var(axis=0), mean * (1 - mean) / (total.sum() + 1), atol=0.004)


def test_the_expected_kl_is_the_entropy_that_is_left():
    """E KL(p || q) = H(q) - E H(p): without further answers it is known in closed form."""
    rng = np.random.default_rng(1)
    pilot, _ = pilot_of(400, 3, rng, known_prior())
    step = forecast(pilot, Uniform(), [0.0], draws=40)[0]
    belief = pilot.belief()
    left = [entropy(belief.draw(rng), axis=1) for _ in range(60)]
    exact = (entropy(belief.mean(), axis=1) - np.mean(left, axis=0)).mean()
    assert step.kl.value == pytest.approx(exact, rel=0.05)
    assert step.gain.value == pytest.approx(0, abs=1e-12)
    assert step.answers == 0


def test_realised_gains_lie_in_the_interval():
    """Studies that went on: how often the gain against the true splits is in the 90 % interval.
    Real data and more pilots are in bench/plans.py."""
    rng = np.random.default_rng(2)
    inside, times = 0, 8
    for seed in range(times):
        pilot, split = pilot_of(60, 3, rng)
        step = forecast(pilot, Uniform(), [5.4], draws=14, seed=seed)[0]
        state = Allocation(pilot.index, Uniform(), evidence=pilot.evidence)
        before = entropy(split, state.belief.mean(), axis=1).mean()
        for _ in range(3):
            votes = [rng.choice(3, p=p) for p in split]
            state.record(np.arange(60), np.array(votes))
        state.refit()
        gain = before - entropy(split, state.belief.mean(), axis=1).mean()
        inside += step.gain.low <= gain <= step.gain.high
        assert step.answers == pytest.approx(3, abs=0.01)
    assert inside >= 5, "fewer have a chance of 1 in 200 if the interval holds 90 %"


def test_more_money_buys_closer_labels():
    pilot, _ = pilot_of(120, 2, np.random.default_rng(3))
    steps = forecast(pilot, Greedy(), [1.8, 9.0, 18.0], Price(), draws=6)
    kl = [step.kl.value for step in steps]
    assert kl == sorted(kl, reverse=True)
    assert [round(step.answers, 1) for step in steps] == [1, 5, 10]
    assert steps[0].kl.value + steps[0].gain.value == pytest.approx(
        steps[2].kl.value + steps[2].gain.value
    )
    drawn = draw_plan({"quick, greedy": steps})
    assert "further seconds per item" in drawn


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda p: forecast(p, Uniform(), [3.0, 1.0]), "goals = [3.0, 1.0]"),
        (lambda p: forecast(p, Uniform(), []), "goals = []"),
        (lambda p: forecast(p, Uniform(), [1.0], draws=1), "draws = 1"),
        (lambda p: Pilot(p.index, np.zeros((5, 3))), "evidence has shape (5, 3)"),
        (lambda p: Pilot(p.index, np.zeros((10, 3))), "there are no answers"),
    ],
)
def test_refused(call, words):
    pilot, _ = pilot_of(10, 2, np.random.default_rng(4))
    with pytest.raises(DataError) as error:
        call(pilot)
    assert words in str(error.value)


# ── the command ──────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A study of 30 texts that pays 9.00 GBP an hour, and a pilot of three votes on 20 of them."""
    place = tmp_path_factory.mktemp("plan")
    rows = "".join(f"t{i},text {i}\n" for i in range(30))
    (place / "texts.csv").write_text(f"id,text\n{rows}")
    words = ["new", place / "s", "--table", place / "texts.csv", "--text", "text"]
    assert main([str(w) for w in (*words, "--labels", "no,yes", "--mode", "hard")]) == 0
    toml = place / "s" / "study.toml"
    pay = '\n[pay]\ncurrency = "GBP"\nminutes = 10\nper_hour = 9.0\n'
    toml.write_text(toml.read_text() + pay)
    rng = np.random.default_rng(5)
    items = [item.id for item in study.read(place / "s").items][:20]
    votes = [
        f"{item},p{j},{'yes' if rng.random() < 0.1 + 0.8 * (i % 2) else 'no'}\n"
        for i, item in enumerate(items)
        for j in range(3)
    ]
    (place / "pilot.csv").write_text("item,annotator,label\n" + "".join(votes))
    return place


def test_money_becomes_answers(folder):
    """A session of 120 s around its items and 2 s for each showing, shared by the items."""
    read = study.read(folder / "s")
    showings = read.showings_per_person
    by_hand = 9.0 * (120 + 2.0 * showings) / 3600 / read.items_per_person
    assert cost_of_answer(read, 2.0) == pytest.approx(by_hand)
    assert cost_of_answer(read, 2.0, per_hour=18.0) == pytest.approx(2 * by_hand)
    assert measure_seconds(None) is None
    assert measure_seconds(np.array([np.nan])) is None


def test_a_plan_is_printed_and_written(folder, capsys):
    words = ["plan", folder / "s", "--pilot", folder / "pilot.csv", "--budget", 6, "--seconds", 2]
    code = main([str(word) for word in (*words, "--draws", 4, "--out", folder / "out")])
    out = capsys.readouterr().out
    assert code == 0
    assert "30, 20 of them with answers in the pilot" in out
    assert "budget            6.00 GBP" in out
    assert "2 s (given)" in out
    rows = json.loads((folder / "out" / "plan.json").read_text())
    assert [row["money_part"] for row in rows[:4]] == [0.25, 0.5, 0.75, 1.0]
    spent = rows[3]["answers"] * 30 * rows[3]["money_per_answer"]
    assert spent == pytest.approx(6.0, rel=0.02)
    with (folder / "out" / "plan.csv").open() as file:
        assert len(list(csv.reader(file))) == len(rows) + 1
    assert Path(folder / "out" / "plan.svg").read_text().startswith("<svg")


def test_a_plan_starts_from_models_if_it_is_given_any(folder, capsys):
    items = [item.id for item in study.read(folder / "s").items]
    said = "".join(f"{item},m,{'yes' if i % 2 else 'no'}\n" for i, item in enumerate(items))
    (folder / "models.csv").write_text(f"item,model,label\n{said}")
    words = ["plan", folder / "s", "--pilot", folder / "pilot.csv", "--budget", 6, "--seconds", 2]
    words += ["--judges", folder / "models.csv", "--draws", 4, "--out", folder / "led"]
    assert main([str(word) for word in words]) == 0
    assert "hard, greedy, with models" in capsys.readouterr().out
    rows = json.loads((folder / "led" / "plan.json").read_text())
    first = {row["plan"]: row["kl_value"] for row in reversed(rows)}
    assert first["hard, uniform, with models"] < first["hard, uniform"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--budget", "0"], "--budget 0: must be an amount above 0"),
        (["--budget", "5", "--currency", "EUR"], "--currency EUR: the study pays in GBP"),
        (["--budget", "5", "--policy", "gredy"], "did you mean 'greedy'"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(folder, capsys, more, words):
    start = ["plan", str(folder / "s"), "--pilot", str(folder / "pilot.csv")]
    assert main([*start, *more]) == 1
    assert words in capsys.readouterr().err


def test_a_pilot_of_other_items_is_refused(folder, capsys):
    (folder / "other.csv").write_text("item,annotator,label\nnobody,p,yes\n")
    words = ["plan", folder / "s", "--pilot", folder / "other.csv", "--budget", 5]
    assert main([str(word) for word in words]) == 1
    assert "item 'nobody' is not in the study" in capsys.readouterr().err


def test_a_replay_is_printed_and_written(tmp_path, capsys):
    rng = np.random.default_rng(6)
    rows = [f"t{i},p{j},{rng.choice(['a', 'b'])}\n" for i in range(40) for j in range(6)]
    (tmp_path / "votes.csv").write_text("item,annotator,label\n" + "".join(rows))
    words = ["replay", tmp_path / "votes.csv", "--policy", "greedy", "--policy", "entropy"]
    words += ["--at", "3.6,5.4", "--hold", 2, "--out", tmp_path / "out"]
    assert main([str(word) for word in words]) == 0
    out = capsys.readouterr().out
    assert "2 votes of each item held out" in out
    stored = json.loads((tmp_path / "out" / "replay.json").read_text())
    assert {row["policy"] for row in stored["rows"]} == {
        "greedy", "entropy", "uniform", "raw shares"
    }  # fmt: skip
    assert (tmp_path / "out" / "replay.svg").read_text().startswith("<svg")
    assert main(["replay", str(tmp_path / "votes.csv"), "--at", "5,3"]) == 1
    assert "--at 5,3: give seconds per item above 0, rising" in capsys.readouterr().err
