"""One person in a real browser, in every mode: what was meant is what is stored."""

from __future__ import annotations

import json
from contextlib import nullcontext

import pytest

from softlabel.simulate import browser, draw_participants, fill_in_browser
from softlabel.simulate.people import read_truth


@pytest.fixture
def one_browser(chromium, monkeypatch):
    """The same browser for all modes; ``test_command`` has people who start their own."""
    monkeypatch.setattr(browser, "launch_chromium", lambda: nullcontext(chromium))


@pytest.mark.parametrize(
    ("mode", "two"),
    [
        *((mode, False) for mode in ("hard", "classic", "quick", "chips", "search")),
        *((mode, True) for mode in ("quick", "chips")),
    ],
)
@pytest.mark.usefixtures("one_browser")
def test_one_person_answers_by_hand(make_study, stored, mode, two, serve_study):
    study = make_study(mode, two=two, per_annotator=2, repeats=1)
    server = serve_study(study.folder, "--rehearsal")
    report = fill_in_browser(server.url, study, annotators=1, seed=0)
    assert not report.errors
    assert [one.end for one in report.people] == ["finished"]
    rows = stored(study)
    assert [row.id for row in rows] == list(report.people[0].acknowledged)
    assert [row.kind for row in rows] == ["target"] * 2 + ["repeat"]
    truth, (somebody,) = read_truth(study, 0), draw_participants(1, 0)
    for row in rows:
        occasion = "main 2" if row.kind == "repeat" else "main 1"
        meant = somebody.answer(row.item, truth.of[row.item], occasion, study.mode, study.labels)
        sent = json.loads(row.answer_json)
        got, wanted = (study.mode.read(answer, study.labels) for answer in (sent, meant))
        assert (got.named, got.percent) == (wanted.named, pytest.approx(wanted.percent))
        assert got.possible.tolist() == wanted.possible.tolist()
