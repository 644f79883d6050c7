"""PDF: text in reading order with its structure, and the box of every character on its page.

`page_reader` reads fragments of text with pdfium. `page_furniture` sets headers and footers apart, `page_tables` sets
tables apart, `columns` finds the reading order, `printed_lines`, `paragraphs` and `aligned_tables` find what belongs
together, `pdf_blocks` makes blocks and joins paragraphs that pages split, `first_page` finds the title and the
masthead, `pdf_headings` the headings. `scanned_pages` recognises the text of pictures.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from itertools import groupby
from typing import Any

import numpy as np
import pypdfium2 as pypdfium
import pypdfium2.raw as pdfium

from quoth.documents.formats.pdf.first_page import find_title, publication_of, with_masthead
from quoth.documents.formats.pdf.page_reader import read_page
from quoth.documents.formats.pdf.pdf_blocks import PdfBlock, blocks_of
from quoth.documents.formats.pdf.pdf_headings import Titles, text_from, with_headings
from quoth.documents.formats.pdf.printed_lines import NO_BOXES, Boxes, PrintedPage
from quoth.documents.formats.pdf.scanned_pages import is_picture, read_picture
from quoth.documents.text_blocks import Assembled, Block, assemble
from quoth.errors import MissingExtra, UnreadableFile
from quoth.types import Extract, Page, Span

VERSION = f"pypdfium2 {pypdfium.version.PYPDFIUM_INFO} / 3"
if find_spec("rapidocr"):
    VERSION += f" / rapidocr {version('rapidocr')} / 1"

MAX_PAGES = 20_000
MAX_CHARACTERS = 20_000_000
_SECONDS_A_PAGE, _SECONDS_A_PICTURE = 1.0, 60.0
"""What each page that was read adds to the time limit: a long book, or a book of scans, takes its time."""
_JUNK_TITLE = re.compile(
    r"(?:untitled|no title|document\d*|title|slide 1|presentation\d*|powerpoint presentation)\W*"
    r"|\W*(?:unknown|unspecified)\W*"
    r"|microsoft (?:word|powerpoint|excel) - .*"
    r"|\S+\.(?:docx?|pdf|odt|rtf|indd|qxd|qxp|tex|dvi|ps|pptx?|xlsx?|txt|html?|wpd|pmd|p65)"
    r"|[\W\d_]*",
    re.IGNORECASE,
)
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*")
_LONGEST_LANGUAGE = 50  # code points
_OCR_HINT = "Install the reader of scanned pages: pip install 'quoth[ocr]'"


def extract(data: bytes, extend: Callable[[float], object] = lambda _seconds: None) -> Extract:
    """Return the text, the structure and the pages of a PDF. `extend` is called with more seconds for each page."""
    with closing(_opened(data)) as document:
        if len(document) > MAX_PAGES:
            why = f"it has {len(document):,} pages, more than {MAX_PAGES:,}"
            raise UnreadableFile("", why, hint="Split it into several files.")
        pages, unread = _read(document, extend)
        titles = Titles(document)
        stated = _properties(document.raw)
    if not any(page.fragments for page in pages):
        raise _no_text(len(pages), unread)
    blocks, body = blocks_of(pages, titles.names)
    blocks = [block for block in blocks if block.text.strip()]
    title, printed = find_title(blocks, body, stated.pop("title", None))
    stated |= publication_of(blocks, printed)
    blocks = with_headings(with_masthead(blocks, printed), titles, body)
    assembled = assemble([Block(block.kind, block.text, block.level, block.opens) for block in blocks])
    placed, recognised = _placed(pages, blocks, assembled)
    return Extract(
        text=assembled.text,
        regions=assembled.regions,
        pages=placed,
        recognised=recognised,
        properties={"title": title, **stated} if title else stated,
        notes=_notes(unread),
    )


def _opened(data: bytes) -> pypdfium.PdfDocument:
    # A file without pages leaves PDFium's last error as it was: that of an earlier file. This makes it "no PDF".
    pdfium.FPDF_LoadMemDocument(b"", 0, None)
    try:
        return pypdfium.PdfDocument(data)
    except pypdfium.PdfiumError as error:
        if error.err_code in {pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY}:
            hint = "Save a copy without the password."
            raise UnreadableFile("", "it is protected by a password", hint=hint) from error
        hint = "Open it in a PDF reader and save it again."
        raise UnreadableFile("", "it is not a PDF, or it is damaged", hint=hint) from error


def _read(document: pypdfium.PdfDocument, extend: Callable[[float], object]) -> tuple[list[PrintedPage], list[int]]:
    """Return what is printed on each page, and the numbers of the pages whose text could not be read."""
    pages: list[PrintedPage] = []
    unread: list[int] = []
    characters = 0
    for number in range(1, len(document) + 1):
        try:
            page = document[number - 1]
        except pypdfium.PdfiumError:
            pages.append(PrintedPage(number, 612.0, 792.0, (), (), ()))  # a damaged page does not spoil the others
            unread.append(number)
            continue
        with closing(page):
            printed = read_page(page.raw, number)
            if is_picture(page, printed):
                try:
                    printed = read_picture(page, printed)
                    extend(_SECONDS_A_PICTURE)
                except MissingExtra:
                    unread.append(number)
        extend(_SECONDS_A_PAGE)
        characters += sum(len(item.text) for item in printed.fragments)
        if characters > MAX_CHARACTERS:
            why = f"it has more than {MAX_CHARACTERS:,} characters"
            raise UnreadableFile("", why, hint="Split it into several files.")
        pages.append(printed)
    return pages, unread


def _properties(document: Any) -> dict[str, str]:  # noqa: ANN401
    """Return the title and the language that the file states, as far as they are meaningful."""
    found = {}
    title = text_from(partial(pdfium.FPDF_GetMetaText, document, b"Title"))
    if title and not _JUNK_TITLE.fullmatch(title):
        found["title"] = title
    language = text_from(lambda buffer, size: pdfium.FPDFCatalog_GetLanguage(document, _as_shorts(buffer), size))
    if len(language) < _LONGEST_LANGUAGE and _LANGUAGE.fullmatch(language):
        found["language"] = language
    return found


def _as_shorts(buffer: Any) -> Any:  # noqa: ANN401 - pdfium wants this buffer with another type
    return buffer and ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort))


def _no_text(pages: int, unread: Sequence[int]) -> UnreadableFile:
    if unread:
        return UnreadableFile("", "its pages are pictures without text", hint=_OCR_HINT)
    return UnreadableFile("", f"there is no text on its {pages} page(s)", hint="Leave it out, or use another copy.")


def _notes(unread: Sequence[int]) -> tuple[str, ...]:
    if not unread:
        return ()
    runs = [[number for _, number in run] for _, run in groupby(enumerate(unread), key=lambda pair: pair[1] - pair[0])]
    named = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    pages = f"page {named} is a picture" if len(unread) == 1 else f"pages {named} are pictures"
    return (f"{pages} without text that could be read; {_OCR_HINT[0].lower()}{_OCR_HINT[1:]}",)


def _placed(
    pages: Sequence[PrintedPage], blocks: Sequence[PdfBlock], assembled: Assembled
) -> tuple[tuple[Page, ...], tuple[tuple[Span, float], ...]]:
    """Return each page with its spans of the text and their boxes, and the recognised spans with their confidence."""
    lines: dict[int, list[tuple[int, Boxes]]] = {page.number: [] for page in pages}
    recognised: list[tuple[Span, float]] = []
    for block, start in zip(blocks, assembled.starts, strict=True):
        at = start or 0
        for number, boxed in block.lines:
            if boxed.text:
                lines[number].append((at, boxed.boxes))
            for length, confidence in boxed.confidences:
                if confidence >= 0 and length:
                    recognised.append((Span(at, at + length), confidence))
                at += length
            at += 1  # the line end
    return tuple(_page(page, lines[page.number]) for page in pages), tuple(recognised)


def _page(page: PrintedPage, lines: Sequence[tuple[int, Boxes]]) -> Page:
    """Return a page with its spans: a line right behind the last span extends it."""
    spans: list[Span] = []
    boxes = [NO_BOXES]
    for at, line in lines:
        gap = at - spans[-1].end if spans else 0
        if gap in {1, 2}:  # the line end, or the blank line between two blocks
            boxes.append(np.zeros((gap, 4), dtype=np.float32))
            spans[-1] = Span(spans[-1].start, at + len(line))
        else:
            spans.append(Span(at, at + len(line)))
        boxes.append(line)
    return Page(page.number, page.width, page.height, tuple(spans), np.concatenate(boxes))
