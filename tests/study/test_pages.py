"""What people read: a study's own texts, and the usual ones where it has none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

from softlabel import registry, study
from softlabel.study.pages import TEXTS
from softlabel.study.schema import StudySection

LANGUAGES = get_args(StudySection.model_fields["language"].annotation)
MODES = sorted(registry.members("mode"))
TOML = """\
[study]
labels = ["cat", "dog"]
language = "{language}"
mode = "{mode}"
frame = "{frame}"

[items]
source = "images"
"""
PAY = '[pay]\ncurrency = "GBP"\nminutes = 20\nper_hour = 9\nbonus = "{bonus}"\n'


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("frame", ["self", "third_person"])
@pytest.mark.parametrize("mode", MODES)
def test_every_mode_and_frame_has_texts_in_every_language(make, mode, frame, language):
    found = study.read(make(TOML.format(mode=mode, frame=frame, language=language)))
    texts = [found.consent, found.thanks, *found.instructions]
    texts += [question.text for question in (*found.quiz.questions, *found.debrief)]
    assert all(text.strip() and "{" not in text for text in texts)
    assert len(found.instructions) == 4
    other = study.read(
        make(
            TOML.format(mode="hard" if mode != "hard" else "quick", frame=frame, language=language)
        )
    )
    assert found.instructions[2] != other.instructions[2], "the mode in use is described"


def test_the_frame_decides_whose_view_is_asked_for(make):
    texts, rights = {}, {}
    for frame in ("self", "third_person"):
        found = study.read(make(TOML.format(mode="quick", frame=frame, language="en")))
        texts[frame] = found.instructions[1]
        what, whose = found.quiz.questions
        assert (len(what.options), len(whose.options)) == (3, 3)
        rights[frame] = whose.options[whose.right]
    assert "what you yourself believe" in texts["self"]
    assert "how these 100 people would answer" in texts["third_person"]
    assert rights == {
        "self": "What I believe myself",
        "third_person": "How 100 other people would answer",
    }


def test_instructions_say_how_many_what_pay_and_bonus_if_there_are(make):
    base = TOML.format(mode="classic", frame="third_person", language="en")
    plain = "\n".join(study.read(make(base)).instructions)
    assert "14 pictures" in plain  # 12 and 2 repeats
    assert "do not have to sum to 100" in plain
    assert "Some of the pictures are easy" in plain
    assert "practice" not in plain
    assert "pays" not in plain
    assert "Bonus" not in plain
    files = {"p.csv": "text,gold\nhello,cat\n"}
    rich = base + 'practice = "p.csv"\n' + PAY.format(bonus="Top half: {1.00}.")
    full = "\n".join(study.read(make(rich, files)).instructions)
    assert "15 pictures" in full
    assert "The first 1 are for practice" in full
    assert "about 20 minutes and pays 3.00 GBP" in full
    assert "**Bonus:** Top half: {1.00}." in full


@pytest.mark.parametrize(
    ("files", "word"),
    [
        ({"items.csv": "text\nhello\n"}, "texts"),
        ({"items.csv": "audio\na.wav\n", "a.wav": b"RIFF....WAVE"}, "recordings"),
        ({"items.csv": "text,image\nhello,\n,images/00.png\n"}, "items"),
    ],
)
def test_things_are_called_what_they_are(make, files, word):
    toml = TOML.format(mode="hard", frame="self", language="en").replace("images", "items.csv")
    assert f"{word}, one after the other" in study.read(make(toml, files)).instructions[0]


def test_the_debrief_asks_the_six_questions_of_cifar10s(make):
    found = study.read(make())
    assert [question.kind for question in found.debrief] == ["scale", "scale", *["text"] * 4]
    assert found.debrief[0].options == tuple(map(str, range(1, 11)))


def test_a_study_with_texts_and_questions_of_its_own(make):
    toml = (
        TOML.format(mode="hard", frame="self", language="en")
        + """
[pages]
consent = "consent.md"
instructions = "how.md"
thanks = "thanks.md"
contact = " me@example.org "

[quiz]
tries = 5
[[quiz.question]]
text = "Sure?"
options = ["no", "yes"]
right = "yes"

[debrief]
[[debrief.question]]
text = "Age?"
options = ["under 30", "30 and over"]
[[debrief.question]]
text = "Tired?"
kind = "scale"
options = ["no", "a bit", "very"]
[[debrief.question]]
text = "Remarks?"
"""
    )
    files = {
        "consent.md": "\ufeff# Consent\r\n\r\nYes.\r\n",
        "how.md": "one\n\n---\n\ntwo --- still two\n---\n   \n---\nthree\n",
        "thanks.md": "Thanks!",
    }
    found = study.read(make(toml, files))
    assert found.consent == "# Consent\n\nYes."
    assert found.instructions == ("one", "two --- still two", "three")
    assert (found.thanks, found.contact) == ("Thanks!", "me@example.org")
    assert found.quiz.tries == 5
    assert found.quiz.questions == (study.Question("Sure?", ("no", "yes"), 1),)
    assert found.debrief == (
        study.Question("Age?", ("under 30", "30 and over")),
        study.Question("Tired?", ("no", "a bit", "very"), kind="scale"),
        study.Question("Remarks?", kind="text"),
    )


def test_quiz_and_debrief_can_be_left_out(make):
    toml = TOML.format(mode="hard", frame="self", language="en")
    found = study.read(make(toml + "[quiz]\nask = false\n[debrief]\nask = false\n"))
    assert found.quiz is None
    assert found.debrief == ()


def test_an_empty_page_is_a_mistake(make, wrong):
    toml = TOML.format(mode="hard", frame="self", language="en")
    assert wrong(make(f'{toml}[pages]\nconsent = "c.md"\n', {"c.md": " \n"})) == [
        "c.md: is empty; without the key there is a default text"
    ]


def test_a_mode_of_ones_own_is_described_by_its_questions(make, monkeypatch):
    class Mine(registry.get("mode", "hard")):
        name = "mine"

    monkeypatch.setitem(registry.FAMILIES["mode"], "mine", Mine)
    found = study.read(make(TOML.format(mode="mine", frame="self", language="en")))
    assert f"- {Mine.fields[0].asks}" in found.instructions[2]


def test_languages_of_texts_and_of_the_interface_are_the_same():
    assert sorted(LANGUAGES) == sorted(path.stem for path in TEXTS.glob("*.toml"))
    assert sorted(LANGUAGES) == sorted(study.LANGUAGES)
    locale = Path(study.__file__).parent / "locale"
    assert sorted(LANGUAGES) == sorted(path.stem for path in locale.glob("*.json"))
    for path in locale.glob("*.json"):
        assert json.loads(path.read_text(encoding="utf-8"))["code"] == path.stem
