"""The tables: frozen arrays that check themselves once, at birth.

Data move one way: ``Statements`` (what was said) -> ``Annotations`` (one label per answer) ->
``SoftLabels`` (one label per item); ``Predictions`` and ``Score`` stand at the other end.  Rows
hold integer codes; ``Index`` holds the names they stand for.  Nothing downstream checks again.

Letters in shapes: n rows (answers), m items, a annotators, k labels (classes), r classes named
in one answer.
"""

import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt
from scipy.special import entr

from softlabel.errors import DataError, EstimandWarning, UnknownId

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.signedinteger[Any]]
Bools = npt.NDArray[np.bool_]
Names = np.ndarray[tuple[int], np.dtypes.StringDType]

Array = TypeVar("Array", bound=npt.NDArray[Any])

Axis = Literal["items", "annotators", "labels"]
Estimand = Literal["distribution", "truth"]
ESTIMATES: Mapping[Estimand, str] = {
    "distribution": "how people split",
    "truth": "which class is true",
}
DOUBT: Mapping[Estimand, str] = {  # what the entropy of such a label says
    "distribution": "how people split",
    "truth": "how sure of the true class",
}

AXES: tuple[Axis, ...] = ("items", "annotators", "labels")
ANONYMOUS = -1  # annotator code of a vote whose author was never released
NAMES = np.dtypes.StringDType(coerce=False)
LARGEST_PERCENT = 1e6  # implausible is kept (people typed 2550); beyond this it is no chance
SIMPLEX_TOLERANCE = 1e-6  # published labels are rounded; anything further off is a mistake
PIECE = 2**14  # rows that are checked at a time


# ── checks ───────────────────────────────────────────────────────────────────────────────────


def broken(table: str, bad: Any, rule: str, values: Any = None) -> None:
    """Raise ``DataError`` naming the first bad row, its value, and how many of how many."""
    if bad.any():
        row = int(bad.argmax())
        shown = "" if values is None else f" (value {np.asarray(values)[row]})"
        raise DataError(
            f"{table}, row {row}: {rule}{shown}; {int(bad.sum())} of {len(bad)} rows break the rule"
        )


def check_simplex(table: str, probs: Floats, tolerance: float = SIMPLEX_TOLERANCE) -> None:
    """Each row is finite, not negative, and sums to one."""
    ones = np.ones(probs.shape[1])
    # all rows at once, in pieces that stay in the processor's cache; written to refuse NaN too
    pieces = (probs[first : first + PIECE] for first in range(0, len(probs), PIECE))
    if all(p.min(initial=0) >= 0 and abs(p @ ones - 1).max(initial=0) <= tolerance for p in pieces):
        return
    finite = np.isfinite(probs).all(axis=1)
    broken(table, ~finite, "a probability is not a finite number", probs)
    broken(table, (probs < 0).any(axis=1), "a probability is negative", probs)
    total = probs.sum(axis=1)
    broken(table, abs(total - 1) > tolerance, "probabilities do not sum to 1", total)


def _shaped(table: str, name: str, array: npt.NDArray[Any], shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise DataError(f"{table}.{name} has shape {array.shape}, expected {shape}")


def _codes(table: str, name: str, values: npt.ArrayLike, size: int, low: int = 0) -> Ints:
    """Integer codes in [low, size), in the smallest type of at least 16 bits that holds them."""
    array = np.asarray(values)
    if array.size == 0:
        array = array.astype(np.int32)
    if array.dtype.kind not in "iu":
        raise DataError(f"{table}.{name} must hold integer codes, not {array.dtype}")
    outside = ((array < low) | (array >= size)).any(axis=tuple(range(1, array.ndim)))
    broken(table, outside, f"{name} code outside {low}..{size - 1}", array)
    return given_away(array.astype(np.int16 if size <= 2**15 else np.int32))


def frozen(array: Array) -> Array:
    """An array that nobody can change: a copy, unless it is read-only already.

    Whoever makes a large array for a table alone freezes it first, and saves the copy.
    """
    array = array.copy() if array.flags.writeable else array.view()
    array.flags.writeable = False
    return array


def given_away(array: Array) -> Array:
    """Freeze a fresh array in place: its maker has no further use for it."""
    array.flags.writeable = False
    return array


def _floats(values: npt.ArrayLike) -> Floats:
    return frozen(np.asarray(values, dtype=np.float64))


def names(values: Sequence[str] | Names) -> Names:
    """Names as one compact array of strings."""
    if isinstance(values, np.ndarray) and isinstance(values.dtype, np.dtypes.StringDType):
        return frozen(values)
    try:
        return given_away(cast(Names, np.array(values, dtype=NAMES)))
    except ValueError:
        wrong = next(v for v in values if not isinstance(v, str))
        raise DataError(f"names must be text, not {wrong!r}") from None


def find_classes(columns: Sequence[Any], item: Any = "item") -> list[Any]:
    """Return which columns of a table of labels are classes: those before ``count``.  What follows
    it is none (intervals, what a pool says of an item), unless ``count`` stands before them all.

    >>> find_classes(["item", "cat", "dog", "count", "low:cat", "low:dog", "gain"])
    ['cat', 'dog']
    """
    others = [column for column in columns if column != item]
    end = others.index("count") if "count" in others else len(others)
    return others[:end] or others[end + 1 :]


def _distinct(values: Names) -> bool:
    """True if no name is there twice; of millions not all are Python objects at once."""
    hashes = np.empty(len(values), dtype=np.int64)
    for first in range(0, len(values), PIECE):
        hashes[first : first + PIECE] = [hash(n) for n in values[first : first + PIECE].tolist()]
    hashes.sort()
    return bool((hashes[1:] != hashes[:-1]).all()) or len(set(values.tolist())) == len(values)


def as_texts(values: Names) -> npt.NDArray[Any]:
    """Fixed-width text, which can be hashed, and stored in ``.npz`` without executable objects."""
    return np.array(values.tolist(), dtype=np.str_)


def _hand_over(room: str) -> Any:
    """Import by name what shows, loads and converts tables: one need not read it to read them."""
    return import_module(f"softlabel.{room}")


def _set(table: object, **arrays: object) -> None:
    for name, value in arrays.items():
        object.__setattr__(table, name, value)


class Shown:
    """A table that shows itself in one line, and in a notebook with bars."""

    def __repr__(self) -> str:
        return str(_hand_over("_util.notebook").describe(self))

    def _repr_html_(self) -> str:
        return str(_hand_over("_util.notebook").draw(self))


# ── tables ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False, repr=False)
class Index(Shown):
    """The names behind the codes: items, annotators and labels, each without repetition.

    Names are text.  Where the caller gave other ids (numbers, tuples, dates), ``given`` says how to
    turn a name into its id: ``int``, or the look-up in a dict.  ``ids`` returns the ids.
    ``ordered`` says that the labels are steps of a scale, in this order.
    """

    items: Names
    annotators: Names
    labels: Names
    given: Mapping[Axis, Callable[[str], Any]] = field(default_factory=dict)
    ordered: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        for name in AXES:
            array = names(getattr(self, name))
            if not _distinct(array):
                twice = Counter(array.tolist()).most_common(1)[0][0]
                raise DataError(f"Index.{name} holds {twice!r} more than once")
            _set(self, **{name: array})
        if not len(self.labels):
            raise DataError("Index.labels is empty: there must be at least one class")

    @property
    def shape(self) -> tuple[int, int, int]:
        """(m items, a annotators, k labels)."""
        return len(self.items), len(self.annotators), len(self.labels)

    def ids(self, axis: Axis, first: int | None = None) -> list[Any]:
        """Return the items, annotators or labels as they were given, all or the ``first`` few."""
        texts: list[Any] = getattr(self, axis)[:first].tolist()
        return [*map(self.given[axis], texts)] if axis in self.given else texts

    def code(self, axis: Axis, name: object) -> int:
        """Return the code of an item, annotator or label, by its id."""
        place = self._places[axis].get(name)
        if place is None:
            raise UnknownId(axis, name, self.ids(axis))
        return place

    def has(self, axis: Axis, name: object) -> bool:
        """Return whether there is an item, annotator or label with this id."""
        return name in self._places[axis]

    @cached_property
    def _places(self) -> dict[Axis, dict[Any, int]]:
        return {axis: {name: code for code, name in enumerate(self.ids(axis))} for axis in AXES}

    def keep_ids(self, *sources: "Index") -> "Index":
        """Return this index with the ids that ``sources`` have for the same names."""
        given: dict[Axis, Callable[[str], Any]] = {}
        for axis in AXES:
            known = {name: name for name in getattr(self, axis).tolist()}
            for source in sources:
                known |= zip(getattr(source, axis).tolist(), source.ids(axis), strict=True)
            if any(axis in source.given for source in sources):
                given[axis] = known.__getitem__
        return replace(self, given=given)


class _Rows(Shown):
    """What tables with one row per answer share."""

    index: Index
    item: Ints
    annotator: Ints

    def __len__(self) -> int:
        return len(self.item)

    def _check_rows(self) -> None:
        table = type(self).__name__
        items, annotators, _ = self.index.shape
        _set(
            self,
            item=_codes(table, "item", self.item, items),
            annotator=_codes(table, "annotator", self.annotator, annotators, low=ANONYMOUS),
        )
        _shaped(table, "item", self.item, (len(self),))
        _shaped(table, "annotator", self.annotator, (len(self),))

    @property
    def anonymous(self) -> bool:
        """True when some answers have no known author: methods that need annotators refuse them."""
        return bool((self.annotator == ANONYMOUS).any())

    def take(self, rows: npt.ArrayLike) -> Self:
        """The same table with these rows only; the index stays, so codes keep their meaning."""
        rows = np.asarray(rows)
        rows = rows if rows.size else np.zeros(0, dtype=np.int64)  # [] alone would be floats
        cut: dict[str, Any] = {}
        for column in fields(self):  # type: ignore[arg-type]
            value = getattr(self, column.name)
            if isinstance(value, np.ndarray):
                cut[column.name] = value[rows]
            elif isinstance(value, Mapping):
                cut[column.name] = {key: mask[rows] for key, mask in value.items()}
        return replace(self, **cut)  # type: ignore[type-var]


@dataclass(frozen=True, eq=False, repr=False)
class Statements(_Rows):
    """What people said, one row per answer, in the order in which each person gave them.

    ``named[n, r]`` are the classes a person named, in the order of naming (-1: no more);
    ``percent[n, r]`` the chance stated for each (NaN: no number given); ``possible[n, k]`` is
    False where the person ruled a class out.  Contradictions are kept: see ``flags``.
    ``repairs`` says which rows were mended on reading, by the name of the repair.
    """

    index: Index
    item: Ints
    annotator: Ints
    named: Ints
    percent: Floats
    possible: Bools
    repairs: Mapping[str, Bools] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._check_rows()
        _set(
            self,
            named=_codes("Statements", "named", self.named, len(self.index.labels), low=-1),
            percent=_floats(self.percent),
            possible=frozen(np.asarray(self.possible, dtype=np.bool_)),
            repairs={
                name: frozen(np.asarray(mask, dtype=np.bool_))
                for name, mask in self.repairs.items()
            },
        )
        n, k = len(self), len(self.index.labels)
        if self.named.ndim != 2:
            raise DataError(f"Statements.named has shape {self.named.shape}, expected ({n}, r)")
        _shaped("Statements", "named", self.named, (n, self.named.shape[1]))
        _shaped("Statements", "percent", self.percent, self.named.shape)
        _shaped("Statements", "possible", self.possible, (n, k))
        for name, mask in self.repairs.items():
            _shaped("Statements", f"repairs[{name!r}]", mask, (n,))
        given = ~np.isnan(self.percent)
        broken("Statements", (given & (self.named < 0)).any(axis=1), "a chance without a class")
        bad = given & ~((self.percent >= 0) & (self.percent <= LARGEST_PERCENT))
        rule = f"a chance must be from 0 to {LARGEST_PERCENT:g}"
        broken("Statements", bad.any(axis=1), rule, self.percent)

    @cached_property
    def stated(self) -> Floats:
        """(n, k) fraction stated for each class, NaN where none was; the first mention counts."""
        stated = np.full((len(self), len(self.index.labels)), np.nan)
        for r in reversed(range(self.named.shape[1])):
            rows = np.flatnonzero((self.named[:, r] >= 0) & ~np.isnan(self.percent[:, r]))
            stated[rows, self.named[rows, r]] = self.percent[rows, r] / 100
        return given_away(stated)

    @cached_property
    def contradictory(self) -> Bools:
        """(n,) the person named a class and also ruled it out."""
        rows = np.arange(len(self))[:, None]
        ruled_out: Bools = (self.named >= 0) & ~self.possible[rows, self.named]
        return given_away(np.asarray(ruled_out.any(axis=1)))


@dataclass(frozen=True, eq=False, repr=False)
class Annotations(_Rows):
    """One label per answer: ``label[n]`` (hard votes, codes) or ``probs[n, k]`` (soft)."""

    index: Index
    item: Ints
    annotator: Ints
    label: Ints | None = None
    probs: Floats | None = None

    def __post_init__(self) -> None:
        self._check_rows()
        n, k = len(self), len(self.index.labels)
        if (self.label is None) == (self.probs is None):
            raise DataError("Annotations need either label (hard votes) or probs (soft), not both")
        if self.label is not None:
            _set(self, label=_codes("Annotations", "label", self.label, k))
            _shaped("Annotations", "label", self.label, (n,))
        elif self.probs is not None:
            _set(self, probs=_floats(self.probs))
            _shaped("Annotations", "probs", self.probs, (n, k))
            check_simplex("Annotations", self.probs)

    @property
    def hard(self) -> bool:
        """True for votes, which are codes and never become an n x k array unless asked to."""
        return self.label is not None

    def soft(self) -> Floats:
        """(n, k) probabilities; a vote becomes a one-hot row."""
        if self.probs is not None:
            return self.probs
        assert self.label is not None, "one of the two bodies is there"
        hot = np.zeros((len(self), len(self.index.labels)))  # of thousands of classes, too
        hot[np.arange(len(self)), self.label] = 1
        return given_away(hot)

    def counts(self) -> Floats:
        """(m, k) votes per item and class; soft annotations count as fractions of a vote."""
        m, _, k = self.index.shape
        if self.label is not None:
            flat = np.bincount(self.item.astype(np.int64) * k + self.label, minlength=m * k)
            return flat.reshape(m, k).astype(np.float64)
        columns = [np.bincount(self.item, column, minlength=m) for column in self.soft().T]
        return np.stack(columns, axis=1)

    def votes_per_item(self) -> Ints:
        """(m,) how many answers each item has."""
        return np.bincount(self.item, minlength=len(self.index.items))


@dataclass(frozen=True, eq=False, repr=False)
class SoftLabels(Shown):
    """One soft label per item.  An item nobody answered has ``count`` 0 and a row of NaN:
    knowing nothing is not the same as believing in everything equally.

    ``estimand`` says what the label estimates: how people split (``distribution``) or which
    class is true (``truth``).  ``made_by`` is the strategy that made it.  ``more`` holds what else
    was asked for: ``low`` and ``high`` (m, k), the limits of credible intervals, and ``gain`` (m,),
    what one more vote would tell.  ``facts`` says what happened on the way.

    ``labels[item]`` is the distribution of one item, by class; iterating gives the items.
    """

    index: Index
    probs: Floats
    count: Ints
    estimand: Estimand = "distribution"
    made_by: str = ""
    more: Mapping[str, Floats] = field(default_factory=dict, kw_only=True)
    facts: Mapping[str, str] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        m, _, k = self.index.shape
        count = np.asarray(self.count)
        if count.size == 0:
            count = count.astype(np.int64)
        if count.dtype.kind not in "iu":
            raise DataError(f"SoftLabels.count must hold whole numbers, not {count.dtype}")
        _set(self, probs=_floats(self.probs), count=frozen(count))
        _shaped("SoftLabels", "probs", self.probs, (m, k))
        _shaped("SoftLabels", "count", self.count, (m,))
        for name, values in self.more.items():
            _shaped("SoftLabels", name, values, (m, k)[: values.ndim])
        broken("SoftLabels", self.count < 0, "count is negative", self.count)
        unanswered = self.count == 0
        if unanswered.any():
            filled = unanswered & ~np.isnan(self.probs).all(axis=1)
            broken("SoftLabels", filled, "an item nobody answered must have no label (NaN)")
            check_simplex("SoftLabels", np.where(unanswered[:, None], 1 / k, self.probs))
        else:
            check_simplex("SoftLabels", self.probs)
        if self.estimand not in ESTIMATES:
            raise DataError(f"SoftLabels.estimand is {self.estimand!r}: distribution or truth")

    def __len__(self) -> int:
        return len(self.count)

    def __getitem__(self, item: object) -> dict[Any, float]:
        row = self.probs[self.index.code("items", item)]
        return dict(zip(self.index.ids("labels"), row.tolist(), strict=True))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.index.ids("items"))

    def __contains__(self, item: object) -> bool:
        return self.index.has("items", item)

    def keys(self) -> list[Any]:
        """Return the items, so that ``dict(labels)`` works."""
        return self.index.ids("items")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.probs, dtype) if copy else np.asarray(self.probs, dtype)

    def to_polars(self) -> Any:
        """Return a polars frame: ``item``, one column per class, ``count``, and what there is of
        ``low:CLASS``, ``high:CLASS`` and ``gain``."""
        return _hand_over("frames").to_polars(self)

    def to_pandas(self) -> Any:
        """Return a pandas frame with the same columns; ids are as they were given."""
        return _hand_over("frames").to_pandas(self)

    def to_dataset(self) -> Any:
        """Return a Hugging Face ``Dataset``: ``item``, ``label``, ``soft_label``, ``count``."""
        return _hand_over("frames").to_dataset(self)

    @property
    def estimates(self) -> str:
        """What the labels estimate, in words."""
        return ESTIMATES[self.estimand]

    @property
    def answered(self) -> Bools:
        """(m,) True where at least one person answered."""
        return self.count > 0

    def entropy(self, of: Estimand = "distribution") -> Floats:
        """(m,) entropy in nats, read as that of how people split (``distribution``) or of which
        class is true (``truth``: how sure one may be of it); NaN where nobody answered.

        A label has one of the two only.  Asked for the other, the number is the same and an
        ``EstimandWarning`` says that it means something else.
        """
        if of not in ESTIMATES:
            raise DataError(f"entropy of {of!r}: there are distribution and truth")
        if of != self.estimand:
            warnings.warn(
                f"these labels ({self.made_by or 'of unknown make'}) estimate "
                f"{ESTIMATES[self.estimand]}: their entropy says {DOUBT[self.estimand]}, not "
                f"{DOUBT[of]}; ask for entropy({self.estimand!r}), or pool with a method that "
                f"estimates {ESTIMATES[of]}",
                EstimandWarning,
                stacklevel=2,
            )
        return np.asarray(entr(self.probs).sum(axis=1))

    def save(self, path: str | Path, more: Mapping[str, npt.NDArray[Any]] | None = None) -> None:
        """Plain arrays in one ``.npz``: ``item``, one column per class (named by the class),
        ``count``; and for numpy users the same as ``probs`` (m, k) with ``labels``.  ``more`` are
        arrays to be written beside them, which ``load`` does not look at."""
        arrays: dict[str, npt.NDArray[Any]] = {
            "item": as_texts(self.index.items),
            "count": self.count,
            "probs": self.probs,
            "labels": as_texts(self.index.labels),
            "annotators": as_texts(self.index.annotators),
            "estimand": np.array(self.estimand),
            "made_by": np.array(self.made_by),
            "ordered": np.array(self.index.ordered),
            **self.more,
            **(more or {}),
        }
        for label in self.index.labels.tolist():
            if label in arrays or label.endswith(".npy"):
                raise DataError(f"a class is called {label!r}, a name that the file itself uses")
        arrays.update(zip(self.index.labels.tolist(), self.probs.T, strict=True))
        # written member by member, because numpy.savez takes names as arguments and some are taken
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as box:
            for name, array in arrays.items():
                with box.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """What ``save`` wrote; arrays only, nothing in the file is ever executed."""
        nobody = np.zeros(0, np.str_)
        file: dict[str, Any] = {"annotators": nobody, "estimand": "distribution", "made_by": ""}
        file["ordered"] = False
        needed = ("item", "labels", "probs", "count")
        arrays = _hand_over("_util.arrays")
        file |= arrays.load_arrays(path, "soft labels", needed, tuple(file))
        with arrays.complaining(path, "soft labels"):
            items, people, labels = (
                names(file[key].tolist()) for key in ("item", "annotators", "labels")
            )
            about = str(file["estimand"]), str(file["made_by"])
            index = Index(items, people, labels, ordered=bool(file["ordered"]))
            return cls(index, file["probs"], file["count"], *about)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False, repr=False)
class Predictions(Shown):
    """What a model believes about each item: ``probs[m, k]`` for the items of ``index``."""

    index: Index
    probs: Floats

    def __post_init__(self) -> None:
        m, _, k = self.index.shape
        _set(self, probs=_floats(self.probs))
        _shaped("Predictions", "probs", self.probs, (m, k))
        check_simplex("Predictions", self.probs)

    def __len__(self) -> int:
        return len(self.probs)


@dataclass(frozen=True, eq=False, repr=False)
class Score(Shown):
    """One number with its interval from ``low`` to ``high``, over ``n`` units.

    ``by_item`` holds the values it averages, where it is an average.
    """

    value: float
    low: float
    high: float
    n: int
    by_item: Floats | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise DataError(f"Score: low {self.low} above high {self.high}")
        if self.n < 0:
            raise DataError(f"Score: n = {self.n} is negative")

    def __str__(self) -> str:
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}] (n={self.n})"

    @property
    def half(self) -> float:
        """What stands after ±: the longer side of the interval, as the other may have been cut at
        the end of what is possible."""
        return max(self.high - self.value, self.value - self.low)
