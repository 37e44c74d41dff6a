"""What can go wrong, and whose mistake it was."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from reprlib import Repr


class SoftlabelError(Exception):
    """Something the user can mend; its text names the value and says what would be right."""


class DataError(SoftlabelError):
    """A table broke its rule: first row, rule, how many of how many."""


class FileError(DataError):
    """A file that cannot be read as what it should be: path, line, column, value, reason."""

    def __init__(
        self,
        path: str | Path,
        reason: str,
        *,
        line: int | None = None,
        column: str | None = None,
        value: object = None,
    ) -> None:
        self.path, self.reason = Path(path), reason
        self.line, self.column, self.value = line, column, value
        place = "" if line is None else f", line {line}"
        for what, shown in (("column", column), ("value", value)):
            place += "" if shown is None else f", {what} {shown!r}"
        super().__init__(f"{path}{place}: {reason}")


@dataclass(frozen=True)
class Problem:
    """One mistake in a study folder: where it is, what stands there, what would be right."""

    file: str
    key: str
    value: object
    reason: str

    def __str__(self) -> str:
        key = f", {self.key}" if self.key else ""
        value = str(self.value).lower() if isinstance(self.value, bool) else repr(self.value)
        shown = f" = {value}" if self.value is not None else ""
        return f"{self.file}{key}{shown}: {self.reason}"


class StudyError(SoftlabelError):
    """A study folder that cannot be used: every mistake in it, one per line."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class StoreError(SoftlabelError):
    """The store could not do what was asked, and changed nothing."""


class Absent(StoreError):
    """The store was asked about something that is not in it: ``what`` is its kind."""

    def __init__(self, what: str, message: str) -> None:
        self.what = what
        super().__init__(message)


class ItemChanged(StoreError):
    """An item that people have seen is another one now: ``item`` is its id."""

    def __init__(self, item: str) -> None:
        self.item = item
        super().__init__(
            f"item {item!r} was shown to people, and what it shows has changed since; give what is "
            "new another id, or restore what was shown"
        )


class Conflict(StoreError):
    """An answer that cannot stand beside one that is stored: ``reason`` says which rule."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)


class EstimandWarning(UserWarning):
    """The entropy of a label that estimates one thing was read as that of another."""


class LeftOutWarning(UserWarning):
    """Rows without an item, an annotator or a label were left out, as the caller wished."""


class MissingExtra(SoftlabelError, ImportError):
    """A part of the package whose libraries are not installed; the text says what to type."""

    def __init__(self, doing: str, extra: str) -> None:
        super().__init__(
            f"{doing} needs more packages than are installed: in a copy of the repository "
            f"pip install '.[{extra}]', elsewhere pip install 'softlabel[{extra}]'"
        )


# a browser may send anything: megabytes, or lists in lists that repr() would be lost in
_BRIEF = Repr()
_BRIEF.maxlist = _BRIEF.maxdict = 12
_BRIEF.maxstring = _BRIEF.maxother = 80


class ResponseError(SoftlabelError):
    """An answer that cannot be read: which field, and why."""

    def __init__(self, field: str, value: object, reason: str) -> None:
        self.field, self.value, self.reason = field, value, reason
        super().__init__(f"{field} = {_BRIEF.repr(value)}: {reason}")


class UnknownName(SoftlabelError):
    """A name nobody registered; the text lists what exists and the nearest spelling."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        self.name, self.known = name, sorted(known)
        hint = nearest(name, self.known)
        comma = "; " if any("," in one for one in self.known) else ", "
        super().__init__(f"no {what} called {name!r}{hint}; there are: {comma.join(self.known)}")


class UnknownId(SoftlabelError, KeyError):
    """An item, annotator or label that a table does not have, by the id that was asked for."""

    def __init__(self, axis: str, name: object, known: Sequence[object]) -> None:
        twin = next((one for one in known if str(one) == str(name)), None)
        hint = f"; there is {twin!r} ({type(twin).__name__})" if twin is not None else ""
        if not hint and isinstance(name, str):
            hint = nearest(name, [one for one in known if isinstance(one, str)])
        shown = ", ".join(map(repr, known[:5])) + (", …" if len(known) > 5 else "")
        self.text = f"no {axis.removesuffix('s')} {name!r}{hint}; the {axis} are {shown}"
        super().__init__(self.text)

    def __str__(self) -> str:  # a KeyError would show the text in quotes
        return self.text


def nearest(name: str, known: Iterable[str]) -> str:
    """The clause that offers the nearest right spelling, or nothing."""
    close = get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" (did you mean {close[0]!r}?)" if close else ""
