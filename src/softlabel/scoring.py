"""Score a model against people: every metric with its interval, and what a perfect model reaches.

>>> import softlabel
>>> votes = [[8, 2, 0], [1, 5, 4], [3, 3, 4], [0, 0, 10]]
>>> model = [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.4, 0.2, 0.4], [0.1, 0.1, 0.8]]
>>> scores = softlabel.score(model, votes, measures=["kl"], draws=200)
>>> round(scores["kl"].score.value, 4), scores.n
(0.0973, 4)
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from softlabel import frames, io, metrics, registry
from softlabel._util.progress import Progress, silent
from softlabel.aggregate import shares
from softlabel.errors import DataError, SoftlabelError, UnknownName
from softlabel.io import Numbers, Source
from softlabel.labelling import Plan, annotations, prepare
from softlabel.metrics import intervals
from softlabel.tables import Annotations, Bools, Floats, Ints, Score, SoftLabels, Statements

ORDER = (  # of metrics on the table; others follow
    *("cross-entropy", "kl", "jsd", "js-distance", "total-variation", "brier", "w1-index"),
    *("w1-values", "accuracy", "top2-accuracy", "worst-class-accuracy"),
    *("entropy-pearson", "entropy-spearman", "ece", "soft-ece", "classwise-ece"),
)
NO_NUMBER = "soft labels do not say how many people chose each class"
SOFT_VOTES = "answers are distributions, and the ceiling is that of votes"
WHOLE = 1e-4  # of a vote: shares in a file are rounded


# ── what comes in, and what comes out ────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Scoring:
    """The options of ``score``.

    ``measures`` are metrics (``ece:bins=10`` too), or one; none: all that suit the labels.
    ``labels`` are the classes in their order.  ``ordered``: the classes are steps of a scale.
    ``common``: score the items that both have, also if some have no prediction.  ``normalise`` and
    ``from_logits`` say that predictions are counts or logits.  ``draws`` is the number of bootstrap
    samples.
    """

    measures: str | Sequence[str] = ()
    labels: Sequence[Any] | None = None
    ordered: bool | None = None
    common: bool = False
    normalise: bool = False
    from_logits: bool = False
    draws: int = 500
    seed: int = 0

    def __post_init__(self) -> None:
        if not (isinstance(self.draws, Integral) and self.draws >= 2):
            raise SoftlabelError(f"draws = {self.draws!r}: a whole number of at least 2 is needed")
        one = isinstance(self.measures, str)
        object.__setattr__(self, "measures", (self.measures,) if one else tuple(self.measures))
        object.__setattr__(self, "labels", frames.Layout(labels=self.labels).class_names)

    @property
    def given(self) -> Numbers:
        """What the numbers of predictions are."""
        if self.from_logits:
            return "logits"
        return "counts" if self.normalise else "probabilities"


@dataclass(frozen=True, eq=False)
class Measured:
    """One metric: the score of the predictions, what a perfect model would reach against as many
    votes, the score of the model compared with, and ``score - other``."""

    name: str
    better: Literal["lower", "higher"]
    score: Score
    ceiling: Score | None = None
    other: Score | None = None
    difference: Score | None = None

    @property
    def winner(self) -> Literal["predictions", "other", ""]:
        """Which model is better; neither if the interval of the difference holds 0."""
        if self.difference is None or not (self.difference.low > 0 or self.difference.high < 0):
            return ""
        return "predictions" if (self.difference.high < 0) == (self.better == "lower") else "other"


@dataclass(frozen=True, eq=False)
class Scores:
    """All metrics by name.  ``true``, ``predicted`` and ``other`` (m, k) are what was compared;
    ``notes`` say what was left out, ``no_ceiling`` why there is no ceiling."""

    measured: Mapping[str, Measured]
    names: tuple[str, str, str]  # of the predictions, of people, and of the model compared with
    labels: Sequence[str]
    ordered: bool
    true: Floats = field(repr=False)
    predicted: Floats = field(repr=False)
    other: Floats | None = field(default=None, repr=False)
    notes: Sequence[str] = ()
    no_ceiling: str = ""

    def __getitem__(self, name: str) -> Measured:
        if name not in self.measured:
            raise UnknownName("metric among these scores", name, self.measured)
        return self.measured[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.measured)

    def __len__(self) -> int:
        return len(self.measured)

    @property
    def n(self) -> int:
        """How many items were scored."""
        return len(self.true)

    def to_rows(self) -> list[dict[str, Any]]:
        """One row per metric, for a table or a data frame."""
        return [_as_row(one) for one in self.measured.values()]

    def to_dict(self) -> dict[str, Any]:
        """Everything but the arrays, for JSON."""
        names = {"predictions": self.names[0], "people": self.names[1]}
        names |= {"compare": self.names[2]} if self.other is not None else {}
        about = {"items": self.n, "classes": list(self.labels), "ordered": self.ordered}
        rows = {row.pop("metric"): row for row in self.to_rows()}
        return names | about | {"metrics": rows, "notes": list(self.notes)}


def _as_row(one: Measured) -> dict[str, Any]:
    row: dict[str, Any] = {"metric": one.name, "better": one.better, "items": one.score.n}
    parts = {"": one.score, "ceiling": one.ceiling, "other": one.other}
    for part, score in {**parts, "difference": one.difference}.items():
        for key in ("value", "low", "high"):
            name = key if not part else part if key == "value" else f"{part}_{key}"
            row[name] = None if score is None else getattr(score, key)
    return row


# ── the road ─────────────────────────────────────────────────────────────────────────────────


def score(
    predictions: Any,
    people: Any,
    compare: Any = None,
    *,
    progress: Progress = silent,
    **options: Any,
) -> Scores:
    """Score predictions against people, and another model's to ``compare`` with if there is one.

    ``predictions`` are a file, ``Predictions``, ``SoftLabels``, a data frame or an array (items,
    classes); ``people`` the same, or votes: a file, ``Annotations`` or counts.  Items and classes
    are matched by name.  The options are those of ``Scoring``.
    """
    known = [one.name for one in fields(Scoring)]
    for name in options:
        if name not in known:
            raise UnknownName("option of score", name, known)
    plan = Scoring(**options)
    progress("reading")
    models = [_read_model(predictions, "predictions", plan)]
    if compare is not None:
        models.append(_read_model(compare, "the other predictions", plan))
    theirs = _read_people(people, plan.labels or models[0].labels)
    ordered = theirs.ordered if plan.ordered is None else plan.ordered
    labels = _choose_labels(plan, models[0], theirs)
    people_probs = _arrange_classes(theirs, labels)
    rows, places, notes = _match_items(theirs, models, plan.common)
    true = people_probs[rows]
    guesses = [
        _arrange_classes(model, labels)[place] for model, place in zip(models, places, strict=True)
    ]
    measures = _find_measures(plan, true, ordered)
    ceiling, why = _find_ceilings(theirs, labels, rows, measures, progress)
    measured = {}
    for done, (name, measure) in enumerate(measures.items()):
        progress(f"measuring: {name}", done, len(measures))
        found = _measure(name, measure, true, guesses, plan)
        better: Any = getattr(registry.get("metric", name.partition(":")[0]), "better", "lower")
        measured[name] = Measured(name, better, found[0], ceiling.get(name), *found[1:])
    side_names = (models[0].name, theirs.name, models[-1].name if compare is not None else "")
    notes += [*theirs.notes, *_note_infinite(true, guesses, models)]
    other = guesses[1] if compare is not None else None
    return Scores(measured, side_names, labels, ordered, true, guesses[0], other, notes, why)


class Side(NamedTuple):
    """One side of the comparison: ``probs`` (m, k) of items and classes, whose names may not be
    known.  Of people also the votes (m, k) behind them, or why they are not known."""

    name: str
    probs: Floats
    items: list[str] | None
    labels: list[str] | None
    votes: Floats | None = None
    why: str = ""
    notes: Sequence[str] = ()
    ordered: bool = False
    open: bool = False  # a class that nobody chose may be missing
    counted: list[str] | None = None  # numbers of the rows of a data frame; see ``metrics.Given``
    single: bool = False  # answers, whose items are in the order in which they first occur


# ── reading ──────────────────────────────────────────────────────────────────────────────────


def _read_model(source: Any, name: str, plan: Scoring) -> Side:
    if isinstance(source, str | Path):
        name, source = str(source), io.read_predictions(source, plan.given)
        plan = Scoring()
    given = metrics.read_given(name, source)
    probs = metrics.distributions(
        given.values, name, normalise=plan.normalise, from_logits=plan.from_logits
    )
    return Side(name, probs, given.items, given.labels, counted=given.counted)


def _read_people(source: Any, labels: Sequence[str] | None) -> Side:
    name = "people"
    if isinstance(source, str | Path):
        name, source = str(source), io.read_people(source, labels)
    elif _is_frame_of_votes(source):
        source = annotations(source, labels=_as_given(source, labels))
    if isinstance(source, Statements):
        source = Source(name, source)
    notes: list[str] = []
    if isinstance(source, Source):
        notes = [f"{what}: {text}" for what, text in source.facts.items()]
        source, _ = prepare(source, Plan())
    if isinstance(source, Annotations):
        side = _of_answers(name, source)
    elif isinstance(source, SoftLabels):
        side = _of_labels(name, source)
    else:
        side = _of_numbers(name, metrics.read_given(name, source))
    return side._replace(notes=notes)


def _is_frame_of_votes(source: Any) -> bool:
    """True for a data frame with a column of labels; the others have a column per class."""
    columns = _columns_of(source)
    if columns is None or io.columns.find("soft", columns) is not None:
        return False
    return io.columns.find("label", columns) is not None


def _columns_of(frame: Any) -> Any:
    return getattr(frame, "column_names", None) or getattr(frame, "columns", None)


def _as_given(votes: Any, labels: Sequence[str] | None) -> list[Any] | None:
    """Return classes as a frame of votes holds them (the number 1 for "1"), and others as text."""
    if labels is None:
        return None
    cells = np.asarray(votes[io.columns.find("label", _columns_of(votes))]).tolist()
    named = dict(zip(frames.Layout(labels=cells).class_names or (), cells, strict=True))
    return [named.get(label, label) for label in labels]


def _of_answers(name: str, answers: Annotations) -> Side:
    counts = answers.counts()
    some = counts.sum(axis=1) > 0
    items, labels = answers.index.items[some].tolist(), answers.index.labels.tolist()
    votes, why = (counts[some], "") if answers.hard else (None, SOFT_VOTES)
    side = Side(
        name, shares(counts[some]), items, labels, votes, why, open=answers.hard, single=True
    )
    return side._replace(ordered=answers.index.ordered)


def _of_labels(name: str, soft: SoftLabels) -> Side:
    some = soft.answered
    probs, count = soft.probs[some], soft.count[some, None]
    votes = np.rint(probs * count)
    whole = (abs(probs * count - votes) <= WHOLE).all() and count.max(initial=0) > 1
    items, labels = soft.index.items[some].tolist(), soft.index.labels.tolist()
    side = Side(name, probs, items, labels, ordered=soft.index.ordered)
    return side._replace(votes=votes) if whole else side._replace(why=NO_NUMBER)


def _of_numbers(name: str, given: metrics.Given) -> Side:
    """Counts of votes, if all numbers are whole and some row has more than one; else shares."""
    numbers = given.values
    whole = numbers.ndim == 2 and np.isfinite(numbers).all() and (numbers >= 0).all()
    if whole and (numbers == np.floor(numbers)).all() and (numbers.sum(axis=1) > 1).any():
        probs = metrics.distributions(numbers, name, normalise=True)
        side = Side(name, probs, given.items, given.labels, numbers)
    else:
        probs = metrics.distributions(numbers, name)
        side = Side(name, probs, given.items, given.labels, None, NO_NUMBER)
    return side._replace(counted=given.counted)


# ── the same items and classes ───────────────────────────────────────────────────────────────


def _choose_labels(plan: Scoring, model: Side, theirs: Side) -> list[str]:
    """The classes in the order that was asked for, or that people's scale has, or the model's."""
    known = plan.labels or (theirs.labels if theirs.ordered else None) or model.labels
    return list(known or theirs.labels or map(str, range(model.probs.shape[1])))


def _arrange_classes(side: Side, labels: Sequence[str]) -> Floats:
    """(m, k) probabilities of these classes."""
    if side.labels is None:
        if side.probs.shape[1] != len(labels):
            raise DataError(
                f"{side.name}: has {side.probs.shape[1]} columns for {len(labels)} classes "
                f"({', '.join(labels[:8])})"
            )
        return side.probs
    ours = set(side.labels)
    odd = [label for label in side.labels if label not in labels]
    odd += [] if side.open else [label for label in labels if label not in ours]
    if odd:
        where = f"only {side.name} has" if odd[0] in ours else f"{side.name} does not have"
        raise DataError(
            f"{where} the class {odd[0]!r}; predictions and people must have the same classes, in "
            f"any order (here: {', '.join(labels[:8])}{', …' if len(labels) > 8 else ''})"
        )
    place = {label: j for j, label in enumerate(side.labels)}
    arranged = np.zeros((len(side.probs), len(labels)))
    for j, label in enumerate(labels):
        if label in place:
            arranged[:, j] = side.probs[:, place[label]]
    return arranged


def _match_items(
    theirs: Side, models: Sequence[Side], common: bool
) -> tuple[Ints, list[Ints], list[str]]:
    """The rows of people that are scored, those of each model, and what was left out."""
    places, notes = [], []
    named = (_name_items(theirs, model) for model in models)
    theirs = theirs._replace(items=next(filter(None, named), None))
    for model in models:
        items = _name_items(model, theirs)
        if theirs.items is None or items is None:
            places.append(_match_places(theirs, model))
            continue
        place = {item: row for row, item in enumerate(items)}
        found = np.array([place.get(item, -1) for item in theirs.items], dtype=np.int64)
        if (found < 0).all():
            raise DataError(
                f"none of the items of {theirs.name} ({theirs.items[0]!r}, …) is in {model.name} "
                f"({items[0]!r}, …); items are matched by name"
            )
        _refuse_missing(found < 0, theirs, model, common)
        if extra := len(items) - int((found >= 0).sum()):
            notes.append(f"{extra:,} items of {model.name} are left out: nobody answered them")
        places.append(found)
    kept = np.all([place >= 0 for place in places], axis=0)
    if not kept.any():
        raise DataError("no item is in all tables; items are matched by name")
    if not kept.all():
        notes.append(f"{int((~kept).sum()):,} items of {theirs.name} are left out: no prediction")
    rows = np.flatnonzero(kept)
    return rows, [place[rows] for place in places], notes


def _name_items(side: Side, other: Side) -> list[str] | None:
    return metrics.Given(side.probs, side.items, counted=side.counted).name_items(other.items)


def _match_places(theirs: Side, model: Side) -> Ints:
    """Return the rows of a model whose items, or those of people, have no names: their places."""
    m = len(theirs.probs)
    unnamed = model.items is None and model.counted is not None
    numbers = [str(row) for row in range(m)]
    if unnamed and theirs.single and theirs.items and theirs.items != numbers:
        assert theirs.items is not None, "answers name their items"
        raise DataError(
            f"{model.name}: the rows have no names of items, and those of {theirs.name} "
            f"({theirs.items[0]!r}, …) have no order to match them by; add the column item or, in "
            "pandas, make the items the index"
        )
    if len(model.probs) != m:
        raise DataError(
            f"{model.name} has {len(model.probs):,} rows and {theirs.name} {m:,}; without "
            "names of items they must be the same items in the same order"
        )
    return np.arange(m)


def _refuse_missing(missing: Bools, theirs: Side, model: Side, common: bool) -> None:
    if missing.any() and not common:
        assert theirs.items is not None, "items without names are never missing"
        first = theirs.items[int(missing.argmax())]
        rest = int(missing.sum()) - 1
        more = f" (nor of {rest:,} more)" if rest else ""
        raise DataError(
            f"{model.name} has no prediction of item {first!r}{more}, which people answered; "
            f"--common (common=True) scores the {int((~missing).sum()):,} items that both have"
        )


# ── measuring ────────────────────────────────────────────────────────────────────────────────


def _find_measures(plan: Scoring, true: Floats, ordered: bool) -> dict[str, Any]:
    """The metrics by name: those asked for, or all that suit the labels."""
    if plan.measures:
        return {name: registry.parse("metric", name) for name in plan.measures}
    soft = bool((true.max(axis=1) < 1).any())
    known = registry.members("metric")
    names = sorted(known, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))
    return {
        name: known[name]
        for name in names
        if (ordered or not getattr(known[name], "ordinal", False))
        and (soft or getattr(known[name], "needs", "any") == "any")
        and (name != "top2-accuracy" or true.shape[1] > 2)
    }


def _find_ceilings(
    theirs: Side, labels: Sequence[str], rows: Ints, measures: dict[str, Any], progress: Progress
) -> tuple[dict[str, Score], str]:
    """What a perfect model would reach, or why that is not known."""
    if theirs.votes is None:
        return {}, theirs.why
    progress("estimating the noise ceiling")
    votes = _arrange_classes(theirs._replace(probs=theirs.votes), labels)[rows]
    try:
        return metrics.ceilings(votes.astype(np.int64), measures), ""
    except DataError as error:
        return {}, str(error)


def _measure(
    name: str, measure: Any, true: Floats, guesses: Sequence[Floats], plan: Scoring
) -> list[Score]:
    """The score of each model and, of two, their difference: all with intervals over items, as far
    as they lie in the range of the metric."""
    settings: dict[str, Any] = {"draws": plan.draws, "seed": plan.seed}
    values = [measure(true, guess) for guess in guesses]
    if np.ndim(values[0]):
        with np.errstate(invalid="ignore"):  # both infinite: no difference is known
            values += [values[0] - values[1]] if len(values) > 1 else []
        found = [intervals.mean(value, **settings) for value in values]
    else:
        of = partial(_resampled, _unchecked(measure), true, guesses)
        found = intervals.bootstrap_many(of, len(true), centred=True, **settings)
    lowest, highest = metrics.evaluate.bounds(name)
    ranges = [*[(lowest, highest)] * len(guesses), (lowest - highest, highest - lowest)]
    return [intervals.cut(score, limits) for score, limits in zip(found, ranges, strict=False)]


def _unchecked(measure: Any) -> Any:
    """The metric without the checks of its input, which is known to be right."""
    if isinstance(measure, partial):
        return partial(_unchecked(measure.func), **measure.keywords)
    return getattr(measure, "__wrapped__", measure)


def _resampled(measure: Any, true: Floats, guesses: Sequence[Floats], rows: Ints) -> list[float]:
    values = [float(measure(true[rows], guess[rows])) for guess in guesses]
    return [*values, values[0] - values[1]] if len(values) > 1 else values


def _note_infinite(true: Floats, guesses: Sequence[Floats], models: Sequence[Side]) -> list[str]:
    notes = []
    for guess, model in zip(guesses, models, strict=True):
        never = int(((true > 0) & (guess == 0)).any(axis=1).sum())
        if never:
            notes.append(
                f"{model.name} gives probability 0 to a class that people chose on {never:,} "
                "items, so cross-entropy and kl are infinite; kl:floor=1e-6 clips"
            )
    return notes
