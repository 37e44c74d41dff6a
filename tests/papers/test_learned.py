"""What the page "what we learned" says of our own runs is what the stored runs say."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from softlabel.papers.claims import papers
from softlabel.papers.claims.claims import count, judge
from softlabel.papers.claims.results import read_shipped
from softlabel.papers.collins2022.cells import BETAS, BY_NAME, M_CURVES
from softlabel.papers.collins2022.claims import EXAMS, PRINTED, choose, printed_difference
from softlabel.tables import Score

PAGE = Path(__file__).parents[2] / "docs" / "what-we-learned.md"


@pytest.fixture(scope="module")
def said() -> str:
    return PAGE.read_text("utf-8")


def short(value: float, digits: int) -> str:
    """As the page writes them: .683."""
    return f"{value:.{digits}f}".removeprefix("0")


def with_half(score: Score) -> str:
    """As the page writes them: .283 ± .060."""
    return f"{short(score.value, 3)} ± {short((score.high - score.low) / 2, 3)}"


def titled(paper: str, recipe: str, title: str):
    results = read_shipped(paper)[recipe]
    return next(one for one in papers.find(paper).tables(results) if one.title.startswith(title))


def test_softness_alone_does_as_well_on_a_hundred_images(said):
    every = read_shipped("collins2022")
    cells = ("uniform", "t2-clamp/mean", "hard")
    words = {
        "cpu": "is {} with uniform labels, {} with people's T2-clamp labels (aggregated) and {}",
        "features": "with frozen features {}, {} and {}.",
    }
    ahead = []
    for recipe, text in words.items():
        found = [every[recipe].mean(cell, "10s/ce").value for cell in cells]
        assert text.format(*(f"{value:.2f}" for value in found)) in said
        ahead.append(every[recipe].difference("uniform", "t2-clamp/mean", "10h/ce").value)
    assert "by {} and {}.".format(*(short(value, 2) for value in ahead)) in said


def test_the_papers_network_comes_near(said):
    results = read_shipped("collins2022")["paper"]
    cells = ("hard", "10h/mean", "t2-clamp/mean", "10h/each", "t2-clamp/each")
    ours = [results.mean(f"resnet34a/{cell}", "10h/ce").value for cell in cells]
    theirs = [PRINTED[BY_NAME[cell], "10h", "ce"].value for cell in cells]
    hard, votes, rich, votes_each, rich_each = (f"{value:.3f}" for value in ours)
    assert f"images is {hard} with hard labels (printed {theirs[0]:.3f}, the mean" in said
    means = f"{votes} and {rich} with votes and T2-clamp labels, aggregated"
    assert f"{means} ({theirs[1]:.3f} and {theirs[2]:.3f})" in said
    each = f"{votes_each} and {rich_each} de-aggregated"
    assert f"{each} ({theirs[3]:.3f} and {theirs[4]:.3f})" in said
    for found in (ours, theirs):
        assert found[0] > max(found[1:3])
        assert min(found[1:3]) > max(found[3:])


def test_several_people_beat_one_vote(said):
    assert "labels of two or more people beat one person's vote in every curve of ours" in said
    for recipe in ("cpu", "features"):
        results = read_shipped("collins2022")[recipe]
        for exam in EXAMS:
            for m, cell in M_CURVES["10h"].items():
                apart = results.difference(cell, "10h/1", f"{exam}/ce")
                assert m == 1 or apart.high < 0


def test_with_fresh_crops_the_gain_is_less_and_later(said):
    results = read_shipped("collins2022")["cpu"]
    rows = {row[:2]: row[2:] for row in titled("collins2022", "cpu", "Soft labels against").rows}
    long, shares = [], []
    for labels, words in (
        ("T2-clamp, de-aggregated", "T2-clamp labels gain over hard ones, {}, they leave {};"),
        ("CIFAR-10H, de-aggregated", "the gain of CIFAR-10H votes, {}, they leave {}."),
    ):
        *gains, runs = rows[labels, "cross-entropy, 3,000 CIFAR-10H images"]
        frozen, fresh, late = (gain.replace("−0.", ".").replace("±0", "± ") for gain in gains)
        assert words.format(frozen, fresh) in said
        long.append(late)
        assert int(runs) >= 5
        robust = rows[labels, "loss under FGSM, 3,000 CIFAR-10H images"][:3]
        before, *after = (float(gain.partition(" ")[0].replace("−", "-")) for gain in robust)
        shares.append([gain / before for gain in after])
    assert "soft labels gain {} and {}: with".format(*long) in said
    (rich, rich_late), (votes, votes_late) = shares
    words = (
        "Of robustness a fifth and an eighth are left after 20 epochs, about half of each after 65"
    )
    assert words in said
    assert (rich, votes) == pytest.approx((1 / 5, 1 / 8), abs=0.02)
    assert (rich_late, votes_late) == pytest.approx((0.5, 0.5), abs=0.05)
    sure, late = (f"{cell}, fresh crops, 65 epochs" for cell in ("hard", "t2-clamp/each"))
    assert f"grown too sure ({short(results.mean(sure, '10h/ce').value, 2)})" in said
    early = "hard, fresh crops"
    near = (short(results.mean(cell, "10h/ce").value, 2) for cell in (early, late))
    words = "for 20 epochs ({}) are as near to people as soft labels taught for 65 ({})"
    assert words.format(*near) in said
    apart = results.difference(late, early, "10h/ce")
    assert apart.low < 0 < apart.high
    right = (short(results.mean(cell, "10h/accuracy").value, 3) for cell in (early, late))
    assert "if less accurate ({} against {})".format(*right) in said
    assert results.difference(early, late, "10h/accuracy").high < 0
    cells = ("hard", "hard, fresh crops", "t2-clamp/each")
    found = [short(results.mean(cell, "10h/ce").value, 2) for cell in cells]
    assert "from {} to {} (soft".format(*found) in said
    assert f"with frozen crops ({found[2]})" in said
    soft = [one for one in results.cells if one not in cells and "fresh" not in one]
    assert min(results.mean(cell, "10h/ce").value for cell in soft) > float(found[1]) + 0.3


@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        (
            "cpu",
            [
                "is {fixed} behind T2-clamp labels (de-aggregated; ",
                "choose β = {beta} (",
                "smoothing is {ahead} ahead (",
                "are behind it by {votes} and",
            ],
        ),
        (
            "features",
            [
                "frozen features {fixed}). Our",
                "(frozen features {beta}), and",
                "(frozen features: {ahead} behind)",
                " and {votes}. On these",
            ],
        ),
    ],
)
def test_label_smoothing_that_is_tuned(said, recipe, words):
    results = read_shipped("collins2022")[recipe]
    beta = choose(results, BETAS).value
    tuned, rich = BETAS[beta], "t2-clamp/each"
    ahead = results.difference(rich, tuned, "10h/ce")
    found = {
        "fixed": short(results.difference("smoothing", rich, "10h/ce").value, 3),
        "beta": short(beta, 1),
        "ahead": with_half(ahead).removeprefix("-0"),
        "votes": with_half(results.difference("10h/each", tuned, "10h/ce")),
    }
    for one in words:
        assert one.format(**found) in said
    assert (ahead.value > 0) == (recipe == "cpu")
    assert results.difference(tuned, rich, "10h/rms").high < 0  # better calibrated


def test_labels_without_redistribution(said):
    rows = titled("collins2022", "cpu", "Effects of the traps").rows
    found = {row[1]: row[4] for row in rows if row[0] == "no redistribution"}
    rises = (
        found[f"{one}-clamp/each, CE on 10h"].replace("+0.", ".").replace("±0", "± ")
        for one in ("t1", "t2")
    )
    assert "cross-entropy rises by {} (T1) and {} (T2) against T1".format(*rises) in said
    results = read_shipped("collins2022")["cpu"]
    apart = [
        results.difference(f"t1-{how}/each", f"t2-{how}/each", "10h/ce").value
        for how in ("none", "clamp")
    ]
    apart.append(
        printed_difference(BY_NAME["t1-clamp/each"], BY_NAME["t2-clamp/each"], "10h", "ce").value
    )
    words = "are then {} apart, with clamp {}; printed are {}."
    assert words.format(*(short(value, 3) for value in apart)) in said


def test_for_the_same_time_neither_is_ahead(said):
    ahead: list[int] = []
    for recipe in ("cpu", "features"):
        results = read_shipped("collins2022")[recipe]
        same = [one for one in papers.find("collins2022").claims(recipe) if "same time" in one.id]
        scores = [one.ours(results) for one in same]
        ahead += [(one.high < 0) - (one.low > 0) for one in scores]
    assert len(ahead) == 8
    votes, rich = ahead.count(1), ahead.count(-1)
    assert (
        f"votes are ahead beyond chance in {votes} of 8 comparisons, rich answers in {rich}" in said
    )


def test_most_of_the_lower_kl_is_lost_late(said):
    rows = [
        (row[0], *(int(cell.strip("%")) for cell in row[-2:]))
        for recipe in ("cpu", "features")
        for row in titled("singh2025", recipe, "KL to people at the last").rows
    ]
    last, best = ([row[place] for row in rows] for place in (1, 2))
    assert (
        f"a drop of {min(last)} to {max(last)} % becomes one of {min(best)} to {max(best)} %"
        in said
    )
    inference = max(row[2] for row in rows if row[0].startswith("chaosnli"))
    assert f"on ChaosNLI at most {inference} %" in said


@pytest.mark.parametrize("recipe", ["cpu", "features"])
def test_no_model_of_chaosnli_is_nearer_than_a_constant(recipe, said):
    assert "no model of ChaosNLI, hard or soft, small network or frozen features" in said
    results = read_shipped("singh2025")[recipe]
    for part in ("snli", "mnli", "alphanli"):
        for label in ("hard", "soft"):
            constant = results.values(f"chaosnli/{part} soft", "constant/kl").mean()
            assert results.mean(f"chaosnli/{part} {label}", "kl").low > constant


@pytest.mark.parametrize(
    ("recipe", "early", "late"),
    [
        ("features", "is {} (soft), {} (SLS) and {} (multipass) after 20 epochs", "after 64. Soft"),
        ("cpu", "is {}, {} and {} after 20 epochs, which is no difference", "after 64: soft"),
    ],
)
def test_single_votes_gain_more_the_longer_it_goes(said, recipe, early, late):
    results = read_shipped("gheibi2026")[recipe]
    for start, words in (("all", early), ("all-64", f"and {{}}, {{}} and {{}} {late}")):
        for policy in ("sls", "multipass"):
            apart = results.difference(f"{start}/{policy}", f"{start}/soft", "10h/cross-entropy")
            assert (apart.high < 0) == ((recipe, start) != ("cpu", "all"))
        found = [
            results.mean(f"{start}/{policy}", "10h/cross-entropy").value
            for policy in ("soft", "sls", "multipass")
        ]
        assert words.format(*(short(value, 3) for value in found)) in said


def test_ten_seeds_can_show_it(said):
    rows = titled("gheibi2026", "features", "Single votes against soft labels").rows
    assert len(rows) == 12
    assert "all twelve comparisons stay below .05" in said
    assert all(float(row[5]) < 0.05 and row[3].startswith("−") for row in rows)


def test_few_single_votes_beat_their_shares_from_scratch_too(said):
    results = read_shipped("gheibi2026")["cpu"]
    gains = {
        (k, policy): results.difference(f"k{k}/soft", f"k{k}/{policy}", "10h/cross-entropy")
        for k in (5, 10, 50)
        for policy in ("sls", "multipass", "control")
    }
    few = [gain for (k, _), gain in gains.items() if k < 50]
    assert all(gain.low > 0 for gain in few)
    assert all(gain.low < 0 for (k, _), gain in gains.items() if k == 50)
    low, high = (short(limit(gain.value for gain in few), 3) for limit in (min, max))
    behind = short(-gains[50, "multipass"].value, 3)
    words = f"(by {low} to {high}), with 50 votes none is, and multipass is {behind} behind"
    assert words in said


def test_a_draw_must_be_fresh(said):
    cells = ("sls", "stale-5", "stale-10", "stale-50", "majority")
    words = (
        "NLL of {:.2f}, every five epochs {:.2f}, every ten {:.2f}, and once for the whole "
        "run {:.2f}, which is that of majority votes ({:.2f})"
    )
    found = {}
    for recipe in ("cpu", "features"):
        results = read_shipped("gheibi2026")[recipe]
        found[recipe] = [results.mean(f"all/{cell}", "10h/cross-entropy").value for cell in cells]
        assert found[recipe][:4] == sorted(found[recipe][:4])
    assert words.format(*found["cpu"]) in said


def test_flat_is_not_good(said):
    results = read_shipped("gheibi2026")["cpu"]
    cells = [f"{votes}/{way}" for votes in ("all", "k5") for way in ("soft", "sls", "multipass")]
    cells += ["all/shuffled", "all/majority", "k5/majority", "all/control", "k5/control"]
    largest = {cell: results.mean(cell, "flat/lambda-max").value for cell in cells}
    trace = {cell: results.mean(cell, "flat/trace").value for cell in cells}
    for found in (largest, trace):
        assert max(found, key=found.__getitem__) == "all/shuffled"
    words = (
        "largest eigenvalue {:.0f} against {:.0f} after soft training, trace {:.0f} against {:.0f}"
    )
    known = (found[cell] for found in (largest, trace) for cell in ("all/shuffled", "all/soft"))
    assert words.format(*known) in said
    assert f"(SLS {largest['all/sls']:.0f}, multipass {largest['all/multipass']:.0f})" in said
    for name in ("lambda-max", "trace"):  # of logarithms
        for way in ("sls", "multipass"):
            (claim,) = (
                one for one in papers.find("gheibi2026").claims("cpu") if one.id == f"{name}-{way}"
            )
            ours = judge(claim, results).ours
            assert ours.high < 0
            assert ours.value > claim.published.value / 2
    assert f"flatter network ({largest['k5/sls']:.0f}) than the soft" in said
    near = (results.mean(cell, "10h/cross-entropy").value for cell in ("k5/sls", "all/soft"))
    assert "soft NLL {:.2f} against {:.2f}".format(*near) in said


def test_on_pos_it_holds(said):
    paper, results = papers.find("uma2020"), read_shipped("uma2020")["paper"]
    orders = [one for one in paper.claims("paper") if one.kind == "ordering" and "POS" in one.where]
    counted = count(judge(one, results) for one in orders)
    words = "{} of the {} orderings of Tables 2 and 3 hold and {} are weaker"
    assert words.format(counted["holds"], len(orders), counted["weaker"]) in said
    near, unsure = (
        results.mean("pos/softmax", score).value for score in ("cross-entropy", "entropy-pearson")
    )
    assert f"nearest to people ({near:.2f}), and unsure where they are ({short(unsure, 2)})" in said
    ways = ("shares", "crowd-layer", "softmax")
    found = [results.mean(f"pos/{way}", "share/cross-entropy") for way in ways]
    words = "learning from shares ({}), then the crowd layer ({}), then the soft loss ({})"
    assert words.format(*(short(one.value, 2) for one in found)) in said
    for first, second in pairwise(ways):
        assert results.difference(f"pos/{first}", f"pos/{second}", "share/cross-entropy").high < 0


def test_who_wins_depends_on_the_label(said):
    results = read_shipped("uma2020")["paper"]
    ways = ("crowd-layer", "shares", "softmax", "gold", "majority", "dawid-skene")
    near = {way: results.mean(f"labelme/{way}", "share/cross-entropy").value for way in ways}
    right = {way: results.mean(f"labelme/{way}", "accuracy").value for way in ways}
    assert sorted(near, key=near.__getitem__)[:3] == ["crowd-layer", "shares", "softmax"]
    crowd, shares, soft = (short(near[way], 2) for way in ("crowd-layer", "shares", "softmax"))
    assert re.search(rf"nearest to people \({crowd}\).* \({shares}\).* \({soft}\)", said)
    own = results.mean("labelme/softmax", "cross-entropy").value
    assert f"softmax labels: {own:.2f} nats" in said
    assert max((way for way in ways if way != "gold"), key=right.__getitem__) == "crowd-layer"
