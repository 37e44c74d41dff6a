"""The work behind ``softlabel label --engine``: from votes to labels in parts, on a cluster."""

import json
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import entr

from softlabel import io, registry
from softlabel._util.files import file_kind, write_atomically
from softlabel._util.progress import Progress, silent
from softlabel.aggregate import Aggregate, em
from softlabel.engine import partitions as parted
from softlabel.engine.fitting import check_works_on_parts, fit_parts, is_model
from softlabel.engine.partitions import ITEM, NAME, Part, Partitions, ReadOptions, item_names
from softlabel.errors import FileError, MissingExtra, SoftlabelError, UnknownName
from softlabel.labelling import Facts, Plan, branch_shares, check_gold, prepare
from softlabel.tables import ANONYMOUS, DOUBT, ESTIMATES, Annotations, Floats, Index, Ints, names

if TYPE_CHECKING:
    from distributed import Client

DASK = "dask"
PARTS, PARAMETERS, ROWS = "parts", "parameters.npz", "rows"  # in the folder of a fit
FURTHER = "further.parquet"  # columns that follow the labels
ABOUT, FACTS = "fit.json", "facts.json"
BATCH = 2**18  # rows of an .npz file at a time
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
    read: Callable[[], io.Source]
    labels: list[str] | None = None
    parts: int | None = None
    checkpoint: Path | None = None
    reading: io.Reading = field(default_factory=io.Reading)

    @property
    def streams(self) -> bool:
        """True for large files of votes that need no work before they are pooled, and folders."""
        plan, path = self.plan, Path(self.source)
        odd = plan.repeats in ("mean", "last")
        if plan.construct is not None or plan.sample is not None or odd:
            return False
        if self.reading != io.Reading():
            return False
        large = path.suffix.lower() in (".csv", ".parquet") and path.is_file()
        return path.is_dir() or (large and path.stat().st_size >= io.large.LARGE)

    def identity(self) -> dict[str, Any]:
        """Return what a checkpoint is of: other votes or other methods must not go on from it."""
        plan, path = self.plan, Path(self.source)
        held = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        states = [file.stat() for file in held if file.exists()]
        told = {} if self.reading == io.Reading() else {"reading": repr(self.reading)}
        return told | {
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
        further = _further_columns(folder)
        io.write.check_class_names(partitions.labels, (ITEM, io.write.COUNT, *further))
        gold: dict[str, int] = {}
        if job.plan.gold is not None:
            column = pl.read_csv(job.plan.gold, columns=[ITEM], infer_schema=False)[ITEM]
            asked, labels = names(column.unique().to_list()), names(list(partitions.labels))
            codes = io.read_gold(job.plan.gold, Index(asked, names([]), labels))
            gold = dict(zip(asked.tolist(), codes.tolist(), strict=True))
        first = job.streams and job.plan.repeats == "first"
        engine = DaskEngine(client, partitions, ReadOptions(first, gold))
        if DROPPED not in facts:  # repeats of a table were dealt with before it was split
            if job.plan.repeats in (None, "error"):
                parted.refuse_repeats(engine, Path(job.source))
            answers = sum(engine.each(lambda part: int(part.count.sum())))
            facts[DROPPED] = f"{partitions.votes - answers:,}"
        if job.plan.gold is not None:
            each = engine.each(lambda part: 0 if part.gold is None else int((part.gold >= 0).sum()))
            fixed = sum(each)
            if not fixed:
                raise FileError(job.plan.gold, "names none of the items that were answered")
            facts["gold"] = f"{fixed:,} items fixed"
        facts |= _label_parts(job, engine, partitions, folder, progress)
        workers = len(client.scheduler_info()["workers"])
        facts["engine"] = f"{where} (workers {workers}, parts {len(partitions)})"
        return {"items": facts.pop("items")} | facts


def connect_cluster(where: str) -> "AbstractContextManager[Client]":
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
        partitions = parted.open_folder(source, target, job.labels, progress)
    elif job.streams:
        scan = io.large.scan_votes(source, source.suffix.lower().removeprefix("."), progress)
        if scan is not None:
            partitions = parted.split_file(scan, target, parts, job.labels, progress)
    if partitions is not None:
        facts = {
            "annotators": f"{partitions.annotators:,}",
            "classes": f"{len(partitions.labels):,}",
            "answers": f"{partitions.votes:,}",
            "construction": "none (votes)",
        }
    else:
        shutil.rmtree(target, ignore_errors=True)
        answers = job.read()
        each, facts = prepare(answers, job.plan, progress)
        partitions = parted.split_table(each, target, parts)
        write_unanswered(each, folder / ROWS)
        write_further(each, branch_shares(answers, each, job.plan), folder)
    _write_json(path, facts)
    return partitions, facts


def _label_parts(
    job: ClusterPlan, engine: em.Engine, partitions: Partitions, folder: Path, progress: Progress
) -> Facts:
    """Fit, and write the labels part by part."""
    pooler: Any = job.plan.aggregate
    rows = folder / ROWS
    rows.mkdir(exist_ok=True)
    fit: em.FitResult | None = None
    if is_model(pooler):
        keep = None if job.checkpoint is None else folder / PARAMETERS
        fit = fit_parts(pooler, engine, partitions.votes, keep, progress)
    labels = engine.each(write_part, str(rows), pooler, fit and fit.parameters)
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
        "ordered": np.array(False),  # an engine does not know the order of classes
    }
    combine(_read_rows(folder), job.out, about)
    facts = {"items": f"{items:,}", "pool": registry.describe(pooler)}
    facts["estimates"] = ESTIMATES[pooler.estimand]
    if fit is not None:
        end = "converged" if fit.converged else "not converged"
        facts["fit"] = f"{len(fit.trace)} steps, {end}; {pooler.objective} {fit.trace[-1]:.6g}"
    facts["mean entropy"] = f"{entropy / items:.4f} nats ({DOUBT[pooler.estimand]})"
    return facts


# ── rows of labels: workers write them part by part, and they are combined as a stream ────────


Written = tuple[int, float]  # by a worker: how many items, and the sum of their labels' entropies


def write_part(part: Part, folder: str, pooler: Any, parameters: Any) -> Written:
    """Write the labels of a part, under these parameters where the pool is a fitted method."""
    items = item_names(part.partitions, part.number)
    probs = pooler.posterior(part, parameters) if is_model(pooler) else pool_items(part, pooler)
    frame = _frame(items, part.partitions.labels, probs, part.count)
    with write_atomically(Path(folder) / f"rows-{part.number:05d}.parquet") as target:
        frame.write_parquet(target, compression="lz4")
    return part.items, float(entr(probs).sum())


def pool_items(part: Part, pooler: Aggregate) -> Floats:
    """Pool a part one item at a time; who gave which vote does not matter to such pools."""
    items = io.large.compact_names(item_names(part.partitions, part.number))
    index = Index(items, names([]), names(list(part.partitions.labels)))
    item = np.repeat(np.arange(part.items), np.diff(part.start))
    if part.answer is None or part.weight is None:
        votes = Annotations(index, item, np.full(len(item), ANONYMOUS), label=part.label)
    else:
        _, first, answer = np.unique(part.answer, return_index=True, return_inverse=True)
        probs = np.zeros((len(first), part.labels))
        probs[answer, part.label] = part.weight
        votes = Annotations(index, item[first], np.full(len(first), ANONYMOUS), probs=probs)
    return pooler(votes).probs


def write_unanswered(votes: Annotations, folder: Path) -> None:
    """Write the rows of items that nobody answered: they are in no part, and have no label."""
    nobody = np.flatnonzero(votes.votes_per_item() == 0)
    if not len(nobody):
        return
    items = pl.Series(ITEM, votes.index.items[nobody].tolist(), dtype=pl.String)
    empty = np.full((len(nobody), len(votes.index.labels)), np.nan)
    frame = _frame(items, votes.index.labels.tolist(), empty, np.zeros(len(nobody), np.int64))
    folder.mkdir(exist_ok=True)
    frame.write_parquet(folder / "rows-unanswered.parquet", compression="lz4")  # sorts last


def _frame(items: pl.Series, labels: Sequence[str], probs: Floats, count: Ints) -> pl.DataFrame:
    columns = {
        label: pl.Series(column.copy()).fill_nan(None)
        for label, column in zip(labels, probs.T, strict=True)
    }
    return pl.DataFrame({ITEM: items} | columns | {io.write.COUNT: count.astype(np.int64)})


def write_further(votes: Annotations, columns: Mapping[str, Floats], folder: Path) -> None:
    """Write the columns that follow the labels, by item; no file if there are none."""
    if columns:
        items = pl.Series(ITEM, votes.index.items.tolist(), dtype=pl.String)
        cells = {name: pl.Series(values).fill_nan(None) for name, values in columns.items()}
        pl.DataFrame({ITEM: items} | cells).write_parquet(folder / FURTHER, compression="lz4")


def _further_columns(folder: Path) -> list[str]:
    path = folder / FURTHER
    return list(pl.read_parquet_schema(path))[1:] if path.exists() else []


def _read_rows(folder: Path) -> pl.LazyFrame:
    """Return the rows of all parts in their order, with the columns that follow the labels."""
    table = pl.scan_parquet(sorted((folder / ROWS).glob("*.parquet")), glob=False)
    if not _further_columns(folder):
        return table
    further = pl.scan_parquet(folder / FURTHER, glob=False)
    return table.join(further, on=ITEM, how="left", maintain_order="left")


def combine(table: pl.LazyFrame, out: Path, about: dict[str, npt.NDArray[Any]]) -> None:
    """Stream all the rows into one file; ``about`` are the further members of an ``.npz``.

    An item nobody answered has empty cells, as everywhere.
    """
    kind = file_kind(out, io.write.LABEL_KINDS)
    labels = about["labels"].tolist()
    with write_atomically(out) as target:
        if kind == "parquet":
            table.sink_parquet(target)
        elif kind == "csv":
            io.escape_formulas(table).sink_csv(target)
        elif kind == "jsonl":
            io.write_label_lines(table, target, labels)
        else:
            _write_npz(table, target, about)


def _write_npz(table: pl.LazyFrame, target: Path, about: dict[str, npt.NDArray[Any]]) -> None:
    """Write the members that ``SoftLabels.save`` writes, in pieces; a null is NaN."""
    labels = about["labels"].tolist()
    each = table.collect_schema().names()[1:]
    m, width = table.select(pl.len(), pl.col(ITEM).str.len_chars().max()).collect().row(0)
    kinds = {ITEM: f"<U{width or 1}"} | dict.fromkeys(["probs", *each], "<f8")
    kinds[io.write.COUNT] = "<i8"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as box:
        for name, kind in kinds.items():
            columns = labels if name == "probs" else [name]
            shape = (m, len(labels)) if name == "probs" else (m,)
            header = {"descr": kind, "fortran_order": False, "shape": shape}
            with box.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array_header_1_0(member, header)
                for batch in table.select(columns).collect_batches(chunk_size=BATCH):
                    cells = batch if len(columns) > 1 else batch.to_series()
                    member.write(np.ascontiguousarray(cells.to_numpy(), dtype=kind).tobytes())
        for name, array in about.items():
            with box.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
