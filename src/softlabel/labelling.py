"""The main road: read answers, construct a label of each, aggregate them per item, write.

``label`` is the road for a notebook: from any table to ``SoftLabels``.  ``label_file`` is the road
from file to file.

>>> votes = [("a.png", "ann", "cat"), ("a.png", "bob", "dog"), ("b.png", "ann", "dog")]
>>> label(votes, "mean")["a.png"]
{'cat': 0.5, 'dog': 0.5}
"""

import csv
import re
import shlex
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from random import SystemRandom
from typing import Any, get_args

import numpy as np

from softlabel import frames, io, registry
from softlabel._util.progress import Progress, report_steps, silent
from softlabel.aggregate import Aggregate, LabelDistribution, Mean, TruthPosterior, takes, watch_fit
from softlabel.construct import Clamp, Construct
from softlabel.errors import LeftOutWarning, SoftlabelError
from softlabel.frames import Form, Layout, Missing, Spelling
from softlabel.io import AnswerTable, Repeats, Source
from softlabel.records import votes_to_statements
from softlabel.sampling import (
    first_presentation,
    last_presentation,
    one_per_annotator,
    subsample,
)
from softlabel.tables import (
    DOUBT,
    ESTIMATES,
    Annotations,
    Bools,
    Estimand,
    Floats,
    Index,
    Ints,
    SoftLabels,
    Statements,
)

Facts = dict[str, str]  # what to report: name and text

DEFAULT_POOL = Mean()
LEVEL = 0.9  # of credible intervals
OPTIONS = {  # as the command line writes them: before a value, by their names alone, switches
    r"(?<![\w-])--(aggregate|arm|construct|missing|repeats|spelling)(?![\w-]) ?": r"\1=",
    r"(?<![\w-])--(gold|judges|labels)(?![\w-])": r"\1=",
    r"(?<![\w-])--(intervals|ordered)(?![\w-])": r"\1=True",
}
SAME = 1e-6  # a label nearer than this to the mean of a belief is that mean


@dataclass(frozen=True)
class Plan:
    """What to do between reading and writing.

    ``construct`` None: statements are clamped, votes stay votes.  ``repeats`` None: what is usual
    for the source.  ``gold`` is a file of known classes, or anything else that
    ``frames.read_gold`` takes; ``intervals`` adds to each label what is believed about it.
    ``judges`` is what models said of the items: anything that ``frames.read_judges`` takes.
    """

    construct: Construct | None = None
    aggregate: Aggregate = DEFAULT_POOL
    repeats: Repeats | None = None
    sample: int | None = None
    seed: int = 0
    gold: Any = None
    intervals: bool = False
    judges: Any = None

    def __post_init__(self) -> None:
        if self.repeats is not None:
            registry.check_choice("way with repeats", self.repeats, get_args(Repeats))
        if self.gold is not None:
            check_gold(self.aggregate)
        if self.intervals:
            check_intervals(self.aggregate.estimand, repr(self.aggregate))
        if self.judges is not None:
            check_judges(self.aggregate)


def label(  # noqa: PLR0913  one parameter for each thing to say, all but the first optional
    data: Any,
    aggregate: str | Aggregate = "auto",
    *,
    construct: str | Construct | None = None,
    intervals: bool = False,
    gold: Any = None,
    judges: Any = None,
    repeats: Repeats | None = None,
    labels: Sequence[Any] | None = None,
    item: Any = None,
    annotator: Any = None,
    label: Any = None,
    form: Form | None = None,
    missing: Missing = "refuse",
    spelling: Spelling = "refuse",
    ordered: bool = False,
    arm: str | None = None,
) -> SoftLabels:
    """Return one soft label per item of ``data``.

    ``data`` is a table of pandas, polars, Arrow or Hugging Face, an array, a dict of columns, a
    list of records or the name of a file; see ``annotations`` for how it is read.  ``aggregate`` is
    a pool, or its name: ``"mean"``, ``"dawid-skene"``, ``"softmax:tau=2"``.  ``construct`` says how
    a statement becomes a label.  ``intervals`` adds 90 % credible intervals.  ``gold`` are known
    classes, from item to class: a dict, a series, a table or a file.  ``judges`` is what models
    said of the items, for pools that learn from it: a file or a table of item, model and label.
    ``arm`` takes the answers of one arm of a study that compares ways of asking, or of ``"all"``.

    >>> votes = {"item": [1, 1, 2], "worker": ["a", "b", "a"], "label": ["cat", "dog", "dog"]}
    >>> label(votes, "mean")[1]
    {'cat': 0.5, 'dog': 0.5}
    """
    pool = registry.resolve("aggregate", aggregate)
    made = None if construct is None else registry.resolve("construct", construct)
    with _in_python():
        plan = Plan(made, pool, repeats, gold=gold, intervals=intervals, judges=judges)
        layout = Layout(item, annotator, label, form, labels, missing, spelling, ordered)
        source = _read(data, layout, arm)
        return pool_source(source, plan)


def annotations(  # noqa: PLR0913  one parameter for each thing to say, all but the first optional
    data: Any,
    *,
    construct: str | Construct | None = None,
    repeats: Repeats | None = None,
    labels: Sequence[Any] | None = None,
    item: Any = None,
    annotator: Any = None,
    label: Any = None,
    form: Form | None = None,
    missing: Missing = "refuse",
    spelling: Spelling = "refuse",
    ordered: bool = False,
    arm: str | None = None,
) -> Annotations:
    """Return one label per answer of ``data``, ready for a pool.

    Columns are recognised by their usual names (``item``, ``task``, ``annotator``, ``worker``,
    ``label``, ``answer`` …); ``item``, ``annotator`` and ``label`` name them otherwise, or are the
    values themselves.  ``form`` says what the table is where that cannot be told: ``votes``,
    ``soft`` (a column per class), ``wide`` (a column per annotator) or ``counts`` (votes per
    class).  ``labels`` are all classes in their order, ``ordered`` if they are steps of a scale.
    ``missing="drop"`` leaves out rows without item, annotator or label, and says how many.
    ``spelling`` is what to do with labels that differ by case or space only, and with items and
    annotators that differ by the space around them only: ``refuse``, ``merge`` or ``keep``.
    ``repeats`` is what counts where a person answered an item twice: ``first``,
    ``last``, ``mean``, ``all`` or ``error``.  ``arm`` is as in ``label``.
    """
    made = None if construct is None else registry.resolve("construct", construct)
    with _in_python():
        plan = Plan(made, repeats=repeats)
        layout = Layout(item, annotator, label, form, labels, missing, spelling, ordered)
        source = _read(data, layout, arm)
        return prepare(source, plan)[0]


@contextmanager
def _in_python() -> Iterator[None]:
    """Let errors name options as Python writes them: ``repeats=`` for ``--repeats``."""
    try:
        yield
    except SoftlabelError as error:
        for typed, written in OPTIONS.items():
            error.args = tuple(
                re.sub(typed, written, part) if isinstance(part, str) else part
                for part in error.args
            )
        raise


def _read(data: Any, layout: Layout, arm: str | None) -> Source:
    """Read a table, and say which rows were left out because the caller wished it; then take those
    of one arm, if it is named."""
    source = frames.read_data(data, layout)
    if layout.missing == "drop" and source.left_out:
        what = ", ".join(f"{count:,} {reason}" for reason, count in source.left_out.items())
        warnings.warn(f"{source.name}: left out rows: {what}", LeftOutWarning, stacklevel=3)
    return source if arm is None else source.take_arm(arm)


def label_file(
    path: str | Path, out: str | Path, plan: Plan | None = None, labels: Sequence[str] | None = None
) -> Facts:
    """Write one soft label per item of a file of answers; return what happened on the way."""
    return label_source(io.read_answers(path, labels), Path(out), plan or Plan())


def label_source(source: Source, out: Path, plan: Plan, progress: Progress = silent) -> Facts:
    """Write one soft label per item of what was read; return what happened on the way."""
    labels = source.answers.index.labels.tolist()
    io.write.check_class_names(labels, ("item", io.write.COUNT), out)  # before the work
    soft = pool_source(source, plan, progress)
    progress(f"writing {out.name}")
    io.write_soft_labels(soft, out)
    return dict(soft.facts)


def pool_source(source: Source, plan: Plan, progress: Progress = silent) -> SoftLabels:
    """Return one soft label per item of what was read, with what happened on the way."""
    each, facts = prepare(source, plan, progress)
    judges = None
    if plan.judges is not None:
        progress("reading what models said")
        each, judges, told = _add_judges(each, plan.judges)
        facts |= told
    gold = None if plan.gold is None else frames.read_gold(plan.gold, each.index)
    check_order(plan.aggregate, each.index)
    progress("pooling")
    with watch_fit(report_steps(plan.aggregate, len(each), progress)):
        votes = find_votes(source, each)
        soft = aggregate_labels(plan.aggregate, each, gold, judges, votes)
    more = dict(soft.more) | (credible_intervals(soft) if plan.intervals else {})
    more |= branch_shares(source, each, plan)
    facts |= {"pool": registry.describe(plan.aggregate), "estimates": ESTIMATES[soft.estimand]}
    if gold is not None:
        facts["gold"] = f"{int((gold >= 0).sum()):,} items fixed"
    if isinstance(soft, LabelDistribution) and soft.chosen:
        facts["chosen"] = f"{soft.chosen}: {soft.why}"
    if isinstance(soft, TruthPosterior) and len(soft.trace):
        end = "converged" if soft.converged else "not converged"
        facts["fit"] = f"{len(soft.trace)} steps, {end}; {soft.objective} {soft.trace[-1]:.6g}"
    doubt = float(soft.entropy(soft.estimand)[soft.answered].mean())
    facts["mean entropy"] = f"{doubt:.4f} nats ({DOUBT[soft.estimand]})"
    return replace(soft, more=more, facts=facts)


def prepare(source: Source, plan: Plan, progress: Progress = silent) -> tuple[Annotations, Facts]:
    """Return one label per answer that counts, ready to aggregate, and the fate of the others."""
    source.refuse_mixtures()
    answers, facts = _select(source, plan, progress)
    each, made_by = _construct(answers, plan)
    if plan.sample is not None:
        if not first_presentation(each).all():
            raise SoftlabelError(
                f"--sample {plan.sample} draws people, and with --repeats all one may be drawn "
                "twice; say --repeats first, last or mean"
            )
        each = subsample(each, plan.sample, np.random.default_rng(plan.seed))
        facts["answers"] += f", of which {len(each):,} drawn by --sample"
    return each, facts | {"construction": made_by}


def branch_shares(source: Source, each: Annotations, plan: Plan) -> dict[str, Floats]:
    """Return ``branch`` (m,), the mean share of an item's answers that was said of branches as
    wholes and is shared evenly by their classes; nothing if nobody named a branch."""
    if source.branch is None or not source.branch.any():
        return {}
    identify = identify_answers  # who answered what: rows may have been averaged
    counts = np.ones(len(source.answers), dtype=np.bool_)
    if (plan.repeats or source.repeats) == "first":
        counts = first_presentation(source.answers)
    elif plan.repeats == "last":
        counts = last_presentation(source.answers)
    pairs, of = np.unique(identify(source.answers)[counts], return_inverse=True)
    shares = np.bincount(of, source.branch[counts]) / np.bincount(of)
    own = shares[np.searchsorted(pairs, identify(each))]
    answers = np.bincount(each.item, minlength=len(each.index.items))
    total = np.bincount(each.item, own, minlength=len(answers))
    with np.errstate(invalid="ignore"):  # an item without answers has no share
        return {"branch": total / answers}


def export_source(source: Source, out: Path, plan: Plan, progress: Progress = silent) -> Facts:
    """Write every answer: as it was given or, with a construction, as a soft vote."""
    answers, facts = _select(source, plan, progress)
    if plan.construct is not None or plan.repeats == "mean":
        each, made_by = _construct(answers, plan)
        answers = replace(each, label=None, probs=each.soft())
        facts["construction"] = made_by
    progress(f"writing {out.name}")
    io.write_answers(answers, out)
    # say which option to type where the file does not hold all classes in their order: without it,
    # the classes that occur would be taken for all
    names = answers.index.labels.tolist()
    occurs = np.zeros(len(names), dtype=np.bool_)
    if isinstance(answers, Statements):
        occurs |= ~answers.possible.all(axis=0)
        occurs[answers.named[answers.named >= 0]] = True
        whole = out.suffix == ".jsonl"  # each response names all classes
    else:
        occurs[slice(None) if answers.label is None else answers.label] = True
        whole = not answers.hard
    if not whole and names != io.sort_naturally(answers.index.labels[occurs].tolist()):
        row = StringIO()
        csv.writer(row, lineterminator="").writerow(names)
        facts["to read it again"] = f"--labels {shlex.quote(row.getvalue())}"
    return facts


def convert_source(
    source: Source,
    out: Path,
    how: io.formats.Format | None,
    plan: Plan,
    *,
    keep_ids: bool = False,
    warn: Callable[[str], None] = lambda text: None,
    progress: Progress = silent,
) -> Facts:
    """Write every answer in another format (None: a table of ours).  ``warn`` hears what the format
    cannot hold before it is dropped.  Annotators become a1, a2, ... unless their ids are kept."""
    answers, facts = _select(source, plan, progress)
    if how is not None and not hasattr(how, "write"):
        able = [name for name, kind in registry.members("format").items() if hasattr(kind, "write")]
        raise SoftlabelError(f"--to {how.name}: is read only; written are {', '.join(able)}")
    if not keep_ids:
        index = io.formats.hide_annotators(answers.index, SystemRandom().shuffle)
        answers = replace(answers, index=index)
    for loss in find_losses(source, answers, how):
        warn(loss)
    progress(f"writing {out.name}")
    if how is None:
        io.write_answers(answers, out, source.seconds if _keeps_seconds(source, answers) else None)
        return facts
    target: Any = how
    if how.holds == "items":
        target.write(answers.index, out, source.contents)
        return facts
    each, made_by = _construct(answers, plan)
    if isinstance(answers, Statements):
        facts["construction"] = made_by
    if how.holds == "labels":
        target.write(plan.aggregate(each), out, source.contents)
        return facts | {"pool": registry.describe(plan.aggregate)}
    if not each.hard and not how.soft:
        each = replace(each, label=each.soft().argmax(axis=1), probs=None)
    if not first_presentation(each).all():
        raise SoftlabelError(
            f"{how.name} holds one answer per person and item; say --repeats first, last or mean"
        )
    target.write(each, out, source.contents)
    return facts


def find_losses(source: Source, answers: AnswerTable, how: io.formats.Format | None) -> list[str]:
    """Return what a format (None: a table of ours) cannot hold of these answers."""
    name = "a table" if how is None else how.name
    losses = []
    if how is not None and how.holds == "items":
        losses.append(f"{len(answers):,} answers: {name} takes items and labels only")
    elif how is not None and how.holds == "labels":
        losses.append(f"who gave the {len(answers):,} answers: {name} takes one label per item")
    elif (
        how is not None and not how.soft and not (isinstance(answers, Annotations) and answers.hard)
    ):
        losses.append(
            f"the chances in the answers: {name} holds votes, so the top class is written"
        )
    if source.seconds is not None and not (how is None and _keeps_seconds(source, answers)):
        timed = int(np.isfinite(source.seconds).sum())
        losses.append(f"the time that {timed:,} answers took")
    if source.contents and (
        how is None or how.name in ("crowd-kit", "cleanlab", "alt-test", "web-annotation")
    ):
        losses.append(f"what people saw of {len(source.contents):,} items")
    return [f"not kept: {loss}" for loss in losses]


def _keeps_seconds(source: Source, answers: AnswerTable) -> bool:
    """Return whether a table of ours can hold the times: it has votes, and none was dropped."""
    votes = isinstance(answers, Annotations) and answers.hard
    return source.seconds is not None and votes and len(answers) == len(source.seconds)


def construct_labels(source: Source, plan: Plan) -> tuple[Annotations, str]:
    """Return one label per answer, repeats dealt with, and what made it."""
    return _construct(_drop_repeats(source, plan)[0], plan)


def _select(source: Source, plan: Plan, progress: Progress) -> tuple[AnswerTable, Facts]:
    """Return the answers that count, and what to report about them and the others."""
    progress("looking for repeated answers")
    answers, dropped = _drop_repeats(source, plan)
    items = np.count_nonzero(np.bincount(answers.item))
    people = np.count_nonzero(np.bincount(answers.annotator[answers.annotator >= 0]))
    facts = {
        "items": f"{items:,}",
        "annotators": "not known" if answers.anonymous else f"{people:,}",
        "classes": f"{len(answers.index.labels):,}",
        "answers": f"{len(answers):,}",
        "repeats dropped": dropped,
        **source.facts,
    }
    if isinstance(answers, Statements):
        facts["contradictory answers"] = f"{int(answers.contradictory.sum()):,}"
        made = [(name, int(rows.sum())) for name, rows in sorted(answers.repairs.items())]
        facts["repaired answers"] = ", ".join(f"{name} {n}" for name, n in made if n) or "0"
    return answers, facts


def _drop_repeats(source: Source, plan: Plan) -> tuple[AnswerTable, str]:
    """Return the answers that count, and how many were dropped; labels are averaged later."""
    repeats = plan.repeats or source.repeats
    if repeats == "error":
        source.refuse_repeats()
    answers: AnswerTable = source.answers
    if repeats in ("error", "all"):
        return answers, "0"
    kept = last_presentation(answers) if repeats == "last" else first_presentation(answers)
    again = int((~kept).sum())
    if repeats == "mean":
        return answers, f"0 ({again:,} averaged with the first)"
    return answers.take(kept) if again else answers, f"{again:,}"


def _construct(answers: AnswerTable, plan: Plan) -> tuple[Annotations, str]:
    """Return one label per answer (per person, if repeats are averaged) and what made it."""
    if isinstance(answers, Annotations) and plan.construct is None:
        each, made_by = answers, "none (votes)" if answers.hard else "none (soft votes)"
    elif isinstance(answers, Annotations) and not answers.hard:
        raise SoftlabelError(
            f"--construct {plan.construct and plan.construct.name}: these are soft votes, which "
            "are distributions already; leave it out"
        )
    else:
        construct = plan.construct or Clamp()
        if isinstance(answers, Annotations):
            answers = votes_to_statements(answers)
        each = construct(answers)
        made_by = registry.describe(construct)
    return one_per_annotator(each, "mean") if plan.repeats == "mean" else each, made_by


def aggregate_labels(
    pool: Aggregate,
    each: Annotations,
    gold: Ints | None = None,
    judges: Annotations | None = None,
    votes: Bools | None = None,
) -> SoftLabels:
    """Return one label per item; ``gold`` (m,) are known classes to learn from (-1: not known),
    ``judges`` what models said of the same items.  ``votes`` (n,) says which answers are votes
    where the others are rich ones: pools that tell them apart get both."""
    more: dict[str, Any] = {}
    if gold is not None:
        check_gold(pool)
        more["gold"] = gold
    if judges is not None:
        check_judges(pool)
        more["judges"] = judges
    if votes is not None:
        each = replace(each, probs=np.where(votes[:, None], take_first_class(each), each.soft()))
        if takes(pool, "rich"):
            plain = each.take(votes)
            more["rich"] = each.take(~votes)
            each = replace(plain, label=plain.soft().argmax(axis=1), probs=None)
    return pool(each, **more)


def take_first_class(each: Annotations) -> Floats:
    """Return (n, k) all of each answer on its likeliest class."""
    return np.asarray(np.eye(len(each.index.labels))[each.soft().argmax(axis=1)])


def find_votes(source: Source, each: Annotations) -> Bools | None:
    """Return which labels are votes where others are rich answers, as those of a study that
    compares modes; None where all are of one kind."""
    if source.votes is None or source.votes.all() or not source.votes.any():
        return None
    own = identify_answers(source.answers)[source.votes]
    return np.isin(identify_answers(each), own)


def identify_answers(answers: AnswerTable) -> Ints:
    """Return (n,) a number for each person and item, the same wherever they answered."""
    return answers.item * (len(answers.index.annotators) + 1) + answers.annotator + 1


def _add_judges(each: Annotations, judges: Any) -> tuple[Annotations, Annotations, Facts]:
    """Return people's answers and what models said, of the same items, and what to report."""
    source = frames.read_models(judges, each.index)
    assert isinstance(source.answers, Annotations), "what models said is one label per answer"
    people, said = frames.join_judges(each, source.answers)
    new = len(people.index.items) - len(each.index.items)
    answered = np.count_nonzero(np.bincount(said.item))
    told = f"{len(said.index.annotators):,}, of {answered:,} items"
    told += f", {new:,} of which nobody answered" if new else ""
    left_out = ", ".join(f"{count:,} {reason}" for reason, count in source.left_out.items())
    return people, said, {"models": told} | ({"models left out": left_out} if left_out else {})


def check_order(aggregate: Aggregate, index: Index) -> None:
    """Refuse a pool for steps of a scale where nobody said that the classes are some."""
    if getattr(aggregate, "ordinal", False) and not index.ordered:
        shown = ", ".join(index.labels[:8].tolist())
        raise SoftlabelError(
            f"--aggregate {aggregate.name}: is for classes that are steps of a scale; if they are "
            f"({shown}), say --ordered, and give their order with --labels if it is another one"
        )


def check_gold(aggregate: Aggregate) -> None:
    """Refuse a pool that would ignore known classes, and name those that learn from them."""
    if not takes(aggregate, "gold"):
        known = registry.members("aggregate").items()
        able = [name for name, kind in known if takes(kind, "gold")]
        raise SoftlabelError(
            f"--gold: {aggregate.name} does not learn from items whose class is known; pools that "
            f"do: {', '.join(able)}"
        )


def check_judges(aggregate: Aggregate) -> None:
    """Refuse a pool that would ignore what models said, and name those that learn from it."""
    if not takes(aggregate, "judges"):
        known = registry.members("aggregate").items()
        able = [name for name, kind in known if takes(kind, "judges")]
        others = f"; pools that do: {', '.join(able)}" if able else "; use --aggregate judged"
        raise SoftlabelError(
            f"--judges: {aggregate.name} pools what people said, and does not learn from models"
            + others
        )


def check_intervals(estimand: Estimand, maker: str) -> None:
    """Refuse a pool whose label says itself how sure it is."""
    if estimand != "distribution":
        raise SoftlabelError(
            f"--intervals: {maker} estimates {ESTIMATES['truth']}, and its label says how sure "
            f"that is; intervals are for pools that estimate {ESTIMATES['distribution']}"
        )


def credible_intervals(soft: SoftLabels) -> dict[str, Floats]:
    """Return ``low`` and ``high`` (m, k), 90 % credible limits of each class, and ``gain`` (m,),
    the expected gain of one more vote in nats; NaN where nobody answered.

    Only for labels that are the mean of the belief: a label and its interval must be one belief.
    """
    belief = getattr(soft, "belief", None)
    check_intervals(soft.estimand, soft.made_by)
    if belief is None:
        raise SoftlabelError(
            f"--intervals: {soft.made_by} gives a label and no belief about it; try "
            "--aggregate auto, dirichlet or dirichlet-mixture"
        )
    answered = soft.answered
    if abs(belief.mean() - soft.probs)[answered].max(initial=0) > SAME:
        chosen = getattr(soft, "chosen", "")
        pool = f"{soft.made_by} (here: {chosen})" if chosen else soft.made_by
        raise SoftlabelError(
            f"--intervals: {pool} has no model of how sure its label is, and intervals of another "
            "model need not contain it; leave --intervals out, or use --aggregate dirichlet or "
            "dirichlet-mixture, which take votes and soft answers"
        )
    low, high = belief.interval(LEVEL)
    limits = {"low": np.array(low), "high": np.array(high), "gain": np.array(belief.gain())}
    for values in limits.values():
        values[~answered] = np.nan  # what is believed of all items is no finding about this one
    return limits
