"""Should I buy rich answers or more votes?

    python bench/frontier.py labels [--draws 10]
    python bench/frontier.py students [--runs 10] [--kept DIR]
    python bench/frontier.py paper
    python bench/frontier.py write

``labels`` measures how close labels come to people who were held out, against the seconds that were
spent: votes of CIFAR-10H, rich answers of CIFAR-10S, and both together, on the 1,000 images that
have both.  ``students`` trains a head on frozen features (extra ``features``) on such labels; what
is done is kept in the folder, and a stopped run goes on where it was.  ``paper`` reads the stored
runs of Collins et al. 2022, in which 6,000 other images are taught by their given classes.  All
write aggregated numbers to bench/buying/results.json; ``write`` makes the tables of
docs/frontier.md, its figure and the result in the README of them.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from buying import answers, measuring, page
from results import circumstances

RESULTS = Path(__file__).parent / "buying" / "results.json"


def store(part: str, found: dict[str, Any]) -> None:
    """Put a part of the results into their file, with when and by what it was made."""
    every = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    every[part] = found | {"made": circumstances()}
    RESULTS.write_text(page.dump(every) + "\n", "utf-8")


def tell(step: str) -> None:
    print(step, flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("part", choices=["labels", "students", "paper", "write"])
    options.add_argument("--draws", type=int, default=10, help="orders of the answers")
    options.add_argument("--runs", type=int, default=10, help="models for each label")
    options.add_argument("--kept", type=Path, default=Path("runs/frontier"))
    given = options.parse_args()
    if given.part == "labels":
        store("labels", measuring.measure_cifar(answers.load(), given.draws, tell))
    elif given.part == "students":
        from buying import students  # needs torch

        bought = answers.load()
        school = students.open_school(bought)
        for seed in range(given.runs):
            students.run(bought, school, seed, given.kept, tell)
        store("students", students.describe(given.runs, given.kept))
    elif given.part == "paper":
        store("paper", measuring.read_paper())
    page.write(json.loads(RESULTS.read_text("utf-8")))


if __name__ == "__main__":
    main()
