"""What the demo page says of real people, measured on the published answers."""

from __future__ import annotations

import numpy as np

from softlabel import datasets, metrics
from softlabel.aggregate import Mean, Share
from softlabel.agree import cards, repeat_distance
from softlabel.construct import Clamp, Hard
from softlabel.demo.page import REAL


def test_the_figures_on_the_demo_page(data_folder):
    first = datasets.cifar10s.load().statements
    everything = datasets.cifar10s.load("all")
    unique = everything.statements.take(~everything.arrays["duplicate"])
    people = Share()(datasets.cifar10h.load("counts").annotations).probs
    people = people[[int(name) for name in first.index.items.tolist()]]
    rich, hard = (Mean()(construct(first)).probs for construct in (Clamp(), Hard()))
    found = {
        "agreement": np.mean([card.agreement for card in cards(Clamp()(first))]),
        "change": repeat_distance(Clamp()(unique)).mean(),
        "rich kl": metrics.kl(people, rich, floor=1e-3).mean(),
        "hard kl": metrics.kl(people, hard, floor=1e-3).mean(),
        "rich tv": metrics.total_variation(people, rich).mean(),
        "hard tv": metrics.total_variation(people, hard).mean(),
    }
    assert {name: round(float(value), 2) for name, value in found.items()} == REAL
