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
from softlabel.train import RECIPES, networks
from softlabel.train.networks.text import BUCKETS, PIECES
from softlabel.train.predict import load_network, predict_logits
from softlabel.train.splits import choose_held_out
from softlabel.train.text import Texts, hash_words, split_texts

WORDS = 6


def texts(items: int = 90) -> Texts:
    return singh2025_data.simulated("nli", items)


def net_of(sides: int, classes: int = 3, words: int = WORDS) -> networks.Net:
    return networks.make_network(f"words:texts={sides}", classes, 1, sides * words * PIECES).eval()


def hashed(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little")


def bucket(piece: str) -> int:
    return 1 + hashed(piece) % (BUCKETS - 1)


# ── words ────────────────────────────────────────────────────────────────────────────────────


def test_a_word_is_itself_and_its_trigrams_wherever_it_stands():
    rows = hash_words([["A cat sat.", "cat"]], WORDS).reshape(2, WORDS, PIECES)
    wanted = [bucket(piece) for piece in ("=cat", "<ca", "cat", "at>")]
    assert rows[0, 1, :4].tolist() == rows[1, 0, :4].tolist() == wanted
    assert (rows[0, 1, 4:] == 0).all()
    assert (rows[0, :, 0] > 0).tolist() == [True] * 4 + [False] * 2  # a, cat, sat and the stop
    assert (rows[1, 1:] == 0).all()
    assert rows.max() < BUCKETS


def test_what_comes_after_the_last_word_is_not_read():
    many = " ".join("abcdefgh")
    assert hash_words([[many]], 3).tolist() == hash_words([["a b c"]], 3).tolist()


def test_capitals_signs_and_empty_texts():
    rows = hash_words([["WAIT, what?!", "wait ,what? !", "", "   "]], 8)
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
    rows = hash_words([["we said so", "never ever", "a b c d e f g"]], WORDS)
    with torch.no_grad():
        ours = net.text(torch.from_numpy(rows).long().view(3, WORDS, PIECES)).numpy()
    np.testing.assert_allclose(ours, [by_hand(net, row) for row in rows], atol=1e-6)


@pytest.mark.parametrize("sides", [1, 2])
def test_room_for_more_words_changes_nothing(sides):
    said = [["we said so", "never"], ["so it was", ""]][:sides]
    short, long = net_of(sides), net_of(sides, words=3 * WORDS)
    long.load_state_dict(short.state_dict())
    with torch.no_grad():
        a = short(torch.from_numpy(hash_words(said, WORDS)))
        b = long(torch.from_numpy(hash_words(said, 3 * WORDS)))
    assert torch.isfinite(a).all()
    torch.testing.assert_close(a, b)


def test_the_order_of_two_texts_matters():
    said = [["we said so"], ["never ever"]]
    net = net_of(2)
    with torch.no_grad():
        one = net(torch.from_numpy(hash_words(said, WORDS)))
        other = net(torch.from_numpy(hash_words(said[::-1], WORDS)))
    assert not torch.allclose(one, other)


def test_the_parameters_are_as_documented():
    assert networks.count_parameters(net_of(1, classes=10)) == 554_442
    assert networks.count_parameters(net_of(2, classes=3)) == 602_691


def test_rows_that_are_no_words_are_refused():
    net = net_of(1)
    with pytest.raises(DataError, match="whole numbers from 0 to 8191"):
        net.inspect(torch.rand(2, WORDS * PIECES))
    with pytest.raises(DataError, match="50 numbers are not 2 texts"):
        networks.make_network("words:texts=2", 3, 0, 50)


# ── splits ───────────────────────────────────────────────────────────────────────────────────


def test_one_item_in_five_is_held_out_by_its_name_alone():
    items = names([f"item {i}" for i in range(2000)])
    held = choose_held_out(items)
    wanted = [hashed(f"item {i}") % 5 == 0 for i in range(2000)]
    assert held.tolist() == wanted
    assert 0.17 < held.mean() < 0.23
    assert choose_held_out(items[::-1])[::-1].tolist() == held.tolist()


def test_a_lesson_keeps_rows_and_labels_together():
    made = texts()
    split = split_texts(made, partial(hash_words, words=WORDS), "words")
    held = choose_held_out(made.pooled.index.items)
    all_rows = hash_words(made.sides, WORDS)
    assert split.index.items.tolist() == made.pooled.index.items[held].tolist()
    np.testing.assert_array_equal(split.held, all_rows[held])
    np.testing.assert_array_equal(split.inputs, all_rows[~held])
    np.testing.assert_array_equal(split.people.probs, made.pooled.probs[held])
    np.testing.assert_array_equal(split.teaching.pooled, made.pooled.probs[~held])
    np.testing.assert_array_equal(split.teaching.hard, made.hard[~held])
    assert split.named == {"texts": "simulated nli", "encoder": "words"}


@pytest.mark.parametrize("validated", [False, True])
def test_texts_of_one_group_stay_together(validated):
    """Premises are shared: none is learned from and held out, nor chosen by."""
    made = texts(240)
    group = [f"premise {i % 70}" for i in range(240)]
    split = split_texts(replace(made, group=group), by_number, "numbers", validated)
    of = dict(zip(range(240), group, strict=True))
    learned, held = ({of[int(row)] for row in rows[:, 0]} for rows in (split.inputs, split.held))
    aside = set()
    if validated:
        rows = split.validation.inputs[:, 0].astype(int)
        aside = {of[row] for row in rows}
        np.testing.assert_array_equal(split.validation.labels, made.pooled.probs[rows])
    assert not learned & held
    assert not aside & (learned | held)
    assert learned | held | aside == set(group)
    assert held == {one for one in group if hashed(one) % 5 == 0}  # by its own name alone
    chosen = {one for one in group if hashed(f"validation {one}") % 5 == 0}
    assert aside == (chosen - held if validated else set())
    number = split.inputs[:, 0].astype(int)
    np.testing.assert_array_equal(split.teaching.pooled, made.pooled.probs[number])
    np.testing.assert_array_equal(split.teaching.hard, made.hard[number])


def by_number(sides):
    """A reader whose row is the item's number."""
    return np.arange(len(sides[0]), dtype=np.float32)[:, None]


def test_what_is_held_out_does_not_depend_on_validation():
    made = texts(240)
    plain, validated = (split_texts(made, by_number, "numbers", one) for one in (False, True))
    assert plain.validation is None
    np.testing.assert_array_equal(plain.held, validated.held)
    both = np.concatenate([validated.inputs, validated.validation.inputs])
    np.testing.assert_array_equal(np.sort(both, axis=0), plain.inputs)


def test_what_does_not_go_together_is_refused():
    index = Index(names(["a"]), names([]), names(["x", "y"]))
    one = SoftLabels(index, [[1, 0]], [3])
    with pytest.raises(DataError, match="not one or two texts for each item"):
        Texts("mine", (["a", "b"],), one, np.array([0]))
    with pytest.raises(DataError, match="too few to hold one in 5 out"):
        split_texts(Texts("mine", (["a"],), one, np.array([0])), hash_words, "words")


def test_words_are_learned_and_watched(tmp_path):
    """Sentences say what people answered: a network from scratch finds out."""
    split = split_texts(texts(240), partial(hash_words, words=10), "words")
    split = replace(split, watched=True)
    recipe = RECIPES["words"]
    config = replace(recipe.config, net="words:texts=2", epochs=10, lr=3e-3)
    run = recipe.complete_run(config, split, Aggregate(), seed=0, out=tmp_path)
    log = run.log
    assert log[-1]["held kl"] < 0.7 * log[0]["held kl"]
    constant = split.teaching.pooled.mean(axis=0)
    majority = (split.people.probs.argmax(axis=1) == constant.argmax()).mean()
    assert run.scores["accuracy"].value > majority + 0.2
    # what was watched last is what was scored
    assert log[-1]["held kl"] == pytest.approx(run.scores["kl"].value, rel=1e-5)
    assert log[-1]["held accuracy"] == pytest.approx(run.scores["accuracy"].value)
    entropy = log[-1]["held cross-entropy"] - log[-1]["held kl"]
    p = split.people.probs
    assert entropy == pytest.approx(-(p * np.log(np.where(p > 0, p, 1))).sum(axis=1).mean())
    # watching changes nothing
    plain = recipe.complete_run(
        config, replace(split, watched=False), Aggregate(), seed=0, out=tmp_path / "plain"
    )
    assert plain.name == run.name
    np.testing.assert_array_equal(plain.predictions.probs, run.predictions.probs)
    assert not [key for key in plain.log[-1] if key.startswith("held ")]
    again = predict_logits(load_network(run), split.held)
    np.testing.assert_allclose(again, run.arrays("logits")["logits"], atol=1e-5)
