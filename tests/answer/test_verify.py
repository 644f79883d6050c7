"""Verification slices the source again and compares with `==`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.answer.verification import CitationMismatch, Verification, verify_quote, verify_run
from quoth.errors import OffsetMismatch
from quoth.types import Document, Metadata, Quote, Span

TEXT = "Sow at 2.5 cm.\r\nRoll 👩‍🌾 twice."
TEXTS = {"a.md": TEXT}


def document(text: str) -> Document:
    return Document(
        "a.md", text, "", "", "utf-8", "text", "", Metadata(None, None, None, None, (), None, {}, False, (), None, None)
    )


def citation(start: int, end: int, text: str, **more: object) -> dict[str, Any]:
    return {"doc_id": "a.md", "start": start, "end": end, "text": text, **more}


def verified(*citations: object, nearest: tuple[object, ...] = ()) -> Verification:
    result = {"question_id": "7", "answer_sentences": list(citations), "nearest": list(nearest)}
    return verify_run([result], TEXTS.get)


def why(*citations: object) -> list[str]:
    return [failure.why for failure in verified(*citations).failures]


@given(text=st.text(min_size=1), data=st.data())
def test_every_slice_of_a_document_verifies(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))

    verify_quote(document(text), Quote(Span(start, end), text[start:end]))


@pytest.mark.parametrize(
    ("start", "end", "text"),
    [
        (0, 3, "sow"),
        (1, 4, "Sow"),
        (0, 3, "Sow "),
        (0, 4, "Sow"),
        (14, 20, "\nRoll"),
        (0, len(TEXT) + 1, TEXT),
        (0, len(TEXT), TEXT.replace("\r\n", "\n")),
    ],
)
def test_anything_softer_than_equal_is_a_mismatch(start: int, end: int, text: str) -> None:
    with pytest.raises(OffsetMismatch):
        verify_quote(document(TEXT), Quote(Span(start, end), text))


def test_a_run_of_exact_citations_has_no_failure() -> None:
    lead = {"text": "Sow", "start": 0, "end": 3}
    result = verified(citation(0, 14, "Sow at 2.5 cm."), nearest=(citation(16, 20, "Roll", lead=lead),))

    assert result == Verification(3, ())


def test_a_failure_names_the_question_the_place_and_both_texts() -> None:
    assert verified(citation(9, 14, "5 cm!")).failures == (
        CitationMismatch("7", "a.md", 9, 14, "the document says '5 cm.', the citation '5 cm!'"),
    )


def test_offsets_count_code_points() -> None:
    start = TEXT.index("twice")

    in_bytes = len(TEXT[:start].encode())

    assert why(citation(start, start + 5, "twice")) == []
    assert len(why(citation(in_bytes, in_bytes + 5, "twice"))) == 1


def test_offsets_of_translated_line_ends_are_found_wrong() -> None:
    start = TEXT.replace("\r\n", "\n").index("Roll")

    assert len(why(citation(start, start + 4, "Roll"))) == 1


@pytest.mark.parametrize(("start", "end"), [(-1, 3), (3, 3), (5, 3), (0, 999), (999, 1003)])
def test_a_place_outside_the_document_is_a_failure(start: int, end: int) -> None:
    assert why(citation(start, end, "Sow")) == [f"it lies outside the document's {len(TEXT)} characters"]


def test_an_unknown_document_is_a_failure() -> None:
    assert why({**citation(0, 3, "Sow"), "doc_id": "b.md"}) == ["there is no such document"]


@pytest.mark.parametrize("key", ["doc_id", "start", "end", "text"])
@pytest.mark.parametrize("value", [None, "0", 1.5, []])
def test_a_citation_that_lacks_a_part_is_a_failure(key: str, value: object) -> None:
    if isinstance(value, str) and key in {"doc_id", "text"}:
        value = 0
    broken = {**citation(0, 3, "Sow"), key: value}

    assert why(broken) == ["it has no doc_id, start, end and text"]


def test_a_wrong_lead_is_a_failure_of_its_own() -> None:
    result = verified(citation(16, 20, "Roll", lead={"text": "Sew", "start": 0, "end": 3}))

    assert result == Verification(
        2, (CitationMismatch("7", "a.md", 0, 3, "the document says 'Sow', the citation 'Sew'"),)
    )


def test_the_nearest_evidence_of_an_abstention_is_checked_too() -> None:
    assert len(verified(nearest=(citation(0, 3, "Sew"),)).failures) == 1


def test_a_run_without_results_has_nothing_to_check() -> None:
    assert verify_run([], TEXTS.get) == Verification(0, ())
    assert verify_run([{"question_id": "1"}], TEXTS.get) == Verification(0, ())


def test_a_long_text_is_shortened_in_the_message() -> None:
    (failure,) = verify_run(
        [{"question_id": "1", "answer_sentences": [citation(0, 100, "x" * 100)]}], {"a.md": "y" * 200}.get
    ).failures

    assert failure.why == f"the document says {'y' * 57 + '…'!r}, the citation {'x' * 57 + '…'!r}"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"final_answer": "Sow at 5 cm."}, ["its final_answer is not the quoted sentences"]),
        ({"final_answer": "Sow at 2.5 cm.", "abstained": True}, ["it abstains and answers, or does neither"]),
        ({"final_answer": "Sow at 2.5 cm.", "abstained": False}, []),
    ],
)
def test_a_result_must_say_what_it_cites(more: dict[str, Any], expected: list[str]) -> None:
    result = {"question_id": "7", "answer_sentences": [citation(0, 14, "Sow at 2.5 cm.")], **more}

    assert [failure.why for failure in verify_run([result], TEXTS.get).failures] == expected


def test_what_the_sources_say_that_disagree_is_checked_too() -> None:
    right = citation(16, 20, "Roll", lead={"text": "Sow", "start": 0, "end": 3})
    for wrong, said in (
        (citation(0, 3, "Sew"), "the document says 'Sow', the citation 'Sew'"),
        ({"says": "Sew"}, "it has no doc_id, start, end and text"),
        ("Sew", "it has no doc_id, start, end and text"),
    ):
        conflicts = [{"kind": "number", "statements": [right, wrong]}, {"statements": []}]
        found = verify_run([{"question_id": "7", "answer_sentences": [], "conflicts": conflicts}], TEXTS.get)
        assert (found.citations, [one.why for one in found.failures]) == (3, [said])


@pytest.mark.parametrize("conflicts", ["x", 7, [7], {"statements": 7}, [{"statements": {}}]])
def test_what_is_no_conflict_does_not_pass(conflicts: object) -> None:
    found = verify_run([{"question_id": "7", "conflicts": conflicts}], TEXTS.get)

    assert [one.why for one in found.failures] == ["it has no doc_id, start, end and text"]


def test_a_result_without_an_id_has_none() -> None:
    (failure,) = verify_run([{"answer_sentences": [citation(0, 3, "Sew")]}], TEXTS.get).failures

    assert failure.question_id == ""
