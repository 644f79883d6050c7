"""What clients send, checked and described for OpenAPI."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictInt, StrictStr, model_validator
from pydantic.config import JsonDict

from quoth.search.patterns import LONGEST_PATTERN


def _whole(value: object) -> object:
    """To JSON 5.0 is the whole number 5, and some clients write it so."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


_WHOLE = BeforeValidator(_whole)
Whole = Annotated[StrictInt, _WHOLE]
_MatchCount = Annotated[StrictInt, Field(ge=1, le=100), _WHOLE]
Texts = StrictStr | list[StrictStr]
Region = Literal["references", "back_matter", "masthead"]
_MOST_TEXT = 1_000_000  # the limit that counts is a setting, and says so


def _examples(*examples: JsonDict) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [*examples]})


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FilterBody(_Strict):
    """Which documents to search. Fields are combined by AND, the values of one field by OR."""

    doc_id: Texts | None = Field(None, description="Only in these documents.")
    document_type: Texts | None = Field(None, description="Only in documents of these types.")
    is_binding: StrictBool | None = Field(None, description="Only in documents that bind, or only in others.")
    as_of: StrictStr | None = Field(None, description="As of this day, YYYY-MM-DD.", examples=["2022-04-01"])
    tags: dict[str, Texts] | None = Field(None, description="Only sentences with these tags, by facet.")
    author: Texts | None = Field(None, description="Only in documents by one of these; a family name is enough.")
    year: StrictStr | StrictInt | None = Field(
        None, description="Only in documents of this year, or of years.", examples=[2018, "2015-2020"]
    )
    doi: Texts | None = Field(None, description="Only in documents with these DOIs.")
    language: Texts | None = Field(None, description="Only in documents in these languages.", examples=["de"])
    regions: Region | list[Region] | None = Field(
        None, description="Ask these parts beside the text instead of the text.", examples=["references"]
    )


class AskBody(_Strict):
    """A question."""

    model_config = _examples(
        {"question": "What soil pH is best for canola?"},
        {"question": "How high may a fence be?", "id": "7", "filters": {"document_type": "ccr"}},
        {"question": "and for soybeans?", "previous": ["What soil pH is best for canola?"]},
    )

    question: Annotated[StrictStr, Field(min_length=1, max_length=_MOST_TEXT, description="As people ask it.")]
    id: StrictStr | None = Field(None, max_length=200, description="Comes back as `question_id`.")
    doc_scope: list[StrictStr] | None = Field(None, description="Search only in these documents.")
    filters: FilterBody | None = None
    previous: list[Annotated[StrictStr, Field(max_length=_MOST_TEXT)]] | None = Field(
        None,
        max_length=20,
        description="The questions asked before it, oldest first, as asked or as understood: the question may lean on"
        " them (`and for soybeans?`), and `understood` says how.",
    )
    why: StrictBool = Field(False, description="Add the trace of every stage.")


class AnswerBody(AskBody):
    """A question of a person."""

    lang: StrictStr | None = Field(
        None,
        description="The language of the person: what Quoth itself says of the outcome comes in it too, as `in_words`.",
        examples=["de"],
    )


class BatchBody(_Strict):
    """Several questions; JSON Lines of the same objects are taken as well."""

    model_config = _examples({"questions": [{"question": "What soil pH is best for canola?"}]})

    questions: list[AskBody] = Field(min_length=1)


class GridBody(_Strict):
    """Questions to ask of each document."""

    model_config = _examples({"questions": [{"question": "What soil pH is best for canola?"}], "docs": ["*.md"]})

    questions: list[AskBody] = Field(min_length=1)
    docs: list[StrictStr] | None = Field(None, description="Ids of documents, or globs that name several.")
    document_type: Texts | None = Field(None, description="Only documents of these types.")


class HookBody(_Strict):
    """What a workflow sends."""

    model_config = _examples({"query": "How high may a fence be?", "match_count": 5})

    query: Annotated[StrictStr, Field(min_length=1, max_length=_MOST_TEXT)]
    match_count: _MatchCount | None = Field(None, description="At most so many passages.")
    document_types: list[StrictStr] | None = Field(None, description="Only in documents of these types.")


class RetrieveBody(HookBody):
    """What an agent wants to read about."""

    doc_scope: list[StrictStr] | None = Field(None, description="Search only in these documents.")
    filters: FilterBody | None = None


class FindBody(_Strict):
    """Words to find, or a regular expression."""

    model_config = _examples(
        {"pattern": "soil pH"},
        {"pattern": "canola sulfur", "near": 10, "filters": {"document_type": "guide"}},
        {"pattern": "[0-9]+ kg/ha", "regex": True, "max_matches": 20},
    )

    pattern: Annotated[StrictStr, Field(min_length=1, max_length=LONGEST_PATTERN, description="The words to find.")]
    regex: StrictBool = Field(False, description="The pattern is a regular expression, as in Python.")
    near: Annotated[StrictInt, Field(ge=1, le=100_000), _WHOLE] | None = Field(
        None, description="The words in any order, the last at most so many words after the first."
    )
    case: StrictBool = Field(False, description="Upper and lower case are different.")
    max_matches: Annotated[StrictInt, Field(ge=0, le=1_000), _WHOLE] = Field(
        100, description="Give so many matches at most; all are counted."
    )
    doc_scope: list[StrictStr] | None = Field(None, description="Search only in these documents.")
    filters: FilterBody | None = None


class Verdict(StrEnum):
    RIGHT = "right"
    WRONG = "wrong"


class PlaceBody(_Strict):
    doc_id: StrictStr
    start: Annotated[StrictInt, Field(ge=0), _WHOLE]
    end: Annotated[StrictInt, Field(ge=1), _WHOLE]


class MarkBody(_Strict):
    """What a reader says of an answer."""

    model_config = _examples({"question": "What soil pH is best for canola?", "verdict": "right"})

    question: Annotated[StrictStr, Field(min_length=1, max_length=_MOST_TEXT)]
    verdict: Verdict
    doc_scope: list[StrictStr] | None = None
    filters: FilterBody | None = None
    gold: list[PlaceBody] | None = Field(None, max_length=100, description="The places that do answer it.")
    index: StrictStr | None = Field(
        None, max_length=200, description="`run_notes.index` of the answer that is marked: another one is not marked."
    )
    quoted: list[PlaceBody] | None = Field(
        None, max_length=100, description="What that answer quoted; nothing for an abstention."
    )


class UploadQuery(BaseModel):
    """What the query of an upload says of the document."""

    title: Annotated[str | None, Field(max_length=500)] = None
    document_type: Annotated[str | None, Field(max_length=100, examples=["ccr"])] = None
    is_binding: bool | None = None
    effective_date: Annotated[str | None, Field(max_length=10, examples=["2022-04-01"])] = None
    superseded_by: Annotated[str | None, Field(max_length=1_000, description="The id of its successor.")] = None
    language: Annotated[str | None, Field(max_length=35)] = None
    tag: Annotated[list[str] | None, Field(description="`facet:value`; repeatable.", examples=[["crop:canola"]])] = None
    access: Annotated[
        list[str] | None,
        Field(
            description="Who may see it: those with this label; repeatable. Blank: everybody. Without it, a document "
            "that is replaced keeps its labels.",
            examples=[["board"]],
        ),
    ] = None


class _Loose(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class CitedBody(_Loose):
    doc_id: StrictStr
    start: Whole
    end: Whole
    text: StrictStr
    lead: _LeadBody | None = None


class _LeadBody(_Loose):
    start: Whole
    end: Whole
    text: StrictStr


class ConflictBody(_Loose):
    statements: list[CitedBody] = Field(default_factory=list)


_CITING = frozenset({"answer_sentences", "nearest", "see_also", "conflicts"})
_A_LIST: JsonDict = {"required": ["results"], "properties": {"results": {"type": "array"}}}


class AnsweredBody(_Loose):
    """An answer as this service gave it; only its citations matter. A line of a batch may hold an error instead."""

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": ["answer_sentences"]}, {"required": ["error"]}]}
    )

    answer_sentences: list[CitedBody] = Field(default_factory=list)
    nearest: list[CitedBody] = Field(default_factory=list)
    see_also: list[CitedBody] = Field(default_factory=list)
    conflicts: list[ConflictBody] = Field(default_factory=list)

    @model_validator(mode="after")
    def _holds_something(self) -> Self:
        # What holds no citations by mistake (a field that is spelt wrong) must not pass for verified.
        if not self._names() & {"answer_sentences", "error"}:
            raise ValueError("there is no `answer_sentences` in it")
        return self

    def _names(self) -> set[str]:
        return self.model_fields_set | set(self.model_extra or ())


class VerifyBody(AnsweredBody):
    """One answer, or several under `results`."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [{"required": ["answer_sentences"]}, {"required": ["error"]}, _A_LIST],
            "examples": [
                {"answer_sentences": [{"doc_id": "canola.md", "start": 10, "end": 47, "text": "Sow canola early."}]}
            ],
        }
    )

    results: list[AnsweredBody] | None = None

    @property
    def is_ambiguous(self) -> bool:
        """Whether both one answer and several were given: only one of these would be checked."""
        return self.results is not None and bool(self.model_fields_set & _CITING)

    @property
    def holds_outcomes(self) -> bool:
        """Whether several were given, and one of them at least is an answer or an abstention."""
        return any("error" not in (answer.model_extra or ()) for answer in self.results or ())

    def _names(self) -> set[str]:
        return super()._names() | ({"answer_sentences"} if self.results is not None else set())

    def answers(self) -> list[dict[str, Any]]:
        return [answer.model_dump() for answer in ([self] if self.results is None else self.results)]


class ReceiptsBody(_Loose):
    """An answer or abstention as this service gave it, or several under `results`."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [{"$ref": "#/components/schemas/Answer"}, _A_LIST],
            "examples": [{"results": []}],
        }
    )

    results: list[dict[str, Any]] | None = None

    @property
    def is_ambiguous(self) -> bool:
        return self.results is not None and bool(self.model_extra)

    def answers(self) -> list[dict[str, Any]]:
        return [self.model_extra or {}] if self.results is None else self.results
