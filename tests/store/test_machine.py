"""Everything that can happen to places, in any order, as a state machine."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule

from softlabel import store
from softlabel.errors import Conflict
from softlabel.store import ItemRow, Plan

LOOSE = Plan(
    per_item=2,
    per_annotator=3,
    batch_size=2,
    repeats=1,
    repeat_positions=(1,),
    practice=("easy",),
    checks=("robin",),
    lease_seconds=10,
)
BATCHES = Plan(per_item=2, batches=True, repeats=1, repeat_positions=(1,), lease_seconds=10)
EXTRA = (ItemRow("easy", "training"), ItemRow("robin", "gold"))


class Places(RuleBasedStateMachine):
    """People come, lease, answer or skip (also late, also changing their minds), fall silent, come
    back, withdraw, are sent away for skipping, are forgotten."""

    plan = LOOSE
    items = (*(ItemRow(f"bird-{i}") for i in range(4)), *EXTRA)
    people = Bundle("people")
    scene_of = new_place = None  # set by the test

    def __init__(self):
        super().__init__()
        self.stack = ExitStack()
        self.db = self.stack.enter_context(store.open(self.new_place()))
        self.scene = self.scene_of(self.db)
        self.scene.put(self.items, per_item=2)
        self.now, self.entered, self.gone, self.revised = 0.0, 0, set(), 0

    def teardown(self):
        self.stack.close()

    @rule(target=people)
    def enter(self):
        if self.entered == 4:
            return multiple()
        self.entered += 1
        return self.scene.enter(f"ann-{self.entered}", now=self.now)

    @rule(who=people)
    def lease(self, who):
        if who.annotator in self.gone:
            return
        before = self.db.showings(who.id)
        shown = self.scene.lease(who, self.plan, now=self.now)
        assert [s[:6] for s in shown[: len(before)]] == [s[:6] for s in before]
        assert [s.position for s in shown] == list(range(len(shown)))

    @rule(who=people, which=st.integers(0, 30))
    def answer(self, who, which):
        shown = [s for s in self.db.showings(who.id) if s.response is None]
        if not shown or who.annotator in self.gone:
            return
        each = shown[which % len(shown)]
        self.scene.answer(who, each.position, now=self.now)
        self.check_batch(who, each)
        assert self.db.showings(who.id)[each.position].response is not None

    @rule(who=people, which=st.integers(0, 30), most=st.sampled_from([None, None, 2]))
    def skip(self, who, which, most):
        shown = [s for s in self.db.showings(who.id) if s.response is None]
        if not shown or who.annotator in self.gone:
            return
        each = shown[which % len(shown)]
        ack = self.scene.skip(who, each.position, now=self.now, most_skips=most)
        self.check_skip(who, each, ack, most)

    @rule(who=people, which=st.integers(0, 30), skips=st.booleans())
    def revise(self, who, which, skips):
        """An answer or a skip takes the place of another."""
        shown = [s for s in self.db.showings(who.id) if s.response is not None]
        if not shown or who.annotator in self.gone:
            return
        each = shown[which % len(shown)]
        self.revised += 1
        new = {"id": f"revised-{self.revised}", "supersedes": each.response, "now": self.now}
        if skips:
            self.check_skip(who, each, self.scene.skip(who, each.position, **new), None)
            return
        self.scene.answer(who, each.position, **new)
        assert self.db.showings(who.id)[each.position].response == new["id"]
        self.check_batch(who, each)

    def check_skip(self, who, each, ack, most):
        now = self.db.showings(who.id)[each.position]
        assert now.state == "skipped" or (each.state == now.state == "released")
        over = most is not None and self.db.session(f"token of {who.annotator}").skipped > most
        assert ack.ended is (over and each.kind != "training" and now.state == "skipped")
        if ack.ended:
            self.gone.add(who.annotator)
            assert self.db.session(f"token of {who.annotator}").stage == "screened-out"
            assert self.db.missing(who.id) == ()

    @rule(who=people, times=st.integers(1, 3))
    def work(self, who, times):
        """The usual way: ask, answer what is open, ask again."""
        for _ in range(times if who.annotator not in self.gone else 0):
            shown = self.scene.lease(who, self.plan, now=self.now)
            for each in [s for s in shown if s.state == "open"]:
                self.scene.answer(who, each.position, now=self.now)

    @rule(seconds=st.sampled_from([1, 11]))
    def time_passes(self, seconds):
        self.now += seconds

    @rule()
    def release(self):
        self.db.release_expired("birds", self.now).result()

    @rule(who=people, stage=st.sampled_from(["withdrawn", "screened-out", "done"]))
    def leave(self, who, stage):
        if who.annotator in self.gone:
            return
        self.gone.add(who.annotator)
        self.db.set_stage(who.id, stage, event="left", detail={}, now=self.now).result()
        assert self.db.missing(who.id) == ()
        with pytest.raises(Conflict):
            self.scene.lease(who, self.plan, now=self.now)

    @rule(who=people)
    def forget(self, who):
        self.gone.add(who.annotator)
        self.db.forget("birds", who.annotator).result()
        assert self.db.showings(who.id) == ()

    @invariant()
    def counters_are_what_they_count_and_within_the_quota(self):
        taken = self.scene.taken()
        assert taken == self.scene.held()
        assert max(taken.values()) <= self.plan.per_item

    @invariant()
    def nobody_has_an_item_twice_or_too_many(self):
        skipped = {row.id for row in self.db.responses("birds") if row.skip is not None}
        for session in self.db.sessions("birds"):
            showings = self.db.showings(session.id)
            live = [s for s in showings if s.state != "released"]
            items = [s.item for s in live if s.kind != "repeat"]
            assert len(items) == len(set(items))
            again = [s for s in live if s.kind == "repeat"]
            assert len(again) <= 1
            opened = [s for s in live if s.kind == "target" and s.state == "open"]
            self.check_amount(opened, [s for s in live if s.kind == "target"])
            assert session.lease_end > 0 or not opened
            self.check_counts(session, [s for s in showings if s.response is not None], skipped)

    def check_counts(self, session, shown, skipped):
        assert session.answered == sum(s.response not in skipped for s in shown)
        states = [s.state for s in shown if s.response in skipped]
        assert set(states) <= {"skipped", "released"}
        assert "skipped" not in [s.state for s in shown if s.response not in skipped]
        counted = [s for s in shown if s.state == "skipped" and s.kind != "training"]
        assert session.skipped == len(counted)

    @invariant()
    def skips_are_no_answers(self):
        progress, sessions = self.db.progress("birds"), self.db.sessions("birds")
        shown = [s for one in sessions for s in self.db.showings(one.id)]
        answered = [s for s in shown if s.kind == "target" and s.state == "answered"]
        assert progress.answered == len(answered) == sum(self.db.answers_per_item("birds").values())
        assert sum(progress.skips.values()) == sum(one.skipped for one in sessions)

    def check_batch(self, who, each):
        """What a counted answer does to the batch; there is none here."""

    def check_amount(self, opened, targets):
        assert len(opened) <= self.plan.batch_size
        assert len(targets) <= self.plan.per_annotator


class Batches(Places):
    """The same, where the unit is the batch."""

    plan = BATCHES
    items = tuple(ItemRow(f"bird-{b}-{i}", "target", f"b{b}") for b in range(2) for i in range(2))

    def check_amount(self, opened, targets):
        assert len({s.batch for s in opened}) <= 1

    def check_batch(self, who, each):
        now = self.db.showings(who.id)[each.position]
        with self.db._engines.read.connect() as connection:
            query = f"SELECT batch FROM session WHERE id = '{who.id}'"
            held = connection.exec_driver_sql(query).scalar()
        counts = now.state not in ("released", "skipped") and now.kind != "repeat"
        assert held is not None or not counts

    @invariant()
    def a_batch_counts_those_who_hold_it(self):
        with self.db._engines.read.connect() as connection:
            query = "SELECT batch, count(*) FROM session WHERE batch IS NOT NULL GROUP BY batch"
            holders = dict(connection.exec_driver_sql(query).all())
        taken = self.db.taken_per_batch("birds")
        assert {name: count for name, count in taken.items() if count} == holders


class Portions(Places):
    """The same, where a batch is much larger than what a person is given at a time."""

    plan = replace(LOOSE, per_annotator=9, batch_size=3000, ahead=2)
    items = (*(ItemRow(f"bird-{i}") for i in range(10)), *EXTRA)

    def check_amount(self, opened, targets):
        assert len(opened) <= self.plan.ahead
        assert len(targets) <= self.plan.per_annotator


class LargeBatches(Batches):
    """Batches of which a person is given a part at a time."""

    plan = replace(BATCHES, ahead=2)
    items = tuple(ItemRow(f"bird-{b}-{i}", "target", f"b{b}") for b in range(2) for i in range(5))

    def check_amount(self, opened, targets):
        super().check_amount(opened, targets)
        assert len(opened) <= self.plan.ahead

    @rule(who=Places.people)
    def finish(self, who):
        """Whoever is alone at work gets all of their batch that has a place left."""
        others = [s for s in self.db.sessions("birds") if s.lease_end > self.now and s.id != who.id]
        ended = any(s.kind == "repeat" for s in self.db.showings(who.id))
        if others or ended or who.annotator in self.gone:
            return
        shown = self.scene.answer_all(who, self.plan, now=self.now)
        if not shown:
            return
        mine = {s.item for s in shown if s.response is not None}
        batch = [s.batch for s in shown if s.kind == "target"][-1]
        in_batch = {row.id for row in self.items if row.batch == batch}
        room = {name for name, taken in self.scene.taken().items() if taken < self.plan.per_item}
        assert not in_batch & room - mine


@pytest.mark.parametrize("machine", [Places, Batches, Portions, LargeBatches])
def test_places_whatever_happens(machine, scene_of, new_place, request):
    machine.scene_of, machine.new_place = staticmethod(scene_of), staticmethod(new_place)
    case = machine.TestCase
    # the logic is the same on both databases, and PostgreSQL takes five times as long
    stories = 6 if "postgres" in request.node.name else 15
    case.settings = settings(max_examples=stories, stateful_step_count=25, deadline=None)
    case("runTest").runTest()
