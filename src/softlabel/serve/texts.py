"""The words of the interface: one catalogue per language, with the sentences of every mode."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from softlabel import registry
from softlabel.elicit import find_texts
from softlabel.errors import UnknownName

FOLDER = Path(__file__).parent / "locale"


@dataclass(frozen=True)
class Catalogue:
    """All words in one language, by section; ``dir`` is the direction of writing.

    ``task["modes"]`` holds the sentences of every registered mode, by its name.
    """

    code: str
    name: str
    dir: Literal["ltr", "rtl"]
    page: Mapping[str, str]
    task: Mapping[str, Any]
    research: Mapping[str, Any]

    def say(self, key: str, **values: object) -> str:
        """Return a text of the pages with its blanks filled in."""
        return self.page[key].format(**values)


def languages() -> list[str]:
    """Return the codes of all languages."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def load(code: str) -> Catalogue:
    """Load the catalogue of a language; ``en`` serves for ``en-GB`` if that has none of its own."""
    known = languages()
    for wanted in (code, code.partition("-")[0]):
        if wanted in known:
            words = json.loads((FOLDER / f"{wanted}.json").read_text("utf-8"))
            modes = registry.members("mode").items()
            words["task"]["modes"] = {name: find_texts(mode, wanted) for name, mode in modes}
            return Catalogue(**words)
    raise UnknownName("language", code, known)
