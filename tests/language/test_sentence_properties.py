"""Whatever the text, splitting loses nothing, doubles nothing, and never cuts a number."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quoth.documents.sentences import split
from quoth.types import Span

FORMATS = st.sampled_from(["markdown", "text"])

ODD = "\x00\x0b\x0c\x1c\x1f\x85\u2028\u2029\ufeff\u200b\u200d\u0301\u00a0\u3000👩‍🌾🌾é"
LETTERS = st.characters(exclude_categories=["Cs"])
ANY_TEXT = st.text(st.one_of(LETTERS, st.sampled_from(ODD + " \t\r\n.!?()[]\"'`*_-#>|:;0123456789aAbB")), max_size=200)

FRAGMENTS = st.sampled_from(
    [
        *("\n", "\n\n", "\r\n", "\r", " ", "  \n", "\t", "    ", "\f", "\u2028"),
        *("# Heading", "## Two ##", "Setext\n===", "---\n", "---\na: 1\n---\n", "...", "\ufeff"),
        *("- ", "* item", "1. ", "2) two", "(a) one;", "• dot", "> ", "> > ", "[^1]: ", "[a]: /u\n", "[!NOTE]"),
        *("| a | b |\n|---|---|\n| 1 | 2 |", "| x \\| y |", "|", "```\n", "~~~py\n", "`a. B`", "``"),
        *("<div>", "</div>", "<!-- c. D -->", "<!--", "<script>", "<b>b.</b>", "<br>"),
        *("ARTICLE IV", "1. Duties", "1.1 Rent. It is due", "SOIL AND WATER", "Contents\n", "Soil ..... 3\n", "[TOC]"),
        *("- [a](#b)\n", "Figure 1. Yield"),
        *("Sow at 2.5 cm. ", "pH 6.0-7.0. ", "It is 3,250.5 t", "No. 5", "Fig. 3. ", "e.g. ", "U.S. ", "a.m. Then "),
        *("(", ")", "“", "”", '"', "[x](y.z)", "The end.", "Why? ", "土。", "हिन्दी। ", "v1.2.3", "www.a.b", "word "),
    ]
)
MARKDOWN_TEXT = st.lists(FRAGMENTS, max_size=25).map("".join)
NUMBER = re.compile(r"\d+(?:[.,]\d+)+")


def uncovered(text: str, spans: Sequence[Span]) -> str:
    """Return the visible text that no span covers; empty means lossless."""
    covered = {i for span in spans for i in range(span.start, span.end)}
    return "".join(c for i, c in enumerate(text) if i not in covered and not c.isspace())


def disordered(spans: Sequence[Span]) -> list[tuple[Span, Span]]:
    """Return the neighbours that overlap or are in the wrong order."""
    return [(one, two) for one, two in pairwise(spans) if one.end > two.start]


def untrimmed(text: str, spans: Sequence[Span]) -> list[Span]:
    return [span for span in spans if text[span.start : span.end].strip() != text[span.start : span.end]]


def cut_numbers(text: str, spans: Sequence[Span]) -> list[str]:
    """Return the numbers that a span begins or ends inside."""
    edges = {span.start for span in spans} | {span.end for span in spans}
    return [
        number.group()
        for number in NUMBER.finditer(text)
        if any(edge in edges for edge in range(number.start() + 1, number.end()))
    ]


def assert_whole(text: str, form: str) -> None:
    parts = split(text, format=form)
    regions = [region.span for region, _ in parts]
    sentences = [span for _, spans in parts for span in spans]

    assert uncovered(text, regions) == ""
    assert disordered(regions) == []
    for region, spans in parts:
        if region.kind.skipped:
            assert spans == ()
        else:
            inside = [Span(0, region.span.start)] if region.span.start else []
            rest = [Span(region.span.end, len(text))] if region.span.end < len(text) else []
            assert uncovered(text, [*inside, *spans, *rest]) == ""
            assert all(region.span.start <= span.start and span.end <= region.span.end for span in spans)
        assert region.lead is None or text[region.lead.start : region.lead.end].strip() != ""
    assert disordered(sentences) == []
    assert untrimmed(text, sentences) == []
    assert cut_numbers(text, sentences) == []
    assert split(text, format=form) == parts


@given(ANY_TEXT, FORMATS)
@settings(max_examples=400, deadline=None)
def test_any_text_is_split_without_loss(text: str, form: str) -> None:
    assert_whole(text, form)


@given(MARKDOWN_TEXT, FORMATS)
@settings(max_examples=500, deadline=None)
def test_text_that_looks_like_markdown_is_split_without_loss(text: str, form: str) -> None:
    assert_whole(text, form)


@given(
    st.lists(
        st.sampled_from(["Sow 2.5 cm", "pH 6.0-7.0", "see No. 5", "1,250.75 kg", "The end"]), min_size=1, max_size=8
    )
)
@settings(max_examples=100, deadline=None)
def test_sentences_of_numbers_come_back_as_they_were_joined(sentences: list[str]) -> None:
    text = " ".join(f"We {sentence}." for sentence in sentences)

    found = [text[span.start : span.end] for _, spans in split(text, format="text") for span in spans]

    assert found == [f"We {sentence}." for sentence in sentences]


TEXT = "Sow at 2.5 cm. Roll."


def test_a_split_that_drops_half_a_number_is_caught() -> None:
    assert uncovered(TEXT, [Span(0, 14), Span(15, 20)]) == ""
    assert uncovered(TEXT, [Span(9, 14), Span(15, 20)]) == "Sowat2."
    assert cut_numbers(TEXT, [Span(0, 14), Span(15, 20)]) == []
    assert cut_numbers(TEXT, [Span(0, 9), Span(9, 14), Span(15, 20)]) == ["2.5"]


@pytest.mark.parametrize(
    ("check", "spans"),
    [
        (disordered, [Span(0, 14), Span(13, 20)]),
        (disordered, [Span(15, 20), Span(0, 14)]),
        (lambda spans: untrimmed(TEXT, spans), [Span(0, 15), Span(15, 20)]),
        (lambda spans: untrimmed(TEXT, spans), [Span(0, 14), Span(14, 20)]),
    ],
)
def test_overlaps_disorder_and_loose_ends_are_caught(
    check: Callable[[list[Span]], list[object]], spans: list[Span]
) -> None:
    assert check(spans) != []
