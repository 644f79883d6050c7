"""Papers as PDF: their titles, mastheads, headings in a print of their own, and raised numbers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from quoth.documents.formats.pdf.pdf_document import extract
from quoth.types import Extract, RegionKind

from .pdf_files import Sheet, Text, lines, pdf
from .test_pdf import PROSE, texts

TITLE = "Effect of sowing depth on the emergence of canola in clay"
REFERENCES = (
    "1. Lee S, Badieyan S, Bevan DR (2010) Volatiles of maize. Plant J 59: 149-155.\n\n"
    "2. Glick BR (2005) Modulation of plant ethylene. FEMS Microbiol Lett 251: 1-7."
)


def paper(*, above: list[Text] | None = None, title: str = "") -> Extract:
    """A first page as journals print it, and a second one with the references."""
    masthead = [
        *(above or []),
        Text(50, 100, TITLE, 18),
        Text(50, 130, "Ann Lee1, Bo Chen2", 12, "bold"),
        Text(50, 150, "1 Department of Agronomy, Acme University, Ohio", 8),
        Text(50, 165, "Received 2 May 2020; Accepted 3 June 2021", 8),
    ]
    first = Sheet([*masthead, Text(50, 200, "Abstract", 12, "bold"), *lines(PROSE, y=220)])
    last = Sheet([*lines(PROSE, y=60), Text(50, 300, "References", 12, "bold"), *lines(REFERENCES, y=320)])
    return extract(pdf([first, last], title=title))


def test_the_title_is_what_is_printed_largest() -> None:
    assert paper().properties["title"] == TITLE


@pytest.mark.parametrize("stated", ["1472-6882-6-3.fm", "Another paper that was made with the same template"])
def test_a_stated_title_that_no_page_prints_is_not_believed(stated: str) -> None:
    assert paper(title=stated).properties["title"] == TITLE


def test_a_stated_title_that_is_printed_is_believed() -> None:
    stated = "Effect of Sowing Depth on the Emergence of Canola in Clay"

    assert paper(title=stated).properties["title"] == stated


def test_the_name_of_a_journal_is_no_title_though_it_is_larger() -> None:
    assert paper(above=[Text(50, 60, "Annals of Seeds", 20, "bold")]).properties["title"] == TITLE


def test_a_stated_title_stays_where_nothing_is_printed_larger() -> None:
    assert extract(pdf([Sheet(lines(PROSE))], title="A letter")).properties["title"] == "A letter"


def test_the_masthead_of_a_paper_is_named() -> None:
    found = paper(above=[Text(50, 60, "Annals of Seeds", 20, "bold")])

    assert texts(found, RegionKind.MASTHEAD) == [
        "Annals of Seeds",
        "Ann Lee1, Bo Chen2",
        "1 Department of Agronomy, Acme University, Ohio",
        "Received 2 May 2020; Accepted 3 June 2021",
    ]
    assert texts(found, RegionKind.HEADING) == [TITLE, "Abstract", "References"]
    assert texts(found, RegionKind.REFERENCES) == REFERENCES.split("\n\n")


def test_a_letter_has_no_masthead() -> None:
    page = [Text(50, 60, "Annual report on seeds", 18), Text(50, 90, "Department of Agronomy", 8), *lines(PROSE, y=120)]

    assert texts(extract(pdf([Sheet(page)])), RegionKind.MASTHEAD) == []


def test_short_lines_in_a_print_of_their_own_above_the_text_are_headings() -> None:
    page = [
        Text(50, 60, "Plant material", 9, "italic"),
        *lines(PROSE, y=75),
        Text(50, 300, "Data analysis", 9, "italic"),
        *lines(PROSE, y=315),
    ]

    assert texts(extract(pdf([Sheet(page)])), RegionKind.HEADING) == ["Plant material", "Data analysis"]


def test_a_single_line_in_another_print_may_be_anything() -> None:
    page = [Text(50, 60, "Plant material", 9, "italic"), *lines(PROSE, y=75)]

    assert texts(extract(pdf([Sheet(page)])), RegionKind.HEADING) == []


def test_a_heading_that_runs_into_its_paragraph_ends_where_the_sentence_begins() -> None:
    begins = (("Sowing.", 60), ("Harvest.", 300))
    page = [
        part
        for head, y in begins
        for part in (
            Text(50, y, head, 10, "bold"),
            Text(95, y, "Plots were laid out in spring and again in autumn of", 10),
            *lines("the same year, with four plots of each kind in each field.", y=y + 12),
        )
    ]
    found = extract(pdf([Sheet(page)]))

    assert texts(found, RegionKind.HEADING) == ["Sowing.", "Harvest."]
    assert all(text.startswith("Plots were") for text in texts(found, RegionKind.PARAGRAPH))


@pytest.mark.parametrize(
    ("base", "raised", "expected"), [("10", "8", "10⁸"), ("word", "4,5", "word⁴,⁵"), ("mL", "-1", "mL⁻¹")]
)
def test_raised_numbers_stay_raised(base: str, raised: str, expected: str) -> None:
    width = {"10": 11.1, "word": 21.7, "mL": 13.9}[base]
    page = [Text(50, 60, base), Text(50 + width, 56, raised, 6), *lines(PROSE, y=100)]

    assert extract(pdf([Sheet(page)])).text.startswith(expected)


def test_a_name_printed_sideways_on_every_page_is_furniture() -> None:
    margin = Text(580, 500, "Annals of Seeds 374: 20180313", 8, turned="0 1 -1 0")
    pages = [lines(PROSE.replace("The barley", crop), y=300) for crop in ("Rye", "Oats", "Wheat", "Flax", "Rape")]
    found = extract(pdf([Sheet([*page, margin]) for page in pages]))

    assert texts(found, RegionKind.FURNITURE) == ["Annals of Seeds 374: 20180313"] * 5


def table(rows: Sequence[tuple[str, ...]], *, y: float = 100) -> list[Text]:
    return [
        Text(50 + 120 * column, y + 14 * row, cell)
        for row, cells in enumerate(rows)
        for column, cell in enumerate(cells)
        if cell
    ]


def test_the_rows_above_a_rule_are_the_header() -> None:
    rows = [
        ("Gene", "Direction", "Primer"),
        ("AOS", "Forward", "GGGT"),
        ("LOX", "Reverse", "CGCA"),
        ("TPS", "Forward", "ATTC"),
    ]
    found = extract(pdf([Sheet([*table(rows), *lines(PROSE, y=300)], rules=[(50, 105, 300)])]))

    assert texts(found, RegionKind.TABLE_HEADER) == ["Gene | Direction | Primer"]
    assert len(texts(found, RegionKind.TABLE_ROW)) == 3


def test_a_header_that_leaves_columns_without_a_name_goes_on_in_the_next_row() -> None:
    headers = [("Physical", "", "Day"), ("parameter", "Treatment", "57")]
    rows = [("Weight", "Low", "6.4"), ("Sugar", "High", "8.4"), ("Acid", "Low", "7.7")]
    found = extract(pdf([Sheet([*table([*headers, *rows]), *lines(PROSE, y=300)])]))
    leads = [one.lead for one in found.regions or () if one.kind is RegionKind.TABLE_ROW and one.lead]

    assert texts(found, RegionKind.TABLE_HEADER) == ["Physical |  | Day", "parameter | Treatment | 57"]
    assert [found.text[lead.start : lead.end].split("\n\n") for lead in leads] == [
        texts(found, RegionKind.TABLE_HEADER)
    ] * 3
