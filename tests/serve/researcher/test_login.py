"""The researcher's login: who gets in, for how long, and who does not."""

from __future__ import annotations

import stat
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from softlabel.serve.guard import Limits, Rate
from softlabel.serve.researcher.login import COOKIE, LASTS, SLOW

TOKEN = "the-token-that-was-printed-once"
PAGES = ["", "/items", "/people", "/people/person-0", "/answers", "/export"]
PAGES += ["/comments", "/run", "/audit"]
FILES = ["responses.jsonl", "responses.csv", "responses.parquet", "people.csv"]
FILES += ["human_soft_labels_data.json"]


@pytest.fixture
def served(visited_world, serve):
    return serve(visited_world(1))


def test_nothing_is_shown_without_a_login(served):
    client, researcher = served.browser(), served.researcher()
    for path in [*PAGES, *(f"/export/{name}" for name in FILES)]:
        reply = client.get(f"/research{path}")
        assert (reply.status_code, reply.headers["location"]) == (303, "/research/login"), path
        assert "person-0" not in reply.text, path
        assert "Animal" not in reply.text, path
        assert researcher.get(f"/research{path}").status_code == 200, path


def test_the_cookie_is_out_of_reach(served):
    reply = served.browser().post("/research/login", data={"token": TOKEN})
    assert (reply.status_code, reply.headers["location"]) == (303, "/research")
    cookie = reply.headers["set-cookie"].lower()
    for rule in ("httponly", "samesite=strict", "path=/research", f"max-age={LASTS}"):
        assert rule in cookie
    assert TOKEN not in cookie


def test_a_wrong_token_is_refused_slowly_and_without_a_word_why(served):

    def try_in_vain(data):
        client = served.browser()
        begin = time.perf_counter()
        reply = client.post("/research/login", data=data)
        assert time.perf_counter() - begin >= SLOW
        assert reply.status_code == 401
        assert "set-cookie" not in reply.headers
        assert "That is not the token." in reply.text
        assert client.get("/research").status_code == 303

    tried = [{"token": one} for one in ("", "x", TOKEN[:-1], TOKEN + "x", "é", " ")]
    with ThreadPoolExecutor(7) as pool:  # so that they wait together
        list(pool.map(try_in_vain, [*tried, {}]))


def test_a_token_with_blanks_around_it_was_pasted(served):
    reply = served.browser().post("/research/login", data={"token": f" {TOKEN}\n"})
    assert reply.status_code == 303


def test_tokens_cannot_be_tried_for_long(make_world, serve):
    limits = Limits(login=Rate(burst=3, per_second=0.01))
    served = serve(make_world(), limits=limits)
    client = served.browser()
    codes = [client.post("/research/login", data={"token": "x"}).status_code for _ in range(4)]
    assert codes == [401, 401, 401, 429]
    assert client.get("/").status_code == 200, "people who answer do not notice"


FORGED = {
    "another end": lambda until, nonce, sign: f"{int(until) + 1}.{nonce}.{sign}",
    "another nonce": lambda until, nonce, sign: f"{until}.{'0' * len(nonce)}.{sign}",
    "another signature": lambda until, nonce, sign: f"{until}.{nonce}.{'0' * len(sign)}",
    "no signature": lambda until, nonce, sign: f"{until}.{nonce}.",
    "one part": lambda until, nonce, sign: until,
    "no number": lambda until, nonce, sign: f"x.{nonce}.{sign}",
    "no end": lambda until, nonce, sign: f"{'9' * 400}.{nonce}.{sign}",
    "more parts": lambda until, nonce, sign: f"{until}.{nonce}.{sign}.{sign}",
    "nothing": lambda until, nonce, sign: "",
}


def test_a_cookie_that_was_tampered_with_opens_nothing(served):
    real = served.researcher().cookies[COOKIE]
    client = served.browser()
    for name, forge in FORGED.items():
        for cookie, status in ((real, 200), (forge(*real.split(".")), 303)):
            reply = client.get("/research", headers={"cookie": f"{COOKIE}={cookie}"})
            assert reply.status_code == status, name


def test_a_cookie_holds_half_a_day(served):
    client = served.researcher()
    client.headers["cookie"] = f"{COOKIE}={client.cookies[COOKIE]}"  # kept beyond its own end
    served.ahead = LASTS - 60
    assert client.get("/research").status_code == 200
    served.ahead = LASTS + 1
    assert client.get("/research").status_code == 303


def test_another_key_or_another_token_closes_the_door(make_world, serve):
    world = make_world()
    served = serve(world)
    cookie = served.researcher().cookies[COOKIE]
    again = serve(world)
    assert again.browser(cookie=f"{COOKIE}={cookie}").get("/research").status_code == 200
    for change in ({"key": b"x" * 32}, {"researcher": "0" * 64}):
        other = serve(world)
        for name, value in change.items():
            object.__setattr__(other.secret, name, value)
        assert other.browser(cookie=f"{COOKIE}={cookie}").get("/research").status_code == 303


def test_logging_out_ends_the_cookie_itself(served):
    client = served.researcher()
    kept = client.cookies[COOKIE]
    reply = client.post("/research/logout")
    assert (reply.status_code, reply.headers["location"]) == (303, "/research/login")
    assert COOKIE not in client.cookies
    assert client.get("/research").status_code == 303
    assert served.browser(cookie=f"{COOKIE}={kept}").get("/research").status_code == 303
    assert served.researcher().get("/research").status_code == 200, "others stay in"


def test_logging_out_survives_a_restart(make_world, serve):
    world = make_world()
    served = serve(world)
    out, stays = served.researcher(), served.researcher().cookies[COOKIE]
    kept = out.cookies[COOKIE]
    out.post("/research/logout")
    again = serve(world)
    assert again.browser(cookie=f"{COOKIE}={kept}").get("/research").status_code == 303
    assert again.browser(cookie=f"{COOKIE}={stays}").get("/research").status_code == 200
    # a second server of the same folder need not be started anew
    again.browser(cookie=f"{COOKIE}={stays}").post("/research/logout")
    assert served.browser(cookie=f"{COOKIE}={stays}").get("/research").status_code == 303


def test_what_is_kept_of_a_logout_tells_nothing_and_does_not_pile_up(make_world, serve):
    world = make_world()
    served = serve(world)
    folder = world.study.folder / ".softlabel" / "logged-out"
    for ahead in (0, LASTS / 2, LASTS + 60):
        served.ahead = ahead
        client = served.researcher()
        cookie = client.cookies[COOKIE]
        client.post("/research/logout")
    kept = sorted(folder.iterdir())
    assert len(kept) == 2, "the first would have ended by now"
    assert cookie.rpartition(".")[0] in {one.name for one in kept}
    assert all(stat.S_IMODE(one.stat().st_mode) == 0o600 for one in kept)
    assert all(one.read_bytes() == b"" for one in kept)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("path", ["login", "logout"])
def test_foreign_pages_can_neither_log_in_nor_out(served, path):
    foreign = {"sec-fetch-site": "cross-site", "origin": "https://evil.example"}
    client = served.researcher()
    reply = client.post(f"/research/{path}", data={"token": TOKEN}, headers=foreign)
    assert reply.status_code == 403
    assert "set-cookie" not in reply.headers
    assert client.get("/research").status_code == 200


def test_whoever_is_in_is_not_asked_again(served):
    reply = served.researcher().get("/research/login")
    assert (reply.status_code, reply.headers["location"]) == (303, "/research")


def test_annotators_cookies_open_no_research(served):
    client = served.browser()
    client.post("/consent", data={"adult": "on", "read": "on", "agree": "on"})
    assert client.cookies
    assert client.get("/research").status_code == 303
