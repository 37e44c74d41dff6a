"""Personal links: made, looked up by the hash of their token, revoked."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import bindparam as bind

from softlabel.errors import StoreError
from softlabel.store.rows import Invitation
from softlabel.store.schema import invitation

COLUMNS = tuple(invitation.c[name] for name in Invitation._fields)
BY_TOKEN = sa.select(*COLUMNS).where(invitation.c.token_hash == bind("token"))
BY_NAME = sa.select(*COLUMNS).where(
    invitation.c.study == bind("of"), invitation.c.name == bind("who")
)
BY_STUDY = (
    sa.select(*COLUMNS)
    .where(invitation.c.study == bind("of"))
    .order_by(invitation.c.created_at, invitation.c.name)
)
REVOKE = (
    sa.update(invitation)
    .where(invitation.c.study == bind("of"), invitation.c.name == bind("who"))
    .values(revoked_at=sa.func.coalesce(invitation.c.revoked_at, bind("now", type_=sa.Float)))
)


def invite(connection: sa.Connection, new: Invitation, token_hash: str) -> None:
    if connection.execute(BY_NAME, {"of": new.study, "who": new.name}).first() is not None:
        raise StoreError(
            f"{new.name!r} is invited to {new.study!r} already; links are never reused"
        )
    connection.execute(sa.insert(invitation), new._asdict() | {"token_hash": token_hash})


def revoke(connection: sa.Connection, of: str, name: str, now: float) -> None:
    if not connection.execute(REVOKE, {"of": of, "who": name, "now": now}).rowcount:
        raise StoreError(f"nobody called {name!r} is invited to {of!r}")


def by_token(connection: sa.Connection, token_hash: str) -> Invitation | None:
    row = connection.execute(BY_TOKEN, {"token": token_hash}).first()
    return None if row is None else Invitation(*row)


def by_study(connection: sa.Connection, of: str) -> tuple[Invitation, ...]:
    return tuple(Invitation(*row) for row in connection.execute(BY_STUDY, {"of": of}))
