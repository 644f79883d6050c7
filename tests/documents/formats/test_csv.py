"""Separated values: the delimiter is found, quotes and line ends inside cells hold, ragged rows keep their place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.documents.formats import sheets
from quoth.documents.formats.csv import csv_document as csv
from quoth.errors import UnreadableFile
from quoth.types import RegionKind as Kind

from .docx_files import regions


def said(data: bytes | str) -> list[tuple[Kind, str]]:
    found = regions(csv.extract(data if isinstance(data, bytes) else data.encode()))
    return [pair for pair in found if pair[0] is not Kind.MARKUP]


def texts(data: bytes | str) -> list[str]:
    return [text for _, text in said(data)]


def test_a_row_is_led_by_its_header_and_preceded_by_its_cells() -> None:
    extract = csv.extract(b"crop,depth\nbarley,3\nrye,2.5\n")
    header = (extract.regions or ())[1].span

    assert extract.text == "A1:B1\n\ncrop | depth\n\nA2:B2\n\nbarley | 3\n\nA3:B3\n\nrye | 2.5"
    assert [(region.kind, region.lead) for region in extract.regions or ()][1::2] == [
        (Kind.TABLE_HEADER, None),
        (Kind.TABLE_ROW, header),
        (Kind.TABLE_ROW, header),
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(delimiter: str) -> None:
    lines = [["crop", "depth", "note"], ["barley", "3,5", "a; b"], ["rye", "2,5", "c"]]
    if delimiter == ",":
        lines = [[cell.replace(",", ".") for cell in line] for line in lines]

    assert texts("\r\n".join(delimiter.join(f'"{cell}"' for cell in line) for line in lines))[1] == (
        "barley | 3.5 | a; b" if delimiter == "," else "barley | 3,5 | a; b"
    )


def test_the_declared_delimiter_wins_and_is_a_row() -> None:
    assert regions(csv.extract(b"sep=;\r\na;b,c\r\n1;2\r\n"))[:2] == [
        (Kind.MARKUP, "A2:B2"),
        (Kind.TABLE_HEADER, "a | b,c"),
    ]


def test_quotes_line_ends_and_commas_inside_a_cell_hold() -> None:
    data = 'name,says\r\nAnn,"Sow, then\r\nroll"\r\nBob,"the ""early"" one"\r\nCyd,5" deep\r\n'

    assert regions(csv.extract(data.encode()))[2:] == [
        (Kind.MARKUP, "A2:B2"),
        (Kind.TABLE_ROW, "Ann | Sow, then roll"),
        (Kind.MARKUP, "A3:B3"),
        (Kind.TABLE_ROW, 'Bob | the "early" one'),
        (Kind.MARKUP, "A4:B4"),
        (Kind.TABLE_ROW, 'Cyd | 5" deep'),
    ]


def test_a_quote_that_is_never_closed_does_not_swallow_the_file() -> None:
    extract = csv.extract(b'name,size\nAnn,"5\nBob,6\nCyd,7\n')

    assert [text for kind, text in regions(extract) if kind is Kind.TABLE_ROW] == ['Ann | "5', "Bob | 6", "Cyd | 7"]
    assert "never closed" in extract.notes[0]


def test_ragged_rows_keep_their_columns() -> None:
    assert texts("a,b,c\n1\n1,2\n1,,3\n1,2,3,4\n")[1:] == ["1", "1 | 2", "1 |  | 3", "1 | 2 | 3 | 4"]


def test_a_file_without_a_header_has_none() -> None:
    assert [kind for kind, _ in said("1,2\n3,4\n")] == [Kind.TABLE_ROW, Kind.TABLE_ROW]
    assert [kind for kind, _ in said("rye,2\nrye,4\n")] == [Kind.TABLE_ROW, Kind.TABLE_ROW]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_marks_are_no_part_of_the_first_name(encoding: str) -> None:
    extract = csv.extract("größe\tort\n3\tEly\n".encode(encoding))

    assert regions(extract)[1] == (Kind.TABLE_HEADER, "größe | ort")
    assert extract.notes == ()


def test_another_encoding_is_named() -> None:
    extract = csv.extract("crop;größe\nrye;2\n".encode("cp1252"))

    assert "crop | größe" in extract.text
    assert extract.notes == ("It is not UTF-8; it was read as cp1252.",)


def test_what_is_no_text_is_refused() -> None:
    for data in (b"a,b\x00\n1,2", b"\x89PNG\r\n\x1a\n\x00\x00"):
        with pytest.raises(UnreadableFile, match="NUL"):
            csv.extract(data)


def test_nothing_says_nothing() -> None:
    assert [csv.extract(data).text for data in (b"", b"\xef\xbb\xbf", b",,,\n,,,\n", b"\r\n\r\n")] == [""] * 4


def test_one_column_of_prose_is_split_into_sentences() -> None:
    assert said('note\n"Sow early. Roll."\nHarrow.\n') == [
        (Kind.PARAGRAPH, "note"),
        (Kind.PARAGRAPH, "Sow early. Roll."),
        (Kind.PARAGRAPH, "Harrow."),
    ]


def test_too_many_rows_are_refused_with_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheets, "MOST_ROWS", 100)

    with pytest.raises(UnreadableFile, match="it has more than 100 rows") as refused:
        csv.extract(b"a,b\n" * 101)
    assert refused.value.hint.startswith("Split it")


def test_a_cell_without_end_is_refused() -> None:
    with pytest.raises(UnreadableFile, match="more than 1,048,576 characters"):
        csv.extract(b"a,b\n" + b"x" * (1 << 21))


@given(st.text('a1,;\t|"\n\r .', max_size=60))
def test_any_text_is_read_whole(text: str) -> None:
    extract = csv.extract(text.encode())
    covered = {place for region in extract.regions or () for place in range(region.span.start, region.span.end)}

    assert all(extract.text[place].isspace() for place in set(range(len(extract.text))) - covered)
