"""Which database is opened, and how it is backed up and restored, with real server processes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import threading
import uuid
from contextlib import closing
from pathlib import Path

import httpx
import psycopg
import pytest

from softlabel import store as stores
from softlabel.cli import main
from softlabel.store import engine

PROGRAM = {"x-softlabel": "1"}
STUDY = """
[study]
name = "words"
labels = ["yes", "no"]
mode = "hard"
[items]
source = "items.csv"
per_item = 1000
batch_size = 40
repeats = 0
[quiz]
ask = false
[debrief]
ask = false
"""


@pytest.fixture
def words(tmp_path):
    folder = tmp_path / "words"
    folder.mkdir()
    (folder / "study.toml").write_text(STUDY)
    rows = [f"w{n},word {n}" for n in range(2000)]
    (folder / "items.csv").write_text("\n".join(["id,text", *rows]) + "\n")
    return folder


@pytest.fixture
def path(words):
    return words / ".softlabel" / "answers.db"


class Person:
    """Answers until stopped; knows what was acknowledged."""

    def __init__(self, url: str) -> None:
        self.client = httpx.Client(base_url=url, headers=PROGRAM, timeout=60)
        self.client.post("/consent", data={"adult": "on", "read": "on", "agree": "on"})
        self.client.post("/instructions")
        self.acknowledged: list[str] = []
        self.stopped = threading.Event()
        self.enough = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def answer(self, wanted: int) -> None:
        while len(self.acknowledged) < wanted and not self.stopped.is_set():
            plan = self.client.get("/api/plan").json()
            for place in [one["position"] for one in plan["showings"] if not one["answered"]]:
                name = str(uuid.uuid4())
                body = {"response_uuid": name, "position": place, "answer": {"label": "yes"}}
                reply = self.client.post("/api/answers", json=body)
                assert reply.status_code == 200, reply.text
                self.acknowledged.append(name)
                if len(self.acknowledged) >= wanted or self.stopped.is_set():
                    break

    def run(self) -> None:
        while not self.stopped.is_set():
            self.answer(len(self.acknowledged) + 10)
            self.enough.set()

    def close(self) -> None:
        self.stopped.set()
        if self.thread.is_alive():
            self.thread.join(60)
        self.client.close()


def stored(path: Path) -> set[str]:
    with stores.open(path, read_only=True) as store:
        return {row.id for row in store.responses("words")}


def run(*words: object) -> int:
    return main([str(word) for word in words])


# ── backup and restore ───────────────────────────────────────────────────────────────────────


def test_a_backup_holds_all_that_was_acknowledged_and_can_be_restored(
    words, path, serve_study, tmp_path, capsys
):
    served, copy = serve_study(words), tmp_path / "copy.db"
    ann = Person(served.url)
    ann.thread.start()
    assert ann.enough.wait(120)
    before = set(ann.acknowledged)
    assert run("backup", words, copy) == 0  # while ann is answering
    told = capsys.readouterr().out
    ann.enough.clear()
    assert ann.enough.wait(120)
    ann.close()
    after = set(ann.acknowledged)
    kept = stored(copy)
    assert before <= kept < after
    assert f"answers  {len(kept)}" in told
    assert copy.stat().st_mode & 0o777 == 0o600

    assert run("restore", words, copy) == 1
    assert f"{path} is in use by a server or another program; stop it" in capsys.readouterr().err
    assert stored(path) == after
    served.end(signal.SIGKILL)  # its log stays behind

    assert run("restore", words, copy) == 0
    assert stored(path) == kept
    assert path.stat().st_mode & 0o777 == 0o600
    (replaced,) = path.parent.glob("answers.db.replaced-*")
    assert f"kept      {replaced}" in capsys.readouterr().out
    assert stored(replaced) == after
    again = Person(serve_study(words).url)  # it is the database that the secret goes with
    again.answer(3)
    again.close()
    assert stored(path) == kept | set(again.acknowledged)
    assert not list(tmp_path.rglob("*.part"))


def test_a_database_that_was_deleted_is_restored_beside_its_old_log(words, path, serve_study):
    served, copy = serve_study(words), words / "copy.db"
    ann = Person(served.url)
    ann.answer(5)
    ann.close()
    assert run("backup", words, copy) == 0
    path.unlink()
    served.end(signal.SIGKILL)
    assert path.with_name("answers.db-wal").exists()
    assert run("restore", words, copy) == 0
    assert stored(path) == set(ann.acknowledged)
    serve_study(words)


def test_a_backup_copied_over_a_live_database_is_noticed_and_stays_whole(
    words, path, serve_study, tmp_path, capsys
):
    served, copy = serve_study(words), tmp_path / "copy.db"
    ann = Person(served.url)
    ann.answer(5)
    assert run("backup", words, copy) == 0
    served.end()
    served = serve_study(words)
    bob = Person(served.url)
    bob.answer(5)
    shutil.copyfile(copy, path)  # into the same inode, as cp does
    body = {"response_uuid": str(uuid.uuid4()), "position": 5, "answer": {"label": "yes"}}
    assert bob.client.post("/api/answers", json=body).status_code == 503
    served.end()
    assert path.read_bytes() == copy.read_bytes()
    capsys.readouterr()
    assert run("serve", words, "--port", 0) == 1
    assert "answers.db-wal does not belong to" in capsys.readouterr().err
    assert run("restore", words, copy) == 0
    assert stored(path) == set(ann.acknowledged)
    ann.close()
    bob.close()


def test_what_cannot_be_backed_up_or_restored_is_told(words, path, tmp_path, capsys, serve_study):
    serve_study(words).end()
    copy, text = tmp_path / "copy.db", tmp_path / "notes.txt"
    text.write_text("these are my notes\n" * 100)
    assert run("backup", words, text) == 1
    assert f"{text} is there already" in capsys.readouterr().err
    assert run("restore", words, text) == 1
    assert f"{text} is not a database" in capsys.readouterr().err
    assert run("restore", words, tmp_path / "none.db") == 1
    assert "there is no file" in capsys.readouterr().err
    assert run("restore", words, path) == 1
    assert "is the database itself" in capsys.readouterr().err
    stores.open(copy).close()
    before = path.read_bytes()
    assert run("restore", words, copy) == 1
    told = capsys.readouterr().err
    with stores.open(copy) as other, stores.open(path) as own:
        assert f"is a backup of database {other.id}" in told
        assert f"the answers are in database {own.id}" in told
    assert path.read_bytes() == before or stored(path) == set()
    assert run("restore", words, copy, "--new-database") == 0
    serve_study(words).end()


def test_postgresql_has_its_own_tools(words, postgres_url, tmp_path, capsys):
    assert run("backup", words, tmp_path / "x.db", "--db", postgres_url) == 1
    assert "use: pg_dump --format=custom --file=" in capsys.readouterr().err
    assert run("restore", words, tmp_path / "x.db", "--db", postgres_url) == 1
    assert "use: pg_restore --clean" in capsys.readouterr().err


# ── starting ─────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def begun(words, serve_study):
    """A study with one person, whose server was stopped."""
    served = serve_study(words)
    ann = Person(served.url)
    ann.answer(2)
    ann.close()
    served.end()
    return words


def remembered(folder: Path) -> dict[str, str]:
    return json.loads((folder / ".softlabel" / "secret.json").read_text())["databases"]


def test_a_database_that_is_gone_is_not_begun_anew(begun, path, capsys, serve_study):
    (id,) = remembered(begun).values()
    path.unlink()
    for words in (("serve", begun, "--port", 0), ("invite", begun, "--list")):
        assert run(*words) == 1
        told = capsys.readouterr().err
        assert f"secret.json: the answers are in database {id}" in told
        assert f"there is no database at {path}" in told
        assert "softlabel restore" in told
        assert not path.exists()
    serve_study(begun, "--new-database").end()
    assert remembered(begun) != {".softlabel/answers.db": id}
    serve_study(begun).end()


def test_another_database_in_its_place_is_refused_and_not_changed(begun, path, capsys, tmp_path):
    (id,) = remembered(begun).values()
    path.unlink()
    with stores.open(path) as other:
        found = other.id
    before = path.read_bytes()
    assert run("serve", begun, "--port", 0) == 1
    told = capsys.readouterr().err
    assert f"database {id}" in told
    assert f"{path} is database {found}" in told
    assert path.read_bytes() == before


def test_a_postgresql_that_is_empty_again_is_refused(words, postgres_url, serve_study, capsys):
    serve_study(words, "--db", postgres_url).end()
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    assert run("serve", words, "--db", postgres_url, "--port", 0) == 1
    told = capsys.readouterr().err
    assert "secret.json: the answers are in database" in told
    assert "it is empty" in told


def test_a_study_may_have_several_databases_and_be_moved(begun, path, tmp_path, serve_study):
    serve_study(begun, "--db", tmp_path / "other.db").end()
    moved = begun.rename(tmp_path / "moved")
    serve_study(moved).end()
    serve_study(moved, "--db", tmp_path / "other.db").end()
    assert set(remembered(moved)) == {".softlabel/answers.db", str(tmp_path / "other.db")}


def test_a_secret_of_the_first_version_learns_its_database(begun, serve_study):
    file = begun / ".softlabel" / "secret.json"
    fields = json.loads(file.read_text())
    known = fields.pop("databases")
    file.write_text(json.dumps(fields))
    serve_study(begun).end()
    assert remembered(begun) == known


def test_a_lost_secret_is_told(begun, capsys, serve_study):
    """A new key would give everybody another pseudonym, and let them take part once more."""
    file = begun / ".softlabel" / "secret.json"
    kept = file.read_text()
    file.unlink()
    for words in (("serve", begun, "--port", 0), ("invite", begun, "--list")):
        assert run(*words) == 1
        assert f"{file} is missing: the pseudonyms in" in capsys.readouterr().err
        assert not file.exists()
    file.write_text(json.dumps({"key": "00" * 32, "researcher": "11" * 32}))
    file.chmod(0o600)
    assert run("serve", begun, "--port", 0) == 1
    assert f"{file} is not the one: the pseudonyms in" in capsys.readouterr().err
    serve_study(begun, "--new-secret").end()
    serve_study(begun).end()
    file.write_text(kept)
    assert run("serve", begun, "--port", 0) == 1


def test_a_damaged_database_is_not_served(begun, path, capsys):
    with path.open("r+b") as file:
        file.seek(-12 * 4096, os.SEEK_END)
        file.write(os.urandom(12 * 4096))
    assert run("serve", begun, "--port", 0) == 1
    assert "damaged" in capsys.readouterr().err


def test_a_database_that_others_can_read_is_told(begun, path, serve_study):
    path.chmod(0o644)
    served = serve_study(begun)
    assert f"warning: other users of this machine can open {path}" in served.log.read_text()
    assert f"chmod 600 {path}*" in served.log.read_text()


def test_an_older_database_is_migrated_when_asked_and_not_when_read(words, path, capsys, tmp_path):
    path.parent.mkdir()
    engines = engine.make_engines(path, create=True)
    with engines.write.connect() as connection, connection.begin():
        engine.begin(connection)
        engine.run_migrations(connection, "0004")
    engines.dispose()
    before = path.read_bytes()
    for command in (("status", words), ("export", words, tmp_path / "r.jsonl")):
        assert run(*command) == 1
        assert "softlabel migrate" in capsys.readouterr().err
    assert run("backup", words, tmp_path / "copy.db") == 0
    assert path.read_bytes() == before
    assert run("migrate", words) == 0
    assert f"{path} is up to date" in capsys.readouterr().out
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == ("0008",)
