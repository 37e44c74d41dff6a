"""Small studies with a known truth, and real servers for them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable

import numpy as np
import pytest

from softlabel import store
from softlabel import study as studies
from softlabel.study import Study

LABELS = ["cat", "dog", "fox", "owl"]
TREE = ["pet/cat", "pet/dog", "wild/fox", "wild/owl"]
ITEMS = 8


@pytest.fixture
def make_study(tmp_path) -> Callable[..., Study]:
    """Write a study of short texts with a truth, and read it."""

    def make(mode: str = "quick", more: str = "", two: bool = False, **items: int) -> Study:
        labels = (TREE if mode == "search" else LABELS)[: 2 if two else None]
        folder = tmp_path / f"study-{mode}-{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        names = [f"note-{i}" for i in range(ITEMS)]
        lines = [json.dumps({"id": name, "text": f"the text of {name}"}) for name in names]
        (folder / "items.jsonl").write_text("\n".join(lines))
        truth = np.random.default_rng(5).dirichlet(np.full(len(labels), 0.5), ITEMS).tolist()
        with (folder / "truth.csv").open("w") as file:
            rows = csv.writer(file)
            rows.writerow(["id", *labels])
            rows.writerows([name, *row] for name, row in zip(names, truth, strict=True))
        settings = {"per_item": 20, "repeats": 1} | items
        numbers = "".join(f"{key} = {value}\n" for key, value in settings.items())
        (folder / "study.toml").write_text(
            f'[study]\nname = "notes"\nlabels = {json.dumps(labels)}\nmode = "{mode}"\n'
            f'[items]\nsource = "items.jsonl"\n{numbers}{more}'
        )
        return studies.read(folder)

    return make


@pytest.fixture
def stored() -> Callable[[Study], list[store.ResponseRow]]:
    """Everything on the disk, in the order of storing."""

    def read(study: Study) -> list[store.ResponseRow]:
        with store.open(study.folder / ".softlabel/rehearsal.db", read_only=True) as answers:
            return list(answers.responses(study.name))

    return read
