"""What Collins, Bhatt & Weller 2022 say of their data, and what else was measured on the released
files, beside what comes out of them here.

Numbers of the paper are compared to the digits that were printed.  "Released files" are numbers
measured on them before, independently of this code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from softlabel.papers.claims import Claim, Published, Results
from softlabel.papers.collins2022 import released as here
from softlabel.papers.collins2022.released import Numbers, Released, released
from softlabel.tables import Score

FILES = "released files"
NO_RAW_VOTES = "the raw votes of CIFAR-10H with their times are not in the data folder"


@dataclass(frozen=True, eq=False)
class Group:
    """Numbers that one function finds: how each is called, its value, and to how many decimals;
    none for a whole number."""

    where: str
    found: Callable[[Released], Numbers]
    expected: Mapping[str, tuple[float, int | None]]
    n: int  # answers, images or people that they are of


PRINTED = (
    Group(
        "section 4",
        here.counted,
        {
            "people": (248, None),
            "first answers": (6200, None),
            "images": (1000, None),
            "batches": (40, None),
            "pages of a session": (27, None),
            "repeats of a session": (2, None),
            "ambiguous images (10H entropy at least 0.25)": (886, None),
            "easy images of most batches": (3, None),
        },
        6723,
    ),
    Group(
        "section 3",
        here.split,
        {
            "share of images with votes on at most two classes": (0.772, 3),
            "share of votes for the given class": (0.95, 2),
        },
        10_000,
    ),
    Group(
        "section 4",
        here.compared,
        {
            "entropy correlation": (0.596, 3),
            "Wasserstein distance (of values)": (0.028, 3),
        },
        1000,
    ),
    Group(
        "section 4",
        here.accuracy,
        {"accuracy, first class": (0.84, 2), "accuracy, one of two classes": (0.92, 2)},
        248,
    ),
    Group(
        "section 4",
        here.steadiness,
        {
            "share of pairs with another top class": (0.07, 2),
            "mean change of the chance, points": (6, 0),
        },
        496,
    ),
    Group("appendix", here.times, {"median seconds per answer": (32, 0)}, 6723),
    Group(
        "figures 2, 3, 4, 8 and 9",
        here.shown,
        {
            "figure 2: classes of one answer's label (image 405) as derived by hand": (10, None),
            "figure 3: there is a near-hard automobile of 10H that is a quarter truck in 10S": (
                1,
                None,
            ),
            "figure 4: of frog and airplane, classes among the ten largest distances": (2, None),
            "figure 8: of dog, frog, bird, classes of the three largest distances, in order": (
                3,
                None,
            ),
            "figure 9: of truck, dog, airplane, classes with near-hard labels made soft": (
                3,
                None,
            ),
        },
        1000,
    ),
    Group(
        "tables 4 and 5, figure 10",
        here.costs,
        {
            "seconds per input": (6.4, 1),
            "t1-unif, one answer: seconds": (12.8, 1),
            "t1-clamp, one answer: seconds": (19.2, 1),
            "t2-unif, one answer: seconds": (25.6, 1),
            "t2-clamp, one answer: seconds": (32.0, 1),
            "select-top-2, one answer: seconds": (12.8, 1),
            "t1-unif, 6 answers: seconds": (76.8, 1),
            "t1-clamp, 6 answers: seconds": (115.2, 1),
            "t2-unif, 6 answers: seconds": (153.6, 1),
            "t2-clamp, 6 answers: seconds": (192.0, 1),
            "select-top-2, 6 answers: seconds": (76.8, 1),
            "51 votes: seconds": (91.8, 1),
            "annotators of CIFAR-10H per annotator": (8.5, 1),
        },
        1,
    ),
)

MEASURED = (
    Group(
        FILES,
        here.counted,
        {
            "answers": (6723, None),
            "answers, a session that stands there twice counted once": (6696, None),
            "repeated answers": (496, None),
            "sessions that stand there twice": (1, None),
            "images in a batch": (25, None),
            "batches with 6 people": (32, None),
            "batches with 7 people": (8, None),
            "easy images (10H entropy at most 0.1)": (114, None),
            "batches with 3 easy images": (38, None),
            "batches without easy images": (2, None),
        },
        6723,
    ),
    Group(
        FILES,
        here.split,
        {
            "votes": (511_000, None),
            "fewest votes of an image": (47, None),
            "mean votes of an image": (51.1, 1),
            "most votes of an image": (63, None),
            "images with votes on one class": (4393, None),
            "images with votes on two classes": (3322, None),
            "images to learn from": (7000, None),
            "images to be tested on": (3000, None),
            "relabelled images to learn from": (1000, None),
            "relabelled images to be tested on": (0, None),
            "ambiguous images": (2064, None),
            "ambiguous images to learn from": (1461, None),
            "ambiguous images to be tested on": (603, None),
        },
        10_000,
    ),
    Group(
        FILES,
        here.times,
        {
            "mean seconds per answer": (43.53, 2),
            "median seconds per first answer": (32.43, 2),
            "median seconds per repeated answer": (26.58, 2),
            "median seconds per first answer to an image shown again": (33.23, 2),
            "mean minutes per session": (26.98, 2),
            "median minutes per session": (23.49, 2),
            "people who passed the quiz at once": (235, None),
            "people who passed the quiz at the second attempt": (12, None),
            "people who passed the quiz at the third attempt": (1, None),
        },
        6723,
    ),
    Group(
        FILES,
        here.steadiness,
        {
            "pairs": (496, None),
            "pairs with another top class": (34, None),
            "median change of the chance, points": (0, None),
            "standard deviation of the change, points": (10.1, 1),
            "mean total variation of the labels": (0.122, 3),
            "median total variation of the labels": (0.076, 3),
        },
        496,
    ),
    Group(
        FILES,
        here.survivors,
        {
            "people with one contradiction": (40, None),
            "people with more contradictions": (0, None),
            "people with one first chance of zero": (6, None),
            "people with one of each": (2, None),
            "people below 75 % accuracy": (33, None),
            "of these with an error": (0, None),
            "chances out of range": (0, None),
            "people who named a class twice": (28, None),
            "people whom the paper's rule would exclude": (0, None),
            "people whom the code's rule would exclude": (0, None),
        },
        248,
    ),
    Group(
        FILES,
        here.odd_answers,
        {
            "chances sum to 100": (4263, None),
            "chances sum to less": (1786, None),
            "chances sum to more": (674, None),
            "no alternative": (3115, None),
            "an alternative without a chance": (10, None),
            "the same class twice": (153, None),
            "the second chance above the first": (36, None),
            "a second chance of zero": (4, None),
            "the first class ruled out": (26, None),
            "the second class ruled out": (19, None),
            "nothing ruled out": (136, None),
            "everything ruled out": (5, None),
            "chances that look like shares of one": (4, None),
            "mass left and nothing possible": (482, None),
            "the spread acts": (1531, None),
            "share of chances that are no multiple of 5": (0.1043, 4),
        },
        6723,
    ),
    Group(
        FILES,
        here.rebuilt,
        {
            "released labels that ours equal to 1e-9": (6723, None),
            "top class displaced by naming it twice": (15, None),
            "images with such a label": (13, None),
            "top class not the one named first, otherwise": (274, None),
        },
        6723,
    ),
    Group(
        FILES,
        here.compared,
        {
            "Wasserstein distance (of class numbers)": (0.5233, 4),
            "total variation": (0.1597, 4),
            "mean entropy": (0.6934, 4),
            "mean entropy of CIFAR-10H": (0.4619, 4),
            "T2-clamp, first answers: entropy correlation": (0.6293, 4),
            "T2-clamp, first answers: Wasserstein distance": (0.0270, 4),
            "T2-clamp, first answers: total variation": (0.1594, 4),
            "T2-unif, first answers: entropy correlation": (0.6304, 4),
            "T2-unif, first answers: Wasserstein distance": (0.0278, 4),
            "T1-clamp, first answers: entropy correlation": (0.6279, 4),
            "T1-clamp, first answers: Wasserstein distance": (0.0263, 4),
            "T1-unif, first answers: entropy correlation": (0.6325, 4),
            "T1-unif, first answers: Wasserstein distance": (0.0329, 4),
            "T2-clamp, spread 0, first answers: entropy correlation": (0.6332, 4),
            "T2-clamp, spread 0, first answers: Wasserstein distance": (0.0257, 4),
            "T2-clamp, spread 0.2, first answers: entropy correlation": (0.6158, 4),
            "T2-clamp, spread 0.2, first answers: Wasserstein distance": (0.0291, 4),
        },
        1000,
    ),
    Group(
        f"figure 5, {FILES}",
        here.possible,
        {
            **{
                f"labels with {k} possible classes": (count, None)
                for k, count in enumerate(
                    (2375, 1856, 760, 737, 298, 347, 70, 64, 77, 139), start=1
                )
            },
            "ambiguous images: labels": (5957, None),
            "ambiguous images: mean of the largest chance": (0.818, 3),
            "ambiguous images: mean number of possible classes": (2.767, 3),
            "easy images: labels": (766, None),
            "easy images: mean of the largest chance": (0.9469, 4),
            "easy images: mean number of possible classes": (1.946, 3),
        },
        6723,
    ),
    Group(
        FILES,
        here.shown,
        {
            "figures 4 and 8: image of distance number 1": (2047, None),
            "figures 4 and 8: image of distance number 2": (861, None),
            "figures 4 and 8: image of distance number 3": (9681, None),
            "figures 4 and 8: image of distance number 4": (6965, None),
            "figures 4 and 8: distance number 1": (0.1291, 4),
            "figures 4 and 8: distance number 2": (0.1235, 4),
            "figures 4 and 8: distance number 3": (0.1136, 4),
            "figures 4 and 8: distance number 4": (0.1077, 4),
        },
        1000,
    ),
    Group(
        "cost model",
        here.costs,
        {
            "votes in the time of one rich answer": (17.8, 1),
            "6 rich answers in units of 51 votes": (2.09, 2),
            "votes in the time of 3 rich answers": (53, 0),
            "dollars per page": (0.124, 3),
        },
        1,
    ),
)
# what the two numbers of section 4 are on the release, where the printed ones do not come out
AGAIN = Group(
    FILES,
    here.compared,
    {"entropy correlation": (0.6243, 4), "Wasserstein distance (of values)": (0.02696, 5)},
    1000,
)
# one random draw each: ours is a mean over 20 with the range of 95 % of them
DRAWN = {
    **{f"T2-clamp, {m}": r for m, r in enumerate((0.313, 0.456, 0.525, 0.564, 0.600, 0.612), 1)},
    **{f"CIFAR-10H, {2**i}": r for i, r in enumerate((0.377, 0.559, 0.708, 0.845, 0.948), 1)},
}


def facts() -> list[Claim]:
    """All of them, the paper's own first."""
    found = [claim for group in PRINTED for claim in _claims(group, "paper")]
    found.append(_vote_seconds())
    found += [claim for group in (*MEASURED, AGAIN) for claim in _claims(group, "files")]
    return [*found, *_drawn()]


def _claims(group: Group, source: str) -> Iterator[Claim]:
    for name, (value, digits) in group.expected.items():
        room = 0.0 if digits is None else 0.5 * 10.0**-digits
        yield Claim(
            f"{source}: {name}",
            group.where,
            name,
            "exact",
            partial(_number, group=group, name=name),
            Published(value, recounted=source == "files"),
            tolerance=room + 1e-9,
        )


def _number(results: Results, group: Group, name: str) -> Score | None:
    value = _found(group.found).get(name)
    return None if value is None else Score(float(value), float(value), float(value), group.n)


@cache
def _found(what: Callable[[Released], Numbers]) -> Numbers:
    return what(released())


def _vote_seconds() -> Claim:
    def ours(results: Results) -> Score | None:
        value = here.vote_seconds(released())
        return None if value is None else Score(value, value, value, 1000)

    return Claim(
        "paper: median seconds per vote",
        "appendix",
        "median seconds of a CIFAR-10H vote on these images",
        "exact",
        ours,
        Published(1.8),
        tolerance=0.05,
        reason=NO_RAW_VOTES,
    )


def _drawn() -> Iterator[Claim]:
    for name, r in DRAWN.items():
        yield Claim(
            f"files: entropy correlation of {name} answers",
            FILES,
            f"entropy correlation with CIFAR-10H: {name} answers per image",
            "value",
            partial(_of_draws, name=name),
            Published(r, recounted=True),
            tolerance=0.0005,
        )


def _of_draws(results: Results, name: str) -> Score:
    values = np.array(_draws()[name])
    low, high = np.quantile(values, [0.025, 0.975])
    return Score(float(values.mean()), float(low), float(high), len(values))


@cache
def _draws() -> dict[str, list[float]]:
    return here.by_number(released())
