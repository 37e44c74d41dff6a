"""What is trained for Collins, Bhatt & Weller 2022.

A cell is identified by a ``Condition``: which labels a network learns from, and how.  The same
conditions are trained at every scale: by the paper's three networks, by our small one, or by a head
on frozen features.
"""

from dataclasses import dataclass, replace
from typing import Literal

NETWORKS = ("resnet34a", "vgg11", "resnet50")
PEOPLE = 6  # rich answers per image; 200 of the 1,000 images have a seventh
VOTES = 51  # votes per image of CIFAR-10H, on average
LONG = 65  # epochs, the paper's


@dataclass(frozen=True)
class Condition:
    """What a network learns from, and how: the identity of a cell.

    ``labels`` is the kind of labels, and ``strength`` the spread of T2-clamp or the beta of label
    smoothing if it is not the paper's.  ``delivery`` is their ``mean``; the labels of ``each``
    annotator by turns; by turns those of so many annotators, drawn once per run; or None if the
    kind has but one.  Crops are frozen, as in the released code, or ``fresh`` in every epoch.
    ``network`` is one of the paper's; at other scales there is only one.
    """

    labels: str
    delivery: int | Literal["mean", "each"] | None = None
    strength: float | None = None
    fresh: bool = False
    epochs: int | None = None
    network: str = ""

    @property
    def name(self) -> str:
        """The name under which results are stored.

        >>> Condition("t2-clamp", "each", 0.2, network="vgg11").name
        'vgg11/t2-clamp 0.2/each'
        >>> Condition("hard", fresh=True, epochs=65).name
        'hard, fresh crops, 65 epochs'
        """
        labels = self.labels if self.strength is None else f"{self.labels} {self.strength}"
        name = "/".join(str(part) for part in (self.network, labels, self.delivery) if part)
        crops = ", fresh crops" if self.fresh else ""
        return f"{name}{crops}{f', {self.epochs} epochs' if self.epochs else ''}"


HARD, UNIFORM, RANDOM = Condition("hard"), Condition("uniform"), Condition("random")
SMOOTHING = Condition("smoothing")  # of the 900 relabelled images, as in the released code
SMOOTHING_ALL = Condition("smoothing-all")  # of all images, as in the text
VOTES_MEAN, VOTES_EACH = Condition("10h", "mean"), Condition("10h", "each")
CLAMP_MEAN, CLAMP_EACH = Condition("t2-clamp", "mean"), Condition("t2-clamp", "each")
# the curves of figures 6 and 10, by number of annotators
M_CURVES: dict[str, dict[int, Condition]] = {
    "10h": {m: Condition("10h", m) for m in (1, 2, 4, 8, 16, 32)} | {VOTES: VOTES_EACH},
    "t2-clamp": {m: Condition("t2-clamp", m) for m in range(1, 6)} | {PEOPLE: CLAMP_EACH},
}
# the grids from which validation images choose: gamma of the paper, which chose 0.1, and beta of
# label smoothing, which chose 0.05
SPREADS: dict[float, Condition] = {
    spread: Condition("t2-clamp", "each", spread)
    for spread in (0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4)
} | {0.1: CLAMP_EACH}
BETAS: dict[float, Condition] = {
    beta: Condition("smoothing", strength=beta)
    for beta in (0.0, 1e-4, 1e-3, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4)
} | {0.0: HARD, 0.05: SMOOTHING}
# most valuable first; what is repeated is trained once
CONDITIONS = tuple(
    dict.fromkeys(
        [
            *(HARD, VOTES_MEAN, CLAMP_MEAN, VOTES_EACH, CLAMP_EACH, UNIFORM, RANDOM),  # tables 1, 2
            *(Condition(labels, m) for m in (1, 2) for labels in M_CURVES),  # table 3
            *(Condition(one, "each") for one in ("t1-unif", "t1-clamp", "t2-unif", "select")),
            SMOOTHING,  # up to here tables 4 to 6
            *(one for curve in M_CURVES.values() for one in curve.values()),
            # labels as the released code has them
            *(Condition(labels, "each") for labels in ("t1-none", "t2-none", "released")),
            *(
                replace(one, fresh=fresh, epochs=epochs)
                for fresh, epochs in ((True, None), (True, LONG), (False, LONG))
                for one in (HARD, VOTES_EACH, CLAMP_EACH)
            ),
            SMOOTHING_ALL,
            *SPREADS.values(),
            *BETAS.values(),
        ]
    )
)
# what is tuned alike, with the strengths that are searched
STRENGTHS = (0.01, 0.05, 0.1, 0.2, 0.3)
ARMS: dict[Condition, tuple[Condition, ...]] = {
    **{one: (one,) for one in (HARD, VOTES_MEAN, VOTES_EACH, CLAMP_MEAN, UNIFORM)},
    **{
        one: tuple(replace(one, strength=strength) for strength in STRENGTHS)
        for one in (CLAMP_EACH, SMOOTHING, SMOOTHING_ALL)
    },
}
MAIN_ARMS = (HARD, VOTES_EACH, CLAMP_EACH)  # where a run takes long
BY_NAME = {
    one.name: one
    for net in ("", *NETWORKS)
    for one in (replace(c, network=net) for c in CONDITIONS)
}

CIFAR, GENERATED, FEATURES = "cifar10s", "generated", "generated features"  # images
QUICK = (HARD, VOTES_MEAN, CLAMP_MEAN, CLAMP_EACH, Condition("t2-clamp", 1), SMOOTHING)
