"""ChaosNLI: 100 people's labels for each of 4,645 inference problems.

Nie, Zhou & Bansal 2020, "What Can We Learn from Collective Human Opinions on Natural Language
Inference Data?".  CC BY-NC 4.0.  Parts: ``snli`` 1,514 items, ``mnli`` 1,599, ``alphanli`` 1,532;
464,500 labels in all, released as counts.
"""

from __future__ import annotations

import numpy as np

from softlabel.datasets.base import Dataset, File, Info, locate
from softlabel.datasets.reading import read_json_lines, reading
from softlabel.sampling import votes_from_counts
from softlabel.tables import Index, names

URL = "https://www.dropbox.com/s/h4j7dqszmpt2679/chaosNLI_v1.0.zip?dl=1"
FILES = {
    "snli": (
        "chaosNLI_snli.jsonl",
        "99f9015ddda7d85f66a087452bc30d53974314fe27e7d589e2f41ad44bd509c1",
    ),
    "mnli": (
        "chaosNLI_mnli_m.jsonl",
        "8eb49b589488e7b1a9ec95fb8a864bd50f0509b4f808eed0aed3f8167617664d",
    ),
    "alphanli": (
        "chaosNLI_alphanli.jsonl",
        "f55817ecc11a02ba3030cd7d2c567d23843456809020723abad53f4fde024c9e",
    ),
}

# names of the classes, what the file calls them, its text fields
THREE_WAY = (["entailment", "neutral", "contradiction"], "enc", ["premise", "hypothesis"])
ALPHA = (["1", "2"], "12", ["obs1", "obs2", "hyp1", "hyp2"])

INFO = Info(
    name="chaosnli",
    title="ChaosNLI",
    home="https://github.com/easonnie/ChaosNLI",
    licence="CC BY-NC 4.0",
    files=tuple(File(n, sha, URL, inner=f"chaosNLI_v1.0/{n}") for n, sha in FILES.values()),
    parts=tuple(FILES),
    cite="Nie, Zhou & Bansal 2020, What Can We Learn from Collective Human Opinions on NLI, EMNLP",
)


def load(part: str = "") -> Dataset:
    """Load the votes of one part, anonymous; gold is the label of the original data set.

    ``texts`` are premise and hypothesis (alphanli: two observations and two hypotheses);
    ``arrays["majority"]`` is the class that the authors took for the winner, also in a tie;
    ``arrays["old_counts"]`` (m, k) are the votes that snli and mnli had before.
    """
    path = locate(INFO, FILES[INFO.part(part)][0])
    labels, short, fields = ALPHA if part == "alphanli" else THREE_WAY
    with reading(path):
        rows = read_json_lines(path)
        counts = np.array([row["label_count"] for row in rows], dtype=np.int64)
        old = [row.get("old_labels", []) for row in rows]
        index = Index(names([row["uid"] for row in rows]), names([]), names(labels))
        gold = np.array([short.index(str(row["old_label"])) for row in rows])
        majority = np.array([short.index(str(row["majority_label"])) for row in rows])
        texts = {key: names([row["example"][key] for row in rows]) for key in fields}
    arrays = {"counts": counts, "majority": majority}
    if any(old):
        arrays["old_counts"] = np.array([[row.count(label) for label in labels] for row in old])
    votes = votes_from_counts(index, counts)
    notes = (
        "Annotator ids are not released: the counts are expanded to anonymous votes.",
        "Gold is the label of the original data set; the 100 people often disagree with it.",
    )
    return Dataset(f"chaosnli/{part}", INFO, index, None, votes, gold, arrays, texts, notes)
