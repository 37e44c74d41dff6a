"""What may be sent to us: strict, and limited in every direction."""

from __future__ import annotations

import json
import math
from hashlib import sha256
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from softlabel.errors import ResponseError

Uuid = Annotated[str, Field(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
Milliseconds = Annotated[float, Field(ge=0, le=1e10, allow_inf_nan=False)]
Word = Annotated[str, Field(max_length=200)]
Skip = Literal["media_broken", "not_in_list", "cannot_judge"]
DEEPEST = 6


class Body(BaseModel):
    """Only what is named, only of its type."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class TimingBody(Body):
    """Milliseconds since the item was shown."""

    media_ready_ms: Milliseconds | None = None
    first_input_ms: Milliseconds | None = None
    submit_ms: Milliseconds | None = None
    active_ms: Milliseconds | None = None
    hidden_ms: Milliseconds | None = None
    fields: Annotated[dict[Word, Milliseconds], Field(max_length=50)] = {}


class DeliveryBody(Body):
    """How often this answer was sent, and how long it waited in the browser."""

    attempt: Annotated[int, Field(ge=1, le=10**6)] = 1
    queued_ms: Milliseconds = 0.0


class AnswerBody(Body):
    """One answer: what was said, or why nothing was, and how it came about."""

    response_uuid: Uuid
    position: Annotated[int, Field(ge=0, le=10**6)]
    answer: dict[Word, Any] | None = None
    skip: Skip | None = None
    touched: bool = True
    supersedes: Uuid | None = None
    timing: TimingBody = TimingBody()
    events: Annotated[
        list[Annotated[list[Milliseconds | Word | None], Field(min_length=2, max_length=6)]],
        Field(max_length=2000),
    ] = []
    client: Annotated[dict[Word, Any], Field(max_length=30)] = {}
    delivery: DeliveryBody = DeliveryBody()

    @model_validator(mode="after")
    def _either_answered_or_skipped(self) -> AnswerBody:
        if (self.answer is None) == (self.skip is None):
            raise ValueError("an answer, or a reason for skipping, and not both")
        if not (_plain(self.answer) and _plain(self.client)):
            raise ValueError(f"only finite numbers, and no deeper than {DEEPEST} levels")
        return self

    def digest(self) -> str:
        """Covers what may not differ between two deliveries of one answer."""
        said = [self.position, self.answer, self.skip, self.supersedes]
        return sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def read_answer(raw: bytes) -> AnswerBody:
    """The body of an answer, or ``ResponseError`` with the first field that is wrong."""
    try:
        return AnswerBody.model_validate_json(raw)
    except ValidationError as wrong:
        first = wrong.errors(include_url=False, include_context=False)[0]
        field = ".".join(map(str, first["loc"])) or "body"
        raise ResponseError(field, None, first["msg"]) from wrong


def _plain(value: Any, depth: int = 0) -> bool:
    """Whether any JSON reader will understand this: NaN and endless nesting are not JSON."""
    if depth > DEEPEST:
        return False
    if isinstance(value, dict):
        return all(_plain(one, depth + 1) for one in value.values())
    if isinstance(value, list):
        return all(_plain(one, depth + 1) for one in value)
    return not isinstance(value, float) or math.isfinite(value)
