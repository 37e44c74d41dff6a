"""``[allocate]`` of study.toml: what it means, and all its mistakes at once."""

from __future__ import annotations

import pytest

from softlabel import study as studies
from softlabel.errors import StudyError

STUDY = """
[study]
labels = ["yes", "no"]
mode = "hard"
[items]
source = "items.csv"
per_item = 5
"""
PAY = '[pay]\ncurrency = "GBP"\nminutes = 5\nper_session = 1.0\n'


@pytest.fixture
def read(tmp_path):
    def read(text, columns="id,text", more=""):
        (tmp_path / "items.csv").write_text(f"{columns}\ni0,word{more}\ni1,other{more}\n")
        (tmp_path / "study.toml").write_text(STUDY + text)
        return studies.read(tmp_path)

    return read


def test_a_study_without_the_table_is_not_live(read):
    assert read("").allocate is None


def test_an_empty_table_is_greedy_around_the_mean(read):
    found = read("[allocate]\n").allocate
    assert found.policy.startswith("greedy:")
    assert (found.least, found.most) == (2, 20)
    assert (found.seconds, found.money, found.judges) == (None, None, False)


def test_keys_and_options_make_the_policy(read):
    text = '[allocate]\npolicy = "greedy:blend=0.1"\nstop = 0.01\nmost = 9\nexplore = 0\n'
    found = read(f'{text}budget = "20.5 GBP"\n{PAY}').allocate
    assert "blend=0.1" in found.policy
    assert "stop=0.01" in found.policy
    assert "explore=0" in found.policy
    assert (found.most, found.money) == (9, 20.5)
    assert read("[allocate]\nbudget = 90\n").allocate.seconds == 90
    assert read('[allocate]\npolicy = "entropy:most=7"\n').allocate.most == 7


@pytest.mark.parametrize(
    ("text", "key", "reason"),
    [
        ('policy = "gredy"', "allocate.policy", "greedy"),
        ('policy = "greedy:blend=2"', "allocate.policy", "not in 0..1"),
        ('policy = "uniform:blend=0.5"', "allocate.policy", "blend"),
        ('policy = "greedy:stop=0.1"\nstop = 0.2', "allocate.stop", "give it once"),
        ("most = 3", "allocate.most", "less than items.per_item = 5"),
        ("least = 6", "allocate.least", "more than items.per_item = 5"),
        ("explore = 1.5", "allocate.explore", "must be 1.0 or less"),
        ("stop = -1", "allocate.stop", "must be 0.0 or more"),
        ("budget = 0", "allocate.budget", "must be more than 0"),
        ("budget = true", "allocate.budget", "must be a number"),
        ('budget = "much"', "allocate.budget", "such as"),
        ('budget = "20 EUR"', "allocate.budget", "no [pay]"),
        (f'budget = "20 EUR"\n{PAY}', "allocate.budget", "currency of [pay], GBP"),
        ("judges = true", "allocate.judges", "softlabel judge"),
        ('judges = "m"', "allocate.judges", "no judges/m.jsonl"),
        ("judge = true", "allocate.judge", "judges"),
    ],
)
def test_every_mistake_is_named(read, text, key, reason):
    with pytest.raises(StudyError) as caught:
        read(f"[allocate]\n{text}\n")
    (problem,) = caught.value.problems
    assert problem.key == key
    assert reason in problem.reason


def test_mistakes_are_found_at_once(read):
    with pytest.raises(StudyError) as caught:
        read('[allocate]\npolicy = "x"\nbudget = "y"\njudges = "z"\n', "id,text,batch", ",b")
    keys = {problem.key for problem in caught.value.problems}
    assert keys == {"allocate", "allocate.policy", "allocate.budget", "allocate.judges"}
