"""Reading the best candidates: what the cross-encoder is given, and what becomes of its scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import pytest

from quoth.protocols import Reader
from quoth.search.logistic import Logistic
from quoth.search.reading import SentenceReader, in_context
from quoth.types import Candidate, Quote, Ranked, RegionKind, Sentence, SentenceInContext, Span, Support, TokenMark

MODEL = Logistic(-1.0, {"late": 2.0, "lexical": 1.0, "reader": 0.5})


def sentence(text: str, start: int = 0, section: tuple[str, ...] = ("Guide", "Seeding", "Depth")) -> Sentence:
    span = Span(start, start + len(text))
    return Sentence("a.md", Quote(span, text), RegionKind.PARAGRAPH, section, None, None, None, {})


def ranked(text: str, start: int, *, late: float) -> Ranked:
    candidate = Candidate(sentence(text, start), 0.5, 0.0, ("lexical",), b"")
    support = Support(late, None, {"late": late, "lexical": 0.5}, (0.25, 0.75))
    return Ranked(candidate, start, fused=0.1, relevance=late, order=late, support=support)


class Neighbouring:
    """An index of which only the sentence before each is known."""

    def neighbours(self, sentences: Sequence[Sentence]) -> list[tuple[Sentence | None, Sentence | None]]:
        return [(sentence(f"Before {item.text}."), None) for item in sentences]


class Reading:
    """Gives each sentence the score that stands in it, and keeps what it was given."""

    revision = "r"

    def __init__(self) -> None:
        self.read_texts: list[SentenceInContext] = []

    def read(self, question: str, sentences: Sequence[SentenceInContext]) -> list[float]:
        assert question == "How deep?"
        self.read_texts.extend(sentences)
        return [float(item.text.split()[-1]) for item in sentences]

    def mark(self, question: str, sentences: Sequence[SentenceInContext]) -> list[tuple[TokenMark, ...]]:
        raise NotImplementedError


def judge(candidates: Sequence[Ranked], *, most: int) -> tuple[tuple[Ranked, ...], Reading]:
    encoder = Reading()
    reader = cast("Reader", Neighbouring())
    judged = SentenceReader(encoder, most, ()).judge(candidates, question="How deep?", reader=reader, model=MODEL)
    return judged, encoder


def test_the_relevance_becomes_the_probability_that_it_answers() -> None:
    (item,), _ = judge([ranked("sown at 4", 0, late=0.25)], most=9)

    assert item.support is not None
    assert item.support.features == {"late": 0.25, "lexical": 0.5, "reader": 4.0}
    assert item.support.log_odds == pytest.approx(-1 + 0.5 + 0.5 + 2.0)
    assert item.relevance == item.order == pytest.approx(0.880797)
    assert item.support.matches == (0.25, 0.75)


def test_without_late_interaction_words_and_the_reader_decide() -> None:
    alone = replace(ranked("sown at 4", 0, late=0.25), support=None)
    (item,) = SentenceReader(Reading(), 9, ()).judge(
        [alone],
        question="How deep?",
        reader=cast("Reader", Neighbouring()),
        model=Logistic(-1.0, {"lexical": 1.0, "reader": 0.5}),
    )

    assert item.support is not None
    assert item.support.features == {"lexical": 0.5, "reader": 4.0}
    assert item.support.log_odds == pytest.approx(-1 + 0.5 + 2.0)
    assert item.support.matches == ()


def test_only_the_best_are_read_and_kept() -> None:
    judged, encoder = judge([ranked(f"text {score}", score, late=0.5) for score in range(5)], most=3)

    assert [item.text for item in encoder.read_texts] == ["text 0", "text 1", "text 2"]
    assert [item.sentence.text for item in judged] == ["text 0", "text 1", "text 2"]


@pytest.mark.parametrize(
    ("text", "leans"),
    [
        ("It is sown at 2 cm.", True),
        ("However, this depends on the soil.", True),
        ("They are small.", True),
        ("Italy grows canola.", False),
        ("Canola is sown at 2 cm.", False),
    ],
)
def test_the_sentence_before_is_read_where_one_leans_on_it(text: str, *, leans: bool) -> None:
    context = in_context(sentence(text, 40), (sentence("Canola seed is small."), None))

    assert context == SentenceInContext(text, "Seeding > Depth", "Canola seed is small." if leans else "")


def test_the_question_before_is_read_with_its_answer() -> None:
    before = sentence("How deep is canola sown?")

    assert in_context(sentence("At 2 cm.", 40), (before, None)).before == "How deep is canola sown?"


def test_a_sentence_of_another_section_is_no_context() -> None:
    before = sentence("Canola seed is small.", section=("Guide", "Uses"))

    assert in_context(sentence("It is sown at 2 cm.", 40), (before, None)).before == ""
    assert in_context(sentence("It is sown at 2 cm.", 0), (None, None)).before == ""
