"""RTF, old Word files and ODT by way of LibreOffice."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from quoth.documents.formats import legacy
from quoth.documents.formats.docx import docx_document as docx
from quoth.errors import UnreadableFile
from quoth.types import RegionKind as Kind

from .docx_files import p, regions, word

OLE = bytes.fromhex("d0cf11e0a1b11ae1")
needs_office = pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")

RTF = rb"""{\rtf1\ansi\deff0{\fonttbl{\f0 Times;}}
{\stylesheet{\s0 Normal;}{\s1\outlinelevel0 heading 1;}}
{\pard\s1\outlinelevel0 Parking\par}
{\pard The setback is 10.5 feet{\super\chftn}{\footnote {\super\chftn} In winter.}. No boats\'92 trailers.\par}
{\trowd\cellx2000\cellx4000\pard\intbl Crop\cell Rate\cell\row}
{\trowd\cellx2000\cellx4000\pard\intbl Wheat\cell 5 t\cell\row}
{\trowd\cellx2000\cellx4000\pard\intbl Rye\cell 4 t\cell\row}
{\pard Hidden {\v secret }text. Caf\u233?.\par}}"""

HTML = """<html><head><title>Parking</title></head><body><h1>Parking</h1><p>Owners may not:</p>
<ul><li>park boats<ul><li>at night</li></ul></li><li>burn leaves.</li></ul>
<p>Follow these steps:</p><ol><li>Ask.</li><li>Wait 2.5 days.</li></ol><h2>Rates</h2>
<table border="1"><tr><th>Crop</th><th>Rate</th></tr><tr><td rowspan="2">Wheat</td><td>5 t</td></tr>
<tr><td>6 t</td></tr></table><p>That is 10<sup>5</sup> of CO<sub>2</sub>.</p></body></html>"""


def refusal(data: bytes, ending: str) -> UnreadableFile:
    with pytest.raises(UnreadableFile) as refused:
        legacy.extract(data, ending)
    assert refused.value.hint
    return refused.value


def office(stream: str) -> bytes:
    """The beginning of an old Office file whose directory names one stream."""
    return OLE + b"\x00" * 504 + stream.encode("utf-16-le").ljust(128, b"\x00")


def convert(source: Path, form: str) -> Path:
    """`source` saved by LibreOffice in another format, beside it."""
    profile = source.parent / "profile"
    subprocess.run(
        [
            *("soffice", f"-env:UserInstallation={profile.as_uri()}", "--headless", "--norestore"),
            *(["--infilter=HTML (StarWriter)"] if source.suffix == ".html" else []),
            *("--convert-to", form, "--outdir", str(source.parent), str(source)),
        ],
        check=True,
        capture_output=True,
        timeout=120,
    )
    return source.with_suffix("." + form.partition(":")[0])


@needs_office
def test_rtf_is_read_with_its_headings_notes_and_tables() -> None:
    extract = legacy.extract(RTF, ".rtf")

    assert regions(extract) == [
        (Kind.HEADING, "Parking"),
        (Kind.PARAGRAPH, "The setback is 10.5 feet. No boats’ trailers."),
        (Kind.FOOTNOTE, "[1] In winter."),
        (Kind.TABLE_HEADER, "Crop | Rate"),
        (Kind.TABLE_ROW, "Wheat | 5 t"),
        (Kind.TABLE_ROW, "Rye | 4 t"),
        (Kind.PARAGRAPH, "Hidden text. Café."),
    ]


@needs_office
def test_what_libreoffice_writes_is_read_from_docx_doc_and_odt(tmp_path: Path) -> None:
    source = tmp_path / "rules.html"
    source.write_text(HTML, encoding="utf-8")
    written = convert(source, "docx:MS Word 2007 XML")
    expected = [
        (Kind.HEADING, "Parking"),
        (Kind.PARAGRAPH, "Owners may not:"),
        (Kind.LIST_ITEM, "• park boats"),
        (Kind.LIST_ITEM, "• at night"),
        (Kind.LIST_ITEM, "• burn leaves."),
        (Kind.PARAGRAPH, "Follow these steps:"),
        (Kind.LIST_ITEM, "1. Ask."),
        (Kind.LIST_ITEM, "2. Wait 2.5 days."),
        (Kind.HEADING, "Rates"),
        (Kind.TABLE_HEADER, "Crop | Rate"),
        (Kind.TABLE_ROW, "Wheat | 5 t"),
        (Kind.TABLE_ROW, "Wheat | 6 t"),
        (Kind.PARAGRAPH, "That is 10⁵ of CO2."),
    ]

    extract = docx.extract(written.read_bytes())
    assert regions(extract) == expected
    assert extract.properties["title"] == "Parking"
    found = extract.regions or ()
    assert [extract.text[r.lead.start : r.lead.end] for r in found[2:5] if r.lead] == [
        "Owners may not:",
        "Owners may not:\n\n• park boats",
        "Owners may not:",
    ]
    assert found[9].section == ("Parking", "Rates")
    old = convert(written, "doc")
    assert regions(legacy.extract(old.read_bytes(), ".doc")) == expected
    open_document = convert(source, "odt:writer8")
    assert regions(legacy.extract(open_document.read_bytes(), ".odt")) == expected


@needs_office
def test_items_without_marks_know_their_lead_in_an_old_word_file(tmp_path: Path) -> None:
    source = tmp_path / "rules.rtf"
    source.write_bytes(
        rb"{\rtf1\ansi{\pard Owners may not keep:\par}{\pard\li720 boats\par}{\pard\li720 trailers\par}}"
    )
    extract = legacy.extract(convert(source, "doc:MS Word 97").read_bytes(), ".doc")
    found = extract.regions or ()

    assert [extract.text[r.lead.start : r.lead.end] for r in found if r.lead] == ["Owners may not keep:"] * 2


@needs_office
def test_the_version_names_libreoffice_and_the_reader() -> None:
    assert legacy.version().startswith("LibreOffice ")
    assert docx.VERSION in legacy.version()


@needs_office
def test_a_conversion_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(legacy, "TIME_LIMIT", 0.05)

    assert "did not convert it within" in str(refusal(RTF, ".rtf"))


@needs_office
def test_a_broken_word_file_is_refused() -> None:
    assert "LibreOffice cannot convert it" in str(refusal(office("WordDocument"), ".doc"))


def test_without_libreoffice_the_hint_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")

    assert refusal(RTF, ".rtf").hint == (
        "Install LibreOffice (Debian: apt-get install libreoffice-writer-nogui), or save the file as .docx."
    )


def test_a_docx_under_an_old_ending_is_read_as_one() -> None:
    assert legacy.extract(word(p("New in old.")), ".doc").text == "New in old."


@pytest.mark.parametrize(
    ("stream", "why"),
    [
        ("Workbook", "it is a spreadsheet"),
        ("PowerPoint Document", "it is a presentation"),
        ("EncryptedPackage", "it is protected by a password"),
        ("__properties_version1.0", "it is an e-mail message"),
        ("䡀䌏䈯", "it is not a file of Word"),
    ],
)
def test_another_office_file_under_the_ending_of_word_is_refused(stream: str, why: str) -> None:
    assert why in str(refusal(office(stream), ".doc"))


def test_what_is_something_else_is_refused() -> None:
    assert "it is not what its ending .rtf says" in str(refusal(b"plain words", ".rtf"))
