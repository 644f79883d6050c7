"""Workbooks: every row is a line under its header, as a reader of the sheet sees it, and knows its cells."""

from __future__ import annotations

from quoth.documents.formats.xlsx import xlsx_document as xlsx
from quoth.types import RegionKind as Kind

from .docx_files import regions, relations
from .xlsx_files import BOLD, DATE, KILOGRAMS, PERCENT, c, part, row, said, texts, workbook

CROPS = row(1, "Crop", "Depth", "Share") + row(2, "Barley", 3, c(0.25, PERCENT)) + row(3, "Rye", 2.5, c(0.5, PERCENT))


def test_a_row_is_led_by_its_header_and_preceded_by_its_cells() -> None:
    extract = xlsx.extract(workbook(("Sowing", CROPS)))
    header = (extract.regions or ())[2].span

    assert extract.text == (
        "Sowing\n\nA1:C1\n\nCrop | Depth | Share\n\nA2:C2\n\nBarley | 3 | 25%\n\nA3:C3\n\nRye | 2.5 | 50%"
    )
    assert [(region.kind, region.section, region.lead) for region in extract.regions or ()][2:5] == [
        (Kind.TABLE_HEADER, ("Sowing",), None),
        (Kind.MARKUP, ("Sowing",), None),
        (Kind.TABLE_ROW, ("Sowing",), header),
    ]


def test_numbers_and_dates_are_shown_by_their_formats() -> None:
    shown = row(1, "Lot", c(45356, DATE), c(12.34, KILOGRAMS), c(0.085, PERCENT), 0.1 + 0.2)

    assert texts(workbook(("A", shown))) == ["A", "Lot | 2024-03-05 | 12.3 kg | 9% | 0.3"]


def test_dates_may_count_from_1904() -> None:
    since_1904 = workbook(("A", row(1, "x", c(43894, DATE))), properties='<workbookPr date1904="1"/>')

    assert texts(since_1904) == ["A", "x | 2024-03-05"]


def test_a_formula_gives_its_stored_value_and_one_without_is_counted() -> None:
    sums = '<c r="A1"><f>1+1</f><v>2</v></c><c r="B1" t="str"><f>"a"</f><v>a</v></c><c r="C1"><f>NOW()</f></c>'
    extract = xlsx.extract(workbook(("A", f'<row r="1">{sums}</row>')))

    assert extract.text == "A\n\nA1:B1\n\n2 | a"
    assert extract.notes == (
        "1 formulas have no stored value: open the file in a spreadsheet program and save it, and they will have one.",
    )


def test_shared_texts_booleans_and_errors_are_read() -> None:
    shared = (
        '<si><r><t>Bar</t></r><r><t>ley</t></r><rPh sb="0" eb="1"><t>reading</t></rPh></si><si><t>a_x000D_b</t></si>'
    )
    cells = (
        '<c t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="b"><v>1</v></c><c t="e"><v>#N/A</v></c><c t="s"><v>9</v></c>'
    )
    more: dict[str, str | bytes] = {"xl/strings.xml": part("sst", shared)}

    assert texts(workbook(("A", f"<row>{cells}</row>"), more=more)) == ["A", "Barley | a b | TRUE | #N/A"]


def test_what_is_hidden_is_left_out_and_named() -> None:
    sheet = (
        '<cols><col min="2" max="2" hidden="1"/></cols><sheetData>'
        + row(1, "Crop", "Secret", "Depth")
        + row(2, "Rye", "x", 2, more='hidden="1"')
        + row(3, "Oats", "y", 4)
        + "</sheetData>"
    )
    extract = xlsx.extract(workbook(("Open", sheet), ('Prices" state="hidden', row(1, "a", "b"))))

    assert [text for _, text in regions(extract)] == ["Open", "A1:C1", "Crop | Depth", "A3:C3", "Oats | 4"]
    assert extract.notes == ("Hidden sheets are not read: Prices.", "Hidden rows and columns are not read, in: Open.")


def test_a_cell_merged_over_rows_is_said_in_each_and_one_over_columns_once() -> None:
    rows = row(1, "Crop", "Year", "Yield") + row(2, "Wheat", 2020, 5) + row(3, "", 2021, 6) + row(4, "all", "", 9)
    merged = '<mergeCells><mergeCell ref="A2:A3"/><mergeCell ref="A4:B4"/></mergeCells>'

    assert texts(workbook(("A", f"<sheetData>{rows}</sheetData>{merged}")))[2:] == [
        "Wheat | 2020 | 5",
        "Wheat | 2021 | 6",
        "all |  | 9",
    ]


def test_a_line_above_a_table_is_its_title_and_notes_below_are_paragraphs() -> None:
    rows = (
        row(1, "Seed rates")
        + row(2, "Crop", "Rate", "Unit")
        + row(3, "Rye", 90, "kg")
        + row(5, "Sow early. Roll afterwards.")
    )
    extract = xlsx.extract(workbook(("Seed", rows)))

    assert said(workbook(("Seed", rows))) == [
        (Kind.HEADING, "Seed"),
        (Kind.HEADING, "Seed rates"),
        (Kind.TABLE_HEADER, "Crop | Rate | Unit"),
        (Kind.TABLE_ROW, "Rye | 90 | kg"),
        (Kind.PARAGRAPH, "Sow early. Roll afterwards."),
    ]
    assert (extract.regions or ())[6].section == ("Seed", "Seed rates")


def test_a_first_row_that_names_columns_is_the_header() -> None:
    def first(*rows: str) -> Kind:
        return said(workbook(("A", "".join(rows))))[1][0]

    names = row(2, "Ann", "Ely", "north") + row(3, "Bob", "Diss", "south")
    assert first(row(1, "Who", "Town", "Side"), names) is Kind.TABLE_HEADER
    assert first(row(1, c("Who", BOLD), c("Town", BOLD)), row(2, "Ann", "Ely")) is Kind.TABLE_HEADER
    assert first(row(1, "Crop", 2020, 2021), row(2, "Rye", 4, 5)) is Kind.TABLE_HEADER
    assert first(row(1, "Buyer", "J. Smith"), row(2, "Place", "Ely")) is Kind.TABLE_ROW
    assert first(row(1, "Cyd", "Ely", "north"), names) is Kind.TABLE_ROW
    assert first(row(1, "Rye", 4, 5), row(2, "Oats", 4, 6)) is Kind.TABLE_ROW
    assert first(row(1, "only", "one", "row")) is Kind.TABLE_ROW


def test_a_filter_and_a_table_declare_their_headers() -> None:
    rows = row(1, "x", "y") + row(2, "Name", "Place") + row(3, "Ann", "Ely")
    filtered = f'<sheetData>{rows}</sheetData><autoFilter ref="A2:B3"/>'
    more: dict[str, str | bytes] = {
        "xl/worksheets/_rels/sheet0.xml.rels": relations({"../tables/table1.xml": "table"}),
        "xl/tables/table1.xml": part("table", "").replace("<table ", '<table ref="A2:B3" '),
    }

    for data in (workbook(("A", filtered)), workbook(("A", rows), more=more)):
        assert [kind for kind, _ in said(data)][1:] == [Kind.TABLE_ROW, Kind.TABLE_HEADER, Kind.TABLE_ROW]


def test_a_table_goes_on_after_a_blank_row() -> None:
    extract = xlsx.extract(workbook(("A", CROPS + row(5, "Oats", 4, c(0.1, PERCENT)))))
    header = (extract.regions or ())[2].span

    assert (extract.regions or ())[-1].lead == header


def test_tables_beside_each_other_are_read_one_after_the_other() -> None:
    left: list[tuple[str, str | int]] = [
        ("Crop", "Depth"),
        ("Rye", 2),
        ("Oats", 4),
        ("Peas", 6),
        ("Flax", 1),
        ("Soy", 3),
        ("Maize", 5),
    ]
    right: dict[int, tuple[str, str | int]] = {1: ("Town", "Rain"), 2: ("Ely", 500), 3: ("Diss", 600)}
    rows = "".join(row(number, *pair, "", *right.get(number, ())) for number, pair in enumerate(left, 1))
    found = texts(workbook(("A", rows)))

    assert found[1:3] == ["Crop | Depth", "Rye | 2"]
    assert found[-3:] == ["Town | Rain", "Ely | 500", "Diss | 600"]


def test_a_column_that_is_only_for_looks_does_not_divide_a_table() -> None:
    rows = (
        row(1, "Crop", "Kind", "", "Rate", "Unit") + row(2, "Rye", "x", "", 90, "kg") + row(3, "Oat", "y", "", 80, "g")
    )

    assert texts(workbook(("A", rows)))[2] == "Rye | x | 90 | kg"


def test_a_long_text_in_a_cell_becomes_a_paragraph_with_its_own_address() -> None:
    long = "It rained all day. " * 60
    found = regions(xlsx.extract(workbook(("A", row(1, "Day", "Note", "No") + row(2, "Monday", long, 7)))))

    assert found[3:] == [
        (Kind.MARKUP, "A2:C2"),
        (Kind.TABLE_ROW, "Monday |  | 7"),
        (Kind.MARKUP, "B2"),
        (Kind.PARAGRAPH, long.strip()),
    ]


def test_an_empty_sheet_says_nothing_and_the_next_is_read() -> None:
    assert texts(workbook(("Empty", ""), ("Full", row(7, "a", "b", first=3)))) == ["Full", "a | b"]
    assert texts(workbook(("Empty", ""))) == []


def test_columns_without_text_make_no_gaps_but_keep_their_letters() -> None:
    found = regions(xlsx.extract(workbook(("A", row(1, "a", first=0) + row(2, "b", "c", first=700)))))

    assert found[1:] == [
        (Kind.MARKUP, "A1"),
        (Kind.HEADING, "a"),
        (Kind.MARKUP, "ZY2:ZZ2"),
        (Kind.TABLE_ROW, "b | c"),
    ]


def test_title_and_language_come_from_the_properties() -> None:
    core = (
        '<p xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Seed book</dc:title><dc:language>en</dc:language></p>'
    )
    more: dict[str, str | bytes] = {
        "_rels/.rels": relations({"xl/workbook.xml": "officeDocument", "core.xml": "core-properties"}),
        "core.xml": core,
    }

    assert xlsx.extract(workbook(("A", CROPS), more=more)).properties == {"title": "Seed book", "language": "en"}
