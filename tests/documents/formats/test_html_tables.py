from __future__ import annotations

from quoth.types import RegionKind

from .html_pages import blocks, leads, texts

HEADER, ROW, PARAGRAPH = RegionKind.TABLE_HEADER, RegionKind.TABLE_ROW, RegionKind.PARAGRAPH


def test_rows_stand_under_their_header() -> None:
    table = "<table><thead><tr><th>Crop<th>pH</tr></thead><tr><td>Oats<td>5.5</tr><tr><td>Rye<td></tr></table>"

    assert leads(table) == [("Crop | pH", None), ("Oats | 5.5", "Crop | pH"), ("Rye", "Crop | pH")]


def test_header_rows_are_joined_by_column_and_spanning_cells_are_repeated() -> None:
    table = """<table><caption>Yields</caption>
        <tr><th rowspan=2>Crop</th><th colspan=2>Yield</th></tr><tr><th>2019</th><th>2020</th></tr>
        <tr><td rowspan=2>Oats</td><td>1</td><td>2</td></tr><tr><td colspan=2>3</td></tr>
        <tr><td colspan=3>Rye was not sown.</td></tr></table>"""

    assert blocks(table) == [
        (RegionKind.CAPTION, "Yields"),
        (HEADER, "Crop | Yield 2019 | Yield 2020"),
        (ROW, "Oats | 1 | 2"),
        (ROW, "Oats | 3 | 3"),
        (ROW, "Rye was not sown."),
    ]


def test_a_bold_first_row_is_a_header_and_an_empty_cell_keeps_its_place() -> None:
    table = "<table><tr><td><p><b>Crop</b></p><td><b>pH</b><td><b>N</b></tr><tr><td>Oats<td><td>40</tr></table>"

    assert blocks(table) == [(HEADER, "Crop | pH | N"), (ROW, "Oats |  | 40")]


def test_a_title_as_wide_as_the_table_is_said_once() -> None:
    table = "<table><tr><th colspan=2>Oats</th></tr><tr><td>Soil<td>loam</tr><tr><td>pH<td>6</tr></table>"

    assert blocks(table) == [(HEADER, "Oats"), (ROW, "Soil | loam"), (ROW, "pH | 6")]


def test_the_foot_comes_last() -> None:
    table = "<table><tfoot><tr><td>Sum<td>3</tr></tfoot><tbody><tr><td>a<td>1<tr><td>b<td>2</tbody></table>"

    assert texts(table) == ["a | 1", "b | 2", "Sum | 3"]


def test_a_cell_is_one_line_whatever_is_in_it() -> None:
    table = "<table><tr><th>a<th>b<tr><td>one<br>two<td><ul><li>x<li>y</ul><p>10<sup>3</sup></p></table>"

    assert texts(table) == ["a | b", "one two | • x • y 10³"]


def test_tables_that_only_arrange_the_page_are_read_as_flow() -> None:
    shown = [(RegionKind.HEADING, "Soil"), (PARAGRAPH, "Dig it.")]

    assert blocks("<table><tr><td><h2>Soil</h2><p>Dig it.</p></td><td></td></tr></table>") == shown
    assert blocks("<table role=presentation><tr><td><h2>Soil</h2><td>Dig it.</table>") == shown
    assert texts("<table><tr><td>One.<tr><td>Two.</table>") == ["One.", "Two."]
    assert texts("<table><tr><td>menu<td><table><tr><th>a<th>b<tr><td>1<td>2</table></table>") == [
        "menu",
        "a | b",
        "1 | 2",
    ]


def test_a_span_cannot_blow_a_table_up() -> None:
    cell = f"<td colspan=1000 rowspan=60000>{'y' * 100}</td>"
    rows = texts(f"<table><tr><th>a<th>b</tr><tr>{cell}<td>z</td></tr>{'<tr><td>w</td></tr>' * 2000}</table>")

    assert sum(map(len, rows)) < 2_000_000
