"""Reading a study folder: the study, or every mistake in it at once."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from softlabel.errors import Problem, StudyError
from softlabel.study import added, batches, catalogue, pages
from softlabel.study.allocating import read_allocate
from softlabel.study.catalogue import Wording
from softlabel.study.compare import read_compare
from softlabel.study.findings import FILE, Findings, Refused
from softlabel.study.items import Scope, check_headings, read_others
from softlabel.study.labels import (
    check_channel,
    read_about,
    read_labels,
    read_mode,
    read_synonyms,
)
from softlabel.study.model import Compare, Item, LabelOrder, Quiz, Study
from softlabel.study.pages import Pages, default_quiz
from softlabel.study.questions import read_skip_reasons
from softlabel.study.recruiting import check_advert, make_advert, read_pay, read_recruit
from softlabel.study.settings import Reader, read_settings, read_settings_text

# settings that the study keeps as they are
SAME_IN_STUDY = {"frame", "repeat_rest", "language", "ordered", "seed", "lease_minutes"}
SAME_IN_ITEMS = {
    "per_item", "per_annotator", "batch_size", "skip_limit", "comment", "layout", "smoothing",
}  # fmt: skip


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


def check_table(folder: Path, table: Path, name: str) -> tuple[Study, tuple[Item, ...]]:
    """Return the study with the items of a table, which lies in the folder and is called ``name``,
    and these items; raise ``StudyError`` with every mistake in both."""
    findings = Findings()
    study = _read(folder, findings, also=table)
    if study is None:
        raise added.rename_problems(StudyError(findings.problems), folder, table, name)
    return study, study.items[-added.count_items(folder, table) :]


def _open(folder: Path, findings: Findings) -> Reader | None:
    """Return the settings of a folder, if they can be parsed."""
    if not folder.is_dir():
        findings.add(str(folder), "", None, "no such folder")
        return None
    try:
        return read_settings(folder, read_settings_text(folder), findings)
    except Refused as error:
        findings.add(FILE, "", None, str(error))
        return None


def _read(folder: Path, findings: Findings, also: Path | None = None) -> Study | None:
    reader = _open(folder, findings)
    if reader is None:
        return None
    file, section, items = reader.file, reader.file.study, reader.file.items
    allocation = batches.read_allocation(reader)
    labels = read_labels(reader, None if allocation is None else allocation.named_classes)
    mode = read_mode(reader, labels)
    synonyms = read_synonyms(reader, labels, mode)
    about = read_about(reader, labels, mode)
    wordings = catalogue.read_wordings(reader)
    scope = Scope(folder, findings, labels, headings=items.headings, markdown=items.markdown)
    targets = batches.Targets()
    check_headings(scope)
    if items.source is not None:
        targets = batches.read_targets(items.source, allocation, scope)
    elif not reader.is_broken("items.source"):
        reason = "is required: a folder of pictures, recordings or videos, a .csv or a .jsonl file"
        reader.refuse("items.source", None, reason)
    practice = read_others("items.practice", items.practice, "training", scope)
    checks = read_others("items.checks", items.checks, "gold", scope)
    targets = added.read_added(targets, scope, also)
    batches.check_counts(reader, targets)
    check_channel(reader, mode, targets.items)
    skip_reasons = read_skip_reasons(reader)
    silent = [item.id for item in practice if item.gold is None and item.feedback is None]
    if silent:
        reason = f"{silent[0]} has neither gold nor feedback, so there is nothing to learn from it"
        reader.note("items.practice", items.practice, reason)
    if file.recruit.kind != "open" and not file.pages.contact:
        reader.note("pages.contact", None, "people would not know whom to write to")
    repeat_positions = batches.read_repeats(reader, allocation, targets)
    given = pages.read_pages(reader)
    given_in = pages.read_translations(reader, given, tuple(wordings))
    recruit, pay = read_recruit(reader), read_pay(reader)
    compare, allocate = read_compare(reader, labels, mode, targets), read_allocate(reader, targets)
    check_advert(reader)
    if findings or labels is None or mode is None:
        return None
    name = section.name or re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-")
    study = Study(
        **section.model_dump(include=SAME_IN_STUDY),
        label_order=_choose_order(reader),
        **items.model_dump(include=SAME_IN_ITEMS),
        folder=folder,
        name=name or "study",
        title=section.title or section.name or folder.resolve().name,
        description=section.description.strip(),
        labels=labels,
        synonyms=synonyms,
        mode=mode,
        mode_text=(file.compare.modes or [section.mode])[0],
        items=targets.items,
        practice=practice,
        checks=checks,
        batches=targets.batches,
        repeats=len(repeat_positions),
        repeat_positions=repeat_positions,
        contact=file.pages.contact.strip(),
        recruit=recruit,
        pay=pay,
        skip_reasons=skip_reasons,
        toml=reader.text,
        question=section.question,
        about=about,
        quiz=Quiz(given.quiz, file.quiz.tries) if file.quiz.ask else None,
        before=given.before,
        debrief=given.debrief,
        allocate=allocate,
    )
    return _say_in_arms(reader, study, compare, wordings, given_in)


def _say_in_arms(
    reader: Reader,
    study: Study,
    compare: Compare | None,
    wordings: Mapping[str, Wording],
    given: Mapping[str, Pages],
) -> Study | None:
    """Return the study as its first arm asks, with the others, if it compares ways of asking."""
    if compare is None:
        return _say_in_all(reader, study, wordings, given)
    arms: dict[str, Study] = {}
    for arm in compare.arms:
        asks = replace(study, mode=arm.mode, mode_text=arm.mode_text, question=arm.question)
        said = _say_in_all(reader, asks, wordings, given)
        if said is None:
            return None
        arms[arm.name] = said
    notes = {str(note): note for note in reader.findings.notes}  # of several arms, once
    first = arms[compare.arms[0].name]
    return replace(first, compare=compare, arms=arms, notes=tuple(notes.values()))


def _choose_order(reader: Reader) -> LabelOrder:
    """Return the order of labels on the page: a scale is shown as it is, unless told otherwise."""
    section = reader.file.study
    if section.ordered and "label_order" not in section.model_fields_set:
        return "fixed"
    if section.ordered and section.label_order == "shuffled":
        reason = "the labels are steps of a scale, and each person sees them in another order"
        reader.note("study.label_order", section.label_order, reason)
    return section.label_order


def _say_in_all(
    reader: Reader, study: Study, wordings: Mapping[str, Wording], given: Mapping[str, Pages]
) -> Study | None:
    """Return the study in its first language, with the others; None if a translation is wrong."""
    catalogue.check_sentences(reader, study, wordings)
    if reader.findings:
        return None
    first, *others = (
        _say(reader, study, code, wording, given[code]) for code, wording in wordings.items()
    )
    spoken = {other.language: other for other in others}
    notes = tuple(reader.findings.notes)
    return replace(first, others=spoken, notes=notes, advert=make_advert(first, reader))


def _say(reader: Reader, study: Study, code: str, wording: Wording, given: Pages) -> Study:
    """Return the study in a language, with default texts where it brings none of its own."""
    said: Study = catalogue.translate(study, wording.sentences)
    said = replace(said, language=code, words=wording.words)
    quiz = said.quiz and replace(said.quiz, questions=said.quiz.questions or default_quiz(said))
    outdated = pages.find_outdated(said, given.instructions)
    if outdated and code == study.language:
        name = reader.file.pages.instructions
        reason = f"{outdated}; correct it, or leave the key out to have a text that fits"
        reader.note("pages.instructions", name, reason)
    demographics = pages.ask_demographics(said) if reader.file.before.demographics else ()
    return replace(  # the default texts depend on the study
        said,
        consent=given.consent or pages.default_consent(said),
        instructions=given.instructions or pages.default_instructions(said),
        thanks=given.thanks or pages.default_thanks(said),
        quiz=quiz,
        before=(*said.before, *demographics),
        debrief=(said.debrief or pages.default_debrief(said)) if reader.file.debrief.ask else (),
    )
