"""What the tools for agents take, and what they alone give, as types that their schemas are generated from."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from quoth.output.json_types import Count, JsonObject, NonEmpty, Number, about
from quoth.output.source_slices import LONGEST_SLICE, MOST_AROUND
from quoth.search.patterns import LONGEST_PATTERN

Name = Annotated[str, Meta(min_length=1, max_length=4_096)]
Names = Annotated[list[Name], Meta(max_length=1_000)]
# The settings say how long a question may really be.
QuestionText = Annotated[str, Meta(min_length=1, max_length=1_000_000)]
DocId = Annotated[Name, about("Id of a document, as list_documents gives it.")]
DocIds = Annotated[Names, about("Search only in these documents; ids as list_documents gives them.")]
DocumentTypes = Annotated[Names, about("Search only in documents of these types, as list_documents names them.")]
TagFilter = Annotated[
    dict[str, NonEmpty | Annotated[Names, about("Any of these values.")]],
    Meta(max_length=50, description='Search only under these tags: {"facet": "value"} or {"facet": ["one", "other"]}.'),
]
AsOf = Annotated[
    str,
    Meta(
        description="Answer as of this day (YYYY-MM-DD), from the documents in effect then.",
        extra_json_schema={"format": "date"},
    ),
]
Authors = Annotated[Names, about("Search only in documents by one of these authors; a family name is enough.")]
Years = Annotated[str, about("Search only in documents published in this year (2018) or these (2015-2020, 2015-).")]
Dois = Annotated[Names, about("Search only in the documents with these DOIs.")]
Languages = Annotated[Names, about("Search only in documents in these languages, by their codes: de, tr.")]
Regions = Annotated[
    list[Literal["references", "back_matter", "masthead"]],
    about("Search these parts beside the text instead of the text: the bibliography, who funded and wrote it."),
]


Previous = Annotated[
    list[QuestionText],
    Meta(max_length=20, description="Questions asked before, oldest first; `and for soybeans?` leans on the last."),
]
Prefix = Annotated[
    str, Meta(max_length=4_096, description="Only ids that begin with this, such as a folder: `canola/`.")
]
CitedSha256 = Annotated[
    str,
    Meta(
        pattern="^[0-9A-Fa-f]{8,64}$",
        description="The doc_sha256 of the citation that the offsets come from, or its first 8 digits or more: "
        "when the document has changed since, that is said, rather than other words given.",
    ),
]


class FilterInput(JsonObject, frozen=True, kw_only=True):
    """What a question, a retrieval and a search may be limited to; the names are those of `Filters`."""

    doc_ids: DocIds | UnsetType = UNSET
    document_types: DocumentTypes | UnsetType = UNSET
    tags: TagFilter | UnsetType = UNSET
    as_of: AsOf | UnsetType = UNSET
    regions: Regions | UnsetType = UNSET
    authors: Authors | UnsetType = UNSET
    years: Years | UnsetType = UNSET
    dois: Dois | UnsetType = UNSET
    languages: Languages | UnsetType = UNSET


class AskInput(FilterInput, frozen=True):
    question: Annotated[QuestionText, about("A whole question, in words.")]
    previous: Previous | UnsetType = UNSET


class RetrieveInput(FilterInput, frozen=True):
    query: Annotated[QuestionText, about("What to look for: a question or a few words.")]
    match_count: Annotated[int, Meta(ge=1, le=100, description="At most so many passages.")] | UnsetType = UNSET


class FindInput(FilterInput, frozen=True):
    pattern: Annotated[
        str, Meta(min_length=1, max_length=LONGEST_PATTERN, description="The words, as a phrase, or the expression.")
    ]
    regex: Annotated[bool, about("Whether the pattern is a regular expression, as in Python.")] = False
    near: (
        Annotated[
            int, Meta(ge=1, le=100_000, description="Words in any order, the last at most so many after the first.")
        ]
        | UnsetType
    ) = UNSET
    case: Annotated[bool, about("Whether upper and lower case are different.")] = False
    limit: Annotated[int, Meta(ge=1, le=1_000, description="Give at most so many matches; all are counted.")] = 50


class CitationInput(JsonObject, frozen=True, forbid_unknown_fields=False):
    doc_id: DocId
    start: Annotated[int, about("First code point of the quote.")]
    end: Annotated[int, about("The code point behind the quote.")]
    text: Annotated[str, about("The words that must stand there, exactly.")]


class VerifyInput(JsonObject, frozen=True):
    citations: Annotated[
        list[CitationInput],
        Meta(
            min_length=1,
            max_length=1_000,
            description="What to check; sentences of an answer can be given as they are.",
        ),
    ]


class ListInput(JsonObject, frozen=True):
    prefix: Prefix | UnsetType = UNSET
    after: Annotated[Name, about("Go on behind this id: the `next` of the page before.")] | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=1_000, description="At most so many documents.")] = 100


class SpanInput(JsonObject, frozen=True):
    doc_id: DocId
    start: Annotated[Count, about("First code point, counted from 0.")]
    end: Annotated[Number, about(f"The code point behind the last; at most {LONGEST_SLICE:,} behind start.")]
    around: Annotated[int, Meta(ge=0, le=MOST_AROUND, description="Code points of context on each side.")] = 800
    doc_sha256: CitedSha256 | UnsetType = UNSET


class FailedCitationJson(JsonObject, frozen=True):
    number: Annotated[Number, about("The place in the list, from 1.")]
    doc_id: str
    start: int
    end: int
    why: str


class VerificationJson(JsonObject, frozen=True):
    verified: Annotated[bool, about("Whether every citation holds.")]
    citations: Annotated[Count, about("How many were checked.")]
    failures: Annotated[list[FailedCitationJson], about("Those that do not hold.")]
