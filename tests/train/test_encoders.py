"""Features: computed once, kept apart, and the weights of EfficientNet-Lite0."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from softlabel.deliver import Aggregate
from softlabel.errors import DataError, MissingExtra
from softlabel.train import RECIPES, Validation, encode, encode_split, encoders, read_split
from softlabel.train.data import prepare
from softlabel.train.networks import make_network

HEAD = RECIPES["features"]


class Colours:
    """The mean colour of a picture: an encoder of one's own."""

    name = "colours-1"
    asked = 0

    def __call__(self, images):
        self.asked += len(images)
        return images.mean(axis=(1, 2)) / 255


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SOFTLABEL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "features"


def test_heads_on_features_of_ones_own_learn_and_stand_apart(toy, cache):
    colours = Colours()
    split = encode_split(read_split(toy.pictures, toy.votes), colours)
    config = replace(HEAD.config, lr=0.05, batch=16)
    run = HEAD.complete_run(config, split, Aggregate(), seed=0, out=toy.folder / "runs")
    assert (run.value("kind"), run.outcome["kind"], run.value("encoder")) == (
        *("features", "features"), "colours-1",
    )  # fmt: skip
    assert run.scores["accuracy"].value > 0.7  # chance is a third
    assert colours.asked == 80
    encode_split(read_split(toy.pictures, toy.votes), colours)
    assert colours.asked == 80  # the second time it was read from the disk
    assert len(list(cache.iterdir())) == 2


def test_validation_pictures_are_encoded_too(toy, cache):
    split = read_split(toy.pictures, toy.votes)
    chosen = Validation(toy.images[:7], np.eye(3)[np.arange(7) % 3])
    found = encode_split(replace(split, validation=chosen), Colours()).validation
    np.testing.assert_allclose(found.inputs, toy.images[:7].mean(axis=(1, 2)) / 255, rtol=1e-6)
    np.testing.assert_array_equal(found.labels, chosen.labels)
    with pytest.raises(DataError, match="validation ones"):
        replace(split, validation=Validation(toy.images[:7, :4], chosen.labels))


def test_other_pictures_or_another_encoder_are_not_taken_from_the_cache(toy, cache):
    colours = Colours()
    first = encode(toy.images, colours)
    encode(toy.images[::-1].copy(), colours)
    assert colours.asked == 160
    colours.name = "colours-2"
    np.testing.assert_array_equal(encode(toy.images, colours), first)
    assert (colours.asked, len(list(cache.iterdir()))) == (240, 3)


def test_an_encoder_without_a_name_is_asked_every_time(toy, cache):
    def brightness(images):
        return images.mean(axis=(1, 2, 3))[:, None]

    assert encode(toy.images, brightness).shape == (80, 1)
    assert not cache.exists()
    with pytest.raises(DataError, match=r"made \(80,\) of 80 pictures, not \(m, d\)"):
        encode(toy.images, lambda images: images.mean(axis=(1, 2, 3)))


def test_padding_is_that_of_tensorflow():
    """Of 6 points, stride 2 and a kernel of 3 the only odd point of padding is on the right."""
    conv = encoders.SameConv(1, 1, 3, 2, bias=False)
    with torch.no_grad():
        conv.weight.copy_(torch.arange(1.0, 10).view(1, 1, 3, 3))
    picture = np.arange(36.0).reshape(6, 6)
    framed = np.pad(picture, ((0, 1), (0, 1)))
    weights = np.arange(1.0, 10).reshape(3, 3)
    wanted = [
        [(framed[i : i + 3, j : j + 3] * weights).sum() for j in (0, 2, 4)] for i in (0, 2, 4)
    ]
    got = conv(torch.from_numpy(picture).float()[None, None])[0, 0]
    np.testing.assert_allclose(got.detach().numpy(), wanted)


def lite0_weights():
    try:
        return encoders.find_lite0()
    except MissingExtra:
        pytest.skip("the extra 'features' is not installed: EfficientNet-Lite0 is not tested")


def test_all_weights_of_lite0_find_their_place(toy, cache):
    lite0_weights()
    net = encoders.load_lite0()
    assert sum(each.numel() for each in net.parameters()) == 4_652_008  # published: 4.652 M
    encoder = encoders.EfficientNetLite0()
    found = encode(toy.images[:3], encoder)
    assert (found.shape, found.dtype) == ((3, 1280), np.float32)
    assert (found.min(), found.max() <= 6) == (0.0, True)
    np.testing.assert_allclose(found[:1], encoder(toy.images[:1]), atol=1e-4)


def test_lite0_that_is_trained_further_starts_as_the_encoder(toy, cache):
    """Its features are the encoder's of pictures of the same size; all but its last layer learn."""
    lite0_weights()
    images = toy.images[:2]
    net = make_network("lite0:side=96", 3, 0)
    rows = prepare(torch.from_numpy(images), torch.float32)
    net.inspect(rows)
    with torch.no_grad():
        found = net.eval().features(rows)
        assert net(rows).shape == (2, 3)
    wanted = encoders.EfficientNetLite0()(images)
    np.testing.assert_allclose(found, wanted, atol=2e-3)
    fixed = {name for name, each in net.named_parameters() if not each.requires_grad}
    assert fixed == {"encoder._fc.weight", "encoder._fc.bias"}


def test_weights_of_something_else_are_refused(monkeypatch, tmp_path):
    torch.save({"_fc.weight": torch.zeros(2)}, tmp_path / "other.pth")
    monkeypatch.setattr(encoders, "find_lite0", lambda: tmp_path / "other.pth")
    with pytest.raises(DataError, match="does not hold the weights of EfficientNet-Lite0"):
        encoders.load_lite0()
