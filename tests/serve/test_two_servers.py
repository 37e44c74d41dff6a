"""Two server processes on one PostgreSQL serve one study, whichever of them is asked."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from itertools import cycle

import httpx

from softlabel import store as stores

STUDY = """
[study]
name = "pairs"
labels = ["yes", "no"]
mode = "hard"
[items]
source = "items.csv"
per_item = 3
per_annotator = 4
batch_size = 4
repeats = 1
repeat_positions = [0]
[quiz]
ask = false
[debrief]
ask = false
"""
ITEMS, PER_ITEM, PEOPLE = 12, 3, 9  # four items each: just enough


async def take_part(urls, acknowledged):
    """Every request goes to the other server than the one before."""
    turn = cycle(urls)
    async with httpx.AsyncClient(timeout=120, headers={"x-softlabel": "1"}) as client:

        async def ask(method, path, **more):
            return await client.request(method, next(turn) + path, **more)

        agreed = await ask("POST", "/consent", data={"adult": "on", "read": "on", "agree": "on"})
        client.headers["cookie"] = agreed.headers["set-cookie"].split(";")[0]
        await ask("POST", "/instructions")
        while True:
            plan = (await ask("GET", "/api/plan")).json()
            places = [one["position"] for one in plan["showings"] if not one["answered"]]
            if not places:
                break
            for place in places:
                body = {"response_uuid": str(uuid.uuid4()), "position": place}
                replies = await asyncio.gather(  # to both at once, as an impatient browser might
                    ask("POST", "/api/answers", json=body | {"answer": {"label": "yes"}}),
                    ask("POST", "/api/answers", json=body | {"answer": {"label": "yes"}}),
                )
                assert [reply.status_code for reply in replies] == [200, 200]
                acknowledged.append(body["response_uuid"])
        assert (await ask("POST", "/api/finish", json={})).json() == {"open": True, "next": "/"}
        assert "Thank you" in (await ask("GET", "/")).text


def test_two_servers_share_one_study(tmp_path, serve_study, postgres_url):
    (tmp_path / "study.toml").write_text(STUDY)
    rows = [f"i{n},word {n}" for n in range(ITEMS)]
    (tmp_path / "items.csv").write_text("\n".join(["id,text", *rows]) + "\n")
    urls = [serve_study(tmp_path, "--db", postgres_url).url for _ in range(2)]
    acknowledged = []

    async def everybody():
        await asyncio.gather(*(take_part(urls, acknowledged) for _ in range(PEOPLE)))

    asyncio.run(everybody())
    with stores.open(postgres_url) as store:
        stored = list(store.responses("pairs"))
        people = store.sessions("pairs")
    assert sorted(row.id for row in stored) == sorted(acknowledged)
    targets = [row for row in stored if row.kind == "target"]
    assert Counter(row.item for row in targets) == {f"i{n}": PER_ITEM for n in range(ITEMS)}
    assert all(n == 1 for n in Counter((row.annotator, row.item) for row in targets).values())
    assert sum(row.kind == "repeat" for row in stored) == PEOPLE
    assert [one.stage for one in people] == ["done"] * PEOPLE
    assert sorted(one.number for one in people) == list(range(PEOPLE))
