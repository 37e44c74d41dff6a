"""What all truth methods run on: votes in the order of the items, gold, parts, and the EM loop."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from softlabel import Annotations, DataError, Index, UnknownName, aggregate
from softlabel.aggregate import DawidSkene, Majority
from softlabel.aggregate._kernels.votes import kernel
from softlabel.aggregate.truth import base, majority
from softlabel.aggregate.truth.base import (
    Local,
    add_sums,
    encode_gold,
    fit,
    open_local,
    sort_votes,
)
from softlabel.aggregate.truth.majority import class_counts
from softlabel.testing import example_soft, example_votes

# ── votes in the order of the items: against numpy's stable sort, whole and in parts ─────────


def some_votes(items=50, people=9, classes=4, n=400, seed=0):
    rng = np.random.default_rng(seed)
    index = Index(
        [f"i{i}" for i in range(items)],
        [f"p{i}" for i in range(people)],
        [f"c{i}" for i in range(classes)],
    )
    codes = (rng.integers(0, size, n) for size in (items, people, classes))
    item, who, label = codes
    return Annotations(index, item, who, label=label)


def check_order(said):
    """By item, and within an item as they came."""
    found = sort_votes(said, "anything")
    if said.hard:
        rows = np.argsort(said.item, kind="stable")
        np.testing.assert_array_equal(found.annotator, said.annotator[rows])
        np.testing.assert_array_equal(found.label, said.label[rows])
        assert found.weight is None
    else:
        row, label = np.nonzero(said.probs)
        order = np.argsort(said.item[row], kind="stable")
        row, label = row[order], label[order]
        np.testing.assert_array_equal(found.annotator, said.annotator[row])
        np.testing.assert_array_equal(found.label, label)
        np.testing.assert_array_equal(found.weight, said.probs[row, label])
        rows = row
    ends = np.searchsorted(np.sort(said.item[rows]), np.arange(len(said.index.items)), "right")
    np.testing.assert_array_equal(found.start, [0, *ends])


@pytest.mark.parametrize("said", [some_votes(), example_soft(), some_votes(n=0), some_votes(n=1)])
def test_votes_lie_item_by_item(said):
    check_order(said)


@pytest.mark.parametrize("said", [some_votes(), example_soft(), some_votes(items=1)])
def test_threads_sort_alike(said, monkeypatch):
    monkeypatch.setattr(base, "MANY", 1)
    monkeypatch.setattr(base, "cores", lambda: 3)
    check_order(said)


@pytest.mark.parametrize("said", [some_votes(), example_soft(), some_votes(items=1)])
def test_many_votes_are_counted_and_won_alike(said, monkeypatch):
    few = {ties: Majority(ties)(said).probs for ties in ("first", "split", "random")}
    monkeypatch.setattr(majority, "MANY", 1)
    np.testing.assert_array_equal(class_counts(said), said.counts())
    for ties, probs in few.items():
        np.testing.assert_array_equal(Majority(ties)(said).probs, probs)


def test_arrays_are_compact_and_cannot_be_changed():
    found = sort_votes(some_votes(), "anything")
    assert (found.start.dtype, found.annotator.dtype) == (np.int64, np.int32)
    assert found.label.dtype == np.int16
    with pytest.raises(ValueError, match="read-only"):
        found.label[0] = 1


def test_very_many_classes_have_larger_codes():
    found = sort_votes(some_votes(classes=40_000), "anything")
    assert found.label.dtype == np.int32
    assert found.label.max() > 2**15


def test_anonymous_votes_are_refused_in_the_name_of_the_method():
    said = some_votes()
    who = said.annotator.copy()
    who[3] = -1
    with pytest.raises(DataError, match="zencrowd weighs people"):
        sort_votes(Annotations(said.index, said.item, who, label=said.label), "zencrowd")


@pytest.mark.parametrize("shards", [1, 2, 3, 7, 1000])
def test_parts_are_ranges_of_items_of_about_equal_weight(shards):
    whole = sort_votes(some_votes(), "anything", np.arange(50) % 4)
    parts = whole.cut(shards)
    assert len(parts) <= shards
    assert sum(part.items for part in parts) == 50
    for name in ("annotator", "label", "gold"):
        together = np.concatenate([getattr(part, name) for part in parts])
        np.testing.assert_array_equal(together, getattr(whole, name))
    lengths = np.concatenate([np.diff(part.start) for part in parts])
    np.testing.assert_array_equal(lengths, np.diff(whole.start))
    assert all(part.start[0] == 0 and part.start[-1] == len(part) for part in parts)
    if shards < 10:
        largest = np.diff(whole.start).max()
        assert max(map(len, parts)) <= 400 / shards + 2 * largest


def test_parts_are_not_copies():
    whole = sort_votes(some_votes(), "anything")
    assert all(np.shares_memory(part.annotator, whole.annotator) for part in whole.cut(4))


def test_soft_parts_keep_their_weights():
    whole = sort_votes(example_soft(), "anything")
    together = np.concatenate([part.weight for part in whole.cut(5)])
    np.testing.assert_array_equal(together, whole.weight)


def test_no_items_are_one_empty_part():
    empty = Annotations(Index([], [], ["c"]), np.zeros(0, int), np.zeros(0, int), label=[])
    assert [len(part) for part in sort_votes(empty, "anything").cut(3)] == [0]


def test_few_votes_are_counted_by_the_table():
    said, _ = example_votes()
    np.testing.assert_array_equal(class_counts(said), said.counts())


# ── gold ─────────────────────────────────────────────────────────────────────────────────────


INDEX = Index(["a", "b", "c", "d"], ["someone"], ["cat", "dog"])


def test_names_become_codes():
    np.testing.assert_array_equal(encode_gold({"b": "dog", "d": "cat"}, INDEX), [-1, 1, -1, 0])


def test_codes_stay():
    codes = np.array([0, -1, 1, -1])
    np.testing.assert_array_equal(encode_gold(codes, INDEX), codes)


def test_nothing_known_is_no_gold():
    assert encode_gold(None, INDEX) is None
    assert encode_gold({}, INDEX) is None
    assert encode_gold(np.full(4, -1), INDEX) is None


def test_an_unknown_item_is_named():
    with pytest.raises(DataError, match=r"item 'z'.*1 of 2"):
        encode_gold({"a": "cat", "z": "cat"}, INDEX)


def test_an_unknown_class_is_named_with_the_nearest():
    with pytest.raises(UnknownName, match=r"gold item 'a' called 'dgo' \(did you mean 'dog'\?\)"):
        encode_gold({"a": "dgo"}, INDEX)


@pytest.mark.parametrize(
    ("codes", "complaint"),
    [
        (np.zeros(3, int), r"shape \(3,\).*expected \(4,\)"),
        (np.zeros(4), "float64"),
        (np.array([0, 0, 2, 0]), r"item 2 is 2, expected -1 or a class 0\.\.1"),
        (np.array([0, -2, 0, 0]), "item 1 is -2"),
    ],
)
def test_wrong_codes_are_refused(codes, complaint):
    with pytest.raises(DataError, match=complaint):
        encode_gold(codes, INDEX)


# ── the EM loop, and the engine under it ─────────────────────────────────────────────────────


METHODS = [
    kind()
    for kind in aggregate.AGGREGATORS.values()
    if hasattr(kind, "begin") and hasattr(kind, "learn")
]


def example():
    return sort_votes(example_votes(items=60)[0], "anything")


@pytest.mark.parametrize("parts", [1, 2, 3, 5, 8, 13])
def test_sums_are_added_entry_by_entry(parts):
    rng = np.random.default_rng(parts)
    each = [(np.array([float(i)]), rng.random((3, 2))) for i in range(parts)]
    expected = sum(one.copy() for _, one in each)
    total, table = add_sums(iter(each))
    assert total[0] == sum(range(parts))
    np.testing.assert_allclose(table, expected, rtol=1e-14)


def test_the_tree_is_the_same_however_the_parts_arrive():
    """1e16 + 1 + 1 + ... depends on the order: pairs first, then pairs of pairs."""
    each = [(np.array([value]),) for value in (1e16, 1.0, 1.0, 1.0)]
    assert add_sums(each)[0][0] == (1e16 + 1.0) + (1.0 + 1.0)


def test_without_tolerance_every_step_is_made():
    fitted = fit(DawidSkene(), Local([example()]), n_iter=37, tol=0)
    assert len(fitted.trace) == 37
    assert not fitted.converged


def test_it_stops_when_a_step_gains_little_per_vote():
    votes = example()
    whole = fit(DawidSkene(), Local([votes]), n_iter=50, tol=0).trace
    fitted = fit(DawidSkene(), Local([votes]), n_iter=50, tol=1e-4)
    steps = np.diff(whole) / len(votes)
    assert fitted.converged
    assert len(fitted.trace) == int((steps < 1e-4).argmax()) + 2
    np.testing.assert_array_equal(fitted.trace, whole[: len(fitted.trace)])


def test_it_tells_of_every_step_and_can_go_on_from_what_it_kept():
    engine, told, kept = Local(example().cut(2)), [], {}
    whole = fit(
        DawidSkene(),
        engine,
        n_iter=8,
        tol=0,
        tell=lambda iteration, objective: told.append((iteration, objective)),
        keep=lambda parameters, iteration: kept.update({iteration: parameters}),
    )
    assert told == list(enumerate(whole.trace.tolist(), start=1))
    assert sorted(kept) == [1, 2, 3, 4, 5, 6, 7]
    rest = fit(DawidSkene(), engine, n_iter=5, tol=0, start=kept[3])
    np.testing.assert_array_equal(rest.trace, whole.trace[3:])
    np.testing.assert_array_equal(rest.parameters.table, whole.parameters.table)


def test_everybodys_votes_are_counted():
    votes = example()
    fitted = fit(DawidSkene(), Local(votes.cut(3)), n_iter=1, tol=0)
    np.testing.assert_array_equal(fitted.asked, np.bincount(votes.annotator, minlength=7))


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@pytest.mark.parametrize("shards", [2, 7, 100])
def test_parts_give_what_the_whole_gives(method, shards):
    for said in (example_votes()[0], example_soft()):
        whole, spread = method(said, shards=1), method(said, shards=shards)
        np.testing.assert_allclose(spread.probs, whole.probs, atol=1e-12)
        np.testing.assert_allclose(spread.trace, whole.trace, rtol=1e-12)


def test_processes_give_what_threads_give():
    said, _ = example_votes()
    whole = DawidSkene(n_iter=3)(said, shards=1)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        spread = DawidSkene(n_iter=3)(said, map=processes.map, shards=3)
    np.testing.assert_allclose(spread.probs, whole.probs, atol=1e-12)


def test_a_thread_per_core_where_there_is_work_for_them(monkeypatch):
    votes = example()
    with open_local(votes) as engine:
        assert len(engine.parts) == 1, "few votes are done sooner than handed over"
    monkeypatch.setattr("softlabel.aggregate.truth.base.WORTH_A_THREAD", 10)
    monkeypatch.setattr("softlabel.aggregate.truth.base.cores", lambda: 3)
    with open_local(votes) as engine:
        assert len(engine.parts) == 3


def test_threads_work_in_order_and_only_a_little_ahead(monkeypatch):
    monkeypatch.setattr("softlabel.aggregate.truth.base.cores", lambda: 2)
    begun = []
    with open_local(example(), shards=2) as engine:
        results = engine.finer(20).each(lambda part, _: begun.append(part) or part.items, None)
        sizes = [next(results)]
        assert len(begun) <= 5, "two threads, and two calls waiting for each"
        sizes += results
    assert len(sizes) == len(begun) > 10
    assert sum(sizes) == 60


def test_no_shards_are_refused():
    with pytest.raises(DataError, match="shards = 0"):
        DawidSkene()(example_votes()[0], shards=0)


CACHED = """
import numpy as np
from softlabel.aggregate._kernels import votes as kernels
codes, votes = np.array([0, 1, 1], np.int32), np.zeros(2, np.int64)
kernels.count_per_item((codes, codes, codes, np.zeros((0, 0))), votes)
assert votes.tolist() == [1, 2]
stats = kernels.count_per_item.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


def test_the_second_process_compiles_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))

    def hits_and_misses():
        words = [sys.executable, "-c", CACHED]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()

    assert hits_and_misses() == ["0", "1"]
    assert hits_and_misses() == ["1", "0"]


def test_where_nothing_can_be_kept_kernels_work_all_the_same():
    scope: dict[str, object] = {}
    exec("def twice(x):\n    return 2 * x", scope)  # has no file beside which to keep code
    assert kernel(scope["twice"])(21) == 42


WITHOUT = """
import sys
sys.modules["numba"] = None  # as if it were not installed
from softlabel.cli import main
sys.exit(main(sys.argv[1:]))
"""


def run_without_numba(folder, *words):
    (folder / "votes.csv").write_text("item,annotator,label\na,ann,x\na,bob,y\nb,ann,y\n")
    command = [sys.executable, "-c", WITHOUT, *words]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=600
    )


def test_pools_that_need_no_compiler_work_without_it(tmp_path):
    done = run_without_numba(tmp_path, "label", "votes.csv", "labels.csv")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "labels.csv").read_text().startswith("item,x,y,count\n")


def test_pools_that_need_a_compiler_say_what_to_install(tmp_path):
    words = ("label", "votes.csv", "labels.csv", "--aggregate", "dawid-skene")
    done = run_without_numba(tmp_path, *words)
    assert done.returncode == 1
    assert done.stderr.startswith("error: a pool that infers which class is true needs more")
    assert done.stderr.endswith("pip install 'softlabel[truth]'\n")
    assert not (tmp_path / "labels.csv").exists()


@pytest.mark.parametrize("ties", ["first", "split"])
def test_a_majority_is_the_same_with_and_without_a_compiler(monkeypatch, ties):
    monkeypatch.setattr(majority, "MANY", 0)
    for given in (example_votes()[0], example_soft()):
        compiled = Majority(ties)(given)
        with monkeypatch.context() as patch:
            patch.setattr(majority, "has_compiler", lambda: False)
            assert np.array_equal(Majority(ties)(given).probs, compiled.probs)
