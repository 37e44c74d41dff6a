"""Uma et al. 2020 without data: claims are whole, planted people give the counts, quick runs."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.stats import ttest_ind_from_stats

from softlabel import Index
from softlabel.papers import uma2020
from softlabel.papers.claims import Result, Results
from softlabel.papers.claims.claims import judge
from softlabel.papers.claims.running import cell_job, find_cells, job_order
from softlabel.papers.uma2020 import tasks
from softlabel.papers.uma2020.numbers import (
    ROWS,
    SCORES,
    SOFT,
    SOFT_WAYS,
    TABLE_2,
    TABLE_3,
    TASKS,
    Condition,
    condition_of,
    printed,
)

RECIPES = ("paper", "cpu", "features")
WAYS = tuple(uma2020.DELIVERIES)


def as_printed(recipe: str) -> Results:
    """Two runs of every cell that scored what the paper prints."""
    scores = {cell.name: {} for cell in uma2020.cells(recipe)}
    for task in TASKS if recipe == "paper" else ("cifar10h",):
        for way in SOFT_WAYS:
            scores[Condition(task, way).name] = {"accuracy": printed(way, task, "accuracy").value}
        for row in ROWS:
            found = {score: printed(row, task, score).value for score in SCORES}
            scores[condition_of(row, task).name] = found
    runs = [Result(name, seed, found) for name, found in scores.items() for seed in (0, 1)]
    return Results(runs, "uma2020", recipe)


@pytest.mark.parametrize("recipe", RECIPES)
def test_runs_that_score_what_is_printed_bear_every_claim_out(recipe):
    """So every claim finds its cells, and every ordering is the printed one."""
    claims = uma2020.claims(recipe)
    assert len({claim.id for claim in claims}) == len(claims)
    results = as_printed(recipe)
    assert {judge(claim, results).verdict for claim in claims} == {"holds"}


@pytest.mark.parametrize("recipe", RECIPES)
def test_without_runs_nothing_is_said(recipe):
    for claim in uma2020.claims(recipe):
        one = judge(claim, Results([]))
        assert (one.verdict, one.reason) == ("untested", "fewer than two finished runs")


def test_every_printed_number_is_claimed():
    kinds = Counter((claim.id.partition("/")[0], claim.kind) for claim in uma2020.claims("paper"))
    assert kinds[("table3", "value")] == len(ROWS) * len(TASKS) * len(SCORES) == 45
    assert kinds[("table2", "value")] == 6
    assert kinds[("table2", "ordering")] == 3
    # of accuracy against true classes, only that on CIFAR-10H is claimed
    assert kinds[("table3", "ordering")] == 3 * (4 + 4 + 3) + 1
    gold = [claim.id for claim in uma2020.claims("paper") if claim.id.endswith("gold/accuracy")]
    ordered = [one for one in gold if "soft-gold" in one]
    assert ordered == ["table3/cifar10h/soft-gold/accuracy"]
    assert len(uma2020.claims("cpu")) == 15 + 2 + 1 + 12


def test_orderings_have_the_papers_direction():
    signs = {claim.id: claim.sign for claim in uma2020.claims("paper") if claim.kind == "ordering"}
    for name, sign in signs.items():
        if name.endswith("/cross-entropy"):
            assert sign == -1, name
        elif name == "table3/cifar10h/soft-crowd-layer/accuracy":
            assert sign == -1  # the one accuracy that the soft loss does not win
        else:
            assert sign == 1, name
    assert "table2/pos/softmax-shares/accuracy" in signs
    assert "table2/cifar10h/shares-softmax/accuracy" in signs


def test_orderings_have_the_interval_of_the_printed_deviations_and_runs():
    """Against scipy's test of two means from their deviations: at the end of the interval, p is
    .05, and where it includes 0 the paper's own runs leave the ordering open."""
    runs = {"pos": 30, "labelme": 30, "cifar10h": 10}
    seen = Counter()
    for claim in uma2020.claims("paper"):
        if claim.kind != "ordering":
            continue
        _, task, rows, score = claim.id.split("/")
        first, second = (printed(row, task, score) for row in rows.split("-", 1))
        found = claim.published
        assert found.spread == "ci95"
        assert found.value == pytest.approx(first.value - second.value)

        def p_at(shift, first=first, second=second, n=runs[task]):
            return ttest_ind_from_stats(
                first.value - shift, first.half, n, second.value, second.half, n
            ).pvalue

        assert p_at(found.low) == pytest.approx(0.05) == p_at(found.high)
        assert claim.established == (p_at(0.0) < 0.05)
        seen[claim.established] += 1
    assert seen[True] > seen[False]


def test_soft_loss_is_the_better_row_of_table_2():
    for task in TASKS:
        accuracies = {way: TABLE_2[way, task] for way in SOFT_WAYS}
        best = max(accuracies, key=accuracies.get)
        assert SOFT[task] == best
        assert TABLE_3["soft", task][0] == TABLE_2[best, task]


def test_cells_and_what_trains_them():
    paper = {cell.name: cell for cell in uma2020.cells("paper")}
    assert len(paper) == 6 * 4 + 1  # LabelMe as printed and as in the code
    assert {cell.base for cell in paper.values() if cell.trainer is None} == {"u20"}
    for cell in paper.values():
        crowd = "crowd-layer" in cell.name
        assert (cell.deliver is None) == crowd
        assert (cell.settings.get("objective") == "mw") == crowd
    assert paper["labelme/crowd-layer"].settings["batch"] == 1000
    assert "batch" not in paper["labelme/crowd-layer-batches"].settings
    code = {name for name, cell in paper.items() if cell.trainer is not None and cell.trainer.code}
    assert code == {name for name in paper if name.startswith("labelme-code/")}
    assert {name.partition("/")[2] for name in code} == {Condition("", way).labels for way in WAYS}
    for recipe in ("cpu", "features"):
        assert all(cell.name.startswith("cifar10h/") for cell in uma2020.cells(recipe))


def test_tables_show_ours_beside_the_printed():
    second, *third = uma2020.tables(as_printed("paper"))
    assert [table.title for table in third] == [
        "Table 3: POS",
        "Table 3: LabelMe",
        "Table 3: CIFAR-10H",
    ]
    for table in (second, *third):
        assert all(len(row) == len(table.columns) for row in table.rows)
    row = next(row for row in third[2].rows if row[0] == "soft loss: shares")
    assert row[:6] == (
        "soft loss: shares",
        "2",
        "66.64 ± 0.00",
        "66.64 ± 0.81",
        "1.11 ± 0.00",
        "1.11 ± 0.04",
    )
    assert uma2020.tables(Results([])) == uma2020.figures(Results([])) == []
    assert [figure.name for figure in uma2020.figures(as_printed("cpu"))] == ["cifar10h-ways"]


# ── planted people ───────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def dealt():
    rng = np.random.default_rng(3)
    gold = rng.integers(0, 4, 400)
    hard = rng.random(400) < 0.3
    truth = np.where(hard[:, None], 0.55, 0.95) * np.eye(4)[gold] + 0.0125
    truth /= truth.sum(axis=1, keepdims=True)
    counts = np.stack([rng.multinomial(rng.integers(20, 26), row) for row in truth])
    index = Index([f"i{i}" for i in range(400)], [], list("abcd"))
    return counts, gold, tasks.deal_votes(index, counts, gold, people=120)


def test_planted_people_cast_exactly_the_votes_that_were_counted(dealt):
    counts, _, said = dealt
    assert np.array_equal(said.counts(), counts)
    assert not said.anonymous


def test_nobody_is_asked_twice_and_all_are_asked_equally_often(dealt):
    _, _, said = dealt
    pairs = said.item.astype(np.int64) * 120 + said.annotator
    assert len(np.unique(pairs)) == len(pairs)
    load = np.bincount(said.annotator, minlength=120)
    assert load.max() - load.min() <= 1


def test_planted_people_err_as_they_were_planted_to(dealt):
    counts, gold, said = dealt
    rng = np.random.default_rng(tasks.SEED)
    table = tasks.plant_people(120, counts, gold, rng)
    np.testing.assert_allclose(table.sum(axis=2), 1)
    planted = table[:, 0, 0]
    assert planted.min() > 0.75
    right = said.label == gold[said.item]
    found = np.bincount(said.annotator, right, 120) / np.bincount(said.annotator, minlength=120)
    assert np.corrcoef(planted, found)[0, 1] > 0.5


def test_they_are_always_the_same(dealt):
    counts, gold, said = dealt
    again = tasks.deal_votes(said.index, counts, gold, people=120)
    assert np.array_equal(again.annotator, said.annotator)
    assert np.array_equal(again.label, said.label)


# ── quick ────────────────────────────────────────────────────────────────────────────────────


def test_a_quick_look_needs_no_data(tmp_path, monkeypatch):
    monkeypatch.setenv("SOFTLABEL_DATA", str(tmp_path))
    cells = [cell.name for cell in uma2020.cells("cpu", quick=True)]
    assert len(cells) == 6
    for cell in ("cifar10h/softmax", "cifar10h/dawid-skene", "cifar10h/crowd-layer"):
        job = cell_job("uma2020", "cpu", cell, 0, str(tmp_path / "runs"), quick=True)
        run = job.complete_run()
        found = uma2020.probes(run, job.source.find_cell())
        assert set(found) == set(SCORES)
        assert 0 < found["accuracy"] <= 1
        assert run.finished


def test_quick_tasks_come_before_those_of_an_hour():
    """So that a night without a GPU is not spent on the first few of them."""
    every = [
        cell_job("uma2020", "paper", cell, seed, "runs", quick=False)
        for cell in find_cells("uma2020", "paper")
        for seed in range(2)
    ]
    jobs = sorted(every, key=job_order("paper"))
    found = [f"{job.source.cell} {job.seed}" for job in jobs]
    assert found.index("pos/crowd-layer 1") < found.index("cifar10h/softmax 0")
    assert found.index("labelme/softmax 1") > found.index("pos/crowd-layer 0")
    assert found.index("cifar10h/softmax 1") > found.index("cifar10h/crowd-layer 0")
