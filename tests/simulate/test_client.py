"""The small client against servers that misbehave in known ways."""

from __future__ import annotations

import asyncio
import json

import pytest

from softlabel import SoftlabelError
from softlabel.simulate.client import Client


class Server:
    """Sends the given bytes for each request, in turn, and remembers what it was sent."""

    def __init__(self, *replies: bytes, hang_up: bool = False) -> None:
        self.replies, self.hang_up = list(replies), hang_up
        self.requests: list[bytes] = []
        self.connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        while True:
            head = b""
            try:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    (int(v[15:]) for v in head.split(b"\r\n") if v.startswith(b"content-length:")),
                    0,
                )
                body = await reader.readexactly(length)
            except asyncio.IncompleteReadError as error:
                self.requests += [head + error.partial] if head + error.partial else []
                break
            self.requests.append(head + body)
            writer.write(self.replies.pop(0))
            await writer.drain()
            if self.hang_up:
                break
        writer.close()

    def talk(self, conversation, timeout=60):
        """Run a conversation with a client of this server."""

        async def run():
            server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            client = Client(f"http://127.0.0.1:{port}", timeout=timeout)
            try:
                return await conversation(client)
            finally:
                await client.close()
                await asyncio.sleep(0.02)  # lets the server see the end of the connection
                server.close()
                await server.wait_closed()

        return asyncio.run(run())


def reply(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


def test_one_connection_is_kept_and_bodies_of_both_kinds_are_read():
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunked += b"4\r\nsoft\r\n6;x=y\r\nlabels\r\n0\r\nTrailer: x\r\n\r\n"
    server = Server(reply(b"one"), chunked, b"HTTP/1.1 204 No Content\r\n\r\n", reply(b"[1]"))

    async def conversation(client):
        return [await client.get(path) for path in ("/a", "/b?c=d", "/e", "/f")]

    replies = server.talk(conversation)
    assert [one.body for one in replies] == [b"one", b"softlabels", b"", b"[1]"]
    assert [one.status for one in replies] == [200, 200, 204, 200]
    assert replies[3].json() == [1]
    assert all(one.seconds > 0 for one in replies)
    assert server.connections == 1
    assert server.requests[1].startswith(b"GET /b?c=d HTTP/1.1\r\nhost: 127.0.0.1:")


def test_cookies_are_kept_sent_and_forgotten():
    server = Server(
        reply(b"", "Set-Cookie: softlabel=abc; HttpOnly; Path=/", "Set-Cookie: other=1"),
        reply(b"", "Set-Cookie: other=gone; Max-Age=0"),
        reply(b""),
    )

    async def conversation(client):
        for _ in range(3):
            await client.get("/")

    server.talk(conversation)
    assert b"cookie" not in server.requests[0]
    assert b"\r\ncookie: softlabel=abc; other=1\r\n" in server.requests[1]
    assert b"\r\ncookie: softlabel=abc\r\n" in server.requests[2]


def test_forms_and_json_are_sent_as_our_own_page_sends_them():
    server = Server(reply(b""), reply(b""))

    async def conversation(client):
        await client.post_form("/consent", {"agree": "on", "name": "a b&c"})
        await client.post_json("/api/answers", {"answer": "ä"})

    server.talk(conversation)
    form, data = server.requests
    assert form.endswith(b"\r\n\r\nagree=on&name=a+b%26c")
    assert b"\r\nsec-fetch-site: same-origin\r\n" in form
    assert json.loads(data.partition(b"\r\n\r\n")[2]) == {"answer": "ä"}
    assert b"content-type: application/json" in data


def test_a_connection_closed_while_idle_is_opened_again_without_a_word():
    server = Server(reply(b"1"), reply(b"2"), reply(b"3"), hang_up=True)

    async def conversation(client):
        found = []
        for _ in range(3):
            found.append((await client.get("/")).body)
            await asyncio.sleep(0.02)
        return found

    assert server.talk(conversation) == [b"1", b"2", b"3"]
    assert server.connections == 3


@pytest.mark.parametrize("half", [b"", b"HTTP/1.1 200 OK\r\nContent-Le", reply(b"four")[:-2]])
def test_a_reply_that_breaks_off_is_an_error_and_not_asked_for_again(half):
    server = Server(half, half, hang_up=True)

    async def conversation(client):
        with pytest.raises(ConnectionResetError):
            await client.get("/")

    server.talk(conversation)
    assert len(server.requests) == 1


def test_no_reply_in_time_is_an_error():
    async def conversation(client):
        with pytest.raises(TimeoutError):
            await client.get("/")

    Server(b"").talk(conversation, timeout=0.5)


def test_nonsense_is_an_error():
    async def conversation(client):
        with pytest.raises(ConnectionError, match="does not speak HTTP"):
            await client.get("/")

    Server(b"220 mail ready\r\n\r\n").talk(conversation)


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_a_request_can_be_broken_off(share):
    server = Server(reply(b""), reply(b"after"))
    value = {"answer": "x" * 500}

    async def conversation(client):
        await client.send_partly("/api/answers", value, share)
        await asyncio.sleep(0.02)
        return await client.post_json("/api/answers", value)

    assert server.talk(conversation).status == 200
    cut, whole = server.requests
    assert len(cut) == round(share * len(whole))
    assert whole.startswith(cut)
    assert server.connections == 2


def test_headers_of_its_own_go_with_every_request():
    server = Server(reply(b""), reply(b""))

    async def conversation(client):
        client = Client(client.origin, headers={"x-softlabel": "1"})
        await client.get("/")
        await client.post_json("/", {})
        await client.close()

    server.talk(conversation)
    assert all(b"\r\nx-softlabel: 1\r\n" in request for request in server.requests)


@pytest.mark.parametrize("address", ["127.0.0.1:8000", "ftp://a", "http://", "http://a/b"])
def test_what_is_no_address_is_refused(address):
    with pytest.raises(SoftlabelError, match="no address"):
        Client(address)
