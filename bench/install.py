"""How large an installation is, and how long the first command takes, beside crowd-kit.

    python bench/install.py [--write]

Each line is an environment of its own, made with pip from this checkout or from the package index.
Times are wall seconds of fresh processes, the least of five, after one that filled the caches.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from results import circumstances, table, write_section

ROOT = Path(__file__).parents[1]
RUNS = 5
VOTES = "item,annotator,label\na,ann,cat\na,bob,dog\nb,ann,dog\n"
LABEL = "from softlabel.cli import main; raise SystemExit(main(['label', 'votes.csv', 'out.csv']))"
MAJORITY = (
    "import pandas as pd; from crowdkit.aggregation import MajorityVote; "
    "votes = pd.read_csv('votes.csv', names=['task', 'worker', 'label'], header=0); "
    "MajorityVote().fit_predict_proba(votes).to_csv('out.csv')"
)
INSTALLATIONS = {  # what to install, what to import, what to run on three votes
    "softlabel": (str(ROOT), "import softlabel", LABEL),
    "softlabel[truth]": (f"{ROOT}[truth]", "import softlabel", LABEL),
    "softlabel[serve]": (f"{ROOT}[serve]", "import softlabel", LABEL),
    "crowd-kit": ("crowd-kit", "import crowdkit.aggregation", MAJORITY),
}


def measure(wanted: str, code: tuple[str, ...]) -> tuple[float, list[float]]:
    """Return megabytes on disk and the least seconds of each line of code."""
    with tempfile.TemporaryDirectory(prefix="softlabel-install-") as name:
        folder = Path(name)
        python = folder / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", name], check=True)
        pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", wanted]
        subprocess.run([*pip, "--no-compile"], check=True)
        files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
        size = sum(path.stat().st_size for path in files) / 1e6
        (folder / "votes.csv").write_text(VOTES)
        return size, [time_python(python, folder, line) for line in code]


def time_python(python: Path, folder: Path, code: str) -> float:
    """Return the least wall seconds of a fresh process."""
    seconds = []
    for _ in range(RUNS + 1):
        begun = time.perf_counter()
        subprocess.run([python, "-c", code], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        seconds.append(time.perf_counter() - begun)
    return min(seconds[1:])


def main() -> None:
    rows = [["installed", "MB on disk", "bare Python s", "import s", "label three votes s"]]
    for name, (wanted, load, label) in INSTALLATIONS.items():
        size, seconds = measure(wanted, ("pass", load, label))
        rows.append([f"`{name}`", f"{size:,.0f}", *(f"{second:.2f}" for second in seconds)])
        print(*rows[-1], sep="\t", flush=True)
    if "--write" in sys.argv:
        said = (
            "`python bench/install.py --write`: an environment each, without pip. MB on disk are "
            "those of all files, before Python compiles them. Seconds are those of a fresh "
            f"process, the least of {RUNS}. {circumstances()}"
        )
        write_section("Size of an installation", [said, table(rows)])


if __name__ == "__main__":
    main()
