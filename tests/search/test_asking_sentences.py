"""Sentences of a document that ask: what they lead to answers in their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import pytest

from quoth.protocols import Reader
from quoth.search.asking_sentences import asks, with_answers
from quoth.types import NO_FILTERS, Candidate, Filters, Quote, Ranked, RegionKind, Sentence, Span

SECTION = ("Frequent questions",)


def sentence(text: str, place: int, *, section: tuple[str, ...] = SECTION) -> Sentence:
    quote = Quote(Span(1_000 * place, 1_000 * place + len(text)), text)
    return Sentence("faq.txt", quote, RegionKind.PARAGRAPH, section, None, None, None, {})


class Page:
    """An index of one document; a sentence of it is named by its place."""

    def __init__(self, *texts: str, section_of: dict[int, tuple[str, ...]] | None = None) -> None:
        own = section_of or {}
        self.sentences = [sentence(text, place, section=own.get(place, SECTION)) for place, text in enumerate(texts)]

    def neighbours(self, sentences: Sequence[Sentence]) -> list[tuple[Sentence | None, Sentence | None]]:
        padded = [None, *self.sentences, None]
        places = [self.sentences.index(each) for each in sentences]
        return [(padded[place], padded[place + 2]) for place in places]

    def found(self, *places: int, filters: Filters = NO_FILTERS) -> list[tuple[str, float]]:
        """Texts and scores of `with_answers` where the sentences at these places were found, the best first."""
        ranked = []
        for rank, place in enumerate(places):
            candidate = Candidate(self.sentences[place], 0.5, 0.5, ("lexical",), b"")
            ranked.append(Ranked(candidate, rank, 0.5, relevance=0.9 - 0.1 * rank, order=0.9, support=None))
        return [(item.sentence.text, item.relevance) for item in with_answers(ranked, cast("Reader", self), filters)]


@pytest.mark.parametrize(
    "text", ["Is it wet?", "“Is it wet?”", "(Is it wet?)", "湿っていますか？", "هل هي رطبة؟", "Wet?\n"]
)
def test_a_sentence_that_ends_in_a_question_mark_asks(text: str) -> None:
    assert asks(sentence(text, 0))


@pytest.mark.parametrize("text", ["It is wet.", "Write ? for help.", "“Is it wet?” asked the inspector."])
def test_a_sentence_with_a_question_inside_states_something(text: str) -> None:
    assert not asks(sentence(text, 0))


def test_the_answer_takes_the_place_and_the_scores_of_its_question() -> None:
    page = Page("1. Can I burn stubble?", "Only with a permit.", "Stubble burns.")

    assert page.found(0, 2) == [("Only with a permit.", 0.9), ("Stubble burns.", 0.8)]


def test_an_answer_that_was_found_too_keeps_the_better_place() -> None:
    page = Page("Can I burn?", "Only with a permit.", "Stubble burns.")

    assert page.found(0, 2, 1) == [("Only with a permit.", 0.9), ("Stubble burns.", 0.8)]
    assert page.found(1, 2, 0) == [("Only with a permit.", 0.9), ("Stubble burns.", 0.8)]


def test_a_question_before_another_question_or_another_section_is_left_out() -> None:
    page = Page("Can I burn?", "And when?", "What then?", "Seeds are cheap.", section_of={3: ("Seeds",)})

    assert page.found(0, 1, 2, 3) == [("Seeds are cheap.", 0.6)]


def test_a_question_at_the_end_of_a_document_is_left_out() -> None:
    assert Page("It is dry.", "Can I burn?").found(1, 0) == [("It is dry.", 0.8)]


def test_an_answer_outside_the_filters_takes_no_place() -> None:
    page = Page("How much nitrogen does canola need?", "Wheat takes 120 kg.")

    assert page.found(0, filters=replace(NO_FILTERS, tags={"crop": ("canola",)})) == []
