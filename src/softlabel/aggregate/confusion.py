"""What the methods with a confusion matrix per person share.

``table[annotator, said, true]`` holds the chance that somebody says one class where another is
true, with the true classes side by side, as the kernels read them; results show it the usual way
round, ``confusion[annotator, true, said]``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from softlabel._util.machine import GIGABYTE, cores, memory
from softlabel.aggregate import warm
from softlabel.aggregate.em import Sums
from softlabel.aggregate.results import TruthPosterior
from softlabel.aggregate.votes import Votes
from softlabel.errors import DataError
from softlabel.tables import Annotations, Floats, Index, Ints, given_away

LARGEST_TABLE = 4 * GIGABYTE
BLOCK = 4096  # people whose logarithms are taken at a time

NO_ROWS = np.zeros((0, 0))


class Confusions(NamedTuple):
    """How common the classes are (k,), and the chances of what each person says (a, k, k)."""

    prior: Floats
    table: npt.NDArray[Any]


def expected_rows(k: int, diagonal: float) -> Floats:
    """(k, k) what is expected of somebody unknown: right with chance ``diagonal``, and otherwise
    any other class alike."""
    if k == 1:
        return np.ones((1, 1))
    rows = np.full((k, k), (1 - diagonal) / (k - 1))
    np.fill_diagonal(rows, diagonal)
    return rows


def check_table(people: int, k: int, size: int) -> None:
    """Refuse tables that this machine could not hold."""
    wanted, most = people * k * k * size, min(LARGEST_TABLE, memory() // 2)
    if wanted > most:
        raise DataError(
            f"{people:,} annotators with {k:,} x {k:,} confusions are {wanted / GIGABYTE:.1f} GB, "
            f"more than {most / GIGABYTE:.1f} GB; one-coin knows one number of each annotator"
        )


def parts(said: Annotations, shards: int | None) -> int | None:
    """As many as asked for; or fewer than there are cores where the tables of all of them would
    fill more than a quarter of the memory."""
    _, a, k = said.index.shape
    room = max(1, memory() // 4 // (8 * k * k * max(a, 1)))
    return room if shards is None and room < cores() else shards


def begin(part: Votes, hard: bool = False, dtype: str = "float64") -> Sums:
    """Statistics of vote shares, or with ``hard`` of the class with most votes."""
    from softlabel.aggregate import kernels  # compiled: only those who pool wait for it

    k = part.labels
    check_table(part.annotators, k, np.dtype(dtype).itemsize)
    counts, mass = np.zeros((part.annotators, k, k), dtype), np.zeros(k)
    kernels.begin(kernels.ballots(part), hard, counts.reshape(-1), mass)
    return np.zeros(1), counts, mass


def step(part: Votes, prior: Floats, table: npt.NDArray[Any], hard: bool = False) -> Sums:
    """Beliefs under these chances, and their statistics."""
    counts, mass = np.zeros(table.shape, table.dtype), np.zeros(len(prior))
    total = _expect(part, prior, table, hard, counts, mass, NO_ROWS)
    return np.array([total]), counts, mass


def posterior(part: Votes, prior: Floats, table: npt.NDArray[Any], hard: bool = False) -> Floats:
    """Beliefs under these chances."""
    rows = np.empty((part.items, len(prior)))
    rows[np.diff(part.start) == 0] = np.nan
    _expect(part, prior, table, hard, np.zeros(0, table.dtype), np.zeros(0), rows)
    return rows


def _expect(
    part: Votes,
    prior: Floats,
    table: npt.NDArray[Any],
    hard: bool,
    counts: npt.NDArray[Any],
    mass: Floats,
    rows: Floats,
) -> float:
    from softlabel.aggregate import kernels

    if part.weight is not None:
        table = np.log(table, out=np.full_like(table, kernels.NEVER), where=table > 0)
    return float(
        kernels.expect(
            kernels.ballots(part),
            kernels.fixed(prior),
            kernels.fixed(table).reshape(-1),
            hard,
            counts.reshape(-1),
            mass,
            rows,
        )
    )


def learn(sums: Sums, smoothing: float, diagonal: float) -> Confusions:
    """Shares of the counts, after ``smoothing`` imaginary votes on every row of a confusion matrix
    and as many imaginary items; a row that nothing is known of stays 0."""
    from softlabel.aggregate import kernels

    _, counts, mass = sums
    k = len(mass)
    kernels.normalise(counts, smoothing * expected_rows(k, diagonal))
    return Confusions(class_shares(mass, smoothing), counts)


def class_shares(mass: Floats, smoothing: float) -> Floats:
    """How common the classes are, after ``smoothing`` imaginary items; even if there are none."""
    k, total = len(mass), mass.sum() + smoothing
    return (mass + smoothing / k) / total if total > 0 else np.full(k, 1 / k)


def log_prior(parameters: Confusions, smoothing: float, diagonal: float) -> float:
    """The imaginary votes' own log-likelihood: what smoothing adds to the objective."""
    if smoothing == 0:
        return 0.0
    prior, table = parameters
    k = len(prior)
    rows = expected_rows(k, diagonal)
    total = np.log(prior).sum() / k
    for first in range(0, len(table), BLOCK):
        logs = np.log(table[first : first + BLOCK], dtype=np.float64)
        total += (logs.sum(axis=0) * rows).sum()
    return float(smoothing * total)


def resumed(begun: Confusions, start: TruthPosterior, index: Index) -> Confusions:
    """The earlier chances of everybody who has some, the others as begun."""
    if start.confusion is None or start.prior is None:
        raise DataError("the result to start from has no confusion matrices")
    order = warm.classes(start, index)
    here, there = warm.people(start, index)
    earlier = start.confusion[there][:, order][:, :, order].transpose(0, 2, 1)
    table = begun.table
    table[here] = np.where(np.isnan(earlier), table[here], earlier)
    return Confusions(np.asarray(start.prior[order]), table)


def described(parameters: Confusions, asked: Ints) -> dict[str, Any]:
    """The chances the usual way round, and how often each person is right on items as common as
    these; NaN for who was never asked, and in rows that nothing is known of."""
    prior, table = parameters
    confusion = np.array(table.transpose(0, 2, 1), dtype=np.float64, order="C")
    confusion[confusion.sum(axis=2) == 0] = np.nan
    return {
        "confusion": given_away(confusion),
        "prior": given_away(prior.copy()),
        "skill": given_away(skills(confusion, prior, asked)),
    }


def skills(confusion: Floats, prior: Floats, asked: Ints) -> Floats:
    """(a,) sum_j prior_j confusion[a, j, j], over the classes somebody has met."""
    right = np.diagonal(confusion, axis1=1, axis2=2)
    weight = np.where(np.isnan(right), 0, prior)
    total = weight.sum(axis=1)
    share = np.full(len(right), np.nan)
    np.divide(np.nansum(right * weight, axis=1), total, out=share, where=(total > 0) & (asked > 0))
    return share
