"""What a file is: its content says so before its ending does."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from quoth.documents.formats.recognition import recognise

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504)


def archive(**parts: bytes) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as file:
        for name, data in parts.items():
            file.writestr(name.replace("__", "/").replace("_", "."), data)
    return held.getvalue()


DOCX = archive(word__document_xml=b"<x/>")
XLSX = archive(xl__workbook_xml=b"<x/>")
PPTX = archive(ppt__presentation_xml=b"<x/>")
ODT = archive(mimetype=b"application/vnd.oasis.opendocument.text", content_xml=b"<x/>")
ODS = archive(mimetype=b"application/vnd.oasis.opendocument.spreadsheet", content_xml=b"<x/>")

EPUB = archive(mimetype=b"application/epub+zip", **{"META-INF__container_xml": b"<x/>"})


@pytest.mark.parametrize(
    ("name", "data", "form"),
    [
        ("a.pdf", b"%PDF-1.7\n", "pdf"),
        ("a.pdf", b"junk in front\n%PDF-1.4\n", "pdf"),
        ("a.txt", b"%PDF-1.7\n", "pdf"),
        ("report", b"%PDF-1.7\n", "pdf"),
        ("a.txt", b"The mark %PDF-1.7 begins a file.", "text"),
        ("a.docx", DOCX, "docx"),
        ("a.zip", DOCX, "docx"),
        ("a.pdf", DOCX, "docx"),
        ("a.xlsx", XLSX, "xlsx"),
        ("a.docx", XLSX, "xlsx"),
        ("a.xlsx", OLE, "xlsx"),
        ("a.csv", b"crop,depth\n", "csv"),
        ("a.TSV", b"crop\tdepth\n", "csv"),
        ("a.json", b"{}", "json"),
        ("a.jsonl", b"{}\n{}", "json"),
        ("a.csv", b"%PDF-1.7\n", "pdf"),
        ("a.ppsx", PPTX, "pptx"),
        ("a.odt", ODT, "odt"),
        ("a.ods", ODS, None),
        ("a.zip", b"PK\x03\x04 broken", "zip"),
        ("a.jar", b"PK\x03\x04 broken", None),
        ("a.epub", EPUB, "epub"),
        ("book", EPUB, "epub"),
        ("a.epub", archive(**{"META-INF__container_xml": b"<x/>"}), "epub"),
        ("a.jar", archive(**{"META-INF__container_xml": b"<x/>"}), None),
        ("a.msg", OLE, "msg"),
        ("a.eml", b"Subject: Sow\n\nSow.", "eml"),
        ("a.mbox", b"", "mbox"),
        ("Inbox", b"From ann@example.org Mon Mar  2 08:15:00 2026\r\nSubject: Sow\r\n", "mbox"),
        ("2026-March.txt", b"From ann at example.org  Mon Mar  2 08:15:00 2026\nFrom: ann\n", "mbox"),
        ("a.txt", b"From Monday 08:15 on\nwe sow.", "text"),
        ("a.rst", b"Sow\n===", "rst"),
        ("a.vtt", b"WEBVTT", "vtt"),
        ("a.srt", b"1\n", "srt"),
        ("a.adoc", b"= Sow", "asciidoc"),
        ("a.tex", b"\\section{Sow}", "latex"),
        ("a.doc", OLE, "doc"),
        ("a.docx", OLE, "docx"),
        ("a.xls", OLE, None),
        ("a.doc", b"{\\rtf1\\ansi}", "rtf"),
        ("a.rtf", b"{\\rtf1\\ansi}", "rtf"),
        ("a.txt", b"\xef\xbb\xbf  <!-- x -->\n<!DOCTYPE html><p>Sow.", "html"),
        ("page", b"<?xml version='1.0'?><html xmlns='x'>", "html"),
        ("a.md", b"<div>Sow.</div>", "markdown"),
        ("a.html", b"no tags at all", "html"),
        ("a.HTM", b"<p>Sow.", "html"),
        ("a.md", b"# Sow", "markdown"),
        ("a.txt", b"", "text"),
        ("a.png", b"\x89PNG", None),
        ("LICENSE", b"Do what you like.", None),
    ],
)
def test_a_file_is_what_its_content_says(tmp_path: Path, name: str, data: bytes, form: str | None) -> None:
    (tmp_path / name).write_bytes(data)

    assert recognise(tmp_path / name) == form


def test_a_file_that_cannot_be_opened_goes_by_its_ending(tmp_path: Path) -> None:
    assert recognise(tmp_path / "gone.pdf") == "pdf"
    assert recognise(tmp_path / "gone.png") is None
