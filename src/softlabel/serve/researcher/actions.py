"""The forms that run a study: each says what will happen, asks, does it, and is logged."""

import asyncio
import hashlib
import json
import re
import time
from collections.abc import Mapping
from email import message_from_bytes
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from softlabel.errors import SoftlabelError
from softlabel.records import format_time
from softlabel.serve.actions import (
    TABLES,
    Action,
    AddItems,
    Desk,
    count_missing,
    read_action,
)
from softlabel.serve.researcher import wording
from softlabel.serve.researcher.login import HOME, Login
from softlabel.serve.researcher.overview import LiveOverview
from softlabel.serve.researcher.pages import Before
from softlabel.serve.running import Running
from softlabel.serve.secret import make_private_folder
from softlabel.serve.site import Site, read_form
from softlabel.store import AuditEntry

RUN, AUDIT = f"{HOME}/run", f"{HOME}/audit"
PER_PAGE, RECENT = 100, 5  # entries of the audit log
SENT = ("annotator", "reason", "number", "upload", "called")  # fields that a question passes on
UPLOAD = re.compile(r"[0-9a-f]{64}\.(csv|jsonl)")
KEPT = 24 * 3600.0  # seconds for which an uploaded table waits to be confirmed
DONE = {  # what the log says about each action, with the names of its details
    "pause": "paused the study",
    "resume": "resumed the study",
    "close": "closed the study",
    "reopen": "reopened the study",
    "quota": "set the answers per item from {from} to {to}",
    "cap": "set the largest number of people from {from} to {to}",
    "add": "added {items} items: {file}",
    "exclude": "left out {annotator}: {reason}",
    "include": "took {annotator} back in",
    "end": "ended the session of {annotator}",
}


class ActionPages:
    """The page of forms, the question before each action, the action, and the audit log."""

    def __init__(self, site: Site, running: Running, login: Login, live: LiveOverview) -> None:
        self.site, self.running, self.login, self.live = site, running, login, live

    def page(self) -> Response:
        """What can be done to the study now."""
        site, control = self.site, self.running.read()
        entries = site.store.audit(site.study.name, most=RECENT)
        answers = site.store.answers_per_item(site.study.name).values()
        missing = count_missing(site.study, answers, control.per_item)
        stored = site.store.study(site.study.name)
        return self._render(
            "run",
            "Run",
            control=control,
            in_file=control.per_item if stored is None else stored.per_item,
            missing=wording.count(missing),
            entries=[self._word(entry) for entry in entries],
            tables=TABLES,
            batches=bool(site.study.batches),
            live=site.study.allocate,
        )

    def audit(self, before: Before = None) -> Response:
        """Everything that was done to the study, newest first."""
        entries = self.site.store.audit(self.site.study.name, before=before, most=PER_PAGE)
        more = f"{AUDIT}?before={entries[-1].seq}" if len(entries) == PER_PAGE else ""
        words = [self._word(entry) for entry in entries]
        return self._render("audit", "Run", entries=words, after=more, newest=before is not None)

    async def act(self, request: Request, name: str) -> Response:
        """Say what an action does; with ``confirm``, do it."""
        fields = await read_form(request)
        return await asyncio.to_thread(self._act, name, fields, self.login.actor(request))

    async def add(self, request: Request) -> Response:
        """Add the items of a table that was sent before."""
        return await self.act(request, AddItems.name)

    async def upload(self, request: Request) -> Response:
        """Take a table of items, and say what adding it does."""
        body, kind = await request.body(), request.headers.get("content-type", "")
        try:
            called, content = read_upload(body, kind)
        except ValueError as wrong:
            raise HTTPException(400) from wrong
        actor = self.login.actor(request)
        return await asyncio.to_thread(self._upload, called, content, actor)

    def _upload(self, called: str, content: bytes, actor: str) -> Response:
        if not called or not content.strip():
            return self._refuse("no table was sent: choose a .csv or .jsonl file", RUN)
        suffix = Path(called).suffix.lower()
        folder = make_private_folder(self.site.study.folder) / "incoming"
        folder.mkdir(mode=0o700, exist_ok=True)
        for old in folder.iterdir():
            if old.stat().st_mtime < time.time() - KEPT:
                old.unlink(missing_ok=True)
        name = f"{hashlib.sha256(content).hexdigest()}{suffix}"
        if not UPLOAD.fullmatch(name):
            return self._refuse(f"{called}: a table of items ends in {' or '.join(TABLES)}", RUN)
        (folder / name).write_bytes(content)
        reply = self._act(AddItems.name, {"upload": name, "called": called}, actor)
        if reply.status_code != 200:  # it has mistakes
            (folder / name).unlink(missing_ok=True)
        return reply

    def _act(self, name: str, fields: Mapping[str, str], actor: str) -> Response:
        who, site = fields.get("annotator", ""), self.site
        back = f"{HOME}/people/{quote(who, safe='')}" if who else RUN
        desk = Desk(site.study, site.store, actor, site.now())
        try:
            action = self._read(name, fields)
            now = site.store.control(site.study.name).revision
            agreed = fields.get("confirm") == "yes"
            if not agreed or fields.get("revision") != str(now):
                return self._ask(action, fields, desk, now, back, stale=agreed)
            action.do(desk)
        except SoftlabelError as error:
            return self._refuse(str(error), back)
        if isinstance(action, AddItems):
            action.table.unlink(missing_ok=True)
        self.running.read(now=True)
        self.live.expire()
        return RedirectResponse(back, 303)

    def _read(self, name: str, fields: Mapping[str, str]) -> Action:
        if name != AddItems.name:
            return read_action(name, fields)
        upload, called = fields.get("upload", ""), fields.get("called", "")
        table = self.site.study.folder / ".softlabel" / "incoming" / upload
        if not UPLOAD.fullmatch(upload) or not table.is_file():
            raise SoftlabelError("the table is not here any more; send it again")
        return AddItems(table, called)

    def _ask(
        self,
        action: Action,
        fields: Mapping[str, str],
        desk: Desk,
        revision: int,
        back: str,
        *,
        stale: bool,
    ) -> Response:
        """Say what will happen, and ask."""
        return self._render(
            "confirm",
            "Run",
            title=action.title,
            sentences=action.explain(desk),
            stale=stale,
            actor=desk.actor,
            address=f"{RUN}/{action.name}" if action.name != AddItems.name else f"{RUN}/add-items",
            fields={name: fields[name] for name in SENT if name in fields}
            | {"revision": str(revision)},
            back=back,
        )

    def _refuse(self, text: str, back: str) -> Response:
        lines = text.splitlines() or [text]
        return self._render("refused", "Run", 409, lines=lines, back=back)

    def _word(self, entry: AuditEntry) -> dict[str, str]:
        return {
            "time": wording.moment(entry.at, self.site.now()),
            "iso": format_time(entry.at),
            "actor": entry.actor,
            "what": word_entry(entry),
            "annotator": str(entry.detail.get("annotator", "")),
        }

    def _render(self, name: str, page: str, status: int = 200, **values: Any) -> Response:
        rehearsal = wording.rehearsal_note(self.live.last_counts().simulated)
        template = f"research/{name}.html"
        return self.site.render(template, status, None, page=page, rehearsal=rehearsal, **values)


def word_entry(entry: AuditEntry) -> str:
    """Return an entry of the audit log in words; unknown actions as they are stored."""
    try:
        return DONE[entry.action].format(**{k: _name(v) for k, v in entry.detail.items()})
    except (KeyError, IndexError):
        return f"{entry.action} {json.dumps(entry.detail, ensure_ascii=False)}"


def _name(value: object) -> object:
    return "none" if value is None else value


def read_upload(body: bytes, content_type: str) -> tuple[str, bytes]:
    """Return the name and the content of the one file in a form."""
    if not content_type.startswith("multipart/form-data"):
        raise ValueError("this is no form with a file")
    head = f"content-type: {content_type}\r\n\r\n".encode("latin-1")
    form = message_from_bytes(head + body)
    if not form.is_multipart():
        raise ValueError("this is no form with a file")
    for part in form.get_payload():
        called = part.get_filename()  # type: ignore[union-attr]
        if called is not None:
            content = part.get_payload(decode=True)  # type: ignore[union-attr]
            assert isinstance(content, bytes), "a part without parts has bytes"
            return Path(called.replace("\\", "/")).name[:200], content
    raise ValueError("the form has no file")
