"""Hard votes, soft votes, counts of votes and gold classes: from cells to codes."""

import math
import unicodedata
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from softlabel.errors import FileError, nearest
from softlabel.io.columns import ITEM, LABEL, ONE_VOTE, normalise
from softlabel.io.csv_files import read_csv
from softlabel.io.sheet import ACCEPTED, Reading, Shape, Sheet, is_blank
from softlabel.sampling import votes_from_counts
from softlabel.tables import ANONYMOUS, SIMPLEX_TOLERANCE, Annotations, Floats, Index, Ints, names

NAME_TYPES = (pl.String, pl.Categorical, pl.Enum, pl.Boolean)  # and numbers
ABSENT = ("nan", "<na>")  # how programs write that there is no value
COUNT = "count"
SPELL = "say --spelling merge to make them one, or --spelling keep if they are different"


# ── cells ────────────────────────────────────────────────────────────────────────────────────


def as_text(column: str, kind: pl.DataType) -> pl.Expr:
    """Return a column of names as text, as a CSV file would write them: True, False, 1.0."""
    cells = pl.col(column)
    if kind == pl.Boolean:
        return pl.when(cells).then(pl.lit("True")).when(~cells).then(pl.lit("False")).alias(column)
    return (cells.fill_nan(None) if kind.is_float() else cells).cast(pl.String)


def prepare(
    sheet: Sheet, shape: Shape, labels: list[str] | None, reading: Reading
) -> tuple[Sheet, dict[str, int]]:
    """Return the sheet with its names as text and without the rows to be dropped, which are counted
    by reason; refuse empty cells unless they are to be dropped."""
    texts = (*shape.ids, *(shape.answer if shape.kind == "hard" else ()))
    for column in texts:
        kind = sheet.frame[column].dtype
        if not (kind in NAME_TYPES or kind.is_integer() or kind.is_float()):
            reason = f"holds {kind}; names must be text or numbers"
            raise FileError(sheet.path, reason, column=column)
    cells = [as_text(column, sheet.frame[column].dtype) for column in texts]
    sheet = replace(sheet, frame=sheet.frame.with_columns(cells))
    needed = [*shape.ids, *shape.answer]
    if sheet.anonymous and shape.annotator is not None:
        needed.remove(shape.annotator)
    left_out: dict[str, int] = {}
    if reading.missing == "refuse":
        sheet.refuse_empty(*needed)
        needed = []
    absent = [word for word in ABSENT if word not in (labels or ())]
    for column in needed:
        gone = _is_missing(sheet.frame[column], absent if column in shape.answer else [])
        if gone.any():
            left_out[f"without {column}"] = int(gone.sum())
            sheet = sheet.keep(~gone)
    if not len(sheet.frame):
        raise FileError(sheet.path, "no row is complete, so nothing is left to read")
    return merge_ids(_repeat_rows(sheet, shape), shape, reading), left_out


def is_counted(sheet: Sheet, shape: Shape) -> bool:
    """Return whether a row stands for as many votes of unknown people as one of its cells says."""
    return shape.count is not None and (sheet.anonymous or shape.annotator is None)


def _repeat_rows(sheet: Sheet, shape: Shape) -> Sheet:
    """Return the sheet with each row as often as its count of votes says."""
    if shape.count is None:
        return sheet
    cells = sheet.frame[shape.count]
    if not is_counted(sheet, shape):
        if normalise(shape.count) == COUNT:  # other names of counts may mean other things here
            sheet.refuse(cells.cast(pl.Float64, strict=False).ne_missing(1), ONE_VOTE, shape.count)
        return sheet
    if cells.dtype.is_nested() or cells.dtype.is_temporal() or cells.dtype == pl.Boolean:
        raise FileError(sheet.path, f"holds {cells.dtype}, no numbers of votes", column=shape.count)
    numbers = cells.cast(pl.Float64, strict=False)
    counts = numbers.cast(pl.Int64, strict=False)
    whole = ((counts >= 0) & (counts == numbers)).fill_null(False)
    sheet.refuse(~whole, "no number of votes: it must be whole, and not negative", shape.count)
    if not counts.sum():
        raise FileError(sheet.path, "every count is 0, so there are no votes", column=shape.count)
    return sheet.take(pl.Series(np.repeat(np.arange(len(counts)), counts.to_numpy())))


def _is_missing(cells: pl.Series, absent: list[str]) -> pl.Series:
    gone = is_blank(cells)
    if cells.dtype == pl.String:
        gone = gone | cells.str.to_lowercase().is_in(absent).fill_null(False)
    elif cells.dtype.is_float():
        gone = gone | cells.is_nan().fill_null(False)
    return gone


# ── votes ────────────────────────────────────────────────────────────────────────────────────


def read_votes(
    sheet: Sheet, shape: Shape, labels: list[str] | None, reading: Reading | None = None
) -> Annotations:
    """Read the votes of a sheet that was prepared; ``labels`` is the full list of classes.  Without
    it the classes are those that occur.  Without ``reading`` the sheet is prepared as usual."""
    if reading is None:
        reading = Reading()
        sheet, _ = prepare(sheet, shape, labels, reading)
    label = probs = None
    if shape.kind == "hard":
        labels, label = _read_hard(sheet, shape.answer[0], labels, reading)
    else:
        labels, probs = _read_soft(sheet, shape, labels)
    items, item = encode(sheet.frame[shape.item])  # in order of first appearance
    people: list[str] = []
    annotator: Ints = np.full(len(item), ANONYMOUS)
    if not sheet.anonymous and shape.annotator is not None:
        people, annotator = encode(sheet.frame[shape.annotator])
    index = Index(names(items), names(people), names(labels))
    return Annotations(index, item, annotator, label=label, probs=probs)


def _read_hard(
    sheet: Sheet, column: str, labels: list[str] | None, reading: Reading
) -> tuple[list[str], Ints]:
    votes = sheet.frame[column]
    if labels is None:
        missing = votes.str.to_lowercase().is_in(list(ABSENT))
        reason = (
            "looks like a missing value; leave such rows out with --missing drop, or, if it is a "
            "class, name all classes with --labels"
        )
        sheet.refuse(missing, reason, column)
    counts = dict(votes.value_counts().iter_rows())
    try:
        same = merge_spellings(counts, labels, reading.spelling)
    except ValueError as error:
        raise FileError(sheet.path, str(error), column=column) from None
    if same:
        votes = votes.replace(same)
    labels = labels or sort_naturally(votes.unique().to_list())
    label = find_codes(votes, labels)
    if (label < 0).any():
        row = int((label < 0).argmax())
        shown = ", ".join(labels[:20]) + (", …" if len(labels) > 20 else "")
        reason = f"no such class{nearest(votes[row], labels)}; the classes are {shown}"
        raise sheet.error(reason, row, column, votes[row])
    return labels, label


def _read_soft(sheet: Sheet, shape: Shape, labels: list[str] | None) -> tuple[list[str], Floats]:
    columns = list(shape.answer)
    if labels is not None and sorted(labels) != sorted(columns):
        odd = next(name for name in [*columns, *labels] if (name in columns) != (name in labels))
        both = f"{', '.join(columns)} and {', '.join(labels)}"
        reason = f"the classes are not those asked for: {both}"
        raise FileError(sheet.path, reason, column=odd)
    labels = labels or columns
    probs = _read_numbers(sheet, labels)
    total = probs.sum(axis=1)
    off = np.flatnonzero(abs(total - 1) > SIMPLEX_TOLERANCE)
    if len(off):
        raise sheet.error(f"the probabilities sum to {total[off[0]]:.9g}, not to 1", int(off[0]))
    return labels, probs


def _read_numbers(sheet: Sheet, columns: list[str]) -> Floats:
    """Return (n, k) the numbers in these columns, finite and not negative."""
    found = np.empty((len(sheet.frame), len(columns)))
    for j, column in enumerate(columns):
        cells = sheet.frame[column]
        if cells.dtype.is_nested() or cells.dtype.is_temporal() or cells.dtype == pl.Boolean:
            raise FileError(sheet.path, f"holds {cells.dtype}, no probabilities", column=column)
        numbers = cells.cast(pl.Float64, strict=False)
        sheet.refuse(numbers.is_null(), f"not a number, so no probability; {ACCEPTED}", column)
        sheet.refuse(~numbers.is_finite(), "a probability must be a finite number", column)
        sheet.refuse(numbers < 0, "a probability must not be negative", column)
        found[:, j] = numbers.to_numpy()
    return found


# ── counts ───────────────────────────────────────────────────────────────────────────────────


def read_counts(sheet: Sheet, shape: Shape, labels: list[str] | None) -> Annotations | None:
    """Read one row per item with the number of votes for each class as votes of unknown people.
    None: the numbers are not all whole, so they are probabilities.

    A column ``count`` with the sum of the others is left out.
    """
    columns = list(shape.answer)
    numbers = _read_numbers(sheet, columns)
    if COUNT in columns and COUNT not in (labels or ()):
        others = [j for j, column in enumerate(columns) if column != COUNT]
        total, given = numbers[:, others].sum(axis=1), numbers[:, columns.index(COUNT)]
        if (abs(total - 1) <= SIMPLEX_TOLERANCE).all() and (given != 1).any():
            reason = "is a file of soft labels, which are made already; give the answers behind it"
            raise FileError(sheet.path, reason, column=COUNT)
        if (total != given).any():
            row = int((total != given).argmax())
            reason = f"is not the sum of the other columns, {total[row]:g}; name the classes"
            raise sheet.error(f"{reason} with --labels if it is one", row, COUNT, float(given[row]))
        columns.remove(COUNT)
        numbers = numbers[:, others]
    if (numbers != np.floor(numbers)).any():
        return None
    if labels is not None and sorted(labels) != sorted(columns):
        both = f"{', '.join(columns)} and {', '.join(labels)}"
        raise FileError(sheet.path, f"the classes are not those asked for: {both}")
    items = sheet.frame[shape.item]
    sheet.refuse(~items.is_first_distinct(), "this item has counts further up", shape.item)
    labels = labels or columns
    order = [columns.index(label) for label in labels]
    index = Index(names(items.to_list()), names([]), names(labels))
    return votes_from_counts(index, numbers[:, order].astype(np.int64))


# ── spelling ─────────────────────────────────────────────────────────────────────────────────


def merge_spellings(
    counts: Mapping[str, int], labels: Iterable[str] | None, how: str
) -> dict[str, str]:
    """Return what each label that occurs becomes, where it differs from another one (or, with
    ``labels``, from a known class) by case, space or the way to write a number only; ``counts`` is
    how often each occurs.  ``ValueError`` names both spellings where ``how`` is to refuse them.

    >>> merge_spellings({"cat": 5, " Cat": 1, "dog": 2}, None, "merge")
    {' Cat': 'cat'}
    >>> merge_spellings({" cat": 5, "cat": 1}, None, "merge")
    {' cat': 'cat'}
    """
    if how == "keep":
        return {}
    known = list(labels or ())
    if labels is not None and how == "refuse":
        return {}  # what is not a known class is refused, with the nearest
    groups: dict[str, list[str]] = {}

    def order(name: str) -> tuple[bool, bool, int, str]:  # known, tidy and frequent ones first
        return name not in known, name != " ".join(name.split()), -counts[name], name

    for name in sorted(counts, key=order):
        groups.setdefault(_fold(name), []).append(name)
    for name in known:
        group = groups.get(_fold(name), [])
        if group and name not in group:
            group.insert(0, name)
    merged: dict[str, str] = {}
    for right, *others in groups.values():
        others = [name for name in others if name not in known]
        if others and how == "refuse":
            odd = ", ".join(f"{name!r} ({counts[name]:,} times)" for name in others)
            both = f"{right!r} ({counts[right]:,} times) and {odd}"
            raise ValueError(f"{both} differ by case or space only; {SPELL} classes")
        merged |= dict.fromkeys(others, right)
    return merged


def _fold(name: str) -> str:
    """Return what spellings of one label have in common.

    >>> [_fold(name) for name in (" Not  sure", "not sure", "1", "1.0", "b")]
    ['not sure', 'not sure', '1.0', '1.0', 'b']
    """
    plain = " ".join(unicodedata.normalize("NFC", name).casefold().split())
    with suppress(ValueError):
        if math.isfinite(number := float(plain)):
            return str(number)
    return plain


def merge_ids(sheet: Sheet, shape: Shape, reading: Reading) -> Sheet:
    """Return the sheet with one name for each item and annotator, as ``join_twins`` has it."""
    for column in shape.ids:
        if sheet.frame[column].dtype == pl.String:
            ids = join_twins(sheet.frame[column], sheet.path, reading.spelling)
            sheet = replace(sheet, frame=sheet.frame.with_columns(ids))
    return sheet


def join_twins(ids: pl.Series, path: Path, how: str) -> pl.Series:
    """Return ids of which none differs from another one by the space around it only: twins are
    refused, merged or kept as ``how`` says."""
    twins = find_twins(ids) if how != "keep" else {}
    for odd, right in twins.items():
        if how == "refuse":
            both = f"{right!r} and {odd!r} differ by the space around them only"
            raise FileError(path, f"{both}; {SPELL}", column=ids.name)
    return ids.replace(twins) if twins else ids


def find_twins(ids: pl.Series) -> dict[str, str]:
    """Return what each id becomes that differs from another one by the space around it only.

    >>> find_twins(pl.Series(["a", "b ", "a ", " c", "c ", "A", None]))
    {'a ': 'a', 'c ': ' c'}
    """
    spaced = ids.filter(ids.str.contains(r"^\s|\s$"))
    if not len(spaced):
        return {}
    spaced = spaced.unique().sort()
    bare = spaced.str.strip_chars()
    there = bare.is_in(ids.implode())
    twins = (bare != "") & (there | bare.is_duplicated())  # what is only space is refused elsewhere
    right = {name: name for name in bare.filter(there)}
    pairs = zip(spaced.filter(twins), bare.filter(twins), strict=True)
    found = {odd: right.setdefault(name, odd) for odd, name in pairs}
    return {odd: name for odd, name in found.items() if odd != name}


# ── gold, and names ──────────────────────────────────────────────────────────────────────────


def read_gold(path: Path, index: Index) -> Ints:
    """Return (m,) the class code of each item of the index, -1 where the file, a CSV of item and
    label, does not name it; other items are skipped: gold often covers more than was asked."""
    sheet = read_csv(path)
    for column in (ITEM, LABEL):
        if column not in sheet.frame.columns:
            known = ", ".join(sheet.frame.columns)
            raise FileError(path, f"must have this column; it has {known}", column=column)
    sheet.refuse_empty(ITEM, LABEL)
    items, classes = (
        {name: code for code, name in enumerate(entries)}
        for entries in (index.items.tolist(), index.labels.tolist())
    )
    gold = np.full(len(index.items), -1)
    for row, (item, label) in enumerate(sheet.frame.select(ITEM, LABEL).iter_rows()):
        if label not in classes:
            hint = nearest(label, classes) or f"; classes are {', '.join(classes)}"
            raise sheet.error(f"no such class{hint}", row, LABEL, label)
        if item not in items:
            continue
        if gold[items[item]] not in (-1, classes[label]):
            raise sheet.error("this item has another label further up", row, ITEM, item)
        gold[items[item]] = classes[label]
    if (gold < 0).all():
        raise FileError(path, "names none of the items that were answered")
    return gold


def encode(column: pl.Series) -> tuple[list[str], Ints]:
    """Return the distinct values in order of first appearance, and the code of each row."""
    distinct = column.unique(maintain_order=True)
    return distinct.to_list(), find_codes(column, distinct)


def find_codes(column: pl.Series, known: pl.Series | list[str]) -> Ints:
    """Return the place of each value in ``known``, -1 where it is not there."""
    # a join is several times faster than ranks, a cast to Enum or np.unique, and keeps no cache
    table = pl.DataFrame({"name": known, "code": np.arange(len(known), dtype=np.int32)})
    rows = column.alias("name").to_frame()
    joined = rows.join(table, on="name", how="left", maintain_order="left")
    return joined["code"].fill_null(-1).to_numpy()


def sort_naturally(names: Iterable[str]) -> list[str]:
    """Sort numbers by size if all are numbers, else in alphabetical order.

    >>> sort_naturally(["10", "9", "-1"]), sort_naturally(["b10", "b9"])
    (['-1', '9', '10'], ['b10', 'b9'])
    """
    names = sorted(names)
    with suppress(ValueError):
        if all(math.isfinite(float(name)) for name in names):
            return sorted(names, key=float)
    return names
