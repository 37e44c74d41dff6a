"""Priors of truth methods: chosen on other data sets, and whether the intervals they give hold.

    python bench/priors.py [--keep FILE] [--write]

Every setting is tried on every set of ``$SOFTLABEL_DATA`` that has votes and gold.  For a column
"chosen" the setting of each set is the one with the best mean on the *other* sets; sets of one
source are left out together.  Then the 90 % intervals of ``bayes-dawid-skene`` are held against
simulated confusion matrices, and the learned prior is timed beside the fixed one.  ``--write`` puts
the tables into RESULTS.md, and the first one into docs/pools/dawid-skene.md too.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import re
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from held_against import cifar10s
from outcomes import accuracy
from results import circumstances, table, write_block, write_section

from softlabel import Annotations, Index, datasets, registry
from softlabel.aggregate import BayesDawidSkene, DawidSkene
from softlabel.construct import Hard

TITLE = "Priors of truth methods"
PAGE = Path(__file__).parent.parent / "docs/pools/dawid-skene.md"

LEARNED = {f"dawid-skene:anchor={anchor}": anchor for anchor in ("0.0", "0.5", "1.0", "2.0", "4.0")}
FIXED = {
    f"dawid-skene:smoothing={votes},diagonal={right},tol=1e-06": f"{votes} with {right}"
    for votes in (1, 2, 4, 8)
    for right in (0.6, 0.7, 0.8)
}
SPAM = {
    f"mace:n_restarts=1,guesses={guesses},alpha={half},beta={half}": f"{guesses} with {half}"
    for guesses in (1, 3, 10, 30)
    for half in (0.5, 1, 2)
}
PLAIN, BEFORE = (
    "dawid-skene:smoothing=0,tol=1e-06",
    "dawid-skene:smoothing=4,diagonal=0.7,tol=1e-06",
)
# heading: a setting, or several of which one is chosen on the other sets
COLUMNS: dict[str, str | dict[str, str]] = {
    "vote": "majority:ties=split",
    "1979": PLAIN,
    "0.1": BEFORE,
    "0.1's kind, chosen": FIXED,
    "default": "dawid-skene",
    "default's kind, chosen": LEARNED,
    "bayes": "bayes-dawid-skene",
    "fast": "fast-dawid-skene",
    "one-coin": "one-coin",
    "glad": "glad",
    "mace": "mace:n_restarts=1",
    "mace, chosen": SPAM,
}

WHAT = {
    "0.1's kind, chosen": "`smoothing` with `diagonal`",
    "default's kind, chosen": "`anchor`",
    "mace, chosen": "`guesses` with `alpha` and `beta`",
}

Found = dict[str, dict[str, float]]  # percent right, by setting and set


class Set(NamedTuple):
    """Votes with gold; sets of one ``source`` are no news about each other."""

    name: str
    source: str
    votes: Annotations
    gold: Any


def sets() -> Iterator[Set]:
    for part in datasets.crowd.INFO.parts:
        data = datasets.load(f"crowd/{part}")
        yield Set(part, part.split("_")[0], data.annotations, data.gold)  # type: ignore[arg-type]
    for name in ("rte", "labelme", "pos"):
        data = datasets.load(name)
        yield Set(name, name, data.annotations, data.gold)  # type: ignore[arg-type]
    said, _, gold = cifar10s()
    yield Set("cifar10s, first choices", "cifar10s", Hard()(said), gold)
    yield from noisy_pictures()


PLACE = re.compile(r"^\d+_[a-z0-9]+_s\d+_")  # trial, experiment and person in a picture's name


def noisy_pictures() -> Iterator[Set]:
    """The experiments of model-vs-human in which several people saw the same picture; where shape
    and texture contradict each other there is no gold."""
    path = Path(os.environ["SOFTLABEL_DATA"]) / "model_vs_human/trials.csv.gz"
    trials = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["object_response"] != "na" and row["experiment"] != "cue-conflict":
                picture = PLACE.sub("", row["imagename"]) + " " + row["condition"]
                vote = (picture, row["subj"], row["object_response"], row["category"])
                trials[row["experiment"]].append(vote)
    for name, votes in trials.items():
        pictures, people, said, gold = zip(*votes, strict=True)
        index = Index(sorted({*pictures}), sorted({*people}), sorted({*said, *gold}))  # type: ignore[arg-type]
        code = [{one: at for at, one in enumerate(names.tolist())} for names in _names(index)]
        item = np.array([code[0][one] for one in pictures])
        truth = np.full(len(index.items), -1)
        truth[item] = [code[2][one] for one in gold]
        who, label = [code[1][one] for one in people], [code[2][one] for one in said]
        yield Set(name, "model-vs-human", Annotations(index, item, who, label=label), truth)  # type: ignore[arg-type]


def _names(index: Index) -> tuple[Any, Any, Any]:
    return index.items, index.annotators, index.labels


# ── leaving sets out ─────────────────────────────────────────────────────────────────────────


def measured(keep: Path | None) -> tuple[list[Set], Found]:
    """Percent right, of every setting on every set; kept in a file as they come."""
    found: Found = defaultdict(dict)
    if keep is not None and keep.exists():
        for line in keep.read_text("utf-8").splitlines():
            setting, name, value = json.loads(line)
            found[setting][name] = value
    settings = [
        setting
        for column in COLUMNS.values()
        for setting in ([column] if isinstance(column, str) else column)
    ]
    done = list(sets())
    for one in done:
        for setting in settings:
            if one.name in found[setting]:
                continue
            probs = registry.parse("aggregate", setting)(one.votes).probs
            found[setting][one.name] = accuracy(np.nan_to_num(probs), one.gold)
            if keep is not None:
                with keep.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([setting, one.name, found[setting][one.name]]) + "\n")
        print(one.name, flush=True)
    return done, found


def mean(values: dict[str, float], over: list[Set]) -> float:
    """Over sources, each of which counts once."""
    by_source = defaultdict(list)
    for one in over:
        by_source[one.source].append(values[one.name])
    return float(np.mean([np.mean(few) for few in by_source.values()]))


def chosen(found: Found, some: dict[str, str], one: Set, done: list[Set]) -> str:
    """The setting that is best on sets of other sources."""
    others = [other for other in done if other.source != one.source]
    return max(some, key=lambda setting: mean(found[setting], others))


def left_out(done: list[Set], found: Found) -> tuple[str, str]:
    """The table, and what is to be said about it."""
    values: Found = {}
    notes = []
    for heading, column in COLUMNS.items():
        if isinstance(column, str):
            values[heading] = found[column]
            continue
        picks = {one.name: chosen(found, column, one, done) for one in done}
        values[heading] = {name: found[pick][name] for name, pick in picks.items()}
        names = [column[pick] for pick in picks.values()]
        times = ", ".join(f"{name} ({names.count(name)} times)" for name in dict.fromkeys(names))
        notes.append(f"{heading} ({WHAT[heading]}): {times}; from {', '.join(column.values())}.")
    rows = [["set", *values]]
    rows += [[one.name, *(f"{column[one.name]:.2f}" for column in values.values())] for one in done]
    rows.append(["mean of sources", *(f"{mean(column, done):.2f}" for column in values.values())])
    crowds = [one for one in done if one.source != "model-vs-human"]
    rows.append(
        ["mean of sets but model-vs-human"]
        + [f"{np.mean([column[one.name] for one in crowds]):.2f}" for column in values.values()]
    )
    rows.append(
        ["mean of all sets"]
        + [f"{np.mean([column[one.name] for one in done]):.2f}" for column in values.values()]
    )
    for other in ("1979", "0.1", "0.1's kind, chosen"):
        said = []
        for over, some in (("all sets", done), ("all but model-vs-human", crowds)):
            gaps = np.array([values["default"][one.name] - values[other][one.name] for one in some])
            error = gaps.std(ddof=1) / np.sqrt(len(gaps))
            said.append(f"{gaps.mean():+.2f} points over {over} (standard error {error:.2f})")
        notes.append(f"default less {other}: {', '.join(said)}.")
    return table(rows), "\n".join(f"- {note}" for note in notes)


# ── intervals ────────────────────────────────────────────────────────────────────────────────

SYSTEMATIC = np.array(
    [
        [0.8, 0.1, 0.05, 0.05],
        [0.3, 0.55, 0.1, 0.05],
        [0.05, 0.05, 0.85, 0.05],
        [0.05, 0.1, 0.35, 0.5],
    ]
)


def even(k: int, right: float) -> Any:
    return np.where(np.eye(k, dtype=bool), right, (1 - right) / (k - 1))


def alike(rng: Any, people: int, strength: float, rows: Any) -> Any:
    """People whose rows are drawn around those of one matrix."""
    return np.stack([[rng.dirichlet(strength * row) for row in rows] for _ in range(people)])


def unlike(rng: Any, people: int, k: int) -> Any:
    """Every row of everybody right with any chance from .3 to .95, and wrong in its own way."""
    made = np.empty((people, k, k))
    for one, j in np.ndindex(people, k):
        right = rng.uniform(0.3, 0.95)
        made[one, j] = np.insert((1 - right) * rng.dirichlet(np.ones(k - 1)), j, right)
    return made


def coins(rng: Any, people: int, k: int, spammers: float) -> Any:
    """One chance each; some answer the same way whatever is true."""
    made = [even(k, rng.beta(8, 2)) for _ in range(people)]
    for one in np.flatnonzero(rng.random(people) < spammers):
        made[one] = np.tile(rng.dirichlet(np.ones(k)), (k, 1))
    return np.stack(made)


# (who, items, votes on each)
WORLDS: dict[str, Any] = {
    "around .7, 300 votes each": lambda rng: (alike(rng, 40, 4, even(3, 0.7)), 1500, 8),
    "around .7, 15 votes each": lambda rng: (alike(rng, 80, 4, even(3, 0.7)), 300, 4),
    "systematic, 225 votes each": lambda rng: (alike(rng, 40, 10, SYSTEMATIC), 1500, 6),
    "systematic, 13 votes each": lambda rng: (alike(rng, 150, 10, SYSTEMATIC), 400, 5),
    "very different, 250 votes each": lambda rng: (unlike(rng, 30, 4), 1500, 5),
    "very different, 25 votes each": lambda rng: (unlike(rng, 60, 4), 300, 5),
    "one chance each": lambda rng: (coins(rng, 50, 3, 0), 600, 5),
    "a fifth spam": lambda rng: (coins(rng, 50, 3, 0.2), 600, 6),
    "ten classes, 60 votes each": lambda rng: (alike(rng, 100, 6, even(10, 0.75)), 1000, 6),
    "two classes, three votes on an item": lambda rng: (alike(rng, 60, 6, even(2, 0.8)), 800, 3),
}


def simulated(rng: Any, matrices: Any, items: int, each: int) -> Annotations:
    people, k, _ = matrices.shape
    truth, item = rng.integers(0, k, items), np.repeat(np.arange(items), each)
    who = np.concatenate([rng.choice(people, each, replace=False) for _ in range(items)])
    chances = matrices[who, truth[item]].cumsum(axis=1)
    label = (chances < rng.random((len(item), 1))).sum(axis=1).clip(max=k - 1)
    sizes = (range(items), range(people), range(k))
    return Annotations(Index(*([str(i) for i in size] for size in sizes)), item, who, label=label)  # type: ignore[arg-type]


def coverage(runs: int = 10) -> str:
    methods = {"default": BayesDawidSkene(), "0.1's prior": BayesDawidSkene(smoothing=4, tol=1e-6)}
    rows = [["people", *methods]]
    means = []
    for name, world in WORLDS.items():
        held = np.zeros((runs, len(methods)))
        for run in range(runs):
            rng = np.random.default_rng(run)
            matrices, items, each = world(rng)
            said = simulated(rng, matrices, items, each)
            for at, method in enumerate(methods.values()):
                found = method(said)
                inside = (found.confusion_low <= matrices) & (matrices <= found.confusion_high)  # type: ignore[operator]
                held[run, at] = inside.mean()
        means.append(held.mean(axis=0))
        rows.append([name, *(f"{share:.3f}" for share in means[-1])])
    rows.append(["mean", *(f"{share:.3f}" for share in np.mean(means, axis=0))])
    return table(rows)


def speed() -> str:
    """Seconds on 510,000 planted votes of 2,500 people on ten classes, least of four runs."""
    rng = np.random.default_rng(0)
    items, each, people, classes = 25_500, 20, 2_500, 10
    item, true = np.repeat(np.arange(items), each), rng.integers(0, classes, items)
    guess, knows = rng.integers(0, classes, len(item)), rng.random(len(item)) < 0.7
    names = [[str(i) for i in range(count)] for count in (items, people, classes)]
    who, label = rng.integers(0, people, len(item)), np.where(knows, true[item], guess)
    said = Annotations(Index(*names), item, who, label=label)
    kinds = {"learned": DawidSkene(), "fixed, as in 0.1": DawidSkene(smoothing=4, tol=1e-6)}
    rows = [["prior", "20 steps, s", "whole run, s", "steps"]]
    for name, pool in kinds.items():
        times = []
        for timed in (replace(pool, n_iter=20, tol=0), pool):
            runs = []
            for _ in range(4):
                start = time.perf_counter()
                steps = len(timed(said).trace)
                runs.append(time.perf_counter() - start)
            times.append(min(runs))
        rows.append([name, *(f"{seconds:.3f}" for seconds in times), str(steps)])
    return table(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="outcomes, to go on after an interruption")
    parser.add_argument("--write", action="store_true", help="into RESULTS.md and the docs")
    options = parser.parse_args()
    shown, notes = left_out(*measured(options.keep))
    parts = [
        "`python bench/priors.py --write`: percent of the gold labels found; items whose top "
        "classes are level count in part. *1979* is `dawid-skene:smoothing=0`, *0.1* its default "
        "in version 0.1 (`smoothing=4`), which was chosen on most of these sets. In columns "
        "*chosen* every set has the setting that is best on sets of other sources (a source "
        f"counts once; sets of one source are left out together). {circumstances()}",
        shown,
        notes,
        "Share of simulated entries of confusion matrices inside the 90 % intervals of "
        "`bayes-dawid-skene`, ten runs each:",
        coverage(),
        "Seconds of `dawid-skene` on 510,000 planted votes, least of four runs:",
        speed(),
    ]
    print("\n\n".join(parts))
    if options.write:
        write_section(TITLE, parts)
        write_block(PAGE, "priors", "left out", f"{shown}\n\n{notes}")


if __name__ == "__main__":
    main()
