"""A hostile or broken workbook is refused with a sentence and a next step, or survived."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quoth.documents.formats import sheets
from quoth.documents.formats.xlsx import xlsx_document as xlsx
from quoth.errors import UnreadableFile

from .docx_files import archive, p, word
from .xlsx_files import part, row, texts, workbook

OLE = bytes.fromhex("d0cf11e0a1b11ae1")


def refusal(data: bytes) -> str:
    with pytest.raises(UnreadableFile) as refused:
        xlsx.extract(data)
    assert refused.value.hint
    return str(refused.value)


def test_what_is_no_workbook_is_refused() -> None:
    assert "it is not a .xlsx" in refusal(b"just words")
    assert "it is not a .xlsx" in refusal(workbook(("A", row(1, "cut off")))[:-40])
    assert "without a workbook" in refusal(archive({"hello.txt": "hello"}))
    assert "is not a workbook" in refusal(word(p("Words.")))
    assert "protected by a password" in refusal(OLE + "EncryptedPackage".encode("utf-16-le"))
    assert "older Office, not a .xlsx" in refusal(OLE + b"\x00" * 600)


@pytest.mark.parametrize("place", ["xl/worksheets/sheet0.xml", "xl/strings.xml", "xl/styles.xml"])
def test_entities_are_refused_before_they_grow(place: str) -> None:
    laughs = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    bomb = f'<!DOCTYPE d [<!ENTITY e0 "ha">{laughs}]>' + part("sst", "<si><t>&e11;</t></si>").split("?>", 1)[1]

    assert "declares a document type" in refusal(workbook(("A", row(1, "a")), more={place: bomb}))


def test_a_sheet_that_unpacks_to_too_much_is_refused() -> None:
    bomb = part("worksheet", " " * (9 << 20))

    assert "unpacks to too much" in refusal(workbook(("A", ""), more={"xl/worksheets/sheet0.xml": bomb}))


@pytest.mark.parametrize(
    ("limit", "value", "why"),
    [("MOST_ROWS", 3, "more than 3 rows"), ("MOST_CHARACTERS", 20, "more than 20 characters")],
)
def test_too_much_is_refused_in_numbers(monkeypatch: pytest.MonkeyPatch, limit: str, value: int, why: str) -> None:
    data = workbook(("A", "".join(row(number, "some words", number) for number in range(1, 6))))

    assert len(texts(data)) == 6
    monkeypatch.setattr(sheets, limit, value)
    assert why in refusal(data)


def test_cells_spread_over_all_columns_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheets, "MOST_CELLS", 40_000)
    wide = "".join(f'<row r="{n}"><c r="A{n}"><v>1</v></c><c r="XFD{n}"><v>2</v></c></row>' for n in range(1, 9))

    assert "more than 40,000 cells" in refusal(workbook(("A", wide)))


def test_absurd_addresses_and_areas_are_survived() -> None:
    cells = (
        '<row r="1048576"><c r="ZZZ1048576"><v>1</v></c><c r="A0"><v>2</v></c><c r="$$"><v>3</v></c></row>'
        '<row r="-5"><c r="A1" s="999" t="odd"><v>4</v></c></row><row r="99999999999"><c><v>1e999</v></c></row>'
    )
    areas = '<mergeCells><mergeCell ref="A1:XFD1048576"/><mergeCell ref=":"/><mergeCell/></mergeCells>'

    assert texts(workbook(("A", f"<sheetData>{cells}</sheetData>{areas}")))[0] == "A"


def test_many_merged_areas_over_many_rows_end_soon() -> None:
    rows = row(1, "top", "x") + "".join(row(number, "", number) for number in range(2, 200))
    areas = "<mergeCells>" + '<mergeCell ref="A1:A1048576"/>' * 5_000 + "</mergeCells>"

    assert texts(workbook(("A", f"<sheetData>{rows}</sheetData>{areas}")))[-1] == "top | 199"


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_file_with_flipped_bytes_is_read_or_refused_never_worse(data: st.DataObject) -> None:
    whole = bytearray(workbook(("A", row(1, "Crop", "Depth") + row(2, "Rye", 2.5))))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        extract = xlsx.extract(bytes(whole))
    except UnreadableFile:
        return
    assert "\x00" not in extract.text


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 12),
            st.lists(st.one_of(st.just(""), st.text("ab1.|\n ", max_size=5), st.floats(), st.integers()), max_size=5),
        ),
        max_size=12,
    )
)
def test_any_cells_give_a_whole_text(rows: list[tuple[int, list[str | float]]]) -> None:
    extract = xlsx.extract(workbook(("A", "".join(row(number, *cells) for number, cells in rows))))
    covered = {place for region in extract.regions or () for place in range(region.span.start, region.span.end)}

    assert all(extract.text[place].isspace() for place in set(range(len(extract.text))) - covered)
