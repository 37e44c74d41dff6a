"""Live allocation through the real server: simulated people, whose splits are known, take part."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import uuid
from collections import Counter

import numpy as np
import pytest

from softlabel import store as stores
from softlabel import study as studies
from softlabel.allocate import FitVotes
from softlabel.metrics import kl
from softlabel.serve import actions, allocation
from softlabel.serve.databases import put_study
from softlabel.serve.participant.plans import lease_plan
from softlabel.serve.ranking import EVERY, LONGEST, PATIENCE, Evidence, Ranker, count_allowed
from softlabel.serve.researcher.export import chunks
from softlabel.serve.researcher.overview import count_answers
from softlabel.serve.researcher.sample import Throttle
from softlabel.store import Act, NewResponse, Timing

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
    """People agree about most items, and divide over all labels of the first ones."""
    rng = np.random.default_rng(seed)
    split = np.full((items, 4), 0.01 / 3)
    split[np.arange(items), rng.integers(0, 4, items)] = 0.99
    split[:hard] = rng.dirichlet([8.0] * 4, hard)
    return split


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


def test_labels_are_better_than_those_of_equal_votes(crowd):
    """The same number of answers, pooled in the same way, to the same simulated crowds."""
    lost = {"[allocate]\nleast = 3\n": [], "": []}
    for seed in range(4):
        split = make_splits(seed, 40, 6)
        for allocate, found in lost.items():
            one = crowd(allocate, split, seed, items=40, per_item=6, each=10).fill()
            evidence = Evidence(one.study, one.store)
            evidence.read_new(Throttle())
            votes, answers = evidence.count()
            assert answers.sum() == 40 * 6
            found.append(kl(split, FitVotes()(evidence.index, votes).mean()).mean())
    live, equal = (np.mean(found) for found in lost.values())
    assert live <= equal


def test_items_that_are_done_are_not_shown_and_the_study_is_full(crowd):
    one = crowd("[allocate]\nstop = 0.02\nmost = 12\n").fill()
    counts, known = one.counts(), one.store.ranking("live")
    assert counts.sum() < 6 * ITEMS
    assert counts[:HARD].mean() > counts[HARD:].mean()
    assert known.report["done"] == ITEMS
    assert not one.has_room()
    assert one.visit() == 0
    told = count_answers(one.study, one.store)
    assert (told.done, told.missing) == (ITEMS, 0)


def test_a_budget_ends_the_study(crowd):
    one = crowd("[allocate]\nbudget = 240\n", each=20)  # of answers that take 2 s each
    while one.visit():
        one.rank()
    assert 115 <= one.counts().sum() <= 135  # seconds are known after the first answers
    assert one.store.ranking("live").places == 120
    money = studies.read(write_live(one.study.folder, '[allocate]\nbudget = "3 GBP"\n'))
    assert count_allowed(money, 2.0) == 30  # a session of ten items costs one pound


def test_a_restart_in_the_middle_loses_nothing(crowd):
    one = crowd()
    for number in range(12):
        one.visit()
        one.rank(LONGEST if number % 4 == 3 else EVERY)
    before, places = one.store.ranking("live").report, one.counts().sum()
    assert len(before["history"]) > 3
    again = Ranker(one.study, one.store, one.clock)
    one.ranker = again
    one.rank(60.0)
    after = one.store.ranking("live").report
    assert after["answers"] == before["answers"] == places
    assert after["history"][:-1] == before["history"]
    assert one.fill().counts().sum() == 6 * ITEMS


def test_people_who_are_left_out_do_not_count(crowd):
    one = crowd(each=ITEMS)
    one.visit()
    one.visit()
    one.rank()
    assert one.ranker.state.answers.tolist() == [2] * ITEMS
    who = one.store.sessions("live")[0].annotator
    one.store.exclude(Act("live", "somebody", one.clock()), who, "noise").result()
    one.rank(LONGEST)
    assert one.ranker.state.answers.tolist() == [1] * ITEMS
    assert one.ranker.evidence.given == 2 * ITEMS


def test_two_rankers_take_turns(crowd):
    """As in two processes: one does the work, and the other goes on when it ends."""
    one = crowd()
    other = Ranker(one.study, one.store, one.clock)
    one.visit()
    one.rank()
    assert not other.step(share=1.0)  # it was done a moment ago
    one.visit()
    one.clock.at += PATIENCE
    assert other.step(share=1.0)
    assert one.store.ranking("live").report["answers"] == 20
    assert not one.ranker.step(share=1.0)


def test_chances_are_stored_and_exported(crowd):
    one = crowd(repeats=1)
    one.visit()
    one.rank()
    one.visit()
    rows = list(one.store.responses("live"))
    assert {row.kind for row in rows if row.propensity is None} == {"repeat"}
    targets = [row for row in rows if row.kind == "target"]
    first = targets[:10]  # ten of forty, equally likely
    assert sorted(1 / row.propensity for row in first) == pytest.approx(range(31, 41))
    assert all(0 < row.propensity <= 1 for row in targets)
    lines = b"".join(chunks(one.study, one.store, "jsonl")).decode().splitlines()
    shown = [json.loads(line)["presentation"] for line in lines]
    assert [row.get("propensity") for row in shown] == [row.propensity for row in rows]
    table = b"".join(chunks(one.study, one.store, "csv")).decode().splitlines()
    place = table[0].split(",").index("propensity")
    assert float(table[1].split(",")[place]) == rows[0].propensity


def test_models_give_the_first_word(crowd, tmp_path):
    split = make_splits()
    folder = tmp_path / "study-0"
    (folder / "judges").mkdir(parents=True)
    said = [
        {"item": f"i{n}", "model": "m", **dict(zip(LABELS, row, strict=True))}
        for n, row in enumerate(split.tolist())
    ]
    text = "".join(f"{json.dumps(row)}\n" for row in said)
    (folder / "judges" / "m.jsonl").write_text(text)
    one = crowd('[allocate]\njudges = "m"\n', split=split)
    assert one.study.allocate.least == 1
    for _ in range(5):
        one.visit()
    one.rank()
    assert "1 model calibrated" in one.store.ranking("live").report["judges"]


def test_the_dashboard_tells_what_was_reached(crowd):
    one = crowd()
    for _ in range(14):
        one.visit()
        one.rank()
    one.rank(LONGEST)
    counts = count_answers(one.study, one.store)
    progress = allocation.read_progress(one.study, counts)
    facts = dict(allocation.list_facts(progress))
    assert facts["Items done"] == f"0 of {ITEMS}"
    assert facts["Time spent answering"] == "5 min"  # 140 answers of 2 s
    assert facts["Time to go, at most"] == "3 min"
    assert (facts["Spent on answers"], facts["To go, at most"]) == ("GBP 14.00", "GBP 10.00")
    assert 0 < progress.kl[0] < 1
    assert progress.gain[1] <= progress.gain[0] <= progress.gain[2]
    saved = f"{abs(100 * progress.saving):.0f} %"
    assert f"140 answers do what {progress.equal_answers:,.0f} equal" in allocation.describe(
        progress
    )
    assert saved in allocation.describe(progress)
    chart = str(allocation.draw(progress))
    assert "this study" in chart
    assert "equal votes" in chart


POOL = """
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from softlabel._util.machine import end_with_parent

if __name__ == "__main__":
    pool = ProcessPoolExecutor(1, get_context("spawn"), initializer=end_with_parent)
    print(pool.submit(abs, -7).result(), flush=True)
    sys.stdin.read()
"""


def test_the_process_that_computes_ends_with_a_server_that_is_killed(tmp_path):
    """It has the same standard output, which ends when all are gone that have it."""
    (tmp_path / "pool.py").write_text(POOL)
    command = [sys.executable, str(tmp_path / "pool.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"7\n"
        process.kill()
        assert process.communicate(timeout=30)[0] == b""


def test_the_number_of_answers_is_an_average(crowd):
    one = crowd("[allocate]\nmost = 9\n")
    desk = actions.Desk(one.study, one.store, "somebody", one.clock())
    quota = actions.SetPerItem(8)
    assert quota.explain(desk)[0] == (
        "Items get 8 answers on average, none more than 9; now it is 6."
    )
    assert quota.do(desk) == "Items get 8 answers on average, none more than 9."
    again = actions.SetPerItem(None).explain(desk)[0]
    assert again.startswith("Items get 6 answers on average, none more than 9, as study.toml says")
    counts = one.fill().counts()
    assert counts.sum() == 8 * ITEMS
    assert counts.min() < 8 < counts.max() <= 9


def test_people_take_part_through_the_server(serving):
    """Practice, checks and repeats come as ever; when all is done nobody is let in."""
    running = serving(mode="hard", per_item=2, edit=add_allocation)
    ranker = Ranker(running.study, running.store, running.clock)
    for number in range(3):
        person = running.person().to_task()
        while positions := person.open_positions():
            for position in positions:
                assert person.give(position, answer={"label": "wren"}).status_code == 200
        assert person.post("/api/finish", json={}).json()["next"] == "/"
        running.clock.ahead += 60 * (number + 1)
        assert ranker.step(share=1.0)
    kinds = Counter(row.kind for row in running.responses())
    assert kinds == {"training": 3, "target": 12, "attention": 3, "repeat": 3}
    assert running.person().heading() == "There is nothing left to do"


def add_allocation(folder):
    with (folder / "study.toml").open("a") as file:
        file.write("\n[allocate]\nleast = 1\n")
