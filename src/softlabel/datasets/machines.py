"""Labels that models gave: six sets of AltTest, beside people, and ratings of the POPQUORN items.

They are in ``Dataset.machines``, never in ``annotations``, so that no method takes a model for a
person unless it is asked to.
"""

import json
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl

from softlabel.datasets import reading
from softlabel.datasets.base import Dataset, Info, Source, locate
from softlabel.errors import FileError
from softlabel.tables import Annotations, Index, Names, names

Said = dict[str, dict[str, str]]  # {annotator: {item: label}}

# ── AltTest ──────────────────────────────────────────────────────────────────────────────────


def load_alttest(part: str = "") -> Dataset:
    """Load what people said (``annotations``) and what six language models said (``machines``) of
    the same items.  Classes are all that anybody gave, numbers in their order, words by alphabet.

    Calderon, Reichart & Dror 2025, "The Alternative Annotator Test for LLM-as-a-Judge".  No licence
    is stated.  ``summeval`` has 6,400 items, ``10k_prompts`` 1,698, ``lgbteen`` 880,
    ``cebab_stars`` 711, ``wax`` 246, ``mtbench`` 120.
    """
    info = alttest.INFO
    people = _read_said(locate(info, f"{info.part(part)}.human.json"))
    models = _read_said(locate(info, f"{part}.llm.json"))
    given, known = _collect_labels(people), _collect_labels(models)
    labels = sorted(given | known, key=_order)
    items = names(list(dict.fromkeys(chain.from_iterable([*people.values(), *models.values()]))))
    # some ids are those of a platform or short for a name, so people are numbered
    votes = _tabulate(people, items, reading.number_names(range(1, len(people) + 1)), labels)
    machines = _tabulate(models, items, names(list(models)), labels)
    notes = tuple(
        f"Only {who} gave {', '.join(sorted(only, key=_order))}."
        for who, only in (("models", known - given), ("people", given - known))
        if only
    )
    notes = ("People are numbered in the order of the file.", *notes)
    return Dataset(
        f"alttest/{part}", info, votes.index, None, votes, None, notes=notes, machines=machines
    )


def _read_said(path: Path) -> Said:
    with reading.explain_damage(path):
        said = json.loads(reading.read_bytes(path))
        return {
            str(who): {str(item): str(label) for item, label in answers.items()}
            for who, answers in said.items()
        }


def _collect_labels(said: Said) -> set[str]:
    return {label for answers in said.values() for label in answers.values()}


def _order(label: str) -> tuple[bool, int, str]:
    """Return what sorts numbers by value, before words by alphabet."""
    return (False, int(label), "") if label.isdecimal() else (True, 0, label)


def _tabulate(said: Said, items: Names, annotators: Names, labels: list[str]) -> Annotations:
    """Return one row per answer; ``annotators`` are the names to use, in the order of ``said``."""
    item_code, label_code = ({name: i for i, name in enumerate(x)} for x in (items, labels))
    counts = [len(answers) for answers in said.values()]
    return Annotations(
        Index(items, annotators, names(labels)),
        np.array([item_code[item] for answers in said.values() for item in answers]),
        np.repeat(np.arange(len(said)), counts),
        label=np.array(
            [label_code[label] for answers in said.values() for label in answers.values()]
        ),
    )


alttest = Source(Info.of("alttest"), load_alttest)

# ── models' ratings of POPQUORN ──────────────────────────────────────────────────────────────

PERSONAS = ("base", "male", "female", "white", "black", "asian")  # base: nobody in particular
RATING_FILES = {"offensiveness": "offensive_results_w2.tsv", "politeness": "polite_results_w2.tsv"}


def load_popquorn_models(part: str = "") -> Dataset:
    """Load the ratings 1 to 5 that nine models, as six personas each, gave the items of POPQUORN.

    There are no people here: items are named as in ``popquorn/offensiveness`` and
    ``popquorn/politeness``, and join by name.  An annotator is a model with a persona
    (``gpt4_base``): ``arrays["annotator_model"]``, ``arrays["annotator_persona"]``.  The source's
    own column of people's means leaves some people out and is not read, nor are the texts.

    Sun, Pei, Choi & Jurgens 2025, "Sociodemographic Prompting is Not Yet an Effective Approach for
    Simulating Subjective Judgments with LLMs".  No licence is stated.
    """
    info = popquorn_models.INFO
    path = locate(info, RATING_FILES[info.part(part)])
    frame = _read_ratings(path)
    raters = [name for name in frame.columns if name != "instance_id"]
    items, item = reading.encode(frame["instance_id"].to_numpy())
    ratings = frame.select(raters).to_numpy()  # NaN: none
    rated = np.isin(ratings, range(1, 6))
    row, rater = np.nonzero(rated)
    index = Index(items, names(raters), reading.number_names(range(1, 6)))
    machines = Annotations(index, item[row], rater, label=ratings[rated].astype(np.int64) - 1)
    model, persona = zip(*(name.rsplit("_", 1) for name in raters), strict=True)
    arrays = {"annotator_model": names(model), "annotator_persona": names(persona)}
    empty = int(np.isnan(ratings).sum())
    notes = (
        f"Models gave no rating {empty} times; these are left out.",
        *_note_outside((~rated).sum() - empty),
        "All annotators are models, most of them with a persona that they were told to play.",
    )
    name = f"popquorn_models/{part}"
    return Dataset(name, info, index, arrays=arrays, notes=notes, machines=machines)


def _note_outside(count: int) -> Iterable[str]:
    return (f"{count} ratings are not from 1 to 5 and are left out.",) if count else ()


def _read_ratings(path: Path) -> pl.DataFrame:
    """Return the id of each item and its ratings, one column per model and persona."""
    with reading.explain_damage(path):
        data = reading.read_bytes(path)
        header = data[: data.index(b"\n")].decode().strip().split("\t")
        raters = [name for name in header if name.rpartition("_")[2] in PERSONAS]
        types: Mapping[str, type[pl.DataType]] = {
            "instance_id": pl.Int64,
            **dict.fromkeys(raters, pl.Float64),
        }
        frame = pl.read_csv(data, separator="\t", columns=list(types), schema_overrides=types)
    if not raters:
        raise FileError(path, f"no column ends with one of {', '.join(PERSONAS)}")
    if frame["instance_id"].is_duplicated().any():
        raise FileError(path, "an item has two lines", column="instance_id")
    return frame


popquorn_models = Source(Info.of("popquorn_models"), load_popquorn_models)
