"""What the pages say about their own numbers: which answers they are about, and why some miss."""

from __future__ import annotations

from softlabel.serve.monitor import Insight, Overview, words

LATER = "being computed; it appears here in a moment"


def none_yet(found: Insight | None) -> str:
    """Why there is nothing to show."""
    return LATER if found is None else "no answers yet"


def agreement_note(found: Insight | None) -> str:
    """Why there is no agreement to show."""
    return LATER if found is None else "no item has two answers yet"


def scope(found: Insight | None) -> str:
    """Which answers a number is about."""
    if found is None or found.whole:
        return "all answers"
    return f"the latest {words.count(found.read)} answers"


def scope_note(found: Insight | None) -> str:
    """What the page says about its own numbers."""
    if found is None:
        return "Counts are of now; agreement, speed and flags are being computed."
    when = f"Agreement, speed and flags were computed at {words.clock(found.at)} UTC"
    if found.unreadable:
        when = f"{unreadable(found)} {when}"
    if found.whole:
        return f"{when} from all answers; counts are of now."
    part = f"{words.count(found.read)} of {words.count(found.stored)}"
    return f"{when} from a sample, the latest {part} answers; counts are of now and of everything."


def unreadable(found: Insight) -> str:
    """A warning: something about the study was changed after people had answered."""
    return (
        f"{words.count(found.unreadable)} answers cannot be read with the labels and the mode that "
        "the study has now; they are in none of these numbers, and in every export."
    )


def items_note(found: Insight | None) -> str:
    """What the order of items is made of."""
    measure = "Disagreement is the mean total variation between two people’s labels"
    return f"{measure}, from {scope(found)}." if found is not None else f"{measure}; {LATER}."


def flagged_note(found: Overview, flagged: int) -> str:
    """How many people have flags."""
    if found.insight is None:
        return f"Flags are {LATER}."
    if not flagged:
        return "Nobody has a flag."
    return f"{words.count(flagged)} of {words.count(len(found.insight.people))} people have flags."


def rehearsal(simulated: int) -> str:
    """Said on every page of a study that holds answers of nobody."""
    if not simulated:
        return ""
    return f"Rehearsal: {words.count(simulated)} of the people in this database are simulated."


def people_caption(found: Overview, shown: int) -> str:
    """Who is in the table."""
    silent = found.standing.people - shown
    rest = f"; {words.count(silent)} more came in and did neither" if silent > 0 else ""
    return f"{words.count(shown)} people answered or skipped items{rest}"
