"""Questions beside the items: how a study asks them."""

from __future__ import annotations

import pytest

from softlabel import study
from softlabel.study import Condition, Question, name_questions

TOML = """
[study]
labels = ["cat", "dog"]
language = "{language}"
[items]
source = "items.csv"
{questions}
"""
OWN = """
[[before.question]]
id = "glasses"
text = "Do you wear glasses?"
options = ["yes", "no"]
required = true
[[before.question]]
id = "years"
text = "For how many years?"
kind = "number"
min = 0
max = 80
step = 1
show_if = { question = "glasses", is = ["yes"] }
[[before.question]]
text = "How well do you see?"
kind = "scale"
min = -2
max = 2
[[before.question]]
id = "what"
text = "What do you watch?"
kind = "choices"
options = ["birds", "bats"]
[[before.question]]
text = "Where?"
max = 20
"""


@pytest.fixture
def make(tmp_path):
    def write(questions, language="en"):
        (tmp_path / "items.csv").write_text("id,text\na,A\nb,B\n")
        toml = TOML.format(questions=questions, language=language)
        (tmp_path / "study.toml").write_text(toml)
        return tmp_path

    return write


def test_five_kinds_are_read(make):
    assert study.read(make(OWN)).before == (
        Question("Do you wear glasses?", ("yes", "no"), id="glasses", required=True),
        Question(
            *("For how many years?", (), None, "number", "years", False, 0, 80, 1),
            show_if=Condition("glasses", ("yes",)),
        ),
        Question("How well do you see?", ("-2", "-1", "0", "1", "2"), kind="scale"),
        Question("What do you watch?", ("birds", "bats"), kind="choices", id="what"),
        Question("Where?", kind="text", high=20),
    )
    assert name_questions(study.read(make(OWN)).before) == ("glasses", "years", "Q2", "what", "Q4")
    assert study.read(make("")).before == ()


@pytest.mark.parametrize("language", ["en", "ar"])
def test_demographics_follow_ones_own_questions_and_none_is_required(make, language):
    own = '[before]\ndemographics = true\n[[before.question]]\nid = "mood"\ntext = "How are you?"\n'
    asked = study.read(make(own, language)).before
    names = ("mood", "age", "gender", "gender_own", "country", "first_language", "education")
    assert name_questions(asked) == names
    assert not any(question.required for question in asked)
    gender, described = asked[2], asked[3]
    assert described.show_if == Condition("gender", (gender.options[3],))
    assert {question.kind for question in asked} == {"choice", "text"}


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        (
            '[[before.question]]\nid = "Age"\ntext = "a"',
            "before.question[0].id = 'Age': must begin with a lower-case letter and contain only "
            "these, digits and underscores, 40 at most",
        ),
        (
            '[[before.question]]\nid = "a"\ntext = "a"\n[[before.question]]\nid = "a"\ntext = "b"',
            "before.question[1].id = 'a': is the id of another question; give each its own",
        ),
        (
            '[before]\ndemographics = true\n[[before.question]]\nid = "age"\ntext = "a"',
            "before.question[0].id = 'age': is the id of the demographics; give each its own",
        ),
        (
            '[[debrief.question]]\ntext = "a"\nkind = "number"\nmin = 5\nmax = 5',
            "debrief.question[0].max = 5.0: must be more than min = 5",
        ),
        (
            '[[debrief.question]]\ntext = "a"\noptions = ["b", "c"]\nmin = 1',
            "debrief.question[0].min = 1.0: has no meaning with kind = 'choice'; it belongs to "
            "number or scale",
        ),
        (
            '[[debrief.question]]\ntext = "a"\nkind = "number"\noptions = ["b", "c"]',
            "debrief.question[0].options = ['b', 'c']: has no meaning with kind = 'number'; it "
            "belongs to choice or choices or scale",
        ),
        (
            '[[debrief.question]]\ntext = "a"\nkind = "scale"\nmin = 0\nmax = 1000',
            "debrief.question[0].max = 1000.0: from 0 to 1000 by 1 there must be 2 to 100 steps",
        ),
        (
            '[[debrief.question]]\ntext = "a"\nkind = "text"\nmax = 9000',
            "debrief.question[0].max = 9000.0: must be a whole number of characters up to 5000",
        ),
        (
            '[[before.question]]\nid = "one"\ntext = "a"\noptions = ["b", "c"]\n'
            '[[before.question]]\ntext = "d"\nshow_if = { question = "ones", is = ["b"] }',
            "before.question[1].show_if.question = 'ones': is no earlier question of this page "
            "with an id and options (did you mean 'one'?)",
        ),
        (
            '[[before.question]]\nid = "one"\ntext = "a"\noptions = ["blue", "red"]\n'
            '[[before.question]]\ntext = "d"\nshow_if = { question = "one", is = ["blu"] }',
            "before.question[1].show_if.is = 'blu': is no option of one (did you mean 'blue'?)",
        ),
        (
            '[[before.question]]\ntext = "d"\nshow_if = { question = "one", iz = ["b"] }',
            "before.question[0].show_if.iz: no such key; there are: question, is",
        ),
        (
            '[[before.question]]\ntext = "a"\nkind = "several"',
            "before.question[0].kind = 'several': must be choice or choices or scale or number or "
            "text",
        ),
    ],
)
def test_mistakes_are_named(make, toml, message):
    assert f"study.toml, {message}" in [str(one) for one in study.find_problems(make(toml))]


def test_a_page_has_no_more_fields_than_a_form_may_have(make):
    options = ", ".join(f'"{n}"' for n in range(80))
    one = f'[[before.question]]\ntext = "a"\nkind = "choices"\noptions = [{options}]\n'
    (problem,) = study.find_problems(make(one * 2))
    assert "there may be 150 questions and boxes to tick on one page, not 162" in str(problem)


REASON = "items.skip_reasons"


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("skip_reasons = 7", f"{REASON} = 7: must be a table from name to words, or false"),
        (
            'skip_reasons = { Dark = "a" }',
            f"{REASON}.Dark = 'a': the name must begin with a lower-case letter and contain only "
            "these, digits and underscores, 40 at most",
        ),
        (
            "skip_reasons = { dark = false }",
            f"{REASON}.dark = false: must be the words that people read; only media_broken, "
            "not_in_list, cannot_judge can be left out",
        ),
        (
            "skip_reasons = { media_broken = true }",
            f"{REASON}.media_broken = true: must be the words that people read",
        ),
        (
            'skip_reasons = { dark = "" }',
            f"{REASON}.dark = '': is empty; leave the key out instead",
        ),
        (
            "skip_reasons = { media_broken = false, not_in_list = false, cannot_judge = false }",
            f"{REASON}: leaves no reason; write skip_reasons = false if nobody may skip",
        ),
        (
            f"skip_reasons = {{ {', '.join(f'r{n} = {chr(34)}a{chr(34)}' for n in range(7))} }}",
            f"{REASON}: there are 10 reasons, and at most 9 have a key",
        ),
    ],
)
def test_wrong_reasons_for_skipping_are_named(make, toml, message):
    assert f"study.toml, {message}" in [str(one) for one in study.find_problems(make(toml))]


def test_reasons_for_skipping(make):
    usual = dict.fromkeys(study.SKIPS, "")
    assert study.read(make("")).skip_reasons == usual
    assert study.read(make("skip_reasons = true")).skip_reasons == usual
    own = study.read(make('skip_reasons = { dark = "Dark", not_in_list = false }')).skip_reasons
    assert own == {"media_broken": "", "cannot_judge": "", "dark": "Dark"}
    never = study.read(make("skip_limit = 0.5\nskip_reasons = false"))
    assert never.skip_reasons == {}
    assert "items.skip_limit = 0.5: has no meaning" in str(never.notes[0])
    codes = 'completion_code = "A"\nscreenout_code = "B"\nskip_code = "A"'
    (wrong,) = study.find_problems(make(f'[recruit]\nkind = "prolific"\n{codes}'))
    assert "recruit.skip_code = 'A': must differ from completion_code" in str(wrong)
