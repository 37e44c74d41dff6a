"""What each trap of the released code does to the numbers: our runs with it and without it.

Two are trained (crops frozen when the data set is built; labels whose redistribution is never
applied), two are ways to score the same runs (the most confident bin dropped; FGSM against given
classes).  A fifth are the labels as released, which count repeats and mend contradictions badly.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from softlabel.papers.claims import Results, Table, shown
from softlabel.papers.collins2022.gathering import difference, mean
from softlabel.papers.collins2022.names import FRESH, FRESH_LONG, LONG, T2_EACH
from softlabel.papers.collins2022.printed import EXAMS, LABELS

Scored = tuple[str, str]  # a cell and a score


class Compared(NamedTuple):
    """The same number, with the trap and without."""

    trap: str
    what: str
    trapped: Scored
    clean: Scored


FROZEN, UNSPREAD = "frozen crops", "no redistribution"
DROPPED, GIVEN, RELEASED = "last bin dropped", "FGSM by given class", "labels as released"
CELLS = ("hard", "10h/each", T2_EACH)
SHOWN = {"ce": "cross-entropy", "accuracy": "accuracy", "rms": "RMS calibration"}


def compared() -> Iterator[Compared]:
    """All that is put side by side."""
    for cell in CELLS:
        for score, called in SHOWN.items():
            one = (cell, f"10h/{score}"), (f"{cell}{FRESH}", f"10h/{score}")
            yield Compared(FROZEN, f"{cell}, {called}", *one)
    for trapped, clean in (
        ("t1-none/each", "t1-unif/each"),
        ("t1-none/each", "t1-clamp/each"),
        ("t2-none/each", "t2-unif/each"),
        ("t2-none/each", T2_EACH),
    ):
        for exam in ("10h", "10s"):
            score = f"{exam}/ce"
            yield Compared(UNSPREAD, f"{clean}, CE on {exam}", (trapped, score), (clean, score))
    for cell in CELLS:
        for exam in ("10h", "10s"):
            one = (cell, f"{exam}/rms-dropped"), (cell, f"{exam}/rms")
            yield Compared(DROPPED, f"{cell}, RMS on {exam}", *one)
    for cell in CELLS:
        for exam in ("10h", "10s"):
            one = (cell, f"{exam}/fgsm-hard"), (cell, f"{exam}/fgsm")
            yield Compared(GIVEN, f"{cell}, FGSM on {exam}", *one)
    for exam in ("10h", "10s"):
        score = f"{exam}/ce"
        one = ("released/each", score), (T2_EACH, score)
        yield Compared(RELEASED, f"{T2_EACH}, CE on {exam}", *one)


def table(results: Results) -> Table:
    """With the trap, without it, and the difference, run by run, with its 95 % interval."""
    rows = []
    for one in compared():
        apart = difference(results, one.trapped, one.clean)
        if apart is not None:
            sides = (mean(results, *side) for side in (one.trapped, one.clean))
            means = (f"{side.value:.3f}" for side in sides if side is not None)
            rows.append((one.trap, one.what, *means, shown(apart, "+.3f"), str(apart.n)))
    heads = ("trap", "what", "with it", "without", "difference", "runs")
    return Table("What the traps of the released code do", heads, rows)


GAINS = {
    f"{exam}/{score}": f"{called}, {where}"
    for exam, where in EXAMS.items()
    for score, called in (*SHOWN.items(), ("fgsm", "loss under FGSM"))
}


def gains(results: Results) -> Table:
    """What soft labels gain over hard ones, with frozen crops and with fresh ones."""
    rows = []
    for score, called in GAINS.items():
        for cell in CELLS[1:]:
            pairs = ((f"{cell}{crops}", f"hard{crops}") for crops in ("", FRESH, FRESH_LONG))
            apart = [difference(results, (soft, score), (hard, score)) for soft, hard in pairs]
            if all(apart[:2]):
                count = min(one.n for one in apart if one)
                rows.append(
                    (LABELS[cell], called, *(shown(one, "+.3f") for one in apart), f"{count}")
                )
    note = (
        "Soft minus hard, run by run, after as many epochs: crops drawn once, as in the released "
        "code, against crops drawn anew in every epoch, as is usual; and these again for as many "
        "epochs as the paper has."
    )
    heads = ("labels", "what", "frozen crops", "fresh crops", f"fresh, {LONG} epochs", "runs")
    return Table("Soft labels against hard ones, by crops", heads, rows, note)
