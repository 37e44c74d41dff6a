"""Ask a model about the items of a study, and keep every reply as it came.

The log is ``judges/NAME.jsonl`` in the study folder: a head, then one line per request, written to
the disk before the next is counted.  It is only appended to.  Asking goes on where the log ends:
what was answered is not asked again.  Another prompt has another log.
"""

import json
import os
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BufferedRandom
from itertools import count
from pathlib import Path
from typing import Any

from softlabel import io
from softlabel._util.progress import Progress, silent
from softlabel.errors import FileError, SoftlabelError
from softlabel.judges.endpoint import Answerer, Command, Endpoint, Failed, Said, wrap
from softlabel.judges.prompt import Asked, Prompt, make_codes
from softlabel.records import JUDGED, JUDGES, dump_json, format_time
from softlabel.study import Item, Study

SAMPLES = 5
PATIENCE = 5  # requests that may fail one after the other
TOKEN, PICTURE, REPLY = 4, 800, 8  # characters per token; tokens of a picture, and of a reply
MILLION = 1e6
DONE = ("logprobs", "stated")  # an answer that is a whole distribution


@dataclass(frozen=True)
class Prices:
    """What a million tokens cost, read and written; None: not known."""

    read: float | None = None
    written: float | None = None

    def bill(self, read: float, written: float) -> float | None:
        """Return what so many tokens cost."""
        if self.read is None and self.written is None:
            return None
        return (read * (self.read or 0) + written * (self.written or 0)) / MILLION


@dataclass(frozen=True)
class Estimate:
    """What is left to ask: at least one request per item, and at most all samples of each."""

    items: int
    requests: tuple[int, int]
    tokens: tuple[int, int]  # read and written by one round over all items
    done: int  # items that are answered already


@dataclass
class Bill:
    """What asking brought."""

    log: Path
    items: int = 0
    requests: int = 0
    unreadable: int = 0
    failed: dict[str, str] = field(default_factory=dict)  # by item: why
    tokens: tuple[int, int] = (0, 0)
    seconds: float = 0.0
    ways: Counter[str] = field(default_factory=Counter)

    def add(self, said: Said) -> None:
        """Count one reply."""
        self.requests += 1
        self.tokens = (self.tokens[0] + said.tokens[0], self.tokens[1] + said.tokens[1])
        self.seconds += said.seconds
        if said.chances is None:
            self.unreadable += 1
        else:
            self.ways[said.how] += 1


# ── the log ──────────────────────────────────────────────────────────────────────────────────


class Log:
    """An open log: what it holds, and lines to come."""

    def __init__(self, path: Path, file: BufferedRandom, lines: Sequence[Mapping[str, Any]]):
        self.path, self._file, self._lock = path, file, threading.Lock()
        self.asked: dict[str, dict[int, str]] = {}  # item: sample: how it was answered
        self.digests: dict[str, str] = {}  # item: the hash of what was shown
        for line in lines:
            self.note(line)

    def note(self, line: Mapping[str, Any]) -> None:
        how = line["how"] if line["chances"] is not None else "unreadable"
        self.asked.setdefault(line["item"], {})[line["sample"]] = how
        self.digests[line["item"]] = line["shown"]

    def list_missing(self, item: Item, samples: int) -> list[int]:
        """Return the samples of an item that are still to be asked for."""
        asked = self.asked.get(item.id, {})
        if asked and self.digests[item.id] != item.digest:
            raise FileError(
                self.path,
                f"item {item.id!r} shows something else than when the model was asked; give what "
                "is new another id",
            )
        if any(how in DONE for how in asked.values()):
            return []
        return [sample for sample in range(1, samples + 1) if sample not in asked]

    def append(self, line: Mapping[str, Any]) -> None:
        """Write a line; return when the disk has it."""
        with self._lock:
            self._file.write(json.dumps(line).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
            self.note(line)


def find_log(prompt: Prompt, name: str) -> tuple[Path, str]:
    """Return the log of a model, and the name that it has there: that of the first log with the
    same prompt, or of a new one (NAME, NAME-2, ...)."""
    folder = prompt.study.folder / JUDGES
    plain = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "model"
    for number in count(1):
        own = name if number == 1 else f"{name}-{number}"
        path = folder / f"{plain if number == 1 else f'{plain}-{number}'}.jsonl"
        head = read_head(path)
        if head is None or (head.get("model") == name and head.get("prompt") == prompt.digest):
            return path, own
    raise AssertionError("numbers do not end")


def read_head(path: Path) -> dict[str, Any] | None:
    """Return the head of a log; None if there is no log, or not even a whole head."""
    if not path.exists():
        return None
    with path.open("rb") as file:
        line = file.readline()
    if not line.endswith(b"\n"):
        return None
    try:
        head = json.loads(line)
    except ValueError:
        head = None
    if not isinstance(head, dict) or head.get("schema") != JUDGED:
        raise FileError(path, f"is no log of softlabel judge: its schema is not {JUDGED}", line=1)
    return head


def read_log(path: Path) -> list[dict[str, Any]]:
    """Return the lines after the head."""
    if read_head(path) is None:
        return []
    rows = []
    for line, row in io.read_lines(path)[1:]:
        for key in ("item", "sample", "shown", "chances", "how"):
            if key not in row:
                raise FileError(path, "this key is missing", line=line, column=key)
        rows.append(row)
    return rows


@contextmanager
def open_log(path: Path, head: Mapping[str, Any]) -> Iterator[Log]:
    """Open a log to append to it, alone; a last line that was not finished is removed first."""
    path.parent.mkdir(exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "r+b") as file:
        _lock(path, file)
        data = file.read()
        whole = data.rfind(b"\n") + 1
        file.truncate(whole)
        file.seek(whole)
        lines = read_log(path)
        log = Log(path, file, lines)
        if not whole:
            file.write(json.dumps(head).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        yield log


if sys.platform == "win32":

    def _lock(path: Path, file: BufferedRandom) -> None:
        """Files have no such locks there."""

else:
    import fcntl

    def _lock(path: Path, file: BufferedRandom) -> None:
        """Take the lock of an open file, which the system releases when the process ends."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            reason = "another softlabel judge writes to it; wait for its end"
            raise FileError(path, reason) from None


# ── asking ───────────────────────────────────────────────────────────────────────────────────


def estimate(
    study: Study,
    name: str,
    *,
    prompt: Prompt | None = None,
    samples: int = SAMPLES,
    limit: int | None = None,
) -> Estimate:
    """Return what is left to ask, and how many tokens it is likely to take."""
    prompt = prompt or Prompt(study)
    path, _ = find_log(prompt, name)
    log = Log(path, None, read_log(path))  # type: ignore[arg-type]  # nothing is written
    items = study.items[:limit]
    left = [(item, log.list_missing(item, samples)) for item in items]
    left = [(item, missing) for item, missing in left if missing]
    codes, _ = make_codes(study.labels)
    read = 0
    for item, _ in left:
        prompt.refuse(item)
        read += len(prompt.write(item, codes)) // TOKEN + PICTURE * len(item.media)
    most = sum(len(missing) for _, missing in left)
    return Estimate(len(left), (len(left), most), (read, REPLY * len(left)), len(items) - len(left))


def ask(  # noqa: PLR0913  one parameter for each thing to say, most of them optional
    study: Study,
    answer: Endpoint | Command | Callable[[dict[str, Any]], Any],
    name: str,
    *,
    prompt: Prompt | None = None,
    samples: int = SAMPLES,
    limit: int | None = None,
    concurrency: int = 1,
    progress: Progress = silent,
) -> Bill:
    """Ask about every item of a study that is not answered yet, and keep the replies in its folder.

    ``answer`` is an ``Endpoint``, a ``Command``, or a function from what is asked (a dict with
    ``item``, ``labels``, ``messages``) to a label or ``{"chances": {label: chance}}``.  An answer
    that is a distribution is asked for once, and a label ``samples`` times.
    """
    prompt = prompt or Prompt(study)
    path, own = find_log(prompt, name)
    asked = {"of": getattr(answer, "address", "a function"), "samples": samples}
    head = {
        **{"schema": JUDGED, "name": own, "model": name, "study": study.name},
        **{"prompt": prompt.digest, **prompt.describe(), "asked": asked},
        "time": format_time(time.time()),
    }
    bill = Bill(path)
    with open_log(path, head) as log:
        run = Run(prompt, _to_answerer(answer), log, bill, samples)
        run.ask_all(study.items[:limit], concurrency, progress)
    return bill


@dataclass
class Run:
    """One run over the items; several threads ask at the same time."""

    prompt: Prompt
    answer: Answerer
    log: Log
    bill: Bill
    samples: int
    stopped: bool = False

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._failures = 0  # in a row

    def ask_all(self, items: Sequence[Item], concurrency: int, progress: Progress) -> None:
        """Ask about all items that are not answered yet."""
        left = [item for item in items if self.log.list_missing(item, self.samples)]
        total, name = len(left), self.log.path.stem
        with ThreadPoolExecutor(concurrency) as pool:
            try:
                queue, waiting = iter(left), set[Future[None]]()
                for done in count():
                    progress(f"asking {name}: {done:,} of {total:,} items", done, total)
                    while len(waiting) < concurrency and (item := next(queue, None)):
                        waiting.add(pool.submit(self._ask_item, item))
                    if not waiting:
                        return
                    ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    one, *others = ready
                    waiting |= set(others)  # each is counted in a round of its own
                    one.result()
            except BaseException:  # also Ctrl-C
                self.stopped = True
                if isinstance(self.answer, Endpoint):
                    self.answer.stop()
                raise

    def _ask_item(self, item: Item) -> None:
        """Ask about one item until its answer is whole."""
        while not self.stopped:
            missing = self.log.list_missing(item, self.samples)
            if not missing:
                self._count_item()
                return
            asked = self.prompt.ask(item, missing[0])
            try:
                said = self.answer(asked)
            except Failed as error:
                self._count_failure(item, error)
                return
            self.log.append(_describe(item, asked, said))
            with self._lock:
                self._failures = 0
                self.bill.add(said)

    def _count_item(self) -> None:
        with self._lock:
            self.bill.items += 1

    def _count_failure(self, item: Item, error: Failed) -> None:
        with self._lock:
            self.bill.failed[item.id] = str(error)
            self._failures += 1
            if self._failures >= PATIENCE and not self.stopped:
                self.stopped = True
                raise SoftlabelError(
                    f"stopped after {self._failures} failures in a row; what was answered is kept "
                    f"in {self.log.path}, and the same command goes on there; the last one: {error}"
                )


def _to_answerer(answer: Endpoint | Command | Callable[[dict[str, Any]], Any]) -> Answerer:
    return answer if isinstance(answer, Endpoint | Command) else wrap(answer)


def _describe(item: Item, asked: Asked, said: Said) -> dict[str, Any]:
    """Return the line of the log for one request."""
    return {
        "item": item.id,
        "sample": asked.sample,
        "seed": asked.seed,
        "codes": dict(asked.codes),
        "shown": item.digest,
        "prompt": asked.digest,
        "chances": said.chances,
        "how": said.how,
        "raw": _plain(said.raw),
        "tokens": list(said.tokens),
        "seconds": said.seconds,
        "tries": said.tries,
        "given_up": list(said.given_up),
        "time": format_time(time.time()),
    }


def _plain(raw: Any) -> Any:
    """Return what JSON can hold of a reply: as it is, or as text."""
    try:
        json.loads(dump_json(raw))
    except (TypeError, ValueError):
        return repr(raw)
    return raw
