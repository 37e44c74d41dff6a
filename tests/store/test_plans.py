"""What is asked of the database for every answer and every lease is found in an index.

A statement that looks at a whole table costs more with every answer that is stored."""

from __future__ import annotations

import sqlite3

import pytest
import sqlalchemy as sa

from softlabel import store
from softlabel.store import ItemRow, Plan
from softlabel.store.schema import metadata


@pytest.fixture
def asked():
    """Statements and their values, as they are sent to SQLite."""
    sent = []

    def hear(connection, cursor, statement, values, context, many):
        if statement.split()[0] in ("SELECT", "UPDATE", "DELETE"):
            sent.append((statement, values[0] if many else values))

    sa.event.listen(sa.Engine, "before_cursor_execute", hear)
    yield sent
    sa.event.remove(sa.Engine, "before_cursor_execute", hear)


@pytest.mark.parametrize("batches", [False, True])
def test_nothing_that_is_asked_all_the_time_looks_at_a_whole_table(
    place, scene, together, asked, batches
):
    if not place.endswith(".db"):
        pytest.skip("PostgreSQL plans by the sizes that it has seen")
    scene.put([ItemRow(f"bird-{i}", "target", f"b{i % 3}") for i in range(12)], per_item=3)
    people = [scene.enter(name) for name in ("ann", "bob", "cleo")]
    asked.clear()
    plan = Plan(per_item=3, per_annotator=4, repeats=1, repeat_positions=(0,), batches=batches)
    for who in people:
        scene.lease(who, plan)
    with together(scene.db):
        sent = [scene.db.answer(who.id, scene.response(who, 0), 5.0) for who in people]
    assert {one.result().state for one in sent} == {"stored"}
    scene.answer(people[0], 0, id="better", supersedes="ann-0")  # the way of those not so plain
    scene.db.session("token of ann")
    scene.db.missing(people[0].id)
    scene.db.set_stage(people[0].id, "debrief", event="x", detail={}, now=9.0).result()
    assert len({statement for statement, _ in asked}) > 10
    found = {statement: plan_of(place, statement, values) for statement, values in asked}
    assert not {statement: told for statement, told in found.items() if scans(told)}


@pytest.mark.parametrize("batches", [False, True])
def test_a_lease_costs_the_same_however_much_a_person_has_done(scene_of, tmp_path, batches):
    """Counted in steps of the database's machine, which are the same on every computer."""
    plan = Plan(per_item=3, batch_size=3000, batches=batches)
    with store.open(tmp_path / "answers.db") as db:
        scene = scene_of(db)
        scene.put([ItemRow(f"bird-{i}", "target", "b0") for i in range(800)], per_item=3)
        ann = scene.enter("ann")
        steps = [steps_of_a_lease(scene, ann, plan) for _ in range(30)]
        assert len(scene.db.showings(ann.id)) > 600
    assert min(steps[-3:]) < 1.3 * max(steps[:3])


def steps_of_a_lease(scene, who, plan):
    """Answer as many as make room for more, and count what giving them costs."""
    for position in scene.db.missing(who.id)[:-5]:
        scene.answer(who, position)
    steps = 0

    def step():
        nonlocal steps
        steps += 1

    def listen(connection):
        raw = connection.connection.driver_connection
        raw.set_progress_handler(step, 1)

    def stop(connection):
        connection.connection.driver_connection.set_progress_handler(None, 1)

    scene.db._writer.submit(listen).result()
    scene.db.lease(who.id, plan, 0.0).result()
    scene.db._writer.submit(stop).result()
    return steps


def plan_of(place, statement, values):
    connection = sqlite3.connect(place)
    told = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)]
    connection.close()
    return told


def scans(told):
    """A scan of one of our tables; of the values that were sent along it is none."""
    return [line for line in told if line.startswith("SCAN") and line.split()[1] in metadata.tables]
