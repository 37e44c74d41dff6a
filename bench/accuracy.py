"""How often each method finds the gold label: ours beside crowd-kit, peerannot and cleanlab.

    python bench/accuracy.py [METHOD ...] [--limit SECONDS] [--keep FILE] [--write]

On the 13 sets of ``crowd``, RTE, sentiment, LabelMe and POS, read from ``$SOFTLABEL_DATA``; all
methods, or those named.  An item at whose top classes are level counts in part.  A peer that is
not installed is said to be missing; one that fails or takes longer than the limit (for one set)
is marked, with what it said.  ``--write`` puts the tables into RESULTS.md.
"""

from __future__ import annotations

import argparse
import importlib.util
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from inferring import METHODS, OURS, PACKAGES, RARE, STOPPED, UNSMOOTHED
from outcomes import Measuring, Outcome
from results import circumstances, table, write_section

from softlabel import datasets

SETS = [
    *(f"crowd/{part}" for part in datasets.crowd.INFO.parts),
    *("rte", "sentiment", "labelme", "pos"),
]
ALLOWED = 0.3  # points that ours may be below the best of the same method
TITLE = "Accuracy of truth methods"

# (method, library): what is wrong with its answer
WRONG = {
    ("mace", "crowd-kit"): "adds up counts in sorted order of names and applies them in order of "
    "appearance, so that its answer depends on names; where people and classes are renamed so that "
    "both orders agree (next column) it finds what ours finds. Its restarts are all the same",
}
DECIDES = "decides ties for one class, where ours agrees with the tied classes in equal parts"
# (method, library): what it does otherwise, and our column that does the same
OTHERWISE = {
    ("majority", "cleanlab"): (
        "gives ties to the class with fewer votes on all items (its documentation says: more)",
        RARE,
    ),
    ("majority", "peerannot"): ("gives ties away by lot; the seed is 0 here", None),
    ("wawa", "crowd-kit"): (DECIDES, None),
    ("zero-based-skill", "crowd-kit"): (f"{DECIDES}, and a decided tie confirms itself", None),
    ("dawid-skene", "peerannot"): ("has no prior", UNSMOOTHED),
    ("dawid-skene", "crowd-kit"): (
        "stops early on some sets, because it watches a sum with the log prior once per vote",
        STOPPED,
    ),
    ("one-coin", "crowd-kit"): (
        "stops early on some sets, because it watches a sum with the log prior once per vote",
        STOPPED,
    ),
    ("glad", "crowd-kit"): (
        "stops early on some sets, because it watches the expected log-likelihood Q, which may "
        "fall while EM climbs",
        STOPPED,
    ),
}


def sets_for(method: str) -> list[str]:
    """Two classes for kos, features for crowdlab, and all sets for the others."""
    if method == "crowdlab":
        return ["labelme"]
    if method == "kos":
        return [name for name in SETS if len(datasets.load(name).index.labels) == 2]
    return SETS


def is_missing(who: str) -> bool:
    needed = [package for name, package in PACKAGES.items() if name in who]
    return any(importlib.util.find_spec(package) is None for package in needed)


def section(method: str, measuring: Measuring) -> list[str]:
    """The table of one method, and what is to be said about it."""
    there = [who for who in METHODS[method] if not is_missing(who)]
    names = sets_for(method)
    results = {who: measuring.measure(method, who, names) for who in there}
    said: dict[str, str] = {}
    rows = [["set", *there]]
    rows += [[name, *(_cell(results[who][name], said) for who in there)] for name in names]
    rows.append(["mean of the sets all did", *_means(results)])
    total = (sum(outcome.seconds for outcome in results[who].values()) for who in there)
    rows.append(["seconds", *(f"{seconds:.0f}" for seconds in total)])
    notes = [f"{mark}: {text}" for text, mark in said.items()]
    notes += [f"{who} is not installed." for who in METHODS[method] if is_missing(who)]
    notes += _notes(method, results)
    return [
        f"### {method}",
        table(rows),
        *(["\n".join(f"- {note}" for note in notes)] * bool(notes)),
    ]


def _cell(outcome: Outcome, said: dict[str, str]) -> str:
    """The accuracy, or a mark that the notes explain."""
    if outcome.accuracy is not None or outcome.trouble.startswith(">"):
        return str(outcome)
    return said.setdefault(outcome.trouble, f"fails {chr(ord('a') + len(said))}")


def _means(results: dict[str, dict[str, Outcome]]) -> list[str]:
    names = next(iter(results.values()))
    shared = [
        name for name in names if all(done[name].accuracy is not None for done in results.values())
    ]
    if not shared:
        return ["–"] * len(results)
    return [f"{np.mean([done[name].accuracy for name in shared]):.2f}" for done in results.values()]


def _notes(method: str, results: dict[str, dict[str, Outcome]]) -> list[str]:
    """What is wrong with peers, and where ours is more than the allowed points below one."""
    notes = []
    for who in results:
        if (method, who) in WRONG:
            notes.append(f"{who} is wrong: it {WRONG[method, who]}.")
        if (method, who) in OTHERWISE:
            notes.append(f"{who} {OTHERWISE[method, who][0]}.")
        if OURS in results and not who.startswith(OURS):
            notes += _behind(method, who, results)
    return notes


def _behind(method: str, who: str, results: dict[str, dict[str, Outcome]]) -> list[str]:
    notes = []
    for name, own in results[OURS].items():
        gap = (results[who][name].accuracy or 0.0) - (own.accuracy or 0.0)
        if gap <= ALLOWED:
            continue
        reason = ", which is wrong" if (method, who) in WRONG else ""
        _, same = OTHERWISE.get((method, who), ("", None))
        if same in results:
            reason = f"; {same.removeprefix(OURS + ', ')} it finds {results[same][name]}"
        notes.append(f"{name}: ours is {gap:.2f} points below {who}{reason}.")
    return notes


def versions() -> str:
    found = []
    for package in ("crowd-kit", "peerannot", "cleanlab", "scikit-learn"):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} missing")
    return ", ".join(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", metavar="METHOD", help=", ".join(METHODS))
    parser.add_argument("--limit", type=float, default=180, help="seconds for one set")
    parser.add_argument("--keep", type=Path, help="outcomes, to go on after an interruption")
    parser.add_argument("--write", action="store_true", help="into RESULTS.md")
    options = parser.parse_args()
    parts = [
        f"`python bench/accuracy.py --limit {options.limit:.0f} --write`: percent of the gold "
        "labels found, every library as it is shipped; items whose top classes are level count in "
        "part. Seconds are of shared cores and only say what to expect. "
        f"{versions()}. {circumstances()}"
    ]
    for method in options.methods or list(METHODS):
        parts += section(method, Measuring(options.limit, options.keep))
    print("\n\n".join(parts))
    if options.write:
        write_section(TITLE, parts)


if __name__ == "__main__":
    main()
