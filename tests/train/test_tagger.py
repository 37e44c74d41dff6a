"""The tagger: a sentence is read alone, a word by name and by letters."""

from __future__ import annotations

import pytest
import torch

from softlabel.train import nets
from softlabel.train.recipes.tagging import table, tagger, vocabulary

WORDS = [
    *("the", "dog", "barks", "loudly"),
    *("the", "cat", "that", "dog", "saw", "sleeps"),
    *("a", "zebra", "unzips", "itself"),
]
SENTENCE = [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2]
CODES = vocabulary(WORDS)


@pytest.fixture
def words():
    return torch.from_numpy(table(WORDS, SENTENCE, CODES))


@pytest.fixture
def net():
    return tagger(5, 1 + len(CODES), seed=3).eval()


def test_its_size():
    """Embeddings, two LSTMs in two directions, attention, head: counted by hand."""
    d, letters, words, classes = 128, 32, 1000, 12
    spelling = 2 * 4 * (d // 2) * (letters + d // 2 + 2)
    sentence = 2 * 4 * d * (d + d + 2)
    attention = (2 * d * d + d) + (d * d + d)
    head = 2 * d * classes + classes
    whole = words * d + 257 * letters + spelling + attention + sentence + head
    assert nets.parameters(tagger(classes, words, seed=0)) == whole


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
    one = tagger(5, 9, seed=3).state_dict()
    assert torch.equal(torch.get_rng_state(), before), "the global generator was used"
    torch.manual_seed(1)
    again, other = (tagger(5, 9, seed=seed).state_dict() for seed in (3, 4))
    assert all(torch.equal(one[key], again[key]) for key in one)
    assert not any(torch.equal(one[key], other[key]) for key in one)


def test_starting_weights_are_torchs_own_in_distribution():
    net = tagger(5, 4000, seed=0)
    bound = net.sentence.hidden_size**-0.5
    for name, each in net.sentence.named_parameters():
        assert each.abs().max() <= bound, name
    assert net.sentence.weight_hh_l0.detach().std() == pytest.approx(bound / 3**0.5, rel=0.03)
    assert net.words.weight.detach().std() == pytest.approx(1, rel=0.03)
