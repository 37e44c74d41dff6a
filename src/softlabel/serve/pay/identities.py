"""Who is who: from the ids in a platform's list to the pseudonyms of a study, and back.

The database holds pseudonyms only, which are made from ids with the study's key.  Ids are read
from files of the researcher's and written to files of theirs, never to the database.
"""

import csv
import io
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from softlabel.errors import FileError, SoftlabelError, nearest
from softlabel.serve.secret import Secret
from softlabel.store import Store
from softlabel.study import MAX_ID_LENGTH, Study

NAMES = ("participant id", "prolific pid", "prolific id", "pid", "worker id", "id", "name")
ADDED = ("annotator", "stage", "answered")
# Columns of Prolific's export that are about a submission, not about a person.
ABOUT_SUBMISSION = frozenset(
    (
        *("submissionid", "participantid", "status", "customstudytncsacceptedat", "startedat"),
        *("completedat", "reviewedat", "archivedat", "timetaken", "completioncode"),
        "totalapprovals",
    )
)
UNKNOWN = frozenset(("dataexpired", "consentrevoked", "prefernottosay", "rathernotsay", ""))
AGE = "age"
AGE_BANDS = ("under 18", "18-24", "25-34", "35-44", "45-54", "55-64", "65 and over")
BAND_STARTS = (18, 25, 35, 45, 55, 65)
MAX_SIZE = 50_000_000  # bytes


@dataclass(frozen=True)
class Listing:
    """A table of texts."""

    path: Path
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def has(self, names: Iterable[str]) -> bool:
        """Return whether one of these columns exists, however it is spelt."""
        return not set(map(_simplify, names)).isdisjoint(map(_simplify, self.columns))

    def find(self, names: Sequence[str], meaning: str) -> int:
        """Return the number of the first of these columns that there is."""
        plain = [_simplify(column) for column in self.columns]
        for name in names:
            if _simplify(name) in plain:
                return plain.index(_simplify(name))
        found = ", ".join(map(repr, self.columns))
        hint = nearest(names[0], self.columns) if len(names) == 1 else ""
        raise FileError(self.path, f"no column with {meaning}{hint}; there are: {found}", line=1)

    def add(self, names: tuple[str, ...], cells: Mapping[int, tuple[object, ...]]) -> str:
        """Return the table as CSV with more columns; ``cells`` are their cells by row."""
        if taken := [name for name in names if name in self.columns]:
            reason = "is there already; rename it, so that nothing is overwritten"
            raise FileError(self.path, reason, line=1, column=taken[0])
        text = io.StringIO(newline="")
        table = csv.writer(text, lineterminator="\n")
        table.writerow([*self.columns, *names])
        blank = ("",) * len(names)
        table.writerows([*row, *cells.get(n, blank)] for n, row in enumerate(self.rows))
        return text.getvalue()


@dataclass(frozen=True)
class Identities:
    """The people of a platform's list: the pseudonym of each row that holds an id."""

    listing: Listing
    ids: Mapping[int, str]  # by row
    annotators: Mapping[int, str]

    @property
    def id_of(self) -> dict[str, str]:
        """The platform's id, by pseudonym."""
        return {annotator: self.ids[row] for row, annotator in self.annotators.items()}


def read_listing(path: Path) -> Listing:
    """Read a CSV file, separated by commas, semicolons or tabs."""
    if path.stat().st_size > MAX_SIZE:
        raise FileError(path, f"is larger than {MAX_SIZE // 1_000_000} MB; is it a list of people?")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(path, "is not UTF-8 text; save it as CSV in UTF-8") from None
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    rows, lines = list[tuple[str, ...]](), list[int]()
    for cells in reader:
        if any(cell.strip() for cell in cells):
            rows.append(tuple(cell.strip() for cell in cells))
            lines.append(reader.line_num)
    if not rows:
        raise FileError(path, "is empty; it needs a line with the names of columns")
    columns, width = rows[0], len(rows[0])
    for row, line in zip(rows, lines, strict=True):
        if len(row) != width:
            reason = f"has {len(row)} cells, and the first line has {width}"
            raise FileError(path, reason, line=line)
    return Listing(path, columns, tuple(rows[1:]))


def identify(study: Study, secret: Secret, path: Path, column: str | None = None) -> Identities:
    """Find the ids in a platform's list, and the pseudonyms that the study gives them.

    ``column`` names the column with the ids; by default it is one of the usual names.  A file
    without a header that holds nothing but ids is read, too.
    """
    kind, pattern = study.recruit.kind, study.recruit.id_pattern
    if kind == "open":
        raise SoftlabelError(
            f"study {study.name!r} is open: people came without ids, so there are none to map"
        )
    listing = read_listing(path)
    own = [study.recruit.id_param] if study.recruit.id_param else []
    names = [column] if column else [*own, *NAMES]
    first = listing.columns[0] if len(listing.columns) == 1 else ""
    if pattern and re.fullmatch(pattern, first) and not listing.has(names):
        listing = Listing(path, ("id",), (listing.columns, *listing.rows))
        names = ["id"]
    where = listing.find(names, "people's ids; name it with --column")
    ids = {
        n: row[where]
        for n, row in enumerate(listing.rows)
        if 0 < len(row[where]) <= MAX_ID_LENGTH
        and (pattern is None or re.fullmatch(pattern, row[where]))
    }
    if not ids:
        reason = f"no value looks like an id{f' ({pattern})' if pattern else ''}"
        raise FileError(path, reason, column=listing.columns[where])
    return Identities(listing, ids, {n: secret.pseudonym(kind, id) for n, id in ids.items()})


def add_pseudonyms(study: Study, store: Store, people: Identities) -> str:
    """Return the platform's list with the columns annotator, stage and answered; the last two are
    empty for people who did not come."""
    sessions = {session.annotator: session for session in store.sessions(study.name)}
    cells: dict[int, tuple[object, ...]] = {}
    for row, annotator in people.annotators.items():
        session = sessions.get(annotator)
        known = ("", "") if session is None else (session.stage, session.answered)
        cells[row] = (annotator, *known)
    return people.listing.add(ADDED, cells)


def describe_people(study: Study, store: Store, people: Identities) -> tuple[str, int]:
    """Return what the people of the study told the platform about themselves, as CSV with their
    pseudonyms and without ids, and of how many it is.

    An age is given as a band.  What the platform does not know any more, and what people did not
    want to say, is empty.
    """
    listing, ids = people.listing, set(people.ids.values())
    kept = [
        place
        for place, column in enumerate(listing.columns)
        if _simplify(column) not in ABOUT_SUBMISSION
        and not any(row[place] in ids for row in listing.rows)
    ]
    if not kept:
        raise FileError(listing.path, "has no column about people; ask the platform for some")
    known = {session.annotator for session in store.sessions(study.name)}
    told: dict[str, list[str]] = {}
    for row, annotator in people.annotators.items():
        if annotator not in known:
            continue
        cells = [_coarsen(listing, row, place) for place in kept]
        before = told.setdefault(annotator, cells)
        for at, (old, new) in enumerate(zip(before, cells, strict=True)):
            if old and new and old != new:
                reason = f"this person has {old!r} in another row; delete one of the two rows"
                raise FileError(listing.path, reason, column=listing.columns[kept[at]], value=new)
            before[at] = old or new
    text = io.StringIO(newline="")
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["annotator", *(listing.columns[place] for place in kept)])
    table.writerows([annotator, *told[annotator]] for annotator in sorted(told))
    return text.getvalue(), len(told)


def _coarsen(listing: Listing, row: int, place: int) -> str:
    """Return a cell about a person: empty if it is not known, a band if it is an age."""
    value, column = listing.rows[row][place], listing.columns[place]
    if _simplify(value) in UNKNOWN:
        return ""
    if _simplify(column) != AGE:
        return value
    if not value.isdecimal():
        reason = "must be an age in whole years, or DATA_EXPIRED"
        raise FileError(listing.path, reason, column=column, value=value)
    return AGE_BANDS[bisect_right(BAND_STARTS, int(value))]


def add_ids(people: Identities, path: Path) -> tuple[str, int]:
    """Return a table that has a column annotator with the column id; and how many rows have one."""
    listing, id_of = read_listing(path), people.id_of
    where = listing.find(["annotator"], "pseudonyms, annotator")
    cells = {n: (id_of[row[where]],) for n, row in enumerate(listing.rows) if row[where] in id_of}
    return listing.add(("id",), cells), len(cells)


def _simplify(name: str) -> str:
    return re.sub(r"[\W_]", "", name.lower())
