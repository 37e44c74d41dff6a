"""``study.toml`` as it is written for a new study: every key is there, and is explained."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from typing import Any

from softlabel.study.model import Question
from softlabel.study.schema import SECTIONS

WIDTH = 96
HEAD = """\
# A study of softlabel.  A setting that begins with # is left at its default, or is an example;
# take the # away to use it.  `softlabel check` says whether all is well.
"""
EXAMPLES: dict[str, Any] = {  # for keys that have no default
    "study.name": "my-study",
    "study.title": "What is this?",
    "study.labels": "labels.txt",
    "study.synonyms": {"cat": ["kitten"]},
    "items.source": "images",
    "items.allocation": "allocation.json",
    "items.per_annotator": 25,
    "items.repeats": 2,
    "items.repeat_positions": [5, 10],
    "items.practice": "practice.jsonl",
    "items.checks": "checks.csv",
    "pages.consent": "consent.md",
    "pages.instructions": "instructions.md",
    "pages.thanks": "thanks.md",
    "recruit.id_param": "participant",
    "recruit.session_param": "session",
    "recruit.id_pattern": "^[0-9]{6}$",
    "recruit.complete_url": "https://recruiter.example/done?who={id}",
    "recruit.screenout_url": "https://recruiter.example/not-suited?who={id}",
    "recruit.noconsent_url": "https://recruiter.example/declined?who={id}",
    "recruit.completion_code": "C0MPLETE",
    "recruit.screenout_code": "SCR33NED",
    "recruit.noconsent_code": "N0C0NSEN",
    "pay.currency": "GBP",
    "pay.minutes": 20,
    "pay.per_hour": 9.0,
    "pay.per_session": 3.0,
    "pay.bonus": "The quarter of people who come closest to the others get 1.00 on top.",
}

Values = Mapping[str, Mapping[str, Any]]


def render(values: Values, quiz: tuple[Question, ...], debrief: tuple[Question, ...]) -> str:
    """The file with these settings, by table and key; a table without any is commented out."""
    parts = [HEAD]
    for table in (name for name in SECTIONS if "." not in name):
        parts.append(_table(table, values.get(table, {})))
        if table == "quiz":
            parts += [_question("quiz", one) for one in quiz]
        if table == "debrief":
            parts += [_question("debrief", one) for one in debrief]
    return "\n".join(parts)


def _table(table: str, values: Mapping[str, Any]) -> str:
    needed = any(field.is_required() for field in SECTIONS[table].model_fields.values())
    lines = [f"#[{table}]" if needed and not values else f"[{table}]"]
    for key, field in SECTIONS[table].model_fields.items():
        if key == "question":
            continue
        assert field.description, f"{table}.{key} is not explained"
        lines += textwrap.wrap(
            field.description, WIDTH, initial_indent="# ", subsequent_indent="# "
        )
        if key in values:
            lines.append(f"{key} = {literal(values[key])}")
        else:
            example = EXAMPLES.get(f"{table}.{key}", field.default)
            lines.append(f"#{key} = {literal(example)}")
    return "\n".join(lines) + "\n"


def _question(table: str, question: Question) -> str:
    lines = [f"[[{table}.question]]", f"text = {literal(question.text)}"]
    if table == "debrief":
        lines.append(f"kind = {literal(question.kind)}")
    if question.options and question.kind == "choice":
        lines.append(f"options = {literal(list(question.options))}")
    if question.right is not None:
        lines.append(f"right = {literal(question.options[question.right])}")
    return "\n".join(lines) + "\n"


def literal(value: Any) -> str:
    """A value as TOML.

    >>> literal({"cat": ["kitten", "tom"]}), literal(True)
    ('{ "cat" = ["kitten", "tom"] }', 'true')
    """
    if isinstance(value, Mapping):
        pairs = (f"{literal(key)} = {literal(one)}" for key, one in value.items())
        return "{ " + ", ".join(pairs) + " }"
    return json.dumps(value, ensure_ascii=False)
