"""What is published: the records of a study, read into the labels of answers and of items."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date as day
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from softlabel import io, registry
from softlabel._util.progress import Progress, silent
from softlabel.aggregate import Aggregate, Dirichlet
from softlabel.annotators import agreement as agreeing
from softlabel.construct import Construct
from softlabel.elicit import Mode
from softlabel.errors import DataError, SoftlabelError
from softlabel.labelling import (
    Facts,
    Plan,
    aggregate_labels,
    construct_labels,
    credible_intervals,
    prepare,
)
from softlabel.records import ASKED, dump_json
from softlabel.sampling import first_presentation
from softlabel.study import Study
from softlabel.tables import Floats, SoftLabels

Record = dict[str, Any]
PERSON, SIMULATED = "person", "simulated"


@dataclass(frozen=True)
class Material:
    """A study to publish: every record, also those that do not count, the answers to the questions
    before and after the items, and the study itself, if its folder is here."""

    name: str
    records: Sequence[Record]
    study: Study | None = None
    questions: Sequence[Record] = ()

    @property
    def labels(self) -> list[str]:
        """The classes, in the order in which shares are listed."""
        return list(self.study.labels if self.study else self.records[0]["labels"])


@dataclass(frozen=True)
class Choices:
    """What the researcher decides.  ``date`` is that of the release (ISO 8601; empty: the day of
    the last answer), ``text`` a reviewed file of free texts, ``accept`` whether what looks personal
    is published."""

    licence: str
    authors: tuple[str, ...] = ()
    version: str = "1.0.0"
    date: str = ""
    url: str = ""
    construct: Construct | None = None
    aggregate: Aggregate = field(default_factory=Dirichlet)
    mode: Mode | None = None
    items: bool = False
    text: Path | None = None
    accept: bool = False

    def __post_init__(self) -> None:
        if self.date:
            try:
                day.fromisoformat(self.date)
            except ValueError:
                reason = "is no day; write it as 2026-11-16"
                raise SoftlabelError(f"--date {self.date!r} {reason}") from None
        if self.url and not self.url.startswith(("https://", "http://")):
            raise SoftlabelError(f"--url {self.url!r} is no address; begin it with https://")


@dataclass(frozen=True, eq=False)
class Reading:
    """What was made of the records.

    ``soft[n, k]`` is the label of each record (NaN: a skip) and ``counted[n]`` whether the pooled
    labels use it; ``pooled`` are the labels of items, ``limits`` their intervals, if the pool has
    any.  ``votes`` says whether answers are votes for one class.  ``pseudonyms`` go by the
    annotator of a record.
    """

    soft: Floats
    counted: np.ndarray[Any, np.dtype[np.bool_]]
    pooled: SoftLabels
    votes: bool
    limits: Mapping[str, Floats]
    agreement: agreeing.Agreement | None
    pseudonyms: Mapping[str | None, str | None]
    facts: Facts


def read_material(material: Material, choices: Choices, progress: Progress = silent) -> Reading:
    """Turn every record into a label, and pool those that count as ``softlabel label`` does."""
    if not material.records:
        raise DataError(f"{material.name}: nobody has answered, so there is nothing to publish")
    labels, where = material.labels, material.name
    source = io.collect_records(material.records, labels, choices.mode, where)
    if not len(source.answers):
        raise DataError(f"{where}: no answer counts for labels, so there is nothing to publish")
    plan = Plan(construct=choices.construct, aggregate=choices.aggregate)
    each, facts = prepare(source, plan, progress)
    progress("pooling")
    pooled = aggregate_labels(choices.aggregate, each)
    limits: Mapping[str, Floats] = {}
    with suppress(SoftlabelError):  # not every pool has them
        limits = credible_intervals(pooled)
    assert source.line_of is not None, "records are numbered"
    counted = np.zeros(len(material.records), dtype=np.bool_)
    for row in np.flatnonzero(first_presentation(source.answers)).tolist():
        counted[source.line_of(row) - 1] = True
    progress("comparing annotators")
    shared = bool((each.votes_per_item() > 1).any())
    return Reading(
        soft=_label_records(material, plan),
        counted=counted,
        pooled=pooled,
        votes=each.hard,
        limits=limits,
        agreement=agreeing.measure_agreement(each) if shared else None,
        pseudonyms=make_pseudonyms(material.records),
        facts=facts | {"pool": registry.describe(choices.aggregate)},
    )


def _label_records(material: Material, plan: Plan) -> Floats:
    """Return the label (n, k) of every record: of people who were left out too, of practice and of
    checks, each read as if it counted."""
    rows = [i for i, record in enumerate(material.records) if record["answer"] is not None]
    alike = [
        material.records[i]
        | {"excluded": None, "supersedes": None}
        | {"presentation": material.records[i]["presentation"] | {"kind": ASKED[0]}}
        for i in rows
    ]
    source = io.collect_records(alike, material.labels, where=material.name)
    each, _ = construct_labels(source, Plan(construct=plan.construct, repeats="all"))
    soft = np.full((len(material.records), len(material.labels)), np.nan)
    soft[rows] = each.soft()
    return soft


def make_pseudonyms(records: Sequence[Record]) -> dict[str | None, str | None]:
    """Return ``a1``, ``a2`` and so on for the annotators of the records, None for nobody.

    Their order comes from a hash of all records: the same records give the same names, and without
    the records nobody can tell which annotator has which name.
    """
    key = sha256()
    for record in records:
        key.update(dump_json(record).encode("utf-8", "surrogatepass"))
    people = {record["annotator"] for record in records} - {None}
    order = sorted(people, key=lambda who: sha256(key.digest() + str(who).encode()).digest())
    return {None: None} | {who: f"a{number}" for number, who in enumerate(order, 1)}


def kind_of(record: Record) -> str:
    """Return who answered: a person, or a program that plays one."""
    return SIMULATED if record.get("simulated") else PERSON
