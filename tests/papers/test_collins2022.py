"""Collins et al. 2022: the paper judged by its own numbers, and by others; what is trained."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from math import hypot

import numpy as np
import pytest

from softlabel import registry
from softlabel.papers import collins2022
from softlabel.papers.claims.claims import judged
from softlabel.papers.claims.results import Result, Results
from softlabel.papers.collins2022 import printed
from softlabel.papers.collins2022 import traps as collins2022_traps
from softlabel.papers.collins2022.claims import NO_PIXELS, SAME_TIME, best, score, trend
from softlabel.papers.collins2022.gathering import by_run, difference, mean
from softlabel.papers.collins2022.names import (
    BETAS,
    NETWORKS,
    SPREADS,
    beta_cell,
    m_cells,
    spread_cell,
)

SEEDS = range(5)


def results(numbers, recipe="cpu", noise=1e-4):
    """Runs whose scores are ``numbers[cell][name]`` and a little more, by seed."""
    rng = np.random.default_rng(0)
    nets = [f"{net}/" for net in NETWORKS] if recipe == "paper" else [""]
    found = []
    for cell, scores in numbers.items():
        for net in nets:
            for seed in SEEDS:
                drawn = {name: value + noise * rng.normal() for name, value in scores.items()}
                found.append(Result(f"{net}{cell}", seed, drawn))
    return Results(found, "collins2022", recipe)


def as_printed(sign=1.0):
    """The paper's means under the names of our scores."""
    numbers: dict[str, dict[str, float]] = {}
    for row in printed.ROWS:
        for measure in printed.MEASURES:
            value = printed.number(row.cell, row.exam, measure).value
            numbers.setdefault(row.cell, {})[score(row.exam, measure)] = sign * value
    return numbers


def of_kind(recipe, kind):
    return [claim for claim in collins2022.claims(recipe) if claim.kind == kind]


# ── claims ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("recipe", ["cpu", "paper"])
def test_the_papers_own_numbers_hold(recipe):
    said = [judged(claim, results(as_printed(), recipe)) for claim in collins2022.claims(recipe)]
    there = [
        one for one in said if one.claim.published is not None and "chosen" not in one.claim.id
    ]
    wrong = [one.claim.id for one in there if one.verdict != "holds"]
    assert not wrong
    assert {one.ours.n for one in there} == {15 if recipe == "paper" else 5}
    # of what figures alone show, and of settings that were not run, nothing is said
    assert {one.verdict for one in said if one not in there} == {"untested"}


def test_the_opposite_numbers_fail():
    said = [judged(claim, results(as_printed(-1.0))) for claim in of_kind("cpu", "ordering")]
    found = {one.verdict for one in said if one.claim.published is not None}
    assert found == {"fails"}


def test_a_small_difference_is_weaker():
    """Everything as for hard labels, but for a thousandth of what the paper found."""
    plain = as_printed()
    near = {
        cell: {name: plain["hard"][name] + 1e-3 * (value - plain["hard"][name])}
        for cell, scores in plain.items()
        for name, value in scores.items()
        if name == "10h/ce"
    }
    claims = [claim for claim in of_kind("cpu", "ordering") if claim.id.endswith("hard, 10h, ce")]
    assert len(claims) == 4
    said = {judged(claim, results(near, noise=1e-7)).verdict for claim in claims}
    assert said == {"weaker"}


def test_nothing_run_is_untested_and_says_why():
    nothing = Results([], "collins2022", "features")
    said = [judged(claim, nothing) for claim in collins2022.claims("features")]
    assert {one.verdict for one in said} == {"untested"}
    for one in said:
        assert one.reason == (NO_PIXELS if one.claim.id.endswith("fgsm") else one.reason)
        assert one.reason
    assert any(one.reason == NO_PIXELS for one in said)


def test_every_claim_has_its_name_and_its_place():
    for recipe in ("cpu", "features", "paper"):
        found = collins2022.claims(recipe)
        assert max(Counter(claim.id for claim in found).values()) == 1
        assert all(claim.where and claim.says for claim in found)
        printed_once = 96 + 2 + 2 + (3 if recipe == "paper" else 0)
        assert sum(claim.kind == "value" for claim in found) == printed_once
    assert collins2022.claims("data") == []


def test_differences_by_hand():
    found = printed.difference("10h/mean", "hard", "10h", "ce")
    assert (found.value, found.half) == (-0.701, pytest.approx(hypot(0.07, 0.18)))
    exception = printed.difference("t2-clamp/2", "10h/2", "10s", "rms")
    assert exception.value == pytest.approx(0.02)
    signs = {
        (exam, measure): printed.difference("smoothing", "t2-clamp/each", exam, measure).value > 0
        for exam in printed.EXAMS
        for measure in printed.MEASURES
    }
    lost = {("10h", "ce"), ("10s", "ce"), ("10s", "rms"), ("10s", "fgsm")}
    assert {key for key, above in signs.items() if above} == lost


def test_claims_can_be_read_without_torch():
    code = (
        "import sys; from softlabel.papers import collins2022 as c; c.claims('cpu'); c.facts();"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)


# ── runs put together ────────────────────────────────────────────────────────────────────────


def test_networks_are_pooled_and_runs_are_paired():
    runs = [
        Result("vgg11/hard", 0, {"x": 5.0}),
        Result("resnet34a/hard", 0, {"x": 1.0}),
        Result("resnet34a/hard", 1, {"x": 2.0}),
        Result("resnet34a/10h/mean", 0, {"x": 0.5}),
        Result("vgg11/10h/mean", 0, {"x": 4.0}),
        Result("vgg11/10h/mean", 1, {"x": 9.0}),  # its partner was not run
    ]
    found = Results(runs, "collins2022", "paper")
    assert list(by_run(found, "hard", "x").values()) == [1.0, 2.0, 5.0]
    assert mean(found, "hard", "x").value == pytest.approx(8 / 3)
    apart = difference(found, ("10h/mean", "x"), ("hard", "x"))
    assert (apart.n, apart.value) == (2, -0.75)
    assert mean(found, "nothing", "x") is None


def test_a_curve_that_falls():
    falling = {cell: {"10h/ce": 2 - m / 100} for m, cell in m_cells("10h").items()}
    found = trend(results(falling), m_cells("10h"), "10h/ce")
    assert (found.value, found.low, found.high) == (-1, -1, -1)
    del falling["10h/8"]
    assert trend(results(falling), m_cells("10h"), "10h/ce") is None


def test_what_validation_chooses():
    cells = {value: spread_cell(value) for value in SPREADS}
    plain = {cell: {"val/ce": 1 + abs(value - 0.2)} for value, cell in cells.items()}
    sure = best(results(plain, noise=1e-5), cells)
    assert (sure.value, sure.low, sure.high, sure.n) == (0.2, 0.2, 0.2, 5)
    # noise as large as the differences between neighbours: they cannot be told apart
    vague = best(results(plain, noise=0.2), cells)
    assert vague.low < vague.high
    smoothing = {value: beta_cell(value) for value in BETAS}
    assert best(results(plain), smoothing) is None


# ── what is trained ──────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def by_recipe():
    return {recipe: collins2022.cells(recipe) for recipe in ("cpu", "features", "paper")}


def test_every_claim_has_its_runs(by_recipe):
    names = {cell.name for cell in by_recipe["cpu"]}
    assert len(names) == len(by_recipe["cpu"])
    assert {row.cell for row in printed.ROWS} <= names
    assert {cell for pair in SAME_TIME for cell in pair} <= names
    for labels in ("10h", "t2-clamp"):
        assert set(m_cells(labels).values()) <= names
    for one in collins2022_traps.compared():
        assert {one.trapped[0], one.clean[0]} <= names
    assert set(map(spread_cell, SPREADS)) | set(map(beta_cell, BETAS)) <= names
    assert [cell.name for cell in by_recipe["cpu"]][:5] == [
        "hard",
        "10h/mean",
        "t2-clamp/mean",
        "10h/each",
        "t2-clamp/each",
    ]


def test_recipes_train_the_same_cells(by_recipe):
    names = [cell.name for cell in by_recipe["cpu"]]
    assert [cell.name for cell in by_recipe["features"]] == [
        name for name in names if "fresh crops" not in name
    ]
    assert [cell.name for cell in by_recipe["paper"]] == [
        f"{net}/{name}" for net in NETWORKS for name in names if "epochs" not in name
    ]
    assert {cell.base for cell in by_recipe["paper"]} == {f"c22-{net}" for net in NETWORKS}
    assert collins2022.cells("data") == []


def test_every_delivery_is_one(by_recipe):
    for cell in by_recipe["cpu"]:
        policy = registry.parse("deliver", cell.deliver)
        if cell.name.rpartition("/")[2].isdigit():
            m = int(cell.name.rpartition("/")[2])
            assert (policy.m, policy.then) == (m, "per-annotator")
    changed = {cell.name: cell.settings for cell in by_recipe["cpu"] if cell.settings}
    fresh, long = {"augment": "per_epoch"}, {"augment": "per_epoch", "epochs": 65}
    assert changed == {
        f"{labels}, fresh crops{more}": settings
        for more, settings in (("", fresh), (", 65 epochs", long))
        for labels in ("hard", "10h/each", "t2-clamp/each")
    }


# ── pages ────────────────────────────────────────────────────────────────────────────────────


def test_tables_stand_beside_the_papers():
    found = collins2022.tables(results(as_printed()))
    assert [len(table.rows) for table in found[:6]] == [10, 4, 8, 8, 6, 6]
    assert found[0].rows[0][2:4] == ("2.026 ±0.18", "2.026 ±0.000")
    for table in found:
        assert {len(row) for row in table.rows} == {len(table.columns)}
    assert collins2022.tables(Results([], "collins2022", "cpu")) == []


def test_the_table_of_traps():
    numbers = {cell: {"10h/ce": 1.0} for cell in ("hard", "t2-none/each", "t2-clamp/each")}
    numbers["hard, fresh crops"] = {"10h/ce": 0.75}
    numbers["hard"] |= {"10s/rms": 0.2, "10s/rms-dropped": 0.1, "10h/fgsm": 3, "10h/fgsm-hard": 2}
    found = collins2022_traps.table(results(numbers, noise=0.0))
    shown = {(row[0], row[1]): row[2:] for row in found.rows}
    assert shown["frozen crops", "hard, cross-entropy"] == ("1.000", "0.750", "+0.250 ±0.000", "5")
    dropped = shown["last bin dropped", "hard, RMS on 10s"]
    assert dropped == ("0.100", "0.200", "−0.100 ±0.000", "5")
    given = shown["FGSM by given class", "hard, FGSM on 10h"]
    assert given == ("2.000", "3.000", "−1.000 ±0.000", "5")
    assert ("no redistribution", "t2-clamp/each, CE on 10h") in shown
    assert len(shown) == 4


def test_what_fresh_crops_leave():
    numbers = {"hard": 1.5, "10h/each": 1.25, "hard, fresh crops": 1.0, "t2-clamp/each": 1.0}
    kept = {cell: {"10h/ce": value} for cell, value in numbers.items()}
    assert collins2022_traps.gains(results(kept, noise=0.0)).rows == []  # one half is missing
    kept["10h/each, fresh crops"] = {"10h/ce": 1.125}
    (row,) = collins2022_traps.gains(results(kept, noise=0.0)).rows
    assert row[0] == "CIFAR-10H, de-aggregated"
    assert row[2:] == ("−0.250 ±0.000", "+0.125 ±0.000", "–", "5")
    kept["hard, fresh crops, 65 epochs"] = {"10h/ce": 1.0}
    kept["10h/each, fresh crops, 65 epochs"] = {"10h/ce": 0.5}
    (row,) = collins2022_traps.gains(results(kept, noise=0.0)).rows
    assert row[2:] == ("−0.250 ±0.000", "+0.125 ±0.000", "−0.500 ±0.000", "5")


def test_figures_are_drawn_of_what_there_is():
    assert collins2022.figures(Results([], "collins2022", "cpu")) == []
    alone = {"10h/each": {score("10h", measure): 1.0 for measure in printed.MEASURES}}
    assert collins2022.figures(results(alone)) == []  # a point is no curve
    numbers = {
        cell: {
            score(exam, measure): 1 / m for exam in printed.EXAMS for measure in printed.MEASURES
        }
        for labels in ("10h", "t2-clamp")
        for m, cell in m_cells(labels).items()
    }
    numbers["hard"] = numbers["10h/1"]
    for cell in ("hard", "10h/each", "t2-clamp/each"):
        bins = {f"10h/bin{i}-said": i / 10 for i in range(10)}
        bins |= {f"10h/bin{i}-right": i / 12 for i in range(10)}
        numbers[cell] = numbers.get(cell, {}) | bins
    found = collins2022.figures(results(numbers))
    assert [one.draw(660).count("<svg") for one in found] == [1 + 6, 1 + 6, 1 + 6, 1 + 1]
    for one in found:
        for width in (320, 660):
            drawn = str(one.draw(width))
            assert drawn.startswith("<svg")
            assert "NaN" not in drawn
            assert "nan" not in drawn
