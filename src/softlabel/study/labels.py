"""The labels of a study, their synonyms, and the mode in which people choose among them."""

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from softlabel import registry
from softlabel.elicit import Mode, find_speech, list_branches
from softlabel.errors import SoftlabelError, nearest
from softlabel.study.findings import (
    FILE,
    Refused,
    find_name_fault,
    find_named,
    is_text_list,
    load_json,
)
from softlabel.study.items import open_media
from softlabel.study.model import About, Item, Media
from softlabel.study.settings import Reader

JOINERS = "\u200c\u200d"  # invisible, but some scripts cannot be written without them
LABELS, SYNONYMS, MODE = "study.labels", "study.synonyms", "study.mode"
Labels = tuple[str, ...]
MANY_LABELS = 20  # above it, typing finds a label sooner than looking


def read_labels(reader: Reader, classes: tuple[str, Sequence[str]] | None) -> Labels | None:
    """Return all labels in order, or None if they cannot be known; ``classes`` are those of the
    allocation file, preceded by its name."""
    given, findings = reader.file.study.labels, reader.findings
    if reader.is_broken(LABELS):
        return None
    if given is None:
        if classes is None:
            reader.refuse(LABELS, None, "is required: a list of labels, or a file's name")
            return None
        return _check_labels(reader, classes[0], "classes", classes[1])
    if isinstance(given, str):
        text = reader.read_text(LABELS, given)
        if text is None:
            return None
        listed = [line.strip() for line in text.splitlines() if line.strip()]
        if given.lower().endswith(".json"):
            try:
                listed = load_json(text)
                if not is_text_list(listed):
                    raise Refused('must hold a list of labels: ["cat", "dog"]')
            except Refused as error:
                findings.add(given, "", None, str(error))
                return None
        labels = _check_labels(reader, given, "", listed)
    else:
        labels = _check_labels(reader, FILE, LABELS, given)
    if classes is not None and labels is not None and set(classes[1]) != set(labels):
        findings.add(classes[0], "classes", list(classes[1]), f"are not those of {LABELS}")
    return labels


def _check_labels(reader: Reader, file: str, key: str, labels: Sequence[str]) -> Labels | None:
    """Return the labels if people can tell each from the others."""
    findings = reader.findings
    before = len(findings)
    alike: dict[str, str] = {}
    for label, count in Counter(labels).items():
        fault = find_name_fault(label)
        # such a character makes a label look like another one, or reverses the page
        invisible = [c for c in label if unicodedata.category(c) == "Cf" and c not in JOINERS]
        if invisible and not fault:
            fault = f"contains an invisible character, U+{ord(invisible[0]):04X}"
        plain = "".join(c for c in unicodedata.normalize("NFC", label) if c not in JOINERS)
        other = alike.setdefault(" ".join(plain.casefold().split()), label)
        if fault:
            findings.add(file, key, label, f"a label {fault}")
        elif other != label:
            reason = f"differs from {other!r} only in case, spacing or encoding"
            findings.add(file, key, label, reason)
        if count > 1:
            findings.add(file, key, label, f"is given {count} times")
    if len(labels) < 2:
        findings.add(file, key, list(labels), "there must be at least two labels")
    return tuple(labels) if len(findings) == before else None


def read_synonyms(
    reader: Reader, labels: Sequence[str] | None, mode: Mode | None
) -> Mapping[str, tuple[str, ...]]:
    """Return other words for labels and, in a hierarchy, for the branches above them; names are not
    checked if the labels could not be read."""
    given, file, key = reader.file.study.synonyms, FILE, f"{SYNONYMS}."
    if isinstance(given, str):
        file, key, given = given, "", {}
        text = reader.read_text(SYNONYMS, file)
        try:
            table = {} if text is None else load_json(text)
            if isinstance(table, dict) and all(map(is_text_list, table.values())):
                given = table
            else:
                reason = 'must hold a table: {"cat": ["kitten", "tabby"]}'
                reader.findings.add(file, "", None, reason)
        except Refused as error:
            reader.refuse(SYNONYMS, file, str(error))
    known = dict.fromkeys(labels or ())
    for label in labels or ():
        known |= dict.fromkeys(list_branches(label, getattr(mode, "path", "")))
    for label, words in given.items():
        if labels is not None and label not in known:
            reason = f"no such label{nearest(label, known)}"
            reader.findings.add(file, f"{key}{label}", None, reason)
        for word in words:
            if fault := find_name_fault(word):
                reader.findings.add(file, f"{key}{label}", word, f"a word {fault}")
    return {label: tuple(words) for label, words in given.items()}


def read_about(
    reader: Reader, labels: Sequence[str] | None, mode: Mode | None
) -> Mapping[str, About]:
    """Return what people are told about labels and about the branches above them."""
    known = dict.fromkeys(labels or ())
    for label in labels or ():
        known |= dict.fromkeys(list_branches(label, getattr(mode, "path", "")))
    about = {}
    for label, section in reader.file.labels.items():
        key = f"labels.{label}"
        if labels is not None and label not in known:
            reader.refuse(key, None, f"no such label{nearest(label, known)}")
        examples: list[Media] = []
        for place, name in enumerate(section.examples):
            try:
                examples.append(open_media(find_named(reader.folder, name), "image"))
            except Refused as error:
                reader.refuse(f"{key}.examples[{place}]", name, str(error))
        about[label] = About((section.describe or "").strip(), tuple(examples), section.colour)
    return about


def read_mode(reader: Reader, labels: Labels | None) -> Mode | None:
    """Return the mode, if people can answer about these labels in it; a simulated person answers
    once, because options of a mode are checked only when it is used.  Of modes that are compared
    it is the first."""
    given = "mode" in reader.file.study.model_fields_set
    modes = reader.file.compare.modes
    if reader.is_broken(MODE) or reader.is_broken("compare.modes"):
        return None
    if modes and given and reader.file.study.mode not in modes:
        reason = f"is not among compare.modes ({', '.join(modes)}); leave it out"
        reader.refuse(MODE, reader.file.study.mode, reason)
    if modes:  # the mode of a comparison is that of its first arm
        return try_mode(reader, "compare.modes[0]", modes[0], labels)
    return try_mode(reader, MODE, reader.file.study.mode, labels)


def try_mode(reader: Reader, key: str, text: str, labels: Labels | None) -> Mode | None:
    """Return the mode that a setting names; a simulated person answers in it once."""
    tried = labels or ("yes", "no")
    try:
        mode: Mode = registry.parse("mode", text)
        mode.rules()
        belief = np.full(len(tried), 1 / len(tried))
        mode.read(mode.simulate(belief, tried, np.random.default_rng(0)), tried)
    except SoftlabelError as error:
        reader.refuse(key, text, str(error))
        return None
    if not _fits_words(reader, key, text, mode):
        return None
    if labels and len(labels) > MANY_LABELS and mode.name != "search":
        reader.note(key, text, f"with {len(labels)} labels, search is quicker to answer")
    return mode


def _fits_words(reader: Reader, key: str, text: str, mode: Mode) -> bool:
    """Return whether the words of a mode fit the study's languages and frame; if not, refuse it."""
    section, speech = reader.file.study, find_speech(mode)
    before = len(reader.findings)
    for language in section.languages or [section.language]:
        if speech.language not in (None, language):
            reason = f"{speech.option} is in {speech.language} only, and the study is in {language}"
            reader.refuse(key, text, f"{reason}; leave out one of the two")
    if speech.frame not in (None, section.frame):
        reason = f"{speech.option} asks in the frame {speech.frame}, not {section.frame}"
        reader.refuse(key, text, f'{reason}; write frame = "{speech.frame}"')
    return len(reader.findings) == before


def check_channel(reader: Reader, mode: Mode | None, items: Sequence[Item]) -> None:
    """Note items that are not what the words of the mode speak of."""
    speech = find_speech(mode) if mode is not None else None
    if speech is None or speech.channel is None:
        return
    others = [item.id for item in items if getattr(item, speech.channel) is None]
    if others:
        reason = f"{speech.option} speaks of an {speech.channel}, but {others[0]} shows none"
        reader.note(MODE, reader.file.study.mode, reason)
