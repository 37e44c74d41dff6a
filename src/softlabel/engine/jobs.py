"""The work behind ``softlabel label --engine``: from votes to labels in parts, on a cluster."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from softlabel import io as files
from softlabel import registry
from softlabel._util.progress import Tell, silent
from softlabel.aggregate import Engine, Fitted
from softlabel.engine.fitting import check_works, fitted, is_model
from softlabel.engine.folder import open_folder
from softlabel.engine.partitions import ITEM, NAME, Part, Partitions, Reading
from softlabel.engine.repeats import refuse_repeats
from softlabel.engine.results import Written, combine, unanswered, write_pooled, write_posterior
from softlabel.engine.room import FACTS, read_json, room, write_json
from softlabel.engine.split import split_file, split_table
from softlabel.errors import FileError, MissingExtra, SoftlabelError, UnknownName
from softlabel.io import COUNT, LARGE, Facts, check_gold, read_gold, refuse_classes, scan_votes
from softlabel.tables import DOUBT, ESTIMATES, Index, names

if TYPE_CHECKING:
    from distributed import Client

DASK = "dask"
PARTS, KEPT, ROWS = "parts", "parameters.npz", "rows"
DROPPED = "repeats dropped"


@dataclass(frozen=True)
class Job:
    """What is to be labelled, and how.

    ``source`` is as the user named it; ``read`` brings it into memory where it cannot be streamed.
    ``parts`` None: one per thread of the cluster.
    """

    source: str
    out: Path
    plan: files.Plan
    read: Callable[[], files.Source]
    labels: list[str] | None = None
    parts: int | None = None
    checkpoint: Path | None = None

    @property
    def streams(self) -> bool:
        """True for large files of votes whose votes are pooled as they are, and for folders."""
        plan, path = self.plan, Path(self.source)
        if plan.construct is not None or plan.sample is not None or plan.repeats == "mean":
            return False
        large = path.suffix.lower() in (".csv", ".parquet") and path.is_file()
        return path.is_dir() or (large and path.stat().st_size >= LARGE)

    def about(self) -> dict[str, Any]:
        """What a checkpoint is of: other votes or other methods must not go on from it."""
        plan, path = self.plan, Path(self.source)
        held = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        states = [file.stat() for file in held if file.exists()]
        return {
            "input": str(path.resolve()) if states else self.source,
            "size": sum(state.st_size for state in states),
            "time": max((state.st_mtime_ns for state in states), default=0),
            "labels": self.labels,
            "parts": self.parts,
            "pool": registry.describe(plan.aggregate),
            "construction": plan.construct and registry.describe(plan.construct),
            "rest": [plan.repeats, plan.sample, plan.seed, plan.gold and str(plan.gold)],
        }


def label(job: Job, where: str = DASK, tell: Tell = silent) -> Facts:
    """Write one soft label per item; returns what happened on the way.

    ``where`` is ``dask`` for a cluster of this machine's cores, or ``dask://host:port``.
    """
    check_works(job.plan.aggregate)
    if job.plan.gold is not None:
        check_gold(job.plan.aggregate)
    if job.plan.intervals:
        raise SoftlabelError("--intervals: parts have labels only; leave --engine out for them")
    with room(job.checkpoint, job.out, job.about()) as folder, connected(where) as client:
        from softlabel.engine.cluster import DaskEngine

        threads = sum(client.nthreads().values())
        partitions, facts = _parts(job, folder, job.parts or threads, tell)
        refuse_classes(partitions.labels, (ITEM, COUNT))
        engine = DaskEngine(client, partitions, _reading(job, partitions))
        facts |= _checked(job, engine, partitions, facts)
        facts |= _labelled(job, engine, partitions, folder, tell)
        workers = len(client.scheduler_info()["workers"])
        facts["engine"] = f"{where} (workers {workers}, parts {len(partitions)})"
        return {"items": facts.pop("items")} | facts


def connected(where: str) -> AbstractContextManager[Client]:
    """The cluster that ``dask`` or ``dask://host:port`` names."""
    scheme, _, address = where.partition("://")
    if scheme != DASK or (address == "") != (where == DASK):
        raise UnknownName("engine", where, [DASK, "dask://host:port"])
    try:
        from softlabel.engine.cluster import connect
    except ImportError as missing:
        raise MissingExtra(f"--engine {where}", "cluster") from missing
    return connect(address or None)


# ── before ───────────────────────────────────────────────────────────────────────────────────


def _parts(job: Job, folder: Path, parts: int, tell: Tell) -> tuple[Partitions, Facts]:
    """The parts, and what must be told about them; those of a checkpoint are taken as they are."""
    target, facts = folder / PARTS, folder / FACTS
    if facts.exists():
        return Partitions.open(target), read_json(facts)
    shutil.rmtree(target, ignore_errors=True)  # of an attempt that was not finished
    made, told = _streamed(job, target, parts, tell), Facts()
    if made is None:
        shutil.rmtree(target, ignore_errors=True)
        each, told = files.prepared(job.read(), job.plan, tell)
        made = split_table(each, target, parts)
        unanswered(each, folder / ROWS)
    told = told or {
        "annotators": f"{made.annotators:,}",
        "classes": f"{len(made.labels):,}",
        "answers": f"{made.votes:,}",
        "construction": "none (votes)",
    }
    write_json(facts, told)
    return made, told


def _streamed(job: Job, target: Path, parts: int, tell: Tell) -> Partitions | None:
    """The parts of a folder, or of a file that can be split without reading it into memory."""
    path = Path(job.source)
    if not job.streams:
        return None
    if path.is_dir():
        return open_folder(path, target, job.labels, tell)
    scan = scan_votes(path, path.suffix.lower().removeprefix("."), tell)
    return None if scan is None else split_file(scan, target, parts, job.labels, tell)


def _reading(job: Job, partitions: Partitions) -> Reading:
    gold: dict[str, int] = {}
    if job.plan.gold is not None:
        column = pl.read_csv(job.plan.gold, columns=[ITEM], infer_schema=False)[ITEM]
        index = Index(names(column.unique().to_list()), names([]), names(list(partitions.labels)))
        codes = read_gold(job.plan.gold, index)
        gold = dict(zip(index.items.tolist(), codes.tolist(), strict=True))
    return Reading(first=job.streams and job.plan.repeats == "first", gold=gold)


def _checked(job: Job, engine: Engine, partitions: Partitions, told: Facts) -> Facts:
    """Nobody answered twice unless that is wanted (of a table this is known already); gold is about
    something."""
    facts: Facts = {}
    if DROPPED not in told:
        if job.plan.repeats in (None, "error"):
            refuse_repeats(engine, Path(job.source))
        dropped = partitions.votes - sum(engine.each(_answers))
        facts[DROPPED] = f"{dropped:,}"
    if job.plan.gold is not None:
        known = sum(engine.each(_known))
        if not known:
            raise FileError(job.plan.gold, "names none of the items that were answered")
        facts["gold"] = f"{known:,} items fixed"
    return facts


def _answers(part: Part) -> int:
    return int(part.count.sum())


def _known(part: Part) -> int:
    return 0 if part.gold is None else int((part.gold >= 0).sum())


# ── after ────────────────────────────────────────────────────────────────────────────────────


def _labelled(job: Job, engine: Engine, partitions: Partitions, folder: Path, tell: Tell) -> Facts:
    """Fit, and write the labels part by part."""
    pooler, rows = job.plan.aggregate, folder / ROWS
    rows.mkdir(exist_ok=True)
    found: Fitted | None = None
    if is_model(pooler):
        keep = None if job.checkpoint is None else folder / KEPT
        found = fitted(pooler, engine, partitions.votes, keep, tell)
        labels = engine.each(write_posterior, str(rows), pooler, found.parameters)
    else:
        labels = engine.each(write_pooled, str(rows), pooler)
    written: list[Written] = []
    for one in labels:
        written.append(one)
        tell("labelling", len(written), len(partitions))
    tell(f"writing {job.out.name}")
    combine(sorted(rows.glob("*.parquet")), job.out, _members(pooler, partitions))
    return _outcome(pooler, found, written)


def _members(pooler: Any, partitions: Partitions) -> dict[str, npt.NDArray[Any]]:
    """What an ``.npz`` of soft labels says besides the labels."""
    return {
        "labels": np.array(partitions.labels, dtype=np.str_),
        "annotators": np.array(partitions.people()[NAME].to_list(), dtype=np.str_),
        "estimand": np.array(pooler.estimand),
        "made_by": np.array(repr(pooler)),
    }


def _outcome(pooler: Any, found: Fitted | None, written: list[Written]) -> Facts:
    items = sum(one.items for one in written)
    doubt = sum(one.entropy for one in written) / items
    facts = {
        "items": f"{items:,}",
        "pool": registry.describe(pooler),
        "estimates": ESTIMATES[pooler.estimand],
    }
    if found is not None:
        end = "converged" if found.converged else "not converged"
        steps = f"{len(found.trace)} steps, {end}"
        facts["fit"] = f"{steps}; {pooler.objective} {found.trace[-1]:.6g}"
    return facts | {"mean entropy": f"{doubt:.4f} nats ({DOUBT[pooler.estimand]})"}
