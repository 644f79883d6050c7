"""What kind of file it is: by its content where that says so, else by its ending."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import BinaryIO

FORMATS = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
    ".text": "text",
    ".pdf": "pdf",
    ".docx": "docx",
    ".docm": "docx",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".rtf": "rtf",
    ".doc": "doc",
    ".odt": "odt",
}
"""File endings and the format that they promise."""

AS_TEXT = frozenset({"markdown", "text"})
"""Formats whose bytes are the text; from the others it is extracted."""

_HEAD = 4096
_PAGE = re.compile(rb"\A(?:\xef\xbb\xbf)?(?:\s|<!--.*?-->|<\?xml[^>]*>)*+<(?:!doctype\s+html|html)[\s>]", re.I | re.S)
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def recognise(path: Path) -> str | None:
    """The format of a file; None where neither its content nor its ending is one that can be read.

    A file that cannot be opened goes by its ending: whoever reads it will say what is wrong.
    """
    promised = FORMATS.get(path.suffix.lower())
    try:
        with path.open("rb") as file:
            return _by_content(file, promised) or promised
    except OSError:
        return promised


def _by_content(file: BinaryIO, promised: str | None) -> str | None:
    head = file.read(_HEAD)
    if head.startswith(b"%PDF-") or (promised == "pdf" and b"%PDF-" in head[:1024]):
        return "pdf"
    if head.startswith(b"{\\rtf"):
        return "rtf"
    if head.startswith(_OLE):
        # An encrypted .docx is such a container too; its extractor knows what to say. So are spreadsheets and slides.
        return "docx" if promised == "docx" else "doc" if promised else None
    if head.startswith(b"PK\x03\x04"):
        return _in_archive(file)
    if _PAGE.match(head):
        return "html"
    return None


def _in_archive(file: BinaryIO) -> str | None:
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.NameToInfo
            if "word/document.xml" in names:
                return "docx"
            if "content.xml" in names and "mimetype" in names:
                return "odt" if archive.read("mimetype")[:64].rstrip().endswith(b"opendocument.text") else None
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError, ValueError):
        return None
    return None
