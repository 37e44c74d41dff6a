"""Those who answer: a server that speaks the chat protocol of OpenAI, a program, or a function.

Each takes what is asked and returns what was said.  A server may refuse optional fields, be busy,
slow or broken; it is asked again with fewer fields, or later.  The key comes from the environment
and is sent to https:// addresses and to this machine only.
"""

import json
import os
import random
import shlex
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from softlabel.errors import MissingExtra, SoftlabelError
from softlabel.judges.prompt import Asked, read_chances, read_reply, read_tokens

KEYS = ("SOFTLABEL_JUDGE_KEY", "OPENAI_API_KEY")  # environment variables
LOCAL = ("localhost", "127.0.0.1", "::1")
CHAT = "/chat/completions"
TIMEOUT = 120.0  # seconds without a byte
TRIES = 6
FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0  # seconds
PATIENCE = 600.0  # seconds that a server may ask us to wait
MOST_TOKENS = 32  # of a reply: a code, or a small JSON object
LIKELIEST = 20  # tokens whose log-probabilities are asked for; the most that OpenAI gives
FEWER = 5  # the most that some others give
WRONG = (400, 422)  # something in the request
CLOSED = (401, 402, 403, 404)
AGAIN = (408, 409, 425, 429)  # of the caller's mistakes, those that time mends
SHOWN = 300  # characters of a server's message
# in the order in which they are given up if the message names none of them
OPTIONAL = (
    *("response_format", "top_logprobs", "logprobs", "seed", "max_tokens"),
    *("temperature", "max_completion_tokens"),
)
How = Literal["logprobs", "stated", "reply"]


class Failed(SoftlabelError):
    """One request failed; others may not."""


@dataclass(frozen=True)
class Said:
    """What came back: the raw reply, and the chances of the labels if it could be read."""

    raw: Any
    chances: Mapping[str, float] | None
    how: How
    tokens: tuple[int, int] = (0, 0)  # read and written
    seconds: float = 0.0
    tries: int = 1
    given_up: tuple[str, ...] = ()  # optional fields that were not sent


Answerer = Callable[[Asked], Said]


class Pace:
    """Lets ``per_minute`` requests begin in a minute, evenly; None: any number."""

    def __init__(self, per_minute: float | None, wait: Callable[[float], object]) -> None:
        self.pause = 0.0 if per_minute is None else 60 / per_minute
        self.wait, self._next, self._lock = wait, 0.0, threading.Lock()

    def take(self) -> None:
        """Wait for the next turn."""
        if not self.pause:
            return
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next)
            self._next = turn + self.pause
        self.wait(turn - now)


class Endpoint:
    """A server at ``url`` that offers ``/v1/chat/completions``, and one of its models."""

    def __init__(
        self,
        url: str,
        model: str,
        *,
        rate: float | None = None,
        timeout: float = TIMEOUT,
        wait: Callable[[float], object] | None = None,
    ) -> None:
        try:
            import httpx
        except ModuleNotFoundError:
            raise MissingExtra("softlabel judge", "serve") from None
        self.address, self.model, self._stopped = complete_url(url), model, threading.Event()
        self.wait = wait or self._stopped.wait
        self._pace = Pace(rate, self.wait)
        self._errors = httpx.HTTPError
        self._given_up: frozenset[str] = frozenset()
        self._key = find_key()
        if self._key and not _is_safe(self.address):
            raise SoftlabelError(
                f"--endpoint {url}: the key in the environment is sent to https:// addresses only, "
                "or to this machine"
            )
        headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
        self._http = httpx.Client(headers=headers, timeout=timeout, follow_redirects=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def stop(self) -> None:
        """Let nobody wait for another try."""
        self._stopped.set()

    def __call__(self, asked: Asked) -> Said:
        given_up, wait, spent, failures = self._given_up, FIRST_WAIT, 0, 0
        while True:
            body = self._write(asked, given_up)
            spent += 1
            begun = time.monotonic()
            reply, fault = self._send(body)
            raw = _parse(reply)
            if raw is not None:
                self._given_up = given_up  # what worked is kept for the others
                return _read_body(raw, asked, time.monotonic() - begun, spent, given_up)
            if reply is not None:
                fault = self._find_fault(reply)
                if reply.status_code in WRONG:
                    field = _find_refused(body, reply.text)
                    if field is None:
                        raise Failed(f"{self.address}, item {asked.item!r}: {fault}")
                    given_up = given_up | {field}
                    continue
                if reply.is_client_error and reply.status_code not in AGAIN:
                    raise Failed(f"{self.address}, item {asked.item!r}: {fault}")
                wait = max(wait, self._read_wait(reply))
            failures += 1
            if failures == TRIES:
                raise Failed(f"{self.address}, item {asked.item!r}: {fault}, {TRIES} times")
            self.wait(wait * random.uniform(1.0, 1.2))
            if self._stopped.is_set():
                raise Failed(f"{self.address}, item {asked.item!r}: stopped after {fault}")
            wait = min(2 * wait, LONGEST_WAIT)

    def _find_fault(self, reply: Any) -> str:
        """Return what is wrong with a reply; raise if another request would not mend it."""
        text = reply.text[:SHOWN] or "nothing"
        text = text.replace(self._key, "…") if self._key else text
        fault = f"status {reply.status_code}: {text}"
        if reply.status_code in CLOSED or reply.is_redirect:
            raise SoftlabelError(
                f"{self.address} refused the request, {fault}; check the address, the model and "
                f"the key, which is read from {' or '.join(KEYS)}"
            )
        return f"no chat completion, {fault}" if reply.is_success else fault

    def _read_wait(self, reply: Any) -> float:
        """Return the seconds that the server asks to wait; raise if that is too long."""
        seconds = retry_after(reply.headers.get("retry-after"))
        if seconds > PATIENCE:
            raise SoftlabelError(
                f"{self.address} asks to come back in {seconds:,.0f} seconds; what was answered is "
                "kept, and the same command goes on there"
            )
        return seconds

    def _send(self, body: Mapping[str, Any]) -> tuple[Any, str]:
        """Return the reply, or None and why there is none."""
        self._pace.take()
        try:
            return self._http.post(self.address, json=body), ""
        except self._errors as error:
            return None, f"no reply ({type(error).__name__})"

    def _write(self, asked: Asked, given_up: frozenset[str]) -> dict[str, Any]:
        """Return the body of a request, without the fields that were given up."""
        body: dict[str, Any] = {"model": self.model, "messages": asked.messages}
        answer = {"type": "string", "enum": list(asked.codes)}
        schema = {
            "type": "object",
            "properties": {"answer": answer},
            "required": ["answer"],
            "additionalProperties": False,
        }
        named = {"name": "answer", "strict": True, "schema": schema}
        optional: dict[str, Any] = {
            "seed": asked.seed,
            "max_tokens": MOST_TOKENS,
            "temperature": 1,
        }
        if asked.bound:
            optional["response_format"] = {"type": "json_schema", "json_schema": named}
        if asked.single:
            fewer = "top_logprobs" in given_up
            optional |= {"logprobs": True, "top_logprobs": FEWER if fewer else LIKELIEST}
        if "max_tokens" in given_up:  # newer models have another name for it, and think before
            optional["max_completion_tokens"] = 100 * MOST_TOKENS
        if "logprobs" in given_up:
            optional.pop("top_logprobs", None)
        kept = given_up - {"top_logprobs"}
        return body | {name: value for name, value in optional.items() if name not in kept}


def _parse(reply: Any) -> dict[str, Any] | None:
    """Return the chat completion in a reply, if it is one."""
    if reply is None or not reply.is_success:
        return None
    with suppress(ValueError):
        raw = reply.json()
        choices = raw.get("choices") if isinstance(raw, dict) else None
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            return dict(raw)
    return None


def _find_refused(body: Mapping[str, Any], message: str) -> str | None:
    """Return the optional field that a server refuses: one that it names, or else the next."""
    sent = [name for name in OPTIONAL if name in body]
    if body.get("top_logprobs") == FEWER:  # fewer were tried already
        sent.remove("top_logprobs")
    named = [name for name in sent if name in message]
    if "top_logprobs" in named and "logprobs" in named:  # the shorter name is part of the longer
        alone = message.replace("top_logprobs", "")
        named = ["logprobs"] if "logprobs" in alone else ["top_logprobs"]
    if "json_schema" in message and "response_format" in sent:
        named = ["response_format"]
    return next(iter(named or sent), None)


def _read_body(
    raw: Mapping[str, Any], asked: Asked, seconds: float, tries: int, given_up: frozenset[str]
) -> Said:
    choice = raw["choices"][0]
    text = (choice.get("message") or {}).get("content") or ""
    label = read_reply(text if isinstance(text, str) else "", asked.codes)
    used = raw.get("usage") or {}
    chances: Mapping[str, float] | None = None if label is None else {label: 1.0}
    how: How = "reply"
    shares = read_tokens((choice.get("logprobs") or {}).get("content"), label, asked)
    if shares is not None:
        chances, how = shares, "logprobs"
    return Said(
        raw,
        chances,
        how,
        tokens=(int(used.get("prompt_tokens") or 0), int(used.get("completion_tokens") or 0)),
        seconds=round(seconds, 3),
        tries=tries,
        given_up=tuple(sorted(given_up)),
    )


def complete_url(url: str) -> str:
    """Return the address of chat completions; refuse one that holds a password or is none.

    >>> complete_url("http://localhost:8000"), complete_url("https://api.openai.com/v1/")
    ('http://localhost:8000/v1/chat/completions', 'https://api.openai.com/v1/chat/completions')
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SoftlabelError(f"--endpoint {url}: must be an address such as http://localhost:8000")
    if parts.password or parts.username or parts.query:
        raise SoftlabelError(
            f"--endpoint: {parts.hostname} with a name, a password or a query; put the key into "
            f"the environment variable {KEYS[0]} and leave them out"
        )
    url = url.rstrip("/")
    if url.endswith(CHAT):
        return url
    return url + (CHAT if parts.path.strip("/") else f"/v1{CHAT}")


def find_key() -> str | None:
    """Return the key in the environment, if there is one."""
    for name in KEYS:
        if key := os.environ.get(name, "").strip():
            if not (key.isascii() and key.isprintable()):
                raise SoftlabelError(f"{name} in the environment is no key: it must be plain text")
            return key
    return None


def _is_safe(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "https" or parts.hostname in LOCAL


def retry_after(text: str | None) -> float:
    """Return the seconds that a server asks to wait: a number, or a date."""
    if not text:
        return 0.0
    with suppress(ValueError):
        return max(float(text), 0.0)
    with suppress(ValueError, TypeError):
        return max((parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds(), 0.0)
    return 0.0


# ── models of one's own ──────────────────────────────────────────────────────────────────────


def wrap(function: Callable[[dict[str, Any]], Any]) -> Answerer:
    """Make an answerer of a function from what is asked to an answer: a label's code or name,
    ``{"label": ...}``, ``{"chances": {label: chance}}`` or ``{"logprobs": {label: number}}``."""

    def answer(asked: Asked) -> Said:
        begun = time.monotonic()
        raw = function(describe(asked))
        chances, how = _read_answer(raw, asked)
        return Said(raw, chances, how, seconds=round(time.monotonic() - begun, 3))

    return answer


def describe(asked: Asked) -> dict[str, Any]:
    """Return what a program or a function is told."""
    fields = {"item": asked.item, "sample": asked.sample, "seed": asked.seed}
    return {**fields, "labels": dict(asked.codes), "messages": asked.messages}


def _read_answer(raw: Any, asked: Asked) -> tuple[Mapping[str, float] | None, How]:
    for key in ("chances", "logprobs"):
        if isinstance(raw, dict) and isinstance(raw.get(key), dict):
            return read_chances(raw[key], asked, logs=key == "logprobs"), "stated"
    said = raw.get("label") if isinstance(raw, dict) else raw
    label = read_reply(said, asked.codes) if isinstance(said, str) else None
    return (None if label is None else {label: 1.0}), "reply"


class Command:
    """A program that reads what is asked from stdin, a JSON object per line, and writes answers to
    stdout, in the same order.  One is asked at a time."""

    def __init__(self, line: str) -> None:
        self.address, self._lock = line, threading.Lock()
        try:
            self._process = subprocess.Popen(
                shlex.split(line),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
                start_new_session=True,  # Ctrl-C is for us, and its last answer is kept
            )
        except (OSError, ValueError) as error:
            raise SoftlabelError(f"--command {line!r} cannot be started: {error}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __call__(self, asked: Asked) -> Said:
        return wrap(self._ask)(asked)

    def _ask(self, told: dict[str, Any]) -> Any:
        assert self._process.stdin is not None, "both are pipes"
        assert self._process.stdout is not None, "both are pipes"
        with self._lock, suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(told) + "\n")
            self._process.stdin.flush()
            if line := self._process.stdout.readline():
                try:
                    return json.loads(line)
                except ValueError:
                    return line.strip()
        code = self._process.wait()
        raise SoftlabelError(
            f"--command {self.address!r} ended with code {code} before it answered"
        )
