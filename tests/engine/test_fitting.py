"""Fits on parts equal fits of the whole; a fit that was stopped goes on as if it had not been."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from softlabel import FileError, SoftlabelError
from softlabel.aggregate import AGGREGATORS, DawidSkene, Extremised, Mace, Majority, Softmax
from softlabel.aggregate.truth.base import Local
from softlabel.aggregate.truth.dawid_skene import Confusions
from softlabel.engine import check_works_on_parts, fit_parts, read_part
from softlabel.engine.fitting import Checkpoint, flatten, is_model, unflatten

MODELS = [name for name, kind in AGGREGATORS.items() if is_model(kind)]


class Stop(Exception):
    """The machine was switched off."""


def in_parts(partitions) -> Local:
    return Local([read_part(partitions, number) for number in range(len(partitions))])


def posterior(method, engine, found):
    return np.concatenate(list(engine.each(method.posterior, found.parameters)))


def test_the_methods_that_work_on_parts():
    assert set(MODELS) == {
        *("dawid-skene", "one-coin", "fast-dawid-skene", "bayes-dawid-skene", "mace", "zencrowd"),
    }


@pytest.mark.parametrize("name", MODELS)
def test_parts_give_what_the_whole_gives(name, votes, partitions):
    method = AGGREGATORS[name]()
    engine = in_parts(partitions)
    found = fit_parts(method, engine, len(votes))
    whole = method(votes)
    np.testing.assert_allclose(posterior(method, engine, found), whole.probs, atol=1e-9)
    np.testing.assert_allclose(found.trace, whole.trace, rtol=1e-12)
    assert found.converged == whole.converged


@pytest.mark.parametrize("name", MODELS)
def test_soft_annotations_too(name, soft_votes, soft_partitions):
    method = AGGREGATORS[name]()
    engine = in_parts(soft_partitions)
    found = fit_parts(method, engine, len(soft_votes))
    np.testing.assert_allclose(
        posterior(method, engine, found), method(soft_votes).probs, atol=1e-9
    )


def stopping(at):
    def tell(step, done=0, total=None):
        if done == at:
            raise Stop

    return tell


@pytest.mark.parametrize("name", [name for name in MODELS if name != "mace"])
@pytest.mark.parametrize("tol", [0.0, 1e-5])
def test_a_stopped_fit_goes_on_to_the_same_end(name, tol, partitions, tmp_path):
    method = AGGREGATORS[name](n_iter=12, tol=tol)
    engine, path = in_parts(partitions), tmp_path / "kept.npz"
    whole = fit_parts(method, engine, 2400)
    at = max(2, len(whole.trace) - 2)
    with pytest.raises(Stop):
        fit_parts(method, engine, 2400, path, stopping(at))
    assert len(Checkpoint.load(path).trace) == at - 1
    found = fit_parts(method, engine, 2400, path)
    np.testing.assert_array_equal(found.trace, whole.trace)
    assert found.converged == whole.converged
    for one, other in zip(flatten(found.parameters), flatten(whole.parameters), strict=True):
        np.testing.assert_array_equal(one, other)


def test_one_start_of_mace_can_be_stopped_and_several_cannot(partitions, tmp_path):
    engine, path = in_parts(partitions), tmp_path / "kept.npz"
    once = Mace(n_restarts=1, n_iter=6, tol=0.0)
    with pytest.raises(Stop):
        fit_parts(once, engine, 2400, path, stopping(4))
    found, whole = fit_parts(once, engine, 2400, path), fit_parts(once, engine, 2400)
    np.testing.assert_array_equal(found.trace, whole.trace)
    with pytest.raises(SoftlabelError, match=r"mace starts 10 times.*mace:n_restarts=1"):
        fit_parts(Mace(), engine, 2400, path)


def test_a_checkpoint_of_something_else_is_refused(partitions, tmp_path):
    path = tmp_path / "kept.npz"
    Checkpoint((1.0,), (np.zeros(3),)).save(path)
    with pytest.raises(FileError, match="of other data or another method"):
        fit_parts(DawidSkene(), in_parts(partitions), 2400, path)
    path.write_bytes(b"PK\x05")
    with pytest.raises(FileError, match="no checkpoint, or a damaged one"):
        fit_parts(DawidSkene(), in_parts(partitions), 2400, path)


def test_a_checkpoint_is_the_old_one_or_the_new(tmp_path, monkeypatch):
    path = tmp_path / "kept.npz"
    Checkpoint((1.0,), (np.arange(3.0),)).save(path)

    def full(file, **arrays):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(FileError, match="No space left"):
        Checkpoint((2.0,), (np.zeros(3),)).save(path)
    assert Checkpoint.load(path).trace == (1.0,)
    assert [file.name for file in tmp_path.iterdir()] == ["kept.npz"]


@dataclass(frozen=True)
class Some:
    share: float
    tables: tuple[np.ndarray, Confusions]


def test_parameters_of_any_kind_are_arrays_and_back():
    nested = Some(0.25, (np.arange(3), Confusions(np.ones(2), np.zeros((1, 2, 2)))))
    arrays = [array + 1 for array in flatten(nested)]
    again = unflatten(nested, arrays)
    assert again.share == 1.25
    np.testing.assert_array_equal(again.tables[0], [1, 2, 3])
    assert isinstance(again.tables[1], Confusions)
    np.testing.assert_array_equal(again.tables[1].table, np.ones((1, 2, 2)))


@pytest.mark.parametrize("name", ["glad", "wawa", "kos", "catd", "dirichlet-mixture", "auto"])
def test_what_needs_all_items_is_refused_by_name(name):
    with pytest.raises(SoftlabelError, match=f"{name} needs all items.*dawid-skene.*mean"):
        check_works_on_parts(AGGREGATORS[name]())


def test_a_pool_that_fits_its_parameters_needs_all_items():
    check_works_on_parts(Softmax(2.0))
    with pytest.raises(SoftlabelError, match="softmax with parameters learned from all needs"):
        check_works_on_parts(Softmax(None))


def test_a_pool_with_a_table_of_all_items_is_refused_whatever_its_numbers():
    """How the answers spread over the classes is counted on all items."""
    with pytest.raises(SoftlabelError, match="extremised needs all items"):
        check_works_on_parts(Extremised(floor=0.1, power=1.2))


@pytest.mark.parametrize("ties", ["rare", "trusted"])
def test_ties_that_all_items_decide_need_all_items(ties):
    with pytest.raises(SoftlabelError, match="majority with parameters learned from all needs"):
        check_works_on_parts(Majority(ties))


def test_parameters_are_looked_at_before_anything_is_done():
    with pytest.raises(SoftlabelError, match="n_iter = 0"):
        check_works_on_parts(DawidSkene(n_iter=0))
