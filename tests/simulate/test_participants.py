"""What simulated people say belongs to the seed, the person, the item and the occasion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from softlabel import FileError, SoftlabelError
from softlabel.elicit import Classic, Hard
from softlabel.simulate import Habits, draw_participants
from softlabel.simulate.people import FILE, read_truth, read_truth_file, simulate_timing
from softlabel.simulate.visit import make_links, make_record

LABELS = ("cat", "dog", "fox", "owl")
BELIEF = np.array([0.5, 0.3, 0.15, 0.05])
CODES = 'completion_code = "ABC"\nscreenout_code = "OUT"\n'
BACK = 'complete_url = "https://example.org/"\nscreenout_url = "https://example.org/out"\n'


def test_the_same_seed_gives_the_same_people_and_answers():
    first, again, other = draw_participants(8, 3), draw_participants(8, 3), draw_participants(8, 4)
    assert first == again
    assert [one.person for one in first] != [one.person for one in other]
    said = [one.answer("note-1", BELIEF, "main 1", Classic(), LABELS) for one in first]
    assert said == [one.answer("note-1", BELIEF, "main 1", Classic(), LABELS) for one in again]
    assert len({str(answer) for answer in said}) > 1


def test_one_in_eight_hardly_looks():
    people = draw_participants(24, 0)
    assert sum(one.person.carelessness >= 0.5 for one in people) == 3


def test_an_opinion_lasts_and_a_look_does_not():
    """Two looks at one item agree more than looks at the item by two people."""
    rows = [
        [
            Hard().read(one.answer("note-1", BELIEF, f"main {n}", Hard(), LABELS), LABELS).named[0]
            for n in (1, 2)
        ]
        for one in draw_participants(400, 0)
        if one.person.carelessness < 0.5
    ]
    own = np.mean([first == second for first, second in rows])
    others = np.mean([rows[i][0] == rows[i - 1][1] for i in range(len(rows))])
    assert own > others + 0.05
    assert own < 1


def test_what_is_known_of_an_item(make_study):
    study = make_study()
    knowledge = read_truth(study, seed=0)
    np.testing.assert_allclose(
        knowledge.of["note-2"], read_truth_file(study.folder / FILE, study.labels)["note-2"]
    )
    shown = {"image": None, "audio": None, "text": "the text of note-2"}
    assert knowledge.identify(shown) == "note-2"
    with pytest.raises(SoftlabelError, match="no item of this study"):
        knowledge.identify(shown | {"text": "something else"})


def test_without_a_truth_beliefs_are_made_up_by_the_seed(make_study):
    study = make_study()
    (study.folder / FILE).unlink()
    first, again, other = (read_truth(study, seed) for seed in (0, 0, 1))
    for item in study.items:
        assert first.of[item.id].sum() == pytest.approx(1)
        np.testing.assert_array_equal(first.of[item.id], again.of[item.id])
        assert not np.array_equal(first.of[item.id], other.of[item.id])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("id,cat,dog,fox\nnote-1,1,0,0\n", "no such column"),
        ("id,cat,dog,fox,owl\nnote-1,1,0,0,half\n", "line 2"),
        ("id,cat,dog,fox,owl\nnote-1,1,0,0\n", "line 2"),
        ("id,cat,dog,fox,owl\nnote-1,1,0,0,0.5\n", "sum to 1"),
    ],
)
def test_a_truth_that_is_none_is_refused(make_study, text, reason):
    study = make_study()
    (study.folder / FILE).write_text(text)
    with pytest.raises(FileError, match=reason):
        read_truth(study, 0)


def test_timing_is_what_a_browser_would_measure():
    for one in draw_participants(50, 0):
        answer = one.answer("note-1", BELIEF, "main 1", Classic(), LABELS)
        block = simulate_timing(answer, Classic(), one.draw("timing"))
        moments = [block["first_input_ms"], *block["fields"].values(), block["submit_ms"]]
        assert moments == sorted(moments)
        assert block["active_ms"] + block["hidden_ms"] == block["submit_ms"]
        assert set(block["fields"]) <= set(answer)
        assert [row[3] for row in make_record(0, answer, block)["events"]] == list(block["fields"])


@pytest.mark.parametrize("rates", [{"duplicates": 1.5}, {"leavers": -0.1}, {"think": -1}])
def test_habits_are_shares(rates):
    with pytest.raises(SoftlabelError, match="is not in"):
        Habits(**rates)


def test_ids_fit_the_recruiter(make_study):
    study = make_study(more=f'[recruit]\nkind = "prolific"\n{CODES}')
    paths = make_links(study, draw_participants(3, 0), None)
    assert len(set(paths)) == 3
    for path in paths:
        assert path.startswith("/?PROLIFIC_PID=")
    assert paths == make_links(study, draw_participants(3, 0), None)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [("[0-9]{8}", "/?who=00000001"), ("[a-z]+-0-[0-9]+", "/?who=simulated-0-1")],
)
def test_ids_fit_the_pattern(make_study, pattern, path):
    settings = f'kind = "url"\nid_param = "who"\nid_pattern = "{pattern}"\n'
    study = make_study(more=f"[recruit]\n{settings}{BACK}")
    assert make_links(study, draw_participants(2, 0), None)[1] == path


def test_a_pattern_that_no_simulated_id_fits_is_said(make_study):
    settings = 'kind = "url"\nid_param = "who"\nid_pattern = "X[A-Z]{9}"\n'
    study = make_study(more=f"[recruit]\n{settings}{BACK}")
    with pytest.raises(SoftlabelError, match="id_pattern"):
        make_links(study, draw_participants(2, 0), None)


def test_items_are_told_apart_by_all_that_is_shown(make_study):
    study = make_study()
    items = tuple(
        replace(study.items[0], id=f"pair-{n}", texts=(("Premise", "same"), ("Hypothesis", text)))
        for n, text in enumerate(("first", "second"))
    )
    knowledge = read_truth(replace(study, items=items), seed=0)
    shown = {"image": None, "audio": None, "text": items[1].text}
    texts = [{"heading": heading, "text": text} for heading, text in items[1].texts]
    assert knowledge.identify(shown | {"texts": texts}) == "pair-1"
    with pytest.raises(SoftlabelError, match="no item of this study"):
        knowledge.identify(shown)
