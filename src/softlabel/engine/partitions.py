"""Votes in parts: Parquet files among which every item is in one only.

A step of EM needs no more: each part is processed on its own, and the results are added up.  A part
that is lost is read again.  Parts are made of a large file in one pass that needs little memory, of
a table, or of a folder of Parquet files that is partitioned already and is read where it lies.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl

from softlabel import io
from softlabel._util.progress import Progress, abbreviate, silent
from softlabel.aggregate import em
from softlabel.errors import DataError, FileError
from softlabel.tables import Annotations, Ints, given_away

MANIFEST, PEOPLE = "manifest.json", "annotators.parquet"
ITEM, ANNOTATOR, LABEL, WEIGHT, ANSWER = "item", "annotator", "label", "weight", "answer"
NAME, PLACE = "name", "place"  # of the table of annotators
PART, HASH = "part", "hash"  # while parts are made
REMEDY = "say what to do with --repeats first or all"


@dataclass(frozen=True)
class Partitions:
    """Where the parts are and what their codes mean.  Small: it travels to every worker.

    ``folder`` holds the table of annotators, in alphabetical order whatever their codes in the
    files.  ``places[c]`` is the class that code c stands for; it is None for a user's own files of
    names, which are read where they lie.  ``soft`` files have a row for every class that an answer
    gives a chance to.
    """

    folder: str
    files: tuple[str, ...]
    labels: tuple[str, ...]
    annotators: int
    votes: int
    places: tuple[int, ...] | None
    soft: bool = False
    columns: tuple[str, str] = (ITEM, ANNOTATOR)

    def __len__(self) -> int:
        return len(self.files)

    @property
    def table_bytes(self) -> int:
        """The size of a table of confusions: annotators x labels x labels numbers."""
        return self.annotators * len(self.labels) ** 2 * 8

    def path(self, number: int) -> Path:
        return Path(self.folder) / self.files[number]  # a file with a path of its own keeps it

    def people(self) -> pl.DataFrame:
        """Read each annotator's ``name`` and, where files are coded, ``place`` of code 0, 1, ..."""
        return pl.read_parquet(Path(self.folder) / PEOPLE)

    def save(self) -> None:
        """Write the manifest beside the parts, so that they can be opened again."""
        text = json.dumps(asdict(self) | {"folder": "."}, indent=1)
        (Path(self.folder) / MANIFEST).write_text(text, "utf-8")

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Read what ``save`` wrote."""
        path = folder / MANIFEST
        try:
            kept = json.loads(path.read_text("utf-8"))
            lists = {key: tuple(value) for key, value in kept.items() if isinstance(value, list)}
            return cls(**kept | lists | {"folder": str(folder)})
        except (OSError, ValueError, AttributeError, TypeError) as error:
            raise FileError(path, f"is no list of parts ({error}); split the votes again") from None


@dataclass(frozen=True)
class ReadOptions:
    """How parts are read: with ``first`` only a person's first answer to an item counts; ``gold``
    is the class, by its code, of the items whose class is known."""

    first: bool = False
    gold: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True)
class Part(em.Votes):
    """The votes of one part, and where to find the names of its items.

    ``count`` is how many answers each item has; ``answer``, of soft votes, which one a vote is of.
    """

    partitions: Partitions
    number: int
    count: Ints
    answer: Ints | None = None

    def __sizeof__(self) -> int:
        """Return the bytes of its arrays: Dask sends work to large data, and small data to work."""
        held = [getattr(self, column.name) for column in fields(self)]
        return sum(array.nbytes for array in held if isinstance(array, np.ndarray))


def read_part(partitions: Partitions, number: int, options: ReadOptions | None = None) -> Part:
    """Read one part, sorted by item; within an item votes stay in their order."""
    options = options or ReadOptions()
    stored, people = pl.read_parquet(partitions.path(number), glob=False), partitions.people()
    item, who = (stored[column] for column in partitions.columns)
    items = _distinct(item)
    if partitions.places is None:
        annotator = io.find_codes(who.cast(pl.String), people[NAME])
        label = io.find_codes(stored[LABEL].cast(pl.String), list(partitions.labels))
    else:
        annotator = people[PLACE].to_numpy()[who.to_numpy()]
        label = np.array(partitions.places, dtype=np.int32)[stored[LABEL].to_numpy()]
    frame = pl.DataFrame(
        {
            ITEM: io.find_codes(item.cast(pl.String), items),
            ANNOTATOR: annotator.astype(np.int32),
            LABEL: label.astype(np.int16 if len(partitions.labels) <= 2**15 else np.int32),
        }
    )
    if partitions.soft:
        frame = frame.hstack(stored.select(WEIGHT, ANSWER))
    if options.first:
        frame = frame.unique([ITEM, ANNOTATOR], keep="first", maintain_order=True)
    count = frame.unique([ITEM, ANSWER])[ITEM] if partitions.soft else frame[ITEM]
    frame = frame.sort(ITEM, maintain_order=True)
    start = np.zeros(len(items) + 1, dtype=np.int64)
    np.cumsum(np.bincount(frame[ITEM].to_numpy(), minlength=len(items)), out=start[1:])
    gold: Ints | None = None
    if options.gold:
        codes = np.array([*options.gold.values(), -1], dtype=np.int32)  # place -1: not known
        gold = codes[io.find_codes(items, list(options.gold))]

    def array(column: str) -> Any:  # as kernels want it: in one piece, and read-only
        return given_away(frame[column].rechunk().to_numpy().view())

    return Part(
        start=given_away(start),
        annotator=array(ANNOTATOR),
        label=array(LABEL),
        weight=array(WEIGHT) if partitions.soft else None,
        items=len(items),
        annotators=partitions.annotators,
        labels=len(partitions.labels),
        gold=given_away(gold) if gold is not None and (gold >= 0).any() else None,
        partitions=partitions,
        number=number,
        count=given_away(np.bincount(count.to_numpy(), minlength=len(items))),
        answer=array(ANSWER) if partitions.soft else None,
    )


def item_names(partitions: Partitions, number: int) -> pl.Series:
    """Read the items of a part, in the order of its codes."""
    column = partitions.columns[0]
    frame = pl.read_parquet(partitions.path(number), columns=[column], glob=False)
    return _distinct(frame[column])


def _distinct(column: pl.Series) -> pl.Series:
    return column.cast(pl.String).unique(maintain_order=True).alias(ITEM)


# ── making parts ─────────────────────────────────────────────────────────────────────────────


def split_file(
    scan: io.large.Scan,
    folder: Path,
    parts: int,
    labels: list[str] | None = None,
    progress: Progress = silent,
) -> Partitions | None:
    """Stream a file of hard votes into ``parts`` files, by a hash of the item.

    Annotators and labels become codes on the way; their names are stored beside.  Return None
    where something in the file is odd: the careful readers report what it is.
    """
    _check_number(parts)
    who, what, watch = io.large.Coding(), io.large.Coding(), _Watch(scan, progress)
    number = (pl.col(ITEM).hash(0) % parts).alias(PART)
    columns = pl.col(ITEM), who.code(ANNOTATOR), what.code(LABEL), number
    query = scan.votes.map_batches(watch, streamable=True).select(columns)
    target = pl.PartitionBy(
        folder,
        key=PART,
        include_key=False,
        # polars has no public type for the argument
        file_path_provider=lambda which: _file_name(which.partition_keys[PART][0]),
        approximate_bytes_per_file=None,
    )
    query.sink_parquet(target, compression="lz4", mkdir=True)
    people, voted = who.names(), what.names()
    classes = io.large.match_classes(voted, labels or scan.classes)
    whole = scan.is_whole(watch.rows) and not watch.odd
    if classes is None or not whole or io.large.has_blank(people) or io.large.has_blank(voted):
        return None
    if io.large.has_twins(people):
        return None
    labels, places = classes
    return _save(folder, people, labels, watch.rows, places=tuple(places.tolist()))


class _Watch:
    """Sees every batch pass: counts its rows and notices empty cells."""

    def __init__(self, scan: io.large.Scan, progress: Progress) -> None:
        self.scan, self.progress, self.rows, self.odd = scan, progress, 0, False

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        self.rows += len(batch)
        self.odd |= any(batch.null_count().row(0)) or io.large.has_blank(batch[ITEM])
        step = f"splitting {self.scan.path.name}: {abbreviate(self.rows)} votes"
        self.progress(step, self.rows, self.scan.rows)
        return batch


def split_table(votes: Annotations, folder: Path, parts: int) -> Partitions:
    """Split a table into ranges of items, in their order; items without answers are in no part."""
    _check_number(parts)
    if votes.anonymous:
        raise DataError("some votes have no annotator; pools of parts need to know who said what")
    folder.mkdir(parents=True, exist_ok=True)
    answered = np.flatnonzero(votes.votes_per_item())
    edges = np.linspace(0, len(answered), min(parts, max(len(answered), 1)) + 1).astype(int)
    place = np.zeros(len(votes.index.items), dtype=np.int64)
    place[answered] = np.arange(len(answered))
    order = np.argsort(place[votes.item], kind="stable")
    cuts = np.searchsorted(place[votes.item[order]], edges)
    items = pl.Series(votes.index.items.tolist(), dtype=pl.String)
    for number, (low, high) in enumerate(pairwise(cuts.tolist())):
        rows = order[low:high]
        if votes.label is not None:
            columns: dict[str, Any] = {LABEL: votes.label[rows]}
        else:  # soft votes have a row per class
            probs = votes.soft()[rows]
            row, label = np.nonzero(probs)
            rows = rows[row]
            columns = {LABEL: label.astype(np.int32), WEIGHT: probs[row, label]}
            columns[ANSWER] = row.astype(np.int32)
        who = {ITEM: items.gather(votes.item[rows]), ANNOTATOR: votes.annotator[rows]}
        pl.DataFrame(who | columns).write_parquet(folder / _file_name(number), compression="lz4")
    people = pl.Series(votes.index.annotators.tolist(), dtype=pl.String)
    labels = votes.index.labels.tolist()
    places = tuple(range(len(labels)))
    return _save(folder, people, labels, len(votes), places=places, soft=not votes.hard)


def open_folder(
    folder: Path, work: Path, labels: list[str] | None = None, progress: Progress = silent
) -> Partitions:
    """Open a folder of ``.parquet`` files of hard votes, each item in one of them only.

    Annotators and classes are looked up once, and their names stored in ``work``.  A folder in
    which an item is in two files is refused: its votes would be pooled apart.
    """
    paths = sorted(folder.glob("*.parquet"))
    if not paths:
        raise FileError(folder, "holds no .parquet files")
    who, what = io.large.Coding(), io.large.Coding()
    scans, hashes = [], []
    for number, path in enumerate(paths, 1):
        scan = io.large.scan_votes(path, "parquet")
        if scan is None:
            raise _explain([path], labels)
        scans.append(scan)
        progress(f"looking through {path.name}", number, len(paths))
        query = scan.votes.select(
            pl.col(ITEM).hash(0).unique().implode().alias(HASH),
            who.code(ANNOTATOR).max(),
            what.code(LABEL).max(),
            nulls=pl.sum_horizontal(pl.col(ITEM, ANNOTATOR, LABEL).null_count()),
            blank=(pl.col(ITEM).str.strip_chars() == "").any(),
        )
        facts = query.collect(engine="streaming").row(0, named=True)
        if facts["nulls"] or facts["blank"]:
            raise _explain([path], labels)
        hashes.append(pl.Series(HASH, facts[HASH], dtype=pl.UInt64))
    people, voted = who.names(), what.names()
    classes = io.large.match_classes(voted, labels or scans[0].classes)
    blank = io.large.has_blank(people) or io.large.has_blank(voted)
    if classes is None or blank or io.large.has_twins(people):
        raise _explain(paths, labels)
    refuse_shared_items(scans, hashes)
    work.mkdir(parents=True, exist_ok=True)
    files = tuple(str(path.resolve()) for path in paths)
    votes = sum(scan.rows for scan in scans)
    return _save(work, people, classes[0], votes, files=files, columns=scans[0].columns)


def refuse_shared_items(scans: list[io.large.Scan], hashes: list[pl.Series]) -> None:
    """Refuse an item that is in two files; ``hashes`` are those of each file's items."""
    together = np.sort(np.concatenate([column.to_numpy() for column in hashes]))
    for same in np.unique(together[1:][together[1:] == together[:-1]]).tolist():
        holders: dict[str, str] = {}
        for scan, column in zip(scans, hashes, strict=True):
            if same not in column:
                continue
            items = scan.votes.filter(pl.col(ITEM).hash(0) == same).select(ITEM).unique().collect()
            for name in items[ITEM].to_list():  # two names may have the same hash
                if name in holders:
                    raise DataError(
                        f"{scan.path.parent}: item {name!r} is in {holders[name]} and in "
                        f"{scan.path.name}; all votes on an item must be in one file"
                    )
                holders[name] = scan.path.name


def _explain(paths: list[Path], labels: list[str] | None) -> DataError:
    """Return what is wrong with one of the files, in the words of the careful reader."""
    for path in paths:
        try:
            io.read_answers(path, labels)
        except DataError as error:
            return error
    shape = "the files of a folder hold hard votes (item, annotator, label), each label "
    shape += "and annotator in one spelling"
    return FileError(paths[0], f"cannot be read in parts: {shape}")


def _check_number(parts: int) -> None:
    if parts < 1:
        raise DataError(f"parts = {parts}: at least one is needed")


def _file_name(number: int) -> str:
    return f"part-{number:05d}.parquet"


def _save(
    folder: Path, people: pl.Series, labels: Sequence[str], votes: int, **more: Any
) -> Partitions:
    """Write the manifest, and the names of the annotators in alphabetical order with the place
    there of each code."""
    order = people.arg_sort().to_numpy()
    place = np.empty(len(people), dtype=np.int32)
    place[order] = np.arange(len(people), dtype=np.int32)
    pl.DataFrame({NAME: people.gather(order), PLACE: place}).write_parquet(folder / PEOPLE)
    written = tuple(sorted(path.name for path in folder.glob("part-*.parquet")))
    fields = {"files": written, "places": None} | more
    partitions = Partitions(
        folder=str(folder), labels=tuple(labels), annotators=len(people), votes=votes, **fields
    )
    partitions.save()
    return partitions


# ── repeated answers: all votes on an item are in one part, so each part knows its own ─────────


def first_repeat(part: Part) -> tuple[str, str, int] | None:
    """Return the first item of a part of hard votes that somebody answered again, who it was, and
    how many answers of the part are repeats; None if there are none."""
    item = np.repeat(np.arange(part.items), np.diff(part.start))
    pair = item * max(part.annotators, 1) + part.annotator
    again = np.delete(np.arange(len(pair)), np.unique(pair, return_index=True)[1])
    if not len(again):
        return None
    row = int(again[0])
    what = item_names(part.partitions, part.number)[int(item[row])]
    who = part.partitions.people()[NAME][int(part.annotator[row])]
    return what, who, len(again)


def refuse_repeats(engine: em.Engine, source: Path) -> None:
    """Refuse a second answer of one person to one item."""
    repeats = [repeat for repeat in engine.each(first_repeat) if repeat is not None]
    if not repeats:
        return
    item, who, _ = repeats[0]
    answers = sum(number for _, _, number in repeats)
    rest = f" ({answers} answers are repeats)" if answers > 1 else ""
    event = f"{who!r} answered item {item!r}"
    kind = source.suffix.lower().removeprefix(".")
    scan = None if source.is_dir() else io.large.scan_votes(source, kind)
    rows = []
    if scan is not None:  # the first two rows in which this person answers this item
        same = (pl.col(ITEM) == item) & (pl.col(ANNOTATOR) == who)
        query = scan.votes.with_row_index("row").filter(same).select("row").head(2)
        rows = query.collect(engine="streaming")["row"].to_list()
    if len(rows) < 2:
        raise DataError(f"{source}: {event} more than once{rest}; {REMEDY}")
    first, again = rows
    if kind == "csv":  # row 0 is on line 2
        reason = f"{event} on line {first + 2} and again here{rest}; {REMEDY}"
        raise FileError(source, reason, line=again + 2)
    where = f"in row {first + 1} and again in row {again + 1}"
    raise DataError(f"{source}: {event} {where}{rest}; {REMEDY}")
