"""Scores against a computation by hand, and what is left out of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softlabel.serve.pay import Score, score_people, score_study

ITEMS = st.lists(
    st.dictionaries(
        st.sampled_from("abcde"),
        st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any),
        min_size=1,
    ),
    min_size=1,
    max_size=6,
)


def by_definition(items):
    """Everybody's score in exact fractions, straight from the definition."""
    exact = [
        {who: [Fraction(n, sum(counts)) for n in counts] for who, counts in item.items()}
        for item in items
    ]

    def mean(rows):
        return [sum(column) / len(rows) for column in zip(*rows, strict=True)]

    def score(p, q):
        return 1 - sum((a - b) ** 2 for a, b in zip(p, q, strict=True)) / 2

    scores = {}
    for me in {who for item in exact for who in item}:
        others = [[p for who, p in item.items() if who != me] for item in exact]
        base = mean([mean(rows) for rows in others if rows]) if any(others) else None
        mine = [
            (item[me], mean(rows))
            for item, rows in zip(exact, others, strict=True)
            if me in item and len(rows) >= 2
        ]
        if mine:
            scores[me] = (
                len(mine),
                sum(score(p, q) for p, q in mine) / len(mine),
                sum(score(base, q) for _, q in mine) / len(mine),
            )
    return scores


def to_arrays(items):
    for item in items:
        labels = np.array([counts for counts in item.values()], dtype=np.float64)
        yield list(item), labels / labels.sum(axis=1, keepdims=True)


@given(ITEMS)
def test_scores_are_those_of_the_definition(items):
    scores, wanted = score_people(to_arrays(items), 3), by_definition(items)
    assert set(scores) == set(wanted)
    for who, (count, score, blind) in wanted.items():
        assert scores[who].items == count
        assert scores[who].score == pytest.approx(float(score), abs=1e-12)
        assert scores[who].blind == pytest.approx(float(blind), abs=1e-12)


@given(st.integers(0, 10**9), st.integers(3, 6))
def test_whoever_states_the_mean_of_the_others_has_the_best_score(seed, people):
    rng = np.random.default_rng(seed)
    others = rng.dirichlet([1.0] * 4, people)
    other = rng.dirichlet([1.0] * 4)
    names = ["me", *map(str, range(people))]
    best, less = (
        score_people([(names, np.vstack([mine, others]))], 4)["me"].score
        for mine in (others.mean(axis=0), other)
    )
    assert best == pytest.approx(1)
    assert less < best


@pytest.mark.parametrize(
    ("score", "blind", "share"),
    [(0.9, 0.8, 0.5), (0.8, 0.8, 0), (0.1, 0.8, 0), (1, 0.8, 1), (1, 1, 1), (0.9, 1, 0)],
)
def test_the_share_is_linear_between_the_blind_score_and_one(score, blind, share):
    assert float(Score(5, score, blind).share) == pytest.approx(share)


@pytest.fixture(params=["sqlite", "postgres"])
def study(request, payroll):
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else None
    return payroll(db=url)


FOUR = {
    "ann": {"item-0": (20, 0, 0), "item-1": (10, 10, 0), "item-2": (0, 0, 20)},
    "bob": {"item-0": (15, 5, 0), "item-1": (0, 20, 0), "item-2": (0, 5, 15)},
    "cleo": {"item-0": (10, 10, 0), "item-1": (0, 15, 5)},
    "dan": {"item-0": (5, 5, 10), "item-1": None, "item-3": (20, 0, 0)},
}


def test_only_answers_to_items_count(study):
    """Practice, checks, repeats, skips and superseded answers neither score nor are compared with;
    the same numbers come from the answers alone."""
    sessions = {who: study.work(who, chips, stage=None) for who, chips in FOUR.items()}
    wrong = sessions["cleo"]
    shown = {s.item: s for s in study.store.showings(wrong.id) if s.kind == "target"}
    first = shown["item-0"]
    more = {"id": "revised", "supersedes": first.response}
    study.answer(wrong, first.position, (0, 0, 20), **more)
    kinds = {row.kind for row in study.store.timings("animals")}
    assert kinds == {"target", "repeat", "training", "gold"}
    counted = {who: {i: c for i, c in said.items() if c} for who, said in FOUR.items()}
    counted["cleo"]["item-0"] = (0, 0, 20)
    check(study, sessions, counted)


def test_people_who_are_left_out_do_not_count(study):
    sessions = {who: study.work(who, chips) for who, chips in FOUR.items()}
    who = sessions["bob"].annotator
    exclude = f"UPDATE session SET excluded_at = 1.0 WHERE annotator = '{who}'"
    study.store._writer.submit(lambda connection: connection.exec_driver_sql(exclude)).result()
    counted = {
        name: {item: chips for item, chips in said.items() if chips}
        for name, said in FOUR.items()
        if name != "bob"
    }
    check(study, sessions, counted)


def check(study, sessions, counted):
    items = [
        {who: said[item] for who, said in counted.items() if item in said}
        for item in ("item-0", "item-1", "item-2", "item-3")
    ]
    wanted = by_definition([item for item in items if item])
    scores = score_study(study.study, study.store)
    names = {session.annotator: who for who, session in sessions.items()}
    assert {names[who]: score.items for who, score in scores.items()} == {
        who: count for who, (count, _, _) in wanted.items()
    }
    for who, (_, score, blind) in wanted.items():
        mine = scores[sessions[who].annotator]
        assert (mine.score, mine.blind) == pytest.approx((float(score), float(blind)))
