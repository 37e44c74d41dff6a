"""The demo as a whole: what it prints, the files it writes, and the numbers on its page."""

from __future__ import annotations

import csv
import json
import math
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from softlabel.cli import main
from softlabel.cli.demo import PLACES, load_demo
from softlabel.metrics import entropy, kl
from softlabel.simulate import draw_participants
from softlabel.study import shapes
from softlabel.tables import SoftLabels
from softlabel.train import runs

demo, findings, page = (load_demo(name) for name in ("demo", "findings", "page"))
ITEMS, ANNOTATORS, PER_ITEM = findings.ITEMS, findings.ANNOTATORS, findings.PER_ITEM
ROOT = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="session")
def document(demo_folder) -> str:
    return (demo_folder / "index.html").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def output(demo_folder) -> str:
    """What the demo printed."""
    return (demo_folder.parent / "output.txt").read_text(encoding="utf-8")


class Interval(NamedTuple):
    value: float
    low: float
    high: float


@pytest.fixture(scope="session")
def errors(output) -> dict[str, Interval]:
    """The total variation of each recipe, as printed."""
    lines = re.findall(r"^  ((?:rich|votes): .*?)  +(\S+) \[(\S+), (\S+)\]", output, re.MULTILINE)
    return {name: Interval(*map(float, numbers)) for name, *numbers in lines}


# ── what is printed ──────────────────────────────────────────────────────────────────────────


def test_every_step_is_a_command_that_can_be_copied(output, demo_folder):
    commands = re.findall(r"^\$ softlabel (\S+) (\S+)", output, re.MULTILINE)
    assert [name for name, _ in commands] == [
        *("check", "simulate", "export", "label", "label", "grid", "evaluate")
    ]
    assert all(first.startswith(str(demo_folder)) for _, first in commands)
    assert output.endswith(f"wrote {demo_folder / 'index.html'}\n")


def test_a_table_of_recipes_is_printed(errors):
    assert list(errors) == [recipe.name for recipe in findings.RECIPES]
    assert all(one.low < one.value < one.high for one in errors.values())


def test_the_readme_shows_the_results_of_the_demo(errors):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in ("rich: clamp → mean", "votes: hard → share"):
        value, low, high = (100 * number for number in errors[name])
        assert f"{value:.1f} % [{low:.1f}, {high:.1f}]" in text


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


def test_the_page_is_accessible(document):
    root = ET.fromstring(document.partition("\n")[2])
    headings = [e.tag for e in root.iter() if e.tag in ("h1", "h2", "h3", "h4")]
    assert headings.count("h1") == 1
    assert headings[0] == "h1"
    assert all(image.get("alt") is not None for image in root.iter("img"))
    described = [image for image in root.iter("img") if image.get("alt")]
    assert len(described) == page.EXAMPLES + page.PREDICTIONS
    for chart in root.iter(SVG + "svg"):
        assert chart.find(SVG + "title").text
    for table in root.iter("table"):
        assert table.find("caption").text
        assert all(th.get("scope") for th in table.iter("th"))


def test_the_page_shows_every_recipe_delivery_annotator_and_picture(document):
    for recipe in findings.RECIPES:
        assert recipe.name in document
        assert recipe.words in document
    for name, words in findings.DELIVERIES.items():
        assert f">{name}<" in document
        assert words in document
    for name in findings.ANNOTATOR_NAMES.tolist():
        assert name in document
    assert document.count("<img ") == page.EXAMPLES + page.STRIP + page.PREDICTIONS


def test_the_page_has_the_main_numbers(document, errors):
    for name in ("rich: clamp → mean", "votes: hard → share"):
        value, low, high = (f"{100 * number:.1f}" for number in errors[name])
        assert f"{value}\u00a0% ({low} to {high})" in document
    assert "seed 0" in document


# ── the labels, computed again from the files ────────────────────────────────────────────────


def read_answers(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "answers.jsonl").read_text().splitlines()]


def clamp(answer: dict, labels: list[str]) -> list[float]:
    """Collins et al. 2022 in plain Python, for answers without contradictions."""
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


def test_the_labels_are_the_means_of_the_answers(demo_folder):
    labels = SoftLabels.load(demo_folder / "labels.npz")
    truth = SoftLabels.load(demo_folder / "truth.npz")
    names = labels.index.labels.tolist()
    assert names == truth.index.labels.tolist() == list(shapes.LABELS)
    pools: dict[str, list[list[float]]] = {}
    for row in read_answers(demo_folder):
        if row["presentation"]["kind"] == "target":
            pools.setdefault(row["item"], []).append(clamp(row["answer"], row["labels"]))
    for item, probs in zip(labels.index.items.tolist(), labels.probs, strict=True):
        mean = [sum(column) / PER_ITEM for column in zip(*pools[item], strict=True)]
        np.testing.assert_allclose(probs, mean, atol=1e-12)
    assert (labels.count == PER_ITEM).all()


def rows_of(path: Path, items: list[str]) -> np.ndarray:
    """The labels of these items, in this order."""
    labels = SoftLabels.load(path)
    place = {name: row for row, name in enumerate(labels.index.items.tolist())}
    return labels.probs[[place[name] for name in items]]


def test_the_errors_are_those_of_the_files(demo_folder, errors, document):
    truth = SoftLabels.load(demo_folder / "truth.npz")
    items = truth.index.items.tolist()
    rich = rows_of(demo_folder / "labels.npz", items)
    shares, all_shares = count_votes(demo_folder, items)
    np.testing.assert_allclose(rows_of(demo_folder / "shares.npz", items), all_shares)
    cells = table_rows(document, "recipe")
    for name, probs in (("rich: clamp → mean", rich), ("votes: hard → share", shares)):
        pairs = list(zip(truth.probs.tolist(), probs.tolist(), strict=True))
        tv = [sum(abs(t - p) for t, p in zip(*pair, strict=True)) / 2 for pair in pairs]
        nats = [
            sum(t * math.log(t / max(p, findings.KL_FLOOR)) for t, p in zip(*pair, strict=True))
            for pair in pairs
        ]
        entropies = [
            [-sum(p * math.log(p) for p in row if p > 0) for row in table]
            for table in (truth.probs, probs)
        ]
        assert errors[name].value == pytest.approx(np.mean(tv), abs=1e-4)
        assert cells[name][0] == f"{np.mean(tv):.3f}"
        assert cells[name][1] == f"{np.mean(nats):.3f}"
        assert cells[name][2] == f"{np.corrcoef(entropies)[0, 1]:.2f}"
    assert cells["votes: hard → majority"][2] == "–", "the entropy is always 0: no correlation"


def count_votes(folder: Path, items: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Shares of the votes of those who also filled in the form, and of all votes."""
    assigned = {(row["item"], row["annotator"]) for row in read_answers(folder)}
    with (folder / "votes.csv").open() as file:
        votes = list(csv.DictReader(file))
    assert len(votes) == ITEMS * ANNOTATORS
    some = [vote for vote in votes if (vote["item"], vote["annotator"]) in assigned]
    shares = []
    for chosen, number in ((some, PER_ITEM), (votes, ANNOTATORS)):
        counts = Counter((vote["item"], vote["label"]) for vote in chosen)
        shares.append(np.array([[counts[i, c] / number for c in shapes.LABELS] for i in items]))
    return shares[0], shares[1]


def table_rows(document: str, first_column: str) -> dict[str, list[str]]:
    """The first word of every cell of a table, by the header of its row."""
    for table in ET.fromstring(document.partition("\n")[2]).iter("table"):
        if next(table.iter("th")).text == first_column:
            rows = [list(row) for row in table.find("tbody").iter("tr")]
            return {
                row[0].text: ["".join(cell.itertext()).split()[0] for cell in row[1:]]
                for row in rows
            }
    raise AssertionError(f"no table begins with {first_column}")


# ── the other files ──────────────────────────────────────────────────────────────────────────


def test_answers_are_in_the_exchange_format(demo_folder):
    rows = read_answers(demo_folder)
    assert len(rows) == ITEMS * PER_ITEM + ANNOTATORS * findings.REPEATS
    for row in rows:
        assert list(row) == ["schema", "item", "annotator", "labels", "presentation", "answer"]
        assert row["schema"] == "softlabel.response/1"
        assert row["presentation"]["kind"] in ("target", "repeat")
        assert (row["presentation"]["mode"], row["presentation"]["mode_version"]) == ("classic", 1)
    kinds = Counter(row["presentation"]["kind"] for row in rows)
    assert kinds["repeat"] == ANNOTATORS * findings.REPEATS


def test_the_answers_came_through_a_served_study(demo_folder, tmp_path):
    """Everybody answered their share, under a pseudonym; the export makes the same labels."""
    export = demo_folder / "study/responses.jsonl"
    rows = [json.loads(line) for line in export.read_text().splitlines()]
    each = Counter(row["annotator"] for row in rows)
    assert len(each) == ANNOTATORS
    assert set(each.values()) == {ITEMS * PER_ITEM // ANNOTATORS + findings.REPEATS}
    assert all(re.fullmatch("[0-9a-f]{16}", name) for name in each)
    assert {row["presentation"]["mode"] for row in rows} == {"classic"}
    again = tmp_path / "labels.npz"
    steps = ["--construct", "clamp", "--aggregate", "mean", "--repeats", "first"]
    assert main(["label", str(export), str(again), *steps]) == 0
    items = SoftLabels.load(again).index.items.tolist()
    assert len(items) == ITEMS
    ours = rows_of(demo_folder / "labels.npz", items)
    np.testing.assert_allclose(rows_of(again, items), ours, atol=1e-12)


def test_annotators_keep_their_answers_under_their_new_names(demo_folder):
    """The least agreeing annotators in ``answers.jsonl`` are the careless ones of people.csv."""
    with (demo_folder / "people.csv").open() as file:
        people = list(csv.DictReader(file))
    assert [int(person["person"]) for person in people] == list(range(1, ANNOTATORS + 1))
    careless = {
        f"annotator-{int(person['person']):02d}"
        for person in people
        if float(person["carelessness"]) >= 0.5
    }
    assert len(careless) == findings.CARELESS
    labels = SoftLabels.load(demo_folder / "labels.npz")
    pooled = dict(zip(labels.index.items.tolist(), labels.probs, strict=True))
    distance: dict[str, list[float]] = {}
    for row in read_answers(demo_folder):
        apart = abs(np.array(clamp(row["answer"], row["labels"])) - pooled[row["item"]]).sum()
        distance.setdefault(row["annotator"], []).append(apart)
    worst = sorted(distance, key=lambda name: -np.mean(distance[name]))
    assert set(worst[: findings.CARELESS]) == careless


def test_the_pictures_are_in_the_study_folder(demo_folder):
    items = SoftLabels.load(demo_folder / "truth.npz").index.items.tolist()
    assert sorted(path.stem for path in (demo_folder / "study" / "images").iterdir()) == items


# ── training ─────────────────────────────────────────────────────────────────────────────────


def test_networks_see_small_pictures_light_on_dark(demo_folder):
    with np.load(demo_folder / "pictures.npz") as file:
        small, items = file["images"], file["items"].tolist()
    side = findings.SIDE
    assert small.shape == (ITEMS + findings.UNSEEN, side, side, 3)
    assert small.dtype == np.uint8
    assert small[:, 0].mean() < 30  # the background, as dark as the padding of a crop
    pictures, _ = demo.draw_pictures(ITEMS, "picture", np.random.default_rng(0))
    assert items[0] == "picture-001"
    assert small[0, 5, 7, 1] == round(255 - pictures[0][10:12, 14:16, 1].astype(float).mean())


def test_unseen_pictures_are_not_in_the_study(demo_folder):
    with np.load(demo_folder / "pictures.npz") as file:
        images = [image.tobytes() for image in file["images"]]
    assert not set(images[:ITEMS]) & set(images[ITEMS:])
    drawn = [demo.draw_pictures(10, "unseen", np.random.default_rng([seed, 2])) for seed in (0, 1)]
    assert not np.array_equal(drawn[0][1].probs, drawn[1][1].probs)


def test_networks_learn_the_truth_and_learn_it_better_from_soft_labels(demo_folder, document):
    truth = SoftLabels.load(demo_folder / "unseen.npz").probs
    found = {}
    for name in findings.DELIVERIES:
        some = runs.find(demo_folder / "runs", deliver=name)
        assert [run.seed for run in some] == list(range(findings.SEEDS))
        found[name] = np.mean([kl(truth, run.predictions.probs).mean() for run in some])
    knows_nothing = np.tile(truth.mean(axis=0), (len(truth), 1))
    assert found["aggregate"] < 0.25 < kl(truth, knows_nothing).mean() / 2
    assert found["aggregate"] < found["hard"] / 2
    cells = table_rows(document, "delivery")
    assert list(cells) == sorted(found, key=found.__getitem__)
    assert {name: row[0] for name, row in cells.items()} == {
        name: f"{value:.3f}" for name, value in found.items()
    }


def test_a_run_of_the_grid_is_the_same_as_a_run_alone(demo_folder, tmp_path):
    grid = (demo_folder / "training.toml").read_text(encoding="utf-8")
    grid = re.sub(r"(?m)^deliver = .*$", 'deliver = "sls"', grid)
    grid = re.sub(r"(?m)^seeds = .*$", "seeds = [2]", grid)
    grid = re.sub(r"(?m)^out = .*$", f"out = '{tmp_path / 'runs'}'", grid)
    (tmp_path / "alone.toml").write_text(grid, encoding="utf-8")
    assert main(["grid", str(tmp_path / "alone.toml")]) == 0
    ((ours,), (alone,)) = (
        runs.find(folder / "runs", deliver="sls", seed=2) for folder in (demo_folder, tmp_path)
    )
    assert ours.name == alone.name
    np.testing.assert_allclose(ours.predictions.probs, alone.predictions.probs, atol=1e-5)


# ── without torch, and once more ─────────────────────────────────────────────────────────────


@pytest.fixture(scope="session")
def untrained(run_demo_once):
    """The demo in the folder of an old one, and what it prints where torch is not installed."""

    def leave_over(folder):
        for name in ("truth.npz", "runs/old/config.json"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("left over")

    folder = run_demo_once("untrained", "sys.modules['torch'] = None", leave_over)
    return folder, (folder.parent / "output.txt").read_text(encoding="utf-8")


def test_without_torch_the_rest_of_the_page_is_written(untrained):
    folder, printed = untrained
    install = "pip install 'softlabel[train]'"
    assert f"no network was trained: {install}" in printed
    text = " ".join("".join(ET.parse(folder / "index.html").getroot().itertext()).split())
    assert "No network was trained" in text
    assert install in text
    assert "Can careless annotators be detected?" in text
    assert "training.toml" not in text
    assert (folder / "labels.npz").is_file()
    assert not (folder / "runs").exists(), "an old demo may be replaced, with all that it trained"


def lasting(folder: Path) -> dict[Path, bytes]:
    """The files that do not depend on training, times or random ids."""
    changing = ("index.html", "people.csv", "study/.softlabel", "study/responses.jsonl")
    trained = ("pictures.npz", "unseen.npz", "training.toml", "runs")
    return {
        path.relative_to(folder): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not any(path.is_relative_to(folder / name) for name in (*changing, *trained))
    }


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(
    demo_folder, document, untrained
):
    first, again = lasting(demo_folder), lasting(untrained[0])
    assert len(first) == 5 + 2 + ITEMS
    assert list(again) == list(first)
    for name, content in first.items():
        assert again[name] == content, name
    page_again = (untrained[0] / "index.html").read_text(encoding="utf-8")
    sections = [text.split("<section ") for text in (document, page_again)]
    same = [one == two for one, two in zip(*sections, strict=True)]
    assert same == [True] * 7 + [False, True, False], "all but training and how it was made"
    faults = [
        [line.rpartition(",")[0] for line in (folder / "people.csv").read_text().splitlines()]
        for folder in (demo_folder, untrained[0])
    ]
    assert faults[0] == faults[1]
    drawn = [demo.draw_pictures(9, "x", np.random.default_rng(seed))[1] for seed in (0, 1)]
    assert not np.array_equal(drawn[0].probs, drawn[1].probs)
    assert draw_participants(ANNOTATORS, 1) != draw_participants(ANNOTATORS, 0)


def test_other_files_are_left_alone(tmp_path, capsys):
    (tmp_path / "votes.csv").write_text("mine")
    assert main(["demo", str(tmp_path)]) == 1
    assert "holds other files" in capsys.readouterr().err
    assert (tmp_path / "votes.csv").read_text() == "mine"
    assert main(["demo", str(tmp_path / "d"), "--seed", "-1"]) == 2


def test_the_script_runs_by_itself(tmp_path):
    """As ``python examples/demo/demo.py``; a folder that is refused is enough to load it all."""
    (tmp_path / "votes.csv").write_text("mine")
    script = str(PLACES[1] / "demo.py")
    done = subprocess.run(
        [sys.executable, script, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == (
        f"error: {tmp_path}: holds other files; name a new folder or an old demo\n"
    )


def test_loading_the_demo_shadows_no_module_of_the_user():
    assert str(PLACES[1]) not in sys.path
    assert not {"demo", "findings", "page", "charts"} & set(sys.modules)


# ── pictures ─────────────────────────────────────────────────────────────────────────────────


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


def test_blends_differ_in_entropy():
    _, truth = demo.draw_pictures(ITEMS, "picture", np.random.default_rng(0))
    assert entropy(truth.probs).min() < 0.2
    assert entropy(truth.probs).max() > 1
