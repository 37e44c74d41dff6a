"""Runs of recipes: made once, resumed exactly, apart from each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from softlabel.deliver import Aggregate
from softlabel.errors import DataError, MissingExtra, SoftlabelError
from softlabel.metrics import evaluate
from softlabel.train import DivergedError, predicting, runs
from softlabel.train.recipes import encoders, features, images, lite0, weights
from softlabel.train.recipes.jobs import Job
from softlabel.train.recipes.lesson import read
from softlabel.train.runs import Run

QUICK = replace(images.CONFIG, epochs=2, batch=24, checkpoint_seconds=0.0)


def state_of(run) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in run.path.iterdir()}


def test_a_run_leaves_a_whole_folder_and_is_not_repeated(toy):
    lesson = read(toy.pictures, toy.votes)
    made = images.run(QUICK, lesson, Aggregate(), seed=1, out=toy.folder / "runs")
    wanted = "config.json seed source.py environment.txt labels.sha256 predictions.npz scores.json"
    assert set(state_of(made)) == {*wanted.split(), "log.jsonl", "weights.pt"}
    assert [line["epoch"] for line in made.log] == [0, 1]
    assert (made.value("kind"), made.value("recipe"), made.seed) == ("scratch", "small", 1)
    assert (made.path / "source.py").read_text().startswith('"""Pictures learned from scratch')
    before = state_of(made)
    again = images.run(QUICK, lesson, Aggregate(), seed=1, out=toy.folder / "runs")
    assert again == made
    assert state_of(again) == before
    # what was kept is what was scored
    logits = made.arrays("logits")["logits"].astype(np.float64)
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(made.predictions.probs, probs, atol=1e-12)
    score = evaluate.scores(made.predictions, made.people, ["kl"])["kl"]
    assert made.scores["kl"].value == pytest.approx(score.value)
    again = predicting.logits(weights.network(made), lesson.held)
    np.testing.assert_allclose(again, logits, atol=1e-5)


def test_labels_delivery_and_settings_make_other_runs(toy):
    jobs = [
        Job(**toy.words()),
        Job(**toy.words(seed=1)),
        Job(**toy.words(labels=toy.labels)),
        Job(**toy.words(deliver="hard")),
        Job(**toy.words(settings={"lr": 0.2})),
        Job(**toy.words(recipe="u20")),
    ]
    assert len({job.begun().name for job in jobs}) == len(jobs)
    often = Job(**toy.words(settings={"checkpoint_seconds": 9.0}))  # decides nothing
    assert often.begun().name == jobs[0].begun().name
    assert Job.of(jobs[4].text()) == jobs[4]


def test_a_job_for_somebody_elsewhere_has_whole_paths(toy, monkeypatch):
    monkeypatch.chdir(toy.folder)
    job = Job("small", "toy.npz", "votes.csv", settings=toy.words()["settings"])
    sent = job.anywhere()
    assert (sent.images, sent.out) == (toy.pictures, str(toy.folder / "runs"))
    assert replace(job, images="cifar10h").anywhere().images == "cifar10h"
    assert sent.begun() == Run(toy.folder / "runs" / job.begun().name)  # the same run


def test_files_that_change_are_read_again(toy):
    job = Job(**toy.words())
    before = job.begun().name
    assert job.lesson() is job.lesson()
    lines = (toy.folder / "votes.csv").read_text().splitlines()
    (toy.folder / "votes.csv").write_text("\n".join(lines[:-5]) + "\n")
    assert job.begun().name != before


class Stop(Exception):
    pass


def test_an_interrupted_run_goes_on_exactly(toy):
    """Interrupted in its third epoch, in the midst of a batch."""
    whole = Job(**toy.words(settings={"epochs": 4}, deliver="sls", out=str(toy.folder / "a")))
    other = replace(whole, out=str(toy.folder / "b"))

    def interrupt(step: str, done: int = 0, total: int | None = None) -> None:
        if step.startswith("training: epoch 3") and done % 3 == 2:
            raise Stop

    with pytest.raises(Stop):
        other.completed(interrupt)
    left = other.begun()
    assert (left.state, len(left.log), (left.path / "checkpoint.pt").exists()) == (
        "waiting",
        2,
        True,
    )
    seen: list[str] = []
    other.completed(lambda step, done=0, total=None: seen.append(step))
    assert not [
        step for step in seen if step.startswith(("training: epoch 1", "training: epoch 2"))
    ]
    a, b = whole.completed(), other.begun()
    assert a.name == b.name
    np.testing.assert_array_equal(a.arrays("logits")["logits"], b.arrays("logits")["logits"])
    assert (b.path / "environment.txt").read_text().count("begun ") == 2


def test_a_run_that_diverges_says_so_and_keeps_its_log(toy):
    job = Job(**toy.words(settings={"lr": 1e30, "schedule": "constant"}))
    with pytest.raises(DivergedError, match="training diverged"):
        job.completed()
    run = job.begun()
    assert run.state == "failed"
    assert "training diverged" in run.failure
    assert run.log[-1]["diverged"]
    assert runs.find(toy.folder / "runs") == []


def test_a_crowd_layer_takes_the_votes_themselves(toy):
    run = Job(**toy.words(settings={"objective": "vb"})).completed()
    assert run.config["deliver"] == "votes"
    with pytest.raises(SoftlabelError, match="'vb' learns from the votes themselves"):
        Job(**toy.words(settings={"objective": "vb"}, deliver="sls")).begun()


# ── features ─────────────────────────────────────────────────────────────────────────────────


class Colours:
    """The mean colour of a picture: an encoder of one's own."""

    name = "colours-1"
    asked = 0

    def __call__(self, images):
        self.asked += len(images)
        return images.mean(axis=(1, 2)) / 255


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SOFTLABEL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "features"


def test_heads_on_features_of_ones_own_learn_and_stand_apart(toy, cache):
    colours = Colours()
    lesson = features.featured(read(toy.pictures, toy.votes), colours)
    config = replace(features.CONFIG, lr=0.05, batch=16)
    run = features.run(config, lesson, Aggregate(), seed=0, out=toy.folder / "runs")
    assert (run.value("kind"), run.outcome["kind"], run.value("encoder")) == (
        *("features", "features"), "colours-1",
    )  # fmt: skip
    assert run.scores["accuracy"].value > 0.7  # chance is a third
    assert colours.asked == 80
    features.featured(read(toy.pictures, toy.votes), colours)
    assert colours.asked == 80  # the second time it was read from the disk
    assert len(list(cache.iterdir())) == 2


def test_other_pictures_or_another_encoder_are_not_taken_from_the_cache(toy, cache):
    colours = Colours()
    first = encoders.encoded(toy.images, colours)
    encoders.encoded(toy.images[::-1].copy(), colours)
    assert colours.asked == 160
    colours.name = "colours-2"
    np.testing.assert_array_equal(encoders.encoded(toy.images, colours), first)
    assert (colours.asked, len(list(cache.iterdir()))) == (240, 3)


def test_an_encoder_without_a_name_is_asked_every_time(toy, cache):
    def brightness(images):
        return images.mean(axis=(1, 2, 3))[:, None]

    assert encoders.encoded(toy.images, brightness).shape == (80, 1)
    assert not cache.exists()
    with pytest.raises(DataError, match=r"made \(80,\) of 80 pictures, not \(m, d\)"):
        encoders.encoded(toy.images, lambda images: images.mean(axis=(1, 2, 3)))


def test_padding_is_that_of_tensorflow():
    """Of 6 points, stride 2 and a kernel of 3 the only odd point of padding is on the right."""
    conv = lite0.SameConv(1, 1, 3, 2, bias=False)
    with torch.no_grad():
        conv.weight.copy_(torch.arange(1.0, 10).view(1, 1, 3, 3))
    picture = np.arange(36.0).reshape(6, 6)
    framed = np.pad(picture, ((0, 1), (0, 1)))
    weights = np.arange(1.0, 10).reshape(3, 3)
    wanted = [
        [(framed[i : i + 3, j : j + 3] * weights).sum() for j in (0, 2, 4)] for i in (0, 2, 4)
    ]
    got = conv(torch.from_numpy(picture).float()[None, None])[0, 0]
    np.testing.assert_allclose(got.detach().numpy(), wanted)


def lite0_weights():
    try:
        return lite0.weights()
    except MissingExtra:
        pytest.skip("the extra 'features' is not installed: EfficientNet-Lite0 is not tested")


def test_all_weights_of_lite0_find_their_place(toy, cache):
    lite0_weights()
    net = lite0.load()
    assert sum(each.numel() for each in net.parameters()) == 4_652_008  # published: 4.652 M
    encoder = encoders.EfficientNetLite0()
    found = encoders.encoded(toy.images[:3], encoder)
    assert (found.shape, found.dtype) == ((3, 1280), np.float32)
    assert (found.min(), found.max() <= 6) == (0.0, True)
    np.testing.assert_allclose(found[:1], encoder(toy.images[:1]), atol=1e-4)


def test_weights_of_something_else_are_refused(monkeypatch, tmp_path):
    torch.save({"_fc.weight": torch.zeros(2)}, tmp_path / "other.pth")
    monkeypatch.setattr(lite0, "weights", lambda: tmp_path / "other.pth")
    with pytest.raises(DataError, match="does not hold the weights of EfficientNet-Lite0"):
        lite0.load()
