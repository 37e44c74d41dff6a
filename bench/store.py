"""Durable answers per second through the store, beside one durable commit per answer.

    python bench/store.py [ANSWERS]

An asyncio loop plays people as the server does: each sends an answer, waits until it is on the
disk, and sends the next; after every twenty they ask for more items.  The limit beside it is the
most that a program without group commit can do: the bare driver, one insert and one commit per
answer, with nothing checked and nothing else written.  All in the same run on the same disk, in
turns; the median of the runs, least and most.

At the end: how long everybody waits while the answers of one person are deleted without a trace,
beside how long they would wait for SQLite's VACUUM.
"""

from __future__ import annotations

import asyncio
import os
import platform
import sqlite3
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import psycopg

from softlabel import store
from softlabel.store import ItemRow, NewResponse, Plan, Store

RUNS, PEOPLE, ITEMS = 5, 200, 10_000
REFILL = 20  # answers after which somebody asks for more items
EVENTS = ",".join(f'[{i}40,"key","Digit3","cat"]' for i in range(20))
PAYLOAD = f'{{"answer":{{"top":"cat","certainty":4,"alternatives":["dog"]}},"events":[{EVENTS}]}}'
TABLE = "CREATE TABLE bare (id text PRIMARY KEY, session text, position int, payload text)"
BARE = "one durable commit per answer (driver alone)"

Rate = Callable[[int], float]
serial = count()


def main(answers: int) -> None:
    print(
        f"{answers:,} answers a run, {RUNS} runs, {ITEMS:,} items, {os.cpu_count()} cores", end=""
    )
    print(f" ({platform.machine()}), Python {platform.python_version()}", end="")
    print(f", SQLite {sqlite3.sqlite_version}\n")
    print(f"{'':<11} {'':<45} {'answers/s':>10} {'least':>8} {'most':>8} {'ratio':>6}")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with store.open(place / "answers.db") as db:
            table("SQLite", db, bare_sqlite(place / "bare.db"), answers)
            withdrawals(db, place / "answers.db")
        with postgres(place / "postgres") as server:
            server.psql("CREATE DATABASE answers")
            with store.open(server.get_uri("answers")) as db:
                table("PostgreSQL", db, bare_postgres(server.get_uri()), answers)


def table(name: str, db: Store, bare: Rate, answers: int) -> None:
    ways: dict[str, Rate] = {
        f"the store, {PEOPLE} people at once": lambda n: asyncio.run(people(db, PEOPLE, n)),
        "the store, 1 person": lambda n: asyncio.run(people(db, 1, n // 20)),
        BARE: lambda n: bare(n // 5),
    }
    rates: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(RUNS):
        for way, run in ways.items():
            rates[way].append(run(answers))
    limit = median(rates[BARE])
    for way, found in rates.items():
        middle = median(found)
        line = f"{name:<11} {way:<45} {middle:>10,.0f} {min(found):>8,.0f} {max(found):>8,.0f}"
        print(f"{line} {middle / limit:>6.2f}")


def withdrawals(db: Store, path: Path) -> None:
    study, waits = "study-0", []  # of the first run, with many people
    for session in db.sessions(study)[:RUNS]:
        start = time.perf_counter()
        gone = db.forget(study, session.annotator)
        db.event(study, None, "next", {}, 0.0).result()
        gone.result()
        db.event(study, None, "after", {}, 0.0).result()
        waits.append(time.perf_counter() - start)
    bare = sqlite3.connect(path, isolation_level=None)
    start = time.perf_counter()
    bare.execute("VACUUM")
    bare.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    limit = time.perf_counter() - start
    bare.close()
    middle, size = median(waits), path.stat().st_size / 1e6
    line = f"{'SQLite':<11} {f'forgetting one person, {size:,.0f} MB':<45} {middle:>10.2f}"
    print(f"{line} {min(waits):>8.2f} {max(waits):>8.2f} {middle / limit:>6.2f} of VACUUM, s")


async def people(db: Store, number: int, answers: int) -> float:
    """Answers per second of so many people at once; entering is not counted."""
    study, each = f"study-{next(serial)}", answers // number
    per_item = 1 + answers // ITEMS
    items = [ItemRow(f"item-{i}") for i in range(ITEMS)]
    db.put_study(study, "", ["cat", "dog"], items, per_item, 0.0).result()
    plan = Plan(per_item=per_item, per_annotator=each, batch_size=each)
    ready = [await enter(db, study, plan, f"{study}-{i}") for i in range(number)]
    start = time.perf_counter()
    await asyncio.gather(*(answer(db, person, plan, each) for person in ready))
    return number * each / (time.perf_counter() - start)


async def enter(db: Store, study: str, plan: Plan, name: str) -> str:
    entering = db.enter(
        study,
        name,
        name,
        label_order_of=lambda number: ("cat", "dog"),
        seed=0,
        recruiter_session=None,
        now=0.0,
    )
    session = await asyncio.wrap_future(entering)
    await asyncio.wrap_future(db.lease(session.id, plan, 0.0))
    return session.id


async def answer(db: Store, session: str, plan: Plan, answers: int) -> None:
    for position in range(answers):
        if position and position % REFILL == 0:
            await asyncio.wrap_future(db.lease(session, plan, 0.0))
        name = f"{session}-{position}"
        new = NewResponse(name, position, "{}", PAYLOAD, "quick", 1, digest=name)
        await asyncio.wrap_future(db.answer(session, new, 1.0))


def bare_sqlite(path: Path) -> Rate:
    connection = sqlite3.connect(path, isolation_level=None)
    for line in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", TABLE):
        connection.execute(line)
    return lambda n: inserts(connection, "INSERT INTO bare VALUES (?, ?, ?, ?)", n)


def bare_postgres(uri: str) -> Rate:
    connection = psycopg.connect(uri, autocommit=True)
    connection.execute(TABLE)
    return lambda n: inserts(connection, "INSERT INTO bare VALUES (%s, %s, %s, %s)", n)


def inserts(connection: Any, statement: str, answers: int) -> float:
    """Outside a transaction every statement commits."""
    start = time.perf_counter()
    for _ in range(answers):
        connection.execute(statement, (f"answer-{next(serial)}", "session", 1, PAYLOAD))
    return answers / (time.perf_counter() - start)


@contextmanager
def postgres(folder: Path) -> Iterator[Any]:
    with warnings.catch_warnings():  # it asks for a runtime folder and then does without
        warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR is not set")
        import pgserver
    with pgserver.get_server(folder, cleanup_mode="delete") as server:
        yield server


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
