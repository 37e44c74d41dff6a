"""Sentences as a lesson: words as numbers, learned in whole sentences, the best epoch kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from softlabel import Annotations, Index, SoftLabels
from softlabel.deliver import Aggregate, Hard, Teaching
from softlabel.errors import DataError
from softlabel.train.recipes import tagging
from softlabel.train.recipes.tagging import (
    COLUMNS,
    POS,
    Sentences,
    batches,
    spans,
    table,
    vocabulary,
)

QUICK = replace(tagging.CONFIG, epochs=6, lr=5e-3)
TAGS = ["article", "singular", "plural", "verb"]


def test_words_become_codes_and_letters():
    codes = vocabulary(["b", "a", "b", "a", "rare", "a"])
    assert codes == {"a": 1, "b": 2}
    rows = table(["a", "né", "x" * 30], [7, 7, 8], codes)
    assert rows.shape == (3, COLUMNS)
    assert rows[0].tolist() == [7, 1, ord("a") + 1] + [0] * (COLUMNS - 3)
    assert rows[1, :6].tolist() == [7, 0, ord("n") + 1, 0xC3 + 1, 0xA9 + 1, 0]  # UTF-8
    assert rows[2, 2:].tolist() == [ord("x") + 1] * (COLUMNS - 2)


def test_sentences_stay_whole():
    places = spans(np.array([3, 3, 1, 2, 2, 2]))
    assert places == [slice(0, 2), slice(2, 3), slice(3, 6)]
    assert [len(part) for part in batches(places, 2)] == [2, 1]


def speech(count: int, rng: np.random.Generator) -> tuple[list[str], np.ndarray, np.ndarray]:
    """``the zif runs`` or ``the zifs run``: nouns and verbs are made up, most are seen once, and
    whether a word in s is a noun or a verb depends on where it stands."""
    words, sentence, tags = [], [], []
    for number in range(count):
        noun, verb = ("".join(rng.choice(list("bdfgkmnprtz"), 4)) for _ in range(2))
        many = bool(rng.integers(2))
        words += ["the", noun + "s" * many, verb + "s" * (not many)]
        tags += [0, 2 if many else 1, 3]
        sentence += [number] * 3
    return words, np.array(sentence), np.array(tags)


@pytest.fixture(scope="module")
def lesson() -> Sentences:
    rng = np.random.default_rng(0)
    learn, choose, held = (speech(n, rng) for n in (80, 15, 25))
    codes = vocabulary(learn[0])
    tables = [table(words, sentence, codes) for words, sentence, _ in (learn, choose, held)]
    gold = learn[2]
    index = Index([f"w{i}" for i in range(len(gold))], [f"p{a}" for a in range(6)], TAGS)
    item = np.repeat(np.arange(len(gold)), 6)
    right = rng.random(len(item)) < np.tile([0.95, 0.9, 0.9, 0.9, 0.9, 0.3], len(gold))
    vote = np.where(right, gold[item], rng.integers(0, 4, len(item)))
    each = Annotations(index, item, np.tile(np.arange(6), len(gold)), label=vote)
    tested = Index([f"t{i}" for i in range(len(held[2]))], [], TAGS)
    people = SoftLabels(tested, np.eye(4)[held[2]], np.ones(len(held[2]), dtype=np.int64))
    return Sentences(
        tables[0],
        Teaching(gold, each.counts() / 6, each),
        tables[2],
        tested,
        people,
        {"images": "speech"},
        choosing=tables[1],
        choosing_gold=choose[2],
    )


@pytest.mark.parametrize("way", [Hard(), Aggregate(), None], ids=["hard", "soft", "crowd layer"])
def test_neighbours_and_endings_are_learned(lesson, tmp_path, way):
    config = QUICK if way else replace(QUICK, objective="mw", crowd_transposed=True)
    run = POS.completed(config, lesson, way, seed=0, out=tmp_path)
    assert run.scores["accuracy"].value > 0.9  # of words never seen
    assert [line["epoch"] for line in run.log] == list(range(QUICK.epochs))


def test_the_best_epoch_is_kept_and_a_finished_run_is_not_repeated(lesson, tmp_path):
    choosing = replace(
        lesson, held=lesson.choosing, index=Index([f"c{i}" for i in range(45)], [], TAGS)
    )
    hot = np.eye(4)[lesson.choosing_gold]
    choosing = replace(choosing, people=SoftLabels(choosing.index, hot, np.full(45, 1)))
    unsteady = replace(QUICK, lr=0.2, epochs=4)  # so large a rate that epochs differ
    run = POS.completed(unsteady, choosing, Hard(), seed=1, out=tmp_path)
    shares = [line["choosing"] for line in run.log]
    assert len(set(shares)) > 1
    assert run.scores["accuracy"].value == pytest.approx(max(shares))
    before = {path.name: path.stat().st_mtime_ns for path in run.path.iterdir()}
    again = POS.completed(unsteady, choosing, Hard(), seed=1, out=tmp_path)
    assert {path.name: path.stat().st_mtime_ns for path in again.path.iterdir()} == before
    other = replace(choosing, choosing=lesson.choosing[:3], choosing_gold=lesson.choosing_gold[:3])
    assert POS.begun(unsteady, other, Hard(), seed=1, out=tmp_path).name != run.name


def test_the_same_seed_gives_the_same_bits(lesson, tmp_path):
    config = replace(QUICK, epochs=1)
    one, two = (
        POS.completed(config, lesson, Aggregate(), seed=4, out=tmp_path / where).predictions
        for where in "ab"
    )
    assert np.array_equal(one.probs, two.probs)


def test_what_is_no_table_of_words_is_refused(lesson):
    with pytest.raises(DataError, match=r"words to choose by: int64 \(3, 22\) for 45 tags"):
        replace(lesson, choosing=lesson.choosing[:3])
    with pytest.raises(DataError, match="words held out: float32"):
        replace(lesson, held=lesson.held.astype(np.float32))
