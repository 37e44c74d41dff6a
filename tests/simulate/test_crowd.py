"""Who says what depends on the seed alone; what the network does changes nothing that is kept."""

from __future__ import annotations

import asyncio
import json

import pytest

from softlabel import store
from softlabel.simulate import Habits, Report, fill_study, run_server

BAD = Habits(duplicates=0.2, disconnects=0.2, fail_quiz=0.5)
SHARED = {"batch_size": 2, "per_item": 5, "repeats": 1}  # several leases per person, all scarce


def said(report: Report, rows: list[store.ResponseRow]) -> list[tuple]:
    """Who was shown what where, and answered what."""
    who = {id: n for n, person in enumerate(report.people) for id in person.acknowledged}
    return sorted(
        (who[row.id], row.position, row.item, row.kind, row.answer_json, row.label_order)
        for row in rows
    )


def test_neither_concurrency_nor_faults_change_who_says_what(make_study, stored, serve_study):
    runs = []
    for concurrency, habits in ((1, Habits()), (12, BAD)):
        study = make_study(**SHARED)
        server = serve_study(study.folder, "--rehearsal")
        report = fill_study(
            server.url, study, annotators=10, seed=1, habits=habits, concurrency=concurrency
        )
        assert not report.errors
        rows = stored(study)
        assert {row.id for row in rows} == {i for one in report.people for i in one.acknowledged}
        assert len(rows) == report.acknowledged
        runs.append(said(report, rows))
        sent = len(report.latencies["answer"])
        assert (sent > report.acknowledged) == (habits is BAD)
    assert runs[0] == runs[1]
    assert len({answer for *_, answer, _ in runs[0]}) > 10


def test_people_fail_the_quiz_once_leave_early_or_come_too_late(make_study, stored, serve_study):
    study = make_study(per_item=2, repeats=0, batch_size=8)
    server = serve_study(study.folder, "--rehearsal")
    gone = fill_study(
        server.url, study, annotators=2, seed=0, habits=Habits(leavers=1, fail_quiz=1)
    )
    late = fill_study(server.url, study, annotators=1, seed=1)
    assert [one.end for one in gone.people] == ["left", "left"]
    assert all(1 <= len(one.acknowledged) < len(study.items) for one in gone.people)
    assert [one.end for one in late.people] == ["turned away"]
    assert not gone.errors
    assert not late.errors
    with store.open(study.folder / ".softlabel/rehearsal.db", read_only=True) as answers:
        assert [one.quiz_tries for one in answers.sessions(study.name)] == [2, 2, 1]
    assert len(stored(study)) == gone.acknowledged


RECRUITERS = {
    "prolific": 'completion_code = "ABC"\nscreenout_code = "OUT"\n',
    "url": 'id_param = "who"\nsession_param = "visit"\ncomplete_url = "https://example.org/"\n'
    'screenout_url = "https://example.org/out"\n',
    "invitation": "",
}


@pytest.mark.parametrize("kind", RECRUITERS)
def test_people_come_as_their_recruiter_sends_them(make_study, kind, serve_study):
    study = make_study("hard", f'[recruit]\nkind = "{kind}"\n{RECRUITERS[kind]}', repeats=0)
    server = serve_study(study.folder, "--rehearsal")
    first = fill_study(server.url, study, annotators=3, seed=0)
    again = fill_study(server.url, study, annotators=3, seed=0)
    assert not first.errors
    assert first.finished == 3
    back = {"turned away"} if kind != "invitation" else {"finished"}  # invited anew, as others
    assert {one.end for one in again.people} == back


def test_what_serves_another_study_is_noticed(make_study, serve_study):
    study = make_study("hard", repeats=0)
    other = make_study("hard", repeats=0)
    file = other.folder / "study.toml"
    file.write_text(file.read_text().replace('"notes"', '"letters"'))
    server = serve_study(other.folder, "--rehearsal")
    report = fill_study(server.url, study, annotators=1, seed=0)
    assert [one.end for one in report.people] == ["failed"]
    assert "serves the study 'letters'" in json.dumps(report.errors)


def test_it_works_in_a_notebook(make_study):
    """Where a loop is running already."""
    study = make_study("hard", repeats=0)

    async def cell():
        return fill_study(server.url, study, annotators=2, seed=0)

    with run_server(study.folder, "--rehearsal") as server:
        assert asyncio.run(cell()).finished == 2


def test_thinking_takes_time_and_progress_is_told(make_study, serve_study):
    study = make_study("hard", repeats=0)
    told = []
    server = serve_study(study.folder, "--rehearsal")
    report = fill_study(
        server.url,
        study,
        annotators=4,
        seed=0,
        habits=Habits(think=0.05),
        progress=lambda done, of: told.append((done, of)),
    )
    assert report.finished == 4
    assert report.seconds > 0.1
    assert [done for done, _ in told] == list(range(1, report.acknowledged + 1))
    assert told[-1] == (report.acknowledged, report.acknowledged)
