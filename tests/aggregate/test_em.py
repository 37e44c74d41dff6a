"""The loop that all EM methods share, and the engine under it."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from softlabel import DataError, aggregate
from softlabel.aggregate import DawidSkene
from softlabel.aggregate._kernels.votes import kernel
from softlabel.aggregate.truth.base import Local, add_sums, fit, open_local, sort_votes
from softlabel.testing import example_soft, example_votes

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
