"""Collins et al. 2022: the paper judged by its own numbers, and by others; what is trained."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from math import hypot

import numpy as np
import pytest

from softlabel import registry
from softlabel.papers import collins2022
from softlabel.papers.claims import tuning
from softlabel.papers.claims.claims import judge
from softlabel.papers.claims.results import Result, Results
from softlabel.papers.collins2022.conditions import (
    ARMS,
    BETAS,
    BY_NAME,
    CLAMP_EACH,
    CONDITIONS,
    HARD,
    M_CURVES,
    NETWORKS,
    SPREADS,
    VOTES_EACH,
    VOTES_MEAN,
    Condition,
)
from softlabel.papers.collins2022.figures import list_traps, tabulate_gains, tabulate_traps
from softlabel.papers.collins2022.numbers import (
    EXAMS,
    MEASURES,
    NO_PIXELS,
    PRINTED,
    ROWS,
    SAME_TIME,
    by_run,
    choose,
    correlate_curve,
    difference,
    mean,
    printed_difference,
    score_as_printed,
)

SEEDS = range(5)


def results(numbers, recipe="cpu", noise=1e-4):
    """Runs whose scores are ``numbers[condition][name]`` and a little more, by seed."""
    rng = np.random.default_rng(0)
    nets = NETWORKS if recipe == "paper" else [""]
    found = []
    for cell, scores in numbers.items():
        for net in nets:
            for seed in SEEDS:
                drawn = {name: value + noise * rng.normal() for name, value in scores.items()}
                found.append(Result(replace(cell, network=net).name, seed, drawn))
    return Results(found, "collins2022", recipe)


def as_printed(sign=1.0):
    """The paper's means under the names of our scores."""
    numbers: dict[Condition, dict[str, float]] = {}
    for (condition, exam, measure), printed in PRINTED.items():
        score = score_as_printed(exam, measure)
        numbers.setdefault(condition, {})[score] = sign * printed.value
    return numbers


def of_kind(recipe, kind):
    return [claim for claim in collins2022.claims(recipe) if claim.kind == kind]


# ── claims ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("recipe", ["cpu", "paper"])
def test_the_papers_own_numbers_hold(recipe):
    said = [judge(claim, results(as_printed(), recipe)) for claim in collins2022.claims(recipe)]
    there = [
        one
        for one in said
        if "chosen" not in one.claim.id
        and (one.claim.published is not None or one.claim.kind == "equivalence")
    ]
    wrong = [one.claim.id for one in there if one.verdict != "holds"]
    assert not wrong
    assert {one.ours.n for one in there} == {15 if recipe == "paper" else 5}
    # of what figures alone show, and of settings that were not run, nothing is said
    assert {one.verdict for one in said if one not in there} == {"untested"}


def test_the_opposite_numbers_are_contradicted():
    said = [judge(claim, results(as_printed(-1.0))) for claim in of_kind("cpu", "ordering")]
    found = {one.verdict for one in said if one.claim.published is not None}
    assert found == {"contradicted"}


def test_noise_leaves_orderings_undecided():
    """Everything as for hard labels: every difference is chance, and most intervals include 0."""
    plain = as_printed()
    alike = {cell: dict.fromkeys(scores, 1.0) for cell, scores in plain.items()}
    claims = [claim for claim in of_kind("cpu", "ordering") if claim.published is not None]
    said = [judge(claim, results(alike, noise=1.0)).verdict for claim in claims]
    assert said.count("undecided") > 0.85 * len(said)  # of 95 % intervals


def test_a_small_difference_is_smaller():
    """Everything as for hard labels, but for a thousandth of what the paper found."""
    plain = as_printed()
    near = {
        cell: {name: plain[HARD][name] + 1e-3 * (value - plain[HARD][name])}
        for cell, scores in plain.items()
        for name, value in scores.items()
        if name == "10h/ce"
    }
    claims = [claim for claim in of_kind("cpu", "ordering") if claim.id.endswith("hard, 10h, ce")]
    assert len(claims) == 6
    said = {judge(claim, results(near, noise=1e-7)).verdict for claim in claims}
    assert said == {"smaller"}


def test_nothing_run_is_untested_and_says_why():
    nothing = Results([], "collins2022", "features")
    said = [judge(claim, nothing) for claim in collins2022.claims("features")]
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
        printed_once = 96 + 2 + (3 if recipe == "paper" else 0)
        assert sum(claim.kind == "value" for claim in found) == printed_once
        assert sum(claim.kind == "equivalence" for claim in found) == 2
    assert collins2022.claims("data") == []


def test_uniform_labels_are_calibrated_as_well_to_what_the_paper_can_tell():
    """The margin is half of the interval that table 1 prints for votes."""
    claims = {claim.id: claim for claim in of_kind("cpu", "equivalence")}
    assert set(claims) == {f"10h/mean = uniform, {exam}, rms" for exam in EXAMS}
    for exam in EXAMS:
        claim, margin = claims[f"10h/mean = uniform, {exam}, rms"], PRINTED[VOTES_MEAN, exam, "rms"]
        assert claim.margin == margin.half > 0
        score = score_as_printed(exam, "rms")
        for apart, verdict in ((0.5, "holds"), (1.0, "undecided"), (2.0, "contradicted")):
            for sign in (1, -1):
                numbers = {VOTES_MEAN: {score: 1 + sign * apart * claim.margin}}
                numbers[Condition("uniform")] = {score: 1.0}
                # at the margin itself half of all draws are beyond it: noise is not small there
                noise = 0.2 * claim.margin if apart == 1 else 1e-3 * claim.margin
                assert judge(claim, results(numbers, noise=noise)).verdict == verdict


def test_figures_are_judged_on_three_measures():
    """Figure 6 claims that curves fall; what figure 10 compares the paper calls not clear."""
    claims = collins2022.claims("cpu")
    curves = [claim for claim in claims if claim.where == "figure 6"]
    keys = [f"{labels}, {exam}, {one}" for labels in M_CURVES for exam in EXAMS for one in MEASURES]
    assert [claim.id for claim in curves] == [f"M curve, {key}" for key in keys]
    assert {(claim.kind, claim.sign) for claim in curves} == {("ordering", -1)}
    open_questions = [claim for claim in claims if claim.where == "figure 10"]
    assert len(open_questions) == len(SAME_TIME) * len(EXAMS) * len(MEASURES)
    assert {claim.kind for claim in open_questions} == {"measurement"}
    scores = [score_as_printed(exam, measure) for exam in EXAMS for measure in MEASURES]
    numbers = {
        cell: {score: (-1) ** (labels == "10h") * m / 100 for score in scores}
        for labels, curve in M_CURVES.items()
        for m, cell in curve.items()
    }
    found = {claim.id: judge(claim, results(numbers)) for claim in [*curves, *open_questions]}
    for key in keys:
        falls = key.startswith("10h")
        assert found[f"M curve, {key}"].verdict == ("holds" if falls else "contradicted")
    for claim in open_questions:
        assert found[claim.id].verdict == "measured"
        assert found[claim.id].ours.value < 0


def test_differences_by_hand():
    found = printed_difference(VOTES_MEAN, HARD, "10h", "ce")
    assert (found.value, found.half) == (-0.701, pytest.approx(hypot(0.07, 0.18)))
    exception = printed_difference(BY_NAME["t2-clamp/2"], BY_NAME["10h/2"], "10s", "rms")
    assert exception.value == pytest.approx(0.02)
    signs = {
        (exam, measure): printed_difference(BETAS[0.05], CLAMP_EACH, exam, measure).value > 0
        for exam in EXAMS
        for measure in MEASURES
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
    assert list(by_run(found, HARD, "x").values()) == [1.0, 2.0, 5.0]
    assert mean(found, HARD, "x").value == pytest.approx(8 / 3)
    apart = difference(found, (VOTES_MEAN, "x"), (HARD, "x"))
    assert (apart.n, apart.value) == (2, -0.75)
    assert mean(found, Condition("nothing"), "x") is None


def test_a_curve_that_falls():
    falling = {cell: {"10h/ce": 2 - m / 100} for m, cell in M_CURVES["10h"].items()}
    found = correlate_curve(results(falling), M_CURVES["10h"], "10h/ce")
    assert (found.value, found.low, found.high) == (-1, -1, -1)
    del falling[M_CURVES["10h"][8]]
    assert correlate_curve(results(falling), M_CURVES["10h"], "10h/ce") is None


def test_what_validation_chooses():
    plain = {cell: {"val/ce": 1 + abs(value - 0.2)} for value, cell in SPREADS.items()}
    sure = choose(results(plain, noise=1e-5), SPREADS)
    assert (sure.value, sure.low, sure.high, sure.n) == (0.2, 0.2, 0.2, 5)
    # noise as large as the differences between neighbours: they cannot be told apart
    vague = choose(results(plain, noise=0.2), SPREADS)
    assert vague.low < vague.high
    assert choose(results(plain), BETAS) is None


# ── what is trained ──────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def by_recipe():
    return {recipe: collins2022.cells(recipe) for recipe in ("cpu", "features", "paper")}


def test_every_claim_has_its_runs(by_recipe):
    names = {cell.name for cell in by_recipe["cpu"]}
    assert len(names) == len(by_recipe["cpu"])
    assert names == {condition.name for condition in CONDITIONS}
    known = set(CONDITIONS)
    assert {row.condition for row in ROWS} <= known
    assert all(m in M_CURVES["10h"] and n in M_CURVES["t2-clamp"] for m, n in SAME_TIME)
    for curve in M_CURVES.values():
        assert set(curve.values()) <= known
    for one in list_traps():
        assert {one.trapped[0], one.clean[0]} <= known
    assert {*SPREADS.values(), *BETAS.values()} <= known
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
        m = BY_NAME[cell.name].delivery
        if isinstance(m, int):
            assert (policy.m, policy.then) == (m, "per-annotator")
    changed = {cell.name: cell.settings for cell in by_recipe["cpu"] if cell.settings}
    fresh, long = {"augment": "per_epoch"}, {"augment": "per_epoch", "epochs": 65}
    frozen = {"epochs": 65}
    assert changed == {
        f"{labels}{more}": settings
        for more, settings in (
            (", fresh crops", fresh),
            (", fresh crops, 65 epochs", long),
            (", 65 epochs", frozen),
        )
        for labels in ("hard", "10h/each", "t2-clamp/each")
    }


@pytest.mark.parametrize("scale", ["cpu-tuned", "features-tuned"])
def test_arms_are_tuned_with_the_strengths_that_they_have(scale):
    cells = collins2022.cells(scale)
    settings = {}
    for cell in cells:
        arm, _, setting = cell.name.partition(tuning.AT)
        settings.setdefault(arm, []).append(setting)
    assert list(settings) == [condition.name for condition in ARMS]
    decays = [f"decay={decay:g}" for decay in tuning.DECAYS[scale]]
    for condition, choices in ARMS.items():
        own = [f"strength={one.strength}, " for one in choices] if len(choices) > 1 else [""]
        wanted = [f"{strength}{decay}" for decay in decays for strength in own]
        assert settings[condition.name] == wanted
    deliveries = {cell.name.partition(tuning.AT)[0]: cell.deliver for cell in cells}
    untuned = {cell.name: cell.deliver for cell in collins2022.cells("cpu")}
    assert deliveries.items() <= untuned.items()


# ── pages ────────────────────────────────────────────────────────────────────────────────────


def test_tables_stand_beside_the_papers():
    found = collins2022.tables(results(as_printed()))
    assert [len(table.rows) for table in found[:6]] == [10, 4, 8, 8, 6, 6]
    assert found[0].rows[0][2:4] == ("2.026 ±0.18", "2.026 ±0.000")
    for table in found:
        assert {len(row) for row in table.rows} == {len(table.columns)}
    assert collins2022.tables(Results([], "collins2022", "cpu")) == []


def test_the_table_of_traps():
    no_spread = Condition("t2-none", "each")
    numbers = {condition: {"10h/ce": 1.0} for condition in (HARD, no_spread, CLAMP_EACH)}
    numbers[replace(HARD, fresh=True)] = {"10h/ce": 0.75}
    numbers[HARD] |= {"10s/rms": 0.2, "10s/rms-dropped": 0.1, "10h/fgsm": 3, "10h/fgsm-hard": 2}
    found = tabulate_traps(results(numbers, noise=0.0))
    shown = {(row[0], row[1]): row[2:] for row in found.rows}
    assert shown["frozen crops", "hard, cross-entropy"] == ("1.000", "0.750", "+0.250 ±0.000", "5")
    dropped = shown["last bin dropped", "hard, RMS on 10s"]
    assert dropped == ("0.100", "0.200", "−0.100 ±0.000", "5")
    given = shown["FGSM by given class", "hard, FGSM on 10h"]
    assert given == ("2.000", "3.000", "−1.000 ±0.000", "5")
    assert ("no redistribution", "t2-clamp/each, CE on 10h") in shown
    assert len(shown) == 4


def test_what_fresh_crops_leave():
    fresh = replace(HARD, fresh=True), replace(VOTES_EACH, fresh=True)
    numbers = {HARD: 1.5, VOTES_EACH: 1.25, fresh[0]: 1.0, CLAMP_EACH: 1.0}
    kept = {condition: {"10h/ce": value} for condition, value in numbers.items()}
    assert tabulate_gains(results(kept, noise=0.0)).rows == []  # one half is missing
    kept[fresh[1]] = {"10h/ce": 1.125}
    (row,) = tabulate_gains(results(kept, noise=0.0)).rows
    assert row[0] == "CIFAR-10H, de-aggregated"
    assert row[2:] == ("−0.250 ±0.000", "+0.125 ±0.000", "–", "–", "5")
    kept |= {
        replace(condition, epochs=65): {"10h/ce": value}
        for condition, value in zip(fresh, (1.0, 0.5), strict=True)
    }
    (row,) = tabulate_gains(results(kept, noise=0.0)).rows
    assert row[2:] == ("−0.250 ±0.000", "+0.125 ±0.000", "−0.500 ±0.000", "–", "5")


def test_figures_are_drawn_of_what_there_is():
    assert collins2022.figures(Results([], "collins2022", "cpu")) == []
    alone = {VOTES_EACH: {score_as_printed("10h", measure): 1.0 for measure in MEASURES}}
    assert collins2022.figures(results(alone)) == []  # a point is no curve
    numbers = {
        cell: {score_as_printed(exam, measure): 1 / m for exam in EXAMS for measure in MEASURES}
        for curve in M_CURVES.values()
        for m, cell in curve.items()
    }
    numbers[HARD] = numbers[M_CURVES["10h"][1]]
    for cell in (HARD, VOTES_EACH, CLAMP_EACH):
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
