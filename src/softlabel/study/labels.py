"""The labels of a study and their synonyms: names that people can tell apart."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from softlabel.elicit import Mode, prefixes
from softlabel.errors import nearest
from softlabel.study.findings import Findings
from softlabel.study.places import Refused, find_text
from softlabel.study.rows import load_json
from softlabel.study.scope import fault_of_name
from softlabel.study.settings import FILE, Settings

JOINERS = "\u200c\u200d"  # unseen, but some scripts cannot be written without them
KEY, SYNONYMS = "study.labels", "study.synonyms"


def read_labels(
    folder: Path, settings: Settings, classes: tuple[str, Sequence[str]] | None, findings: Findings
) -> tuple[str, ...] | None:
    """All labels in order, or None if they cannot be known.

    ``classes`` are those that the allocation file names, with the name of that file.
    """
    given = settings.file.study.labels
    if KEY in settings.broken:
        return None
    if given is None:
        if classes is None:
            findings.wrong(FILE, KEY, None, "must be given: a list of labels, or a file's name")
            return None
        return _checked(classes[0], "classes", classes[1], findings)
    if isinstance(given, str):
        listed = _from_file(folder, given, findings)
        labels = None if listed is None else _checked(given, "", listed, findings)
    else:
        labels = _checked(FILE, KEY, given, findings)
    if classes is not None and labels is not None and set(classes[1]) != set(labels):
        findings.wrong(classes[0], "classes", list(classes[1]), f"are not those of {KEY}")
    return labels


def _from_file(folder: Path, name: str, findings: Findings) -> list[str] | None:
    try:
        text = find_text(folder, name)
    except Refused as error:
        findings.wrong(FILE, KEY, name, str(error))
        return None
    if not name.lower().endswith(".json"):
        return [line.strip() for line in text.splitlines() if line.strip()]
    try:
        listed = load_json(text)
    except Refused as error:
        findings.wrong(name, "", None, str(error))
        return None
    if not isinstance(listed, list) or not all(isinstance(label, str) for label in listed):
        findings.wrong(name, "", None, 'must hold a list of labels: ["cat", "dog"]')
        return None
    return listed


def _checked(
    file: str, key: str, labels: Sequence[str], findings: Findings
) -> tuple[str, ...] | None:
    """The labels, if each can stand beside the others."""
    before = len(findings)
    alike: dict[str, str] = {}
    for label, count in Counter(labels).items():
        fault = fault_of_name(label) or _unseen(label)
        other = alike.setdefault(_folded(label), label)
        if fault:
            findings.wrong(file, key, label, f"a label {fault}")
        elif other != label:
            findings.wrong(file, key, label, f"is {other!r} in another case, spacing or coding")
        if count > 1:
            findings.wrong(file, key, label, f"stands there {count} times")
    if len(labels) < 2:
        findings.wrong(file, key, list(labels), "there must be two labels at least")
    return tuple(labels) if len(findings) == before else None


def _unseen(label: str) -> str | None:
    """A label that looks like another one, or turns the page around, is a trap."""
    unseen = [c for c in label if unicodedata.category(c) == "Cf" and c not in JOINERS]
    return f"holds a character that cannot be seen, U+{ord(unseen[0]):04X}" if unseen else None


def _folded(label: str) -> str:
    """The same for labels that differ only in case, blanks or the way accents are written."""
    plain = "".join(c for c in unicodedata.normalize("NFC", label) if c not in JOINERS)
    return " ".join(plain.casefold().split())


def read_synonyms(
    folder: Path, settings: Settings, known: Collection[str] | None, findings: Findings
) -> Mapping[str, tuple[str, ...]]:
    """Other words for the ``known`` labels and branches; None if these could not be read."""
    given, file, key = settings.file.study.synonyms, FILE, f"{SYNONYMS}."
    if isinstance(given, str):
        file, key = given, ""
        given = _table_from(folder, given, findings)
    for label, words in given.items():
        if known is not None and label not in known:
            findings.wrong(file, f"{key}{label}", None, f"no such label{nearest(label, known)}")
        for word in words:
            if fault := fault_of_name(word):
                findings.wrong(file, f"{key}{label}", word, f"a word {fault}")
    return {label: tuple(words) for label, words in given.items()}


def _table_from(folder: Path, name: str, findings: Findings) -> dict[str, list[str]]:
    try:
        table = load_json(find_text(folder, name))
    except Refused as error:
        findings.wrong(FILE, SYNONYMS, name, str(error))
        return {}
    if isinstance(table, dict) and all(
        isinstance(words, list) and all(isinstance(word, str) for word in words)
        for words in table.values()
    ):
        return table
    findings.wrong(name, "", None, 'must hold a table: {"cat": ["kitten", "tabby"]}')
    return {}


def nodes(labels: Sequence[str], mode: Mode | None) -> dict[str, None]:
    """Every label, and in a hierarchy every branch above it."""
    path = getattr(mode, "path", "")
    found = dict.fromkeys(labels)
    for label in labels:
        found |= dict.fromkeys(prefixes(label, path))
    return found
