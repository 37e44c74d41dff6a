"""What everybody is to be paid, computed from what is stored: base pay, bonus, screen-out, caps."""

import csv
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple, get_args

from softlabel.errors import FileError, SoftlabelError, UnknownName
from softlabel.serve.pay.bonus import Score, score_study
from softlabel.store import FINAL_STAGES, Payment, PaymentKind, Store, Work
from softlabel.study import SECONDS_AROUND, Pay, Study, money

DONE = ("debrief", "done")  # stages of people who have answered everything
TURNED_AWAY = ("screened-out", "full")
KINDS: tuple[PaymentKind, ...] = get_args(PaymentKind)
CUT = "cut to the cap"
LONG = 3  # times as long as people were told is worth a look
MINUTE, HOUR = 60.0, Fraction(60)

Own = Mapping[str, tuple[int, str]]  # amounts in a table of the researcher's, and their reasons


class Line(NamedTuple):
    """What one person is to be paid, in the smallest unit of the currency; ``why`` says how it was
    computed.  ``score`` is None unless the bonus is by score and they have one."""

    annotator: str
    stage: str
    minutes: float
    score: Score | None
    base: int
    bonus: int
    screenout: int
    why: tuple[str, ...]

    @property
    def total(self) -> int:
        return self.base + self.bonus + self.screenout

    @property
    def cut(self) -> bool:
        """Whether the person would get more without ``cap_per_person``."""
        return any(CUT in reason for reason in self.why)

    def amount(self, kind: PaymentKind) -> int:
        return {"base": self.base, "bonus": self.bonus, "screenout": self.screenout}[kind]


@dataclass(frozen=True)
class Bill:
    """The lines of all people, in the order of entering; ``kinds`` are those that the ledger
    pays."""

    pay: Pay
    lines: tuple[Line, ...]
    kinds: tuple[PaymentKind, ...] = KINDS

    @property
    def totals(self) -> dict[PaymentKind, int]:
        return {kind: sum(line.amount(kind) for line in self.lines) for kind in KINDS}

    @property
    def under_way(self) -> int:
        """How many people may still answer."""
        return sum(line.stage not in FINAL_STAGES.union(DONE) for line in self.lines)

    @property
    def most(self) -> int | None:
        """The cap of all pay together."""
        return _to_cap(self.pay.cap_total, self.pay.currency)

    @property
    def most_each(self) -> int | None:
        """The cap of one person's pay."""
        return _to_cap(self.pay.cap_per_person, self.pay.currency)

    def say(self, units: int) -> str:
        """Write an amount with its currency."""
        return f"{money.format_units(units, self.pay.currency)} {self.pay.currency}"


def _to_cap(amount: float | None, currency: str) -> int | None:
    return None if amount is None else int(money.to_units(amount, currency))


def get_pay(study: Study) -> Pay:
    if study.pay is None:
        raise SoftlabelError(
            f"{study.folder / 'study.toml'} has no table [pay]; say there what people are paid"
        )
    return study.pay


def default_kinds(study: Study) -> tuple[PaymentKind, ...]:
    """Return what the ledger pays: Prolific itself pays people whom you approve or screen out."""
    return ("bonus",) if study.recruit.kind == "prolific" else KINDS


def parse_kinds(names: Sequence[str]) -> tuple[PaymentKind, ...]:
    """Return the kinds with these names."""
    for name in names:
        if name not in KINDS:
            raise UnknownName("kind of payment", name, KINDS)
    return tuple(kind for kind in KINDS if kind in names)


def make_bill(
    study: Study, store: Store, own: Own | None = None, kinds: Sequence[PaymentKind] = ()
) -> Bill:
    """Compute what each person is to be paid as of now; ``own`` are the bonuses of the rule
    column.  Nothing is written."""
    pay, work = get_pay(study), store.work(study.name)
    _check_own(study, pay, own, work)
    scores = score_study(study, store) if pay.bonus_rule == "score" else {}
    known = {(row.annotator, row.kind): row for row in store.payments(study.name)}
    calculation = _Calculation(pay, scores, own or {}, known)
    lines = tuple(calculation.make_line(one) for one in work)
    return Bill(pay, lines, tuple(kinds) or default_kinds(study))


def bill_screenouts(study: Study, store: Store, people: Collection[str]) -> Bill:
    """Compute what these people are to be paid for being turned away.  Of the others, and of
    bonuses, counts what is in the ledger: a table of one's own may come later."""
    pay = replace(get_pay(study), bonus_rule="none")
    known = {(row.annotator, row.kind): row for row in store.payments(study.name)}
    calculation = _Calculation(pay, {}, {}, known)
    lines = [
        line
        if line.annotator in people or (line.annotator, "screenout") in known
        else line._replace(screenout=0)
        for line in map(calculation.make_line, store.work(study.name))
    ]
    return Bill(pay, tuple(lines), ("screenout",))


@dataclass(frozen=True)
class _Calculation:
    pay: Pay
    scores: Mapping[str, Score]
    own: Own
    known: Mapping[tuple[str, PaymentKind], Payment]

    def make_line(self, one: Work) -> Line:
        """Compute one person's pay; what is in the ledger already stays as it is there."""
        pay, why = self.pay, list[str]()
        minutes, score = measure_minutes(one), self.scores.get(one.annotator)
        base = screenout = 0
        if one.stage in DONE:
            base = self._get_base(minutes, why)
        elif one.stage in TURNED_AWAY:
            screenout = money.round_half_up(money.to_units(pay.screenout, pay.currency))
            why.append(one.stage)
        else:
            why.append(f"not done: {one.stage}")
        row = self.known.get((one.annotator, "bonus"))
        others = 0 if row is None else row.amount
        base = self._settle(one, "base", base, None, why)
        screenout = self._settle(one, "screenout", screenout, base + others, why)
        units = money.round_half_up(self._get_bonus(one, score, why))
        bonus = self._settle(one, "bonus", units, base + screenout, why)
        return Line(one.annotator, one.stage, minutes, score, base, bonus, screenout, tuple(why))

    def _settle(
        self, one: Work, kind: PaymentKind, units: int, others: int | None, why: list[str]
    ) -> int:
        """Return what the ledger has of this kind, or else this amount, cut so that the person does
        not get more than the cap with ``others``; None: it is promised, and not cut."""
        row = self.known.get((one.annotator, kind))
        if row is not None:
            why.append(f"{kind} {row.state}")
            return row.amount
        most = _to_cap(self.pay.cap_per_person, self.pay.currency)
        if most is None or others is None or units <= max(most - others, 0):
            return units
        why.append(f"{kind} {CUT}")
        return max(most - others, 0)

    def _get_base(self, minutes: float, why: list[str]) -> int:
        """By the session, or by the hour; never less than people were told."""
        pay = self.pay
        if pay.per_session is not None:
            return money.round_half_up(money.to_units(pay.per_session, pay.currency))
        assert pay.per_hour is not None, "pay is by the hour or by the session"
        long = max(Fraction(str(pay.minutes)), Fraction(minutes))
        if minutes > LONG * pay.minutes:
            why.append(f"{minutes:.0f} minutes instead of {pay.minutes:g}")
        base = money.round_half_up(money.to_units(pay.per_hour, pay.currency) * long / HOUR)
        most = _to_cap(pay.cap_per_person, pay.currency)
        if most is not None and base > most:
            why.append(f"base {CUT}")
            return most
        return base

    def _get_bonus(self, one: Work, score: Score | None, why: list[str]) -> Fraction:
        """Return the bonus before it is cut and rounded."""
        pay = self.pay
        if pay.bonus_rule == "none":
            return Fraction(0)
        if one.excluded:
            stays = (one.annotator, "bonus") in self.known
            after = "after the bonus was planned: it stays" if stays else "of the study: no bonus"
            why.append(f"left out {after}")
            return Fraction(0)
        if pay.bonus_rule == "column":
            units, reason = self.own.get(one.annotator, (0, ""))
            why += [reason] if reason else []
            return Fraction(units)
        if one.stage not in DONE:
            return Fraction(0)
        if pay.bonus_rule == "fixed":
            return money.to_units(pay.bonus_amount or 0, pay.currency)
        low = money.to_units(pay.bonus_floor, pay.currency)
        high = money.to_units(pay.bonus_max or 0, pay.currency)
        if score is None:
            why.append("no item that two others answered")
            return low
        why.append(f"{score.items} items, blind {score.blind:.3f}")
        return low + (high - low) * score.share


def measure_minutes(one: Work) -> float:
    """Return the minutes that a session took: the active time on items, as their browser measured
    it but never more than passed at the server, and two minutes for the other pages."""
    if one.last_at is None:
        return 0.0
    passed = max(one.last_at - one.entered_at, 0.0)
    return (min(max(one.active, 0.0), passed) + SECONDS_AROUND) / MINUTE


# ── a column of one's own ────────────────────────────────────────────────────────────────────


def read_own(path: Path, currency: str) -> dict[str, tuple[int, str]]:
    """Read bonuses from a table with the columns annotator and bonus, and perhaps why."""
    own: dict[str, tuple[int, str]] = {}
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = csv.DictReader(file)
        found = rows.fieldnames or []
        for needed in ("annotator", "bonus"):
            if needed not in found:
                reason = f"needs the columns annotator and bonus; it has {', '.join(found)}"
                raise FileError(path, reason, line=1)
        for row in rows:
            who, text = row["annotator"], (row["bonus"] or "").strip()
            try:
                units = money.to_units(text or "0", currency) if "/" not in text else Fraction(-1)
            except (ValueError, ZeroDivisionError):
                units = Fraction(-1)
            if units < 0 or units.denominator > 1:
                example = money.format_units(150, currency)
                reason = f"must be an amount in {currency}, such as {example}"
                raise FileError(path, reason, line=rows.line_num, column="bonus", value=text)
            if who in own:
                raise FileError(path, f"annotator {who!r} is there twice", line=rows.line_num)
            own[who] = (int(units), (row.get("why") or "").strip())
    return own


def _check_own(study: Study, pay: Pay, own: Own | None, work: Sequence[Work]) -> None:
    """Refuse a table where there is none to be, no table where one is needed, and strangers."""
    if (own is None) == (pay.bonus_rule == "column"):
        rule = f"[pay] bonus_rule = {pay.bonus_rule!r}"
        needs = "needs --bonus FILE.csv" if own is None else "takes no --bonus FILE.csv"
        raise SoftlabelError(f"{study.folder / 'study.toml'}, {rule} {needs}")
    strangers = sorted(set(own or ()) - {one.annotator for one in work})
    if strangers:
        raise SoftlabelError(
            f"--bonus: nobody in {study.name!r} is called {strangers[0]!r}; give pseudonyms, as "
            "softlabel who prints them"
        )
