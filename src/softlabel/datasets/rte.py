"""RTE-1: does the text entail the hypothesis?  800 pairs, ten workers each.

Snow, O'Connor, Jurafsky & Ng 2008, "Cheap and Fast - But is it Good?", on the pairs of the first
PASCAL challenge (Dagan et al. 2005).  No licence is stated.  8,000 labels by 164 workers.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from softlabel.datasets.base import Dataset, File, Info, locate
from softlabel.datasets.reading import (
    encode_votes,
    note_repeats,
    read_json_lines,
    read_table,
    reading,
)
from softlabel.tables import Annotations, Index, names

INFO = Info(
    name="rte",
    title="Recognising textual entailment",
    home="https://github.com/copenlu/aggregating-crowd-annotations-ood",
    licence="none stated",
    files=(
        File("annotations.csv", "ec354e84b884dfcf40b13d2d14ab284d3b5e3e19aca0552532f68eb44d34c89d"),
        File("text.jsonl", "239bfed100458eb306c1d5971c736ce881b3b3490f15b9f70bbadd3c1212b625"),
    ),
    by_hand="""\
The release names workers by their ids on the platform, which softlabel does
not read. Download data/RTE/rte.standardized.tsv and data/RTE/rte1.tsv from
https://github.com/copenlu/aggregating-crowd-annotations-ood and run beside them:

    import json
    import polars as pl
    said = pl.read_csv("rte.standardized.tsv", separator="\\t")
    people = {who: i for i, who in enumerate(dict.fromkeys(said["!amt_worker_ids"]))}
    said.select(item="orig_id", worker=pl.col("!amt_worker_ids").replace_strict(people),
                label="response", gold="gold").write_csv("annotations.csv")
    pairs = pl.read_csv("rte1.tsv", separator="\\t", quote_char=None)
    pairs = pairs.filter(pl.col("id").is_in(said["orig_id"].to_list())).select(
        item="id", gold="value", task="task", premise="text", hypothesis="hypothesis")
    with open("text.jsonl", "w", encoding="utf-8", newline="\\n") as file:
        file.writelines(json.dumps(row) + "\\n" for row in pairs.to_dicts())
""",
    cite="Snow et al. 2008, Cheap and Fast - But is it Good?, EMNLP",
)


def load() -> Dataset:
    """Load the votes; ``texts`` are ``premise``, ``hypothesis`` and ``task`` (kind of source)."""
    path = locate(INFO, "annotations.csv")
    frame = read_table(path, dict.fromkeys(("item", "worker", "label", "gold"), pl.Int64))
    items, item, workers, worker = encode_votes(frame, "item", "worker")
    gold = np.full(len(items), -1)
    gold[item] = frame["gold"].to_numpy()
    path = locate(INFO, "text.jsonl")
    with reading(path):
        pairs = {str(row["item"]): row for row in read_json_lines(path)}
        texts = {
            key: names([pairs[name][key] for name in items.tolist()])
            for key in ("premise", "hypothesis", "task")
        }
    index = Index(items, workers, names(["not entailed", "entailed"]))
    votes = Annotations(index, item, worker, label=frame["label"].to_numpy())
    return Dataset(
        "rte", INFO, index, annotations=votes, gold=gold, texts=texts, notes=note_repeats(votes)
    )
