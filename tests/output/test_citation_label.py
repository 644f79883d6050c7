"""The label of a source: one short line, whatever the title, the headings and the file name are like."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.domain.manifest import metadata
from quoth.output.citation_label import section_label, shortened, source_labels
from quoth.types import Citation, Quote, QuoteRole, RegionKind, Sentence, Span

SENTENCE = Sentence("docs/a.md", Quote(Span(0, 4), "Sow."), RegionKind.PARAGRAPH, (), None, None, None, {})
_REST = (None, None, None, None, "Sow.", None, QuoteRole.ANSWER, (), ())
PLAIN = Citation(SENTENCE, 0.9, "", metadata({}, source="", facets=()), *_REST)


def cited(
    title: str | None = None,
    *section: str,
    page: int | None = None,
    doc_id: str = "docs/a.md",
    authors: tuple[str, ...] = (),
    year: int | None = None,
) -> Citation:
    sentence = replace(SENTENCE, doc_id=doc_id, section=section, page=page)
    return replace(PLAIN, sentence=sentence, metadata=replace(PLAIN.metadata, title=title, authors=authors, year=year))


def label(*citations: Citation) -> str:
    return source_labels(citations)[0]


def test_a_label_names_the_document_the_section_and_the_page() -> None:
    found = cited("Discovery West CC&Rs", "ARTICLE IX", "9.1.7 Parking.", page=23)

    assert label(found) == "Discovery West CC&Rs, §9.1.7, p. 23"


def test_a_paper_is_named_by_its_authors_and_year() -> None:
    paper = "Yield of winter canola", "Methods"

    assert (
        label(cited(*paper, page=4, authors=("Smith", "Ali", "Kim"), year=2019)) == "Smith et al. 2019, Methods, p. 4"
    )
    assert label(cited(*paper, authors=("Ali", "Kim"), year=2018)) == "Ali and Kim 2018, Methods"
    assert label(cited(*paper, authors=("Scanner",))) == "Yield of winter canola, Methods"  # no year, so no paper


def test_without_a_title_the_file_is_named() -> None:
    assert label(cited(None, "Scope", doc_id="2019/site plan.pdf", page=2)) == "site plan.pdf, Scope, p. 2"


def test_the_cells_of_a_spreadsheet_are_its_place() -> None:
    assert label(replace(cited("Yields"), cells="Sheet1!A5:D5")) == "Yields, Sheet1!A5:D5"


def test_the_title_is_not_repeated_as_its_own_section() -> None:
    assert label(cited("Canola Guide", "Canola guide")) == "Canola Guide"


def test_two_documents_with_one_name_are_told_apart() -> None:
    title = "Declaration of Covenants, Conditions, and Restrictions for "
    first, second = cited(f"{title}North", doc_id="x/north.md"), cited(f"{title}South", doc_id="x/south.md")

    assert source_labels([first, second, first]) == [
        "Declaration of Covenants, Conditions, and… (x/north.md)",
        "Declaration of Covenants, Conditions, and… (x/south.md)",
        "Declaration of Covenants, Conditions, and… (x/north.md)",
    ]
    assert source_labels([cited(doc_id="a/guide.md"), cited(doc_id=f"{'b' * 50}/guide.md")]) == [
        "guide.md (a/guide.md)",
        f"guide.md (…{'b' * 34}/guide.md)",
    ]
    assert label(first, first) == "Declaration of Covenants, Conditions, and…"


@pytest.mark.parametrize(
    ("heading", "short"),
    [
        ("9.1.7 Parking.", "§9.1.7"),
        ("Section 7.3 Fences", "§7.3"),
        ("§ 17.40.030 Height Limits", "§17.40.030"),
        ("4. Materials", "§4"),
        ("Clause 3", "§3"),
        ("ARTICLE VII USE RESTRICTIONS", "Article VII"),
        ("Exhibit B", "Exhibit B"),
        ("Rule 2. Assessments and Collections", "Rule 2"),
        ("Section 4.2(b) Gates", "§4.2(b)"),
        ("2019 Results", "2019 Results"),
        ("10 tips for sowing", "10 tips for sowing"),
        ("2.5 cm deep furrows", "2.5 cm deep furrows"),
        ("Part of the problem", "Part of the problem"),
        ("Soil pH and how to change it", "Soil pH and how to…"),
        ("", ""),
    ],
)
def test_a_section_is_its_number_or_its_heading(heading: str, short: str) -> None:
    assert section_label(heading) == short


@pytest.mark.parametrize(
    ("title", "short"),
    [
        ("Ten words that fit", "Ten words that fit"),
        ("A guide to 2,400 growing degree days and 6.0-7.0 pH", "A guide to 2,400 growing degree days and…"),
        ("LIMEENERGYCO_09_09_1999-EX-10-DISTRIBUTOR_AGREEMENT.txt", "LIMEENERGYCO_09_09_1999-EX-10-DISTRIBUTOR…"),
        ("Architectural Change Application (Form ARC-1, revised)", "Architectural Change Application…"),
        ("x" * 80, "x" * 43 + "…"),
        ("文" * 80, "文" * 43 + "…"),
        ("دليل زراعة الكانولا في الحوض الشمالي للموسم الشتوي القادم", "دليل زراعة الكانولا في الحوض الشمالي للموسم…"),
        ("Rules\r\n of\x07 the\u202egro\u202c club\x1b[31m", "Rules of thegro club[31m"),
    ],
)
def test_a_long_or_awkward_title_is_cut_between_words_and_stays_one_clean_line(title: str, short: str) -> None:
    assert label(cited(title)) == short


def test_a_cut_takes_no_character_apart() -> None:
    assert shortened("e\u0301" * 40, 44) == "e\u0301" * 21 + "…"


@given(st.text(max_size=120), st.text(max_size=120), st.text(min_size=1, max_size=120))
def test_every_label_is_one_printable_line_of_bounded_length(title: str, heading: str, doc_id: str) -> None:
    (found,) = source_labels([cited(title, heading, page=7, doc_id=doc_id)])

    assert found
    assert found.isprintable()
    assert len(found) <= 90
