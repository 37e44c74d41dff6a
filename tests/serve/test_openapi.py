"""The interface's own description is true enough to be fuzzed by, and nothing breaks under it."""

from __future__ import annotations

import warnings

from hypothesis import HealthCheck, given, settings

with warnings.catch_warnings():  # its dependencies have deprecations of their own
    warnings.simplefilter("ignore")
    import schemathesis
    from schemathesis import GenerationMode

from softlabel.serve.guard import Limits, Rate

ROUTES = {
    ("GET", "/"),
    ("GET", "/i/{token}"),
    ("GET", "/leave"),
    ("GET", "/left"),
    ("GET", "/withdraw"),
    ("GET", "/language"),
    ("GET", "/health"),
    ("GET", "/ready"),
    ("GET", "/media/{sha256}"),
    ("GET", "/static/{name}"),
    ("GET", "/api/plan"),
    ("GET", "/api/labels"),
    ("POST", "/api/answers"),
    ("POST", "/api/finish"),
    ("POST", "/consent"),
    ("POST", "/language"),
    ("POST", "/questions"),
    ("POST", "/instructions"),
    ("POST", "/quiz"),
    ("POST", "/debrief"),
    ("POST", "/withdraw"),
}
EXAMPLES = 20


def brought_to(person, path):
    """Somebody at the stage where this route does the most."""
    stages = {"/quiz": person.to_quiz, "/debrief": person.to_debrief, "/consent": lambda: person}
    return stages.get(path, person.to_task)()


def test_every_route_is_described(running):
    paths = running.person().get("/openapi.json").json()["paths"]
    described = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    assert described >= ROUTES
    assert all(path.startswith("/research") for _, path in described - ROUTES)


def test_bodies_are_described_in_full(running):
    whole = running.person().get("/openapi.json").json()
    body = whole["paths"]["/api/answers"]["post"]["requestBody"]["content"]["application/json"]
    assert body["schema"] == {"$ref": "#/components/schemas/AnswerBody"}
    fields = whole["components"]["schemas"]["AnswerBody"]["properties"]
    assert {"response_uuid", "position", "answer", "timing", "delivery"} <= set(fields)
    assert "TimingBody" in whole["components"]["schemas"]


def test_fuzzing_breaks_nothing(serving):
    running = serving(per_item=1000, limits=Limits(login=Rate(1000, 1000)))
    schema = schemathesis.openapi.from_dict(running.person().get("/openapi.json").json())
    tried = set()
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path != "/research/login":  # which makes every wrong guess wait
            fuzz(running, operation, GenerationMode.POSITIVE)
            tried.add((operation.method.upper(), operation.path))
    assert tried >= ROUTES


def test_fuzzing_with_what_is_not_described_breaks_nothing(serving):
    running = serving(per_item=1000)
    schema = schemathesis.openapi.from_dict(running.person().get("/openapi.json").json())
    for path, method in {"/api/answers": "POST", "/api/labels": "GET"}.items():
        fuzz(running, schema[path][method], GenerationMode.NEGATIVE)


def fuzz(running, operation, mode):
    """Send what it makes as a participant who is a researcher, too."""
    person = brought_to(running.person(), operation.path)
    person.post("/research/login", data={"token": running.token})
    cookies = "; ".join(f"{one.name}={one.value}" for one in person.cookies.jar)

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(generation_mode=mode))
    def send(case):
        headers = {"x-softlabel": "1", "cookie": cookies}
        reply = case.call(base_url=running.url, headers=headers, allow_redirects=False)
        assert reply.status_code < 500, (operation.method, operation.path, reply.text)

    send()
