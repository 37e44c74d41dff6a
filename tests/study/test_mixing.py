"""Batches of ambiguous and easy items, by hand and beside the published ones."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from softlabel import datasets, study
from softlabel.cli import main
from softlabel.datasets import MissingData
from softlabel.errors import SoftlabelError
from softlabel.study.mixing import Mixture, mix

KNOWN = {f"a{n}": 0.3 + n / 100 for n in range(20)} | {f"e{n}": 0.0 for n in range(7)}
KNOWN |= {"between": 0.2, "at-0.25": 0.25, "at-0.1": 0.1}
SMALL = Mixture(size=5, easy=2)


def kinds(batch):
    return Counter("easy" if name[0] == "e" or name == "at-0.1" else "ambiguous" for name in batch)


def test_every_batch_has_its_share_and_no_item_is_in_two():
    mixed = mix(KNOWN, SMALL)
    assert list(mixed.batches) == ["0", "1", "2", "3"]  # 8 easy items are enough for four
    every = [item for batch in mixed.batches.values() for item in batch]
    assert len(every) == len(set(every)) == 20
    assert all(kinds(batch) == {"ambiguous": 3, "easy": 2} for batch in mixed.batches.values())
    assert (mixed.items.between, mixed.count("easy"), mixed.count("ambiguous")) == (
        ("between",),
        8,
        12,
    )


def test_the_first_batches_may_do_without_easy_items():
    mixed = mix(KNOWN, Mixture(size=5, easy=2, batches=4, without_easy=1))
    counts = [kinds(batch)["easy"] for batch in mixed.batches.values()]
    assert counts == [0, 2, 2, 2]


def test_the_seed_decides_which_items_and_where():
    first, again, other = (mix(KNOWN, Mixture(5, 2, seed=seed)).batches for seed in (1, 1, 2))
    assert first == again != other
    places = [
        place
        for seed in range(200)
        for place, name in enumerate(mix(KNOWN, Mixture(5, 2, batches=1, seed=seed)).batches["0"])
        if kinds([name])["easy"]
    ]
    # 400 easy items in five places: each place has 80 on average, with a standard deviation of 7.7
    assert all(abs(count - 80) < 4 * 7.7 for count in Counter(places).values())


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"size": 5, "easy": 6}, "--easy 6: must be at least 0 and at most the size"),
        ({"easy_up_to": 0.25}, r"--easy-up-to 0.25: .*below --ambiguous-from 0.25"),
        ({"batches": 2, "without_easy": 3}, "--without-easy 3: there are only 2 batches"),
        ({"batches": 0}, "--batches 0: must be at least 1"),
        ({}, "1 of them need 22 ambiguous items, but only 21 of 30 items are ambiguous"),
        ({"size": 5, "easy": 2, "batches": 5}, "5 of them need 10 easy items, but only 8 of 30"),
    ],
)
def test_what_cannot_be_filled_is_refused_with_its_numbers(options, reason):
    with pytest.raises(SoftlabelError, match=reason):
        mix(KNOWN, Mixture(**options))


# ── the command ──────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def folder(tmp_path, picture):
    """Soft labels of six pictures, three votes each way of which are known, and their table."""
    rows = ["item,cat,dog,count"]
    table = ["id,image,alt"]
    (tmp_path / "p").mkdir()
    for n in range(6):
        rows.append(f"p{n},{1.0 if n < 2 else 0.5},{0.0 if n < 2 else 0.5},4")
        table.append(f'p{n},p/{n}.png,"a pet, {n}"')
        (tmp_path / "p" / f"{n}.png").write_bytes(picture)
    (tmp_path / "labels.csv").write_text("\n".join(rows))
    (tmp_path / "items.csv").write_text("\n".join(table))
    return tmp_path


def run(*words):
    return main(["batches", *map(str, words)])


def test_from_labels_to_a_study_that_can_be_served(folder, capsys):
    out = folder / "batches.csv"
    options = ("--items", folder / "items.csv", "--size", 3, "--easy", 1)
    assert run(folder / "labels.csv", out, *options) == 0
    assert "ambiguous  4 of 4, entropy from 0.25 nats" in capsys.readouterr().out
    words = ["new", str(folder / "pets"), "--table", str(out), "--labels", "cat,dog"]
    assert main(words) == 0
    found = study.read(folder / "pets")
    assert sorted(map(len, found.batches.values())) == [3, 3]
    easy = [sum(item in ("p0", "p1") for item in batch) for batch in found.batches.values()]
    assert easy == [1, 1]
    assert {item.alt for item in found.items} == {f"a pet, {n}" for n in range(6)}


def test_an_allocation_puts_the_items_of_a_table_into_batches(folder):
    assert run(folder / "labels.csv", folder / "own.json", "--size", 3, "--easy", 1) == 0
    toml = '[study]\nlabels = ["cat", "dog"]\n[items]\nsource = "items.csv"\n'
    (folder / "study.toml").write_text(f'{toml}allocation = "own.json"\n')
    found = study.read(folder)
    written = json.loads((folder / "own.json").read_text())["batches"]
    assert {batch: tuple(one["id"] for one in own) for batch, own in written.items()} == (
        found.batches
    )


def test_votes_and_entropies_say_the_same(folder):
    votes = [f"p{n},w{k},{'dog' if n >= 2 and k % 2 else 'cat'}" for n in range(6) for k in (1, 2)]
    (folder / "votes.csv").write_text("\n".join(["item,annotator,label", *votes]))
    nats = [f"p{n},{0 if n < 2 else np.log(2)}" for n in range(6)]
    (folder / "nats.csv").write_text("\n".join(["item,entropy", *nats]))
    texts = []
    for name in ("labels", "votes", "nats"):
        out = folder / f"{name}.jsonl"
        assert run(folder / f"{name}.csv", out, "--size", 3, "--easy", 1, "--seed", 3) == 0
        texts.append(out.read_text())
    assert len(set(texts)) == 1


BAD = {  # a table, and what is said of it
    "item,entropy\na,0.1\na,0.2\n": "line 3, column 'item', value 'a': this item is there already",
    "item,entropy\na,-1\n": "line 2, column 'entropy', value '-1': must be an entropy in nats",
    "item,entropy\na,0.1\nb,\n": "line 3, column 'entropy': must be an entropy in nats",
    "name,entropy\na,0.1\n": "line 2, column 'item': is empty; name the item here or in id",
}


@pytest.mark.parametrize(("text", "reason"), BAD.items(), ids=["twice", "below", "empty", "item"])
def test_a_wrong_table_is_named_and_nothing_is_written(tmp_path, capsys, text, reason):
    (tmp_path / "n.csv").write_text(text)
    assert run(tmp_path / "n.csv", tmp_path / "o.csv") == 1
    assert f"{tmp_path / 'n.csv'}, {reason}" in capsys.readouterr().err
    assert not (tmp_path / "o.csv").exists()


def test_a_table_of_items_that_cannot_be_used_is_refused(folder, capsys):
    out, items = folder / "o.csv", folder / "items.csv"
    for text, reason in (
        ("id,batch\np0,1\n", "value '1': the item is in a batch already; remove this column"),
        ("id,text\nq,one\n", "none of its ids is an item of"),
        ("text\none\n", "column 'id': is empty; it names the item as its label does"),
    ):
        items.write_text(text)
        assert run(folder / "labels.csv", out, "--items", items) == 1
        assert reason in capsys.readouterr().err
    assert run(folder / "labels.csv", folder / "o.json", "--items", items) == 1
    assert "an allocation names items only; write to .csv" in capsys.readouterr().err
    assert not out.exists()


# ── beside the published batches ─────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def votes():
    """The entropies of CIFAR-10H on the 7,000 images of training, and the published batches."""
    try:
        counts = datasets.cifar10h.load("counts").arrays["counts"]
        arrays = datasets.cifar10s.load("all").arrays
    except MissingData as missing:
        pytest.skip(str(missing).splitlines()[0])
    shares = counts / counts.sum(axis=1, keepdims=True)
    logs = np.log(shares, where=shares > 0, out=np.zeros_like(shares))
    nats = -(shares * logs).sum(axis=1)
    known = {str(image): float(nats[image]) for image in arrays["train_indices"]}
    return known, [[str(image) for image in batch] for batch in arrays["batches"]]


def test_the_published_batches_are_mixed_by_the_same_rule(votes):
    """Which images were drawn cannot be computed again: no seed was published."""
    known, published = votes
    ours = mix(known, Mixture(batches=40, without_easy=2))
    items = ours.items
    assert (len(items.ambiguous), len(items.easy)) == (1461, 4706)
    ambiguous, easy = set(items.ambiguous), set(items.easy)
    for batches in (published, ours.batches.values()):
        mixtures = [
            (sum(item in ambiguous for item in batch), sum(item in easy for item in batch))
            for batch in batches
        ]
        assert mixtures == [(25, 0)] * 2 + [(22, 3)] * 38
        assert len({item for batch in batches for item in batch}) == 1000
    assert (ours.count("ambiguous"), ours.count("easy")) == (886, 114)


def test_as_many_batches_as_the_published_images_allow(votes):
    known, _ = votes
    assert len(mix(known).batches) == 1461 // 22
