"""Measure the frontier: label quality by side, seconds and floor, with differences and worths.

The result is a dictionary of aggregated numbers, from which the page and its figure are made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from buying import choice, pools
from buying.answers import BUILD, Answers, Budget, Draw, Target, draw
from buying.pools import FLOORS, FOLDS, Scored

from softlabel.metrics import intervals, kl
from softlabel.papers.claims.results import read_shipped
from softlabel.papers.collins2022.conditions import M_CURVES
from softlabel.papers.collins2022.conditions import VOTES as VOTES_OF_10H
from softlabel.tables import Floats, Ints, Score

VOTES = (1, 2, 3, 4, 5, 7, 10, 14, 17, 22, 28, 34, 40)
BOTH = ((1, 1), (3, 1), (5, 1), (10, 1), (17, 1), (35, 1), (17, 2), (35, 2))  # votes, rich answers
# what is compared, at seconds that never favour the second: 17 votes take 30.6 s, a rich answer 32
PAIRS: dict[Target, tuple[tuple[Budget, Budget], ...]] = {
    "votes": (
        (Budget(rich=1), Budget(votes=17)),
        (Budget(rich=2), Budget(votes=34)),
        (Budget(rich=3), Budget(votes=40)),
        (Budget(rich=6), Budget(votes=40)),
        (Budget(5, 1), Budget(votes=22)),
        (Budget(17, 1), Budget(votes=34)),
        (Budget(35, 1), Budget(votes=40)),
        (Budget(17, 1), Budget(rich=2)),
        *((Budget(rich=number), Budget(rich=number, first=True)) for number in (1, 3, 6)),
    ),
    "rich answers": (
        (Budget(rich=1), Budget(votes=17)),
        (Budget(rich=2), Budget(votes=34)),
        (Budget(rich=3), Budget(votes=40)),
        (Budget(rich=4), Budget(votes=40)),
        (Budget(5, 1), Budget(votes=22)),
        (Budget(17, 1), Budget(votes=34)),
        (Budget(17, 1), Budget(rich=2)),
    ),
}
MOST_RICH: dict[Target, int] = {"votes": 6, "rich answers": 4}
ANY, BOUGHT = "any pool", "nothing but the bought answers"
Tell = Callable[[str], None]


def list_budgets(target: Target) -> list[Budget]:
    """List what is bought; some rich answers are held out if they judge the labels."""
    rich = range(1, MOST_RICH[target] + 1)
    budgets = [Budget(votes=votes) for votes in VOTES] + [Budget(rich=number) for number in rich]
    if target == "votes":
        budgets += [Budget(rich=number, first=True) for number in rich]
    return budgets + [Budget(*both) for both in BOTH]


def measure_labels(
    answers: Answers,
    target: Target,
    draws: Sequence[Draw],
    budgets: Sequence[Budget],
    pairs: Sequence[tuple[Budget, Budget]],
    tell: Tell = lambda step: None,
) -> dict[str, Any]:
    """Measure every budget, the differences of pairs, and what rich answers are worth in votes."""
    fold = choice.split_batches(answers.batch, FOLDS)
    scored = []
    for number, one in enumerate(draws):
        tell(f"judged by {target}: draw {number + 1} of {len(draws)}")
        scored.append(pools.score(one, budgets, fold))
    every = {budget: average([one[budget] for one in scored]) for budget in budgets}
    found: dict[str, Any] = {"entropy": float(np.mean([one.entropies for one in draws]))}
    for regime in (ANY, BOUGHT):
        tell(f"judged by {target}: {regime}")
        kept = {
            budget: {n: s for n, s in names.items() if regime == ANY or "other items" not in n}
            for budget, names in every.items()
        }
        found[regime] = describe(kept, pairs, fold, answers.batch)
    return found


def average(scores: Sequence[Mapping[str, Scored]]) -> dict[str, Scored]:
    """Average over draws."""
    return {
        name: Scored(
            np.mean([one[name].values for one in scores], axis=0),
            np.mean([one[name].rest for one in scores], axis=0),
        )
        for name in scores[0]
    }


def describe(
    every: Mapping[Budget, Mapping[str, Scored]],
    pairs: Sequence[tuple[Budget, Budget]],
    fold: Ints,
    batch: Ints,
) -> dict[str, Any]:
    """Choose a pool for each budget and floor on other items, and describe what it reaches."""
    curves, differences, worths = [], [], []
    votes = sorted(budget.votes for budget in every if budget.side == "votes")
    for place, floor in enumerate(FLOORS):
        chosen: dict[Budget, Floats] = {}
        for budget, tried in every.items():
            chosen[budget], names = choice.choose(
                {name: one.values[place] for name, one in tried.items()},
                {name: one.rest[place] for name, one in tried.items()},
                fold,
            )
            said = {name: names.count(name) for name in dict.fromkeys(names)}
            score = choice.over_batches(chosen[budget], batch)
            curves.append(name_budget(budget) | {"floor": floor, "kl": show(score), "pools": said})
        for first, second in pairs:
            score = choice.over_batches(chosen[first] - chosen[second], batch)
            both = {"first": name_budget(first), "second": name_budget(second)}
            differences.append(both | {"floor": floor, "difference": show(score)})
        curve = np.stack([chosen[Budget(votes=number)] for number in votes])
        for budget, goal in chosen.items():
            if budget.side in ("rich", "first choices"):
                score = choice.worth(goal, curve, votes, batch)
                worths.append(name_budget(budget) | {"floor": floor, "votes": show(score)})
    return {"curves": curves, "differences": differences, "worths": worths}


def name_budget(budget: Budget) -> dict[str, Any]:
    """Return the budget as the results have it."""
    bought = {"votes_bought": budget.votes, "rich_bought": budget.rich}
    return {"side": budget.side, **bought, "seconds": round(budget.seconds, 1)}


def show(score: Score, digits: int = 4) -> list[float]:
    """Return value and ends of the interval."""
    return [round(float(one), digits) for one in (score.value, score.low, score.high)]


def measure_cifar(answers: Answers, number: int, tell: Tell) -> dict[str, Any]:
    """Measure the labels of CIFAR-10S and CIFAR-10H, judged by either kind of people."""
    found: dict[str, Any] = {"draws": number, "items": len(answers.counts)}
    for target in PAIRS:
        draws = [draw(answers, target, seed, BUILD) for seed in range(number)]
        budgets = list_budgets(target)
        found[target] = measure_labels(answers, target, draws, budgets, PAIRS[target], tell)
    found["before"] = compare_as_before(answers)
    return found


def compare_as_before(answers: Answers) -> list[dict[str, Any]]:
    """Compare the mean of all rich answers with the shares of the same people's first choices, by
    KL of all votes clipped at each floor: what the README once reported, at a floor of .001."""
    people = answers.counts / answers.counts.sum(axis=1, keepdims=True)
    each = next(iter(answers.rich.values()))
    first = np.zeros(people.shape)
    np.add.at(first, (each.item, answers.first), 1.0)
    rich, plain = (x / x.sum(axis=1, keepdims=True) for x in (each.counts(), first))
    rows = []
    for floor in FLOORS:
        far = [kl(people, label, floor=floor) for label in (rich, plain)]
        gap = intervals.mean(far[0] - far[1])
        batches = choice.over_batches(far[0] - far[1], answers.batch)
        row = {"floor": floor, "rich": round(far[0].mean(), 4), "first": round(far[1].mean(), 4)}
        rows.append(row | {"difference": show(gap), "over_batches": show(batches)})
    return rows


def read_paper() -> dict[str, Any]:
    """Read what models learned among 6,000 other images with given classes: differences of
    cross-entropy on the 3,000 images of CIFAR-10H, and on the 100 of CIFAR-10S that were held out,
    from the stored runs of Collins et al. 2022 on features."""
    runs = read_shipped("collins2022")["features"]
    rows = []
    for votes, rich in ((16, 1), (32, 2), (VOTES_OF_10H, 3)):
        pair = M_CURVES["t2-clamp"][rich], M_CURVES["10h"][votes]
        by_votes, by_rich = (runs.difference(*pair, f"{exam}/ce") for exam in ("10h", "10s"))
        assert by_votes is not None, "both were run"
        assert by_rich is not None, "both were run"
        both = {"first": name_budget(Budget(rich=rich)), "second": name_budget(Budget(votes))}
        scores = {"difference": show(by_votes), "judged by rich answers": show(by_rich)}
        rows.append(both | scores | {"runs": by_votes.n})
    return {"differences": rows}
