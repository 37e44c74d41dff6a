"""What people read: pages, quiz and debrief of a study, or default texts in its language."""

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any, NamedTuple

from softlabel import registry
from softlabel.errors import nearest
from softlabel.study.findings import has_control
from softlabel.study.model import Condition, Item, Question, Study
from softlabel.study.questions import ONE_LINE, SCALE, check_options, read_questions
from softlabel.study.settings import Reader

NEW_PAGE = re.compile(r"^---[ \t]*$", re.MULTILINE)
TEXTS = Path(__file__).parent / "texts"
DEMOGRAPHICS = ("age", "gender", "gender_own", "country", "first_language", "education")
LONG = 30  # characters that tell one text from another
LISTED = 20  # labels that the instructions list at most


class Pages(NamedTuple):
    """The texts that a study brings; where one is empty or None, the default is used."""

    consent: str | None
    instructions: tuple[str, ...]
    thanks: str | None
    quiz: tuple[Question, ...]
    before: tuple[Question, ...]
    debrief: tuple[Question, ...]


def read_pages(reader: Reader) -> Pages:
    """Read every text that ``study.toml`` names, and the questions in it."""
    section, quiz, debrief = reader.file.pages, reader.file.quiz, reader.file.debrief
    consent = _read_page(reader, "consent", section.consent)
    text = _read_page(reader, "instructions", section.instructions) or ""
    instructions = _split_pages(text)
    thanks = _read_page(reader, "thanks", section.thanks)
    for name, table in (("quiz", quiz), ("debrief", debrief)):
        if table.question and not table.ask:
            reason = "there are questions, which nobody would see; delete the tables "
            reason += f"[[{name}.question]], or write ask = true"
            reader.refuse(f"{name}.ask", table.ask, reason)
    quiz_questions = []
    for number, asked in enumerate(quiz.question):
        key, options = f"quiz.question[{number}]", asked.options
        check_options(reader, f"{key}.options", options)
        right = options.index(asked.right) if asked.right in options else None
        if right is None:
            reason = f"is none of the options{nearest(asked.right, options)}"
            reader.refuse(f"{key}.right", asked.right, reason)
        quiz_questions.append(Question(asked.text, tuple(options), right))
    taken = DEMOGRAPHICS if reader.file.before.demographics else ()
    before = read_questions(reader, "before", reader.file.before.question, taken)
    asked_after = read_questions(reader, "debrief", debrief.question)
    return Pages(consent, instructions, thanks, tuple(quiz_questions), before, asked_after)


def read_translations(reader: Reader, pages: Pages, languages: Sequence[str]) -> dict[str, Pages]:
    """Return the pages in each language; those that were read are in the first."""
    others = {code: _read_translation(reader, pages, code) for code in languages[1:]}
    return {languages[0]: pages} | others


def _read_translation(reader: Reader, pages: Pages, language: str) -> Pages:
    """Return the pages in another language: ``consent.de.md`` beside ``consent.md``."""
    found: dict[str, str] = {}
    for key in ("consent", "instructions", "thanks"):
        name = getattr(reader.file.pages, key)
        if name is None:
            continue
        path = Path(name)
        other = path.with_name(f"{path.stem}.{language}{path.suffix}").as_posix()
        if (reader.folder / other).exists():
            found[key] = _read_page(reader, key, other) or ""
        else:
            reason = f"there is no {other}, so people who choose {language} read {name}"
            reader.note(f"pages.{key}", name, reason)
    return pages._replace(
        consent=found.get("consent", pages.consent),
        instructions=_split_pages(found["instructions"])
        if "instructions" in found
        else pages.instructions,
        thanks=found.get("thanks", pages.thanks),
    )


def _split_pages(text: str) -> tuple[str, ...]:
    return tuple(page.strip() for page in NEW_PAGE.split(text) if page.strip())


def _read_page(reader: Reader, key: str, name: str | None) -> str | None:
    text = None if name is None else reader.read_text(f"pages.{key}", name)
    if name is None or text is None:
        return None
    if not text.strip():
        reader.findings.add(name, "", None, "is empty; without the key there is a default text")
    elif has_control(text.strip(), allowed="\n\t"):
        reader.findings.add(name, "", None, "contains control characters")
    return text.strip()


def default_consent(study: Study) -> str:
    """Return a text about the purpose of the study and the rights of people."""
    texts = _load_texts(study.language)["consent"]
    purpose = texts["purpose" if study.description else "purpose_alone"]
    return _fill(purpose, study) + "\n\n" + _fill(texts["rights"], study)


def default_instructions(study: Study) -> tuple[str, ...]:
    """Return four pages: welcome, whose view is asked for, how to answer, easy and hard items."""
    texts = _load_texts(study.language)["instructions"]
    bonus = study.pay and study.pay.bonus
    first = ["welcome", "practice" if study.practice else "", "pay" if study.pay else ""]
    last = ["easy_and_hard", "repeats" if study.repeats else "", "bonus" if bonus else ""]
    name = study.mode.name  # with two labels there may be less to explain
    ways = [f"{name}_two"] if len(study.labels) == 2 else []
    how = next(way for way in (*ways, name, "other") if way in texts)
    pages = (first, [study.frame], [how], last)
    return tuple("\n\n".join(_fill(texts[key], study) for key in keys if key) for keys in pages)


def list_own_instructions(study: Study) -> list[str]:
    """Return the pages of instructions without the default texts, which explain the page on which
    people answer.  These may be of another mode or number of items: they were written into a file
    when the study was new."""
    now = {part for page in default_instructions(study) for part in _split_paragraphs(page)}
    usual = _match_defaults()
    pages = []
    for page in study.instructions:
        own = [part for part in _split_paragraphs(page) if part not in now]
        own = [part for part in own if not usual.fullmatch(part)]
        pages.append("\n\n".join(own))
    return [page for page in pages if page]


def _split_paragraphs(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]


@cache
def _match_defaults() -> re.Pattern[str]:
    """Return what matches a paragraph of the default instructions, whatever is filled in."""
    paragraphs = []
    for file in sorted(TEXTS.glob("*.toml")):
        texts: dict[str, str] = _load_texts(file.stem)["instructions"]
        for name, text in texts.items():
            paragraphs += _split_paragraphs(text) if name != "many_labels" else []
    known = []
    for paragraph in paragraphs:
        parts = list(Formatter().parse(paragraph))
        if re.search(r"\w", "".join(part[0] for part in parts)):  # something is not filled in
            known.append("".join(re.escape(part[0]) + (".+" if part[1] else "") for part in parts))
    return re.compile("|".join(known), re.DOTALL)


def find_outdated(study: Study, instructions: Sequence[str]) -> str | None:
    """Return what a default text that became a file of the study says, and is no longer true."""
    texts = _load_texts(study.language)["instructions"]
    given = "\n".join(instructions)
    line = next(line for line in texts["welcome"].splitlines() if "{count}" in line)
    before, after = (
        re.escape(_fill(part, study, strip=False)) for part in line.split("{count}", 1)
    )
    said = re.search(f"{before}([0-9]+){after}", given)
    if said and int(said[1]) != study.showings_per_person:
        return f"says {said[1]} items, but a person answers {study.showings_per_person}"
    fits = _find_sentences(texts, study.mode.name)
    for name in registry.members("mode"):
        if any(part in given for part in _find_sentences(texts, name) - fits):
            return f"explains the mode {name}, but the study has {study.mode.name}"
    return None


def _find_sentences(texts: dict[str, str], mode: str) -> set[str]:
    """Return the longer parts of how a mode is explained, between what is filled in."""
    text = texts.get(mode, "") + texts.get(f"{mode}_two", "")
    return {part for part in re.split(r"\n|\{\w+\}", text) if len(part) > LONG}


def default_thanks(study: Study) -> str:
    return _fill(_load_texts(study.language)["thanks"]["text"], study)


def default_quiz(study: Study) -> tuple[Question, ...]:
    """Return questions about what is judged, and whose view is asked for."""
    return tuple(
        Question(_fill(one["text"], study), tuple(one["options"]), one["right"])
        for one in _load_texts(study.language)["quiz"]
        if one.get("frame", study.frame) == study.frame
    )


def default_debrief(study: Study) -> tuple[Question, ...]:
    """Return the six questions that were asked after CIFAR-10S."""
    return tuple(
        Question(
            _fill(one.get(study.mode.name, one["text"]), study),
            SCALE if one["kind"] == "scale" else (),
            kind=one["kind"],
        )
        for one in _load_texts(study.language)["debrief"]
    )


def _kind_of(item: Item) -> str:
    """Return what default texts call this item."""
    return next((name for name in ("image", "audio", "video") if getattr(item, name)), "text")


def ask_demographics(study: Study) -> tuple[Question, ...]:
    """Return the standard questions about the person; each may be left empty."""
    made: list[Question] = []
    for one in _load_texts(study.language)["demographics"]:
        options, shown = tuple(one.get("options", ())), one.get("show_if")
        made.append(
            Question(
                one["text"],
                options,
                kind="choice" if options else "text",
                id=one["id"],
                high=None if options else ONE_LINE,
                # by place, so that a translation of the option needs no second change
                show_if=Condition(shown[0], (_option(made, *shown),)) if shown else None,
            )
        )
    return tuple(made)


def _option(questions: list[Question], id: str, place: int) -> str:
    return next(question for question in questions if question.id == id).options[place]


@cache
def _load_texts(language: str) -> dict[str, Any]:
    return tomllib.loads((TEXTS / f"{language}.toml").read_text(encoding="utf-8"))


def _fill(text: str, study: Study, *, strip: bool = True) -> str:
    """Fill in the braces of a default text."""
    texts = _load_texts(study.language)
    kinds = {_kind_of(item) for item in study.items}
    item, items = texts["words"][kinds.pop() if len(kinds) == 1 else "mixed"]
    first, left = ", ".join(study.labels[:LISTED]), len(study.labels) - LISTED
    many = texts["instructions"]["many_labels"].format(first=first, left=left)
    known: dict[str, Any] = {
        "item": item,
        "items": items,
        "description": study.description,
        "labels": many if left > 0 else first,
        "count": study.showings_per_person,
        "practice": len(study.practice),
        "fields": "\n".join(f"- {field.asks}" for field in study.mode.fields),
    }
    if study.pay is not None:
        known |= {
            "minutes": f"{study.pay.minutes:g}",
            "amount": f"{study.pay.session:.2f}",
            "currency": study.pay.currency,
            "bonus": study.pay.bonus,
        }
    return (text.strip() if strip else text).format(**known | study.mode.rules())
