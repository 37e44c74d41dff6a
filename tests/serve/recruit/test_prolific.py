"""The loop with Prolific, over HTTP: draft, publish, pause, approve, screen out, compare."""

from __future__ import annotations

import json
import sqlite3
import time
from dataclasses import replace

import pytest

from softlabel.errors import SoftlabelError
from softlabel.serve.fake_prolific import TOKEN, Fault
from softlabel.serve.recruit import advert, submissions
from softlabel.serve.recruit.link import read_link
from softlabel.serve.recruit.prolific import TRIES, Client, ProlificError, Unclear, open_client


def audit(announced):
    with sqlite3.connect(announced.running.store.name) as database:
        rows = database.execute("SELECT action, actor, detail FROM audit ORDER BY seq")
        return [(action, actor, json.loads(detail)) for action, actor, detail in rows]


# ── the client ───────────────────────────────────────────────────────────────────────────────


def test_what_can_be_repeated_is_repeated_with_growing_pauses(announced):
    announced.fake.faults += [Fault("GET .*/studies/", 429, times=2), Fault("GET", 503, times=2)]
    assert announced.client.get_study(announced.id)["status"] == "ACTIVE"
    assert len(announced.waits) == 4
    assert all(0.5 * 2**n <= wait <= 2**n for n, wait in enumerate(announced.waits))


def test_it_gives_up_in_the_end(announced):
    announced.fake.faults.append(Fault("GET .*/studies/", 500, times=TRIES))
    with pytest.raises(ProlificError, match="500"):
        announced.client.get_study(announced.id)
    assert len(announced.waits) == TRIES - 1


def test_a_refusal_is_not_repeated(announced):
    with pytest.raises(ProlificError, match="404"):
        announced.client.get_study("0" * 24)
    assert announced.waits == []


@pytest.mark.parametrize(("status", "acted"), [(500, True), (500, False), (0, True), (0, False)])
def test_what_moves_money_is_sent_once_and_unclear(announced, status, acted):
    submission = announced.fail_quiz()
    announced.fake.faults.append(Fault("screen-out", status, acted=acted))
    with pytest.raises(Unclear, match="not known"):
        announced.client.screen_out(announced.id, submission.id, "0.10")
    assert sum("screen-out" in line for line in announced.fake.requests) == 1
    assert announced.fake.paid[submission.person] == (10 if acted else 0)


def test_nobody_listens(announced):
    with Client(TOKEN, "http://127.0.0.1:9", wait=announced.waits.append) as client:
        with pytest.raises(SoftlabelError, match="nothing was done"):
            client.pay_bonuses("x")
        assert announced.waits == [], "and what moves money is not tried again"
        with pytest.raises(SoftlabelError, match="cannot be reached"):
            client.get_study("x")


def test_the_token_comes_from_the_environment_only(monkeypatch):
    monkeypatch.delenv("PROLIFIC_TOKEN", raising=False)
    with pytest.raises(SoftlabelError, match="PROLIFIC_TOKEN is not set"):
        open_client()


def test_the_token_is_not_sent_in_the_clear():
    with pytest.raises(SoftlabelError, match="https:// addresses only"):
        Client(TOKEN, "http://api.prolific.com")


def test_a_study_of_a_project_belongs_to_its_workspace(announce, fake):
    announce(more='project = "5f0a1b2c3d4e5f6071829304"')
    assert {hook["workspace_id"] for hook in fake.hooks.values()} == {"b" * 24}


def test_long_lists_have_pages(announced):
    announced.fake.studies[announced.id]["total_available_places"] = 300
    for _ in range(230):
        announced.fake.take_place(announced.id)
    assert len({one.id for one in announced.client.list_visits(announced.id)}) == 230


# ── the study ────────────────────────────────────────────────────────────────────────────────


def test_the_draft_says_what_study_toml_says(announced):
    study = announced.fake.studies[announced.id]
    assert study["name"] == "Which bird is this?"
    assert study["total_available_places"] == 5
    assert study["reward"] == 150, "in pence"
    assert study["estimated_completion_time"] == 12
    assert study["filters"] == [{"filter_id": "age", "selected_range": {"lower": 18}}]
    assert study["is_external_study_url_secure"] is True
    assert study["external_study_url"] == (
        f"{announced.running.url}/?PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}"
        "&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
    )
    codes = {one["code"]: one["actions"][0]["action"] for one in study["completion_codes"]}
    assert codes == {
        "DONE1": "MANUALLY_REVIEW",
        "OUT22": "MANUALLY_REVIEW",
        "NO333": "REQUEST_RETURN",
    }


def test_the_file_that_links_both_is_private_and_holds_no_token(announced):
    path = announced.running.folder / ".softlabel" / "prolific.json"
    assert path.stat().st_mode & 0o077 == 0
    assert TOKEN not in path.read_text()
    assert read_link(announced.running.folder).study == announced.id


def test_at_another_platform_it_is_another_study(announced, monkeypatch):
    monkeypatch.setenv("PROLIFIC_URL", "https://api.prolific.com")
    assert read_link(announced.running.folder).study is None


def test_the_code_for_skips_is_declared_too_unless_it_is_the_one_for_screen_outs(announced):
    study = announced.desk.study

    def list_codes(skip_code):
        changed = replace(study, recruit=replace(study.recruit, skip_code=skip_code))
        made = advert.describe(changed, "https://birds.example.org", "birds")
        return [one["code"] for one in made["completion_codes"]]

    assert list_codes("SKIP4") == ["DONE1", "OUT22", "SKIP4", "NO333"]
    assert list_codes("OUT22") == ["DONE1", "OUT22", "NO333"]


@pytest.mark.parametrize("status", [500, 0])
def test_a_draft_that_was_cut_off_is_not_made_twice(announce, fake, status):
    fake.faults.append(Fault("POST .*/studies/$", status, acted=True))
    announce()
    assert len(fake.studies) == 1


def test_a_draft_can_be_changed_and_a_published_study_can_grow(announced, fake):
    assert "unchanged" in advert.draft(announced.desk, announced.running.url)
    fake.studies[announced.id]["total_available_places"] = 3
    assert "5 places" in advert.draft(announced.desk, announced.running.url)
    fake.studies[announced.id]["total_available_places"] = 9
    with pytest.raises(SoftlabelError, match="places = 5 is too few"):
        advert.draft(announced.desk, announced.running.url)
    fake.studies[announced.id]["status"] = "UNPUBLISHED"
    assert advert.draft(announced.desk, announced.running.url).startswith("changed")
    assert len(fake.studies) == len(fake.hooks) == 1


def test_pause_and_go_on_are_asked_once(announced, fake):
    assert advert.pause(announced.desk) == "PAUSED"
    assert advert.pause(announced.desk) == "PAUSED already"
    with pytest.raises(ValueError, match="nobody can take a place"):
        fake.take_place(announced.id)
    assert advert.publish(announced.desk) == "ACTIVE"
    assert advert.publish(announced.desk) == "ACTIVE already"


def test_every_action_is_in_the_audit_log(announced):
    advert.pause(announced.desk)
    actions = [(action, actor) for action, actor, _ in audit(announced)]
    assert actions == [
        ("prolific-draft", "ann"),
        ("prolific-publish", "ann"),
        ("prolific-pause", "ann"),
    ]


def test_messages_need_an_address_that_prolific_can_reach(serving, fake, announce):
    announced = announce()
    (announced.running.folder / ".softlabel" / "prolific.json").unlink()
    with pytest.raises(SoftlabelError, match="https://"):
        advert.draft(announced.desk, "http://birds.example.org")


# ── people ───────────────────────────────────────────────────────────────────────────────────


def test_only_who_is_done_in_the_database_is_approved(announced, fake):
    done = announced.finish()
    never_came, _ = fake.take_place(announced.id)
    fake.complete(never_came.id, "DONE1")  # somebody told them the code
    halfway, person = announced.come()
    person.to_task()
    fake.complete(halfway.id, "DONE1")
    approval = submissions.review(announced.desk)
    assert approval.ready == (done.id,)
    assert dict(approval.refused) == {
        never_came.id: "not in the database",
        halfway.id: "not done: task",
    }
    assert submissions.approve(announced.desk, approval) == 1
    assert fake.rewards == {done.id: 150}
    assert announced.status(done) == "APPROVED"
    assert submissions.review(announced.desk).ready == ()


@pytest.mark.parametrize("status", [429, 500, 0])
def test_an_approval_that_was_cut_off_is_finished_and_pays_once(announced, fake, status):
    done = announced.finish()
    approval = submissions.review(announced.desk)
    fake.faults.append(Fault("bulk-approve", status, acted=status != 429))
    assert submissions.approve(announced.desk, approval) == 1
    assert fake.rewards == {done.id: 150}


def test_nobody_counts_as_approved_before_prolific_says_so(announced, fake):
    done = announced.finish()
    approval = submissions.review(announced.desk)
    fake.faults.append(Fault("bulk-approve", 400))
    with pytest.raises(ProlificError):
        submissions.approve(announced.desk, approval)
    assert announced.status(done) == "AWAITING REVIEW"


def test_lost_messages_are_found_by_asking(announced, fake):
    gone, person = announced.come()
    person.to_task()
    fake.change(gone.id, "RETURNED")
    assert announced.session(gone).stage == "task"
    found = submissions.compare(announced.desk)
    assert found.released > 0
    assert announced.session(gone).stage == "closed"
    assert submissions.compare(announced.desk).released == 0


def test_what_does_not_fit_is_reported(announced, fake):
    done = announced.finish()
    stranger, _ = fake.take_place(announced.id)
    fake.complete(stranger.id, "DONE1")
    halfway, person = announced.come()
    person.to_task()
    fake.complete(halfway.id, "DONE1")
    fake.change(done.id, "RETURNED")
    found = submissions.compare(announced.desk)
    assert found.statuses == {"AWAITING REVIEW": 2, "RETURNED": 1}
    assert found.strangers == [stranger.id]
    assert found.unfinished == [halfway.id]
    assert found.missing == [announced.session(done).annotator]
    assert announced.session(done).stage == "done", "their answers stay"


def test_an_old_message_does_not_undo_what_asking_found(announced, fake):
    gone, person = announced.come()
    person.to_task()
    fake.change(gone.id, "RETURNED")

    def ask() -> str:
        """Ask until the platform's clock, which a reply carries in whole seconds, has moved on."""
        for _ in range(100):
            submissions.compare(announced.desk)
            if announced.status(gone) == "RETURNED":
                break
            time.sleep(0.1)
        return str(announced.status(gone))

    assert ask() == "RETURNED"
    fake.messages = [one for one in fake.messages if one["body"]["status"] == "ACTIVE"]
    fake.deliver()
    assert ask() == "RETURNED"


def test_the_server_asks_by_itself(announced, fake, monkeypatch):
    """The thread of a server that has a token: it notices a return without any message."""
    monkeypatch.setattr(submissions, "EVERY", 0.02)
    gone, person = announced.come()
    person.to_task()
    fake.change(gone.id, "RETURNED")
    desk = announced.desk
    with submissions.keep_asking(desk.study, desk.store, desk.secret):
        from time import monotonic, sleep

        end = monotonic() + 60
        while announced.session(gone).stage != "closed":
            assert monotonic() < end
            sleep(0.01)


def test_a_rehearsal_never_asks_the_real_platform(announced, monkeypatch):
    monkeypatch.setattr(submissions, "EVERY", 0.0)
    monkeypatch.setattr(submissions, "prolific_url", lambda: "https://api.prolific.com")
    monkeypatch.setattr(announced.desk.store, "rehearsal", True)
    before = len(announced.fake.requests)
    desk = announced.desk
    with submissions.keep_asking(desk.study, desk.store, desk.secret):
        pass
    assert len(announced.fake.requests) == before
