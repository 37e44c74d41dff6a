"""A study in several languages: what people are offered, what they choose, and what stays."""

from __future__ import annotations

import re

import pytest

PROLIFIC = 'kind = "prolific"\ncompletion_code = "C1"\nscreenout_code = "C2"'
GERMAN = """
[de.study]
"Which bird is this?" = "Welcher Vogel ist das?"
"What is asked?" = "Wonach wird gefragt?"
"Which bird it is" = "Welcher Vogel es ist"
"low" = "niedrig"
[de.page]
consent_accept = "Ich mache mit"
"""


def translate(folder):
    text = (folder / "study.toml").read_text()
    lines = 'languages = ["en", "de", "ar"]\ntexts = "texts.toml"\n'
    text = text.replace('language = "en"\n', lines).replace('["1", "2", "3"]', '["low", "high"]')
    (folder / "study.toml").write_text(text)
    (folder / "texts.toml").write_text(GERMAN)
    (folder / "consent.de.md").write_text("# Worum es geht\n\nWir sehen uns Vögel an.\n")


def language_of(reply):
    return re.search(r'<html lang="(\w+)"', reply.text)[1]


@pytest.fixture
def several(serving):
    return serving(edit=translate)


def test_the_browsers_language_is_the_first_guess(several):
    assert language_of(several.person().get("/")) == "en"
    reply = several.person(**{"accept-language": "fr, de-AT;q=0.8, en;q=0.5"}).get("/")
    assert language_of(reply) == "de"
    assert "Wir sehen uns Vögel an." in reply.text
    assert "Ich mache mit" in reply.text
    assert "Welcher Vogel ist das?" in reply.text
    arabic = several.person(**{"accept-language": "ar"}).get("/")
    assert '<html lang="ar" dir="rtl">' in arabic.text


def test_people_choose_on_the_first_page_and_it_stays(several):
    person = several.person(**{"accept-language": "en"})
    first = person.get("/").text
    assert re.findall(r'name="language" value="(\w+)"', first) == ["en", "de", "ar"]
    assert 'value="en" lang="en" aria-current="true"' in first
    chosen = person.post("/language", data={"language": "de"}, follow_redirects=True)
    assert language_of(chosen) == "de"
    person.agree()
    assert several.session().language == "de"
    person.cookies.delete("softlabel-language")
    assert language_of(person.get("/")) == "de", "the session knows"
    person.post("/instructions")
    quiz = person.get("/").text
    assert "Wonach wird gefragt?" in quiz
    assert "Welcher Vogel es ist" in quiz
    assert "How many there are" in quiz, "what is not translated is shown as it is"
    person.post("/quiz", data={"q0": "0", "q1": "1"})
    plan = person.plan()
    assert (plan["language"], plan["dir"], plan["title"]) == ("de", "ltr", "Welcher Vogel ist das?")
    assert plan["texts"]["next"] == "Weiter"
    assert plan["languages"] == ["en", "de", "ar"]


def test_the_language_can_be_changed_in_the_middle_of_the_task(several):
    person = several.person().to_task()
    assert several.session().language == "en"
    assert person.plan()["language"] == "en"
    page = person.get("/language")
    assert 'value="ar"' in page.text
    reply = person.post("/language", data={"language": "ar"}, follow_redirects=True)
    assert '<html lang="ar" dir="rtl">' in reply.text
    assert person.plan()["dir"] == "rtl"
    assert several.session().language == "ar"


@pytest.mark.parametrize("cookie", ["kept", "deleted"])
def test_whoever_leaves_is_told_so_in_their_language(several, cookie):
    person = several.person(**{"accept-language": "en"})
    person.post("/language", data={"language": "de"})
    person.to_task()
    if cookie == "deleted":  # only the session knows, which leaving deletes
        person.cookies.delete("softlabel-language")
    told = person.post("/withdraw", data={"keep": "no"}, follow_redirects=True)
    assert told.url.path == "/left"
    assert (language_of(told), "Ihre Antworten wurden gelöscht" in told.text) == ("de", True)


def test_answers_to_the_debrief_are_stored_as_the_study_asks(several):
    person = several.person(**{"accept-language": "de"}).to_debrief()
    assert "niedrig" in person.get("/").text
    person.post("/debrief", data={"d0": "0", "d1": "gut"})
    (event,) = [one for one in several.store.events("birds") if one.name == "debrief"]
    assert event.detail["Q0"] == "low"
    assert "Vielen Dank" in person.get("/").text


@pytest.mark.parametrize("language", ["fr", "xx", "", "../de"])
def test_what_is_not_offered_changes_nothing(several, language):
    person = several.person().to_task()
    reply = person.post("/language", data={"language": language})
    assert reply.status_code == 303
    assert "set-cookie" not in reply.headers
    assert several.session().language == "en"


def test_mistakes_are_told_in_the_persons_language(several):
    person = several.person(**{"accept-language": "de"})
    missing = person.get("/nowhere")
    assert (missing.status_code, language_of(missing)) == (404, "de")
    assert "Diese Seite gibt es nicht." in missing.text
    other = several.person()
    other.post("/language", data={"language": "ar"})
    assert language_of(other.get("/nowhere")) == "ar"
    assert language_of(several.person().get("/i/nonsense")) == "en"


def test_two_people_at_once_are_each_spoken_to_in_their_own(several):
    people = {code: several.person(**{"accept-language": code}) for code in ("de", "en", "ar")}
    for person in people.values():
        person.to_task()
    for _ in range(2):
        for code, person in people.items():
            assert language_of(person.get("/")) == code
            assert person.plan()["language"] == code


def test_people_from_a_platform_choose_as_well(serving):
    running = serving(edit=translate, recruit=PROLIFIC)
    person = running.person(**{"accept-language": "ar"})
    ids = {"PROLIFIC_PID": "a" * 24, "STUDY_ID": "b" * 24, "SESSION_ID": "c" * 24}
    assert language_of(person.get("/", params=ids, follow_redirects=True)) == "ar"
    person.post("/language", data={"language": "de"})
    assert running.session().language == "de"
    refused = running.person(**{"accept-language": "de"}).get("/")
    assert (refused.status_code, language_of(refused)) == (400, "de")


def test_a_study_in_one_language_offers_no_choice(serving):
    running = serving()
    person = running.person(**{"accept-language": "de"})
    assert "/language" not in person.get("/").text
    assert language_of(person.get("/")) == "en"
    person.to_task()
    assert running.session().language is None
    assert person.get("/language").status_code == 303
    assert person.plan()["languages"] == ["en"]
