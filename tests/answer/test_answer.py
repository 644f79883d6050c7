"""Assembly: every citation is verified before it leaves, and a mismatch stops the answer."""

from __future__ import annotations

import hashlib

import pytest

from quoth.answer.outcomes import cite
from quoth.domain.profile import load_profile
from quoth.errors import OffsetMismatch
from quoth.types import Citation, Document, Evidence, Metadata, Quote, QuoteRole, RegionKind, Sentence, Span

TEXT = "Sow in:\r\n\r\n- spring at 2.5 cm"
ABOUT = Metadata("Guide", "ccr", None, "2022-04-01", (), "en", {}, False, (), None, None)
DOCUMENT = Document("a.md", TEXT, hashlib.sha256(TEXT.encode()).hexdigest(), "0" * 64, "utf-8", "markdown", "", ABOUT)


def quote(text: str, *, start: int | None = None) -> Quote:
    begin = TEXT.index(text) if start is None else start
    return Quote(Span(begin, begin + len(text)), text)


def evidence(cited: Quote, *, lead: Quote | None = None, doc_id: str = "a.md") -> Evidence:
    sentence = Sentence(
        doc_id, cited, RegionKind.LIST_ITEM, section=("Sowing",), lead=lead, page=None, ocr=None, tags={}
    )
    return Evidence(sentence, 0.75, "a.md:0-7", QuoteRole.CONTEXT, ())


def cited(*found: Evidence, profile: str = "general") -> tuple[Citation, ...]:
    return cite(found, {"a.md": DOCUMENT}, load_profile(profile))


def test_a_citation_carries_the_sentence_and_what_is_known_of_its_document() -> None:
    one = evidence(quote("spring at 2.5 cm"), lead=quote("Sow in:"))

    known = (DOCUMENT.sha256, ABOUT, None, "a.md:0-7", None, None)
    place = "spring at 2.5 cm", "Sow in:"
    assert cited(one) == (Citation(one.sentence, 0.75, *known, *place, QuoteRole.CONTEXT, (), ()),)


def test_authority_is_given_where_the_profile_knows_it() -> None:
    assert cited(evidence(quote("spring")), profile="governance")[0].authority == "binding"


@pytest.mark.parametrize(
    ("form", "sheet", "cells"),
    [
        ("xlsx", "Sheet1", "Sheet1!A5:B5"),
        ("xlsx", "Ann's seed", "'Ann''s seed'!A5:B5"),
        ("csv", "", "A5:B5"),
        ("docx", "Sheet1", None),
    ],
)
def test_a_row_of_a_spreadsheet_names_its_cells(form: str, sheet: str, cells: str | None) -> None:
    text = "A4\n\nA4:B4\n\nA5:B5\n\nrye | 2.5 cm"
    document = Document("a.md", text, "0" * 64, "0" * 64, "", form, "", ABOUT)
    row = Quote(Span(18, len(text)), "rye | 2.5 cm")
    section = (sheet,) if sheet else ()
    sentence = Sentence("a.md", row, RegionKind.TABLE_ROW, section=section, lead=None, page=None, ocr=None, tags={})

    (found,) = cite([Evidence(sentence, 0.75, None, QuoteRole.ANSWER, ())], {"a.md": document}, load_profile("general"))
    assert found.cells == cells


def test_nothing_to_cite_gives_no_citation() -> None:
    assert cited() == ()


@pytest.mark.parametrize(
    "wrong",
    [
        quote("Spring", start=13),
        quote("spring", start=14),
        quote("cm ", start=len(TEXT) - 2),
        quote("beyond", start=500),
        quote("Sow in:\n", start=0),
    ],
)
def test_a_quote_that_does_not_match_stops_the_answer(wrong: Quote) -> None:
    with pytest.raises(OffsetMismatch, match=rf"a\.md\[{wrong.span.start}:{wrong.span.end}\]"):
        cited(evidence(quote("spring")), evidence(wrong))


def test_a_lead_that_does_not_match_stops_the_answer() -> None:
    with pytest.raises(OffsetMismatch, match=r"a\.md\[0:7\]"):
        cited(evidence(quote("spring"), lead=quote("Sow on:", start=0)))


def test_a_document_that_is_not_there_stops_the_answer() -> None:
    with pytest.raises(OffsetMismatch, match=r"b\.md\[13:19\]"):
        cited(evidence(quote("spring", start=13), doc_id="b.md"))
