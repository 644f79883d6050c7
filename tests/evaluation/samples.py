"""Questions and results to judge, made by hand: one document, `a.md`, whose text does not matter."""

from __future__ import annotations

from dataclasses import replace

from quoth.evaluation.judgements import (
    STAGES,
    Exactness,
    Judgement,
    QuotedSentence,
    ResultOrigin,
    StageRanks,
    faulty,
    is_right,
)
from quoth.evaluation.labelled_questions import Gold, LabelledQuestion
from quoth.types import NO_FILTERS, Filters, Question, Span

GOLD = (10, 20)
ELSEWHERE = (50, 60)


def item(
    id_: str,
    *gold: tuple[int, int],
    mode: str = "any",
    text: str | None = None,
    doc_ids: tuple[str, ...] = (),
    alternatives: tuple[tuple[int, int], ...] = (),
) -> LabelledQuestion:
    """A question with gold in `a.md` at these places; without any it is unanswerable."""
    filters = Filters(doc_ids, {}, (), None, None) if doc_ids else NO_FILTERS
    others = tuple(Span(*one) for one in alternatives)
    golds = tuple(Gold("a.md", Span(*one), "x" * (one[1] - one[0]), others) for one in gold)
    return LabelledQuestion(Question(id_, text or f"question {id_}?", filters), bool(gold), golds, mode)


def quote(
    start: int,
    end: int,
    *,
    doc_id: str = "a.md",
    tags: dict[str, str] | None = None,
    highlights: tuple[Span, ...] | None = None,
) -> QuotedSentence:
    return QuotedSentence(doc_id, start, end, "x" * (end - start), 0.5, tags or {}, highlights=highlights)


def answer(labelled: LabelledQuestion, confidence: float, *quotes: QuotedSentence) -> Judgement:
    """An answer with these quotes, all of them exact; nothing is known of its stages."""
    return Judgement(
        labelled=labelled,
        abstained=False,
        confidence=confidence,
        right=is_right(labelled, quotes),
        quotes=quotes,
        reason=None,
        detail=None,
        fault=None,
        exactness=Exactness(len(quotes), 0),
        redundancy=(0.5, 0.25),
        stages=None,
        origin=ResultOrigin("fields", "index", "settings", True),
    )


def abstention(labelled: LabelledQuestion, confidence: float, *quotes: QuotedSentence) -> Judgement:
    reason = "low_confidence"
    return replace(answer(labelled, confidence, *quotes), abstained=True, reason=reason, detail="Not sure.")


def staged(
    one: Judgement, *ranks: tuple[int | None, ...], boosted: int = 0, unboosted: int = 0, gained: int = 0
) -> Judgement:
    """With the ranks of its gold in each of the five stages."""
    return replace(one, stages=StageRanks(dict(zip(STAGES, ranks, strict=True)), boosted, unboosted, gained))


def six() -> list[Judgement]:
    """Three right answers, one wrong, one false, one question rightly declined, with different confidences."""
    right = quote(10, 20)
    wrong = quote(50, 60)
    return [
        answer(item("q1", GOLD), 0.9, right, wrong),
        answer(item("q2", GOLD), 0.8, wrong, wrong, right),
        answer(item("q3", GOLD, (30, 40), mode="all"), 0.7, right),
        answer(item("q4", GOLD), 0.6, wrong),
        answer(item("q5"), 0.5, wrong),
        abstention(item("q6"), 0.1, wrong),
    ]


def lost(one: Judgement) -> Judgement:
    """The same question without a result."""
    return faulty(one.labelled, "it crashed")
