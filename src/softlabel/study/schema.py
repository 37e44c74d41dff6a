"""The keys of ``study.toml``: a strict model that also explains every key."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from softlabel.study.findings import has_control
from softlabel.study.model import SKIP_LIMIT, Frame, LabelOrder, QuestionKind, RecruitKind

MANY = 1_000_000  # more answers, items or minutes than this are a typing error
GIVEN, NAMED = "(given here)", "(name of a file)"  # the two ways to give labels and synonyms


class Section(BaseModel):
    """A table of the file: every key is known, every value has its type."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def _key(description: str, default: Any = None) -> Any:
    """Explain a key that may be left out."""
    return Field(default=default, description=description)


def _refuse_control(text: str) -> str:
    if has_control(text, allowed="\n\t"):
        raise PydanticCustomError("control", "contains control characters")
    return text


_way = Discriminator(lambda value: NAMED if isinstance(value, str) else GIVEN)
AnyText = Annotated[str, Field(max_length=10_000), AfterValidator(_refuse_control)]
Text = Annotated[str, Field(min_length=1, max_length=10_000), AfterValidator(_refuse_control)]
FileName = Annotated[str, Field(min_length=1, max_length=1_000)]
_NamedFile = Annotated[FileName, Tag(NAMED)]
Labels = Annotated[Annotated[list[str], Tag(GIVEN)] | _NamedFile, _way]
Synonyms = Annotated[Annotated[dict[str, list[str]], Tag(GIVEN)] | _NamedFile, _way]
Count = Annotated[int, Field(ge=1, le=MANY)]
Amount = Annotated[float, Field(ge=0, le=MANY)]


class StudySection(Section):
    """What is asked, and how."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9-]+$", max_length=64)] | None = _key(
        "Short name of lower-case letters, digits and hyphens; stored with every answer. Default: "
        "the name of the folder."
    )
    title: Text | None = _key("The question, as people see it on every page. Default: the name.")
    description: AnyText = _key("What the study is about, for the consent page.", "")
    labels: Labels | None = _key(
        "All labels, in order: a list, or a file with one per line (.txt) or a JSON list (.json). "
        'A hierarchy is written in the names: "animal/cat/tabby".'
    )
    synonyms: Synonyms = Field(
        default_factory=dict,
        description="Other words under which search finds a label: a table from label to "
        "list of words, or a JSON file that holds one.",
    )
    mode: Text = _key(
        "How people answer: quick, chips, classic, search or hard, with options as in "
        "classic:strict=true.",
        "quick",
    )
    frame: Frame = _key(
        "Whose view is asked for: self (what you believe) or third_person (how 100 others would "
        "answer).",
        "self",
    )
    repeat_rest: bool = _key(
        "true: from the fourth item on, Enter repeats what the person last said about the labels "
        "not named, and the answer records that it did (quick, chips and search).",
        False,
    )
    language: Literal["en", "ar"] = _key(
        "The language of buttons and of the texts that you do not write.", "en"
    )
    label_order: LabelOrder = _key(
        "Order of the labels on the page: shuffled (once per person, and recorded) or fixed.",
        "shuffled",
    )
    seed: Annotated[int, Field(ge=0, lt=2**63)] = _key(
        "Another seed gives everybody another order of labels and items.", 0
    )
    lease_minutes: Count = _key(
        "How long a person holds items without answering before others get them.", 60
    )


class ItemsSection(Section):
    """What is judged, how often, and by how many."""

    source: FileName | None = _key(
        "The items: a folder of pictures or recordings, a .csv or a .jsonl file. Required."
    )
    allocation: FileName | None = _key(
        "A JSON file that puts items into batches, as published with CIFAR-10S or in our own form; "
        "a person then answers one batch."
    )
    per_item: Count = _key("How many people answer each item.", 6)
    per_annotator: Count | None = _key(
        "How many items one person answers. Default: all; with batches, one batch."
    )
    batch_size: Annotated[int, Field(ge=1, le=10_000)] = _key(
        "How many items a person holds at a time in a study without batches; more than 50 are "
        "handed out in portions.",
        25,
    )
    repeats: Annotated[int, Field(ge=0, le=10_000)] | None = _key(
        "How many of their items people see again at the end, to measure how consistent they are. "
        "Default: 2, fewer in a short study."
    )
    repeat_positions: list[Annotated[int, Field(ge=0, le=MANY)]] | None = _key(
        "Which items are repeated: positions in the person's own order of items, counted from 0. "
        "Default: 5, 10, 15 and so on, or evenly spread if these do not fit."
    )
    skip_limit: Annotated[float, Field(ge=0, le=1)] = _key(
        "The largest share of their items that a person may skip; 2 may always be skipped. A "
        "person who skips more is screened out.",
        SKIP_LIMIT,
    )
    practice: FileName | None = _key(
        "A .csv or .jsonl file of items that come first, with feedback."
    )
    checks: FileName | None = _key(
        "A .csv or .jsonl file of items with a known answer, mixed among the others."
    )


class PagesSection(Section):
    """What people read."""

    consent: FileName | None = _key(
        "A Markdown file. Default: a general text; have yours approved."
    )
    instructions: FileName | None = _key(
        "A Markdown file; a line --- begins a new page. Default: a text that explains mode and "
        "frame."
    )
    thanks: FileName | None = _key("A Markdown file for the last page. Default: a short thank you.")
    contact: AnyText = _key("Whom to write to, shown on the consent and the last page.", "")


class QuizQuestion(Section):
    """A question with one right answer."""

    text: Text = Field(description="The question.")
    options: list[Text] = Field(description="The answers to choose from, at least two.")
    right: Text = Field(description="The right answer, word for word.")


class QuizSection(Section):
    """What must be understood before the first item."""

    ask: bool = _key("false: there is no quiz.", True)
    tries: Annotated[int, Field(ge=1, le=100)] = _key(
        "How often it may be tried before a person is screened out.", 2
    )
    question: list[QuizQuestion] = Field(
        default_factory=list,
        description="The questions. Default: what is judged, and whose view is asked for.",
    )


class DebriefQuestion(Section):
    """A question after the last item; never compulsory."""

    text: Text = Field(description="The question.")
    kind: QuestionKind | None = _key(
        "choice, scale (1 to 10) or text. Default: choice if there are options."
    )
    options: list[Text] = Field(
        default_factory=list, description="The answers to choose from, or the steps of the scale."
    )


class DebriefSection(Section):
    """What is asked afterwards."""

    ask: bool = _key("false: there is no debrief.", True)
    question: list[DebriefQuestion] = Field(
        default_factory=list, description="The questions. Default: the six of CIFAR-10S."
    )


class RecruitSection(Section):
    """Where people come from, and where they go when they are done."""

    kind: RecruitKind = _key(
        "open (anybody with the address), invitation (links made by softlabel invite), prolific, "
        "or url (any recruiter that adds an id to the address).",
        "open",
    )
    id_param: Text | None = _key("url: the parameter that holds the person's id. Required there.")
    session_param: Text | None = _key(
        "url: the parameter that holds the recruiter's session id, if any."
    )
    id_pattern: Text | None = _key(
        "url: a regular expression that whole ids match. Default: 1 to 128 letters, digits and . _ "
        "@ -"
    )
    complete_url: Text | None = _key("url: where people return when they are done. Required there.")
    screenout_url: Text | None = _key(
        "url: where people return who did not pass the quiz or skipped too many items. Required "
        "there."
    )
    noconsent_url: Text | None = _key("url: where people return who do not agree to take part.")
    completion_code: Text | None = _key("prolific: the code of completed sessions. Required there.")
    screenout_code: Text | None = _key(
        "prolific: the code of people who did not pass the quiz or skipped too many items. "
        "Required there."
    )
    noconsent_code: Text | None = _key(
        "prolific: the code of people who do not agree to take part."
    )


class PaySection(Section):
    """What people are paid."""

    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] = Field(
        description="Three capital letters, such as GBP. Required."
    )
    minutes: Annotated[float, Field(gt=0, le=MANY)] = Field(
        description="How long a session takes, as people are told. Required."
    )
    per_hour: Amount | None = _key("Pay by the hour; either this or per_session.")
    per_session: Amount | None = _key("Pay for the whole session; either this or per_hour.")
    bonus: Text | None = _key("The rule for a bonus, in plain words; shown with the instructions.")


class StudyFile(Section):
    """A study of softlabel."""

    study: StudySection = Field(default_factory=StudySection, description="What is asked.")
    items: ItemsSection = Field(default_factory=ItemsSection, description="What is judged.")
    pages: PagesSection = Field(default_factory=PagesSection, description="What people read.")
    quiz: QuizSection = Field(default_factory=QuizSection, description="Before the first item.")
    debrief: DebriefSection = Field(
        default_factory=DebriefSection, description="After the last item."
    )
    recruit: RecruitSection = Field(
        default_factory=RecruitSection, description="Where people come from."
    )
    pay: PaySection | None = _key("What people are paid.")


SECTIONS: dict[str, type[Section]] = {
    "study": StudySection,
    "items": ItemsSection,
    "pages": PagesSection,
    "quiz": QuizSection,
    "quiz.question": QuizQuestion,
    "debrief": DebriefSection,
    "debrief.question": DebriefQuestion,
    "recruit": RecruitSection,
    "pay": PaySection,
}


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of ``study.toml``, for editors."""
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return dialect | StudyFile.model_json_schema()
