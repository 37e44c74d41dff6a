"""What every reader of a study folder uses: a list of mistakes, and safe reading of files."""

import json
import os
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from softlabel.errors import Problem, nearest

FILE = "study.toml"
PRIVATE = ".softlabel"  # the folder of answers and secrets
LISTED = 20  # mistakes of one kind that are listed one by one; the rest of them are counted
Kind = tuple[str, str, str]  # of mistake: file, key and reason
COMPARED = 20_000  # names that are compared, per kind of mistake, to find the nearest spelling


class Findings:
    """The mistakes and notes about a study folder; readers add to it and do not stop."""

    def __init__(self) -> None:
        self.notes: list[Problem] = []
        self._problems: list[Problem | Kind] = []
        # of each kind of mistake, the right spellings, and first place, value and count by repr
        self._kinds: dict[Kind, tuple[list[str], dict[str, tuple[str, object, int]]]] = {}
        self._count = 0

    def __len__(self) -> int:
        """The number of mistakes; cheap, unlike the list of them."""
        return self._count

    def add(self, file: str, key: str, value: object, reason: str) -> None:
        self._count += 1
        self._problems.append(_problem(file, key, value, reason))

    def add_note(self, file: str, key: str, value: object, reason: str) -> None:
        """Add something that is allowed but may be a mistake."""
        self.notes.append(_problem(file, key, value, reason))

    def add_line(
        self, file: str, place: str, key: str, value: object, reason: str, known: Iterable[str] = ()
    ) -> None:
        """Add a mistake in one of many lines (``known``: the right spellings).  The same mistake in
        a thousand lines is listed once per value, and after twenty values the rest are counted."""
        self._count += 1
        kind = (file, key, reason)
        if kind not in self._kinds:
            self._kinds[kind] = (list(known), {})
            self._problems.append(kind)
        _, lines = self._kinds[kind]
        first, _, count = lines.get(repr(value), (place, value, 0))
        lines[repr(value)] = (first, value, count + 1)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All mistakes, in the order in which they were found."""
        problems: list[Problem] = []
        for entry in self._problems:
            if isinstance(entry, Problem):
                problems.append(entry)
                continue
            file, column, reason = entry
            known, lines = self._kinds[entry]
            hinted = max(1, COMPARED // max(1, len(known)))
            for number, (place, value, count) in enumerate(islice(lines.values(), LISTED)):
                hint = nearest(str(value), known) if number < hinted and value is not None else ""
                more = f" (and {count - 1} more lines)" if count > 1 else ""
                text = f"{reason}{hint}{more}"
                problems.append(_problem(file, f"{place}, {column}", value, text))
            left = sum(count for _, _, count in islice(lines.values(), LISTED, None))
            if left:
                problems.append(_problem(file, column, None, f"{left} more lines: {reason}"))
        return tuple(problems)


def _problem(file: str, key: str, value: object, reason: str) -> Problem:
    """Make a problem on one line, with unprintable characters escaped."""
    file, key, reason = (
        "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
        for text in (file, key, reason)
    )
    return Problem(file, key, value, reason)


class Refused(Exception):
    """A file that cannot be used; the text says why."""


class Missing(Refused):
    """A file that does not exist."""


def find(folder: Path, name: str, base: Path | None = None) -> Path:
    """Return the file or folder called ``name``, relative to ``base``, inside ``folder``."""
    base = folder if base is None else base
    if not name or "\0" in name or "\\" in name:
        raise Refused("is not the name of a file; separate folders by /")
    if Path(name).is_absolute():
        raise Refused("must be a path inside the study folder, not an absolute path")
    try:
        home, path = folder.resolve(), (base / name).resolve()
        exists = path.exists()
    except (OSError, RuntimeError) as error:  # too long a name; links in a circle
        raise Refused(f"cannot be looked up ({type(error).__name__})") from error
    if not path.is_relative_to(home):
        raise Refused("leads out of the study folder; copy the file into it")
    if PRIVATE in path.relative_to(home).parts:
        raise Refused(f"lies in {PRIVATE}, where answers and secrets are kept")
    if not exists:
        raise Missing("no such file")
    return path


def find_named(folder: Path, name: str) -> Path:
    """Find a file that ``study.toml`` names; a missing one gets the nearest spelling."""
    try:
        return find(folder, name)
    except Missing as error:
        raise Refused(f"{error}{nearest(name, list_siblings(folder, name))}") from error


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file, with any kind of line ends."""
    require_file(path)
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(f"is not UTF-8 text (byte {error.start})") from error
    except OSError as error:
        raise Refused(f"cannot be read: {error.strerror}") from error


def require_file(path: Path) -> None:
    if not path.is_file():
        raise Refused("is a folder, but a file is needed" if path.is_dir() else "is not a file")


def list_siblings(base: Path, name: str) -> Iterator[str]:
    """Yield what is in the folder where ``name`` should be, written in the same way."""
    beside = Path(name).parent
    try:
        names = sorted(os.listdir(base / beside))
    except OSError:
        return
    yield from ((beside / other).as_posix() for other in names if not other.startswith("."))


def find_name_fault(name: str) -> str | None:
    """Return why a text cannot be the name of a label or an item, or None if it can."""
    if not name.strip():
        return "is empty"
    if name != name.strip():
        return "begins or ends with a space"
    if len(name) > 200:
        return "is longer than 200 characters"
    return "contains a control character" if has_control(name) else None


def has_control(text: str, allowed: str = "") -> bool:
    """Return whether a text holds what no page can show: control characters, lone surrogates."""
    return any(unicodedata.category(c) in ("Cc", "Cs") and c not in allowed for c in text)


def is_text_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


def load_json(text: str) -> Any:
    """Parse JSON; refuse duplicate keys, NaN, endless nesting and lone surrogates."""

    def refuse_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            twice = next(key for key, count in counts.items() if count > 1)
            raise Refused(f"has the key {twice!r} twice in one object")
        return values

    def refuse_constant(name: str) -> Any:
        raise Refused(f"is not JSON: {name} is not a number")

    try:
        value = json.loads(text, object_pairs_hook=refuse_twice, parse_constant=refuse_constant)
        json.dumps(value, ensure_ascii=False).encode()
        return value
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise Refused(f"is not JSON: {error.msg} ({place})") from error
    except RecursionError as error:
        raise Refused("cannot be used: it is nested too deeply") from error
    except UnicodeEncodeError as error:
        raise Refused("cannot be used: it contains half of a surrogate pair") from error
    except ValueError as error:  # a number with thousands of digits
        raise Refused(f"cannot be used: {error}") from error
