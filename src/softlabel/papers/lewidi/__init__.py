"""The shared task Learning with Disagreements: controls, a baseline, and tables beside others'.

Leonardelli et al. 2023, "SemEval-2023 Task 11: Learning With Disagreements"; Leonardelli et al.
2025, "LeWiDi-2025 at NLPerspectives".  The organisers released the answers to the test items, so
everything is computed here; nothing is sent to anybody.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from softlabel._util.progress import Progress, silent
from softlabel.papers.lewidi import baseline
from softlabel.papers.lewidi.baseline import Choice
from softlabel.papers.lewidi.tasks import SETS, Task, Year, load_task, write_submission
from softlabel.tables import Floats, Ints

__all__ = ["SETS", "Entry", "Task", "Year", "load_task", "read_published", "run_task"]

MEAN, PLAIN, OURS = "training mean", "plain TF-IDF", "softlabel"
FREQUENT = "most frequent label"


@dataclass(frozen=True)
class Entry:
    """What was computed of one set: scores by system and measure, what was chosen on dev, and the
    submission files."""

    task: Task
    scores: Mapping[str, Mapping[str, float]]
    choice: Choice
    files: tuple[Path, ...]


def run_task(
    year: Year,
    name: str,
    out: Path | None = None,
    sentences: bool = False,
    tell: Progress = silent,
) -> Entry:
    """Predict the test items of a set with controls and with the baseline, and score them.

    ``sentences`` adds features of MiniLM.  With ``out`` submission files are written there.
    """
    tell(f"reading {name}")
    task = load_task(year, name)
    train, test = task.rows["train"], task.rows["test"]
    known = np.concatenate([train, task.rows["dev"]])
    scores: dict[str, dict[str, float]] = {}
    if task.kind == "yes or no":
        scores["entropy of people, the floor"] = {"cross-entropy": task.floor}
    average = np.tile(task.shares[train].mean(axis=0), (len(test), 1))
    scores[MEAN] = task.score(test, average)
    if task.kind == "ordered":
        even = np.arange(1, task.shares.shape[1] + 1) / (task.shares.shape[1] + 1)
        scores["uniform"] = task.score(test, np.tile(even, (len(test), 1)))
    scores[FREQUENT] = task.score_people(test, predict_frequent(task, train, test))

    tell(f"{name}: plain TF-IDF")
    plain = {"words and letters": baseline.see_both}
    choice = baseline.choose(task, plain)
    found = baseline.learn(task, plain, choice, train)
    scores[PLAIN] = task.score(test, baseline.to_shares(task, found[test]))

    tell(f"{name}: choosing on dev")
    views = baseline.list_views(task, sentences)
    choice = baseline.choose(task, views)
    tell(f"{name}: learning from train and dev")
    found = baseline.learn(task, views, choice, known)
    shares = baseline.to_shares(task, found[test], choice.sharper)
    said, _ = baseline.predict_people(task, views, choice, found)
    scores[OURS] = task.score(test, shares) | task.score_people(test, said)
    files = [] if out is None else write_submission(task, shares, said, out)
    return Entry(task, scores, choice, tuple(files))


def predict_frequent(task: Task, train: Ints, test: Ints) -> Floats:
    """Return, for each person, the most frequent answer in ``train``; of several classes, none."""
    answers, asked = task.answers_of(train), task.answers_of(test)
    if task.kind == "several":
        return np.zeros((len(asked), task.shares.shape[1]))
    steps = task.said.sum(axis=1).astype(np.int64)  # one number for each answer
    most = np.zeros(len(task.people), dtype=np.int64)
    for person in np.unique(task.annotator):
        mine = answers[task.annotator[answers] == person]
        most[person] = np.bincount(steps[mine if len(mine) else answers]).argmax()
    targets = np.arange(task.shares.shape[1])
    # an answer that is at or below n of the cuts is so for the last n of them
    return (targets >= len(targets) - most[task.annotator[asked]][:, None]).astype(np.float64)


def read_published(name: str) -> dict[str, dict[str, float]]:
    """Return what others report on a set, by system and measure."""
    text = Path(__file__).with_name("published.toml").read_text("utf-8")
    return {key: dict(row) for key, row in tomllib.loads(text).get(name, {}).items()}
