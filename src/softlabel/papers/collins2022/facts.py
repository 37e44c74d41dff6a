"""What Collins, Bhatt & Weller 2022 say about their data, and what else is in the released files.

A fact is a number of the paper, compared to the printed digits, or one that was counted in the
released files before, independently of this code.  ``facts.toml`` has the numbers; the functions
here, one for each subject, compute them again by the same names.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path

import numpy as np

from softlabel import metrics
from softlabel.annotators import find_repeats, measure_rounding
from softlabel.metrics import Cost
from softlabel.papers.claims import Claim, Published, Results
from softlabel.papers.collins2022.released import CONSTRUCTIONS, HIGH, LOW, Released, released
from softlabel.tables import Score

NUMBERS = tomllib.loads(Path(__file__).with_name("facts.toml").read_text("utf-8"))
NO_RAW_VOTES = "the raw votes of CIFAR-10H with their times are not in the data folder"
Values = Mapping[str, float | None]


def facts() -> list[Claim]:
    """Return all facts, the paper's own first."""
    exact = [
        Claim(
            f"{source}: {name}",
            group["where"],
            name,
            "exact",
            partial(_compute, subject=group["subject"], name=name, n=group["n"]),
            Published(float(printed), recounted=source == "files"),
            _tolerance(printed),
            NO_RAW_VOTES if name == "median seconds per vote" else "",
        )
        for source in ("paper", "files")
        for group in NUMBERS[source]
        for name, printed in group["numbers"].items()
    ]
    drawn = [
        Claim(
            f"files: entropy correlation of {name} answers",
            "released files",
            f"entropy correlation with CIFAR-10H: {name} answers per image",
            "value",
            partial(_average_draws, name=name),
            Published(r, recounted=True),
            tolerance=0.0005,
        )
        for name, r in NUMBERS["draws"].items()
    ]
    return [*exact, *drawn]


def _tolerance(printed: str) -> float:
    """Compare to the printed decimals, or exactly if there is no decimal point."""
    _, point, decimals = printed.partition(".")
    return (0.5 * 10.0 ** -len(decimals) if point else 0.0) + 1e-9


def _compute(results: Results, subject: str, name: str, n: int) -> Score | None:
    value = _values(subject)[name]
    return None if value is None else Score(float(value), float(value), float(value), n)


@cache
def _values(subject: str) -> Values:
    return SUBJECTS[subject](released())


def _average_draws(results: Results, name: str) -> Score:
    """Average 20 draws, with the range of 95 % of them."""
    values = np.array(released().draws[name])
    low, high = np.quantile(values, [0.025, 0.975])
    return Score(float(values.mean()), float(low), float(high), len(values))


# ── subjects ─────────────────────────────────────────────────────────────────────────────────


def _counts(d: Released) -> Values:
    return {
        "people": d.persons,
        "first answers": len(d.first),
        "images": len(d.images),
        "batches": len(d.arrays["batches"]),
        "pages of a session": len(d.unique) / d.persons,
        "repeats of a session": (d.repeat & d.once).sum() / d.persons,
        "ambiguous images (10H entropy at least 0.25)": (d.unsure >= HIGH).sum(),
        "easy images of most batches": int(np.bincount(d.easy).argmax()),
        "answers": len(d.said),
        "answers, a session that stands there twice counted once": len(d.unique),
        "repeated answers": (d.repeat & d.once).sum(),
        "sessions that stand there twice": d.count_people(~d.once),
        "images in a batch": d.arrays["batches"].shape[1],
        "batches with 6 people": d.count_batches(6),
        "batches with 7 people": d.count_batches(7),
        "easy images (10H entropy at most 0.1)": (d.unsure <= LOW).sum(),
        "batches with 3 easy images": d.easy.count(3),
        "batches without easy images": d.easy.count(0),
    }


def _votes(d: Released) -> Values:
    return {
        "share of images with votes on at most two classes": (d.voted <= 2).mean(),
        "share of votes for the given class": d.share_of_given_class(),
        "median seconds per vote": d.vote_seconds(),
        "votes": d.per_image.sum(),
        "fewest votes of an image": d.per_image.min(),
        "mean votes of an image": d.per_image.mean(),
        "most votes of an image": d.per_image.max(),
        "images with votes on one class": (d.voted == 1).sum(),
        "images with votes on two classes": (d.voted == 2).sum(),
        "images to learn from": len(d.train),
        "images to be tested on": len(d.test),
        "relabelled images to learn from": np.isin(d.images, d.train).sum(),
        "relabelled images to be tested on": np.isin(d.images, d.test).sum(),
        "ambiguous images": (d.entropy >= HIGH).sum(),
        "ambiguous images to learn from": (d.entropy[d.train] >= HIGH).sum(),
        "ambiguous images to be tested on": (d.entropy[d.test] >= HIGH).sum(),
    }


def _times(d: Released) -> Values:
    shown_again = find_repeats(d.unique)[0]
    minutes, quizzes = d.arrays["minutes"], d.arrays["quizzes"]
    return {
        "median seconds per answer": np.median(d.seconds),
        "mean seconds per answer": d.seconds.mean(),
        "median seconds per first answer": np.median(d.seconds[~d.repeat]),
        "median seconds per repeated answer": np.median(d.seconds[d.once & d.repeat]),
        "median seconds per first answer to an image shown again": np.median(
            d.seconds[d.once][shown_again]
        ),
        "mean minutes per session": minutes.mean(),
        "median minutes per session": np.median(minutes),
        "people who passed the quiz at once": (quizzes == 1).sum(),
        "people who passed the quiz at the second attempt": (quizzes == 2).sum(),
        "people who passed the quiz at the third attempt": (quizzes == 3).sum(),
    }


def _repeats(d: Released) -> Values:
    return {
        "share of pairs with another top class": d.stability.change_rate,
        "mean change of the chance, points": d.stability.mean_points,
        "pairs": d.stability.pairs,
        "pairs with another top class": d.stability.changed,
        "median change of the chance, points": np.median(d.stability.points),
        "standard deviation of the change, points": d.stability.points.std(),
        "mean total variation of the labels": d.moved.mean(),
        "median total variation of the labels": np.median(d.moved),
    }


def _people(d: Released) -> Values:
    return {
        "accuracy, first class": d.score_people(1),
        "accuracy, one of two classes": d.score_people(2),
        "people with one contradiction": (d.wrong == 1).sum(),
        "people with more contradictions": (d.wrong > 1).sum(),
        "people with one first chance of zero": (d.zero == 1).sum(),
        "people with one of each": ((d.wrong > 0) & (d.zero > 0)).sum(),
        "people below 75 % accuracy": d.poor.sum(),
        "of these with an error": (d.poor & (d.wrong + d.zero > 0)).sum(),
        "chances out of range": d.flags["out-of-range"].sum(),
        "people who named a class twice": d.count_people(d.twice & d.once),
        "people whom the paper's rule would exclude": d.count_excluded("paper"),
        "people whom the code's rule would exclude": d.count_excluded("reference"),
    }


def _answers(d: Released) -> Values:
    named_second = d.second >= 0
    displaced = d.displaced & d.twice
    return {
        "chances sum to 100": (d.total == 100).sum(),
        "chances sum to less": (d.total < 100).sum(),
        "chances sum to more": d.flags["sum-above-100"].sum(),
        "no alternative": (~named_second).sum(),
        "an alternative without a chance": (named_second & np.isnan(d.said.percent[:, 1])).sum(),
        "the same class twice": d.twice.sum(),
        "the second chance above the first": d.flags["second-above-first"].sum(),
        "a second chance of zero": (d.said.percent[:, 1] == 0).sum(),
        "the first class ruled out": (~d.is_possible(0)).sum(),
        "the second class ruled out": (~d.is_possible(1) & named_second).sum(),
        "nothing ruled out": d.flags["none-ruled-out"].sum(),
        "everything ruled out": d.flags["all-ruled-out"].sum(),
        "chances that look like shares of one": d.flags["unit-scale"].sum(),
        "mass left and nothing possible": (~d.used_up & (d.others == 0)).sum(),
        "the spread acts": (d.used_up & (d.others != 0)).sum(),
        "share of chances that are no multiple of 5": 1 - measure_rounding(d.unique).multiple_of_5,
        "released labels that ours equal to 1e-9": d.count_rebuilt(),
        "top class displaced by naming it twice": displaced.sum(),
        "images with such a label": len(set(d.said.item[displaced].tolist())),
        "top class not the one named first, otherwise": (d.displaced & ~d.twice).sum(),
    }


def _labels(d: Released) -> Values:
    values: dict[str, float] = {
        "entropy correlation": d.correlate(),
        "Wasserstein distance (of values)": d.apart.mean(),
        "Wasserstein distance (of class numbers)": d.compare(metrics.w1_index),
        "total variation": d.compare(metrics.total_variation),
        "mean entropy": metrics.entropy(d.label).mean(),
        "mean entropy of CIFAR-10H": d.unsure.mean(),
    }
    for name in CONSTRUCTIONS:
        first = f"{name}, first answers"
        values[f"{first}: entropy correlation"] = d.correlate(name)
        values[f"{first}: Wasserstein distance"] = d.compare(metrics.w1_values, name)
        values[f"{first}: total variation"] = d.compare(metrics.total_variation, name)
    for k in range(1, len(d.classes) + 1):
        values[f"labels with {k} possible classes"] = (d.possible == k).sum()
    for name, rows in (("ambiguous", d.ambiguous), ("easy", ~d.ambiguous)):
        values[f"{name} images: labels"] = rows.sum()
        values[f"{name} images: mean of the largest chance"] = d.top[rows].mean()
        values[f"{name} images: mean number of possible classes"] = d.possible[rows].mean()
    return values


def _figures(d: Released) -> Values:
    softened = len({"truck", "dog", "airplane"} & d.softened())
    values: dict[str, float] = {
        "figure 2: classes of one answer's label (image 405) as derived by hand": d.count_by_hand(),
        "figure 3: there is a near-hard automobile of 10H that is a quarter truck in 10S": (
            d.has_half_truck()
        ),
        "figure 4: of frog and airplane, classes among the ten largest distances": len(
            {"frog", "airplane"} & set(d.worst(10))
        ),
        "figure 8: of dog, frog, bird, classes of the three largest distances, in order": sum(
            map(str.__eq__, d.worst(3), ("dog", "frog", "bird"))
        ),
        "figure 9: of truck, dog, airplane, classes with near-hard labels made soft": softened,
    }
    for number, row in enumerate(d.order[:4], start=1):
        values[f"figures 4 and 8: image of distance number {number}"] = d.images[row]
        values[f"figures 4 and 8: distance number {number}"] = d.apart[row]
    return values


def _costs(d: Released) -> Values:
    cost = Cost()
    values = {
        "seconds per input": 32 / 5,
        "51 votes: seconds": cost.item("hard", 51),
        "annotators of CIFAR-10H per annotator": 51 / 6,
        "votes in the time of one rich answer": cost.votes_for_the_time_of("t2-clamp"),
        "6 rich answers in units of 51 votes": cost.item("t2-clamp", 6) / cost.item("hard", 51),
        "votes in the time of 3 rich answers": cost.votes_for_the_time_of("t2-clamp", 3),
        "dollars per page": 3.34 / 27,
    }
    for label in ("t1-unif", "t1-clamp", "t2-unif", "t2-clamp", "select-top-2"):
        values[f"{label}, one answer: seconds"] = cost.item(label, 1)
        values[f"{label}, 6 answers: seconds"] = cost.item(label, 6)
    return values


SUBJECTS: Mapping[str, Callable[[Released], Values]] = {
    "counts": _counts,
    "votes": _votes,
    "times": _times,
    "repeats": _repeats,
    "people": _people,
    "answers": _answers,
    "labels": _labels,
    "figures": _figures,
    "costs": _costs,
}
