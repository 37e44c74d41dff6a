"""The real process: how it starts, how it stops, and that stopping it rudely loses nothing."""

from __future__ import annotations

import asyncio
import re
import resource
import signal
import socket
import stat
import subprocess
import sys
import uuid
from pathlib import Path

import httpx
import pytest

from softlabel import store as stores
from softlabel.cli import main
from softlabel.serve.process import listen

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
PEOPLE, KILLS = 6, 10
BETWEEN = 15  # answers at least, after which everybody is answering again
PROGRAM = {"x-softlabel": "1"}


@pytest.fixture
def words(tmp_path):
    folder = tmp_path / "words"
    folder.mkdir()
    (folder / "study.toml").write_text(STUDY)
    rows = [f"w{n},word {n}" for n in range(2000)]
    (folder / "items.csv").write_text("\n".join(["id,text", *rows]) + "\n")
    return folder


def stored(folder):
    with stores.open(folder / ".softlabel" / "answers.db") as store:
        return [row.id for row in store.responses("words")]


# ── killing ──────────────────────────────────────────────────────────────────────────────────


class Target:
    """The server of the moment, wherever it listens by now."""

    def __init__(self, url):
        self.url, self.acknowledged, self.stopped = url, [], False

    async def ask(self, client, method, path, **more):
        """Again and again until the server answers, as a browser's outbox does."""
        while True:
            try:
                return await client.request(method, self.url + path, headers=PROGRAM, **more)
            except httpx.TransportError:
                await asyncio.sleep(0.02)


async def take_part(target):
    async with httpx.AsyncClient(timeout=60) as client:
        agree = {"adult": "on", "read": "on", "agree": "on"}
        await target.ask(client, "POST", "/consent", data=agree)
        await target.ask(client, "POST", "/instructions")
        while not target.stopped:
            plan = (await target.ask(client, "GET", "/api/plan")).json()
            for place in [one["position"] for one in plan["showings"] if not one["answered"]]:
                name = str(uuid.uuid4())
                body = {"response_uuid": name, "position": place, "answer": {"label": "yes"}}
                reply = await target.ask(client, "POST", "/api/answers", json=body)
                assert reply.status_code == 200, reply.text
                target.acknowledged.append(reply.json()["acknowledged"])
                if target.stopped:
                    break


async def kill_again_and_again(folder, serve_study):
    served = serve_study(folder)
    target = Target(served.url)
    people = [asyncio.create_task(take_part(target)) for _ in range(PEOPLE)]
    for _ in range(KILLS):
        enough = len(target.acknowledged) + BETWEEN
        while len(target.acknowledged) < enough:
            await asyncio.sleep(0.01)
        served.end(signal.SIGKILL)
        served = await asyncio.to_thread(serve_study, folder)
        target.url = served.url
    target.stopped = True
    await asyncio.gather(*people)
    served.end()
    return target.acknowledged


def test_ten_kills_under_load_lose_nothing_and_invent_nothing(words, serve_study):
    acknowledged = asyncio.run(kill_again_and_again(words, serve_study))
    kept = stored(words)
    assert len(acknowledged) >= KILLS * BETWEEN
    assert len(kept) == len(set(kept))
    assert set(kept) == set(acknowledged)


# ── starting and stopping ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_polite_stop_finishes_what_was_asked(words, serve_study, how):
    served = serve_study(words)
    told = served.log.read_text()
    assert "the researcher's token, shown this once: " in told

    async def load():
        target = Target(served.url)
        people = [asyncio.create_task(take_part(target)) for _ in range(4)]
        while len(target.acknowledged) < 50:
            await asyncio.sleep(0.01)
        ended = asyncio.get_running_loop().run_in_executor(None, served.end, how)
        code = await ended
        for person in people:
            person.cancel()
        await asyncio.gather(*people, return_exceptions=True)
        return code, target.acknowledged

    code, acknowledged = asyncio.run(load())
    assert code == 0
    assert set(acknowledged) <= set(stored(words))
    assert "Traceback" not in served.log.read_text()


def test_a_second_start_continues_and_tells_no_token(words, serve_study, capsys):
    first = serve_study(words)
    with httpx.Client(base_url=first.url, headers=PROGRAM) as ann:
        ann.post("/consent", data={"adult": "on", "read": "on", "agree": "on"})
        ann.post("/instructions")
        before = ann.get("/api/plan").json()
        assert "server" not in ann.get("/health").headers
        port = int(first.url.rsplit(":", 1)[1])
        first.end(signal.SIGKILL)
        told = first.log.read_text()
        again = serve_study(words, port=port)
        assert ann.get("/api/plan").json() == before
    research = f"the researcher's pages: {again.url}/research\n"
    assert again.log.read_text() == told + research
    assert told.endswith(research)
    assert main(["serve", str(words), "--port", str(port)]) == 1
    assert f"cannot listen at 127.0.0.1, port {port}" in capsys.readouterr().err


def test_a_start_that_fails_costs_no_token(words, serve_study, start_in_vain):
    """Real processes on a port that is really taken."""
    secret = words / ".softlabel" / "secret.json"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        first = start_in_vain(words, "--port", port)
        assert f"cannot listen at 127.0.0.1, port {port}" in first
        assert "token" not in first
        assert not secret.exists()
        served = serve_study(words)
        told = token_in(served.log.read_text())
        before = secret.read_bytes()
        assert "token" not in start_in_vain(words, "--port", port, "--new-token")
        assert secret.read_bytes() == before
    assert logs_in(served.url, told)
    served.end()
    renewed = serve_study(words, "--new-token")
    assert not logs_in(renewed.url, told)
    assert logs_in(renewed.url, token_in(renewed.log.read_text()))


def test_a_store_that_does_not_open_costs_no_token_either(words, serve_study, start_in_vain):
    database = words / "answers.db"
    database.write_text("not a database, though long enough to be taken for one\n" * 100)
    assert "token" not in start_in_vain(words, "--port", "0", "--db", str(database))
    assert not (words / ".softlabel" / "secret.json").exists()


def test_a_token_can_go_to_a_file_instead_of_a_log(words, serve_study, start_in_vain, tmp_path):
    file = tmp_path / "token"
    served = serve_study(words, "--token-file", file)
    token = file.read_text().strip()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert token not in served.log.read_text()
    assert f"the researcher's token is in {file}" in served.log.read_text()
    assert logs_in(served.url, token)
    nowhere = tmp_path / "nowhere" / "token"
    told = start_in_vain(words, "--port", "0", "--new-token", "--token-file", str(nowhere))
    assert f"--token-file {nowhere}: cannot write into {nowhere.parent}" in told
    assert logs_in(served.url, token)


@pytest.fixture
def start_in_vain(run_softlabel):
    """What a server says that cannot start."""

    def start(folder, *options):
        done = run_softlabel("serve", folder, *options)
        assert (done.returncode, done.stdout) == (1, "")
        return done.stderr

    return start


def token_in(log):
    return re.findall(r"the researcher's token, shown this once: (\S+)", log)[-1]


def logs_in(url, token):
    reply = httpx.post(f"{url}/research/login", data={"token": token}, headers=PROGRAM)
    return reply.status_code == 303


def test_nothing_connects_outwards(words, tmp_path):
    """The interpreter itself reports every socket that is bound or connected by Python code."""
    report = tmp_path / "sockets.txt"
    audited = f"""
import sys
def hook(event, arguments):
    if event in ("socket.bind", "socket.connect", "socket.sendto", "socket.getaddrinfo",
                 "socket.gethostbyname", "urllib.Request", "subprocess.Popen", "os.system"):
        with open({str(report)!r}, "a") as file:
            file.write(event + " " + repr(arguments[1:]) + "\\n")
sys.addaudithook(hook)
from softlabel.cli import main
sys.exit(main(["serve", {str(words)!r}, "--port", "0"]))
"""
    with subprocess.Popen(
        [sys.executable, "-c", audited],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            url = process.stdout.readline().split()[-1].rstrip("/")
            with httpx.Client(base_url=url, headers=PROGRAM) as ann:
                ann.post("/consent", data={"adult": "on", "read": "on", "agree": "on"})
                ann.post("/instructions")
                for place in range(5):
                    body = {"response_uuid": str(uuid.uuid4()), "position": place}
                    ann.post("/api/answers", json=body | {"answer": {"label": "no"}})
                ann.get("/")
                ann.get("/research/login")
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
    happened = report.read_text().splitlines()
    assert happened == ["socket.bind (('127.0.0.1', 0),)"]


MISSING = ("fastapi", "uvicorn", "httptools", "sqlalchemy", "jinja2")
WITHOUT = """
import os, sys
from softlabel.cli import main
folder, *packages = sys.argv[1:]
assert not set(packages) & set(sys.modules), "the program starts without them"
for missing in packages:
    if os.fork() == 0:
        sys.modules[missing] = None
        sys.exit(main(["serve", folder]))
    code = os.waitstatus_to_exitcode(os.wait()[1])
    print(f"without {missing} code {code}", file=sys.stderr)
"""


def test_the_missing_extra_is_named(words):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(words), *MISSING],
        capture_output=True,
        text=True,
        check=True,
    )
    told = re.split(r"^without (\w+) code (\d+)$", done.stderr, flags=re.MULTILINE)
    assert told[1::3] == list(MISSING)
    assert told[2::3] == ["1"] * len(MISSING)
    for said in told[:-1:3]:
        assert "needs more packages than are installed" in said
        assert "in a copy of the repository pip install '.[serve]'" in said
        assert "elsewhere pip install 'softlabel[serve]'" in said
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    assert "or `pip install '.[serve]'` in an environment of your own" in readme


def test_the_second_part_of_a_reply_does_not_wait_for_the_first():
    with listen("127.0.0.1", 0) as door, socket.create_connection(door.getsockname()):
        accepted, _ = door.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_mistakes_are_told_before_anything_starts(tmp_path, capsys):
    assert main(["serve", str(tmp_path), "--host", "0.0.0.0"]) == 1
    told = capsys.readouterr().err
    assert "warning: 0.0.0.0 can be reached from other machines" in told
    assert "study.toml" in told


@pytest.mark.parametrize(
    ("url", "told"),
    {
        "birds.example.org": "must begin with http:// or https:// and name a host",
        "ftp://birds.example.org": "must begin with http:// or https:// and name a host",
        "https://": "must begin with http:// or https:// and name a host",
        "https://birds.example.org:x": "must begin with http:// or https:// and name a host",
        "https://[birds": "must begin with http:// or https:// and name a host",
        "https://ann@birds.example.org": "must begin with http:// or https:// and name a host",
        "https://example.org/birds": "must end after the host: https://example.org;",
        "https://example.org/?birds": "must end after the host: https://example.org;",
        "http://example.org:8080/birds/": "must end after the host: http://example.org:8080;",
    }.items(),
)
def test_an_address_that_is_not_the_root_of_a_name_is_refused(tmp_path, capsys, url, told):
    for command in (["serve", str(tmp_path)], ["invite", str(tmp_path), "ann"]):
        assert main([*command, "--url", url]) == 1
        error = capsys.readouterr().err
        assert f"--url {url!r}: " in error
        assert told in error.replace("\n", " ")
    assert list(tmp_path.iterdir()) == [], "nothing was made"


def test_an_address_with_a_slash_at_its_end_is_a_root(words, serve_study):
    served = serve_study(words, "--url", "https://birds.example.org:8443/")
    told = "the researcher's pages: https://birds.example.org:8443/research\n"
    assert told in served.log.read_text()
    reply = httpx.get(served.url, headers={"host": "birds.example.org:8443"})
    assert reply.status_code == 200


def test_a_full_disk_is_told_honestly_and_passes(words, serve_study):
    """The process may write no further into any file, and later may again."""
    served = serve_study(words)
    wal = words / ".softlabel" / "answers.db-wal"
    acknowledged, refused = [], []
    with httpx.Client(base_url=served.url, headers=PROGRAM) as ann:
        ann.post("/consent", data={"adult": "on", "read": "on", "agree": "on"})
        ann.post("/instructions")
        places = [one["position"] for one in ann.get("/api/plan").json()["showings"]]
        limit(served, wal.stat().st_size + 200_000)
        for place in places:
            name = str(uuid.uuid4())
            body = {"response_uuid": name, "position": place, "answer": {"label": "no"}}
            reply = ann.post("/api/answers", json=body)
            if reply.status_code == 200:
                acknowledged.append(name)
            else:
                refused.append((body, reply))
        assert acknowledged
        assert refused
        for _, reply in refused:
            assert (reply.status_code, reply.json()) == (503, {"error": "store"})
            assert int(reply.headers["retry-after"]) > 0
        page = ann.post("/withdraw", data={"keep": "yes"})
        assert (page.status_code, "cannot store anything at the moment" in page.text) == (503, True)
        limit(served, resource.RLIM_INFINITY)
        for body, _ in refused:
            assert ann.post("/api/answers", json=body).status_code == 200
            acknowledged.append(body["response_uuid"])
    served.end()
    assert sorted(stored(words)) == sorted(acknowledged)


def limit(served, size):
    resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


# ── what people saw ──────────────────────────────────────────────────────────────────────────


def test_serve_refuses_what_changed_under_peoples_eyes(words, serve_study, capsys):
    """The command itself: a text is edited after somebody saw it, then the mode is."""
    served = serve_study(words)
    with httpx.Client(base_url=served.url, headers=PROGRAM) as ann:
        ann.post("/consent", data={"adult": "on", "read": "on", "agree": "on"})
        ann.post("/instructions")
        place = ann.get("/api/plan").json()["showings"][0]["position"]
        body = {"response_uuid": str(uuid.uuid4()), "position": place, "answer": {"label": "no"}}
        assert ann.post("/api/answers", json=body).status_code == 200
    served.end(signal.SIGTERM)
    with stores.open(words / ".softlabel" / "answers.db") as store:
        (seen,) = [row.item for row in store.responses("words")]
    items = (words / "items.csv").read_text()
    number = seen.removeprefix("w")
    changed = items.replace(f"w{number},word {number}\n", f"w{number},another word\n")
    assert changed != items
    (words / "items.csv").write_text(changed)
    assert main(["serve", str(words), "--port", "0"]) == 1
    assert f"item '{seen}' was shown to people" in capsys.readouterr().err
    (words / "items.csv").write_text(items)
    (words / "study.toml").write_text(STUDY.replace('"hard"', '"quick"'))
    assert main(["serve", str(words), "--port", "0"]) == 1
    told = capsys.readouterr().err
    assert "mode quick, frame self needs a new study name, or another database" in told
