"""Bookmarks: the outline that a PDF brings along, and the properties that it states."""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from typing import Any

import pypdfium2.raw as pdfium

MAX_BOOKMARKS = 20_000
MAX_DEPTH = 12
_LONGEST_TITLE = 1_000  # code points
_JUNK_TITLE = re.compile(
    r"(?:untitled|no title|document\d*|title|slide 1|presentation\d*|powerpoint presentation)\W*"
    r"|\W*(?:unknown|unspecified)\W*"
    r"|microsoft (?:word|powerpoint|excel) - .*"
    r"|\S+\.(?:docx?|pdf|odt|rtf|indd|qxd|qxp|tex|dvi|ps|pptx?|xlsx?|txt|html?|wpd|pmd|p65)"
    r"|[\W\d_]*",
    re.IGNORECASE,
)
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*")


@dataclass(frozen=True, slots=True)
class Bookmark:
    """`level` 1 is the highest; `page` counts from 1."""

    title: str
    level: int
    page: int


def bookmarks(document: Any) -> tuple[Bookmark, ...]:  # noqa: ANN401 - a handle of pdfium
    """The outline in its own order; a loop in it is cut, and what is too deep or too much is left out."""
    found: list[Bookmark] = []
    seen: set[int] = set()
    waiting = [(pdfium.FPDFBookmark_GetFirstChild(document, None), 1)]
    while waiting and len(seen) < MAX_BOOKMARKS:
        item, level = waiting.pop()
        if not item:
            continue
        address = ctypes.addressof(item.contents)
        if address in seen:
            continue
        seen.add(address)
        waiting.append((pdfium.FPDFBookmark_GetNextSibling(document, item), level))
        if level < MAX_DEPTH:
            waiting.append((pdfium.FPDFBookmark_GetFirstChild(document, item), level + 1))
        title, page = _title(item), _page(document, item)
        if title and page is not None:
            found.append(Bookmark(title, level, page + 1))
    return tuple(found)


def _title(item: Any) -> str:  # noqa: ANN401
    size = pdfium.FPDFBookmark_GetTitle(item, None, 0)
    if not 2 < size <= 2 * _LONGEST_TITLE:
        return ""
    buffer = ctypes.create_string_buffer(size)
    pdfium.FPDFBookmark_GetTitle(item, buffer, size)
    return _decoded(buffer.raw[:size])


def _page(document: Any, item: Any) -> int | None:  # noqa: ANN401
    target = pdfium.FPDFBookmark_GetDest(document, item)
    if not target:
        action = pdfium.FPDFBookmark_GetAction(item)
        target = pdfium.FPDFAction_GetDest(document, action) if action else None
    page = pdfium.FPDFDest_GetDestPageIndex(document, target) if target else -1
    return page if page >= 0 else None


def properties(document: Any) -> dict[str, str]:  # noqa: ANN401
    """The title and the language that the file states about itself, as far as they say anything."""
    found = {}
    title = _stated(document, b"Title")
    if title and not _JUNK_TITLE.fullmatch(title):
        found["title"] = title
    language = _catalog_language(document)
    if language and _LANGUAGE.fullmatch(language):
        found["language"] = language
    return found


def _stated(document: Any, key: bytes) -> str:  # noqa: ANN401
    size = pdfium.FPDF_GetMetaText(document, key, None, 0)
    if not 2 < size <= 2 * _LONGEST_TITLE:
        return ""
    buffer = ctypes.create_string_buffer(size)
    pdfium.FPDF_GetMetaText(document, key, buffer, size)
    return _decoded(buffer.raw[:size])


def _catalog_language(document: Any) -> str:  # noqa: ANN401
    size = pdfium.FPDFCatalog_GetLanguage(document, None, 0)
    if not 2 < size <= 100:
        return ""
    buffer = (ctypes.c_ushort * (size // 2))()
    pdfium.FPDFCatalog_GetLanguage(document, buffer, size)
    return _decoded(bytes(buffer))


def _decoded(utf16: bytes) -> str:
    text = utf16.decode("utf-16-le", errors="ignore").split("\0", 1)[0]
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())
