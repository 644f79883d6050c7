"""Tables of a PDF: between rules, with cells that wrap, across columns and over pages."""

from __future__ import annotations

from collections.abc import Sequence

from quoth.documents.formats.pdf.pdf_document import extract
from quoth.types import Extract, RegionKind

from .pdf_files import Sheet, Text, lines, pdf
from .test_pdf import PROSE, texts

LEFT, WIDTH = 50.0, 480.0
COLUMN = (
    "This column of the text tells at length how\nthe seed was sown, and what came up in the\n"
    "plots of the trial in the second spring."
)


def row(y: float, *cells: str, step: float = 120, x: float = LEFT) -> list[Text]:
    return [Text(x + step * column, y, cell, 8) for column, cell in enumerate(cells) if cell]


def ruled(*heights: float) -> list[tuple[float, float, float]]:
    return [(LEFT, y, WIDTH) for y in heights]


def table(found: Extract) -> tuple[list[str], list[str]]:
    return texts(found, RegionKind.TABLE_HEADER), texts(found, RegionKind.TABLE_ROW)


def leads(found: Extract) -> list[str]:
    rows = [region for region in found.regions or () if region.kind is RegionKind.TABLE_ROW]
    return [found.text[region.lead.start : region.lead.end] if region.lead else "" for region in rows]


def test_the_lines_between_the_first_rules_are_the_header_however_its_cells_wrap() -> None:
    cells = [
        *row(118, "", "", "Yield in", "Yield in"),
        *row(127, "Accession", "Rep. 1", "clay", "sand"),
        *row(142, "Cs7g01840", "13", "27.7", "27.4"),
        *row(154, "Cs1g10270", "27", "27.5", "27.4"),
    ]
    around = [Text(LEFT, 100, "Table 1 Proteins of the trial", 8, "bold"), Text(LEFT, 172, "Means of four plots.", 8)]
    found = extract(pdf([Sheet([*around, *cells, *lines(PROSE, y=300)], rules=ruled(108, 132, 160))]))

    assert table(found) == (
        ["Accession | Rep. 1 | Yield in clay | Yield in sand"],
        ["Cs7g01840 | 13 | 27.7 | 27.4", "Cs1g10270 | 27 | 27.5 | 27.4"],
    )
    assert "Means of four plots." in texts(found, RegionKind.PARAGRAPH)


def test_short_rules_part_the_levels_of_a_header() -> None:
    cells = [
        *row(118, "Treatment", "Clay", "", "Sand"),
        *row(134, "", "Adults", "Nymphs", "Adults"),
        *row(150, "Control", "3.1", "2.0", "3.3"),
        *row(162, "Treated", "2.2", "0.9", "2.1"),
    ]
    rules = [*ruled(108, 138, 168), (170, 123, 200), (410, 123, 100)]
    found = extract(pdf([Sheet([*cells, *lines(PROSE, y=300)], rules=rules)]))

    assert table(found) == (
        ["Treatment | Clay |  | Sand", " | Adults | Nymphs | Adults".strip()],
        ["Control | 3.1 | 2.0 | 3.3", "Treated | 2.2 | 0.9 | 2.1"],
    )


def test_a_row_begins_where_its_number_stands() -> None:
    cells = [
        *row(118, "Plant", "Design", "Score"),
        *row(134, "Aloe vera", "Randomized trial in 60", "3"),
        *row(143, "", "subjects of one town"),
        *row(152, "Melissa (dried and", "Open trial", "4"),
        *row(161, "ground leaves)", "Better after a month"),
        *row(170, "Thymus", "Open trial", "2"),
    ]
    found = extract(pdf([Sheet([*cells, *lines(PROSE, y=300)], rules=ruled(108, 123, 176))]))

    assert table(found)[1] == [
        "Aloe vera | Randomized trial in 60 subjects of one town | 3",
        "Melissa (dried and ground leaves) | Open trial Better after a month | 4",
        "Thymus | Open trial | 2",
    ]


def test_rules_between_the_rows_hold_cells_that_stand_in_their_middle() -> None:
    cells = [
        *row(118, "Oil", "Dose", "Fungus"),
        *[Text(LEFT, 134, "Lemongrass leaves that", 8), Text(LEFT, 144, "were ground", 8)],
        *[Text(LEFT + 120, 139, "25 ppm", 8), Text(LEFT + 240, 139, "Botrytis", 8)],
        *[Text(LEFT, 162, "Thyme", 8), Text(LEFT + 120, 162, "50 ppm", 8)],
        *[Text(LEFT + 240, 157, "Rhizopus and", 8), Text(LEFT + 240, 167, "Botrytis", 8)],
        *row(182, "Clove", "90 ppm", "Rhizopus"),
    ]
    found = extract(pdf([Sheet([*cells, *lines(PROSE, y=300)], rules=ruled(108, 123, 148, 172, 188))]))

    assert table(found)[1] == [
        "Lemongrass leaves that were ground | 25 ppm | Botrytis",
        "Thyme | 50 ppm | Rhizopus and Botrytis",
        "Clove | 90 ppm | Rhizopus",
    ]


def test_rules_may_part_groups_of_rows() -> None:
    cells = [*row(118, "Command", "Attribute", "Value")]
    groups = [("roman", "sans", "mono"), ("upright", "italic", "slanted"), ("small", "large", "huge")]
    for at, names in enumerate(groups):
        for nth, name in enumerate(names):
            cells += row(134 + 40 * at + 10 * nth, name, "size", str(at + nth))
    found = extract(pdf([Sheet([*cells, *lines(PROSE, y=400)], rules=ruled(108, 123, 160, 200, 240))]))

    assert len(table(found)[1]) == 9
    assert table(found)[1][3] == "upright | size | 1"


def test_a_table_without_a_last_rule_ends_with_its_last_aligned_line() -> None:
    cells = [
        *row(118, "Arm", "Treated", "Control"),
        *row(134, "Hexane", "4.9", "5.1"),
        *row(146, "Maize", "4.7", "5.3"),
        *row(158, "Ether", "4.8", "5.2"),
        Text(LEFT, 176, "The data were analysed with a paired test, and the means of ten plots are shown.", 8),
    ]
    found = extract(pdf([Sheet([*cells, *lines(PROSE, y=300)], rules=ruled(108, 123))]))

    assert table(found) == (
        ["Arm | Treated | Control"],
        ["Hexane | 4.9 | 5.1", "Maize | 4.7 | 5.3", "Ether | 4.8 | 5.2"],
    )


def test_columns_of_prose_between_rules_are_no_table() -> None:
    text = "\n".join([COLUMN] * 4)
    sheet = Sheet([*lines(text, y=120), *lines(text, x=310, y=120)], rules=ruled(100, 280))
    found = extract(pdf([sheet]))

    assert table(found) == ([], [])


def test_text_that_runs_over_the_ends_of_the_rules_is_no_table() -> None:
    notes = [
        *[Text(LEFT, 118, "Chapter 7", 8), Text(LEFT, 140, "347", 8), Text(LEFT, 164, "349", 8)],
        Text(130, 140, "Replace: the families that have only bold and extended variants in all sizes", 8),
        *[
            Text(130, 152, "of type", 8),
            Text(130, 164, "Add: the font of the table is Computer Modern Type in", 8),
        ],
        Text(130, 176, "all sizes", 8),
    ]
    sheet = Sheet([*notes, *lines(PROSE, y=300)], rules=[(LEFT, y, 150) for y in (108, 123, 182)])

    assert table(extract(pdf([sheet])))[0] == []


def test_small_print_above_a_table_does_not_make_it_a_note() -> None:
    cells = [*row(618, "Crop", "Yield", "Year"), *row(634, "Oats", "4.4", "2019"), *row(646, "Rye", "3.1", "2020")]
    axis = [Text(LEFT, 560, "10%", 8), Text(LEFT, 580, "0%", 8)]
    found = extract(pdf([Sheet([*lines(PROSE), *axis, *cells], rules=ruled(608, 623, 652))]))

    assert table(found)[1] == ["Oats | 4.4 | 2019", "Rye | 3.1 | 2020"]


def test_a_table_printed_sideways_is_read_along_its_lines() -> None:
    def sideways(line: int, *cells: str) -> list[Text]:
        return [Text(200 + 14 * line, 700 - 150 * at, cell, 8, turned="0 1 -1 0") for at, cell in enumerate(cells)]

    cells = [
        *sideways(0, "Crop", "Yield", "Year"),
        *sideways(2, "Oats", "4.4", "2019"),
        *sideways(3, "Rye", "3.1", "2020"),
    ]
    uprights = [(x, 250.0, 460.0) for x in (185, 212, 250)]
    found = extract(pdf([Sheet(cells, uprights=uprights)]))

    assert table(found) == (["Crop | Yield | Year"], ["Oats | 4.4 | 2019", "Rye | 3.1 | 2020"])


def test_a_cell_of_a_grid_that_spans_rows_belongs_to_its_first_row() -> None:
    cells = [
        *[Text(60, 127, "Measure", 8), Text(180, 127, "Plot", 8), Text(300, 118, "Days after sowing", 8)],
        *[Text(300, 134, "57 d", 8), Text(420, 134, "64 d", 8)],
        *[Text(60, 158, "Weight", 8), Text(180, 150, "A", 8), Text(300, 150, "6.3", 8), Text(420, 150, "6.8", 8)],
        *[Text(180, 166, "B", 8), Text(300, 166, "6.4", 8), Text(420, 166, "6.9", 8)],
    ]
    across = [(55.0, y, 480.0) for y in (108, 140, 172)] + [(295.0, 124, 240.0), (175.0, 156, 360.0)]
    upright = [(x, 108.0, 64.0) for x in (55, 175, 295, 535)] + [(415.0, 124.0, 48.0)]
    found = extract(pdf([Sheet([*cells, *lines(PROSE, y=300)], rules=across, uprights=upright)]))

    assert table(found) == (
        ["Measure | Plot | Days after sowing", "|  | 57 d | 64 d"],
        ["Weight | A | 6.3 | 6.8", "| B | 6.4 | 6.9"],
    )


def continued(caption: str) -> Extract:
    """A table whose rows go on at the top of the next page, below `caption`."""
    first = [*row(118, "Plant", "Dose", "Score"), *row(134, "Aloe", "10 ml", "3"), *row(146, "Melissa", "20 ml", "4")]
    more: Sequence[tuple[str, ...]] = [("Thymus", "15 ml", "2"), ("Salvia", "10 ml", "5"), ("Mentha", "30 ml", "1")]
    second = [text for at, cells in enumerate(more) for text in row(134 + 12 * at, *cells)]
    sheets = [
        Sheet([*lines(PROSE, y=300), *first], rules=ruled(108, 123, 152)),
        Sheet([Text(LEFT, 100, caption, 8, "bold"), *second, *lines(PROSE, y=300)]),
    ]
    return extract(pdf(sheets))


def test_the_rows_on_the_next_page_have_the_header_of_the_table() -> None:
    found = continued("Table 1. Continued")

    assert len(table(found)[1]) == 5
    assert leads(found) == ["Plant | Dose | Score"] * 5


def test_the_header_of_a_table_is_not_that_of_another() -> None:
    assert leads(continued("Table 2. Doses")) == ["Plant | Dose | Score"] * 2 + [""] * 3


def test_a_table_across_the_columns_of_the_text_is_read_by_rows() -> None:
    text = "\n".join([COLUMN] * 4)
    columns = Sheet([*lines(text, y=60), *lines(text, x=310, y=60)])
    design = "Randomized, double-blind, controlled trial in 45 adults"
    cells: list[Text] = []
    for at, (plant, days) in enumerate([("Aloe", "28"), ("Melissa", "42"), ("Thymus", "15"), ("Salvia", "21")]):
        y = 100 + 24 * at
        cells += [Text(50, y, plant, 8), Text(110, y, "Gel", 8), Text(170, y, design, 8), Text(430, y, days, 8)]
        cells += [Text(170, y + 10, "of one town", 8), Text(500, y, f"({at + 30})", 8)]
    found = extract(pdf([columns, Sheet([*cells, *lines(text, y=300), *lines(text, x=310, y=300)])]))

    assert table(found)[1][0] == f"Aloe | Gel | {design} of one town | 28 | (30)"
    assert len(table(found)[1]) == 4


def test_the_labels_of_a_figure_are_no_table() -> None:
    axis = [Text(60, 100 + 20 * at, str(600 - 100 * at), 8) for at in range(6)]
    legend = [*row(100, "", "Low", "High"), *row(200, "", "24", "48"), Text(420, 180, "A", 8)]
    found = extract(pdf([Sheet([*axis, *legend, *lines(PROSE, y=400)])]))

    assert table(found) == ([], [])
