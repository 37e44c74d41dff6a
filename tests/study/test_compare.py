"""The table ``[compare]``: which ways of asking it allows, and how people are divided."""

from __future__ import annotations

from collections import Counter

import pytest

from softlabel import study

HEAD = """\
[study]
labels = ["cat", "dog", "fox"]
{study}
[items]
source = "images"
{items}
[compare]
"""
BOTH = """\
modes = ["hard", "quick"]
[compare.wordings]
plain = "Which animal is this?"
crowd = "What would most people say?"
"""


def toml(compare, study="", items=""):
    return HEAD.format(study=study, items=items) + compare


def test_every_mode_is_asked_in_every_wording(make):
    found = study.read(make(toml(BOTH)))
    arms = {arm.name: (arm.mode.name, arm.question) for arm in found.compare.arms}
    assert arms == {
        "hard/plain": ("hard", "Which animal is this?"),
        "hard/crowd": ("hard", "What would most people say?"),
        "quick/plain": ("quick", "Which animal is this?"),
        "quick/crowd": ("quick", "What would most people say?"),
    }
    assert found.mode.name == "hard"
    asked = found.in_arm(found.compare.arms[3])
    assert (asked.mode_text, asked.question) == ("quick", "What would most people say?")
    assert "how sure" in asked.instructions[2], "each arm explains its own mode"
    assert "how sure" not in found.instructions[2]


def test_without_the_table_nothing_is_compared(make):
    for text in (toml(""), toml("").replace("[compare]", "")):
        found = study.read(make(text))
        assert found.compare is None
        assert found.arm_of(3) is None
        assert found.in_arm(None) is found
        assert found.modes == (found.mode,)


def test_people_are_divided_by_the_weights_and_at_random(make):
    weights = '\nweights = { "hard/plain" = 2, "quick/crowd" = 1 }\n'
    listed = 'arms = ["hard/plain", "quick/crowd"]' + weights
    found = study.read(make(toml(listed + BOTH)))
    drawn = [found.arm_of(number).name for number in range(300)]
    for start in range(0, 300, 3):
        assert Counter(drawn[start : start + 3]) == {"hard/plain": 2, "quick/crowd": 1}
    blocks = Counter(tuple(drawn[start : start + 3]) for start in range(0, 300, 3))
    assert len(blocks) == 3, "the order within a block is random"
    assert min(blocks.values()) > 15
    again = study.read(make(toml(listed + BOTH, study="seed = 2")))
    assert [again.arm_of(number).name for number in range(300)] != drawn
    assert [again.arm_of(number) for number in range(9)] == [again.arm_of(n) for n in range(9)]


@pytest.mark.parametrize(
    ("compare", "more", "reason"),
    [
        ('modes = ["hard"]', {}, "compare.modes: has one entry; a comparison needs two or more"),
        ('modes = ["hard", "hard"]', {}, "compare.modes[1] = 'hard': is there twice"),
        ('modes = ["hard", "speedy"]', {}, "compare.modes[1] = 'speedy': no mode called"),
        ('modes = ["speedy", "hard"]', {}, "compare.modes[0] = 'speedy': no mode called"),
        ('by = "person"', {}, "compare: needs modes or wordings to compare"),
        ('by = "item"\nmodes = ["hard", "quick"]', {}, "must be person or batch"),
        (BOTH, {"study": 'mode = "chips"'}, "study.mode = 'chips': is not among compare.modes"),
        (BOTH, {"study": 'question = "What?"'}, "compare.wordings holds the questions"),
        ('arms = ["hard/plain", "hard/crwd"]\n' + BOTH, {}, "compare.arms = 'hard/crwd': no such"),
        ('arms = ["hard/plain"]\n' + BOTH, {}, "compare.arms: must hold two arms or more"),
        ("weights = { hard = 2 }\n" + BOTH, {}, "compare.weights = 'hard': no such arm"),
        ('weights = { "hard/plain" = 0 }\n' + BOTH, {}, "must be 1 or more"),
        ('by = "batch"\n' + BOTH, {}, "compare.by = 'batch': needs batches: a column"),
        ('by = "batch"\n' + BOTH, {}, "write pages.instructions that explain all of them"),
        ('modes = ["hard", "quick"]\n[compare.wordings]\n"a/b" = "x"\nc = "y"', {}, "short name"),
        ('mode = ["hard", "quick"]', {}, "compare.mode: no such key"),
    ],
)
def test_mistakes_are_named(make, wrong, compare, more, reason):
    assert any(reason in line for line in wrong(make(toml(compare, **more)))), reason


def test_a_session_takes_as_long_as_in_the_slowest_mode(make):
    compared = study.estimate(study.read(make(toml('modes = ["hard", "classic"]'))))
    slow = make(toml("", study='mode = "classic"'))
    assert compared.seconds == study.estimate(study.read(slow)).seconds
