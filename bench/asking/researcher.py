"""The researcher during a run: the dashboard is open, and if wanted something is done every second
on the page *Run*, as a person does it: the question first, then the button."""

from __future__ import annotations

import asyncio
import re
import time
from itertools import cycle

from softlabel.simulate.client import Client, Log

POLL = 5.0  # seconds between two looks at the dashboard
EVERY = 1.0  # seconds from one action to the next
PATIENCE = 60  # seconds for somebody to be listed
PERSON = re.compile(r'href="/research/people/([^"]+)"')
REVISION = re.compile(r'name="revision" value="(\d+)"')


class Researcher:
    """Somebody who is logged in; what goes wrong is logged like the annotators' errors."""

    def __init__(self, url: str, token: str, log: Log) -> None:
        self.client, self.log = Client(url), log
        self._token = token
        self.looks: list[float] = []  # seconds that each look at the dashboard took
        self.acts: list[float] = []  # seconds that each action took, the question included

    async def watch(self) -> None:
        """Look at the dashboard again and again."""
        await self._log_in()
        while True:
            if await self._get("/research") is not None:
                self.looks.append(self._seconds)
            await asyncio.sleep(POLL)

    async def find_person(self) -> str:
        """Wait for the first person on the list, which is brought up to date now and then."""
        await self._log_in()
        for _ in range(PATIENCE):
            if found := PERSON.search(await self._get("/research/people") or ""):
                return found[1]
            await asyncio.sleep(1)
        raise TimeoutError("nobody is on the list of people")

    async def act(self, annotator: str, per_item: int, pausing: bool) -> None:
        """Do one thing a second: leave this person out, take them in again, change the quota, and
        set it back; and with ``pausing`` pause and resume after every second round."""
        somebody = {"annotator": annotator, "reason": "a trial"}
        others = [
            ("exclude", somebody),
            ("include", somebody),
            ("quota", {"number": str(per_item + 1)}),
            ("quota", {"number": str(per_item)}),
        ]
        pauses: list[tuple[str, dict[str, str]]] = [("pause", {}), ("resume", {})]
        actions = cycle([*(pauses if pausing else ()), *others, *others])
        for name, fields in actions:
            begin = time.perf_counter()
            if await self._do(name, fields):
                self.acts.append(time.perf_counter() - begin)
            await asyncio.sleep(max(0.0, begin + EVERY - time.perf_counter()))

    async def _do(self, name: str, fields: dict[str, str]) -> bool:
        address = f"/research/run/{name}"
        asked = await self._post(address, fields, 200)
        revision = REVISION.search(asked or "")
        if revision is None:
            return False
        agreed = fields | {"revision": revision[1], "confirm": "yes"}
        done = await self._post(address, agreed, 303) is not None
        return done and await self._get("/research/run") is not None

    async def _log_in(self) -> None:
        await self.client.post_form("/research/login", {"token": self._token})

    async def _get(self, path: str) -> str | None:
        try:
            reply = await self.client.get(path)
        except OSError as error:
            return self._fail("GET", path, type(error).__name__)
        self._seconds = reply.seconds
        return reply.text if reply.status == 200 else self._fail("GET", path, reply.status)

    async def _post(self, path: str, fields: dict[str, str], expected: int) -> str | None:
        try:
            reply = await self.client.post_form(path, fields)
        except OSError as error:
            return self._fail("POST", path, type(error).__name__)
        return reply.text if reply.status == expected else self._fail("POST", path, reply.status)

    def _fail(self, method: str, path: str, why: object) -> None:
        self.log.errors[f"{method} {path}: {why}"] += 1
