"""JSON Schema, generated from the JSON objects of `json_types`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from quoth.output.json_types import AnswerJson, JsonObject, RetrievalJson

Schema = dict[str, Any]

_PUBLISHED: dict[str, type[JsonObject]] = {"answer.schema.json": AnswerJson, "retrieval.schema.json": RetrievalJson}
_NAMED_JSON = re.compile(r'("(?:\$ref|title)": "[^"]*)Json"')


def schema_name(described: type[JsonObject]) -> str:
    return described.__name__.removesuffix("Json")


def schema_components(*described: type[JsonObject], below: str = "#/$defs/") -> dict[str, Schema]:
    """Return the schemas of these objects and of all that they hold, by name. References begin with `below`."""
    _, components = msgspec.json.schema_components(described, ref_template=below + "{name}")
    for subclass in _subclasses(JsonObject):
        if subclass.__name__ in components:
            components[subclass.__name__] |= subclass.schema_rules
    named = {name.removesuffix("Json"): schema for name, schema in components.items()}
    renamed: dict[str, Schema] = json.loads(_NAMED_JSON.sub(r'\1"', json.dumps(named)))
    return renamed


def object_schema(described: type[JsonObject]) -> Schema:
    """Return the schema of one object, with all that it refers to in `$defs`."""
    parts = schema_components(described)
    root = parts.pop(schema_name(described))
    return {**root, "$defs": parts} if parts else root


def published_schemas() -> dict[str, str]:
    """Return the content of each file in `quoth/output/schemas`, by its name."""
    return {
        name: json.dumps(
            {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "$id": f"https://quoth.example/schemas/{name}",
                **object_schema(described),
            },
            indent=2,
        )
        + "\n"
        for name, described in _PUBLISHED.items()
    }


def _subclasses(parent: type[JsonObject]) -> Iterator[type[JsonObject]]:
    for child in parent.__subclasses__():
        yield child
        yield from _subclasses(child)
