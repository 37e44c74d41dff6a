"""What a study knows about itself: people, time, pay, recruiters."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from softlabel import study
from softlabel.study import estimate

TOML = '[study]\nlabels = ["cat", "dog"]\n{study}\n[items]\nsource = "images"\n{rest}\n'


def read(make, rest: str = "", more: str = "") -> study.Study:
    return study.read(make(TOML.format(rest=rest, study=more)))


def test_defaults(make):
    found = read(make)
    assert (found.name, found.title, found.language) == ("birds", "birds", "en")
    assert (found.mode_text, found.frame, found.label_order) == ("quick", "self", "shuffled")
    assert (found.per_item, found.per_annotator, found.batch_size) == (6, None, 25)
    assert (found.seed, found.lease_minutes, found.batches) == (0, 60, {})
    assert (found.recruit, found.pay, found.synonyms) == (study.Recruit(), None, {})
    assert found.toml == (found.folder / "study.toml").read_text()


@pytest.mark.parametrize(
    ("name", "slug"),
    [("birds", "birds"), ("My Birds, 2!", "my-birds-2"), ("鳥", "study"), ("-", "study")],
)
def test_a_study_without_a_name_is_called_after_its_folder(make, tmp_path, name, slug):
    folder = make(TOML.format(study="", rest="")).rename(tmp_path / name)
    assert study.read(folder).name == slug


def test_a_study_cannot_be_changed(make):
    found = read(make)
    with pytest.raises(FrozenInstanceError):
        found.per_item = 3


@pytest.mark.parametrize(
    ("rest", "own", "people"),
    [
        ("per_item = 6", 12, 6),
        ("per_item = 6\nper_annotator = 4", 4, 18),
        ("per_item = 5\nper_annotator = 7", 7, 9),
        ("per_item = 1\nper_annotator = 12", 12, 1),
    ],
)
def test_how_many_people_are_needed(make, rest, own, people):
    found = read(make, rest)
    assert (found.items_per_person, found.people_needed) == (own, people)


@pytest.mark.parametrize(
    ("rest", "most"),
    [
        ("", 2),  # a fifth of twelve
        ("per_annotator = 4", 2),  # never fewer
        ("skip_limit = 0", 2),
        ("skip_limit = 0.75", 9),
        ("skip_limit = 1", 12),
    ],
)
def test_how_many_items_may_be_skipped(make, rest, most):
    assert read(make, rest).most_skips == most


def test_a_share_of_items_is_not_rounded_down_by_the_computer(make):
    assert read(make, "skip_limit = 0.29").skips_among(100) == 29


def test_labels_and_synonyms_from_files(make):
    toml = '[study]\nlabels = "{}"\nsynonyms = "words.json"\nmode = "search"\n'
    toml += '[items]\nsource = "images"\n'
    words = {"words.json": '{"pet": ["animal"], "pet/cat": ["kitten", "tabby"]}'}
    texts = {"labels.txt": "pet/cat\n\n pet/dog \n", "labels.json": '["pet/cat", "pet/dog"]'}
    for name in texts:
        found = study.read(make(toml.format(name), texts | words))
        assert found.labels == ("pet/cat", "pet/dog")
        assert found.synonyms == {"pet": ("animal",), "pet/cat": ("kitten", "tabby")}


def test_prolific(make):
    codes = '[recruit]\nkind = "prolific"\ncompletion_code = "CABC"\nscreenout_code = "S-1"\n'
    found = read(make, codes).recruit
    assert found == study.Recruit(
        kind="prolific",
        id_param="PROLIFIC_PID",
        session_param="SESSION_ID",
        id_pattern="^[0-9a-f]{24}$",
        complete_url="https://app.prolific.com/submissions/complete?cc=CABC",
        screenout_url="https://app.prolific.com/submissions/complete?cc=S-1",
        noconsent_url=None,
        completion_code="CABC",
        screenout_code="S-1",
    )


def test_any_other_recruiter(make):
    given = (
        '[recruit]\nkind = "url"\nid_param = "who"\nsession_param = "visit"\n'
        'complete_url = "https://sona.example/credit?id={id}&visit={session}"\n'
        'screenout_url = "https://sona.example/out"\n'
    )
    found = read(make, given).recruit
    assert (found.id_param, found.session_param, found.noconsent_url) == ("who", "visit", None)
    assert found.id_pattern == "^[A-Za-z0-9._@-]{1,128}$"


def test_people_who_are_sent_should_know_whom_to_write_to(make):
    (note,) = read(make, '[recruit]\nkind = "invitation"\n').notes
    assert str(note) == "study.toml, pages.contact: people would not know whom to write to"


PAY = '[pay]\ncurrency = "GBP"\nminutes = 20\nper_hour = 9\n'


@pytest.mark.parametrize(
    ("given", "frame", "wanted"),
    [
        ('bonus = "Be close."', "self", "people are promised a bonus, but softlabel pay computes"),
        ('bonus_rule = "fixed"\nbonus_amount = 1', "self", "people are not told that there is a"),
        ('bonus = "b"\nbonus_rule = "score"\nbonus_max = 1', "self", "pays for guessing what"),
        ('bonus = "b"\nbonus_rule = "score"\nbonus_max = 1', "third_person", None),
        ('bonus = "b"\nbonus_rule = "column"', "self", None),
    ],
)
def test_a_bonus_that_people_do_not_or_wrongly_expect_is_noted(make, given, frame, wanted):
    notes = [str(note) for note in read(make, f"{PAY}{given}\n", f'frame = "{frame}"').notes]
    found = [note for note in notes if "pay.bonus" in note]
    assert len(found) == (wanted is not None)
    assert all(wanted in note for note in found)


@pytest.mark.parametrize(
    ("given", "session"), [("per_hour = 9", 3.0), ("per_session = 4.5", 4.5), ("per_hour = 0", 0)]
)
def test_pay_of_a_session(make, given, session):
    pay = read(make, f'[pay]\ncurrency = "GBP"\nminutes = 20\n{given}\n').pay
    assert pay.session == pytest.approx(session)


@pytest.mark.parametrize(
    ("mode", "seconds", "measured"),
    [("classic", 32.0, True), ("hard", 1.8, True), ("quick", 5.7, False)],
)
def test_how_long_it_takes(make, mode, seconds, measured):
    guess = estimate(read(make, more=f'mode = "{mode}"'))
    assert (guess.seconds, guess.measured) == (seconds, measured)
    assert guess.minutes == pytest.approx(2 + 14 * seconds / 60)
    assert guess.session is guess.total is guess.per_hour is None


def test_what_it_costs(make):
    found = read(make, '[pay]\ncurrency = "GBP"\nminutes = 20\nper_hour = 9\n', 'mode = "classic"')
    guess = estimate(found)
    assert (guess.session, guess.total) == (pytest.approx(3.0), pytest.approx(18.0))
    assert guess.per_hour == pytest.approx(3.0 / guess.minutes * 60)
    quicker = estimate(replace(found, practice=(), repeats=0))
    assert quicker.per_hour > guess.per_hour


def test_labels_that_are_a_scale_are_shown_in_their_order(make):
    assert not read(make).ordered
    found = read(make, more="ordered = true")
    assert (found.ordered, found.label_order, found.notes) == (True, "fixed", ())
    found = read(make, more='ordered = true\nlabel_order = "shuffled"')
    assert found.label_order == "shuffled"
    assert "steps of a scale, and each person sees them in another order" in str(found.notes[0])


QUOTED = """\
[study]
labels = ["cat", "dog"]
mode = "classic:wording=c22"
{study}

[items]
source = "{source}"
"""
MODE = "study.toml, study.mode = 'classic:wording=c22': wording=c22 "
THIRD = 'frame = "third_person"'


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (THIRD, []),
        ("", ['asks in the frame third_person, not self; write frame = "third_person"']),
        (f'{THIRD}\nlanguage = "de"', ["is in en only, and the study is in de"]),
        (f'{THIRD}\nlanguages = ["en", "fr"]', ["is in en only, and the study is in fr"]),
    ],
    ids=["right", "frame", "language", "second-language"],
)
def test_words_of_a_paper_fit_one_language_and_one_frame(make, wrong, given, wanted):
    found = wrong(make(QUOTED.format(study=given, source="images")))
    ending = "; leave out one of the two"
    assert [line.removesuffix(ending) for line in found] == [f"{MODE}{one}" for one in wanted]


def test_a_comparison_checks_the_words_of_every_mode(make, wrong):
    toml = QUOTED.replace('mode = "classic:wording=c22"\n', "").format(study="", source="images")
    toml += '[compare]\nmodes = ["classic", "classic:wording=c22"]\n'
    (line,) = wrong(make(toml))
    assert line.startswith("study.toml, compare.modes[1] = 'classic:wording=c22': wording=c22 asks")


def test_words_about_an_image_are_noted_where_there_is_none(make):
    folder = make(QUOTED.format(study=THIRD, source="a.csv"), {"a.csv": "id,text\none,a cat\n"})
    (note,) = study.read(folder).notes
    assert str(note) == f"{MODE}speaks of an image, but one shows none"
