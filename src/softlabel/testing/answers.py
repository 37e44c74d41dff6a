"""Checks of modes, constructions and formats: the way from an answer to its label."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from softlabel.construct import Clamp, Construct
from softlabel.elicit import Answer, Kind, Mode
from softlabel.errors import ResponseError
from softlabel.io import formats
from softlabel.records import stack_answers
from softlabel.tables import Floats, Index, check_simplex, names
from softlabel.testing.examples import agree, example_statements

LABELS = ("cat", "dog", "fish", "deer/red", "deer/roe")  # two of them lie on a branch
NOBODY = "no such class"
GARBAGE: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 3, 10**30, 0.5, -2.5, 1e308, float("nan"), float("inf")),
    *("", " ", "0", "cat", NOBODY, "ruled_out", "\x00", "x" * 5000),
    *([], {}, [None], [[]], [{}], ["cat", "cat"], ["cat", NOBODY], [1, 2, 3], list(LABELS)),
    *({"cat": 1}, {"cat": 20}, {"cat": -1}, {"": None}, {"node": "cat", "chips": 20}),
    *([{"node": "cat", "chips": 20}], [{"node": "cat"}], [{"chips": {}}], {"cat": {"cat": []}}),
)


def _beliefs(k: int) -> Iterator[Floats]:
    """Every odd belief: certain, undecided, between two, spread out."""
    rng = np.random.default_rng(0)
    yield from np.eye(k)
    yield np.full(k, 1 / k)
    if k > 1:
        yield np.array([0.5, 0.5, *[0.0] * (k - 2)])
    for spread in (0.1, 0.5, 2.0):
        yield from rng.dirichlet([spread] * k, 20)


def _answers(mode: Mode, labels: Sequence[str]) -> Iterator[dict[str, Any]]:
    """What people with such beliefs would send."""
    rng = np.random.default_rng(1)
    for belief in _beliefs(len(labels)):
        yield mode.simulate(belief, labels, rng)


def _label(answer: Answer, labels: Sequence[str]) -> Floats:
    """The clamp label of one answer, which must be on the simplex."""
    k = len(labels)
    assert isinstance(answer, Answer), f"read gives {type(answer).__name__}, not an Answer"
    assert len(answer.named) == len(answer.percent), "each class named has a chance, or NaN"
    assert np.shape(answer.possible) == (k,), f"possible has shape {np.shape(answer.possible)}"
    index, first = Index(names(["item"]), names(["person"]), names(labels)), np.array([0])
    statements = stack_answers(index, first, first, [answer])
    probs = Clamp()(statements).soft()
    check_simplex("the label", probs)
    return np.asarray(probs[0])


def _refusal(mode: Mode, payload: Any, labels: Sequence[str], complaint: str) -> ResponseError:
    try:
        mode.read(payload, labels)
    except ResponseError as error:
        return error
    raise AssertionError(f"{complaint}: {payload!r}")


def what_is_asked_is_declared(mode: Mode, labels: Sequence[str]) -> None:
    assert type(mode.version) is int, f"version = {mode.version!r} must be a whole number"
    assert mode.version >= 1, f"version = {mode.version!r} must be 1 or more"
    asked = [field.name for field in mode.fields]
    assert asked, "a mode asks for at least one field"
    assert len(set(asked)) == len(asked), f"two fields have the same name: {asked}"
    for field in mode.fields:
        assert field.asks.strip(), f"the field {field.name!r} asks nothing"
        assert field.kind in get_args(Kind), f"{field.name!r} is of the unknown kind {field.kind!r}"


def rules_are_json(mode: Mode, labels: Sequence[str]) -> None:
    rules = mode.rules()
    assert isinstance(rules, dict), "rules() returns a dict"
    assert _as_sent(rules) == rules, "rules() must survive JSON as it is"


def simulated_answers_are_read(mode: Mode, labels: Sequence[str]) -> None:
    for sent in _answers(mode, labels):
        assert _as_sent(sent) == sent, f"an answer must survive JSON as it is: {sent!r}"
        try:
            answer = mode.read(sent, labels)
        except ResponseError as error:
            raise AssertionError(f"a simulated answer is refused ({error}): {sent!r}") from None
        _label(answer, labels)


def required_fields_must_be_there(mode: Mode, labels: Sequence[str]) -> None:
    for sent in _answers(mode, labels):
        for name in (field.name for field in mode.fields if field.required):
            rest = {key: value for key, value in sent.items() if key != name}
            error = _refusal(mode, rest, labels, f"read without its required field {name!r}")
            assert error.field == name, f"{name!r} is missing and {error.field!r} is blamed"


def unknown_keys_are_refused(mode: Mode, labels: Sequence[str]) -> None:
    for sent in _answers(mode, labels):
        _refusal(mode, sent | {"no such field": 1}, labels, "read with an unknown key")


def unknown_classes_are_refused(mode: Mode, labels: Sequence[str]) -> None:
    for sent in _answers(mode, labels):
        for field in mode.fields:
            for spoilt in _misname(sent.get(field.name), labels):
                payload = sent | {field.name: spoilt}
                _refusal(mode, payload, labels, f"{NOBODY!r} is read as a class")


def garbage_is_read_soundly_or_refusal(mode: Mode, labels: Sequence[str]) -> None:
    rng = np.random.default_rng(2)
    sent = [mode.simulate(belief, labels, rng) for belief in list(_beliefs(len(labels)))[::9]]
    spoilt = [one | {key: value} for one in sent for key in one for value in GARBAGE]
    for payload in (*GARBAGE, *spoilt):
        try:
            _label(mode.read(payload, labels), labels)
        except ResponseError:
            continue
        except Exception as error:
            error.add_note(f"reading the answer {payload!r}")
            raise


def class_order_does_not_matter_to_reading(mode: Mode, labels: Sequence[str]) -> None:
    order = np.random.default_rng(3).permutation(len(labels))
    moved = [labels[code] for code in order]
    for sent in _answers(mode, labels):
        one, other = mode.read(sent, labels), mode.read(sent, moved)
        here = [labels[code] for code in one.named]
        elsewhere = [moved[code] for code in other.named]
        same = here == elsewhere and np.array_equal(one.percent, other.percent, equal_nan=True)
        same &= bool((one.possible[order] == other.possible).all())
        assert same, f"classes in another order give another reading: {sent!r}"


def _as_sent(value: Any) -> Any:
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise AssertionError(f"is not JSON ({error}): {value!r}") from None


def _misname(value: Any, labels: Sequence[str]) -> Iterator[Any]:
    """The value with one class name in it after the other replaced by what is no class."""
    if isinstance(value, str) and value in labels:
        yield NOBODY
    elif isinstance(value, list):
        for place, entry in enumerate(value):
            for other in _misname(entry, labels):
                yield [*value[:place], other, *value[place + 1 :]]
    elif isinstance(value, dict):
        for key, entry in value.items():
            rest = {name: other for name, other in value.items() if name != key}
            if key in labels:
                yield rest | {NOBODY: entry}
            for other in _misname(entry, labels):
                yield rest | {key: other}


# ── constructions ────────────────────────────────────────────────────────────────────────────


def labels_are_on_the_simplex(construct: Construct) -> None:
    for seed in range(5):
        statements = example_statements(seed)
        each = construct(statements)
        assert len(each) == len(statements), "a construction gives one label per answer"
        check_simplex(construct.name, each.soft())


def row_order_does_not_matter(construct: Construct) -> None:
    statements = example_statements()
    order = np.random.default_rng(1).permutation(len(statements))
    again = construct(statements.take(order)).soft()
    agree(again, construct(statements).soft()[order], "the label depends on the order of the rows")


def renaming_classes_renames_the_label(construct: Construct) -> None:
    statements = example_statements()
    order = np.array([2, 0, 3, 1])
    code = np.append(np.argsort(order), -1)  # -1 stays -1
    index = replace(statements.index, labels=statements.index.labels[order])
    named, possible = code[statements.named], statements.possible[:, order]
    moved = construct(replace(statements, index=index, named=named, possible=possible)).soft()
    label = construct(statements).soft()[:, order]
    agree(moved, label, "classes in another order give another label")


def ruled_out_classes_get_nothing(construct: Construct) -> None:
    if not construct.ruled_out_stays_zero:
        return
    for seed in range(5):
        statements = example_statements(seed)
        some = statements.take(statements.possible.any(axis=1))  # else there is no place to go
        mentioned = np.zeros(some.possible.shape, dtype=np.bool_)
        for column in some.named.T:
            mentioned[np.flatnonzero(column >= 0), column[column >= 0]] = True
        leaked = (construct(some).soft() > 0) & ~some.possible & ~mentioned
        assert not leaked.any(), "a class that was ruled out and not named got mass"


def same_input_same_label(construct: Construct) -> None:
    statements = example_statements()
    first, second = construct(statements).soft(), construct(statements).soft()
    agree(first, second, "two calls differ", exact=True)


# ── files of other programs ──────────────────────────────────────────────────────────────────


def claims_no_file_of_ours(reader: formats.Format) -> None:
    """A format does not claim our own files, an empty folder, or JSON of another shape."""
    kinds: dict[Any, Sequence[Any]] = {
        "table": (["item", "annotator", "label"], ["item", "cat", "dog"], ["id", "name"]),
        "lines": ({"schema": "softlabel.response/1"}, {"item": "a", "label": "cat"}, {}),
        "json": ({}, [{}], [1], {"cat": 1}, {"cat": {}}, [None]),
        "folder": ([], ["notes.txt"]),
        "zip": ([], ["notes.txt"]),
    }
    for kind, firsts in kinds.items():
        for first in firsts:
            claimed = reader.claims(formats.Head(Path("none"), kind, first))
            assert not claimed, f"{reader.name} claims {kind} that begin with {first!r}"


def says_what_it_writes(reader: formats.Format) -> None:
    """A format that can be written names the endings of its files, and only such a format does."""
    can_write = hasattr(reader, "write")
    assert can_write == bool(reader.suffixes), f"{reader.name} has the endings {reader.suffixes}"
