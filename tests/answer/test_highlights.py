"""The words of a quote that answer: whole words within the quote, and none where the model is unsure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.answer.highlights import answering_words, highlighted
from quoth.domain.manifest import metadata
from quoth.errors import OffsetMismatch
from quoth.protocols import Reader
from quoth.search.reading import SentenceReader
from quoth.types import Citation, Quote, QuoteRole, RegionKind, Sentence, SentenceInContext, Span, TokenMark

START = 100
"""Where the sentence begins in its document."""


def sentence(text: str, lead: str | None = None) -> Sentence:
    above = Quote(Span(0, len(lead)), lead) if lead else None
    span = Span(START, START + len(text))
    return Sentence("a.md", Quote(span, text), RegionKind.PARAGRAPH, (), above, None, None, {})


def marks(of: Sentence, **odds: float) -> list[TokenMark]:
    """Give each character of the search text log odds of -5, but these words others."""
    found = [-5.0] * len(of.search_text)
    for word, value in odds.items():
        for at in range(len(of.search_text)):
            if of.search_text.startswith(word.replace("_", " "), at):
                found[at : at + len(word)] = [value] * len(word)
    return [TokenMark(at, at + 1, value) for at, value in enumerate(found)]


def words(text: str, question: str, **odds: float) -> list[str]:
    one = sentence(text)
    spans = answering_words(one, marks(one, **odds), question)
    return [text[span.start - START : span.end - START] for span in spans]


def test_the_words_that_the_model_marks_stand_out() -> None:
    assert words("Augustus died in AD 14 at Nola.", "When did Augustus die?", AD=1.0, **{"14": 0.5}) == ["AD 14"]


@pytest.mark.parametrize(
    ("text", "marked", "whole"),
    [
        ("Sow at 2.5 cm in spring.", "5", "2.5 cm"),
        ("It grows best at pH 6.0-7.0.", "7", "pH 6.0-7.0"),
        ("The fee is $1,000 a year.", "1", "$1,000"),
        ("Apply 30 lb/ac in May.", "30", "30 lb/ac"),
        ("About 9.5% of them survive.", "9", "9.5%"),
        ("A setback of ten (10) feet is needed.", "10", "(10) feet"),
        ("It is quiet from 7:00 p.m. on.", "7", "7:00 p.m."),
        ("Plant them in well-drained soil.", "well", "well-drained"),
        ("It needs infor-\nmation first.", "mation", "infor-\nmation"),
    ],
)
def test_no_number_unit_or_word_is_cut(text: str, marked: str, whole: str) -> None:
    assert words(text, "What is it?", **{marked: 50.0}) == [whole]


def test_words_of_the_question_do_not_stand_out_at_the_edges() -> None:
    text = "The parking fee is due in March."
    question = "When is the parking fee due?"

    assert words(text, question, parking=1.0, fee=1.0, due=1.0, March=0.5) == ["March"]
    assert words("Parking fees are due.", question, Parking=1.0, fees=1.0, due=1.0) == []


def test_a_negation_stays_with_what_it_denies() -> None:
    assert words("Hens shall not be kept indoors.", "What about hens?", kept=1.0) == ["not be kept"]


def test_nothing_stands_out_when_the_model_is_unsure() -> None:
    assert words("It died in AD 14.", "When?", AD=-1.5) == []  # it hardly marks anything
    everywhere = "Oats need much rain and rye needs little while maize wants sun and peas are sown by hand."
    assert words(everywhere, "What?", Oats=1, rye=1, maize=1, hand=1) == []


def test_a_whole_sentence_does_not_stand_out_of_itself() -> None:
    assert words("Yes, they may.", "Is it allowed?", Yes=1.0, they=1.0, may=1.0) == []


def test_a_cell_stands_out_only_if_no_other_could_be_meant() -> None:
    row = "Canola | 6.0-7.0 | 5.5 | toxic"

    assert words(row, "Which pH?", **{"6.0-7.0": 1.0, "5.5": -0.5}) == ["6.0-7.0"]
    assert words(row, "Which pH?", **{"6.0-7.0": 1.0, "5.5": 0.5}) == []


def test_a_bracket_is_closed() -> None:
    text = "Winds of 110 mph (180 km/h) were measured."

    assert words(text, "How fast?", **{"110 mph": 1.0, "180 km/h": 1.0}) == ["110 mph (180 km/h)"]


def test_signs_without_spaces_between_them_are_words() -> None:
    assert words("水稻在五月播种。", "什么时候?", 五=1.0, 月=1.0) == ["五月"]


def test_a_lead_never_stands_out_and_moves_no_offset() -> None:
    row = sentence("Soil pH | 6.0-7.0", lead="Item | Target")
    spans = answering_words(row, marks(row, Item=3.0, **{"6.0-7.0": 1.0}), "Which?")

    assert spans == (Span(START + 10, START + 17),)


TEXTS = st.text(alphabet="ab 2.5-\n\u00ad,|()$%é水😀", min_size=1, max_size=40)


@given(TEXTS, st.none() | TEXTS)
def test_every_character_that_is_searched_has_its_place(text: str, lead: str | None) -> None:
    one = sentence(text, lead)
    source = (lead or "").ljust(START, "?") + text

    assert len(one.search_places) == len(one.search_text)
    for place, character in zip(one.search_places, one.search_text, strict=True):
        shown = "\n" if place is None else source[place]
        assert character == shown or (shown in "-\u2010" and character in " -")


@given(TEXTS, st.none() | TEXTS, st.lists(st.floats(-3, 3), min_size=1, max_size=80))
def test_highlights_are_whole_words_of_the_quote_in_order(text: str, lead: str | None, odds: list[float]) -> None:
    one = sentence(text, lead)
    tokens = [TokenMark(at, at + 1, odds[at % len(odds)]) for at in range(len(one.search_text))]
    spans = answering_words(one, tokens, "a?")

    cited(one, spans)  # raises unless they are parts of the quote, in order
    for span in spans:
        first, last = span.start - START, span.end - START
        assert not (text[first].isalnum() and text[:first][-1:].isalnum() and "水" not in text[first - 1 : first + 1])
        assert not (text[last - 1].isdigit() and text[last : last + 1].isdigit())


def cited(one: Sentence, highlights: tuple[Span, ...] = (), companion_of: str | None = None) -> Citation:
    about = metadata({}, source="", facets=())
    role = QuoteRole.ANSWER if companion_of is None else QuoteRole.CONTEXT
    return Citation(one, 0.9, "", about, None, companion_of, None, None, one.text, None, role, (), highlights)


@pytest.mark.parametrize(
    "wrong", [[(99, 104)], [(100, 105)], [(103, 104), (100, 101)], [(100, 102), (101, 103)]], ids=str
)
def test_a_citation_refuses_highlights_outside_the_quote_or_out_of_order(wrong: list[tuple[int, int]]) -> None:
    with pytest.raises(OffsetMismatch):
        cited(sentence("Sow."), tuple(Span(*span) for span in wrong))


class Marking:
    """A cross-encoder that marks the last word of every text, and keeps what it was asked."""

    revision = "r"

    def __init__(self) -> None:
        self.questions: list[str] = []

    def read(self, question: str, sentences: Sequence[SentenceInContext]) -> list[float]:
        raise NotImplementedError

    def mark(self, question: str, sentences: Sequence[SentenceInContext]) -> list[tuple[TokenMark, ...]]:
        self.questions.append(question)
        starts = [one.text.rstrip(".").rindex(" ") + 1 for one in sentences]
        return [(TokenMark(start, len(one.text) - 1, 2.0),) for one, start in zip(sentences, starts, strict=True)]


class Alone:
    def neighbours(self, sentences: Sequence[Sentence]) -> list[tuple[None, None]]:
        return [(None, None) for _ in sentences]


def test_companions_have_no_highlights_and_each_quote_is_marked_for_what_it_answers() -> None:
    first, second, third = (
        replace(sentence(text), doc_id=doc_id)
        for doc_id, text in (
            ("a.md", "Sow canola in May."),
            ("b.md", "Sow rye in autumn."),
            ("c.md", "It may rot then."),
        )
    )
    encoder = Marking()
    citations = highlighted(
        [cited(first), cited(second), cited(third, companion_of=second.id)],
        {first.id: "When canola?", second.id: "When rye?", third.id: "When rye?"},
        encoder=SentenceReader(encoder, 8, ()),
        reader=cast("Reader", Alone()),
    )

    assert [citation.highlights for citation in citations] == [(Span(114, 117),), (Span(111, 117),), ()]
    assert encoder.questions == ["When canola?", "When rye?"]


def test_without_a_cross_encoder_there_are_no_highlights() -> None:
    one = cited(sentence("Sow in May."))

    assert highlighted([one], {one.sentence.id: "When?"}, encoder=None, reader=cast("Reader", Alone())) == (one,)
