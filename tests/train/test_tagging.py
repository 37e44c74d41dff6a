"""Tagging: words as numbers, learned in whole sentences, the best epoch kept; and the tagger."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from softlabel import Annotations, Index, SoftLabels
from softlabel.deliver import Aggregate, Hard, TrainingLabels
from softlabel.errors import DataError
from softlabel.train import tagging
from softlabel.train.networks import count_parameters
from softlabel.train.tagging import (
    COLUMNS,
    POS,
    SentenceSplit,
    batches,
    build_vocabulary,
    find_sentences,
    make_tagger,
    word_table,
)

QUICK = replace(tagging.POS.config, epochs=6, lr=5e-3)
TAGS = ["article", "singular", "plural", "verb"]


def test_words_become_codes_and_letters():
    codes = build_vocabulary(["b", "a", "b", "a", "rare", "a"])
    assert codes == {"a": 1, "b": 2}
    rows = word_table(["a", "né", "x" * 30], [7, 7, 8], codes)
    assert rows.shape == (3, COLUMNS)
    assert rows[0].tolist() == [7, 1, ord("a") + 1] + [0] * (COLUMNS - 3)
    assert rows[1, :6].tolist() == [7, 0, ord("n") + 1, 0xC3 + 1, 0xA9 + 1, 0]  # UTF-8
    assert rows[2, 2:].tolist() == [ord("x") + 1] * (COLUMNS - 2)


def test_sentences_stay_whole():
    places = find_sentences(np.array([3, 3, 1, 2, 2, 2]))
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
def split() -> SentenceSplit:
    rng = np.random.default_rng(0)
    learn, choose, held = (speech(n, rng) for n in (80, 15, 25))
    codes = build_vocabulary(learn[0])
    tables = [word_table(words, sentence, codes) for words, sentence, _ in (learn, choose, held)]
    gold = learn[2]
    index = Index([f"w{i}" for i in range(len(gold))], [f"p{a}" for a in range(6)], TAGS)
    item = np.repeat(np.arange(len(gold)), 6)
    right = rng.random(len(item)) < np.tile([0.95, 0.9, 0.9, 0.9, 0.9, 0.3], len(gold))
    vote = np.where(right, gold[item], rng.integers(0, 4, len(item)))
    each = Annotations(index, item, np.tile(np.arange(6), len(gold)), label=vote)
    tested = Index([f"t{i}" for i in range(len(held[2]))], [], TAGS)
    people = SoftLabels(tested, np.eye(4)[held[2]], np.ones(len(held[2]), dtype=np.int64))
    return SentenceSplit(
        tables[0],
        TrainingLabels(gold, each.counts() / 6, each),
        tables[2],
        tested,
        people,
        {"images": "speech"},
        choosing=tables[1],
        choosing_gold=choose[2],
    )


@pytest.mark.parametrize("way", [Hard(), Aggregate(), None], ids=["hard", "soft", "crowd layer"])
def test_neighbours_and_endings_are_learned(split, tmp_path, way):
    config = QUICK if way else replace(QUICK, objective="mw", crowd_transposed=True)
    run = POS.complete_run(config, split, way, seed=0, out=tmp_path)
    assert run.scores["accuracy"].value > 0.9  # of words never seen
    assert [line["epoch"] for line in run.log] == list(range(QUICK.epochs))


def test_the_best_epoch_is_kept_and_a_finished_run_is_not_repeated(split, tmp_path):
    choosing = replace(
        split, held=split.choosing, index=Index([f"c{i}" for i in range(45)], [], TAGS)
    )
    hot = np.eye(4)[split.choosing_gold]
    choosing = replace(choosing, people=SoftLabels(choosing.index, hot, np.full(45, 1)))
    unsteady = replace(QUICK, lr=0.2, epochs=4)  # so large a rate that epochs differ
    run = POS.complete_run(unsteady, choosing, Hard(), seed=1, out=tmp_path)
    shares = [line["choosing"] for line in run.log]
    assert len(set(shares)) > 1
    assert run.scores["accuracy"].value == pytest.approx(max(shares))
    before = {path.name: path.stat().st_mtime_ns for path in run.path.iterdir()}
    again = POS.complete_run(unsteady, choosing, Hard(), seed=1, out=tmp_path)
    assert {path.name: path.stat().st_mtime_ns for path in again.path.iterdir()} == before
    other = replace(choosing, choosing=split.choosing[:3], choosing_gold=split.choosing_gold[:3])
    assert POS.start_run(unsteady, other, Hard(), seed=1, out=tmp_path).name != run.name


def test_the_same_seed_gives_the_same_bits(split, tmp_path):
    config = replace(QUICK, epochs=1)
    one, two = (
        POS.complete_run(config, split, Aggregate(), seed=4, out=tmp_path / where).predictions
        for where in "ab"
    )
    assert np.array_equal(one.probs, two.probs)


def test_what_is_no_table_of_words_is_refused(split):
    with pytest.raises(DataError, match=r"words to choose by: int64 \(3, 22\) for 45 tags"):
        replace(split, choosing=split.choosing[:3])
    with pytest.raises(DataError, match="words held out: float32"):
        replace(split, held=split.held.astype(np.float32))


# ── the network ──────────────────────────────────────────────────────────────────────────────

WORDS = [
    *("the", "dog", "barks", "loudly"),
    *("the", "cat", "that", "dog", "saw", "sleeps"),
    *("a", "zebra", "unzips", "itself"),
]
SENTENCE = [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2]
CODES = build_vocabulary(WORDS)


@pytest.fixture
def words():
    return torch.from_numpy(word_table(WORDS, SENTENCE, CODES))


@pytest.fixture
def net():
    return make_tagger(5, 1 + len(CODES), seed=3).eval()


def test_its_size():
    """Embeddings, two LSTMs in two directions, attention, head: counted by hand."""
    d, letters, words, classes = 128, 32, 1000, 12
    spelling = 2 * 4 * (d // 2) * (letters + d // 2 + 2)
    sentence = 2 * 4 * d * (d + d + 2)
    attention = (2 * d * d + d) + (d * d + d)
    head = 2 * d * classes + classes
    whole = words * d + 257 * letters + spelling + attention + sentence + head
    assert count_parameters(make_tagger(classes, words, seed=0)) == whole


def test_it_is_what_one_word_and_one_sentence_at_a_time_gives(net, words):
    """Packing, padding and reading each distinct word once change nothing."""
    vectors = []
    for row in words:
        letters = row[2:][row[2:] > 0]
        states, _ = net.spelling(net.letters(letters)[None])
        half = states.shape[2] // 2
        spelt = torch.cat([states[0, -1, :half], states[0, 0, half:]])
        known = net.words(row[1])
        share = net.attention(torch.cat([known, spelt]))
        vectors.append(share * known + (1 - share) * spelt)
    sentences = torch.tensor(SENTENCE)
    expected = torch.cat(
        [
            net.head(net.sentence(torch.stack([vectors[i] for i in rows])[None])[0][0])
            for rows in ((sentences == s).nonzero().flatten().tolist() for s in (0, 1, 2))
        ]
    )
    torch.testing.assert_close(net(words), expected, atol=1e-6, rtol=1e-5)


def test_sentences_do_not_see_each_other(net, words):
    alone = torch.cat([net(words[:4]), net(words[4:10]), net(words[10:])])
    torch.testing.assert_close(net(words), alone, atol=1e-6, rtol=1e-5)


def test_neighbours_and_letters_matter(net, words):
    turned = words[:4].flip(0)
    assert not torch.allclose(net(turned).flip(0), net(words[:4]), atol=1e-4)
    assert CODES == {"dog": 1, "the": 2}  # the others are known by their letters alone
    other = words.clone()
    other[2, 2] += 1  # another first letter of a word without a vector of its own
    assert not torch.allclose(net(other)[2], net(words)[2], atol=1e-5)


def test_weights_belong_to_the_seed_and_to_nothing_else():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    one = make_tagger(5, 9, seed=3).state_dict()
    assert torch.equal(torch.get_rng_state(), before), "the global generator was used"
    torch.manual_seed(1)
    again, other = (make_tagger(5, 9, seed=seed).state_dict() for seed in (3, 4))
    assert all(torch.equal(one[key], again[key]) for key in one)
    assert not any(torch.equal(one[key], other[key]) for key in one)


def test_starting_weights_are_torchs_own_in_distribution():
    net = make_tagger(5, 4000, seed=0)
    bound = net.sentence.hidden_size**-0.5
    for name, each in net.sentence.named_parameters():
        assert each.abs().max() <= bound, name
    assert net.sentence.weight_hh_l0.detach().std() == pytest.approx(bound / 3**0.5, rel=0.03)
    assert net.words.weight.detach().std() == pytest.approx(1, rel=0.03)
