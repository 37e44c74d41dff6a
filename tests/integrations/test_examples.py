"""The examples of docs/own-model.md that need large packages, where these are installed.

The rest of the page is run by tests/test_docs.py.  To run these too:
``pip install -c constraints.txt datasets 'transformers[torch]' lightning``.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent.parent / "docs" / "own-model.md"
FILE = re.compile(r"^```python\n# ([\w-]+\.py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDS = {
    "with_datasets.py": ("datasets",),
    "with_trainer.py": ("datasets", "transformers", "accelerate"),
    "with_lightning.py": ("lightning",),
}


def files() -> dict[str, tuple[str, str]]:
    """The files of the page: their text, and what the page says they print."""
    page = PAGE.read_text("utf-8")
    found = {}
    for match in FILE.finditer(page):
        printed = PRINTED.match(page, match.end() + 2)
        found[match[1]] = (match[2], printed[1] if printed else "")
    return found


def test_the_page_holds_these_files_and_says_what_they_print():
    found = files()
    assert set(found) == {"own.py", *NEEDS}
    assert all(found[name][1] for name in NEEDS)


@pytest.mark.parametrize("name", NEEDS)
def test_examples_with_large_packages_run(name, tmp_path):
    for package in NEEDS[name]:
        pytest.importorskip(package, reason=f"{package} is large and not installed: {name} not run")
    for file, (text, _) in files().items():
        (tmp_path / file).write_text(text, "utf-8")
    quiet = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(
        [sys.executable, name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=os.environ | quiet,
    )
    assert done.returncode == 0, done.stderr
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.OutputChecker().check_output(files()[name][1], done.stdout, flags), done.stdout
