"""The people of a study, from the command line: inviting, revoking, forgetting."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from softlabel import registry
from softlabel import store as stores
from softlabel import study as studies
from softlabel.errors import ItemChanged, SoftlabelError, StoreError
from softlabel.serve import databases, flow
from softlabel.serve.databases import Choice
from softlabel.serve.secret import Secret, hash_token, new_token, open_secret
from softlabel.store import ItemRow, Store
from softlabel.study import Study

KINDS = ("invitation", "prolific", "url", "open")


def open_to_read(folder: Path, db: str | None) -> Store:
    """The database that was named, or the study's own file; nothing in it is changed."""
    return stores.open(databases.place_of(folder, db), read_only=True)


def put_study(study: Study, store: Store, now: float) -> None:
    """Tell the store what there is to give out and how people are asked; what they have been shown
    and asked already must be the same."""
    batch_of = {item: name for name, items in study.batches.items() for item in items}
    everything = (*study.items, *study.practice, *study.checks)
    rows = [ItemRow(item.id, item.kind, batch_of.get(item.id), item.digest) for item in everything]
    mode = {
        **{"name": study.mode.name, "version": study.mode.version},
        **{"options": registry.settings(study.mode), "frame": study.frame},
    }
    try:
        store.put_study(
            study.name, study.toml, study.labels, rows, study.per_item, now, mode
        ).result()
    except ItemChanged as error:
        paths = (media.path.relative_to(study.folder) for media in study.find(error.item).media)
        if files := ", ".join(map(str, paths)):
            raise StoreError(f"{files}: {error}") from None
        raise


@contextmanager
def opened(folder: Path, db: str | None) -> Iterator[tuple[Study, Store, Secret]]:
    """A study, its answers, and the secret that goes with them."""
    study = studies.read(folder)
    with databases.open_known(folder, study.name, Choice(db)) as store:
        if store.study(study.name) is None:  # what is collected by is for the server to say
            put_study(study, store, time.time())
        secret = open_secret(folder)
        databases.remember(folder, study.name, store, secret, time.time())
        yield study, store, secret


def invite(study: Study, store: Store, secret: Secret, name: str, now: float) -> str:
    """A new personal link's path; the token in it is known to nobody else and kept nowhere."""
    if study.recruit.kind != "invitation":
        raise SoftlabelError(
            f"study {study.name!r} recruits by {study.recruit.kind!r}; "
            '[recruit] kind = "invitation" in study.toml opens it to personal links'
        )
    if not name.strip():
        raise SoftlabelError(f"{name!r} is nobody's name: say who is invited")
    token = new_token()
    annotator = secret.pseudonym("invitation", name)
    store.invite(study.name, name, hash_token(token), now, annotator=annotator).result()
    return f"/i/{token}"


def revoke(study: Study, store: Store, name: str, now: float) -> None:
    """End a link, and the session behind it if it is still under way; its answers stay."""
    store.revoke(study.name, name, now).result()
    invited = next(one for one in store.invitations(study.name) if one.name == name)
    session = invited.annotator and store.session_of(study.name, invited.annotator)
    if session and session.stage in flow.UNDER_WAY:
        store.set_stage(session.id, flow.CLOSED, event="revoked", detail={}, now=now).result()


def find(study: Study, store: Store, secret: Secret, person: str) -> str:
    """The pseudonym of a person who is named by it, by the recruiter's id, as invited, or by the
    code for deletion that an open study shows."""
    invited = {one.annotator for one in store.invitations(study.name)}
    for annotator in (person, *(secret.pseudonym(kind, person) for kind in KINDS)):
        if annotator in invited or store.session_of(study.name, annotator) is not None:
            return annotator
    code = "".join(person.split()).replace("-", "").upper()
    for session in store.sessions(study.name):
        if secret.deletion_code(session.annotator).replace("-", "") == code:
            return session.annotator
    raise StoreError(
        f"study {study.name!r} knows nobody called {person!r}: neither as a pseudonym, "
        "nor as a recruiter's id, nor by invitation, nor by a code for deletion"
    )
