"""The rules that other annotation servers learnt the hard way, a test for each."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from starlette.responses import PlainTextResponse

from softlabel import serve
from softlabel.errors import StudyError
from softlabel.serve.guard import Buckets, Guard, Limits, Rate, is_ours, network_of, parse_address
from softlabel.serve.participant.sessions import most_newcomers
from softlabel.serve.static import find_files

SERVE = Path(serve.__file__).parent
TEMPLATES = sorted((SERVE / "templates").rglob("*.html"))
SCRIPTS = sorted(path for path in find_files().values() if path.suffix == ".js")
RIGHT = {"q0": "0", "q1": "1"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
PATHS = [
    "/",
    "/nowhere",
    "/api/plan",
    "/api/nowhere",
    "/health",
    "/ready",
    "/openapi.json",
    "/static/leave.js",
]
PATHS += ["/withdraw", "/left", "/media/0", "/research", "/research/login", "/static/../app.py"]


# ── scripts ──────────────────────────────────────────────────────────────────────────────────


def test_every_response_carries_the_policy(running):
    ann = running.person().to_task()
    picture = ann.plan()["showings"][0]["image"]
    for path in [*PATHS, picture]:
        reply = ann.get(path)
        assert reply.headers["content-security-policy"] == POLICY, path
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "no-referrer"
        assert reply.headers["cross-origin-opener-policy"] == "same-origin"
        assert reply.headers["cross-origin-resource-policy"] == "same-origin"
        assert "camera=()" in reply.headers["permissions-policy"]
        assert "access-control-allow-origin" not in reply.headers


def test_pages_and_answers_are_never_cached(running):
    ann = running.person().to_task()
    for path in ("/", "/api/plan", "/nowhere", "/research/login", "/withdraw"):
        assert ann.get(path).headers["cache-control"] == "no-store", path
    assert ann.get(ann.plan()["showings"][0]["image"]).headers["cache-control"] == (
        "private, max-age=31536000, immutable"
    )


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_templates_hold_no_script_and_no_style(path):
    text = path.read_text()
    assert not re.search(r"<script(?![^>]*\bsrc=)", text), "a script inside the page"
    assert not re.search(r"<style\b|\sstyle\s*=", text), "a style inside the page"
    assert not re.search(r"\son[a-z]+\s*=", text), "a handler inside the page"
    assert not re.search(r"javascript:|data:", text)
    for literal in re.findall(r"([^\s{(]+)\s*\|\s*safe\b", text):
        assert literal[-1] in "'\"", f"{literal} is marked safe and is not a literal of ours"


FORBIDDEN = (
    r"\.(inner|outer)HTML\b",
    r"insertAdjacentHTML",
    r"document\.write",
    r"\beval\s*\(",
    r"new\s+Function\b",
    r"setAttribute\(\s*[\"']on",
    r"createContextualFragment|parseFromString",
    r"setTimeout\(\s*[\"'`]",
    r"https?://(?!www\.w3\.org/)",
    r"\bsrcdoc\b",
)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_make_no_html_from_text_and_know_no_other_host(path):
    text = re.sub(r"(?m)^\s*//.*$", "", path.read_text())
    for pattern in FORBIDDEN:
        assert not re.search(pattern, text), pattern


def test_what_people_and_studies_say_is_escaped(serving):
    evil = "<img src=x onerror=alert(1)>"
    ann = serving(title=evil).person()
    for page in (ann.get("/"), ann.get("/", params={"page": evil}), ann.get(f"/{evil}")):
        assert "&lt;img" in page.text
        assert "<img" not in page.text


# ── media ────────────────────────────────────────────────────────────────────────────────────


def test_media_are_addressed_by_hash_and_typed_by_content(running):
    ann = running.person().to_task()
    for one in ann.plan()["showings"]:
        assert re.fullmatch(r"/media/[0-9a-f]{64}", one["image"])
        reply = ann.get(one["image"])
        assert reply.headers["content-type"] == "image/png"
        assert reply.headers["content-disposition"] == "inline"
        assert reply.content.startswith(b"\x89PNG")


def test_a_wrong_name_does_not_change_what_a_file_is(serving):
    def rename(folder):
        (folder / "secret-file-0.png").rename(folder / "secret-file-0.jpg")
        items = folder / "items.csv"
        items.write_text(items.read_text().replace("secret-file-0.png", "secret-file-0.jpg"))

    ann = serving(edit=rename).person().to_task()
    types = {ann.get(one["image"]).headers["content-type"] for one in ann.plan()["showings"]}
    assert types == {"image/png"}


@pytest.mark.parametrize(
    "content", [b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"<html></html>"]
)
def test_what_a_browser_could_run_is_no_picture(serving, content):
    with pytest.raises(StudyError, match=r"secret-file-0\.png"):
        serving(edit=lambda folder: (folder / "secret-file-0.png").write_bytes(content))


def test_media_that_changed_since_are_not_served(running):
    ann = running.person().to_task()
    image = ann.plan()["showings"][0]["image"]
    assert ann.get(image).status_code == 200
    for path in running.folder.glob("*.png"):
        path.write_bytes(b"<script>alert(1)</script>")
    assert ann.get(image).status_code == 404
    for path in running.folder.glob("*.png"):
        path.unlink()
    assert ann.get(image).status_code == 404


TRAVERSALS = [
    "/media/../study.toml",
    "/media/..%2fstudy.toml",
    "/media/%2e%2e/study.toml",
    "/media//etc/passwd",
    "/media/secret-file-1.png",
    "/static/../app.py",
    "/static/..%2fapp.py",
    "/static/%2e%2e/%2e%2e/secret.py",
    "/static/..\\app.py",
    "/static//etc/passwd",
    "/static/....//app.py",
    "/static/modes/../../app.py",
    "/static/",
    "/static",
    "/static/%00",
    "/.softlabel/secret.json",
    "/study.toml",
]


def test_no_path_leads_out(running):
    for path in TRAVERSALS:
        status, body = raw_get(running.port, path)
        assert status == 404, path
        assert "There is no such page" in body


def raw_get(port, path, host="127.0.0.1"):
    """A request whose path no client library has tidied up."""
    with socket.create_connection(("127.0.0.1", port)) as line:
        line.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        reply = b""
        while piece := line.recv(65536):
            reply += piece
    return int(reply.split(b" ", 2)[1]), reply.decode(errors="replace")


# ── who may change something ─────────────────────────────────────────────────────────────────

FOREIGN = [
    {},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "http://127.0.0.1"},
    {"origin": "http://["},
    {"sec-fetch-site": "cross-site", "origin": "http://127.0.0.1:{port}"},
]
OURS = [
    {"sec-fetch-site": "same-origin"},
    {"sec-fetch-site": "none"},
    {"origin": "http://127.0.0.1:{port}"},
    {"x-softlabel": "1"},
]


def test_a_foreign_page_changes_nothing(running):
    ann = running.person().to_task()
    del ann.headers["sec-fetch-site"]
    before = running.store.counts("birds")
    for given in FOREIGN:
        sent = {key: value.format(port=running.port) for key, value in given.items()}
        for path in ("/withdraw", "/quiz", "/consent", "/research/login"):
            assert ann.post(path, data={"keep": "no"}, headers=sent).status_code == 403
        for path in ("/api/answers", "/api/finish"):
            reply = ann.post(path, json={}, headers=sent)
            assert (reply.status_code, reply.json()) == (403, {"error": "origin"})
    assert running.store.counts("birds") == before


def test_our_own_pages_and_programs_may(running):
    for given in OURS:
        ann = running.person()
        del ann.headers["sec-fetch-site"]
        ann.headers.update({key: value.format(port=running.port) for key, value in given.items()})
        assert ann.agree().status_code == 303
        assert "softlabel" in ann.cookies


def test_the_rule_reads_headers_only():
    assert not is_ours({b"origin": b"http://x", b"host": b"y"})
    assert is_ours({b"origin": b"http://x:8", b"host": b"x:8"})


def test_cookies_are_out_of_reach(running, serving):
    (plain,) = running.person().agree().headers.get_list("set-cookie")
    parts = set(plain.split("; ")[1:])
    assert {"HttpOnly", "SameSite=lax", "Path=/"} <= parts
    assert not any(part.lower().startswith("domain") for part in parts)
    assert plain.startswith("softlabel=")


def test_cookies_are_secure_under_https(serving):
    running = serving(url="https://birds.example.org")
    ann = running.person(host="birds.example.org")
    reply = ann.agree()
    (cookie,) = reply.headers.get_list("set-cookie")
    assert cookie.startswith("__Host-softlabel=")
    assert {"Secure", "HttpOnly", "Path=/"} <= set(cookie.split("; "))
    assert reply.headers["strict-transport-security"].startswith("max-age=")
    ann.headers["cookie"] = cookie.split(";")[0]
    assert "Instructions" in ann.get("/").text
    ann.headers["cookie"] = cookie.split(";")[0].removeprefix("__Host-")
    assert "Before you begin" in ann.get("/").text, "the unprefixed name means nothing here"


def test_only_known_hosts_are_answered_when_the_address_is_known(serving):
    running = serving(url="https://birds.example.org")
    for host, status in {
        "birds.example.org": 200,
        "BIRDS.example.org:443": 200,
        f"127.0.0.1:{running.port}": 200,
        "localhost": 200,
        "[::1]:8000": 200,
        "evil.example": 421,
        "birds.example.org.evil.example": 421,
        "": 421,
    }.items():
        assert raw_get(running.port, "/", host)[0] == status, host


# ── secrets ──────────────────────────────────────────────────────────────────────────────────


def test_tokens_are_long_random_and_stored_hashed(running):
    tokens = []
    for _ in range(20):
        ann = running.person()
        ann.agree()
        tokens.append(ann.cookies["softlabel"])
    assert len(set(tokens)) == 20
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{43}", token) for token in tokens), "256 bits"
    letters = "".join(tokens)
    assert len(set(letters)) == 64, "all letters of the alphabet occur"
    with sqlite3.connect(running.folder / ".softlabel" / "answers.db") as connection:
        dump = "\n".join(connection.iterdump())
    connection.close()
    assert not any(token in dump for token in tokens)
    assert running.token not in dump


def test_files_of_the_server_are_closed_to_others(running):
    folder = running.folder / ".softlabel"
    running.person().to_done()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path.name


HIDDEN = ["hidden-id", "secret-file", "Mostly a wren", "gold", "attention", "training", "repeat_of"]


def test_gold_ids_kinds_and_file_names_never_leave(running):
    """Everything a participant is ever sent, from the first page to the last."""
    ann = running.person()
    seen = [ann.get("/").text]

    def look(reply):
        seen.append(reply.text + str(reply.headers))

    ann.event_hooks["response"] = [lambda reply: (reply.read(), look(reply))]
    ann.get("/openapi.json")
    ann.to_task()
    ann.get("/")
    answered_practice = ann.give(0)
    ann.answer_all()
    ann.post("/api/finish", json={})
    ann.post("/debrief", data={})
    ann.get("/")
    for path in ("/api/labels?q=", "/withdraw", "/nowhere", "/research/login"):
        ann.get(path)
    told = answered_practice.text + str(answered_practice.headers)
    assert "Mostly a wren" in told, "only here, and only afterwards"
    seen.remove(told)
    everything = "\n".join(seen)
    for word in HIDDEN:
        assert word not in everything, word


def test_a_check_looks_like_any_other_item(running):
    shown = running.person().to_task().plan()["showings"]
    assert {tuple(one) for one in shown} == {
        ("position", "phase", "image", "audio", "text", "alt", "answered", "skipped")
    }
    assert {one["phase"] for one in shown} == {"practice", "main"}


# ── limits ───────────────────────────────────────────────────────────────────────────────────


def test_a_body_that_says_it_is_too_large(running):
    ann = running.person().to_task()
    reply = ann.post("/api/answers", content=b" " * (64 * 1024 + 1))
    assert (reply.status_code, reply.json()) == (413, {"error": "size"})
    assert ann.post("/debrief", content=b"d0=" + b"x" * 70_000).status_code == 413
    assert ann.give(1).status_code == 200, "and life goes on"


def test_a_body_that_does_not_say_how_large_it_is(running):
    ann = running.person().to_task()
    for size, status in ((200, 413), (1, 422)):
        reply = ann.post("/api/answers", content=(b" " * 1024 for _ in range(size)))
        assert reply.status_code == status


def test_an_answer_of_the_largest_size_fits(running, answer_body):
    ann = running.person().to_task()
    body = answer_body(1, events=[[n, "key", "Digit1", "x" * 8] for n in range(1200)])
    raw = json.dumps(body).ljust(64 * 1024)
    assert len(raw) == 64 * 1024
    assert ann.post("/api/answers", content=raw).status_code == 200


def test_too_many_requests_of_one_session_are_put_off(serving):
    slow = Rate(burst=20, per_second=0.5)
    running = serving(limits=Limits(session=slow))
    ann, bob = running.person().to_task(), running.person().to_task()
    replies = [ann.get("/api/plan") for _ in range(25)]
    refused = [reply for reply in replies if reply.status_code == 429]
    assert refused
    assert refused[0].json() == {"error": "rate"}
    assert 1 <= int(refused[0].headers["retry-after"]) <= 2
    assert bob.get("/api/plan").status_code == 200, "others do not notice"
    assert ann.get("/").status_code == 429
    assert "Please wait a moment" in ann.get("/").text
    assert ann.get("/static/leave.js").status_code == 200


def test_strangers_are_counted_by_address(serving):
    running = serving(limits=Limits(address=Rate(burst=5, per_second=0.01)))
    stranger = running.person()
    codes = []
    for n in range(8):  # a cookie that opens nothing makes nobody somebody else
        stranger.headers["cookie"] = f"softlabel={str(n) * 43}"
        codes.append(stranger.get("/").status_code)
    assert codes == [200] * 5 + [429] * 3


def test_guessing_the_researchers_token_is_slow(serving):
    running = serving(limits=Limits(login=Rate(burst=2, per_second=0.01)))
    ann = running.person()
    codes = [ann.post("/research/login", data={"token": "x"}).status_code for _ in range(4)]
    assert codes == [401, 401, 429, 429]


def test_buckets_fill_again_and_forget():
    buckets = Buckets(Rate(burst=2, per_second=1), most=3)
    assert [buckets.wait("a", 0.0) for _ in range(3)] == [0, 0, 1]
    assert buckets.wait("a", 0.5) == pytest.approx(0.5)
    assert buckets.wait("a", 1.0) == 0
    for key in "bcde":
        buckets.wait(key, 1.0)
    assert len(buckets) == 3


def test_a_mistake_of_ours_tells_nothing_and_still_has_the_headers(caplog):
    async def broken(scope, receive, send):
        raise ZeroDivisionError("the inside of the server")

    def refuse(scope, status, given):
        return PlainTextResponse("sorry", status, given)

    guard = Guard(broken, refuse=refuse, token_of=lambda found: None, limits=Limits())

    async def ask():
        transport = httpx.ASGITransport(guard)
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            return await client.get("/anything")

    reply = asyncio.run(ask())
    assert (reply.status_code, reply.text) == (500, "sorry")
    assert reply.headers["content-security-policy"] == POLICY
    assert "the inside of the server" in caplog.text, "but we are told"


def test_forms_are_limited(running):
    ann = running.person().to_debrief()
    for content in (b"d1=%ff", b"d1=%00", b"d1=" + b"x" * 5001, b"&".join([b"a=1"] * 201), b"\xff"):
        assert ann.post("/debrief", content=content).status_code == 400
    assert running.session().stage == "debrief"


def test_no_source_file_opens_a_connection():
    """Nothing in the served part of the package can fetch anything, but for two files that ask
    Prolific, at an address which only the environment can change, and the fake one of the tests."""
    found = {
        str(path.relative_to(SERVE))
        for path in SERVE.rglob("*.py")
        if re.search(
            r"urlopen|http\.client|httpx|requests\.|create_connection|aiohttp", path.read_text()
        )
    }
    assert found == {"recruit/signed.py", "recruit/prolific.py", "fake_prolific.py"}


# ── places of an open study ──────────────────────────────────────────────────────────────────


def from_(address):
    """What a proxy on this machine says about who is there."""
    return {"x-forwarded-for": address}


def begin(running, address):
    """Somebody comes to the first item; how the server takes the last step."""
    one = running.person(**from_(address)).to_quiz()
    return one, one.post("/quiz", data=RIGHT)


def test_one_address_holds_at_most_half_of_the_places_without_an_answer(serving):
    running = serving(per_item=4)  # of 6 items, 3 at a time: 8 people would hold everything
    begun = [begin(running, "203.0.113.7") for _ in range(6)]
    assert [reply.status_code for _, reply in begun] == [303] * 4 + [429] * 2
    waiting, refused = begun[4]
    assert "try again in a minute" in refused.text
    assert refused.headers["retry-after"] == "60"
    assert waiting.get("/api/plan").json() == {"error": "stage", "stage": "quiz"}
    assert [one.stage for one in running.store.sessions("birds")] == ["task"] * 4 + ["quiz"] * 2
    assert {one.quiz_tries for one in running.store.sessions("birds")[4:]} == {0}
    assert begin(running, "203.0.113.8")[1].status_code == 303, "others have their places"


def test_a_classroom_behind_one_address_can_take_part(serving):
    running = serving(per_item=4)
    for _ in range(8):
        one, reply = begin(running, "203.0.113.7")
        assert reply.status_code == 303
        assert one.give(one.open_positions()[0]).status_code == 200


def test_who_was_told_to_wait_can_begin_when_others_have_answered_or_left(serving):
    running = serving(per_item=4)
    begun = [begin(running, "203.0.113.7")[0] for _ in range(4)]
    late, reply = begin(running, "203.0.113.7")
    assert reply.status_code == 429
    assert late.heading() == "Are the instructions clear?", "and can go on from here"
    begun[0].give(begun[0].open_positions()[0])
    assert late.post("/quiz", data=RIGHT).status_code == 303
    another, reply = begin(running, "203.0.113.7")
    assert reply.status_code == 429
    begun[1].post("/withdraw", data={"keep": "yes"})
    assert another.post("/quiz", data=RIGHT).status_code == 303


def test_places_are_free_again_when_the_lease_ends(serving):
    running = serving(per_item=4)
    for _ in range(4):
        begin(running, "203.0.113.7")
    assert begin(running, "203.0.113.7")[1].status_code == 429
    running.clock.ahead = 60 * running.study.lease_minutes + 1
    assert begin(running, "203.0.113.7")[1].status_code == 303


def test_many_at_the_same_moment_do_not_slip_through(serving):
    running = serving(per_item=4)
    people = [running.person(**from_("203.0.113.7")).to_quiz() for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        replies = pool.map(lambda one: one.post("/quiz", data=RIGHT), people)
    assert sorted(reply.status_code for reply in replies) == [303] * 4 + [429] * 4


def test_who_let_a_lease_end_without_an_answer_is_counted_again(serving):
    running = serving(per_item=4)
    early = [begin(running, "203.0.113.7")[0] for _ in range(4)]
    running.clock.ahead = 60 * running.study.lease_minutes + 1
    late = [begin(running, "203.0.113.7")[0] for _ in range(4)]
    for path in ("/api/plan", "/api/finish"):
        method = "GET" if path.endswith("plan") else "POST"
        reply = early[0].request(method, path, json={})
        assert (reply.status_code, reply.json()) == (429, {"error": "rate"})
    assert [one.get("/api/plan").status_code for one in late] == [200] * 4
    late[0].give(late[0].open_positions()[0])
    assert early[0].get("/api/plan").status_code == 200


def test_this_machine_is_not_counted(serving):
    running = serving(per_item=4)
    people = [running.person().to_task() for _ in range(8)]
    assert [one.get("/api/plan").status_code for one in people] == [200] * 8


def test_people_whom_a_recruiter_sent_are_not_counted(serving):
    codes = 'completion_code = "DONE"\nscreenout_code = "OUT"'
    running = serving(per_item=4, recruit=f'kind = "prolific"\n{codes}')
    for n in range(8):
        one = running.person(**from_("203.0.113.7"))
        named = {"PROLIFIC_PID": f"{n:024x}", "STUDY_ID": "b" * 24, "SESSION_ID": f"{n + 99:024x}"}
        one.get("/", params=named)
        one.to_quiz()
        assert one.post("/quiz", data=RIGHT).status_code == 303


def test_what_counts_as_one_address():
    def network(host):
        return network_of(parse_address(host))

    assert network("203.0.113.7") == network("::ffff:203.0.113.7") == "203.0.113.7"
    assert network("2001:db8:1:2:3::4") == network("2001:db8:1:2::1") == "2001:db8:1:2::/64"
    assert network("2001:db8:1:3::1") != network("2001:db8:1:2::1")
    assert all(parse_address(one).is_loopback for one in ("127.0.0.1", "::1", "::ffff:127.0.0.1"))
    assert [parse_address(one) for one in ("", "testclient")] == [None] * 2


def test_addresses_are_kept_nowhere(serving):
    running = serving(per_item=4)
    begin(running, "203.0.113.7")
    running.store.close()
    files = [path for path in running.folder.rglob("*") if path.is_file()]
    assert not [path for path in files if b"203.0.113" in path.read_bytes()]


@pytest.mark.parametrize(
    ("batches", "items", "batch_size", "most"),
    [(False, 100, 25, 6), (False, 100, 1000, 6), (True, 60, 25, 4), (False, 2, 25, 1)],
)
def test_half_of_the_people_who_could_hold_everything(running, batches, items, batch_size, most):
    study = replace(
        running.study,
        items=running.study.items[:1] * items,
        per_item=3,
        per_annotator=None,
        batch_size=batch_size,
        batches={f"b{n}": ("x",) * 20 for n in range(3)} if batches else {},
    )
    assert most_newcomers(study) == most
