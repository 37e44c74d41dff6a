"""The claims of Gheibi & Ghazizadeh 2026, each with the way ours is computed.

Their numbers are of ResNet-18 after 200 epochs at its best checkpoint.  Under the other recipes a
network is another one, so only differences are held against theirs, and curvatures by factors.
"""

from __future__ import annotations

import numpy as np

from softlabel.papers.claims import Claim, Recipe
from softlabel.papers.gheibi2026 import comparing as ours
from softlabel.papers.gheibi2026 import published
from softlabel.papers.gheibi2026.published import heard

LOSS = ours.LOSS
WORDS = {
    "cross-entropy": "soft NLL",
    "accuracy": "accuracy",
    "ece-mass": "calibration error",
    "entropy-spearman": "entropy correlation (Spearman)",
}
FULL, SPARSE, GEOMETRY = "full-distribution table", "sparse sweep", "geometry table"
SINGLE = ("sls", "multipass", "control")
CHANCE = 0.03  # how near to their 12 % chance must come; ten classes of one size


def claims(recipe: Recipe) -> list[Claim]:
    """All that training can say, orderings first."""
    return [
        *_full(),
        *_sparse(),
        *_ablations(),
        *_geometry(),
        *_distance(),
        *_outside(recipe),
        *_never(),
        *(_values() if recipe == "paper" else []),
    ]


def _ordering(id: str, where: str, says: str, how: ours.Ours, there: float) -> Claim:
    return Claim(id, where, says, "ordering", how, heard(there))


def _compared(first: str, second: str, metric: str) -> Claim:
    """Two policies with all votes."""
    there = published.FULL[first][metric] - published.FULL[second][metric]
    sense = "below" if there < 0 else "above"
    return _ordering(
        f"all-{first}-{second}-{metric}",
        FULL,
        f"all votes: {WORDS[metric]} of {first} is {sense} that of {second}",
        ours.difference(f"all/{first}", f"all/{second}", f"10h/{metric}"),
        round(there, 4),
    )


def _full() -> list[Claim]:
    return [
        *(_compared("soft", "majority", metric) for metric in WORDS),
        *(_compared("sls", "majority", metric) for metric in WORDS),
        *(_compared(policy, "soft", "cross-entropy") for policy in SINGLE),
        *(_compared(policy, "soft", "entropy-spearman") for policy in SINGLE),
        _compared("soft", "smoothing", "cross-entropy"),
        _compared("soft", "smoothing", "entropy-spearman"),
    ]


def _sparse() -> list[Claim]:
    made = []
    for policy in SINGLE:
        for k, loss in published.SPARSE[policy].items():
            there = round(loss - published.SPARSE["soft"][k], 4)
            p = published.P_VALUES[policy][k]
            says = f"{k} votes: soft NLL of {policy} is below that of soft (printed p {p})"
            how = ours.difference(f"k{k}/{policy}", f"k{k}/soft", LOSS)
            made.append(_ordering(f"k{k}-{policy}", SPARSE, says, how, there))
    return made


def _ablations() -> list[Claim]:
    stale = round(published.STALE[50] - published.STALE[1], 4)
    shuffled = published.FULL["shuffled"]
    return [
        _ordering(
            "stale",
            "stale targets",
            "draws kept for 50 epochs: soft NLL above that of a draw per epoch",
            ours.difference("all/stale-50", "all/sls", LOSS),
            stale,
        ),
        Claim(
            "shuffled-accuracy",
            GEOMETRY,
            "shares put on wrong items: accuracy falls to chance",
            "value",
            ours.mean("all/shuffled", "10h/accuracy"),
            heard(shuffled["accuracy"]),
            CHANCE,
        ),
        Claim(
            "shuffled-entropy",
            GEOMETRY,
            "shares put on wrong items: no entropy correlation is left",
            "value",
            ours.mean("all/shuffled", "10h/entropy-spearman"),
            heard(shuffled["entropy-spearman"]),
            CHANCE,
        ),
    ]


def _geometry() -> list[Claim]:
    made = []
    soft = published.CURVATURE["soft"]
    for number, (score, word) in enumerate(
        (("flat/lambda-max", "largest eigenvalue"), ("flat/trace", "trace"))
    ):
        for policy in (*SINGLE, "shuffled"):
            there = float(np.log(published.CURVATURE[policy][number] / soft[number]))
            made.append(
                _ordering(
                    f"{score.removeprefix('flat/')}-{policy}",
                    GEOMETRY,
                    f"log of the Hessian's {word} of {policy} over that of soft",
                    ours.log_ratio(f"all/{policy}", "all/soft", score),
                    round(there, 3),
                )
            )
    barrier = ours.either(("all/soft", "all/sls"), "barrier/sls")
    says = "between networks taught by sls and softly the loss rises: they are in other basins"
    made.append(_ordering("barrier", "loss barrier", says, barrier, published.BARRIER))
    return made


def _distance() -> list[Claim]:
    low, high = published.GAIN_BY_DISTANCE
    return [
        Claim(
            f"gain-by-distance-k{k}-{policy}",
            "gain against Jensen-Shannon distance",
            f"{k} votes: the further an item's kept votes are from all of them, the more is gained "
            f"by {policy} over soft (Spearman over items; printed as a range over cells)",
            "value",
            ours.either((f"k{k}/soft", f"k{k}/{policy}"), f"gain-by-distance/{policy}"),
            heard(round((low + high) / 2, 4), round((high - low) / 2, 4)),
        )
        for policy in ("sls", "multipass")
        for k in (5, 10, 25)
    ]


def _outside(recipe: Recipe) -> list[Claim]:
    no_pixels = "a head on features has no pixels for ODIN to step in"
    return [
        Claim(
            f"ood-{place}-{score}",
            "detection of pictures from outside",
            f"{place}: {score} tells inside from outside better after sls than after soft training"
            + (f" (printed: paired p {published.OOD_P})" if place == "cifar100" else ""),
            "ordering",
            ours.difference("all/sls", "all/soft", f"ood/{place}/{score}/auroc"),
            reason=no_pixels
            if (recipe, score) == ("features", "odin")
            else f"{place} was not on the machine that made the runs",
            direction="above",
        )
        for place in ("cifar100", "svhn")
        for score in ("energy", "odin")
    ] + [
        _ordering(
            "cka",
            "representations",
            "features of two seeds are more alike after sls than after soft training (CKA)",
            ours.cka_difference("all/sls", "all/soft"),
            round(published.CKA["sls"] - published.CKA["soft"], 3),
        )
    ]


def _never() -> list[Claim]:
    mixup = round(published.FULL["soft"]["cross-entropy"] - published.MIXUP, 4)
    return [
        Claim(
            "gradcam",
            "representations",
            "Grad-CAM maps of two seeds are more alike after sls than after soft training",
            "ordering",
            lambda results: None,
            heard(round(published.GRADCAM["sls"] - published.GRADCAM["soft"], 3)),
            reason="Grad-CAM is not part of softlabel",
        ),
        Claim(
            "mixup",
            FULL,
            "all votes: soft NLL of soft is below that of mixup",
            "ordering",
            lambda results: None,
            heard(mixup),
            reason="mixup is not part of softlabel",
        ),
    ]


def _values() -> list[Claim]:
    """The printed numbers themselves, for their own network."""
    rows: list[tuple[str, str, str, float, ours.Ours]] = []
    for policy, scores in published.FULL.items():
        for metric, there in scores.items():
            cell, score = f"all/{policy}", f"10h/{metric}"
            says = f"all votes, {policy}: {WORDS[metric]}"
            rows.append((f"{cell}-{metric}", FULL, says, there, ours.mean(cell, score)))
    for policy, by_k in published.SPARSE.items():
        for k, there in by_k.items():
            cell = f"k{k}/{policy}"
            rows.append(
                (cell, SPARSE, f"{k} votes, {policy}: soft NLL", there, ours.mean(cell, LOSS))
            )
    for policy, both in published.CURVATURE.items():
        for score, there in zip(("lambda-max", "trace"), both, strict=True):
            cell = f"all/{policy}"
            how = ours.mean(cell, f"flat/{score}")
            rows.append((f"{cell}-{score}", GEOMETRY, f"Hessian of {policy}: {score}", there, how))
    barrier = ours.either(("all/soft", "all/sls"), "barrier/sls")
    rows.append(("barrier-height", "loss barrier", "height", published.BARRIER, barrier))
    return [
        Claim(id, where, says, "value", how, heard(there)) for id, where, says, there, how in rows
    ]
