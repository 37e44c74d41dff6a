"""Sentence polarity: 4,999 sentences from film reviews, each called good or bad by 5 or 6 people.

Rodrigues, Pereira & Ribeiro 2013, "Learning from multiple annotators: distinguishing good from
random labelers".  No licence is stated for the data.  27,746 labels by 203 people; 3,999 further
sentences for test.  The same labels as ``crowd/sp``, with the text.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from softlabel.datasets.base import Dataset, File, Info, locate
from softlabel.datasets.reading import (
    encode,
    note_repeats,
    number_names,
    read_json_lines,
    read_table,
    reading,
)
from softlabel.tables import Annotations, Index, names

INFO = Info(
    name="sentiment",
    title="Sentence polarity",
    home="http://fprodrigues.com/mturk-datasets.tar.gz",
    licence="none stated for the data",
    files=(
        File("annotations.csv", "75188581b3dbc658de817d1ee0a99a534561644341d7b5f2bdece0091b5df93d"),
        File("train.jsonl", "697c4d3ce466c4dfd5907ef493a719db1c1e2f258b13e2a233deeec30b19fee2"),
        File("test.jsonl", "6ad9e2fe33e796e228e079e9ec90e94e7c723751cfc984b40bbd9a5a1c3479e7"),
    ),
    by_hand="""\
Download answers.txt, Sentiment_text_*.txt and Sentiment_Z_*.txt of
data/Sentiment from https://github.com/fmenat/PyLearningCrowds and run beside them:

    import json
    import numpy as np
    answers = np.loadtxt("answers.txt", dtype=int)
    with open("annotations.csv", "w", newline="") as file:
        file.write("item,annotator,label\\n")
        for i, j in np.argwhere(answers >= 0):
            file.write(f"{i},{j},{answers[i, j]}\\n")
    for part in ("train", "test"):
        gold = np.loadtxt(f"Sentiment_Z_{part}.txt", dtype=int).tolist()
        with open(f"Sentiment_text_{part}.txt", encoding="utf-8", newline="\\n") as text, \\
                open(part + ".jsonl", "w", encoding="utf-8", newline="\\n") as file:
            for i, line in enumerate(text):
                row = {"item": i, "text": line.strip(), "gold": gold[i]}
                file.write(json.dumps(row, ensure_ascii=False) + "\\n")
""",
    cite="Rodrigues, Pereira & Ribeiro 2013, Learning from multiple annotators, PRL",
)


def load() -> Dataset:
    """Load the votes and the sentences; the test sentences are ``texts["test_text"]`` with
    ``arrays["test_gold"]``."""
    columns = dict.fromkeys(("item", "annotator", "label"), pl.Int64)
    frame = read_table(locate(INFO, "annotations.csv"), columns)
    people, annotator = encode(frame["annotator"].to_numpy())
    texts, arrays = {}, {}
    for part, prefix in (("train", ""), ("test", "test_")):
        path = locate(INFO, f"{part}.jsonl")
        with reading(path):
            rows = read_json_lines(path)
            texts[f"{prefix}text"] = names([row["text"] for row in rows])
            arrays[f"{prefix}gold"] = np.array([row["gold"] for row in rows])
    gold = arrays.pop("gold")
    index = Index(number_names(range(len(gold))), people, names(["negative", "positive"]))
    votes = Annotations(index, frame["item"].to_numpy(), annotator, label=frame["label"].to_numpy())
    notes = note_repeats(votes)
    return Dataset("sentiment", INFO, index, None, votes, gold, arrays, texts, notes)
