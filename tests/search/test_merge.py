"""Merging: every sentence once, with its own vector, whichever search found it."""

from __future__ import annotations

import numpy as np

from quoth.search.fusion import SearchResult, merge
from quoth.types import NO_FILTERS, Candidate, Candidates, EncodedQuestion, Quote, Ranked, RegionKind, Sentence, Span

ENCODED = EncodedQuestion("?", None, None, np.empty(0, dtype=np.float32))


def found(**scores: float) -> SearchResult:
    """Sentences named by a letter, which is also their place and their vector, each with its score."""
    items = []
    for name, score in scores.items():
        quote = Quote(Span(ord(name), ord(name) + 1), name)
        sentence = Sentence("a.md", quote, RegionKind.PARAGRAPH, section=(), lead=None, page=None, ocr=None, tags={})
        items.append(Candidate(sentence, score, score, ("lexical",), b""))
    vectors = np.asarray([[ord(name)] for name in scores], dtype=np.float32).reshape(len(scores), 1)
    ranked = tuple(Ranked(one, row, one.dense, one.dense, one.dense, None) for row, one in enumerate(items))
    return SearchResult(ENCODED, Candidates(tuple(items), vectors), ranked, ranked, NO_FILTERS, (), (), None)


def test_without_parts_nothing_changes() -> None:
    whole = found(a=0.9)

    assert merge(whole, []) is whole


def test_every_sentence_is_there_once_in_reading_order_with_its_vector() -> None:
    merged = merge(found(c=0.9, a=0.5), [found(b=0.7, a=0.6), found(d=0.1)])

    assert [one.sentence.text for one in merged.candidates.items] == ["a", "b", "c", "d"]
    assert merged.candidates.vectors.tolist() == [[97.0], [98.0], [99.0], [100.0]]
    assert all(merged.candidates.vectors[one.row][0] == ord(one.sentence.text) for one in merged.ranked)


def test_the_whole_question_sets_the_order_and_the_best_search_the_fused_score() -> None:
    merged = merge(found(c=0.9, a=0.5), [found(a=0.8, b=0.7)])

    assert [(one.sentence.text, one.order, one.fused) for one in merged.ranked] == [
        ("c", 0.9, 0.9),
        ("b", 0.7, 0.7),
        ("a", 0.5, 0.8),
    ]


def test_searches_that_find_nothing_merge_to_nothing() -> None:
    assert merge(found(), [found()]).ranked == ()
