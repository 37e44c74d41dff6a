"""The demo's networks learn from people alone, and the page says what came of it."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from functools import cache

import numpy as np
import pytest

from softlabel.aggregate import Mean
from softlabel.cli import main
from softlabel.construct import Clamp
from softlabel.deliver import Aggregate, Hard, TrainingLabels
from softlabel.demo import asking, learning, lessons, teaching
from softlabel.demo.study import ITEMS, PEOPLE, Study
from softlabel.demo.teaching import ARMS, SEEDS, Learned, Lessons
from softlabel.metrics import Bins, evaluate, kl
from softlabel.report import Frame, reliability_chart
from softlabel.report.page import paragraphs
from softlabel.study import shapes
from softlabel.tables import Predictions, Score

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def study() -> Study:
    """The study of the page, with the rich answers of the same people but no server in between."""
    drawn, people = asking.draw(0), asking.crowd.crowd(PEOPLE, 0)
    votes = asking.vote(drawn, people)
    said = []
    mode, labels = asking.Classic(), drawn.index.labels.tolist()
    for i, name in enumerate(drawn.index.items.tolist()):
        for who in [(i + step) % PEOPLE for step in range(10)]:
            answer = people[who].says(name, drawn.truth[i], "form", mode, labels)
            said.append(asking.Said(i, who, answer))
    rich = asking.statements(drawn.index, mode, said)
    persons = [somebody.person for somebody in people]
    return Study(drawn.index, drawn.pictures, drawn.truth, persons, rich, votes)


@pytest.fixture(scope="module")
def known(study) -> TrainingLabels:
    each = Clamp()(study.first("rich"))
    return TrainingLabels.of(Mean()(each), each)


@cache
def unseen(seed: int = 0):
    """Drawn once, and fewer than the page has."""
    return teaching.unseen(seed, 150)


def invented(shares: list[float]) -> learning.Learning:
    """Networks whose beliefs are the truth, mixed with this much of a uniform distribution."""
    pictures, people = unseen()
    rng = np.random.default_rng(0)
    runs = []
    for share in shares:
        runs.append([])
        for seed in range(SEEDS):
            part = np.clip(share + rng.normal(0, 0.003, (len(pictures), 1)), 0, 1)
            probs = (1 - part) * people.probs + part / len(shapes.LABELS)
            runs[-1].append(Learned(seed, Predictions(people.index, probs)))
    return learning.measure(Lessons(pictures, people, tuple(runs)), 60)


# ── training ─────────────────────────────────────────────────────────────────────────────────


def test_unseen_pictures_are_no_pictures_of_the_study(study):
    pictures, people = unseen()
    seen = {picture.tobytes() for picture in study.pictures}
    assert not any(picture.tobytes() in seen for picture in pictures)
    assert people.probs.shape == (len(pictures), len(shapes.LABELS))
    again, other = teaching.unseen(0, 10), teaching.unseen(1, 10)
    assert not np.array_equal(again[1].probs, other[1].probs)
    assert again[0][0].tobytes() == teaching.unseen(0, 10)[0][0].tobytes()


def test_the_network_sees_light_on_dark(study):
    small = teaching.negatives(study.pictures)
    assert small.shape == (ITEMS, teaching.SIDE, teaching.SIDE, 3)
    assert small.dtype == np.uint8
    assert small[:, 0].mean() < 30  # the ground, as dark as the frame of a crop
    picture = study.pictures[0].astype(float)
    assert small[0, 5, 7, 1] == round(255 - picture[10:12, 14:16, 1].mean())


def test_a_network_learns_the_truth_from_people_and_better_from_soft_labels(study, known):
    """One run of each, as the page has them: far better than knowing nothing but the mean."""
    pictures, people = unseen()
    images, held = teaching.negatives(study.pictures), teaching.negatives(pictures)
    found = {}
    for deliver in (Hard(), Aggregate()):
        probs = teaching._learn(images, deliver, known, held, teaching.EPOCHS, 0)
        found[deliver.name] = kl(people.probs, probs).mean()
    mean = np.tile(people.probs.mean(axis=0), (len(pictures), 1))
    assert found["aggregate"] < 0.25 < kl(people.probs, mean).mean() / 2
    assert found["aggregate"] < found["hard"] / 2


# ── words ────────────────────────────────────────────────────────────────────────────────────


def text(html: str) -> str:
    return " ".join("".join(ET.fromstring(f"<x>{html}</x>").itertext()).split())


@pytest.mark.parametrize(
    ("shares", "first", "last"),
    [
        ([0.4, 0.05, 0.1, 0.2], "pooled soft", "hard"),
        ([0.05, 0.4, 0.1, 0.2], "hard", "pooled soft"),
        ([0.2, 0.1, 0.4, 0.05], "SLS", "per annotator"),
    ],
)
def test_whoever_came_closest_is_named(shares, first, last):
    """Hard labels too, if it is they: the page has no favourite."""
    found = invented(shares)
    said = text(lessons.verdict(found))
    assert said.startswith(f"Closest to the truth came {first}, with a KL of ")
    assert f"; {last} by " in said
    by_hand = [
        np.mean([kl(found.lessons.people.probs, run.predictions.probs).mean() for run in one.runs])
        for one in found.arms
    ]
    assert by_hand == sorted(by_hand)
    assert f"KL of {by_hand[0]:.3f} nats" in said
    assert f"{last} by {by_hand[-1] - by_hand[0]:.3f} (" in said
    assert f"By total variation {first} is the closest too" in lessons.second_opinion(found)


def test_differences_that_may_be_none_are_said_to_be():
    assert lessons.difference(Score(0.02, 0.01, 0.03, 3)) == "0.020 (0.010 to 0.030)"
    assert "cannot be told from none" in lessons.difference(Score(0.02, -0.01, 0.05, 3))


def test_measures_that_disagree_are_said_to():
    """Too sure of the right class is near in total variation, and far in KL."""
    pictures, people = unseen()
    sure = people.probs**6
    sure = sure / sure.sum(axis=1, keepdims=True)
    even = 0.6 * people.probs + 0.4 / people.probs.shape[1]
    runs = tuple(
        [Learned(seed, Predictions(people.index, probs)) for seed in range(SEEDS)]
        for probs in (sure, even, even, even)
    )
    found = learning.measure(Lessons(pictures, people, runs), 60)
    by_tv = evaluate.over_runs(runs[0], people, ["total-variation"])["total-variation"].value
    assert by_tv < evaluate.over_runs(runs[1], people, ["total-variation"])["total-variation"].value
    assert found.arms[0].arm.name != "hard"
    said = lessons.second_opinion(found)
    assert said.startswith("By total variation hard is closer")
    assert "the measures disagree" in said


def test_the_section_shows_every_arm_in_every_chart():
    found = invented([0.4, 0.05, 0.1, 0.2])
    inside = "".join(paragraphs(lessons.section(found, 0).parts))
    root = ET.fromstring(f"<x>{inside}</x>")
    titles = [svg.find(SVG + "title").text for svg in root.iter(SVG + "svg")]
    for arm in ARMS:
        assert any(title.startswith(f"{arm.name}: confidence") for title in titles)
        assert any(title.startswith(f"{arm.name}: entropy") for title in titles)
    pictures = [image.get("alt") for image in root.iter("img")]
    assert len(pictures) == lessons.EXAMPLES
    cards = [e for e in root.iter(SVG + "desc") if (e.text or "").startswith("truth: ")]
    for card in cards:
        for who in ("people", *(arm.name for arm in ARMS)):
            assert f"{who}: " in card.text
    header = [th.text for th in root.iter("th") if th.get("scope") == "row"]
    assert header == ["pooled soft", "per annotator", "SLS", "hard"]


def test_examples_go_from_clear_to_ambiguous_and_people_were_really_asked():
    found = invented([0.4, 0.05, 0.1, 0.2])
    items = lessons.chosen(found)
    doubt = learning.asked(found.lessons, items, 0)
    truth = found.lessons.people.probs[items]
    np.testing.assert_allclose(doubt.sum(axis=1), 1)
    entropies = -(truth * np.log(truth)).sum(axis=1)
    assert entropies.tolist() == sorted(entropies)
    assert (abs(doubt - truth).sum(axis=1) / 2 < 0.35).all()  # ten people know something
    assert np.array_equal(doubt, learning.asked(found.lessons, items, 0))


# ── the chart ────────────────────────────────────────────────────────────────────────────────


def test_a_reliability_diagram_puts_its_marks_where_the_bins_are():
    bins = Bins(np.array([10, 30]), np.array([0.25, 0.75]), np.array([0.5, 0.5]))
    root = ET.fromstring(reliability_chart(bins, Frame("t", width=256, height=274)))
    marks = [
        (float(e.get("cx")), float(e.get("cy")), float(e.get("r")))
        for e in root.iter(SVG + "circle")
    ]
    assert [x for x, _, _ in marks] == [44 + 0.25 * 200, 44 + 0.75 * 200]
    assert [y for _, y, _ in marks] == [130, 130]
    assert marks[0][2] < marks[1][2]
    gaps = [e for e in root.iter(SVG + "line") if e.get("stroke-width") == "2"]
    assert [float(e.get("y1")) for e in gaps] == [230 - 0.25 * 200, 230 - 0.75 * 200]
    none = Bins(np.array([], dtype=np.int64), np.array([]), np.array([]))
    assert "no data" in reliability_chart(none, Frame("t"))


def test_all_runs_of_an_arm_are_in_its_diagram():
    found = invented([0.4, 0.05, 0.1, 0.2])
    bins = learning.bins(found, found.arms[0])
    assert bins.count.sum() == SEEDS * len(found.lessons.pictures)
    assert bins.error() < learning.bins(found, found.arms[-1]).error()


# ── without torch ────────────────────────────────────────────────────────────────────────────


def test_without_torch_the_rest_is_made_and_it_is_said_how_to_get_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
    assert main(["demo", str(tmp_path / "report")]) == 0
    install = "pip install 'softlabel[train]'"
    assert f"nothing was trained: {install}" in capsys.readouterr().out
    document = (tmp_path / "report" / "index.html").read_text("utf-8")
    said = text(document.partition("\n")[2])
    assert "No network was trained" in said
    assert install in said
    assert "Who was not looking?" in said
    assert "beliefs.npz" not in said
    assert (tmp_path / "report" / "labels.npz").is_file()
    assert not (tmp_path / "report" / "beliefs.npz").exists()
