"""The words of the interface in one language, and the language of whoever is asking.

A study may offer several languages.  The language of a request is, in this order, what the person
chose in this session, what they chose in this browser, what the browser prefers, and the first
language of the study.
"""

import re
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal

from softlabel.errors import UnknownName
from softlabel.study import LANGUAGES, Study, load_words

LANGUAGE_COOKIE = "softlabel-language"
MOST_PREFERRED = 20  # languages that are read from a browser's list
RANGE = re.compile(r"^([A-Za-z]{1,8})(?:-[A-Za-z0-9-]*)?(?:;q=([01](?:\.\d{0,3})?))?$")

speaking: ContextVar[str | None] = ContextVar("speaking", default=None)  # of this request


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
    return sorted(LANGUAGES)


def load(code: str) -> Catalogue:
    """Load the catalogue of a language; ``en`` serves for ``en-GB`` if that has none of its own."""
    for wanted in (code, code.partition("-")[0]):
        if wanted in LANGUAGES:
            return Catalogue(**load_words(wanted))
    raise UnknownName("language", code, languages())


def load_all(study: Study) -> dict[str, Catalogue]:
    """Return the catalogue of each language that a study offers, with the study's own words."""
    return {
        code: Catalogue(**(study.speak(code).words or load_words(code))) for code in study.languages
    }


def choose_language(
    offered: Sequence[str], headers: Mapping[str, str], chosen: Sequence[str | None]
) -> str:
    """Return the first of ``chosen`` that is offered, or what the browser prefers, or the first."""
    for code in chosen:
        if code is not None and code in offered:
            return code
    preferred: dict[str, float] = {}
    for part in headers.get("accept-language", "").split(",")[:MOST_PREFERRED]:
        found = RANGE.match(part.strip().replace(" ", ""))
        if found and found[1].lower() in offered:
            weight = float(found[2] or 1)
            preferred[found[1].lower()] = max(weight, preferred.get(found[1].lower(), 0.0))
    wanted = {code: weight for code, weight in preferred.items() if weight > 0}
    return max(wanted, key=wanted.__getitem__, default=offered[0])
