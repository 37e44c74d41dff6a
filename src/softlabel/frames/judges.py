"""What models said: files, folders and tables of any library, beside people's answers.

The name of the model takes the place of the annotator, and there is one row per model and item.
Files are tables like those of people (``item``, ``model`` and an answer), logs of ``softlabel
judge``, or the output of a batch of OpenAI.  With an ``index`` of people's answers, items and
labels are in its order, and items that nobody answered come after them.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from softlabel import io
from softlabel.errors import DataError, FileError
from softlabel.frames.grid import gather
from softlabel.frames.ids import to_column
from softlabel.frames.said import Reader, Table, combine, describe_unknown
from softlabel.io import Source
from softlabel.records import JUDGED, JUDGES, Line
from softlabel.tables import Annotations, Index, Ints, Names, Statements, names

UNREADABLE = "unreadable replies"
SAMPLED = "reply"  # how a log marks an answer that is one label


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
                raise DataError(f"{name}: {describe_unknown(own[code], labels)}")
        place = np.array([labels.index(one) if one in labels else -1 for one in own])
        index = Index(index.items, index.annotators, names(labels), ordered=index.ordered)
        index = index.keep_ids(said.index)
        if label is not None:
            label = place[label]
        else:
            moved = np.zeros((len(said), len(labels)))
            moved[:, place[place >= 0]] = said.soft()[:, place >= 0]
            probs = moved
    return combine(index, said.item, said.annotator, label, probs)


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


def _tabulate(path: Path, lines: Sequence[Line]) -> Table:
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
        for key in ("item", "chances", "how"):
            if key not in row:
                raise FileError(path, "this key is missing", line=line, column=key)
    whole = {row["item"] for _, row in lines[1:] if row["chances"] and row["how"] != SAMPLED}
    for line, row in lines[1:]:
        if row["chances"] is None:
            unreadable += 1
        elif row["how"] != SAMPLED or row["item"] not in whole:  # a distribution counts alone
            said = {"item": row["item"], "model": head["name"], "probs": row["chances"]}
            rows.append((line, said))
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
    items = list(dict.fromkeys(name for part in parts for name in part.index.items.tolist()))
    models = list(dict.fromkeys(name for part in parts for name in part.index.annotators.tolist()))
    places = [
        (_place(part.index.items, items), _place(part.index.annotators, models)) for part in parts
    ]
    pairs = list(zip(parts, places, strict=True))
    said = combine(
        Index(names(items), names(models), names(known)),
        np.concatenate([item[part.item] for part, (item, _) in pairs]),
        np.concatenate([model[part.annotator] for part, (_, model) in pairs]),
        None,
        np.concatenate([part.soft() for part in parts]),
    )
    lost = sum(source.left_out.get(UNREADABLE, 0) for source in sources)
    return Source(str(inner), said, left_out={UNREADABLE: lost} if lost else {})


def _place(own: Names, whole: Sequence[str]) -> Ints:
    place = {name: code for code, name in enumerate(whole)}
    return np.array([place[name] for name in own.tolist()], dtype=np.int64)


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
