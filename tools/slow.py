"""Write tests/slow.txt, the tests that `make check` leaves out, from the report of a quiet run.

    make test PYTEST="--junitxml=report.xml" && python tools/slow.py report.xml
    make check PYTEST="--junitxml=report.xml" && python tools/slow.py report.xml

A test is slow if all its cases and their set-up together take a second or more.  What tests share
is built by whichever comes first, so leaving out one may make another slow.  A report of
`make check` therefore adds to the list: tests that are not in a report stay listed.  A file is
listed whole if most of its time is in slow tests, and so is one whose tests all need what the first
one built.
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
SHARED = {
    "tests/papers/test_gheibi2026_runs.py",
    "tests/publish/test_peers.py",
    "tests/test_site.py",
}
NEVER = "tests/test_house.py"  # reads all modules once: what every change should be checked by


def file_and_test(case: ElementTree.Element) -> tuple[str, str]:
    """Return the path of the test's file and its node id without parameters."""
    words = case.get("classname", "").split(".")
    for end in range(len(words), 0, -1):
        path = "/".join(words[:end]) + ".py"
        if (ROOT / path).is_file():
            name = "::".join([path, *words[end:], case.get("name", "").partition("[")[0]])
            return path, name
    return "", ""


def list_slow(report: Path, before: list[str]) -> list[str]:
    """Return the lines of the list: files, or tests; lines that the report says nothing of stay."""
    spent: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for case in ElementTree.parse(report).iter("testcase"):
        path, name = file_and_test(case)
        spent[path][name] += float(case.get("time", 0))
    lines = [one for one in before if one.partition("::")[0] not in spent or "::" in one]
    lines = [one for one in lines if one not in spent[one.partition("::")[0]]]
    lines = [one for one in lines if not one.startswith(NEVER)]
    spent.pop(NEVER, None)
    for path, tests in spent.items():
        slow = [name for name, seconds in tests.items() if seconds >= SLOW]
        in_slow = sum(tests[name] for name in slow)
        whole = len(slow) > 1 and in_slow > 0.8 * sum(tests.values())
        whole = whole or (bool(slow) and path in SHARED)
        if whole:
            lines = [one for one in lines if not one.startswith(f"{path}::")]
        lines += [path] if whole else slow
    return sorted(lines)


if __name__ == "__main__":
    path = ROOT / "tests" / "slow.txt"
    lines = list_slow(Path(sys.argv[1]), path.read_text("utf-8").split())
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} lines in {path.name}")
