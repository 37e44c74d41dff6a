"""The words of the interface: complete in every language, and all of them used."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from string import Formatter

import pytest

from softlabel import study
from softlabel.elicit import MODES, find_texts
from softlabel.errors import UnknownName
from softlabel.serve import texts

SERVE = Path(texts.__file__).parent
STUDY = Path(study.__file__).parent
SECTIONS = ("page", "task", "research")
SETTINGS = {"frame", "kind"}  # of a default question: no words
OTHERS = [code for code in texts.languages() if code != "en"]
FORMS = {  # CLDR 46, cardinal numbers
    "ar": {"zero", "one", "two", "few", "many", "other"},
    "de": {"one", "other"},
    "en": {"one", "other"},
    "es": {"one", "many", "other"},
    "fr": {"one", "many", "other"},
    "zh": {"other"},
}
SAME = {  # words that are the same in English
    "de": {"page.pay_bonus", "instructions.bonus"},
    "fr": {"page.instructions_title", "task.instructions", "modes.quick.levels.4"},
}


def blanks(text):
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def is_plural(value):
    return "other" in value and set(value) <= FORMS["ar"]


def shape(value):
    """Keys all the way down, with the blanks of each text."""
    if isinstance(value, dict):
        if is_plural(value):  # languages have their own number of forms
            return shape(value["other"])
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shape(inner) for inner in value]
    return blanks(value)


def raw(code):
    return json.loads((STUDY / "locale" / f"{code}.json").read_text("utf-8"))


def defaults(code):
    return tomllib.loads((STUDY / "texts" / f"{code}.toml").read_text("utf-8"))


def everything(code):
    """All sentences of a language: interface, modes, and default texts of a study."""
    modes = {name: find_texts(mode, code) for name, mode in MODES.items()}
    return {"page": raw(code)["page"], "task": raw(code)["task"], "modes": modes, **defaults(code)}


def leaves(value, path=()):
    """Every sentence with its key; of a line of help only its meaning, not its keys."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in SETTINGS:
                yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        lines = value[1:] if "help" in path else value
        for place, inner in enumerate(lines):
            yield from leaves(inner, (*path, str(place)))
    elif isinstance(value, str):
        yield ".".join(path), value


def plurals(value):
    if isinstance(value, dict) and is_plural(value):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from plurals(inner)


@pytest.mark.parametrize("code", texts.languages())
@pytest.mark.parametrize("section", SECTIONS)
def test_every_language_says_the_same_things(code, section):
    assert shape(raw(code)[section]) == shape(raw("en")[section])


@pytest.mark.parametrize("code", OTHERS)
def test_default_texts_have_the_same_keys_and_no_other_blanks(code):
    """A blank may be missing: not every language can say "each {item}" in every gender."""
    ours, english = defaults(code), defaults("en")
    assert set(ours) == set(english)
    assert set(ours["words"]) >= set(english["words"])
    for section in ("consent", "instructions", "thanks"):
        assert set(ours[section]) == set(english[section])
        for key, text in ours[section].items():
            allowed = blanks(english[section][key])
            assert blanks(text) <= allowed
            assert blanks(text) >= allowed - {"item", "items"}, key
    for section in ("quiz", "debrief"):
        for mine, theirs in zip(ours[section], english[section], strict=True):
            assert set(mine) == set(theirs)
            assert mine.get("right") == theirs.get("right")
            assert len(mine.get("options", ())) == len(theirs.get("options", ()))


@pytest.mark.parametrize("code", texts.languages())
def test_plural_forms_are_those_of_the_language(code):
    found = list(plurals({"task": raw(code)["task"], "modes": everything(code)["modes"]}))
    assert len(found) > 10
    for forms in found:
        assert set(forms) == FORMS[code], forms
        assert all(blanks(text) <= blanks(forms["other"]) for text in forms.values())


@pytest.mark.parametrize("code", OTHERS)
def test_no_english_is_left(code):
    english = dict(leaves(everything("en")))
    for key, text in leaves(everything(code)):
        if key.startswith("demographics.") and re.search(r"\.(id|show_if\.0)$", key):
            continue  # names that nobody reads
        same = english.get(key) == text and re.search(r"[A-Za-z]{2}", re.sub(r"{\w+}", "", text))
        assert not same or key in SAME.get(code, ()), f"{code}: {key} = {text}"


@pytest.mark.parametrize(
    ("code", "familiar"),
    [
        ("de", r"\b(du|dein|deine|dir|dich)\b"),
        ("fr", r"\b(tu|ton|tes|toi)\b"),
        ("es", r"\b(tú|tu|tus|ti|vosotros)\b"),
    ],
)
def test_people_are_addressed_formally(code, familiar):
    for key, text in leaves(everything(code)):
        assert not re.search(familiar, text, re.IGNORECASE), f"{code}: {key} = {text}"


def test_chinese_is_simplified_and_uses_its_own_punctuation():
    for key, text in leaves(everything("zh")):
        assert not re.search("[這們說對選擇為麼標籤項時間還無]", text), f"{key} = {text}"
        assert not re.search(r"[一-鿿][,;!?]", text), f"{key} = {text}"


@pytest.mark.parametrize("code", texts.languages())
def test_nothing_is_left_empty(code):
    assert all(text.strip() for _, text in leaves(everything(code)))
    assert raw(code)["code"] == code
    assert raw(code)["dir"] in ("ltr", "rtl")


def test_there_is_a_language_that_runs_from_right_to_left():
    assert {texts.load(code).dir for code in texts.languages()} == {"ltr", "rtl"}


def test_every_text_of_the_pages_is_used():
    sources = [*SERVE.rglob("*.html"), *SERVE.rglob("*.py")]
    used = "\n".join(path.read_text() for path in sources)
    for key in raw("en")["page"]:
        by_name = re.search(rf"\bt\.{key}\b|[\"']{key}[\"']", used)
        assert by_name or re.fullmatch(r"error_\d{3}", key), f"{key} is said nowhere"


def test_a_region_falls_back_on_its_language():
    assert texts.load("en-GB").code == "en"


def test_an_unknown_language_is_named_with_those_there_are():
    with pytest.raises(UnknownName, match="no language called 'xx'; there are: ar, de, en"):
        texts.load("xx")


@pytest.mark.parametrize(
    ("preferred", "chosen", "spoken"),
    [
        ("", (), "en"),
        ("de", (), "de"),
        ("de-CH, de;q=0.9, en;q=0.8", (), "de"),
        ("fr, en;q=0.5, de;q=0.7", (), "de"),
        ("EN-gb;q=0.2,DE;q=0.1", (), "en"),
        ("de;q=0, fr", (), "en"),
        ("zh-Hant", (), "en"),
        ("*", (), "en"),
        ("de", (None, "en"), "en"),
        ("de", ("xx", None), "de"),
        ("de;q=nonsense, \0, ;;;", (), "en"),
    ],
)
def test_the_language_of_a_request(preferred, chosen, spoken):
    headers = {"accept-language": preferred}
    assert texts.choose_language(("en", "de"), headers, chosen) == spoken
