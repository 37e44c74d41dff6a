"""The lessons of Collins et al. 2022: whose labels, on which images; and one small run of each
kind."""

from __future__ import annotations

import math

import numpy as np
import pytest

from softlabel import datasets, metrics
from softlabel.deliver import Draws
from softlabel.errors import UnknownName
from softlabel.papers import collins2022
from softlabel.papers.claims.running import cell_job
from softlabel.papers.collins2022.conditions import CIFAR, GENERATED
from softlabel.papers.collins2022.labels import (
    Unspread,
    _make_plain,
    load_setting,
    make_lesson,
    score_items,
)
from softlabel.train import attacks, jobs
from softlabel.train.predict import load_network
from softlabel.train.splits import read_held_10s

# ── the published images ─────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def given(data_folder):
    yield load_setting(CIFAR)
    for kept in (load_setting, make_lesson, _make_plain):  # images are large
        kept.cache_clear()


def asked(made):
    return made.teaching.relabelled


def test_900_of_6900_are_relabelled(given):
    for labels in ("10h", "t2-clamp", "select", "released"):
        made = make_lesson(CIFAR, labels)
        assert (len(made.inputs), len(made.held), int(asked(made).sum())) == (6900, 3100, 900)
        rest = made.teaching.pooled[~asked(made)]
        np.testing.assert_array_equal(rest.argmax(axis=1), made.teaching.hard[~asked(made)])
        assert (rest.max(axis=1) == 1).all()
    assert made.named == {"images": "cifar10s", "labels": "released"}


def test_t2_clamp_is_the_published_set(given):
    known = given.known  # as softlabel.train.splits has it
    made = make_lesson(CIFAR, "t2-clamp")
    np.testing.assert_array_equal(made.teaching.pooled, known.teaching.pooled)
    assert len(made.teaching.each) == len(known.teaching.each)


def test_votes_are_those_of_cifar10h(given, data_folder):
    made = make_lesson(CIFAR, "10h")
    counts = np.load(data_folder / "cifar10h" / "cifar10h-counts.npy")
    names = np.array([int(name) for name in made.teaching.each.index.items.tolist()])
    rows = asked(made)
    shares = counts[names[rows]] / counts[names[rows]].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(made.teaching.pooled[rows], shares)
    assert set(names[rows].tolist()).isdisjoint(read_held_10s().tolist())


def test_released_labels_are_the_released_ones(given):
    """Their mean, repeats and the doubled session counted, from the authors' own file."""
    made = make_lesson(CIFAR, "released")
    theirs = datasets.cifar10s.released_labels()
    names = made.teaching.each.index.items
    for row in np.flatnonzero(asked(made))[::30]:
        wanted = theirs[str(names[row])].mean(axis=0)
        np.testing.assert_allclose(made.teaching.pooled[row], wanted, atol=1e-9)


def test_nothing_spread(given):
    one, two = Unspread(1)(given.first).soft(), Unspread(2)(given.first).soft()
    np.testing.assert_array_equal(one.argmax(axis=1), given.first.named[:, 0])
    assert (one.max(axis=1) == 1).all()
    np.testing.assert_allclose(two.sum(axis=1), 1)
    named = given.first.named
    plain = (named[:, 1] >= 0) & (named[:, 0] != named[:, 1]) & ~np.isnan(given.first.percent[:, 1])
    rows = np.flatnonzero(plain)[:50]
    for row in rows:
        first, second = given.first.percent[row]
        assert two[row, named[row, 0]] == pytest.approx(first / (first + second))
        assert two[row, named[row, 1]] == pytest.approx(second / (first + second))


def test_smoothing_is_of_the_relabelled_images_alone(given):
    made = make_lesson(CIFAR, "smoothing 0.05")
    soft = made.teaching.pooled.max(axis=1) < 1
    assert int(soft.sum()) == 900
    np.testing.assert_array_equal(soft, asked(make_lesson(CIFAR, "t2-clamp")))
    np.testing.assert_allclose(np.unique(made.teaching.pooled[soft].round(12)), [0.005, 0.955])


def test_smoothing_of_all_images_is_of_all(given):
    """As in the text, where the code smooths the 900 alone; these are smoothed alike by both."""
    some, every = (make_lesson(CIFAR, f"smoothing{end} 0.1").teaching for end in ("", "-all"))
    assert (every.pooled.max(axis=1) < 1).all()
    np.testing.assert_allclose(np.unique(every.pooled.round(12)), [0.01, 0.91])
    np.testing.assert_array_equal(every.pooled.argmax(axis=1), every.hard)
    soft = some.pooled.max(axis=1) < 1
    np.testing.assert_array_equal(some.pooled[soft], every.pooled[soft])


def test_exams(given, data_folder):
    h, s = given.exams["10h"], given.exams["10s"]
    assert (len(h.people), len(s.people), h.bin_size, s.bin_size) == (3000, 100, 100, 10)
    labels = np.load(data_folder / "cifar10" / "test.npz")["labels"]
    for exam in (h, s):
        numbers = [int(name) for name in exam.people.index.items.tolist()]
        np.testing.assert_array_equal(exam.gold, labels[numbers])
    images, gold = given.validation()
    assert (len(images), len(gold)) == (10_000, 10_000)


def test_no_more_than_so_many_annotators(given):
    cells = {cell.name: cell for cell in collins2022.cells("cpu")}
    made = make_lesson(CIFAR, "t2-clamp")
    rows = np.flatnonzero(asked(made))[:40]
    for name, most in (("t2-clamp/1", 1), ("t2-clamp/2", 2), ("t2-clamp/each", 6)):
        policy = cell_job("collins2022", "cpu", name, 0, "nowhere").policy
        delivery = policy(made.teaching, Draws(3))
        seen = [set() for _ in rows]
        for epoch in range(30):
            for found, label in zip(seen, delivery.labels_for(epoch, rows, Draws(3)), strict=True):
                found.add(label.tobytes())
        assert max(map(len, seen)) <= most
        assert max(map(len, seen)) > most - 2
    assert cells["t2-clamp/each"].deliver == "subsample:m=6,then=per-annotator"


def test_an_unknown_kind_of_labels_is_refused():
    with pytest.raises(UnknownName, match=r"'t2-clam' \(did you mean 't2-clamp'"):
        make_lesson(GENERATED, "t2-clam")


# ── a run ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("recipe", ["cpu", "features"])
def test_a_quick_run_is_probed(tmp_path, recipe):
    job = cell_job("collins2022", recipe, "t2-clamp/each", 1, str(tmp_path), quick=True)
    run = job.complete_run()
    found = collins2022.probes(run, job.source.find_cell())
    people = load_setting(job.source.find_cell().lesson().named["images"]).exams
    for exam in ("10h", "10s"):
        names = run.predictions.index.items.tolist()
        rows = [names.index(name) for name in people[exam].people.index.items.tolist()]
        predicted, true = run.predictions.probs[rows], people[exam].people.probs
        by_hand = -(true * np.log(predicted)).sum(axis=1).mean()
        assert found[f"{exam}/ce"] == pytest.approx(by_hand)
        assert found[f"{exam}/rms-dropped"] <= found[f"{exam}/rms"]
        assert found[f"{exam}/rms"] == metrics.rms_calibration(
            true, predicted, people[exam].bin_size
        )
        assert ("fgsm" in {key.partition("/")[2] for key in found}) == (recipe == "cpu")
    assert all(math.isfinite(value) for value in found.values())
    assert not any(key.startswith("val/") for key in found)  # there are no such pictures


def test_fgsm_is_of_the_networks_own_gradient(tmp_path):
    """The attack on the held-out pictures, by people's labels and by the given class."""
    job = cell_job("collins2022", "cpu", "hard", 0, str(tmp_path), quick=True)
    run = job.complete_run()
    found = collins2022.probes(run, job.source.find_cell())
    exam = load_setting(GENERATED).exams["10s"]
    made = make_lesson(GENERATED, "t2-clamp")
    names = made.index.items.tolist()
    images = made.held[[names.index(name) for name in exam.people.index.items.tolist()]]
    net, items = load_network(run), score_items(run, GENERATED)
    assert all(values.mean() == pytest.approx(found[name]) for name, values in items.items())
    for key, target in (("fgsm", exam.people.probs), ("fgsm-hard", exam.gold)):
        attack = attacks.fgsm(net, images, target)
        assert found[f"10s/{key}"] == pytest.approx(attack.loss.mean())
        assert np.array_equal(items[f"10s/{key}"], attack.loss)
        assert attack.loss.mean() > attack.clean.mean()
    assert found["10s/ce"] == pytest.approx(
        attacks.fgsm(net, images, exam.people.probs).clean.mean(), rel=1e-5
    )


@pytest.fixture(autouse=True)
def _forget_lessons():
    yield
    jobs._SPLITS.clear()
