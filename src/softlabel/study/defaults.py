"""The texts of a study that does not bring its own, in its language."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from softlabel.study.model import Question, Study

FOLDER = Path(__file__).parent / "texts"
SCALE = tuple(str(step) for step in range(1, 11))
LISTED = 20  # labels; more than these are not listed in the instructions


def consent(study: Study) -> str:
    """What it is about, and what people can expect."""
    texts = _texts(study.language)["consent"]
    purpose = texts["purpose" if study.description else "purpose_alone"]
    return _filled(purpose, study) + "\n\n" + _filled(texts["rights"], study)


def instructions(study: Study) -> tuple[str, ...]:
    """Four pages: welcome, whose view is asked for, how to answer, easy and hard ones."""
    texts = _texts(study.language)["instructions"]
    first = ["welcome", "practice" if study.practice else "", "pay" if study.pay else ""]
    last = ["easy_and_hard", "repeats" if study.repeats else ""]
    last.append("bonus" if study.pay and study.pay.bonus else "")
    two = f"{study.mode.name}_two"  # of two labels less may be asked
    how = two if len(study.labels) == 2 and two in texts else study.mode.name
    how = how if how in texts else "other"
    pages = (first, [study.frame], [how], last)
    return tuple(
        "\n\n".join(_filled(texts[part], study) for part in parts if part) for parts in pages
    )


def thanks(study: Study) -> str:
    return _filled(_texts(study.language)["thanks"]["text"], study)


def quiz(study: Study) -> tuple[Question, ...]:
    """What is judged, and whose view is asked for."""
    return tuple(
        Question(_filled(one["text"], study), tuple(one["options"]), one["right"])
        for one in _texts(study.language)["quiz"]
        if one.get("frame", study.frame) == study.frame
    )


def debrief(study: Study) -> tuple[Question, ...]:
    """The six questions that were asked after CIFAR-10S."""
    return tuple(
        Question(
            _filled(one.get(study.mode.name, one["text"]), study),
            SCALE if one["kind"] == "scale" else (),
            kind=one["kind"],
        )
        for one in _texts(study.language)["debrief"]
    )


@cache
def _texts(language: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / f"{language}.toml").read_text(encoding="utf-8"))


def _filled(text: str, study: Study) -> str:
    """The text with what it leaves open about this study."""
    texts = _texts(study.language)
    item, items = texts["words"][_shown(study)]
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
    return text.strip().format(**known | study.mode.rules())


def _shown(study: Study) -> str:
    """What kind of thing is judged: the key of its word."""
    kinds = {"image" if one.image else "audio" if one.audio else "text" for one in study.items}
    return kinds.pop() if len(kinds) == 1 else "mixed"
