"""The OpenAPI description: what the framework finds out, with the schemas of answers and retrievals put in."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from quoth.interfaces.http.models import AskBody, BatchBody

_SCHEMAS = {"Answer": "answer.schema.json", "Retrieval": "retrieval.schema.json"}
_GIVEN = {"/answer": "Answer", "/retrieve": "Retrieval", "/webhook/arc-retrieval": "Retrieval"}
_DESCRIPTION = """\
Answers in the very words of your documents, cited by exact offsets, or an honest abstention.

Offsets are half-open and count Unicode code points of a document's canonical text. Every error has one shape:
`{"error": {"code", "message", "hint"}}`. A key is sent as `Authorization: Bearer KEY`.
"""


def describe(app: FastAPI) -> dict[str, Any]:
    """The whole description; made once."""
    if app.openapi_schema:
        return app.openapi_schema
    found = get_openapi(
        title="Quoth", version=app.version, description=_DESCRIPTION, routes=app.routes, openapi_version="3.1.0"
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
    found["components"]["securitySchemes"] = {
        "key": {"type": "http", "scheme": "bearer", "description": "Made by `quoth keys add NAME`."}
    }
    found["security"] = [{"key": []}, {}]  # none is needed where the operator chose so
    app.openapi_schema = found
    return found


def _embedded(name: str, file: str) -> dict[str, Any]:
    """A schema of ours as a component: what it refers to is below itself."""
    source = files("quoth.interfaces").joinpath("schemas", file).read_text("utf-8")
    schema: dict[str, Any] = json.loads(source.replace('"#/$defs/', f'"#/components/schemas/{name}/$defs/'))
    for meta in ("$schema", "$id"):
        schema.pop(meta, None)
    return schema
