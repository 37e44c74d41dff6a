"""Messages of Prolific: only genuine ones count, and each of them once."""

from __future__ import annotations

import json
import time

import httpx
import pytest

from softlabel.serve.recruit.link import read_link
from softlabel.serve.recruit.submissions import compare
from softlabel.serve.recruit.webhooks import ID, PATH, SENT_AT, SIGNATURE, TRUE_AT, WINDOW, sign


def wait_for(check):
    """A message is answered before it is taken in: look until it is."""
    end = time.monotonic() + 60
    while not (found := check()):
        assert time.monotonic() < end, "never came"
        time.sleep(0.01)
    return found


@pytest.fixture
def post(announced):
    """``post(status, ...)`` sends a message about a submission."""
    secret = read_link(announced.running.folder).secret

    def send(submission, status="RETURNED", *, at=None, sent_at=None, id="m1", **changes):
        moment = str(time.time() if sent_at is None else sent_at)
        message = {
            "event_type": "submission.status.change",
            "resource_id": submission.id,
            "participant_id": submission.person,
            "status": status,
        }
        body = json.dumps(message | changes.pop("message", {})).encode()
        headers = {SENT_AT: moment, ID: id, TRUE_AT: str(at or time.time() + 60)}
        headers[SIGNATURE] = sign(changes.pop("secret", secret), moment, body)
        sent = changes.pop("body", body)
        return httpx.post(announced.running.url + PATH, content=sent, headers=headers | changes)

    return send


def test_a_return_frees_the_place_at_once(announced, post):
    submission, person = announced.come()
    person.to_task()
    assert announced.session(submission).lease_end > 0
    assert post(submission).status_code == 202
    wait_for(lambda: announced.session(submission).stage == "closed")
    assert announced.session(submission).lease_end == 0
    assert announced.running.store.progress("birds").taken == 0


def test_forged_old_and_changed_messages_are_refused(announced, post):
    submission, person = announced.come()
    person.to_task()
    now = time.time()
    assert post(submission, secret="guess").status_code == 401
    assert post(submission, sent_at=now - WINDOW - 5).status_code == 401
    assert post(submission, sent_at=now + WINDOW + 60).status_code == 401
    assert post(submission, sent_at="yesterday").status_code == 401
    assert post(submission, sent_at="nan").status_code == 401
    assert post(submission, body=b'{"status": "RETURNED"}').status_code == 401
    assert post(submission, **{SIGNATURE: "\u00e9".encode("latin-1")}).status_code == 401
    assert announced.session(submission).stage == "task"
    assert announced.running.store.submissions("birds") == ()


def test_the_signature_covers_the_bytes_as_they_were_sent():
    """Computed by hand from the vendor's formula: base64(HMAC-SHA256(secret, timestamp + body))."""
    import base64
    import hashlib
    import hmac

    body = b'{"b": 1,  "a": "\xc3\xa9"}'
    digest = hmac.new(b"key", b"1700000000" + body, hashlib.sha256).digest()
    assert sign("key", "1700000000", body) == base64.b64encode(digest).decode()


def test_messages_that_mean_nothing_are_answered_and_change_nothing(announced, post):
    submission, person = announced.come()
    person.to_task()
    other = {"event_type": "study.status.change"}
    assert post(submission, message=other).status_code == 202
    assert post(submission, message={"study_id": "9" * 24}, id="m2").status_code == 202
    assert post(submission, message={"resource_id": None}, id="m3").status_code == 202
    assert post(submission, "ACTIVE", id="m4").status_code == 202
    wait_for(lambda: announced.status(submission) == "ACTIVE")
    assert announced.session(submission).stage == "task"


def test_late_doubled_and_disordered_messages_end_the_same(announced):
    """Everything that happened to six people, in a random order, much of it twice."""
    fake = announced.fake
    story = {}
    for end in ("RETURNED", "TIMED-OUT", "AWAITING REVIEW", "RETURNED", "TIMED-OUT"):
        submission, person = announced.come()
        person.to_task()
        fake.change(submission.id, end)
        story[submission.id] = (submission, end)
    replies = fake.deliver(shuffle=True, twice=0.7)
    assert set(replies) == {202}
    assert sum(replies.values()) > 10
    for submission, end in story.values():
        wait_for(lambda s=submission, e=end: announced.status(s) == e)
        assert announced.session(submission).stage == ("closed" if end == "RETURNED" else "task")
    held = announced.running.store.progress("birds").taken
    waiting = [s for s, end in story.values() if end == "AWAITING REVIEW"]
    assert held == sum(announced.session(s).lease_end > 0 for s in waiting) * 3


def test_a_message_of_the_second_of_a_look_is_newer_than_what_was_seen(announced, post):
    """Replies are dated in whole seconds: the order within one cannot be told from them."""
    submission, _ = announced.come()
    announced.fake.change(submission.id, "TIMED-OUT")
    visits = announced.client.list_visits(announced.id)
    compare(announced.desk, visits)
    assert announced.status(submission) == "TIMED-OUT"
    post(submission, "ACTIVE", at=visits[0].at + 0.4)  # the clock was stopped by mistake
    wait_for(lambda: announced.status(submission) == "ACTIVE")
    compare(announced.desk, visits)
    assert announced.status(submission) == "ACTIVE"


@pytest.mark.parametrize(("before", "stays"), [(0.3, True), (1.5, True), (5.0, False)])
def test_what_changed_while_a_reply_was_on_its_way_stays(announced, post, before, stays):
    """The list was read before the change, and is dated after it; an older change was undone."""
    submission, _ = announced.come()
    visits = announced.client.list_visits(announced.id)
    assert visits[0].status == "ACTIVE"
    post(submission, "TIMED-OUT", at=visits[0].at - before)
    wait_for(lambda: announced.status(submission) == "TIMED-OUT")
    compare(announced.desk, visits)
    assert announced.status(submission) == ("TIMED-OUT" if stays else "ACTIVE")


def test_there_is_no_such_address_in_other_studies(running):
    reply = httpx.post(running.url + PATH, content=b"{}")
    assert reply.status_code == 404


def test_before_the_draft_nobody_can_send_messages(serving, fake):
    recruit = 'kind = "prolific"\ncompletion_code = "A"\nscreenout_code = "B"'
    running = serving(recruit=recruit)
    assert httpx.post(running.url + PATH, content=b"{}").status_code == 404


def test_no_platform_id_is_stored(announced, post):
    submission, person = announced.come()
    person.to_task()
    post(submission)
    wait_for(lambda: announced.status(submission) == "RETURNED")
    stored = b"".join(path.read_bytes() for path in announced.running.folder.rglob("answers.db*"))
    assert submission.id.encode() not in stored
    assert submission.person.encode() not in stored
