"""The words of the interface: one catalogue file per language."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from softlabel.errors import UnknownName

FOLDER = Path(__file__).parent / "locale"


@dataclass(frozen=True)
class Catalogue:
    """All words in one language, by section; ``dir`` is the direction of writing."""

    code: str
    name: str
    dir: Literal["ltr", "rtl"]
    page: Mapping[str, str]
    task: Mapping[str, Any]
    research: Mapping[str, Any]

    def say(self, key: str, **values: object) -> str:
        """A text of the pages with its blanks filled in."""
        return self.page[key].format(**values)


def languages() -> list[str]:
    """The codes of the languages there are."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def load(code: str) -> Catalogue:
    """The catalogue of a language: ``en-GB`` is served by ``en`` if it has none of its own."""
    known = languages()
    for wanted in (code, code.partition("-")[0]):
        if wanted in known:
            return Catalogue(**json.loads((FOLDER / f"{wanted}.json").read_text("utf-8")))
    raise UnknownName("language", code, known)
