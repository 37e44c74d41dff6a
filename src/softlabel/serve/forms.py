"""What a form sent."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl

from fastapi import Request
from starlette.exceptions import HTTPException

MOST_FIELDS = 200
LONGEST = 5000


async def read_form(request: Request) -> Mapping[str, str]:
    """The fields of a form, each once; what is no form is refused."""
    try:
        text = (await request.body()).decode()
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError as wrong:  # not UTF-8, or far too many fields
        raise HTTPException(400) from wrong
    fields = dict(pairs)
    if any("\0" in value or len(value) > LONGEST for value in fields.values()):
        raise HTTPException(400)
    return fields


def chosen(fields: Mapping[str, str], name: str, options: int) -> int | None:
    """The option picked in a field; None if none was, or none that exists."""
    text = fields.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) <= 4):
        return None
    return int(text) if int(text) < options else None
