"""The work behind ``softlabel label`` and ``softlabel export``: from what was read to a file."""

from __future__ import annotations

import csv
import io
import shlex
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from softlabel import registry
from softlabel._util.progress import Tell, silent, steps
from softlabel.aggregate import Aggregate, Mean, watched
from softlabel.construct import Clamp, Construct
from softlabel.errors import SoftlabelError
from softlabel.io.codes import natural
from softlabel.io.gold import read_gold
from softlabel.io.pooling import Facts, beliefs, outcome, pooled
from softlabel.io.shapes import ITEM
from softlabel.io.source import Repeats, Said, Source
from softlabel.io.writing import COUNT, refuse_classes, write_said, write_soft
from softlabel.records import statements_of_votes
from softlabel.sampling import first_presentation, one_per_annotator, subsample
from softlabel.tables import Annotations, Statements

CONSTRUCTION, POOL = Clamp(), Mean()  # unless told


@dataclass(frozen=True)
class Plan:
    """What to do between reading and writing.

    ``construct`` None: statements are clamped, votes stay votes.  ``repeats`` None: what is usual
    for the source.  ``gold`` is a file of classes that are known; ``intervals`` writes what is
    believed about each label beside it.
    """

    construct: Construct | None = None
    aggregate: Aggregate = POOL
    repeats: Repeats | None = None
    sample: int | None = None
    seed: int = 0
    gold: Path | None = None
    intervals: bool = False


def label(source: Source, out: Path, plan: Plan, tell: Tell = silent) -> Facts:
    """Write one soft label per item; returns what happened on the way."""
    each, facts = prepared(source, plan, tell)
    gold = None if plan.gold is None else read_gold(plan.gold, each.index)
    tell("pooling")
    with watched(steps(plan.aggregate, len(each), tell)):
        soft = pooled(plan.aggregate, each, gold)
    more = beliefs(soft) if plan.intervals else None
    tell(f"writing {out.name}")
    write_soft(soft, out, more)
    return facts | {"pool": registry.describe(plan.aggregate), **outcome(soft, gold)}


def prepared(source: Source, plan: Plan, tell: Tell = silent) -> tuple[Annotations, Facts]:
    """One label per answer that counts, ready to be pooled, and what became of the others."""
    refuse_classes(source.said.index.labels.tolist(), (ITEM, COUNT))
    source.refuse_mixtures()
    tell("looking for repeated answers")
    said, facts = _without_repeats(source, plan)
    facts = _counts(said) | facts | source.facts | _oddities(said)
    each, made_by = _annotations(said, plan)
    if plan.sample is not None:
        each = _sample(each, plan.sample, plan.seed)
        facts["answers"] += f", of which {len(each):,} drawn by --sample"
    return each, facts | {"construction": made_by}


def export(source: Source, out: Path, plan: Plan, tell: Tell = silent) -> Facts:
    """Write every answer: as it was given or, with a construction, as a soft vote."""
    tell("looking for repeated answers")
    said, facts = _without_repeats(source, plan)
    facts = _counts(said) | facts | source.facts | _oddities(said)
    if plan.construct is not None or plan.repeats == "mean":
        each, made_by = _annotations(said, plan)
        said = replace(each, label=None, probs=each.soft())
        facts["construction"] = made_by
    tell(f"writing {out.name}")
    write_said(said, out)
    return facts | _classes_lost(said, out)


def labelled(source: Source, plan: Plan) -> tuple[Annotations, str]:
    """One label per answer, repeats dealt with, and what made it."""
    return _annotations(_without_repeats(source, plan)[0], plan)


# ── between ──────────────────────────────────────────────────────────────────────────────────


def _without_repeats(source: Source, plan: Plan) -> tuple[Said, Facts]:
    """The answers that count; means are taken later, of labels."""
    repeats = plan.repeats or source.repeats
    if repeats == "error":
        source.refuse_repeats()
    said: Said = source.said
    if repeats in ("error", "all"):
        return said, {"repeats dropped": "0"}
    first = first_presentation(said)
    again = int((~first).sum())
    if repeats == "mean":
        return said, {"repeats dropped": f"0 ({again:,} averaged with the first)"}
    return said.take(first) if again else said, {"repeats dropped": f"{again:,}"}


def _sample(each: Annotations, m: int, seed: int) -> Annotations:
    if not first_presentation(each).all():
        raise SoftlabelError(
            f"--sample {m} draws people, and with --repeats all one may be drawn twice; say "
            "--repeats first or mean"
        )
    return subsample(each, m, np.random.default_rng(seed))


def _annotations(said: Said, plan: Plan) -> tuple[Annotations, str]:
    """One label per answer (or per person, if repeats are to be averaged) and what made it."""
    if isinstance(said, Annotations) and plan.construct is None:
        each, made_by = said, "none (votes)" if said.hard else "none (soft votes)"
    elif isinstance(said, Annotations) and not said.hard:
        raise SoftlabelError(
            f"--construct {plan.construct and plan.construct.name}: these are soft votes, which "
            "are distributions already; leave it out"
        )
    else:
        construct = plan.construct or CONSTRUCTION
        each = construct(statements_of_votes(said) if isinstance(said, Annotations) else said)
        made_by = registry.describe(construct)
    return one_per_annotator(each, "mean") if plan.repeats == "mean" else each, made_by


# ── telling ──────────────────────────────────────────────────────────────────────────────────


def _counts(said: Said) -> Facts:
    items = np.count_nonzero(np.bincount(said.item))
    people = np.count_nonzero(np.bincount(said.annotator[said.annotator >= 0]))
    return {
        "items": f"{items:,}",
        "annotators": "not known" if said.anonymous else f"{people:,}",
        "classes": f"{len(said.index.labels):,}",
        "answers": f"{len(said):,}",
    }


def _oddities(said: Said) -> Facts:
    """Of statements: how many contradict themselves, and how many were mended on reading."""
    if isinstance(said, Annotations):
        return {}
    mended = {name: int(rows.sum()) for name, rows in said.repairs.items()}
    shown = ", ".join(f"{name} {count}" for name, count in sorted(mended.items()) if count)
    return {
        "contradictory answers": f"{int(said.contradictory.sum()):,}",
        "repaired answers": shown or "0",
    }


def _classes_lost(said: Said, out: Path) -> Facts:
    """What to type where the file does not hold all classes in their order: then those that occur
    would be taken for all."""
    names = said.index.labels.tolist()
    occurs = np.zeros(len(names), dtype=np.bool_)
    if isinstance(said, Statements):
        occurs |= ~said.possible.all(axis=0)
        occurs[said.named[said.named >= 0]] = True
        whole = out.suffix == ".jsonl"  # each response names all classes
    else:
        occurs[slice(None) if said.label is None else said.label] = True
        whole = not said.hard
    if whole or names == natural(said.index.labels[occurs].tolist()):
        return {}
    row = io.StringIO()
    csv.writer(row, lineterminator="").writerow(names)
    return {"to read it again": f"--labels {shlex.quote(row.getvalue())}"}
