"""What live allocation costs people who answer: the same crowd before a study with equal votes, and
before one that decides what to ask.

    python bench/live.py [--people 60] [--items 2000] [--seconds 20] [--turns 2]

Both studies are served by turns in one run, each by a server process of its own on this machine,
and the one that comes first changes.
Everybody comes in, and then answers once in ``THINK`` seconds until the time is over.  Prints the
times of answers and of plans in milliseconds, the processor time of the server per answer, and
what p95 is of that with equal votes: the median of turns, and their range.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import httpx
import numpy as np
from asking import study as asked

THINK = 0.25  # seconds
PER_ITEM = 200  # answers: never reached
WAYS = {"equal votes": "", "live": "[allocate]\nleast = 1\n"}


def write(folder: Path, allocate: str, items: int) -> None:
    asked.write_plain(folder, items)
    file = folder / "study.toml"
    text = file.read_text().replace('mode = "quick"', 'mode = "hard"')
    file.write_text(re.sub("(?m)^per_item = .*$", f"per_item = {PER_ITEM}", text) + allocate)


async def take_part(url: str, end: float, took: dict[str, list[float]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    async with httpx.AsyncClient(base_url=url, timeout=60, headers={"x-softlabel": "1"}) as client:

        async def ask(what: str, method: str, path: str, **more: object) -> httpx.Response:
            begin = time.perf_counter()
            reply = await client.request(method, path, **more)  # type: ignore[arg-type]
            took.setdefault(what, []).append(1e3 * (time.perf_counter() - begin))
            return reply

        boxes = {"adult": "on", "read": "on", "agree": "on"}
        await ask("page", "POST", "/consent", data=boxes)
        await ask("page", "POST", "/instructions")
        while time.perf_counter() < end:
            plan = (await ask("plan", "GET", "/api/plan")).json()
            for shown in [one for one in plan["showings"] if not one["answered"]][:12]:
                if time.perf_counter() >= end:
                    break
                await asyncio.sleep(THINK * rng.uniform(0.5, 1.5))
                body = {"response_uuid": str(uuid.uuid4()), "position": shown["position"]}
                body |= {"answer": {"label": str(rng.choice(asked.LABELS))}}
                reply = await ask("answer", "POST", "/api/answers", json=body)
                assert reply.status_code == 200, reply.text


async def load(url: str, people: int, seconds: float) -> dict[str, list[float]]:
    took: dict[str, list[float]] = {}
    end = time.perf_counter() + seconds
    await asyncio.gather(*(take_part(url, end, took, seed) for seed in range(people)))
    return took


def visit(allocate: str, given: argparse.Namespace) -> tuple[dict[str, list[float]], float]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "load"
        write(folder, allocate, given.items)
        command = [sys.executable, "-m", "softlabel", "serve", str(folder), "--port", "0"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
            assert server.stdout is not None, "it is a pipe"
            url = server.stdout.readline().decode().split(" at ")[1].strip()
            took = asyncio.run(load(url, given.people, given.seconds))
            server.terminate()
            server.wait(30)
        return took, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--people", type=int, default=60)
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--turns", type=int, default=2)
    given = parser.parse_args()
    found: dict[str, list[tuple[dict[str, list[float]], float]]] = {way: [] for way in WAYS}
    for turn in range(given.turns):
        for way in list(WAYS)[:: -1 if turn % 2 else 1]:
            found[way].append(visit(WAYS[way], given))
    for way, runs in found.items():
        answers = [np.percentile(took["answer"], [50, 95, 99]) for took, _ in runs]
        plans = [np.percentile(took["plan"], 95) for took, _ in runs]
        p50, p95, p99 = (statistics.median(one[n] for one in answers) for n in range(3))
        many = sum(len(took["answer"]) for took, _ in runs)
        print(
            f"{way}: {many:,} answers, p50 {p50:.1f}, p95 {p95:.1f}, p99 {p99:.1f} ms; "
            f"plan p95 {statistics.median(plans):.1f} ms; "
            f"{1e3 * sum(cpu for _, cpu in runs) / many:.2f} processor ms per answer"
        )
    equal, live = (
        [np.percentile(took["answer"], 95) for took, _ in runs] for runs in found.values()
    )
    ratios = sorted(after / before for before, after in zip(equal, live, strict=True))
    print(
        f"p95 of live / p95 of equal votes: {statistics.median(ratios):.2f}, the median of turns "
        f"from {ratios[0]:.2f} to {ratios[-1]:.2f}"
    )


if __name__ == "__main__":
    main()
