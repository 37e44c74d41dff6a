"""What our pages say of real people, measured on the published answers."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from softlabel import datasets, metrics
from softlabel.aggregate import Mean, Share
from softlabel.annotators import compare_with_others, flag_answers, repeat_distance
from softlabel.cli.demo import load_demo
from softlabel.construct import Clamp, Hard

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def first(data_folder):
    return datasets.cifar10s.load().statements


@pytest.fixture(scope="module")
def everything(data_folder):
    return datasets.cifar10s.load("all")


@pytest.fixture(scope="module")
def errors(first):
    """KL and total variation to CIFAR-10H of rich answers and of first choices, by image."""
    people = Share()(datasets.cifar10h.load("counts").annotations).probs
    people = people[[int(name) for name in first.index.items.tolist()]]
    found = {}
    for name, construct in (("rich", Clamp()), ("hard", Hard())):
        label = Mean()(construct(first)).probs
        found[f"{name} kl"] = metrics.kl(people, label, floor=1e-3)
        found[f"{name} tv"] = metrics.total_variation(people, label)
    return found


def test_the_figures_on_the_demo_page(first, everything, errors):
    unique = everything.statements.take(~everything.arrays["duplicate"])
    found = {
        "agreement": np.mean([card.agreement for card in compare_with_others(Clamp()(first))]),
        "change": repeat_distance(Clamp()(unique)).mean(),
        **{name: values.mean() for name, values in errors.items()},
    }
    assert {name: round(float(value), 2) for name, value in found.items()} == load_demo("page").REAL


def test_the_counts_on_the_page_of_quality_rules(everything):
    page = (ROOT / "docs" / "quality.md").read_text()
    marked = flag_answers(everything.statements)
    written = dict(re.findall(r"^\| `([a-z0-9-]+)` \|.*\| (\d+)[^|]*\|$", page, re.MULTILINE))
    assert {name: int(count) for name, count in written.items()} == {
        name: int(rows.sum()) for name, rows in marked.items()
    }


def test_how_often_the_largest_class_is_not_the_first(everything):
    said = everything.statements
    top = Clamp(mode="reference")(said).soft().argmax(axis=1)
    moved = int((top != said.named[:, 0]).sum())
    for page in ("constructions/clamp.md", "design/0001-what-people-said.md"):
        assert f"in {moved} of " in (ROOT / "docs" / page).read_text().lower()
