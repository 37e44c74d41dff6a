"""What Collins, Bhatt & Weller 2022 say about their data, and what else is in the released files.

A fact is a number of the paper, compared to the printed digits, or one that was counted in the
released files before, independently of this code.  With each stands how it is computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from softlabel import metrics
from softlabel.annotators import find_repeats, measure_rounding
from softlabel.metrics import Cost
from softlabel.papers.claims import Claim, Published, Results
from softlabel.papers.collins2022.released import HIGH, LOW, Released, released
from softlabel.tables import Bools, Score

COST = Cost()
FILES = "released files"
NO_RAW_VOTES = "the raw votes of CIFAR-10H with their times are not in the data folder"


class Fact(NamedTuple):
    """A number, the tolerance to which it is compared, and how it is computed."""

    value: float
    tolerance: float
    compute: Callable[[Released], float | None]
    reason: str = ""  # why it may be untested


Facts = Mapping[str, Fact]


def fact(printed: str, compute: Callable[[Released], float | None], reason: str = "") -> Fact:
    """Make a fact: compared to the printed decimals, or exactly if there is no decimal point."""
    _, point, decimals = printed.partition(".")
    room = 0.5 * 10.0 ** -len(decimals) if point else 0.0
    return Fact(float(printed), room + 1e-9, compute, reason)


def _compare(correlation: str, distance: str) -> Facts:
    return {
        "entropy correlation": fact(correlation, Released.correlate),
        "Wasserstein distance (of values)": fact(distance, lambda d: d.apart.mean()),
    }


def _compare_first(name: str, correlation: str, distance: str) -> Facts:
    return {
        f"{name}, first answers: entropy correlation": fact(
            correlation, lambda d: d.correlate(name)
        ),
        f"{name}, first answers: Wasserstein distance": fact(
            distance, lambda d: d.compare(metrics.w1_values, name)
        ),
    }


def _count_possible(name: str, labels: str, top: str, number: str) -> Facts:
    def rows(d: Released) -> Bools:
        return d.ambiguous if name == "ambiguous" else ~d.ambiguous

    return {
        f"{name} images: labels": fact(labels, lambda d: rows(d).sum()),
        f"{name} images: mean of the largest chance": fact(top, lambda d: d.top[rows(d)].mean()),
        f"{name} images: mean number of possible classes": fact(
            number, lambda d: d.possible[rows(d)].mean()
        ),
    }


# by where they are stated, of how many answers, images or people they are, and their subject
PRINTED: Mapping[tuple[str, int, str], Facts] = {
    ("section 4", 6723, "counts"): {
        "people": fact("248", lambda d: d.persons),
        "first answers": fact("6200", lambda d: len(d.first)),
        "images": fact("1000", lambda d: len(d.images)),
        "batches": fact("40", lambda d: len(d.arrays["batches"])),
        "pages of a session": fact("27", lambda d: len(d.unique) / d.persons),
        "repeats of a session": fact("2", lambda d: (d.repeat & d.once).sum() / d.persons),
        "ambiguous images (10H entropy at least 0.25)": fact(
            "886", lambda d: (d.unsure >= HIGH).sum()
        ),
        "easy images of most batches": fact("3", lambda d: int(np.bincount(d.easy).argmax())),
    },
    ("section 3", 10_000, "votes"): {
        "share of images with votes on at most two classes": fact(
            "0.772", lambda d: (d.voted <= 2).mean()
        ),
        "share of votes for the given class": fact("0.95", Released.share_of_given_class),
    },
    ("section 4", 1000, "labels"): _compare("0.596", "0.028"),
    ("section 4", 248, "accuracy"): {
        "accuracy, first class": fact("0.84", lambda d: d.score_people(1)),
        "accuracy, one of two classes": fact("0.92", lambda d: d.score_people(2)),
    },
    ("section 4", 496, "repeats"): {
        "share of pairs with another top class": fact("0.07", lambda d: d.stability.change_rate),
        "mean change of the chance, points": fact("6.", lambda d: d.stability.mean_points),
    },
    ("appendix", 6723, "times"): {
        "median seconds per answer": fact("32.", lambda d: np.median(d.seconds)),
    },
    ("figures 2, 3, 4, 8 and 9", 1000, "figures"): {
        "figure 2: classes of one answer's label (image 405) as derived by hand": fact(
            "10", Released.count_by_hand
        ),
        "figure 3: there is a near-hard automobile of 10H that is a quarter truck in 10S": fact(
            "1", Released.has_half_truck
        ),
        "figure 4: of frog and airplane, classes among the ten largest distances": fact(
            "2", lambda d: len({"frog", "airplane"} & set(d.worst(10)))
        ),
        "figure 8: of dog, frog, bird, classes of the three largest distances, in order": fact(
            "3", lambda d: sum(map(str.__eq__, d.worst(3), ("dog", "frog", "bird")))
        ),
        "figure 9: of truck, dog, airplane, classes with near-hard labels made soft": fact(
            "3", lambda d: len({"truck", "dog", "airplane"} & d.softened())
        ),
    },
    ("tables 4 and 5, figure 10", 1, "costs"): {
        "seconds per input": fact("6.4", lambda d: 32 / 5),
        **{
            f"{label}, {words}: seconds": fact(
                seconds[place], partial(lambda d, label, n: COST.item(label, n), label=label, n=n)
            )
            for place, (n, words) in enumerate(((1, "one answer"), (6, "6 answers")))
            for label, seconds in {
                "t1-unif": ("12.8", "76.8"),
                "t1-clamp": ("19.2", "115.2"),
                "t2-unif": ("25.6", "153.6"),
                "t2-clamp": ("32.0", "192.0"),
                "select-top-2": ("12.8", "76.8"),
            }.items()
        },
        "51 votes: seconds": fact("91.8", lambda d: COST.item("hard", 51)),
        "annotators of CIFAR-10H per annotator": fact("8.5", lambda d: 51 / 6),
    },
    ("appendix", 1000, "votes' times"): {
        "median seconds per vote": fact("1.8", Released.vote_seconds, NO_RAW_VOTES),
    },
}

MEASURED: Mapping[tuple[str, int, str], Facts] = {
    (FILES, 6723, "counts"): {
        "answers": fact("6723", lambda d: len(d.said)),
        "answers, a session that stands there twice counted once": fact(
            "6696", lambda d: len(d.unique)
        ),
        "repeated answers": fact("496", lambda d: (d.repeat & d.once).sum()),
        "sessions that stand there twice": fact("1", lambda d: d.count_people(~d.once)),
        "images in a batch": fact("25", lambda d: d.arrays["batches"].shape[1]),
        "batches with 6 people": fact("32", lambda d: d.count_batches(6)),
        "batches with 7 people": fact("8", lambda d: d.count_batches(7)),
        "easy images (10H entropy at most 0.1)": fact("114", lambda d: (d.unsure <= LOW).sum()),
        "batches with 3 easy images": fact("38", lambda d: d.easy.count(3)),
        "batches without easy images": fact("2", lambda d: d.easy.count(0)),
    },
    (FILES, 10_000, "votes"): {
        "votes": fact("511000", lambda d: d.per_image.sum()),
        "fewest votes of an image": fact("47", lambda d: d.per_image.min()),
        "mean votes of an image": fact("51.1", lambda d: d.per_image.mean()),
        "most votes of an image": fact("63", lambda d: d.per_image.max()),
        "images with votes on one class": fact("4393", lambda d: (d.voted == 1).sum()),
        "images with votes on two classes": fact("3322", lambda d: (d.voted == 2).sum()),
        "images to learn from": fact("7000", lambda d: len(d.train)),
        "images to be tested on": fact("3000", lambda d: len(d.test)),
        "relabelled images to learn from": fact("1000", lambda d: np.isin(d.images, d.train).sum()),
        "relabelled images to be tested on": fact("0", lambda d: np.isin(d.images, d.test).sum()),
        "ambiguous images": fact("2064", lambda d: (d.entropy >= HIGH).sum()),
        "ambiguous images to learn from": fact(
            "1461", lambda d: (d.entropy[d.train] >= HIGH).sum()
        ),
        "ambiguous images to be tested on": fact(
            "603", lambda d: (d.entropy[d.test] >= HIGH).sum()
        ),
    },
    (FILES, 6723, "times"): {
        "mean seconds per answer": fact("43.53", lambda d: d.seconds.mean()),
        "median seconds per first answer": fact("32.43", lambda d: np.median(d.seconds[~d.repeat])),
        "median seconds per repeated answer": fact(
            "26.58", lambda d: np.median(d.seconds[d.once & d.repeat])
        ),
        "median seconds per first answer to an image shown again": fact(
            "33.23", lambda d: np.median(d.seconds[d.once][find_repeats(d.unique)[0]])
        ),
        "mean minutes per session": fact("26.98", lambda d: d.arrays["minutes"].mean()),
        "median minutes per session": fact("23.49", lambda d: np.median(d.arrays["minutes"])),
        **{
            f"people who passed the quiz at {words}": fact(
                people,
                partial(lambda d, number: (d.arrays["quizzes"] == number).sum(), number=number),
            )
            for number, words, people in (
                (1, "once", "235"),
                (2, "the second attempt", "12"),
                (3, "the third attempt", "1"),
            )
        },
    },
    (FILES, 496, "repeats"): {
        "pairs": fact("496", lambda d: d.stability.pairs),
        "pairs with another top class": fact("34", lambda d: d.stability.changed),
        "median change of the chance, points": fact("0", lambda d: np.median(d.stability.points)),
        "standard deviation of the change, points": fact(
            "10.1", lambda d: d.stability.points.std()
        ),
        "mean total variation of the labels": fact("0.122", lambda d: d.moved.mean()),
        "median total variation of the labels": fact("0.076", lambda d: np.median(d.moved)),
    },
    (FILES, 248, "people"): {
        "people with one contradiction": fact("40", lambda d: (d.wrong == 1).sum()),
        "people with more contradictions": fact("0", lambda d: (d.wrong > 1).sum()),
        "people with one first chance of zero": fact("6", lambda d: (d.zero == 1).sum()),
        "people with one of each": fact("2", lambda d: ((d.wrong > 0) & (d.zero > 0)).sum()),
        "people below 75 % accuracy": fact("33", lambda d: d.poor.sum()),
        "of these with an error": fact("0", lambda d: (d.poor & (d.wrong + d.zero > 0)).sum()),
        "chances out of range": fact("0", lambda d: d.flags["out-of-range"].sum()),
        "people who named a class twice": fact("28", lambda d: d.count_people(d.twice & d.once)),
        "people whom the paper's rule would exclude": fact(
            "0", lambda d: d.count_excluded("paper")
        ),
        "people whom the code's rule would exclude": fact(
            "0", lambda d: d.count_excluded("reference")
        ),
    },
    (FILES, 6723, "odd answers"): {
        "chances sum to 100": fact("4263", lambda d: (d.total == 100).sum()),
        "chances sum to less": fact("1786", lambda d: (d.total < 100).sum()),
        "chances sum to more": fact("674", lambda d: d.flags["sum-above-100"].sum()),
        "no alternative": fact("3115", lambda d: (d.second < 0).sum()),
        "an alternative without a chance": fact(
            "10", lambda d: ((d.second >= 0) & np.isnan(d.said.percent[:, 1])).sum()
        ),
        "the same class twice": fact("153", lambda d: d.twice.sum()),
        "the second chance above the first": fact(
            "36", lambda d: d.flags["second-above-first"].sum()
        ),
        "a second chance of zero": fact("4", lambda d: (d.said.percent[:, 1] == 0).sum()),
        "the first class ruled out": fact("26", lambda d: (~d.is_possible(0)).sum()),
        "the second class ruled out": fact(
            "19", lambda d: (~d.is_possible(1) & (d.second >= 0)).sum()
        ),
        "nothing ruled out": fact("136", lambda d: d.flags["none-ruled-out"].sum()),
        "everything ruled out": fact("5", lambda d: d.flags["all-ruled-out"].sum()),
        "chances that look like shares of one": fact("4", lambda d: d.flags["unit-scale"].sum()),
        "mass left and nothing possible": fact(
            "482", lambda d: (~d.used_up & (d.others == 0)).sum()
        ),
        "the spread acts": fact("1531", lambda d: (d.used_up & (d.others != 0)).sum()),
        "share of chances that are no multiple of 5": fact(
            "0.1043", lambda d: 1 - measure_rounding(d.unique).multiple_of_5
        ),
    },
    (FILES, 6723, "released labels"): {
        "released labels that ours equal to 1e-9": fact("6723", Released.count_rebuilt),
        "top class displaced by naming it twice": fact(
            "15", lambda d: (d.displaced & d.twice).sum()
        ),
        "images with such a label": fact(
            "13", lambda d: len(set(d.said.item[d.displaced & d.twice].tolist()))
        ),
        "top class not the one named first, otherwise": fact(
            "274", lambda d: (d.displaced & ~d.twice).sum()
        ),
    },
    (FILES, 1000, "labels"): {
        "Wasserstein distance (of class numbers)": fact(
            "0.5233", lambda d: d.compare(metrics.w1_index)
        ),
        "total variation": fact("0.1597", lambda d: d.compare(metrics.total_variation)),
        "mean entropy": fact("0.6934", lambda d: metrics.entropy(d.label).mean()),
        "mean entropy of CIFAR-10H": fact("0.4619", lambda d: d.unsure.mean()),
        **_compare_first("T2-clamp", "0.6293", "0.0270"),
        "T2-clamp, first answers: total variation": fact(
            "0.1594", lambda d: d.compare(metrics.total_variation, "T2-clamp")
        ),
        **_compare_first("T2-unif", "0.6304", "0.0278"),
        **_compare_first("T1-clamp", "0.6279", "0.0263"),
        **_compare_first("T1-unif", "0.6325", "0.0329"),
        **_compare_first("T2-clamp, spread 0", "0.6332", "0.0257"),
        **_compare_first("T2-clamp, spread 0.2", "0.6158", "0.0291"),
    },
    (f"figure 5, {FILES}", 6723, "classes with mass"): {
        **{
            f"labels with {k} possible classes": fact(
                str(labels), partial(lambda d, k: (d.possible == k).sum(), k=k)
            )
            for k, labels in enumerate((2375, 1856, 760, 737, 298, 347, 70, 64, 77, 139), start=1)
        },
        **_count_possible("ambiguous", "5957", "0.818", "2.767"),
        **_count_possible("easy", "766", "0.9469", "1.946"),
    },
    (FILES, 1000, "distances"): {
        **{
            f"figures 4 and 8: image of distance number {i + 1}": fact(
                image, partial(lambda d, i: d.images[d.order[i]], i=i)
            )
            for i, image in enumerate(("2047", "861", "9681", "6965"))
        },
        **{
            f"figures 4 and 8: distance number {i + 1}": fact(
                distance, partial(lambda d, i: d.apart[d.order[i]], i=i)
            )
            for i, distance in enumerate(("0.1291", "0.1235", "0.1136", "0.1077"))
        },
    },
    ("cost model", 1, "costs"): {
        "votes in the time of one rich answer": fact(
            "17.8", lambda d: COST.votes_for_the_time_of("t2-clamp")
        ),
        "6 rich answers in units of 51 votes": fact(
            "2.09", lambda d: COST.item("t2-clamp", 6) / COST.item("hard", 51)
        ),
        "votes in the time of 3 rich answers": fact(
            "53.", lambda d: COST.votes_for_the_time_of("t2-clamp", 3)
        ),
        "dollars per page": fact("0.124", lambda d: 3.34 / 27),
    },
    # the two numbers of section 4 on the release, where the printed ones do not come out
    (FILES, 1000, "labels of section 4"): _compare("0.6243", "0.02696"),
}
# one random draw each: ours is a mean over 20 with the range of 95 % of them
DRAWN = {
    **{f"T2-clamp, {m}": r for m, r in enumerate((0.313, 0.456, 0.525, 0.564, 0.600, 0.612), 1)},
    **{f"CIFAR-10H, {2**i}": r for i, r in enumerate((0.377, 0.559, 0.708, 0.845, 0.948), 1)},
}


def facts() -> list[Claim]:
    """Return all facts, the paper's own first."""
    exact = [
        Claim(
            f"{source}: {name}",
            where,
            name,
            "exact",
            partial(_compute, fact=one, n=n),
            Published(one.value, recounted=source == "files"),
            one.tolerance,
            one.reason,
        )
        for source, groups in (("paper", PRINTED), ("files", MEASURED))
        for (where, n, _), group in groups.items()
        for name, one in group.items()
    ]
    drawn = [
        Claim(
            f"files: entropy correlation of {name} answers",
            FILES,
            f"entropy correlation with CIFAR-10H: {name} answers per image",
            "value",
            partial(_average_draws, name=name),
            Published(r, recounted=True),
            tolerance=0.0005,
        )
        for name, r in DRAWN.items()
    ]
    return [*exact, *drawn]


def _compute(results: Results, fact: Fact, n: int) -> Score | None:
    value = fact.compute(released())
    return None if value is None else Score(float(value), float(value), float(value), n)


def _average_draws(results: Results, name: str) -> Score:
    values = np.array(released().draws[name])
    low, high = np.quantile(values, [0.025, 0.975])
    return Score(float(values.mean()), float(low), float(high), len(values))
