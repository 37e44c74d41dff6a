"""Which database a study's answers are in: remembered, so that no other one is taken for it.

``secret.json`` keeps the id of each database that the study was served with, by its place.  The
database keeps a mark of the key that made its pseudonyms.  Rehearsals have databases of their own.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from softlabel import store as stores
from softlabel.errors import StoreError
from softlabel.serve.secret import FOLDER, NAME, Secret, folder_of, read_secret, remember_database
from softlabel.store import Contents, Store

DATABASE, REHEARSAL = "answers.db", "rehearsal.db"
MARKED = "secret"  # the event that says which key a study's pseudonyms are made with
RESTORE = (
    "put it back or restore a backup (softlabel restore), or begin anew with softlabel serve "
    "--new-database"
)


@dataclass(frozen=True)
class Choice:
    """Which database to serve a study with.

    ``new_database`` allows one that is not the study's, ``new_secret`` one whose people came by
    another key.
    """

    db: str | None = None
    rehearsal: bool = False
    new_database: bool = False
    new_secret: bool = False


def place_of(folder: Path, db: str | None, *, rehearsal: bool = False) -> str | Path:
    """The database that was named, or the study's own file."""
    return db if db is not None else folder / FOLDER / (REHEARSAL if rehearsal else DATABASE)


def open_known(folder: Path, study: str, choice: Choice) -> Store:
    """The database that the study was served with before, or a new one if it never was."""
    place = place_of(folder, choice.db, rehearsal=choice.rehearsal)
    known = _secret(folder)
    expected = None if known is None else known.databases.get(_key(folder, place))
    if expected is not None and not choice.new_database and not choice.rehearsal:
        _expect(folder, place, expected)
    folder_of(folder)
    store = stores.open(place, rehearsal=choice.rehearsal)
    try:
        if not choice.new_secret:
            _refuse_other_secret(folder, study, store, known)
    except StoreError:
        store.close()
        raise
    return store


@contextmanager
def opened(folder: Path, study: str, choice: Choice) -> Iterator[Store]:
    """A sound database that people, or simulated people, may be let into."""
    with open_known(folder, study, choice) as store:
        store.check()
        _refuse_mixing(store, choice.rehearsal)
        yield store


def remember(folder: Path, study: str, store: Store, secret: Secret, now: float) -> None:
    """Write down which database and which secret belong together, on both sides."""
    if not store.rehearsal:  # those may be deleted at any time
        remember_database(folder, _key(folder, store.name), store.id)
    mark = _mark(store, secret)
    if _last_mark(store, study) != mark:
        store.event(study, None, MARKED, {"mark": mark}, now).result()


def restore(
    folder: Path, db: str | None, file: Path, *, new_database: bool = False
) -> tuple[Contents, Path | None]:
    """Put a backup of the study's database in its place, and expect it there from now on."""
    place, known = place_of(folder, db), _secret(folder)
    key = _key(folder, place)
    expected = None if known is None else known.databases.get(key)
    if expected is not None and not new_database:
        found = stores.contents(file).id
        if found not in (expected, None):
            raise StoreError(
                f"{file} is a backup of database {found}, but {folder / FOLDER / NAME} says that "
                f"the answers are in database {expected}; name a backup of that one, or say "
                "--new-database to go on with another"
            )
    folder_of(folder)
    restored, kept = stores.restore(place, file)
    if known is not None:
        remember_database(folder, key, restored.id)
    return restored, kept


def remarks(store: Store) -> Iterator[str]:
    """What whoever starts a server should know about its database."""
    path = Path(store.name)
    if "://" not in store.name and stat.S_IMODE(path.stat().st_mode) & 0o077:
        yield (
            f"warning: other users of this machine can open {path}, which holds what people said; "
            f"close it with: chmod 600 {path}*"
        )
    if store.rehearsal:
        yield f"rehearsal: everybody counts as simulated; answers go to {store.name}"


def _key(folder: Path, place: str | Path) -> str:
    """A place as ``secret.json`` names it: inside the folder the folder's own name is left out, so
    that it can be moved."""
    name = stores.name_of(place)
    home = f"{folder.absolute()}/"
    return name.removeprefix(home)


def _secret(folder: Path) -> Secret | None:
    path = folder / FOLDER / NAME
    return read_secret(path) if path.exists() else None


def _expect(folder: Path, place: str | Path, expected: str) -> None:
    """Look without changing anything whether this is the database that it should be."""
    says = f"{folder / FOLDER / NAME} says that the answers are in database {expected}"
    try:
        with stores.open(place, read_only=True) as found:
            other = found.id
    except StoreError as error:
        raise StoreError(f"{says}, but {error}; {RESTORE}") from None
    if other != expected:
        raise StoreError(f"{says}, but {stores.name_of(place)} is database {other}; {RESTORE}")


def _refuse_mixing(store: Store, rehearsal: bool) -> None:
    crowd = store.crowd()
    if rehearsal and crowd.people:
        raise StoreError(
            f"{store.name} holds {crowd.answers_of_people:,} answers of {crowd.people:,} people; "
            "simulated people may not be mixed with them: rehearse in another database, "
            "for instance --db rehearsal.db"
        )
    if not rehearsal and crowd.simulated:
        raise StoreError(
            f"{store.name} holds {crowd.answers_of_simulated:,} answers of {crowd.simulated:,} "
            "simulated people; people may not be mixed with them: use another database "
            "(--db), or let everybody who enters count as simulated (--rehearsal)"
        )


def _refuse_other_secret(folder: Path, study: str, store: Store, known: Secret | None) -> None:
    """A new key would silently give everybody a new pseudonym."""
    last = _last_mark(store, study)
    lost = known is None and bool(store.crowd(study).people)
    if lost or (known is not None and last is not None and last != _mark(store, known)):
        path = folder / FOLDER / NAME
        why = "is missing" if known is None else "is not the one"
        raise StoreError(
            f"{path} {why}: the pseudonyms in {store.name} were made with another; restore that "
            "from a backup, or go on with softlabel serve --new-secret, which takes people who "
            "come back for new ones"
        )


def _last_mark(store: Store, study: str) -> object:
    found = None
    for event in store.events(study, MARKED):
        found = event.detail.get("mark")
    return found


def _mark(store: Store, secret: Secret) -> str:
    return secret.sign(f"database:{store.id}")[:16]
