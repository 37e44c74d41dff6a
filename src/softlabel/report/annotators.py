"""The page of report cards: everybody in one table, and a card for each."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from softlabel import __version__
from softlabel.annotators import Card, Cards
from softlabel.report import svg
from softlabel.report.axes import Frame
from softlabel.report.card import card, marks
from softlabel.report.markup import Html, el
from softlabel.report.page import Section, figure, page
from softlabel.report.tables import interval, number, table

DRAWN = 40  # cards with charts: a page of thousands would not open
LISTED = 2_000  # rows of the table
COLUMNS = (
    "person",
    "answers",
    "skips",
    "agreement",
    "reliability",
    "sharpness",
    "temperature",
    "repeats changed",
    "seconds",
    "flags",
)


def render(found: Cards, source: str) -> str:
    """The whole document; ``source`` is what the answers were read from."""
    sections = [everybody(found), spread(found), each(found)]
    foot = f"Made by softlabel {__version__}."
    return page(f"The annotators of {source}", lead(found), sections, foot)


def lead(found: Cards) -> list[str]:
    flagged = sum(bool(person.flags) for person in found.people)
    told = [
        f"""{len(found.people):,} people gave {found.answers:,} answers to {found.items:,} items
        with {len(found.labels)} classes. {flagged:,} of them have a flag: a fact that deserves a
        look, with the limit it passed.""",
        f"""Confusion and reliability hold people against {found.reference}. Agreement,
        calibration and temperature hold them against the others: for each answer, the mean label
        of everybody else who answered the same item.""",
    ]
    if math.isnan(found.temperature):
        told.append("These are plain votes: they state no chances, so nobody has a calibration.")
    note = "A card describes. Nobody is excluded and no label changes."
    return [*told, el("p", note, class_="note")]


# ── everybody ────────────────────────────────────────────────────────────────────────────────


def everybody(found: Cards) -> Section:
    people = found.people[:LISTED]
    middle = _middle([person.agreement for person in found.people])
    rows = [_row(place, person, middle) for place, person in enumerate(people)]
    parts: list[str] = [
        """Agreement: 1 minus the mean total variation to the others (the tick is the middle
        person). Reliability: the chance to say what the reference says, with its 95 % interval.
        Sharpness: mean entropy of the own labels in nats; small is sharp. Temperature: above 1 a
        person says too much, below 1 too little. Repeats: how often the top class was another the
        second time. Seconds: of the middle answer. Skips: items that a person skipped.""",
        table("Most flags first, then least agreement with the others", COLUMNS, rows),
    ]
    if len(found.people) > LISTED:
        parts.append(f"{len(found.people) - LISTED:,} more are in the .csv and the .json.")
    return Section("Everybody", parts)


def _row(place: int, person: Card, middle: float) -> tuple[object, ...]:
    name: object = person.annotator
    if place < DRAWN:
        name = el("a", person.annotator, href=f"#{_key(place)}")
    title = f"agreement {number(person.agreement)}"
    agreed = svg.spark(person.agreement, 0, 1, title, middle=middle)
    steady = person.repeats
    return (
        name,
        f"{person.answers:,}",
        f"{person.skipped:,}",
        el("span", number(person.agreement), agreed, class_="spark"),
        interval(person.reliability, 2),
        person.sharpness,
        person.temperature,
        f"{steady.changed} of {steady.pairs}" if steady.pairs else "–",
        number(person.seconds.median, 1),
        marks(person) or "–",
    )


def _key(place: int) -> str:
    return f"card-{place}"  # names of people need not be fit for a link


def _middle(values: Sequence[float]) -> float:
    known = [value for value in values if math.isfinite(value)]
    return float(np.median(known)) if known else math.nan


# ── how they are spread ──────────────────────────────────────────────────────────────────────


def spread(found: Cards) -> Section:
    people = found.people
    parts: list[str] = [
        figure(
            lambda width: _sharp_and_close(people, width),
            """One mark per person. Sharp people far from the others sound sure and stand alone;
            blunt people near the others hedge.""",
        )
    ]
    if not math.isnan(found.temperature):
        said = f"""The temperature of each person; {number(found.temperature)} fits everybody
            together. Each is drawn towards that (log t with a standard deviation of 0.5), because
            one person has few answers. For this page only: labels that are pooled after such a
            correction are worse."""
        parts.append(figure(lambda width: _temperatures(people, width), said))
    return Section("How they are spread", parts)


def _sharp_and_close(people: Sequence[Card], width: float) -> Html:
    groups = {
        "no flag": [person for person in people if not person.flags],
        "flag": [person for person in people if person.flags],
    }
    said = "; ".join(f"{name}: {len(some)} people" for name, some in groups.items())
    x, y = "mean entropy of own labels (nats)", "agreement with the others"
    frame = Frame("Sharpness against agreement", said, x, y, width, 300)
    series = {
        name: ([one.sharpness for one in some], [one.agreement for one in some])
        for name, some in groups.items()
        if some
    }
    return svg.scatter(series, frame)


def _temperatures(people: Sequence[Card], width: float) -> Html:
    values = [person.temperature for person in people]
    frame = Frame("Temperatures", f"middle {number(_middle(values))}", "t", "people", width, 200)
    return svg.histogram(values, frame)


# ── one by one ───────────────────────────────────────────────────────────────────────────────


def each(found: Cards) -> Section:
    drawn = found.people[:DRAWN]
    parts: list[str] = [
        card(person, found.labels, _key(place)) for place, person in enumerate(drawn)
    ]
    if len(found.people) > len(drawn):
        more = f"The first {len(drawn)} of {len(found.people):,}, in the order of the table."
        parts.insert(0, f"{more} All are in the .json.")
    return Section("One by one", parts)
