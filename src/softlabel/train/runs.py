"""Run folders: what was trained, from which labels, by which code, and the result.

A folder is named by a hash of configuration, labels, seed and training code (``identity``), so a
finished run is never repeated, an unfinished one is found again, and neither is taken for a run of
other code.  Everything in it is plain: JSON, text and arrays.
"""

import json
import math
import os
import shlex
import shutil
import socket
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from string import Template
from typing import IO, Any, Literal
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from softlabel import tables
from softlabel._util.arrays import complaining, load_arrays
from softlabel._util.files import write_atomically
from softlabel.errors import FileError, SoftlabelError, UnknownName
from softlabel.tables import Index, Predictions, Score, SoftLabels, names
from softlabel.train import identity
from softlabel.train.identity import CODE, NAMED, as_json

CONFIG, SEED, SOURCE, LABELS = "config.json", "seed", "source.py", "labels.sha256"
ENVIRONMENT, LOG, FAILED, RUNNING = "environment.txt", "log.jsonl", "failed.txt", "running"
PREDICTIONS, SCORES, CHECKPOINT = "predictions.npz", "scores.json", "checkpoint.pt"
README = "README.md"

LONG = 3600  # seconds
SHOWN = 40  # characters of a wrong value
OWN = ("labels", "seed")  # settings that are not in the configuration
FIRST = ("recipe", "images", "labels", "deliver")  # the settings by which people tell runs apart
PEOPLE = "people_sha"  # of the labels a run is tested against: no reason for another score

State = Literal["finished", "running", "failed", "waiting"]


class Busy(SoftlabelError):
    """Another process is working on this run."""


@dataclass(frozen=True)
class Run:
    """A run and its folder; the content of the folder is read when it is asked for."""

    path: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))  # text will do, too

    @property
    def name(self) -> str:
        """The hash that names the run."""
        return self.path.name

    @cached_property
    def config(self) -> dict[str, Any]:
        """All that decides the result, with the names of things under ``named``."""
        return _read_json(self.path / CONFIG)

    @cached_property
    def seed(self) -> int:
        """The seed of everything random in the run."""
        text = _text(self.path / SEED).strip()
        if not text.isdecimal():
            shown = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
            raise FileError(self.path / SEED, f"holds {shown!r}; a run's seed is a whole number")
        return int(text)

    @cached_property
    def labels(self) -> str:
        """The sha256 of the labels it learned from."""
        return _text(self.path / LABELS).strip()

    @property
    def code(self) -> str | None:
        """The digest of the code that made the run; None for a run from before digests."""
        return self.config.get(CODE)

    def value(self, key: str) -> Any:
        """Return the value of a setting, or None.  A thing that was given a name goes by it:
        ``labels`` is a file, not its hash."""
        own = {"labels": self.labels, "seed": self.seed}
        return {**own, **self.config, **self.config.get(NAMED, {})}.get(key)

    @property
    def finished(self) -> bool:
        """True when nothing is left to do: the scores are written last, whole or not at all."""
        return (self.path / SCORES).exists()

    @property
    def state(self) -> State:
        """The state of the run; ``waiting`` was interrupted, or has not started."""
        if self.finished:
            return "finished"
        if _is_locked(self.path / RUNNING):
            return "running"
        return "failed" if (self.path / FAILED).exists() else "waiting"

    @property
    def failure(self) -> str:
        """Why the last attempt stopped, if it failed."""
        path = self.path / FAILED
        return path.read_text("utf-8").strip() if path.exists() else ""

    @property
    def log(self) -> list[dict[str, Any]]:
        """The log of training, epoch by epoch, without a line that is being written."""
        path = self.path / LOG
        text = path.read_text("utf-8") if path.exists() else ""
        return [json.loads(line) for line in text.split("\n")[:-1] if line]

    @cached_property
    def outcome(self) -> dict[str, Any]:
        """All of ``scores.json``."""
        return _read_json(self.path / SCORES)

    @property
    def scores(self) -> dict[str, Score]:
        """The scores at the end of the run, each with its interval over items."""
        table: dict[str, list[Any]] = self.outcome["scores"]
        return {
            key: Score(float(value), float(low), float(high), n)
            for key, (value, low, high, n) in table.items()
        }

    @property
    def predictions(self) -> Predictions:
        """The predictions for the items that were held out."""
        held = self.arrays("item", "labels", "probs")
        with complaining(self.path / PREDICTIONS, "predictions of a run"):
            items, labels = names(held["item"].tolist()), names(held["labels"].tolist())
            return Predictions(Index(items, names([]), labels), held["probs"])

    @property
    def people(self) -> SoftLabels:
        """The people's labels against which the predictions were scored."""
        held = self.arrays("people", "people_item", "people_labels", "people_count")
        with complaining(self.path / PREDICTIONS, "predictions of a run"):
            items, labels = (names(held[key].tolist()) for key in ("people_item", "people_labels"))
            index = Index(items, names([]), labels)
            return SoftLabels(index, held["people"], held["people_count"])

    def arrays(self, *wanted: str) -> dict[str, npt.NDArray[Any]]:
        """Return arrays of ``predictions.npz``: item, labels, probs, and those that were added."""
        path = self.path / PREDICTIONS
        if not path.exists():
            raise FileError(self.path, f"has no {PREDICTIONS}: the run is {self.state}")
        return load_arrays(path, "predictions of a run", wanted)

    def predict(self, inputs: npt.NDArray[Any], items: Sequence[str] | None = None) -> Predictions:
        """Return what the trained network predicts for other pictures or features; ``items`` are
        their names.  See ``train.predict.predict_with_run``."""
        from softlabel.train.predict import predict_with_run  # loads torch

        return predict_with_run(self, inputs, items)

    # ── writing ──────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def claim(self) -> Iterator[None]:
        """Keep other processes from working on this run; a claim ends with its process, however
        that ends.  Raise ``Busy`` if another process works on it already."""
        (self.path / RUNNING).touch()
        with (self.path / RUNNING).open("r+") as file:
            if not _lock(file, patience=0.2):
                raise Busy(f"{self.path}: {file.read().strip()} is working on this run")
            file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
            file.truncate()
            file.flush()
            (self.path / FAILED).unlink(missing_ok=True)
            with (self.path / ENVIRONMENT).open("a", encoding="utf-8") as about:
                about.write(identity.describe_environment())
            yield

    def finish(
        self,
        predictions: Predictions,
        scores: Mapping[str, Score],
        people: SoftLabels | None = None,
        more: Mapping[str, npt.NDArray[Any]] | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the predictions, the labels of ``people``, ``more`` arrays, and then the scores
        with ``facts``; remove the checkpoint."""
        if self.finished:
            raise SoftlabelError(f"{self.path}: is finished already; a run is finished once")
        index = predictions.index
        arrays = {"item": tables.as_texts(index.items), "labels": tables.as_texts(index.labels)}
        arrays |= {"probs": predictions.probs, **(more or {})}
        if people is not None:
            arrays |= {"people": people.probs, "people_count": people.count}
            arrays["people_item"] = tables.as_texts(people.index.items)
            # their own order of classes, which need not be that of the predictions
            arrays["people_labels"] = tables.as_texts(people.index.labels)
        with open_synced(self.path / PREDICTIONS) as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)
        table: dict[str, list[Any]] = {}
        for key, score in scores.items():  # infinity and NaN are text, which ``float`` reads again
            numbers = (float(x) for x in (score.value, score.low, score.high))
            table[key] = [*(x if math.isfinite(x) else str(x) for x in numbers), score.n]
        text = json.dumps({"scores": table, **(facts or {})}, allow_nan=False, indent=1)
        with open_synced(self.path / SCORES) as file:
            file.write(text.encode())
        for left in (CHECKPOINT, RUNNING, *(part.name for part in self.path.glob(".*.part"))):
            (self.path / left).unlink(missing_ok=True)

    def fail(self, reason: str) -> None:
        """Record why this attempt stopped; the next one resumes from the checkpoint."""
        with open_synced(self.path / FAILED) as file:
            file.write(f"{reason}\n".encode())


def write_readme(run: Run, command: str) -> None:
    """Write the page about a finished run: how it was made, what it holds, how to use it."""
    text = Path(__file__).with_name("run.md").read_text("utf-8")
    made = command or "a program called softlabel.train; see source.py and config.json"
    settings = [key for key in (*FIRST, "kind", "net", "epochs") if run.value(key) is not None]
    inputs = "pictures.npz" if run.value("kind") != "features" else "features.npz"
    if command.startswith("softlabel train "):
        inputs = run.value("images")
    filled = {
        "name": run.name,
        "path": json.dumps(str(run.path)),
        "inputs": json.dumps(inputs),
        "predict": shlex.join(["softlabel", "predict", str(run.path), inputs, "predictions.csv"]),
        "command": made,
        "settings": "\n".join(f"| {key} | {run.value(key)} |" for key in (*settings, "seed")),
        "classes": ", ".join(run.predictions.index.labels.tolist()),
        "scores": "\n".join(f"| {key} | {score} |" for key, score in run.scores.items()),
    }
    with open_synced(run.path / README) as file:
        file.write(Template(text).substitute(filled).encode())


def start(
    root: str | Path,
    config: Mapping[str, Any],
    labels: Mapping[str, npt.NDArray[Any]],
    seed: int,
    source: str,
) -> Run:
    """Return the run of this configuration, these labels, this seed and the present code: a new
    folder under ``root``, the one that an interrupted run left, or the finished one.

    ``source`` is the text of the recipe.  A run that other code made has another name, so it is
    neither resumed nor taken for this one.
    """
    config = {**config, CODE: identity.code_digest()}
    sha = identity.digest(labels)
    text = as_json(config)
    run = Run(Path(root) / identity.run_name(config, sha, seed))
    if run.path.exists():
        if as_json({**run.config, NAMED: None}) != as_json({**config, NAMED: None}):
            reason = f"{CONFIG} was edited, and is not of this run; remove the folder"
            raise FileError(run.path, reason)
        return run
    part = run.path.with_name(f".{run.name}.{uuid4().hex}.part")
    for left in run.path.parent.glob(f".{run.name}.*.part"):  # of a process that was killed here
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > LONG:
                shutil.rmtree(left, ignore_errors=True)
    try:
        part.mkdir(parents=True)
        contents = {CONFIG: text, SEED: f"{seed}\n", SOURCE: source, LABELS: f"{sha}\n"}
        for name, content in contents.items():
            (part / name).write_text(content, "utf-8")
        part.rename(run.path)
    except OSError:
        if not run.path.exists():  # else another process was quicker
            raise
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return run


@contextmanager
def open_synced(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing that is either whole or as it was before, also after a power cut."""
    with write_atomically(path) as part, part.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


# ── finding ───────────────────────────────────────────────────────────────────────────────────


def list_runs(root: str | Path) -> Iterator[Run]:
    """Yield every run folder in ``root``, finished or not, by name."""
    root = Path(root)
    if not root.is_dir():
        reason = "is a file, not a folder" if root.exists() else "there is no such folder"
        raise FileError(root, f"{reason} of runs")
    yield from (Run(path.parent) for path in sorted(root.glob(f"[!.]*/{CONFIG}")))


def find(root: str | Path, **where: Any) -> list[Run]:
    """Return the finished runs with these settings: ``find("runs", deliver="sls", lr=0.1)``.

    They come in groups of one configuration, and by seed within them.
    """
    runs = [run for run in list_runs(root) if run.finished]
    for key, value in where.items():
        known = {key for run in runs for key in settings_of(run)}
        if runs and key not in known:
            raise UnknownName("setting of these runs", key, known)
        runs = [run for run in runs if run.value(key) == value]

    def order(run: Run) -> tuple[str, int]:
        settings = sorted(settings_of(run) - {"seed"})
        return str([(key, run.value(key)) for key in settings]), run.seed

    return sorted(runs, key=order)


def group(
    runs: Iterable[Run], by: str | Sequence[str], *, named: bool = False
) -> dict[str, list[Run]]:
    """Group runs by one setting or several, in the order of first appearance.

    A group is called by its values (``sls, 0.1``) or, if ``named``, by settings and values
    (``deliver=sls, lr=0.1``).
    """
    keys = [by] if isinstance(by, str) else list(by)
    groups: dict[str, list[Run]] = {}
    for run in runs:
        known = settings_of(run)
        for key in keys:
            if key not in known:
                raise UnknownName(f"setting of run {run.name}", key, known)
        values = (f"{key}={run.value(key)}" if named else str(run.value(key)) for key in keys)
        groups.setdefault(", ".join(values), []).append(run)
    return groups


def find_differences(runs: Sequence[Run]) -> list[str]:
    """Return the fewest settings, besides the seed, that tell these runs apart."""
    kept: list[str] = []
    parts = 1
    for key in list_values(runs):
        finer = len({tuple(str(run.value(name)) for name in (*kept, key)) for run in runs})
        if finer > parts:
            kept.append(key)
            parts = finer
    return kept


def list_values(runs: Sequence[Run]) -> dict[str, list[str]]:
    """Return the values of every setting, besides the seed, in which these runs differ.

    The settings that readers know come first, and the digest of the code last.
    """
    known = {key for run in runs for key in settings_of(run)} - {"seed"}
    keys = (*FIRST, *sorted(known - {*FIRST, CODE}), CODE)
    values = {key: list(dict.fromkeys(str(run.value(key)) for run in runs)) for key in keys}
    return {key: each for key, each in values.items() if len(each) > 1}


def describe_differences(runs: Sequence[Run], keys: Sequence[str]) -> str:
    """Return the settings besides ``keys`` in which these runs differ, such as "epochs (5, 6)"."""
    rest = {key: each for key, each in list_values(runs).items() if key not in (*keys, PEOPLE)}
    return ", ".join(
        key if key.endswith("_sha") else f"{key} ({', '.join(each)})" for key, each in rest.items()
    )


def settings_of(run: Run) -> set[str]:
    """Return the names of every setting of a run."""
    return {*run.config.get(NAMED, {}), *run.config, *OWN} - {NAMED}


# ── runs of other code ───────────────────────────────────────────────────────────────────────


def stale_runs(runs: Iterable[Run]) -> list[Run]:
    """Return the runs that were made with other training code than the present one."""
    return [run for run in runs if run.code != identity.code_digest()]


def describe_stale(runs: Sequence[Run]) -> str:
    """Return a note such as "3 of 12 runs were made with other code"; "" if there is none."""
    count = len(stale_runs(runs))
    if not count:
        return ""
    return f"{count} of {len(runs)} runs {'was' if count == 1 else 'were'} made with other code"


def replaced_runs(runs: Iterable[Run]) -> list[Run]:
    """Return the runs beside these that differ from one of them in the code alone.

    What other code made is neither resumed nor reported as if it had been made now.
    """

    def key(run: Run) -> tuple[Path, str]:
        settings = {key: value for key, value in run.config.items() if key != CODE}
        return run.path.parent, identity.run_name(settings, run.labels, run.seed)

    codes = {key(run): run.code for run in runs}
    others = []
    for root in {root for root, _ in codes}:
        for run in list_runs(root):
            with suppress(FileError):  # a damaged folder is none of ours
                if codes.get(key(run), run.code) != run.code:
                    others.append(run)
    return others


# ── files ─────────────────────────────────────────────────────────────────────────────────────


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


if sys.platform == "win32":  # files cannot be deleted there while they are open: lock enough

    def _lock(file: Any, patience: float = 0) -> bool:
        return True

    def _is_locked(path: Path) -> bool:
        return False

else:
    import fcntl

    def _lock(file: Any, patience: float = 0) -> bool:
        """Take the lock of an open file, which the system releases when the process ends; those who
        only look hold it for a moment, so a little patience pays."""
        until = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if time.monotonic() >= until:
                    return False
                time.sleep(0.01)

    def _is_locked(path: Path) -> bool:
        """Return True while some process holds the lock of this file."""
        try:
            with path.open("rb") as file:
                return not _lock(file)
        except FileNotFoundError:
            return False
