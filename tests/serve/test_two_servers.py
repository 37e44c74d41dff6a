"""Two server processes on one PostgreSQL serve one study, whichever of them is asked, and one goes
on when the other is killed."""

from __future__ import annotations

import asyncio
import signal
import time
import uuid
from collections import Counter, defaultdict
from itertools import count

import httpx
import pytest
import sqlalchemy as sa

from softlabel import store as stores
from softlabel.store.schema import item as item_table

STUDY = """
[study]
name = "pairs"
labels = ["yes", "no"]
mode = "hard"
[items]
source = "items.csv"
per_item = {per_item}
per_annotator = {each}
batch_size = {each}
repeats = 1
repeat_positions = [0]
[quiz]
ask = false
[debrief]
ask = false
"""
COMPARE = """
[compare.wordings]
plain = "Is this a word?"
crowd = "What would most people say?"
"""
SECONDS = 60.0  # to wait for a ranking, which takes a few


def write_study(folder, more="", *, items=12, per_item=3, each=4):
    (folder / "study.toml").write_text(STUDY.format(per_item=per_item, each=each) + more)
    rows = [f"i{n},word {n}" for n in range(items)]
    (folder / "items.csv").write_text("\n".join(["id,text", *rows]) + "\n")
    return folder


class Crowd:
    """People of whom each sends every request to the other server than the one before; a server
    that is gone is left out.  Keeps what was acknowledged, and which arms people were told."""

    def __init__(self, urls):
        self.urls = list(urls)
        self.acknowledged: list[str] = []
        self.arms: defaultdict[int, set[str | None]] = defaultdict(set)
        self.came = count()
        self.before_answer = None

    def visit(self, people):
        """So many people take part at the same time."""

        async def everybody():
            await asyncio.gather(*(self._take_part(next(self.came)) for _ in range(people)))

        asyncio.run(everybody())

    async def _take_part(self, number):
        async with Person(self.urls, number) as person:
            await person.enter()
            while True:
                plan = (await person.ask("GET", "/api/plan")).json()
                self.arms[number].add(plan.get("arm"))
                waiting = [shown for shown in plan["showings"] if not shown["answered"]]
                if not waiting:
                    break
                for shown in waiting:
                    await self._answer(person, shown)
            done = await person.ask("POST", "/api/finish", json={})
            assert done.json() == {"open": True, "next": "/"}
            assert "Thank you" in (await person.ask("GET", "/")).text

    async def _answer(self, person, shown):
        if self.before_answer is not None:
            self.before_answer()
        body = {"response_uuid": str(uuid.uuid4()), "position": shown["position"]}
        body["answer"] = {"label": "yes"}
        replies = await asyncio.gather(  # to both at once, as an impatient browser might
            person.ask("POST", "/api/answers", json=body),
            person.ask("POST", "/api/answers", json=body),
        )
        assert [reply.status_code for reply in replies] == [200, 200]
        self.acknowledged.append(body["response_uuid"])


class Person:
    """One browser: its cookie, and the servers that it knows."""

    def __init__(self, urls, first):
        self.urls, self.turn = urls, count(first)
        self.client = httpx.AsyncClient(timeout=120, headers={"x-softlabel": "1"})

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await self.client.aclose()

    async def ask(self, method, path, **more):
        while True:
            url = self.urls[next(self.turn) % len(self.urls)]
            try:
                return await self.client.request(method, url + path, **more)
            except httpx.TransportError:
                if len(self.urls) > 1 and url in self.urls:
                    self.urls.remove(url)
                elif url in self.urls:
                    raise

    async def enter(self):
        boxes = {"adult": "on", "read": "on", "agree": "on"}
        agreed = await self.ask("POST", "/consent", data=boxes)
        self.client.headers["cookie"] = agreed.headers["set-cookie"].split(";")[0]
        await self.ask("POST", "/instructions")


@pytest.fixture
def serve_two(tmp_path, serve_study, postgres_url):
    """Two servers, and the people who know both."""

    def serve(*given, **changes):
        folder = write_study(tmp_path, *given, **changes)
        servers = [serve_study(folder, "--db", postgres_url) for _ in range(2)]
        return servers, Crowd([server.url for server in servers])

    return serve


def read_stored(url):
    with stores.open(url) as store:
        return list(store.responses("pairs")), store.sessions("pairs")


def wait_for_ranking(url, answers):
    """Wait until so many answers, of all that there are, are ranked; the report."""
    end = time.monotonic() + SECONDS
    with stores.open(url) as store:
        while time.monotonic() < end:
            report = store.ranking("pairs").report
            if report.get("answers") == answers and "kl" in report:
                return report
            time.sleep(0.1)
    raise AssertionError(f"{answers} answers were not ranked in {SECONDS} s: {report}")


def list_done(url):
    """The items that need no more answers."""
    done = sa.select(item_table.c.id).where(item_table.c.weight == 0)
    with stores.open(url) as store:
        return set(store._read(lambda db: db.execute(done).scalars().all()))


def test_two_servers_share_one_study(serve_two, postgres_url):
    _, crowd = serve_two()
    crowd.visit(9)  # four items each: just enough
    stored, people = read_stored(postgres_url)
    assert sorted(row.id for row in stored) == sorted(crowd.acknowledged)
    targets = [row for row in stored if row.kind == "target"]
    assert Counter(row.item for row in targets) == {f"i{n}": 3 for n in range(12)}
    assert all(n == 1 for n in Counter((row.annotator, row.item) for row in targets).values())
    assert sum(row.kind == "repeat" for row in stored) == 9
    assert [one.stage for one in people] == ["done"] * 9
    assert sorted(one.number for one in people) == list(range(9))


def test_live_allocation_goes_on_when_one_of_two_servers_is_killed(serve_two, postgres_url):
    limits = "[allocate]\nleast = 2\nmost = 4\nstop = 10\n"  # two answers are always enough
    servers, crowd = serve_two(limits, items=40, per_item=3, each=10)
    crowd.visit(5)
    report = wait_for_ranking(postgres_url, 50)
    done = list_done(postgres_url)
    assert report["done"] == len(done) == 10

    def kill():
        if len(crowd.acknowledged) >= 55 + 8:  # fifty targets and five repeats before
            crowd.before_answer = None
            servers[0].process.send_signal(signal.SIGKILL)

    crowd.before_answer = kill
    crowd.visit(4)
    assert servers[0].process.wait(10) == -signal.SIGKILL
    assert crowd.urls == [servers[1].url]
    stored, people = read_stored(postgres_url)
    assert sorted(row.id for row in stored) == sorted(crowd.acknowledged)
    assert [one.stage for one in people] == ["done"] * 9
    targets = [row for row in stored if row.kind == "target"]
    per_item = Counter(row.item for row in targets)
    assert len(targets) > 50 + 8
    assert 2 <= min(per_item.values()) <= max(per_item.values()) <= 4
    assert not done & {row.item for row in targets[50:]}
    assert all(0 < row.propensity <= 1 for row in targets)
    ranked = wait_for_ranking(postgres_url, len(targets))  # by the other server
    assert ranked["done"] == 40
    assert "There is nothing left to do" in httpx.get(servers[1].url).text


@pytest.mark.parametrize("allocate", ["", "[allocate]\nleast = 1\nmost = 4\n"])
def test_arms_are_balanced_and_kept_by_two_servers(serve_two, postgres_url, allocate):
    _, crowd = serve_two(COMPARE + allocate)
    crowd.visit(8)
    assert all(len(told) == 1 for told in crowd.arms.values()), "both servers tell the same arm"
    assert Counter(arm for told in crowd.arms.values() for arm in told) == {"plain": 4, "crowd": 4}
    stored, people = read_stored(postgres_url)
    assert sorted(row.id for row in stored) == sorted(crowd.acknowledged)
    own = {one.annotator: set() for one in people}
    for row in stored:
        own[row.annotator].add(row.arm)
    assert Counter(arm for arms in own.values() for arm in arms) == {"plain": 4, "crowd": 4}
    targets = [row for row in stored if row.kind == "target"]
    per_item = Counter(row.item for row in targets)
    assert sum(per_item.values()) == 8 * 4
    assert max(per_item.values()) <= (4 if allocate else 3)
    assert all((row.propensity is not None) == bool(allocate) for row in targets)
