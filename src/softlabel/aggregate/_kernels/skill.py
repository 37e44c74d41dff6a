"""Compiled passes for one-coin, glad and kos, which know one number of each person.

``votes`` is a ``Ballots`` (see ``truth.base``).
"""

from typing import Any

import numpy as np

from softlabel.aggregate._kernels import votes as passes
from softlabel.aggregate._kernels.votes import LEVEL, kernel

TINY = 1e-300  # stands for a chance of zero where a logarithm is taken
NEWTON = 2  # steps towards the ease of an item in every pass
HALVINGS = 6  # of a step that went too far
NO_WORSE = 1e-12  # rounding must not decide whether a step is taken


# ── one-coin: each person is right with one chance ───────────────────────────────────────────


@kernel
def coin_count(votes: Any, item: int, belief: Any, right: Any, asked: Any, mass: Any) -> None:
    """Add what the belief about an item says of those who voted on it."""
    for j in range(belief.size):
        mass[j] += belief[j]
    for vote in range(votes.start[item], votes.start[item + 1]):
        weight = votes.weight[vote] if votes.weight.size else 1.0
        asked[votes.annotator[vote]] += weight
        right[votes.annotator[vote]] += weight * belief[votes.label[vote]]


@kernel
def coin_begin(votes: Any, right: Any, asked: Any, mass: Any) -> None:
    """Add the statistics of vote shares."""
    belief = np.empty(mass.size)
    for item in range(votes.start.size - 1):
        if votes.start[item] == votes.start[item + 1]:
            continue
        passes.vote_shares(votes, item, belief)
        coin_count(votes, item, belief, right, asked, mass)


@kernel
def coin_infer(votes: Any, item: int, prior: Any, right: Any, wrong: Any, belief: Any) -> Any:
    """Write the belief about an item; return the log-likelihood of its votes.

    A vote for l adds the logarithm ``wrong`` to every class and ``right - wrong`` to l, so only l
    is touched, and classes that nobody named have one exponential together.
    """
    all_wrong = 0.0
    for j in range(belief.size):
        belief[j] = 0.0
    for vote in range(votes.start[item], votes.start[item + 1]):
        who = votes.annotator[vote]
        weight = votes.weight[vote] if votes.weight.size else 1.0
        all_wrong += weight * wrong[who]
        belief[votes.label[vote]] += weight * (right[who] - wrong[who])
    if votes.gold.size > 0 and votes.gold[item] >= 0:
        true = votes.gold[item]
        gained = belief[true] + np.log(max(prior[true], TINY))
        for j in range(belief.size):
            belief[j] = 1.0 if j == true else 0.0
        return all_wrong + gained
    top = -np.inf
    for j in range(belief.size):
        if prior[j] > 0 and belief[j] > top:
            top = belief[j]
    unnamed, total = np.exp(-top), 0.0
    for j in range(belief.size):
        if prior[j] > 0:
            belief[j] = prior[j] * (np.exp(belief[j] - top) if belief[j] != 0 else unnamed)
        else:
            belief[j] = 0.0
        total += belief[j]
    return all_wrong + top + passes.divide(belief, total)


@kernel
def coin_expect(votes: Any, prior: Any, chances: Any, sums: Any, rows: Any) -> Any:
    """Infer beliefs about all items; return the log-likelihood of the votes.

    ``chances`` are each person's logarithms of being right and of naming one certain wrong class.
    Statistics are added to ``sums`` (right, asked, mass of the classes), unless these are
    empty; beliefs are written to ``rows``, unless that is.
    """
    right, wrong = chances
    to_right, asked, mass = sums
    belief = np.empty(prior.size)
    total = 0.0
    for item in range(votes.start.size - 1):
        if votes.start[item] == votes.start[item + 1]:
            continue
        total += coin_infer(votes, item, prior, right, wrong, belief)
        if mass.size:
            coin_count(votes, item, belief, to_right, asked, mass)
        for j in range(rows.shape[1]):
            rows[item, j] = belief[j]
    return total


# ── glad: ability and difficulty ─────────────────────────────────────────────────────────────


@kernel
def chance_right(x: float) -> Any:
    """Return sigmoid(x) and log(1 - sigmoid(x))."""
    small = np.exp(-abs(x))
    if x >= 0:
        return 1 / (1 + small), -x - np.log(1 + small)
    return small / (1 + small), -np.log(1 + small)


@kernel
def glad_score(votes: Any, item: int, ability: Any, scale: float, scratch: Any) -> Any:
    """Score as ``score_meant`` does, where a vote is right with chance sigmoid(ability * scale)."""
    weighted = votes.weight.size > 0
    score, seen, named = scratch
    rest = np.log(max(score.size - 1, 1))
    common, n = 0.0, 0
    for vote in range(votes.start[item], votes.start[item + 1]):
        label = votes.label[vote]
        weight = votes.weight[vote] if weighted else 1.0
        if seen[label] != item:
            seen[label], score[label], named[n] = item, 0.0, label
            n += 1
        x = ability[votes.annotator[vote]] * scale
        common += weight * (chance_right(x)[1] - rest)
        score[label] += weight * (x + rest)
    return common, n


@kernel
def ease_objective(ease: float, n: int, facts: Any, centre: float) -> Any:
    """Return the objective of an item's log ease, its slope, and the curvature of the votes.

    A vote that is right with chance p is worth p log s + (1 - p) log(1 - s) = p x + log(1 - s).
    """
    able, weight, chance = facts
    value = -0.5 * (ease - centre) ** 2
    slope, bend = centre - ease, 0.0
    scale = np.exp(ease)
    for j in range(n):
        x = able[j] * scale
        s, log_wrong = chance_right(x)
        pull = weight[j] * (chance[j] - s) * x
        value += weight[j] * (chance[j] * x + log_wrong)
        slope += pull
        bend += weight[j] * s * (1 - s) * x * x - pull
    return value, slope, bend


@kernel
def climb_ease(ease: float, n: int, facts: Any, centre: float) -> float:
    """Take a few Newton steps up, each halved until it does not lead down."""
    value, slope, bend = ease_objective(ease, n, facts, centre)
    for _ in range(NEWTON):
        step = min(max(slope / (1 + max(bend, 0.0)), -1.0), 1.0)
        for _ in range(HALVINGS):
            trial = ease_objective(ease + step, n, facts, centre)
            if trial[0] >= value - NO_WORSE * (1 + abs(value)):
                ease += step
                value, slope, bend = trial
                break
            step /= 2
    return ease


@kernel
def add_ability(votes: Any, item: int, facts: Any, scale: float, sums: Any) -> None:
    """Add what an item says of the abilities of those who voted on it: the slope, and the
    curvature of a parabola that touches the expected log-likelihood from below."""
    able, weight, chance = facts
    for vote in range(votes.start[item], votes.start[item + 1]):
        j = vote - votes.start[item]
        x = able[j] * scale
        s = chance_right(x)[0]
        bound = (s - 0.5) / x if abs(x) > 1e-4 else 0.25
        sums[votes.annotator[vote], 0] += weight[j] * (chance[j] - s) * scale
        sums[votes.annotator[vote], 1] += weight[j] * bound * scale * scale


@kernel
def glad_step(votes: Any, ability: Any, ease: Any, k: int, centre: float, sums: Any) -> Any:
    """E-step: return the log-likelihood and a better ease for every item; add to ``sums[a]`` what
    each ability learns."""
    weighted = votes.weight.size > 0
    scratch = passes.make_scratch(k)
    most = passes.most_votes(votes.start)
    facts = (np.empty(most), np.empty(most), np.empty(most))
    score, (able, weight, chance) = scratch[0], facts
    better = ease.copy()
    loglik = 0.0
    for item in range(votes.start.size - 1):
        first, last = votes.start[item], votes.start[item + 1]
        if first == last:
            continue
        common, n = glad_score(votes, item, ability, np.exp(ease[item]), scratch)
        total = passes.scores_to_chances(scratch, n, k, passes.gold_of(votes, item), item)
        loglik += common + total - np.log(k)
        for vote in range(first, last):
            able[vote - first] = ability[votes.annotator[vote]]
            weight[vote - first] = votes.weight[vote] if weighted else 1.0
            chance[vote - first] = score[votes.label[vote]]
        better[item] = climb_ease(ease[item], last - first, facts, centre)
        add_ability(votes, item, facts, np.exp(better[item]), sums)
    return loglik, better


@kernel
def glad_infer(votes: Any, ability: Any, ease: Any, rows: Any, sums: Any) -> float:
    """Write the posterior of every item; return the log-likelihood.

    Add to ``sums[a]`` the votes of each person that are expected to be right, and all votes.
    """
    weighted = votes.weight.size > 0
    k = rows.shape[1]
    scratch = passes.make_scratch(k)
    loglik = 0.0
    for item in range(votes.start.size - 1):
        scale = np.exp(ease[item])
        common, n = glad_score(votes, item, ability, scale, scratch)
        gold = passes.gold_of(votes, item)
        total = passes.scores_to_chances(scratch, n, k, gold, item)
        loglik += common + total - np.log(k)
        passes.write_row(scratch, n, np.exp(-total), gold, rows[item])
        for vote in range(votes.start[item], votes.start[item + 1]):
            who = votes.annotator[vote]
            weight = votes.weight[vote] if weighted else 1.0
            sums[who, 0] += weight * chance_right(ability[who] * scale)[0]
            sums[who, 1] += weight
    return loglik


# ── kos: messages between items and people ───────────────────────────────────────────────────


@kernel
def kos_step(votes: Any, message: Any, worth: Any, scale: float, heard: Any) -> Any:
    """Pass one round of messages: return the new ones and the sum of their squares.

    A vote's ``weight`` is its sign here.  An item sends ``message`` to everyone who voted on it
    and hears their ``worth`` less what came from itself; the new worth is added to ``heard``.
    """
    reply = np.empty(passes.most_votes(votes.start))
    new = np.empty_like(message)
    power = 0.0
    for item in range(votes.start.size - 1):
        first, gold = votes.start[item], passes.gold_of(votes, item)
        total, heard_all = 0.0, 0.0
        for vote in range(first, votes.start[item + 1]):
            sign = votes.weight[vote]
            reply[vote - first] = scale * (worth[votes.annotator[vote]] - sign * message[vote])
            total += sign * reply[vote - first]
            heard_all += abs(sign * reply[vote - first])
        for vote in range(first, votes.start[item + 1]):
            sign = votes.weight[vote]
            new[vote] = total - sign * reply[vote - first]
            if gold >= 0:  # all that it hears, in the right direction
                new[vote] = heard_all if gold == 0 else -heard_all
            heard[votes.annotator[vote]] += sign * new[vote]
            power += new[vote] ** 2
    return new, power


@kernel
def kos_decide(votes: Any, message: Any, worth: Any, rows: Any) -> None:
    """Decide by the sign of all replies to an item, or of its votes where the replies cancel: all
    mass on one class, or an even split."""
    for item in range(votes.start.size - 1):
        total, size, plain = 0.0, 0.0, 0.0
        for vote in range(votes.start[item], votes.start[item + 1]):
            sign = votes.weight[vote]
            reply = sign * (worth[votes.annotator[vote]] - sign * message[vote])
            total += reply
            size += abs(reply)
            plain += sign
        gold = passes.gold_of(votes, item)
        if gold >= 0:
            first = 1.0 * (gold == 0)
        elif abs(total) > LEVEL * size:
            first = 1.0 * (total > 0)
        else:
            first = 1.0 * (plain > 0) if abs(plain) > LEVEL else 0.5
        rows[item, 0] = first
        rows[item, 1] = 1 - first
        if votes.start[item] == votes.start[item + 1]:
            rows[item] = np.nan
