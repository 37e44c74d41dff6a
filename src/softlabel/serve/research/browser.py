"""The item browser: each item with what everybody said about it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from softlabel.serve import media
from softlabel.serve.monitor import Overview, words
from softlabel.serve.monitor.window import Reader
from softlabel.serve.research import charts
from softlabel.serve.research.told import beliefs
from softlabel.store import ResponseRow, Store
from softlabel.study import Item, Study
from softlabel.tables import Floats

ORDERS = {
    "disagreement": "most disagreement first",
    "fewest": "fewest answers first",
    "most": "most answers first",
    "given": "as in the study",
    "checks": "checks and practice",
}
PER_PAGE = 24
MOST_PEOPLE = 12  # bars under an item
NAME = 8  # characters of a pseudonym beside a bar


@dataclass(frozen=True)
class ItemCard:
    """An item as the browser shows it.  File names and gold are for the researcher alone."""

    anchor: str
    id: str
    kind: str
    image: str | None
    audio: str | None
    text: str | None
    alt: str
    file: str
    gold: str
    counted: str
    pooled: str
    beliefs: Markup


def ordered(study: Study, found: Overview, order: str, find: str) -> list[Item]:
    """The items that fit what is looked for, in the order asked for."""
    counted = found.standing.per_item
    apart = found.insight.disagreement if found.insight is not None else {}
    items = list(study.items)
    if find:
        every = (*study.items, *study.checks, *study.practice)
        exact = [item for item in every if item.id == find]
        return exact or [item for item in every if find.casefold() in item.id.casefold()]
    if order == "checks":
        return [*study.checks, *study.practice]
    if order == "disagreement":
        return sorted(items, key=lambda item: -apart.get(item.id, -1.0))
    if order in ("fewest", "most"):
        sign = 1 if order == "fewest" else -1
        return sorted(items, key=lambda item: sign * counted.get(item.id, 0))
    return items


def card(reader: Reader, store: Store, item: Item, place: int) -> ItemCard:
    """Everything about one item; its answers are read here and now."""
    study = reader.study
    rows = [row for row in store.responses_to(study.name, item.id) if not row.superseded]
    first = [row for row in rows if row.kind != "repeat"]
    said = {
        row.annotator: belief
        for row, belief in zip(first, beliefs(reader, first), strict=True)
        if belief is not None
    }
    mean = np.mean(list(said.values()), axis=0) if said else None
    picture = item.image or item.audio
    return ItemCard(
        anchor=f"item-{place}",
        id=item.id,
        kind=item.kind,
        image=media.address(item.image),
        audio=media.address(item.audio),
        text=item.text,
        alt=item.alt,
        file="" if picture is None else picture.path.name,
        gold="" if item.gold is None else charts.in_words(np.array(item.gold), study.labels),
        counted=_counted(study, item, first, rows),
        pooled="" if mean is None else charts.in_words(mean, study.labels),
        beliefs=Markup(_bars(said, mean, study, item) if mean is not None else ""),
    )


def _bars(said: dict[str, Floats], mean: Floats, study: Study, item: Item) -> str:
    shown = {"everybody": mean}
    shown |= {name[:NAME]: belief for name, belief in list(said.items())[:MOST_PEOPLE]}
    return charts.beliefs(shown, study.labels, f"What people said about {item.id}")


def _counted(study: Study, item: Item, first: list[ResponseRow], rows: list[ResponseRow]) -> str:
    """``4 of 6 answers, 1 skipped, 2 repeats``."""
    skipped = sum(row.skip is not None for row in first)
    given = len(first) - skipped
    of = f" of {study.per_item}" if item.kind == "target" else ""
    parts = [f"{words.count(given)}{of} answers" if given != 1 or of else "1 answer"]
    if skipped:
        parts.append(f"{skipped} skipped")
    if again := len(rows) - len(first):
        parts.append(f"{again} repeat{'s' if again > 1 else ''}")
    if given > MOST_PEOPLE:
        parts.append(f"the first {MOST_PEOPLE} are shown")
    return ", ".join(parts)
