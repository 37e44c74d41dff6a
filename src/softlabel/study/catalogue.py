"""The sentences of the interface, by language, and a study's own words for them.

A sentence has a key: ``page.consent_accept``, ``task.next``, ``modes.quick.self.question``.  A
study replaces any of them in its ``texts`` file, and there it also translates the sentences of its
own ``study.toml`` for people who choose another language.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any, get_args

from softlabel import registry
from softlabel.elicit import find_texts
from softlabel.errors import nearest
from softlabel.study.findings import Refused, has_control, load_json
from softlabel.study.model import About, Condition, Language, Pay, Question, Quiz, Study
from softlabel.study.settings import Reader

LOCALE = Path(__file__).parent / "locale"
LANGUAGES: tuple[str, ...] = get_args(Language)
SECTIONS = ("page", "task", "modes")
OWN = "study"  # the section that translates the study's own sentences
FORMS = ("zero", "one", "two", "few", "many", "other")  # of plurals, as CLDR calls them
SENTENCES = {  # where study.toml has sentences that people read
    Study: ("title", "description", "question", "about", "pay", "quiz", "before", "debrief"),
    About: ("describe",),
    Pay: ("bonus",),
    Quiz: ("questions",),
    Question: ("text", "options", "show_if"),
    Condition: ("among",),
}


@dataclass(frozen=True)
class Wording:
    """The interface in one language, and translations of the study's own sentences into it."""

    words: Mapping[str, Any]
    sentences: Mapping[str, str] = field(default_factory=dict)


def load_words(language: str) -> dict[str, Any]:
    """Return all sentences of the interface in a language; ``task.modes`` has those of modes."""
    words = deepcopy(_load_file(language))
    modes = registry.members("mode").items()
    words["task"]["modes"] = {name: dict(find_texts(mode, language)) for name, mode in modes}
    return words


@cache
def _load_file(language: str) -> dict[str, Any]:
    words: dict[str, Any] = json.loads((LOCALE / f"{language}.json").read_text(encoding="utf-8"))
    return words


# ── the texts file of a study ────────────────────────────────────────────────────────────────


def _read_languages(reader: Reader) -> tuple[str, ...]:
    """Return the languages of a study, the default first."""
    section = reader.file.study
    given = list(dict.fromkeys(section.languages)) or [section.language]
    if len(given) < len(section.languages):
        reader.refuse("study.languages", section.languages, "a language is given twice")
    if "language" in section.model_fields_set and section.language != given[0]:
        reason = f"differs from the first of study.languages, {given[0]!r}; leave it out"
        reader.refuse("study.language", section.language, reason)
    return tuple(given)


def read_wordings(reader: Reader) -> dict[str, Wording]:
    """Return the interface in each language of the study, the default first, with the sentences
    that the study replaces."""
    languages = _read_languages(reader)
    wordings = {code: Wording(load_words(code), {}) for code in languages}
    name = reader.file.study.texts
    text = None if name is None else reader.read_text("study.texts", name)
    if name is None or text is None:
        return wordings
    try:
        given = _parse(name, text)
    except Refused as error:
        reader.findings.add(name, "", None, str(error))
        return wordings
    plain = [key for key in given if key in SECTIONS]
    if plain and len(languages) > 1:
        reason = f"belongs under a language, as in [{languages[0]}.{plain[0]}]"
        reader.findings.add(name, plain[0], None, reason)
        return wordings
    if plain:
        shared = {key: given.pop(key) for key in plain}
        given[languages[0]] = shared | dict(given.get(languages[0], {}))
    for code, sections in given.items():
        if code not in wordings:
            known = (*languages, *(SECTIONS if len(languages) == 1 else ()))
            reason = f"is no language of this study{nearest(code, known)}; use {', '.join(known)}"
            reader.findings.add(name, code, None, reason)
        elif not isinstance(sections, dict):
            reader.findings.add(name, code, sections, "must be a table of sections")
        else:
            wordings[code] = _replace(reader, name, code, sections, wordings[code])
    return wordings


def _parse(name: str, text: str) -> dict[str, Any]:
    if not name.lower().endswith((".toml", ".json")):
        raise Refused("must end in .toml or .json")
    if name.lower().endswith(".json"):
        given = load_json(text)
    else:
        try:
            given = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise Refused(f"is not TOML: {error}") from error
    if not isinstance(given, dict):
        raise Refused('must hold a table: {"page": {"continue": "Go on"}}')
    return given


def _replace(
    reader: Reader, file: str, code: str, sections: Mapping[str, Any], wording: Wording
) -> Wording:
    words, sentences = wording.words, {}
    known = {"page": words["page"], "task": dict(words["task"]), "modes": words["task"]["modes"]}
    del known["task"]["modes"]
    checker = Checker(reader, file, known)
    for name, given in sections.items():
        key = f"{code}.{name}"
        if name == OWN:
            sentences = checker.read_sentences(key, given)
        elif name not in known:
            reason = f"no such section{nearest(name, (*known, OWN))}; there are: page, task, modes"
            reader.findings.add(file, key, None, f"{reason}, {OWN}")
        else:
            known[name] = checker.merge(known[name], given, code, (name,))
    task = known["task"] | {"modes": known["modes"]}
    return Wording({**words, "page": known["page"], "task": task}, sentences)


class Checker:
    """Replace sentences in a catalogue, and add a mistake for each that does not fit."""

    def __init__(self, reader: Reader, file: str, known: Mapping[str, Any]) -> None:
        self.reader, self.file = reader, file
        self.keys = [".".join(path) for path in _list_keys(known)]

    def merge(self, base: Any, given: Any, code: str, path: tuple[str, ...]) -> Any:
        """Return the texts with those given in their places."""
        key = ".".join((code, *path))
        if isinstance(base, str):
            return given if self._fits(key, given, blanks(base), every=True) else base
        if isinstance(base, list):
            return self._merge_list(base, given, key)
        if _is_plural(base):
            return self._merge_forms(base, given, key)
        if not isinstance(given, dict):
            self._refuse(key, given, "must be a table of sentences")
            return base
        merged = dict(base)
        for name, value in given.items():
            if name in base:
                merged[name] = self.merge(base[name], value, code, (*path, name))
            else:
                own = ".".join((*path, name))
                self._refuse(f"{code}.{own}", None, f"no such sentence{nearest(own, self.keys)}")
        return merged

    def read_sentences(self, key: str, given: Any) -> dict[str, str]:
        """Return a table of the study's own sentences; whether they exist is checked later."""
        if not isinstance(given, dict):
            self._refuse(key, given, "must be a table from a sentence to its translation")
            return {}
        own = {text: said for text, said in given.items() if self._is_text(f"{key}.{text}", said)}
        return own

    def _merge_list(self, base: list[str], given: Any, key: str) -> list[str]:
        if not isinstance(given, list) or len(given) != len(base):
            self._refuse(key, given, f"must be a list of {len(base)} texts")
            return base
        fits = [
            self._fits(f"{key}[{place}]", text, blanks(before), every=True)
            for place, (text, before) in enumerate(zip(given, base, strict=True))
        ]
        return given if all(fits) else base

    def _merge_forms(self, base: dict[str, str], given: Any, key: str) -> Any:
        """One text for every number, or a table of plural forms; ``other`` is required."""
        wanted = blanks(base["other"])
        if not isinstance(given, dict):
            return given if self._fits(key, given, wanted, every=True) else base
        unknown = [form for form in given if form not in FORMS]
        for form in unknown:
            reason = f"no such plural form{nearest(form, FORMS)}; there are: {', '.join(FORMS)}"
            self._refuse(f"{key}.{form}", None, reason)
        if "other" not in given:
            self._refuse(f"{key}.other", None, "is required: the text for most numbers")
        fits = [
            self._fits(f"{key}.{form}", text, wanted, every=form == "other")
            for form, text in given.items()
            if form in FORMS
        ]
        return given if all(fits) and not unknown and "other" in given else base

    def _fits(self, key: str, text: Any, wanted: set[str], *, every: bool) -> bool:
        """Whether a sentence can stand in for one with these blanks."""
        if not self._is_text(key, text):
            return False
        try:
            found = blanks(text)
        except ValueError:
            self._refuse(key, text, "has a brace without its partner; write {{ for a brace")
            return False
        lost = sorted(wanted - found) if every else []
        if lost:
            self._refuse(key, text, "must contain " + " and ".join(f"{{{one}}}" for one in lost))
        for name in sorted(found - wanted):
            allowed = ", ".join(f"{{{one}}}" for one in sorted(wanted)) or "none"
            self._refuse(key, text, f"{{{name}}} is not known here; allowed: {allowed}")
        return not lost and found <= wanted

    def _is_text(self, key: str, text: Any) -> bool:
        if not isinstance(text, str) or not text.strip():
            self._refuse(key, text, "must be a text in quotation marks")
        elif has_control(text, allowed="\n\t"):
            self._refuse(key, text, "contains control characters")
        else:
            return True
        return False

    def _refuse(self, key: str, value: object, reason: str) -> None:
        shown = None if isinstance(value, dict | list) else value
        self.reader.findings.add(self.file, key, shown, reason)


def blanks(text: str) -> set[str]:
    """Return the names of the blanks of a text; raise ``ValueError`` for a lone brace.

    >>> sorted(blanks("{n} of {whole}"))
    ['n', 'whole']
    """
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def _is_plural(texts: Mapping[str, Any]) -> bool:
    """Whether these are the forms of one sentence, not sentences of which one is called other."""
    return "other" in texts and set(texts) <= set(FORMS)


def _list_keys(texts: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, value in texts.items():
        if isinstance(value, Mapping) and not _is_plural(value):
            yield from _list_keys(value, (*path, name))
        else:
            yield (*path, name)


# ── the sentences of study.toml in other languages ───────────────────────────────────────────


def translate(value: Any, sentences: Mapping[str, str]) -> Any:
    """Return a study, or a part of one, with its own sentences translated where they can be."""
    if isinstance(value, str):
        return sentences.get(value, value)
    if isinstance(value, tuple):
        return tuple(translate(part, sentences) for part in value)
    if isinstance(value, Mapping):
        return {key: translate(part, sentences) for key, part in value.items()}
    if not is_dataclass(value) or isinstance(value, type):
        return value
    names = SENTENCES.get(type(value), ())
    changes = {name: translate(getattr(value, name), sentences) for name in names}
    return replace(value, **changes)


def list_sentences(value: Any) -> Iterator[str]:
    """Yield the sentences of a study that people read, as ``translate`` finds them."""
    if isinstance(value, str):
        yield from [value] if value and not value.isdigit() else []
    elif isinstance(value, tuple | Mapping):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from list_sentences(part)
    elif is_dataclass(value) and not isinstance(value, type):
        names = SENTENCES.get(type(value), ())
        for one in fields(value):
            if one.name in names:
                yield from list_sentences(getattr(value, one.name))


def check_sentences(reader: Reader, study: Study, wordings: Mapping[str, Wording]) -> None:
    """Refuse translations of sentences that the study does not have; note missing ones."""
    own, name = tuple(dict.fromkeys(list_sentences(study))), reader.file.study.texts
    for number, (code, wording) in enumerate(wordings.items()):
        for sentence in wording.sentences:
            if sentence not in own:
                reason = f"is no sentence of study.toml{nearest(sentence, own)}"
                reader.findings.add(name or "", f"{code}.{OWN}", sentence, reason)
        left = [sentence for sentence in own if sentence not in wording.sentences]
        if number > 0 and left:
            reason = f"{len(left)} sentences of study.toml have no translation into {code}"
            reader.note(
                "study.texts", name, f"{reason}, so they are shown as they are: {left[0]!r}"
            )
