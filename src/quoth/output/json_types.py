"""The JSON objects of answers and retrievals, described once; those of documents are in `document_json_types`.

`render` builds them, and every schema (the published files, OpenAPI, the MCP tools) is generated from them. The order
of the fields is the order of the keys. Class names end in `Json`; schemas leave the ending out.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

import msgspec
from msgspec import UNSET, Meta, UnsetType

from quoth.types import (
    BlockReason,
    ConflictKind,
    FoundBy,
    QuestionKind,
    QuoteRole,
    Reason,
    RegionKind,
    Remark,
    Status,
)


class JsonObject(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A JSON object with these fields and no others. A field that is `UNSET` is left out."""

    schema_rules: ClassVar[dict[str, Any]] = {}
    """Keywords of JSON Schema for what the types of the fields cannot say."""

    @classmethod
    def of(cls, *sources: object, **values: Any) -> Self:  # noqa: ANN401 - the values of any fields
        """Return an object with these values; a field that is not given is read from the first source that has it."""
        for name in cls.__struct_fields__:
            source = next((source for source in sources if hasattr(source, name)), None)
            if source is not None and name not in values:
                value = getattr(source, name)
                values[name] = list(value) if isinstance(value, tuple) else value
        return cls(**values)


def to_json(value: JsonObject) -> dict[str, Any]:
    content: dict[str, Any] = msgspec.to_builtins(value, enc_hook=_english)
    return content


def _english(value: object) -> str:
    """A program reads the English text of a remark, in whatever language people do."""
    if isinstance(value, Remark):
        return str(value)
    raise NotImplementedError(f"{type(value).__name__} is no JSON")


def about(description: str) -> Meta:
    return Meta(description=description)


NonEmpty = Annotated[str, Meta(min_length=1)]
Count = Annotated[int, Meta(ge=0)]
Number = Annotated[int, Meta(ge=1)]
Score = Annotated[float, Meta(le=1)]
Probability = Annotated[float, Meta(ge=0, le=1)]
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", description="Of the document's text, encoded as UTF-8.")]
Day = Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}$")]
Start = Annotated[int, Meta(ge=0, description="In code points from the start of the document.")]
End = Annotated[int, Meta(ge=1, description="The first code point after the quote.")]
ExactText = Annotated[str, Meta(min_length=1, description="Exactly the document's text from `start` to `end`.")]
Display = Annotated[
    str,
    about(
        "The same words for people: on one line, with words joined that only a line break hyphenates. It is not exact:"
        " cite and compare `text`."
    ),
]
Section = Annotated[list[str], about("The headings above it, outermost first.")]
OffsetUnit = Annotated[
    Literal["codepoint"], about("Offsets count Unicode code points of the document's text, half-open.")
]
IndexDigest = Annotated[NonEmpty, about("Names the content of the index.")]
SettingsDigest = Annotated[NonEmpty, about("Names the settings in force.")]
Retriever = Annotated[str, Meta(extra_json_schema={"enum": ["hybrid_bm25_dense", "bm25", "dense"]})]
QuotedRegion = Annotated[
    str,
    Meta(
        description="What the sentence is in its document.",
        extra_json_schema={"enum": [kind.value for kind in RegionKind if not kind.skipped]},
    ),
]


AuthorityGuessed = Annotated[
    bool, about("Whether the type, and so the authority, was read from the document's own title; confirm it.")
]


class SupersessionJson(JsonObject, frozen=True):
    section: Annotated[str | None, about("Null when the whole document is replaced.")]
    by: Annotated[str, about("The document that replaces it.")]


SupersededBy = Annotated[
    Annotated[list[SupersessionJson], Meta(min_length=1)] | None,
    about("What replaces all or a part of it; null when nothing does."),
]


class QuoteJson(JsonObject, frozen=True):
    """A slice of the same document."""

    text: ExactText
    start: Start
    end: End
    display: Display


class PlacedQuoteJson(JsonObject, frozen=True):
    text: ExactText
    doc_id: Annotated[NonEmpty, about("The document's path below the corpus root.")]
    start: Start
    end: End


class PlaceJson(PlacedQuoteJson, frozen=True):
    section: Section
    page: Number | None


_TOGETHER = ("document_type", "authority", "authority_guessed", "effective_date", "superseded_by")


class CitationJson(PlacedQuoteJson, frozen=True):
    """A quoted sentence with its exact place. The five fields from `document_type` come together, where the profile
    knows authority."""

    display: Display
    tags: Annotated[dict[str, str], about("The main value of each facet.")]
    all_tags: Annotated[
        dict[str, Annotated[list[str], Meta(min_length=1)]], about("Every value of each facet, the main one first.")
    ]
    score: Annotated[float, about("The relevance of the sentence, without the profile's boosts.")]
    section: Section
    page: Annotated[Number | None, about("Null where the format has no pages.")]
    ocr_confidence: Annotated[
        Probability | None,
        about("How sure the recogniser was where the text was read from a picture; null where it was not."),
    ]
    doc_sha256: Sha256
    region: QuotedRegion
    lead: Annotated[QuoteJson | None, about("The line that introduces a list item, or the header of a table row.")]
    companion_of: Annotated[str | None, about("`doc_id:start-end` of the cited sentence that this one completes.")]
    role: Annotated[QuoteRole, about("`answer`: it supports the answer by itself; `context`: it completes one.")]
    label: Annotated[NonEmpty, about("The source in short, for people: its name, the section and the page.")]
    highlights: Annotated[
        list[Annotated[list[Count], Meta(min_length=2, max_length=2)]],
        about(
            "The words that answer, as `[start, end]` in the document, within the quote; empty where none stand out."
        ),
    ]
    display_parts: (
        Annotated[
            list[str],
            Meta(min_length=2, description="`display` in parts, where words stand out: the second of every two parts."),
        ]
        | UnsetType
    ) = UNSET
    document_type: str | UnsetType | None = UNSET
    authority: Annotated[str, about("What the document is worth: binding, guidance, precedent.")] | UnsetType = UNSET
    authority_guessed: AuthorityGuessed | UnsetType = UNSET
    effective_date: Day | UnsetType | None = UNSET
    superseded_by: SupersededBy | UnsetType = UNSET
    byline: Annotated[NonEmpty, about("Authors and year in short, where they are known.")] | UnsetType = UNSET
    doi: Annotated[NonEmpty, about("Where it is known.")] | UnsetType = UNSET
    cells: Annotated[NonEmpty, about("Only of a spreadsheet: the cells that it quotes.")] | UnsetType = UNSET
    why: Annotated[NonEmpty, about("Only in `nearest`: what the sentence lacks. In Quoth's words.")] | UnsetType = UNSET
    also: Annotated[list[PlaceJson], Meta(min_length=1, description="Other places that say the same.")] | UnsetType = (
        UNSET
    )

    schema_rules: ClassVar[dict[str, Any]] = {
        "dependentRequired": {name: [other for other in _TOGETHER if other != name] for name in _TOGETHER}
    }


class StatementJson(PlacedQuoteJson, frozen=True):
    document_name: str
    section: Section
    authority: str | None
    authority_guessed: AuthorityGuessed
    says: Annotated[NonEmpty, about("The words of `text` that disagree.")]


class ConflictJson(JsonObject, frozen=True):
    kind: ConflictKind
    subject: Annotated[str, about("What they disagree about.")]
    detail: Annotated[NonEmpty, about("A sentence for people.")]
    statements: Annotated[list[StatementJson], Meta(min_length=2, description="The sides, the binding ones first.")]


Conflicts = Annotated[
    list[ConflictJson], about("What sources in force disagree about, each side with its exact words.")
]


class AbstentionReasonJson(JsonObject, frozen=True):
    code: Reason
    detail: Annotated[NonEmpty, about("A sentence for people.")]


class RunScoresJson(JsonObject, frozen=True):
    max_retrieval: Annotated[float, about("The best fused score.")]
    support_count: Annotated[Count, about("Sentences that support an answer.")]
    redundancy_before: Annotated[float, about("Mean likeness of the best sentences.")]
    redundancy_after: Annotated[float, about("Mean likeness of the chosen ones.")]


class RunNotesJson(JsonObject, frozen=True):
    """How the outcome came about; no clock, so that the same question gives the same bytes."""

    retriever: Retriever
    k_initial: Annotated[Count, about("Sentences that the search found.")]
    rerank_topk: Annotated[Number, about("How many are kept after reranking, at most.")]
    decision: Annotated[
        list[str], Meta(min_length=1, description="`answered`, or `abstained` and the code of the reason.")
    ]
    scores: RunScoresJson
    degraded: Annotated[
        list[str], about("Parts that failed and were done without: dense, rerank, evidence, or `shard 3 of 8`.")
    ]
    warnings: Annotated[list[NonEmpty], about("What to be careful about, in sentences for people.")]
    profile: str
    calibrated: Annotated[bool, about("Whether `confidence` is a probability.")]
    index: IndexDigest
    settings: SettingsDigest


class InWordsJson(JsonObject, frozen=True):
    """What Quoth itself says of an outcome, in another language: `reason.detail`, the `why` of each of `nearest`, the
    `detail` of each conflict, the warnings."""

    lang: NonEmpty
    reason: str | None
    nearest: list[str]
    conflicts: list[str]
    warnings: list[str]


class AnswerJson(JsonObject, frozen=True):
    """One outcome of Quoth, an answer or an abstention: one line of a run file."""

    question_id: Annotated[str, about("As given, or the number of the line.")]
    question: Annotated[str, about("As asked.")]
    abstained: Annotated[bool, about("True when no answer is given; `reason` then says why.")]
    answer_sentences: Annotated[
        list[CitationJson], about("The quoted sentences, best first, each followed by what completes it.")
    ]
    final_answer: Annotated[str, about("The texts of `answer_sentences` joined by a line feed, and nothing else.")]
    confidence: Annotated[
        Probability,
        about("How likely the sentences answer the question; a plain score while `run_notes.calibrated` is false."),
    ]
    reason: Annotated[AbstentionReasonJson | None, about("Why there is no answer; null when there is one.")]
    nearest: Annotated[
        list[CitationJson], about("For an abstention, the evidence that came nearest, which is not given as an answer.")
    ]
    run_notes: RunNotesJson
    offset_unit: OffsetUnit
    unsupported_parts: Annotated[
        list[str], about("Parts of the question that no quoted sentence supports; empty when all have evidence.")
    ]
    conflicts: Conflicts
    missing: Annotated[
        list[NonEmpty],
        about("For an abstention, what the question asks for without evidence: names, dates, numbers, parts, words."),
    ]
    outcome: Annotated[
        Literal["answer", "may_be_relevant", "nothing"],
        about(
            "For people: an answer; no sure answer, but `nearest` is probably about the question; nothing."
            " `abstained` is true for the last two."
        ),
    ]
    see_also: Annotated[
        list[CitationJson], about("Beside an answer, what else is near the question; it is no part of the answer.")
    ]
    understood: Annotated[NonEmpty, about("Only of a follow-up: the question that it was answered as.")] | UnsetType = (
        UNSET
    )
    filters: (
        Annotated[dict[str, Any], about("Only of a question with filters: those that limited the search, by name.")]
        | UnsetType
    ) = UNSET
    trace: Annotated[dict[str, Any], about("Only with `why`: every stage with its scores.")] | UnsetType = UNSET
    in_words: InWordsJson | UnsetType = UNSET

    schema_rules: ClassVar[dict[str, Any]] = {
        "oneOf": [
            {
                "title": "Answered",
                "properties": {
                    "abstained": {"const": False},
                    "answer_sentences": {"minItems": 1, "items": {"not": {"required": ["why"]}}},
                    "final_answer": {"minLength": 1},
                    "reason": {"type": "null"},
                    "nearest": {"maxItems": 0},
                    "missing": {"maxItems": 0},
                    "outcome": {"const": "answer"},
                },
            },
            {
                "title": "Abstained",
                "properties": {
                    "abstained": {"const": True},
                    "outcome": {"enum": ["may_be_relevant", "nothing"]},
                    "answer_sentences": {"maxItems": 0},
                    "final_answer": {"const": ""},
                    "see_also": {"maxItems": 0},
                    "reason": {"type": "object"},
                    "nearest": {"items": {"required": ["why"]}},
                },
            },
        ]
    }


class PassageJson(JsonObject, frozen=True):
    """A passage with its exact place and all its scores."""

    chunk_id: Annotated[str, about("`doc_id:start-end`.")]
    content: ExactText
    doc_id: NonEmpty
    start: Start
    end: End
    document_name: Annotated[str, about("The title, or the id where there is none.")]
    document_type: str | None
    section_hierarchy: Annotated[
        list[str], about("The headings that all of the passage stands under, outermost first.")
    ]
    section_title: Annotated[str | None, about("The innermost of them.")]
    page_number: Annotated[Number | None, about("Where it begins.")]
    is_binding: bool | None
    authority: Annotated[str | None, about("binding, guidance or precedent, in a profile that knows authority.")]
    authority_guessed: AuthorityGuessed
    effective_date: Day | None
    superseded_by: SupersededBy
    successor_of: Annotated[
        str | None, about("The `chunk_id` of the superseded passage that this one was brought in for.")
    ]
    doc_sha256: Sha256
    token_count: Annotated[Number, about("An estimate that depends on no model.")]
    vector_score: Annotated[Score, about("The cosine of its best sentence.")]
    fts_score: Annotated[Score, about("The share of an ideal sentence's full-text score.")]
    combined_score: Annotated[Score, about("Both, by their weights.")]
    relevance_score: Annotated[Score, about("What decides: the reranker's score on the scale of the floor.")]
    order_score: Annotated[Score, about("The relevance with the profile's boosts; it only orders.")]
    source: FoundBy
    reasoning: Annotated[str | None, about("What a judging model said about it.")]


class SourceJson(JsonObject, frozen=True):
    """A block of the context, traced back to its place."""

    number: Number
    doc_id: NonEmpty
    start: Start
    end: End
    doc_sha256: Sha256
    reason: BlockReason
    because: Annotated[str | None, about("The reference or the term that it was added for.")]
    superseded_by: SupersededBy
    chunk_ids: Annotated[list[str], about("The passages that it was made from.")]
    token_count: Annotated[Number, about("Of the whole block.")]


class SearchWeightsJson(JsonObject, frozen=True):
    """Of the two ways of searching, by the kind of question."""

    dense: float
    lexical: float


class RetrievalJson(JsonObject, frozen=True):
    """What `quoth retrieve` found for a question: ranked passages, and a context made of them."""

    query: Annotated[str, about("As asked.")]
    status: Annotated[Status, about("Whether the best passage reaches the floor, comes near it, or neither.")]
    best_score: Annotated[Probability, about("The highest relevance found.")]
    message: Annotated[str | None, about("Why there is nothing; null otherwise.")]
    warning: Annotated[str | None, about("What to be careful about, in sentences for people.")]
    passages: Annotated[list[PassageJson], about("Best first.")]
    filters: Annotated[
        dict[str, Any],
        about("Those in force: doc_id, document_type, is_binding, as_of, regions, author, year, doi, and facets."),
    ]
    weights: SearchWeightsJson
    degraded: Annotated[list[str], about("Parts that failed and were done without: dense, rerank, or `shard 3 of 8`.")]
    conflicts: Conflicts
    context: Annotated[str, about("The `[SOURCE n]` blocks, ready for an agent.")]
    context_tokens: Annotated[Count, about("Of the whole context.")]
    sources: Annotated[list[SourceJson], about("The blocks of the context, each traced back to its place.")]
    skipped: Annotated[list[str], about("Passages that did not fit the budget of the context, by `chunk_id`.")]
    kind: QuestionKind
    detected_types: Annotated[list[str], about("Document types that the words of the question name.")]
    index: IndexDigest
    settings: SettingsDigest
    offset_unit: OffsetUnit
    trace: Annotated[dict[str, Any], about("Only with `why`: every passage that was judged.")] | UnsetType = UNSET
