"""The HTTP reference in docs/http.md, from the OpenAPI description that the service gives."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx

from quoth.http.app import make_app
from quoth.http.response_types import ERRORS
from quoth.http.service import ServeOptions
from quoth.overrides import Overrides

_METHODS = ("get", "post", "put", "delete")
_PARTS = ("FilterBody", "PlaceBody", "CitedBody")


def description() -> dict[str, Any]:
    """The OpenAPI description as a service without an index gives it."""

    async def ask(folder: Path) -> dict[str, Any]:
        given = Overrides({"service": {"state": str(folder / "state")}}, {}, {})
        app = make_app(ServeOptions(index=str(folder / "index"), overrides=given, profile=None, auth=False))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
            found: dict[str, Any] = (await client.get("/openapi.json")).raise_for_status().json()
            return found

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(ask(Path(folder)))


def http_part() -> str:
    """Every route with what it takes and gives."""
    found = description()
    routes = [
        (method.upper(), path, operation)
        for path, operations in found["paths"].items()
        for method, operation in operations.items()
        if method in _METHODS
    ]
    lines = ["| route | what it does |", "|---|---|"]
    lines += [
        f"| [`{method} {path}`](#{_anchor(method, path)}) | {_sentence(one['summary'])} |"
        for method, path, one in routes
    ]
    for method, path, operation in routes:
        lines += _route(method, path, operation, found["components"]["schemas"])
    lines += ["", "### Parts of bodies"]
    for name in _PARTS:
        schema = found["components"]["schemas"][name]
        lines += ["", f"`{name}`: {schema.get('description', 'a slice of a document.')}", "", *_fields(schema)]
    return "\n".join(lines)


def _sentence(summary: str) -> str:
    return summary if summary.endswith("?") else f"{summary}."


def _anchor(method: str, path: str) -> str:
    kept = "".join(one for one in f"{method} {path}".lower() if one.isalnum() or one in " -_")
    return kept.replace(" ", "-")


def _route(method: str, path: str, operation: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[str]:
    yield from ("", f"### {method} {path}", "")
    yield operation.get("description") or _sentence(operation["summary"])
    if parameters := operation.get("parameters"):
        yield from ("", "| parameter | in | type | default | meaning |", "|---|---|---|---|---|")
        for one in parameters:
            meaning, kind = one.get("description", ""), _kind(one["schema"])
            yield f"| `{one['name']}` | {one['in']} | {kind} | {_default(one)} | {meaning} |"
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        schema = _resolved(content.get("schema", {}), schemas)
        otherwise = "The file as it is." if "octet" in kind else "One question a line."
        yield from ("", f"Body, `{kind}`: {schema.get('description', otherwise)}")
        if schema.get("properties"):
            yield from ("", *_fields(schema))
        for example in schema.get("examples", [])[:1]:
            yield from ("", "```json", json.dumps(example), "```")
    yield ""
    usual = {str(status) for status in ERRORS}
    for status, response in operation["responses"].items():
        if status in usual and "Readiness" not in json.dumps(response):
            continue
        given = ", ".join(f"`{kind}`" for kind in response.get("content", {}))
        yield f"- **{status}** {response['description']}" + (f" ({given})" if given else "")


def _fields(schema: Mapping[str, Any]) -> Iterator[str]:
    yield from ("| field | type | meaning |", "|---|---|---|")
    for name, field in schema["properties"].items():
        needed = ", required" if name in schema.get("required", ()) else ""
        yield f"| `{name}` | {_kind(field)}{needed} | {field.get('description', '')} |"


def _default(parameter: Mapping[str, Any]) -> str:
    value = parameter["schema"].get("default")
    return "required" if parameter.get("required") else "none" if value in (None, "") else f"`{json.dumps(value)}`"


def _resolved(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Mapping[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    found: Mapping[str, Any] = schemas.get(name, schema)
    return found


def _kind(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if choices := schema.get("anyOf"):
        return " or ".join(dict.fromkeys(_kind(one) for one in choices if one.get("type") != "null"))
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    words = {"string": "text", "integer": "whole number", "boolean": "true or false"}
    kind = words.get(str(schema.get("type")), str(schema.get("type", "anything")))
    low, high = schema.get("minimum"), schema.get("maximum")
    return f"{kind}, {low:,g} to {high:,g}" if low is not None and high is not None else kind
