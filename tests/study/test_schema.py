"""docs/study.md says what the schema says: every key, its default and its meaning."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from softlabel import study
from softlabel.study.items import COLUMNS, EXTRA
from softlabel.study.recruiting import KEYS, REQUIRED
from softlabel.study.schema import INNER, SECTIONS, StudyFile

PAGE = (Path(__file__).parents[2] / "docs" / "study.md").read_text(encoding="utf-8")


def rows(heading: str) -> dict[str, list[str]]:
    """The table under a heading, by the name in its first column."""
    part = PAGE.split(f"\n{heading}\n", 1)[1]
    part = re.split(r"^#", part, maxsplit=1, flags=re.MULTILINE)[0]
    cells = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("| `")]
    return {row[0].strip().strip("`"): [cell.strip() for cell in row[1:]] for row in cells}


@pytest.mark.parametrize("table", SECTIONS)
def test_every_key_is_documented(table):
    several = "." in table and table != "labels.NAME"
    found = rows(f"### `[[{table}]]`" if several else f"### `[{table}]`")
    fields = SECTIONS[table].model_fields
    assert list(found) == list(fields)
    for key, field in fields.items():
        _, default, meaning = found[key]
        assert meaning == field.description
        plain = not field.is_required() and field.default_factory is None
        shown = field.default if plain else None
        assert default == ("–" if shown is None else f"`{json.dumps(shown)}`"), key


def test_every_column_of_a_table_is_documented():
    known = {*COLUMNS, *(column for extra in EXTRA.values() for column in extra)}
    assert set(rows("## Items")) == known


def test_every_recruiter_is_documented():
    found = rows("### Recruiters")
    assert set(found) == set(KEYS)
    for kind, (_, must, may) in found.items():
        assert set(re.findall(r"`(\w+)`", must)) == set(REQUIRED.get(kind, ()))
        assert set(re.findall(r"`(\w+)`", must + may)) == set(KEYS[kind])


@pytest.mark.parametrize("table", [*SECTIONS, *INNER])
def test_every_key_is_in_an_example(table):
    """Questions before and after have the same keys, so that one example is enough for both."""
    blocks = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    names = {table, table.replace("debrief.question", "before.question")}
    shown = {
        key
        for block in blocks
        for name in names
        for part in find_tables(tomllib.loads(block), name)
        for key in part
    }
    assert set((SECTIONS | INNER)[table].model_fields) - shown == set()


def find_tables(given: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The tables of this name; NAME is any."""
    found: list[Any] = [given]
    for part in name.split("."):
        below = [
            value
            for one in found
            for key, value in one.items()
            if (key == part or part == "NAME") and isinstance(value, dict | list)
        ]
        rows = [row for value in below for row in (value if isinstance(value, list) else [value])]
        found = [row for row in rows if isinstance(row, dict)]
    return found


def test_the_examples_are_right():
    blocks = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 5
    for block in blocks:
        given = tomllib.loads(block)
        if "de" not in given:  # a file of texts, which has a test of its own
            StudyFile.model_validate(given)


def test_the_example_of_a_texts_file_is_right(make):
    text = PAGE.split("\n### Replace any sentence\n")[1].split("```toml\n")[1].split("```")[0]
    toml = """
[study]
title = "Which bird is this?"
labels = ["wren", "finch"]
languages = ["en", "de"]
texts = "texts.toml"
[items]
source = "images"
"""
    assert study.find_problems(make(toml, {"texts.toml": text})) == ()


def test_the_schema_for_editors():
    schema = study.json_schema()
    assert schema["additionalProperties"] is False
    assert set(schema["properties"]) == set(StudyFile.model_fields)
    for name, part in schema["$defs"].items():
        assert part["additionalProperties"] is False, name
        for key, value in part["properties"].items():
            assert value["description"], f"{name}.{key}"
    json.dumps(schema)
