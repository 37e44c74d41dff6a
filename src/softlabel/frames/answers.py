"""What the columns of a table mean: votes, soft votes, a wide table or counts.

Names decide (``io.columns``), then what the caller says: ``item=``, ``annotator=``, ``label=`` and
``form=``.  A table that could mean two things is refused with what was found and what to write.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import polars as pl

from softlabel import io
from softlabel.errors import DataError, SoftlabelError
from softlabel.frames.grid import Grid, gather, is_records, is_values, unfold_votes
from softlabel.frames.ids import (
    Column,
    Ids,
    distinct_values,
    is_missing,
    is_numeric,
    missing_cells,
    name_of,
    to_column,
)
from softlabel.io import ABSENT, Reading, Shape, Sheet, Source, columns
from softlabel.registry import check_choice
from softlabel.sampling import votes_from_counts
from softlabel.tables import Annotations, Axis, Index, Ints, Statements, names

Form = Literal["votes", "soft", "wide", "counts"]
Missing = Literal["refuse", "drop"]
Spelling = Literal["refuse", "merge", "keep"]
FORMS: Mapping[Form, str] = {
    "votes": "a row is a vote",
    "soft": "a row is an answer, a column the probability of a class",
    "wide": "a row is an item, a column an annotator, a cell the label",
    "counts": "a row is an item, a column a class, a cell the number of votes",
}
ITEM, ANNOTATOR, LABEL, ROW = "item", "annotator", "label", "row"
NO_LABEL = "-1"  # where nobody labelled, in arrays of whole numbers


@dataclass(frozen=True)
class Layout:
    """What the caller said about a table: the columns (by name, or the values themselves) of item,
    annotator and label, its form, all classes in their order, and what to do with rows in which
    an item, an annotator or a label is missing, and with labels that differ by case or space.
    ``ordered`` says that the classes are steps of a scale."""

    item: Any = None
    annotator: Any = None
    label: Any = None
    form: Form | None = None
    labels: Sequence[Any] | None = None
    missing: Missing = "refuse"
    spelling: Spelling = "refuse"
    ordered: bool = False

    def __post_init__(self) -> None:
        if self.form is not None:
            check_choice("form", self.form, get_args(Form))
        check_choice("way with missing values (missing=)", self.missing, get_args(Missing))
        check_choice("way with spellings (spelling=)", self.spelling, get_args(Spelling))
        if self.labels is not None and (isinstance(self.labels, str) or not len(self.labels)):
            raise SoftlabelError(f"labels = {self.labels!r} must be a list of all classes")

    @property
    def reading(self) -> Reading:
        """The same for a file."""
        said = {ITEM: self.item, ANNOTATOR: self.annotator, LABEL: self.label}
        named = {role: name for role, name in said.items() if isinstance(name, str)}
        return Reading(columns=named, missing=self.missing, spelling=self.spelling)

    @property
    def class_names(self) -> list[str] | None:
        """The classes as text, which is what files hold."""
        return None if self.labels is None else [name_of(label) for label in self.labels]


def read_data(data: Any, layout: Layout) -> Source:
    """Return the answers in ``data``: a table of any library, arrays, records, or a file."""
    source = _read_any(data, layout)
    if not layout.ordered:
        return source
    index = replace(source.answers.index, ordered=True)
    return replace(source, answers=replace(source.answers, index=index))


def _read_any(data: Any, layout: Layout) -> Source:
    if isinstance(data, Source):
        return data
    if isinstance(data, Annotations | Statements):
        return Source(type(data).__name__.lower(), data)
    if isinstance(data, str | Path):
        for said in ("item", "annotator", "label", "form"):
            value = getattr(layout, said)
            if value is not None and (said == "form" or not isinstance(value, str)):
                raise SoftlabelError(f"{said} = {value!r} is for tables in memory, not for files")
        return io.read_answers(data, layout.class_names, reading=layout.reading)
    if is_records(data):
        return io.collect_records(data, layout.class_names)
    grid = gather(data)
    if not len(grid):
        raise DataError(f"{grid.name}: has no rows")
    if layout.form in (None, "votes"):
        each = unfold_votes(
            grid, {ITEM: layout.item, ANNOTATOR: layout.annotator, LABEL: layout.label}
        )
        if each is not None:
            who = ANNOTATOR if ANNOTATOR in each.columns else None
            grid, layout = each, replace(layout, item=ITEM, annotator=who, label=LABEL)
    return Reader(grid, layout).read()


class Roles(NamedTuple):
    """The columns of item, annotator and label, None where there is none, and the others."""

    item: Column | None
    annotator: Column | None
    label: Column | None
    rest: dict[Any, Column]
    classes: list[Any] | None  # that the type of the label declares
    ordered: bool  # the type says that they are steps of a scale


class Reader:
    """One table on its way to answers."""

    def __init__(self, grid: Grid, layout: Layout) -> None:
        self.grid, self.layout = grid, layout
        self.left_out = {"without a vote": grid.empty} if grid.empty else dict[str, int]()
        self.ids: dict[Axis, Ids] = {
            "items": Ids(f"{grid.name}, item"),
            "annotators": Ids(f"{grid.name}, annotator"),
            "labels": Ids(f"{grid.name}, label"),
        }

    def read(self) -> Source:
        """Return the answers."""
        roles = self._find_roles()
        self._refuse_models(roles)
        form = self.layout.form or self._find_form(roles)
        read = {
            "votes": self._read_votes,
            "soft": self._read_soft,
            "wide": self._read_wide,
            "counts": self._read_counts,
        }
        answers = read[form](roles)
        given = {axis: ids.given() for axis, ids in self.ids.items()}
        ids = {axis: one for axis, one in given.items() if one}
        index = replace(answers.index, given=ids, ordered=roles.ordered)
        return Source(self.grid.name, replace(answers, index=index), left_out=self.left_out)

    # ── roles and form ───────────────────────────────────────────────────────────────────────

    def _find_roles(self) -> Roles:
        grid, layout = self.grid, self.layout
        said = {ITEM: layout.item, ANNOTATOR: layout.annotator, LABEL: layout.label}
        named = {role: value for role, value in said.items() if self._is_column_name(value)}
        values = {
            role: to_column(value)
            for role, value in said.items()
            if value is not None and role not in named
        }
        roles = [ITEM] if layout.form in ("wide", "counts") else [ITEM, ANNOTATOR, LABEL]
        try:
            found = columns.recognise(list(grid.columns), roles, **named)
        except DataError as error:
            grid.refuse(f"{error} with item=, annotator= or label=")
        taken = {role: name for role, name in found.items() if role not in values}
        cells = {role: grid.columns[name] for role, name in taken.items()} | values
        rest = {name: cell for name, cell in grid.columns.items() if name not in taken.values()}
        classes = grid.declared.get(taken.get(LABEL))
        ordered = taken.get(LABEL) in grid.ordered and self.layout.labels is None
        who = cells.get(ITEM), cells.get(ANNOTATOR)
        return Roles(*who, cells.get(LABEL), rest, classes, ordered)

    def _is_column_name(self, value: Any) -> bool:
        if isinstance(value, str):
            return True  # an unknown one is refused by name
        try:
            return value is not None and value in self.grid.columns
        except TypeError:  # an array
            return False

    def _refuse_models(self, roles: Roles) -> None:
        """Refuse a table of what models said: these answers are given apart from people's."""
        model = columns.find("model", roles.rest) if roles.annotator is None else None
        if model is not None:
            self.grid.refuse(f"{model!r} names models and no column names people; {columns.APART}")
        kind = columns.find("kind", roles.rest)
        said = () if kind is None else roles.rest[kind]
        for row, one in enumerate(said):
            if isinstance(one, str) and one.lower() in columns.MACHINES:
                self.grid.refuse(f"row {row + 1}, {kind!r} is {one!r}: {columns.APART}")

    def _find_form(self, roles: Roles) -> Form:
        grid = self.grid
        if roles.label is not None:
            both = columns.find("soft", roles.rest)
            if both is not None:
                grid.refuse(f"has a label and {both!r}; say form='votes' or form='soft'")
            if roles.item is None:
                grid.refuse("no column is known to hold the item; name it with item=")
            return "votes"
        if roles.annotator is not None and len(roles.annotator) == len(grid):
            if roles.item is None:
                grid.refuse("no column is known to hold the item; name it with item=")
            known = columns.find("soft", roles.rest) is not None
            if not known and not any(map(is_numeric, roles.rest.values())):
                grid.refuse("no column is known to hold the label; name it with label=")
            return "soft"
        if columns.find("soft", roles.rest) is not None:
            return "soft"
        if columns.find("counts", roles.rest) is not None:
            return "counts"
        return self._find_matrix_form(roles.rest)

    def _find_matrix_form(self, cells: Mapping[Any, Column]) -> Form:
        """Tell a wide table by its cells: texts that several columns have in common, or numbers
        with gaps and with a 0, which is a class (a count would be either 0 or a gap)."""
        if self.grid.name == "dict of dicts":
            self.grid.refuse(
                "say form='wide' for {item: {annotator: label}}, form='counts' for {item: {label: "
                "number of votes}}; of {annotator: {item: label}} make a pandas DataFrame"
            )
        if not cells:
            self.grid.refuse("no column is known to hold the label; name it with label=")
        numbers = all(map(is_numeric, cells.values()))
        found = [distinct_values(cell) for cell in cells.values()]
        gaps = any(missing_cells(cell).any() for cell in cells.values())
        common = all(
            any(one & other for other in (*found[:at], *found[at + 1 :]))
            for at, one in enumerate(found)
            if one
        )
        if common and (not numbers or (gaps and any(0 in one for one in found))):
            return "wide"
        choices = "; ".join(
            f"form={form!r} if {words}"
            for form, words in FORMS.items()
            if form != "votes" and (numbers or form == "wide")
        )
        if not numbers:
            choices = f"which column is the label (label=), or {choices}"
        return self.grid.refuse(f"the columns could mean several things: say {choices}")

    # ── forms ────────────────────────────────────────────────────────────────────────────────

    def _read_votes(self, roles: Roles) -> Annotations:
        if roles.item is None or roles.label is None:
            lacking = ITEM if roles.item is None else LABEL
            self.grid.refuse(f"form='votes' needs a column of the {lacking}; name it: {lacking}=")
        frame = {ITEM: self._name("items", roles.item), LABEL: self._name("labels", roles.label)}
        anonymous = self._add_annotators(frame, roles)
        counted = columns.find("count", roles.rest) if anonymous else None
        if not anonymous:
            self._refuse_counts(roles.rest)
        if counted is not None:
            frame["count"] = self._whole(counted, roles.rest[counted])
        table = self._drop_missing(
            pl.DataFrame(frame), [ITEM, LABEL, *([] if anonymous else [ANNOTATOR])]
        )
        if counted is not None:
            if not table["count"].sum():
                self.grid.refuse(f"every {counted!r} is 0, so there are no votes")
            rows = np.repeat(np.arange(len(table)), table["count"].to_numpy())
            table = table[rows]
        sheet = Sheet(Path(self.grid.name), table, None, anonymous)
        shape = Shape("hard", ITEM, ANNOTATOR, (LABEL,))
        return io.read_votes(sheet, shape, self._classes(roles.classes), self.layout.reading)

    def _refuse_counts(self, rest: Mapping[Any, Column]) -> None:
        """Refuse counts of votes in rows that name an annotator."""
        for name, cell in rest.items():
            if isinstance(name, str) and columns.normalise(name) == "count":
                bad = pl.Series(cell, strict=False).cast(pl.Float64, strict=False).ne_missing(1)
                for row in bad.arg_true()[:1]:
                    what = f"column {name!r}, row {row + 1}, value {cell[row]}"
                    self.grid.refuse(f"{what}: {columns.ONE_VOTE}")

    def _read_soft(self, roles: Roles) -> Annotations:
        if roles.item is None:
            self.grid.refuse("form='soft' needs a column of the item; name it: item=")
        frame = {ITEM: self._name("items", roles.item)}
        anonymous = self._add_annotators(frame, roles)
        cells = self._class_cells(roles)
        classes = [*self._name("labels", to_column(list(cells)))]
        io.write.check_class_names(classes, (ITEM, ANNOTATOR))
        for name, cell in zip(classes, cells.values(), strict=True):
            frame[name] = cell if isinstance(cell, pl.Series) else pl.Series(cell, strict=False)
            if frame[name].dtype.is_float():
                frame[name] = frame[name].fill_nan(None)
        table = self._drop_missing(
            pl.DataFrame(frame), [ITEM, *([] if anonymous else [ANNOTATOR]), *classes]
        )
        sheet = Sheet(Path(self.grid.name), table, None, anonymous)
        return io.read_votes(
            sheet, Shape("soft", ITEM, ANNOTATOR, tuple(classes)), None, self.layout.reading
        )

    def _class_cells(self, roles: Roles) -> dict[Any, Column]:
        """Return one column per class: those named by labels=, a column of lists, or the rest."""
        wanted = self.layout.labels
        whole = columns.find("soft", roles.rest)
        if whole is not None:
            rows = [*roles.rest[whole]]
            sizes = {0 if row is None else len(row) for row in rows}
            if len(sizes) != 1:
                self.grid.refuse(f"the lists in {whole!r} are not of one length: {sorted(sizes)}")
            probs = np.array([[*row] for row in rows], dtype=np.float64)
            classes = list(wanted or roles.classes or range(probs.shape[1]))
            if len(classes) != probs.shape[1]:
                self.grid.refuse(f"{whole!r} has {probs.shape[1]} classes, labels= {len(classes)}")
            return {name: pl.Series(probs[:, j]) for j, name in enumerate(classes)}
        if wanted is not None and any(isinstance(key, str) for key in roles.rest):
            lost = [name for name in wanted if name not in roles.rest]
            if lost:
                self.grid.refuse(f"labels= names {lost[0]!r}, and no column is called so")
            return {name: roles.rest[name] for name in wanted}
        if wanted is not None:  # an array, whose columns have no names
            if len(wanted) != len(roles.rest):
                self.grid.refuse(f"has {len(roles.rest)} classes, labels= {len(wanted)}")
            return dict(zip(wanted, roles.rest.values(), strict=True))
        known = {columns.find("seconds", roles.rest), columns.find("when", roles.rest)}
        known.add(columns.find("kind", roles.rest))
        return {name: cell for name, cell in roles.rest.items() if name not in known}

    def _read_wide(self, roles: Roles) -> Annotations:
        items, cells = self._rows(roles), list(roles.rest.values())
        people = list(roles.rest) if roles.annotator is None else [*roles.annotator]
        if len(people) != len(cells):
            self.grid.refuse(f"annotator= has {len(people)} names of {len(cells)} columns")
        votes, rows = [], np.arange(len(items))
        for person, cell in zip(self._name("annotators", to_column(people)), cells, strict=True):
            label = self._name("labels", cell)
            who = pl.Series([person]).new_from_index(0, len(label))
            votes.append(pl.DataFrame({ROW: rows, ITEM: items, ANNOTATOR: who, LABEL: label}))
        table = pl.concat(votes).drop_nulls(LABEL).sort(ROW, maintain_order=True).drop(ROW)
        if self.layout.missing == "drop" and self.layout.labels is None:
            table = table.filter(~table[LABEL].str.to_lowercase().is_in([*ABSENT, NO_LABEL]))
        if not len(table):
            self.grid.refuse("no cell holds a label")
        classes = self._classes(None)
        if classes is None and (table[LABEL] == NO_LABEL).any():
            self.grid.refuse(
                "a cell is -1: if it is no label, say missing='drop'; if it is one, say labels="
            )
        sheet = Sheet(Path(self.grid.name), table)
        shape = Shape("hard", ITEM, ANNOTATOR, (LABEL,))
        answers = io.read_votes(sheet, shape, classes, self.layout.reading)
        every = items.unique(maintain_order=True)  # also those that nobody labelled
        place = io.find_codes(pl.Series(answers.index.items.tolist()), every)
        index = replace(answers.index, items=names(every.to_list()))
        return replace(answers, index=index, item=place[answers.item])

    def _read_counts(self, roles: Roles) -> Annotations:
        whole = columns.find("counts", roles.rest)
        if whole is not None:  # one cell holds the counts of all classes
            rows = [{k: v for k, v in row.items() if v is not None} for row in roles.rest[whole]]
            keys = dict.fromkeys(key for row in rows for key in row)
            cells = {key: to_column([row.get(key, 0) for row in rows]) for key in keys}
        else:
            cells = self._class_cells(roles)
        items = self._rows(roles)
        counts = np.stack(
            [self._whole(key, cell).to_numpy() for key, cell in cells.items()], axis=1
        )
        if items.is_duplicated().any():
            twice = items.filter(items.is_duplicated())[0]
            self.grid.refuse(f"item {twice!r} has two rows of counts; add them up, or drop one")
        classes = [*self._name("labels", to_column(list(cells)))]
        index = Index(names(items.to_list()), names([]), names(classes))
        return votes_from_counts(index, counts)

    # ── cells ────────────────────────────────────────────────────────────────────────────────

    def _name(self, axis: Axis, column: Column) -> pl.Series:
        found = self.ids[axis].name(column)
        if axis == "labels":
            return found
        what = found.alias(axis.removesuffix("s"))
        return io.join_twins(what, Path(self.grid.name), self.layout.spelling)

    def _rows(self, roles: Roles) -> pl.Series:
        """Return the item of each row: its column, the table's own row ids, or numbers from 0."""
        column = roles.item if roles.item is not None else self.grid.rows
        if column is None:
            column = pl.Series(np.arange(len(self.grid)))
        if len(column) != len(self.grid):
            self.grid.refuse(f"item= has {len(column)} ids of {len(self.grid)} rows")
        items = self._name("items", column)
        if items.has_nulls():
            self._refuse_missing(ITEM, int(items.is_null().arg_true()[0]))
        return items

    def _add_annotators(self, frame: dict[str, pl.Series], roles: Roles) -> bool:
        """Add the column of annotators; return True if nobody is named."""
        rows = len(frame[ITEM])
        for role, column in (("annotator", roles.annotator), ("label", roles.label)):
            if column is not None and len(column) != rows:
                self.grid.refuse(f"{role}= has {len(column)} values of {rows} rows")
        if roles.annotator is None:
            frame[ANNOTATOR] = pl.Series([None] * rows, dtype=pl.String)
            return True
        frame[ANNOTATOR] = self._name("annotators", roles.annotator)
        return bool(frame[ANNOTATOR].is_null().all())

    def _classes(self, declared: list[Any] | None) -> list[str] | None:
        """Return the names of all classes, as the caller or the type of the column says."""
        wanted = declared if self.layout.labels is None else list(self.layout.labels)
        return None if wanted is None else [*self._name("labels", to_column(wanted))]

    def _whole(self, name: Any, cell: Column) -> pl.Series:
        """Return numbers of votes; anything else is refused."""
        numbers = cell if isinstance(cell, pl.Series) else pl.Series(cell, strict=False)
        if not numbers.dtype.is_numeric():
            self.grid.refuse(f"column {name!r} holds {numbers.dtype}, no numbers of votes")
        bad = missing_cells(numbers) | (numbers < 0) | (numbers != numbers.floor())
        if bad.fill_null(True).any():
            row = int(bad.fill_null(True).arg_true()[0])
            self.grid.refuse(
                f"column {name!r}, row {row + 1}: {numbers[row]} is no number of votes"
            )
        return numbers.cast(pl.Int64)

    def _drop_missing(self, table: pl.DataFrame, needed: Sequence[str]) -> pl.DataFrame:
        """Refuse rows without an item, an annotator or a label, or drop and count them."""
        for column in needed:
            gaps = table[column].is_null()
            if column == LABEL and self.layout.labels is None and self.layout.missing == "drop":
                gaps = gaps | table[column].str.to_lowercase().is_in(ABSENT).fill_null(False)
            if not gaps.any():
                continue
            if self.layout.missing == "refuse":
                self._refuse_missing(column, int(gaps.arg_true()[0]), int(gaps.sum()))
            self.left_out[f"without {column}"] = int(gaps.sum())
            table = table.filter(~gaps)
        if not len(table):
            self.grid.refuse("no row is left: each lacks an item, an annotator or a label")
        return table

    def _refuse_missing(self, column: str, row: int, times: int = 1) -> None:
        more = f" ({times:,} rows lack it)" if times > 1 else ""
        self.grid.refuse(f"row {row + 1} has no {column}{more}; mend it, or say missing='drop'")


def read_gold(gold: Any, index: Index) -> Ints:
    """Return (m,) the class code of each item, -1 where it is not known; ``gold`` is a dict or
    a series from item to class, a table of both, or the name of a file.  Other items are skipped:
    gold often covers more than was asked."""
    if isinstance(gold, str | Path):
        return io.read_gold(Path(gold), index)
    series = hasattr(gold, "iloc") and not hasattr(gold, "columns")
    pairs: Any
    if series or (isinstance(gold, Mapping) and not any(map(is_values, gold.values()))):
        pairs = gold.items()
    else:
        grid = gather(gold)
        item, known = columns.find("item", grid.columns), columns.find("gold", grid.columns)
        if item is None or known is None:
            grid.refuse("gold must have a column of the item and one of its label")
        pairs = zip(grid.columns[item], grid.columns[known], strict=True)
    codes = np.full(len(index.items), -1)
    for item, label in pairs:
        if is_missing(label):
            raise DataError(f"gold: item {item!r} has no label; leave it out")
        if index.has("items", item):
            codes[index.code("items", item)] = index.code("labels", label)
    if (codes < 0).all():
        raise DataError("gold names none of the items that were answered")
    return codes
