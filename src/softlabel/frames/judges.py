"""What models said, one row per answer: labels, scores, probabilities or log-probabilities.

The name of the model takes the place of the annotator.  Several answers of a model to an item are
samples: they become shares, so that there is one row per model and item.  Files are tables like
those of people (``item``, ``model`` and an answer), logs of ``softlabel judge`` or the output of
a batch of OpenAI.  With an ``index`` of people's answers, items and labels are in its order, and
items that nobody answered come after them.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from softlabel import io
from softlabel._util.files import shorten
from softlabel.errors import DataError, FileError, nearest
from softlabel.frames.grid import gather
from softlabel.frames.ids import Column, Ids, to_column
from softlabel.io import Source, columns
from softlabel.records import JUDGED, JUDGES, Line
from softlabel.tables import SIMPLEX_TOLERANCE, Annotations, Floats, Index, Ints, Statements, names

LOGPROB = "logprob:"  # begins the name of a column that holds the log-probability of a class
SLACK = 1e-3  # by which probabilities of tokens may sum to more than 1, as they are rounded
UNREADABLE = "unreadable replies"
ACCEPTED = (
    "an answer is a label, a score, one column per class with its probability, or columns "
    "logprob:CLASS"
)


def read_judges(data: Any, index: Index | None = None) -> Annotations:
    """Return what models said, one row per model and item; the annotator is the model.

    ``data`` is a file, a table of any library, ``Annotations``, or a data set with ``machines``.
    With an ``index`` the labels must be among its own.

    >>> said = [{"item": 1, "model": "m", "label": x} for x in ("cat", "cat", "cat", "dog")]
    >>> read_judges(said).soft()
    array([[0.75, 0.25]])
    """
    return read_models(data, index).answers  # type: ignore[return-value]


def read_models(data: Any, index: Index | None = None) -> Source:
    """Return the same with the name of what was read, and what was left out."""
    source = _read_any(data, None if index is None else index.labels.tolist())
    said = source.answers
    if not isinstance(said, Annotations):
        raise DataError(f"{source.name}: models' answers must be labels or distributions")
    if said.anonymous:
        raise DataError(f"{source.name}: some answers do not name their model")
    if index is None:
        return source
    known = index.items.tolist()
    place = {name: code for code, name in enumerate(known)}
    for name in said.index.items.tolist():
        place.setdefault(name, len(place))
    code = np.array([place[name] for name in said.index.items.tolist()], dtype=np.int64)
    whole = Index(names(list(place)), said.index.annotators, index.labels, ordered=index.ordered)
    shared = whole.keep_ids(said.index, index)
    return replace(source, answers=replace(said, index=shared, item=code[said.item]))


def join_judges(people: Annotations, said: Annotations) -> tuple[Annotations, Annotations]:
    """Return both tables with the same items and labels; ``said`` was read with people's index."""
    if len(said.index.items) == len(people.index.items):
        return people, said
    index = replace(people.index, items=said.index.items).keep_ids(said.index, people.index)
    return replace(people, index=index), said


def _read_any(data: Any, labels: list[str] | None) -> Source:
    if isinstance(data, Source):
        return replace(data, answers=_relabel(data.name, data.answers, labels))
    if hasattr(data, "machines"):  # a data set
        if data.machines is None:
            raise DataError(f"{data.name}: has no answers of models")
        return Source(data.name, _relabel(data.name, data.machines, labels))
    if isinstance(data, Annotations | Statements):
        return Source("annotations", _relabel("annotations", data, labels))
    if isinstance(data, str | Path):
        return _read_path(Path(data), labels)
    grid = gather(data)
    return Reader(Table(grid.name, grid.columns), labels).read()


def _relabel(name: str, said: Annotations | Statements, labels: list[str] | None) -> Annotations:
    """Return the same answers, one row per model and item, with these labels in this order."""
    if not isinstance(said, Annotations):
        raise DataError(f"{name}: models' answers must be labels or distributions")
    own = said.index.labels.tolist()
    label, probs, index = said.label, said.probs, said.index
    if labels is not None and own != labels:
        used = said.label if said.label is not None else np.nonzero(said.soft().any(axis=0))[0]
        for code in np.unique(np.asarray(used)).tolist():
            if own[code] not in labels:
                raise DataError(f"{name}: {_no_class(own[code], labels)}")
        place = np.array([labels.index(one) if one in labels else -1 for one in own])
        index = Index(index.items, index.annotators, names(labels), ordered=index.ordered)
        index = index.keep_ids(said.index)
        if label is not None:
            label = place[label]
        else:
            moved = np.zeros((len(said), len(labels)))
            moved[:, place[place >= 0]] = said.soft()[:, place >= 0]
            probs = moved
    return _combine(index, said.item, said.annotator, label, probs)


def _no_class(label: str, labels: Sequence[str]) -> str:
    shown = ", ".join(labels[:20]) + (", …" if len(labels) > 20 else "")
    return (
        f"{label!r} is no class{nearest(label, labels)}; the classes are {shown}; if people could "
        "give others, name all classes with --labels"
    )


# ── files ────────────────────────────────────────────────────────────────────────────────────


def _read_path(path: Path, labels: list[str] | None) -> Source:
    if path.is_dir():
        return _read_folder(path, labels)
    if not path.exists():
        raise FileError(path, "there is no such file")
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(".json"):  # of another program
        source = io.read_answers(path)
        return replace(source, answers=_relabel(str(path), source.answers, labels))
    if not name.endswith(".jsonl"):
        sheet = io.read_sheet(path)
        return Reader(Table(str(path), {**sheet.frame.to_dict()}, sheet.line_of), labels).read()
    lines = io.read_lines(path)
    if not lines:
        raise FileError(path, "holds no answers")
    if lines[0][1].get("schema") == JUDGED:
        return _read_log(path, lines, labels)
    if "custom_id" in lines[0][1]:
        lines, unreadable = _unpack_batch(path, lines, labels)
        source = Reader(_tabulate(path, lines), labels).read()
        return replace(source, left_out={UNREADABLE: unreadable} if unreadable else {})
    return Reader(_tabulate(path, lines), labels).read()


def _tabulate(path: Path, lines: Sequence[Line]) -> "Table":
    keys = dict.fromkeys(key for _, row in lines for key in row)
    cells = {key: to_column([row.get(key) for _, row in lines]) for key in keys}
    return Table(str(path), cells, [line for line, _ in lines].__getitem__)


def _read_log(path: Path, lines: Sequence[Line], labels: list[str] | None) -> Source:
    """Read a log of ``softlabel judge``: a head, and a line for each request."""
    head, rows, unreadable = lines[0][1], [], 0
    for key in ("name", "labels"):
        if key not in head:
            raise FileError(path, "this key is missing", line=1, column=key)
    for line, row in lines[1:]:
        if "item" not in row or "chances" not in row:
            raise FileError(path, "must have the keys item and chances", line=line)
        if row["chances"] is None:
            unreadable += 1
            continue
        rows.append((line, {"item": row["item"], "model": head["name"], "probs": row["chances"]}))
    if not rows:
        raise FileError(path, f"holds no answers that could be read; {unreadable:,} could not")
    source = Reader(_tabulate(path, rows), labels or head["labels"]).read()
    return replace(source, left_out={UNREADABLE: unreadable} if unreadable else {})


def _read_folder(folder: Path, labels: list[str] | None) -> Source:
    """Read all logs in a study folder, or in its folder of logs."""
    inner = folder / JUDGES if (folder / "study.toml").exists() else folder
    paths = sorted(inner.glob("*.jsonl"))
    if not paths:
        raise FileError(inner, "holds no logs of models (*.jsonl); see softlabel judge")
    sources = [_read_path(path, labels) for path in paths]
    known = sources[0].answers.index.labels.tolist()
    parts = [_relabel(one.name, one.answers, known) for one in sources]
    items, models = (
        list(dict.fromkeys(name for part in parts for name in getattr(part.index, axis).tolist()))
        for axis in ("items", "annotators")
    )
    places = [
        tuple(
            np.array([whole.index(name) for name in own.tolist()], dtype=np.int64)
            for whole, own in ((items, part.index.items), (models, part.index.annotators))
        )
        for part in parts
    ]
    pairs = list(zip(parts, places, strict=True))
    said = _combine(
        Index(names(items), names(models), names(known)),
        np.concatenate([item[part.item] for part, (item, _) in pairs]),
        np.concatenate([model[part.annotator] for part, (_, model) in pairs]),
        None,
        np.concatenate([part.soft() for part in parts]),
    )
    lost = sum(source.left_out.get(UNREADABLE, 0) for source in sources)
    return Source(str(inner), said, left_out={UNREADABLE: lost} if lost else {})


def _unpack_batch(
    path: Path, lines: Sequence[Line], labels: list[str] | None
) -> tuple[list[Line], int]:
    """Return a row for each choice in the output of a batch of OpenAI, and how many say no class:
    ``custom_id`` is the item, and the text of the choice the label."""
    rows: list[Line] = []
    unreadable = 0
    plain = {label.casefold(): label for label in labels or ()}
    for line, row in lines:
        body = (row.get("response") or {}).get("body") or {}
        choices = body.get("choices")
        if not isinstance(choices, list):
            unreadable += 1  # the request failed
            continue
        for choice in choices:
            text = ((choice.get("message") or {}).get("content") or "").strip().rstrip(".")
            label = plain.get(text.casefold()) if labels else text
            if not label:
                unreadable += 1
                continue
            said = {"item": row["custom_id"], "model": body.get("model"), "label": label}
            rows.append((line, said))
    if not rows:
        raise FileError(path, f"holds no reply that is a class; {unreadable:,} are none")
    return rows, unreadable


# ── tables ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Table:
    """Named columns of a file or of a table in memory, and the line of each row of a file."""

    name: str
    columns: Mapping[Any, Column]
    line_of: Callable[[int], int] | None = None

    def error(self, reason: str, row: int | None = None, column: str | None = None) -> FileError:
        """Return the error about a cell."""
        line = value = None
        if row is not None:
            line = None if self.line_of is None else self.line_of(row)
            reason = reason if line is not None else f"{reason} (row {row + 1} of the table)"
            if column in self.columns:
                value = shorten(self.columns[column][row])
        return FileError(self.name, reason, line=line, column=column, value=value)


class Answer(NamedTuple):
    """What was said in each row: codes of labels, or probabilities."""

    labels: list[str]
    label: Ints | None = None
    probs: Floats | None = None


class Reader:
    """One table on its way to answers of models; ``labels`` are all classes, if they are known."""

    def __init__(self, table: Table, labels: list[str] | None) -> None:
        self.table, self.labels = table, labels

    def read(self) -> Source:
        """Return the answers."""
        found = list(self.table.columns)
        sample = columns.find("sample", found)
        item = self._find("item", [name for name in found if name != sample])
        if item is None and sample is not None:
            item, sample = sample, None  # the only name of the item
        if item is None:
            raise self.table.error(f"no column names the item; there are {_list(found)}")
        model = self._find("model", found) or self._find("annotator", found)
        if model is None:
            reason = f"no column names the model (model or judge); there are {_list(found)}"
            raise self.table.error(reason)
        ids = Ids(f"{self.table.name}, item")
        items, item_code = self._encode(ids, item)
        models, model_code = self._encode(Ids(f"{self.table.name}, model"), model)
        rest = [name for name in found if name not in (item, model, sample)]
        said = self._read_answers(rest)
        back = ids.given()
        given: dict[Any, Any] = {} if back is None else {"items": back}
        index = Index(names(items), names(models), names(said.labels), given)
        return Source(
            self.table.name, _combine(index, item_code, model_code, said.label, said.probs)
        )

    def _find(self, role: Any, among: Iterable[Any]) -> str | None:
        try:
            return columns.find(role, among)
        except DataError as error:
            raise self.table.error(str(error)) from None

    def _encode(self, ids: Ids, name: str) -> tuple[list[str], Ints]:
        """Return the distinct names in a column, and the code of each row."""
        texts = ids.name(self.table.columns[name])
        if texts.has_nulls():
            raise self.table.error("the cell is empty", int(texts.is_null().arg_true()[0]), name)
        distinct = texts.unique(maintain_order=True)
        return distinct.to_list(), io.find_codes(texts, distinct)

    def _read_answers(self, rest: list[Any]) -> Answer:
        """Find the one kind of answer that the table holds, and read it."""
        table = self.table
        logs = {name: name.removeprefix(LOGPROB).strip() for name in rest if _is_log(name)}
        whole, soft = self._find("logprobs", rest), self._find("soft", rest)
        label, score = self._find("label", rest), self._find("score", rest)
        first = next(iter(logs), None)
        present = [one for one in (first, whole, soft, label, score) if one is not None]
        if len(present) > 1:
            raise table.error(f"answers stand in {_list(present)}; keep one kind of answer")
        if first is not None:
            cells = {own: self._read_numbers(name) for name, own in logs.items()}
            return self._read_logs(cells, first)
        if whole is not None:
            return self._read_logs(self._expand(whole), whole)
        if soft is not None:
            return self._read_probs(self._expand(soft), soft)
        if label is not None:
            return self._read_labels(label)
        if score is not None:
            return self._read_scores(score)
        known = {self._find(role, rest) for role in ("seconds", "when", "kind")}
        classes = [name for name in rest if name not in known]
        if self.labels is not None:
            classes = [name for name in classes if str(name) in self.labels]
        if not classes:
            raise table.error(f"holds no answers: {ACCEPTED}; there are {_list(rest)}")
        return self._read_probs({str(one): self._read_numbers(one) for one in classes}, None)

    # ── kinds of answers ─────────────────────────────────────────────────────────────────────

    def _read_labels(self, name: str) -> Answer:
        texts = Ids(f"{self.table.name}, label").name(self.table.columns[name])
        if texts.has_nulls():
            raise self.table.error("the cell is empty", int(texts.is_null().arg_true()[0]), name)
        labels = self.labels or io.sort_naturally(texts.unique().to_list())
        code = io.find_codes(texts, labels)
        if (code < 0).any():
            row = int((code < 0).argmax())
            raise self.table.error(_no_class(texts[row], labels), row, name)
        return Answer(labels, label=code)

    def _read_scores(self, name: str) -> Answer:
        """Share a score between the two steps around it, so that their mean is the score."""
        scores = self._read_numbers(name)
        self._refuse(np.isnan(scores), "the cell is empty", name)
        if self.labels is None:
            if (scores != np.floor(scores)).any():
                raise self.table.error(
                    "scores between the steps of a scale need to know the steps: give people's "
                    "answers, or all classes",
                    int((scores != np.floor(scores)).argmax()),
                    name,
                )
            labels = [str(int(step)) for step in np.unique(scores)]
        else:
            labels = self.labels
        try:
            steps = np.array([float(label) for label in labels])
        except ValueError as error:
            reason = f"scores are for classes that are numbers, and one is not: {error}"
            raise self.table.error(reason, column=name) from None
        low, high = steps.min(), steps.max()
        reason = f"must be from {low:g} to {high:g}, the ends of the scale"
        self._refuse((scores < low) | (scores > high), reason, name)
        order = np.argsort(steps)
        above = np.clip(np.searchsorted(steps[order], scores), 1, max(len(steps) - 1, 1))
        if len(steps) == 1:
            return Answer(labels, probs=np.ones((len(scores), 1)))
        left, right = order[above - 1], order[above]
        share = (scores - steps[left]) / (steps[right] - steps[left])
        probs = np.zeros((len(scores), len(labels)))
        rows = np.arange(len(scores))
        probs[rows, left], probs[rows, right] = 1 - share, share
        return Answer(labels, probs=probs)

    def _read_probs(self, cells: Mapping[str, Floats], name: str | None) -> Answer:
        labels, numbers = self._arrange(cells, name)
        probs = np.nan_to_num(numbers, nan=0.0, posinf=np.inf, neginf=-np.inf)
        for code, label in enumerate(labels):
            bad = ~np.isfinite(probs[:, code]) | (probs[:, code] < 0)
            self._refuse(bad, f"the probability of {label!r} must be from 0 to 1", name or label)
        total = probs.sum(axis=1)
        off = abs(total - 1) > SIMPLEX_TOLERANCE
        if off.any():
            row = int(off.argmax())
            reason = f"the probabilities sum to {total[row]:.9g}, not to 1"
            raise self.table.error(reason, row, name)
        return Answer(labels, probs=probs)

    def _read_logs(self, cells: Mapping[str, Floats], name: str) -> Answer:
        """Turn log-probabilities into probabilities; classes without one share what is left."""
        labels, logs = self._arrange(cells, name)
        with np.errstate(over="ignore"):
            probs = np.exp(logs)
        absent = np.isnan(probs)
        self._refuse(absent.all(axis=1), "no class has a log-probability", name)
        total = np.nansum(probs, axis=1)
        if (total > 1 + SLACK).any():
            row = int((total > 1 + SLACK).argmax())
            reason = f"the probabilities sum to {total[row]:.6g}, so these are no log-probabilities"
            raise self.table.error(reason, row, name)
        left = np.maximum(1 - total, 0) / np.maximum(absent.sum(axis=1), 1)
        probs = np.where(absent, left[:, None], probs)
        whole = probs.sum(axis=1, keepdims=True)
        self._refuse(whole[:, 0] <= 0, "no class has a probability above 0", name)
        return Answer(labels, probs=probs / whole)

    # ── cells ────────────────────────────────────────────────────────────────────────────────

    def _arrange(self, cells: Mapping[str, Floats], name: str | None) -> tuple[list[str], Floats]:
        """Return all classes in their order, and (n, k) numbers, NaN where there is none."""
        labels = self.labels or io.sort_naturally(cells)
        for one, numbers in cells.items():
            if one not in labels:
                row = int((~np.isnan(numbers)).argmax())
                raise self.table.error(_no_class(one, labels), row, name)
        rows = len(next(iter(self.table.columns.values())))
        empty = np.full(rows, np.nan)
        return labels, np.stack([cells.get(label, empty) for label in labels], axis=1)

    def _read_numbers(self, name: Any) -> Floats:
        """Return the numbers in a column, NaN where a cell is empty."""
        cells = self.table.columns[name]
        column = cells if isinstance(cells, pl.Series) else pl.Series(cells, strict=False)
        if column.dtype == pl.String:
            column = column.set((column.str.strip_chars() == "").fill_null(False), None)
        if not (column.dtype.is_numeric() or column.dtype in (pl.String, pl.Null)):
            raise self.table.error(f"holds {column.dtype}, no numbers", column=str(name))
        numbers = column.cast(pl.Float64, strict=False)
        lost = numbers.is_null() & column.is_not_null()
        self._refuse(lost.to_numpy(), "is not a number", name)
        return numbers.fill_null(float("nan")).to_numpy()

    def _expand(self, name: str) -> dict[str, Floats]:
        """Return one column of numbers for each class in cells that hold all of them: an object
        from class to number, its JSON, or a list in the order of the classes."""
        found: dict[str, Floats] = {}
        cells = self.table.columns[name]
        for row, cell in enumerate(cells.to_list() if isinstance(cells, pl.Series) else cells):
            for label, number in self._parse_cell(cell, row, name).items():
                if number is None:
                    continue
                if isinstance(number, bool) or not isinstance(number, int | float):
                    reason = f"{label!r} has {shorten(number)!r}, which is not a number"
                    raise self.table.error(reason, row, name)
                if label not in found:
                    found[label] = np.full(len(cells), np.nan)
                found[label][row] = number
        return found

    def _parse_cell(self, cell: Any, row: int, name: str) -> dict[str, Any]:
        try:
            cell = json.loads(cell) if isinstance(cell, str) else cell
        except ValueError as error:
            raise self.table.error(f"is not JSON: {error}", row, name) from None
        if isinstance(cell, Mapping):
            return {str(label): number for label, number in cell.items()}
        if cell is None or not hasattr(cell, "__len__") or self.labels is None:
            raise self.table.error("must be an object from class to number", row, name)
        if len(cell) != len(self.labels):
            reason = f"has {len(cell)} numbers for {len(self.labels)} classes"
            raise self.table.error(reason, row, name)
        return dict(zip(self.labels, map(float, cell), strict=True))

    def _refuse(self, bad: Any, reason: str, name: Any) -> None:
        if bad.any():
            raise self.table.error(reason, int(bad.argmax()), name)


def _combine(
    index: Index, item: Ints, model: Ints, label: Ints | None, probs: Floats | None
) -> Annotations:
    """Return one row per model and item: the answer, or the shares of several."""
    k = len(index.labels)
    pair = item.astype(np.int64) * max(len(index.annotators), 1) + model
    _, first, of, count = np.unique(
        pair, return_index=True, return_inverse=True, return_counts=True
    )
    if len(first) == len(pair):
        return Annotations(index, item, model, label=label, probs=probs)
    if label is not None:
        flat = np.bincount(of * k + label, minlength=len(first) * k)
        total = flat.reshape(len(first), k).astype(np.float64)
    else:
        assert probs is not None, "there are labels or probabilities"
        total = np.stack([np.bincount(of, column) for column in probs.T], axis=1)
    order = np.argsort(first)  # as they came
    shares = (total / count[:, None])[order]
    return Annotations(index, item[first[order]], model[first[order]], probs=shares)


def _is_log(name: object) -> bool:
    return isinstance(name, str) and name.startswith(LOGPROB)


def _list(found: Iterable[object]) -> str:
    return ", ".join(map(repr, found))
