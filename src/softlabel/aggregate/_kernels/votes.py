"""Compiled passes over votes: how a kernel is compiled, how votes are sorted and counted, and the
methods that know one or two numbers of each person.

``votes`` is a ``Ballots`` everywhere below the sort (see ``truth.base``).  Loops are written out:
what numpy does in a line costs seconds to compile.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from softlabel.errors import MissingExtra

try:
    from numba import njit
except ModuleNotFoundError as missing:
    raise MissingExtra("a pool that infers which class is true", "truth") from missing

Function = TypeVar("Function", bound=Callable[..., Any])

LEVEL = 1e-9  # scores this near are equal: rounding must not decide who wins


def kernel(function: Function) -> Function:
    """Compile a function at its first call, to run without the interpreter's lock.

    The machine code is kept on disk for the next process: beside the source, in the user's cache
    folder, or in the folder that ``NUMBA_CACHE_DIR`` names.  Where none of them can be written,
    every process compiles for itself.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    try:
        return cast(Function, njit(cache=True, **options)(function))
    except RuntimeError:  # numba: "no locator available"
        return cast(Function, njit(**options)(function))


# ── sort annotations by item ─────────────────────────────────────────────────────────────────
# ``rows`` is (item, annotator, label, probs) in the order of the table; ``probs`` is empty for
# hard votes, ``label`` for soft annotations.


@kernel
def count_per_item(rows: Any, votes: Any) -> None:
    """Add the number of votes on item i to ``votes[i]``."""
    item, _, _, probs = rows
    soft = probs.size > 0
    for row in range(item.size):
        if soft:
            for j in range(probs.shape[1]):
                votes[item[row]] += probs[row, j] > 0
        else:
            votes[item[row]] += 1


@kernel
def place(rows: Any, free: Any, annotator: Any, label: Any, weight: Any) -> None:
    """Write every vote to the next free place of its item."""
    item, who, labels, probs = rows
    soft = probs.size > 0
    for row in range(item.size):
        at = free[item[row]]
        if soft:
            for j in range(probs.shape[1]):
                if probs[row, j] > 0:
                    annotator[at], label[at], weight[at] = who[row], j, probs[row, j]
                    at += 1
        else:
            annotator[at], label[at] = who[row], labels[row]
            at += 1
        free[item[row]] = at


# ── plain counts ─────────────────────────────────────────────────────────────────────────────


@kernel
def count(item: Any, label: Any, probs: Any, counts: Any) -> None:
    """Add to ``counts[i, j]`` the votes on item i for class j, soft annotations as fractions of a
    vote; ``probs`` is empty for hard votes."""
    soft = probs.size > 0
    for row in range(item.size):
        if soft:
            for j in range(probs.shape[1]):
                counts[item[row], j] += probs[row, j]
        else:
            counts[item[row], label[row]] += 1.0


@kernel
def elect(counts: Any, near: float, split: bool) -> None:
    """Replace counts by 1 for the first class within ``near`` of the most, or by even parts for
    all such classes (``split``)."""
    for i in range(counts.shape[0]):
        most = counts[i, 0]
        for j in range(1, counts.shape[1]):
            most = max(most, counts[i, j])
        level, first = 0, -1
        for j in range(counts.shape[1]):
            if counts[i, j] >= most - near:
                level += 1
                first = j if first < 0 else first
        for j in range(counts.shape[1]):
            wins = counts[i, j] >= most - near if split else j == first
            counts[i, j] = (1.0 / level if split else 1.0) if wins else 0.0


@kernel
def divide(belief: Any, total: float) -> Any:
    """Scale a belief that sums to ``total`` to sum to 1; return the log of the total."""
    share = 1.0 / total
    for j in range(belief.size):
        belief[j] *= share
    return np.log(total)


@kernel
def vote_shares(votes: Any, item: int, belief: Any) -> None:
    """Write each class's share of an item's votes; a known class gets all of them."""
    for j in range(belief.size):
        belief[j] = 0.0
    if votes.gold.size > 0 and votes.gold[item] >= 0:
        belief[votes.gold[item]] = 1.0
        return
    total = 0.0
    for vote in range(votes.start[item], votes.start[item + 1]):
        weight = votes.weight[vote] if votes.weight.size else 1.0
        belief[votes.label[vote]] += weight
        total += weight
    divide(belief, total)


# ── scores of the classes that an item's votes name ──────────────────────────────────────────
# The models below have log P(l | t) = miss + [l = t] gain for a vote l where t is true.  So a pass
# looks only at classes that somebody named, and its cost does not grow with their number.
# ``scratch`` is (score per class, the item that last named it, the classes named).


@kernel
def gold_of(votes: Any, item: int) -> int:
    """Return the known class of an item, or -1."""
    return votes.gold[item] if votes.gold.size > 0 else -1


@kernel
def make_scratch(k: int) -> Any:
    """Return the scratch arrays for one item at a time."""
    return np.zeros(k), np.full(k, -1, np.int64), np.zeros(k, np.int64)


@kernel
def most_votes(start: Any) -> int:
    """Return the largest number of votes on an item."""
    most = 0
    for item in range(start.size - 1):
        most = max(most, start[item + 1] - start[item])
    return most


@kernel
def scores_to_chances(scratch: Any, n: int, k: int, gold: int, item: int) -> Any:
    """Turn the scores of the named classes into chances; return the log of their total.

    Where the class is known (``gold``) the chances are 1 and 0.
    """
    score, seen, named = scratch
    if gold >= 0:
        alone = score[gold] if seen[gold] == item else 0.0
        for j in range(n):
            score[named[j]] = 1.0 if named[j] == gold else 0.0
        return alone
    top = score[named[0]] if n == k else 0.0
    for j in range(n):
        top = max(top, score[named[j]])
    total = (k - n) * np.exp(-top) if n < k else 0.0
    for j in range(n):
        total += np.exp(score[named[j]] - top)
    total = top + np.log(total)
    for j in range(n):
        score[named[j]] = np.exp(score[named[j]] - total)
    return total


@kernel
def write_row(scratch: Any, n: int, rest: float, gold: int, row: Any) -> None:
    """Write one row of a posterior: named classes get their chance, the others ``rest`` each."""
    score, _, named = scratch
    if n == 0:
        row[:] = np.nan
        return
    row[:] = rest if gold < 0 else 0.0
    for j in range(n):
        row[named[j]] = score[named[j]]
    if gold >= 0:
        row[gold] = 1.0


# ── votes that are meant or guessed: mace, zencrowd ──────────────────────────────────────────
# ``table[a, l]`` describes a vote of person a for class l: miss, gain, and the chance that a right
# vote was meant.  Where these are the same for all l, one column stands for all classes.


@kernel
def score_meant(votes: Any, item: int, table: Any, scratch: Any) -> Any:
    """Score the classes that an item names; return the part common to all classes, and n."""
    weighted = votes.weight.size > 0
    score, seen, named = scratch
    last = table.shape[1] - 1
    common, n = 0.0, 0
    for vote in range(votes.start[item], votes.start[item + 1]):
        who, label = votes.annotator[vote], votes.label[vote]
        if seen[label] != item:
            seen[label], score[label], named[n] = item, 0.0, label
            n += 1
        weight = votes.weight[vote] if weighted else 1.0
        column = min(label, last)
        common += weight * table[who, column, 0]
        score[label] += weight * table[who, column, 1]
    return common, n


@kernel
def expect_meant(votes: Any, table: Any, k: int, counts: Any) -> float:
    """E-step: return the log-likelihood; add votes meant and all others to ``counts[a, l]``."""
    weighted = votes.weight.size > 0
    scratch = make_scratch(k)
    score, last = scratch[0], table.shape[1] - 1
    loglik = 0.0
    for item in range(votes.start.size - 1):
        common, n = score_meant(votes, item, table, scratch)
        total = scores_to_chances(scratch, n, k, gold_of(votes, item), item)
        loglik += common + total - np.log(k)
        for vote in range(votes.start[item], votes.start[item + 1]):
            who, label = votes.annotator[vote], votes.label[vote]
            weight = votes.weight[vote] if weighted else 1.0
            column = min(label, last)
            meant = weight * score[label] * table[who, column, 2]
            counts[who, column, 0] += meant
            counts[who, column, 1] += weight - meant
    return loglik


@kernel
def infer_meant(votes: Any, table: Any, k: int, rows: Any) -> None:
    """Write the posterior of every item."""
    scratch = make_scratch(k)
    for item in range(votes.start.size - 1):
        _, n = score_meant(votes, item, table, scratch)
        gold = gold_of(votes, item)
        total = scores_to_chances(scratch, n, k, gold, item)
        write_row(scratch, n, np.exp(-total), gold, rows[item])


# ── votes weighted by trust: wawa, zero-based-skill, catd ────────────────────────────────────


@kernel
def score_trust(votes: Any, item: int, trust: Any, scratch: Any) -> int:
    """Score the classes that an item names by the trust in their voters; return how many."""
    weighted = votes.weight.size > 0
    score, seen, named = scratch
    n = 0
    for vote in range(votes.start[item], votes.start[item + 1]):
        label = votes.label[vote]
        if seen[label] != item:
            seen[label], score[label], named[n] = item, 0.0, label
            n += 1
        weight = votes.weight[vote] if weighted else 1.0
        score[label] += weight * trust[votes.annotator[vote]]
    return n


@kernel
def add_agreement(votes: Any, trust: Any, k: int, sums: Any) -> None:
    """Add to ``sums[a]`` each person's votes for the winner of the weighted vote, and all votes.

    Winners that are level count in even parts.
    """
    weighted = votes.weight.size > 0
    scratch = make_scratch(k)
    score, _, named = scratch
    for item in range(votes.start.size - 1):
        n = score_trust(votes, item, trust, scratch)
        best, equals = 0.0, 0
        for j in range(n):
            best = max(best, score[named[j]])
        for j in range(n):
            equals += score[named[j]] >= best * (1 - LEVEL)
        for j in range(n):
            score[named[j]] = 1 / equals if score[named[j]] >= best * (1 - LEVEL) else 0.0
        gold = gold_of(votes, item)
        for vote in range(votes.start[item], votes.start[item + 1]):
            who, label = votes.annotator[vote], votes.label[vote]
            weight = votes.weight[vote] if weighted else 1.0
            agrees = score[label] if gold < 0 else 1.0 * (label == gold)
            sums[who, 0] += weight * agrees
            sums[who, 1] += weight


@kernel
def weighted_shares(votes: Any, trust: Any, rows: Any) -> None:
    """Write the shares of the weighted vote of every item."""
    scratch = make_scratch(rows.shape[1])
    score, _, named = scratch
    for item in range(votes.start.size - 1):
        n = score_trust(votes, item, trust, scratch)
        total = 0.0
        for j in range(n):
            total += score[named[j]]
        for j in range(n):  # where nobody is trusted, all classes that were named are alike
            score[named[j]] = score[named[j]] / total if total > 0 else 1 / n
        gold = gold_of(votes, item)
        write_row(scratch, n, 0.0, gold, rows[item])
        if n > 0 and gold >= 0:
            rows[item] = 0.0
            rows[item, gold] = 1.0
