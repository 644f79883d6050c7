"""What the pieces of a PDF are: headings, lists, tables, notes, contents and page furniture."""

from __future__ import annotations

from quoth.documents.formats.pdf.pdf_document import extract
from quoth.types import Extract, RegionKind

from .pdf_files import Sheet, Text, lines, pdf
from .test_pdf import PROSE, blocks, texts


def sections(extract: Extract, start: str) -> tuple[str, ...]:
    assert extract.regions is not None
    return next(region.section for region in extract.regions if extract.text.startswith(start, region.span.start))


def body(*, y: float, first: str = "The") -> list[Text]:
    return lines(PROSE.replace("The", first, 1), y=y)


def test_headers_and_footers_that_come_again_are_furniture() -> None:
    sheets = [
        Sheet(
            [Text(50, 30, f"Chapter {n}"), *body(y=100, first=f"Page {n} the"), Text(50, 770, f"Draft, page {n} of 5")]
        )
        for n in range(1, 6)
    ]
    found = extract(pdf(sheets))

    assert texts(found, RegionKind.FURNITURE) == [
        text for n in range(1, 6) for text in (f"Chapter {n}", f"Draft, page {n} of 5")
    ]
    assert len(texts(found, RegionKind.PARAGRAPH)) == 5


def test_a_line_that_comes_again_inside_the_text_is_no_furniture() -> None:
    sheets = [Sheet([*body(y=60), Text(50, 400, "Keep off the grass."), *body(y=600)]) for _ in range(4)]
    found = extract(pdf(sheets))

    assert found.text.count("Keep off the grass.") == 4
    assert all("grass" not in text for text in texts(found, RegionKind.FURNITURE))


def test_page_numbers_are_furniture_even_where_the_text_beside_them_changes() -> None:
    titles = ["Soil", "Water", "Seed", "Harvest"]
    sheets = [
        Sheet([Text(50, 30, f"{title} {n + 11}"), *body(y=100, first=f"On {title} the")])
        for n, title in enumerate(titles)
    ]

    assert texts(extract(pdf(sheets)), RegionKind.FURNITURE) == ["Soil 11", "Water 12", "Seed 13", "Harvest 14"]


def test_the_numbers_of_lines_in_the_margin_are_no_words_of_the_text() -> None:
    prose = "\n".join(f"line {n} of the plea goes on and on until the court" for n in range(1, 9))
    numbers = [Text(30, 60 + 12 * n, str(n + 1)) for n in range(8)]
    found = extract(pdf([Sheet([*lines(prose), *numbers])]))

    assert blocks(found) == [(RegionKind.PARAGRAPH, prose), (RegionKind.FURNITURE, "1\n2\n3\n4\n5\n6\n7\n8")]


def test_a_short_document_keeps_its_first_and_last_lines() -> None:
    found = extract(pdf([Sheet([Text(50, 30, "Dear neighbour,"), *body(y=100), Text(50, 770, "Yours, the farmer")])]))

    assert texts(found, RegionKind.FURNITURE) == []


def test_headings_by_size_and_weight_have_levels() -> None:
    texts_ = [
        Text(50, 60, "Growing Barley", 18, "bold"),
        *body(y=90),
        Text(50, 150, "Sowing", 13, "bold"),
        *body(y=180),
        Text(50, 240, "Seed rate", 10, "bold"),
        *body(y=260, first="Here the"),
        Text(50, 330, "Harvest", 13, "bold"),
        *body(y=360, first="Then the"),
    ]
    found = extract(pdf([Sheet(texts_)]))

    assert texts(found, RegionKind.HEADING) == ["Growing Barley", "Sowing", "Seed rate", "Harvest"]
    assert sections(found, "Here the barley") == ("Growing Barley", "Sowing", "Seed rate")
    assert sections(found, "Then the barley") == ("Growing Barley", "Harvest")


def test_headings_in_the_same_print_rank_by_their_numbers() -> None:
    titles = ["3. From Plants to Orientin", "4. Results", "4.1. Yield", "References"]
    page = [
        text
        for at, title in enumerate(titles)
        for text in (Text(50, 60 + 110 * at, title, 12, "bold"), *body(y=80 + 110 * at, first=f"No. {at} the"))
    ]
    found = extract(pdf([Sheet(page)]))

    assert [sections(found, f"No. {at} the") for at in range(4)] == [
        ("3. From Plants to Orientin",),
        ("4. Results",),
        ("4. Results", "4.1. Yield"),
        ("References",),
    ]


def test_bookmarks_make_headings_with_their_own_levels() -> None:
    sheets = [
        Sheet([*lines("On the sowing of barley"), *body(y=90), *lines("How deep it goes", y=150), *body(y=180)]),
        Sheet([*lines("On the harvest"), *body(y=90, first="Then the")]),
    ]
    marks = [("1 On the Sowing of Barley", 1, 1), ("How deep it goes", 1, 2), ("On the harvest", 2, 1)]
    found = extract(pdf(sheets, bookmarks=marks))

    assert texts(found, RegionKind.HEADING) == ["On the sowing of barley", "How deep it goes", "On the harvest"]
    assert sections(found, "How deep") == ("On the sowing of barley", "How deep it goes")
    assert sections(found, "Then the barley") == ("On the harvest",)


def test_a_table_of_contents_is_no_evidence() -> None:
    dots = "." * 26
    entries = f"Contents\n1 Soil {dots} 3\n2 Water {dots} 7\n3 Seed {dots} 12"
    found = extract(pdf([Sheet([*lines(entries), *body(y=200)])]))

    assert texts(found, RegionKind.CONTENTS) == [entries]
    assert texts(found, RegionKind.PARAGRAPH) == [PROSE]


def test_list_items_know_what_introduces_them() -> None:
    items = [
        *lines("Never apply these in spring:"),
        Text(60, 78, "•"),
        *lines("nitrogen on wet ground, which runs off into\nthe ditches", x=75, y=78),
        Text(60, 104, "•"),
        *lines("slurry", x=75, y=104),
    ]
    items = [Text(one.x, one.y, one.text.replace("•", "•")) for one in items]
    found = extract(pdf([Sheet(items)]))
    assert found.regions is not None

    assert texts(found, RegionKind.LIST_ITEM) == [
        "• nitrogen on wet ground, which runs off into\nthe ditches",
        "• slurry",
    ]
    leads = [region.lead for region in found.regions if region.kind is RegionKind.LIST_ITEM]
    assert all(lead and found.text[lead.start : lead.end] == "Never apply these in spring:" for lead in leads)


def test_a_list_goes_on_over_a_page_break() -> None:
    first = lines("These are needed:\n• seed of barley\n• water", y=700)
    found = extract(pdf([Sheet(first), Sheet(lines("• a roller"))]))
    assert found.regions is not None

    assert found.regions[-1].lead == found.regions[-2].lead is not None


def rows(*cells: str, y: float) -> list[Text]:
    return [Text(50 + 130 * column, y, cell) for column, cell in enumerate(cells) if cell]


def test_aligned_rows_are_a_table() -> None:
    table = [
        *rows("Crop", "Yield (t/ha)", "Year", y=200),
        *rows("Barley", "5.2", "2019", y=216),
        *rows("Wheat", "", "2020", y=232),
        *rows("Oats", "4.4", "2021", y=248),
    ]
    found = extract(pdf([Sheet([*body(y=60), *table, *body(y=320)])]))
    assert found.regions is not None

    assert texts(found, RegionKind.TABLE_HEADER) == ["Crop | Yield (t/ha) | Year"]
    assert texts(found, RegionKind.TABLE_ROW) == ["Barley | 5.2 | 2019", "Wheat |  | 2020", "Oats | 4.4 | 2021"]
    leads = [region.lead for region in found.regions if region.kind is RegionKind.TABLE_ROW]
    assert all(lead and found.text[lead.start : lead.end].startswith("Crop") for lead in leads)


def test_a_cell_that_wraps_stays_in_its_row() -> None:
    table = [
        *rows("Crop", "Yield", "Remark", y=200),
        *rows("Barley", "5.2", "grown after oats", y=216),
        *rows("", "", "on sandy soil", y=228),
        *rows("Wheat", "6.1", "none", y=244),
    ]
    ruled = [(45.0, y, 400.0) for y in (188, 204, 232, 248)]
    for rules in ([], ruled):
        found = extract(pdf([Sheet([*body(y=60), *table], rules=rules)]))

        assert texts(found, RegionKind.TABLE_ROW) == [
            "Barley | 5.2 | grown after oats on sandy soil",
            "Wheat | 6.1 | none",
        ]


def test_ruled_cells_are_read_whole_however_they_wrap() -> None:
    cells = [
        *rows("Term", "Meaning", "Measured", y=212),
        *lines("Water that is held in the", x=180, y=226),
        *lines("Soil moisture", y=232),
        *lines("soil between its parti-", x=180, y=238),
        *lines("weekly", x=310, y=232),
        *lines("cles", x=180, y=250),
        *rows("Field", "What is left after two days", "never", y=266),
        *lines("capacity", y=278),
    ]
    sheet = Sheet(
        [*body(y=60), *cells, *body(y=320)],
        rules=[(45, y, 355) for y in (200, 216, 254, 282)],
        uprights=[(x, 200, 82) for x in (45, 175, 305, 400)],
    )
    found = extract(pdf([sheet]))

    assert [text for kind, text in blocks(found) if kind is not RegionKind.PARAGRAPH] == [
        "Term | Meaning | Measured",
        "Soil moisture | Water that is held in the soil between its parti-\ncles | weekly",
        "Field capacity | What is left after two days | never",
    ]
    assert texts(found, RegionKind.PARAGRAPH) == [PROSE, PROSE]


def test_a_framed_text_is_no_table() -> None:
    sheet = Sheet(body(y=60), rules=[(45, 45, 400), (45, 100, 400)], uprights=[(45, 45, 55), (445, 45, 55)])

    assert texts(extract(pdf([sheet])), RegionKind.PARAGRAPH) == [PROSE]


def test_captions_and_footnotes_are_named() -> None:
    sheet = Sheet(
        [
            *body(y=60),
            Text(50, 300, "Figure 3. Rainfall by month."),
            *lines("Table 2 shows that the yield rose every year,\nwhich nobody had expected.", y=330),
            Text(50, 700, "1 See the report of 1999 for more.", 7),
            Text(50, 709, "2 Measured by hand.", 7),
        ]
    )
    found = extract(pdf([sheet]))

    assert texts(found, RegionKind.CAPTION) == ["Figure 3. Rainfall by month."]
    assert texts(found, RegionKind.FOOTNOTE) == ["1 See the report of 1999 for more.", "2 Measured by hand."]
    assert "Table 2 shows that the yield rose every year,\nwhich nobody had expected." in texts(
        found, RegionKind.PARAGRAPH
    )


def test_a_footnote_goes_on_below_the_next_page() -> None:
    first = Text(50, 700, "1 This was said by others in the", 7)
    second = Text(50, 700, "autumn of 1999 and never since.", 7)
    found = extract(pdf([Sheet([*body(y=60), first]), Sheet([*body(y=60), second])]))

    assert texts(found, RegionKind.FOOTNOTE) == ["1 This was said by others in the\nautumn of 1999 and never since."]


def test_typewriter_text_among_prose_is_code() -> None:
    code = lines("for field in fields:\n    sow(field)", y=130, font="typewriter")
    found = extract(pdf([Sheet([*body(y=60), *code, *body(y=200)])]))

    assert texts(found, RegionKind.CODE) == ["for field in fields:\nsow(field)"]


def test_a_watermark_is_set_apart() -> None:
    askew = Text(150, 500, "DRAFT", 60, turned="0.7 0.7 -0.7 0.7")
    found = extract(pdf([Sheet([*body(y=60), askew])]))

    assert blocks(found) == [(RegionKind.PARAGRAPH, PROSE), (RegionKind.FURNITURE, "DRAFT")]


def test_indented_first_lines_begin_paragraphs() -> None:
    first = (
        "The river rises in the hills above the town and then\nruns down to the sea. It carries a great deal of sand."
    )
    second = "Every spring the meadows along its banks are flooded\nfor a week, and sometimes for two."
    opening, rest = first.split("\n"), second.split("\n")
    page = [
        Text(65, 60, opening[0]),
        Text(50, 72, opening[1]),
        Text(65, 84, rest[0]),
        Text(50, 96, rest[1]),
    ]

    assert texts(extract(pdf([Sheet(page)])), RegionKind.PARAGRAPH) == [first, second]


def test_a_page_number_right_below_the_text_is_no_part_of_its_sentence() -> None:
    column = "\n".join(f"line {n} of the deed goes on without an end and" for n in range(1, 57))
    sheets = [Sheet([*lines(column, y=60), Text(50, 60 + 12 * 56, f"Page {n}")]) for n in range(1, 4)]
    found = extract(pdf(sheets))

    assert texts(found, RegionKind.FURNITURE) == ["Page 1", "Page 2", "Page 3"]


def test_the_last_words_of_a_sentence_are_no_heading_though_a_bookmark_has_them() -> None:
    prose = "The bran of wheat holds fibre, minerals and vitamins, and above all it is rich in\nphenolic acids."
    sheet = Sheet([Text(50, 60, "Phenolic Acids", 16, "bold"), *lines(prose, y=100)])
    found = extract(pdf([sheet], bookmarks=[("Phenolic acids", 1, 1)]))

    assert blocks(found) == [(RegionKind.HEADING, "Phenolic Acids"), (RegionKind.PARAGRAPH, prose)]


def test_the_words_of_a_title_inside_a_sentence_in_capitals_are_no_heading() -> None:
    prose = "IN NO EVENT SHALL THE SELLER BE LIABLE FOR WHAT IS SAID IN THE\nLIMITED WARRANTY\nOF THE MAKER."
    sheet = Sheet([Text(50, 60, "Limited Warranty", 16, "bold"), *lines(prose, y=100)])
    found = extract(pdf([sheet], bookmarks=[("Limited Warranty", 1, 1)]))

    assert texts(found, RegionKind.HEADING) == ["Limited Warranty"]


def test_a_clause_that_begins_a_line_stays_in_its_sentence() -> None:
    prose = (
        "The seller warrants that it (i) is not aware of any claim against the goods; and\n"
        "(ii) is not aware of any other claim that could be made by a third party."
    )
    found = extract(pdf([Sheet(lines(prose))]))

    assert found.text == prose.replace("\n", " ")


def test_an_amount_that_begins_a_line_is_no_item() -> None:
    prose = "Members pay 1.15 for each point of moisture that is removed, and\n1.80 for each month of storage."
    found = extract(pdf([Sheet(lines(prose))]))

    assert blocks(found) == [(RegionKind.PARAGRAPH, prose)]


def test_a_list_in_the_right_column_is_no_table_with_the_left_one() -> None:
    left = "\n".join(f"line {n} of the deed fills the whole of its column" for n in range(1, 31))
    right = [
        mark
        for n in range(15)
        for mark in (
            Text(312, 60 + 24 * n, "•"),
            *lines(f"item {n} of the list has two lines\nand it ends here;", x=330, y=60 + 24 * n),
        )
    ]
    found = extract(pdf([Sheet([*lines(left), *right])]))

    assert texts(found, RegionKind.PARAGRAPH) == [left]
    assert texts(found, RegionKind.LIST_ITEM) == [
        f"• item {n} of the list has two lines\nand it ends here;" for n in range(15)
    ]


def test_a_dash_or_a_measured_value_that_begins_a_line_stays_in_its_sentence() -> None:
    dash = "The whole of the cycle of the engine comprises four events that follow\n– admission, expansion, exhaust."
    value = "Values like these were found in the plants after nine weeks (F: 61.5; A:\n38.5 ± 10.2) and in others."
    found = extract(pdf([Sheet([*lines(dash), *lines(value, y=200)])]))

    assert blocks(found) == [(RegionKind.PARAGRAPH, dash), (RegionKind.PARAGRAPH, value)]


def test_an_abbreviation_at_the_end_of_a_page_ends_no_sentence() -> None:
    first = "\n".join(
        ["The line is as long as any other line of this page and it is full"] * 54
        + ["A naval attack of that year against the new colony at St."]
    )
    found = extract(pdf([Sheet(lines(first)), Sheet(lines("Augustine failed when its ships were hit by a storm."))]))

    assert len(texts(found, RegionKind.PARAGRAPH)) == 1
