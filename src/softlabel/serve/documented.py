"""What the interface's own description says about the routes that read their bodies by hand."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from softlabel.serve.bodies import AnswerBody, DeliveryBody, TimingBody

REF = "#/components/schemas/{model}"
SENT: tuple[type[BaseModel], ...] = (AnswerBody, TimingBody, DeliveryBody)


def _json_body(schema: dict[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def form(**fields: dict[str, Any]) -> dict[str, Any]:
    """The description of a form with these fields."""
    schema = {"type": "object", "properties": fields}
    content = {"application/x-www-form-urlencoded": {"schema": schema}}
    return {"openapi_extra": {"requestBody": {"required": True, "content": content}}}


def _says(**by_status: str) -> dict[int | str, dict[str, Any]]:
    return {int(status[1:]): {"description": text} for status, text in by_status.items()}


STORE = {"_503": "the store cannot write now; try again later"}
SESSION = {"_401": "no session"}
ANSWERS: dict[str, Any] = {
    "openapi_extra": _json_body({"$ref": REF.format(model="AnswerBody")}),
    "responses": _says(
        **SESSION,
        **STORE,
        _200="stored: acknowledged is its id; ended is true if the session is over, as it is for "
        "somebody who has skipped more items than the study allows",
        _409="another answer stands in its place (conflict, answered), it was revised too often "
        "(revisions), or the session is over (left, withdrawn)",
        _413="larger than 64 kB",
        _422="an answer that cannot be read: field and reason",
        _429="too many requests; try again later",
    ),
}
PLAN: dict[str, Any] = {
    "responses": _says(
        **SESSION, **STORE, _409="not at this stage", _429="not now; try again later"
    )
}
LABELS: dict[str, Any] = {"responses": _says(**SESSION, _400="a query that cannot be read")}
READY: dict[int | str, dict[str, Any]] = _says(_503="answers cannot be stored now; says why")
FINISH: dict[str, Any] = {
    "openapi_extra": _json_body({"type": "object", "maxProperties": 0}),
    "responses": _says(**SESSION, **STORE, _409="not at this stage"),
}


def describe(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI description, with the bodies that FastAPI does not see."""
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, routes=app.routes)
        known = schema.setdefault("components", {}).setdefault("schemas", {})
        for model in SENT:
            described = model.model_json_schema(ref_template=REF)
            described.pop("$defs", None)
            known[model.__name__] = described
        app.openapi_schema = schema
    return app.openapi_schema
