"""A study in the store: its file at the time of the first answer, and its items."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as bind

from softlabel.errors import ItemChanged, StoreError
from softlabel.store import sessions
from softlabel.store.assign import draw_place
from softlabel.store.rows import RETIRED, ItemRow, StoredStudy
from softlabel.store.schema import batch, event, item, response, showing, study

STUDY_CHANGED = "study-changed"  # event: another study file, after people have answered
MODE_CHANGED = "mode-changed"  # event: another version of the mode, after people have answered

_this_study = study.c.name == bind("of")
BY_NAME = sa.select(*(study.c[name] for name in StoredStudy._fields)).where(_this_study)
MODE = sa.select(study.c.mode).where(_this_study)
SET_MODE = sa.update(study).where(_this_study).values(mode=bind("asks"))
CHANGE = (
    sa.update(study)
    .where(_this_study)
    .values(toml=bind("text"), labels=bind("classes"), per_item=bind("quota"))
)
HAS_ANSWERS = sa.select(sa.exists().where(response.c.study == bind("of")))
LAST_CHANGE = (
    sa.select(event.c.detail)
    .where(event.c.study == bind("of"), event.c.name == STUDY_CHANGED)
    .order_by(event.c.seq.desc())
    .limit(1)
)
ITEMS = sa.select(*(item.c[name] for name in ItemRow._fields)).where(item.c.study == bind("of"))
BATCHES = sa.select(batch.c.name).where(batch.c.study == bind("of"))
_this_item = sa.and_(item.c.study == bind("of"), item.c.id == bind("wanted"))
_of_item = sa.and_(showing.c.study == bind("of"), showing.c.item == bind("wanted"))
IS_SHOWN = sa.select(sa.exists().where(_of_item))
CHANGE_ITEM = (
    sa.update(item)
    .where(_this_item)
    .values(kind=bind("new_kind"), batch=bind("new_batch"), digest=bind("new_digest"))
)
RETIRE = sa.update(item).where(_this_item).values(kind=RETIRED + item.c.kind, taken=bind("still"))
DELETE = sa.delete(item).where(_this_item)
RELEASE = sa.update(showing).where(_of_item, showing.c.state == "open").values(state="released")
COUNT_ANSWERED = sa.select(sa.func.count()).where(
    _of_item, showing.c.kind == "target", showing.c.state == "answered", sessions.COUNTED
)


@dataclass(frozen=True)
class NewStudy:
    """A study as its folder describes it."""

    name: str
    toml: str
    labels: Sequence[str]
    items: Sequence[ItemRow]
    per_item: int
    mode: Mapping[str, Any] | None = None  # name, version, options, frame, compare; or not known


def find(connection: sa.Connection, name: str) -> StoredStudy | None:
    row = connection.execute(BY_NAME, {"of": name}).first()
    return None if row is None else StoredStudy(*row)._replace(labels=tuple(json.loads(row.labels)))


def put(connection: sa.Connection, new: NewStudy, now: float) -> None:
    stored = find(connection, new.name)
    if stored is None:
        texts = {"name": new.name, "toml": new.toml, "labels": json.dumps(list(new.labels))}
        numbers = {"per_item": new.per_item, "entered": 0, "created_at": now}
        connection.execute(sa.insert(study), {**texts, **numbers})
    else:
        answered = connection.execute(HAS_ANSWERS, {"of": new.name}).scalar()
        if stored.labels != tuple(new.labels) and answered:
            raise StoreError(
                f"the labels of {new.name!r} are {', '.join(stored.labels)} and people have "
                f"answered so; {', '.join(new.labels)} needs a study of another name, or another "
                "database"
            )
        text = stored.toml if answered else new.toml
        values = {"of": new.name, "text": text, "classes": json.dumps(list(new.labels))}
        connection.execute(CHANGE, values | {"quota": new.per_item})
        last = connection.execute(LAST_CHANGE, {"of": new.name}).scalar()
        before = stored.toml if last is None else json.loads(last)["toml"]
        if new.toml != before and (answered or last is not None):
            sessions.add_event(connection, new.name, None, STUDY_CHANGED, {"toml": new.toml}, now)
    _put_mode(connection, new, now)
    _put_items(connection, new)
    known = set(connection.execute(BATCHES, {"of": new.name}).scalars())
    names = dict.fromkeys(row.batch for row in new.items if row.batch is not None)
    rows = [{"study": new.name, "name": name, "taken": 0} for name in names if name not in known]
    if rows:
        connection.execute(sa.insert(batch), rows)


def _put_mode(connection: sa.Connection, new: NewStudy, now: float) -> None:
    """Store how people are asked; once they have answered, only the version may change."""
    text = connection.execute(MODE, {"of": new.name}).scalar()
    before = None if text is None else json.loads(text)
    if new.mode is None or before == new.mode:
        return
    if before is not None and connection.execute(HAS_ANSWERS, {"of": new.name}).scalar():
        if before | {"version": 0} != {**new.mode, "version": 0}:
            raise StoreError(
                f"people have answered {new.name!r} as it asks by {_describe(before)}; "
                f"{_describe(new.mode)} needs a new study name, or another database"
            )
        detail = {"from": before["version"], "to": new.mode["version"]}
        sessions.add_event(connection, new.name, None, MODE_CHANGED, detail, now)
    connection.execute(SET_MODE, {"of": new.name, "asks": json.dumps(new.mode)})


def _describe(mode: Mapping[str, Any]) -> str:
    options = ",".join(f"{key}={value}" for key, value in mode["options"].items())
    arms = [arm["name"] for arm in mode.get("compare", {}).get("arms", ())]
    compares = f", comparing {', '.join(arms)}" if arms else ""
    return f"mode {mode['name']}{options and f':{options}'}, frame {mode['frame']}{compares}"


def _put_items(connection: sa.Connection, new: NewStudy) -> None:
    of, wanted = new.name, {row.id: row for row in new.items}
    if len(wanted) < len(new.items):
        twice = next(row.id for row in new.items if wanted[row.id] is not row)
        raise StoreError(f"item {twice!r} is in the study {of!r} twice")
    known = {row.id: ItemRow(*row) for row in connection.execute(ITEMS, {"of": of})}
    fresh, changed = [], []
    for row in new.items:
        if row.id not in known:
            fresh.append(row._asdict() | {"study": of, "place": draw_place(row.id), "taken": 0})
        elif row != known[row.id]:
            values = _change_item(connection, of, known[row.id], row)
            changed.append({"of": of, "wanted": row.id, **values})
    if changed:
        connection.execute(CHANGE_ITEM, changed)
    if fresh:
        connection.execute(sa.insert(item), fresh)
    for name in known:
        if name in wanted or known[name].kind.startswith(RETIRED):
            continue
        gone = {"of": of, "wanted": name}
        if _is_shown(connection, of, name):  # what people have seen is not deleted
            connection.execute(RELEASE, gone)
            still = connection.execute(COUNT_ANSWERED, gone).scalar_one()
            connection.execute(RETIRE, gone | {"still": still})
        else:
            connection.execute(DELETE, gone)


def _change_item(connection: sa.Connection, of: str, old: ItemRow, row: ItemRow) -> dict[str, Any]:
    """Return the new values of an item; raise if people have seen what would change."""
    may_change = old.batch == row.batch and old.kind in (row.kind, RETIRED + row.kind)
    if not may_change and _is_shown(connection, of, row.id):
        raise StoreError(
            f"item {row.id!r} was shown as {old.kind} of batch {old.batch!r}; it cannot become "
            f"{row.kind} of batch {row.batch!r}"
        )
    digest = old.digest if row.digest is None else row.digest
    if old.digest not in (None, digest) and _is_shown(connection, of, row.id):
        raise ItemChanged(row.id)
    return {"new_kind": row.kind, "new_batch": row.batch, "new_digest": digest}


def _is_shown(connection: sa.Connection, of: str, name: str) -> bool:
    return bool(connection.execute(IS_SHOWN, {"of": of, "wanted": name}).scalar())
