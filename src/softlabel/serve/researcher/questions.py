"""What people said beside the items: before the first one and after the last, under pseudonyms."""

from collections.abc import Iterator, Mapping
from typing import Any

from softlabel.io import Cell
from softlabel.records import dump_json, format_time
from softlabel.store import Store
from softlabel.study import Question, Study, name_questions

STAGES = ("before", "debrief")  # the events that hold the answers, in the order of the pages
BETWEEN = "; "  # several answers in one cell

Details = dict[str, dict[str | None, Mapping[str, object]]]  # by event and annotator


def read_details(study: Study, store: Store) -> Details:
    """Return everybody's answers; of somebody who answered twice, the later ones."""
    return {
        stage: {event.annotator: event.detail for event in store.events(study.name, stage)}
        for stage in STAGES
    }


def get_questions(study: Study, stage: str) -> tuple[Question, ...]:
    return study.before if stage == "before" else study.debrief


def list_columns(study: Study) -> list[str]:
    """Return a column per question: by stage and id, or by the text where there is no id."""
    return [
        f"{stage}_{question.id}" if question.id else question.text
        for stage in STAGES
        for question in get_questions(study, stage)
    ]


def list_cells(study: Study, details: Details, annotator: str) -> list[Cell]:
    """Return what one person said, a cell per question."""
    return [
        cell
        for stage in STAGES
        for _, cell in word_answers(study, stage, details[stage].get(annotator, {}))
    ]


def word_answers(study: Study, stage: str, detail: Mapping[str, object]) -> list[tuple[str, Cell]]:
    """Return the questions of a stage with one person's answers, None for those left out."""
    questions = get_questions(study, stage)
    answers = map(detail.get, name_questions(questions))
    return [(asked.text, _word(said)) for asked, said in zip(questions, answers, strict=True)]


def _word(answer: object) -> Cell:
    if isinstance(answer, list):
        return BETWEEN.join(map(str, answer))
    return answer if isinstance(answer, int | float) or answer is None else str(answer)


def write_questions(study: Study, store: Store) -> Iterator[str]:
    """Yield a JSON line per person and question that was shown to them; ``answer`` is null if it
    was left empty.  Answers to questions that the study no longer asks have no ``text``."""
    sessions = {one.annotator: one for one in store.sessions(study.name)}
    for stage in STAGES:
        questions = get_questions(study, stage)
        known = dict(zip(name_questions(questions), questions, strict=True))
        for event in store.events(study.name, stage):
            session = sessions.get(event.annotator or "")
            for name, answer in event.detail.items():
                question = known.get(name)
                line: dict[str, Any] = {
                    "study": study.name,
                    "annotator": event.annotator,
                    "session": session and session.id,
                    "stage": stage,
                    "question": name,
                    "kind": question and question.kind,
                    "text": question and question.text,
                    "answer": answer,
                    "at": format_time(event.at),
                }
                if session is not None and session.simulated:
                    line["simulated"] = True
                yield f"{dump_json(line)}\n"
