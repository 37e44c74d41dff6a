"""The classic form: what is read, mended, refused, kept."""

from __future__ import annotations

import math

import numpy as np
import pytest

from softlabel import registry
from softlabel.elicit import Classic, c22
from softlabel.errors import ResponseError, SoftlabelError

LABELS = ["cat", "deer", "dog", "horse"]


def answer(**fields):
    return {"top": "deer", "p1": 60, "second": None, "p2": None, "impossible": []} | fields


def test_reads_classes_chances_and_what_is_ruled_out():
    read = Classic().read(answer(second="horse", p2="40", impossible=["cat"]), LABELS)
    assert read.named == (1, 3)
    assert read.percent == (60, 40)
    assert read.possible.tolist() == [False, True, True, True]
    assert read.repairs == ()


MENDED = [  # field, as typed, read as, by which repair
    ("p1", "0", 100, ("zero-is-100",)),
    ("p1", 0.0, 100, ("zero-is-100",)),
    ("p1", " 80", 80, ()),
    ("p1", "8p", 80, ("p-is-0",)),
    ("p1", "33.5", 33.5, ()),
    ("p1", "2550", 2550, ()),
    ("p1", "33,5", 33.5, ()),
]


@pytest.mark.parametrize(("field", "typed", "value", "repairs"), MENDED)
def test_repairs_are_named(field, typed, value, repairs):
    read = Classic().read(answer(**{field: typed}), LABELS)
    assert read.percent == (value,)
    assert read.repairs == repairs


def test_repairs_can_be_switched_off():
    assert Classic(repairs="none").read(answer(p1="0"), LABELS).percent == (0,)
    with pytest.raises(ResponseError, match="'8p'"):
        Classic(repairs="zero-is-100").read(answer(p1="8p"), LABELS)
    with pytest.raises(SoftlabelError, match="no repair called 'magic'"):
        Classic(repairs="magic").read(answer(), LABELS)


def test_a_second_chance_of_zero_is_not_a_slip():
    read = Classic().read(answer(p1="100", second="horse", p2="0"), LABELS)
    assert read.percent == (100, 0)
    assert read.repairs == ()


REFUSED = [
    ("top", None, "must be answered"),
    ("top", "cta", "did you mean 'cat'"),
    ("top", ["cat"], "no such class"),
    ("p1", "", "must be answered"),
    ("p1", "abc", "must be a number"),
    ("p1", "nan", "must be a number"),
    ("p1", "inf", "must be a number"),
    ("p1", "-inf", "cannot be negative"),
    ("p1", "1e308", "must be a number"),
    ("p1", True, "must be a number"),
    ("p1", "1_0", "must be a number"),
    ("p1", "1,000", "must be a number"),
    ("p1", [50], "must be a number"),
    ("p1", -5, "cannot be negative"),
    ("second", "hrose", "did you mean 'horse'"),
    ("impossible", "cat", "must be a list"),
    ("impossible", ["cat", "unicorn"], "no such class"),
    ("colour", "red", "no such field"),
    ("violations", "p2 above p1", "must be a list of texts"),
    ("violations", [1], "must be a list of texts"),
]


@pytest.mark.parametrize(("field", "value", "reason"), REFUSED)
def test_malformed_answers_are_refused_with_field_and_reason(field, value, reason):
    with pytest.raises(ResponseError, match=reason) as error:
        Classic().read(answer(**{field: value}), LABELS)
    assert error.value.field == field


def test_a_bad_second_chance_is_refused_only_where_it_counts():
    with pytest.raises(ResponseError) as error:
        Classic().read(answer(second="horse", p2="p\\\\\\"), LABELS)
    assert error.value.field == "p2"
    assert Classic().read(answer(p2="p\\\\\\"), LABELS).percent == (60,)


def test_implausible_answers_are_kept():
    read = Classic().read(answer(p1=90, second="deer", p2=95, impossible=LABELS), LABELS)
    assert read.named == (1, 1)
    assert read.percent == (90, 95)
    assert not read.possible.any()


def test_what_the_page_noted_is_kept_and_not_interpreted():
    plain = Classic().read(answer(), LABELS)
    noted = Classic().read(answer(violations=["p2 above p1", "anything"]), LABELS)
    assert (noted.named, noted.percent) == (plain.named, plain.percent)


CONTRADICTIONS = [
    ({"p1": 101}, "p1", "from 0 to 100"),
    ({"p1": 0}, "p1", "has some chance"),
    ({"p1": "8p"}, "p1", "must be a number"),
    ({"second": "horse", "p2": "100.5"}, "p2", "from 0 to 100"),
    ({"p2": 20}, "p2", "there is no alternative"),
    ({"second": "deer", "p2": 20}, "second", "the most probable class already"),
    ({"impossible": ["cat", "deer"]}, "impossible", "named cannot be ruled out"),
    ({"second": "horse", "impossible": ["horse"]}, "impossible", "named cannot be ruled out"),
]


@pytest.mark.parametrize(("fields", "field", "reason"), CONTRADICTIONS)
def test_strict_refuses_contradictions_and_mends_nothing(fields, field, reason):
    Classic().read(answer(**fields), LABELS)  # the form of the paper takes all of these
    with pytest.raises(ResponseError, match=reason) as error:
        Classic(strict=True).read(answer(**fields), LABELS)
    assert error.value.field == field


@pytest.mark.parametrize(
    "fields",
    [
        {"p1": 100, "second": "horse", "p2": 100},
        {"p1": 10, "second": "horse", "p2": 90},
        {"second": "horse", "p2": None},
        {"second": "horse", "p2": 0},
        {"impossible": ["cat", "dog", "horse"]},
        {"p1": "60", "p2": ""},
    ],
)
def test_strict_reads_what_is_no_contradiction_as_ever(fields):
    one, other = (mode.read(answer(**fields), LABELS) for mode in (Classic(), Classic(strict=True)))
    assert (one.named, str(one.percent)) == (other.named, str(other.percent))
    assert (one.possible == other.possible).all()
    assert Classic(strict=True).rules() == {"strict": True}


def test_an_alternative_may_come_without_a_number():
    read = Classic().read(answer(second="horse", p2=""), LABELS)
    assert math.isnan(read.percent[1])


def test_the_published_shapes_give_the_same_answer():
    form = {
        "classSelect": "mostProbDeer",
        "prob": "95",
        "classSelect2": "secondProbHorse",
        "prob2": "5",
        "improbClassSelectCat": "1",
    }
    record = {
        "Most Probable Class": "Deer",
        "Most Probable Class Prob": 95.0,
        "Second Most Probable Class": "Horse",
        "Second Most Probable Class Prob": 5.0,
        "Impossible Class(es)": ["Cat"],
    }
    labels = [label.title() for label in LABELS]
    first = Classic().read(c22.from_form(form), labels)
    second = Classic().read(c22.from_record(record), labels)
    assert first.named == second.named == (1, 3)
    assert first.percent == second.percent == (95, 5)
    assert first.possible.tolist() == second.possible.tolist()


@pytest.mark.parametrize("written", ["secondProbNo", "secondProbNo Alternative"])
def test_both_spellings_of_no_alternative(written):
    form = {"classSelect": "mostProbcat", "prob": "1", "classSelect2": written, "prob2": "p\\\\\\"}
    assert c22.from_form(form)["second"] is None
    assert len(Classic().read(c22.from_form(form), LABELS).named) == 1


def test_a_form_with_another_prefix_is_refused():
    with pytest.raises(ResponseError, match="must start with 'mostProb'"):
        c22.from_form({"classSelect": "Deer", "classSelect2": "secondProbNo"})


def test_a_simulated_person_says_what_they_believe():
    sent = Classic().simulate(np.array([0.01, 0.7, 0.04, 0.25]), LABELS, np.random.default_rng(0))
    assert (sent["top"], sent["p1"], sent["second"], sent["p2"]) == ("deer", 70, "horse", 25)
    assert sent["impossible"] == ["cat"]


@pytest.mark.parametrize("k", [1, 2, 60, 300])
def test_a_simulated_person_never_rules_out_what_they_name(k):
    labels, rng = [f"c{i}" for i in range(k)], np.random.default_rng(0)
    for _ in range(50):
        sent = Classic().simulate(rng.dirichlet(np.ones(k)), labels, rng)
        assert not {sent["top"], sent["second"]} & set(sent["impossible"])
    flat = Classic().simulate(np.full(k, 1 / k), labels, rng)
    assert flat["top"] not in flat["impossible"]


def test_the_wording_changes_what_is_asked_and_not_how_answers_are_read():
    ours, papers = Classic(), Classic(wording="c22")
    said = answer(second="horse", p2="40", impossible=["cat"])
    read, again = (mode.read(said, LABELS) for mode in (ours, papers))
    assert (read.named, read.percent) == (again.named, again.percent)
    assert read.possible.tolist() == again.possible.tolist()
    assert ours.rules() == {"strict": False}
    words = papers.rules()["wording"]
    assert {*(field.name for field in Classic.fields), "no_alternative"} < words.keys()
    assert all(text.count("**") % 2 == 0 for text in words.values())
    assert registry.settings(papers) == {"wording": "c22"}  # what is recorded with every answer
    with pytest.raises(SoftlabelError, match="no wording of Classic called 'c21'"):
        Classic(wording="c21")
