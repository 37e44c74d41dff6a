"""``/ready``: whether answers can be stored, in every way in which they cannot."""

from __future__ import annotations

import asyncio
import logging
import re
import resource
import signal
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import httpx
import psycopg
import pytest

from softlabel.serve.app import PATIENCE, StoreErrors

STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00"


@pytest.fixture
def birds(study_folder, serve_study):
    """A server process, and the database file that it writes."""
    folder = study_folder()
    return serve_study(folder), folder / ".softlabel" / "answers.db"


def ask(served):
    reply = httpx.get(f"{served.url}/ready", timeout=60)
    return reply.status_code, reply.json()


def recovered(served) -> bool:
    """Not at once: an answer may be a second old, and a lock takes time to give up."""
    return until(served, 200) == {"ready": True}


def failed(served):
    return until(served, 503)


def until(served, wanted):
    for _ in range(600):
        status, told = ask(served)
        if status == wanted:
            return told
        time.sleep(0.05)
    raise AssertionError(f"still {status} {told}")


def test_a_server_that_stores_answers_is_ready(running):
    ann = running.person()
    size = (running.folder / ".softlabel" / "answers.db").stat().st_size
    for _ in range(3):
        reply = ann.get("/ready")
        assert (reply.status_code, reply.json()) == (200, {"ready": True})
    assert ann.get("/health").json() == {"ok": True}
    assert (running.folder / ".softlabel" / "answers.db").stat().st_size == size


def test_a_full_disk_is_not_ready(birds):
    served, _ = birds
    assert ask(served) == (200, {"ready": True})
    limit(served, 5000)  # less than the log has already
    told = failed(served)
    assert told["ready"] is False
    assert told["reason"] in ("the disk is full", "the disk cannot be written")
    assert httpx.get(f"{served.url}/health").json() == {"ok": True}
    limit(served, resource.RLIM_INFINITY)
    assert recovered(served)


def limit(served, size):
    resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def test_a_lock_of_another_program_is_not_ready(birds):
    served, path = birds
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        status, told = ask(served)
        assert (status, told["ready"]) == (503, False)
        assert told["reason"] == f"the database did not answer within {PATIENCE:.0f} s"
        other.execute("ROLLBACK")
    assert recovered(served)


def test_a_file_that_is_gone_is_not_ready_and_nothing_is_acknowledged(birds, answer_body):
    """Answers stay in the browsers until the file is back and the server was started again."""
    served, path = birds
    with httpx.Client(base_url=served.url, headers={"x-softlabel": "1"}, timeout=60) as ann:
        ann.post("/consent", data={"adult": "on", "read": "on", "agree": "on"})
        ann.post("/instructions")
        ann.post("/quiz", data={"q0": "0", "q1": "1"})
        places = [one["position"] for one in ann.get("/api/plan").json()["showings"]]
        assert ann.post("/api/answers", json=answer_body(places[0])).status_code == 200
        path.rename(path.with_name("away.db"))
        waiting = [answer_body(place) for place in places[1:]]
        for body in waiting * 20:
            reply = ann.post("/api/answers", json=body)
            assert (reply.status_code, reply.json()) == (503, {"error": "store"})
        assert ann.get("/").status_code == 503
        status, told = ask(served)
        assert status == 503
        assert told["reason"] == "the database file was moved, deleted or replaced"
        path.with_name("away.db").rename(path)
        assert ask(served)[0] == 503  # until it is started again
        text = served.log.read_text()
        told = re.findall(rf"^{STAMP} the store refused: \S+answers.db is not the file", text, re.M)
        assert len(told) == 1, text  # and not once for every answer
        served.end()


def test_started_again_it_goes_on_where_it_was(birds, serve_study, answer_body):
    served, path = birds
    port = int(served.url.rsplit(":", 1)[1])
    with httpx.Client(base_url=served.url, headers={"x-softlabel": "1"}, timeout=60) as ann:
        ann.post("/consent", data={"adult": "on", "read": "on", "agree": "on"})
        ann.post("/instructions")
        ann.post("/quiz", data={"q0": "0", "q1": "1"})
        first, second, *_ = ann.get("/api/plan").json()["showings"]
        assert ann.post("/api/answers", json=answer_body(first["position"])).status_code == 200
        path.rename(path.with_name("away.db"))
        body = answer_body(second["position"])
        assert ann.post("/api/answers", json=body).status_code == 503
        path.with_name("away.db").rename(path)
        served.end(signal.SIGTERM)
        serve_study(path.parent.parent, port=port)
        assert ann.post("/api/answers", json=body).status_code == 200
        assert [one["answered"] for one in ann.get("/api/plan").json()["showings"]][:2] == [
            True,
            True,
        ]


def test_a_postgresql_that_is_away_is_not_ready(
    study_folder, serve_study, postgres_server, postgres_url
):
    served = serve_study(study_folder(), "--db", postgres_url)
    assert ask(served) == (200, {"ready": True})
    with psycopg.connect(postgres_url) as connection:
        name = connection.info.dbname
    with psycopg.connect(postgres_server.get_uri(), autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
        admin.execute(ended, (name,))
        assert failed(served)["reason"] == "the database cannot be reached"
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    assert recovered(served)


def test_strangers_cannot_keep_the_writer_busy(running):
    asked = []
    probe = running.store.probe
    running.store.probe = lambda: asked.append(1) or probe()
    with ThreadPoolExecutor(16) as pool:
        codes = list(pool.map(lambda _: httpx.get(f"{running.url}/ready").status_code, range(100)))
    assert set(codes) == {200}
    assert len(asked) < 50  # one a second, however many ask


def test_the_same_complaint_is_logged_once_and_counted(caplog):
    async def complain():
        errors = StoreErrors(quiet=0.2)
        for _ in range(948):
            errors.log("answers.db: disk is full")
        errors.log("answers.db: database is locked")
        await asyncio.sleep(0.5)
        errors.log("answers.db: disk is full")

    with caplog.at_level(logging.ERROR, logger="softlabel.serve"):
        asyncio.run(complain())
    said = [record.getMessage() for record in caplog.records]
    assert [re.sub(f"^{STAMP} ", "", line) for line in said] == [
        "the store refused: answers.db: disk is full",
        "the store refused: answers.db: database is locked",
        "947 more times in 0 s: answers.db: disk is full",
        "the store refused: answers.db: disk is full",
    ]
