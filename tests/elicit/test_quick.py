"""Quick: what each word means in percent, and what cannot be said."""

from __future__ import annotations

import numpy as np
import pytest

from softlabel.elicit import Quick
from softlabel.errors import ResponseError, SoftlabelError

LABELS = ["cat", "deer", "dog", "fish", "horse"]


def answer(**fields):
    return {"top": "cat", "certainty": 3, "alternatives": ["dog"]} | fields


def test_the_top_class_has_the_chance_of_its_step_and_the_alternative_the_rest():
    read = Quick().read(answer(rest="ruled_out"), LABELS)
    assert (read.named, read.percent) == ((0, 2), (80, 20))
    assert read.possible.tolist() == [True, False, True, False, False]


# certainty, alternatives, rest: percents of the classes named
READINGS = [
    (5, [], "ruled_out", [100]),
    (5, [], "possible", [100]),
    (5, [], "unsaid", [100]),
    (4, ["dog"], "ruled_out", [95, 5]),
    (4, ["dog"], "unsaid", [95, 5]),
    (3, ["dog", "deer"], "ruled_out", [80, 40 / 3, 20 / 3]),
    (2, ["dog", "deer", "fish"], "ruled_out", [60, 160 / 7, 80 / 7, 40 / 7]),
    (3, [], "possible", [80]),
    (3, ["dog"], "possible", [80, 40 / 3]),  # and 20/3 for the other three together
    (3, ["dog", "deer"], "possible", [80, 80 / 7, 40 / 7]),  # and 20/7 for the other two
    (1, ["dog", "deer"], "ruled_out", [40, 40, 20]),
    (1, ["dog"], "ruled_out", [50, 50]),  # guessing between two is 50 to 50, not 40 to 60
    (1, ["dog"], "unsaid", [50, 50]),
]


@pytest.mark.parametrize(("certainty", "alternatives", "rest", "percent"), READINGS)
def test_alternatives_share_what_is_left_each_twice_the_next(
    certainty, alternatives, rest, percent
):
    said = answer(certainty=certainty, alternatives=alternatives, rest=rest)
    read = Quick().read(said, LABELS)
    assert read.percent == pytest.approx(percent, abs=1e-9)
    if rest != "possible":
        assert sum(read.percent) == 100, "exactly"
        assert sum(reversed(read.percent)) == 100, "in any order of adding"


def test_everything_is_possible_unless_it_is_ruled_out():
    assert Quick().read(answer(rest="possible"), LABELS).possible.all()
    assert Quick().read(answer(rest="unsaid"), LABELS).possible.all()
    assert Quick().read(answer(), LABELS).possible.all(), "saying nothing is unsaid"
    read = Quick().read(answer(rest="possible", excluded=["fish"]), LABELS)
    assert read.possible.tolist() == [True, True, True, False, True]


def test_a_rest_without_classes_has_no_share():
    said = answer(certainty=3, alternatives=["dog"], excluded=["deer", "fish", "horse"])
    assert Quick().read(said | {"rest": "possible"}, LABELS).percent == (80, 20)


def test_no_class_of_the_rest_is_likelier_than_the_first():
    said = answer(certainty=1, alternatives=[], rest="possible")
    assert Quick().read(said, ["cat", "dog"]).percent == (50,)
    assert Quick().read(said, ["cat", "dog", "deer"]).percent == (40,)


REFUSED = [
    ("top", None, "must be answered"),
    ("top", "cta", "did you mean 'cat'"),
    ("certainty", 0, "from 1 to 5"),
    ("certainty", 6, "from 1 to 5"),
    ("certainty", True, "from 1 to 5"),
    ("certainty", 3.0, "whole number"),
    ("alternatives", "dog", "must be a list"),
    ("alternatives", ["dog", "dog"], "twice"),
    ("alternatives", ["cat"], "no alternative to itself"),
    ("alternatives", ["dog", "deer", "fish", "horse"], "at most 3"),
    ("excluded", ["dog"], "cannot be ruled out too"),
    ("excluded", ["cat"], "cannot be ruled out too"),
    ("excluded", ["fish", "fish"], "twice"),
    ("rest", "perhaps", "must be one of ruled_out, possible, unsaid"),
    ("rest", ["possible"], "must be one of"),
    ("colour", "red", "no such field"),
]


@pytest.mark.parametrize(("field", "value", "reason"), REFUSED)
def test_what_cannot_be_is_refused_with_field_and_reason(field, value, reason):
    with pytest.raises(ResponseError, match=reason) as error:
        Quick().read(answer(**{field: value}), LABELS)
    assert error.value.field == field


CONTRADICTIONS = [
    ({"certainty": 5}, "alternatives", "certain answer has no alternative"),
    ({"alternatives": []}, "certainty", "uncertain answer names an alternative"),
    (
        {"alternatives": [], "rest": "ruled_out"},
        "certainty",
        "uncertain answer names an alternative",
    ),
    (
        {"alternatives": [], "rest": "possible", "excluded": ["deer", "dog", "fish", "horse"]},
        "certainty",
        "no other class is possible",
    ),
]


@pytest.mark.parametrize(("fields", "field", "reason"), CONTRADICTIONS)
def test_contradictions_are_refused(fields, field, reason):
    with pytest.raises(ResponseError, match=reason) as error:
        Quick().read(answer(**fields), LABELS)
    assert error.value.field == field


def test_the_steps_can_be_chosen():
    mode = Quick("55+100")
    assert mode.rules() == {"certainty": [55, 100], "alternatives": 3}
    assert mode.read(answer(certainty=1, rest="ruled_out"), LABELS).percent == (55, 45)
    with pytest.raises(ResponseError, match="from 1 to 2"):
        mode.read(answer(certainty=3), LABELS)


@pytest.mark.parametrize(
    "steps", ["", "100", "40+60", "60+40+100", "40+40+100", "40+x+100", "0+100", "1+2+3+4+5+100"]
)
def test_steps_that_make_no_sense_are_refused(steps):
    for doing in (Quick(steps).rules, lambda: Quick(steps).read(answer(), LABELS)):
        with pytest.raises(SoftlabelError, match=r"Quick: certainty = "):
            doing()


@pytest.mark.parametrize("rest", ["ruled_out", "possible", "unsaid"])
@pytest.mark.parametrize("others", [0, 1, 2, 3])
def test_whatever_the_steps_the_first_class_stays_first(others, rest):
    if not others and rest != "possible":
        return
    said = {"top": "cat", "certainty": 1, "alternatives": LABELS[1 : 1 + others], "rest": rest}
    for step in range(1, 100):
        read = Quick(f"{step}+100").read(said, LABELS)
        assert read.percent[0] >= max(step, *read.percent)
        if rest != "possible":
            assert sum(read.percent) == sum(reversed(read.percent)) == 100
            continue
        each = (100 - sum(read.percent)) / (len(LABELS) - 1 - others)
        assert 0 < each <= read.percent[0] + 1e-9
        if others:
            assert each < read.percent[-1], "the rest comes after every alternative"


def test_a_simulated_person_says_what_they_believe():
    rng = np.random.default_rng(0)
    sent = Quick().simulate(np.array([0.8, 0.0, 0.2, 0.0, 0.0]), LABELS, rng)
    assert sent == answer(certainty=3, excluded=[], rest="ruled_out")
    sent = Quick().simulate(np.array([0.0, 0.99, 0.01, 0.0, 0.0]), LABELS, rng)
    assert (sent["top"], sent["certainty"], sent["alternatives"]) == ("deer", 5, [])
    sent = Quick().simulate(np.array([0.79, 0.07, 0.07, 0.07, 0.0]), LABELS, rng)
    assert (sent["alternatives"], sent["rest"], sent["excluded"]) == ([], "possible", ["horse"])


def test_of_two_classes_a_simulated_person_names_no_alternative():
    """As on the page: after the certainty the other class has the rest."""
    rng = np.random.default_rng(0)
    sent = Quick().simulate(np.array([0.19, 0.81]), ["cat", "dog"], rng)
    assert sent == {
        "top": "dog",
        "certainty": 3,
        "alternatives": [],
        "excluded": [],
        "rest": "possible",
    }
    assert Quick().read(sent, ["cat", "dog"]).percent == (80,)


@pytest.mark.parametrize("value", [True, False, None])
def test_a_repeated_rest_is_read_like_one_that_was_said(value):
    said = answer(rest="ruled_out")
    one, other = Quick().read(said, LABELS), Quick().read(said | {"repeated": value}, LABELS)
    assert (one.named, one.percent) == (other.named, other.percent)
    with pytest.raises(ResponseError, match="must be true or false") as error:
        Quick().read(said | {"repeated": "yes"}, LABELS)
    assert error.value.field == "repeated"
