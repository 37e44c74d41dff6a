"""Durable answers per second through the store, beside one durable commit per answer.

    python bench/store.py [ANSWERS]

An asyncio loop plays 200 people at once, as the server does: each sends an answer, waits until it
is on the disk, and sends the next.  The limit beside it is what a program without group commit can
do at best: the driver alone, one insert and one commit per answer, nothing checked, nothing else
written.  Both in the same run on the same disk, five times each, in turns.
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
from collections.abc import Callable
from pathlib import Path
from statistics import median

import psycopg

from softlabel import store
from softlabel.store import ItemRow, NewResponse, Plan, Store

RUNS, PEOPLE, ITEMS = 5, 200, 10_000
PAYLOAD = '{"answer":{"top":"cat","certainty":4,"alternatives":["dog"]},"events":[%s]}' % ",".join(
    f'[{i}40,"key","Digit3","cat"]' for i in range(20)
)
TABLE = "CREATE TABLE bare (id text PRIMARY KEY, session text, position int, payload text)"


def main() -> None:
    answers = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, python {platform.python_version()}, "
        f"sqlite {sqlite3.sqlite_version}"
    )
    print(f"n = {answers:,} answers a run, {RUNS} runs, {PEOPLE} people at once, {ITEMS:,} items\n")
    print("| database | how | answers/s, median | least to most | times the limit |")
    print("|---|---|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        compare("SQLite", str(Path(folder) / "answers.db"), bare_sqlite(Path(folder)), answers)
        with postgres(Path(folder)) as server:
            server.psql("CREATE DATABASE answers")
            limit = bare_postgres(server.get_uri())
            compare("PostgreSQL", server.get_uri("answers"), limit, answers)


def compare(name: str, place: str, limit: Callable[[int], float], answers: int) -> None:
    ours, bare = [], []
    with store.open(place) as db:
        for run in range(RUNS):
            ours.append(through_the_store(db, f"run-{run}", answers))
            bare.append(limit(answers // 10))
    row(name, "the store, group commit", ours, median(bare))
    row(name, "one durable commit per answer", bare, median(bare))


def row(name: str, how: str, rates: list[float], limit: float) -> None:
    middle = median(rates)
    spread = f"{min(rates):,.0f} to {max(rates):,.0f}"
    print(f"| {name} | {how} | {middle:,.0f} | {spread} | {middle / limit:.1f} |")


def through_the_store(db: Store, study: str, answers: int) -> float:
    each = answers // PEOPLE
    items = [ItemRow(f"item-{i}") for i in range(ITEMS)]
    db.put_study(study, "", ["cat", "dog"], items, 1 + answers // ITEMS, 0.0).result()
    plan = Plan(per_item=1 + answers // ITEMS, per_annotator=each, batch_size=each)
    return asyncio.run(_everybody(db, study, plan))


async def _everybody(db: Store, study: str, plan: Plan) -> float:
    people = [await _enter(db, study, plan, number) for number in range(PEOPLE)]
    start = time.perf_counter()
    counts = await asyncio.gather(*(_person(db, *person) for person in people))
    return sum(counts) / (time.perf_counter() - start)


async def _enter(db: Store, study: str, plan: Plan, number: int) -> tuple[str, list[int]]:
    name = f"{study}-{number}"
    entering = db.enter(
        study,
        name,
        name,
        label_order_of=lambda n: ("cat", "dog"),
        seed=0,
        recruiter_session=None,
        now=0.0,
    )
    session = await asyncio.wrap_future(entering)
    shown = await asyncio.wrap_future(db.lease(session.id, plan, 0.0))
    return session.id, [s.position for s in shown]


async def _person(db: Store, session: str, positions: list[int]) -> int:
    for position in positions:
        name = f"{session}-{position}"
        new = NewResponse(name, position, "{}", PAYLOAD, "quick", 1, digest=name)
        await asyncio.wrap_future(db.answer(session, new, 1.0))
    return len(positions)


def bare_sqlite(folder: Path) -> Callable[[int], float]:
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    for line in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", TABLE):
        connection.execute(line)
    serial = iter(range(10**9))

    def limit(answers: int) -> float:
        start = time.perf_counter()
        for _ in range(answers):  # outside a transaction every statement commits
            values = (f"answer-{next(serial)}", "session", 1, PAYLOAD)
            connection.execute("INSERT INTO bare VALUES (?, ?, ?, ?)", values)
        return answers / (time.perf_counter() - start)

    return limit


def bare_postgres(uri: str) -> Callable[[int], float]:
    connection = psycopg.connect(uri, autocommit=True)
    connection.execute(TABLE)
    serial = iter(range(10**9))

    def limit(answers: int) -> float:
        start = time.perf_counter()
        for _ in range(answers):
            values = (f"answer-{next(serial)}", "session", 1, PAYLOAD)
            connection.execute("INSERT INTO bare VALUES (%s, %s, %s, %s)", values)
        return answers / (time.perf_counter() - start)

    return limit


def postgres(folder: Path):
    with warnings.catch_warnings():  # it asks for a runtime folder and then does without
        warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR is not set")
        import pgserver
    (folder / "postgres").mkdir()
    return pgserver.get_server(folder / "postgres", cleanup_mode="delete")


if __name__ == "__main__":
    main()
