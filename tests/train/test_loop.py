"""The loop: what it learns, what it repeats, and what it says when it cannot go on."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from softlabel.deliver import Draws, TrainingLabels
from softlabel.errors import DataError, FileError, SoftlabelError, UnknownName
from softlabel.train import Config, DivergedError, fit
from softlabel.train.data import epoch_order
from softlabel.train.loop import choose_half
from softlabel.train.losses import soft_cross_entropy
from softlabel.train.predict import predict_probs
from softlabel.train.schedules import SCHEDULES, Steps

QUICK = Config(epochs=3, batch=16, lr=0.05, checkpoint_seconds=0)
ON_FEATURES = replace(QUICK, net="linear", augment="none", dtype="float64", nesterov=False)


def weights(trained):
    return torch.cat([each.flatten().double() for each in trained.net.state_dict().values()])


@pytest.fixture
def features():
    return np.random.default_rng(1).normal(size=(60, 7)).astype(np.float32)


# ── the epoch that is kept ───────────────────────────────────────────────────────────────────


class Validated:
    """Scores an epoch as it is told to, and remembers the network."""

    def __init__(self, name, values):
        self.name, self.values, self.states = name, values, {}

    def __call__(self, net, epoch):
        self.states[epoch] = {key: value.clone() for key, value in net.state_dict().items()}
        return {f"validation {self.name}": self.values[epoch]}


def same(trained, state):
    return all(torch.equal(value, state[key]) for key, value in trained.net.state_dict().items())


@pytest.mark.parametrize("ema", [0.0, 0.5])
@pytest.mark.parametrize(
    ("keep", "values", "best"),
    [
        ("cross-entropy", [1.0, 0.5, 0.6, 0.5, 0.7], 1),  # of two that are equal the first
        ("cross-entropy", [1.0, 0.9, 0.8, 0.7, 0.6], 4),
        ("cross-entropy", [1.0, float("nan"), 1.2, 1.1, 1.3], 0),
        ("accuracy", [0.2, 0.5, 0.9, 0.8, 0.9], 2),
    ],
)
def test_the_best_epoch_is_kept(features, delivery, keep, values, best, ema):
    config = replace(ON_FEATURES, epochs=5, keep=keep, ema=ema)
    check = Validated(keep, values)
    trained = fit(config, features, delivery, seed=1, check=check)
    assert [same(trained, check.states[epoch]) for epoch in range(5)] == [
        epoch == best for epoch in range(5)
    ]
    assert not trained.net.training
    assert len(trained.log) == 5
    # a run of as many epochs that keeps the last one goes the same way
    last = fit(replace(config, keep="last"), features, delivery, seed=1, check=check)
    assert same(last, check.states[4])


def test_the_best_epoch_survives_an_interruption(features, delivery, tmp_path):
    """The best epoch is before it: its weights come back from the checkpoint."""
    config = replace(ON_FEATURES, epochs=5, keep="cross-entropy")
    values = [1.0, 0.5, 0.6, 0.7, 0.8]

    class StopError(Exception):
        pass

    def interrupt(step, done=0, total=None):
        if step.startswith("training: epoch 4"):
            raise StopError

    check = Validated("cross-entropy", values)
    with pytest.raises(StopError):
        fit(config, features, delivery, seed=1, folder=tmp_path, check=check, tell=interrupt)
    assert sorted(check.states) == [0, 1, 2]
    again = Validated("cross-entropy", values)
    trained = fit(config, features, delivery, seed=1, folder=tmp_path, check=again)
    assert sorted(again.states) == [3, 4]
    assert same(trained, check.states[1])
    finished = fit(config, features, delivery, seed=1, folder=tmp_path, check=again)
    assert same(finished, check.states[1])  # nothing is left to train


def test_an_epoch_cannot_be_chosen_without_validation_items(features, delivery):
    config = replace(ON_FEATURES, keep="accuracy")
    for check in (None, lambda net, epoch: {"held accuracy": 0.9}):
        with pytest.raises(DataError, match="keep = 'accuracy' chooses an epoch by validation"):
            fit(config, features, delivery, seed=1, check=check)
    with pytest.raises(UnknownName, match="'best'"):
        replace(ON_FEATURES, keep="best")


# ── it learns ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("augment", ["none", "frozen", "per_epoch"])
def test_it_learns_the_pictures_and_how_sure_to_be(pictures, soft, delivery, augment):
    trained = fit(replace(QUICK, epochs=8, augment=augment), pictures, delivery, seed=1)
    assert trained.log[-1]["loss"] < 0.75 < trained.log[0]["loss"]  # the entropy is 0.639
    probs = predict_probs(trained.net, pictures)
    assert (probs.argmax(axis=1) == soft.argmax(axis=1)).mean() > 0.95
    assert 0.6 < probs.max(axis=1).mean() < 0.95, "as sure as the labels are, not more"
    assert not trained.net.training


@pytest.mark.parametrize("loss", ["kl", "reverse-kl", "squared-error"])
def test_other_losses_learn_too(features, delivery, loss):
    trained = fit(replace(ON_FEATURES, loss=loss, epochs=10), features, delivery, seed=1)
    assert trained.log[-1]["loss"] < trained.log[0]["loss"]


@pytest.mark.parametrize("optimiser", ["adam", "adamw"])
def test_other_optimisers(features, delivery, optimiser):
    config = replace(ON_FEATURES, net="mlp:hidden=8", optimiser=optimiser, lr=0.02, epochs=10)
    log = fit(config, features, delivery, seed=1).log
    assert log[-1]["loss"] < log[0]["loss"]


@pytest.mark.parametrize("kind", ["mw", "vw", "vb", "vw+b", "sw"])
def test_single_votes_through_a_crowd_layer(pictures, teaching, kind):
    config = replace(QUICK, objective=kind, epochs=10, augment="none")
    trained = fit(config, pictures, teaching, seed=1)
    assert trained.log[-1]["loss"] < trained.log[0]["loss"]
    right = predict_probs(trained.net, pictures).argmax(axis=1) == teaching.hard
    assert right.mean() > 0.8
    start = {"mw": torch.eye(3).flatten(), "vb": torch.zeros(3)}.get(kind, torch.ones(3))
    first = next(trained.layer.parameters())
    assert not torch.equal(first, start[: first.shape[1]].expand_as(first)), "it was trained"


def test_soft_votes_through_a_crowd_layer(features, teaching):
    said = replace(teaching.each, label=None, probs=0.05 + 0.85 * np.eye(3)[teaching.each.label])
    known = TrainingLabels(teaching.hard, teaching.pooled, said)
    config = replace(ON_FEATURES, objective="mw", epochs=10)
    log = fit(config, features, known, seed=1).log
    assert log[-1]["loss"] < log[0]["loss"]


# ── it computes what it should ───────────────────────────────────────────────────────────────


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_one_epoch_is_plain_sgd_in_keyed_order(features, delivery, soft, reduction):
    """Written out again with torch's own optimiser: same weights to 1e-12."""
    config = replace(ON_FEATURES, schedule="constant", epochs=1, clip=0.4, lr=0.2)
    config = replace(config, reduction=reduction)
    trained = fit(config, features, delivery, seed=4)
    start = fit(replace(config, lr=0.0, weight_decay=0.0), features, delivery, seed=4).net
    x, p = torch.from_numpy(features).double(), torch.from_numpy(soft)
    net = torch.nn.Linear(7, 3).double()
    net.load_state_dict({key[5:]: value for key, value in start.state_dict().items()})
    sgd = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9, weight_decay=1e-4)
    for rows in np.split(epoch_order(Draws(4), 0, 60), [16, 32, 48]):
        sgd.zero_grad()
        soft_cross_entropy(net(x[rows]), p[rows], reduction).backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 0.4)
        sgd.step()
    assert torch.allclose(trained.net.head.weight, net.weight, atol=1e-12, rtol=0)
    assert torch.allclose(trained.net.head.bias, net.bias, atol=1e-12, rtol=0)


def test_labels_are_asked_for_by_epoch_and_item(features):
    asked = []

    class Asking:
        def labels_for(self, epoch, indices, rng):
            asked.append((epoch, indices.copy(), rng))
            return np.eye(3)[indices % 3]

    fit(ON_FEATURES, features, Asking(), seed=9)
    for epoch in range(3):
        mine = [items for number, items, _ in asked[1:] if number == epoch]
        assert len(mine) == 1, "once per epoch"
        assert np.array_equal(mine[0], epoch_order(Draws(9), epoch, 60))
    assert all(rng == Draws(9) for _, _, rng in asked)


def test_the_rate_of_the_schedule_is_used_and_logged(features, delivery):
    config = replace(ON_FEATURES, schedule="c22", epochs=13, lr=1.0)
    rates = [line["lr"] for line in fit(config, features, delivery, seed=1).log]
    assert rates == pytest.approx([1.0] * 10 + [0.1, 0.01, 0.01])


def test_momentum_is_forgotten_where_the_schedule_says(features, delivery, monkeypatch):
    """The same steps with and without a fresh optimiser: equal before the segment, not after."""
    kept, lost = Steps(at=(1,), of=3), Steps(at=(1,), of=3, fresh=True)
    losses = []
    for plan in (kept, lost):
        monkeypatch.setitem(SCHEDULES, "c22", plan)
        log = fit(replace(ON_FEATURES, schedule="c22"), features, delivery, seed=1).log
        losses.append([line["loss"] for line in log])
    assert losses[0][0] == losses[1][0]
    assert losses[0][1] != losses[1][1]


def test_an_average_of_the_weights_lags_behind(features, delivery):
    last, averaged = (
        weights(fit(replace(ON_FEATURES, ema=ema), features, delivery, seed=1)) for ema in (0, 0.9)
    )
    start = weights(fit(replace(ON_FEATURES, lr=0.0, epochs=1), features, delivery, seed=1))
    assert 0 < (averaged - start).norm() < (last - start).norm()


def test_checks_are_logged_and_see_a_network_at_rest(pictures, delivery):
    seen = []

    def check(net, epoch):
        seen.append((epoch, net.training))
        return {"top": float(predict_probs(net, pictures).max())}

    log = fit(QUICK, pictures, delivery, seed=1, check=check).log
    assert seen == [(0, False), (1, False), (2, False)]
    assert all(0 < line["top"] <= 1 for line in log)
    alone = fit(QUICK, pictures, delivery, seed=1).log
    assert [line["loss"] for line in log] == [line["loss"] for line in alone], "and change nothing"


def test_progress_is_told_step_by_step(features, delivery):
    told = []
    fit(ON_FEATURES, features, delivery, seed=1, tell=lambda *words: told.append(words))
    assert [done for _, done, _ in told] == list(range(1, 13))
    assert {total for _, _, total in told} == {12}
    assert told[0][0] == "training: epoch 1 of 3"
    assert told[-1][0].startswith("training: epoch 3 of 3, loss ")


# ── it repeats ───────────────────────────────────────────────────────────────────────────────


def test_a_rerun_gives_the_same_bits_and_another_seed_does_not(pictures, delivery):
    torch.manual_seed(1)
    one = weights(fit(QUICK, pictures, delivery, seed=1))
    torch.manual_seed(2)
    state = torch.get_rng_state()
    assert torch.equal(one, weights(fit(QUICK, pictures, delivery, seed=1)))
    assert torch.equal(state, torch.get_rng_state()), "torch's own generator is left alone"
    assert not torch.equal(one, weights(fit(QUICK, pictures, delivery, seed=2)))


def test_half_precision_on_a_cpu_that_has_it(pictures, delivery, monkeypatch):
    """Scores alone are rounded: weights stay as they are, and the loss is nearly the same."""
    config = replace(QUICK, device="cpu")
    plain = fit(config, pictures, delivery, seed=1)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": False})
    asked = replace(config, amp_on_cpu=True)
    assert torch.equal(weights(fit(asked, pictures, delivery, seed=1)), weights(plain))
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True})
    half = fit(asked, pictures, delivery, seed=1)
    assert {each.dtype for each in half.net.parameters()} == {torch.float32}
    assert not torch.equal(weights(half), weights(plain))
    losses = [[line["loss"] for line in one.log] for one in (half, plain)]
    assert losses[0] == pytest.approx(losses[1], rel=0.05)
    double = replace(asked, dtype="float64")
    assert choose_half(double, torch.device("cpu")) is None


def test_dropout_is_keyed_too(features, delivery):
    config = replace(ON_FEATURES, net="mlp:hidden=16,dropout=0.5")
    one, again = (weights(fit(config, features, delivery, seed=1)) for _ in range(2))
    assert torch.equal(one, again)


# ── it stops ─────────────────────────────────────────────────────────────────────────────────


def test_a_diverging_run_stops_by_name_and_keeps_its_log(tmp_path, features, delivery):
    config = replace(ON_FEATURES, epochs=40, lr=1e9, momentum=0, loss="kl", schedule="one-cycle")
    config = replace(config, weight_decay=1.0)
    with pytest.raises(DivergedError, match=r"epoch \d+, step \d+.*learning rate .*e\+0") as caught:
        fit(config, features, delivery, seed=1, folder=tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert lines[-1] == {
        "epoch": caught.value.epoch,
        "step": caught.value.step,
        "lr": caught.value.lr,
        "diverged": True,
    }
    assert [line["epoch"] for line in lines] == list(range(caught.value.epoch + 1))


def test_a_finished_run_is_not_repeated(tmp_path, features, delivery):
    first = fit(ON_FEATURES, features, delivery, seed=1, folder=tmp_path)
    told = []
    again = fit(
        *(ON_FEATURES, features, delivery),
        seed=1,
        folder=tmp_path,
        tell=lambda *words: told.append(words),
    )
    assert not told
    assert torch.equal(weights(first), weights(again))
    assert first.log == again.log


@pytest.mark.parametrize("other", ["seed", "config", "inputs", "labels"])
def test_a_checkpoint_of_another_run_is_refused(tmp_path, features, delivery, soft, other):
    fit(ON_FEATURES, features, delivery, seed=1, folder=tmp_path)
    changed = {
        "seed": (ON_FEATURES, features, delivery, 2),
        "config": (replace(ON_FEATURES, lr=0.5), features, delivery, 1),
        "inputs": (ON_FEATURES, features + 1, delivery, 1),
        "labels": (ON_FEATURES, features, type(delivery)(soft[::-1]), 1),
    }
    config, inputs, labels, seed = changed[other]
    key = {"config": "lr"}.get(other, other)
    with pytest.raises(FileError, match=f"of another run: there {key} is"):
        fit(config, inputs, labels, seed=seed, folder=tmp_path)


def test_a_damaged_checkpoint_is_named(tmp_path, features, delivery):
    (tmp_path / "checkpoint.pt").write_bytes(b"PK\x03\x04 no more")
    with pytest.raises(FileError, match="damaged"):
        fit(ON_FEATURES, features, delivery, seed=1, folder=tmp_path)


def test_what_is_wrong_is_named(features, pictures, delivery, teaching):
    with pytest.raises(UnknownName, match="'entropy'"):
        Config(loss="entropy")
    with pytest.raises(SoftlabelError, match="epochs = 0"):
        Config(epochs=0)
    with pytest.raises(SoftlabelError, match=r"ema = 1\.0"):
        Config(ema=1.0)
    with pytest.raises(SoftlabelError, match="pass the TrainingLabels itself"):
        fit(replace(QUICK, objective="mw"), pictures, delivery, seed=1)
    with pytest.raises(SoftlabelError, match="takes a delivery"):
        fit(QUICK, pictures, teaching, seed=1)
    with pytest.raises(DataError, match="no items"):
        fit(ON_FEATURES, features[:0], delivery, seed=1)
    with pytest.raises(DataError, match="features need augment"):
        fit(replace(ON_FEATURES, augment="frozen"), features, delivery, seed=1)
    nameless = replace(teaching.each, annotator=np.full(len(teaching.each), -1))
    known = TrainingLabels(teaching.hard, teaching.pooled, nameless)
    with pytest.raises(DataError, match="who cast which vote"):
        fit(replace(QUICK, objective="mw"), pictures, known, seed=1)
