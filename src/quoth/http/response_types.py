"""What the service gives: the JSON objects of its own, and how a route describes its responses for OpenAPI."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, UnsetType

from quoth.citations.anchored_documents import AnchoredQuoteJson
from quoth.output.document_json_types import DocumentJson, ListingJson
from quoth.output.json_schema import Schema, schema_components, schema_name
from quoth.output.json_types import JsonObject, OffsetUnit, about

_COMPONENTS = "#/components/schemas/"
Degraded = Annotated[list[str], about("Parts of the index that could not be asked; what they hold is missing here.")]


class ErrorDetailJson(JsonObject, frozen=True):
    code: str
    message: str
    hint: str


class ErrorJson(JsonObject, frozen=True):
    """The one shape of every error: a code for programs, a sentence and a next step for people."""

    error: ErrorDetailJson


class DocumentHereJson(DocumentJson, frozen=True):
    has_original: bool


class DocumentsJson(ListingJson, frozen=True):
    degraded: Degraded


class JobJson(JsonObject, frozen=True):
    id: str
    kind: Literal["put", "delete"]
    doc_id: str
    state: Literal["queued", "running", "done", "failed"]
    step: str
    done: int
    total: int
    error: ErrorDetailJson | None
    notes: list[str]
    created: str
    finished: str | None


class JobListJson(JsonObject, frozen=True):
    jobs: list[JobJson]


class GridJobJson(JsonObject, frozen=True):
    id: str
    state: Literal["queued", "running", "done", "failed"]
    documents: Annotated[int, about("Rows.")]
    questions: Annotated[int, about("Columns.")]
    done: Annotated[int, about("Finished cells.")]
    total: int
    seconds_left: Annotated[float | None, about("An estimate while it runs; null while nothing is known.")]
    error: ErrorDetailJson | None
    created: str
    finished: str | None


class GridListJson(JsonObject, frozen=True):
    grids: list[GridJobJson]


class TypeCountJson(JsonObject, frozen=True):
    value: str
    documents: int


class FacetsJson(JsonObject, frozen=True):
    profile: str
    authority: bool
    documents: int
    sentences: int
    document_types: list[TypeCountJson]
    degraded: Degraded
    tags: dict[str, list[str]]
    uploads: bool
    index: str
    offset_unit: OffsetUnit
    names: (
        Annotated[dict[str, str], about("Only with `lang`: what people call the tags and their values in it.")]
        | UnsetType
    ) = UNSET


class MarkedJson(JsonObject, frozen=True):
    id: str
    stored: bool
    labelled: int
    note: str | None


class FailureJson(JsonObject, frozen=True):
    question_id: str
    doc_id: str
    start: int
    end: int
    why: str


class VerifiedJson(JsonObject, frozen=True):
    verified: bool
    citations: int
    failures: list[FailureJson]


class RefusedReceiptJson(JsonObject, frozen=True):
    name: str
    why: Annotated[str, about("Why it cannot be trusted.")]


class CheckedQuoteJson(JsonObject, frozen=True):
    doc_id: str
    start: int
    end: int
    holds: bool
    why: Annotated[str, about("Empty where it holds.")]


class CheckedReceiptJson(JsonObject, frozen=True):
    name: str
    question: str
    holds: bool
    quotes: list[CheckedQuoteJson]


class CheckedReceiptsJson(JsonObject, frozen=True):
    holds: Annotated[bool, about("Whether no receipt was refused, and every quote holds.")]
    receipts: list[CheckedReceiptJson]
    refused: list[RefusedReceiptJson]


class AnchoredReceiptsJson(JsonObject, frozen=True):
    quotes: list[AnchoredQuoteJson]
    refused: list[RefusedReceiptJson]


class StaleReceiptJson(JsonObject, frozen=True):
    name: str
    doc_ids: Annotated[list[str], about("The documents it quotes whose text has changed, or which are gone.")]


class StaleReceiptsJson(JsonObject, frozen=True):
    total: Annotated[int, about("How many receipts are watched.")]
    stale: list[StaleReceiptJson]
    refused: list[RefusedReceiptJson]


class HealthJson(JsonObject, frozen=True):
    status: Literal["ok"]
    version: str


class ReadinessJson(JsonObject, frozen=True):
    ready: bool
    checks: dict[str, bool]
    degraded: Annotated[list[str], about("Parts of the index that cannot be asked now; answers say so too.")]
    notes: Annotated[list[str], about("For operators: such as a published generation that cannot be served.")]
    message: str


_GIVEN: set[type[JsonObject]] = set()
"""What the routes give, as they describe it when they are declared."""


def gives(content: type[JsonObject], description: str) -> dict[str, Any]:
    """Return what OpenAPI says of a response that holds such an object, and keep its schema for the description."""
    _GIVEN.add(content)
    schema = {"$ref": _COMPONENTS + schema_name(content)}
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def response_schemas() -> dict[str, Schema]:
    """Return the schemas of everything that a route gives, by name."""
    return schema_components(*sorted(_GIVEN, key=schema_name), below=_COMPONENTS)


ERRORS: dict[int | str, dict[str, Any]] = {
    status: gives(ErrorJson, description)
    for status, description in {
        400: "The request cannot be read.",
        401: "A key is needed, or this one is not known.",
        403: "The key may not do this, or another site asks.",
        404: "There is no such thing.",
        405: "Not with this method; `Allow` says with which.",
        408: "The request did not come in time.",
        413: "Too much was sent.",
        415: "Bodies of this kind are not taken.",
        421: "Without keys the service answers only on this machine.",
        422: "The request is understood, but cannot be done.",
        429: "Too many requests for this key; `Retry-After` says when to come again.",
        500: "Something went wrong here.",
        503: "Too busy, or there is no index; `Retry-After` says when to come again.",
        504: "It took too long.",
    }.items()
}
