"""Does the cheaper label teach as well?

    python bench/downstream.py [pictures] [texts] [labels] [--write] [--quick]

Votes of training items are bought in a replay by each policy, with and without models, at equal
seconds; a softmax regression on frozen features learns from the labels, and is judged by all votes
of test items: soft cross-entropy in nats, and accuracy against the class with most votes.  Every
arm is tuned alike: its penalty is the one with the least cross-entropy to votes of the same
validation items.  Intervals are over orders of votes and test items, both drawn again (95 %).

``pictures``: CIFAR-10H, features of EfficientNet-Lite0 (extra ``features``), 1.8 s a vote.  The
model that speaks first is a regression on the same features, learned from the same few votes of
other pictures, so that it has seen nothing that the student will not see.
``texts``: politeness of POPQUORN, features of MiniLM, one vote a unit; the models are nine language
models.  ``labels``: how close the labels of all pictures come to the crowd, by the same arms (KL*,
10 votes held out).  ``--write`` puts the tables into docs/downstream.md.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from results import circumstances, table, write_block
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from softlabel import Annotations, Index, datasets
from softlabel.aggregate import Belief, Judged, shares
from softlabel.allocate import (
    FitJudged,
    FitVotes,
    Greedy,
    Recorded,
    Uniform,
    apply_floor,
    grassberger,
    kl_star,
)
from softlabel.allocate.replay import Replay, run_policy
from softlabel.tables import Bools, Floats, Ints, names

PAGE = Path(__file__).parent.parent / "docs" / "downstream.md"
PENALTIES = (10.0, 30.0, 100.0, 300.0)
SIZE = 192  # principal components of the features
DRAWS = 1000


def learn(x: Floats, target: Floats, penalty: float) -> Floats:
    """(d + 1, k) the weights of a softmax regression with soft targets."""
    total = target.sum(axis=1)
    shape = x.shape[1] + 1, target.shape[1]

    def objective(flat: Floats) -> tuple[float, Floats]:
        w = flat.reshape(shape)
        score = w[0] + x @ w[1:]
        most = logsumexp(score, axis=1)
        loss = (total * most).sum() - (target * score).sum() + penalty / 2 * (w[1:] ** 2).sum()
        away = total[:, None] * np.exp(score - most[:, None]) - target
        slope = np.concatenate([away.sum(axis=0)[None], x.T @ away + penalty * w[1:]])
        return float(loss), slope.ravel()

    found = minimize(
        objective, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 80}
    )
    return np.asarray(found.x.reshape(shape))


def predict(x: Floats, w: Floats) -> Floats:
    return np.asarray(softmax(w[0] + x @ w[1:], axis=1))


def reduce(features: Floats) -> Floats:
    """The first principal components, on one scale."""
    x = features - features.mean(axis=0)
    x /= x.std(axis=0) + 1e-6
    _, vectors = np.linalg.eigh(x.T @ x)
    x = x @ vectors[:, ::-1][:, :SIZE]
    return np.asarray(x / x.std())


@dataclass(frozen=True, eq=False)
class FitModels:
    """The belief of people and models; ``ask`` returns what models say of some items, given the
    votes so far."""

    ask: Callable[[Index, Floats], Annotations]
    least, blend, even = FitJudged.least, FitJudged.blend, FitJudged.even

    def __call__(self, index: Index, evidence: Floats) -> Belief:
        if (evidence.sum(axis=1) > 0).sum() < 100:
            return FitVotes()(index, evidence)
        return Judged().believe(index, evidence, self.ask(index, evidence))[0]


@dataclass(frozen=True, eq=False)
class Task:
    """Recorded votes, features of the items, what models say, and the price of a vote."""

    name: str
    votes: Recorded
    features: Floats
    ask: Callable[[Index, Floats], Annotations]
    price: float
    goals: tuple[float, ...]  # votes per item


def pictures() -> Task:
    from softlabel.train.encoders import EfficientNetLite0, encode

    data = datasets.load("cifar10h")
    counts = np.asarray(data.arrays["counts"])
    images = datasets.load("cifar10/test").arrays["images"]
    features = reduce(encode(images, EfficientNetLite0()).astype(np.float64))
    index = Index(data.index.items, names([]), data.index.labels)
    place = {item: code for code, item in enumerate(index.items.tolist())}

    def ask(part: Index, evidence: Floats) -> Annotations:
        """A network that learns from the votes of four fifths of the pictures at a time."""
        x = features[[place[item] for item in part.items.tolist()]]
        fold = np.random.default_rng(0).permutation(len(x)) % 5
        probs = np.zeros(evidence.shape)
        for one in range(5):
            rest = (fold != one) & (evidence.sum(axis=1) > 0)
            probs[fold == one] = predict(x[fold == one], learn(x[rest], evidence[rest], 100.0))
        known = Index(part.items, names(["network"]), part.labels)
        return Annotations(known, np.arange(len(x)), np.zeros(len(x), np.int64), probs=probs)

    return Task("pictures", recorded("CIFAR-10H", index, counts), features, ask, 1.8, (2, 3, 5))


def texts() -> Task:
    from judged import load

    from softlabel.train.text_encoders import MiniLM

    people, said = load("politeness")
    page = datasets.load("popquorn/politeness").texts["text"].tolist()
    enough = people.votes_per_item() >= 7
    index = Index(people.index.items[enough], names([]), people.index.labels, ordered=True)
    place = {item: code for code, item in enumerate(people.index.items.tolist())}
    rows = np.array([place[item] for item in index.items.tolist()])
    features = reduce(np.asarray(MiniLM()([page[row] for row in rows]), dtype=np.float64))

    def ask(part: Index, evidence: Floats) -> Annotations:
        code = np.full(len(place), -1)
        code[[place[item] for item in part.items.tolist()]] = np.arange(len(part.items))
        mine = said.take(code[said.item] >= 0)
        known = replace(part, annotators=said.index.annotators)
        return Annotations(known, code[mine.item], mine.annotator, label=mine.label)

    counts = people.counts()[enough].astype(np.int64)
    return Task("texts", recorded("politeness", index, counts), features, ask, 1.0, (1, 2, 3))


def recorded(name: str, index: Index, counts: Ints) -> Recorded:
    item, label = np.nonzero(counts)
    times = counts[item, label]
    item, label = np.repeat(item, times), np.repeat(label, times)
    people = replace(index, annotators=names([str(i) for i in range(len(item))]))
    return Recorded(name, Annotations(people, item, np.arange(len(item)), label=label))


def arms(task: Task) -> dict[str, tuple]:
    """Policy, how beliefs are fitted, and whether labels are raw shares."""
    return {
        "equal votes, raw shares": (Uniform(), FitVotes(), True),
        "equal votes": (Uniform(), FitVotes(), False),
        "greedy": (Greedy(), FitVotes(), False),
        "equal votes, with models": (Uniform(), FitModels(task.ask), False),
        "greedy, with models": (Greedy(), FitModels(task.ask), False),
    }


def one_order(task: Task, seed: int, goals: Sequence[float]) -> dict[tuple[str, float], Floats]:
    """(2, t) cross-entropy and accuracy on each test item, by arm and goal."""
    votes = task.votes.hold_out(1, seed)
    m = len(votes.index.items)
    kind = np.random.default_rng([seed, 9]).permutation(m) / m
    train, valid, test = kind < 0.7, (kind >= 0.7) & (kind < 0.8), kind >= 0.8
    truth = votes.counts / votes.counts.sum(axis=1, keepdims=True)
    bought = votes.part(train)
    index = replace(bought.index, annotators=names([]))
    bought = Replay(index, bought.item, bought.label, bought.hold)
    found = {}
    for name, (policy, fit, raw) in arms(task).items():
        seconds = [goal * task.price for goal in goals]
        rng = np.random.default_rng([seed, 5])
        for goal, point in zip(
            goals, run_policy(bought, policy, fit, seconds, task.price, rng), strict=False
        ):
            labels = apply_floor(shares(point.votes), 1e-3) if raw else point.labels
            q = teach(task.features, labels, truth, train, valid, test)
            loss = -(truth[test] * np.log(q)).sum(axis=1)
            right = q.argmax(axis=1) == truth[test].argmax(axis=1)
            found[name, goal] = np.stack([loss, right])
            print(task.name, seed, name, goal, round(float(loss.mean()), 4), flush=True)
    return found


def teach(
    x: Floats, labels: Floats, truth: Floats, train: Bools, valid: Bools, test: Bools
) -> Floats:
    """(t, k) predictions for test items by the best of the penalties."""
    best: tuple[float, Floats] | None = None
    for penalty in PENALTIES:
        w = learn(x[train], labels, penalty)
        loss = float(-(truth[valid] * np.log(predict(x[valid], w))).sum(axis=1).mean())
        if best is None or loss < best[0]:
            best = loss, w
    assert best is not None
    return np.maximum(predict(x[test], best[1]), 1e-12)


def interval(values: Floats, rng: np.random.Generator) -> tuple[float, float, float]:
    """Mean and 95 % limits of (orders, items), both drawn again."""
    orders, items = values.shape
    means = []
    for _ in range(DRAWS):
        rows, columns = rng.integers(orders, size=orders), rng.integers(items, size=items)
        means.append(values[np.ix_(rows, columns)].mean())
    low, high = np.percentile(means, [2.5, 97.5])
    return float(values.mean()), float(low), float(high)


def compare_labels(task: Task) -> list[list[str]]:
    """KL* of the labels of all items, by arm and votes per item."""
    votes = task.votes.hold_out(10, 500)
    index = replace(votes.index, annotators=names([]))
    votes = Replay(index, votes.item, votes.label, votes.hold)
    entropies = grassberger(votes.counts)
    goals = (2.0, 3.0, 5.0, 10.0)
    rows = [["labels bought by", *(f"{goal:g} votes" for goal in goals)]]
    for name, (policy, fit, raw) in arms(task).items():
        rng = np.random.default_rng([500, 5])
        seconds = [goal * task.price for goal in goals]
        cells = []
        for point in run_policy(votes, policy, fit, seconds, task.price, rng):
            labels = apply_floor(shares(point.votes), 1e-3) if raw else point.labels
            each = kl_star(votes.share, labels, entropies)
            cells.append(f"{each.mean():.4f} ±{1.96 * each.std() / len(each) ** 0.5:.4f}")
        rows.append([name, *cells])
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("tasks", nargs="*", default=["pictures", "texts"])
    options.add_argument("--write", action="store_true")
    options.add_argument("--quick", action="store_true")
    options.add_argument("--kept", type=Path, help="folder for what is done already")
    given = options.parse_args()
    for name in given.tasks:
        if name == "labels":
            rows = compare_labels(pictures())
            if given.write:
                about = f"`python bench/downstream.py labels --write`. {circumstances()}"
                write_block(PAGE, "downstream", name, f"{table(rows)}\n\n{about}")
            continue
        task = {"pictures": pictures, "texts": texts}[name]()
        seeds, goals = (1, task.goals[:1]) if given.quick else (3, task.goals)
        runs = [one_order(task, seed, goals) for seed in range(seeds)]
        rows = [["labels bought by", "votes", "cross-entropy", "accuracy", "below raw shares"]]
        rng = np.random.default_rng(0)
        for key in runs[0]:
            if not all(key in run for run in runs):
                continue
            both = np.stack([run[key] for run in runs])
            plain = np.stack([run["equal votes, raw shares", key[1]] for run in runs])
            loss, right = interval(both[:, 0], rng), interval(both[:, 1], rng)
            gain = interval(plain[:, 0] - both[:, 0], rng)
            rows.append([
                key[0], f"{key[1]:g}", f"{loss[0]:.4f} [{loss[1]:.4f}, {loss[2]:.4f}]",
                f"{right[0]:.4f} [{right[1]:.4f}, {right[2]:.4f}]",
                "–" if key[0] == "equal votes, raw shares"
                else f"{gain[0]:+.4f} [{gain[1]:+.4f}, {gain[2]:+.4f}]",
            ])  # fmt: skip
        print(table(rows))
        if given.kept:
            (given.kept / f"{name}.json").write_text(json.dumps(rows))
        if given.write and not given.quick:
            about = f"`python bench/downstream.py {name} --write`: {seeds} orders of votes."
            write_block(PAGE, "downstream", name, f"{table(rows)}\n\n{about} {circumstances()}")


if __name__ == "__main__":
    main()
