"""What may come over a connection, tried with raw sockets."""

from __future__ import annotations

import asyncio
import resource
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack

import httpx
import pytest

from softlabel.serve.connections import ConnectionLimits, Gate
from softlabel.serve.process import configure

PATIENCE = 60  # seconds after which a test gives up; nothing is expected to take that long
HEALTH = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@pytest.fixture
def line():
    """``line(port, b"…")`` opens a connection and sends this; they are closed in the end."""
    with ExitStack() as stack:

        def start(port, sent=b"", source="127.0.0.1"):
            made = socket.create_connection(("127.0.0.1", port), PATIENCE, (source, 0))
            stack.enter_context(made)
            made.sendall(sent)
            return made

        yield start


def read_all(made):
    """Everything until the other side hangs up."""
    reply = b""
    try:
        while piece := made.recv(65536):
            reply += piece
    except ConnectionError:
        pass
    return reply


def read_reply(made, end=b'{"ok":true}'):
    """One reply of which the connection stays open."""
    reply = b""
    while not reply.endswith(end):
        piece = made.recv(65536)
        assert piece, reply
        reply += piece
    return reply


def goes_on(made, piece, times, pause=0.0):
    """Whether the other side lets us send this so often."""
    try:
        for _ in range(times):
            made.sendall(piece)
            time.sleep(pause)
    except ConnectionError:
        return False
    return True


@pytest.fixture
def bare(listen):
    """``bare(app, wire)`` serves any application as ours is served; the port."""
    with ExitStack() as stack:
        yield lambda app, wire: listen(configure(app, wire), stack, force=True)


# ── too much ─────────────────────────────────────────────────────────────────────────────────

START = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"
LARGE = {
    "one header": START + b"X-Large: " + b"a" * 40_000,
    "many headers": START + b"X-Large: a\r\n" * 4_000,
    "the name of a header": START + b"a" * 40_000,
    "the address": b"GET /" + b"a" * 40_000,
    "the parameters": b"GET /?" + b"a" * 40_000,
    "blank lines": b"\r\n" * 20_000,
    "trailers": b"POST /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Softlabel: 1\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Large: " + b"a" * 70_000,
}


@pytest.mark.parametrize("sent", LARGE.values(), ids=LARGE)
def test_what_is_too_large_is_refused(running, line, sent):
    reply = read_all(line(running.port, sent))
    if b"chunked" not in sent:  # there the reply to the request itself may have come first
        assert reply.startswith(b"HTTP/1.1 431 "), reply
    assert read_reply(line(running.port, HEALTH)).startswith(b"HTTP/1.1 200 ")


def test_large_headers_that_browsers_do_send_are_read(running, line):
    cookies = b"Cookie: " + b"; ".join(b"other-%d=%s" % (n, b"x" * 500) for n in range(50))
    made = line(running.port)
    for _ in range(3):  # on one connection: the count begins anew with every request
        made.sendall(HEALTH[:-2] + cookies + b"\r\n\r\n")
        assert read_reply(made).startswith(b"HTTP/1.1 200 ")


def test_a_body_of_the_largest_size_may_be_followed_by_a_request(running, line):
    post = HEALTH.replace(b"GET", b"POST")[:-2] + b"X-Softlabel: 1\r\nContent-Length: 65536\r\n\r\n"
    reply = read_reply(line(running.port, post + b"x" * 65536 + HEALTH))
    assert reply.startswith(b"HTTP/1.1 405 ")
    assert reply.count(b"HTTP/1.1 200 ") == 1


def test_a_large_head_after_a_good_request_ends_the_connection_too(running, line):
    reply = read_all(line(running.port, HEALTH + START + b"X-Large: " + b"a" * 100_000))
    assert b"X-Large" not in reply
    assert reply.count(b"HTTP/1.1") <= 2


def test_memory_does_not_grow_with_headers(study_folder, serve_study, line):
    """A real process, and ten headers of 16 MB, which it would have to hold to read them."""
    served = serve_study(study_folder())
    port = int(served.url.rsplit(":", 1)[1])
    httpx.get(served.url)
    before = peak(served)
    for _ in range(10):
        made = line(port, START + b"X-Large: ")
        assert not goes_on(made, b"a" * 65536, times=256)
        assert httpx.get(f"{served.url}/health", timeout=PATIENCE).json() == {"ok": True}
    assert peak(served) - before < 8 * 1024, "kB"


def peak(served):
    with open(f"/proc/{served.process.pid}/status") as status:
        return next(int(one.split()[1]) for one in status if one.startswith("VmHWM"))


# ── too slow ─────────────────────────────────────────────────────────────────────────────────

SHORT = ConnectionLimits(head_seconds=1, body_seconds=1, stalled_seconds=1)
HALF = {
    "nothing": b"",
    "half a line": b"GET / HT",
    "half a header": START + b"X-Slow: a",
    "a blank line": b"\r\n",
    "half a body": b"POST /consent HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Softlabel: 1\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nadult=on",
    "half a chunk": b"POST /consent HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Softlabel: 1\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n5\r\nad",
}


@pytest.mark.parametrize("first", [b"", HEALTH], ids=["at first", "after a request"])
def test_half_a_request_is_dropped_and_others_are_answered(serving, line, first):
    running = serving(connections=SHORT)
    halves = []
    for sent in HALF.values() if not first else filter(None, HALF.values()):
        for _ in range(5):
            half = line(running.port, first or sent)
            if first:
                read_reply(half)
                half.sendall(sent)
            halves.append((half, sent))
    assert running.person().to_task().give(0).status_code == 200
    for half, sent in halves:
        assert read_all(half) == b"", sent


def test_a_head_that_trickles_in_does_not_gain_time(serving, line):
    running = serving(connections=SHORT)
    made = line(running.port, START)
    assert not goes_on(made, b"a", times=100 * PATIENCE, pause=0.01)


def test_an_idle_connection_stays(serving, line):
    running = serving(connections=SHORT)
    made = line(running.port)
    for pause in (2, 2, 0):
        made.sendall(HEALTH)
        assert read_reply(made).startswith(b"HTTP/1.1 200 ")
        time.sleep(pause)


def test_who_was_waiting_while_the_server_was_held_up_is_answered(bare, line):
    """What has come is read before it is called late."""
    held_up = threading.Event()

    async def app(scope, receive, send):
        if scope["path"] == "/hold":
            held_up.set()
            time.sleep(2)  # nobody is served meanwhile
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"here"})

    port = bare(app, SHORT)
    half = line(port, HEALTH[:20])
    line(port, HEALTH.replace(b"/health", b"/hold"))
    assert held_up.wait(PATIENCE)
    half.sendall(HEALTH[20:])
    assert read_reply(half, b"here\r\n0\r\n\r\n")


def test_who_waits_for_a_slow_answer_is_not_dropped(bare, line):
    async def slow(scope, receive, send):
        await asyncio.sleep(2)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"late"})

    made = line(bare(slow, SHORT), HEALTH + b"GET /nex")
    reply = read_all(made)
    assert reply.count(b"late") == 1, "the first is answered, and the half one dropped"


def test_who_takes_nothing_of_what_was_asked_for_is_dropped(bare, line):
    ended = threading.Event()

    async def endless(scope, receive, send):
        await receive()
        gone = asyncio.create_task(receive())
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while not gone.done():
            await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
            await asyncio.sleep(0)
        ended.set()

    line(bare(endless, SHORT), HEALTH)
    assert ended.wait(PATIENCE)


# ── too many ─────────────────────────────────────────────────────────────────────────────────


def test_more_connections_than_there_may_be_are_refused_for_a_while(serving, line):
    running = serving(connections=ConnectionLimits(connections=8))
    first = [line(running.port, HEALTH) for _ in range(8)]
    for made in first:
        read_reply(made)
    for _ in range(20):
        assert read_all(line(running.port)).startswith(b"HTTP/1.1 503 ")
    first[0].sendall(HEALTH)
    assert read_reply(first[0]), "who is there already is answered"
    for made in first:
        made.close()
    assert eventually_answered(running.port, line)


def test_one_address_cannot_take_all_connections_unless_it_is_a_proxy(serving, line):
    running = serving(connections=ConnectionLimits(per_address=4))
    held = [line(running.port, HEALTH, "127.0.0.2") for _ in range(4)]
    for made in held:
        read_reply(made)
    assert read_all(line(running.port, source="127.0.0.2")).startswith(b"HTTP/1.1 503 ")
    assert read_reply(line(running.port, HEALTH, "127.0.0.3"))
    for _ in range(20):  # here, the proxy on the same machine
        assert read_reply(line(running.port, HEALTH, "127.0.0.1"))
    for made in held:
        made.close()
    assert eventually_answered(running.port, line, "127.0.0.2")


def eventually_answered(port, line, source="127.0.0.1"):
    """The server notices closed connections when it gets round to it."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            return read_reply(line(port, HEALTH, source))
        except (AssertionError, ConnectionError):
            time.sleep(0.02)
    return None


def test_addresses_are_counted_by_network_where_one_customer_has_many():
    gate = Gate(ConnectionLimits(per_address=1))
    assert gate.admit("2001:db8::1", 1)
    assert gate.admit("2001:db8::ffff:2", 1) is None
    assert gate.admit("2001:db8:0:1::1", 1)
    assert gate.admit("::ffff:192.0.2.7", 1) == "192.0.2.7"
    assert gate.admit("192.0.2.7", 1) is None
    gate.leave("192.0.2.7")
    assert gate.admit("192.0.2.7", 1)


def test_no_more_connections_than_open_files():
    """A hard limit of 300 leaves so many; a soft one is raised."""
    asked = (
        "import resource; from softlabel.serve.connections import ConnectionLimits, fit_to_system; "
        "limits = fit_to_system(ConnectionLimits()); "
        "print(limits.connections, resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    )

    def lower():
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 300))

    words = [sys.executable, "-c", asked]
    told = subprocess.run(words, capture_output=True, text=True, check=True, preexec_fn=lower)
    assert told.stdout.split() == ["172", "300"]
