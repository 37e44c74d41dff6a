"""``study.toml``: read it with every mistake at once, and write one that explains every key."""

import json
import re
import textwrap
import tomllib
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from softlabel.errors import nearest
from softlabel.study.findings import FILE, Findings, Refused, find_named, read_text
from softlabel.study.model import Question
from softlabel.study.schema import GIVEN, INNER, NAMED, SECTIONS, TEXTS, StudyFile


class Reader(NamedTuple):
    """What the readers of a study folder share: the folder, its settings, and the findings."""

    folder: Path
    findings: Findings
    file: StudyFile
    text: str  # of the file
    broken: frozenset[str]  # keys whose value could not be used

    def is_broken(self, *keys: str) -> bool:
        """Return whether the value of one of these settings could not be used."""
        return not self.broken.isdisjoint(keys)

    def refuse(self, key: str, value: object, reason: str) -> None:
        self.findings.add(FILE, key, value, reason)

    def note(self, key: str, value: object, reason: str) -> None:
        """Add a note about a setting that is allowed but may be a mistake."""
        self.findings.add_note(FILE, key, value, reason)

    def read_text(self, key: str, name: str) -> str | None:
        """Return the text of the file that a setting names; if it has none, add a mistake."""
        try:
            return read_text(find_named(self.folder, name))
        except Refused as error:
            self.refuse(key, name, str(error))
            return None


def _explain_toml(message: str) -> str:
    """Return why a text is not TOML; the commonest reason in plain words."""
    if twice := re.fullmatch(r"Cannot declare \((.*)\) twice", message):
        name = ".".join(part.strip(" '") for part in twice[1].split(",") if part.strip())
        return f"the table [{name}] is there twice; put all its keys under the first"
    return f"is not TOML: {message}"


def read_settings(folder: Path, text: str, findings: Findings) -> Reader | None:
    """Parse ``study.toml``; None if that fails.  A wrong setting is added to the findings and
    removed (with its table, if that needs it), so that the rest can be checked too."""
    try:
        raw = tomllib.loads(text)
    except RecursionError:
        findings.add(FILE, "", None, "is nested too deeply for a study")
        return None
    except ValueError as wrong:  # TOMLDecodeError, or a number with thousands of digits
        message, _, position = str(wrong).partition(" (at ")
        findings.add(FILE, position.rstrip(")"), None, _explain_toml(message))
        return None
    broken: set[str] = set()
    while True:
        try:
            file = StudyFile.model_validate(raw)
            return Reader(folder, findings, file, text, frozenset(broken))
        except ValidationError as invalid:
            raw = deepcopy(raw)
            for error in invalid.errors(include_url=False):
                place = [part for part in error["loc"] if part not in (GIVEN, NAMED)]
                parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
                key = "".join(parts).removeprefix(".")  # as in quiz.question[0].right
                value = None if isinstance(error["input"], dict | list) else error["input"]
                findings.add(FILE, key, value, _reason(error, key, place))
                table, *rest = map(str, error["loc"])
                known = SECTIONS[table].model_fields if table in SECTIONS else {}
                if not rest or (rest[0] in known and known[rest[0]].is_required()):
                    raw.pop(table, None)
                elif table == "labels" and rest[1:]:  # of one label, one key
                    raw[table][rest[0]].pop(rest[1], None)
                elif table in raw:  # an error before this one may have removed it
                    raw[table].pop(rest[0], None)
                broken.add(".".join([table, *rest[:1]]))


def _reason(error: ErrorDetails, key: str, place: list[str | int]) -> str:
    kind = error["type"]
    if place[0] == "labels" and len(place) > 2:  # whichever label it is about
        place, key = ["labels.NAME", *place[2:]], f"labels.NAME.{place[2]}"
    if kind == "extra_forbidden":  # misspelt, in the wrong table, or it does not exist
        name = str(place[-1])
        table = ".".join(part for part in place[:-1] if isinstance(part, str))
        models = SECTIONS | INNER | {"": StudyFile}
        known = list(models[table].model_fields)
        homes = [section for section, model in SECTIONS.items() if name in model.model_fields]
        hint = nearest(name, known)
        if not hint and homes:
            return f"no such key here; it belongs in [{homes[0]}]"
        what = "key" if table else "table"
        return f"no such {what}" + (hint or f"; there are: {', '.join(known)}")
    if kind == "literal_error":
        choices = re.findall(r"'([^']*)'", error["ctx"]["expected"])
        return f"must be {' or '.join(choices)}{nearest(str(error['input']), choices)}"
    if kind == "string_pattern_mismatch":
        patterns = TEXTS["pattern"]  # of before.question[0].id and the like: question.id
        return str(patterns[key if key in patterns else f"question.{place[-1]}"])
    if kind in ("list_type", "dict_type") and key in TEXTS["list_or_file"]:
        return str(TEXTS["list_or_file"][key])
    return str(TEXTS["reason"][kind]).format(**error.get("ctx", {}))


LABEL_FILES = ("labels.txt", "labels.json")
ALLOCATIONS = (".json", ".js")
MINIMAL = """\
[study]
labels = {labels}
mode = "classic"
frame = "third_person"

[items]
source = {source}
allocation = {allocation}
"""


def read_settings_text(folder: Path) -> str:
    """Return the text of ``study.toml``, or settings for a folder that holds nothing but pictures,
    a list of labels and an allocation: the study of Collins et al. in a new domain."""
    if not (folder / FILE).exists():
        entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
        folders = [entry.name for entry in entries if entry.is_dir()]
        labels = [entry.name for entry in entries if entry.name in LABEL_FILES]
        files = [e for e in entries if not e.is_dir() and e.name not in LABEL_FILES]
        counts = (len(folders), len(labels), len(files))
        if counts == (1, 1, 1) and files[0].suffix.lower() in ALLOCATIONS:
            names = {"labels": labels[0], "source": folders[0], "allocation": files[0].name}
            return MINIMAL.format(**{key: literal(name) for key, name in names.items()})
    return read_text(find_named(folder, FILE))


WIDTH = 96
HEAD = """\
# A study of softlabel.  A setting that begins with # is left at its default, or is an example;
# remove the # to use it.  `softlabel check` lists every mistake.
"""
OFF = ("labels.NAME", "allocate")  # tables that would change something although they are empty
Values = Mapping[str, Mapping[str, Any]]


def render(values: Values, quiz: tuple[Question, ...], debrief: tuple[Question, ...]) -> str:
    """Return ``study.toml`` with these settings, by table and key, and every key explained; a table
    is commented out if it needs settings and has none."""
    questions = {"quiz": quiz, "debrief": debrief}
    lines = [HEAD]
    for table, model in SECTIONS.items():
        if "." in table and table != "labels.NAME":
            continue
        given, fields = values.get(table, {}), model.model_fields
        examples = TEXTS["example"].get(table, {})
        needed = table in OFF or any(field.is_required() for field in fields.values())
        lines.append(f"#[{table}]" if needed and not given else f"[{table}]")
        for key, field in fields.items():
            if key == "question" and table != "study":  # those of other tables are lists
                continue
            assert field.description, f"{table}.{key} is not explained"
            lines += [f"# {line}" for line in textwrap.wrap(field.description, WIDTH - 2)]
            if key in given:
                lines.append(f"{key} = {literal(given[key])}")
            else:
                lines.append(f"#{key} = {literal(examples.get(key, field.default))}")
        lines.append("")
        lines += _render_questions(table, questions.get(table, ()))
    return "\n".join(lines)


def _render_questions(table: str, questions: tuple[Question, ...]) -> list[str]:
    """Return the questions of a table; an example, commented out, where there are none yet."""
    if table == "before":
        example = TEXTS["example"]["question"].items()
        return [f"#[[{table}.question]]", *(f"#{key} = {literal(it)}" for key, it in example), ""]
    lines = []
    for question in questions:
        lines += [f"[[{table}.question]]", f"text = {literal(question.text)}"]
        if table == "debrief":
            lines.append(f"kind = {literal(question.kind)}")
        if question.options and question.kind == "choice":
            lines.append(f"options = {literal(list(question.options))}")
        if question.right is not None:
            lines.append(f"right = {literal(question.options[question.right])}")
        lines.append("")
    return lines


def literal(value: Any) -> str:
    """Return a value as TOML.

    >>> literal({"cat": ["kitten", "tom"]}), literal([{"a": True}])
    ('{ "cat" = ["kitten", "tom"] }', '[{ "a" = true }]')
    """
    if isinstance(value, Mapping):
        pairs = (f"{literal(key)} = {literal(entry)}" for key, entry in value.items())
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    return json.dumps(value, ensure_ascii=False)
