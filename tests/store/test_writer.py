"""The writer: acknowledged means on the disk, and one failure is nobody else's."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from concurrent.futures import Future, wait

import psycopg
import pytest
import sqlalchemy as sa

from softlabel import store
from softlabel.errors import StoreError
from softlabel.store import ItemRow, Plan
from softlabel.store.schema import event


def note(name):
    """A job that writes an event."""
    values = {"study": "birds", "name": name, "detail": "{}", "at": 0.0}
    return lambda connection: connection.execute(sa.insert(event), values) and name


def names(db):
    return [each.name for each in db.events("birds")]


def test_a_failing_job_is_undone_and_the_others_stand(scene, together):
    scene.put(1)

    def writes_then_fails(connection):
        note("undone")(connection)
        raise KeyError("a mistake in the job")

    with together(scene.db):
        submit = scene.db._writer.submit
        futures = [submit(note("one")), submit(writes_then_fails), submit(note("two"))]
    assert [futures[0].result(), futures[2].result()] == ["one", "two"]
    with pytest.raises(KeyError, match="a mistake in the job"):
        futures[1].result()
    assert names(scene.db) == ["one", "two"]


def test_a_job_that_breaks_a_rule_of_the_database_fails_alone(scene, together):
    scene.put(1)
    with together(scene.db):
        lost = scene.db.event("no such study", None, "x", {}, 0.0)
        kept = scene.db.event("birds", None, "y", {}, 0.0)
    with pytest.raises(StoreError, match=r"(?i)foreign key"):
        lost.result()
    kept.result()
    assert names(scene.db) == ["y"]


def test_what_a_future_promises_is_there_for_everybody(place, scene):
    """Another connection sees it as soon as the future resolves."""
    scene.put(1)
    with store.open(place) as other:
        for i in range(20):
            scene.db.event("birds", None, f"event-{i}", {}, 0.0).result()
            assert names(other)[-1] == f"event-{i}"


def test_many_jobs_share_a_transaction(scene, together):
    scene.put(1)
    begun = []
    sa.event.listen(scene.db._engines.write, "begin", lambda connection: begun.append(1))
    with together(scene.db):
        futures = [scene.db.event("birds", None, f"{i}", {}, 0.0) for i in range(600)]
    wait(futures)
    assert names(scene.db) == [str(i) for i in range(600)]
    assert len(begun) == 4  # the gate, and three groups of at most 256


def test_a_cancelled_job_is_not_done(scene, together):
    scene.put(1)
    with together(scene.db):
        futures = [scene.db.event("birds", None, f"{i}", {}, 0.0) for i in range(3)]
        assert futures[1].cancel()
    wait(futures)
    assert names(scene.db) == ["0", "2"]


def test_closing_does_what_was_asked_and_then_refuses(place, together):
    db = store.open(place)
    db.put_study("birds", "", ("a",), [ItemRow("x")], 1, 0.0).result()
    with together(db):
        futures = [db.event("birds", None, f"{i}", {}, 0.0) for i in range(5)]
    db.close()
    assert all(future.done() and future.exception() is None for future in futures)
    with pytest.raises(StoreError, match="is closed"):
        db.event("birds", None, "late", {}, 0.0)
    db.close()  # twice is no mistake
    with store.open(place) as again:
        assert names(again) == ["0", "1", "2", "3", "4"]


def test_a_lost_connection_fails_what_was_under_way_and_nothing_after(scene_of, postgres_url):
    with store.open(postgres_url) as db, psycopg.connect(postgres_url, autocommit=True) as other:
        scene_of(db).put(1)

        def interrupted(connection):
            note("lost")(connection)
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
            )
            note("never")(connection)

        with pytest.raises(StoreError, match="nothing was stored"):
            db._writer.submit(interrupted).result()
        db.event("birds", None, "after", {}, 0.0).result()
        assert names(db) == ["after"]


def test_postgres_is_asked_to_be_durable_whatever_its_default(scene_of, postgres_url):
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
    with store.open(postgres_url) as db:

        def setting(connection, name):
            return connection.exec_driver_sql(f"SHOW {name}").scalar()

        assert db._write(setting, "synchronous_commit").result() == "on"
        assert db._read(setting, "transaction_read_only") == "on"


def test_sqlite_is_durable_and_readers_cannot_write(tmp_path):
    with store.open(tmp_path / "answers.db") as db:

        def setting(name):
            return db._writer.submit(
                lambda connection: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            ).result()

        assert setting("journal_mode") == "wal"
        assert setting("synchronous") == 2  # FULL
        assert (setting("foreign_keys"), setting("secure_delete")) == (1, 1)
        with pytest.raises(StoreError, match="readonly database"):
            db._read(lambda connection: connection.exec_driver_sql("DELETE FROM study"))


def fill(scene, who, big) -> list[Future]:
    """Answers until one fails; what became of each."""
    futures = []
    for position in scene.db.missing(who.id):
        new = scene.response(who, position, payload=big)
        futures.append(scene.db.answer(who.id, new, 1.0))
        if futures[-1].exception() is not None:
            return futures
    raise AssertionError("the disk did not fill up")


@pytest.fixture
def small_disk(tmp_path):
    """A file system of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if (
        sys.platform != "linux"
        or os.geteuid() != 0
        or subprocess.run(words, check=False).returncode
    ):
        pytest.skip("only root on Linux can mount a small disk: the limited-size test stands in")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_said_and_what_was_acknowledged_is_kept(scene_of, small_disk):
    path = small_disk / "answers.db"
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 400_000)
    with store.open(path) as db:
        scene = scene_of(db)
        scene.put(200, per_item=1)
        ann = scene.enter("ann")
        scene.lease(ann, Plan(per_item=1, batch_size=200))
        *good, bad = fill(scene, ann, "x" * 20_000)
        with pytest.raises(StoreError, match="disk is full; nothing was stored"):
            bad.result()
        kept = {future.result().id for future in good}
        assert {row.id for row in db.responses("birds")} == kept  # reading works meanwhile
        assert len(kept) == db.session("token of ann").answered > 0
        ballast.unlink()
        position = db.missing(ann.id)[0]
        assert scene.answer(ann, position, payload="y" * 20_000).state == "stored"
    with store.open(path) as again:
        assert {row.id for row in again.responses("birds")} == kept | {f"ann-{position}"}


LIMITED = """
import resource, sys
from pathlib import Path
from softlabel import store
from softlabel.errors import StoreError
from softlabel.store import ItemRow, NewResponse, Plan

db = store.open(sys.argv[1])
db.put_study("birds", "", ("a",), [ItemRow(f"i{n}") for n in range(100)], 1, 0.0).result()
ann = db.enter("birds", "ann", "t", label_order_of=lambda n: ("a",), seed=0,
               recruiter_session=None, now=0.0).result()
db.lease(ann.id, Plan(per_item=1, batch_size=100), 0.0).result()

def send(position):
    new = NewResponse(f"r{position}", position, "{}", "x" * 20_000, "hard", 1, "d")
    db.answer(ann.id, new, 1.0).result()
    kept.append(new.id)

kept = []
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, resource.RLIM_INFINITY))
try:
    for position in range(100):
        send(position)
except StoreError as error:
    assert "nothing was stored" in str(error), error
else:
    sys.exit("no failure")
assert kept, "failed at once"
assert [row.id for row in db.responses("birds")] == kept
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
send(db.missing(ann.id)[0])
assert [row.id for row in db.responses("birds")] == kept
db.close()
print(len(kept))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on file sizes there")
def test_files_that_may_not_grow_are_a_full_disk(tmp_path):
    words = [sys.executable, "-W", "error", "-c", textwrap.dedent(LIMITED), tmp_path / "answers.db"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 1


def test_a_killed_process_keeps_what_it_acknowledged(tmp_path):
    """SIGKILL in the middle of writing; every id it had printed is there afterwards."""
    script = """
import os, signal, sys
from softlabel import store
from softlabel.store import ItemRow
db = store.open(sys.argv[1])
db.put_study("birds", "", ("a",), [ItemRow("x")], 1, 0.0).result()
for n in range(10**6):
    db.event("birds", None, f"e{n}", {}, 0.0).result()
    os.write(1, b"e%d\\n" % n)
"""
    path = tmp_path / "answers.db"
    process = subprocess.Popen([sys.executable, "-c", script, path], stdout=subprocess.PIPE)
    told = [process.stdout.readline() for _ in range(50)]
    process.kill()
    told += process.stdout.read().splitlines(keepends=True)
    process.stdout.close()
    process.wait()
    with store.open(path, create=False) as db:
        stored = names(db)
    whole = [line.decode().strip() for line in told if line.endswith(b"\n")]
    assert stored[: len(whole)] == whole
    assert len(stored) <= len(whole) + 1
