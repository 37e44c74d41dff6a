"""The file of an SQLite database under a running store: deleted, moved, replaced, copied over."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path

import pytest

from softlabel import store
from softlabel.errors import StoreError
from softlabel.store import Plan, engine
from softlabel.store.file import log_of, read_header

PLAN = Plan(per_item=2, batch_size=300, ahead=300)
NOT_OURS = "is not the file that was opened: "


@pytest.fixture
def path(tmp_path):
    return tmp_path / "answers.db"


@pytest.fixture
def db(path, empty_file):
    shutil.copy(empty_file, path)
    with store.open(path) as opened:
        yield opened


@pytest.fixture
def ann(scene):
    scene.put(300)
    who = scene.enter("ann")
    scene.lease(who, PLAN)
    return who


def online_copy(path: Path, to: Path) -> Path:
    """As any SQLite tool makes one while the database is in use."""
    with closing(sqlite3.connect(path)) as one, closing(sqlite3.connect(to)) as other:
        one.backup(other)
    return to


def copy_over(source: Path, path: Path) -> None:
    """Into the same inode, as people do it."""
    before = path.stat().st_ino
    subprocess.run(["cp", str(source), str(path)], check=True)
    assert path.stat().st_ino == before


def ids(path: Path) -> list[str]:
    with store.open(path, create=False) as again:
        return [row.id for row in again.responses("birds")]


def delete(path):
    path.unlink()


def move(path):
    path.rename(path.with_name("moved.db"))


def put_another(path):
    other = path.with_name("other.db")
    shutil.copy(path, other)
    other.replace(path)


def empty(path):
    os.truncate(path, 0)


def delete_the_log(path):
    log_of(path).unlink()


@pytest.mark.parametrize("harm", [delete, move, put_another, empty, delete_the_log])
def test_nothing_is_acknowledged_that_is_not_in_the_file(scene, ann, path, harm):
    assert scene.answer(ann, 0).state == "stored"
    harm(path)
    for position in range(1, 4):  # and it goes on so
        with pytest.raises(StoreError, match=NOT_OURS):
            scene.answer(ann, position)
    with pytest.raises(StoreError, match=NOT_OURS):
        scene.db.progress("birds")


def test_a_commit_that_meets_the_deletion_is_not_acknowledged(scene, ann, path):
    """The file goes while the transaction is under way."""
    with pytest.raises(StoreError, match="it was deleted or moved"):
        scene.db._writer.submit(lambda connection: path.unlink()).result()


def test_a_file_that_is_put_back_has_everything(scene_of, path):
    """Closing a store whose file has gone leaves the log for whoever puts the file back."""
    db = store.open(path)
    scene = scene_of(db)
    scene.put(300)
    ann = scene.enter("ann")
    scene.lease(ann, PLAN)
    kept = [scene.answer(ann, position).id for position in range(5)]
    away = path.with_name("moved.db")
    path.rename(away)
    with pytest.raises(StoreError, match=NOT_OURS):
        scene.answer(ann, 5)
    away.rename(path)
    with pytest.raises(StoreError, match=NOT_OURS):  # until it is opened anew
        scene.answer(ann, 5)
    db.close()
    assert set(kept) <= set(ids(path))


@pytest.mark.parametrize("checkpoints", [0, 1])
def test_a_backup_copied_over_the_database_is_noticed(scene, ann, path, checkpoints):
    old = online_copy(path, path.with_name("old.db"))
    for position in range(300 * checkpoints):
        scene.answer(ann, position)
    store.open(path).close()  # as another command would: it begins a new generation
    scene.db.progress("birds")
    bytes_of_old = old.read_bytes()
    copy_over(old, path)
    with pytest.raises(StoreError, match="another file was copied over it"):
        scene.answer(ann, 299)
    with pytest.raises(StoreError, match=NOT_OURS):
        scene.db.progress("birds")
    scene.db.close()
    assert path.read_bytes() == bytes_of_old  # closing wrote nothing into what was put there


def test_a_copy_of_before_the_last_checkpoint_is_noticed_in_the_same_run(scene, ann, path):
    old = online_copy(path, path.with_name("old.db"))
    before = read_header(path)
    for position in range(290):
        scene.answer(ann, position)
    assert read_header(path).generation > before.generation
    copy_over(old, path)
    with pytest.raises(StoreError, match="another file was copied over it"):
        scene.answer(ann, 295)


def test_a_copy_that_is_not_older_than_the_log_does_no_harm(scene_of, path):
    """What changed since is in the log; else a copy of now would be refused for nothing."""
    with store.open(path) as db:
        scene = scene_of(db)
        scene.put(300)
        ann = scene.enter("ann")
        scene.lease(ann, PLAN)
        kept = [scene.answer(ann, position).id for position in range(10)]
        new = online_copy(path, path.with_name("new.db"))
        kept += [scene.answer(ann, position).id for position in range(10, 20)]
        copy_over(new, path)
        kept += [scene.answer(ann, position).id for position in range(20, 30)]
    assert ids(path) == kept
    with store.open(path) as db:
        db.check()


def test_another_study_copied_over_it_is_noticed(scene, ann, path, tmp_path):
    other = tmp_path / "other.db"
    for _ in range(10):  # generations ahead
        store.open(other).close()
    copy_over(other, path)
    with pytest.raises(StoreError, match="another file was copied over it"):
        scene.answer(ann, 0)


CRASH = """
import os, sys
from softlabel import store
from softlabel.store import ItemRow
db = store.open(sys.argv[1])
db.put_study("birds", "", ("a",), [ItemRow("x")], 1, 0.0).result()
for n in range(int(sys.argv[2])):
    db.event("birds", None, f"e{n}", {}, 0.0).result()
os._exit(9)
"""


def crash(path: Path, events: int) -> None:
    words = [sys.executable, "-c", textwrap.dedent(CRASH), str(path), str(events)]
    assert subprocess.run(words, check=False).returncode == 9


@pytest.mark.parametrize("events", [3, 300, 600])
def test_the_log_of_a_crash_is_not_played_over_a_backup(path, tmp_path, events):
    store.open(path).close()
    old = shutil.copy(path, tmp_path / "old.db")
    crash(path, events)
    assert log_of(path).stat().st_size
    whole = path.read_bytes()
    copy_over(old, path)
    files = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    for read_only in (False, True):
        with pytest.raises(StoreError, match=r"answers.db-wal does not belong to"):
            store.open(path, read_only=read_only)
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == files
    path.write_bytes(whole)  # what the log does belong to
    with store.open(path) as db:
        assert len(list(db.events("birds"))) == events


def test_a_damaged_file_is_told(path):
    with store.open(path) as db:
        for n in range(50):
            db.put_study(f"study-{n}", "x" * 3000, ("a",), [], 1, 0.0).result()
    with path.open("r+b") as file:
        file.seek(-8 * 4096, os.SEEK_END)
        file.write(os.urandom(8 * 4096))
    with store.open(path) as db, pytest.raises(StoreError, match=r"answers.db is damaged: "):
        db.check()


def test_two_stores_of_one_process_keep_their_locks(path):
    """Closing a descriptor would drop the locks of the whole process; another process could then
    take the log away."""
    script = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], timeout=0.2, isolation_level=None);"
        "c.execute('PRAGMA locking_mode=EXCLUSIVE'); c.execute('BEGIN EXCLUSIVE')"
    )
    with store.open(path) as db:
        store.open(path).close()
        words = [sys.executable, "-c", script, str(path)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert "database is locked" in done.stderr
        assert db.id


def test_every_database_has_an_id_of_its_own_and_keeps_it(place, tmp_path):
    with store.open(place) as first:
        known = first.id
    with store.open(place) as again, store.open(tmp_path / "other.db") as other:
        assert again.id == known != other.id


# ── reading ──────────────────────────────────────────────────────────────────────────────────


def everything(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {each.name: (each.read_bytes(), each.stat().st_mtime_ns) for each in folder.iterdir()}


def test_reading_changes_nothing(scene_of, path, tmp_path):
    with store.open(path) as db:
        scene = scene_of(db)
        scene.put(3)
        scene.enter("ann")
    before = everything(tmp_path)
    with store.open(path, read_only=True) as db:
        assert db.counts("birds")["session"] == 1
        with pytest.raises(StoreError, match="is closed"):
            db.event("birds", None, "x", {}, 0.0)
    assert everything(tmp_path) == before


def test_what_is_being_written_can_be_read(scene, ann, path):
    scene.answer(ann, 0)
    with store.open(path, read_only=True) as db:
        assert len(list(db.responses("birds"))) == 1
        scene.answer(ann, 1)
        assert len(list(db.responses("birds"))) == 2


def test_a_change_under_a_reader_without_locks_is_told(path):
    store.open(path).close()
    with store.open(path, read_only=True) as db:
        store.open(path).close()
        with pytest.raises(StoreError, match="changed while it was being read"):
            db.study("birds")


@pytest.fixture
def read_only_disk(path, tmp_path, scene_of):
    with store.open(path) as db:
        scene_of(db).put(3)
    folder = tmp_path / "mounted"
    folder.mkdir()
    bind = ["mount", "--bind", str(tmp_path), str(folder)]
    remount = ["mount", "-o", "remount,bind,ro", str(folder)]
    if os.geteuid() or subprocess.run(bind, check=False).returncode:
        pytest.skip("only root can mount a folder read-only; the test of bytes stands in")
    subprocess.run(remount, check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_read_only_storage_can_be_read(read_only_disk):
    with pytest.raises(OSError, match="Read-only"):
        (read_only_disk / "x").write_text("x")
    with store.open(read_only_disk / "answers.db", read_only=True) as db:
        assert db.progress("birds").items == 3


def test_an_older_schema_is_refused_and_not_changed(place, tmp_path):
    engines = engine.make_engines(place, create=True)
    with engines.write.connect() as connection, connection.begin():
        engine.begin(connection)
        engine.run_migrations(connection, "0004")
    engines.dispose()
    before = everything(tmp_path)
    with pytest.raises(StoreError, match=r"older softlabel \(schema 0004.*softlabel migrate"):
        store.open(place, read_only=True)
    assert everything(tmp_path) == before
    store.open(place).close()
    store.open(place, read_only=True).close()
