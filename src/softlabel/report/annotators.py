"""The page of report cards: everybody in one table, and a card for each person."""

import math
from collections.abc import Sequence

import numpy as np

from softlabel import __version__
from softlabel.annotators import Card, Cards
from softlabel.report import charts
from softlabel.report.charts import confusion_chart
from softlabel.report.drawing import Frame, Html, el, join
from softlabel.report.page import (
    Section,
    add_caption,
    figure,
    format_interval,
    format_number,
    page,
    table,
)

CLASSES = 20  # above this a matrix cannot be read, and the commonest confusions are listed
COMMONEST = 8
WIDTH = 330  # px of the charts


def card(person: Card, labels: Sequence[str], key: str) -> Html:
    """Describe one person; ``key`` is the anchor of a link to it."""
    drawn = [part for part in (_curve(person), _confusion(person, labels)) if part]
    return el(
        "article",
        el("h3", person.annotator),
        el("p", _in_words(person), class_="figures"),
        el("p", marks(person), class_="marks") if person.flags or person.remarks else "",
        el("div", *drawn, class_="charts") if drawn else "",
        class_="person",
        id=key,
    )


def marks(person: Card) -> Html:
    """Show flags, then remarks."""
    return join(
        *(el("span", flag, class_="flag words") for flag in person.flags),
        *(el("span", remark, class_="remark words") for remark in person.remarks),
    )


def _in_words(person: Card) -> str:
    right, steady, times = person.reliability, person.repeats, person.seconds
    said = [
        f"{person.answers:,} answers to {person.items:,} items",
        f"agreement {format_number(person.agreement)}",
        f"reliability {format_number(right.value)} "
        f"({format_number(right.low)} to {format_number(right.high)})",
        f"sharpness {format_number(person.sharpness)} nats",
    ]
    if person.skips:
        why = (f"{n:,} {reason.replace('_', ' ')}" for reason, n in sorted(person.skips.items()))
        said.insert(1, f"{person.skipped:,} items skipped ({', '.join(why)})")
    if math.isfinite(person.temperature):
        said.append(f"temperature {format_number(person.temperature)}")
    if math.isfinite(person.skill):
        said.append(f"skill {format_number(person.skill)} as the pool sees it")
    if steady.pairs:
        moved = f"the label moved by {format_number(steady.variation)}"
        said.append(f"{steady.changed} of {steady.pairs} repeats changed the top class, {moved}")
    if times.n:
        ends = f"{format_number(times.p10, 1)} to {format_number(times.p90, 1)}"
        said.append(f"{format_number(times.median, 1)} s an answer (four of five: {ends})")
    return "; ".join(said) + "."


def _curve(person: Card) -> Html | None:
    if not person.curve:
        return None
    said = "; ".join(
        f"{100 * b.stated:.0f} % stated, {100 * b.others:.0f} % of the others" for b in person.curve
    )
    title = f"Calibration of {person.annotator}"
    frame = Frame(title, said, "chance stated", "share of the others", WIDTH, 300)
    points = ([b.stated for b in person.curve], [b.others for b in person.curve])
    hover = [f"{b.n} chances" for b in person.curve]
    square = (0.0, 1.0, 0.0, 1.0)
    chart = charts.scatter({title: points}, frame, diagonal=True, limits=square, hover=hover)
    return add_caption(chart, "Below the line: over-confident; above it: under-confident.")


def _confusion(person: Card, labels: Sequence[str]) -> Html | None:
    if person.confusion is None:
        return None
    if len(labels) > CLASSES:  # list the pairs of classes confused most
        wrong = np.where(np.eye(len(labels), dtype=np.bool_), 0, person.confusion)
        order = np.argsort(-wrong, axis=None, kind="stable")[:COMMONEST]
        pairs = [divmod(int(place), len(labels)) for place in order]
        kept = [(a, b) for a, b in pairs if wrong[a, b] > 0]
        rows = [(f"{labels[a]} → {labels[b]}", float(wrong[a, b])) for a, b in kept]
        title = "Commonest confusions (reference → said), and how often"
        return table(title, ["pair", "times"], rows)
    said = f"{format_number(100 * person.reliability.value, 0)} % on the diagonal"
    frame = Frame(f"Confusion of {person.annotator}", said, "said", "reference", WIDTH)
    chart = confusion_chart(person.confusion, labels, frame)
    return add_caption(chart, "Chosen class (columns) by reference class (rows), in %.")


DRAWN = 40  # cards with charts: a page of thousands would not open
LISTED = 2_000  # rows of the table
COLUMNS = (
    *("person", "answers", "skips", "agreement", "reliability", "sharpness", "temperature"),
    *("repeats changed", "seconds", "flags"),
)


def annotators_page(found: Cards, source: str) -> str:
    """Return the page; ``source`` names where the answers were read from."""
    flagged = sum(bool(person.flags) for person in found.people)
    lead = [
        f"""{len(found.people):,} people gave {found.answers:,} answers to {found.items:,} items
        with {len(found.labels)} classes. {flagged:,} of them have a flag, which names a fact that
        deserves a look and the limit it passed.""",
        f"""Confusion and reliability compare people with {found.reference}. Agreement,
        calibration and temperature compare them with the others: for each answer, the mean label
        of everybody else who answered the same item.""",
    ]
    if math.isnan(found.temperature):
        lead.append("These are plain votes, which state no chances, so there is no calibration.")
    note = "Cards only describe. Nobody is excluded and no label changes."
    lead.append(el("p", note, class_="note"))
    sections = [everybody(found), spread(found), each(found)]
    return page(f"The annotators of {source}", lead, sections, f"Made by softlabel {__version__}.")


# ── everybody ────────────────────────────────────────────────────────────────────────────────


def everybody(found: Cards) -> Section:
    middle = _middle([person.agreement for person in found.people])
    rows = []
    for place, person in enumerate(found.people[:LISTED]):
        name: object = person.annotator
        if place < DRAWN:  # linked by number: names of people need not be fit for a link
            name = el("a", person.annotator, href=f"#card-{place}")
        agreement, steady = format_number(person.agreement), person.repeats
        agreed = charts.spark(person.agreement, 0, 1, f"agreement {agreement}", middle=middle)
        row = (
            name,
            f"{person.answers:,}",
            f"{person.skipped:,}",
            el("span", agreement, agreed, class_="spark"),
            format_interval(person.reliability, 2),
            person.sharpness,
            person.temperature,
            f"{steady.changed} of {steady.pairs}" if steady.pairs else "–",
            format_number(person.seconds.median, 1),
            marks(person) or "–",
        )
        rows.append(row)
    parts: list[str] = [
        """Agreement: 1 minus the mean total variation to the others (the tick marks the median).
        Reliability: the chance to agree with the reference, with its 95 % interval. Sharpness: mean
        entropy of the person's labels in nats; small is sharp. Temperature: above 1 is
        over-confident, below 1 under-confident. Repeats: how often the top class changed the
        second time. Seconds: median per answer. Skips: items that a person skipped.""",
        table("Most flags first, then least agreement with the others", COLUMNS, rows),
    ]
    if len(found.people) > LISTED:
        parts.append(f"{len(found.people) - LISTED:,} more are in the .csv and the .json.")
    return Section("Everybody", parts)


def _middle(values: Sequence[float]) -> float:
    known = [value for value in values if math.isfinite(value)]
    return float(np.median(known)) if known else math.nan


# ── how they are spread ──────────────────────────────────────────────────────────────────────


def spread(found: Cards) -> Section:
    groups = {
        "no flag": [person for person in found.people if not person.flags],
        "flag": [person for person in found.people if person.flags],
    }
    temperatures = [person.temperature for person in found.people]

    def draw_sharpness(width: float) -> Html:
        said = "; ".join(f"{name}: {len(some)} people" for name, some in groups.items())
        x, y = "mean entropy of own labels (nats)", "agreement with the others"
        frame = Frame("Sharpness against agreement", said, x, y, width, 300)
        series = {
            name: ([one.sharpness for one in some], [one.agreement for one in some])
            for name, some in groups.items()
            if some
        }
        return charts.scatter(series, frame)

    def draw_temperatures(width: float) -> Html:
        middle = format_number(_middle(temperatures))
        frame = Frame("Temperatures", f"median {middle}", "t", "people", width, 200)
        return charts.histogram(temperatures, frame)

    said = """One mark per person. Low entropy and low agreement: confident and alone. High entropy
        and high agreement: hedging."""
    parts: list[str] = [figure(draw_sharpness, said)]
    if not math.isnan(found.temperature):
        said = f"""The temperature of each person; {format_number(found.temperature)} fits everybody
            together. Each is shrunk towards it (log t with a standard deviation of 0.5), because
            one person has few answers. For this page only: pooling labels after such a correction
            makes them worse."""
        parts.append(figure(draw_temperatures, said))
    return Section("How they are spread", parts)


# ── one by one ───────────────────────────────────────────────────────────────────────────────


def each(found: Cards) -> Section:
    drawn = found.people[:DRAWN]
    parts: list[str] = [
        card(person, found.labels, f"card-{place}") for place, person in enumerate(drawn)
    ]
    if len(found.people) > len(drawn):
        more = f"The first {len(drawn)} of {len(found.people):,}, in the order of the table."
        parts.insert(0, f"{more} All are in the .json.")
    return Section("One by one", parts)
