"""The ledger: one payment of a kind per person, steps that are taken once, and no step back."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from softlabel import store
from softlabel.errors import Absent, Conflict, FileError, SoftlabelError, StoreError
from softlabel.serve.pay import ledger
from softlabel.store import NewPayment, Plan, Timing
from softlabel.store.sessions import hide_name

PLAN = Plan(per_item=2)


def new(who, kind="bonus", amount=150, currency="GBP", study="birds"):
    return NewPayment(study, who, kind, amount, currency, {"why": "well done"})


def audit_of(db):
    with db._engines.read.connect() as connection:
        rows = connection.exec_driver_sql("SELECT action, actor, detail FROM audit ORDER BY seq")
        return [(action, actor, json.loads(detail)) for action, actor, detail in rows]


@pytest.fixture
def planned(scene):
    scene.put(3)
    return scene.db.plan_payments([new("ann"), new("bob", amount=5)], 1.0, "eve").result()


def states(db):
    return {(row.annotator, row.kind): row.state for row in db.payments("birds")}


def test_a_payment_goes_its_way_and_every_step_is_logged(db, planned):
    ids = [row.id for row in planned]
    db.move_payments(ids, "planned", "approved", None, 2.0, "Ann Lee").result()
    db.move_payments(ids[:1], "approved", "sent", "t1", 3.0, "eve").result()
    (row,) = db.move_payments(ids[:1], "sent", "confirmed", "t1", 4.0, "eve").result()
    assert (row.state, row.transfer, row.amount, row.changed_at) == ("confirmed", "t1", 150, 4.0)
    assert states(db) == {("ann", "bonus"): "confirmed", ("bob", "bonus"): "approved"}
    both = {"payments": 2, "amount": 155, "currency": "GBP"}
    one = {"payments": 1, "amount": 150, "currency": "GBP", "transfer": "t1"}
    assert audit_of(db) == [
        ("pay-plan", "eve", both),
        ("pay-approve", "Ann Lee", both | {"transfer": None}),
        ("pay-send", "eve", one),
        ("pay-confirm", "eve", one),
    ]


def test_a_second_plan_changes_nothing_and_adds_only_what_is_new(db, planned):
    again = [new("ann", amount=999), new("ann", "base", 20), new("ann", "base", 30)]
    (base,) = db.plan_payments(again, 2.0, "eve").result()
    assert (base.kind, base.amount) == ("base", 20)
    assert db.plan_payments(again, 3.0, "eve").result() == ()
    assert [row.amount for row in db.payments("birds")] == [20, 150, 5]
    assert db.payments("other") == ()


def test_a_step_is_taken_by_all_or_by_none(db, planned):
    ids = [row.id for row in planned]
    db.move_payments(ids[:1], "planned", "approved", None, 2.0, "eve").result()
    before, log = db.payments("birds"), audit_of(db)
    for some in (ids, [ids[1], "no such id"]):
        with pytest.raises(Conflict, match="1 of 2 payments are not 'planned' any more"):
            db.move_payments(some, "planned", "approved", None, 3.0, "eve").result()
    with pytest.raises(StoreError, match="does not go from 'planned' to 'sent'"):
        db.move_payments(ids, "planned", "sent", "t1", 3.0, "eve").result()
    with pytest.raises(StoreError, match="becomes sent has a transfer"):
        db.move_payments(ids[:1], "approved", "sent", None, 3.0, "eve").result()
    assert (db.payments("birds"), audit_of(db)) == (before, log)


def test_a_transfer_is_made_once_and_confirmed_under_its_own_name(db, planned):
    ids = [row.id for row in planned]
    db.move_payments(ids, "planned", "approved", None, 2.0, "eve").result()
    db.move_payments(ids[:1], "approved", "sent", "t1", 3.0, "eve").result()
    with pytest.raises(Conflict, match="'t1' was made before"):
        db.move_payments(ids[1:], "approved", "sent", "t1", 3.0, "eve").result()
    with pytest.raises(Conflict):
        db.move_payments(ids[:1], "sent", "confirmed", "t2", 3.0, "eve").result()
    assert states(db) == {("ann", "bonus"): "sent", ("bob", "bonus"): "approved"}


def test_only_what_was_sent_and_not_confirmed_can_be_undone(db, planned):
    ids = [row.id for row in planned]
    db.move_payments(ids, "planned", "approved", None, 2.0, "eve").result()
    db.move_payments(ids, "approved", "sent", "t1", 3.0, "eve").result()
    with pytest.raises(StoreError, match="say how it is known"):
        db.undo_transfer("t1", " ", 4.0, "eve").result()
    with pytest.raises(Absent):
        db.undo_transfer("t2", "lost", 4.0, "eve").result()
    undone = db.undo_transfer("t1", "never uploaded", 4.0, "eve").result()
    assert {(row.state, row.transfer) for row in undone} == {("approved", None)}
    assert audit_of(db)[-1][2]["reason"] == "never uploaded"
    db.move_payments(ids, "approved", "sent", "t3", 5.0, "eve").result()
    db.move_payments(ids[:1], "sent", "confirmed", "t3", 6.0, "eve").result()
    with pytest.raises(Conflict, match="'t3' is confirmed"):
        db.undo_transfer("t3", "never uploaded", 7.0, "eve").result()


def test_caps_hold_for_what_is_in_the_ledger_already(db, planned):
    with pytest.raises(Conflict, match="would hold 255 units, 250 are allowed"):
        db.plan_payments([new("cleo", amount=100)], 2.0, "eve", most=250).result()
    with pytest.raises(Conflict, match="would hold 170 units for ann, 160 are allowed"):
        db.plan_payments([new("ann", "base", 20)], 2.0, "eve", most_each=160).result()
    with pytest.raises(StoreError, match="several currencies"):
        db.plan_payments([new("dan", currency="USD")], 2.0, "eve").result()
    with pytest.raises(StoreError, match="plan more than 0"):
        db.plan_payments([new("dan", amount=0)], 2.0, "eve").result()
    assert len(db.payments("birds")) == 2
    assert len(db.plan_payments([new("cleo", amount=95)], 2.0, "eve", most=250).result()) == 1


def test_dropping_deletes_what_was_not_sent(db, planned):
    ids = [row.id for row in planned]
    db.move_payments(ids[:1], "planned", "approved", None, 2.0, "eve").result()
    db.move_payments(ids[:1], "approved", "sent", "t1", 2.0, "eve").result()
    assert [row.annotator for row in db.drop_payments("birds", 3.0, "eve").result()] == ["bob"]
    assert states(db) == {("ann", "bonus"): "sent"}
    assert db.drop_payments("birds", 3.0, "eve").result() == ()


def test_two_programs_cannot_take_the_same_step(db, place, planned):
    """Two stores on one database race for the same payments: one of them is refused."""
    ids = [row.id for row in planned]
    with store.open(place) as other:
        first = db.move_payments(ids, "planned", "approved", None, 2.0, "ann")
        second = other.move_payments(ids, "planned", "approved", None, 2.0, "bob")
        outcomes = [future.exception() for future in (first, second)]
    assert sum(error is None for error in outcomes) == 1
    assert sum(isinstance(error, Conflict) for error in outcomes) == 1
    assert [action for action, _, _ in audit_of(db)] == ["pay-plan", "pay-approve"]


def test_the_audit_log_cannot_be_changed(db, planned):
    for change in ("UPDATE audit SET actor = 'nobody'", "DELETE FROM audit"):
        change_audit = db._writer.submit(lambda c, text=change: c.exec_driver_sql(text))
        with pytest.raises(StoreError, match="append-only"):
            change_audit.result()
    assert len(audit_of(db)) == 1


def test_a_person_who_is_forgotten_leaves_the_sums_and_no_name(db, scene, planned, place):
    scene.enter("ann")
    db.plan_payments([new("ann", "base", 20)], 2.0, "eve").result()
    paid = next(row.id for row in planned if row.annotator == "ann")
    db.move_payments([paid], "planned", "approved", None, 2.0, "eve").result()
    db.move_payments([paid], "approved", "sent", "t1", 2.0, "eve").result()
    assert db.forget("birds", "ann").result()["payment"] == 2
    left = {row.annotator: (row.amount, row.detail) for row in db.payments("birds")}
    assert left == {hide_name("ann"): (150, {}), "bob": (5, {"why": "well done"})}
    assert db.plan_payments([new("ann")], 3.0, "eve").result() == (), "paid already"
    assert "ann" not in str(audit_of(db))


def test_work_counts_active_time_and_who_is_left_out(db, scene):
    scene.put(3)
    ann, _ = scene.enter("ann", now=100.0), scene.enter("bob", now=101.0)
    for shown in scene.lease(ann, PLAN, now=100.0):
        scene.answer(ann, shown.position, now=130.0, timing=Timing(active_ms=2500.0))
    first, second = db.work("birds")
    assert first == ("ann", "consent", 3, 100.0, False, False, 7.5, 130.0)
    assert (second.annotator, second.active, second.last_at) == ("bob", 0.0, None)
    exclude = "UPDATE session SET excluded_at = 5.0 WHERE annotator = 'ann'"
    db._writer.submit(lambda connection: connection.exec_driver_sql(exclude)).result()
    assert [one.excluded for one in db.work("birds")] == [True, False]


# ── any order of steps, and a crash between any two ──────────────────────────────────────────

PEOPLE = ("ann", "bob", "cleo")
KINDS = ("base", "bonus")
UNSENT = ("planned", "approved")


class Crash(Exception):
    """The machine stops here."""


class Money(RuleBasedStateMachine):
    """Payments are planned, approved, sent, uploaded, confirmed, undone, dropped; the program stops
    between steps and starts again; people are forgotten.  Nobody is ever paid twice."""

    new_place = folder = scene_of = None  # set by the test
    numbers = count()  # of files

    @initialize()
    def begin(self):
        self.place = self.new_place()
        self.db = store.open(self.place)
        self.scene_of(self.db).put(1)
        self.study = SimpleNamespace(name="birds", folder=Path("birds"))
        self.paid = dict.fromkeys(PEOPLE, 0)  # by the platform, which pays what it is given
        self.waiting = {}  # transfer -> a file that was written and not uploaded
        self.uploaded, self.steps, self.gone = set(), 0, set()

    def teardown(self):
        if hasattr(self, "db"):
            self.db.close()

    @rule(
        rows=st.lists(
            st.tuples(st.sampled_from(PEOPLE), st.sampled_from(KINDS), st.integers(1, 500)),
            min_size=1,
            max_size=4,
        )
    )
    def plan(self, rows):
        known = {(row.annotator, row.kind): row.amount for row in self.db.payments("birds")}
        added = self.db.plan_payments([new(*row) for row in rows], 1.0, "eve").result()
        self.steps += bool(added)
        wanted = {(who, kind) for who, kind, _ in rows}
        free = {key for key in wanted if key not in known and key not in self.gone}
        assert {(row.annotator, row.kind) for row in added} == free

    @rule()
    def approve(self):
        rows = ledger.select(self.db, self.study, "planned")
        ledger.approve(self.db, rows, 2.0, "Ann Lee")
        self.steps += bool(rows)

    @rule(stops=st.sampled_from([None, None, "before", "after", "write"]), known=st.integers(1, 3))
    def send(self, stops, known):
        """The program may stop before the ledger says sent, after it, and while it writes."""
        path = self.folder / f"{next(self.numbers)}.csv"
        ids = {who: f"id of {who}" for who in PEOPLE[:known]}
        rows = [r for r in ledger.select(self.db, self.study, "approved") if r.annotator in ids]
        move, write = self.db.move_payments, ledger.write_private

        def stop_around_move(*args):
            if stops == "before":
                raise Crash
            done = move(*args)
            if stops == "after":
                done.result()
                raise Crash
            return done

        def stop_in_write(*args, **options):
            if stops == "write":
                raise OSError(28, "No space left on device")
            return write(*args, **options)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.db, "move_payments", stop_around_move)
            patch.setattr(ledger, "write_private", stop_in_write)
            if not rows:
                with pytest.raises(SoftlabelError, match="approved"):
                    ledger.send(self.study, self.db, ids, path, 3.0, "eve")
                return
            self.steps += stops != "before"
            if stops is None:
                sent = ledger.send(self.study, self.db, ids, path, 3.0, "eve")
                self.waiting[sent.transfer] = path
                assert sum(row.amount for row in sent.payments) == sum(r.amount for r in rows)
                return
            with pytest.raises((Crash, FileError)):
                ledger.send(self.study, self.db, ids, path, 3.0, "eve")
        assert not path.exists()
        self.restart()

    @rule()
    def restart(self):
        self.db.close()
        self.db = store.open(self.place)

    @precondition(lambda self: self.waiting)
    @rule(which=st.integers(0, 9))
    def upload(self, which):
        """The researcher uploads a file, and throws it away."""
        transfer = sorted(self.waiting)[which % len(self.waiting)]
        path = self.waiting.pop(transfer)
        for line in path.read_text().splitlines():
            id, amount = line.split(",")
            self.paid[id.removeprefix("id of ")] += round(100 * float(amount))
        self.uploaded.add(transfer)

    @rule(who=st.sampled_from(PEOPLE), kind=st.sampled_from(KINDS))
    def pay(self, who, kind):
        """The usual way."""
        self.plan([(who, kind, 100)])
        self.approve()
        self.send(None, len(PEOPLE))
        if self.waiting:
            self.upload(0)

    @rule()
    def confirm(self):
        """What was uploaded is confirmed, once."""
        for transfer in sorted(self.uploaded):
            open_ones = [r for r in self.db.payments("birds") if r.transfer == transfer]
            if {row.state for row in open_ones} == {"sent"}:
                ledger.confirm(self.study, self.db, transfer, 4.0, "eve")
                self.steps += 1
            else:
                with pytest.raises(SoftlabelError, match="is waiting"):
                    ledger.confirm(self.study, self.db, transfer, 4.0, "eve")

    @rule(which=st.integers(0, 9))
    def undo(self, which):
        """What was not uploaded is undone, and its file, if there is one, is thrown away."""
        sent = {row.transfer for row in ledger.select(self.db, self.study, "sent")}
        lost = sorted(sent - self.uploaded)
        if lost:
            transfer = lost[which % len(lost)]
            self.waiting.pop(transfer, None)
            ledger.undo(self.study, self.db, transfer, "never uploaded", 4.0, "eve")
            self.steps += 1

    @rule()
    def drop(self):
        self.steps += bool(self.db.drop_payments("birds", 5.0, "eve").result())

    @rule(who=st.sampled_from(PEOPLE))
    def forget(self, who):
        kept = [r for r in self.db.payments("birds") if r.annotator == who and r.transfer]
        self.db.forget("birds", who).result()
        self.gone |= {(who, row.kind) for row in kept}

    @invariant()
    def nobody_is_paid_twice(self):
        if not hasattr(self, "db"):
            return
        rows = self.db.payments("birds")
        for who in PEOPLE:
            theirs = [row for row in rows if row.annotator in (who, hide_name(who))]
            assert len({row.kind for row in theirs}) == len(theirs), "one payment of each kind"
            paid = [row.amount for row in theirs if row.transfer in self.uploaded]
            assert self.paid[who] == sum(paid)
        assert all((row.transfer is None) == (row.state in UNSENT) for row in rows)

    @invariant()
    def every_step_is_logged(self):
        if hasattr(self, "db"):
            assert len(audit_of(self.db)) == self.steps


def test_nobody_is_paid_twice_in_any_order(new_place, scene_of, tmp_path):
    settled = {"new_place": staticmethod(new_place), "scene_of": scene_of, "folder": tmp_path}
    machine = type("Money", (Money,), settled)
    run_state_machine_as_test(
        machine, settings=settings(max_examples=10, stateful_step_count=20, deadline=None)
    )
