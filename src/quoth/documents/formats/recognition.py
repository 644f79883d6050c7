"""Recognises the format of a file: by its content where that tells, else by its ending."""

from __future__ import annotations

import os
import re
import zipfile
from pathlib import Path
from typing import BinaryIO

FORMATS = {
    **{".md": "markdown", ".markdown": "markdown", ".txt": "text", ".text": "text"},
    **{".pdf": "pdf", ".docx": "docx", ".docm": "docx", ".html": "html", ".htm": "html", ".xhtml": "html"},
    **{".rtf": "rtf", ".doc": "doc", ".odt": "odt"},
    **{".pptx": "pptx", ".pptm": "pptx", ".ppsx": "pptx"},
    **{".xlsx": "xlsx", ".xlsm": "xlsx", ".csv": "csv", ".tsv": "csv"},
    **{".json": "json", ".jsonl": "json", ".ndjson": "json"},
    **{".epub": "epub", ".eml": "eml", ".mbox": "mbox", ".msg": "msg"},
    **{".rst": "rst", ".rest": "rst"},
    **{".adoc": "asciidoc", ".asciidoc": "asciidoc"},
    **{".tex": "latex", ".ltx": "latex"},
    **{".vtt": "vtt", ".srt": "srt"},
}
"""The format that each file ending promises."""

AS_TEXT = frozenset({"markdown", "text"})
"""Formats whose bytes are the text. From all others the text is extracted."""

SOURCES = frozenset({"rst", "asciidoc", "latex"})
"""Formats whose canonical text is the file as decoded, with regions that an extractor finds in it."""
MAY_BE_EMPTY = AS_TEXT | SOURCES | {"csv", "json"}
"""Formats in which a file without a byte is a document without a word."""
ARCHIVE, _ARCHIVE_ENDING = "zip", ".zip"
"""The format of an archive whose files are documents. Others that are archives (`.jar`, `.whl`) are left alone."""
HEAD = 4096
"""How many bytes tell the format of a file that is no archive."""
_PAGE = re.compile(rb"\A(?:\xef\xbb\xbf)?(?:\s|<!--.*?-->|<\?xml[^>]*>)*+<(?:!doctype\s+html|html)[\s>]", re.I | re.S)
_ODT = re.compile(rb"PK\x03\x04.{26}mimetypeapplication/vnd\.oasis\.opendocument\.text(?=PK|\s)", re.S)
"""The format demands this entry first and uncompressed, so that it can be seen without unpacking."""
_OFFICE = {"word/document.xml": "docx", "xl/workbook.xml": "xlsx", "ppt/presentation.xml": "pptx"}
"""The format of an archive by its main part."""
_EPUB = re.compile(_ODT.pattern.replace(rb"vnd\.oasis\.opendocument\.text", rb"epub\+zip"), re.S)
_MBOX = re.compile(rb"From \S[^\r\n]{0,200} (?:[01]\d|2[0-3]):[0-5]\d[^\r\n]{0,40}\r?\n[!-9;-~]{1,76}:")
"""The line before a message, which ends in a date, and then a header; few other texts begin so."""
_ARCHIVE_TAIL = 22 + 2**16
_LARGEST_DIRECTORY = 32 << 20
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How a file of an older Office begins."""


def recognise(path: Path) -> str | None:
    """Return the format of a file; None if neither its content nor its suffix belongs to a readable format.

    A file that cannot be opened goes by its ending: reading it will raise the error.
    """
    suffix = path.suffix.lower()
    if not path.is_file():
        return FORMATS.get(suffix)  # the content of a pipe is gone once it is read
    try:
        with path.open("rb") as file:
            return recognised(file, suffix)
    except OSError:
        return FORMATS.get(suffix)


def recognised(file: BinaryIO, suffix: str) -> str | None:
    """Return the format of an open file with that ending, as `recognise` does."""
    promised = FORMATS.get(suffix)
    found = _by_content(file, promised) or promised
    if found is None and suffix == _ARCHIVE_ENDING:
        file.seek(0)
        found = ARCHIVE if file.read(2) == b"PK" else None
    return found


def _by_content(file: BinaryIO, promised: str | None) -> str | None:
    head = file.read(HEAD)
    if head.startswith(b"%PDF-") or (promised == "pdf" and b"%PDF-" in head[:1024]):
        return "pdf"
    if head.startswith(b"{\\rtf"):
        return "rtf"
    if head.startswith(OLE):
        # An encrypted .docx is such a container too, and so are old spreadsheets; the extractor reports them.
        return promised if promised in {*_OFFICE.values(), "msg"} else "doc" if promised else None
    if head.startswith(b"PK\x03\x04"):
        return _in_archive(file, head, promised)
    if _PAGE.match(head):
        return "html"
    return "mbox" if promised in {None, "text"} and _MBOX.match(head) else None


def _in_archive(file: BinaryIO, head: bytes, promised: str | None) -> str | None:
    """Tell the format by the names in an archive. The main process unpacks nothing and reads no huge directory."""
    if is_too_long(file):
        return None
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.NameToInfo
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError, ValueError):
        return None
    if form := next((form for part, form in _OFFICE.items() if part in names), None):
        return form
    if "META-INF/container.xml" in names and (promised == "epub" or _EPUB.match(head)):
        return "epub"
    return "odt" if _ODT.match(head) and "content.xml" in names else None


def is_too_long(file: BinaryIO) -> bool:
    """Return whether the directory of an archive is larger than any that a person made."""
    return _directory_bytes(file) > _LARGEST_DIRECTORY


def _directory_bytes(file: BinaryIO) -> int:
    """Return the size of an archive's directory, as stated at the end of the file."""
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - _ARCHIVE_TAIL))
    tail = file.read(_ARCHIVE_TAIL)
    at = tail.rfind(b"PK\x05\x06")
    return int.from_bytes(tail[at + 12 : at + 16], "little") if at >= 0 else 0
