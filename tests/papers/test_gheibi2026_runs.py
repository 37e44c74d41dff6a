"""Gheibi & Ghazizadeh 2026: small runs, end to end, and what is measured at them."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from softlabel.papers import gheibi2026
from softlabel.papers.claims.collecting import collect, read_probes
from softlabel.papers.claims.running import cell_job, find_states
from softlabel.papers.gheibi2026 import measurements
from softlabel.papers.gheibi2026.conditions import CONDITIONS

MADE = (("all/soft", 0), ("all/soft", 1), ("all/sls", 0), ("k5/soft", 0), ("k5/sls", 0))


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """Soft and SLS from two seeds, in the order in which they end."""
    out = tmp_path_factory.mktemp("runs")
    find_states("gheibi2026", "cpu", 2, out, quick=True)
    for cell, seed in MADE:
        cell_job("gheibi2026", "cpu", cell, seed, str(out), quick=True).complete_run()
    return out


def scores(out, cell, seed=0):
    job = cell_job("gheibi2026", "cpu", cell, seed, str(out), quick=True)
    run = job.start_run()
    return run, job.source.find_cell(), read_probes(run, "gheibi2026", cell)


def test_a_run_is_scored_probed_and_collected(out):
    run, _, found = scores(out, "all/soft")
    assert found["10h/cross-entropy"] == pytest.approx(run.scores["cross-entropy"].value)
    assert {"flat/trace", "flat/trace-error", "flat/sam", "flat/accuracy"} <= set(found)
    assert {"ood/patches/energy/auroc", "ood/noise/odin/fpr95", "ood/noise/knn/aupr"} <= set(found)
    assert found["slice/+0.0"] == pytest.approx(found["flat/loss"], rel=1e-5)
    assert all(np.isfinite(value) for value in found.values())
    results = collect(out, "gheibi2026", "cpu", quick=True)
    assert {(one.cell, one.seed) for one in results.all} >= {("all/soft", 1), ("k5/sls", 0)}
    assert results.mean("all/soft", "10h/kl").n == 2
    assert gheibi2026.figures(results)


def test_the_later_of_two_runs_keeps_what_both_say(out):
    _, _, first = scores(out, "all/soft")
    _, _, second = scores(out, "all/sls")
    assert "barrier/sls" not in first
    assert {"barrier/sls", "barrier/sls/re-estimated", "between/sls/0.5"} <= set(second)
    assert "gain-by-distance/sls" not in second, "all votes are all votes: there is no distance"
    assert -1 <= scores(out, "k5/sls")[2]["gain-by-distance/sls"] <= 1
    assert 0 < scores(out, "all/soft", 1)[2]["cka/previous"] <= 1
    run, cell, _ = scores(out, "all/soft")
    again = measurements.compare_pairs(
        measurements.FinishedRun(run, CONDITIONS[cell.name], cell.lesson())
    )
    assert again["barrier/sls"] == pytest.approx(second["barrier/sls"])


def test_labels_kept_are_those_of_the_seed(out):
    """Both saw the same five votes; how far these are from all is one number."""
    soft, sls = (scores(out, f"k5/{policy}")[2] for policy in ("soft", "sls"))
    assert soft["target/total-variation"] == pytest.approx(sls["target/total-variation"])
    assert soft["target/total-variation"] > 0
    assert soft["taught/total-variation"] == pytest.approx(soft["target/total-variation"])
    assert sls["taught/total-variation"] > sls["target/total-variation"], "few epochs, few draws"


def test_cka_by_kernels():
    """Against the definition by centred Gram matrices."""
    rng = np.random.default_rng(0)
    one, two = rng.normal(size=(40, 5)), rng.normal(size=(40, 3))
    centre = np.eye(40) - 1 / 40
    k, m = (centre @ rows @ rows.T @ centre for rows in (one, two))
    by_hand = (k * m).sum() / np.sqrt((k * k).sum() * (m * m).sum())
    assert measurements.cka(one, two) == pytest.approx(by_hand)
    turned = 3 * one @ np.linalg.qr(rng.normal(size=(5, 5)))[0] + 1
    assert measurements.cka(one, turned) == pytest.approx(1)
