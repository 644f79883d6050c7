"""Retrievals made by hand, for what is measured and logged about them."""

from __future__ import annotations

from quoth.types import (
    NO_FILTERS,
    Context,
    DocumentInfo,
    Filters,
    FoundBy,
    FoundPassage,
    Metadata,
    Passage,
    Question,
    QuestionKind,
    Retrieval,
    Span,
    Status,
)

_ABOUT = Metadata("Guide", None, None, None, (), "en", {}, False, (), None, None)
_DOCUMENT = DocumentInfo("guide.md", "0" * 64, "1" * 64, "utf-8", "markdown", "plain / 1", 1_000, 20, 0, _ABOUT)


def found(source: FoundBy, relevance: float, number: int) -> FoundPassage:
    return FoundPassage(
        passage=Passage("guide.md", Span(number * 10, number * 10 + 5), number, number, (), None, 2),
        content="Sow it",
        document=_DOCUMENT,
        authority=None,
        superseded_by=(),
        sentences=(),
        dense=0.5,
        lexical=0.5,
        fused=0.5,
        relevance=relevance,
        order=relevance,
        source=source,
        successor_of=None,
        reasoning=None,
    )


def retrieval(
    *passages: tuple[FoundBy, float],
    status: Status = Status.SUCCESS,
    degraded: tuple[str, ...] = (),
    question: str = "How deep is it sown?",
    filters: Filters = NO_FILTERS,
) -> Retrieval:
    """A retrieval of passages with these sources and relevances, in this order."""
    return Retrieval(
        question=Question("1", question, filters),
        status=status,
        best=max((relevance for _, relevance in passages), default=0.0),
        message=None,
        warning=None,
        passages=tuple(found(source, relevance, number) for number, (source, relevance) in enumerate(passages)),
        filters=filters,
        detected=(),
        kind=QuestionKind.GENERAL,
        weights=(0.3, 0.7),
        degraded=degraded,
        conflicts=(),
        context=Context((), "", 0, ()),
        index="index digest",
        settings="settings digest",
    )
