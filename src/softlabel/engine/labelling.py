"""The work behind ``softlabel label --engine``: from votes to labels in parts, on a cluster."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from softlabel import registry
from softlabel._util.files import write_atomically
from softlabel._util.progress import Progress, silent
from softlabel.aggregate import Engine, FitResult
from softlabel.engine.fitting import check_works_on_parts, fit_parts, is_model
from softlabel.engine.partitions import ITEM, NAME, Part, Partitions, ReadOptions, refuse_repeats
from softlabel.engine.results import combine, write_itemwise, write_posterior, write_unanswered
from softlabel.engine.split import open_folder, split_file, split_table
from softlabel.errors import FileError, MissingExtra, SoftlabelError, UnknownName
from softlabel.io import COUNT, LARGE, Source, check_class_names, read_gold, scan_votes
from softlabel.label import Facts, Plan, check_gold, prepare
from softlabel.tables import DOUBT, ESTIMATES, Index, names

if TYPE_CHECKING:
    from distributed import Client

DASK = "dask"
PARTS, PARAMETERS, ROWS = "parts", "parameters.npz", "rows"  # in the folder of a fit
ABOUT, FACTS = "fit.json", "facts.json"
DROPPED = "repeats dropped"


@dataclass(frozen=True)
class ClusterPlan:
    """What is to be labelled on a cluster, and how.

    ``source`` is as the user named it; ``read`` brings it into memory where it cannot be streamed.
    ``parts`` None: one per thread of the cluster.
    """

    source: str
    out: Path
    plan: Plan
    read: Callable[[], Source]
    labels: list[str] | None = None
    parts: int | None = None
    checkpoint: Path | None = None

    @property
    def streams(self) -> bool:
        """True for large files of votes that need no work before they are pooled, and folders."""
        plan, path = self.plan, Path(self.source)
        if plan.construct is not None or plan.sample is not None or plan.repeats == "mean":
            return False
        large = path.suffix.lower() in (".csv", ".parquet") and path.is_file()
        return path.is_dir() or (large and path.stat().st_size >= LARGE)

    def identity(self) -> dict[str, Any]:
        """Return what a checkpoint is of: other votes or other methods must not go on from it."""
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


def label_on_cluster(job: ClusterPlan, where: str = DASK, progress: Progress = silent) -> Facts:
    """Write one soft label per item; return what happened on the way.

    ``where`` is ``dask`` for a cluster of this machine's cores, or ``dask://host:port``.
    """
    check_works_on_parts(job.plan.aggregate)
    if job.plan.gold is not None:
        check_gold(job.plan.aggregate)
    if job.plan.intervals:
        raise SoftlabelError("--intervals: parts have labels only; leave --engine out for them")
    with _work_folder(job) as folder, connect_cluster(where) as client:
        from softlabel.engine.cluster import DaskEngine

        threads = sum(client.nthreads().values())
        partitions, facts = _make_parts(job, folder, job.parts or threads, progress)
        check_class_names(partitions.labels, (ITEM, COUNT))
        engine = DaskEngine(client, partitions, _read_options(job, partitions))
        if DROPPED not in facts:  # repeats of a table were dealt with before it was split
            if job.plan.repeats in (None, "error"):
                refuse_repeats(engine, Path(job.source))
            facts[DROPPED] = f"{partitions.votes - sum(engine.each(_count_answers)):,}"
        if job.plan.gold is not None:
            fixed = sum(engine.each(_count_gold))
            if not fixed:
                raise FileError(job.plan.gold, "names none of the items that were answered")
            facts["gold"] = f"{fixed:,} items fixed"
        facts |= _label_parts(job, engine, partitions, folder, progress)
        workers = len(client.scheduler_info()["workers"])
        facts["engine"] = f"{where} (workers {workers}, parts {len(partitions)})"
        return {"items": facts.pop("items")} | facts


def connect_cluster(where: str) -> AbstractContextManager[Client]:
    """Connect to the cluster that ``dask`` or ``dask://host:port`` names."""
    scheme, _, address = where.partition("://")
    if scheme != DASK or (address == "") != (where == DASK):
        raise UnknownName("engine", where, [DASK, "dask://host:port"])
    try:
        from softlabel.engine.cluster import connect
    except ImportError as missing:
        raise MissingExtra(f"--engine {where}", "cluster") from missing
    return connect(address or None)


# ── the folder of a fit: its parts, its checkpoint, and what it is a fit of ────────────────────


@contextmanager
def _work_folder(job: ClusterPlan) -> Iterator[Path]:
    """Give the folder of the checkpoint, if it is empty or of the same fit, or one that is removed
    at the end.  It is beside the output, because the workers of a cluster must see it."""
    folder = job.checkpoint
    if folder is None:
        out = job.out.resolve()
        with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as temporary:
            yield Path(temporary)
        return
    folder.mkdir(parents=True, exist_ok=True)
    path, identity = folder / ABOUT, job.identity()
    if not path.exists():
        if any(folder.iterdir()):
            raise SoftlabelError(f"--checkpoint {folder}: holds other files; name an empty folder")
        _write_json(path, identity)
    kept = _read_json(path)
    for key, value in identity.items():
        if kept.get(key) != value:
            raise SoftlabelError(
                f"--checkpoint {folder}: is of another fit, whose {key} was {kept.get(key)!r} and "
                f"not {value!r}; remove it, or name another folder"
            )
    yield folder.resolve()


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    with write_atomically(path) as part:
        part.write_text(json.dumps(content, indent=1), "utf-8")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except ValueError as error:
        raise SoftlabelError(f"{path}: is damaged ({error}); remove its folder") from None


# ── before the fit ───────────────────────────────────────────────────────────────────────────


def _make_parts(
    job: ClusterPlan, folder: Path, parts: int, progress: Progress
) -> tuple[Partitions, Facts]:
    """Return the parts, and what to report about them; a checkpoint's are taken as they are."""
    target, path = folder / PARTS, folder / FACTS
    if path.exists():
        return Partitions.open(target), _read_json(path)
    shutil.rmtree(target, ignore_errors=True)  # of an attempt that was not finished
    partitions, source = None, Path(job.source)
    if job.streams and source.is_dir():
        partitions = open_folder(source, target, job.labels, progress)
    elif job.streams:
        scan = scan_votes(source, source.suffix.lower().removeprefix("."), progress)
        if scan is not None:
            partitions = split_file(scan, target, parts, job.labels, progress)
    if partitions is not None:
        facts = {
            "annotators": f"{partitions.annotators:,}",
            "classes": f"{len(partitions.labels):,}",
            "answers": f"{partitions.votes:,}",
            "construction": "none (votes)",
        }
    else:
        shutil.rmtree(target, ignore_errors=True)
        each, facts = prepare(job.read(), job.plan, progress)
        partitions = split_table(each, target, parts)
        write_unanswered(each, folder / ROWS)
    _write_json(path, facts)
    return partitions, facts


def _read_options(job: ClusterPlan, partitions: Partitions) -> ReadOptions:
    gold: dict[str, int] = {}
    if job.plan.gold is not None:
        column = pl.read_csv(job.plan.gold, columns=[ITEM], infer_schema=False)[ITEM]
        index = Index(names(column.unique().to_list()), names([]), names(list(partitions.labels)))
        codes = read_gold(job.plan.gold, index)
        gold = dict(zip(index.items.tolist(), codes.tolist(), strict=True))
    return ReadOptions(first=job.streams and job.plan.repeats == "first", gold=gold)


def _count_answers(part: Part) -> int:
    return int(part.count.sum())


def _count_gold(part: Part) -> int:
    return 0 if part.gold is None else int((part.gold >= 0).sum())


# ── fit and write ────────────────────────────────────────────────────────────────────────────


def _label_parts(
    job: ClusterPlan, engine: Engine, partitions: Partitions, folder: Path, progress: Progress
) -> Facts:
    """Fit, and write the labels part by part."""
    pooler: Any = job.plan.aggregate
    rows = folder / ROWS
    rows.mkdir(exist_ok=True)
    fit: FitResult | None = None
    if is_model(pooler):
        keep = None if job.checkpoint is None else folder / PARAMETERS
        fit = fit_parts(pooler, engine, partitions.votes, keep, progress)
        labels = engine.each(write_posterior, str(rows), pooler, fit.parameters)
    else:
        labels = engine.each(write_itemwise, str(rows), pooler)
    items, entropy = 0, 0.0
    for number, (answered, entropies) in enumerate(labels, 1):
        items, entropy = items + answered, entropy + entropies
        progress("labelling", number, len(partitions))
    progress(f"writing {job.out.name}")
    about = {  # what an .npz of soft labels holds besides the labels
        "labels": np.array(partitions.labels, dtype=np.str_),
        "annotators": np.array(partitions.people()[NAME].to_list(), dtype=np.str_),
        "estimand": np.array(pooler.estimand),
        "made_by": np.array(repr(pooler)),
    }
    combine(sorted(rows.glob("*.parquet")), job.out, about)
    facts = {"items": f"{items:,}", "pool": registry.describe(pooler)}
    facts["estimates"] = ESTIMATES[pooler.estimand]
    if fit is not None:
        end = "converged" if fit.converged else "not converged"
        facts["fit"] = f"{len(fit.trace)} steps, {end}; {pooler.objective} {fit.trace[-1]:.6g}"
    doubt = f"{entropy / items:.4f} nats ({DOUBT[pooler.estimand]})"
    return facts | {"mean entropy": doubt}
