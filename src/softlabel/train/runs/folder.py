"""One run folder: begun once, resumed if it was interrupted, finished once and for all."""

from __future__ import annotations

import json
import math
import os
import shutil
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from softlabel.errors import FileError, SoftlabelError
from softlabel.tables import Index, Predictions, Score, SoftLabels, complaining, load_arrays, names
from softlabel.train.runs.environment import environment
from softlabel.train.runs.naming import NAMED, as_json, digest, name

CONFIG, SEED, SOURCE, LABELS = "config.json", "seed", "source.py", "labels.sha256"
ENVIRONMENT, LOG, FAILED, RUNNING = "environment.txt", "log.jsonl", "failed.txt", "running"
PREDICTIONS, SCORES, CHECKPOINT = "predictions.npz", "scores.json", "checkpoint.pt"

LONG = 3600  # seconds
SHOWN = 40  # characters of what is wrong

State = Literal["finished", "running", "failed", "waiting"]


class Busy(SoftlabelError):
    """Another process is working on this run."""


@dataclass(frozen=True)
class Run:
    """A run and its folder; what the folder holds is read when it is asked for."""

    path: Path

    @property
    def name(self) -> str:
        """The hash that names it."""
        return self.path.name

    @cached_property
    def config(self) -> dict[str, Any]:
        """What was to be done, with the names of things under ``named``."""
        return _read_json(self.path / CONFIG)

    @cached_property
    def seed(self) -> int:
        """The seed of everything random in it."""
        text = _text(self.path / SEED).strip()
        if not text.isdecimal():
            shown = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
            raise FileError(self.path / SEED, f"holds {shown!r}; a run's seed is a whole number")
        return int(text)

    @cached_property
    def labels(self) -> str:
        """The sha256 of the labels it learned from."""
        return _text(self.path / LABELS).strip()

    def value(self, key: str) -> Any:
        """What the configuration says under this key, or what that was called; None if neither.

        A thing that was given a name goes by it: ``labels`` is a file, not its hash.
        """
        own = {"labels": self.labels, "seed": self.seed}
        for table in (self.config.get(NAMED, {}), self.config, own):
            if key in table:
                return table[key]
        return None

    @property
    def finished(self) -> bool:
        """True when nothing is left to do: the scores are written last, and whole."""
        return (self.path / SCORES).exists()

    @property
    def state(self) -> State:
        """Where it stands: ``waiting`` was interrupted, or has not begun."""
        if self.finished:
            return "finished"
        if _held(self.path / RUNNING):
            return "running"
        return "failed" if (self.path / FAILED).exists() else "waiting"

    @property
    def failure(self) -> str:
        """Why the last attempt stopped, if it failed."""
        path = self.path / FAILED
        return path.read_text("utf-8").strip() if path.exists() else ""

    @property
    def log(self) -> list[dict[str, Any]]:
        """What training wrote down, epoch by epoch; a line that is being written is left out."""
        path = self.path / LOG
        text = path.read_text("utf-8") if path.exists() else ""
        return [json.loads(line) for line in text.split("\n")[:-1] if line]

    @cached_property
    def outcome(self) -> dict[str, Any]:
        """All of ``scores.json``."""
        return _read_json(self.path / SCORES)

    @property
    def scores(self) -> dict[str, Score]:
        """How well it did when it was finished, each with its interval over items."""
        table: dict[str, list[Any]] = self.outcome["scores"]
        return {
            key: Score(float(value), float(low), float(high), n)
            for key, (value, low, high, n) in table.items()
        }

    @property
    def predictions(self) -> Predictions:
        """What the model believes about the items it was tested on."""
        held = self.arrays("item", "labels", "probs")
        with complaining(self.path / PREDICTIONS, "predictions of a run"):
            items, labels = names(held["item"].tolist()), names(held["labels"].tolist())
            return Predictions(Index(items, names([]), labels), held["probs"])

    @property
    def people(self) -> SoftLabels:
        """What was known of these items when they were scored."""
        held = self.arrays("people", "people_item", "people_labels", "people_count")
        with complaining(self.path / PREDICTIONS, "predictions of a run"):
            items, labels = (names(held[key].tolist()) for key in ("people_item", "people_labels"))
            index = Index(items, names([]), labels)
            return SoftLabels(index, held["people"], held["people_count"])

    def arrays(self, *wanted: str) -> dict[str, npt.NDArray[Any]]:
        """These arrays of ``predictions.npz``: item, labels, probs, and whatever was added."""
        path = self.path / PREDICTIONS
        if not path.exists():
            raise FileError(self.path, f"has no {PREDICTIONS}: the run is {self.state}")
        return load_arrays(path, "predictions of a run", wanted)

    # ── writing ──────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Nobody else works on this run meanwhile; a claim ends with its process, however that
        ends.  ``Busy`` if somebody does already."""
        (self.path / RUNNING).touch()
        with (self.path / RUNNING).open("r+") as file:
            if not _lock(file, patience=0.2):
                raise Busy(f"{self.path}: {file.read().strip()} is working on this run")
            file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
            file.truncate()
            file.flush()
            (self.path / FAILED).unlink(missing_ok=True)
            with (self.path / ENVIRONMENT).open("a", encoding="utf-8") as about:
                about.write(environment())
            yield

    def finish(
        self,
        predictions: Predictions,
        scores: Mapping[str, Score],
        people: SoftLabels | None = None,
        more: Mapping[str, npt.NDArray[Any]] | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        """Keep the predictions, what ``people`` say of these items, ``more`` arrays, and then the
        scores with ``facts``; the checkpoint is not needed any longer."""
        if self.finished:
            raise SoftlabelError(f"{self.path}: is finished already; a run is finished once")
        arrays = {
            "item": np.array(predictions.index.items.tolist(), dtype=np.str_),
            "labels": np.array(predictions.index.labels.tolist(), dtype=np.str_),
            "probs": predictions.probs,
            **(more or {}),
        }
        if people is not None:
            arrays["people"], arrays["people_count"] = people.probs, people.count
            arrays["people_item"] = np.array(people.index.items.tolist(), dtype=np.str_)
            # their own order of classes, which need not be that of the predictions
            arrays["people_labels"] = np.array(people.index.labels.tolist(), dtype=np.str_)
        with whole(self.path / PREDICTIONS) as part, part.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)
        table = {key: _plain(score) for key, score in scores.items()}
        text = json.dumps({"scores": table, **(facts or {})}, allow_nan=False, indent=1)
        with whole(self.path / SCORES) as part:
            part.write_text(text, "utf-8")
        for left in (CHECKPOINT, RUNNING, *(part.name for part in self.path.glob(".*.part"))):
            (self.path / left).unlink(missing_ok=True)

    def fail(self, reason: str) -> None:
        """Say why this attempt stopped; the next one begins where it stood."""
        with whole(self.path / FAILED) as part:
            part.write_text(f"{reason}\n", "utf-8")


def start(
    root: str | Path,
    config: Mapping[str, Any],
    labels: Mapping[str, npt.NDArray[Any]],
    seed: int,
    source: str,
) -> Run:
    """The run of this configuration, these labels and this seed: a new folder under ``root``, the
    one that an interrupted run left, or the finished one.  ``source`` is the text of the recipe."""
    sha = digest(labels)
    text = as_json(config)
    run = Run(Path(root) / name(config, sha, seed))
    if run.path.exists():
        _check_same(run, config)
        return run
    part = run.path.with_name(f".{run.name}.{uuid4().hex}.part")
    _sweep(run)
    try:
        part.mkdir(parents=True)
        (part / CONFIG).write_text(text, "utf-8")
        (part / SEED).write_text(f"{seed}\n")
        (part / SOURCE).write_text(source, "utf-8")
        (part / LABELS).write_text(f"{sha}\n")
        part.rename(run.path)
    except OSError:
        if not run.path.exists():  # else somebody was quicker
            raise
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return run


def _sweep(run: Run) -> None:
    """Remove what a process left that was killed while it began this run: it takes a moment."""
    for left in run.path.parent.glob(f".{run.name}.*.part"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > LONG:
                shutil.rmtree(left, ignore_errors=True)


def _check_same(run: Run, config: Mapping[str, Any]) -> None:
    kept = {key: value for key, value in run.config.items() if key != NAMED}
    ours = {key: value for key, value in config.items() if key != NAMED}
    if as_json(kept) != as_json(ours):
        raise FileError(run.path, f"{CONFIG} was edited, and is not of this run; remove the folder")


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A file that is either whole or not there, also after a power cut."""
    part = path.with_name(f".{path.name}.{uuid4().hex}.part")
    try:
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise FileError(path, f"is damaged ({error}); remove its folder") from None
    if not isinstance(content, dict):
        raise FileError(path, f"must hold a JSON object, not {type(content).__name__}")
    return content


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        raise FileError(path.parent, f"is no run folder: it has no {path.name}") from None
    except UnicodeDecodeError as error:
        raise FileError(path, f"is not UTF-8 text ({error.reason} at byte {error.start})") from None


def _plain(score: Score) -> list[float | str | int]:
    """For JSON, which has no infinity and no NaN: these are text, which ``float`` reads again."""
    three = (float(x) for x in (score.value, score.low, score.high))
    return [*(x if math.isfinite(x) else str(x) for x in three), score.n]


if sys.platform == "win32":  # files cannot be deleted there while they are open: lock enough

    def _lock(file: Any, patience: float = 0) -> bool:
        return True

    def _held(path: Path) -> bool:
        return False

else:
    import fcntl

    def _lock(file: Any, patience: float = 0) -> bool:
        """Take the lock of an open file, which the system lets go when the process ends; those who
        only look hold it for a moment, so a little patience pays."""
        until = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= until:
                    return False
                time.sleep(0.01)
            else:
                return True

    def _held(path: Path) -> bool:
        """True while some process holds the lock of this file."""
        try:
            with path.open("rb") as file:
                return not _lock(file)
        except FileNotFoundError:
            return False
