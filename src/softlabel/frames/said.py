"""What models said in a table: labels, scores, probabilities or log-probabilities.

Several answers of a model to an item are samples: they become shares, so that there is one row per
model and item.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from softlabel import io
from softlabel._util.files import shorten
from softlabel.errors import DataError, FileError, nearest
from softlabel.frames.ids import Column, Ids
from softlabel.io import Source, columns
from softlabel.tables import SIMPLEX_TOLERANCE, Annotations, Floats, Index, Ints, names

LOGPROB = "logprob:"  # begins the name of a column that holds the log-probability of a class
SLACK = 1e-3  # by which probabilities of tokens may sum to more than 1, as they are rounded
ACCEPTED = (
    "an answer is a label, a score, one column per class with its probability, or columns "
    "logprob:CLASS"
)


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
            self.table.name, combine(index, item_code, model_code, said.label, said.probs)
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
            raise self.table.error(describe_unknown(texts[row], labels), row, name)
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
                raise self.table.error(describe_unknown(one, labels), row, name)
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


def combine(
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


def describe_unknown(label: str, labels: Sequence[str]) -> str:
    """Return what to say of a label that is none of these."""
    shown = ", ".join(labels[:20]) + (", …" if len(labels) > 20 else "")
    return (
        f"{label!r} is no class{nearest(label, labels)}; the classes are {shown}; if people could "
        "give others, name all classes with --labels"
    )
