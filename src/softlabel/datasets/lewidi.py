"""Learning with Disagreements (LeWiDi), the shared tasks of 2023 and 2025.

The organisers give the answer of every annotator to every item of train, dev and test.  Items are
named ``train/1``, ``dev/1`` and so on, because the files number them anew.  Rows stay in the order
of the files, so the rows of an item follow its list of annotators.  Many texts offend.

Leonardelli et al. 2023, "SemEval-2023 Task 11: Learning With Disagreements"; Leonardelli et al.
2025, "LeWiDi-2025 at NLPerspectives: Third Edition of the Learning with Disagreements Shared Task".
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from softlabel.datasets import reading
from softlabel.datasets.base import Dataset, Info, Source, locate
from softlabel.errors import FileError
from softlabel.tables import NAMES, Annotations, Bools, Index, Ints, Names, Statements, names

SPLITS = ("train", "dev", "test")
FILES = {  # part: how the organisers' files begin
    "armis": "ArMIS",
    "convabuse": "ConvAbuse",
    "hs-brexit": "HS-Brexit",
    "md-agreement": "MD-Agreement",
    "paraphrase": "Paraphrase",
    "varierr": "VariErrNLI",
}
LABELS = {  # part: its classes, where they are not "0" (no) and "1" (yes)
    "paraphrase": [str(value) for value in range(-5, 6)],
    "varierr": ["contradiction", "entailment", "neutral"],
}
SEVERITY = ["-3", "-2", "-1", "0", "1"]  # what ConvAbuse has in the place of no and yes
PAIRS = ("convabuse", "paraphrase", "varierr")  # their text is a table of several
PER_ITEM = ("domain", "bot")  # what is told of an item in its ``other_info``
PERSONAL = ("Gender", "Age", "Nationality", "Education")
MISSING = -1  # a side question that was left out, or answered with a word
Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Item:
    """One item, as a file of either year has it: answers, and the explanations of 2025, are in the
    order of ``people``; ``about`` is what the organisers tell besides."""

    name: str
    texts: Mapping[str, str]
    people: list[str]
    answers: list[str]
    shares: list[float]
    majority: int
    about: Mapping[str, Any]


def load_2023(part: str = "") -> Dataset:
    """Load the votes on one of four sets of texts: no (``0``) or yes (``1``).

    ``armis``: is an Arabic tweet misogynous?  ``convabuse``: is what a user says to a chatbot
    abusive?  ``hs-brexit``: is a tweet hate speech?  ``md-agreement``: is a tweet offensive?

    ``arrays["split"]`` is the part of the shared task that an item belongs to,
    ``arrays["soft_label"]`` (m, 2) the shares as the organisers print them (rounded),
    ``arrays["majority"]`` their hard label, drawn at random in a tie.  Of each row there may be
    ``arrays["severity"]`` (convabuse, -3 to 1; below 0 is abusive) and answers to side questions
    (``arrays["question/..."]``, -1: no number was given).
    """
    info = lewidi2023.INFO
    items = _read_items(info, part)
    index, item, annotator = _encode(items, ["0", "1"])
    values = np.array([int(value) for one in items for value in one.answers])
    arrays = _describe(items)
    arrays["majority"] = np.array([one.majority for one in items])
    notes: tuple[str, ...] = ()
    if part == "convabuse":
        arrays["severity"] = values
        values = (values < 0).astype(np.int64)
        notes = ("Ratings run from -3 to 1; a rating below 0 is the label 1, abusive.",)
    annotations = Annotations(index, item, annotator, label=values)
    arrays |= _answer_questions(items) | _group_people(index, items[0])
    notes += reading.note_repeats(annotations)
    name, texts = f"lewidi2023/{part}", _collect_texts(items)
    return Dataset(name, info, index, None, annotations, None, arrays, texts, notes)


def load_2025(part: str = "") -> Dataset:
    """Load the answers of four people to one of two sets of pairs of sentences.

    ``paraphrase``: do two questions ask the same?  -5 to 5, eleven ordered classes, as
    ``annotations``.  ``varierr``: natural language inference, where one person may give several
    classes: ``statements`` name them, and ``arrays["given"]`` (n, 3) has them as a table.

    ``arrays["split"]`` is the part of the shared task that an item belongs to and
    ``arrays["soft_label"]`` (m, k) the shares as the organisers print them; of ``varierr`` the
    share of people who gave each class, so that a row can sum to more than 1.  Each row has an
    ``arrays["explanation"]``, of ``varierr`` (n, 2), one for each class named.
    ``arrays["annotator_gender"]`` and so on are of the annotators.
    """
    info = lewidi2025.INFO
    items = _read_items(info, part)
    index, item, annotator = _encode(items, LABELS[part])
    arrays = _describe(items) | _read_people(info, part, index)
    values = [value for one in items for value in one.answers]
    explanations = [text for one in items for text in one.about["explanations"]]
    statements = annotations = None
    if part == "varierr":
        given, named = _list_several(values)
        percent, possible = np.full(named.shape, np.nan), np.ones(given.shape, dtype=np.bool_)
        statements = Statements(index, item, annotator, named, percent, possible)
        arrays |= {"given": given, "explanation": _spread(explanations, given.sum(axis=1))}
        note = "A person may give several classes; treat it as three questions of yes or no."
    else:
        label = [LABELS[part].index(value) for value in values]
        annotations = Annotations(index, item, annotator, label=np.array(label))
        arrays["explanation"] = names(explanations)
        note = "The classes are ordered."
    name, texts = f"lewidi2025/{part}", _collect_texts(items)
    return Dataset(name, info, index, statements, annotations, None, arrays, texts, (note,))


# ── reading ──────────────────────────────────────────────────────────────────────────────────


def _read_items(info: Info, part: str) -> list[Item]:
    """Return the items of all three splits; an item that is not one names its file and key."""
    items = []
    for split in SPLITS:
        path = locate(info, f"{FILES[info.part(part)]}_{split}.json")
        with reading.explain_damage(path):
            for key, row in json.loads(reading.read_bytes(path)).items():
                try:
                    items.append(_read_item(part, f"{split}/{key}", row))
                except (KeyError, ValueError, TypeError, AttributeError) as error:
                    text = f"item {key!r} is not as in the release ({error!r})"
                    raise FileError(path, text) from error
    return items


def _read_item(part: str, name: str, row: Mapping[str, Any]) -> Item:
    said, texts, about = row["annotations"], row["text"], row["other_info"]
    several = isinstance(said, Mapping)  # 2025: {annotator: answer}; 2023: two lists with commas
    people = list(said) if several else row["annotators"].split(",")
    answers = list(said.values()) if several else said.split(",")
    known = LABELS.get(part) or (SEVERITY if part == "convabuse" else ["0", "1"])
    unknown = [value for answer in answers for value in answer.split(",") if value not in known]
    given = sum(answer.count(",") + 1 for answer in answers)
    if unknown:
        raise ValueError(f"no answer {unknown[0]!r}")
    if len(people) != len(answers):
        raise ValueError(f"{len(answers)} annotations of {len(people)} annotators")
    if several and len(about["explanations"]) != given:
        raise ValueError(f"{len(about['explanations'])} explanations of {given} labels")
    if part == "convabuse":
        texts = json.loads(texts)
    texts = {key.lower(): texts[key] for key in texts} if part in PAIRS else {"text": texts}
    shares = [row["soft_label"][label] for label in LABELS.get(part, ["0", "1"])]
    if part == "varierr":  # each class has shares of no and yes
        shares = [share["1"] for share in shares]
    return Item(name, texts, people, answers, shares, int(row.get("hard_label", -1)), about)


def _encode(items: list[Item], labels: list[str]) -> tuple[Index, Ints, Ints]:
    """Return the index, with annotators in the order of their numbers, and the codes of rows."""
    everybody = [name for one in items for name in one.people]
    people = sorted(set(everybody), key=lambda name: (len(name), name))  # Ann2 before Ann10
    code = {name: i for i, name in enumerate(people)}
    ordered = labels == LABELS["paraphrase"]
    index = Index(names([one.name for one in items]), names(people), names(labels), ordered=ordered)
    item = np.repeat(np.arange(len(items)), [len(one.people) for one in items])
    return index, item, np.array([code[name] for name in everybody])


def _describe(items: list[Item]) -> Arrays:
    """Return of each item its split and printed shares, and its domain or bot if there is one."""
    arrays: Arrays = {
        "split": names([one.name.partition("/")[0] for one in items]),
        "soft_label": np.array([one.shares for one in items], dtype=np.float64),
    }
    for key in PER_ITEM:
        if key in items[0].about:
            arrays[key] = names([one.about[key] for one in items])
    return arrays


def _collect_texts(items: list[Item]) -> dict[str, Names]:
    return {key: names([one.texts[key] for one in items]) for key in items[0].texts}


def _answer_questions(items: list[Item]) -> Arrays:
    """Return the answers to side questions, one per row; what is no number is ``MISSING``."""
    answers: dict[str, list[int]] = {}
    for one in items:
        asked = one.about.get("other_annotations") or one.about.get("other annotations") or {}
        for question, said in asked.items():
            key = "question/" + question.removesuffix(" language detection")
            values = [int(value) if value in ("0", "1") else MISSING for value in said.split(",")]
            answers.setdefault(key, []).extend(values)
    return {key: np.array(values) for key, values in answers.items()}


def _group_people(index: Index, first: Item) -> Arrays:
    """Return the group of each annotator, where the organisers tell it (with every item)."""
    people, about = index.annotators.tolist(), first.about
    if people[0] in about:  # ArMIS
        return {"annotator_group": names([about[name] for name in people])}
    if "annotators group" in about:  # HS-Brexit
        group = dict(zip(first.people, about["annotators group"].split(","), strict=True))
        return {"annotator_group": names([about[group[name]] for name in people])}
    return {}


def _read_people(info: Info, part: str, index: Index) -> Arrays:
    """Return what the annotators told of themselves; the files have a comma too many."""
    path = locate(info, f"{FILES[part]}_annotators_meta.json")
    with reading.explain_damage(path):
        people = json.loads(re.sub(r",(\s*})", r"\1", reading.read_bytes(path).decode()))
        return {
            f"annotator_{key.lower()}": names([people[name][key] for name in index.annotators])
            for key in PERSONAL
        }


def _list_several(values: list[str]) -> tuple[Bools, Ints]:
    """Return which classes each answer gives, as a table (n, k) and as a list (n, 2)."""
    labels = LABELS["varierr"]
    said = [[labels.index(value) for value in answer.split(",")] for answer in values]
    width = max(map(len, said))
    named = np.array([codes + [-1] * (width - len(codes)) for codes in said])
    given = np.array([[code in codes for code in range(len(labels))] for codes in said])
    return given, named


def _spread(explanations: list[str], counts: Ints) -> npt.NDArray[Any]:
    """Return a table with the explanations of each row, which the file lists one after another."""
    each, width = iter(explanations), int(counts.max())
    table = [[next(each) if i < count else "" for i in range(width)] for count in counts.tolist()]
    return np.array(table, dtype=NAMES)


lewidi2023 = Source(Info.of("lewidi2023"), load_2023)
lewidi2025 = Source(Info.of("lewidi2025"), load_2025)
