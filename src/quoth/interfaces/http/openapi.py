"""The OpenAPI description: what the framework finds out, with the schemas of answers and retrievals put in."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from quoth.interfaces.http.gate import OPEN
from quoth.interfaces.http.models import AskBody, BatchBody

_LICENSE = {"name": "MIT", "identifier": "MIT"}
_TAGS = [
    {"name": "questions", "description": "Answers, passages, and whether citations hold."},
    {"name": "documents", "description": "What is searched: reading it, quoting it, changing it."},
    {"name": "operation", "description": "For operators and for the page."},
]
_SCHEMAS = {"Answer": "answer.schema.json", "Retrieval": "retrieval.schema.json"}
_GIVEN = {"/answer": "Answer", "/retrieve": "Retrieval", "/webhook/arc-retrieval": "Retrieval"}
_FILES = ("application/octet-stream", "application/pdf", "text/plain")
_DESCRIPTION = """\
Answers in the very words of your documents, cited by exact offsets, or an honest abstention.

Offsets are half-open and count Unicode code points of a document's canonical text. Every error has one shape:
`{"error": {"code", "message", "hint"}}`. A key is sent as `Authorization: Bearer KEY`, or as `X-Api-Key: KEY`. Where a
key has a limit, `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` (in seconds) say how much of it is left.
"""


_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "A key that `quoth keys add NAME` made."},
    "key": {"type": "apiKey", "in": "header", "name": "X-Api-Key", "description": "The same, in a header of its own."},
}


def _text(said: str) -> dict[str, Any]:
    return {"description": said, "required": True, "schema": {"type": "string"}}


def _seconds(said: str) -> dict[str, Any]:
    return {"description": said, "required": True, "schema": {"type": "integer", "minimum": 1}}


_HEADERS = {
    "X-Request-Id": _text("Of this request, in the log of the service too; as it was sent, or made anew."),
    "Location": _text("Where to ask how far the job is."),
    "WWW-Authenticate": _text("How to send a key."),
    "Allow": _text("The methods that there are."),
    "Retry-After": _seconds("When to come again, in seconds."),
}


def describe(app: FastAPI, *, keys: bool) -> dict[str, Any]:
    """The whole description; made once. `keys` is whether this service asks for one."""
    if app.openapi_schema:
        return app.openapi_schema
    found = get_openapi(
        title="Quoth",
        version=app.version,
        description=_DESCRIPTION,
        routes=app.routes,
        openapi_version="3.1.0",
        tags=_TAGS,
        license_info=_LICENSE,
    )
    schemas = found["components"]["schemas"]
    for name, file in _SCHEMAS.items():
        schemas[name] = _embedded(name, file)
    for body in (AskBody, BatchBody):  # a body of two kinds is read by hand, so that nobody else describes it
        made = body.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas |= made.pop("$defs", {})
        schemas[body.__name__] = made
    for path, name in _GIVEN.items():
        content = found["paths"][path]["post"]["responses"]["200"]["content"]["application/json"]
        content["schema"] = {"$ref": f"#/components/schemas/{name}"}
    original = found["paths"]["/documents/{doc_id}/original"]["get"]["responses"]["200"]
    original["content"] = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in _FILES}
    found["components"]["securitySchemes"] = _SCHEMES
    found["components"]["headers"] = _HEADERS
    # Where the operator chose so, none is needed, and {} says that.
    found["security"] = [{name: []} for name in _SCHEMES] if keys else [{}]
    for path, methods in found["paths"].items():
        for operation in methods.values():
            if path in OPEN:
                operation["security"] = []
            for status, response in operation["responses"].items():
                response["headers"] = {name: _header(name) for name in _given_with(status)}
    app.openapi_schema = found
    return found


def _given_with(status: str) -> list[str]:
    """Names of the headers that a response has."""
    more = {"202": ["Location"], "401": ["WWW-Authenticate"], "405": ["Allow"], "429": ["Retry-After"]}
    return ["X-Request-Id", *more.get(status, [])]


def _header(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/headers/{name}"}


def _embedded(name: str, file: str) -> dict[str, Any]:
    """A schema of ours as a component: what it refers to is below itself."""
    source = files("quoth.interfaces").joinpath("schemas", file).read_text("utf-8")
    schema: dict[str, Any] = json.loads(source.replace('"#/$defs/', f'"#/components/schemas/{name}/$defs/'))
    for meta in ("$schema", "$id"):
        schema.pop(meta, None)
    return schema
