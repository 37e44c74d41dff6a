"""The tables of a release: a frame for each, whose columns ``columns.toml`` describes.

A kind of column says everything that another program must know: its type in Parquet, its feature on
Hugging Face and its type in Croissant.
"""

import json
import math
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl

from softlabel.publish.material import Material, Reading, Record, kind_of
from softlabel.records import PRACTICE, dump_json, read_seconds
from softlabel.study import Item

ABOUT = tomllib.loads(Path(__file__).with_name("columns.toml").read_text("utf-8"))
NO_CLASS = -1
MEDIA = "media"  # the folder of pictures, recordings and videos
CHANNELS = ("image", "image_2", "audio", "video")
CONTENT = ("text", "texts", *CHANNELS)
ENDINGS = {"jpeg": "jpg", "mpeg": "mp3", "x-wav": "wav", "svg+xml": "svg"}

# kind: type in Parquet, feature on Hugging Face, type in Croissant; k is the number of classes
KINDS: Mapping[str, tuple[Any, str, str]] = {
    "text": (pl.String, "string", "sc:Text"),
    "integer": (pl.Int32, "int32", "sc:Integer"),
    "number": (pl.Float32, "float32", "sc:Float"),
    "flag": (pl.Boolean, "bool", "sc:Boolean"),
    "time": (pl.Datetime("ms", "UTC"), "timestamp[ms, tz=UTC]", "sc:DateTime"),
    "class": (pl.Int64, "class_label", "sc:Integer"),
    "shares": (pl.Float32, "float32", "sc:Float"),
}


@dataclass(frozen=True)
class Column:
    """One column: its name, its kind, and what it means."""

    name: str
    kind: str
    about: str


@dataclass(frozen=True, eq=False)
class Table:
    """One table: its name, what it holds, its columns and its rows."""

    name: str
    about: str
    columns: tuple[Column, ...]
    frame: pl.DataFrame
    labels: tuple[str, ...]

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.name}.parquet"

    def write(self, folder: Path) -> None:
        """Write Parquet that says, as Hugging Face's own files do, which classes there are."""
        features = {column.name: self._feature(column) for column in self.columns}
        about = json.dumps({"info": {"features": features}}, ensure_ascii=False)
        self.frame.write_parquet(folder / self.file, metadata={"huggingface": about})

    def _feature(self, column: Column) -> dict[str, Any]:
        if column.kind == "class":
            return {"names": list(self.labels), "_type": "ClassLabel"}
        value = {"dtype": KINDS[column.kind][1], "_type": "Value"}
        if column.kind == "shares":
            return {"feature": value, "length": len(self.labels), "_type": "List"}
        return value

    def features(self) -> list[dict[str, Any]]:
        """Return the columns as the head of a card lists them."""
        listed: list[dict[str, Any]] = []
        for column in self.columns:
            kind = KINDS[column.kind][1]
            if column.kind == "class":
                names = {str(i): label for i, label in enumerate(self.labels)}
                listed.append({"name": column.name, "dtype": {"class_label": {"names": names}}})
            elif column.kind == "shares":
                size = len(self.labels)
                listed.append({"name": column.name, "list": kind, "length": size})
            else:
                listed.append({"name": column.name, "dtype": kind})
        return listed


def make_table(name: str, rows: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> Table:
    """Make a table of these rows; optional columns without values are left out."""
    known = ABOUT[name]["columns"]
    columns, series = [], []
    for column, about in known.items():
        values = [row.get(column) for row in rows]
        if about.get("optional") and all(value is None for value in values):
            continue
        columns.append(Column(column, about["kind"], about["about"]))
        kind = KINDS[about["kind"]][0]
        dtype = pl.Array(kind, len(labels)) if about["kind"] == "shares" else kind
        series.append(pl.Series(column, values, dtype=dtype))
    assert {column for row in rows for column in row} <= set(known), "columns.toml has them all"
    return Table(name, ABOUT[name]["about"], tuple(columns), pl.DataFrame(series), tuple(labels))


def make_tables(
    material: Material, reading: Reading, texts: Mapping[tuple[str, ...], str], content: bool
) -> list[Table]:
    """Make the tables of a release.  ``texts`` are the free texts that may be published, by what
    they are (see ``personal``); ``content`` adds what people saw and heard of the items."""
    labels = material.labels
    made = [
        make_table("labels", list(_label_rows(material, reading, content)), labels),
        make_table("answers", _answer_rows(material, reading, texts), labels),
        make_table("annotators", _annotator_rows(material, reading), labels),
        make_table("items", _item_rows(material, content), labels),
    ]
    said = [
        {"annotator": who, "stage": stage, "question": name, "asked": asked, "answer": answer}
        for (stage, who, name, asked), answer in sorted(texts.items())
        if stage in ("before", "debrief")
    ]
    return [*made, *([make_table("questions", said, labels)] if said else [])]


def _label_rows(material: Material, reading: Reading, content: bool) -> Iterable[Record]:
    pooled, limits = reading.pooled, reading.limits
    place = {item: row for row, item in enumerate(pooled.index.items.tolist())}
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = pooled.entropy(pooled.estimand)
    for name in order_items(material):
        row = place.get(name)
        if row is None or not pooled.answered[row]:
            continue
        item = material.study.find(name) if material.study and material.study.has(name) else None
        yield {
            "item": name,
            **(_content(item, CONTENT) if content and item else {}),
            "label": int(pooled.probs[row].argmax()),
            "soft_label": pooled.probs[row].tolist(),
            **{key: limits[key][row].tolist() for key in ("low", "high") if key in limits},
            "n_answers": int(pooled.count[row]),
            "entropy": float(entropy[row]),
        }


def _answer_rows(
    material: Material, reading: Reading, texts: Mapping[tuple[str, ...], str]
) -> list[Record]:
    replaced = {record.get("supersedes") for record in material.records} - {None}
    rows = []
    for i, record in enumerate(material.records):
        shown, answered = record["presentation"], record["answer"] is not None
        who = reading.pseudonyms[record["annotator"]]
        at = (who or "", str(record["item"]), str(shown.get("position")))
        rows.append(
            {
                "item": str(record["item"]),
                "annotator": who,
                "kind": kind_of(record),
                "shown": shown["kind"],
                "position": shown.get("position"),
                "mode": shown.get("mode"),
                "mode_version": shown.get("mode_version"),
                "mode_options": dump_json(shown.get("mode_options") or {}),
                "frame": shown.get("frame"),
                "answer": dump_json(record["answer"]) if answered else None,
                "skip": record.get("skip"),
                "label": int(reading.soft[i].argmax()) if answered else NO_CLASS,
                "soft_label": reading.soft[i].tolist() if answered else None,
                "seconds": measure_seconds(record),
                "when": read_time(record),
                "counted": bool(reading.counted[i]),
                "superseded": record.get("response_uuid") in replaced,
                "late": bool(record.get("late")),
                "partial": bool(record.get("partial")),
                "excluded": bool(record.get("excluded")),
                "excluded_because": texts.get(("excluded", who or "", "", "")),
                "comment": texts.get(("comment", *at)),
            }
        )
    rows.sort(key=lambda row: (_number(row["annotator"]), row["position"] or 0, row["item"]))
    return rows


def _annotator_rows(material: Material, reading: Reading) -> list[Record]:
    cards = {
        card.annotator: card for card in (reading.agreement.cards if reading.agreement else ())
    }
    by_person: dict[Any, list[int]] = {}
    for i, record in enumerate(material.records):
        if record["annotator"] is not None:
            by_person.setdefault(record["annotator"], []).append(i)
    rows = []
    for who, own in by_person.items():
        records = [material.records[i] for i in own]
        times = [s for one in records if one["answer"] is not None and (s := measure_seconds(one))]
        skips = [one["presentation"]["kind"] for one in records if one["answer"] is None]
        card = cards.get(str(who))
        rows.append(
            {
                "annotator": reading.pseudonyms[who],
                "kind": kind_of(records[0]),
                "n_answers": len(records) - len(skips),
                "n_counted": int(reading.counted[own].sum()),
                "n_skips": sum(kind != PRACTICE for kind in skips),
                "seconds": median(times) if times else None,
                "agreement": card.agreement if card and card.agreement == card.agreement else None,
                "excluded": any(one.get("excluded") for one in records),
            }
        )
    rows.sort(key=lambda row: _number(row["annotator"]))
    return rows


def _item_rows(material: Material, content: bool) -> list[Record]:
    study = material.study
    seen = Counter[tuple[str, str, str | None]]()
    for record in material.records:
        shown = record["presentation"]
        kind = "target" if shown["kind"] == "repeat" else shown["kind"]
        seen[str(record["item"]), kind, shown.get("batch")] += 1
    kinds = {item: (kind, batch) for item, kind, batch in sorted(seen, key=str)}
    rows: list[Record] = []
    for name in order_items(material):
        kind, batch = kinds.get(name, ("target", None))
        row: Record = {"item": name, "shown": kind, "batch": batch}
        if study is not None and study.has(name):
            item = study.find(name)
            row |= {
                "shown": item.kind,
                "digest": item.digest,
                "media": " ".join(media.sha256 for media in item.media) or None,
                "gold": None if item.gold is None else list(item.gold),
                "meta": dump_json(dict(item.meta)) if item.meta else None,
            }
            if content:
                row |= _content(item, (*CONTENT, "question", "note", "alt"))
        rows.append(row)
    return rows


def _content(item: Item, wanted: Iterable[str]) -> Record:
    """Return what people saw and heard, with the names of files in the release."""
    row: Record = {}
    for name in wanted:
        value = getattr(item, name)
        if name in CHANNELS:
            row[name] = name_media(value) if value else None
        elif name == "texts":
            row[name] = dump_json([list(pair) for pair in value]) if value else None
        else:
            row[name] = value or None
    return row


def name_media(media: Any) -> str:
    """Return the name of a file in the release: by its content, as the server names it."""
    ending = media.mime.partition("/")[2]
    return f"{MEDIA}/{media.sha256}.{ENDINGS.get(ending, ending)}"


def order_items(material: Material) -> list[str]:
    """Return the names of all items that anybody saw, in the order of the study or, without it, in
    natural order; those that the study no longer has come last."""
    shown = {str(record["item"]) for record in material.records}
    study = material.study
    mine = [item.id for item in (*study.items, *study.practice, *study.checks)] if study else []
    known = set(mine)
    return [item for item in mine if item in shown] + sorted(shown - known)


def measure_seconds(record: Record) -> float | None:
    """Return how long the person looked at the item, None where it was not measured."""
    seconds = read_seconds(record)
    return None if math.isnan(seconds) else seconds


def read_time(record: Record) -> datetime | None:
    """Return when the answer was stored, to the second."""
    stored = record.get("received_at")
    return datetime.fromisoformat(stored).replace(microsecond=0) if stored else None


def _number(pseudonym: str | None) -> int:
    return int(pseudonym[1:]) if pseudonym else 0
