"""Opening a database: where it may be, who may read it, what is said if it cannot be."""

from __future__ import annotations

import sqlite3
import subprocess
import sys

import pytest

from softlabel import store
from softlabel.errors import StoreError


def test_a_path_and_its_address_are_the_same_place(tmp_path):
    path = tmp_path / "answers.db"
    for place in (path, str(path), f"sqlite:///{path}"):
        with store.open(place) as db:
            assert db.name == str(path)


def test_nobody_else_may_read_what_people_said(tmp_path):
    path = tmp_path / "answers.db"
    with store.open(path) as db:
        db.put_study("birds", "", ("a",), [], 1, 0.0).result()
        modes = {each.name: each.stat().st_mode & 0o777 for each in tmp_path.iterdir()}
    assert "answers.db-wal" in modes
    assert set(modes.values()) == {0o600}


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("sqlite://", "names no file"),
        ("sqlite:///:memory:", "names no file"),
        ("mysql://root@localhost/birds", "cannot be kept in 'mysql'"),
        ("://", "cannot be read"),
        ("no/such/folder/answers.db", "No such file or directory"),
    ],
)
def test_a_place_that_cannot_be_is_named(place, says):
    with pytest.raises(StoreError, match=says):
        store.open(place)


def test_a_password_is_never_shown(postgres_url):
    wrong = postgres_url.replace("postgres:@", "nobody:hush@")
    assert "hush" in wrong
    with pytest.raises(StoreError, match="cannot open the database postgresql") as caught:
        store.open(wrong)
    assert "hush" not in str(caught.value)


def test_only_what_is_there_is_opened_if_you_say_so(place, tmp_path):
    with pytest.raises(StoreError, match=r"there is no database at|it is empty"):
        store.open(place, create=False)
    assert not list(tmp_path.iterdir())
    store.open(place).close()
    store.open(place, create=False).close()


def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("these are my notes\n" * 100)
    with pytest.raises(StoreError, match=r"notes.txt is not a database; nothing in it was changed"):
        store.open(path)
    assert path.read_text() == "these are my notes\n" * 100
    assert list(tmp_path.iterdir()) == [path]


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE session (id int)")
    other.close()
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(StoreError, match=r"of another program: it has the tables session;"):
            store.open(path, read_only=read_only)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_without_its_packages_the_room_says_what_to_install():
    script = """
import sys
sys.modules["sqlalchemy"] = None
try:
    import softlabel.store
except ImportError as error:
    print(type(error).__name__, error)
"""
    words = [sys.executable, "-c", script]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "MissingExtra keeping answers needs more packages" in done.stdout
    assert "softlabel[serve]" in done.stdout


def test_several_processes_may_open_a_new_database_at_once(place):
    """Forks of one process that has imported the room, and opened nothing yet."""
    script = """
import os, sys
from softlabel import store
import alembic.command, psycopg
forks = []
while len(forks) < 3 and (fork := os.fork()):
    forks.append(fork)
store.open(sys.argv[1]).close()
if len(forks) == 3:
    print([os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1]) for fork in forks])
"""
    words = [sys.executable, "-W", "error", "-c", script, place]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "[0, 0, 0]\n"), done.stderr
    store.open(place, create=False).close()
