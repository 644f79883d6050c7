"""The first page: title, authors, year and DOI, and the masthead of a paper, which is no evidence."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from quoth.documents.formats.pdf.pdf_blocks import PdfBlock
from quoth.documents.formats.pdf.printed_lines import PrintedLine
from quoth.documents.formats.pdf.publication import publication
from quoth.documents.named_parts import is_bibliography_title
from quoth.documents.titles import believed_title
from quoth.types import RegionKind

_LARGER = 1.15  # times the size of the text: how large a title is printed, at least
_WORDS = 8  # of a title: with fewer it is more likely a label or the name of a journal
_LONGEST_TITLE = 400  # code points
_PROSE = 200  # code points: a shorter paragraph of the first page may be an address
_LONGEST_NOTE = 700  # code points: a longer one has text of the paper in it
_LABEL = re.compile(
    r"(?:(?:original|research|review|short|brief|case|special|technical|feature)?\s*(?:research|article|paper|report|review|"
    r"communications?|letter|note|protocol|hypothesis|perspective|opinion|editorial|commentary|method(?:s|ology)?)\s*)?"
    r"(?:open\s*access)?|www\.\S+|https?://\S+|\S+\.(?:org|com|net)\S*|vol(?:ume|\.).*|issn.*",
    re.IGNORECASE,
)
_ABSTRACT = re.compile(r"(?:abstract|summary|synopsis|a\s*b\s*s\s*t\s*r\s*a\s*c\s*t)\b", re.IGNORECASE)
_BODY = re.compile(r"(?:[1IA][.)]?\s+)?(?:introduction|background)\b", re.IGNORECASE)
_MASTHEAD = re.compile(
    r"\W*(?:received|accepted|published|revised|submitted|available online|first published|article history|correspond|"
    r"author for correspondence|academic editors?|handling editor|edited by|reviewed by|editors?:|citation:|cite this|"
    r"to cite|how to cite|copyright|\(c\)|©|e-?mails?\b|tel\b|fax\b|key\s?words?|subject areas?|specialty section|"
    r"this (?:article|is an? open)|open access|licen[sc]e|creative commons|doi\b|issn|https?://|www\.|"
    r"full list of author|electronic supplementary|address(?:es)?:|affiliations?:|author details|these authors|"
    r"equal contribut|contributed equally|present address|from the \w*\s?(?:department|university|institute)|"
    r"(?:\d{1,2}|[a-f*†‡§¶])?\s?(?:department|faculty|school|institute?|laboratory|college|centre|center|division|"
    r"university|hospital|ministry|college|unit)\b)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+\.\w|doi:\s?10\.\d|\borcid\b", re.IGNORECASE)


def find_title(blocks: Sequence[PdfBlock], body: float, stated: str | None) -> tuple[str | None, list[int]]:
    """Return the title of a document, and the blocks of the first page that print it."""
    places = _printed_title(blocks, body)
    printed = " ".join(" ".join(blocks[at].text.split()) for at in places)
    return believed_title(stated, printed, "".join(block.text for block in blocks)), places


def _printed_title(blocks: Sequence[PdfBlock], body: float) -> list[int]:
    scores: dict[int, float] = {}
    for at, (block, line) in enumerate(_on_first_page(blocks)):
        text = " ".join(block.text.split())
        words = sum(word[:1].isalpha() for word in text.split())
        if (
            line is None
            or line.size < _LARGER * body
            or words < 2
            or len(text) > _LONGEST_TITLE
            or _LABEL.fullmatch(text)
        ):
            continue
        scores[at] = line.size * math.sqrt(min(words, _WORDS) / _WORDS)
    if not scores:
        return []
    first = max(scores, key=lambda at: (scores[at], -at))
    places = [first]
    for at, (block, line) in enumerate(_on_first_page(blocks)):
        last = blocks[places[-1]].last
        if at > first and line is not None and last is not None and _goes_on(last, line) and len(block.text) < 200:
            places.append(at)
    return places


def _goes_on(last: PrintedLine, line: PrintedLine) -> bool:
    """Return whether a line is the next line of a title, though the page has other blocks between them."""
    near = 0 < line.baseline - last.baseline < 1.5 * line.size
    return near and line.size == last.size and line.font == last.font and line.bold == last.bold


def _on_first_page(blocks: Sequence[PdfBlock]) -> list[tuple[PdfBlock, PrintedLine | None]]:
    """Return the blocks up to the last one of the first page; the line is None for one that cannot be a title."""
    page = min((block.first.page for block in blocks if block.first is not None), default=1)
    ends = [at for at, block in enumerate(blocks) if block.first is not None and block.first.page == page]
    shown = blocks[: ends[-1] + 1] if ends else []
    return [
        (block, block.first if block.kind in {RegionKind.PARAGRAPH, RegionKind.HEADING} else None) for block in shown
    ]


def with_masthead(blocks: Sequence[PdfBlock], title: Sequence[int]) -> list[PdfBlock]:
    """Name what stands around the title of a paper: journal, authors, addresses, dates, rights, keywords."""
    page = _on_first_page(blocks)
    starts = [at for at, (block, _) in enumerate(page) if _ABSTRACT.match(block.text) or _BODY.match(block.text)]
    if not title or not _is_paper(blocks):
        return list(blocks)
    begins = starts[0] if starts else next((at for at in range(title[0] + 1, len(page)) if _is_prose(page[at][0])), 0)
    result = list(blocks)
    for at, (block, _) in enumerate(page):
        if at == title[0] or block.kind in {RegionKind.FURNITURE, RegionKind.TABLE_ROW, RegionKind.TABLE_HEADER}:
            continue
        around = at < begins or at in title or _ADDRESS.search(block.text)
        if _is_note(block) or (around and not _is_prose(block)):
            result[at] = replace(block, kind=RegionKind.MASTHEAD)
    return result


def publication_of(blocks: Sequence[PdfBlock], title: Sequence[int]) -> dict[str, str]:
    """Return the authors, the year and the DOI of a paper, as `publication` does; nothing for another document."""
    page = [block.text for block, _ in _on_first_page(blocks)]
    return publication(page, title) if _is_paper(blocks) else {}


def _is_paper(blocks: Sequence[PdfBlock]) -> bool:
    opens = (_ABSTRACT.match(block.text) or _BODY.match(block.text) for block, _ in _on_first_page(blocks))
    return any(opens) or any(is_bibliography_title(" ".join(block.text.split())) for block in blocks)


def _is_note(block: PdfBlock) -> bool:
    return len(block.text) <= _LONGEST_NOTE and _MASTHEAD.match(block.text) is not None


def _is_prose(block: PdfBlock) -> bool:
    words = block.text.split()
    lower = sum(word[:1].islower() for word in words)
    return len(block.text) >= _PROSE and 2 * lower > len(words) and not _is_note(block)
