"""The same EM on a real cluster of two processes: equal results, whatever happens to them."""

from __future__ import annotations

import logging
import os
import signal
from io import StringIO

import numpy as np
import pytest
from distributed.deploy import Cluster
from hypothesis import given
from hypothesis import strategies as st
from mortal import Mortal

from softlabel import SoftlabelError
from softlabel.aggregate import AGGREGATORS, DawidSkene
from softlabel.aggregate.truth.base import Local
from softlabel.aggregate.truth.dawid_skene import Confusions
from softlabel.engine import fit_parts, read_part, split_table
from softlabel.engine.cluster import (
    DaskEngine,
    add_pair,
    connect,
    cut_blocks,
    join_blocks,
    pack,
    unpack,
)
from softlabel.engine.fitting import is_model
from softlabel.engine.partitions import ReadOptions

MODELS = [name for name, kind in AGGREGATORS.items() if is_model(kind)]
STEPS = DawidSkene(n_iter=5, tol=0.0)


@pytest.fixture
def engine(cluster_client, partitions):
    cluster_client.wait_for_workers(1, timeout=300)
    return DaskEngine(cluster_client, partitions)


@pytest.fixture(scope="module")
def here(partitions):
    return Local([read_part(partitions, number) for number in range(len(partitions))])


def probs(method, engine, parameters):
    return np.concatenate(list(engine.each(method.posterior, parameters)))


@pytest.mark.parametrize("name", MODELS)
def test_the_cluster_gives_what_one_process_gives(name, engine, votes):
    options = {"n_restarts": 2} if name == "mace" else {}
    method = AGGREGATORS[name](n_iter=6, **options)
    found, whole = fit_parts(method, engine, len(votes)), method(votes)
    np.testing.assert_allclose(probs(method, engine, found.parameters), whole.probs, atol=1e-9)
    np.testing.assert_allclose(found.trace, whole.trace, rtol=1e-12)


def test_counts_in_blocks_of_annotators_are_the_counts(cluster_client, partitions, here):
    """A table of 30 x 4 x 4 numbers in messages of at most 1,000 bytes, to the last bit."""
    small = DaskEngine(cluster_client, partitions, largest=1000)
    assert small.blocks == 4
    found, whole = fit_parts(STEPS, small, 2400), fit_parts(STEPS, here, 2400)
    np.testing.assert_array_equal(found.trace, whole.trace)
    np.testing.assert_array_equal(found.parameters.table, whole.parameters.table)
    one = DaskEngine(cluster_client, partitions)
    assert one.blocks == 1
    np.testing.assert_array_equal(
        fit_parts(STEPS, one, 2400).parameters.table, whole.parameters.table
    )


def test_blocks_travel_and_whole_tables_do_not(cluster_client, votes, tmp_path):
    engine = DaskEngine(cluster_client, split_table(votes, tmp_path, 2), largest=500)
    assert engine.blocks == 8
    before = np.sum(list(cluster_client.run(_sent).values()), axis=0)
    fit_parts(STEPS, engine, 2400)
    blocks, tables = np.sum(list(cluster_client.run(_sent).values()), axis=0) - before
    assert blocks > 0
    assert tables == 0


def _sent(dask_worker):
    """How many blocks and how many whole results a worker has sent."""
    keys = [str(key) for entry in dask_worker.transfer_outgoing_log for key in entry["keys"]]
    return sum("pick_" in key for key in keys), sum("_Call" in key for key in keys)


def test_gold_reaches_the_workers(cluster_client, partitions, votes):
    gold = {"item 0": "c1", "item 7": "c2", "item 350": "c0"}
    codes = {name: int(label[1]) for name, label in gold.items()}
    engine = DaskEngine(cluster_client, partitions, ReadOptions(gold=codes))
    found, whole = fit_parts(STEPS, engine, len(votes)), STEPS(votes, gold=gold)
    there = probs(STEPS, engine, found.parameters)
    np.testing.assert_allclose(there, whole.probs, atol=1e-9)
    assert there[7].tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize("small", [0, 10**6])
def test_a_worker_that_dies_in_the_middle_of_a_step_is_survived(
    engine, here, tmp_path, monkeypatch, small
):
    """With it dies what it was sent: parameters that lay there, or that came with the work."""
    monkeypatch.setattr("softlabel.engine.cluster.SMALL", small)
    alive = tmp_path / "alive"
    method = Mortal(n_iter=5, tol=0.0, alive=str(alive))

    def tell(step, done=0, total=None):
        if done == 2:
            alive.touch()

    found = fit_parts(method, engine, 2400, progress=tell)
    assert not alive.exists(), "a worker was killed"
    whole = fit_parts(STEPS, here, 2400)
    np.testing.assert_array_equal(found.trace, whole.trace)
    np.testing.assert_array_equal(found.parameters.table, whole.parameters.table)


def test_a_worker_killed_from_outside_is_survived(cluster_client, engine, here):
    def tell(step, done=0, total=None):
        if done == 2:
            os.kill(min(cluster_client.run(os.getpid).values()), signal.SIGKILL)

    found = fit_parts(STEPS, engine, 2400, progress=tell)
    np.testing.assert_array_equal(found.trace, fit_parts(STEPS, here, 2400).trace)
    rows = probs(STEPS, engine, found.parameters)
    np.testing.assert_array_equal(rows, probs(STEPS, here, found.parameters))


def test_parts_stay_where_they_are(cluster_client, engine):
    """Dask moves what looks small to wherever there is time."""
    fit_parts(STEPS, engine, 2400)
    sizes = cluster_client.run_on_scheduler(_sizes, [part.key for part in engine.parts])
    votes = 2400 // 5
    assert min(sizes) > votes * (4 + 2), "a code of four bytes and one of two per vote, and more"


def _sizes(keys, dask_scheduler):
    return [dask_scheduler.tasks[key].nbytes for key in keys]


def test_a_step_that_is_wrong_says_so(engine):
    with pytest.raises(ZeroDivisionError):
        engine.sum(_wrong)


def _wrong(part):
    return (np.array([1 / 0]),)


def test_nobody_at_the_address(monkeypatch):
    monkeypatch.setattr("softlabel.engine.cluster.PATIENCE", 0.5)
    nobody = r"no Dask scheduler answers at 127\.0\.0\.1:9"
    with pytest.raises(SoftlabelError, match=nobody), connect("127.0.0.1:9"):
        pass


# ── the cluster that is started here ─────────────────────────────────────────────────────────


def listening() -> set[int]:
    """Ports on which this process and its children listen."""
    psutil = pytest.importorskip("psutil")
    me = psutil.Process()
    found = (c for p in (me, *me.children(recursive=True)) for c in p.net_connections("inet"))
    return {c.laddr.port for c in found if c.status == psutil.CONN_LISTEN}


def test_the_local_cluster_opens_no_port():
    """What is sent over a socket without TLS can be read, and run, by others on the machine."""
    before = listening()
    with connect(workers=2) as client:
        about = client.scheduler_info()
        addresses = [about["address"], *about["workers"]]
        assert len(addresses) == 3
        assert [each for each in addresses if not each.startswith(("inproc://", "tls://"))] == []
        assert client.submit(sum, [1, 2]).result() == 3
        assert listening() - before == set()


def test_the_local_cluster_logs_nothing_to_the_end(monkeypatch):
    """Dask drops messages under way when it closes, and says so after its own silence has ended."""
    close, log, written = Cluster._close, logging.getLogger("distributed"), StringIO()
    handler = logging.StreamHandler(written)  # such as Dask adds where nobody else logs

    async def close_and_log(cluster):
        await close(cluster)
        log.getChild("batched").info("Batched Comm Closed")

    monkeypatch.setattr(log, "handlers", [handler])
    monkeypatch.setattr(log, "level", logging.INFO)
    monkeypatch.setattr(Cluster, "_close", close_and_log)
    with connect(workers=1) as client:
        assert client.submit(sum, [1, 2]).result() == 3
    assert written.getvalue() == ""
    assert handler.level == logging.NOTSET  # other users of Dask in this process hear it again


def test_the_local_cluster_gives_what_one_process_gives(partitions, here):
    with connect(workers=2) as cluster_client:
        engine = DaskEngine(cluster_client, partitions)
        found, whole = fit_parts(STEPS, engine, 2400), fit_parts(STEPS, here, 2400)
        np.testing.assert_array_equal(found.trace, whole.trace)
        np.testing.assert_array_equal(found.parameters.table, whole.parameters.table)
        rows = probs(STEPS, engine, found.parameters)
    np.testing.assert_array_equal(rows, probs(STEPS, here, whole.parameters))


# ── large things in pieces are the things themselves ─────────────────────────────────────────


def some_sums(people, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random(1), rng.random((people, 3, 3)), rng.random(3)


@given(people=st.integers(0, 40), blocks=st.integers(1, 9))
def test_sums_in_blocks_are_the_sums(people, blocks):
    sums = some_sums(people)
    cut = cut_blocks(sums, blocks)
    assert len(cut) == blocks
    assert max(len(block[1]) for block in cut) <= -(-people // blocks) + 1, "about even"
    for whole, again in zip(sums, join_blocks(cut), strict=True):
        np.testing.assert_array_equal(whole, again)
        assert again.flags.writeable, "the M-step may use it up"


def test_adding_blocks_is_adding_sums_and_leaves_them_alone():
    one, two = some_sums(10, 1), some_sums(10, 2)
    before = [array.copy() for array in one]
    pairs = zip(cut_blocks(one, 4), cut_blocks(two, 4), strict=True)
    total = join_blocks([add_pair(left, right) for left, right in pairs])
    for left, right, found in zip(one, two, total, strict=True):
        np.testing.assert_array_equal(left + right, found)
    for array, kept in zip(one, before, strict=True):
        np.testing.assert_array_equal(array, kept)


@pytest.mark.parametrize("largest", [8, 100, 10**6])
def test_parameters_arrive_as_they_were_sent(largest):
    fixed = np.arange(5.0)
    fixed.flags.writeable = False
    sent = (Confusions(fixed, np.random.default_rng(0).random((7, 3, 3))), "words", 1.5)
    head, sizes, runs = pack(sent, largest)
    assert max(run.nbytes for run in runs) <= largest
    found, words, number = unpack(head, sizes, [run.copy() for run in runs])
    assert isinstance(found, Confusions)
    np.testing.assert_array_equal(found.prior, fixed)
    np.testing.assert_array_equal(found.table, sent[0].table)
    assert (found.prior.flags.writeable, found.table.flags.writeable) == (False, True)
    assert (words, number) == ("words", 1.5)


def test_nothing_to_send_is_nothing():
    head, sizes, runs = pack(())
    assert (unpack(head, sizes, runs), runs) == ((), [])
