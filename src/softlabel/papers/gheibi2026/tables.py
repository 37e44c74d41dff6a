"""Ours beside theirs: all votes, fewer votes, flatness, detection, and what tests can say."""

from __future__ import annotations

import math
from collections.abc import Sequence

from softlabel.papers.claims import Results, Table, shown
from softlabel.papers.gheibi2026 import comparing as ours
from softlabel.papers.gheibi2026 import published
from softlabel.papers.gheibi2026.cells import ABLATIONS, KS, LONG, POLICIES
from softlabel.tables import Score

HEARSAY = "In brackets what reading notes say of the paper's ResNet-18; it was not checked."
SHOWN = {
    "cross-entropy": "soft NLL",
    "kl": "KL",
    "accuracy": "accuracy",
    "entropy-pearson": "entropy r",
    "entropy-spearman": "entropy rank r",
    "ece-mass": "ECE",
}
PLACES = ("patches", "noise", "digits", "svhn", "cifar100")
SCORES = ("max-softmax", "max-logit", "energy", "negative-entropy", "knn", "odin")
MEASURES = ("auroc", "fpr95", "aupr")
GROUPS = (*(f"k{k}" for k in KS), "all")


def tables(results: Results) -> list[Table]:
    """Those that have a row."""
    made = (
        full(results),
        sparse(results),
        significance(results),
        distance(results),
        long(results),
        flatness(results),
        detection(results),
    )
    return [table for table in made if table.rows]


def full(results: Results) -> Table:
    """All votes."""
    rows = []
    for policy in (*POLICIES, *ABLATIONS):
        theirs = published.FULL.get(policy, {})
        cells = [
            _shown(results.mean(f"all/{policy}", f"10h/{metric}"), theirs.get(metric))
            for metric in SHOWN
        ]
        rows.append((policy, *cells))
    return Table("All votes", ("", *SHOWN.values()), _known(rows), HEARSAY)


def sparse(results: Results) -> Table:
    """Soft NLL by the number of votes kept."""
    rows = []
    for policy in POLICIES:
        cells = []
        for group in GROUPS:
            k = int(group[1:]) if group != "all" else 0
            theirs = published.SPARSE.get(policy, {}).get(k)
            # one vote is one label, whatever the policy
            cell = "k1/soft" if k == 1 else f"{group}/{policy}"
            cells.append(_shown(results.mean(cell, ours.LOSS), theirs))
        rows.append((policy, *cells))
    heads = ("", *(str(k) for k in KS), "all")
    return Table("Soft NLL by votes kept per image", heads, _known(rows), HEARSAY)


def significance(results: Results) -> Table:
    """Every comparison with soft, one by one and as a family."""
    rows: list[tuple[str, ...]] = []
    for one in ours.compared(results):
        cell = f"k{one.k}/{one.policy}"
        gain = results.difference(cell, f"k{one.k}/soft", ours.LOSS)
        printed = published.P_VALUES[one.policy][one.k]
        shown = (f"{one.p:.4f}", f"{one.adjusted:.3f}", f"{printed:.3f}")
        rows.append((one.policy, str(one.k), str(one.seeds), _shown(gain), *shown))
    note = (
        "One-sided Wilcoxon tests over paired seeds, and Holm's correction for their number. With "
        "five seeds the smallest p there is, is 1/32: whatever the runs say, none of twelve can "
        "stay below .05. With ten it is 1/1024."
    )
    heads = ("", "votes", "seeds", "soft NLL minus soft's", "p", "p, Holm", "p, printed")
    return Table("Single votes against soft labels", heads, rows, note)


def distance(results: Results) -> Table:
    """What was taught: total variation from all people's shares."""
    rows = []
    for policy in (*POLICIES, *ABLATIONS):
        cells = []
        for group in GROUPS:
            both = (
                results.mean(f"{group}/{policy}", f"{what}/total-variation")
                for what in ("target", "taught")
            )
            means = [one.value for one in both if one is not None]
            cells.append(" / ".join(f"{mean:.3f}" for mean in means) or "–")
        rows.append((policy, *cells))
    note = (
        "Mean total variation from the shares of all votes: of the target, which the policy "
        "delivers in the long run, and of the mean label of the epochs that were run."
    )
    heads = ("", *(str(k) for k in KS), "all")
    return Table("How far the labels are from all people", heads, _known(rows), note)


def long(results: Results) -> Table:
    """Enough epochs for every vote."""
    rows = []
    for policy in (*POLICIES, *ABLATIONS):
        cell = f"{LONG}/{policy}"
        rows.append((policy, *(_shown(results.mean(cell, f"10h/{metric}")) for metric in SHOWN)))
    note = "After 64 epochs every one of an image's 47 to 63 votes has had its turn."
    return Table("All votes, 64 epochs", ("", *SHOWN.values()), _known(rows), note)


FLAT = {
    "flat/lambda-max": "largest eigenvalue",
    "flat/trace": "trace",
    "flat/trace-error": "its standard error in a run",
    "flat/sam": "SAM sharpness",
    "flat/loss": "loss there",
    "flat/accuracy": "accuracy there",
    "10h/accuracy": "accuracy, held out",
}


def flatness(results: Results) -> Table:
    """Curvature, never without accuracy."""
    rows = []
    for group in ("all", "k5"):
        for policy in (*POLICIES, "shuffled"):
            cell = f"{group}/{policy}"
            both = published.CURVATURE.get(policy, ()) if group == "all" else ()
            theirs = dict(zip(FLAT, both, strict=False))
            cells = (_shown(results.mean(cell, score), theirs.get(score)) for score in FLAT)
            rows.append((cell, *cells))
    note = (
        "On 250 training pictures, soft cross-entropy to all votes for every network, evaluation "
        f"mode. Curvature says little without the accuracy beside it. {HEARSAY}"
    )
    return Table("Flatness", ("", *FLAT.values()), _known(rows), note)


def detection(results: Results) -> Table:
    """Every score on every set, soft beside single votes."""
    policies = ("soft", "sls", "multipass", "majority")
    rows = []
    for place in PLACES:
        for score in SCORES:
            name = f"ood/{place}/{score}"
            cells = [results.mean(f"all/{policy}", f"{name}/auroc") for policy in policies]
            cells += [results.difference("all/sls", "all/soft", f"{name}/{m}") for m in MEASURES]
            rows.append((f"{place}, {score}", *map(_shown, cells)))
    heads = ("AUROC", *policies, *(f"sls minus soft, {measure}" for measure in MEASURES))
    note = "500 pictures held out against 500 from outside; AUROC and AUPR high, FPR95 low."
    return Table("Pictures from outside", heads, _known(rows), note)


def _known(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Rows with a number of ours."""
    return [row for row in rows if not all(cell.startswith("–") for cell in row[1:])]


def _shown(score: Score | None, theirs: float | None = None) -> str:
    """``0.512 ±0.010 (0.5096)``: curvatures are in the hundreds and gains in the thousandths, so
    that the interval says how many digits mean something: two of its own."""
    width = math.nan if score is None else score.half
    digits = 4 if not width > 0 else max(0, min(5, 1 - math.floor(math.log10(width))))
    mine = shown(score, f".{digits}f", f".{digits}f")
    return mine if theirs is None else f"{mine} ({theirs:g})".replace("-", "−")
