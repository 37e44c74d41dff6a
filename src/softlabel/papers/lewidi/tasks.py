"""The sets of the shared task Learning with Disagreements: what is predicted, how it is measured.

Every set comes down to targets between 0 and 1, one column each: the share of people who say yes
(the four sets of 2023), the share at or below each of ten values (Paraphrase, whose eleven classes
are ordered), or the share who give each of three classes (VariErr, where a person may give
several).  The measures are the organisers'.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy.special import entr

from softlabel._util.files import write_atomically
from softlabel.datasets import DATASETS
from softlabel.errors import UnknownName
from softlabel.tables import Floats, Ints

Year = Literal["2023", "2025"]
Kind = Literal["yes or no", "ordered", "several"]
SETS: Mapping[Year, Mapping[str, str]] = {  # the names of the organisers' files
    "2023": {
        "hs-brexit": "HS-Brexit",
        "convabuse": "ConvAbuse",
        "md-agreement": "MD-Agreement",
        "armis": "ArMIS",
    },
    "2025": {"paraphrase": "Paraphrase", "varierr": "VariErrNLI"},
}
LEAST = 1e-12  # below it a probability is cut before its logarithm is taken, as the organisers do


@dataclass(frozen=True, eq=False)
class Task:
    """One set.  ``texts`` are its columns of texts (m,); ``shares`` (m, t) the targets, as printed
    by the organisers; ``item``, ``annotator`` (n,) and ``said`` (n, t) what each person answered,
    as 0 or 1 for each target; ``rows`` are the items of train, dev and test."""

    year: Year
    name: str
    kind: Kind
    texts: Mapping[str, Sequence[str]]
    items: Sequence[str]
    people: Sequence[str]
    shares: Floats
    item: Ints
    annotator: Ints
    said: Floats
    rows: Mapping[str, Ints]

    @cached_property
    def measures(self) -> tuple[str, ...]:
        """The names of the measures; the first decides."""
        return {
            "yes or no": ("cross-entropy", "Manhattan", "F1", "error rate"),
            "ordered": ("Wasserstein", "distance"),
            "several": ("Manhattan", "error rate"),
        }[self.kind]

    def score(self, rows: Ints, shares: Floats) -> dict[str, float]:
        """Measure predicted ``shares`` (r, t) of these items against the printed ones."""
        true = self.shares[rows]
        if self.kind == "yes or no":
            p, q = (np.column_stack([1 - one, one]) for one in (true[:, 0], shares[:, 0]))
            chosen, right = shares[:, 0] > 0.5, true[:, 0] > 0.5
            found = int((chosen & right).sum())
            f1 = 2 * found / max(int(chosen.sum() + right.sum()), 1)
            entropy = -(p * np.log(np.clip(q, LEAST, 1))).sum(axis=1).mean()
            distance = abs(p - q).sum(axis=1).mean()
            return {"cross-entropy": float(entropy), "Manhattan": float(distance), "F1": f1}
        if self.kind == "ordered":
            return {"Wasserstein": float(abs(true - shares).sum(axis=1).mean())}
        return {"Manhattan": float(2 * abs(true - shares).mean())}

    def score_people(self, rows: Ints, said: Floats) -> dict[str, float]:
        """Measure predictions of each person's answer (n', t), in the order of ``answers_of``."""
        answers = self.answers_of(rows)
        wrong = abs(self.said[answers] - said)
        if self.kind == "ordered":  # a step of one value is one wrong target
            name, each = "distance", wrong.sum(axis=1) / (self.shares.shape[1] + 1)
        else:
            name, each = "error rate", wrong.mean(axis=1)
        total = np.bincount(self.item[answers], each, minlength=len(self.items))
        count = np.bincount(self.item[answers], minlength=len(self.items))
        return {name: float((total[rows] / count[rows]).mean())}

    def answers_of(self, rows: Ints) -> Ints:
        """Return which answers are about these items, in the order of the file."""
        return np.flatnonzero(np.isin(self.item, rows))

    def distributions(self, shares: Floats) -> Floats:
        """Return shares as the organisers write them: (r, 2), (r, 11) or, for three questions of
        yes or no, (r, 3, 2)."""
        if self.kind == "yes or no":
            return np.column_stack([1 - shares[:, 0], shares[:, 0]])
        if self.kind == "ordered":
            ends = np.zeros((len(shares), 1)), np.ones((len(shares), 1))
            return np.diff(np.column_stack([ends[0], shares, ends[1]]), axis=1)
        return np.stack([1 - shares, shares], axis=2)

    @property
    def floor(self) -> float:
        """The cross-entropy of people's shares with themselves: nobody can do better."""
        shares = self.shares[self.rows["test"], 0]
        return float((entr(shares) + entr(1 - shares)).mean())


def load_task(year: Year, name: str) -> Task:
    """Load a set from the user's copy of the organisers' files."""
    if name not in SETS[year]:
        raise UnknownName(f"set of LeWiDi {year}", name, SETS[year])
    data = DATASETS[f"lewidi{year}"].load(name)
    printed, split = data.arrays["soft_label"], data.arrays["split"]
    answers = data.annotations or data.statements
    assert answers is not None, "people answered"
    if name == "varierr":
        kind: Kind = "several"
        shares, said = printed, data.arrays["given"].astype(np.float64)
    else:
        assert data.annotations is not None, "one class for each answer"
        kind = "ordered" if name == "paraphrase" else "yes or no"
        cuts = np.arange(printed.shape[1] - 1)
        label = np.asarray(data.annotations.label)[:, None]
        # the share at or below each value; of yes or no, the share of yes
        shares = np.cumsum(printed, axis=1)[:, :-1] if kind == "ordered" else printed[:, 1:]
        said = (label <= cuts if kind == "ordered" else label == 1).astype(np.float64)
    return Task(
        year,
        name,
        kind,
        {key: texts.tolist() for key, texts in data.texts.items()},
        data.index.items.tolist(),
        data.index.annotators.tolist(),
        np.clip(shares, 0, 1),
        answers.item,
        answers.annotator,
        said,
        {part: np.flatnonzero(split == part) for part in ("train", "dev", "test")},
    )


# ── submissions ──────────────────────────────────────────────────────────────────────────────


def write_submission(task: Task, shares: Floats, said: Floats, folder: Path) -> list[Path]:
    """Write predictions of the test items, ``shares`` (r, t) and each person's answer (n', t), as
    the organisers want them; return the files.

    2025: a line per item, its id and a list, of distributions (``_soft``) and of answers in the
    order of the annotators (``_pe``).  2023: a line per item, the class and both probabilities.
    """
    rows = task.rows["test"]
    ids = [task.items[row].partition("/")[2] for row in rows]
    called = SETS[task.year][task.name]
    soft = task.distributions(shares)
    if task.year == "2023":
        lines = [f"{int(b > a)}\t{a:.6f}\t{b:.6f}\n" for a, b in soft.tolist()]
        return [_write(folder / f"{called}_results.tsv", lines)]
    answers = task.answers_of(rows)
    values = np.rint(len(said[0]) - said.sum(axis=1)) - 5 if task.kind == "ordered" else said
    lists = []
    for row in rows:
        mine = values[task.item[answers] == row].astype(int)
        if task.kind == "several":  # a person is listed once for each class given
            times = task.said[answers][task.item[answers] == row].sum(axis=1).astype(int)
            mine = np.repeat(mine, times, axis=0).T
        lists.append(mine.tolist())
    printed = [_round(one.tolist()) for one in soft]
    return [
        _write(folder / f"{called}_test_{kind}.tsv", [f"{a}\t{b}\n" for a, b in pairs])
        for kind, pairs in (
            ("soft", zip(ids, printed, strict=True)),
            ("pe", zip(ids, lists, strict=True)),
        )
    ]


def _round(value: Any) -> Any:
    return [_round(one) for one in value] if isinstance(value, list) else round(value, 6)


def _write(path: Path, lines: Sequence[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with write_atomically(path) as part:
        part.write_text("".join(lines), "utf-8")
    return path
