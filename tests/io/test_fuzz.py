"""Whatever bytes stand in a file, the answer is a table or a sentence, never a crash."""

from __future__ import annotations

import gzip
import io
import json

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from softlabel import SoftlabelError
from softlabel import io as files

HARD = b'item,annotator,label\ni1,w1,a\ni1,w2,"b"\ni2,w1,a\n'
SOFT = b"item,annotator,a,b\ni1,w1,0.5,0.5\ni1,w2,1,0\n"
CLASSIC = b"item,annotator,top,p1,second,p2,impossible\ni1,w1,a,90,b,10,c|d\ni1,w2,b,80,,,\n"
RESPONSE = {
    "schema": "softlabel.response/1",
    "item": "i",
    "annotator": "w",
    "labels": ["a", "b"],
    "presentation": {"kind": "target", "mode": "classic", "mode_version": 1},
    "answer": {"top": "a", "p1": 90, "second": "b", "p2": 5, "impossible": []},
}
COLLINS = {"1": [{"Most Probable Class": "a", "Most Probable Class Prob": 5.0}]}
LINES = b'{"item":"a","annotator":"b","label":"c"}\n{"item":"a","annotator":"b","x":0.25,"y":0.75}'


def as_parquet(table: bytes) -> bytes:
    out = io.BytesIO()
    pl.read_csv(table).write_parquet(out)
    return out.getvalue()


SEEDS = {
    "csv": [HARD, SOFT, CLASSIC],
    "jsonl": [json.dumps(RESPONSE).encode(), LINES],
    "json": [json.dumps(COLLINS).encode()],
    "csv.gz": [gzip.compress(HARD, mtime=0)],
    "jsonl.gz": [gzip.compress(LINES, mtime=0)],
    "json.gz": [gzip.compress(json.dumps(COLLINS).encode(), mtime=0)],
    "parquet": [as_parquet(HARD), as_parquet(SOFT)],
}


def table_or_sentence(path, content: bytes) -> None:
    path.write_bytes(content)
    sentence = str(path)
    try:
        files.read_answers(path).refuse_repeats()
    except SoftlabelError as error:
        sentence = str(error)
    assert sentence.startswith(str(path))
    assert "\n" not in sentence


@pytest.mark.parametrize("kind", SEEDS)
@given(st.binary(max_size=60))
@settings(max_examples=40)
def test_random_bytes(tmp_path_factory, kind, content):
    table_or_sentence(tmp_path_factory.getbasetemp() / f"random.{kind}", content)


MARKS = [bytes([byte]) for byte in b'",\n\r{}[]:-0|\0\xff'] + [b"\xc3\xa9"]


# not Parquet: some damaged lengths make its reader ask for more memory than there is
@pytest.mark.parametrize("kind", [kind for kind in SEEDS if kind != "parquet"])
@given(st.data())
@settings(max_examples=60)
def test_good_files_with_scratches(tmp_path_factory, kind, data):
    content = bytearray(data.draw(st.sampled_from(SEEDS[kind])))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(content)))
        stop = data.draw(st.integers(start, min(len(content), start + 4)))
        content[start:stop] = b"".join(data.draw(st.lists(st.sampled_from(MARKS), max_size=3)))
    table_or_sentence(tmp_path_factory.getbasetemp() / f"scratched.{kind}", bytes(content))


TEXT = st.text(st.characters(), max_size=4)  # lone surrogates too, which JSON can spell
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(["item", "annotator", "labels", "presentation", "answer"]), JSON)
@example("labels", ["a", "a"])
@example("labels", [])
def test_any_json_in_a_response(tmp_path_factory, key, value):
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    table_or_sentence(path, json.dumps(RESPONSE | {key: value}).encode())


@given(st.dictionaries(TEXT, JSON, max_size=4))
@example({"\ud800": 1.0})
@example({"label": 3})
def test_any_json_in_a_vote(tmp_path_factory, more):
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    table_or_sentence(path, json.dumps({"item": "i", "annotator": "w"} | more).encode())


@given(st.sampled_from(["top", "p1", "second", "p2", "impossible"]), JSON)
def test_any_json_in_an_answer(tmp_path_factory, key, value):
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    answer = RESPONSE["answer"] | {key: value}
    table_or_sentence(path, json.dumps(RESPONSE | {"answer": answer}).encode())


RECORD_KEYS = [
    "Most Probable Class",
    "Most Probable Class Prob",
    "Second Most Probable Class",
    "Second Most Probable Class Prob",
    "Impossible Class(es)",
]


@given(st.sampled_from(RECORD_KEYS), JSON)
def test_any_json_in_a_record_of_cifar10s(tmp_path_factory, key, value):
    path = tmp_path_factory.getbasetemp() / "any.json"
    table_or_sentence(path, json.dumps({"1": [COLLINS["1"][0] | {key: value}]}).encode())
