"""What the tools take and give, as JSON Schema."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from quoth.interfaces.spans import LONGEST_SLICE, MOST_AROUND

Schema = dict[str, Any]

MOST_PASSAGES = 100
MOST_CITATIONS = 1_000
MOST_LISTED = 1_000

_MOST_VALUES = 1_000
_LONGEST_NAME = 4_096
_LONGEST_QUESTION = 1_000_000  # the settings say how long one may really be


def published(name: str) -> Schema:
    """A schema that ships with Quoth. Without its address: a client might try to fetch it."""
    source = files("quoth.interfaces").joinpath("schemas", f"{name}.schema.json").read_text(encoding="utf-8")
    return {key: value for key, value in json.loads(source).items() if key not in {"$id", "$schema"}}


def _text(description: str, *, longest: int, least: int = 1) -> Schema:
    return {"type": "string", "minLength": least, "maxLength": longest, "description": description}


def _texts(description: str) -> Schema:
    items = {"type": "string", "minLength": 1, "maxLength": _LONGEST_NAME}
    return {"type": "array", "items": items, "maxItems": _MOST_VALUES, "description": description}


def _whole(description: str, *, least: int, most: int | None = None, usual: int | None = None) -> Schema:
    limits: Schema = {"type": "integer", "minimum": least}
    if most is not None:
        limits["maximum"] = most
    if usual is not None:
        limits["default"] = usual
    return {**limits, "description": description}


def _object(properties: Schema, *, required: tuple[str, ...], description: str | None = None) -> Schema:
    """An object with these properties and no others."""
    about = {} if description is None else {"description": description}
    return {
        "type": "object",
        **about,
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _all_of(properties: Schema, description: str | None = None) -> Schema:
    return _object(properties, required=tuple(properties), description=description)


def _or_null(schema: Schema) -> Schema:
    return {**schema, "type": [schema["type"], "null"]}


_DOC_ID = _text("Id of a document, as list_documents gives it.", longest=_LONGEST_NAME)
_FILTERS: Schema = {
    "doc_ids": _texts("Search only in these documents; ids as list_documents gives them."),
    "document_types": _texts("Search only in documents of these types, as list_documents names them."),
    "tags": {
        "type": "object",
        "maxProperties": 50,
        "additionalProperties": {"anyOf": [{"type": "string", "minLength": 1}, _texts("Any of these values.")]},
        "description": 'Search only under these tags: {"facet": "value"} or {"facet": ["one", "other"]}.',
    },
    "as_of": {
        "type": "string",
        "format": "date",
        "description": "Answer as of this day (YYYY-MM-DD), from the documents in effect then.",
    },
}

ASK_INPUT = _object(
    {"question": _text("A whole question, in words.", longest=_LONGEST_QUESTION), **_FILTERS}, required=("question",)
)
RETRIEVE_INPUT = _object(
    {
        "query": _text("What to look for: a question or a few words.", longest=_LONGEST_QUESTION),
        "match_count": _whole("At most so many passages.", least=1, most=MOST_PASSAGES),
        **_FILTERS,
    },
    required=("query",),
)
VERIFY_INPUT = _object(
    {
        "citations": {
            "type": "array",
            "minItems": 1,
            "maxItems": MOST_CITATIONS,
            "description": "What to check; sentences of an answer can be given as they are.",
            "items": {
                "type": "object",
                "properties": {
                    "doc_id": _DOC_ID,
                    "start": {"type": "integer", "description": "First code point of the quote."},
                    "end": {"type": "integer", "description": "The code point behind the quote."},
                    "text": {"type": "string", "description": "The words that must stand there, exactly."},
                },
                "required": ["doc_id", "start", "end", "text"],
            },
        }
    },
    required=("citations",),
)
LIST_INPUT = _object(
    {
        "prefix": _text("Only ids that begin with this, such as a folder: `canola/`.", longest=_LONGEST_NAME, least=0),
        "after": _text("Go on behind this id: the `next` of the page before.", longest=_LONGEST_NAME),
        "limit": _whole("At most so many documents.", least=1, most=MOST_LISTED, usual=100),
    },
    required=(),
)
SPAN_INPUT = _object(
    {
        "doc_id": _DOC_ID,
        "start": _whole("First code point, counted from 0.", least=0),
        "end": _whole(f"The code point behind the last; at most {LONGEST_SLICE:,} behind start.", least=1),
        "around": _whole("Code points of context on each side.", least=0, most=MOST_AROUND, usual=800),
        "doc_sha256": {
            "type": "string",
            "pattern": "^[0-9A-Fa-f]{8,64}$",
            "description": "The doc_sha256 of the citation that the offsets come from, or its first 8 digits or more: "
            "when the document has changed since, that is said, rather than other words given.",
        },
    },
    required=("doc_id", "start", "end"),
)

_ANY_TEXT: Schema = {"type": "string"}
_ANY_COUNT: Schema = {"type": "integer", "minimum": 0}
_SUPERSEDED: Schema = {
    "type": "array",
    "items": _all_of({"section": _or_null(_ANY_TEXT), "by": _ANY_TEXT}),
    "description": "Documents that replace it, whole or a section of it.",
}

VERIFY_OUTPUT = _all_of(
    {
        "verified": {"type": "boolean", "description": "Whether every citation holds."},
        "citations": {**_ANY_COUNT, "description": "How many were checked."},
        "failures": {
            "type": "array",
            "description": "Those that do not hold; `number` is the place in the list, from 1.",
            "items": _all_of(
                {
                    "number": {"type": "integer", "minimum": 1},
                    "doc_id": _ANY_TEXT,
                    "start": {"type": "integer"},
                    "end": {"type": "integer"},
                    "why": _ANY_TEXT,
                }
            ),
        },
    }
)
_DOCUMENT = _all_of(
    {
        "doc_id": _ANY_TEXT,
        "title": _or_null(_ANY_TEXT),
        "document_type": _or_null(_ANY_TEXT),
        "is_binding": {"type": ["boolean", "null"]},
        "effective_date": _or_null(_ANY_TEXT),
        "superseded_by": _SUPERSEDED,
        "language": _or_null(_ANY_TEXT),
        "tags": {"type": "object", "additionalProperties": {"type": "array", "items": _ANY_TEXT}},
        "format": _ANY_TEXT,
        "encoding": _or_null(_ANY_TEXT),
        "extractor": _or_null(_ANY_TEXT),
        "pages": _or_null(_ANY_COUNT),
        "characters": {**_ANY_COUNT, "description": "Length of the canonical text in code points."},
        "sentences": _ANY_COUNT,
        "doc_sha256": _ANY_TEXT,
        "source_sha256": _ANY_TEXT,
    }
)
LIST_OUTPUT = _all_of(
    {
        "documents": {"type": "array", "items": _DOCUMENT, "description": "In order of their ids."},
        "total": {**_ANY_COUNT, "description": "How many there are in all that begin with the prefix."},
        "next": {**_or_null(_ANY_TEXT), "description": "Give it as `after` for the next page; null on the last."},
    }
)
_BOX = _all_of({side: {"type": "number"} for side in ("left", "top", "right", "bottom")})
_PAGE = _all_of(
    {
        "number": {"type": "integer", "minimum": 1},
        "width": {"type": "number"},
        "height": {"type": "number"},
        "boxes": {"type": "array", "items": _BOX, "description": "One for each line of the quote."},
    }
)
SPAN_OUTPUT = _all_of(
    {
        "doc_id": _ANY_TEXT,
        "title": _or_null(_ANY_TEXT),
        "start": _ANY_COUNT,
        "end": _ANY_COUNT,
        "before": {"type": "string", "description": "What stands directly before the quote."},
        "quote": {"type": "string", "description": "Exactly the text from start to end."},
        "after": {"type": "string", "description": "What stands directly behind the quote."},
        "truncated_before": {"type": "boolean", "description": "Whether the document goes on before `before`."},
        "truncated_after": {"type": "boolean", "description": "Whether the document goes on behind `after`."},
        "section": {"type": "array", "items": _ANY_TEXT, "description": "Headings, outermost first."},
        "page": _or_null(_ANY_COUNT),
        "doc_sha256": _ANY_TEXT,
        "document_type": _or_null(_ANY_TEXT),
        "authority": _or_null(_ANY_TEXT),
        "effective_date": _or_null(_ANY_TEXT),
        "superseded_by": _or_null(_SUPERSEDED),
        "pages": {
            "type": "array",
            "items": _PAGE,
            "description": "Where the quote is printed, in points from the top left corner; empty without pages.",
        },
        "offset_unit": {"const": "codepoint"},
    }
)
