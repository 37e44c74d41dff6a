"""A model server of our own on this machine, which can misbehave, and small studies to ask about.

The model has an opinion of each text: the chance of every label.  It reads the prompt as a model
would: the texts, and the label behind each code.
"""

from __future__ import annotations

import json
import math
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any

import pytest

from softlabel import study

KEY = "sk-do-not-write-me"
STUDY = """\
[study]
question = "Which animal is it?"
labels = ["cat", "dog", "fox"]

[labels.fox]
describe = "red, with a bushy tail"

[items]
source = "items.csv"
"""
Opinion = dict[str, float]
Action = Callable[["Handler", dict[str, Any]], bool]  # True: the action has answered


def opinion_of(text: str) -> Opinion:
    """What the model believes of a text, drawn once and for all."""
    rng = Random(text)
    raw = {label: rng.uniform(0.05, 1) for label in ("cat", "dog", "fox")}
    return {label: value / sum(raw.values()) for label, value in raw.items()}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body at once
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.server.lock:
            self.server.seen.append({"path": self.path, "body": body, "headers": self.headers})
            number = len(self.server.seen)
            action = self.server.actions.pop(number, None) or self.server.always
        if action is None or not action(self, body):
            self.reply(200, self.server.complete(body))

    def reply(self, status: int, body: Any, **headers: str) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    """``actions`` maps the number of a request (from 1) to what happens then; ``always`` is for all
    others."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.seen: list[dict[str, Any]] = []
        self.actions: dict[int, Action] = {}
        self.always: Action | None = None
        self.logprobs = True
        self.url = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_: object) -> None:
        """Somebody hung up."""

    def complete(self, body: dict[str, Any], said: str | None = None) -> dict[str, Any]:
        """Answer as a model does: draw a code by the seed, with the log-probabilities."""
        text = prompt_of(body)
        codes = dict(re.findall(r"^([A-Z])\. (\w+)", text, re.MULTILINE))
        believed = opinion_of(text_of(body))
        chances = {code: believed[label] for code, label in codes.items()}
        if said is None:
            said = Random(body.get("seed", 0)).choices(list(chances), list(chances.values()))[0]
        choice: dict[str, Any] = {"message": {"role": "assistant", "content": said}}
        if self.logprobs and body.get("logprobs"):
            top = [{"token": code, "logprob": math.log(chance)} for code, chance in chances.items()]
            own = {"token": said, "logprob": math.log(chances.get(said, 0.01))}
            choice["logprobs"] = {"content": [{**own, "top_logprobs": top}]}
        usage = {"prompt_tokens": 50, "completion_tokens": 1}
        return {"id": "x", "model": body["model"], "choices": [choice], "usage": usage}


def prompt_of(body: dict[str, Any]) -> str:
    content = body["messages"][0]["content"]
    return content if isinstance(content, str) else content[0]["text"]


def text_of(body: dict[str, Any]) -> str:
    """The text of the item in a prompt."""
    found = re.search(r"^Animal \d+$", prompt_of(body), re.MULTILINE)
    assert found is not None
    return found[0]


def fail(status: int, body: Any = b"no", **headers: str) -> Action:
    """An action: reply with this status."""

    def action(handler: Handler, _: dict[str, Any]) -> bool:
        handler.reply(status, body, **headers)
        return True

    return action


def say(text: str) -> Action:
    """An action: a sound reply with this text."""

    def action(handler: Handler, body: dict[str, Any]) -> bool:
        handler.reply(200, handler.server.complete(body, text))
        return True

    return action


def cut(handler: Handler, _: dict[str, Any]) -> bool:
    """An action: close the connection in the middle of the reply."""
    handler.send_response(200)
    handler.send_header("content-length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.wfile.flush()
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True
    return True


def sleep(seconds: float) -> Action:
    """An action: reply late."""

    def action(handler: Handler, _: dict[str, Any]) -> bool:
        time.sleep(seconds)
        return False

    return action


def refuse(field: str, status: int = 400, name: str | None = None) -> Action:
    """An action: refuse requests with a field, naming it or not."""

    def action(handler: Handler, body: dict[str, Any]) -> bool:
        if field not in body:
            return False
        message = f"Unsupported parameter: {name or field}" if name != "" else "Bad request"
        handler.reply(status, {"error": {"message": message}})
        return True

    return action


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """The model server; the key is in the environment."""
    monkeypatch.setenv("SOFTLABEL_JUDGE_KEY", KEY)
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def actions() -> Any:
    """The ways in which the server misbehaves."""

    class Actions:
        fail, say, cut, sleep, refuse = (
            *(staticmethod(fail), staticmethod(say), staticmethod(cut)),
            *(staticmethod(sleep), staticmethod(refuse)),
        )
        opinion_of, text_of, prompt_of = map(staticmethod, (opinion_of, text_of, prompt_of))
        key = KEY

    return Actions


@pytest.fixture
def make_study(tmp_path: Path) -> Callable[..., study.Study]:
    """Write and read a study of so many texts."""

    def make(items: int = 6, toml: str = STUDY) -> study.Study:
        folder = tmp_path / "animals"
        folder.mkdir(exist_ok=True)
        (folder / "study.toml").write_text(toml)
        rows = "".join(f"i{number},Animal {number}\n" for number in range(items))
        (folder / "items.csv").write_text("id,text\n" + rows)
        return study.read(folder)

    return make
