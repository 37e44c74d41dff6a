"""What Collins, Bhatt & Weller 2022 say about their data, and what else is in the released files.

A fact is a number of the paper, compared to the printed digits, or one that was counted in the
released files before, independently of this code.  ``facts.toml`` has the numbers;
``compute_values`` computes them again by the same names.
"""

import tomllib
from collections.abc import Callable, Mapping
from functools import cache, cached_property, partial
from pathlib import Path

import numpy as np

from softlabel import annotators, datasets, metrics, sampling
from softlabel.aggregate import Mean
from softlabel.construct import Clamp, Construct, Uniform, stated_percents
from softlabel.metrics import Cost
from softlabel.papers.claims import Claim, Published, Results
from softlabel.tables import Bools, Floats, Ints, Score

NUMBERS = tomllib.loads(Path(__file__).with_name("facts.toml").read_text("utf-8"))
NO_RAW_VOTES = "the raw votes of CIFAR-10H with their times are not in the data folder"


def facts() -> list[Claim]:
    """Return all facts, the paper's own first."""
    claims = []
    for source in ("paper", "files"):
        for group in NUMBERS[source]:
            for name, printed in group["numbers"].items():
                origin = {"recounted": source == "files", "derived": group.get("derived", False)}
                known = Published(float(printed), **origin)
                # to the printed decimals, or exactly if there is no decimal point
                _, point, decimals = printed.partition(".")
                tolerance = (0.5 * 10.0 ** -len(decimals) if point else 0.0) + 1e-9
                ours = partial(_look_up, name=name, n=group["n"])
                reason = NO_RAW_VOTES if name == "median seconds per vote" else ""
                id, where = f"{source}: {name}", group["where"]
                claims.append(Claim(id, where, name, "exact", ours, known, tolerance, reason))
    for name, r in NUMBERS["draws"].items():
        id, known = f"files: entropy correlation of {name} answers", Published(r, recounted=True)
        says = f"entropy correlation with CIFAR-10H: {name} answers per image"
        drawn = partial(_average_draws, name=name)
        claims.append(Claim(id, "released files", says, "value", drawn, known, tolerance=0.0005))
    return claims


def _look_up(results: Results, name: str, n: int) -> Score | None:
    value = compute_values()[name]
    return None if value is None else Score(float(value), float(value), float(value), n)


def _average_draws(results: Results, name: str) -> Score:
    """Average 20 draws, with the range of 95 % of them."""
    values = np.array(released().draws[name])
    low, high = np.quantile(values, [0.025, 0.975])
    return Score(float(values.mean()), float(low), float(high), len(values))


@cache
def compute_values() -> Mapping[str, float | None]:
    """Compute every number of ``facts.toml``, by its name; None where its file is missing."""
    d, cost = released(), Cost()
    minutes, quizzes = d.arrays["minutes"], d.arrays["quizzes"]
    named_second = d.second >= 0
    displaced = d.displaced & d.twice
    shown_again = d.seconds[d.once][annotators.find_repeats(d.unique)[0]]
    values: dict[str, float | None] = {
        # counts
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
        # votes
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
        # times
        "median seconds per answer": np.median(d.seconds),
        "mean seconds per answer": d.seconds.mean(),
        "median seconds per first answer": np.median(d.seconds[~d.repeat]),
        "median seconds per repeated answer": np.median(d.seconds[d.once & d.repeat]),
        "median seconds per first answer to an image shown again": np.median(shown_again),
        "mean minutes per session": minutes.mean(),
        "median minutes per session": np.median(minutes),
        "people who passed the quiz at once": (quizzes == 1).sum(),
        "people who passed the quiz at the second attempt": (quizzes == 2).sum(),
        "people who passed the quiz at the third attempt": (quizzes == 3).sum(),
        # repeats
        "share of pairs with another top class": d.stability.change_rate,
        "mean change of the chance, points": d.stability.mean_points,
        "pairs": d.stability.pairs,
        "pairs with another top class": d.stability.changed,
        "median change of the chance, points": np.median(d.stability.points),
        "standard deviation of the change, points": d.stability.points.std(),
        "mean total variation of the labels": d.moved.mean(),
        "median total variation of the labels": np.median(d.moved),
        # people
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
        # answers
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
        "share of chances that are no multiple of 5": 1
        - annotators.rules.measure_rounding(d.unique).multiple_of_5,
        "released labels that ours equal to 1e-9": d.count_rebuilt(),
        "top class displaced by naming it twice": displaced.sum(),
        "images with such a label": len(set(d.said.item[displaced].tolist())),
        "top class not the one named first, otherwise": (d.displaced & ~d.twice).sum(),
        # labels
        "entropy correlation": d.correlate(),
        "Wasserstein distance (of values)": d.apart.mean(),
        "Wasserstein distance (of class numbers)": d.compare(metrics.w1_index),
        "total variation": d.compare(metrics.total_variation),
        "mean entropy": metrics.entropy(d.label).mean(),
        "mean entropy of CIFAR-10H": d.unsure.mean(),
        **d.count_in_figures(),
        # costs
        "seconds per input": 32 / 5,
        "51 votes: seconds": cost.item("hard", 51),
        "annotators of CIFAR-10H per annotator": 51 / 6,
        "votes in the time of one rich answer": cost.votes_for_the_time_of("t2-clamp"),
        "6 rich answers in units of 51 votes": cost.item("t2-clamp", 6) / cost.item("hard", 51),
        "votes in the time of 3 rich answers": cost.votes_for_the_time_of("t2-clamp", 3),
        "dollars per page": 3.34 / 27,
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
    for label in ("t1-unif", "t1-clamp", "t2-unif", "t2-clamp", "select-top-2"):
        values[f"{label}, one answer: seconds"] = cost.item(label, 1)
        values[f"{label}, 6 answers: seconds"] = cost.item(label, 6)
    return values


# ── the released files ───────────────────────────────────────────────────────────────────────
# Everything is computed with the strategies and measures that everything else uses.  Labels are the
# released ones, bug for bug, unless a name says "first".

HIGH, LOW = 0.25, 0.1  # nats of CIFAR-10H entropy: ambiguous from here, easy up to there
NEAR_HARD, SOFT = 0.9, 0.5  # share of votes on one class (the paper has no number); nats
CONSTRUCTIONS: dict[str, Construct] = {
    "T2-clamp": Clamp(mode="reference"),
    "T2-unif": Uniform(mode="reference"),
    "T1-clamp": Clamp(top=1, mode="reference"),
    "T1-unif": Uniform(top=1, mode="reference"),
    "T2-clamp, spread 0": Clamp(spread=0.0, mode="reference"),
    "T2-clamp, spread 0.2": Clamp(spread=0.2, mode="reference"),
}
BY_HAND = {"cat": 0.05, "deer": 0.855, "dog": 0.05, "horse": 0.045}  # an answer to image 405


class Released:
    """CIFAR-10S and CIFAR-10H as released, and arrays that several facts need.

    Shapes: 10,000 images of CIFAR-10H, 1,000 of them relabelled; 6,723 answers of 248 people.
    """

    def __init__(self) -> None:
        self.data = datasets.cifar10s.load("all")
        self.votes = datasets.cifar10h.load("counts")
        assert self.data.statements is not None, "CIFAR-10S is statements"
        assert self.data.gold is not None, "the raw file has the classes"
        self.arrays = self.data.arrays
        self.classes: list[str] = self.data.index.labels.tolist()
        self.counts: Ints = self.votes.arrays["counts"]  # (10000, 10)
        self.per_image: Ints = self.counts.sum(axis=1)
        self.shares: Floats = self.counts / self.per_image[:, None]
        self.voted = metrics.possible_labels(self.shares)  # number of classes with votes
        self.entropy = metrics.entropy(self.shares)
        self.train, self.test = self.arrays["train_indices"], self.arrays["test_indices"]
        self.images = np.array([int(item) for item in self.data.index.items.tolist()])  # (1000,)
        self.gold: Ints = self.data.gold
        self.people: Floats = self.shares[self.images]
        self.unsure: Floats = self.entropy[self.images]
        easy = self.images[self.unsure <= LOW]
        self.easy = [int(np.isin(batch, easy).sum()) for batch in self.arrays["batches"]]

        # answers
        self.said = self.data.statements  # (6723,)
        self.persons = len(set(self.said.annotator.tolist()))
        self.once: Bools = ~self.arrays["duplicate"]  # one session is in the file twice
        self.repeat: Bools = self.arrays["is_repeat"]
        self.unique = self.said.take(self.once)
        self.first = self.said.take(self.once & ~self.repeat)
        self.seconds: Floats = self.arrays["rt_ms"] / 1000
        self.total: Floats = np.nansum(self.said.percent, axis=1)  # of the stated chances
        self.second: Ints = self.said.named[:, 1]  # below 0 if none was named
        self.flags = annotators.flag_answers(self.said)
        self.twice: Bools = self.flags["same-class-twice"]
        self.ambiguous: Bools = self.unsure[self.said.item] >= HIGH
        percent = stated_percents(self.said, 2, "reference")
        self.used_up: Bools = percent.sum(axis=1) >= 100  # named classes have all mass
        self.others: Ints = self.said.possible.sum(axis=1) - (percent > 0).sum(axis=1)
        self.stability = annotators.repeats.measure_stability(self.unique)
        self.moved = annotators.repeat_distance(Clamp(mode="reference")(self.unique))  # (496,)

        # people: contradictions, first chances of zero, accuracy below 75 %
        judged = annotators.judge(
            self.unique, annotators.get_rules("reference"), self.gold
        )  # (248,)
        self.wrong = np.array([one.errors["contradictory"] for one in judged])
        self.zero = np.array([one.errors["zero-first"] for one in judged])
        self.poor = np.array([one.accuracy < 0.75 for one in judged])
        self._add_labels()

    def _add_labels(self) -> None:
        self.each = Clamp(mode="reference")(self.said)  # (6723,)
        soft = self.each.soft()
        self.possible, self.top = metrics.possible_labels(soft), soft.max(axis=1)
        self.displaced: Bools = soft.argmax(axis=1) != self.said.named[:, 0]
        self.label = Mean()(self.each).probs  # (1000, 10)
        self.apart = metrics.w1_values(self.people, self.label)  # the paper's distance
        self.order: Ints = np.argsort(-self.apart, kind="stable")
        self.near_hard: Bools = self.people.max(axis=1) >= NEAR_HARD
        self.first_labels = {
            name: Mean()(make(self.first)).probs for name, make in CONSTRUCTIONS.items()
        }

    # ── answers and people ───────────────────────────────────────────────────────────────────

    def count_batches(self, people: int) -> int:
        """Count the batches that so many people answered."""
        batches = (self.said.annotator[self.arrays["batch"] == batch] for batch in range(40))
        return [len(set(some.tolist())) for some in batches].count(people)

    def count_people(self, answers: Bools) -> int:
        """Count the people who gave any of these answers."""
        return len(set(self.said.annotator[answers].tolist()))

    def is_possible(self, place: int) -> Bools:
        """(6723,) whether the class named first or second was left possible."""
        return self.said.possible[np.arange(len(self.said)), self.said.named[:, place]]

    def score_people(self, classes: int) -> float:
        """Average over people the share of their pages that name the class of the image."""
        right = self.said.named[:, :classes] == self.gold[self.said.item][:, None]
        who = self.said.annotator
        return float((np.bincount(who, right.any(axis=1)) / np.bincount(who)).mean())

    def count_excluded(self, rules: str) -> int:
        """Count the people whom these rules would exclude."""
        judged = annotators.judge(self.unique, annotators.rules.PRESETS[rules], self.gold)
        return sum(not one.keep for one in judged)

    # ── labels ───────────────────────────────────────────────────────────────────────────────

    def compare(self, measure: Callable[[Floats, Floats], Floats], label: str = "") -> float:
        """Average a distance between the votes and our labels, or those of first answers."""
        ours = self.first_labels[label] if label else self.label
        return float(measure(self.people, ours).mean())

    def correlate(self, label: str = "") -> float:
        """Correlate the entropies of the votes and our labels, or those of first answers."""
        ours = self.first_labels[label] if label else self.label
        return metrics.entropy_pearson(self.people, ours)

    def count_rebuilt(self) -> int:
        """Count the released labels that ours equal to 1e-9."""
        ours, theirs = self.each.soft(), datasets.cifar10s.released_labels()
        same = 0
        for code, name in enumerate(self.data.index.items.tolist()):
            # the files list the answers of an image in different orders
            pair = (ours[self.said.item == code], np.asarray(theirs[name]))
            mine, released = (rows[np.lexsort(rows.round(9).T)] for rows in pair)
            same += int((abs(mine - released).max(axis=1) < 1e-9).sum())
        return same

    # ── what figures show ────────────────────────────────────────────────────────────────────

    def count_in_figures(self) -> dict[str, float]:
        """Compare what figures 2, 3, 4, 8 and 9 show with the labels, by the names of the facts."""
        by_hand = np.array([BY_HAND.get(name, 0.0) for name in self.classes])
        rows = self.each.soft()[self.said.item == int(np.flatnonzero(self.images == 405)[0])]
        cars = self.near_hard & (self.gold == self.classes.index("automobile"))
        trucks = self.label[:, self.classes.index("truck")] >= 0.25
        worst = [self.classes[code] for code in self.gold[self.order[:10]]]
        soft = self.near_hard & (metrics.entropy(self.label) >= SOFT)
        softened = {self.classes[code] for code in self.gold[soft]}
        counts: dict[str, float] = {
            "figure 2: classes of one answer's label (image 405) as derived by hand": float(
                (abs(rows - by_hand) < 1e-9).sum(axis=1).max()
            ),
            "figure 3: there is a near-hard automobile of 10H that is a quarter truck in 10S": bool(
                (cars & trucks).any()
            ),
            "figure 4: of frog and airplane, classes among the ten largest distances": len(
                {"frog", "airplane"} & set(worst)
            ),
            "figure 8: of dog, frog, bird, classes of the three largest distances, in order": sum(
                map(str.__eq__, worst, ("dog", "frog", "bird"))
            ),
            "figure 9: of truck, dog, airplane, classes with near-hard labels made soft": len(
                {"truck", "dog", "airplane"} & softened
            ),
        }
        for number, row in enumerate(self.order[:4], start=1):
            counts[f"figures 4 and 8: image of distance number {number}"] = self.images[row]
            counts[f"figures 4 and 8: distance number {number}"] = self.apart[row]
        return counts

    # ── votes ────────────────────────────────────────────────────────────────────────────────

    def share_of_given_class(self) -> float | None:
        """Return the share of votes for the class given with the image."""
        if self.votes.gold is None:
            return None
        right = self.counts[np.arange(len(self.counts)), self.votes.gold]
        return float(right.sum() / self.per_image.sum())

    def vote_seconds(self) -> float | None:
        """Median seconds of a vote on the relabelled images; None without the raw votes."""
        raw = datasets.cifar10h.load("best")
        if "rt_ms" not in raw.arrays:
            return None
        assert raw.annotations is not None, "the raw file is votes"
        rows = np.isin(raw.annotations.item, self.images)
        return float(np.median(raw.arrays["rt_ms"][rows]) / 1000)

    @cached_property
    def draws(self) -> dict[str, list[float]]:
        """Entropy correlation with CIFAR-10H of labels from M answers per image, in 20 draws."""
        relabelled = np.isin(self.votes.index.items, self.data.index.items)
        votes = self.votes.annotations
        assert votes is not None, "CIFAR-10H is votes"
        kinds = (
            ("T2-clamp", self.each, range(1, 7), slice(None)),
            ("CIFAR-10H", votes.take(relabelled[votes.item]), (2, 4, 8, 16, 32), self.images),
        )
        draws: dict[str, list[float]] = {}
        for seed in range(20):
            rng = np.random.default_rng(seed)
            for name, each, numbers, rows in kinds:
                for m in numbers:
                    label = Mean()(sampling.subsample(each, m, rng)).probs[rows]
                    r = metrics.entropy_pearson(self.people, label)
                    draws.setdefault(f"{name}, {m}", []).append(r)
        return draws


@cache
def released() -> Released:
    """Read the files, once."""
    return Released()
