"""Figures that are drawn from the released data: what they show, and that the docs show it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from softlabel.datasets import MissingData
from softlabel.papers.claims import Words
from softlabel.papers.claims import figures as draw
from softlabel.papers.collins2022 import examples
from softlabel.papers.collins2022.facts import released

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def data():
    try:
        return released()
    except MissingData as missing:
        pytest.skip(str(missing).splitlines()[0])


def test_the_pictures_of_the_docs_are_those_of_the_data(data):
    spec = importlib.util.spec_from_file_location("results", ROOT / "tools" / "results.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    kept = {path.name: path.read_text("utf-8") for path in tool.RELEASED.glob("*.svg")}
    try:
        drawn = tool.draw_released()
    except MissingData as missing:
        pytest.skip(str(missing).splitlines()[0])
    assert kept == drawn, "run python tools/results.py released"


def test_one_answer_gives_the_labels_derived_by_hand(data):
    """Deer 95, horse 5, all but cat and dog ruled out; the spread of 10 % acts in T2-clamp."""
    drawn = examples.draw_varieties(data).draw(640)
    for row in (
        "T1-clamp: airplane 0 %, automobile 0 %, bird 0 %, cat 2 %, deer 95 %, dog 2 %, frog 0 %, "
        "horse 2 %",
        "T2-unif: airplane 0 %, automobile 0 %, bird 0 %, cat 0 %, deer 95 %, dog 0 %, frog 0 %, "
        "horse 5 %",
        "select: airplane 0 %, automobile 0 %, bird 0 %, cat 0 %, deer 50 %, dog 0 %, frog 0 %, "
        "horse 50 %",
    ):
        assert row in drawn


def test_images_are_chosen_as_the_captions_say(data):
    car = examples.find_confused_car(data)
    names = data.classes
    assert data.people[car, names.index("automobile")] >= 0.9
    assert data.label[car, names.index("truck")] >= 0.25
    farthest = {name: int(data.images[row]) for name, row in examples.find_farthest(data).items()}
    assert farthest == {"dog": 2047, "frog": 861, "bird": 9681}  # counted before, in facts.toml
    frog, plane, alike = examples.find_pairs(data).values()
    assert [names[data.gold[row]] for row in (frog, plane, alike)] == ["frog", "airplane", "frog"]
    others = data.apart[(data.gold == names.index("frog")) & (data.unsure >= 0.25)]
    assert (data.apart[frog], data.apart[alike]) == (others.max(), others.min())
    for name, row in examples.find_softened(data).items():
        same = (data.gold == names.index(name)) & (data.people.max(axis=1) >= 0.9)
        nats = -(data.label * np.log(np.clip(data.label, 1e-300, 1))).sum(axis=1)
        assert nats[row] == pytest.approx(nats[same].max())


def test_shares_are_drawn_to_scale_and_empty_parts_left_out():
    figure = draw.shares(
        Words("n", "Title", ""),
        {"a": [0.25, 0.0, 0.75], "b": [1.0, 0.0, 0.0]},
        ["cat", "dog", "fox"],
        legend=True,
    )
    drawn = figure.draw(640)
    assert "a: cat 25 %, fox 75 %; b: cat 100 %, fox 0 %" in drawn
    assert "dog" not in drawn
    assert drawn.count(f'fill="{draw.FILLS[2]}"') == 2  # in the legend and in one bar
    widths = [float(part.split('"')[0]) for part in drawn.split('width="')[1:]]
    whole, quarter = max(w for w in widths if w < 640), widths[-3]
    assert quarter == pytest.approx(whole / 4, abs=0.01)
