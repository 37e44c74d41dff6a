"""What is trained for Gheibi & Ghazizadeh 2026: a policy of delivery times a number of votes.

A cell is called ``k5/sls`` (five votes per image, kept by the seed of the run: the same ones for
every policy, so that seeds are pairs), ``all/sls`` (all votes) or ``all-64/sls`` (64 epochs).

With one vote per image all policies deliver that vote, in every epoch: ``k1/soft`` is the only cell
there.  In 20 epochs ``multipass`` gets through a round of 10 votes twice, of 25 or 51 not once;
after 64 epochs every image (47 to 63 votes) has had its round.
"""

from __future__ import annotations

from softlabel.papers.claims import Cell, Recipe
from softlabel.papers.gheibi2026 import data

POLICIES = {
    "soft": "aggregate",
    "sls": "sls",
    "multipass": "multipass",
    "majority": "hard",
    "control": "control",  # multipass under another seed
}
ABLATIONS = {
    "shuffled": "shuffled-sls",
    "stale-50": "stale-sls:every=50",  # in 20 epochs: one draw for the whole run
    "control-sorted": "control:order=sorted",
    "stale-5": "stale-sls:every=5",
    "stale-10": "stale-sls:every=10",
    "smoothing": "smoothing:beta=0.1",  # theirs is not known
}
KS = (1, 2, 5, 10, 25, 50)
LONG = "all-64"
PROBED = {  # where flatness and detection are measured: they cost more than the scores
    *(f"all/{policy}" for policy in (*POLICIES, "shuffled")),
    *(f"k5/{policy}" for policy in POLICIES),
}
BASES: dict[Recipe, str] = {"paper": "g26", "cpu": "small", "features": "features"}
MAIN = ("soft", "sls", "multipass", "majority")


def cells(recipe: Recipe, quick: bool = False) -> list[Cell]:
    """Most valuable first."""
    make = _Maker(recipe, quick)
    if quick:
        return [
            *(make("all", policy) for policy in (*MAIN, "shuffled")),
            *(make("k5", policy) for policy in ("soft", "sls")),
            make("k1", "soft"),
        ]
    return [
        *(make(group, policy) for group in ("all", "k5") for policy in MAIN),
        *(make(group, policy) for group in ("k10", "k25", "k2") for policy in MAIN),
        make("k1", "soft"),
        *(make(group, "control") for group in ("all", "k5", "k10", "k25", "k2")),
        *(make("all", policy) for policy in ABLATIONS),
        *(make("k50", policy) for policy in POLICIES),
        *_long(make),
    ]


class _Maker:
    """Cells of one recipe."""

    def __init__(self, recipe: Recipe, quick: bool) -> None:
        self.recipe, self.quick = recipe, quick

    def __call__(self, group: str, policy: str, epochs: int | None = None) -> Cell:
        lesson = data.quick if self.quick else data.cifar10h
        settings = {"epochs": 3} if self.quick else {} if epochs is None else {"epochs": epochs}
        base = BASES["cpu" if self.quick else self.recipe]
        return Cell(f"{group}/{policy}", lesson, delivery(group, policy), settings, base)


def _long(make: _Maker) -> list[Cell]:
    """Runs in which every vote has its turn; 200 epochs, the paper's, do so anyway."""
    if make.recipe == "paper":
        return []
    wanted = ("soft", "multipass", "sls", "control-sorted", "control")
    return [make(LONG, policy, epochs=64) for policy in wanted]


def delivery(group: str, policy: str) -> str:
    """The delivery of a policy where a group's votes are all there is.

    >>> delivery("k5", "sls"), delivery("all", "stale-5")
    ('sparse-k:k=5,then=sls', 'stale-sls:every=5')
    """
    how = {**POLICIES, **ABLATIONS}[policy]
    return f"sparse-k:k={group[1:]},then={how}" if group.startswith("k") else how


def group_of(cell: str) -> str:
    """``k5`` of ``k5/sls``."""
    return cell.partition("/")[0]


def policy_of(cell: str) -> str:
    """``sls`` of ``k5/sls``."""
    return cell.partition("/")[2]
