"""Policies replayed on recorded votes of all data sets: the curves and targets of docs/allocate.md.

    python bench/replay.py [--write] [--only NAME ...] [--kept FOLDER] [--peers] [--stops]

Each line is one data set with one kind of prior: ``same votes`` is learned from what was asked so
far, ``other items`` from up to 37 votes of each item of the other half.  ``greedy`` is as shipped;
``gain alone`` and ``entropy alone`` are its two parts, without a blend and without falling back to
equal quotas.  Data are read from ``$SOFTLABEL_DATA``; a set that is not there is left out and
named.  ``--peers`` replays ActiveLab too (Goh & Mueller 2023), by cleanlab's own function: it needs
cleanlab installed, and predictions of a model, for which it is given our labels at each round; a
column of its table is the first, second, ... vote of each item.  ``--stops`` asks
until every item is done, by several limits of gain per second.  ``--kept`` keeps each finished
line as JSON and does not compute it again.  ``--write`` puts tables and figures into the
documentation.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from results import circumstances, table, write_block

from softlabel import Index, datasets
from softlabel.allocate import (
    Comparison,
    Entropy,
    FitVotes,
    Greedy,
    Recorded,
    Setting,
    compare,
    draw_curves,
    grassberger,
    kl_star,
    split_folds,
)
from softlabel.allocate.replay import RAW, Replay, Row, run_policy
from softlabel.datasets import MissingData
from softlabel.report import standalone_svg
from softlabel.sampling import votes_from_counts
from softlabel.tables import Score, names

DOCS = Path(__file__).parent.parent / "docs"
POLICIES = (Greedy(), Greedy(blend=0, even=1), Entropy(even=1))
SHOWN = {
    "greedy": "greedy",
    "greedy (blend=0, even=1)": "gain alone",
    "entropy (even=1)": "entropy alone",
    "uniform": "uniform",
    RAW: RAW,
}
CIFAR_GOALS = (3.6, 5.4, 9.0, 18.0, 36.0, 66.6)
WORSE = 0.001  # nats: greedy may be this much worse than uniform


@dataclass(frozen=True)
class Job:
    """One line: a data set, how its votes are replayed, and the targets of greedy by goal."""

    name: str
    load: str
    setting: Setting
    targets: tuple[tuple[float, float], ...] = ()


GOALS = (5.4, 9.0, 18.0, 36.0)


def cifar(name: str, prior: str, *limits: float) -> Job:
    """Images of CIFAR-10H, with what greedy must reach at each of ``GOALS``."""
    seeds, calibrate = (1 if name == "10k" else 3), (37 if prior == "other items" else 0)
    setting = Setting(10, calibrate, tuple(range(500, 500 + seeds)), CIFAR_GOALS)
    return Job(f"{name}, {prior}", name, setting, tuple(zip(GOALS, limits, strict=True)))


def few(seeds: int = 4, calibrate: int = 0) -> Setting:
    return Setting(10, calibrate, tuple(range(500, 500 + seeds)))


JOBS = (
    cifar("1k", "other items", 0.140, 0.106, 0.078, 0.055),
    cifar("1k", "same votes", 0.196, 0.131, 0.079, 0.053),
    cifar("10k", "other items", 0.054, 0.038, 0.027, 0.020),
    cifar("10k", "same votes", 0.067, 0.042, 0.028, 0.020),
    Job("POPQUORN offensiveness", "popquorn/offensiveness", few()),
    Job("POPQUORN politeness", "popquorn/politeness", few()),
    Job("LabelMe", "labelme", few()),
    Job("DICES-350", "dices", few()),
    Job("distorted pictures, cue conflict", "model_vs_human/cue-conflict", few()),
    Job("distorted pictures, sketches", "model_vs_human/sketch", few()),
    Job("distorted pictures, stylized", "model_vs_human/stylized", few()),
    Job("AltTest wax", "alttest/wax", few()),
    Job("AltTest lgbteen", "alttest/lgbteen", few()),
    Job("AltTest summeval", "alttest/summeval", few(2)),
    Job("ChaosNLI snli", "chaosnli/snli", few(2)),
    Job("ChaosNLI mnli", "chaosnli/mnli", few(2)),
    Job("ChaosNLI mnli, other items", "chaosnli/mnli", few(2, 37)),
    Job("POPQUORN offensiveness, other items", "popquorn/offensiveness", few(4, 37)),
    Job("POPQUORN politeness, other items", "popquorn/politeness", few(4, 37)),
)


def load(name: str) -> Recorded:
    if name in ("1k", "10k"):
        votes = datasets.cifar10h.load("counts")
        items = votes.index.items
        if name == "1k":
            items = datasets.cifar10s.load("first").index.items
        rows = np.array([int(item) for item in items.tolist()])
        index = Index(items, names([]), votes.index.labels)
        return Recorded(name, votes_from_counts(index, votes.arrays["counts"][rows]))
    found = datasets.load(name)
    assert found.annotations is not None
    seconds = found.arrays["rt_ms"] / 1000 if "rt_ms" in found.arrays else None
    return Recorded(name, found.annotations, seconds)


def run(job: Job, kept: Path | None) -> Comparison:
    place = kept / f"{job.name.replace(' ', '-')}.json" if kept else None
    if place is not None and place.exists():
        return read(json.loads(place.read_text()))
    start = time.perf_counter()
    found = compare(load(job.load), POLICIES, job.setting)
    print(f"{job.name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    if place is not None:
        place.parent.mkdir(exist_ok=True, parents=True)
        place.write_text(json.dumps(found.to_dict()))
    return found


def read(stored: dict) -> Comparison:
    def score(row: dict, name: str) -> Score | None:
        values = [row[f"{name}_{part}"] for part in ("value", "low", "high")]
        return None if values[0] is None else Score(*values, stored["items"])

    rows = [
        Row(
            *(row[key] for key in ("policy", "goal", "seconds")),
            *(score(row, name) for name in ("kl", "below_uniform", "below_raw")),
            (row["median"], row["p90"], row["p99"]),
        )
        for row in stored["rows"]
    ]
    head = [stored[key] for key in ("name", "items", "price", "prior")]
    return Comparison(*head, tuple(stored["seeds"]), stored["note"], tuple(rows))


# ── ActiveLab ────────────────────────────────────────────────────────────────────────────────

PEER = "ActiveLab"
PEER_GOALS = (5.4, 9.0, 18.0)
ROUND = 50  # a twentieth of the items


def run_peer(recorded: Recorded, seed: int) -> dict[float, np.ndarray]:
    """Return KL* (m,) by goal: cleanlab chooses, our pool makes the labels."""
    from cleanlab.multiannotator import get_active_learning_scores

    votes = recorded.hold_out(10, seed)
    m = len(votes.index.items)
    fit, used = FitVotes(), np.full(m, 2)
    given = np.full((m, int(votes.size.max())), np.nan)
    for vote in range(2):
        given[:, vote] = votes.answer(np.arange(m), np.full(m, vote))[0]
    evidence, entropies = votes.build(2), grassberger(votes.counts)
    found: dict[float, np.ndarray] = {}
    for goal in PEER_GOALS:
        while used.sum() < goal / 1.8 * m:
            labels = fit(votes.index, evidence).mean()
            score, _ = get_active_learning_scores(given[:, : used.max()], labels)
            score = np.where(used < votes.size, score, np.inf)
            items = np.argsort(score, kind="stable")[:ROUND]
            new = votes.answer(items, used[items])[0]
            given[items, used[items]] = new
            np.add.at(evidence, (items, new), 1)
            used[items] += 1
        label = fit(votes.index, evidence).mean()
        found[goal] = kl_star(votes.share, label, entropies)
    return found


def run_kept_peer(recorded: Recorded, seed: int, kept: Path | None) -> list[float]:
    """Return the mean KL* by goal, computed once if there is a folder to keep it."""
    place = kept / f"peer-{seed}.json" if kept else None
    if place is not None and place.exists():
        return list(json.loads(place.read_text()))
    found = run_peer(recorded, seed)
    means = [float(np.mean(found[goal])) for goal in PEER_GOALS]
    if place is not None:
        place.write_text(json.dumps(means))
    return means


def compare_peer(kept: Path | None) -> str:
    """Tabulate ActiveLab beside ours on the same orders of votes of the 1,000 images."""
    job = next(job for job in JOBS if job.name == "1k, same votes")
    ours, recorded = run(job, kept), load(job.load)
    theirs = [run_kept_peer(recorded, seed, kept) for seed in job.setting.seeds]
    stored = {PEER: np.mean(theirs, axis=0).tolist()}
    for policy in list(SHOWN)[:4]:
        stored[SHOWN[policy]] = [ours.row(policy, goal).kl.value for goal in PEER_GOALS]
    rows = [["KL* at seconds per item", *(f"{goal:g}" for goal in PEER_GOALS)]]
    rows += [[name, *(f"{value:.4f}" for value in values)] for name, values in stored.items()]
    return table(rows)


# ── stopping ─────────────────────────────────────────────────────────────────────────────────

STOPS = (1e-2, 5e-3, 2e-3)


def run_stop(votes: Replay, stop: float, seed: int) -> list[float]:
    """Return seconds per item, KL*, answers (median, 90, 99 %), and how often the held-out votes of
    the first and the second class are in their 90 % predictive intervals; prior of other items."""
    rng, kl = np.random.default_rng([seed, 7]), []
    answers, inside, spent = [], [[], []], 0.0
    for rest, test in split_folds(len(votes.index.items), 2, seed):
        fit, part = votes.part(rest).fit_others(37), votes.part(test)
        point = run_policy(part, Greedy(stop=stop), fit, (1e4,), 1.8, rng)[0]
        kl.append(kl_star(part.share, point.labels, grassberger(part.counts)))
        answers.append(point.answers)
        spent += float(point.answers.sum()) * 1.8
        belief, held = fit(part.index, point.votes), np.rint(part.share * part.hold)
        order = np.argsort(-point.labels, axis=1, kind="stable")
        for place in (0, 1):
            label = order[:, place]
            count = held[np.arange(len(label)), label].astype(np.int64)
            low, high = belief.predictive_cdf(label, count, np.full(len(label), part.hold))
            drawn = low + rng.random(len(low)) * (high - low)
            inside[place].append((drawn > 0.05) & (drawn < 0.95))
    every = np.concatenate(answers)
    covered = [float(np.concatenate(one).mean()) for one in inside]
    ends = np.percentile(every, [50, 90, 99]).tolist()
    return [spent / len(every), float(np.concatenate(kl).mean()), *ends, *covered]


def tabulate_stops(kept: Path | None) -> str:
    head = ["`stop`, nats per second", "images", "seconds per image", "KL*"]
    head += ["answers: median, 90 %, 99 %", "top class in its interval", "second class"]
    rows = [head]
    place = kept / "stops.json" if kept else None
    known = json.loads(place.read_text()) if place is not None and place.exists() else {}
    for name in ("10k", "1k"):
        for stop in STOPS:
            key = f"{name} {stop}"
            if key not in known:
                known[key] = run_stop(load(name).hold_out(10, 500), stop, 500)
                if place is not None:
                    place.write_text(json.dumps(known))
            seconds, kl, *ends, top, second = known[key]
            cells = [f"{stop:g}", name, f"{seconds:.1f}", f"{kl:.4f}"]
            cells += [", ".join(f"{value:.0f}" for value in ends), f"{top:.3f}", f"{second:.3f}"]
            rows.append(cells)
    return table(rows)


# ── tables ───────────────────────────────────────────────────────────────────────────────────


def goals_of(found: Comparison) -> list[float]:
    return sorted({row.goal for row in found.rows if row.policy == "uniform"})


def tabulate_curves(found: Comparison) -> str:
    goals = goals_of(found)
    rows = [["KL* at seconds per item", *(f"{goal:.3g}" for goal in goals)]]
    for policy, shown in SHOWN.items():
        every = [found.row(policy, goal) for goal in goals]
        rows.append([shown, *("–" if row is None else f"{row.kl.value:.4f}" for row in every)])
    for policy in ("greedy", "greedy (blend=0, even=1)", "entropy (even=1)"):
        cells = [found.row(policy, goal) for goal in goals]
        rows.append([f"{SHOWN[policy]}, below uniform", *(gap(row) for row in cells)])
    return table(rows)


def gap(row: Row | None) -> str:
    if row is None or row.below_uniform is None:
        return "–"
    one = row.below_uniform
    return f"{one.value:+.4f} [{one.low:+.4f}, {one.high:+.4f}]"


def tabulate_targets(found: dict[str, tuple[Job, Comparison]]) -> str:
    rows = [["", *(f"{goal:g} s" for goal in GOALS)]]
    for name, (job, one) in found.items():
        if job.targets:
            cells = []
            for goal, limit in job.targets:
                row = one.row("greedy", goal)
                value = row.kl.value if row else np.nan
                met = "yes" if value <= limit else "NO"
                cells.append(f"{value:.4f} (at most {limit:.3f}: {met})")
            rows.append([name, *cells])
    return table(rows)


def tabulate_worst(found: dict[str, tuple[Job, Comparison]]) -> str:
    """Where each policy is worst against uniform, by data set."""
    head = ["", "items", "held out, left out", "goals", *(SHOWN[p] for p in list(SHOWN)[:3])]
    rows = [head]
    for name, (_, one) in found.items():
        cells = []
        for policy in list(SHOWN)[:3]:
            gaps = [r for r in one.rows if r.policy == policy and r.below_uniform is not None]
            worst = min(gaps, key=lambda row: row.below_uniform.value, default=None)
            best = max(gaps, key=lambda row: row.below_uniform.value, default=None)
            if worst is None:
                cells.append("–")
                continue
            cells.append(
                f"{worst.below_uniform.value:+.4f} at {worst.goal:.3g} s, "
                f"{best.below_uniform.value:+.4f} at {best.goal:.3g} s"
            )
        goals = goals_of(one)
        reach = f"{goals[0]:.2g} to {goals[-1]:.3g} s" if goals else "–"
        rows.append([name, f"{one.items:,}", one.note, reach, *cells])
    return table(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--stops", action="store_true")
    given = parser.parse_args()
    found = {}
    for job in JOBS:
        if given.only and not any(word in job.name for word in given.only):
            continue
        try:
            found[job.name] = (job, run(job, given.kept))
        except MissingData as error:
            print(f"{job.name} is left out: {error}", file=sys.stderr)
            continue
        print(f"\n{job.name}\n\n{tabulate_curves(found[job.name][1])}", flush=True)
    print(f"\n{tabulate_targets(found)}\n\n{tabulate_worst(found)}")
    if given.stops:
        stops = tabulate_stops(given.kept)
        print(f"\n{stops}")
        if given.write:
            write_block(DOCS / "allocate.md", "replay", "stops", stops)
    if given.peers:
        peers = compare_peer(given.kept)
        print(f"\n{peers}")
        if given.write:
            write_block(DOCS / "allocate.md", "replay", "peers", peers)
    if given.write:
        write(found)


def write(found: dict[str, tuple[Job, Comparison]]) -> None:
    page = DOCS / "allocate.md"
    write_block(page, "replay", "targets", tabulate_targets(found))
    write_block(page, "replay", "all data sets", tabulate_worst(found))
    curves = [f"**{name}**\n\n{tabulate_curves(one)}" for name, (_, one) in found.items()]
    write_block(page, "replay", "curves", "\n\n".join([*curves, circumstances("numpy", "scipy")]))
    for name in ("10k, same votes", "1k, same votes"):
        if name in found:
            shown = ("greedy", "uniform", RAW)
            text = standalone_svg(draw_curves(found[name][1], shown))
            file = DOCS / "pictures" / f"replay-{name.split(',')[0]}.svg"
            file.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
