"""The JSON objects of documents: listings, what is wrong with them, and slices of their text."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from quoth.output.json_types import (
    AuthorityGuessed,
    Count,
    JsonObject,
    NonEmpty,
    Number,
    OffsetUnit,
    Probability,
    Section,
    SupersededBy,
    SupersessionJson,
    about,
)
from quoth.types import ProblemKind, Severity


class ProblemJson(JsonObject, frozen=True):
    """Something wrong with a document or a file, and what to do about it."""

    kind: ProblemKind
    severity: Annotated[Severity, about("Content is missing, content looks wrong, or something to know.")]
    pages: Annotated[list[Number], about("Empty when it is about the whole document.")]
    detail: Annotated[NonEmpty, about("A sentence for people.")]
    next_step: Annotated[str, about("What to do; empty where nothing is to be done.")]


class InspectedDocumentJson(JsonObject, frozen=True):
    """A document with problems, or a file that was refused: a line of `quoth docs --problems --json`.

    Of a file that the index does not hold, all figures are null.
    """

    doc_id: NonEmpty
    in_index: bool
    title: str | None
    document_type: str | None
    language: str | None
    format: str | None
    pages: Annotated[Count | None, about("Null for a format without pages.")]
    sentences: Count | None
    tables: Count | None
    evidence_share: Annotated[Probability | None, about("The share of the visible text that can be quoted.")]
    pages_without_text: list[Number] | None
    recognised_pages: Annotated[list[Number] | None, about("Pages that were read from pictures.")]
    left_out: Annotated[
        dict[str, Count] | None, about("Visible characters of each kind of region that is no evidence.")
    ]
    guessed: Annotated[dict[str, str] | None, about("What nobody stated, by field, and what was taken for it.")]
    problems: Annotated[list[ProblemJson], Meta(min_length=1, description="The worst first.")]


class DocumentJson(JsonObject, frozen=True):
    """A document without its text."""

    doc_id: str
    title: str | None
    document_type: str | None
    type_guessed: Annotated[bool, about("Whether the type was read from the document's own title; confirm it.")]
    is_binding: bool | None
    effective_date: str | None
    superseded_by: Annotated[list[SupersessionJson], about("Documents that replace it, whole or a section of it.")]
    language: Annotated[str | None, about("As stated, or the code of the recognised language; null when unsure.")]
    language_recognised: Annotated[bool, about("Whether the language was recognised from the text, and not stated.")]
    authors: list[str]
    year: Annotated[int | None, about("The year of publication.")]
    doi: str | None
    tags: dict[str, list[str]]
    format: str
    encoding: str | None
    extractor: str | None
    pages: Count | None
    characters: Annotated[Count, about("Length of the canonical text in code points.")]
    sentences: Count
    doc_sha256: str
    source_sha256: str


class ListingJson(JsonObject, frozen=True):
    """A page of the documents, in order of their ids."""

    documents: list[DocumentJson]
    total: Annotated[Count, about("How many there are in all that begin with the prefix.")]
    next: Annotated[str | None, about("Give it as `after` for the next page; null on the last.")]


class BoxJson(JsonObject, frozen=True):
    left: float
    top: float
    right: float
    bottom: float


class PrintedPageJson(JsonObject, frozen=True):
    number: Number
    width: float
    height: float
    boxes: Annotated[list[BoxJson], about("One for each line of the quote.")]


class QuotedSpanJson(JsonObject, frozen=True):
    """A slice with the text around it: `before + quote + after` is an exact slice too."""

    doc_id: str
    title: str | None
    start: Count
    end: Count
    before: Annotated[str, about("What stands directly before the quote.")]
    quote: Annotated[str, about("Exactly the text from start to end.")]
    after: Annotated[str, about("What stands directly behind the quote.")]
    truncated_before: Annotated[bool, about("Whether the document goes on before `before`.")]
    truncated_after: Annotated[bool, about("Whether the document goes on behind `after`.")]
    section: Section
    page: Count | None
    doc_sha256: str
    document_type: str | None
    authority: str | None
    authority_guessed: AuthorityGuessed
    effective_date: str | None
    superseded_by: SupersededBy
    pages: Annotated[
        list[PrintedPageJson],
        about("Where the quote is printed, in points from the top left corner; empty without pages."),
    ]
    offset_unit: OffsetUnit
