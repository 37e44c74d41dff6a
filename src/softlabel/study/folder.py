"""A study folder, read whole: every mistake in it at once, or the study."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from softlabel.elicit import Mode
from softlabel.errors import Problem, StudyError
from softlabel.study import defaults
from softlabel.study.allocation import Allocation, read_allocation
from softlabel.study.asking import read_mode
from softlabel.study.bare import settings_of
from softlabel.study.batches import Targets
from softlabel.study.checking import check_counts, note_the_unhelpful
from softlabel.study.findings import Findings
from softlabel.study.labels import nodes, read_labels, read_synonyms
from softlabel.study.model import Item, Question, Quiz, Study
from softlabel.study.pages import Pages, read_pages
from softlabel.study.places import Refused, find_named, read_text
from softlabel.study.questions import read_debrief, read_quiz
from softlabel.study.recruiting import read_pay, read_recruit
from softlabel.study.repeats import read_repeats
from softlabel.study.scope import Scope
from softlabel.study.settings import FILE, Settings, Unreadable, read_settings
from softlabel.study.sources import read_others, read_targets


def read(folder: str | Path) -> Study:
    """The study in this folder; ``StudyError`` holds every mistake if there are any."""
    findings = Findings()
    study = _read(Path(folder), findings)
    if study is None:
        raise StudyError(findings.problems)
    return study


def problems(folder: str | Path) -> tuple[Problem, ...]:
    """Every mistake in this folder; none if it can be served."""
    findings = Findings()
    _read(Path(folder), findings)
    return findings.problems


def _read(folder: Path, findings: Findings) -> Study | None:
    if not folder.is_dir():
        findings.wrong(str(folder), "", None, "no such folder")
        return None
    try:
        settings = read_settings(_text(folder), findings)
    except Refused as error:
        findings.wrong(FILE, "", None, str(error))
        return None
    except Unreadable:
        return None
    return _study(folder, settings, findings)


def _text(folder: Path) -> str:
    """``study.toml``, or what stands for it in a folder that holds just the three things that
    Collins et al. ask for."""
    if not (folder / FILE).exists() and (text := settings_of(folder)):
        return text
    return read_text(find_named(folder, FILE))


@dataclass(frozen=True)
class _Asked:
    """Labels, their synonyms and the mode; None is what could not be read."""

    labels: tuple[str, ...] | None
    mode: Mode | None
    synonyms: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class _Shown:
    """Everything that comes on people's screens."""

    targets: Targets
    practice: tuple[Item, ...]
    checks: tuple[Item, ...]
    repeat_positions: tuple[int, ...]


def _study(folder: Path, settings: Settings, findings: Findings) -> Study | None:
    allocation = read_allocation(folder, settings.file.items.allocation, findings)
    asked = _asked(folder, settings, allocation, findings)
    shown = _shown(Scope(folder, findings, asked.labels), settings, allocation)
    pages = read_pages(folder, settings, findings)
    quiz, debrief = read_quiz(settings, findings), read_debrief(settings, findings)
    recruit, pay = read_recruit(settings, findings), read_pay(settings, findings)
    if findings or asked.labels is None or asked.mode is None:
        return None
    section, items = settings.file.study, settings.file.items
    name = section.name or re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-")
    study = Study(
        folder=folder,
        name=name or "study",
        title=section.title or section.name or folder.resolve().name,
        description=section.description.strip(),
        labels=asked.labels,
        synonyms=asked.synonyms,
        mode=asked.mode,
        mode_text=section.mode,
        frame=section.frame,
        repeat_rest=section.repeat_rest,
        language=section.language,
        label_order=section.label_order,
        items=shown.targets.items,
        practice=shown.practice,
        checks=shown.checks,
        batches=shown.targets.batches,
        per_item=items.per_item,
        per_annotator=items.per_annotator,
        batch_size=items.batch_size,
        repeats=len(shown.repeat_positions),
        repeat_positions=shown.repeat_positions,
        consent="",
        instructions=(),
        thanks="",
        contact=settings.file.pages.contact.strip(),
        quiz=None,
        debrief=(),
        recruit=recruit,
        pay=pay,
        seed=section.seed,
        lease_minutes=section.lease_minutes,
        toml=settings.text,
        skip_limit=items.skip_limit,
        notes=tuple(findings.notes),
    )
    return _with_texts(study, settings, pages, quiz, debrief)


def _asked(
    folder: Path, settings: Settings, allocation: Allocation | None, findings: Findings
) -> _Asked:
    classes = None
    if allocation is not None and allocation.classes is not None:
        classes = (allocation.file, allocation.classes)
    labels = read_labels(folder, settings, classes, findings)
    mode = read_mode(settings, labels, findings)
    known = None if labels is None else nodes(labels, mode)
    return _Asked(labels, mode, read_synonyms(folder, settings, known, findings))


def _shown(scope: Scope, settings: Settings, allocation: Allocation | None) -> _Shown:
    section, findings = settings.file.items, scope.findings
    targets = Targets()
    if section.source is not None:
        targets = read_targets(section.source, allocation, scope)
    elif "items.source" not in settings.broken:
        reason = "must be given: a folder of pictures or recordings, a .csv or a .jsonl file"
        findings.wrong(FILE, "items.source", None, reason)
    practice = read_others("items.practice", section.practice, "training", scope)
    checks = read_others("items.checks", section.checks, "gold", scope)
    check_counts(settings, targets, findings)
    note_the_unhelpful(settings, practice, findings)
    return _Shown(targets, practice, checks, read_repeats(settings, allocation, targets, findings))


def _with_texts(
    study: Study,
    settings: Settings,
    pages: Pages,
    quiz: tuple[Question, ...],
    debrief: tuple[Question, ...],
) -> Study:
    """What people read: as the study says it, and the usual texts where it says nothing."""
    asked = Quiz(quiz or defaults.quiz(study), settings.file.quiz.tries)
    return replace(
        study,
        consent=pages.consent or defaults.consent(study),
        instructions=pages.instructions or defaults.instructions(study),
        thanks=pages.thanks or defaults.thanks(study),
        quiz=asked if settings.file.quiz.ask else None,
        debrief=(debrief or defaults.debrief(study)) if settings.file.debrief.ask else (),
    )
