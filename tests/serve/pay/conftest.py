"""A study in a folder whose people have platform ids, and answers that tests choose."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from softlabel.serve import databases
from softlabel.serve.secret import hash_token
from softlabel.store import NewResponse, Plan, Session, Timing

LABELS = ("cat", "dog", "fox")
STUDY = """
[study]
name = "animals"
labels = ["cat", "dog", "fox"]
mode = "chips"
frame = "third_person"

[items]
source = "items.csv"
per_item = 20
repeats = 1
repeat_positions = [1]
practice = "practice.csv"
checks = "checks.csv"

[recruit]
{recruit}

[pay]
{pay}
"""
URL = """kind = "url"
id_param = "worker"
complete_url = "https://platform.example/done"
screenout_url = "https://platform.example/out"
"""
PROLIFIC = 'kind = "prolific"\ncompletion_code = "C1"\nscreenout_code = "C2"\n'
PAY = 'currency = "GBP"\nminutes = 6\nper_hour = 10\n'
ITEMS = tuple(f"item-{n}" for n in range(4))


def write_folder(folder: Path, pay: str = PAY, recruit: str = URL) -> Path:
    folder.mkdir()
    rows = "\n".join(f"{item},text of {item}" for item in ITEMS)
    (folder / "items.csv").write_text(f"id,text\n{rows}\n")
    (folder / "practice.csv").write_text("id,text,gold\ntry,a cat,cat\n")
    (folder / "checks.csv").write_text("id,text,gold\nsure,surely a cat,cat\n")
    (folder / "study.toml").write_text(STUDY.format(pay=pay, recruit=recruit))
    return folder


class Payroll:
    """A study, its open database and its key."""

    def __init__(self, folder: Path, db: str | None, stack: ExitStack) -> None:
        self.folder, self.db = folder, db
        opened = databases.open_study(folder, db)
        self.study, self.store, self.secret = stack.enter_context(opened)
        items = {"practice": ("try",), "checks": ("sure",), "repeat_positions": (1,)}
        self.plan = Plan(per_item=20, repeats=1, **items)

    def enter(self, id: str, now: float = 1000.0) -> Session:
        annotator = self.secret.pseudonym(self.study.recruit.kind, id)
        return self.store.enter(
            self.study.name,
            annotator,
            hash_token(id),
            label_order_of=lambda number: LABELS,
            seed=1,
            recruiter_session=None,
            now=now,
        ).result()

    def work(
        self,
        id: str,
        chips: Mapping[str, Sequence[int] | None],
        *,
        seconds: float = 60.0,
        stage: str | None = "done",
    ) -> Session:
        """Answer: chips by item, None for a skip; other showings get all chips on the first label.
        Each answer takes so many active seconds, and the server sees the last one 1,000 s later."""
        who = self.enter(id)
        self.store.lease(who.id, self.plan, 1000.0).result()
        for shown in self.store.showings(who.id):
            mine = chips.get(shown.item, ()) if shown.kind == "target" else (20, 0, 0)
            if mine != ():
                self.answer(who, shown.position, mine, seconds=seconds)
        if stage is not None:
            self.store.set_stage(who.id, stage, event="end", detail={}, now=2000.0).result()
        return who

    def answer(
        self,
        who: Session,
        position: int,
        chips: Sequence[int] | None,
        *,
        seconds: float = 60.0,
        **changes: Any,
    ) -> None:
        laid = None
        if chips is not None:
            named = {label: count for label, count in zip(LABELS, chips, strict=True) if count}
            laid = json.dumps({"n": 20, "chips": named, "excluded": [], "rest": "ruled_out"})
        given = {"id": f"{who.annotator}-{position}", "digest": f"{laid}"} | changes
        response = NewResponse(
            position=position,
            answer_json=laid,
            payload=json.dumps({"answer": laid}),
            mode="chips",
            mode_version=2,
            skip=None if chips is not None else "cannot_judge",
            timing=Timing(active_ms=1000 * seconds),
            frame="third_person",
            **given,
        )
        self.store.answer(who.id, response, 2000.0).result()


@pytest.fixture
def payroll(tmp_path: Path) -> Iterator[Callable[..., Payroll]]:
    """``payroll(pay=…, recruit=…, db=…)``: a new study, open."""
    with ExitStack() as stack:
        yield lambda db=None, **settings: Payroll(
            write_folder(tmp_path / "animals", **settings), db, stack
        )


@pytest.fixture(scope="session")
def prolific() -> str:
    """The settings of Prolific."""
    return PROLIFIC
