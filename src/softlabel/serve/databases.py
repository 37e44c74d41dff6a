"""Which database holds a study's answers: recorded, so that no other one is mistaken for it.

``secret.json`` keeps the id of each database that the study was served with, by its place.  The
database keeps a mark of the key that made its pseudonyms.  Rehearsals have databases of their own.
"""

import shlex
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from softlabel import registry
from softlabel import store as stores
from softlabel import study as studies
from softlabel.errors import ItemChanged, StoreError
from softlabel.serve import secret as secrets
from softlabel.serve.secret import FOLDER, NAME, Secret, make_private_folder, remember_database
from softlabel.store import Contents, ItemRow, Store
from softlabel.study import Compare, Study

DATABASE, REHEARSAL = "answers.db", "rehearsal.db"
MARKED = "secret"  # the event that records which key a study's pseudonyms are made with
RESTORE = (
    "put it back or restore a backup (softlabel restore), or begin anew with softlabel serve "
    "--new-database"
)


@dataclass(frozen=True)
class Choice:
    """Which database to serve a study with.  ``new_database`` allows one that is not the study's,
    ``new_secret`` one whose pseudonyms were made with another key."""

    db: str | None = None
    rehearsal: bool = False
    new_database: bool = False
    new_secret: bool = False


def place_of(folder: Path, db: str | None, *, rehearsal: bool = False) -> str | Path:
    """Return the database that was named, or the study's own file."""
    return db if db is not None else folder / FOLDER / (REHEARSAL if rehearsal else DATABASE)


def open_known(folder: Path, study: str, choice: Choice) -> Store:
    """Open the database that the study was served with before, or a new one if it never was."""
    place = place_of(folder, choice.db, rehearsal=choice.rehearsal)
    known, expected = _recorded(folder, place)
    if expected is not None and not choice.new_database and not choice.rehearsal:
        # check, without changing anything, that the expected database is at this place
        recorded = f"{folder / FOLDER / NAME}: the answers are in database {expected}"
        try:
            with stores.open(place, read_only=True) as store:
                id = store.id
        except StoreError as error:
            raise StoreError(f"{recorded}, but {error}; {RESTORE}") from None
        if id != expected:
            name = stores.display_name(place)
            raise StoreError(f"{recorded}, but {name} is database {id}; {RESTORE}")
    make_private_folder(folder)
    store = stores.open(place, rehearsal=choice.rehearsal)
    if choice.new_secret:
        return store
    try:  # a new key would silently give everybody a new pseudonym
        if known is None:
            why, lost = "is missing", bool(store.crowd(study).people)
        else:
            marks = (None, _mark(store, known))
            why, lost = "is not the one", _last_mark(store, study) not in marks
        if lost:
            raise StoreError(
                f"{folder / FOLDER / NAME} {why}: the pseudonyms in {store.name} were made with "
                "another; restore that from a backup, or go on with softlabel serve --new-secret, "
                "which treats people who come back as new ones"
            )
    except StoreError:
        store.close()
        raise
    return store


@contextmanager
def open_checked(folder: Path, study: str, choice: Choice) -> Iterator[Store]:
    """Open the database, check that it is sound, and refuse to mix people with simulated ones."""
    with open_known(folder, study, choice) as store:
        store.check()
        crowd = store.crowd()
        if choice.rehearsal and crowd.people:
            raise StoreError(
                f"{store.name} holds {crowd.answers_of_people:,} answers of {crowd.people:,} "
                "people; simulated people may not be mixed with them: rehearse in another "
                "database, for instance --db rehearsal.db"
            )
        if not choice.rehearsal and crowd.simulated:
            raise StoreError(
                f"{store.name} holds {crowd.answers_of_simulated:,} answers of "
                f"{crowd.simulated:,} simulated people; people may not be mixed with them: use "
                "another database (--db), or let everybody who enters count as simulated "
                "(--rehearsal)"
            )
        yield store


def open_to_read(folder: Path, db: str | None) -> Store:
    """Open the database that was named, or the study's own file, and change nothing in it."""
    place, rehearsed = place_of(folder, db), place_of(folder, None, rehearsal=True)
    if db is None and isinstance(place, Path) and folder.is_dir() and not place.exists():
        hint = f"nobody has taken part yet; {_serve(folder)} lets people in"
        if Path(rehearsed).exists():
            hint += f"; the answers of a rehearsal are in --db {shlex.quote(str(rehearsed))}"
        raise StoreError(f"there is no database at {place.absolute()}: {hint}")
    return stores.open(place, read_only=True)


def _serve(folder: Path) -> str:
    """Return the command that serves a study, as it is typed."""
    return f"softlabel serve {shlex.quote(str(folder))}"


@contextmanager
def open_with_key(folder: Path, db: str | None) -> Iterator[tuple[Study, Store, Secret]]:
    """Open a study, its database and its secret, and change nothing in them; refuse a secret that
    did not make the pseudonyms of the database."""
    study, path = studies.read(folder), folder / FOLDER / NAME
    if not path.exists():
        raise StoreError(
            f"there is no {path}, so nobody's pseudonym is known; restore it, or, if nobody has "
            f"taken part yet, begin with {_serve(folder)}"
        )
    secret = secrets.read_secret(path)
    with open_to_read(folder, db) as store:
        if _last_mark(store, study.name) not in (None, _mark(store, secret)):
            raise StoreError(
                f"{path} is not the one that the pseudonyms in {store.name} were made with; "
                "restore that from a backup"
            )
        yield study, store, secret


@contextmanager
def open_study(folder: Path, db: str | None) -> Iterator[tuple[Study, Store, Secret]]:
    """Open a study, its database, and the secret that belongs to it."""
    study = studies.read(folder)
    with open_known(folder, study.name, Choice(db)) as store:
        if store.study(study.name) is None:  # only the server may change a stored study
            put_study(study, store, time.time())
        secret = secrets.open_secret(folder)
        remember(folder, study.name, store, secret, time.time())
        yield study, store, secret


def put_study(study: Study, store: Store, now: float) -> None:
    """Store the items and the mode of a study; refuse changes to what people have seen already."""
    batch_of = {item: name for name, items in study.batches.items() for item in items}
    items = (*study.items, *study.practice, *study.checks)
    rows = [ItemRow(item.id, item.kind, batch_of.get(item.id), item.digest) for item in items]
    mode = {"name": study.mode.name, "version": study.mode.version}
    mode |= {"options": registry.settings(study.mode), "frame": study.frame}
    if study.compare is not None:
        mode |= {"compare": describe_comparison(study, study.compare)}
    fields = (study.name, study.toml, study.labels, rows, study.per_item, now, mode)
    try:
        store.put_study(*fields).result()
        most = None if study.allocate is None else study.allocate.most
        store.put_ranking(study.name, most).result()
    except ItemChanged as error:
        paths = (media.path.relative_to(study.folder) for media in study.find(error.item).media)
        if files := ", ".join(map(str, paths)):
            raise StoreError(f"{files}: {error}") from None
        raise


def describe_comparison(study: Study, compare: Compare) -> dict[str, Any]:
    """Return what must not change once people have answered: who is asked in which way."""
    arms = [
        {"name": arm.name, "mode": arm.mode_text, "question": arm.question} for arm in compare.arms
    ]
    return {"arms": arms, "weights": list(compare.weights), "by": compare.by, "seed": study.seed}


def remember(folder: Path, study: str, store: Store, secret: Secret, now: float) -> None:
    """Record, on both sides, which database and which secret belong together."""
    if not store.rehearsal:  # those may be deleted at any time
        remember_database(folder, _key(folder, store.name), store.id)
    mark = _mark(store, secret)
    if _last_mark(store, study) != mark:
        store.event(study, None, MARKED, {"mark": mark}, now).result()


def restore(
    folder: Path, db: str | None, file: Path, *, new_database: bool = False
) -> tuple[Contents, Path | None]:
    """Replace the study's database by a backup, and expect that one from now on."""
    place = place_of(folder, db)
    known, expected = _recorded(folder, place)
    if expected is not None and not new_database:
        id = stores.read_contents(file).id
        if id not in (expected, None):
            raise StoreError(
                f"{file} is a backup of database {id}, but according to {folder / FOLDER / NAME} "
                f"the answers are in database {expected}; name a backup of that one, or use "
                "--new-database to go on with another"
            )
    make_private_folder(folder)
    restored, kept = stores.restore(place, file)
    if known is not None:
        remember_database(folder, _key(folder, place), restored.id)
    return restored, kept


def warnings(store: Store) -> Iterator[str]:
    """Yield what the person who starts a server should know about its database."""
    path = Path(store.name)
    if "://" not in store.name and stat.S_IMODE(path.stat().st_mode) & 0o077:
        yield (
            f"warning: other users of this machine can open {path}, which holds what people said; "
            f"close it with: chmod 600 {path}*"
        )
    if store.rehearsal:
        yield f"rehearsal: everybody counts as simulated; answers go to {store.name}"


def _key(folder: Path, place: str | Path) -> str:
    """Return the name of a place in ``secret.json``: relative inside the folder, which may move."""
    return stores.display_name(place).removeprefix(f"{folder.absolute()}/")


def _recorded(folder: Path, place: str | Path) -> tuple[Secret | None, str | None]:
    """Return the secret, if there is one, and the id of the database that it expects there."""
    path = folder / FOLDER / NAME
    if not path.exists():
        return None, None
    secret = secrets.read_secret(path)
    return secret, secret.databases.get(_key(folder, place))


def _last_mark(store: Store, study: str) -> object:
    marks = [event.detail.get("mark") for event in store.events(study, MARKED)]
    return marks[-1] if marks else None


def _mark(store: Store, secret: Secret) -> str:
    return secret.sign(f"database:{store.id}")[:16]
