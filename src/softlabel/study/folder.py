"""Reading a study folder: the study, or every mistake in it at once."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from softlabel.errors import Problem, StudyError
from softlabel.study import pages
from softlabel.study.batches import (
    Targets,
    check_counts,
    read_allocation,
    read_repeats,
    read_targets,
)
from softlabel.study.findings import FILE, Findings, Refused
from softlabel.study.items import Scope, read_others
from softlabel.study.labels import read_labels, read_mode, read_synonyms
from softlabel.study.model import Quiz, Study
from softlabel.study.recruiting import read_pay, read_recruit
from softlabel.study.settings import read_settings, read_settings_text

# settings that the study keeps as they are
SAME_IN_STUDY = {"frame", "repeat_rest", "language", "label_order", "seed", "lease_minutes"}
SAME_IN_ITEMS = {"per_item", "per_annotator", "batch_size", "skip_limit"}


def read(folder: str | Path) -> Study:
    """Return the study in this folder; raise ``StudyError`` with every mistake if there are any."""
    findings = Findings()
    study = _read(Path(folder), findings)
    if study is None:
        raise StudyError(findings.problems)
    return study


def find_problems(folder: str | Path) -> tuple[Problem, ...]:
    """Return every mistake in this folder; none if it can be served."""
    findings = Findings()
    _read(Path(folder), findings)
    return findings.problems


def _read(folder: Path, findings: Findings) -> Study | None:
    if not folder.is_dir():
        findings.add(str(folder), "", None, "no such folder")
        return None
    try:
        reader = read_settings(folder, read_settings_text(folder), findings)
    except Refused as error:
        findings.add(FILE, "", None, str(error))
        return None
    if reader is None:
        return None
    file, section, items = reader.file, reader.file.study, reader.file.items
    allocation = read_allocation(reader)
    classes = None
    if allocation is not None and allocation.classes is not None:
        classes = (allocation.file, allocation.classes)
    labels = read_labels(reader, classes)
    mode = read_mode(reader, labels)
    synonyms = read_synonyms(reader, labels, mode)
    scope, targets = Scope(folder, findings, labels), Targets()
    if items.source is not None:
        targets = read_targets(items.source, allocation, scope)
    elif not reader.is_broken("items.source"):
        reason = "is required: a folder of pictures or recordings, a .csv or a .jsonl file"
        reader.refuse("items.source", None, reason)
    practice = read_others("items.practice", items.practice, "training", scope)
    checks = read_others("items.checks", items.checks, "gold", scope)
    check_counts(reader, targets)
    silent = [item.id for item in practice if item.gold is None and item.feedback is None]
    if silent:
        reason = f"{silent[0]} has neither gold nor feedback, so there is nothing to learn from it"
        reader.note("items.practice", items.practice, reason)
    if file.recruit.kind != "open" and not file.pages.contact:
        reader.note("pages.contact", None, "people would not know whom to write to")
    repeat_positions = read_repeats(reader, allocation, targets)
    given = pages.read_pages(reader)
    recruit, pay = read_recruit(reader), read_pay(reader)
    if findings or labels is None or mode is None:
        return None
    name = section.name or re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-")
    study = Study(
        **section.model_dump(include=SAME_IN_STUDY),
        **items.model_dump(include=SAME_IN_ITEMS),
        folder=folder,
        name=name or "study",
        title=section.title or section.name or folder.resolve().name,
        description=section.description.strip(),
        labels=labels,
        synonyms=synonyms,
        mode=mode,
        mode_text=section.mode,
        items=targets.items,
        practice=practice,
        checks=checks,
        batches=targets.batches,
        repeats=len(repeat_positions),
        repeat_positions=repeat_positions,
        consent="",
        instructions=(),
        thanks="",
        contact=file.pages.contact.strip(),
        quiz=None,
        debrief=(),
        recruit=recruit,
        pay=pay,
        toml=reader.text,
        notes=tuple(findings.notes),
    )
    quiz = Quiz(given.quiz or pages.default_quiz(study), file.quiz.tries)
    return replace(  # the default texts depend on the study
        study,
        consent=given.consent or pages.default_consent(study),
        instructions=given.instructions or pages.default_instructions(study),
        thanks=given.thanks or pages.default_thanks(study),
        quiz=quiz if file.quiz.ask else None,
        debrief=(given.debrief or pages.default_debrief(study)) if file.debrief.ask else (),
    )
