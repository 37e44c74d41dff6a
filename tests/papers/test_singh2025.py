"""Singh et al. 2025: claims judged on made-up results of known outcome, scores beside hand-made
references, cells that can be trained, and what the released data say."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import entropy, pearsonr, spearmanr

from softlabel.papers import singh2025
from softlabel.papers.claims import Result, Results
from softlabel.papers.claims.claims import judge
from softlabel.papers.claims.results import read_shipped
from softlabel.papers.singh2025 import data as singh2025_data
from softlabel.papers.singh2025.data import Condition
from softlabel.papers.singh2025.figures import (
    score_entropies,
    score_items,
    score_uncertain_items,
)
from softlabel.papers.singh2025.numbers import NO_DATA
from softlabel.tables import names

SEEDS = 4


def results(soft: dict[str, float], hard: dict[str, float], **of_set: dict[str, float]) -> Results:
    """The same scores on all sets (but for ``cifar10h=``, of soft runs), a little noise by seed."""
    made = []
    for name in singh2025_data.SETS:
        for label, scores in (("soft", soft | of_set.get(name, {})), ("hard", hard)):
            for seed in range(SEEDS):
                noisy = {key: value * (1 + 0.001 * seed) for key, value in scores.items()}
                made.append(Result(Condition(name, label).name, seed, noisy))
    return Results(made)


SOFT = {
    "kl": 0.67,
    "entropy-pearson": 0.49,
    "entropy-spearman": 0.49,
    "accuracy": 0.7,
    "right/kl": 0.01,
    "high/kl": 0.5,
}
HARD = SOFT | {"kl": 1.0, "entropy-pearson": 0.3, "entropy-spearman": 0.3, "right/kl": 0.08}
HARD |= {"high/kl": 1.5}


def verdicts(found: Results) -> dict[str, str]:
    return {claim.id: judge(claim, found).verdict for claim in singh2025.claims("cpu")}


def test_a_world_as_published_holds():
    said = verdicts(results(SOFT, HARD))
    untested = {f"table {n}" for n in range(1, 5)}
    untested |= {key for key in said if key.endswith(" constant")}  # these runs have none
    assert {key for key, verdict in said.items() if verdict == "untested"} == untested
    assert {verdict for key, verdict in said.items() if key not in untested} == {"holds"}
    assert len(said) == 6 + 4 * 6 + 2 + 4 + 2 * 6


def test_half_the_gain_is_smaller_and_a_loss_contradicts():
    said = verdicts(results(SOFT | {"kl": 0.84, "entropy-pearson": 0.25}, HARD))
    assert said["kl drop"] == said["kl drop, by family"] == "smaller"
    assert said["chaosnli/snli kl"] == "holds"
    assert said["entropy-pearson gain"] == "contradicted"
    assert said["cifar10h entropy-pearson"] == "contradicted"
    assert said["entropy-spearman gain"] == "holds"


def test_accuracy_may_rise_but_not_fall():
    assert verdicts(results(SOFT | {"accuracy": 0.8}, HARD))["accuracy matched"] == "holds"
    assert verdicts(results(SOFT | {"accuracy": 0.695}, HARD))["accuracy matched"] == "holds"
    assert verdicts(results(SOFT | {"accuracy": 0.69}, HARD))["accuracy matched"] == "undecided"
    assert verdicts(results(SOFT | {"accuracy": 0.65}, HARD))["accuracy matched"] == "contradicted"
    matched = [claim for claim in singh2025.claims("cpu") if claim.kind == "equivalence"]
    assert {claim.id for claim in matched} == {
        "accuracy matched",
        *(f"{name} accuracy" for name in singh2025_data.SETS),
    }
    assert {(claim.margin, claim.direction) for claim in matched} == {(0.01, "below")}


def test_families_count_the_same():
    """Only CIFAR-10H gains: a sixth of the sets, a third of the families."""
    found = results(SOFT | {"kl": 1.0}, HARD, cifar10h={"kl": 0.4})
    claims = {claim.id: claim.ours(found) for claim in singh2025.claims("cpu")}
    assert claims["kl drop"].value == pytest.approx(0.6 / 6, abs=1e-9)
    assert claims["kl drop, by family"].value == pytest.approx(0.6 / 3, abs=1e-9)


def test_a_gain_over_nothing_is_not_tested():
    nothing = results(SOFT, HARD | {"entropy-pearson": -0.01})
    said = {claim.id: judge(claim, nothing) for claim in singh2025.claims("cpu")}
    assert said["entropy-pearson gain, set by set"].verdict == "untested"
    assert "means nothing" in said["entropy-pearson gain, set by set"].reason
    assert said["entropy-pearson gain"].verdict == "untested"
    assert said["chaosnli/snli entropy-pearson"].verdict == "holds"  # a difference needs no ratio


def test_seeds_are_compared_with_themselves():
    """Soft and hard runs rise together with the seed: the difference has no spread."""
    made = [
        Result(Condition("cifar10h", label).name, seed, {"kl": base + seed})
        for label, base in (("soft", 1.0), ("hard", 1.5))
        for seed in range(3)
    ]
    claim = next(c for c in singh2025.claims("cpu") if c.id == "cifar10h kl")
    ours = claim.ours(Results(made))
    assert (ours.value, ours.low, ours.high) == pytest.approx((0.5, 0.5, 0.5))
    assert judge(claim, Results(made[:1])).verdict == "untested"
    assert verdicts(Results([]))["kl drop"] == "untested"


def test_a_model_is_compared_with_a_constant_item_by_item():
    """The items' own losses vary far more than the difference, which is surely below 0."""
    rng = np.random.default_rng(0)
    made = []
    for seed in range(SEEDS):
        constant = rng.gamma(1.0, size=200)
        model = constant - 0.1 + 0.2 * rng.standard_normal(200)
        scores = {"kl": model.mean(), "constant/kl": constant.mean()}
        items = {"kl": model, "constant/kl": constant}
        made.append(Result(Condition("chaosnli/snli", "soft").name, seed, scores, items=items))
    (claim,) = (c for c in singh2025.claims("cpu") if c.id == "chaosnli/snli soft constant")
    ours = claim.ours(Results(made))
    assert ours.items == 200
    assert ours.low < -0.1 < ours.high < 0
    assert judge(claim, Results(made)).verdict == "measured"


# ── scores ───────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def pair() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.dirichlet([0.6] * 4, 50), rng.dirichlet([0.6] * 4, 50)


def test_scores_beside_scipys(pair):
    people, ours = pair
    found = score_items(people, ours)
    theirs = entropy(people.T, ours.T)
    h = [entropy(side.T) for side in pair]
    right = people.argmax(axis=1) == ours.argmax(axis=1)
    assert found["kl"] == pytest.approx(theirs.mean())
    assert found["accuracy"] == pytest.approx(right.mean())
    assert found["right/kl"] == pytest.approx(theirs[right].mean())
    assert found["entropy-pearson"] == pytest.approx(pearsonr(*h).statistic)
    assert found["entropy-spearman"] == pytest.approx(spearmanr(*h).statistic)


def test_the_items_of_highest_entropy(pair):
    people, ours = pair
    found = score_uncertain_items(people, ours)
    top = sorted(range(50), key=lambda i: -entropy(people[i]))[:5]
    assert found["high/items"] == 5
    assert found["high/kl"] == pytest.approx(np.mean([entropy(people[i], ours[i]) for i in top]))
    by_rank = np.array([sorted(people[i], reverse=True) for i in top]).mean(axis=0)
    assert [found[f"high/people@{r}"] for r in (1, 2, 3, 4)] == pytest.approx(by_rank)
    first = np.mean([ours[i][people[i].argmax()] for i in top])
    assert found["high/model@1"] == pytest.approx(first)
    assert sum(found[f"high/model@{r}"] for r in (1, 2, 3, 4)) == pytest.approx(1)


def test_the_distribution_of_entropies(pair):
    people = np.array([[1, 0, 0, 0], [0.25] * 4, [0.5, 0.5, 0, 0]])
    found = score_entropies(people, pair[1][:3])
    shares = [found[f"entropy/people@{b}"] for b in range(10)]
    assert shares == pytest.approx([1 / 3, 0, 0, 0, 0, 1 / 3, 0, 0, 0, 1 / 3])
    assert found["entropy/people"] == pytest.approx(0.5)


def test_groups_go_from_agreement_to_doubt(pair):
    people, ours = pair
    found = score_entropies(people, ours)
    order = sorted(range(50), key=lambda i: entropy(people[i]))
    for number in range(10):
        some = order[5 * number : 5 * number + 5]
        for whose, probs in (("people", people), ("model", ours)):
            mean = np.mean([entropy(probs[i]) for i in some]) / np.log(4)
            assert found[f"group/{whose}@{number}"] == pytest.approx(mean)


# ── cells ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("recipe", ["cpu", "features", "paper"])
@pytest.mark.parametrize("quick", [False, True])
def test_every_cell_can_be_configured(recipe, quick):
    from softlabel import registry
    from softlabel.train import RECIPES, change_settings

    cells = singh2025.cells(recipe, quick)
    wanted = {f"{name} {label}" for name in singh2025_data.SETS for label in ("soft", "hard")}
    assert {cell.name for cell in cells} == wanted
    assert len(cells) == 12
    for cell in cells:
        change_settings(RECIPES[cell.base].config, cell.settings)
        assert registry.parse("deliver", cell.deliver).name in ("hard", "aggregate")
        assert (cell.deliver == "hard") == cell.name.endswith("hard")


@pytest.mark.parametrize("recipe", ["cpu", "features"])
def test_a_quick_look_goes_all_the_way(recipe, tmp_path):
    """Two cells of each kind, trained in this process; claims, tables and figures are made."""
    from softlabel.papers.claims.running import cell_job

    found = []
    for name in ("chaosnli/mnli", "popquorn/politeness", "cifar10h"):
        for label in ("soft", "hard"):
            for seed in range(2):
                cell = f"{name} {label}"
                job = cell_job("singh2025", recipe, cell, seed, str(tmp_path), quick=True)
                run = job.complete_run()
                scores = singh2025.probes(run, job.source.find_cell())
                assert scores["kl"] == pytest.approx(run.scores["kl"].value)
                assert scores["held kl@2"] == pytest.approx(scores["kl"], rel=1e-5)
                found.append(Result(cell, seed, scores, run.name))
    made = Results(found, "singh2025", recipe)
    said = verdicts(made)
    assert said["cifar10h kl"] != "untested"
    assert said["kl drop"] == "untested"  # three of six sets
    main, best, high = singh2025.tables(made)
    assert len(main.rows) == 9
    assert len(best.rows) == 3
    assert len(high.rows) == 9
    drawn = singh2025.figures(made)
    panels = [figure.draw(660).count("<svg") for figure in drawn]
    assert panels == [1 + 3, 1 + 3, 1 + 3, 1 + 3, 1]  # the last is about CIFAR-10H alone
    assert all("<svg" in str(figure.draw(640)) for figure in drawn)


def test_figures_2_and_5_show_the_stored_scores():
    found = []
    for labels, mass, divergence in (("soft", 0.6, 0.2), ("hard", 0.8, 0.3)):
        scores = {"high/people@1": 0.5, "high/people@2": 0.5, "high/model@1": mass}
        scores |= {"high/model@2": 1 - mass, "right/kl": divergence, "kl": 1.0}
        found += [Result(f"cifar10h {labels}", seed, scores, f"{labels} {seed}") for seed in (0, 1)]
    drawn = {one.name: one.draw(640) for one in singh2025.figures(Results(found, "x", "cpu"))}
    said = "people: 1st class 50 %, 2nd 50 %; soft: 1st class 60 %, 2nd 40 %; hard: 1st class 80 %"
    assert said in drawn["uncertain"]
    assert "soft labels: 0.2; published: 0.01; hard labels: 0.3; published: 0.08" in drawn["right"]


def test_simulated_people_are_always_the_same_and_differ_by_set():
    a, b, c = (singh2025_data.simulated(name) for name in ("x", "x", "y"))
    assert a.sides == b.sides
    np.testing.assert_array_equal(a.pooled.probs, b.pooled.probs)
    assert a.sides != c.sides


def test_claims_can_be_read_without_torch():
    code = "import sys; from softlabel.papers import singh2025 as p; p.claims('cpu'); p.facts(); "
    code += "assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


# ── the released data ────────────────────────────────────────────────────────────────────────


def test_facts_of_the_released_data(data_folder):
    said = {claim.id: judge(claim, Results([])) for claim in singh2025.facts()}
    assert len(said) == 5
    assert {one.verdict for one in said.values()} == {"holds"}
    assert said["chaosnli/snli labels"].ours.value == 100
    assert said["cifar10h labels"].ours.value == pytest.approx(51.1)
    assert said["popquorn/politeness labels"].ours.value == pytest.approx(25_042 / 3_718)


def test_without_data_facts_are_untested(monkeypatch, tmp_path):
    monkeypatch.setenv("SOFTLABEL_DATA", str(tmp_path))
    monkeypatch.setenv("SOFTLABEL_CACHE", str(tmp_path))
    singh2025_data.votes.cache_clear()
    said = [judge(claim, Results([])) for claim in singh2025.facts()]
    assert {one.verdict for one in said} == {"untested"}
    assert {one.reason for one in said} == {NO_DATA}


SIZES = {  # items, classes, texts of an item, items held out, share of ties for the majority
    "chaosnli/snli": (1514, 3, 2, 312, 0.009),
    "chaosnli/mnli": (1599, 3, 2, 293, 0.009),
    "chaosnli/alphanli": (1532, 2, 2, 265, 0.005),
    "popquorn/offensiveness": (1500, 5, 1, 287, 0.107),
    "popquorn/politeness": (3718, 5, 1, 748, 0.189),
}


@pytest.mark.parametrize("name", SIZES)
def test_texts_are_split_by_rule_and_labels_are_the_votes(name, data_folder):
    from softlabel.train.splits import choose_held_out

    made = singh2025_data.texts(name)
    counts = singh2025_data.votes(name)
    items = made.pooled.index.items
    held = choose_held_out(items if made.group is None else names(made.group))
    tied = ((counts == counts.max(axis=1, keepdims=True)).sum(axis=1) > 1).mean()
    found = (*counts.shape, len(made.sides), int(held.sum()), round(float(tied), 3))
    assert found == SIZES[name]  # as the page of the paper says
    np.testing.assert_allclose(made.pooled.probs, counts / counts.sum(axis=1, keepdims=True))
    assert (counts[np.arange(len(counts)), made.hard] == counts.max(axis=1)).all()
    assert all(line.strip() for side in made.sides for line in side)
    if name == "chaosnli/alphanli":
        first, second = made.sides
        assert all(a != b for a, b in zip(first, second, strict=True))


def test_pictures_are_taught_by_the_majority(data_folder):
    lesson = singh2025_data.pictures()
    assert (len(lesson.inputs), len(lesson.held)) == (7000, 3000)
    assert lesson.watched
    pooled = lesson.teaching.pooled
    np.testing.assert_array_equal(lesson.teaching.hard, pooled.argmax(axis=1))


def test_stored_losses_of_the_constant_are_those_of_the_released_data(data_folder):
    """Item by item and in the order of the runs; the model itself is the mean training label."""
    for scale in ("cpu", "cpu-tuned", "features", "features-tuned"):
        found = read_shipped("singh2025")[scale]
        tuned = scale.endswith("tuned")
        for name in (*singh2025_data.CHAOSNLI, *singh2025_data.POPQUORN):
            split = singh2025_data.read_lesson(name, "words", False, "", tuned)
            people = split.people.probs
            mean = np.tile(split.teaching.pooled.mean(axis=0), (len(people), 1))
            expected = entropy(people.T, mean.T)
            runs = [one for one in found.all if one.cell.startswith(f"{name} ") and one.items]
            assert len(runs) >= 10
            for one in runs:
                np.testing.assert_allclose(one.items["constant/kl"], expected, rtol=1e-3, atol=1e-5)
                assert one.scores["constant/kl"] == pytest.approx(expected.mean(), rel=1e-5)
