"""What people read: the Markdown files that a study brings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from softlabel.study.findings import Findings
from softlabel.study.places import Refused, find_text
from softlabel.study.scope import holds_control
from softlabel.study.settings import FILE, Settings

NEW_PAGE = re.compile(r"^---[ \t]*$", re.MULTILINE)


@dataclass(frozen=True)
class Pages:
    """The texts given; None and no pages stand for the usual ones."""

    consent: str | None
    instructions: tuple[str, ...]
    thanks: str | None


def read_pages(folder: Path, settings: Settings, findings: Findings) -> Pages:
    """Every text that ``study.toml`` names."""
    section = settings.file.pages
    instructions = _text(folder, "instructions", section.instructions, findings) or ""
    pages = (page.strip() for page in NEW_PAGE.split(instructions))
    return Pages(
        _text(folder, "consent", section.consent, findings),
        tuple(page for page in pages if page),
        _text(folder, "thanks", section.thanks, findings),
    )


def _text(folder: Path, key: str, name: str | None, findings: Findings) -> str | None:
    if name is None:
        return None
    try:
        text = find_text(folder, name).strip()
    except Refused as error:
        findings.wrong(FILE, f"pages.{key}", name, str(error))
        return None
    if not text:
        findings.wrong(name, "", None, "is empty; without the key there is a usual text")
    elif holds_control(text, allowed="\n\t"):
        findings.wrong(name, "", None, "holds control characters")
    return text
