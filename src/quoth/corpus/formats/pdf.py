"""PDF: text in reading order with its structure, and the place of every character on its page.

pdfium gives characters with their boxes. `pdf_chars` gathers them into fragments, `pdf_furniture` parts the page from
the text, `pdf_columns`, `pdf_lines`, `pdf_paragraphs`, `pdf_tables` and `pdf_grid` find what belongs together,
`pdf_flow` joins what pages part, `pdf_headings` finds the sections. A page that is a picture goes to the recogniser
(`pdf_scan`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np
import pypdfium2 as pypdfium
import pypdfium2.raw as pdfium

from quoth.corpus.blocks import Assembled, Block, assemble
from quoth.corpus.formats.pdf_chars import read_page
from quoth.corpus.formats.pdf_flow import Piece
from quoth.corpus.formats.pdf_headings import Titles, with_headings
from quoth.corpus.formats.pdf_ink import Boxes, PageInk
from quoth.corpus.formats.pdf_outline import bookmarks, properties
from quoth.corpus.formats.pdf_pieces import pieces_of
from quoth.corpus.formats.pdf_scan import is_picture, read_picture
from quoth.corpus.patience import earn
from quoth.errors import MissingExtra, UnreadableFile
from quoth.types import Extract, Page, Span

VERSION = f"pypdfium2 {pypdfium.version.PYPDFIUM_INFO} / 1"

MAX_PAGES = 20_000
MAX_CHARACTERS = 20_000_000
_SECONDS_A_PAGE, _SECONDS_A_PICTURE = 1.0, 60.0
"""What a page that was read adds to the time limit: a book of a thousand pages, or of scans, takes its time."""
_OCR_HINT = "Install the reader of scanned pages: pip install 'quoth[ocr]'"


def extract(data: bytes) -> Extract:
    """Return the text, the structure and the pages of a PDF."""
    document = _opened(data)
    try:
        if len(document) > MAX_PAGES:
            raise UnreadableFile(
                "", f"it has {len(document):,} pages, more than {MAX_PAGES:,}", hint="Split it into several files."
            )
        pages, unread = _read(document)
        titles = Titles(bookmarks(document.raw))
        stated = properties(document.raw)
    finally:
        document.close()
    if not any(page.fragments for page in pages):
        raise _no_text(len(pages), unread)
    pieces, body = pieces_of(pages, titles.names)
    pieces = [piece for piece in with_headings(pieces, titles, body) if piece.text.strip()]
    assembled = assemble([Block(piece.kind, piece.text, piece.level, piece.opens) for piece in pieces])
    placed, recognised = _placed(pages, pieces, assembled)
    return Extract(
        text=assembled.text,
        regions=assembled.regions,
        pages=placed,
        recognised=recognised,
        properties=stated,
        notes=_notes(unread),
    )


def _opened(data: bytes) -> pypdfium.PdfDocument:
    try:
        return pypdfium.PdfDocument(data)
    except pypdfium.PdfiumError as error:
        if error.err_code in {pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY}:
            raise UnreadableFile(
                "", "it is protected by a password", hint="Save a copy without the password."
            ) from error
        raise UnreadableFile(
            "", "it is not a PDF, or it is damaged", hint="Open it in a PDF reader and save it again."
        ) from error


def _read(document: pypdfium.PdfDocument) -> tuple[list[PageInk], list[int]]:
    """Return what is printed on each page, and the numbers of the pages that are pictures nobody could read."""
    pages: list[PageInk] = []
    unread: list[int] = []
    characters = 0
    can_recognise = True
    for index in range(len(document)):
        try:
            page = document[index]
        except pypdfium.PdfiumError:
            pages.append(
                PageInk(index + 1, 612.0, 792.0, (), (), ())
            )  # a page that is damaged does not spoil the others
            unread.append(index + 1)
            continue
        try:
            ink = read_page(page.raw, index + 1)
            if is_picture(page, ink):
                if can_recognise:
                    try:
                        ink = read_picture(page, ink)
                        earn(_SECONDS_A_PICTURE)
                    except MissingExtra:
                        can_recognise = False
                if not can_recognise:
                    unread.append(index + 1)
        finally:
            page.close()
        earn(_SECONDS_A_PAGE)
        characters += sum(len(item.text) for item in ink.fragments)
        if characters > MAX_CHARACTERS:
            raise UnreadableFile(
                "", f"it has more than {MAX_CHARACTERS:,} characters", hint="Split it into several files."
            )
        pages.append(ink)
    return pages, unread


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
    pages: Sequence[PageInk], pieces: Sequence[Piece], assembled: Assembled
) -> tuple[tuple[Page, ...], tuple[tuple[Span, float], ...]]:
    """Return each page with its stretches of the text and their boxes, and the stretches that were recognised."""
    runs: dict[int, list[tuple[int, int, list[Boxes]]]] = {page.number: [] for page in pages}
    recognised: list[tuple[Span, float]] = []
    for piece, start in zip(pieces, assembled.starts, strict=True):
        at = start or 0
        for number, ink in piece.parts:
            _lay_down(runs[number], at, ink.boxes)
            recognised += _recognised(at, ink.confidences)
            at += len(ink.text) + 1
    return tuple(_page(page, runs[page.number]) for page in pages), tuple(recognised)


def _lay_down(runs: list[tuple[int, int, list[Boxes]]], at: int, boxes: Boxes) -> None:
    """Add a line to the stretches of a page; one that follows the last stretch goes on with it."""
    if not len(boxes):
        return
    end = at + len(boxes)
    if runs and at - runs[-1][1] in {1, 2}:  # the line end, or the blank line between two blocks
        start, before, parts = runs[-1]
        parts += [np.zeros((at - before, 4), dtype=np.float32), boxes]
        runs[-1] = start, end, parts
    else:
        runs.append((at, end, [boxes]))


def _recognised(at: int, confidences: Sequence[tuple[int, float]]) -> list[tuple[Span, float]]:
    found = []
    for length, confidence in confidences:
        if confidence >= 0 and length:
            found.append((Span(at, at + length), confidence))
        at += length
    return found


def _page(page: PageInk, runs: Sequence[tuple[int, int, list[Boxes]]]) -> Page:
    boxes = [part for _, _, parts in runs for part in parts]
    return Page(
        number=page.number,
        width=page.width,
        height=page.height,
        spans=tuple(Span(start, end) for start, end, _ in runs),
        boxes=np.concatenate(boxes) if boxes else np.zeros((0, 4), dtype=np.float32),
    )
