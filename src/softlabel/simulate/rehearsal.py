"""A whole study on a Prolific of our own: recruiting, answering, leaving, approving, paying.

Everything is real but the people and the platform: the server is a process of its own, people come
over HTTP by signed links, money goes through the ledger.  The platform has all its faults.
"""

import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from softlabel import store as stores
from softlabel import study as studies
from softlabel._util.files import write_atomically
from softlabel.errors import SoftlabelError
from softlabel.serve import databases, fake_prolific, pay, recruit, secret
from softlabel.simulate.client import Log
from softlabel.simulate.crowd import check_rehearsal, complete, run_server, take_part
from softlabel.simulate.people import Habits, draw_participants, read_truth
from softlabel.simulate.visit import Site, Visit
from softlabel.study import Study, money

Tell = Callable[[str], None]
SHARES = {
    "leavers": 0.2,
    "hopeless": 0.1,
    "fail_quiz": 0.2,
    "duplicates": 0.02,
    "disconnects": 0.02,
}
TWICE, LOST = 0.3, 0.15  # shares of the platform's messages
MOST_WAVES = 6
LOOK, LATER = 0.2, 5.0  # seconds until people come again, and if they could do nothing
CONCURRENCY = 8
ACTOR = "rehearsal"
FAULTS = (  # what breaks, once each
    ("GET .*/submissions/$", 429, False),
    ("POST .*/studies/$", 500, True),
    ("bulk-approve", 500, True),
    ("/pay/$", 0, True),
)


@dataclass(frozen=True)
class Rehearsal:
    """What happened, the lines of the bill, and what is wrong with it (nothing, one hopes)."""

    facts: Mapping[str, str]
    bill: Sequence[Mapping[str, str]]
    wrong: Sequence[str]


def rehearse(
    folder: Path,
    *,
    people: int | None = None,
    seed: int = 0,
    keep: Path | None = None,
    tell: Tell = lambda step: None,
) -> Rehearsal:
    """Play a study in a copy of its folder; ``people`` is the number of places.

    With ``keep`` the copy is made there, and stays with its database.
    """
    recruit.advert.get_advert(studies.read(folder))
    if keep is not None and keep.exists():
        raise SoftlabelError(f"--keep {keep}: is there already; name a folder that does not exist")
    with tempfile.TemporaryDirectory(prefix="softlabel-rehearsal-") as temporary:
        copy = keep or Path(temporary) / folder.resolve().name
        copy_study(folder, copy)
        platform = fake_prolific.FakeProlific(seed=seed)
        with platform.run(), _environment(platform.url):
            return _play(copy, platform, people, seed, tell)


def copy_study(folder: Path, to: Path) -> None:
    """Copy a study without its answers and secrets; files are linked where that is possible."""

    def link(source: str, target: str) -> None:
        try:
            os.link(source, target)
        except OSError:
            shutil.copy2(source, target)

    shutil.copytree(folder, to, copy_function=link, ignore=shutil.ignore_patterns(".softlabel"))


@contextmanager
def _environment(url: str) -> Iterator[None]:
    """Let this process, and those it starts, take our platform for Prolific."""
    names = {"PROLIFIC_URL": url, "PROLIFIC_TOKEN": fake_prolific.TOKEN}
    before = {name: os.environ.get(name) for name in names}
    os.environ |= names
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _play(folder: Path, platform: Any, people: int | None, seed: int, tell: Tell) -> Rehearsal:
    study = studies.read(folder)
    place = databases.place_of(folder, None, rehearsal=True)
    with (
        run_server(folder, "--rehearsal", "--no-token") as server,
        stores.open(place, create=False, rehearsal=True) as store,
        recruit.prolific.Client(fake_prolific.TOKEN, platform.url, wait=lambda _: None) as client,
    ):
        key = secret.open_secret(folder)
        desk = recruit.submissions.Desk(study, store, key, client, ACTOR)
        platform.faults += [fake_prolific.Fault(*fault) for fault in FAULTS]
        tell("publishing")
        recruit.advert.draft(desk, server.url)
        recruit.advert.publish(desk)
        (id,) = platform.studies
        if people is not None:
            platform.studies[id]["total_available_places"] = people
        crowd = _Crowd(study, platform, id, server.url, seed, Habits(**SHARES))
        for wave in range(MOST_WAVES):
            tell(f"people, wave {wave + 1}")
            if not _send_wave(desk, platform, crowd):
                break
        recruit.advert.pause(desk)
        tell("paying")
        _pay(desk)
        return _sum_up(desk, platform, crowd)


class _Crowd:
    """People who come from the platform, and how their visits ended."""

    def __init__(
        self, study: Study, platform: Any, id: str, url: str, seed: int, habits: Habits
    ) -> None:
        self.platform, self.id, self.seed = platform, id, seed
        self.log, self.ends = Log(), Counter[str]()
        self.site = Site(url, study, read_truth(study, seed), habits)

    def send(self, number: int) -> Counter[str]:
        """Let this many people take places and come; return how their visits ended."""
        came = sum(self.ends.values())
        newcomers = draw_participants(came + number, self.seed)[came:]
        places = [self.platform.take_place(self.id) for _ in newcomers]
        visits = [Visit(self.site, person, self.log) for person in newcomers]
        links = [link.removeprefix(self.site.url) for _, link in places]
        complete(take_part(visits, links, CONCURRENCY))
        codes = complete(_read_codes(visits))
        ends = Counter(
            self._leave(submission.id, visit, code)
            for (submission, _), visit, code in zip(places, visits, codes, strict=True)
        )
        self.ends += ends
        return ends

    def _leave(self, submission: str, visit: Visit, code: str | None) -> str:
        """Tell the platform how a visit ended: by a code, by a return, or not at all."""
        if code is not None:
            self.platform.complete(submission, code)
            return "finished" if visit.end == "finished" else "turned away"
        if visit.participant.draw("return").random() < 0.5:
            self.platform.change(submission, "RETURNED")
            return "returned"
        self.platform.change(submission, "TIMED-OUT")
        return "timed out"


def _send_wave(desk: Any, platform: Any, crowd: _Crowd) -> bool:
    """Fill the free places, if there is something to answer; return whether anybody came.  Whoever
    leaves makes room for somebody else."""
    study: Study = desk.study
    room = desk.store.has_room(study.name, batches=bool(study.batches))
    free = room * platform.places_left(crowd.id)
    if not free:
        return False
    crowd.send(free)
    platform.deliver(shuffle=True, twice=TWICE, lose=LOST)
    recruit.submissions.compare(desk)  # what the lost messages would have said
    if pay.get_pay(study).screenout:
        recruit.bonuses.pay_screened_out(desk)  # which makes room for others
    return True


async def _read_codes(visits: Sequence[Visit]) -> list[str | None]:
    """Return the completion code with which each person goes back; None if they just left."""
    codes: list[str | None] = []
    for visit in visits:
        code = None
        if visit.end in ("finished", "turned away"):
            reply = await visit.client.get("/leave")
            code = reply.headers.get("location", "").partition("?cc=")[2] or None
            await visit.client.close()
        codes.append(code)
    return codes


# ── by hand ──────────────────────────────────────────────────────────────────────────────────


def pretend(
    folder: Path,
    *,
    port: int = 0,
    seed: int = 0,
    think: float = 0.0,
    ids: Path | None = None,
    tell: Tell = print,
) -> None:
    """Serve our platform until interrupted; people come to the study while it is published there.

    People take ``think`` seconds per page and item.  The file ``ids`` holds the list of
    participants.
    """
    study = studies.read(folder)
    recruit.advert.get_advert(study)
    habits = Habits(**SHARES, think=think)
    platform, crowds = fake_prolific.FakeProlific(seed=seed), dict[str, _Crowd]()
    with platform.run(port), suppress(KeyboardInterrupt):
        tell(f"a practice Prolific at {platform.url}: its people are simulated, no money moves")
        tell(f"export PROLIFIC_URL={platform.url} PROLIFIC_TOKEN={fake_prolific.TOKEN}")
        said = ""
        while True:
            told, wait = "", LOOK
            for id in platform.list_open():
                url = platform.studies[id]["external_study_url"].partition("/?")[0]
                crowd = crowds.setdefault(id, _Crowd(study, platform, id, url, seed, habits))
                told, wait = _send_people(crowd)
            platform.deliver()
            if ids is not None:
                with write_atomically(ids, private=True) as part:
                    part.write_text(platform.list_people(), "utf-8")
            if told and (told != said or wait == LOOK):
                tell(told)
            said = told
            time.sleep(wait)


def _send_people(crowd: _Crowd) -> tuple[str, float]:
    """Fill the free places; return what happened, and how long to wait before the next look."""
    try:
        check_rehearsal(crowd.site.url)
    except SoftlabelError as error:
        return f"nobody can come: {error}", LATER
    number, broken = crowd.platform.places_left(crowd.id), crowd.log.errors.copy()
    ends = crowd.send(number)
    text = ", ".join(f"{ends[end]} {end}" for end in sorted(ends))
    told = f"{number} {'people' if number > 1 else 'person'} came: {text}"
    for what in crowd.log.errors - broken:
        told += f"; {what}"
    return told, LOOK if ends["finished"] or ends["turned away"] else LATER


def _pay(desk: Any) -> None:
    """Approve, compute and pay the bonuses, and find out what came of it."""
    submissions, bonuses = recruit.submissions, recruit.bonuses
    submissions.approve(desk, submissions.review(desk))
    rules, now = pay.get_pay(desk.study), time.time()
    if rules.bonus_rule not in ("none", "column"):
        bill = pay.make_bill(desk.study, desk.store)
        pay.approve(desk.store, pay.plan(desk.study, desk.store, bill, now, ACTOR), now, ACTOR)
        with suppress(recruit.prolific.Unclear):  # the connection is cut: settling finds out
            bonuses.send_bonuses(desk)
    bonuses.settle(desk)
    if bonuses.list_due(desk):
        bonuses.send_bonuses(desk)
        bonuses.settle(desk)


def _sum_up(desk: Any, platform: Any, crowd: _Crowd) -> Rehearsal:
    """Compare the platform's books with ours, and write the bill."""
    study: Study = desk.study
    currency = pay.get_pay(study).currency
    reward = recruit.advert.count_units(study)
    rows = desk.store.payments(study.name)

    def line(what: str, sums: Sequence[int]) -> dict[str, str]:
        total = money.format_units(sum(sums), currency)
        return {"what": what, "payments": f"{len(sums):,}", currency: total}

    rewards = [reward] * len(platform.rewards)
    outs = [row.amount for row in rows if row.kind == "screenout"]
    extra = [row.amount for row in rows if row.kind == "bonus"]
    bill = [line("rewards", rewards), line("screened out", outs), line("bonuses", extra)]
    bill.append(line("all, without Prolific's fee", [*rewards, *outs, *extra]))
    done = desk.store.progress(study.name).sessions.get("done", 0)
    rewarded, besides = sum(platform.rewards.values()), sum(platform.paid.values())
    ours = sum(outs) + sum(extra)
    checks = {
        f"Prolific paid rewards of {rewarded}, the bill says {sum(rewards)}": (
            rewarded == sum(rewards)
        ),
        f"{done} people are done, {len(rewards)} were approved": done == len(rewards),
        f"Prolific paid {besides} besides, the ledger says {ours}": besides == ours,
        "somebody was paid twice": all(n == 1 for n in platform.times_paid.values()),
        "the ledger is not settled": all(row.state == "confirmed" for row in rows),
        **{
            f"{what}: {n} times": False for what, n in crowd.log.errors.items() if "gave up" in what
        },
    }
    progress = desk.store.progress(study.name)
    facts = {
        "people": f"{sum(crowd.ends.values()):,}",
        **{end: f"{crowd.ends[end]:,}" for end in sorted(crowd.ends)},
        "answers": f"{progress.answered:,} of {progress.wanted:,}",
        "messages lost or doubled": f"{LOST:.0%} and {TWICE:.0%}",
        "requests of ours": f"{len(platform.requests):,}",
    }
    return Rehearsal(facts, bill, [text for text, right in checks.items() if not right])
