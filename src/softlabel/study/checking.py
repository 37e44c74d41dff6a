"""Settings that are right one by one and wrong together."""

from __future__ import annotations

from softlabel.study.batches import Targets
from softlabel.study.findings import Findings
from softlabel.study.model import Item
from softlabel.study.settings import FILE, Settings


def check_counts(settings: Settings, targets: Targets, findings: Findings) -> None:
    """How many items a person can have."""
    section, there = settings.file.items, len(targets.items)
    wanted = section.per_annotator
    if wanted is not None and targets.batches:
        reason = "a person answers one batch, so the batches say how many; leave this out"
        findings.wrong(FILE, "items.per_annotator", wanted, reason)
    elif wanted is not None and there and wanted > there:
        findings.wrong(FILE, "items.per_annotator", wanted, f"there are {there} items only")
    if targets.batches and "batch_size" in section.model_fields_set:
        reason = "a person holds one batch, so the batches say how many; leave this out"
        findings.wrong(FILE, "items.batch_size", section.batch_size, reason)
    sizes = sorted(map(len, targets.batches.values()))
    if sizes and sizes[0] != sizes[-1]:
        reason = f"batches hold from {sizes[0]} to {sizes[-1]} items, so sessions differ in length"
        findings.odd(FILE, "items", None, reason)


def note_the_unhelpful(settings: Settings, practice: tuple[Item, ...], findings: Findings) -> None:
    """What is allowed, and may still not be meant."""
    silent = [item.id for item in practice if item.gold is None and item.feedback is None]
    if silent:
        reason = f"{silent[0]} has neither gold nor feedback, so nothing is said about it"
        findings.odd(FILE, "items.practice", settings.file.items.practice, reason)
    if settings.file.recruit.kind != "open" and not settings.file.pages.contact:
        findings.odd(FILE, "pages.contact", None, "people would not know whom to write to")
