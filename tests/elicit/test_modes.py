"""What holds of every mode: whatever is sent is refused or becomes a sound label."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softlabel import Index, registry
from softlabel.annotators import flag_answers, judge
from softlabel.annotators.rules import ERRORS, PRESETS
from softlabel.construct import Clamp
from softlabel.elicit import MODES, Chips, Classic, Quick, Search
from softlabel.errors import ResponseError
from softlabel.records import stack_answers
from softlabel.tables import check_simplex

LABELS = ["cat", "dog", "bird/owl", "bird/tit", "bird", "7"]
CAREFUL = [
    Quick(),
    Quick("30+100"),
    Chips(),
    Chips(10, True),
    Search(),
    Search(10),
    Classic(strict=True),
]
ALL = [*(kind() for kind in MODES.values()), *CAREFUL]


def table(*answers):
    index = Index(["item"], ["person"], LABELS)
    nothing = np.zeros(len(answers), dtype=np.int64)
    return stack_answers(index, nothing, nothing, answers)


# ── anything at all ──────────────────────────────────────────────────────────────────────────

NAMES = st.sampled_from([*LABELS, "bird/", "unicorn", "", "ruled_out", "possible", "unsaid"])
COUNTS = st.sampled_from([0, 1, 2, 5, 10, 15, 20, 100, -1, 0.5, 1e300])
LEAF = (
    NAMES | COUNTS | st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3)
)
PICK = st.fixed_dictionaries({"node": NAMES, "chips": COUNTS}, optional={"stop": st.booleans()})
JSON = st.recursive(
    LEAF | PICK,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES | st.text(max_size=3), inner),
    max_leaves=6,
)


@st.composite
def nearly_right(draw, mode):
    """What a person would send, with some fields replaced by anything."""
    belief = np.array(draw(st.lists(st.integers(0, 9), min_size=6, max_size=6))) + 1e-3
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    sent = mode.simulate(belief / belief.sum(), LABELS, rng)
    for key in draw(st.sets(st.sampled_from([*sent, "violations"]), max_size=3)):
        sent[key] = draw(JSON)
    return sent


@pytest.mark.parametrize("mode", ALL, ids=repr)
@given(st.data())
@settings(max_examples=150)
def test_whatever_is_sent_is_refused_or_gives_a_label_by_every_construction(mode, data):
    payload = data.draw(JSON | nearly_right(mode))
    try:
        said = table(mode.read(payload, LABELS))
    except ResponseError:
        return
    for construct in registry.members("construct").values():
        check_simplex(construct.name, construct()(said).soft())


# the four errors for which C22 excludes people, and the other ways of contradicting oneself
SLIPS = [
    *ERRORS,
    *("same-class-twice", "sum-above-100", "nothing-stated", "all-ruled-out"),
]


@pytest.mark.parametrize("mode", CAREFUL, ids=repr)
@given(st.data())
@settings(max_examples=150)
def test_the_errors_that_exclude_people_cannot_be_made(mode, data):
    payload = data.draw(nearly_right(mode))
    try:
        said = table(mode.read(payload, LABELS))
    except ResponseError:
        return
    slips = SLIPS
    if isinstance(mode, Classic):  # there sums need not be 100, and people are told so
        slips = [slip for slip in SLIPS if slip != "sum-above-100"]
    else:
        slips = [*slips, "second-above-first"]
    found = flag_answers(said)
    assert not [slip for slip in slips if found[slip].any()], payload
    verdicts = [judge(said, rules) for rules in PRESETS.values()]
    assert all(verdict.keep for (verdict,) in verdicts)


def test_the_errors_that_exclude_people_can_be_made_in_the_paper_form():
    wrong = {"top": "cat", "p1": 150, "second": "cat", "p2": 20, "impossible": ["cat"]}
    found = flag_answers(table(Classic().read(wrong, LABELS)))
    assert all(found[slip].any() for slip in ("out-of-range", "contradictory", "same-class-twice"))


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("mode", ALL, ids=repr)
def test_what_is_nested_too_deeply_is_refused(mode):
    for depth in (10, 900, 980):
        for field in mode.fields:
            sent = mode.simulate(np.full(6, 1 / 6), LABELS, np.random.default_rng(0))
            with pytest.raises(ResponseError):
                mode.read(sent | {field.name: nested(depth)}, LABELS)


# ── simulated people ─────────────────────────────────────────────────────────────────────────

TREE = [f"g{i // 10}/h{i // 5}/c{i}" for i in range(100)]
# how far a label is from the belief behind it, mean total variation; measured, and a tenth more
CLOSE = [
    (Classic(), 10, 0.3, 0.096),
    (Quick(), 10, 0.1, 0.070),
    (Quick(), 10, 0.3, 0.133),
    (Quick(), 5, 0.3, 0.068),
    (Chips(), 10, 0.3, 0.055),
    (Chips(), 10, 1.0, 0.069),
    (Chips(100), 10, 1.0, 0.013),
    (Chips(20, True), 10, 0.3, 0.052),
    (Search(), 10, 0.3, 0.062),
    (Search(), 100, 0.01, 0.048),
]


@pytest.mark.parametrize(("mode", "k", "spread", "most"), CLOSE)
def test_the_label_of_a_simulated_answer_is_close_to_the_belief(mode, k, spread, most):
    labels, rng = TREE[:k] if k == 100 else [f"c{i}" for i in range(k)], np.random.default_rng(0)
    beliefs = rng.dirichlet([spread] * k, 400)
    read = [mode.read(mode.simulate(belief, labels, rng), labels) for belief in beliefs]
    nothing = np.zeros(len(read), dtype=np.int64)
    labelled = Clamp()(
        stack_answers(Index(["item"], ["person"], labels), nothing, nothing, read)
    ).soft()
    off = float(abs(labelled - beliefs).sum(axis=1).mean() / 2)
    assert off < most
    assert off > most / 2, "the bound is far above what is measured; bring it down"


@pytest.mark.parametrize("mode", ALL, ids=repr)
@pytest.mark.parametrize("k", [1, 2, 3, 60])
def test_simulated_answers_are_valid_however_many_classes_there_are(mode, k):
    labels, rng = [f"c{i}" for i in range(k)], np.random.default_rng(0)
    beliefs = [*np.eye(k)[:3], np.full(k, 1 / k), *rng.dirichlet([0.2] * k, 30)]
    for belief in [*beliefs, *rng.dirichlet([3.0] * k, 30)]:
        sent = json.loads(json.dumps(mode.simulate(belief, labels, rng)))
        read = mode.read(sent, labels)
        assert len(set(read.named)) == len(read.named)
        assert read.possible[list(read.named)].all()


@pytest.mark.parametrize("name", MODES)
def test_a_mode_can_be_described_and_made_again(name):
    mode = MODES[name]()
    assert registry.parse("mode", registry.describe(mode)) == mode
