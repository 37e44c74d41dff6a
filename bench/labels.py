"""How fast labels are found among 10,000, beside looking at all of them.

    python bench/labels.py

Both find the labels of which a word begins with what was typed; the index ranks them, too.  All in
one run, in turns; the median of the runs.
"""

from __future__ import annotations

import re
import time
from statistics import median

from softlabel.serve.participant.plans import LabelIndex

LABELS = [f"kind{n % 50}/sort {n} of thing" for n in range(10_000)]
TYPED = ("", "s", "thing", "kind7", "sort 12", "sort 1234")
RUNS = 20


def scan(typed: str) -> list[str]:
    """Look at every label."""
    begins = re.compile(rf"\b{re.escape(typed)}", re.IGNORECASE)
    return [label for label in LABELS if begins.search(label)][:20]


def main() -> None:
    start = time.perf_counter()
    index = LabelIndex(LABELS, {})
    print(f"the index of {len(LABELS):,} labels is made in {time.perf_counter() - start:.2f} s")
    print(f"{'typed':<12} {'first ms':>9} {'then ms':>9} {'scan ms':>9} {'scan / then':>12}")
    for typed in TYPED:
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(RUNS):
            for find, took in zip((index.find, scan), times, strict=True):
                start = time.perf_counter()
                assert find(typed)
                took.append(1000 * (time.perf_counter() - start))
        then, whole = median(times[0][1:]), median(times[1])
        print(f"{typed:<12} {times[0][0]:>9.3f} {then:>9.3f} {whole:>9.3f} {whole / then:>12.0f}")


if __name__ == "__main__":
    main()
