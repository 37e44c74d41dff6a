"""Whatever stands in a folder, reading it ends in a study or in a list of mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softlabel import study
from softlabel.study.findings import Findings
from softlabel.study.schema import SECTIONS, StudyFile
from softlabel.study.settings import literal, read_settings

TABLES = [*StudyFile.model_fields, "stduy", ""]
KEYS = [*sorted({key for model in SECTIONS.values() for key in model.model_fields}), "?", "a b", ""]
FILES = [
    "images",
    "items.csv",
    "labels.txt",
    "a.json",
    "..",
    "/",
    "no.csv",
    ".softlabel/x",
    "x" * 300,
]
TEXTS = st.one_of(st.sampled_from([*FILES, "quick", "chips:n=20", "self", "en"]), st.text())
NUMBERS = st.one_of(st.integers(), st.floats(), st.booleans())
VALUES = st.recursive(
    st.one_of(TEXTS, NUMBERS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=3)
    ),
    max_leaves=6,
)


def toml(value: object) -> str:
    """Anything as TOML, as far as it can be said there."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{literal(k)} = {toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, float) and not value.is_integer():
        return str(value)
    return literal(value)


def read(files: dict[str, bytes]) -> None:
    """Reading ends well, or with mistakes that each say where and why."""
    with TemporaryDirectory() as top:
        folder = Path(top) / "study"
        (folder / "images").mkdir(parents=True)
        (folder / "images" / "a.gif").write_bytes(b"GIF89a")
        for name, content in files.items():
            (folder / name).write_bytes(content)
        found = study.find_problems(folder)
        for problem in found:
            assert problem.file
            assert problem.reason
            assert str(problem).startswith(problem.file)
        if not found:
            assert study.read(folder).items


@given(
    st.dictionaries(
        st.sampled_from(TABLES),
        st.one_of(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=6), VALUES),
        max_size=4,
    )
)
@settings(max_examples=150)
def test_any_value_under_any_key(tables):
    text = "\n".join(f"{literal(table)} = {toml(value)}" for table, value in tables.items())
    read({"study.toml": text.encode("utf-8", "surrogatepass"), "labels.txt": b"cat\ndog\n"})


ODD = [
    "1" + "0" * 400,
    "-1" + "0" * 400,
    *("1e400", "-inf", "nan", "1.5", "-0.0", "0", "-1", "true", "1979-05-27", "07:32:00"),
    *("[]", "{}", "[[1]]", "[{ a = 1 }]", '{ a = [1, "b"] }', '["a", ["b"]]'),
    *('""', '"x"', '"\\U0010FFFF"', '"\\u0000"', f'"{"x" * 20_000}"'),
]


@pytest.mark.parametrize("table", SECTIONS)
def test_every_odd_value_under_every_key_has_a_reason(table):
    opened = f"[[{table}]]" if "." in table else f"[{table}]"
    for key in SECTIONS[table].model_fields:
        for value in ODD:
            findings = Findings()
            read_settings(Path(), f"{opened}\n{key} = {value}\n", findings)
            assert all(problem.reason for problem in findings.problems)
    for value in ODD:
        findings = Findings()
        read_settings(Path(), f"{table.partition('.')[0]} = {value}\n", findings)
        assert len(findings) == (value != "{}") or table == "pay"


RIGHT = b'[study]\nlabels = ["cat", "dog"]\n[items]\nsource = "%s"\n'


@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)))
@settings(max_examples=40)
def test_any_bytes_as_settings_table_labels_or_allocation(content):
    read({"study.toml": content})
    read({"study.toml": RIGHT % b"items.csv", "items.csv": content})
    read({"study.toml": RIGHT % b"items.jsonl", "items.jsonl": content})
    read({"labels.txt": content, "a.json": content})
    read({"study.toml": RIGHT % b"images" + b'allocation = "a.json"\n', "a.json": content})


JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.sampled_from(["cat", "a.gif"])
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["id", "text", "image", "gold", "batches", "0", "filename", "repeats"]),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)


@given(JSON)
@settings(max_examples=50)
def test_any_json_as_item_or_allocation(value):
    text = json.dumps(value).encode()
    read({"study.toml": RIGHT % b"items.jsonl", "items.jsonl": text})
    allocation = RIGHT % b"images" + b'allocation = "a.json"\n'
    read({"study.toml": allocation, "a.json": text})
    read({"study.toml": allocation, "a.json": b"[" + text + b"]"})
    read({"study.toml": allocation, "a.json": b'{"batches": ' + text + b"}"})
