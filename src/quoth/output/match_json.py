"""Matches of a pattern as JSON objects."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from quoth.output.json_types import Count, JsonObject, NonEmpty, Number, OffsetUnit, Section, about, to_json
from quoth.types import FindResult, Match, RegionKind


class SpanJson(JsonObject, frozen=True):
    start: Count
    end: Number


class ContextJson(JsonObject, frozen=True):
    """An exact slice around a match."""

    start: Count
    end: Number
    text: str


class MatchJson(JsonObject, frozen=True):
    """A place where a pattern was found: a line of `quoth find --json`."""

    doc_id: str
    start: Count
    end: Number
    text: Annotated[NonEmpty, about("Exactly the text from start to end.")]
    section: Section
    page: Annotated[Number | None, about("The page that it begins on; null without pages.")]
    region: Annotated[RegionKind | None, about("Null in a part that is never quoted, such as a page number.")]
    sentence: Annotated[SpanJson | None, about("The sentence or sentences that hold it; null where region is.")]
    context: Annotated[ContextJson, about("The sentence or the line; of a long one, the words close to the match.")]
    doc_sha256: str
    offset_unit: OffsetUnit


class MatchCountJson(JsonObject, frozen=True):
    """How often a document holds a pattern: a line of `quoth find --count --json`."""

    doc_id: str
    count: Number
    doc_sha256: str


class FoundJson(JsonObject, frozen=True):
    """Where a pattern was found, in order of document ids and places."""

    pattern: str
    count: Annotated[Count, about("How often it was found in all documents together.")]
    documents: Annotated[list[MatchCountJson], about("Every document that holds it.")]
    matches: Annotated[list[MatchJson], about("The first of them; as many as were asked for.")]
    missing_shards: Annotated[list[str], about("Shards that did not answer; their documents are left out.")]


def match_json(doc_id: str, sha256: str, match: Match) -> dict[str, Any]:
    """Return one line of `quoth find --json`."""
    return to_json(_match(doc_id, sha256, match))


def count_json(doc_id: str, sha256: str, count: int) -> dict[str, Any]:
    """Return one line of `quoth find --count --json`."""
    return to_json(MatchCountJson(doc_id, count, sha256))


def found_json(pattern: str, result: FindResult) -> dict[str, Any]:
    return to_json(
        FoundJson(
            pattern=pattern,
            count=result.count,
            documents=[MatchCountJson(found.doc_id, found.count, found.sha256) for found in result.documents],
            matches=[
                _match(found.doc_id, found.sha256, match) for found in result.documents for match in found.matches
            ],
            missing_shards=list(result.missing),
        )
    )


def _match(doc_id: str, sha256: str, match: Match) -> MatchJson:
    return MatchJson(
        doc_id=doc_id,
        start=match.quote.span.start,
        end=match.quote.span.end,
        text=match.quote.text,
        section=list(match.section),
        page=match.page,
        region=match.kind,
        sentence=SpanJson(**asdict(match.sentence)) if match.sentence else None,
        context=ContextJson(match.context.span.start, match.context.span.end, match.context.text),
        doc_sha256=sha256,
        offset_unit="codepoint",
    )
