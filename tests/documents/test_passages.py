"""Passages are whole sentences, inside a section, of a useful size, each overlapping the next a little."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from quoth.documents.split_document import LEAST_TOKENS, LONGEST_TOKENS, MOST_OVERLAP, MOST_TOKENS, passages
from quoth.language.words import count_tokens
from quoth.types import Passage, Quote, RegionKind, Sentence, Span


def sentence(words: int, section: tuple[str, ...], start: int, page: int | None = None) -> Sentence:
    text = " ".join(["word"] * (words - 1)) + " end."
    span = Span(start, start + len(text))
    return Sentence("a.md", Quote(span, text), RegionKind.PARAGRAPH, section, None, page, None, {})


def document(*parts: tuple[str, list[int]]) -> list[Sentence]:
    """Sentences of the given lengths in tokens, under sections written `A/B`."""
    found: list[Sentence] = []
    start = 0
    for section, lengths in parts:
        for length in lengths:
            found.append(sentence(max(1, length - 1), tuple(section.split("/")) if section else (), start))
            start = found[-1].quote.span.end + 1
    return found


def shape(found: tuple[Passage, ...]) -> list[tuple[str, int, int]]:
    return [("/".join(one.section), one.first, one.last) for one in found]


def test_the_words_of_a_test_sentence_are_its_tokens_and_its_period() -> None:
    assert [count_tokens(one.text) for one in document(("A", [20, 3]))] == [20, 3]


def test_a_section_that_fits_is_one_passage() -> None:
    assert shape(passages(document(("A", [200, 200, 200])))) == [("A", 0, 2)]


def test_a_long_section_is_cut_into_even_parts_that_overlap() -> None:
    found = passages(document(("A", [50] * 40)))

    assert len(found) == 3
    assert all(500 <= one.tokens <= LONGEST_TOKENS for one in found)
    assert [before.last - after.first + 1 for before, after in pairwise(found)] == [2, 2]
    assert (found[0].first, found[-1].last) == (0, 39)


def test_sections_are_never_mixed_when_they_are_long_enough() -> None:
    assert shape(passages(document(("A", [150]), ("B", [150])))) == [("A", 0, 0), ("B", 1, 1)]


def test_small_sections_are_joined_under_the_heading_they_share() -> None:
    found = passages(document(("A", [3]), ("A/One", [40, 40]), ("A/Two", [40]), ("A/Three", [300])))

    assert shape(found) == [("A", 0, 3), ("A/Three", 4, 4)]


def test_small_sections_of_different_chapters_stay_apart() -> None:
    found = passages(document(("A/One", [40]), ("B/One", [40]), ("C", [40])))

    assert shape(found) == [("A/One", 0, 0), ("B/One", 1, 1), ("C", 2, 2)]


def test_a_small_section_is_not_joined_with_one_that_it_would_make_too_long() -> None:
    assert shape(passages(document(("A/One", [60]), ("A/Two", [790])))) == [("A/One", 0, 0), ("A/Two", 1, 1)]


def test_a_document_without_headings_is_cut_as_one_section() -> None:
    assert shape(passages(document(("", [500, 500])))) == [("", 0, 0), ("", 1, 1)]


def test_a_sentence_longer_than_a_passage_stands_alone() -> None:
    assert shape(passages(document(("A", [300, 2_000, 300])))) == [("A", 0, 0), ("A", 1, 1), ("A", 2, 2)]


def test_a_passage_has_the_page_of_its_first_sentence() -> None:
    (found,) = passages([sentence(20, ("A",), 0, page=4), sentence(20, ("A",), 200, page=5)])

    assert (found.page, found.id) == (4, f"a.md:0-{found.span.end}")


def test_nothing_gives_nothing() -> None:
    assert passages([]) == ()


SECTIONS = st.sampled_from(["", "A", "A/One", "A/Two", "A/Two/x", "B", "B/One"])


@settings(deadline=None)
@given(st.lists(st.tuples(SECTIONS, st.lists(st.integers(2, 500), min_size=1, max_size=6)), max_size=6))
def test_every_sentence_is_in_a_passage_and_no_passage_is_too_long_or_leaves_its_section(
    parts: list[tuple[str, list[int]]],
) -> None:
    sentences = document(*parts)
    found = passages(sentences)

    assert {place for one in found for place in range(one.first, one.last + 1)} == set(range(len(sentences)))
    assert [one.first for one in found] == sorted(one.first for one in found)
    for one in found:
        inside = sentences[one.first : one.last + 1]
        assert one.span == Span(inside[0].quote.span.start, inside[-1].quote.span.end)
        assert all(each.section[: len(one.section)] == one.section for each in inside)
        assert one.tokens == sum(count_tokens(each.text) for each in inside) <= MOST_TOKENS
        assert one.section or all(not each.section for each in inside)
    counted = Counter(one.section for one in found)
    for before, after in pairwise(found):
        shared = sentences[after.first : before.last + 1]
        assert sum(count_tokens(each.text) for each in shared) <= MOST_OVERLAP
        assert after.first > before.first
        # A section that was cut is too long to be joined with anything, however short its last part is.
        whole = all(counted[one.section] == 1 for one in (before, after))
        both = before.section[:-1] == after.section[:-1] != () and before.section != after.section
        small = min(before.tokens, after.tokens) < LEAST_TOKENS and before.tokens + after.tokens <= LONGEST_TOKENS
        assert not (whole and both and small)
