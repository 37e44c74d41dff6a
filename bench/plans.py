"""Do forecasts of a pilot hold?  Realised gains against their 90 % intervals.

    python bench/plans.py [--write] [--only NAME ...] [--kept FOLDER]

Many times: some items are drawn, three votes of each are the pilot, and what another two and five
votes per item will gain is forecast, with the policy ``greedy``.  Then the policy asks for real:
its questions are answered by recorded votes (simulated crowds: by new votes), and the labels are
judged by held-out votes before and after.  The forecast is told how many votes judge, so both
numbers hold the same sampling error.  The last columns choose the factor by which intervals are
widened on all other sets: the least one of ``FACTORS`` at which 90 % of their gains are inside.
``--write`` puts the table into docs/allocate.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from replay import load
from results import table, write_block

from softlabel import Index
from softlabel.allocate import Allocation, FitVotes, Greedy, Pilot, Price, Recorded, forecast
from softlabel.allocate.planning import LEVEL, STRETCH
from softlabel.allocate.replay import Replay
from softlabel.metrics import cross_entropy
from softlabel.sampling import votes_from_counts

PAGE = Path(__file__).parent.parent / "docs" / "allocate.md"
ITEMS, VOTES, DRAWS = 200, 3, 24
MORE = (2, 5)  # further votes per item
SETS = {"CIFAR-10H": ("10k", 24, 20), "ChaosNLI snli": ("chaosnli/snli", 24, 30)}
SETS["ChaosNLI mnli"] = ("chaosnli/mnli", 24, 30)
FACTORS = np.arange(0.8, 2.01, 0.05)
SIMULATED = {"simulated, one kind of item": 1, "simulated, easy and hard items": 2}


def pilots(name: str, times: int) -> Iterator[Replay]:
    """Yield items with their votes in random order, some of which are held out."""
    rng = np.random.default_rng(8)
    if name in SETS:
        source, _, hold = SETS[name]
        votes = load(source).votes
        for seed in range(times):
            some = np.sort(rng.choice(len(votes.index.items), ITEMS, replace=False))
            yield Recorded(name, _part(votes, some)).hold_out(hold, seed)
        return
    for seed in range(times):
        alpha = np.tile([1.0, 0.5, 0.2], (ITEMS, 1))
        if SIMULATED[name] == 2:
            alpha[::2] = 0.03
            alpha[np.arange(0, ITEMS, 2), rng.integers(0, 3, ITEMS // 2)] = 5.0
        gamma = rng.standard_gamma(alpha) + 1e-300
        split = gamma / gamma.sum(axis=1, keepdims=True)
        index = Index([f"i{i}" for i in range(ITEMS)], [], ["x", "y", "z"])
        votes = votes_from_counts(index, rng.multinomial(60, split))
        yield Recorded(name, votes).hold_out(20, seed)


def _part(votes, some):
    keep = np.isin(votes.item, some)
    code = np.searchsorted(some, votes.item[keep])
    index = Index(votes.index.items[some], [], votes.index.labels)
    counts = np.zeros((len(some), len(index.labels)), dtype=np.int64)
    np.add.at(counts, (code, votes.label[keep]), 1)
    return votes_from_counts(index, counts)


def try_one(made: Replay, seed: int) -> list[tuple[float, float, float, float]]:
    """Return forecast, low, high and realised gain for each number of further votes."""
    goals = [1.8 * number for number in MORE]
    pilot = Pilot(made.index, made.build(VOTES), held=made.hold)
    steps = forecast(pilot, Greedy(), goals, Price(), draws=DRAWS, seed=seed)
    before = cross_entropy(made.share, pilot.belief().mean()).mean()
    state = Allocation(made.index, Greedy(), evidence=pilot.evidence)
    used = np.full(len(state.answers), VOTES)
    rng = np.random.default_rng(seed)
    found = []
    for goal, step in zip(goals, steps, strict=True):
        while goal * len(used) - state.spent > 0.9:
            left = int((goal * len(used) - state.spent) / 1.8 + 0.5)
            chosen = state.choose(min(10, left), used < made.size, rng=rng)
            state.record(chosen.items, made.answer(chosen.items, used[chosen.items])[0])
            used[chosen.items] += 1
            if state.due:
                state.refit()
        label = FitVotes()(made.index, state.evidence).mean()
        gain = before - cross_entropy(made.share, label).mean()
        found.append((step.gain.value, step.gain.low, step.gain.high, float(gain)))
    return found


def run(name: str, times: int, kept: Path | None) -> np.ndarray:
    place = kept / f"plan-{name.replace(' ', '-')}.json" if kept else None
    if place is not None and place.exists():
        return np.array(json.loads(place.read_text()))
    found = []
    for seed, made in enumerate(pilots(name, times)):
        found.append(try_one(made, seed))
        print(name, seed, found[-1], file=sys.stderr, flush=True)
        if place is not None:
            place.with_suffix(".part").write_text(json.dumps(found))
    if place is not None:
        place.with_suffix(".part").rename(place)
    return np.array(found)


def inside(found: np.ndarray, factor: float) -> np.ndarray:
    """Tell which realised gains are in intervals that are widened by this factor."""
    value, _, high, gain = np.moveaxis(found, -1, 0)
    return abs(gain - value) <= (high - value) * factor / STRETCH


def choose_factor(found: list[np.ndarray]) -> float:
    """Return the least factor at which intervals hold what they promise on these sets."""
    for factor in FACTORS:
        if np.mean([inside(one, factor).mean() for one in found]) >= LEVEL:
            return float(factor)
    return float(FACTORS[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--kept", type=Path)
    given = parser.parse_args()
    every = {}
    for name in (*SETS, *SIMULATED):
        if not given.only or any(word in name for word in given.only):
            every[name] = run(name, SETS[name][1] if name in SETS else 24, given.kept)
    head = ["", "pilots", "more votes", "forecast gain", "realised gain", "in the 90 % interval"]
    rows = [[*head, "factor of the others", "in that interval"]]
    left = []
    for name, found in every.items():
        factor = choose_factor([one for other, one in every.items() if other != name])
        left.append(inside(found, factor))
        for place, number in enumerate(MORE):
            value, gain = found[:, place, 0].mean(), found[:, place, 3].mean()
            within = inside(found, STRETCH)[:, place].mean(), left[-1][:, place].mean()
            cells = [f"{value:.4f}", f"{gain:.4f}", f"{within[0]:.2f}"]
            rows.append([name, str(len(found)), str(number), *cells])
            rows[-1] += [f"{factor:.2f}", f"{within[1]:.2f}"]
    total = np.mean([inside(found, STRETCH).mean() for found in every.values()])
    rows.append(["all", "", "", "", "", f"{total:.2f}", "", f"{np.mean(np.concatenate(left)):.2f}"])
    print(table(rows))
    if given.write:
        write_block(PAGE, "plans", "forecasts", table(rows))


if __name__ == "__main__":
    main()
