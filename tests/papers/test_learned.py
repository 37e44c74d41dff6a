"""The page "what we learned": its numbers come from the stored runs, and its conclusions hold."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from softlabel.papers.claims import papers, tuning
from softlabel.papers.claims.claims import judge
from softlabel.papers.claims.results import read_shipped
from softlabel.papers.collins2022.conditions import (
    BETAS,
    CLAMP_EACH,
    CLAMP_MEAN,
    HARD,
    M_CURVES,
    VOTES_EACH,
    VOTES_MEAN,
)
from softlabel.papers.collins2022.figures import tabulate_gains
from softlabel.papers.collins2022.numbers import EXAMS, PRINTED, choose
from softlabel.papers.singh2025.data import Condition as Condition25
from softlabel.papers.singh2025.numbers import subtract_constant

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("learned", ROOT / "tools" / "learned.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_numbers_are_those_of_the_stored_runs(tool):
    text = tool.PAGE.read_text("utf-8")
    assert tool.fill(text) == text, "run make docs"
    assert [spot[2] for spot in tool.SPOT.finditer(text)] == list(tool.SPOTS)


@pytest.fixture(scope="module")
def said() -> str:
    return (ROOT / "docs" / "what-we-learned.md").read_text("utf-8")


# ── Collins et al. 2022 ──────────────────────────────────────────────────────────────────────


def test_the_papers_network_comes_near():
    """Hard labels are worst, and people one by one better than their mean, as printed."""
    results = read_shipped("collins2022")["paper"]
    cells = (HARD, VOTES_MEAN, CLAMP_MEAN, VOTES_EACH, CLAMP_EACH)
    ours = [results.mean(replace(one, network="resnet34a"), "10h/ce").value for one in cells]
    theirs = [PRINTED[one, "10h", "ce"].value for one in cells]
    for found in (ours, theirs):
        assert found[0] > max(found[1:3])
        assert min(found[1:3]) > max(found[3:])
    hard, soft = (
        results.values(replace(one, network="vgg11"), "10h/ce") for one in (HARD, CLAMP_EACH)
    )
    assert len(hard) >= 2
    assert min(hard) > max(soft) + 0.5


def test_several_people_beat_one_vote(said):
    assert "labels of two or more people beat one person's vote in every curve of ours" in said
    for scale in ("cpu", "features"):
        results = read_shipped("collins2022")[scale]
        for exam in EXAMS:
            one, *more = M_CURVES["10h"].values()
            assert all(results.difference(cell, one, f"{exam}/ce").high < 0 for cell in more)


def test_with_fresh_crops_the_gain_is_less_and_later(said):
    results = read_shipped("collins2022")["cpu"]
    rows = {row[:2]: row[2:] for row in tabulate_gains(results).rows}
    shares = []
    for labels in ("T2-clamp, de-aggregated", "CIFAR-10H, de-aggregated"):
        *_, runs = rows[labels, "cross-entropy, 3,000 CIFAR-10H images"]
        assert int(runs) >= 5
        robust = rows[labels, "loss under FGSM, 3,000 CIFAR-10H images"][:3]
        before, *after = (float(gain.partition(" ")[0].replace("−", "-")) for gain in robust)
        shares.append([gain / before for gain in after])
    (rich, rich_late), (votes, votes_late) = shares
    assert "A fifth and an eighth of the gain in robustness remain after 20 epochs" in said
    assert (rich, votes) == pytest.approx((1 / 5, 1 / 8), abs=0.02)
    assert "and about half of each after 65" in said
    assert (rich_late, votes_late) == pytest.approx((0.5, 0.5), abs=0.05)
    for soft in (CLAMP_EACH, VOTES_EACH):
        for epochs in (None, 65):
            pair = (replace(one, fresh=True, epochs=epochs) for one in (soft, HARD))
            assert results.difference(*pair, "10h/ce").value < 0
    early, late = replace(HARD, fresh=True), replace(CLAMP_EACH, fresh=True, epochs=65)
    apart = results.difference(late, early, "10h/ce")
    assert apart.low < 0 < apart.high
    assert results.difference(early, late, "10h/accuracy").high < 0
    # no soft label with frozen crops gets nearly as far as hard labels with fresh ones
    soft = [
        one for one in results.cells if "fresh" not in one and one not in ("hard", "t2-clamp/each")
    ]
    near = min(results.mean(cell, "10h/ce").value for cell in soft)
    assert near > results.mean(early, "10h/ce").value + 0.3


def test_without_redistribution_labels_are_worse():
    results = read_shipped("collins2022")["cpu"]
    for kind in ("t1", "t2"):
        assert results.difference(f"{kind}-none/each", f"{kind}-clamp/each", "10h/ce").value > 0


@pytest.mark.parametrize("scale", ["cpu", "features"])
def test_label_smoothing_that_is_tuned(scale):
    results = read_shipped("collins2022")[scale]
    tuned = BETAS[choose(results, BETAS).value]
    assert (results.difference(CLAMP_EACH, tuned, "10h/ce").value > 0) == (scale == "cpu")
    assert results.difference(VOTES_EACH, tuned, "10h/ce").value > 0
    assert results.difference(tuned, CLAMP_EACH, "10h/rms").high < 0  # better calibrated


# ── Singh et al. 2025 ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("scale", ["cpu", "features"])
def test_no_model_of_chaosnli_is_nearer_than_a_constant(scale, said):
    assert "no model of ChaosNLI, hard or soft, small network or frozen features" in said
    results = read_shipped("singh2025")[scale]
    for part in ("snli", "mnli", "alphanli"):
        for label in ("hard", "soft"):
            constant = results.values(f"chaosnli/{part} soft", "constant/kl").mean()
            assert results.mean(f"chaosnli/{part} {label}", "kl").low > constant


def test_on_alphanli_no_model_tells_more_than_a_constant(said):
    assert "On αNLI no model of ours tells more than the constant" in said
    for results in read_shipped("singh2025").values():
        picked = tuning.pick_settings(results)[0]
        for label in ("hard", "soft"):
            ours = subtract_constant(Condition25("chaosnli/alphanli", label), picked)
            assert ours is None or ours.high > 0


# ── Gheibi & Ghazizadeh 2026 ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("scale", ["features", "cpu"])
def test_single_votes_gain_more_the_longer_it_goes(scale):
    results = read_shipped("gheibi2026")[scale]
    for start in ("all", "all-64"):
        for policy in ("sls", "multipass"):
            apart = results.difference(f"{start}/{policy}", f"{start}/soft", "10h/cross-entropy")
            assert (apart.high < 0) == ((scale, start) != ("cpu", "all"))


def test_ten_seeds_can_show_it(said):
    results = read_shipped("gheibi2026")["features"]
    (table,) = (
        one
        for one in papers.find("gheibi2026").tables(results)
        if one.title.startswith("Single votes against soft labels")
    )
    assert len(table.rows) == 12
    assert "all twelve comparisons stay below .05" in said
    assert all(float(row[5]) < 0.05 and row[3].startswith("−") for row in table.rows)


def test_few_single_votes_beat_their_shares_from_scratch_too():
    results = read_shipped("gheibi2026")["cpu"]
    for k in (5, 10, 50):
        for policy in ("sls", "multipass", "control"):
            gain = results.difference(f"k{k}/soft", f"k{k}/{policy}", "10h/cross-entropy")
            assert (gain.low > 0) == (k < 50)


@pytest.mark.parametrize("scale", ["cpu", "features"])
def test_a_draw_must_be_fresh(scale):
    results = read_shipped("gheibi2026")[scale]
    cells = ("sls", "stale-5", "stale-10", "stale-50")
    found = [results.mean(f"all/{cell}", "10h/cross-entropy").value for cell in cells]
    assert found == sorted(found)


def test_flat_is_not_good():
    results = read_shipped("gheibi2026")["cpu"]
    cells = [f"{votes}/{way}" for votes in ("all", "k5") for way in ("soft", "sls", "multipass")]
    cells += ["all/shuffled", "all/majority", "k5/majority", "all/control", "k5/control"]
    for score in ("flat/lambda-max", "flat/trace", "flat/sam"):
        found = {cell: results.mean(cell, score).value for cell in cells}
        assert max(found, key=found.__getitem__) == "all/shuffled"
    rises = {}  # along directions that are scaled to the weights
    for way in ("shuffled", "soft", "sls", "multipass"):
        here, *there = (
            results.mean(f"all/{way}", f"slice/{at}").value for at in ("+0.0", "-1.0", "+1.0")
        )
        rises[way] = sum(there) / 2 - here
    assert rises["shuffled"] < 1.05 * min(rises.values())
    assert max(rises["sls"], rises["multipass"]) < rises["soft"]
    for name in ("lambda-max", "trace"):  # of logarithms: flatter, by less than half as much
        for way in ("sls", "multipass"):
            (claim,) = (
                one for one in papers.find("gheibi2026").claims("cpu") if one.id == f"{name}-{way}"
            )
            ours = judge(claim, results).ours
            assert ours.high < 0
            assert ours.value > claim.published.value / 2


# ── Uma et al. 2020 ──────────────────────────────────────────────────────────────────────────


def test_on_pos_shares_are_nearest_by_shares():
    results = read_shipped("uma2020")["paper"]
    for first, second in pairwise(("shares", "crowd-layer", "softmax")):
        assert results.difference(f"pos/{first}", f"pos/{second}", "share/cross-entropy").high < 0


def test_who_wins_depends_on_the_label():
    results = read_shipped("uma2020")["paper"]
    ways = ("crowd-layer-batches", "shares", "softmax", "gold", "majority", "dawid-skene")
    near = {way: results.mean(f"labelme/{way}", "share/cross-entropy").value for way in ways}
    right = {way: results.mean(f"labelme/{way}", "accuracy").value for way in ways}
    assert set(sorted(near, key=near.__getitem__)[:2]) == {"crowd-layer-batches", "shares"}
    assert sorted(near, key=near.__getitem__)[-2:] == ["softmax", "gold"]
    assert max((way for way in ways if way != "gold"), key=right.__getitem__) == "dawid-skene"


def test_tuning_leaves_less_than_half_of_every_gain(tool):
    """The sentences about arms tuned alike: "farther" before, and less or the opposite after."""
    for paper, score, pair in (
        ("collins2022", "10h/ce", ("hard", "t2-clamp/each")),
        ("uma2020", "cross-entropy", ("cifar10h/gold", "cifar10h/shares")),
        ("gheibi2026", "10h/cross-entropy", ("k5/soft", "k5/sls")),
    ):
        for scale in ("features", "cpu"):
            untuned, tuned = (some.difference(*pair, score) for some in tool._both(paper, scale))
            assert untuned.low > 0
            assert tuned.value < untuned.value / 2, (paper, scale)
        # on pictures no arm chose the smallest or the largest weight decay
        for scale, inner in (("cpu-tuned", {"0.001", "0.003"}), ("features-tuned", {"3"})):
            chosen = tuning.pick_settings(read_shipped(paper)[scale])[1]
            assert {one.rpartition("decay=")[2] for one in chosen.values()} <= inner
    for scale in ("features", "cpu"):  # whoever is nearer with five votes
        left = tool._both("gheibi2026", scale)[1].difference("k5/soft", "k5/sls", tool.NLL)
        assert left.low < 0 < left.high
    tuned = tool._both("singh2025")[1]
    for name in tool.POPQUORN:  # who rates tells more than what is rated
        known, anybody, constant = (
            tuned.mean(f"{name} annotators", f"rating/{one}").value
            for one in ("nll", "nll-anybody", "nll-constant")
        )
        assert known < anybody < constant
    claims = {one.id: one for one in papers.find("singh2025").claims("features-tuned")}
    for name in tool.POPQUORN:  # and changes little where it is not known
        assert abs(judge(claims[f"{name} annotators"], tuned).ours.value) < 0.01


def test_only_label_smoothing_chose_the_smallest_strength(said):
    assert "These are label smoothing, whose β of 0 is hard labels" in said
    for scale in ("cpu-tuned", "features-tuned"):
        results, chosen = tuning.pick_settings(read_shipped("collins2022")[scale])
        smallest = {arm for arm, one in chosen.items() if one.startswith("strength=0.01,")}
        assert smallest == {"smoothing", "smoothing-all"}
        assert all(len(results.of_cell(arm)) == 10 for arm in chosen)


def test_the_small_network_tuned_leaves_no_gain_in_distance(tool, said):
    assert "hard labels of Collins et al. and Uma et al. among them" in said
    assert "and all three differences are gone" in said
    assert "a small network comes as near to people's labels of pictures from hard labels" in said
    for paper, score, pair in (
        ("collins2022", "10h/ce", (HARD.name, CLAMP_EACH.name)),
        ("uma2020", "cross-entropy", ("cifar10h/gold", "cifar10h/shares")),
        ("gheibi2026", tool.NLL, ("k5/sls", "k5/soft")),
    ):
        results, chosen = tuning.pick_settings(read_shipped(paper)["cpu-tuned"])
        left = results.difference(*pair, score)
        assert left.low < 0 < left.high
        assert left.n >= 5
        if paper != "gheibi2026":
            assert chosen[pair[0]] == "decay=0.003"


def test_what_tuning_leaves_of_texts_with_few_ratings(tool, said):
    assert "On texts with few ratings (POPQUORN) soft labels stay nearer" in said
    for scale in ("features", "cpu"):
        tuned = tool._both("singh2025", scale)[1]
        for name in tool.POPQUORN:
            pair = (Condition25(name, way) for way in ("hard", "soft"))
            assert tuned.difference(*pair, "kl").low > 0


def test_what_tuning_leaves_of_single_votes(tool):
    """In turn they are nearer on frozen features; nowhere else, nor drawn anew."""
    for scale in ("features", "cpu"):
        tuned = tool._both("gheibi2026", scale)[1]
        for way in ("multipass", "sls"):
            gain = tuned.difference("k5/soft", f"k5/{way}", tool.NLL)
            assert (gain.low > 0) == ((scale, way) == ("features", "multipass"))
            assert gain.high > 0


def test_fine_tuned_features_leave_no_gain_in_distance(tool):
    """The sentence about features trained further."""
    for paper, score, pair in (
        ("collins2022", "10h/ce", ("hard", "t2-clamp/each")),
        ("collins2022", "10h/ce", ("hard", "10h/each")),
        ("uma2020", "cross-entropy", ("cifar10h/gold", "cifar10h/shares")),
        ("singh2025", "kl", ("cifar10h hard", "cifar10h soft")),
    ):
        untuned = tool._both(paper)[0].difference(*pair, score)
        left = tool._fine_tuned(paper).difference(*pair, score)
        assert left.low < 0 < left.high, (paper, pair)
        assert abs(left.value) < untuned.value / 4, (paper, pair)
    single = tool._fine_tuned("gheibi2026").difference("k5/sls", "k5/soft", tool.NLL)
    assert single.low > 0  # the opposite of what the paper finds
    shares = "cifar10h/shares", "cifar10h/gold"
    assert tool._fine_tuned("uma2020").difference(*shares, "entropy-pearson").low > 0
