"""Methods that know one number of each person: one-coin, GLAD and KOS."""

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from softlabel.aggregate.truth import base
from softlabel.aggregate.truth.base import Inferred, Local, Sums, TruthPosterior, Votes
from softlabel.errors import DataError
from softlabel.registry import SMALLEST
from softlabel.tables import Floats, Index, Names, given_away

CENTRE = 1.0  # mean of the priors of ability and log ease; both have variance 1
HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


# ── one-coin: each person is right with one chance ───────────────────────────────────────────


class Coins(NamedTuple):
    """How common the classes are (k,), and how often each person is right (a,)."""

    prior: Floats
    right: Floats


@dataclass(frozen=True)
class OneCoin(base.EMMethod):
    """Each person a is right with chance p_a, and otherwise says any other class alike:

        P(true = j | votes) proportional to pi_j prod_a (p_a if a said j else (1 - p_a) / (k - 1)).

    EM from vote shares.  Everybody gets ``smoothing`` imaginary votes, of which the share
    ``diagonal`` is right (a Beta prior), and so does pi, evenly; ``smoothing=0`` has no prior.
    """

    smoothing: float = 2.0
    diagonal: float = 0.7
    n_iter: int = 100
    tol: float = 1e-6

    name: ClassVar[str] = "one-coin"
    paper: ClassVar[str] = "Zhang, Chen, Zhou & Jordan 2016"
    limits: ClassVar = {"smoothing": (0, math.inf), "diagonal": (SMALLEST, 1 - SMALLEST)}

    @property
    def objective(self) -> str:
        return "penalised log-likelihood" if self.smoothing else "log-likelihood"

    def begin(self, part: Votes) -> Sums:
        from softlabel.aggregate._kernels import skill as kernels  # loads numba

        right, asked = np.zeros(part.annotators), np.zeros(part.annotators)
        mass = np.zeros(part.labels)
        kernels.coin_begin(part.ballots(), right, asked, mass)
        return np.zeros(1), right, asked, mass

    def learn(self, sums: Sums, before: Any = None) -> Coins:
        _, right, asked, mass = sums
        total = asked + self.smoothing
        share = np.full(len(right), np.nan)  # nobody refers to who has no votes
        expected = self.smoothing * self._expected(len(mass))
        np.divide(right + expected, total, out=share, where=total > 0)
        k, items = len(mass), mass.sum() + self.smoothing
        prior = (mass + self.smoothing / k) / items if items > 0 else np.full(k, 1 / k)
        return Coins(prior, np.minimum(share, 1.0))

    def _expected(self, k: int) -> float:
        return self.diagonal if k > 1 else 1.0  # of one class nobody can be wrong

    def penalty(self, parameters: Coins) -> float:
        if self.smoothing == 0:
            return 0.0
        prior, right = parameters
        total = np.log(prior).mean() + self._expected(len(prior)) * np.log(right).sum()
        if len(prior) > 1:
            total += (1 - self.diagonal) * np.log1p(-right).sum()
        return float(self.smoothing * total)

    def step(self, part: Votes, parameters: Coins) -> Sums:
        right, asked = np.zeros(part.annotators), np.zeros(part.annotators)
        mass = np.zeros(part.labels)
        total = _expect(part, parameters, (right, asked, mass), np.zeros((0, 0)))
        return np.array([total]), right, asked, mass

    def posterior(self, part: Votes, parameters: Coins) -> Floats:
        rows = np.empty((part.items, part.labels))
        rows[np.diff(part.start) == 0] = np.nan
        _expect(part, parameters, (np.zeros(0), np.zeros(0), np.zeros(0)), rows)
        return rows

    def resume(self, sums: Sums, start: TruthPosterior, index: Index) -> Coins:
        if start.prior is None:
            raise DataError("the result to start from has no prior")
        right = base.resume_skill(start, index, self.learn(sums).right)
        return Coins(np.asarray(start.prior[base.match_classes(start, index)]), right)

    def describe(self, result: base.FitResult) -> dict[str, Any]:
        prior, right = result.parameters
        return {"skill": base.mask_unasked(right, result.asked), "prior": given_away(prior.copy())}


def _expect(part: Votes, parameters: Coins, sums: tuple[Floats, ...], rows: Floats) -> float:
    from softlabel.aggregate._kernels import skill as kernels

    prior, right = parameters
    wrong = (1 - right) / max(part.labels - 1, 1)
    logs = tuple(base.read_only(np.log(np.maximum(p, kernels.TINY))) for p in (right, wrong))
    return float(kernels.coin_expect(part.ballots(), base.read_only(prior), logs, sums, rows))


# ── GLAD: able people, difficult items ───────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False, repr=False)
class GladPosterior(TruthPosterior):
    """What GLAD knows besides: ``ability[a]`` (0: guesses, below 0: knows and misleads) and
    ``difficulty[m]`` (0: everybody with any ability is right; large: nobody knows)."""

    ability: Floats = field(default_factory=lambda: base.NOTHING)
    difficulty: Floats = field(default_factory=lambda: base.NOTHING)


@dataclass(frozen=True)
class Glad(base.TruthMethod):
    """A vote is right with a chance that grows with ability a and falls with difficulty d:

        P(right) = sigmoid(a / d),   and each wrong class has (1 - P(right)) / (K - 1),

    all classes being equally common, with priors a ~ N(1, 1) and log(1 / d) ~ N(1, 1).  EM finds
    the mode of their posterior: each step does an E-step, two Newton steps for the difficulty of
    every item, and for every ability the step to the top of a parabola that lies below the
    objective (Jaakkola & Jordan 2000), all in one pass over the votes.
    """

    n_iter: int = 100
    tol: float = 1e-6

    name: ClassVar[str] = "glad"
    paper: ClassVar[str] = "Whitehill, Ruvolo, Wu, Bergsma & Movellan 2009"
    result: ClassVar[type[TruthPosterior]] = GladPosterior

    def infer(self, engine: Local, index: Index, start: TruthPosterior | None) -> Inferred:
        m, a, k = index.shape
        ability, ease = np.full(a, CENTRE), np.full(m, CENTRE)  # ease: log(1 / difficulty)
        if start is not None:
            if not isinstance(start, GladPosterior) or not len(start.ability):
                raise DataError("the result of glad to start from has no abilities")
            _copy_known(ability, index.annotators, start.ability, start.index.annotators)
            _copy_known(ease, index.items, -np.log(start.difficulty), start.index.items)
        (total,), given = engine.sum(base.count_votes)
        asked = given > 0
        answered = np.concatenate([np.diff(part.start) > 0 for part in engine.parts])
        eases = np.split(ease, np.cumsum([part.items for part in engine.parts])[:-1])

        def over_parts(function: Any) -> tuple[list[Any], float, Floats]:
            """Return what each part keeps, the log-likelihood, and the sums over all parts."""
            everybody = [ability] * len(engine.parts)
            results = list(engine.map(function, engine.parts, everybody, eases))
            loglik, sums = base.add_sums(tuple(rest) for _, *rest in results)
            return [own for own, *_ in results], float(loglik[0]), sums

        def log_prior() -> float:
            known = np.concatenate([ability[asked], np.concatenate(eases)[answered]])
            return float(-0.5 * ((known - CENTRE) ** 2).sum() - HALF_LOG_2PI * len(known))

        trace: list[float] = []
        converged = False
        for _ in range(self.n_iter):
            before = log_prior()
            eases, loglik, sums = over_parts(_climb)
            slope, curve = sums.T
            ability = ability + (slope + CENTRE - ability) / (curve + 1)
            trace.append(loglik + before)
            converged = len(trace) > 1 and bool(abs(trace[-1] - trace[-2]) < self.tol * total)
            if converged:
                break
        rows, loglik, sums = over_parts(_infer)
        trace.append(loglik + log_prior())
        right = sums[:, 0] / np.where(sums[:, 1] > 0, sums[:, 1], 1)
        difficulty = np.where(answered, np.exp(-np.concatenate(eases)), np.nan)
        return base.stack_rows(rows, m, k), {
            "skill": base.mask_unasked(right, asked),
            "trace": given_away(np.array(trace)),
            "objective": "log posterior density",
            "converged": converged,
            "ability": base.mask_unasked(ability, asked),
            "difficulty": given_away(difficulty),
        }


def _copy_known(values: Floats, names: Names, earlier: Floats, earlier_names: Names) -> None:
    """Overwrite values by earlier ones under the same name."""
    known = dict(zip(earlier_names.tolist(), earlier.tolist(), strict=True))
    for code, name in enumerate(names.tolist()):
        value = known.get(name, math.nan)
        if not math.isnan(value):
            values[code] = value


def _climb(part: Votes, ability: Floats, ease: Floats) -> tuple[Any, ...]:
    """Return new eases; and to be added over parts, log-likelihood and what abilities learn."""
    from softlabel.aggregate._kernels import skill as kernels

    sums = np.zeros((len(ability), 2))
    known = base.read_only(ability), base.read_only(ease)
    loglik, better = kernels.glad_step(part.ballots(), *known, part.labels, CENTRE, sums)
    return better, np.array([loglik]), sums


def _infer(part: Votes, ability: Floats, ease: Floats) -> tuple[Any, ...]:
    """Return posteriors; and to be added over parts, log-likelihood and votes right, and all."""
    from softlabel.aggregate._kernels import skill as kernels

    rows, sums = np.empty((part.items, part.labels)), np.zeros((len(ability), 2))
    known = base.read_only(ability), base.read_only(ease)
    loglik = kernels.glad_infer(part.ballots(), *known, rows, sums)
    return rows, np.array([loglik]), sums


# ── KOS: Karger, Oh and Shah's messages between items and people, for two classes ────────────


@dataclass(frozen=True)
class Kos(base.TruthMethod):
    """Belief propagation for two classes, votes being signs A_ia = +1 or -1:

        x_(i to a) = sum over b ≠ a of A_ib y_(b to i),
        y_(a to i) = sum over j ≠ i of A_ja x_(j to a),

    ``n_iter`` rounds from y = 1; the sign of sum_a A_ia y_(a to i) decides, and 0 is an even
    split.  (The paper starts from y drawn from N(1, 1); its mean makes the result one of the votes
    alone.)  Where items were given out at random two rounds say what more would; elsewhere more
    let the busiest people drown all others.  Messages are scaled after each round.  A soft
    annotation has the sign p_1 - p_2; several votes of one person on one item are added.
    """

    n_iter: int = 2
    tol: float = 1e-6

    name: ClassVar[str] = "kos"
    paper: ClassVar[str] = "Karger, Oh & Shah 2011"
    classes: ClassVar[int] = 2

    def check(self, index: Index) -> None:
        """Refuse more than two classes."""
        k = len(index.labels)
        if k > self.classes:
            names = ", ".join(index.labels[:3].tolist())
            raise DataError(
                f"kos decides between two classes and here are {k:,} ({names}, …); "
                "for more there are dawid-skene, one-coin, glad and mace"
            )

    def infer(self, engine: Local, index: Index, start: TruthPosterior | None) -> Inferred:
        parts = [_sign_votes(part) for part in engine.parts]
        edges = sum(len(part) for part in parts)
        messages = [np.zeros(len(part)) for part in parts]
        # 1 for everybody, or 2 skill - 1 from an earlier result: guessing is worth nothing
        worth = 2 * base.resume_skill(start, index, 1.0) - 1
        scale, converged = 1.0, False
        for _ in range(self.n_iter):
            broadcast = [worth] * len(parts), [scale] * len(parts)
            results = list(engine.map(_pass_messages, parts, messages, *broadcast))
            heard, power = base.add_sums(sums for _, *sums in results)
            if power[0] == 0:  # nobody has heard of anybody: what came before decides
                break
            before = worth * scale
            messages, worth = [message for message, *_ in results], heard
            scale = 1 / math.sqrt(power[0] / edges)
            change = np.linalg.norm(worth * scale - before)
            converged = bool(change <= self.tol * np.linalg.norm(before))
            if converged and self.tol > 0:
                break
        rows = list(engine.map(_decide, parts, messages, [worth] * len(parts)))
        hits, total = base.add_sums(map(_count_agreement, engine.parts, rows))
        skill = base.mask_unasked(hits / np.where(total > 0, total, 1), total)
        m, _, k = index.shape
        return base.stack_rows(rows, m, 2)[:, :k], {"skill": skill, "converged": converged}


def _sign_votes(votes: Votes) -> Votes:
    """Return one vote per person and item, weighted by the sum of their signs: + for the first
    class, - for the second."""
    item = np.repeat(np.arange(votes.items), np.diff(votes.start))
    pair, which = np.unique(item * votes.annotators + votes.annotator, return_inverse=True)
    sign = np.where(votes.label == 0, 1.0, -1.0)
    if votes.weight is not None:
        sign *= votes.weight
    item, who = np.divmod(pair, max(votes.annotators, 1))
    signs: Floats = np.asarray(np.bincount(which, sign, minlength=len(pair)), dtype=np.float64)
    start = np.zeros(votes.items + 1, dtype=np.int64)
    np.cumsum(np.bincount(item, minlength=votes.items), out=start[1:])
    return replace(
        votes,
        start=given_away(start),
        annotator=given_away(who.astype(np.int32)),
        label=given_away(np.zeros(len(pair), votes.label.dtype)),
        weight=given_away(signs),
    )


def _pass_messages(part: Votes, message: Floats, worth: Floats, scale: float) -> tuple[Any, ...]:
    """Return the new messages; and to be added over parts, the worth heard and the power sent."""
    from softlabel.aggregate._kernels import skill as kernels

    heard = np.zeros_like(worth)
    state = base.read_only(message), base.read_only(worth)
    new, power = kernels.kos_step(part.ballots(), *state, scale, heard)
    return new, heard, np.array([power])


def _decide(part: Votes, message: Floats, worth: Floats) -> Floats:
    from softlabel.aggregate._kernels import skill as kernels

    rows = np.empty((part.items, 2))
    kernels.kos_decide(part.ballots(), base.read_only(message), base.read_only(worth), rows)
    return rows


def _count_agreement(part: Votes, rows: Floats) -> Sums:
    """Return how many of each person's votes the decisions agree with, and all."""
    item = np.repeat(np.arange(part.items), np.diff(part.start))
    weight = np.ones(len(part)) if part.weight is None else part.weight
    right = weight * rows[item, part.label]
    counts = (np.bincount(part.annotator, each, part.annotators) for each in (right, weight))
    return tuple(counts)
