"""Tables: a row is one line under its header, merged cells say what they mean, frames are only text."""

from __future__ import annotations

from quoth.documents.formats.docx import docx_document as docx
from quoth.documents.formats.docx.docx_blocks import LONGEST_ROW
from quoth.types import RegionKind as Kind

from .docx_files import STYLES, level, numbered, numbering, p, run, said, table, tc, texts, tr, word

HEADER = "<w:tblHeader/>"


def bold(text: str) -> str:
    return tc(p(run(text, "<w:b/>")))


def span(text: str, columns: int) -> str:
    return tc(text, f'<w:gridSpan w:val="{columns}"/>')


def merged(text: str, how: str) -> str:
    return tc(text, f'<w:vMerge w:val="{how}"/>')


def test_rows_are_led_by_the_declared_header() -> None:
    extract = docx.extract(word(table(tr("Crop", "Rate", properties=HEADER), tr("Wheat", "5 t"), tr("Rye", "4 t"))))
    header = (extract.regions or ())[0].span

    assert extract.text == "Crop | Rate\n\nWheat | 5 t\n\nRye | 4 t"
    assert [(region.kind, region.lead) for region in extract.regions or ()] == [
        (Kind.TABLE_HEADER, None),
        (Kind.TABLE_ROW, header),
        (Kind.TABLE_ROW, header),
    ]


def test_two_declared_rows_are_one_header() -> None:
    head = tr("", span("Yield", 2), properties=HEADER) + tr("Crop", "2020", "2021", properties=HEADER)

    assert said(word(table(head, tr("Wheat", "5", "6")))) == [
        (Kind.TABLE_HEADER, "| Yield"),
        (Kind.TABLE_HEADER, "Crop | 2020 | 2021"),
        (Kind.TABLE_ROW, "Wheat | 5 | 6"),
    ]


def test_a_first_row_that_stands_out_is_the_header() -> None:
    def first(rows: str) -> Kind:
        return said(word(table(rows)))[0][0]

    shade = '<w:shd w:val="clear" w:fill="D9D9D9"/>'
    body = tr("Wheat", "tall") + tr("Rye", "short")
    assert first(tr(bold("Crop"), bold("Height")) + body) is Kind.TABLE_HEADER
    assert first(tr(tc("Crop", shade), tc("Height", shade)) + body) is Kind.TABLE_HEADER
    assert first(tr("Crop", "Rate") + tr("Wheat", "5 t") + tr("Rye", "4,5 t")) is Kind.TABLE_HEADER
    assert first(tr("Crop", "Height") + body) is Kind.TABLE_ROW
    assert first(tr("Buyer", "J. Smith") + tr("Price", "500") + tr("Place", "Ely")) is Kind.TABLE_ROW
    assert first(tr(bold("Wheat"), bold("5")) + tr("Rye", "4")) is Kind.TABLE_ROW
    assert first(tr(bold("Only"), bold("row"))) is Kind.TABLE_ROW


def test_a_table_that_declares_every_row_a_header_still_states_something() -> None:
    assert said(word(table(tr("Wheat", "5", properties=HEADER)))) == [(Kind.TABLE_ROW, "Wheat | 5")]


def test_a_cell_merged_over_rows_is_said_in_each() -> None:
    body = table(
        tr(merged("Wheat", "restart"), "2020", "5"), tr(merged("", "continue"), "2021", "6"), tr("Rye", "2020", "4")
    )

    assert texts(word(body)) == ["Wheat | 2020 | 5", "Wheat | 2021 | 6", "Rye | 2020 | 4"]


def test_a_cell_merged_over_columns_keeps_the_others_in_place() -> None:
    assert texts(word(table(tr("Crop", "2020", "2021"), tr("Rye", span("none", 2)), tr(span("all", 2), "9")))) == [
        "Crop | 2020 | 2021",
        "Rye | none",
        "all |  | 9",
    ]


def test_edges_that_are_a_little_off_make_no_columns() -> None:
    uneven = tr("Crop", span("Rate", 2)) + tr(span("Wheat", 2), "5")

    assert texts(word(table(uneven))) == ["Crop | Rate", "Wheat | 5"]


def test_a_header_by_its_style_counts_wherever_it_stands() -> None:
    styles = STYLES + '<w:style w:type="paragraph" w:styleId="Head"><w:name w:val="Table Heading"/></w:style>'
    head = tr(tc(p("Town", style="Head")), tc(p("Rain", style="Head")))

    assert [kind for kind, _ in said(word(table(tr("a", "b"), head, tr("Ely", "500")), styles=styles))] == [
        *(Kind.TABLE_ROW, Kind.TABLE_HEADER, Kind.TABLE_ROW)
    ]


def test_columns_left_out_at_the_start_keep_their_place() -> None:
    assert texts(word(table(tr("a", "b"), tr("c", properties='<w:gridBefore w:val="1"/>')))) == ["a | b", "| c"]


def test_a_cell_is_one_line_whatever_stands_in_it() -> None:
    cell = tc(p("Use:") + numbered("lime") + numbered("ash"))

    assert texts(word(table(tr("Acid", cell), tr("x", "y")), numbering=numbering(level(0, "decimal", "%1."))))[0] == (
        "Acid | Use: 1. lime 2. ash"
    )


def test_a_table_of_one_column_is_only_a_frame() -> None:
    body = table(tr(tc(p("Soil", style="berschrift1") + p("Test it."))), tr("Then sow."))

    assert said(word(body)) == [(Kind.HEADING, "Soil"), (Kind.PARAGRAPH, "Test it."), (Kind.PARAGRAPH, "Then sow.")]


def test_a_table_in_a_frame_is_a_table() -> None:
    inner = table(tr("a", "b"), tr("c", "d"))

    assert said(word(table(tr(tc(p("Before.") + inner + p("After.")))))) == [
        (Kind.PARAGRAPH, "Before."),
        (Kind.TABLE_ROW, "a | b"),
        (Kind.TABLE_ROW, "c | d"),
        (Kind.PARAGRAPH, "After."),
    ]


def test_a_table_in_a_cell_follows_the_table_around_it() -> None:
    inner = table(tr("Town", "Rain", properties=HEADER), tr("Ely", "500"))
    extract = docx.extract(
        word(table(tr("Crop", "Rate", properties=HEADER), tr("Wheat", tc(p("5") + inner)), tr("Rye", "4")))
    )
    header = (extract.regions or ())[0].span

    assert extract.text.split("\n\n") == ["Crop | Rate", "Wheat | 5", "Rye | 4", "Town | Rain", "Ely | 500"]
    assert (extract.regions or ())[2].lead == header


def test_text_laid_out_in_columns_is_read_cell_by_cell() -> None:
    long = "This sentence stands in a column of a newsletter. " * (LONGEST_ROW // 40)

    assert said(word(table(tr(long, "Beside it."), tr("a", "b")))) == [
        (Kind.PARAGRAPH, long.strip()),
        (Kind.PARAGRAPH, "Beside it."),
        (Kind.TABLE_ROW, "a | b"),
    ]


def test_two_tables_in_a_row_keep_their_headers() -> None:
    one, two = tr("Crop", "Rate", properties=HEADER), tr("Town", "Rain", properties=HEADER)
    extract = docx.extract(word(table(one, tr("Wheat", "5")) + table(two, tr("Ely", "500"))))
    found = extract.regions or ()

    assert [region.lead for region in found] == [None, found[0].span, None, found[2].span]


def test_deleted_rows_are_left_out_and_wrapped_ones_are_not() -> None:
    wrapped = f"<w:sdt><w:sdtContent>{tr('c', 'd')}</w:sdtContent></w:sdt>"

    assert texts(word(table(tr("a", "b"), tr("x", "y", properties="<w:del/>"), wrapped))) == ["a | b", "c | d"]


def test_absurd_spans_are_bounded() -> None:
    assert len(texts(word(table(tr(span("a", 999_999_999), "b"), tr("c", "d"))))[0]) < 1_000


def test_tables_nested_deeply_are_survived() -> None:
    body = p("core")
    for _ in range(40):
        body = table(tr(tc(body)))

    assert texts(word(body)) == ["core"]
