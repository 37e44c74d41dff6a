"""How every method runs that asks which class is true.

Votes are sorted by item once and cut into parts.  A method is a few steps over the parts: each
step takes the votes of a part and the parameters and returns sums.  A step has no memory, so a
part may be computed anywhere and a lost one is computed again.  Expectation maximisation (``fit``)
is a loop of such steps.  ``TruthMethod`` is the one entry point: it checks the input, runs the
method and returns a ``TruthPosterior``.
"""

import math
from builtins import map as in_turn
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise, repeat
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from softlabel._util.machine import cores
from softlabel.errors import DataError, UnknownName
from softlabel.registry import Options, check_parameters
from softlabel.tables import Annotations, Estimand, Floats, Index, Ints, SoftLabels, given_away

Map = Callable[..., Iterable[Any]]
Gold = Mapping[str, str] | npt.NDArray[np.signedinteger[Any]]
Sums = tuple[Any, ...]  # arrays; the first has one element, the log-likelihood
Parameters = Any
Inferred = tuple[Floats, dict[str, Any]]  # (m, k) rows, and the other fields of the result
Tell = Callable[[int, float], None]  # is called with (iteration, objective)

UNKNOWN = -1  # gold code of an item whose class is not known
MANY = 2**19  # votes; fewer are sorted before threads have started
WORTH_A_THREAD = 2**14  # votes; fewer are done sooner than handed over
PIECE = 2**20  # votes that are counted at a time
NUMBERS = 2**18  # in a piece of a posterior on its way into the whole: 2 MB
NOTHING: Floats = given_away(np.zeros(0))


@dataclass(frozen=True, eq=False, repr=False)
class TruthPosterior(SoftLabels):
    """Which class is true: ``probs`` is how sure one may be of it, not how people split.

    ``skill[a]`` is how often a person is right, as the method sees it (NaN: never asked);
    ``confusion[a, j, l]`` the chance that somebody says l where j is true, for methods that
    estimate it, with ``confusion_low`` and ``confusion_high`` where the method knows how sure it
    is; ``prior[j]`` how common the classes are.  ``trace`` holds the ``objective`` after every
    step: the quantity that the method maximises.
    """

    skill: Floats = field(default_factory=lambda: NOTHING)
    confusion: Floats | None = None
    confusion_low: Floats | None = None
    confusion_high: Floats | None = None
    prior: Floats | None = None
    trace: Floats = field(default_factory=lambda: NOTHING)
    objective: str = ""
    converged: bool = True


# ── votes, item by item ──────────────────────────────────────────────────────────────────────


class Ballots(NamedTuple):
    """Votes as the kernels are compiled for; ``weight`` or ``gold`` is empty if there is none."""

    start: npt.NDArray[Any]
    annotator: npt.NDArray[Any]
    label: npt.NDArray[Any]
    weight: npt.NDArray[Any]
    gold: npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Votes:
    """Votes sorted by item: those on item i are ``start[i]:start[i + 1]``.

    A soft annotation is several votes of one person, one for each class it gives a chance to, with
    that chance as its ``weight``.  ``weight`` is None for hard votes: each counts 1.  Two votes of
    one person on one item are two votes.  ``gold[i]`` is the class of an item where it is known,
    else -1; None if no class is known.
    """

    start: Ints  # (m + 1,) int64
    annotator: Ints  # (n,) int32
    label: Ints  # (n,) int16, or int32 where there are more classes
    weight: Floats | None  # (n,)
    items: int
    annotators: int
    labels: int
    gold: Ints | None = None  # (m,) int32

    def __len__(self) -> int:
        return len(self.annotator)

    def ballots(self) -> Ballots:
        """Return the votes for a kernel."""
        weight = np.zeros(0) if self.weight is None else self.weight
        gold = np.zeros(0, np.int32) if self.gold is None else self.gold
        arrays = (self.start, self.annotator, self.label, weight, gold)
        return Ballots(*(read_only(array) for array in arrays))

    def cut(self, shards: int) -> list[Self]:
        """Return at most ``shards`` ranges of items with about equally many votes, not copied."""
        wanted = np.linspace(0, len(self), shards + 1)[1:-1]
        edges = np.unique([0, *np.searchsorted(self.start, wanted), self.items]).tolist()
        parts = []
        for low, high in pairwise(edges):
            votes, start = slice(*self.start[[low, high]]), self.start[low : high + 1]
            part: dict[str, Any] = {
                "start": given_away(start - start[0]),
                "annotator": self.annotator[votes],
                "label": self.label[votes],
                "weight": None if self.weight is None else self.weight[votes],
                "gold": None if self.gold is None else self.gold[low:high],
            }
            parts.append(replace(self, items=high - low, **part))
        return parts if len(parts) > 1 else [self]


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a contiguous read-only view, so that one compiled kernel serves every array."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def sort_votes(annotations: Annotations, method: str, gold: Gold | None = None) -> Votes:
    """Sort annotations by item; within an item they keep their order.  ``method`` needs to know who
    said what: anonymous votes are refused in its name.  The sort is by counting.  Each thread has a
    range of the rows: it counts them, learns from the others' counts where its votes on each item
    begin, and writes them there."""
    from softlabel.aggregate._kernels import votes as kernels  # loads numba

    if annotations.anonymous:
        raise DataError(
            f"{method} weighs people, but some votes have no annotator; pools that do not: mean, "
            "share, majority, dirichlet, dirichlet-mixture"
        )
    m, a, k = annotations.index.shape
    label = np.zeros(0, np.int16) if annotations.label is None else annotations.label
    probs = np.zeros((0, 0)) if annotations.probs is None else annotations.probs
    table = [read_only(each) for each in (annotations.item, annotations.annotator, label, probs)]
    threads = min(cores(), 4) if len(annotations) >= MANY else 1
    edges = np.linspace(0, len(annotations), threads + 1).astype(np.int64).tolist()
    rows = [tuple(column[low:high] for column in table) for low, high in pairwise(edges)]
    most = len(annotations) * (1 if annotations.hard else k)
    free = np.zeros((threads, m), np.int32 if most < 2**31 else np.int64)
    with ThreadPoolExecutor(threads) as pool:  # starts no thread before it gets work
        run = pool.map if threads > 1 else in_turn
        list(run(kernels.count_per_item, rows, free))
        start = np.zeros(m + 1, dtype=np.int64)
        for part in free:
            start[1:] += part
        np.cumsum(start, out=start)
        begins = start[:-1]
        for part in free:
            begins, part[:] = begins + part, begins
        n = int(start[-1])
        annotator = np.empty(n, dtype=np.int32)
        codes: Ints = np.empty(n, dtype=np.int16 if k <= 2**15 else np.int32)
        weight = np.empty(0 if annotations.hard else n)
        list(run(kernels.place, rows, free, *(repeat(out) for out in (annotator, codes, weight))))
    for array in (start, annotator, codes, weight):
        given_away(array)
    weights, known = None if annotations.hard else weight, encode_gold(gold, annotations.index)
    return Votes(start, annotator, codes, weights, m, a, k, known)


def encode_gold(gold: Gold | None, index: Index) -> Ints | None:
    """(m,) the known class of each item, -1 where none is; None if nothing is known at all.

    ``gold`` is item name -> label name, or already an array of codes.
    """
    if gold is None:
        return None
    m, _, k = index.shape
    codes = np.full(m, UNKNOWN, dtype=np.int32)
    if isinstance(gold, Mapping):
        label = {name: code for code, name in enumerate(index.labels.tolist())}
        items = {name: code for code, name in enumerate(index.items.tolist())}
        unknown = []
        for item, name in gold.items():
            if item not in items:
                unknown.append(item)
            elif name not in label:
                raise UnknownName(f"label of gold item {item!r}", str(name), label)
            else:
                codes[items[item]] = label[name]
        if unknown:
            raise DataError(
                f"gold names item {unknown[0]!r}, which nobody was asked about; "
                f"{len(unknown)} of {len(gold)} gold items are unknown"
            )
    else:
        given = np.asarray(gold)
        if given.shape != (m,) or given.dtype.kind not in "iu":
            raise DataError(
                f"gold is an array of shape {given.shape} and type {given.dtype}, "
                f"expected ({m},) whole numbers: one code per item, -1 where the class is unknown"
            )
        for row in np.flatnonzero((given < UNKNOWN) | (given >= k)):
            right = f"expected -1 or a class 0..{k - 1}"
            raise DataError(f"gold of item {row} is {given[row]}, {right}")
        codes = given.astype(np.int32)
    return given_away(codes) if (codes != UNKNOWN).any() else None


# ── parts, and who computes them ─────────────────────────────────────────────────────────────


class Engine(Protocol):
    """Where the parts are, and how a function gets to them."""

    def sum(self, function: Callable[..., Sums], /, *broadcast: Any) -> Sums:
        """Add ``function(part, *broadcast)`` over all parts, pairwise and in a fixed order."""

    def each(self, function: Callable[..., Any], /, *broadcast: Any) -> Iterable[Any]:
        """Return ``function(part, *broadcast)`` of every part, in the order of the items."""


@dataclass(frozen=True)
class Local:
    """Parts in the memory of this process, and a ``map`` to run over them."""

    parts: Sequence[Votes]
    map: Map = in_turn

    def sum(self, function: Callable[..., Sums], /, *broadcast: Any) -> Sums:
        return tuple(add_sums(self.each(function, *broadcast)))

    def each(self, function: Callable[..., Any], /, *broadcast: Any) -> Iterable[Any]:
        return self.map(function, self.parts, *(repeat(value) for value in broadcast))

    def finer(self, pieces: int) -> Self:
        """Return the same items in about so many parts, for results that are large."""
        per_part = -(-pieces // len(self.parts))
        return replace(self, parts=[cut for part in self.parts for cut in part.cut(per_part)])

    def rows(self, function: Callable[..., Floats], /, *broadcast: Any) -> Floats:
        """Return ``function(part, *broadcast)``, (items, k) rows, of all items together."""
        m, k = sum(part.items for part in self.parts), self.parts[0].labels
        return stack_rows(self.finer(m * k // NUMBERS).each(function, *broadcast), m, k)


def stack_rows(parts: Iterable[Floats], m: int, k: int) -> Floats:
    """Stack the rows of all parts; each part is freed once copied, a single one is not copied."""
    rows = np.empty((m, k))
    done = 0
    for part in parts:
        if len(part) == m:
            return part
        rows[done : done + len(part)] = part
        done += len(part)
    return rows


def _add_entries(left: Sums, right: Sums) -> Sums:
    """Add entry by entry, into the arrays of ``left``."""
    for array, other in zip(left, right, strict=True):
        array += other
    return left


def add_sums(results: Iterable[Any], plus: Callable[[Any, Any], Any] = _add_entries) -> Any:
    """Add the sums of all parts as a tree: equal neighbours are added as soon as both are there.

    Few are held at a time, and the same parts give the same rounding wherever they were computed.
    ``plus`` adds sums that are held elsewhere.
    """
    waiting: list[tuple[int, Any]] = []  # (how many parts are in it, their sum)
    for result in results:
        size, total = 1, result
        while waiting and waiting[-1][0] == size:
            total = plus(waiting.pop()[1], total)
            size *= 2
        waiting.append((size, total))
    total = waiting.pop()[1]
    while waiting:
        total = plus(waiting.pop()[1], total)
    return total


@contextmanager
def open_local(votes: Votes, map: Map | None = None, shards: int | None = None) -> Iterator[Local]:
    """Cut the votes into ``shards`` parts (default: one per core) under ``map`` (threads)."""
    if shards is not None and shards < 1:
        raise DataError(f"shards = {shards}: at least one is needed")
    parts = votes.cut(shards or min(cores(), 1 + len(votes) // WORTH_A_THREAD))
    if map is not None or len(parts) == 1:
        yield Local(parts, map or in_turn)
        return
    workers = min(len(parts), cores())
    with ThreadPoolExecutor(workers) as threads:
        yield Local(parts, partial(_map_ahead, threads, 2 * workers))


def _map_ahead(threads: ThreadPoolExecutor, most: int, function: Any, *columns: Any) -> Any:
    """Map in threads at most ``most`` calls ahead, so that large results do not pile up."""
    begun: deque[Future[Any]] = deque()
    for arguments in zip(*columns, strict=False):  # as map does
        if len(begun) == most:
            yield begun.popleft().result()
        begun.append(threads.submit(function, *arguments))
    while begun:
        yield begun.popleft().result()


# ── expectation maximisation ─────────────────────────────────────────────────────────────────


class Model(Protocol):
    """One method, picklable.  All that its steps know of the data are the votes of one part."""

    def begin(self, part: Votes, /) -> Sums:
        """Statistics of the posterior from which the method starts (vote shares; gold one-hot)."""

    def learn(self, sums: Sums, before: Parameters | None = None, /) -> Parameters:
        """M-step: the best parameters for these sums, whose arrays it may use up; or better ones
        than ``before``, those of the step that made the sums."""

    def penalty(self, parameters: Parameters, /) -> float:
        """What the objective has besides the log-likelihood: the log prior, or minus a KL."""

    def step(self, part: Votes, parameters: Parameters, /) -> Sums:
        """E-step and the statistics of its posterior, in one pass over the part."""

    def posterior(self, part: Votes, parameters: Parameters, /) -> Floats:
        """E-step alone: (items of the part, k) rows, NaN for an item without votes."""


@dataclass(frozen=True)
class FitResult:
    """Parameters, the objective after every E-step, and how many votes each person gave."""

    parameters: Parameters
    trace: Floats
    converged: bool
    asked: Ints


@dataclass(frozen=True)
class FitState:
    """Where a fit was stopped: parameters for the next step, and the objective of steps made."""

    parameters: Parameters
    trace: Sequence[float]


_WATCH: ContextVar[Tell | None] = ContextVar("watch", default=None)


def fit(
    model: Model,
    engine: Engine,
    *,
    n_iter: int,
    tol: float,
    start: Parameters | FitState | None = None,
    tell: Tell | None = None,
    keep: Callable[[Parameters, int], None] | None = None,
) -> FitResult:
    """Climb the objective until a step gains less than ``tol`` per vote, or for ``n_iter`` steps.

    With ``tol=0`` exactly ``n_iter`` steps are made.  ``start`` replaces the method's own start, or
    continues an earlier call (``FitState``).  ``tell(iteration, objective)`` is called after every
    step, ``keep(parameters, iteration)`` with the parameters of the next one.
    """
    votes, asked = engine.sum(count_votes)
    trace: list[float] = []
    if isinstance(start, FitState):
        start, trace = start.parameters, list(start.trace)
    parameters = model.learn(engine.sum(model.begin)) if start is None else start
    tell = tell or _WATCH.get()
    converged = False
    for iteration in range(len(trace) + 1, n_iter + 1):
        sums = engine.sum(model.step, parameters)
        trace.append(float(sums[0][0]) + model.penalty(parameters))
        if tell is not None:
            tell(iteration, trace[-1])
        converged = len(trace) > 1 and abs(trace[-1] - trace[-2]) < tol * float(votes[0])
        if converged or iteration == n_iter:
            break
        parameters = model.learn(sums, parameters)
        if keep is not None:
            keep(parameters, iteration)
    return FitResult(parameters, np.array(trace), converged, asked)


@contextmanager
def watch_fit(tell: Tell) -> Iterator[None]:
    """Call ``tell`` after every step of all fits in this block."""
    token = _WATCH.set(tell)
    try:
        yield
    finally:
        _WATCH.reset(token)


def count_votes(part: Votes) -> Sums:
    """Return how many votes there are, and how many of each person."""
    asked = np.zeros(part.annotators, dtype=np.int64)
    for first in range(0, len(part), PIECE):  # bincount makes a wider copy of each piece
        piece = part.annotator[first : first + PIECE]
        asked += np.bincount(piece, minlength=part.annotators)
    return np.array([float(len(part))]), asked


# ── from annotations to a posterior ──────────────────────────────────────────────────────────


class TruthMethod(Options):
    """The entry point of all methods: check the input, infer, and return the result."""

    name: ClassVar[str]
    estimand: ClassVar[Estimand] = "truth"
    result: ClassVar[type[TruthPosterior]] = TruthPosterior

    def __post_init__(self) -> None:
        steps = {"n_iter": (1, math.inf), "tol": (0, math.inf)}
        own = {name: limits for name, limits in steps.items() if hasattr(self, name)}
        check_parameters(self, **self.limits, **own)

    def __call__(
        self,
        annotations: Annotations,
        map: Map | None = None,
        shards: int | None = None,
        *,
        gold: Gold | None = None,
        start: TruthPosterior | None = None,
    ) -> TruthPosterior:
        """Return how sure one may be of each class of each item, and what was learned of people.
        ``gold`` (m,) are known classes (-1: not known), ``start`` is an earlier result to go on
        from, and ``map`` and ``shards`` spread the work."""
        self.check(annotations.index)
        if start is not None:
            maker = start.made_by.partition("(")[0]
            if maker != type(self).__name__:  # what another method learned means something else
                raise DataError(
                    f"{type(self).__name__} cannot start from what {maker or 'nobody'} made; "
                    "it starts from an earlier result of its own"
                )
        votes = sort_votes(annotations, self.name, gold)
        with open_local(votes, map, self.parts(annotations, shards)) as engine:
            probs, learned = self.infer(engine, annotations.index, start)
        return self.result(
            index=annotations.index,
            probs=given_away(probs),
            count=np.diff(votes.start) if annotations.hard else annotations.votes_per_item(),
            estimand=self.estimand,
            made_by=repr(self),
            **learned,
        )

    def check(self, index: Index) -> None:
        """Refuse data that the method cannot work on."""

    def parts(self, annotations: Annotations, shards: int | None) -> int | None:
        """Return into how many parts the votes are cut, by default what the caller asks for."""
        return shards

    def infer(self, engine: Local, index: Index, start: TruthPosterior | None) -> Inferred:
        """Return (m, k) rows, and the other fields of the result."""
        raise NotImplementedError


class EMMethod(TruthMethod):
    """A method that is its own ``Model``, fitted by expectation maximisation.

    ``objective`` is what the trace holds, ``resume(sums, start, index)`` returns the parameters of
    an earlier result, and for new people those of the sums, and ``describe(result)`` skills,
    confusions and prior, as fields of the result.
    """

    def infer(self: Any, engine: Local, index: Index, start: TruthPosterior | None) -> Inferred:
        result = self.best(engine, start, index)
        learned = {
            "trace": given_away(result.trace),
            "objective": self.objective,
            "converged": result.converged,
            **self.describe(result),
        }
        return self.infer_rows(engine, result.parameters), learned

    def best(
        self: Any, engine: Engine, start: TruthPosterior | None = None, index: Index | None = None
    ) -> FitResult:
        """Fit, from an earlier result about the people of ``index`` if there is one."""
        begun = None if start is None else self.resume(engine.sum(self.begin), start, index)
        return fit(self, engine, n_iter=self.n_iter, tol=self.tol, start=begun)

    def infer_rows(self: Any, engine: Local, parameters: Parameters) -> Floats:
        """Return the (m, k) posterior of all items."""
        return engine.rows(self.posterior, parameters)


def mask_unasked(values: Floats, asked: npt.NDArray[Any]) -> Floats:
    """Return the values of people who gave votes, NaN for all others."""
    return given_away(np.where(asked > 0, values, np.nan))


# ── what an earlier result says of the same people and classes ───────────────────────────────


def match_people(start: TruthPosterior, index: Index) -> tuple[Ints, Ints]:
    """Return the codes, here and in the earlier result, of people who are in both."""
    earlier = {name: code for code, name in enumerate(start.index.annotators.tolist())}
    names = index.annotators.tolist()
    here = [code for code, name in enumerate(names) if name in earlier]
    return np.array(here, np.int64), np.array([earlier[names[code]] for code in here], np.int64)


def match_classes(start: TruthPosterior, index: Index) -> Ints:
    """Return the earlier code of each class; both must have the same classes."""
    earlier = {name: code for code, name in enumerate(start.index.labels.tolist())}
    names = index.labels.tolist()
    odd = sorted(set(names) ^ set(earlier))
    if odd:
        raise DataError(f"the result to start from has other classes: {odd[0]!r} is in one only")
    return np.array([earlier[name] for name in names], np.int64)


def resume_skill(start: TruthPosterior | None, index: Index, otherwise: Any) -> Floats:
    """(a,) the skills of an earlier result, and ``otherwise`` for people who are not in it."""
    skill = np.full(len(index.annotators), otherwise, dtype=np.float64)
    if start is None:
        return skill
    if len(start.skill) != len(start.index.annotators):
        raise DataError("the result to start from says nothing of the annotators' skills")
    new, old = match_people(start, index)
    earlier = start.skill[old]
    skill[new] = np.where(np.isnan(earlier), skill[new], earlier)
    return skill
