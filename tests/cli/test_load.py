"""``--load``: a file of one's own strategies, checked before it is used."""

from __future__ import annotations

import json

import pytest

from softlabel import registry

HEAD = """
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
from softlabel import registry
from softlabel.aggregate import pool, shares
from softlabel.tables import Annotations, SoftLabels, Statements
"""
TEMPERED = (
    HEAD
    + """
@dataclass(frozen=True)
class Tempered:
    \"\"\"Shares raised to a power.  More words.\"\"\"
    power: float = 2.0
    name: ClassVar[str] = "tempered"
    paper: ClassVar[str] = "nobody 2020"
    estimand: ClassVar[str] = "distribution"

    def __call__(self, said: Annotations, map=map, shards: int = 1) -> SoftLabels:
        return pool(self, self.rows, said, map, shards)

    def rows(self, said):
        powered = shares(said.counts()) ** self.power
        return powered / np.maximum(powered.sum(axis=1, keepdims=True), 1e-300)

registry.register("aggregate", Tempered)
"""
)
LEAKY = (
    HEAD
    + """
@dataclass(frozen=True)
class Leaky:
    \"\"\"Gives mass to what was ruled out.\"\"\"
    name: ClassVar[str] = "leaky"
    paper: ClassVar[str] = "nobody"
    ruled_out_stays_zero: ClassVar[bool] = True

    def __call__(self, said: Statements) -> Annotations:
        even = np.full(said.possible.shape, 1 / said.possible.shape[1])
        return Annotations(said.index, said.item, said.annotator, probs=even)

registry.register("construct", Leaky)
"""
)
METRIC = """
from softlabel import registry
def always_nan(true, predicted):
    return (true * float("nan")).sum(axis=1)
always_nan.better, always_nan.proper = "lower", False
registry.register("metric", always_nan)
"""
MODE = """
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
from softlabel import registry
from softlabel.elicit import Answer, Field
from softlabel.errors import ResponseError

@dataclass(frozen=True)
class Thumb:
    \"\"\"Up means the first class, and nothing else is asked.\"\"\"
    name: ClassVar[str] = "thumb"
    paper: ClassVar[str] = "nobody 2021"
    version: ClassVar[int] = 1
    fields: ClassVar[tuple[Field, ...]] = (Field("up", "choice", True, "Which?"),)

    def rules(self):
        return {}

    def read(self, payload, labels):
        if not isinstance(payload, dict) or list(payload) != ["up"] or payload["up"] not in labels:
            raise ResponseError("up", payload, "must be a class")
        return Answer((labels.index(payload["up"]),), (100.0,), np.ones(len(labels), bool))

    def simulate(self, belief, labels, rng):
        return {"up": labels[int(belief.argmax())]}

registry.register("mode", Thumb)
"""
VOTES = "item,annotator,label\na,w1,x\na,w2,x\na,w3,y\n"


@pytest.fixture(autouse=True)
def _forget(clean_registry):
    pass


def test_a_loaded_strategy_can_be_used_and_listed(run, tmp_path):
    (tmp_path / "mine.py").write_text(TEMPERED)
    (tmp_path / "v.csv").write_text(VOTES)
    words = ("--load", tmp_path / "mine.py")
    done = run("label", tmp_path / "v.csv", tmp_path / "s.csv", "--aggregate", "tempered", *words)
    assert done.code == 0, done.err
    item, x, y, count = (tmp_path / "s.csv").read_text().splitlines()[1].split(",")
    assert (item, float(x), float(y), count) == ("a", pytest.approx(0.8), pytest.approx(0.2), "3")
    assert done.facts["pool"].strip() == "tempered:power=2.0"


def test_a_loaded_strategy_is_listed(run, tmp_path):
    (tmp_path / "mine.py").write_text(TEMPERED)
    out = run("list", "aggregate", "--load", tmp_path / "mine.py").out
    shown = ["  tempered:power=2.0 (estimates how people split)", "Shares raised to a power."]
    assert "\n      ".join([*shown, "nobody 2020\n"]) in out


def test_a_mode_of_ones_own_reads_the_answers_given_through_it(run, tmp_path):
    (tmp_path / "mine.py").write_text(MODE)
    response = {
        "schema": "softlabel.response/1",
        "item": "a",
        "annotator": "w1",
        "labels": ["x", "y"],
        "presentation": {"kind": "target", "mode": "thumb", "mode_version": 1},
        "answer": {"up": "y"},
    }
    (tmp_path / "r.jsonl").write_text(json.dumps(response))
    words = ("label", tmp_path / "r.jsonl", tmp_path / "s.csv", "--load", tmp_path / "mine.py")
    done = run(*words, "--construct", "hard")
    assert done.code == 0, done.err
    assert (tmp_path / "s.csv").read_text() == "item,x,y,count\na,0.0,1.0,1\n"


CALL = LEAKY[: LEAKY.index("np.full")].count("\n") + 1

# the file, and words of the one line on stderr; {} is the name of the file
BAD = {
    "leaks": (LEAKY, "the construct 'leaky' fails the check 'ruled out classes get nothing'"),
    "gives NaN": (METRIC, "the metric 'always-nan' fails the check 'zeros and ones give no nan'"),
    "takes what nobody asked": (
        MODE.replace('list(payload) != ["up"]', '"up" not in payload'),
        "the mode 'thumb' fails the check 'unknown keys are refused'",
    ),
    "off the simplex": (
        TEMPERED.replace("return powered /", "return 2 * powered /"),
        "do not sum to 1",
    ),
    "syntax": ("x = 1\ndef f(:\n", "{}, line 2: SyntaxError"),
    "exception": ("x = 1\n\nx / 0\n", "{}, line 3: ZeroDivisionError: division by zero"),
    "missing import": ("import softlabel_nothing\n", "{}, line 1: ModuleNotFoundError"),
    "crashes when called": (
        LEAKY.replace("np.full", "np.fool"),
        f"{{}}, line {CALL}: AttributeError",
    ),
    "wrong signature": (
        LEAKY.replace("self, said: S", "self, a, said: S"),
        "checking the construct",
    ),
    "no default": (TEMPERED.replace(" = 2.0", ""), "checking the aggregate 'tempered'"),
    "name taken": (
        TEMPERED.replace('= "tempered"', '= "mean"'),
        "aggregate 'mean' is registered already",
    ),
    "unknown family": (TEMPERED.replace('r("aggregate', 'r("pool'), "no family called 'pool'"),
    "not text": (b"\xff\xfe\0", "{}"),
}


@pytest.mark.parametrize(("text", "words"), BAD.values(), ids=BAD)
def test_a_file_that_fails_is_refused_whole(run, tmp_path, text, words):
    path = tmp_path / "mine.py"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    (tmp_path / "v.csv").write_text(VOTES)
    before = {family: list(known) for family, known in registry.FAMILIES.items()}
    done = run("label", tmp_path / "v.csv", tmp_path / "s.csv", "--load", path)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    assert words.format(path) in done.err
    assert str(path) in done.err
    assert not (tmp_path / "s.csv").exists()
    assert {family: list(known) for family, known in registry.FAMILIES.items()} == before


def test_a_file_that_is_not_there(run, tmp_path):
    done = run("list", "--load", tmp_path / "none.py")
    assert (done.code, "none.py: No such file or directory" in done.err) == (1, True)


def test_a_strategy_that_fails_later_is_still_theirs(run, tmp_path):
    odd = "assert 'a' not in said.index.items.tolist()\n        powered = "
    late = TEMPERED.replace("powered = ", odd)
    (tmp_path / "mine.py").write_text(late)
    (tmp_path / "v.csv").write_text(VOTES)
    words = ("--aggregate", "tempered", "--load", tmp_path / "mine.py")
    done = run("label", tmp_path / "v.csv", tmp_path / "s.csv", *words)
    assert (done.code, f"{tmp_path / 'mine.py'}, line" in done.err) == (1, True)


def test_a_file_that_ends_the_program_is_refused(run, tmp_path):
    (tmp_path / "mine.py").write_text("import sys\nsys.exit(0)\n")
    done = run("list", "--load", tmp_path / "mine.py")
    assert (done.code, done.out) == (1, "")
    assert "mine.py: ends the program" in done.err
