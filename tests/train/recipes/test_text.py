"""Texts: cut into words, read by a network of ours, split by name, and watched while learning."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from hashlib import blake2b

import numpy as np
import pytest
import torch

from softlabel.deliver import Aggregate
from softlabel.errors import DataError
from softlabel.papers.singh2025 import data as singh2025_data
from softlabel.tables import Index, SoftLabels, names
from softlabel.train import nets, predicting
from softlabel.train.nets.words import BUCKETS, PIECES
from softlabel.train.recipes import RECIPES, text, text_words, weights
from softlabel.train.recipes.base import completed

WORDS = 6


def texts(items: int = 90) -> text.Texts:
    return singh2025_data.simulated("nli", items)


def net_of(sides: int, classes: int = 3, words: int = WORDS) -> nets.Net:
    return nets.make(f"words:texts={sides}", classes, 1, sides * words * PIECES).eval()


def hashed(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little")


def bucket(piece: str) -> int:
    return 1 + hashed(piece) % (BUCKETS - 1)


# ── words ────────────────────────────────────────────────────────────────────────────────────


def test_a_word_is_itself_and_its_trigrams_wherever_it_stands():
    rows = text_words.rows([["A cat sat.", "cat"]], WORDS).reshape(2, WORDS, PIECES)
    wanted = [bucket(piece) for piece in ("=cat", "<ca", "cat", "at>")]
    assert rows[0, 1, :4].tolist() == rows[1, 0, :4].tolist() == wanted
    assert (rows[0, 1, 4:] == 0).all()
    assert (rows[0, :, 0] > 0).tolist() == [True] * 4 + [False] * 2  # a, cat, sat and the stop
    assert (rows[1, 1:] == 0).all()
    assert rows.max() < BUCKETS


def test_what_comes_after_the_last_word_is_not_read():
    many = " ".join("abcdefgh")
    assert text_words.rows([[many]], 3).tolist() == text_words.rows([["a b c"]], 3).tolist()


def test_capitals_signs_and_empty_texts():
    rows = text_words.rows([["WAIT, what?!", "wait ,what? !", "", "   "]], 8)
    assert rows[0].tolist() == rows[1].tolist()
    assert rows[0].any()
    assert (rows[2:] == 0).all()


# ── the network ──────────────────────────────────────────────────────────────────────────────


def by_hand(net, row):
    """One text, word by word, in double precision."""
    table = net.table.weight.detach().double().numpy()
    weight, bias = (
        net.near.weight.detach().double().numpy(),
        net.near.bias.detach().double().numpy(),
    )
    words = []
    for pieces in row.reshape(-1, PIECES).astype(int):
        found = [table[piece] for piece in pieces if piece]
        words.append(np.mean(found, axis=0) if found else np.zeros(table.shape[1]))
    there = [bool(row.reshape(-1, PIECES)[i].any()) for i in range(len(words))]
    padded = [np.zeros_like(words[0]), *words, np.zeros_like(words[0])]
    near = [
        np.maximum(sum(weight[:, :, d, 0] @ padded[i + d] for d in range(3)) + bias, 0)
        for i in range(len(words))
        if there[i]
    ]
    mean = sum(word for word, is_there in zip(words, there, strict=True) if is_there) / sum(there)
    return np.concatenate([mean, np.max(near, axis=0)])


def test_a_text_is_what_it_is_by_hand():
    net = net_of(1)
    rows = text_words.rows([["we said so", "never ever", "a b c d e f g"]], WORDS)
    with torch.no_grad():
        ours = net.text(torch.from_numpy(rows).long().view(3, WORDS, PIECES)).numpy()
    np.testing.assert_allclose(ours, [by_hand(net, row) for row in rows], atol=1e-6)


@pytest.mark.parametrize("sides", [1, 2])
def test_room_for_more_words_changes_nothing(sides):
    said = [["we said so", "never"], ["so it was", ""]][:sides]
    short, long = net_of(sides), net_of(sides, words=3 * WORDS)
    long.load_state_dict(short.state_dict())
    with torch.no_grad():
        a = short(torch.from_numpy(text_words.rows(said, WORDS)))
        b = long(torch.from_numpy(text_words.rows(said, 3 * WORDS)))
    assert torch.isfinite(a).all()
    torch.testing.assert_close(a, b)


def test_the_order_of_two_texts_matters():
    said = [["we said so"], ["never ever"]]
    net = net_of(2)
    with torch.no_grad():
        one = net(torch.from_numpy(text_words.rows(said, WORDS)))
        other = net(torch.from_numpy(text_words.rows(said[::-1], WORDS)))
    assert not torch.allclose(one, other)


def test_the_parameters_are_as_documented():
    assert nets.parameters(net_of(1, classes=10)) == 554_442
    assert nets.parameters(net_of(2, classes=3)) == 602_691


def test_rows_that_are_no_words_are_refused():
    net = net_of(1)
    with pytest.raises(DataError, match="whole numbers from 0 to 8191"):
        net.look(torch.rand(2, WORDS * PIECES))
    with pytest.raises(DataError, match="50 numbers are not 2 texts"):
        nets.make("words:texts=2", 3, 0, 50)


# ── lessons ──────────────────────────────────────────────────────────────────────────────────


def test_one_item_in_five_is_held_out_by_its_name_alone():
    items = names([f"item {i}" for i in range(2000)])
    held = text.held_out(items)
    wanted = [hashed(f"item {i}") % 5 == 0 for i in range(2000)]
    assert held.tolist() == wanted
    assert 0.17 < held.mean() < 0.23
    assert text.held_out(items[::-1])[::-1].tolist() == held.tolist()


def test_a_lesson_keeps_rows_and_labels_together():
    made = texts()
    lesson = text.lesson(made, partial(text_words.rows, words=WORDS), "words")
    held = text.held_out(made.pooled.index.items)
    all_rows = text_words.rows(made.sides, WORDS)
    assert lesson.index.items.tolist() == made.pooled.index.items[held].tolist()
    np.testing.assert_array_equal(lesson.held, all_rows[held])
    np.testing.assert_array_equal(lesson.inputs, all_rows[~held])
    np.testing.assert_array_equal(lesson.people.probs, made.pooled.probs[held])
    np.testing.assert_array_equal(lesson.teaching.pooled, made.pooled.probs[~held])
    np.testing.assert_array_equal(lesson.teaching.hard, made.hard[~held])
    assert lesson.named == {"texts": "simulated nli", "encoder": "words"}


def test_what_does_not_go_together_is_refused():
    index = Index(names(["a"]), names([]), names(["x", "y"]))
    one = SoftLabels(index, [[1, 0]], [3])
    with pytest.raises(DataError, match="not one or two texts for each item"):
        text.Texts("mine", (["a", "b"],), one, np.array([0]))
    with pytest.raises(DataError, match="too few to hold one in 5 out"):
        text.lesson(text.Texts("mine", (["a"],), one, np.array([0])), text_words.rows, "words")


def test_words_are_learned_and_watched(tmp_path):
    """Sentences say what people answered: a network from scratch finds out."""
    lesson = text.lesson(texts(240), partial(text_words.rows, words=10), "words")
    lesson = replace(lesson, watched=True)
    recipe = RECIPES["words"]
    config = replace(recipe.config, net="words:texts=2", epochs=10, lr=3e-3)
    run = completed(recipe, config, lesson, Aggregate(), seed=0, out=tmp_path)
    log = run.log
    assert log[-1]["held kl"] < 0.7 * log[0]["held kl"]
    constant = lesson.teaching.pooled.mean(axis=0)
    majority = (lesson.people.probs.argmax(axis=1) == constant.argmax()).mean()
    assert run.scores["accuracy"].value > majority + 0.2
    # what was watched last is what was scored
    assert log[-1]["held kl"] == pytest.approx(run.scores["kl"].value, rel=1e-5)
    assert log[-1]["held accuracy"] == pytest.approx(run.scores["accuracy"].value)
    entropy = log[-1]["held cross-entropy"] - log[-1]["held kl"]
    p = lesson.people.probs
    assert entropy == pytest.approx(-(p * np.log(np.where(p > 0, p, 1))).sum(axis=1).mean())
    # watching changes nothing
    plain = completed(
        recipe, config, replace(lesson, watched=False), Aggregate(), seed=0, out=tmp_path / "plain"
    )
    assert plain.name == run.name
    np.testing.assert_array_equal(plain.predictions.probs, run.predictions.probs)
    assert not [key for key in plain.log[-1] if key.startswith("held ")]
    again = predicting.logits(weights.network(run), lesson.held)
    np.testing.assert_allclose(again, run.arrays("logits")["logits"], atol=1e-5)
