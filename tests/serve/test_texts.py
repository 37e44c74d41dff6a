"""The words of the interface: complete in every language, and all of them used."""

from __future__ import annotations

import json
import re
from pathlib import Path
from string import Formatter

import pytest

from softlabel.errors import UnknownName
from softlabel.serve import texts

SERVE = Path(texts.__file__).parent
SECTIONS = ("page", "task", "research")


def shape(value):
    """Keys all the way down, with the blanks of each text."""
    if isinstance(value, dict):
        if "other" in value:  # one text per plural form, of which languages have their own number
            return shape(value["other"])
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shape(inner) for inner in value]
    return {name for _, name, _, _ in Formatter().parse(value) if name is not None}


def raw(code):
    return json.loads((texts.FOLDER / f"{code}.json").read_text("utf-8"))


@pytest.mark.parametrize("code", texts.languages())
@pytest.mark.parametrize("section", SECTIONS)
def test_every_language_says_the_same_things(code, section):
    assert shape(raw(code)[section]) == shape(raw("en")[section])


@pytest.mark.parametrize("code", texts.languages())
def test_nothing_is_left_empty(code):
    assert all(text.strip() for text in raw(code)["page"].values())
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
    with pytest.raises(UnknownName, match="no language called 'xx'; there are: ar, en"):
        texts.load("xx")
