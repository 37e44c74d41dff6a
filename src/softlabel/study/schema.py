"""The keys of ``study.toml``: a strict model that also explains every key."""

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag, create_model
from pydantic_core import PydanticCustomError

from softlabel.study.findings import has_control
from softlabel.study.model import (
    SKIP_LIMIT,
    BonusRule,
    By,
    Frame,
    LabelOrder,
    Language,
    Layout,
    QuestionKind,
    RecruitKind,
    Smoothing,
)

TEXTS = tomllib.loads(Path(__file__).with_name("keys.toml").read_text(encoding="utf-8"))
MANY = 1_000_000  # more answers, items or minutes than this are a typing error
GIVEN, NAMED = "(given here)", "(name of a file)"  # the two ways to give labels and synonyms


class Section(BaseModel):
    """A table of the file: every key is known, every value has its type."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def _key(name: str, default: Any = None) -> Any:
    """Make a key that may be left out, unless its default is ``...``; a class makes its default."""
    table, _, key = name.rpartition(".")
    given = {"default_factory" if callable(default) else "default": default}
    return Field(**given, description=TEXTS["explain"][table][key])


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
_reasons = Discriminator(lambda value: NAMED if isinstance(value, bool) else GIVEN)
Reason = Annotated[Annotated[Text, Tag(GIVEN)] | Annotated[bool, Tag(NAMED)], _reasons]
SkipReasons = Annotated[
    Annotated[dict[str, Reason], Tag(GIVEN)] | Annotated[bool, Tag(NAMED)], _reasons
]
Count = Annotated[int, Field(ge=1, le=MANY)]
Place = Annotated[int, Field(ge=0, le=MANY)]
COLOUR = r"^#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"
Number = Annotated[float, Field(ge=-1e12, le=1e12)]
Amount = Annotated[float, Field(ge=0, le=MANY)]
Budget = Annotated[
    Annotated[float, Field(gt=0, le=1e12), Tag(GIVEN)] | Annotated[Text, Tag(NAMED)], _way
]
Judges = Annotated[Annotated[bool, Tag(GIVEN)] | Annotated[FileName, Tag(NAMED)], _way]


class StudySection(Section):
    """What is asked, and how."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9-]+$", max_length=64)] | None = _key("study.name")
    title: Text | None = _key("study.title")
    description: AnyText = _key("study.description", "")
    question: Text | None = _key("study.question")
    labels: Labels | None = _key("study.labels")
    synonyms: Synonyms = _key("study.synonyms", dict)
    mode: Text = _key("study.mode", "quick")
    frame: Frame = _key("study.frame", "self")
    repeat_rest: bool = _key("study.repeat_rest", False)
    language: Language = _key("study.language", "en")
    languages: list[Language] = _key("study.languages", list)
    texts: FileName | None = _key("study.texts")
    ordered: bool = _key("study.ordered", False)
    label_order: LabelOrder = _key("study.label_order", "shuffled")
    seed: Annotated[int, Field(ge=0, lt=2**63)] = _key("study.seed", 0)
    lease_minutes: Count = _key("study.lease_minutes", 60)


class LabelSection(Section):
    """What people are told about a label."""

    describe: Text | None = _key("labels.NAME.describe")
    examples: list[FileName] = _key("labels.NAME.examples", list)
    colour: Annotated[str, Field(pattern=COLOUR)] | None = _key("labels.NAME.colour")


class ItemsSection(Section):
    """What is judged, how often, and by how many."""

    source: FileName | None = _key("items.source")
    headings: dict[str, Text] = _key("items.headings", dict)
    layout: Layout = _key("items.layout", "auto")
    markdown: bool = _key("items.markdown", False)
    smoothing: Smoothing = _key("items.smoothing", "auto")
    allocation: FileName | None = _key("items.allocation")
    per_item: Count = _key("items.per_item", 6)
    per_annotator: Count | None = _key("items.per_annotator")
    batch_size: Annotated[int, Field(ge=1, le=10_000)] = _key("items.batch_size", 25)
    repeats: Annotated[int, Field(ge=0, le=10_000)] | None = _key("items.repeats")
    repeat_positions: list[Place] | None = _key("items.repeat_positions")
    skip_limit: Annotated[float, Field(ge=0, le=1)] = _key("items.skip_limit", SKIP_LIMIT)
    skip_reasons: SkipReasons = _key("items.skip_reasons", True)
    comment: bool = _key("items.comment", False)
    practice: FileName | None = _key("items.practice")
    checks: FileName | None = _key("items.checks")


class AllocateSection(Section):
    """How a running study decides what to ask next."""

    policy: Text = _key("allocate.policy", "greedy")
    least: Place | None = _key("allocate.least")
    most: Count | None = _key("allocate.most")
    stop: Amount | None = _key("allocate.stop")
    explore: Annotated[float, Field(ge=0, le=1)] | None = _key("allocate.explore")
    budget: Budget | None = _key("allocate.budget")
    judges: Judges = _key("allocate.judges", False)


class CompareSection(Section):
    """Ways of asking that are compared."""

    modes: Annotated[list[Text], Field(max_length=20)] = _key("compare.modes", list)
    wordings: Annotated[dict[str, Text], Field(max_length=20)] = _key("compare.wordings", dict)
    arms: Annotated[list[Text], Field(max_length=100)] = _key("compare.arms", list)
    by: By = _key("compare.by", "person")
    weights: dict[str, Annotated[int, Field(ge=1, le=100)]] = _key("compare.weights", dict)


class PagesSection(Section):
    """What people read."""

    consent: FileName | None = _key("pages.consent")
    instructions: FileName | None = _key("pages.instructions")
    thanks: FileName | None = _key("pages.thanks")
    contact: AnyText = _key("pages.contact", "")


class QuizQuestion(Section):
    """A question with one right answer."""

    text: Text = _key("quiz.question.text", ...)
    options: list[Text] = _key("quiz.question.options", ...)
    right: Text = _key("quiz.question.right", ...)


class QuizSection(Section):
    """What must be understood before the first item."""

    ask: bool = _key("quiz.ask", True)
    tries: Annotated[int, Field(ge=1, le=100)] = _key("quiz.tries", 2)
    question: list[QuizQuestion] = _key("quiz.question", list)


# ``is`` is a word of Python, so that this class cannot be written as one
_answers = Annotated[list[Text], Field(min_length=1)]
_show_if: dict[str, Any] = {
    "question": (Text, _key("question.show_if.question", ...)),
    "is": (_answers, _key("question.show_if.is", ...)),
}
ShowIf = create_model("ShowIf", __base__=Section, __doc__="When a question is shown.", **_show_if)


class AskedQuestion(Section):
    """A question before the first item or after the last one."""

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")] | None = _key("question.id")
    text: Text = _key("question.text", ...)
    kind: QuestionKind | None = _key("question.kind")
    options: Annotated[list[Text], Field(max_length=100)] = _key("question.options", list)
    required: bool = _key("question.required", False)
    min: Number | None = _key("question.min")
    max: Number | None = _key("question.max")
    step: Annotated[float, Field(gt=0, le=1e12)] | None = _key("question.step")
    show_if: ShowIf | None = _key("question.show_if")  # type: ignore[valid-type]


class BeforeSection(Section):
    """What is asked before the instructions."""

    demographics: bool = _key("before.demographics", False)
    question: list[AskedQuestion] = _key("before.question", list)


class DebriefSection(Section):
    """What is asked afterwards."""

    ask: bool = _key("debrief.ask", True)
    question: list[AskedQuestion] = _key("debrief.question", list)


class RecruitSection(Section):
    """Where people come from, and where they go when they are done."""

    kind: RecruitKind = _key("recruit.kind", "open")
    id_param: Text | None = _key("recruit.id_param")
    session_param: Text | None = _key("recruit.session_param")
    id_pattern: Text | None = _key("recruit.id_pattern")
    complete_url: Text | None = _key("recruit.complete_url")
    screenout_url: Text | None = _key("recruit.screenout_url")
    skip_url: Text | None = _key("recruit.skip_url")
    noconsent_url: Text | None = _key("recruit.noconsent_url")
    completion_code: Text | None = _key("recruit.completion_code")
    screenout_code: Text | None = _key("recruit.screenout_code")
    skip_code: Text | None = _key("recruit.skip_code")
    noconsent_code: Text | None = _key("recruit.noconsent_code")
    signed: bool = _key("recruit.signed", False)


class ProlificSection(Section):
    """How the study is announced on Prolific."""

    name: Annotated[Text, Field(max_length=120)] | None = _key("prolific.name")
    description: Text | None = _key("prolific.description")
    places: Count | None = _key("prolific.places")
    reward: Annotated[float, Field(gt=0, le=MANY)] | None = _key("prolific.reward")
    minutes: Annotated[int, Field(ge=1, le=1_000)] | None = _key("prolific.minutes")
    devices: list[Literal["desktop", "tablet", "mobile"]] | None = _key("prolific.devices")
    filters: list[dict[str, Any]] = _key("prolific.filters", list)
    project: Text | None = _key("prolific.project")


class PaySection(Section):
    """What people are paid."""

    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] = _key("pay.currency", ...)
    minutes: Annotated[float, Field(gt=0, le=MANY)] = _key("pay.minutes", ...)
    per_hour: Amount | None = _key("pay.per_hour")
    per_session: Amount | None = _key("pay.per_session")
    bonus: Text | None = _key("pay.bonus")
    bonus_rule: BonusRule = _key("pay.bonus_rule", "none")
    bonus_amount: Amount | None = _key("pay.bonus_amount")
    bonus_max: Amount | None = _key("pay.bonus_max")
    bonus_floor: Amount = _key("pay.bonus_floor", 0.0)
    screenout: Amount = _key("pay.screenout", 0.0)
    cap_per_person: Amount | None = _key("pay.cap_per_person")
    cap_total: Amount | None = _key("pay.cap_total")


class StudyFile(Section):
    """A study of softlabel."""

    study: StudySection = _key("tables.study", StudySection)
    labels: dict[str, LabelSection] = _key("tables.labels", dict)
    items: ItemsSection = _key("tables.items", ItemsSection)
    allocate: AllocateSection | None = _key("tables.allocate")
    compare: CompareSection = _key("tables.compare", CompareSection)
    pages: PagesSection = _key("tables.pages", PagesSection)
    before: BeforeSection = _key("tables.before", BeforeSection)
    quiz: QuizSection = _key("tables.quiz", QuizSection)
    debrief: DebriefSection = _key("tables.debrief", DebriefSection)
    recruit: RecruitSection = _key("tables.recruit", RecruitSection)
    pay: PaySection | None = _key("tables.pay")
    prolific: ProlificSection = _key("tables.prolific", ProlificSection)


SECTIONS: dict[str, type[Section]] = {
    "study": StudySection,
    "labels.NAME": LabelSection,
    "items": ItemsSection,
    "allocate": AllocateSection,
    "compare": CompareSection,
    "pages": PagesSection,
    "before": BeforeSection,
    "before.question": AskedQuestion,
    "quiz": QuizSection,
    "quiz.question": QuizQuestion,
    "debrief": DebriefSection,
    "debrief.question": AskedQuestion,
    "recruit": RecruitSection,
    "pay": PaySection,
    "prolific": ProlificSection,
}
# tables inside a setting, which are explained with it
INNER = dict.fromkeys(("before.question.show_if", "debrief.question.show_if"), ShowIf)


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of ``study.toml``, for editors."""
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return dialect | StudyFile.model_json_schema()
