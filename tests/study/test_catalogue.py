"""A study's own words: languages, the texts file, descriptions of labels."""

from __future__ import annotations

import json

import pytest

from softlabel import study
from softlabel.study.catalogue import load_words

TOML = """\
[study]
title = "Which animal?"
labels = ["cat", "dog", "fox"]
{more}

[items]
source = "images"
{end}
"""


@pytest.fixture
def write(make):
    """A study with these lines in [study], these tables at its end, and these files."""

    def folder(more="", end="", files=None):
        return make(TOML.format(more=more, end=end), files)

    return folder


# ── languages ────────────────────────────────────────────────────────────────────────────────


def test_one_language_is_what_it_always_was(write):
    found = study.read(write('language = "de"'))
    assert (found.language, found.languages) == ("de", ("de",))
    assert found.words["page"]["continue"] == "Weiter"
    assert found.speak("fr") is found
    assert found.speak(None) is found


def test_several_languages_have_texts_of_their_own(write):
    found = study.read(write('languages = ["en", "de", "zh"]'))
    assert found.languages == ("en", "de", "zh")
    german = found.speak("de")
    assert "Ihre Rechte" in german.consent
    assert german.language == "de"
    assert german.quiz.questions[0].text == "Was sagen Sie jedes Mal?"
    assert german.quiz.questions[0].right == found.quiz.questions[0].right
    assert german.items == found.items
    assert found.speak("ar") is found, "a language that is not offered"


def test_pages_in_other_languages_stand_beside_the_first(write):
    files = {"c.md": "Hello.", "c.de.md": "Hallo.", "i.md": "One\n\n---\n\nTwo"}
    pages = '[pages]\nconsent = "c.md"\ninstructions = "i.md"'
    found = study.read(write('languages = ["en", "de"]', pages, files))
    assert (found.consent, found.speak("de").consent) == ("Hello.", "Hallo.")
    assert found.speak("de").instructions == ("One", "Two")
    notes = [str(note) for note in found.notes]
    wanted = "pages.instructions = 'i.md': there is no i.de.md, so people who choose de read i.md"
    assert any(wanted in note for note in notes), notes
    assert not any("c.de.md" in note for note in notes)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ('languages = ["en", "xx"]', "study.languages[1] = 'xx': must be ar or de or en"),
        ('languages = ["en", "en"]', "a language is given twice"),
        ('language = "de"\nlanguages = ["en", "de"]', "differs from the first of study.languages"),
        ('language = "german"', "study.language = 'german': must be ar or de or en"),
    ],
)
def test_languages_that_cannot_be(write, wrong, more, reason):
    (line,) = wrong(write(more))
    assert reason in line


# ── the texts file ───────────────────────────────────────────────────────────────────────────


def test_any_sentence_can_be_replaced(write):
    texts = """
[page]
continue = "Go on"
[task]
next = "Done with this one"
waiting = "{n} on their way"
[task.offline_waiting]
one = "One waits."
other = "{n} wait."
[modes.quick]
levels = ["a", "b", "c", "d", "e"]
[modes.quick.self]
question = "What now?"
"""
    found = study.read(write('texts = "texts.toml"', files={"texts.toml": texts}))
    before, words = load_words("en"), found.words
    assert words["page"]["continue"] == "Go on"
    assert words["page"]["back"] == before["page"]["back"]
    assert words["task"]["next"] == "Done with this one"
    assert words["task"]["waiting"] == "{n} on their way"
    assert words["task"]["offline_waiting"] == {"one": "One waits.", "other": "{n} wait."}
    assert words["task"]["modes"]["quick"]["levels"] == list("abcde")
    assert words["task"]["modes"]["quick"]["self"]["question"] == "What now?"
    quick = before["task"]["modes"]["quick"]
    assert words["task"]["modes"]["quick"]["third_person"] == quick["third_person"]
    assert load_words("en") == before, "other studies keep the usual words"


def test_by_language_and_as_json(write):
    texts = {"de": {"page": {"continue": "Los"}, "study": {"Which animal?": "Welches Tier?"}}}
    more = 'languages = ["en", "de"]\ntexts = "t.json"'
    found = study.read(write(more, files={"t.json": json.dumps(texts)}))
    assert found.words["page"]["continue"] == "Continue"
    assert found.speak("de").words["page"]["continue"] == "Los"
    assert (found.title, found.speak("de").title) == ("Which animal?", "Welches Tier?")


def test_the_studys_own_sentences_are_translated_everywhere(write):
    more = 'languages = ["en", "de"]\ntexts = "t.toml"\nquestion = "Which?"'
    end = """
[labels.cat]
describe = "Purrs."
[quiz]
[[quiz.question]]
text = "Sure?"
options = ["no", "yes"]
right = "yes"
[[debrief.question]]
text = "Why?"
"""
    texts = """
[de.study]
"Which?" = "Welches?"
"Purrs." = "Schnurrt."
"Sure?" = "Sicher?"
"yes" = "ja"
"Why?" = "Warum?"
"""
    found = study.read(write(more, end, {"t.toml": texts}))
    german = found.speak("de")
    assert german.question == "Welches?"
    assert german.about["cat"].describe == "Schnurrt."
    assert german.quiz.questions == (study.Question("Sicher?", ("no", "ja"), 1),)
    assert german.debrief[0].text == "Warum?"
    (note,) = map(str, found.notes)
    assert "2 sentences of study.toml have no translation into de" in note
    assert "'Which animal?'" in note


MISTAKES = [
    ('[page]\ncontinu = "x"', "page.continu: no such sentence (did you mean 'page.continue'?)"),
    ('[task]\nnxt = "x"', "task.nxt: no such sentence (did you mean 'task.next'?)"),
    (
        '[modes.quik]\nhint = "x"',
        "modes.quik: no such sentence (did you mean",
    ),
    ('[page]\nstep = "Step {n}"', "page.step = 'Step {n}': must contain {of}"),
    ('[page]\nback = "Back {n}"', "{n} is not known here; allowed: none"),
    ('[page]\nstep = "{n} {of} {n.x}"', "{n.x} is not known here; allowed: {n}, {of}"),
    ('[page]\nback = "Back {"', "has a brace without its partner"),
    ('[page]\nback = ""', "must be a text in quotation marks"),
    ("[page]\nback = 3", "must be a text in quotation marks"),
    ('[page]\nback = "a\\u0007b"', "contains control characters"),
    ('[task]\nskips = "x"', "task.skips = 'x': must be a table of sentences"),
    ('[task.waiting]\none = "one"', "task.waiting.other: is required"),
    ('[task.waiting]\nother = "some"', "must contain {n}"),
    ('[task.waiting]\nothr = "{n}"\nother = "{n}"', "no such plural form (did you mean 'other'?)"),
    ('[modes.quick]\nlevels = ["a"]', "modes.quick.levels: must be a list of 5 texts"),
    ('[pages]\nback = "x"', "is no language of this study (did you mean 'page'?)"),
    ('[de.page]\nback = "x"', "de: is no language of this study; use en, page, task, modes"),
    ('[en.pag]\nback = "x"', "en.pag: no such section (did you mean 'page'?)"),
    ('[en.study]\n"Which animals?" = "x"', "is no sentence of study.toml (did you mean"),
    ("en = 3", "en = 3: must be a table of sections"),
    ("[page\n", "is not TOML"),
]


@pytest.mark.parametrize(("texts", "reason"), MISTAKES)
def test_a_sentence_that_does_not_fit_is_refused(write, wrong, texts, reason):
    lines = wrong(write('texts = "t.toml"', files={"t.toml": texts}))
    assert any(line.startswith("t.toml") and reason in line for line in lines), lines


def test_every_mistake_of_a_texts_file_at_once(write, wrong):
    texts = '[page]\ncontinu = "x"\nback = ""\n[task]\nnxt = "x"'
    assert len(wrong(write('texts = "t.toml"', files={"t.toml": texts}))) == 3


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("t.txt", "x", "t.txt: must end in .toml or .json"),
        ("t.json", "[]", "must hold a table"),
        ("t.json", "{", "is not JSON"),
        ("missing.toml", None, "no such file"),
    ],
)
def test_a_texts_file_that_is_none(write, wrong, name, text, reason):
    files = {} if text is None else {name: text}
    (line,) = wrong(write(f'texts = "{name}"', files=files))
    assert reason in line


def test_with_several_languages_sentences_belong_under_one(write, wrong):
    more = 'languages = ["en", "de"]\ntexts = "t.toml"'
    (line,) = wrong(write(more, files={"t.toml": '[page]\nback = "x"'}))
    assert "page: belongs under a language, as in [en.page]" in line


# ── labels ───────────────────────────────────────────────────────────────────────────────────


def test_what_is_known_about_labels(write):
    table = '[labels.cat]\ndescribe = "Purrs. "\nexamples = ["images/00.png"]\ncolour = "#07c"'
    found = study.read(write('question = "Which one?"', table))
    assert found.question == "Which one?"
    about = found.about["cat"]
    assert (about.describe, about.colour) == ("Purrs.", "#07c")
    assert [media.mime for media in about.examples] == ["image/png"]


def test_branches_of_a_hierarchy_can_be_described(make):
    toml = TOML.replace('"cat", "dog", "fox"', '"a/cat", "a/dog"')
    toml = toml.format(more='mode = "search"', end='[labels.a]\ndescribe = "Both."')
    assert study.read(make(toml)).about["a"].describe == "Both."


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ('[labels.cta]\ndescribe = "x"', "labels.cta: no such label (did you mean 'cat'?)"),
        ('[labels.cat]\ndescirbe = "x"', "no such key (did you mean 'describe'?)"),
        ('[labels.cat]\ncolour = "red"', "labels.cat.colour = 'red': must be # and three or six"),
        ('[labels.cat]\nexamples = ["no.png"]', "labels.cat.examples[0] = 'no.png': no such file"),
        ('[labels.cat]\nexamples = ["study.toml"]', "what can be shown is PNG"),
        ('[labels.cat]\nexamples = ["../x.png"]', "leads out of the study folder"),
        ('[labels]\ncat = "x"', "labels.cat = 'x': must be a table"),
        ('[labels.cat]\ndescribe = ""', "is empty; leave the key out instead"),
    ],
)
def test_descriptions_with_a_mistake(write, wrong, table, reason):
    (line,) = wrong(write(end=table))
    assert reason in line
