"""The text and the charts of the demo's page, on invented numbers."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from softlabel.cli.demo import load_demo
from softlabel.metrics import entropy, evaluate, kl
from softlabel.study import shapes
from softlabel.tables import Floats, Predictions, Score

demo, findings, page = (load_demo(name) for name in ("demo", "findings", "page"))
SVG = "{http://www.w3.org/2000/svg}"


class Run(NamedTuple):
    """As much of a run as is needed to evaluate it."""

    seed: int
    predictions: Predictions


@cache
def unseen() -> Any:
    """Fewer pictures than the page has."""
    return demo.draw_pictures(150, "unseen", np.random.default_rng([0, 2]))


def train(predictions: list[list[Floats]]) -> Any:
    """Training results with these predictions (m, k), for every delivery and seed."""
    pictures, truth = unseen()
    runs = {
        name: [Run(seed, Predictions(truth.index, probs)) for seed, probs in enumerate(some)]
        for name, some in zip(findings.DELIVERIES, predictions, strict=True)
    }
    return findings.measure_training(runs, pictures, truth)


def invent(shares: list[float]) -> Any:
    """Networks that predict the truth, mixed with this much of a uniform distribution."""
    truth = unseen()[1].probs
    rng = np.random.default_rng(0)
    predictions: list[list[Floats]] = []
    for share in shares:
        parts = np.clip(share + rng.normal(0, 0.003, (findings.SEEDS, len(truth), 1)), 0, 1)
        predictions.append([(1 - part) * truth + part / truth.shape[1] for part in parts])
    return train(predictions)


def text(html: str) -> str:
    return " ".join("".join(ET.fromstring(f"<x>{html}</x>").itertext()).split())


# ── numbers in words ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("score", "words"),
    [
        (Score(0.05, 0.03, 0.07, 9), "5.0 points more (3.0 to 7.0)"),
        (Score(-0.05, -0.07, -0.03, 9), "5.0 points less (3.0 to 7.0)"),
        (Score(0.01, -0.01, 0.03, 9), "not significantly different (−1.0 to 3.0 points)"),
    ],
)
def test_a_difference_in_points_has_a_direction_unless_it_is_not_significant(score, words):
    assert page.compare(score) == words


def test_a_difference_in_nats_has_a_remark_if_it_is_not_significant():
    assert page.difference(Score(0.02, 0.01, 0.03, 3)) == "0.020 (0.010 to 0.030)"
    assert page.difference(Score(0.02, -0.01, 0.05, 3)) == (
        "0.020 (−0.010 to 0.050), not significantly different from 0"
    )


def test_the_worth_of_a_rich_answer_is_compared_with_its_time():
    assert "about 7 votes (5 to 9)" in page.describe_worth(Score(6.7, 5, 9.3, 9))
    assert "annotators, but not time" in page.describe_worth(Score(6.7, 5, 9.3, 9))
    assert "annotators and time" in page.describe_worth(Score(20.0, 18, 23, 9))
    assert "over 24" in page.describe_worth(Score(20.0, 18, float("inf"), 9))
    assert "less accurate" in page.describe_worth(Score(float("inf"), 18, float("inf"), 9))


def test_the_worth_of_a_rich_answer_is_read_off_the_curve_of_votes():
    rich = np.full((2, 30), 0.25)
    votes = np.tile([[0.4], [0.3], [0.2]], 30)
    assert findings.count_votes_worth(rich, votes).value == pytest.approx(2.5)
    assert findings.count_votes_worth(votes, rich).value == 1.0
    assert math.isinf(findings.count_votes_worth(np.full((1, 30), 0.1), votes).value)


# ── choosing ─────────────────────────────────────────────────────────────────────────────────


def test_the_compared_recipes_are_where_the_page_expects_them():
    assert findings.RECIPES[findings.RICH].name == "rich: clamp → mean"
    assert findings.RECIPES[findings.VOTES].name == "votes: hard → share"
    assert len({recipe.name for recipe in findings.RECIPES}) == len(findings.RECIPES)


def test_examples_are_typical_and_go_from_clear_to_ambiguous_over_all_shapes():
    rng = np.random.default_rng(0)
    truth = shapes.compute_truth(shapes.draw_weights(findings.ITEMS, rng))
    chosen = page.choose_examples(truth, rng.normal(size=findings.ITEMS), 8)
    entropies = entropy(truth[chosen]).tolist()
    assert entropies == sorted(entropies)
    assert len(set(truth[chosen].argmax(axis=1))) == len(shapes.LABELS)
    one_class = np.array([[0.9, 0.1]] * 5)
    assert page.choose_examples(one_class, np.array([0.0, 9.0, 1.0, 5.0, 3.0]), 1) == [4]


def test_annotators_are_asked_about_unseen_pictures():
    _, truth = unseen()
    items = [3, 14, 77]
    label = findings.ask_about_unseen(truth, items, 0)
    np.testing.assert_allclose(label.sum(axis=1), 1)
    assert (abs(label - truth.probs[items]).sum(axis=1) / 2 < 0.35).all()  # ten know something
    assert np.array_equal(label, findings.ask_about_unseen(truth, items, 0))


# ── networks ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("shares", "first", "last"),
    [
        ([0.4, 0.05, 0.1, 0.2], "aggregate", "hard"),
        ([0.05, 0.4, 0.1, 0.2], "hard", "aggregate"),
        ([0.2, 0.1, 0.4, 0.05], "sls", "per-annotator"),
    ],
)
def test_the_closest_delivery_is_named_whichever_it_is(shares, first, last):
    training = invent(shares)
    words = text(page.rank_deliveries(training))
    by_hand = [
        np.mean([kl(training.truth.probs, run.predictions.probs).mean() for run in one.runs])
        for one in training.deliveries
    ]
    assert by_hand == sorted(by_hand)
    assert f"were trained with {first} (KL {by_hand[0]:.3f} nats)" in words
    assert f"; {last} by {by_hand[-1] - by_hand[0]:.3f} (" in words
    assert f"By total variation, {first} is closest as well" in page.check_ranking(training)


def test_measures_that_disagree_are_reported():
    """Too much confidence in the right class is close in total variation, and far in KL."""
    truth = unseen()[1].probs
    sure = truth**6 / (truth**6).sum(axis=1, keepdims=True)
    even = 0.6 * truth + 0.4 / truth.shape[1]
    training = train([[probs] * findings.SEEDS for probs in (sure, even, even, even)])
    by_name = {one.name: one for one in training.deliveries}
    tv = {
        name: evaluate.over_runs(by_name[name].runs, training.truth, ["total-variation"])
        for name in ("hard", "aggregate")
    }
    assert tv["hard"]["total-variation"].value < tv["aggregate"]["total-variation"].value
    assert training.deliveries[0].name != "hard"
    words = page.check_ranking(training)
    assert words.startswith("By total variation, hard is closest (")
    assert "the two measures disagree" in words


def test_every_delivery_is_in_every_chart():
    training = invent([0.4, 0.05, 0.1, 0.2])
    results = SimpleNamespace(study=SimpleNamespace(seed=0))
    parts = [str(part) for part in page.show_training(results, training) if part.startswith("<")]
    root = ET.fromstring(f"<x>{''.join(parts)}</x>")
    titles = [svg.find(SVG + "title").text for svg in root.iter(SVG + "svg")]
    for name in findings.DELIVERIES:
        assert any(title.startswith(f"{name}: true probability") for title in titles)
        assert any(title.startswith(f"{name}: entropy") for title in titles)
    assert len([image.get("alt") for image in root.iter("img")]) == page.PREDICTIONS
    cards = [e for e in root.iter(SVG + "desc") if (e.text or "").startswith("truth: ")]
    assert cards
    for card in cards:
        for who in ("people", *findings.DELIVERIES):
            assert f"{who}: " in card.text
    header = [th.text for th in root.iter("th") if th.get("scope") == "row"]
    assert header == ["aggregate", "per-annotator", "sls", "hard"]


def test_all_runs_of_a_delivery_are_in_its_reliability_diagram():
    training = invent([0.4, 0.05, 0.1, 0.2])
    bins = training.bins(training.deliveries[0])
    assert bins.count.sum() == findings.SEEDS * len(training.pictures)
    assert bins.error() < training.bins(training.deliveries[-1]).error()
