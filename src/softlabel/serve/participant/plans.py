"""What the task page receives: the items to show next, labels found by typing, and media files.

Nothing in it gives an answer away: no id, no kind, no reference answer, no file name.
"""

import os
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from heapq import nsmallest
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response

from softlabel import __version__
from softlabel.elicit import list_branches
from softlabel.records import PRACTICE
from softlabel.serve.participant.fuzzy import LAST, WORDS, FuzzyIndex, fold
from softlabel.serve.participant.trees import grow_tree
from softlabel.serve.static import StaticTable
from softlabel.serve.texts import Catalogue, speaking
from softlabel.store import Live, Plan, Session, rows
from softlabel.study import Arm, Item, Media, Study

FORM = "modes/form.js"  # draws any mode from its fields
MOST_SENT = 200_000  # characters of label names; beyond that the page asks the server as it goes
MOST_LABELS = 100  # labels found at a time
MOST_WEIGHED = 2000  # labels among which the nearest are chosen if nothing begins as typed
MANY = 500  # matching keys from which on the result is kept: few beginnings have so many
FOR_EVER = "private, max-age=31536000, immutable"
SMALL = 256 * 1024  # bytes that are read at once: handing them to a thread takes longer


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
        live=live_limits(study),
    )


def live_limits(study: Study) -> Live | None:
    """Return the limits of a study that decides live what to ask next, else None."""
    if study.allocate is None:
        return None
    return Live(study.allocate.least, study.allocate.most)


def portion_size(study: Study) -> int:
    """Return how many items a person gets at a time: a whole batch unless that is large.

    People who get everything at once hold different items, so just enough people fill a study.
    """
    sizes = [len(items) for items in study.batches.values()]
    batch = max(sizes, default=min(study.batch_size, study.items_per_person))
    return batch if batch <= 2 * rows.MAX_HELD else rows.MAX_HELD


class PlanWriter:
    """Write the plan of a session as JSON.  What is the same for everybody is made once.

    A plan holds the next few showings, the last answered ones before them, and of all others only
    their number: ``answered`` of ``total``.
    """

    def __init__(
        self,
        study: Study,
        catalogues: Mapping[str, Catalogue],
        static: StaticTable,
        arm: str | None = None,
    ) -> None:
        self.study, self.most_skips = study, study.most_skips
        module, path = f"modes/{study.mode.name}.js", getattr(study.mode, "path", "")
        self.asks = sum(map(len, study.labels)) > MOST_SENT
        self._shared: dict[str, Any] = {
            "app": __version__,
            "study": study.name,
            "frame": study.frame,
            "repeat_rest": study.repeat_rest,
            "look": {
                "layout": study.layout,
                "smoothing": study.smoothing,
                "parts": list_parts(study),
            },
            "comment": study.comment,
            "skips": [[name, words] for name, words in study.skip_reasons.items()],
            "mode": {
                "name": study.mode.name,
                "version": study.mode.version,
                "rules": study.mode.rules(),
                "fields": [asdict(field) for field in study.mode.fields],
                "module": f"/static/{module if module in static.files else FORM}",
            },
            "synonyms": {} if self.asks else {key: list(of) for key, of in study.synonyms.items()},
            "labels_from": "/api/labels" if self.asks else None,
            "languages": list(study.languages),
            "labels_nest": any(list_branches(label, path) for label in study.labels),
        }
        if arm is not None:
            self._shared["arm"] = arm
        self._catalogues, self._static = catalogues, static
        self._arms = self._write_arms(study)
        self._spoken = {
            code: self._speak(study.speak(code), texts) for code, texts in catalogues.items()
        }

    @staticmethod
    def _speak(study: Study, texts: Catalogue) -> dict[str, Any]:
        """Return what depends on the language."""
        return {
            "title": study.title,
            "language": texts.code,
            "dir": texts.dir,
            "question": study.question,
            "about": {
                label: {
                    "describe": about.describe,
                    "examples": [media_address(media) for media in about.examples],
                    "colour": about.colour,
                }
                for label, about in study.about.items()
            },
            "texts": texts.task,
        }

    def adopt(self, study: Study) -> None:
        """Write plans of another version of the study from now on."""
        self.study, self.most_skips = study, study.most_skips
        self._arms = self._write_arms(study)

    def _write_arms(self, study: Study) -> dict[str, "PlanWriter"]:
        """Return the writers of the arms of a comparison; an arm has none itself."""
        compared = study.compare.arms if study.compare and "arm" not in self._shared else ()
        return {
            arm.name: PlanWriter(study.in_arm(arm), self._catalogues, self._static, arm.name)
            for arm in compared
        }

    def __call__(
        self, session: Session, portion: rows.Portion, arm: Arm | None = None
    ) -> dict[str, Any]:
        if arm is not None and arm.name in self._arms:
            return self._arms[arm.name](session, portion)
        # ask again later, unless the person has been shown everything
        opened = sum(showing.state == "open" for showing in portion.showings)
        unknown = portion.coming is None and opened >= portion.shown - portion.done
        more = portion.more and not (unknown and portion.shown >= self.study.showings_per_person)
        total = portion.shown
        if more and portion.coming is not None:
            total += portion.coming
        elif more:
            total = max(total, self.study.showings_per_person)
        spoken = self._spoken.get(speaking.get() or "", self._spoken[self.study.language])
        return (
            self._shared
            | spoken
            | {
                "session": session.id,
                "labels": [] if self.asks else list(session.label_order),
                "total": total - portion.gone,
                "answered": portion.done - portion.gone,
                "showings": list(self._showings(portion)),
                "more": more,
                "skips_left": self.most_skips - session.skipped,
            }
        )

    def _showings(self, portion: rows.Portion) -> Iterator[dict[str, Any]]:
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
                **describe_more(item),
            }


def list_parts(study: Study) -> list[str]:
    """Return which of the page's parts are needed for what only some studies have."""
    items = (*study.items, *study.practice, *study.checks)
    needs = {
        "about": bool(study.about),
        "players": any(item.audio or item.video for item in items),
        "words": any(item.texts or item.note or (item.text and item.markdown) for item in items),
    }
    return [name for name, needed in needs.items() if needed]


def describe_more(item: Item) -> dict[str, Any]:
    """Return what few items have, without what this one has not."""
    some: dict[str, Any] = {
        "image_2": media_address(item.image_2),
        "alt_2": item.alt_2,
        "video": media_address(item.video),
        "texts": [{"heading": heading, "text": text} for heading, text in item.texts],
        "question": item.question,
        "note": item.note,
    }
    more = {key: value for key, value in some.items() if value}
    if item.markdown:
        for one in more.get("texts", ()):
            one["nodes"] = grow_tree(one["text"])
        words = {"text": item.text, "note": item.note}
        more |= {f"{key}_nodes": grow_tree(text) for key, text in words.items() if text}
    return more


class LabelIndex:
    """Find names, inner nodes of a hierarchy ("animal/cat") and synonyms, by every word in them.

    Names that begin with what was typed come first, then names with such a word, then labels with
    such a synonym, then those that hold all typed words inside of theirs; if there are none, those
    that do so but for one slip of the keyboard.  ``path`` stands between the steps of a hierarchy.
    """

    def __init__(
        self, labels: Sequence[str], synonyms: Mapping[str, Sequence[str]], path: str = "/"
    ) -> None:
        self.synonyms, self.path = synonyms, path
        self._labels = frozenset(labels)
        nodes = (node for label in labels for node in (*list_branches(label, path), label))
        self._names = list(dict.fromkeys(nodes))
        keys = (key for place in range(len(self._names)) for key in self._keys(place))
        self._sorted_keys = sorted(set(keys))
        self._cache: dict[str, list[int]] = {}

    def find(self, typed: str, limit: int = 20) -> list[dict[str, object]]:
        """Return at most ``limit`` labels, and never more than 100, the best first."""
        wanted = fold(typed)
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
        if len(places) < limit:
            inside = self._sort(self._fuzzy.find_inside(wanted, MOST_WEIGHED))
            places = list(dict.fromkeys((*places, *inside)))
        places = places or self._sort(self._fuzzy.find_near(wanted, MOST_WEIGHED))
        return [self._describe(self._names[place]) for place in places[:limit]]

    def _sort(self, places: list[int]) -> list[int]:
        """Return the shortest names first: they are the nearest."""
        return sorted(places, key=lambda place: len(self._names[place]))

    def list_under(self, node: str) -> list[dict[str, object]]:
        """Return what lies directly in a branch ("": outermost); a class with the name of its
        branch lies in it, too."""
        found = [self._describe(name) | {"branch": True} for name in self._under.get(node, ())]
        for one in found:
            if one["name"] not in self._under or one["name"] == node:
                del one["branch"]
        return found

    @cached_property
    def _fuzzy(self) -> FuzzyIndex:
        texts = ((name, *self.synonyms.get(name, ())) for name in self._names)
        return FuzzyIndex([fold(" ".join(each)) for each in texts])

    @cached_property
    def _under(self) -> dict[str, list[str]]:
        """What lies directly in each branch, and under "" what is outermost."""
        under: dict[str, list[str]] = {}
        for name in self._names:
            above = list_branches(name, self.path)
            under.setdefault(above[-1] if above else "", []).append(name)
        for name in self._labels & under.keys():
            under[name].insert(0, name)
        return under

    def _keys(self, place: int) -> Iterator[tuple[str, int, int]]:
        """Yield the text, the rank and the place of everything that finds a name."""
        name = self._names[place]
        own = name.rpartition(self.path)[2] if self.path else name
        yield from ((fold(whole), 0, place) for whole in (name, own))
        for rank, text in ((1, name), *((2, synonym) for synonym in self.synonyms.get(name, ()))):
            text = fold(text)
            yield from ((text[word.start() :], rank, place) for word in WORDS.finditer(text))

    def _describe(self, name: str) -> dict[str, object]:
        branch = {} if name in self._labels else {"branch": True}
        return {"name": name, "synonyms": list(self.synonyms.get(name, ())), **branch}


class MediaTable:
    """Send pictures, recordings and videos by the hash of their content, and nothing else."""

    def __init__(self, study: Study) -> None:
        self._files: dict[str, tuple[Media, os.stat_result]] = {}  # as they were at the start
        self.adopt(study)

    def adopt(self, study: Study) -> None:
        """Add the files of items that are new."""
        items = (*study.items, *study.practice, *study.checks)
        new = {
            media.sha256: (media, media.path.stat())
            for item in items
            for media in item.media
            if media.sha256 not in self._files
        }
        examples = (media for about in study.about.values() for media in about.examples)
        new |= {media.sha256: (media, media.path.stat()) for media in examples}
        self._files = self._files | new

    def add_to(self, app: FastAPI) -> None:
        app.get("/media/{sha256}", response_class=Response, responses={404: {}})(self.send)

    async def send(self, sha256: str) -> Response:
        """A picture, a recording or a video of the study."""
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
