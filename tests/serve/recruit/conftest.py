"""A Prolific on this machine, and a study that recruits there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from softlabel.serve.fake_prolific import TOKEN, FakeProlific
from softlabel.serve.recruit import advert
from softlabel.serve.recruit.prolific import Client
from softlabel.serve.recruit.submissions import Desk

RECRUIT = """kind = "prolific"
completion_code = "DONE1"
screenout_code = "OUT22"
noconsent_code = "NO333"
signed = {signed}

[pay]
currency = "GBP"
minutes = 12
per_session = 1.5
{pay}
[prolific]
places = 5
filters = [{{ filter_id = "age", selected_range = {{ lower = 18 }} }}]
{more}
"""


@pytest.fixture(scope="session")
def key() -> rsa.RSAPrivateKey:
    """A key, which takes a while to make."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, key: rsa.RSAPrivateKey) -> Iterator[FakeProlific]:
    with FakeProlific(key=key).run() as fake:
        monkeypatch.setenv("PROLIFIC_URL", fake.url)
        monkeypatch.setenv("PROLIFIC_TOKEN", TOKEN)
        yield fake


class Announced:
    """A served study that is published on the fake platform."""

    def __init__(self, fake: FakeProlific, running: Any) -> None:
        self.fake, self.running, self.waits = fake, running, []
        client = self.client = Client(TOKEN, fake.url, wait=self.waits.append)
        self.ahead = 0.0
        self.desk = Desk(
            running.study,
            running.store,
            running.secret,
            client,
            "ann",
            now=lambda: running.clock() + self.ahead,
        )
        advert.draft(self.desk, running.url)
        advert.publish(self.desk)
        (self.id,) = fake.studies

    def come(self) -> tuple[Any, Any]:
        """Somebody takes a place and opens the link; the submission and the browser."""
        submission, link = self.fake.take_place(self.id)
        person = self.running.person()
        reply = person.get(link.removeprefix(self.running.url))
        assert reply.status_code == 303, reply.text
        return submission, person

    def finish(self) -> Any:
        """Somebody does everything, and enters the code; the submission."""
        submission, person = self.come()
        person.to_done()
        code = person.get("/leave").headers["location"].partition("cc=")[2]
        self.fake.complete(submission.id, code)
        return submission

    def fail_quiz(self) -> Any:
        submission, person = self.come()
        for _ in range(2):
            person.to_quiz().post("/quiz", data={"q0": "1", "q1": "1"})
        code = person.get("/leave").headers["location"].partition("cc=")[2]
        self.fake.complete(submission.id, code)
        return submission

    def session(self, submission: Any) -> Any:
        visit = self.desk.visit_pseudonym(submission.id)
        found = (one for one in self.desk.store.sessions("birds") if one.recruiter_session == visit)
        return next(found, None)

    def status(self, submission: Any) -> str | None:
        visit = self.desk.visit_pseudonym(submission.id)
        rows = {one.visit: one.status for one in self.desk.store.submissions("birds")}
        return rows.get(visit)


@pytest.fixture
def announce(fake: FakeProlific, serving: Callable[..., Any]) -> Iterator[Callable[..., Announced]]:
    """``announce(signed="true")``: a served study, published on the fake platform."""
    stack = ExitStack()

    def start(signed: str = "true", pay: str = "", more: str = "", **changes: Any) -> Announced:
        recruit = RECRUIT.format(signed=signed, pay=pay, more=more)
        running = serving(recruit=recruit, **changes)
        announced = Announced(fake, running)
        stack.enter_context(announced.client)
        return announced

    with stack:
        yield start


@pytest.fixture
def announced(announce: Callable[..., Announced]) -> Announced:
    return announce()
