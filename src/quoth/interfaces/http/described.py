"""What the service gives, described for OpenAPI. The values themselves come from `render` and the like."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class _Given(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ErrorDetail(_Given):
    code: str
    message: str
    hint: str


class Error(_Given):
    """The one shape of every error: a code for programs, a sentence and a next step for people."""

    error: ErrorDetail


class Supersession(_Given):
    section: str | None
    by: str


class Document(_Given):
    doc_id: str
    title: str | None
    document_type: str | None
    is_binding: bool | None
    effective_date: str | None
    superseded_by: list[Supersession]
    language: str | None
    tags: dict[str, list[str]]
    format: str
    encoding: str | None
    extractor: str | None
    pages: int | None
    characters: int
    sentences: int
    doc_sha256: str
    source_sha256: str


class DocumentHere(Document):
    has_original: bool


class Documents(_Given):
    documents: list[Document]
    total: int
    next: str | None
    degraded: list[str]
    """Parts of the index that could not be asked: their documents are not listed."""


class Job(_Given):
    id: str
    kind: Literal["put", "delete"]
    doc_id: str
    state: Literal["queued", "running", "done", "failed"]
    step: str
    done: int
    total: int
    error: ErrorDetail | None
    notes: list[str]
    created: str
    finished: str | None


class JobList(_Given):
    jobs: list[Job]


class Box(_Given):
    left: float
    top: float
    right: float
    bottom: float


class PrintedPage(_Given):
    number: int
    width: float
    height: float
    boxes: list[Box]


class QuotedSpan(_Given):
    """A slice with what stands around it: `before + quote + after` is an exact slice too. Boxes are in points from the
    top left corner of the page."""

    doc_id: str
    title: str | None
    start: int
    end: int
    before: str
    quote: str
    after: str
    truncated_before: bool
    truncated_after: bool
    section: list[str]
    page: int | None
    doc_sha256: str
    document_type: str | None
    authority: str | None
    effective_date: str | None
    superseded_by: list[Supersession] | None
    pages: list[PrintedPage]
    offset_unit: Literal["codepoint"]


class TypeCount(_Given):
    value: str
    documents: int


class Facets(_Given):
    profile: str
    authority: bool
    documents: int
    sentences: int
    document_types: list[TypeCount]
    degraded: list[str]
    """Parts of the index that could not be asked: their documents are not among the types."""
    tags: dict[str, list[str]]
    uploads: bool
    index: str
    offset_unit: Literal["codepoint"]


class Marked(_Given):
    id: str
    stored: bool
    labelled: int
    note: str | None


class Failure(_Given):
    question_id: str
    doc_id: str
    start: int
    end: int
    why: str


class Verified(_Given):
    verified: bool
    citations: int
    failures: list[Failure]


class Health(_Given):
    status: Literal["ok"]
    version: str


class Readiness(_Given):
    ready: bool
    checks: dict[str, bool]
    degraded: list[str]
    """Parts of the index that cannot be asked now: what is asked is answered without them, and says so."""
    notes: list[str]
    """For operators: such as that a generation was published that cannot be taken into service."""
    message: str


ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": Error, "description": said}
    for status, said in {
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
