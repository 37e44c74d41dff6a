"""Encoders of others: MiniLM from its package, and any folder or name; a tiny one is made here."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from softlabel.deliver import Aggregate
from softlabel.errors import FileError, MissingExtra
from softlabel.papers.singh2025 import data as singh2025_data
from softlabel.train import RECIPES, networks, text_encoders
from softlabel.train.predict import load_network, predict_logits
from softlabel.train.text import split_texts
from softlabel.train.text_encoders import register_hub, token_rows

SIZE = 16


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> str:
    """A BERT of one layer, never trained, in a folder as a hub would give it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("encoder") / "tiny"
    words = {word for kind in singh2025_data.ABOUT.values() for word in kind}
    known = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted(words)]
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join([*known, *singh2025_data.FILLERS]))
    transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    about = transformers.BertConfig(
        vocab_size=len(known) + len(singh2025_data.FILLERS),
        hidden_size=SIZE,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        transformers.BertModel(about).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def minilm() -> text_encoders.MiniLM:
    try:
        return text_encoders.MiniLM()
    except MissingExtra as missing:
        pytest.skip(f"{missing}")


def test_a_text_is_the_mean_of_its_states_whatever_stands_beside_it(tiny):
    encoder = text_encoders.Frozen(tiny)
    said = ["lovely day", "it was the worst day and we said so", "", "kind"]
    together = encoder(np.array(said))
    assert together.shape == (4, SIZE)
    for row, one in zip(together, said, strict=True):
        tokens = encoder.tokenizer(one, return_tensors="pt")
        with torch.no_grad():
            state = encoder.net(**tokens).last_hidden_state[0].mean(dim=0).numpy()
        np.testing.assert_allclose(row, state / np.linalg.norm(state) * SIZE**0.5, atol=1e-5)


def test_two_texts_are_seen_side_by_side_and_asked_for_once(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("SOFTLABEL_CACHE", str(tmp_path))
    encoder = text_encoders.Frozen(tiny)
    sides = (["lovely day", "rude"], ["the worst", "kind"])
    made = text_encoders.encode_texts(sides, encoder)
    u, v = (encoder(np.array(side)) for side in sides)
    np.testing.assert_allclose(made, np.hstack([u, v, abs(u - v), u * v]), atol=1e-6)
    asked: list[object] = []

    class Same:
        name = encoder.name

        def __call__(self, texts):
            asked.append(texts)

    np.testing.assert_array_equal(text_encoders.encode_texts(sides, Same()), made)
    assert not asked
    assert text_encoders.encode_texts(sides[:1], encoder).shape == (2, SIZE)


def test_an_encoder_that_is_not_there_is_named(tmp_path):
    pytest.importorskip("transformers")
    with pytest.raises(FileError, match=r"nowhere.*is no encoder that can be opened here"):
        text_encoders.open_encoder(str(tmp_path / "nowhere"))


def test_a_whole_encoder_is_trained_further(tiny, tmp_path):
    """Through the same recipe and run folder as everything else; it starts from what it knew."""
    made = singh2025_data.simulated("nli", 60)
    split = split_texts(made, partial(token_rows, place=tiny), tiny)
    recipe = RECIPES["hub"]
    config = replace(recipe.config, net=register_hub(tiny), epochs=1)
    net = networks.make_network(config.net, 3, 0, split.inputs.shape[1])
    learned = text_encoders.open_encoder(tiny)[1].state_dict()
    key = "encoder.layer.0.attention.self.query.weight"
    assert not torch.equal(net.encoder.state_dict()[key], learned[key])
    net.inspect(torch.from_numpy(split.inputs))
    assert all(torch.equal(net.encoder.state_dict()[one], learned[one]) for one in learned)
    run = recipe.complete_run(config, split, Aggregate(), seed=0, out=tmp_path)
    moved = load_network(run)
    assert not torch.equal(moved.encoder.state_dict()[key], learned[key])
    again = predict_logits(moved, split.held)
    np.testing.assert_allclose(again, run.arrays("logits")["logits"], atol=1e-5)


def test_rows_of_tokens_are_what_the_encoder_would_be_given(tiny):
    sides = (["lovely day", "rude"], ["the worst", "kind and great"])
    rows = token_rows(sides, tiny)
    tokenizer, encoder = text_encoders.open_encoder(tiny)
    tokens = tokenizer(*sides, padding=True, return_tensors="pt")
    net = networks.make_network(register_hub(tiny), 3, 0, rows.shape[1]).eval()
    net.inspect(torch.from_numpy(rows))
    with torch.no_grad():
        states = encoder.eval()(**tokens).last_hidden_state
        wanted = text_encoders.mean_state(states, tokens["attention_mask"])
        ours = net.features(torch.from_numpy(rows))
    torch.testing.assert_close(ours, wanted, atol=1e-5, rtol=1e-4)


def test_minilm_knows_what_is_alike(minilm):
    said = ["A man plays the guitar.", "Somebody is making music.", "The stock market fell."]
    made = minilm(np.array(said)) / 384**0.5
    np.testing.assert_allclose(np.linalg.norm(made, axis=1), 1, atol=1e-5)
    alike = made @ made.T
    assert alike[0, 1] > 0.3 > alike[0, 2]
    assert Path(text_encoders.find_minilm(), "config.json").exists()
