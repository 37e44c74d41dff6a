"""Write tests/slow.txt, the tests that `make check` leaves out, from the report of a full run.

    make test PYTEST="--junitxml=report.xml" && python tools/slow.py report.xml

A test is slow if one of its cases takes a second or more, set-up included.  A file is listed whole
if most of its time is in slow tests, and so is one whose tests all need what the first one built.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parent.parent
SLOW = 1.0  # seconds
# files whose tests share something slow: a report counts it for the first of them, but any of the
# others would build it too
SHARED = {"tests/test_site.py"}


def file_and_test(case: ElementTree.Element) -> tuple[str, str]:
    """Return the path of the test's file and its node id without parameters."""
    words = case.get("classname", "").split(".")
    for end in range(len(words), 0, -1):
        path = "/".join(words[:end]) + ".py"
        if (ROOT / path).is_file():
            name = "::".join([path, *words[end:], case.get("name", "").partition("[")[0]])
            return path, name
    return "", ""


def list_slow(report: Path) -> list[str]:
    """Return the lines of the list: files, or tests."""
    longest: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    spent: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for case in ElementTree.parse(report).iter("testcase"):
        path, name = file_and_test(case)
        seconds = float(case.get("time", 0))
        longest[path][name] = max(longest[path][name], seconds)
        spent[path][name] += seconds
    lines = []
    for path, tests in longest.items():
        slow = [name for name, seconds in tests.items() if seconds >= SLOW]
        in_slow = sum(spent[path][name] for name in slow)
        whole = (len(slow) > 1 or path in SHARED) and in_slow > 0.8 * sum(spent[path].values())
        lines += [path] if whole else slow
    return sorted(lines)


if __name__ == "__main__":
    lines = list_slow(Path(sys.argv[1]))
    (ROOT / "tests" / "slow.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} lines in tests/slow.txt")
