"""What the task page receives: the items to show next, labels found by typing, and media files.

Nothing in it gives an answer away: no id, no kind, no reference answer, no file name.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from heapq import nsmallest
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response

from softlabel import __version__
from softlabel.elicit import list_branches
from softlabel.records import PRACTICE
from softlabel.serve.static import StaticTable
from softlabel.serve.texts import Catalogue
from softlabel.store import MAX_HELD, Plan, Portion, Session
from softlabel.study import Media, Study

FORM = "modes/form.js"  # draws any mode from its fields
MOST_SENT = 200_000  # characters of label names; beyond that the page asks the server as it goes
MOST_LABELS = 100  # labels found at a time
MANY = 500  # matching keys from which on the result is kept: few beginnings have so many
LAST = "\U0010ffff"
WORDS = re.compile(r"[^\W_]+")
FOR_EVER = "private, max-age=31536000, immutable"
SMALL = 256 * 1024  # bytes that are read at once: handing them to a thread takes longer


# ── items ────────────────────────────────────────────────────────────────────────────────────


def lease_plan(study: Study) -> Plan:
    """Return how the store is to give out items."""
    return Plan(
        per_item=study.per_item,
        per_annotator=study.per_annotator,
        batch_size=min(study.batch_size, study.items_per_person),
        repeats=study.repeats,
        repeat_positions=study.repeat_positions,
        practice=tuple(item.id for item in study.practice),
        checks=tuple(item.id for item in study.checks),
        batches=bool(study.batches),
        lease_seconds=60.0 * study.lease_minutes,
        seed=study.seed,
        ahead=portion_size(study),
    )


def portion_size(study: Study) -> int:
    """Return how many items a person gets at a time: a whole batch unless that is large.

    People who get everything at once hold different items, so a study with just as many people as
    it needs is filled.
    """
    sizes = [len(items) for items in study.batches.values()]
    batch = max(sizes, default=min(study.batch_size, study.items_per_person))
    return batch if batch <= 2 * MAX_HELD else MAX_HELD


class PlanWriter:
    """Write the plan of a session as JSON.  What is the same for everybody is made once.

    A plan holds the next few showings, the last answered ones before them, and of all others only
    their number: ``answered`` of ``total``.
    """

    def __init__(self, study: Study, texts: Catalogue, static: StaticTable) -> None:
        self.study, self.most_skips = study, study.most_skips
        module = f"modes/{study.mode.name}.js"
        self.asks = sum(map(len, study.labels)) > MOST_SENT
        self._shared: dict[str, Any] = {
            "app": __version__,
            "study": study.name,
            "title": study.title,
            "language": texts.code,
            "dir": texts.dir,
            "frame": study.frame,
            "repeat_rest": study.repeat_rest,
            "mode": {
                "name": study.mode.name,
                "version": study.mode.version,
                "rules": study.mode.rules(),
                "fields": [asdict(field) for field in study.mode.fields],
                "module": f"/static/{module if module in static.files else FORM}",
            },
            "synonyms": {} if self.asks else {key: list(of) for key, of in study.synonyms.items()},
            "labels_from": "/api/labels" if self.asks else None,
            "texts": texts.task,
        }

    def __call__(self, session: Session, portion: Portion) -> dict[str, Any]:
        # ask again later, unless the person has been shown everything
        opened = sum(showing.state == "open" for showing in portion.showings)
        unknown = portion.coming is None and opened >= portion.shown - portion.done
        more = portion.more and not (unknown and portion.shown >= self.study.showings_per_person)
        total = portion.shown
        if more and portion.coming is not None:
            total += portion.coming
        elif more:
            total = max(total, self.study.showings_per_person)
        return self._shared | {
            "session": session.id,
            "labels": [] if self.asks else list(session.label_order),
            "total": total - portion.gone,
            "answered": portion.done - portion.gone,
            "showings": list(self._showings(portion)),
            "more": more,
            "skips_left": self.most_skips - session.skipped,
        }

    def _showings(self, portion: Portion) -> Iterator[dict[str, Any]]:
        """Yield only what people see or hear."""
        for showing in portion.showings:
            try:
                item = self.study.find(showing.item)
            except KeyError:  # the item was taken out of the study after it had been answered
                continue
            yield {
                "position": showing.position,
                "phase": "practice" if showing.kind == PRACTICE else "main",
                "image": media_address(item.image),
                "audio": media_address(item.audio),
                "text": item.text,
                "alt": item.alt,
                "answered": showing.response is not None,
                "skipped": showing.state == "skipped",
            }


# ── labels ───────────────────────────────────────────────────────────────────────────────────


class LabelIndex:
    """Find names, inner nodes of a hierarchy ("animal/cat") and synonyms, by every word in them.

    Names that begin with what was typed come first, then names with such a word, then labels with
    such a synonym.  ``path`` stands between the steps of a hierarchy.
    """

    def __init__(
        self, labels: Sequence[str], synonyms: Mapping[str, Sequence[str]], path: str = "/"
    ) -> None:
        self.synonyms, self.path = synonyms, path
        nodes = (node for label in labels for node in (*list_branches(label, path), label))
        self._names = list(dict.fromkeys(nodes))
        keys = (key for place in range(len(self._names)) for key in self._keys(place))
        self._sorted_keys = sorted(set(keys))
        self._cache: dict[str, list[int]] = {}

    def find(self, typed: str, limit: int = 20) -> list[dict[str, object]]:
        """Return at most ``limit`` labels, and never more than 100, the best first."""
        wanted = " ".join(typed.casefold().split())
        places = self._cache.get(wanted)
        if places is None:
            first = bisect_left(self._sorted_keys, (wanted,))
            last = bisect_left(self._sorted_keys, (wanted + LAST,))
            best: dict[int, int] = {}
            for _, rank, place in self._sorted_keys[first:last]:
                best[place] = min(rank, best.get(place, rank))
            places = nsmallest(MOST_LABELS, best, key=lambda place: (best[place], place))
            if last - first > MANY:
                self._cache[wanted] = places
        return [self._describe(self._names[place]) for place in places[:limit]]

    def _keys(self, place: int) -> Iterator[tuple[str, int, int]]:
        """Yield the text, the rank and the place of everything that finds a name."""
        name = self._names[place]
        own = name.rpartition(self.path)[2] if self.path else name
        yield from ((whole.casefold(), 0, place) for whole in (name, own))
        for rank, text in ((1, name), *((2, synonym) for synonym in self.synonyms.get(name, ()))):
            text = " ".join(text.casefold().split())
            yield from ((text[word.start() :], rank, place) for word in WORDS.finditer(text))

    def _describe(self, name: str) -> dict[str, object]:
        return {"name": name, "synonyms": list(self.synonyms.get(name, ()))}


# ── media ────────────────────────────────────────────────────────────────────────────────────


class MediaTable:
    """Send pictures and recordings by the hash of their content; nothing else can be requested."""

    def __init__(self, study: Study) -> None:
        items = (*study.items, *study.practice, *study.checks)
        self._files: dict[str, tuple[Media, os.stat_result]] = {  # as they were at the start
            media.sha256: (media, media.path.stat()) for item in items for media in item.media
        }

    def add_to(self, app: FastAPI) -> None:
        app.add_api_route(
            "/media/{sha256}", self.send, response_class=Response, responses={404: {}}
        )

    async def send(self, sha256: str) -> Response:
        """A picture or a recording of the study."""
        try:
            media, before = self._files[sha256]
            now = media.path.stat()
        except (KeyError, OSError):
            raise HTTPException(404) from None
        if (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            raise HTTPException(404)  # the file was edited, so its hash is wrong
        headers = {"cache-control": FOR_EVER, "content-disposition": "inline"}
        headers["etag"] = f'"{sha256}"'
        if media.mime.startswith("image/") and before.st_size <= SMALL:
            return Response(media.path.read_bytes(), headers=headers, media_type=media.mime)
        return FileResponse(media.path, media_type=media.mime, stat_result=before, headers=headers)


def media_address(media: Media | None) -> str | None:
    """Return the address at which the browser finds a file."""
    return None if media is None else f"/media/{media.sha256}"
