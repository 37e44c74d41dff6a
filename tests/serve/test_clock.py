"""The server's clock: whatever is done to the time of day, leases last as long as they should."""

from __future__ import annotations

import time

import httpx
import pytest

from softlabel import store as stores
from softlabel.serve.site import Clock
from softlabel.store import ItemRow, Plan

HOUR, DAY = 3600.0, 86_400.0
PLAN = Plan(per_item=1, lease_seconds=HOUR)


class Machine:
    """A machine whose time of day can be set, and on which time passes all the same."""

    def __init__(self) -> None:
        self.set_by, self.passed = 1_800_000_000.0, 50.0

    def wall(self) -> float:
        return self.set_by + self.passed

    def ticks(self) -> float:
        return self.passed

    def clock(self, newest: float | None = None) -> Clock:
        return Clock(newest, wall=self.wall, ticks=self.ticks)


@pytest.fixture
def machine():
    return Machine()


def test_a_clock_starts_at_the_time_of_day_and_goes_on_by_itself(machine):
    clock = machine.clock()
    assert clock() == machine.wall()
    machine.passed += 10
    assert clock() == machine.wall()
    before = clock()
    for jump in (-HOUR, DAY, -2 * DAY):
        machine.set_by += jump
        assert clock() == before
    machine.passed += 5
    assert clock() == before + 5


def test_the_real_clock_is_the_time_of_day():
    clock = Clock()
    assert abs(clock() - time.time()) < 60
    times = [clock() for _ in range(1000)]
    assert times == sorted(times)
    assert clock.behind == 0


def everything_at_once(folder):
    """One person holds all six items."""
    path = folder / "study.toml"
    text = path.read_text().replace("per_annotator = 4", "per_annotator = 6")
    path.write_text(text.replace("batch_size = 3", "batch_size = 6"))


@pytest.mark.parametrize("jump", [-HOUR, DAY], ids=["back an hour", "forward a day"])
def test_setting_the_time_of_day_changes_no_lease(serving, machine, jump):
    running = serving(per_item=1, edit=everything_at_once, clock=machine.clock())
    ann = running.person().to_task()
    machine.set_by += jump
    machine.passed += HOUR - 60
    assert running.person().heading() == "There is nothing left to do"
    assert ann.open_positions(), "what she holds is hers; asking extends the lease"
    machine.passed += HOUR + 1
    assert running.person().heading() == "Before you begin"
    assert running.person().to_task().open_positions()


def test_the_time_of_day_set_back_between_two_runs_makes_no_lease_longer(machine, tmp_path):
    with stores.open(tmp_path / "answers.db") as store:
        assert store.newest() is None
        now = machine.clock(store.newest())
        put(store, now)
        hold(store, now)
        machine.passed += 30
        store.lease(store.sessions("birds")[0].id, PLAN, now()).result()
        held = now()
    machine.set_by -= HOUR
    with stores.open(tmp_path / "answers.db") as store:
        assert store.newest() == held
        again = machine.clock(store.newest())
        assert (again(), again.behind) == (held, HOUR)
        machine.passed += HOUR - 1
        assert store.release_expired("birds", again()).result() == 0
        machine.passed += 2
        assert store.release_expired("birds", again()).result() == 1


def put(store, now):
    items = [ItemRow("bird-0")]
    store.put_study("birds", "[study]", ("wren", "owl"), items, 1, now()).result()


def hold(store, now):
    who = store.enter(
        "birds",
        "ann",
        "token of ann",
        label_order_of=lambda number: ("wren", "owl"),
        seed=0,
        recruiter_session=None,
        now=now(),
    ).result()
    store.lease(who.id, PLAN, now()).result()


def test_a_real_server_goes_on_from_the_newest_entry(serve_study, study_folder, tmp_path):
    """The database was written to by a machine that was a day ahead."""
    folder, later = study_folder(), time.time() + DAY
    place = tmp_path / "answers.db"
    with stores.open(place) as store:
        put(store, lambda: later)
        store.event("birds", None, "noted", {}, later).result()
    with stores.open(tmp_path / "answers.db") as store:
        assert store.newest() == later
    served = serve_study(folder, "--db", place)
    assert "minutes behind the newest entry" in served.log.read_text()
    boxes = {"adult": "on", "read": "on", "agree": "on"}
    own = {"sec-fetch-site": "same-origin"}
    assert httpx.post(f"{served.url}/consent", data=boxes, headers=own).status_code == 303
    with stores.open(place) as store:
        assert store.sessions("birds")[0].entered_at >= later
