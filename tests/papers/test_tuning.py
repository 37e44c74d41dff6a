"""Every arm tuned alike: the same grid for all, chosen by validation items and by nothing else."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import get_args

import numpy as np
import pytest

from softlabel import datasets
from softlabel.cli import reproduce as command
from softlabel.deliver import Aggregate
from softlabel.papers import PAPERS
from softlabel.papers.claims import collecting, findings, papers, running, tuning
from softlabel.papers.claims import quick as made_up
from softlabel.papers.claims.claims import Claim, Published
from softlabel.papers.claims.papers import Cell
from softlabel.papers.claims.results import SCALES, Result, Results
from softlabel.papers.singh2025 import MORE_STEPS
from softlabel.tables import Index, names
from softlabel.train import RECIPES, FoldedSplit, Validation, change_settings
from softlabel.train.predict import load_network, predict_probs
from softlabel.train.recipes import LABELME

TUNED = ("cpu-tuned", "features-tuned")


def runs(cell, validation, test, seeds=3):
    """Runs of one setting: what it scores on validation items, and on test items."""
    return [
        Result(
            cell,
            seed,
            {tuning.CHOSEN_BY: validation + 0.01 * seed, "ce": test + 0.02 * seed},
            f"{cell} {seed}",
            items={"ce": np.full(4, test, np.float32)},
        )
        for seed in range(seeds)
    ]


GRID = Results(
    [
        *runs("soft @ decay=0.1", 1.0, 0.9),  # chosen: best by validation
        *runs("soft @ decay=1", 1.1, 0.1),  # best by test items, which choose nothing
        *runs("hard @ decay=0.1", 1.4, 1.2),
        *runs("hard @ decay=1", 1.3, 1.5),  # chosen, though worse on test items
    ],
    "mine2027",
    "features-tuned",
)


def test_a_setting_is_chosen_by_validation_items_alone():
    picked, chosen = tuning.pick_settings(GRID)
    assert chosen == {"soft": "decay=0.1", "hard": "decay=1"}
    assert picked.cells == ["soft", "hard"]
    assert picked.mean("soft", "ce").value == pytest.approx(0.92)
    assert picked.mean("hard", "ce").value == pytest.approx(1.52)
    assert {one.run for one in picked.all} == {
        f"{cell} {seed}" for cell in ("soft @ decay=0.1", "hard @ decay=1") for seed in range(3)
    }
    assert (picked.paper, picked.scale) == ("mine2027", "features-tuned")
    # test scores turned round choose the same
    turned = [replace(one, scores=one.scores | {"ce": -one.scores["ce"]}) for one in GRID.all]
    assert tuning.pick_settings(replace(GRID, all=turned))[1] == chosen


def test_a_setting_without_validation_is_not_chosen():
    some = [
        replace(one, scores={"ce": one.scores["ce"]}) if one.cell == "soft @ decay=0.1" else one
        for one in GRID.all
        if not one.cell.startswith("hard")
    ]
    picked, chosen = tuning.pick_settings(replace(GRID, all=some))
    assert chosen == {"soft": "decay=1"}
    assert picked.cells == ["soft"]


def test_results_that_were_not_tuned_stay_as_they_are():
    plain = Results(runs("soft", 1.0, 0.9) + runs("hard", 1.4, 1.2), "mine2027", "cpu")
    picked, chosen = tuning.pick_settings(plain)
    assert picked is plain
    assert chosen == {}
    assert tuning.keep_chosen_items(plain).all == plain.all


def test_only_items_of_chosen_settings_are_stored():
    kept = tuning.keep_chosen_items(GRID)
    assert [replace(one, items={}) for one in kept.all] == [
        replace(one, items={}) for one in GRID.all
    ]
    assert {one.cell for one in kept.all if one.items} == {"soft @ decay=0.1", "hard @ decay=1"}
    assert tuning.pick_settings(kept)[1] == tuning.pick_settings(GRID)[1]


# ── cells ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("scale", TUNED)
def test_every_arm_has_the_same_grid(scale):
    cell = Cell("x", lambda: None, "aggregate", {"epochs": 7, "weight_decay": 99.0})
    strengths = {f"strength={x}": cell for x in (0.1, 0.2)}
    cells = tuning.make_cells(scale, {"hard": {"": cell}, "smoothing": strengths})
    assert len({one.name for one in cells}) == len(cells) == 3 * len(tuning.DECAYS[scale])
    grids = {}
    for one in cells:
        arm, _, setting = one.name.partition(tuning.AT)
        strength, _, decay = setting.rpartition("decay=")
        grids.setdefault((arm, strength), []).append(float(decay))
        assert one.settings["weight_decay"] == float(decay)
        assert (one.settings["keep"], one.settings["epochs"]) == ("cross-entropy", 7)
        assert (one.settings.get("augment") == "per_epoch") == (scale == "cpu-tuned")
    assert set(grids) == {
        ("hard", ""),
        ("smoothing", "strength=0.1, "),
        ("smoothing", "strength=0.2, "),
    }
    assert {tuple(decays) for decays in grids.values()} == {tuning.DECAYS[scale]}


@pytest.mark.parametrize("scale", TUNED)
@pytest.mark.parametrize("name", PAPERS)
def test_the_arms_of_every_paper_are_tuned_alike(name, scale):
    """The same decays for all that one network learns; and all that the untuned cells have, but for
    what is tuned."""
    paper = papers.find(name)
    untuned = {cell.name: cell for cell in paper.cells(scale.removesuffix("-tuned"))}
    decays, grids = {}, {}
    for cell in paper.cells(scale):
        arm = cell.name.partition(tuning.AT)[0]
        decays.setdefault(arm, set()).add(cell.settings["weight_decay"])
        grids[arm] = set(tuning.list_decays(scale, cell))
        assert grids[arm] == set(tuning.WORDS if cell.base == "words" else tuning.DECAYS[scale])
        changed = {
            key: value
            for key, value in cell.settings.items()
            if key not in ("weight_decay", "keep", "augment")
        }
        assert cell.settings["keep"] == "cross-entropy"
        assert cell.name.count("40 epochs") == (changed.get("epochs") == 40)
        if changed.get("epochs") == 40:  # more steps, for every arm of POPQUORN
            changed = {key: changed[key] for key in changed if key not in MORE_STEPS}
        if arm in untuned:  # annotators' offsets are in no paper
            assert (changed, cell.base) == (dict(untuned[arm].settings), untuned[arm].base)
    assert decays
    assert decays == grids


@pytest.mark.parametrize("name", PAPERS)
def test_what_is_trained_further_are_arms_of_the_other_tuned_scales(name):
    paper = papers.find(name)
    cells = paper.cells("fine-tuned")
    arms = [cell.name.partition(tuning.AT)[0] for cell in cells]
    assert 2 <= len(arms) == len(set(arms)) <= 4
    assert set(arms) <= {one.name.partition(tuning.AT)[0] for one in paper.cells("cpu-tuned")}
    for cell in cells:
        base = cell.base or running.BASES["fine-tuned"]
        config = change_settings(RECIPES[base].config, cell.settings)
        assert (RECIPES[base].kind, config.augment, config.keep) == (
            "tuned",
            "per_epoch",
            "cross-entropy",
        )


def test_the_command_knows_every_scale_that_trains():
    assert get_args(command.Scale) == SCALES


# ── validation ───────────────────────────────────────────────────────────────────────────────


def validated():
    """A lesson of generated features; its validation labels soon disagree with what is taught."""
    lesson = made_up.lesson(features=True)
    labels = np.roll(lesson.people.probs, 1, axis=1) * 0.6 + lesson.people.probs * 0.4
    return replace(lesson, validation=Validation(lesson.held.copy(), labels))


def test_a_run_keeps_the_best_epoch_and_tells_its_validation(tmp_path):
    """The kept network scores what the log says of the best epoch, which is not the last."""
    recipe, lesson = RECIPES["features"], validated()
    config = replace(recipe.config, epochs=8, lr=0.02, keep="cross-entropy")
    run = recipe.complete_run(config, lesson, Aggregate(), seed=0, out=tmp_path)
    found = [line["validation cross-entropy"] for line in run.log]
    best = int(np.argmin(found))
    assert 0 <= best < 7, "the last epoch is not the best here"
    probs = predict_probs(load_network(run), lesson.validation.inputs)
    again = -(lesson.validation.labels * np.log(probs)).sum(axis=1).mean()
    assert again == pytest.approx(found[best], rel=1e-5)
    collecting.write_map(
        tmp_path, "mine2027", "features-tuned", False, {"soft @ decay=1": {0: run}}
    )
    (one,) = collecting.collect(tmp_path, "mine2027", "features-tuned").all
    assert one.scores[tuning.CHOSEN_BY] == found[best]
    last = recipe.complete_run(
        replace(config, keep="last"), lesson, Aggregate(), seed=0, out=tmp_path
    )
    assert [line["validation cross-entropy"] for line in last.log] == found
    collecting.write_map(tmp_path, "mine2027", "features", False, {"soft": {0: last}})
    (one,) = collecting.collect(tmp_path, "mine2027", "features").all
    assert tuning.CHOSEN_BY not in one.scores  # nothing was chosen


def test_folds_choose_their_epochs_and_log_none(tmp_path):
    """Each fold keeps its own best epoch: there is no one validation score of such a run."""
    lesson = validated()
    every = [*lesson.teaching.each.index.items.tolist(), *lesson.index.items.tolist()]
    folded = FoldedSplit(
        lesson.inputs,
        lesson.teaching,
        np.concatenate([lesson.inputs, lesson.held]),
        Index(names(every), names([]), lesson.index.labels),
        lesson.people,
        validation=lesson.validation,
        fold=np.arange(len(lesson.inputs)) % 2,
    )
    config = replace(LABELME.config, epochs=2, net="mlp:hidden=8")
    run = LABELME.complete_run(config, folded, Aggregate(), seed=0, out=tmp_path)
    collecting.write_map(tmp_path, "mine2027", "paper", False, {"soft": {0: run}})
    (one,) = collecting.collect(tmp_path, "mine2027", "paper").all
    assert tuning.CHOSEN_BY not in one.scores


def test_validation_pictures_are_of_the_training_part(data_folder):
    """Which no paper learns from or tests on: none of them is an image of the test part."""
    found = tuning.load_pictures()
    tuning.load_pictures.cache_clear()
    assert len(found.inputs) == len(found.labels) == tuning.PICTURES
    assert (np.sort(found.labels, axis=1) == [0] * 9 + [1]).all()
    test = {image.tobytes() for image in datasets.cifar10.load("test").arrays["images"]}
    assert test.isdisjoint(image.tobytes() for image in found.inputs)


# ── judged ───────────────────────────────────────────────────────────────────────────────────


def claims(scale):
    return [
        Claim("order", "Table 1", "soft is better", "ordering",
              lambda r: r.difference("soft", "hard", "ce"), direction="below"),
        Claim("number", "Table 1", "soft scores .9", "value", lambda r: r.mean("soft", "ce"),
              Published(0.92)),
        Claim("lost", "Table 2", "random is worst", "ordering",
              lambda r: r.difference("random", "hard", "ce"), direction="above"),
    ]  # fmt: skip


def test_tuned_arms_are_compared_and_their_numbers_are_not():
    """A printed number is of the paper's settings; what is not tuned is no gap of this scale."""
    paper = SimpleNamespace(
        NAME="mine2027", TITLE="Mine 2027", SCORES={"ce": "loss"}, claims=claims
    )
    plain = Results(
        runs("soft", math.nan, 0.7) + runs("hard", math.nan, 1.7), "mine2027", "features"
    )
    found = findings.judge_paper(paper, {"features-tuned": GRID, "features": plain})
    assert [one.claim.id for one in found.claims["features-tuned"]] == ["order"]
    assert [one.claim.id for one in found.claims["features"]] == ["order", "number", "lost"]
    assert found.claims["features-tuned"][0].ours.value == pytest.approx(-0.6)
    assert list(found.claims) == ["features", "features-tuned"]
    ((_, scores), (scale, table)) = found.tables()
    assert scores.title == "All scores"
    assert (scale, table.columns) == (
        "features-tuned",
        ("arm", "setting", "runs", "validation cross-entropy", "loss, untuned", "loss, tuned"),
    )
    assert [row[:3] for row in table.rows] == [("soft", "decay=0.1", "3"), ("hard", "decay=1", "3")]
    means = [[float(cell.partition(" ")[0]) for cell in row[3:]] for row in table.rows]
    np.testing.assert_allclose(means, [[1.01, 0.72, 0.92], [1.31, 1.72, 1.52]])


@pytest.mark.parametrize("scale", ["features-tuned", "fine-tuned"])
def test_a_constant_is_shown_beside_every_model(scale):
    """And the note says what was chosen: at the scale that is fine-tuned the epoch alone."""
    found = findings.judge_shipped(papers.find("singh2025"))
    table = findings.tabulate_tuned(found, scale)
    apart = ("frozen", "fine-tuned") if scale == "fine-tuned" else ("untuned", "tuned")
    assert table.columns[4:7] == tuple(f"KL to people, {kind}" for kind in (*apart, "constant"))
    known = found.results[scale].values("cifar10h soft", "constant/kl")
    (row,) = (row for row in table.rows if row[0] == "cifar10h soft")
    assert float(row[6]) == pytest.approx(known.mean(), abs=5e-4)
    assert ("weight decay is not searched" in table.note) == (scale == "fine-tuned")
    assert table.note.startswith("The epoch" if scale == "fine-tuned" else "Weight decay, ")
