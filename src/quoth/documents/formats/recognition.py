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
}
"""The format that each file ending promises."""

AS_TEXT = frozenset({"markdown", "text"})
"""Formats whose bytes are the text. From all others the text is extracted."""

_HEAD = 4096
_PAGE = re.compile(rb"\A(?:\xef\xbb\xbf)?(?:\s|<!--.*?-->|<\?xml[^>]*>)*+<(?:!doctype\s+html|html)[\s>]", re.I | re.S)
_ODT = re.compile(rb"PK\x03\x04.{26}mimetypeapplication/vnd\.oasis\.opendocument\.text(?=PK|\s)", re.S)
"""The format demands this entry first and uncompressed, so that it can be seen without unpacking."""
_ARCHIVE_TAIL = 22 + 2**16
_LARGEST_DIRECTORY = 32 << 20
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How a file of an older Office begins."""


def recognise(path: Path) -> str | None:
    """Return the format of a file; None if neither its content nor its suffix belongs to a readable format.

    A file that cannot be opened goes by its ending: reading it will raise the error.
    """
    promised = FORMATS.get(path.suffix.lower())
    if not path.is_file():
        return promised  # the content of a pipe is gone once it is read
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
    if head.startswith(OLE):
        # An encrypted .docx is such a container too, and so are spreadsheets and slides; the extractor reports them.
        return "docx" if promised == "docx" else "doc" if promised else None
    if head.startswith(b"PK\x03\x04"):
        return _in_archive(file, head)
    if _PAGE.match(head):
        return "html"
    return None


def _in_archive(file: BinaryIO, head: bytes) -> str | None:
    """Tell the format by the names in an archive. The main process unpacks nothing and reads no huge directory."""
    if _directory_bytes(file) > _LARGEST_DIRECTORY:
        return None
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.NameToInfo
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError, ValueError):
        return None
    if "word/document.xml" in names:
        return "docx"
    return "odt" if _ODT.match(head) and "content.xml" in names else None


def _directory_bytes(file: BinaryIO) -> int:
    """Return the size of an archive's directory, as stated at the end of the file."""
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - _ARCHIVE_TAIL))
    tail = file.read(_ARCHIVE_TAIL)
    at = tail.rfind(b"PK\x05\x06")
    return int.from_bytes(tail[at + 12 : at + 16], "little") if at >= 0 else 0
