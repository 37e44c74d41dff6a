"""What the released files of CIFAR-10S and CIFAR-10H say: plain numbers, by name, no training.

All of it is computed with the strategies and measures that everything else here uses; the labels
are the released ones, bug for bug, unless it says "first answers".
"""

from __future__ import annotations

from functools import cache, cached_property

import numpy as np

from softlabel import datasets, metrics, sampling
from softlabel.aggregate import Mean
from softlabel.annotators import (
    PRESETS,
    find_repeats,
    flag_answers,
    get_rules,
    judge,
    measure_rounding,
    measure_stability,
    repeat_distance,
)
from softlabel.construct import Clamp, Construct, Uniform, percents
from softlabel.metrics import Cost
from softlabel.tables import Annotations, Bools, Floats, Ints, Statements

Numbers = dict[str, float]
HIGH, LOW = 0.25, 0.1  # nats of CIFAR-10H entropy: ambiguous from here, easy up to there
NEAR_HARD, SOFT = 0.9, 0.5  # share of votes on one class; nats from which a label is soft


class Released:
    """The files, read once."""

    def __init__(self) -> None:
        self.data = datasets.cifar10s.load("all")
        self.votes = datasets.cifar10h.load("counts")
        assert self.data.statements is not None, "CIFAR-10S is statements"
        assert self.data.gold is not None, "the raw file has the classes"
        self.said: Statements = self.data.statements
        self.gold: Ints = self.data.gold
        self.arrays = self.data.arrays
        self.counts: Ints = self.votes.arrays["counts"]
        self.shares: Floats = self.counts / self.counts.sum(axis=1, keepdims=True)
        self.images: Ints = np.array([int(item) for item in self.data.index.items.tolist()])
        self.people: Floats = self.shares[self.images]

    @cached_property
    def unique(self) -> Statements:
        """One session stands in the file twice; here once."""
        return self.said.take(~self.arrays["duplicate"])

    @cached_property
    def first(self) -> Statements:
        """First presentations: no repeats either."""
        return self.said.take(~self.arrays["duplicate"] & ~self.arrays["is_repeat"])

    @cached_property
    def each(self) -> Annotations:
        """Every answer's label, as released."""
        return Clamp(mode="reference")(self.said)

    @cached_property
    def label(self) -> Floats:
        """(1000, 10) the mean label of each image."""
        return Mean()(self.each).probs

    @cached_property
    def flags(self) -> dict[str, Bools]:
        return flag_answers(self.said)

    @cached_property
    def apart(self) -> Floats:
        """(1000,) the paper's distance between the labels of an image in the two sets."""
        return metrics.w1_values(self.people, self.label)


@cache
def released() -> Released:
    """Read once."""
    return Released()


# ── who was asked what ───────────────────────────────────────────────────────────────────────


def counted(data: Released) -> Numbers:
    """Answers, people, images and batches."""
    arrays, said = data.arrays, data.said
    entropy = metrics.entropy(data.people)
    easy = set(data.images[entropy <= LOW].tolist())
    easy_in = [len(easy & set(batch.tolist())) for batch in arrays["batches"]]
    people_in = [len(set(said.annotator[arrays["batch"] == b].tolist())) for b in range(40)]
    repeated = arrays["is_repeat"] & ~arrays["duplicate"]
    copies = set(said.annotator[arrays["duplicate"]].tolist())
    return {
        "answers": len(said),
        "answers, a session that stands there twice counted once": len(data.unique),
        "first answers": len(data.first),
        "repeated answers": int(repeated.sum()),
        "sessions that stand there twice": len(copies),
        "people": len(set(said.annotator.tolist())),
        "images": len(data.images),
        "batches": len(arrays["batches"]),
        "images in a batch": arrays["batches"].shape[1],
        "pages of a session": len(data.unique) / len(set(said.annotator.tolist())),
        "repeats of a session": repeated.sum() / len(set(said.annotator.tolist())),
        "batches with 6 people": people_in.count(6),
        "batches with 7 people": people_in.count(7),
        "ambiguous images (10H entropy at least 0.25)": int((entropy >= HIGH).sum()),
        "easy images (10H entropy at most 0.1)": len(easy),
        "easy images of most batches": float(np.bincount(easy_in).argmax()),
        "batches with 3 easy images": easy_in.count(3),
        "batches without easy images": easy_in.count(0),
    }


def split(data: Released) -> Numbers:
    """CIFAR-10H, and where the relabelled images lie in it."""
    entropy = metrics.entropy(data.shares)
    possible = metrics.possible_labels(data.shares)
    train, test = data.arrays["train_indices"], data.arrays["test_indices"]
    per_image = data.counts.sum(axis=1)
    found = {
        "votes": int(per_image.sum()),
        "fewest votes of an image": int(per_image.min()),
        "mean votes of an image": float(per_image.mean()),
        "most votes of an image": int(per_image.max()),
        "images with votes on one class": int((possible == 1).sum()),
        "images with votes on two classes": int((possible == 2).sum()),
        "share of images with votes on at most two classes": float((possible <= 2).mean()),
        "images to learn from": len(train),
        "images to be tested on": len(test),
        "relabelled images to learn from": int(np.isin(data.images, train).sum()),
        "relabelled images to be tested on": int(np.isin(data.images, test).sum()),
        "ambiguous images": int((entropy >= HIGH).sum()),
        "ambiguous images to learn from": int((entropy[train] >= HIGH).sum()),
        "ambiguous images to be tested on": int((entropy[test] >= HIGH).sum()),
    }
    if data.votes.gold is not None:
        right = data.counts[np.arange(len(data.counts)), data.votes.gold]
        found["share of votes for the given class"] = float(right.sum() / per_image.sum())
    return found


def times(data: Released) -> Numbers:
    """Seconds per answer, minutes per session, quizzes."""
    seconds, repeat = data.arrays["rt_ms"] / 1000, data.arrays["is_repeat"]
    once = ~data.arrays["duplicate"]
    earlier, _ = find_repeats(data.unique)
    quizzes = np.bincount(data.arrays["quizzes"], minlength=4)
    return {
        "mean seconds per answer": float(seconds.mean()),
        "median seconds per answer": float(np.median(seconds)),
        "median seconds per first answer": float(np.median(seconds[~repeat])),
        "median seconds per repeated answer": float(np.median(seconds[once & repeat])),
        "median seconds per first answer to an image shown again": float(
            np.median(seconds[once][earlier])
        ),
        "mean minutes per session": float(data.arrays["minutes"].mean()),
        "median minutes per session": float(np.median(data.arrays["minutes"])),
        "people who passed the quiz at once": int(quizzes[1]),
        "people who passed the quiz at the second attempt": int(quizzes[2]),
        "people who passed the quiz at the third attempt": int(quizzes[3]),
    }


def vote_seconds(data: Released) -> float | None:
    """Median seconds of a CIFAR-10H vote on the relabelled images; None without the raw votes."""
    raw = datasets.cifar10h.load("best")
    if "rt_ms" not in raw.arrays:
        return None
    assert raw.annotations is not None, "the raw file is votes"
    return float(np.median(raw.arrays["rt_ms"][np.isin(raw.annotations.item, data.images)]) / 1000)


# ── how well and how steadily ────────────────────────────────────────────────────────────────


def accuracy(data: Released) -> Numbers:
    """Means over people of their share of pages that name the class given with the image."""
    gold, who = data.gold[data.said.item], data.said.annotator
    pages = np.bincount(who)
    first = np.bincount(who, data.said.named[:, 0] == gold) / pages
    either = np.bincount(who, (data.said.named == gold[:, None]).any(axis=1)) / pages
    return {"accuracy, first class": first.mean(), "accuracy, one of two classes": either.mean()}


def steadiness(data: Released) -> Numbers:
    """The same image shown again."""
    found = measure_stability(data.unique)
    moved = repeat_distance(Clamp(mode="reference")(data.unique))
    return {
        "pairs": found.pairs,
        "pairs with another top class": found.changed,
        "share of pairs with another top class": found.change_rate,
        "mean change of the chance, points": found.mean_points,
        "median change of the chance, points": float(np.median(found.points)),
        "standard deviation of the change, points": float(found.points.std()),
        "mean total variation of the labels": float(moved.mean()),
        "median total variation of the labels": float(np.median(moved)),
    }


def survivors(data: Released) -> Numbers:
    """Errors of people who were not excluded."""
    judged = judge(data.unique, get_rules("reference"), data.gold)
    wrong = [one.errors["contradictory"] for one in judged]
    zero = [one.errors["zero-first"] for one in judged]
    poor = [one for one in judged if one.accuracy < 0.75]
    twice = flag_answers(data.unique)["same-class-twice"]
    out = {
        name: sum(not one.keep for one in judge(data.unique, rules, data.gold))
        for name, rules in PRESETS.items()
    }
    return {
        "people with one contradiction": wrong.count(1),
        "people with more contradictions": sum(number > 1 for number in wrong),
        "people with one first chance of zero": zero.count(1),
        "people with one of each": sum(a > 0 and b > 0 for a, b in zip(wrong, zero, strict=True)),
        "people below 75 % accuracy": len(poor),
        "of these with an error": sum(
            one.errors["contradictory"] + one.errors["zero-first"] > 0 for one in poor
        ),
        "chances out of range": int(data.flags["out-of-range"].sum()),
        "people who named a class twice": len(set(data.unique.annotator[twice].tolist())),
        "people whom the paper's rule would exclude": out["paper"],
        "people whom the code's rule would exclude": out["reference"],
    }


def odd_answers(data: Released) -> Numbers:
    """Answers that need a rule."""
    said, flags = data.said, data.flags
    total = np.where(np.isnan(said.percent), 0, said.percent).sum(axis=1)
    second, rows = said.named[:, 1], np.arange(len(said))
    percent = percents(said, 2, "reference")
    named = percent.sum(axis=1)
    left = said.possible.sum(axis=1) - (percent > 0).sum(axis=1)
    found = {
        "chances sum to 100": total == 100,
        "chances sum to less": total < 100,
        "chances sum to more": flags["sum-above-100"],
        "no alternative": second < 0,
        "an alternative without a chance": (second >= 0) & np.isnan(said.percent[:, 1]),
        "the same class twice": flags["same-class-twice"],
        "the second chance above the first": flags["second-above-first"],
        "a second chance of zero": said.percent[:, 1] == 0,
        "the first class ruled out": ~said.possible[rows, said.named[:, 0]],
        "the second class ruled out": ~said.possible[rows, second] & (second >= 0),
        "nothing ruled out": flags["none-ruled-out"],
        "everything ruled out": flags["all-ruled-out"],
        "chances that look like shares of one": flags["unit-scale"],
        "mass left and nothing possible": (named < 100) & (left == 0),
        "the spread acts": (named >= 100) & (left != 0),
    }
    counts = {name: float(mask.sum()) for name, mask in found.items()}
    fives = measure_rounding(data.unique).multiple_of_5
    return counts | {"share of chances that are no multiple of 5": 1 - fives}


# ── labels ───────────────────────────────────────────────────────────────────────────────────


def rebuilt(data: Released) -> Numbers:
    """Our construction against the released labels, and what their rule does to the top class."""
    ours, theirs = data.each.soft(), datasets.cifar10s.released_labels()
    same = 0
    for code, name in enumerate(data.data.index.items.tolist()):
        # the files list the answers of an image in different orders
        pair = (ours[data.said.item == code], np.asarray(theirs[name]))
        mine, released = (rows[np.lexsort(rows.round(9).T)] for rows in pair)
        same += int((abs(mine - released).max(axis=1) < 1e-9).sum())
    moved = ours.argmax(axis=1) != data.said.named[:, 0]
    twice = data.flags["same-class-twice"]
    return {
        "released labels that ours equal to 1e-9": same,
        "top class displaced by naming it twice": int((moved & twice).sum()),
        "images with such a label": len(set(data.said.item[moved & twice].tolist())),
        "top class not the one named first, otherwise": int((moved & ~twice).sum()),
    }


def compared(data: Released) -> Numbers:
    """Mean labels held against CIFAR-10H."""
    found = {
        "entropy correlation": metrics.entropy_pearson(data.people, data.label),
        "Wasserstein distance (of values)": float(data.apart.mean()),
        "Wasserstein distance (of class numbers)": float(
            metrics.w1_index(data.people, data.label).mean()
        ),
        "total variation": float(metrics.total_variation(data.people, data.label).mean()),
        "mean entropy": float(metrics.entropy(data.label).mean()),
        "mean entropy of CIFAR-10H": float(metrics.entropy(data.people).mean()),
    }
    kinds: dict[str, Construct] = {
        "T2-clamp": Clamp(mode="reference"),
        "T2-unif": Uniform(mode="reference"),
        "T1-clamp": Clamp(top=1, mode="reference"),
        "T1-unif": Uniform(top=1, mode="reference"),
        "T2-clamp, spread 0": Clamp(spread=0.0, mode="reference"),
        "T2-clamp, spread 0.2": Clamp(spread=0.2, mode="reference"),
    }
    for name, construct in kinds.items():
        label = Mean()(construct(data.first)).probs
        found[f"{name}, first answers: entropy correlation"] = metrics.entropy_pearson(
            data.people, label
        )
        found[f"{name}, first answers: Wasserstein distance"] = float(
            metrics.w1_values(data.people, label).mean()
        )
        if name == "T2-clamp":
            found[f"{name}, first answers: total variation"] = float(
                metrics.total_variation(data.people, label).mean()
            )
    return found


def possible(data: Released) -> Numbers:
    """Figure 5: the mass of the top class and the number of classes that keep any."""
    label = data.each.soft()
    number, top = metrics.possible_labels(label), label.max(axis=1)
    high = metrics.entropy(data.people)[data.said.item] >= HIGH
    found = {f"labels with {k} possible classes": float((number == k).sum()) for k in range(1, 11)}
    for name, rows in (("ambiguous", high), ("easy", ~high)):
        found |= {
            f"{name} images: labels": float(rows.sum()),
            f"{name} images: mean of the largest chance": float(top[rows].mean()),
            f"{name} images: mean number of possible classes": float(number[rows].mean()),
        }
    return found


def shown(data: Released) -> Numbers:
    """What figures 2, 3, 4, 8 and 9 show can be found in the release.

    The paper does not say what is near hard; here it is nine of ten votes on one class."""
    classes = data.data.index.labels.tolist()
    order = np.argsort(-data.apart, kind="stable")
    worst = [classes[code] for code in data.gold[order[:10]]]
    near_hard = data.people.max(axis=1) >= NEAR_HARD
    car, truck = classes.index("automobile"), classes.index("truck")
    either = near_hard & (data.gold == car) & (data.label[:, truck] >= 0.25)
    softened = near_hard & (metrics.entropy(data.label) >= SOFT)
    found = {
        "figure 2: classes of one answer's label (image 405) as derived by hand": _by_hand(data),
        "figure 3: there is a near-hard automobile of 10H that is a quarter truck in 10S": (
            float(either.any())
        ),
        "figure 4: of frog and airplane, classes among the ten largest distances": float(
            len({"frog", "airplane"} & set(worst))
        ),
        "figure 8: of dog, frog, bird, classes of the three largest distances, in order": float(
            sum(a == b for a, b in zip(worst[:3], ("dog", "frog", "bird"), strict=True))
        ),
        "figure 9: of truck, dog, airplane, classes with near-hard labels made soft": (
            float(len({"truck", "dog", "airplane"} & {classes[i] for i in data.gold[softened]}))
        ),
    }
    for place, row in enumerate(order[:4], start=1):
        found[f"figures 4 and 8: image of distance number {place}"] = float(data.images[row])
        found[f"figures 4 and 8: distance number {place}"] = float(data.apart[row])
    return found


HAND = {"cat": 0.05, "deer": 0.855, "dog": 0.05, "horse": 0.045}


def _by_hand(data: Released) -> float:
    """How many classes of the label deer 95, horse 5, cat and dog left possible are as computed
    by hand."""
    classes = data.data.index.labels.tolist()
    mine = np.array([HAND.get(name, 0.0) for name in classes])
    rows = data.each.soft()[data.said.item == int(np.flatnonzero(data.images == 405)[0])]
    return float((abs(rows - mine) < 1e-9).sum(axis=1).max())


# ── fewer answers ────────────────────────────────────────────────────────────────────────────


def by_number(data: Released, draws: int = 20) -> dict[str, list[float]]:
    """Entropy correlation with CIFAR-10H of labels from M answers per image, over draws of them."""
    wanted = np.isin(data.votes.index.items, data.data.index.items)
    votes = data.votes.annotations
    assert votes is not None, "CIFAR-10H is votes"
    votes = votes.take(wanted[votes.item])
    found: dict[str, list[float]] = {}
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        for m in range(1, 7):
            some = Mean()(sampling.subsample(data.each, m, rng)).probs
            r = metrics.entropy_pearson(data.people, some)
            found.setdefault(f"T2-clamp, {m}", []).append(r)
        for m in (2, 4, 8, 16, 32):
            some = Mean()(sampling.subsample(votes, m, rng)).probs[data.images]
            r = metrics.entropy_pearson(data.people, some)
            found.setdefault(f"CIFAR-10H, {m}", []).append(r)
    return found


# ── cost ─────────────────────────────────────────────────────────────────────────────────────


def costs(data: Released) -> Numbers:
    """Seconds of people's time per image; only the time of an answer is measured."""
    cost = Cost()
    rich = ("t1-unif", "t1-clamp", "t2-unif", "t2-clamp", "select-top-2")
    return {
        **{f"{label}, one answer: seconds": cost.answer(label) for label in rich},
        **{f"{label}, 6 answers: seconds": cost.item(label, 6) for label in rich},
        "51 votes: seconds": cost.item("hard", 51),
        "seconds per input": 32 / 5,
        "votes in the time of one rich answer": cost.votes_for_the_time_of("t2-clamp"),
        "6 rich answers in units of 51 votes": cost.item("t2-clamp", 6) / cost.item("hard", 51),
        "votes in the time of 3 rich answers": cost.votes_for_the_time_of("t2-clamp", 3),
        "annotators of CIFAR-10H per annotator": 51 / 6,
        "dollars per page": 3.34 / 27,
    }
