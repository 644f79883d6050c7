"""Outcomes as JSON: a fixed shape, and the only place that writes `abstained`."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from quoth.language.display import Vocabulary
from quoth.output.render import citation_json, document_json, json_line, outcome_json, sentence_json
from quoth.types import (
    NO_FILTERS,
    Abstention,
    Answer,
    Citation,
    DocumentInfo,
    Metadata,
    Objection,
    Outlook,
    Question,
    Quote,
    QuoteRole,
    Reason,
    RegionKind,
    RunNotes,
    Sentence,
    Span,
    Supersession,
)

QUESTION = Question("7", "How deep?", NO_FILTERS)
NOTES = RunNotes(
    retriever="hybrid_bm25_dense",
    k_initial=73,
    rerank_topk=20,
    decision=("answered",),
    max_retrieval=0.123456,
    support_count=4,
    redundancy_before=0.5912,
    redundancy_after=0.4,
    degraded=(),
    warnings=(),
    profile="agriculture",
    calibrated=False,
    index="abc",
    settings="def",
)
SENTENCE = Sentence(
    "canola/guide.md",
    Quote(Span(10, 24), "Sow at 2.5 cm."),
    RegionKind.PARAGRAPH,
    ("Sowing", "Depth"),
    lead=None,
    page=None,
    ocr=None,
    tags={"crop": ("canola", "corn"), "practice": ("planting",)},
)
SUCCESSORS = (Supersession("b.md", "Depth"), Supersession("c.md", "Width"))
ABOUT = Metadata("Rules", "ccr", True, "2009-06-01", SUCCESSORS, "en", {}, False, ("Ada Ek",), 2008, "10.1234/ab")
_NOTHING_ELSE = (None, None, None, None)
PLAIN = Citation(SENTENCE, 0.910049, "f" * 64, ABOUT, *_NOTHING_ELSE, "Sow at 2.5 cm.", None, QuoteRole.ANSWER, (), ())
MISS = replace(PLAIN, why="It does not mention rye.")
ABSTENTION = Abstention(
    QUESTION,
    Objection(Reason.NO_RESULTS, "Nothing."),
    Outlook.MAY_BE_RELEVANT,
    missing=("rye",),
    unsupported_parts=("rye",),
    nearest=(MISS,),
    confidence=0.25,
    notes=NOTES,
    understood=None,
)


def answer(*citations: Citation) -> dict[str, Any]:
    return outcome_json(Answer(QUESTION, citations, (), (), (), 0.93004, NOTES, None))


def test_the_first_nine_fields_are_fixed() -> None:
    nine = [
        *("question_id", "question", "abstained", "answer_sentences", "final_answer"),
        *("confidence", "reason", "nearest", "run_notes"),
    ]

    assert list(answer(PLAIN))[:9] == nine
    assert list(outcome_json(ABSTENTION)) == list(answer(PLAIN))


def test_an_answer_is_its_sentences_and_no_reason() -> None:
    result = answer(PLAIN, replace(PLAIN, sentence=replace(SENTENCE, quote=Quote(Span(25, 30), "Roll."))))

    assert (result["question_id"], result["question"], result["abstained"]) == ("7", "How deep?", False)
    assert result["final_answer"] == "Sow at 2.5 cm.\nRoll."
    assert [one["text"] for one in result["answer_sentences"]] == ["Sow at 2.5 cm.", "Roll."]
    assert (result["reason"], result["nearest"], result["confidence"]) == (None, [], 0.93)
    assert (result["offset_unit"], result["unsupported_parts"], result["conflicts"]) == ("codepoint", [], [])


def test_an_abstention_has_a_reason_and_the_nearest_evidence_and_no_answer() -> None:
    result = outcome_json(ABSTENTION)

    assert (result["abstained"], result["answer_sentences"], result["final_answer"]) == (True, [], "")
    assert result["reason"] == {"code": "no_results", "detail": "Nothing."}
    assert result["nearest"] == [citation_json(PLAIN) | {"why": "It does not mention rye."}]
    assert (result["missing"], result["unsupported_parts"]) == (["rye"], ["rye"])
    assert result["confidence"] == 0.25


def test_a_sentence_carries_its_place_tags_and_source() -> None:
    assert citation_json(PLAIN) == {
        "text": "Sow at 2.5 cm.",
        "doc_id": "canola/guide.md",
        "start": 10,
        "end": 24,
        "display": "Sow at 2.5 cm.",
        "tags": {"crop": "canola", "practice": "planting"},
        "all_tags": {"crop": ["canola", "corn"], "practice": ["planting"]},
        "score": 0.91,
        "section": ["Sowing", "Depth"],
        "page": None,
        "ocr_confidence": None,
        "doc_sha256": "f" * 64,
        "region": "paragraph",
        "lead": None,
        "companion_of": None,
        "role": "answer",
        "label": "Ada Ek 2008, Depth",
        "highlights": [],
        "byline": "Ada Ek, 2008",
        "doi": "10.1234/ab",
    }


def test_highlights_are_offsets_and_parts_of_what_is_shown() -> None:
    result = citation_json(replace(PLAIN, highlights=(Span(17, 23),)))

    assert result["highlights"] == [[17, 23]]
    assert result["display_parts"] == ["Sow at ", "2.5 cm", "."]


def test_a_lead_and_a_companion_are_shown() -> None:
    lead = Quote(Span(0, 8), "Sow so:\n")
    listed = replace(PLAIN, sentence=replace(SENTENCE, lead=lead), lead_display="Sow so:", companion_of="a.md:0-4")
    result = citation_json(listed)

    assert result["lead"] == {"text": "Sow so:\n", "start": 0, "end": 8, "display": "Sow so:"}
    assert result["companion_of"] == "a.md:0-4"


def test_the_other_places_of_a_quote_are_exact_quotes_too() -> None:
    place = replace(SENTENCE, quote=Quote(Span(40, 54), "Sow at 2.5 cm."), section=("Rye",))

    assert citation_json(replace(PLAIN, also=(place,)))["also"] == [
        {
            "text": "Sow at 2.5 cm.",
            "doc_id": "canola/guide.md",
            "start": 40,
            "end": 54,
            "section": ["Rye"],
            "page": None,
        }
    ]
    assert "also" not in citation_json(PLAIN)


def test_in_governance_a_sentence_carries_what_its_document_is_worth() -> None:
    result = citation_json(replace(PLAIN, authority="binding"))

    assert {key: result[key] for key in list(result)[-7:-2]} == {
        "document_type": "ccr",
        "authority": "binding",
        "authority_guessed": False,
        "effective_date": "2009-06-01",
        "superseded_by": [{"section": "Depth", "by": "b.md"}],
    }


def test_a_section_that_nothing_replaces_is_superseded_by_null() -> None:
    elsewhere = replace(SENTENCE, section=("Height",))

    assert citation_json(replace(PLAIN, authority="binding", sentence=elsewhere))["superseded_by"] is None


def test_elsewhere_a_sentence_carries_no_authority() -> None:
    assert not {"document_type", "authority", "effective_date", "superseded_by"} & set(citation_json(PLAIN))


def test_run_notes_say_how_it_came_about_without_a_clock() -> None:
    assert answer(PLAIN)["run_notes"] == {
        "retriever": "hybrid_bm25_dense",
        "k_initial": 73,
        "rerank_topk": 20,
        "decision": ["answered"],
        "scores": {"max_retrieval": 0.1235, "support_count": 4, "redundancy_before": 0.5912, "redundancy_after": 0.4},
        "degraded": [],
        "warnings": [],
        "profile": "agriculture",
        "calibrated": False,
        "index": "abc",
        "settings": "def",
    }


def test_a_sentence_of_an_index_is_listed_with_its_place() -> None:
    listed = sentence_json(SENTENCE, Vocabulary("Sow at 2.5 cm."))

    assert (listed["text"], listed["start"], listed["end"]) == ("Sow at 2.5 cm.", 10, 24)
    assert (listed["section"], listed["tags"]["crop"]) == (["Sowing", "Depth"], "canola")


def test_words_that_a_line_breaks_are_joined_for_people_alone() -> None:
    text = "Infor-\nmation for  all."
    broken = replace(SENTENCE, quote=Quote(Span(10, 10 + len(text)), text), lead=Quote(Span(0, 9), "Read\nthis"))
    listed = sentence_json(broken, Vocabulary(text))

    assert (listed["text"], listed["display"]) == (text, "Information for all.")
    assert (listed["lead"]["text"], listed["lead"]["display"]) == ("Read\nthis", "Read this")


def test_a_document_is_listed_with_both_its_hashes() -> None:
    listed = document_json(DocumentInfo("a.md", "1" * 64, "2" * 64, "cp1252", "text", "", 30, 2, 0, ABOUT))

    assert (listed["doc_sha256"], listed["source_sha256"], listed["encoding"]) == ("1" * 64, "2" * 64, "cp1252")
    assert listed["superseded_by"] == [{"section": "Depth", "by": "b.md"}, {"section": "Width", "by": "c.md"}]


@pytest.mark.parametrize("text", ["Eskişehir 🌾", "a\nb", "\u2028\x85", 'a "quote" \\', "\x00\x1b"])
def test_a_line_of_json_is_one_line_and_reads_back(text: str) -> None:
    line = json_line({"text": text})

    assert "\n" not in line
    assert json.loads(line) == {"text": text}


def test_characters_are_written_as_they_are() -> None:
    assert json_line({"text": "Eskişehir 🌾"}) == '{"text": "Eskişehir 🌾"}'


def test_a_lone_surrogate_is_escaped_so_that_the_line_can_be_written() -> None:
    line = json_line({"text": "bad \udcff byte"})

    assert line.encode() == rb'{"text": "bad \udcff byte"}'
    assert json.loads(line) == {"text": "bad \udcff byte"}
