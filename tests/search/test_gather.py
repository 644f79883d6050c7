"""Sentences to the passages they stand in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pytest

from quoth.passages.passage_builder import GatheredPassage, gather
from quoth.protocols import Reader
from quoth.types import Candidate, FoundBy, Passage, Quote, Ranked, RegionKind, Sentence, Span


class Shelves:
    """Passages by document: all that gathering asks of a reader."""

    def __init__(self, **passages: Sequence[tuple[int, int]]) -> None:
        self._passages = passages

    def passages(self, doc_id: str) -> tuple[Passage, ...]:
        spans = self._passages[doc_id.removesuffix(".md")]
        return tuple(Passage(doc_id, Span(*span), 0, 0, (), None, 10) for span in spans)


def found(doc_id: str, start: int, relevance: float, *ways: str) -> Ranked:
    sentence = Sentence(doc_id, Quote(Span(start, start + 5), "words"), RegionKind.PARAGRAPH, (), None, None, None, {})
    candidate = Candidate(sentence, 0.0, 0.0, ways or ("lexical",), b"")
    return Ranked(candidate, 0, relevance, relevance, relevance, None)


def gathered(ranked: Sequence[Ranked], **passages: Sequence[tuple[int, int]]) -> list[GatheredPassage]:
    return list(gather(ranked, cast(Reader, Shelves(**passages))))


def spans(passages: Sequence[GatheredPassage]) -> list[tuple[str, int, int]]:
    return [(one.passage.doc_id, one.passage.span.start, one.passage.span.end) for one in passages]


def test_a_passage_is_as_good_as_its_best_sentence() -> None:
    ranked = [found("a.md", 0, 0.4), found("b.md", 0, 0.6), found("a.md", 10, 0.9)]
    passages = gathered(ranked, a=[(0, 20)], b=[(0, 20)])

    assert spans(passages) == [("a.md", 0, 20), ("b.md", 0, 20)]
    assert [one.relevance for one in passages[0].sentences] == [0.9, 0.4]


def test_of_two_that_share_their_best_sentence_the_fuller_one_stays() -> None:
    ranked = [found("a.md", 15, 0.9), found("a.md", 25, 0.5)]

    assert spans(gathered(ranked, a=[(0, 20), (15, 40)])) == [("a.md", 15, 40)]


def test_both_stay_when_each_has_a_sentence_of_its_own() -> None:
    ranked = [found("a.md", 0, 0.3), found("a.md", 15, 0.9), found("a.md", 25, 0.5)]

    assert spans(gathered(ranked, a=[(0, 20), (15, 40)])) == [("a.md", 15, 40), ("a.md", 0, 20)]


def test_equal_passages_go_by_document_and_place() -> None:
    ranked = [found("b.md", 0, 0.5), found("a.md", 30, 0.5), found("a.md", 0, 0.5)]

    assert spans(gathered(ranked, a=[(0, 20), (30, 50)], b=[(0, 9)])) == [
        ("a.md", 0, 20),
        ("a.md", 30, 50),
        ("b.md", 0, 9),
    ]


@pytest.mark.parametrize(
    ("ways", "source"),
    [
        ([("lexical",)], FoundBy.FULL_TEXT),
        ([("dense",)], FoundBy.VECTOR),
        ([("lexical", "dense")], FoundBy.BOTH),
        ([("lexical",), ("dense",)], FoundBy.BOTH),
    ],
)
def test_the_source_tells_which_way_led_to_it(ways: list[tuple[str, ...]], source: FoundBy) -> None:
    ranked = [found("a.md", 10 * place, 0.5, *one) for place, one in enumerate(ways)]

    assert [one.source for one in gathered(ranked, a=[(0, 100)])] == [source]


def test_nothing_found_gives_no_passage() -> None:
    assert gathered([]) == []
