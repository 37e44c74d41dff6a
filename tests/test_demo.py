"""The demo's page says what its data say, and the data can be read back."""

from __future__ import annotations

import csv
import json
import math
import re
import xml.etree.ElementTree as ET
from collections import Counter
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

from softlabel import demo
from softlabel.cli import main
from softlabel.deliver import SLS, TrainingLabels
from softlabel.demo import asking, findings, lessons, teaching
from softlabel.demo import page as words
from softlabel.demo.study import CARELESS, ITEMS, PEOPLE, PER_ITEM, RECIPES, REPEATS
from softlabel.metrics import entropy
from softlabel.simulate import draw_participants
from softlabel.study import shapes
from softlabel.tables import Score, SoftLabels

SHORT = 2  # epochs of training, where what is learned does not matter


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """One run of the demo, its folder and what it told about its progress."""
    out, told = tmp_path_factory.mktemp("demo") / "deep" / "report", []
    result = demo.run(out, progress=lambda *step: told.append(step), epochs=SHORT)
    return out, result, told


@pytest.fixture(scope="session")
def document(made) -> str:
    return made[1].path.read_text(encoding="utf-8")


# ── the page ─────────────────────────────────────────────────────────────────────────────────


def test_the_page_is_one_well_formed_self_contained_document(document):
    root = ET.fromstring(document.partition("\n")[2])
    assert root.get("lang") == "en"
    assert not list(root.iter("script"))
    for element in root.iter():
        for key in ("src", "href"):
            value = element.get(key)
            assert value is None or value.startswith(("data:image/png;base64,", "#"))
    for word in ("@import", "url("):
        assert word not in document
    assert len(document) < 600_000


def test_links_inside_the_page_lead_somewhere(document):
    root = ET.fromstring(document.partition("\n")[2])
    targets = {element.get("id") for element in root.iter()}
    for link in root.iter("a"):
        assert link.get("href").removeprefix("#") in targets


def test_the_page_can_be_read_without_seeing_it(document):
    root = ET.fromstring(document.partition("\n")[2])
    headings = [e.tag for e in root.iter() if e.tag in ("h1", "h2", "h3", "h4")]
    assert headings.count("h1") == 1
    assert headings[0] == "h1"
    assert all(image.get("alt") is not None for image in root.iter("img"))
    described = [image for image in root.iter("img") if image.get("alt")]
    assert len(described) == words.EXAMPLES + lessons.EXAMPLES
    for chart in root.iter("{http://www.w3.org/2000/svg}svg"):
        assert chart.find("{http://www.w3.org/2000/svg}title").text
    for table in root.iter("table"):
        assert table.find("caption").text
        assert all(th.get("scope") for th in table.iter("th"))


def test_the_page_mentions_every_recipe_and_person_and_shows_all_pictures(document):
    for recipe in RECIPES:
        assert recipe.name in document
        assert recipe.words in document
    for person in range(1, PEOPLE + 1):
        assert f"person-{person:02d}" in document
    assert document.count("<img ") == words.EXAMPLES + words.STRIP + lessons.EXAMPLES


def test_the_page_says_its_main_numbers(document, made):
    scores = {row["label"]: row["tv"] for row in made[1].rows}
    for name in ("rich: clamp → mean", "votes: hard → share"):
        assert words.percent(scores[name]) in document
    assert "seed 0" in document


def lasting(out: Path) -> list[Path]:
    """The files of a demo, but for the database and its export: these hold times and ids."""
    names = sorted(path.relative_to(out) for path in out.rglob("*") if path.is_file())
    changing = (Path("study/.softlabel"), Path("study/responses.jsonl"))
    return [name for name in names if not any(name.is_relative_to(one) for one in changing)]


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(made, tmp_path):
    out = made[0]
    demo.run(tmp_path / "again", epochs=SHORT)
    assert len(lasting(out)) == 7 + 2 + ITEMS
    assert lasting(tmp_path / "again") == lasting(out)
    for name in lasting(out):
        assert (tmp_path / "again" / name).read_bytes() == (out / name).read_bytes(), name
    assert not np.array_equal(asking.draw(1).truth, asking.draw(0).truth)
    assert draw_participants(PEOPLE, 1) != draw_participants(PEOPLE, 0)


def test_progress_is_told_step_by_step(made):
    told = made[2]
    assert [number for number, _ in groupby(told, key=lambda one: one[1])] == list(
        range(len(demo.STEPS) + 1)
    )
    assert {of for _, _, of in told} == {len(demo.STEPS)}
    assert all(isinstance(name, str) and name for name, _, _ in told)


# ── the numbers, once more from the files alone ──────────────────────────────────────────────


def answers(out) -> list[dict]:
    return [json.loads(line) for line in (out / "answers.jsonl").read_text().splitlines()]


def clamp(answer: dict, labels: list[str]) -> list[float]:
    """Collins et al. 2022 in plain Python, for answers that do not contradict themselves."""
    percent = dict.fromkeys(labels, 0)
    percent[answer["top"]] = answer["p1"]
    if answer["second"] is not None:
        percent[answer["second"]] = answer["p2"]
    total = sum(percent.values())
    open_to = [c for c in labels if percent[c] == 0 and c not in answer["impossible"]]
    if total < 100:
        rest, scale = 1 - total / 100, 1 / 100
    else:
        rest, scale = (0.1 if open_to else 0.0), 1 / total
        scale *= 1 - rest
    label = [percent[c] * scale + (rest / len(open_to) if c in open_to else 0) for c in labels]
    return [share / sum(label) for share in label]


def test_the_labels_can_be_made_again_from_the_answers(made):
    out = made[0]
    labels, truth = SoftLabels.load(out / "labels.npz"), SoftLabels.load(out / "truth.npz")
    names = labels.index.labels.tolist()
    assert names == truth.index.labels.tolist() == list(shapes.LABELS)
    pools: dict[str, list[list[float]]] = {}
    for row in answers(out):
        if row["presentation"]["kind"] == "target":
            pools.setdefault(row["item"], []).append(clamp(row["answer"], row["labels"]))
    for item, probs in zip(labels.index.items.tolist(), labels.probs, strict=True):
        mean = [sum(column) / PER_ITEM for column in zip(*pools[item], strict=True)]
        np.testing.assert_allclose(probs, mean, atol=1e-12)
    assert (labels.count == PER_ITEM).all()


def test_the_rows_can_be_computed_again_from_the_files(made):
    out, result, _ = made
    rows = {row["label"]: row for row in result.rows}
    assert list(rows) == [recipe.name for recipe in RECIPES]
    truth = SoftLabels.load(out / "truth.npz").probs
    check(rows["rich: clamp → mean"], truth, SoftLabels.load(out / "labels.npz").probs)
    check(rows["votes: hard → share"], truth, vote_shares(out))


def vote_shares(out) -> np.ndarray:
    """Votes of those people who also got the form for a picture, as shares."""
    asked = {(row["item"], row["annotator"]) for row in answers(out)}
    with (out / "votes.csv").open() as file:
        votes = list(csv.DictReader(file))
    assert len(votes) == ITEMS * PEOPLE
    counts: dict[str, Counter] = {}
    for vote in votes:
        if (vote["item"], vote["annotator"]) in asked:
            counts.setdefault(vote["item"], Counter())[vote["label"]] += 1
    return np.array(
        [[counts[item][c] / PER_ITEM for c in shapes.LABELS] for item in sorted(counts)]
    )


def check(row: dict, truth: np.ndarray, probs: np.ndarray) -> None:
    """Total variation, KL with its floor and entropy correlation, by the book."""
    tv = [
        sum(abs(t - p) for t, p in zip(*pair, strict=True)) / 2
        for pair in zip(truth, probs, strict=True)
    ]
    kl = [
        sum(t * math.log(t / max(p, findings.KL_FLOOR)) for t, p in zip(*pair, strict=True) if t)
        for pair in zip(truth, probs, strict=True)
    ]
    doubts = [
        [-sum(p * math.log(p) for p in row if p > 0) for row in table] for table in (truth, probs)
    ]
    assert row["tv"].value == pytest.approx(np.mean(tv), abs=1e-9)
    assert row["kl"].value == pytest.approx(np.mean(kl), abs=1e-9)
    assert row["entropy_r"].value == pytest.approx(np.corrcoef(doubts)[0, 1], abs=1e-9)
    for score in (row["tv"], row["kl"], row["entropy_r"]):
        assert score.low < score.value < score.high
        assert score.n == ITEMS


def test_a_majority_label_has_no_entropy_correlation(made):
    row = next(row for row in made[1].rows if row["label"] == "votes: hard → majority")
    assert math.isnan(row["entropy_r"].value)


def test_answers_are_in_the_exchange_format(made):
    rows = answers(made[0])
    assert len(rows) == ITEMS * PER_ITEM + PEOPLE * REPEATS
    for row in rows:
        assert list(row) == ["schema", "item", "annotator", "labels", "presentation", "answer"]
        assert row["schema"] == "softlabel.response/1"
        assert row["presentation"]["kind"] in ("target", "repeat")
        assert (row["presentation"]["mode"], row["presentation"]["mode_version"]) == ("classic", 1)
    kinds = Counter(row["presentation"]["kind"] for row in rows)
    assert kinds["repeat"] == PEOPLE * REPEATS


def test_the_answers_came_through_a_served_study(made, document):
    """Everybody answered their share, under a pseudonym; the export makes the same labels."""
    out = made[0]
    rows = [json.loads(line) for line in (out / "study/responses.jsonl").read_text().splitlines()]
    each = Counter(row["annotator"] for row in rows)
    assert len(each) == PEOPLE
    assert set(each.values()) == {ITEMS * PER_ITEM // PEOPLE + REPEATS}
    assert all(re.fullmatch("[0-9a-f]{16}", name) for name in each)
    assert {row["presentation"]["mode"] for row in rows} == {"classic"}
    exported = label("study/responses.jsonl", out)
    ours = SoftLabels.load(out / "labels.npz")
    order = [exported.index.items.tolist().index(name) for name in ours.index.items.tolist()]
    np.testing.assert_allclose(exported.probs[order], ours.probs, atol=1e-12)
    assert "had each acknowledged once it was on the disk" in " ".join(document.split())


def label(source: str, out: Path) -> SoftLabels:
    """What ``softlabel label`` makes of a file of the demo, as the page says to call it."""
    made = out.parent / "made.npz"
    steps = ["--construct", "clamp", "--aggregate", "mean", "--repeats", "first"]
    assert main(["label", str(out / source), str(made), *steps]) == 0
    return SoftLabels.load(made)


def test_pictures_and_people_lie_beside_the_page(made):
    out = made[0]
    items = SoftLabels.load(out / "truth.npz").index.items.tolist()
    assert sorted(path.stem for path in (out / "study" / "images").iterdir()) == items
    with (out / "people.csv").open() as file:
        people = list(csv.DictReader(file))
    assert len(people) == PEOPLE
    assert sum(float(person["carelessness"]) >= 0.5 for person in people) == CARELESS


def test_the_beliefs_of_every_network_lie_beside_the_page(made):
    """Twelve runs, each as it would have been alone."""
    out, result, _ = made
    with np.load(out / "beliefs.npz") as file:
        beliefs = {name: file[name] for name in file}
    assert beliefs["delivered"].tolist() == [arm.name for arm in teaching.ARMS]
    assert beliefs["probs"].shape == (4, teaching.SEEDS, teaching.UNSEEN, len(shapes.LABELS))
    pictures, people = teaching.unseen(0)
    np.testing.assert_array_equal(beliefs["truth"], people.probs)
    known = TrainingLabels.of(SoftLabels.load(out / "labels.npz"))
    images, held = (teaching.negatives(some) for some in (asking.draw(0).pictures, pictures))
    place = 3
    assert beliefs["delivered"][place] == "SLS"
    alone = teaching._learn(images, SLS(), known, held, SHORT, 2)
    np.testing.assert_allclose(beliefs["probs"][place, 2], alone, atol=1e-5)
    scores = {row["delivered"]: row for row in result.learned}
    off = [abs(probs - people.probs).sum(axis=1).mean() / 2 for probs in beliefs["probs"][place]]
    assert scores["SLS"]["total-variation"].value == pytest.approx(np.mean(off))
    order = [row["kl"].value for row in result.learned]
    assert order == sorted(order)


# ── the parts ────────────────────────────────────────────────────────────────────────────────


def test_truth_is_a_function_of_the_blend():
    blend = np.array([[1, 0, 0, 0, 0, 0], [0.5, 0.5, 0, 0, 0, 0], [0.8, 0.2, 0, 0, 0, 0]])
    truth = shapes.compute_truth(blend)
    np.testing.assert_allclose(truth.sum(axis=1), 1)
    assert truth[0, 0] == pytest.approx(0.98 + 0.02 / 6)
    assert truth[1, 0] == truth[1, 1]
    odds = (truth[2, 0] - 0.02 / 6) / (truth[2, 1] - 0.02 / 6)
    assert odds == pytest.approx(4**1.5)


def test_distance_is_that_of_a_square():
    square = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]], dtype=float)
    points = np.array([[0, 0], [0.5, 0], [2, 0], [2, 2], [0, -3]], dtype=float)
    np.testing.assert_allclose(
        shapes.distance(points, square), [-1, -0.5, 1, np.sqrt(2), 2], atol=1e-12
    )


def test_every_pure_shape_fits_its_picture_and_looks_different():
    drawn = [shapes.draw(row, np.random.default_rng(0)) for row in np.eye(len(shapes.LABELS))]
    for picture in drawn:
        dark = picture.mean(axis=2) < 150
        assert 0.08 < dark.mean() < 0.5
        edge = np.concatenate([dark[0], dark[-1], dark[:, 0], dark[:, -1]])
        assert not edge.any()
    for i, first in enumerate(drawn):
        for second in drawn[:i]:
            assert abs(first.astype(int) - second).mean() > 5


def test_the_compared_recipes_are_where_the_page_expects_them():
    assert RECIPES[findings.RICH].name == "rich: clamp → mean"
    assert RECIPES[findings.VOTES].name == "votes: hard → share"
    assert len({recipe.name for recipe in RECIPES}) == len(RECIPES)


def test_examples_are_typical_and_go_from_clear_to_ambiguous_over_all_shapes():
    rng = np.random.default_rng(0)
    truth = shapes.compute_truth(shapes.draw_weights(ITEMS, rng))
    chosen = words.typical(truth, rng.normal(size=ITEMS), 8)
    doubt = [entropy(truth[[item]])[0] for item in chosen]
    assert doubt == sorted(doubt)
    assert len(set(truth[chosen].argmax(axis=1))) == len(shapes.LABELS)
    one_class = np.array([[0.9, 0.1]] * 5)
    assert words.typical(one_class, np.array([0.0, 9.0, 1.0, 5.0, 3.0]), 1) == [4]


@pytest.mark.parametrize(
    ("score", "said"),
    [
        (Score(0.05, 0.03, 0.07, 9), "5.0 points more (3.0 to 7.0)"),
        (Score(-0.05, -0.07, -0.03, 9), "5.0 points less (3.0 to 7.0)"),
        (
            Score(0.01, -0.01, 0.03, 9),
            "a difference that cannot be told from none (−1.0 to 3.0 points)",
        ),
    ],
)
def test_a_difference_is_said_as_it_is(score, said):
    assert words.compared(score) == said


def test_what_a_rich_answer_is_worth_is_said_as_it_is():
    assert "about 7 votes (5 to 9)" in words.worth(Score(6.7, 5, 9.3, 9))
    assert "people, not time" in words.worth(Score(6.7, 5, 9.3, 9))
    assert "people and time" in words.worth(Score(20.0, 18, 23, 9))
    assert "more than 24" in words.worth(Score(20.0, 18, float("inf"), 9))
    assert "do not come as close" in words.worth(Score(float("inf"), 18, float("inf"), 9))


def test_worth_is_read_off_the_curve_of_votes():
    rich = findings.Curve(np.full((2, 30), 0.25))
    votes = findings.Curve(np.tile([[0.4], [0.3], [0.2]], 30))
    assert findings.worth(rich, votes).value == pytest.approx(2.5)
    assert findings.worth(votes, rich).value == 1.0
    assert math.isinf(findings.worth(findings.Curve(np.full((1, 30), 0.1)), votes).value)


def test_the_readme_says_what_the_demo_shows(made):
    text = (Path(__file__).parent.parent / "README.md").read_text()
    by_name = {row["label"]: row["tv"] for row in made[1].rows}
    for name in ("rich: clamp → mean", "votes: hard → share"):
        value, low, high = (
            100 * n for n in (by_name[name].value, by_name[name].low, by_name[name].high)
        )
        assert f"{value:.1f} % [{low:.1f}, {high:.1f}]" in text
