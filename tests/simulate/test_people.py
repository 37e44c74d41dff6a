"""People with known faults show them, and nothing else."""

from __future__ import annotations

import json

import numpy as np
import pytest

from softlabel.aggregate import Mean
from softlabel.annotators import compare_with_others, repeat_distance
from softlabel.construct import Clamp
from softlabel.construct import Hard as FirstNamed
from softlabel.elicit import Classic, Hard
from softlabel.errors import DataError, SoftlabelError
from softlabel.metrics import entropy, total_variation
from softlabel.simulate.people import (
    Person,
    Showing,
    draw_opinions,
    draw_people,
    plan_showings,
    read_responses,
    simulate_answers,
)
from softlabel.tables import Index

LABELS = ["circle", "square", "star", "cross"]
# two classes in steps of 5 %: what the classic form can say without rounding
TRUTH = np.array([[p, 1 - p, 0, 0] for p in (1.0, 0.9, 0.75, 0.65, 0.55)] * 4)


def index(persons: list[Person], truth=TRUTH) -> Index:
    items = [f"item-{i}" for i in range(len(truth))]
    return Index(items, [f"person-{a}" for a in range(len(persons))], LABELS)


def said(persons, mode, seed=0, truth=TRUTH, **options):
    rng = np.random.default_rng(seed)
    responses = simulate_answers(truth, persons, mode, LABELS, rng, **options)
    return read_responses(index(persons, truth), mode, responses)


def test_a_faultless_persons_answers_give_the_truth():
    faultless = Person(noise=0, sharpness=1, carelessness=0)
    labels = Mean()(Clamp()(said([faultless] * 3, Classic())))
    np.testing.assert_allclose(labels.probs, TRUTH, atol=1e-12)


def test_rounding_is_all_that_a_faultless_person_adds():
    rng = np.random.default_rng(5)
    truth = np.zeros((200, 4))
    truth[:, 0] = rng.uniform(0.5, 1, 200)
    truth[:, 1] = 1 - truth[:, 0]
    labels = Mean()(Clamp(spread=0)(said([Person(noise=0)], Classic(), truth=truth)))
    assert total_variation(truth, labels.probs).max() <= 0.05 + 1e-9


def test_many_faultless_votes_give_the_truth():
    votes = said([Person(noise=0)] * 600, Hard())
    labels = Mean()(FirstNamed()(votes))
    assert total_variation(TRUTH, labels.probs).max() < 0.08  # 4 standard errors of 600 votes


def test_carelessness_lowers_agreement_step_by_step():
    found = []
    for carelessness in (0.0, 0.25, 0.5, 0.75, 1.0):
        crowd = [Person(carelessness=carelessness)] + [Person()] * 9
        each = Clamp()(said(crowd, Classic(), truth=np.tile(TRUTH, (10, 1))))
        found.append(compare_with_others(each)[0].agreement)
    assert all(np.diff(found) < -0.03), found


def test_noise_lowers_agreement_and_sharpness_lowers_entropy():
    truth = np.tile(TRUTH, (10, 1))
    noisy = [Person(noise=noise) for noise in (0.1, 0.8, 2.0)] + [Person(noise=0.1)] * 7
    close = [
        card.agreement for card in compare_with_others(Clamp()(said(noisy, Classic(), truth=truth)))
    ]
    assert close[0] > close[1] > close[2]
    sharp = [Person(sharpness=sharpness) for sharpness in (0.5, 1.0, 2.0)]
    doubt = [
        card.sharpness for card in compare_with_others(Clamp()(said(sharp, Classic(), truth=truth)))
    ]
    assert doubt[0] > doubt[1] > doubt[2]


def test_repeats_differ_only_by_wobble_and_carelessness():
    truth = np.tile(TRUTH, (5, 1))

    def change(person: Person) -> float:
        shown = plan_showings(len(truth), 1, np.random.default_rng(1), repeats=len(truth))
        return float(
            repeat_distance(Clamp()(said([person], Classic(), truth=truth, showings=shown))).mean()
        )

    assert change(Person(noise=1, wobble=0)) == 0
    assert change(Person(noise=1, wobble=0.2)) < change(Person(noise=1, wobble=1))
    assert change(Person(noise=0, carelessness=1)) > 0.3


def test_the_same_seed_gives_the_same_answers():
    crowd = draw_people(6, np.random.default_rng(3))
    assert crowd == draw_people(6, np.random.default_rng(3))
    draws = [
        simulate_answers(TRUTH, crowd, Classic(), LABELS, np.random.default_rng(seed))
        for seed in (1, 1, 2)
    ]
    assert draws[0] == draws[1] != draws[2]


def test_answers_are_what_a_browser_would_send():
    crowd = draw_people(4, np.random.default_rng(0))
    for response in simulate_answers(TRUTH, crowd, Classic(), LABELS, np.random.default_rng(0)):
        assert json.loads(json.dumps(response.answer)) == response.answer


def test_the_same_opinions_can_be_asked_for_in_two_ways():
    crowd = [Person(noise=2, wobble=0)] * 5
    held = draw_opinions(TRUTH, crowd, np.random.default_rng(4))
    rich = said(crowd, Classic(), held=held)
    likeliest = held.argmax(axis=2)
    assert (rich.named[:, 0] == likeliest[rich.annotator, rich.item]).all()
    votes = [said(crowd, Hard(), seed, held=held) for seed in range(50)]
    hits = [v.named[:, 0] == likeliest[v.annotator, v.item] for v in votes]
    believed = np.exp(held) / np.exp(held).sum(axis=2, keepdims=True)
    assert np.mean(hits) == pytest.approx(believed.max(axis=2).mean(), abs=0.03)


# ── who sees what ────────────────────────────────────────────────────────────────────────────


def test_a_plan_is_balanced_and_shows_an_item_to_different_people():
    shown = plan_showings(50, 8, np.random.default_rng(0), per_item=3, repeats=2)
    first = [s for s in shown if s.kind == "target"]
    assert len(first) == len({(s.item, s.annotator) for s in first}) == 150
    assert set(np.bincount([s.item for s in first])) == {3}
    assert np.ptp(np.bincount([s.annotator for s in first])) <= 1
    for a in range(8):
        mine = [s for s in shown if s.annotator == a]
        again = [s.item for s in mine if s.kind == "repeat"]
        assert [s.kind for s in mine[-2:]] == ["repeat", "repeat"]
        assert again == [s.item for s in mine[:2]]


def test_without_a_plan_everybody_sees_everything_once():
    shown = plan_showings(7, 3, np.random.default_rng(0))
    assert sorted((s.item, s.annotator) for s in shown) == [
        (i, a) for i in range(7) for a in range(3)
    ]
    assert Showing(0, 0).kind == "target"


def test_a_crowd_has_as_many_careless_people_as_asked_for():
    crowd = draw_people(24, np.random.default_rng(0), careless=3 / 24)
    assert sum(person.carelessness >= 0.5 for person in crowd) == 3
    assert not any(
        p.carelessness >= 0.5 for p in draw_people(24, np.random.default_rng(0), careless=0)
    )


# ── refusals ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"noise": -1}, "noise = -1"),
        ({"noise": float("nan")}, "noise = nan"),
        ({"sharpness": -0.5}, "sharpness = -0.5"),
        ({"sharpness": float("inf")}, "sharpness = inf"),
        ({"carelessness": 1.5}, "carelessness = 1.5"),
        ({"wobble": 2}, "wobble = 2"),
    ],
)
def test_settings_out_of_range_are_refused_by_name_and_value(settings, named):
    with pytest.raises(SoftlabelError, match=named):
        Person(**settings)


def test_requests_that_cannot_be_met_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(SoftlabelError, match="per_item = 5"):
        plan_showings(3, 4, rng, per_item=5)
    with pytest.raises(SoftlabelError, match="per_item = 0"):
        plan_showings(3, 4, rng, per_item=0)
    with pytest.raises(SoftlabelError, match="repeats = -1"):
        plan_showings(3, 4, rng, repeats=-1)
    with pytest.raises(SoftlabelError, match="n=0"):
        draw_people(0, rng)
    with pytest.raises(SoftlabelError, match="careless=2"):
        draw_people(3, rng, careless=2)
    with pytest.raises(DataError, match="do not sum to 1"):
        draw_opinions(np.array([[0.5, 0.4]]), [Person()], rng)
    with pytest.raises(SoftlabelError, match="3 labels"):
        simulate_answers(TRUTH, [Person()], Hard(), LABELS[:3], rng)


def test_beliefs_are_distributions_even_for_extreme_people():
    wild = [Person(noise=20, sharpness=10), Person(sharpness=0)]
    each = Clamp()(said(wild, Classic()))
    assert np.isfinite(entropy(each.soft())).all()
