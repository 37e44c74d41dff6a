"""What an answer is worth: against people whose answers are worth a known number of votes, and
against what was measured on CIFAR-10S and CIFAR-10H."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from softlabel import datasets, elicit, registry
from softlabel.allocate.modes import Asked, compare, find_worth, make_asked
from softlabel.cli import main
from softlabel.construct import Clamp
from softlabel.errors import DataError
from softlabel.records import SCHEMA
from softlabel.sampling import first_presentation
from softlabel.simulate import people as simulated
from softlabel.tables import Index, names

LABELS = ["ant", "bee", "fly"]


def make_crowd(seed, worth, items=45, each=5, seconds=(2.0, 2.0)):
    """Votes, and answers that hold the shares of ``worth`` votes each."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(3, 0.5), items)
    item = np.repeat(np.arange(items), 2 * each)
    arm = np.tile(np.repeat([0, 1], each), items)
    person = np.tile(np.arange(2 * each), items)
    drawn = np.array(
        [rng.multinomial(worth if a else 1, truth[i]) for i, a in zip(item, arm, strict=True)]
    )
    soft = drawn / drawn.sum(axis=1, keepdims=True)
    index = Index(
        names([str(n) for n in range(items)]),
        names([str(n) for n in range(2 * each)]),
        names(LABELS),
    )
    taken = np.array(seconds)[arm] * np.exp(rng.normal(0, 0.2, len(arm)))
    return Asked(index, soft, item, person, arm, taken, {"hard": True, "rich": False})


@pytest.mark.parametrize("worth", [1, 2])
def test_intervals_hold_a_worth_that_is_known(worth):
    found = [compare(make_crowd(seed, worth), draws=40).arms[1].worth["votes"] for seed in range(5)]
    held = sum(one.low <= worth <= one.high for one in found)
    assert held >= 4, found
    middle = np.median([one.value for one in found])
    assert 0.7 * worth < middle < 1.4 * worth


def test_the_verdict_follows_from_worth_and_time():
    slow = compare(make_crowd(1, 1, items=150, seconds=(2.0, 12.0)), draws=40)
    assert slow.verdicts()[0].endswith("takes 6 times as long: more votes are the better buy.")
    quick = compare(make_crowd(1, 3, items=150, seconds=(6.0, 2.0)), draws=40)
    assert quick.verdicts()[0].endswith("as long: asking by rich is the better buy.")
    same = compare(make_crowd(2, 1, seconds=(2.0, 2.2)), draws=40)
    assert all(sentence.endswith(": undecided.") for sentence in same.verdicts())
    votes, rich = slow.arms
    assert rich.median.low < rich.median.value < rich.median.high
    assert rich.median.value == pytest.approx(12, rel=0.05)
    for kind in ("votes", "rich answers"):
        assert rich.break_even[kind].value == pytest.approx(
            rich.worth[kind].value * votes.median.value
        )
        assert rich.per_second[kind].value == pytest.approx(
            rich.gain[kind].value / rich.median.value
        )


def test_a_worth_is_read_on_the_curve_of_votes():
    curve = np.array([1.0, 1.2, 1.3])
    gains = np.array([0.0, 0.5, 1.0, 1.1, 1.25, 1.4, 9.0])
    np.testing.assert_allclose(find_worth(gains, curve), [0, 0.5, 1, 1.5, 2.5, 4, 6])
    assert np.isnan(find_worth(gains, np.array([0.0, -0.1]))).all(), "votes that tell nothing"


@pytest.mark.parametrize("seed", [4, 5, 6])
def test_two_wordings_of_one_mode_are_worth_the_same(seed):
    """People of the simulate room who do not mind the wording; some of them hardly look."""
    rng = np.random.default_rng(seed)
    index = Index(*(names([str(n) for n in range(size)]) for size in (60, 40)), names(LABELS))
    truth = rng.dirichlet(np.full(3, 0.4), 60)
    persons, quick = simulated.draw_people(40, rng), elicit.Quick()
    showings = simulated.plan_showings(60, 40, rng, per_item=12)
    answers = simulated.simulate_answers(truth, persons, quick, LABELS, rng, showings=showings)
    said = simulated.read_responses(index, quick, answers)
    arm = names([("plain", "crowd")[person % 2] for person in said.annotator.tolist()])
    found = compare(make_asked(said, arm, np.zeros(len(said), dtype=np.bool_)), draws=40)
    assert found.reference == "crowd"
    assert found.unit == "answers by crowd"
    worth = found.arms[1].worth["rich answers"]
    assert worth.low < 1 < worth.high
    assert found.verdicts()[0].endswith("How long answers took is not known.")


def test_what_cannot_be_compared_is_named():
    few = make_crowd(0, 1, items=5)
    with pytest.raises(DataError, match="fewer than 10 items have an answer by hard"):
        compare(few)
    one = Asked(few.index, few.soft, few.item, few.person, 0 * few.arm, few.seconds, {"hard": True})
    with pytest.raises(DataError, match="nothing to compare"):
        compare(one)


def test_the_command_prints_and_writes(tmp_path, capsys):
    asked = make_crowd(3, 1, items=30)
    rows = zip(asked.item, asked.person, asked.arm, asked.soft, asked.seconds, strict=True)
    lines = []
    for item, person, arm, soft, seconds in rows:
        mode = registry.make("mode", "quick" if arm else "hard")
        answer = mode.simulate(soft, LABELS, np.random.default_rng(0))
        shown = {"kind": "target", "mode": mode.name, "mode_version": mode.version}
        record = {"schema": SCHEMA, "item": str(item), "annotator": str(person), "labels": LABELS}
        timing = {"active_ms": 1000 * seconds}
        lines.append(record | {"presentation": shown, "answer": answer, "timing": timing})
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    out = tmp_path / "out"
    assert main(["compare-modes", str(path), "--out", str(out), "--draws", "20"]) == 0
    printed = capsys.readouterr().out
    assert "break-even seconds" in printed
    assert "An answer by quick is worth" in printed
    found = json.loads((out / "compare-modes.json").read_text())
    assert [arm["name"] for arm in found["arms"]] == ["hard", "quick"]
    assert found["verdicts"][0] in printed
    assert found["arms"][1]["answers"] == 150
    assert "<svg" in (out / "compare-modes.svg").read_text()
    assert main(["compare-modes", str(path), "--db", "x"]) == 1
    assert "is no study folder" in capsys.readouterr().err


def test_answers_of_cifar10s_are_worth_what_was_measured(data_folder):
    """Votes of CIFAR-10H for every second relabelled picture: 0.7 to 1.5 votes (1.4 by another
    estimator on all pictures), which at 1.8 s a vote may take 1.3 to 2.5 s."""
    said = datasets.cifar10s.load("all").statements
    each = Clamp()(said.take(first_presentation(said)))
    each = each.take(each.item % 2 == 0)
    votes = datasets.cifar10h.load("counts").annotations
    place = {name: row for row, name in enumerate(votes.index.items.tolist())}
    counts = np.rint(votes.counts()).astype(int)
    rng, k = np.random.default_rng(0), len(each.index.labels)
    kept = np.unique(each.item)
    drawn = [
        rng.permutation(np.repeat(np.arange(k), counts[place[each.index.items[item]]]))[:8]
        for item in kept
    ]
    people = len(each.index.annotators)
    item = np.concatenate([np.repeat(np.arange(len(kept)), 8), np.searchsorted(kept, each.item)])
    soft = np.concatenate([np.eye(k)[np.concatenate(drawn)], each.soft()])
    person = np.concatenate([people + np.arange(8 * len(kept)), each.annotator])
    arm = (np.arange(len(item)) >= 8 * len(kept)).astype(np.int64)
    index = Index(each.index.items[kept], names([]), each.index.labels)
    seconds = np.where(arm == 0, 1.8, 32.0)
    asked = Asked(index, soft, item, person, arm, seconds, {"hard": True, "classic": False})
    found = compare(asked, draws=40)
    worth, mirrored = (found.arms[1].worth[kind] for kind in found.kinds)
    assert 0.7 < worth.value < 1.5
    assert 1.3 < found.arms[1].break_even["votes"].value < 2.7
    assert worth.value < mirrored.value < 2.2, "they tell more about answers of their own kind"
    assert all("more votes are the better buy" in sentence for sentence in found.verdicts())
    assert math.isclose(found.arms[0].gain["votes"].value, found.curve["votes"][0])
