"""Runs of recipes: made once, resumed exactly, apart from each other; and folds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from softlabel import Index, SoftLabels
from softlabel.deliver import Aggregate, Draws, TrainingLabels
from softlabel.errors import DataError, SoftlabelError
from softlabel.metrics import evaluate
from softlabel.train import RECIPES, DivergedError, FoldedSplit, file_job, fit, read_split, runs
from softlabel.train.predict import load_network, predict_logits
from softlabel.train.recipes import LABELME_CODE

SMALL = RECIPES["small"]
QUICK = replace(SMALL.config, epochs=2, batch=24, checkpoint_seconds=0.0)


def state_of(run) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in run.path.iterdir()}


def test_a_run_leaves_a_whole_folder_and_is_not_repeated(toy):
    split = read_split(toy.pictures, toy.votes)
    made = SMALL.complete_run(QUICK, split, Aggregate(), seed=1, out=toy.folder / "runs")
    wanted = "config.json seed source.py environment.txt labels.sha256 predictions.npz scores.json"
    assert set(state_of(made)) == {*wanted.split(), "log.jsonl", "weights.pt"}
    assert [line["epoch"] for line in made.log] == [0, 1]
    assert (made.value("kind"), made.value("recipe"), made.seed) == ("scratch", "small", 1)
    assert (made.path / "source.py").read_text().startswith('"""Complete recipes, by name')
    before = state_of(made)
    again = SMALL.complete_run(QUICK, split, Aggregate(), seed=1, out=toy.folder / "runs")
    assert again == made
    assert state_of(again) == before
    # what was kept is what was scored
    logits = made.arrays("logits")["logits"].astype(np.float64)
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(made.predictions.probs, probs, atol=1e-12)
    score = evaluate.scores(made.predictions, made.people, ["kl"])["kl"]
    assert made.scores["kl"].value == pytest.approx(score.value)
    again = predict_logits(load_network(made), split.held)
    np.testing.assert_allclose(again, logits, atol=1e-5)


class Stop(Exception):
    pass


def test_an_interrupted_run_goes_on_exactly(toy):
    """Interrupted in its third epoch, in the midst of a batch."""
    whole = file_job(**toy.words(settings={"epochs": 4}, deliver="sls", out=str(toy.folder / "a")))
    other = replace(whole, out=str(toy.folder / "b"))

    def interrupt(step: str, done: int = 0, total: int | None = None) -> None:
        if step.startswith("training: epoch 3") and done % 3 == 2:
            raise Stop

    with pytest.raises(Stop):
        other.complete_run(interrupt)
    left = other.start_run()
    assert (left.state, len(left.log), (left.path / "checkpoint.pt").exists()) == (
        "waiting",
        2,
        True,
    )
    seen: list[str] = []
    other.complete_run(lambda step, done=0, total=None: seen.append(step))
    assert not [
        step for step in seen if step.startswith(("training: epoch 1", "training: epoch 2"))
    ]
    a, b = whole.complete_run(), other.start_run()
    assert a.name == b.name
    np.testing.assert_array_equal(a.arrays("logits")["logits"], b.arrays("logits")["logits"])
    assert (b.path / "environment.txt").read_text().count("begun ") == 2


def test_labels_to_be_tested_against_decide_a_run(toy):
    """Another ``--against`` file of the same items is another run: the scores are not the same."""

    def complete(share: float):
        index = Index(["picture 3", "picture 7"], [], ["red", "green", "blue"])
        probs = np.tile([share, 1 - share, 0], (2, 1))
        SoftLabels(index, probs, np.full(2, 4)).save(toy.folder / "held.npz")
        return file_job(**toy.words(against=str(toy.folder / "held.npz"))).complete_run()

    first, second, again = (complete(share) for share in (0.5, 0.9, 0.5))
    assert first.name == again.name != second.name
    assert first.scores["cross-entropy"].value != second.scores["cross-entropy"].value
    np.testing.assert_array_equal(first.predictions.probs, second.predictions.probs)


def test_a_run_that_diverges_says_so_and_keeps_its_log(toy):
    job = file_job(**toy.words(settings={"lr": 1e30, "schedule": "constant"}))
    with pytest.raises(DivergedError, match="training diverged"):
        job.complete_run()
    run = job.start_run()
    assert run.state == "failed"
    assert "training diverged" in run.failure
    assert run.log[-1]["diverged"]
    assert runs.find(toy.folder / "runs") == []


def test_a_crowd_layer_takes_the_votes_themselves(toy):
    run = file_job(**toy.words(settings={"objective": "vb"})).complete_run()
    assert run.config["deliver"] == "votes"
    with pytest.raises(SoftlabelError, match="'vb' learns from the votes themselves"):
        file_job(**toy.words(settings={"objective": "vb"}, deliver="sls")).start_run()


# ── folds: the network that predicts an item has not seen it ─────────────────────────────────

FOLDS = replace(LABELME_CODE.config, epochs=3, batch=16)
MANY, TESTED = 30, 10


@pytest.fixture
def split() -> FoldedSplit:
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(MANY + TESTED, 6)).astype(np.float32)
    soft = rng.dirichlet(np.ones(3), MANY)
    items = [f"i{i}" for i in range(MANY + TESTED)]
    people = SoftLabels(Index(items[:MANY], [], ["a", "b", "c"]), soft, np.full(MANY, 3))
    return FoldedSplit(
        inputs[:MANY],
        TrainingLabels.of(people),
        inputs,
        Index(items, [], ["a", "b", "c"]),
        people,
        fold=np.arange(MANY) % 3,
    )


def test_each_fold_is_predicted_by_the_others(split, tmp_path):
    run = LABELME_CODE.complete_run(FOLDS, split, Aggregate(), seed=2, out=tmp_path)
    logits = run.arrays("logits")["logits"]
    for fold in (0, 1, 2, None):
        rows = np.flatnonzero(split.fold != fold)
        known = split.teaching.only(rows)
        taught = Aggregate()(known, Draws(2))
        net = fit(FOLDS, split.inputs[rows], taught, seed=2).net
        held = slice(MANY, None) if fold is None else np.flatnonzero(split.fold == fold)
        assert np.array_equal(logits[held], predict_logits(net, split.held[held]))
    assert [line["items"] for line in run.log] == [20, 20, 20, 30]
    assert run.scores["kl"].n == MANY


def test_items_and_folds_must_match(split):
    with pytest.raises(DataError, match="29 folds for 30 items"):
        replace(split, fold=split.fold[1:])
    with pytest.raises(DataError, match="must be the first of those held out"):
        replace(split, held=split.held[::-1])
    other = replace(split, fold=split.fold[::-1])
    assert other.hashes != split.hashes
