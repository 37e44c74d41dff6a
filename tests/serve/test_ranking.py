"""Live allocation through the real server: simulated people, whose splits are known, take part."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections import Counter
from contextlib import ExitStack
from itertools import cycle

import httpx
import numpy as np
import pytest

from softlabel import store as stores
from softlabel import study as studies
from softlabel.aggregate import DirichletMixture
from softlabel.metrics import kl
from softlabel.serve import allocation
from softlabel.serve.databases import put_study
from softlabel.serve.participant.plans import lease_plan
from softlabel.serve.ranking import EVERY, LONGEST, Ranker, count_allowed
from softlabel.serve.researcher.export import chunks
from softlabel.serve.researcher.overview import count_answers
from softlabel.store import Act, NewResponse, Timing
from softlabel.tables import Annotations, Index, names

LABELS = ("ant", "bee", "cow", "dog")
STUDY = """
[study]
name = "live"
labels = ["ant", "bee", "cow", "dog"]
mode = "hard"
[items]
source = "items.csv"
per_item = {per_item}
per_annotator = {each}
batch_size = {each}
repeats = {repeats}
[quiz]
ask = false
[debrief]
ask = false
[pay]
currency = "GBP"
minutes = 5
per_session = 1.0
"""
ITEMS, HARD = 40, 10  # of which people divide over the first ones


def write_live(folder, allocate="[allocate]\n", items=ITEMS, per_item=6, each=10, repeats=0):
    folder.mkdir(exist_ok=True, parents=True)
    rows = [f"i{n},word {n}" for n in range(items)]
    (folder / "items.csv").write_text("\n".join(["id,text", *rows]) + "\n")
    text = STUDY.format(per_item=per_item, each=each, repeats=repeats)
    (folder / "study.toml").write_text(text + allocate)
    return folder


def make_splits(seed=0, items=ITEMS, hard=HARD):
    """People agree about most items, and divide over two labels of the first ones."""
    rng = np.random.default_rng(seed)
    top = rng.integers(0, 4, items)
    split = np.full((items, 4), 0.002)
    split[np.arange(items), top] = 0.994
    share = rng.uniform(0.35, 0.65, hard)
    split[np.arange(hard), top[:hard]] = 0.996 - share
    split[np.arange(hard), (top[:hard] + 1) % 4] = share
    return split / split.sum(axis=1, keepdims=True)


class Clock:
    def __init__(self, at=1_800_000_000.0):
        self.at = at

    def __call__(self):
        return self.at


class Crowd:
    """People who answer by the splits of the items, one after the other, straight to the store."""

    def __init__(self, folder, db, split, seed=1):
        self.study, self.clock, self.split = studies.read(folder), Clock(), split
        self.rng = np.random.default_rng(seed)
        self.store = stores.open(db)
        put_study(self.study, self.store, self.clock())
        self.came = len(self.store.sessions("live"))
        self.ranker = None
        if self.study.allocate is not None:
            self.ranker = Ranker(self.study, self.store, self.clock)
            self.rank()

    def rank(self, seconds=EVERY):
        if self.ranker is not None:
            self.clock.at += seconds
            assert self.ranker.step(share=1.0)

    def enter(self):
        self.came += 1
        name = f"person {self.came}"
        return self.store.enter(
            "live",
            name,
            f"token of {name}",
            label_order_of=lambda number: LABELS,
            seed=0,
            recruiter_session=None,
            now=self.clock(),
        ).result()

    def lease(self, me):
        portion = self.store.lease(me.id, lease_plan(self.study), self.clock()).result()
        return [shown for shown in portion.showings if shown.state == "open"]

    def answer(self, me, shown):
        label = LABELS[self.rng.choice(4, p=self.split[int(shown.item[1:])])]
        answer = json.dumps({"label": label})
        new = NewResponse(
            str(uuid.uuid4()),
            shown.position,
            answer,
            f'{{"answer": {answer}}}',
            "hard",
            1,
            "digest",
            timing=Timing(active_ms=2000.0),
        )
        self.store.answer(me.id, new, self.clock()).result()

    def visit(self):
        """One person answers what they are given; how much that was."""
        me, given = self.enter(), 0
        while waiting := self.lease(me):
            for shown in waiting:
                self.answer(me, shown)
            given += len(waiting)
        self.store.finish(me.id, self.clock()).result()
        return given

    def fill(self, most=200):
        """People come until nobody gets an item."""
        for _ in range(most):
            if not self.visit():
                return self
            self.rank()
        raise AssertionError("the study never became full")

    def has_room(self):
        return self.store.has_room("live", batches=False, live=lease_plan(self.study).live)

    def counts(self):
        per_item = self.store.answers_per_item("live")
        return np.array([per_item[f"i{n}"] for n in range(len(per_item))])


@pytest.fixture
def crowd(tmp_path, empty_database):
    import shutil

    made = []

    def make(allocate="[allocate]\n", split=None, seed=1, **changes):
        folder = write_live(tmp_path / f"study-{len(made)}", allocate, **changes)
        db = tmp_path / f"{len(made)}.db"
        shutil.copy(empty_database, db)
        made.append(Crowd(folder, db, make_splits() if split is None else split, seed))
        return made[-1]

    yield make
    for one in made:
        one.store.close()


def test_items_over_which_people_divide_get_more_answers(crowd):
    counts = crowd().fill().counts()
    assert counts.sum() == 6 * ITEMS
    assert counts.min() >= 2
    assert counts.max() <= 24
    assert counts[:HARD].mean() > 1.3 * counts[HARD:].mean()
