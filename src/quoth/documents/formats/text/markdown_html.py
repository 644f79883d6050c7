"""The visible text of an HTML block inside Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from quoth.language.boundaries import cuts
from quoth.language.sentence_ends import BREAK_TAGS
from quoth.language.spans import trim
from quoth.types import RegionKind, Span

_BLOCK = (
    "address|article|aside|blockquote|body|caption|center|col|colgroup|datalist|dd|details|dialog|dir|div|dl|dt|fieldset"
    "|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hgroup|hr|html|legend|li|link|main|menu|meta|nav"
    "|noframes|ol|optgroup|option|p|pre|search|section|select|summary|table|tbody|td|textarea|tfoot|th|thead|title|tr|ul"
)
"""Elements that HTML sets apart. Any other, even an unknown one, is shown in the line and may be in a sentence."""
_SEPARATOR = re.compile(
    rf"""
    (?: <!--.*?(?:-->|\Z)
      | <(?P<whole>script|style|svg|template|noscript)\b.*?(?:</(?P=whole)\s*>|\Z)
      | <\?.*?(?:\?>|\Z) | <!\[CDATA\[.*?(?:\]\]>|\Z) | <![A-Za-z][^>]*(?:>|\Z)
      | </?(?:{_BLOCK})(?![\w:-])[^<>]*(?:>|\Z)
    )
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
"""Comments, scripts and block tags separate text; a `<b>` or a `<br>` in the middle of a sentence does not."""
_TAG = re.compile(r"<[^<>]*>|&nbsp;")
_EMPTY = re.compile(r"<(?:br|wbr|img)\b[^<>]*>", re.IGNORECASE)
_LEADING = re.compile(rf"(?:{_EMPTY.pattern}|\s)*+", re.IGNORECASE)
"""Tags that hold no text: at the edge of a paragraph they are no part of it."""


def html_pieces(text: str, start: int, end: int) -> Iterator[tuple[Span, RegionKind]]:
    """Yield the parts of an HTML block in order: skipped HTML, and paragraphs of visible text."""
    at = start
    for separator in _SEPARATOR.finditer(text, start, end):
        yield from _between(text, at, separator.start())
        yield Span(separator.start(), separator.end()), RegionKind.HTML
        at = separator.end()
    yield from _between(text, at, end)


def lines(text: str, start: int, end: int) -> Iterator[tuple[Span, RegionKind]]:
    """Yield the parts of a paragraph in order, cut at each `<br>` between sentences; inside one the tag stays."""
    for cut in cuts(text, start, end) if _EMPTY.search(text, start, end) else ():
        tags = BREAK_TAGS.match(text, cut, end)
        if tags is not None:
            yield from _part(text, start, cut, RegionKind.PARAGRAPH)
            yield from _part(text, cut, tags.end(), RegionKind.HTML)
            start = tags.end()
    yield from _part(text, start, end, RegionKind.PARAGRAPH)


def _between(text: str, start: int, end: int) -> Iterator[tuple[Span, RegionKind]]:
    visible = _TAG.sub("", text[start:end])
    if not any(character.isalnum() for character in visible):
        yield from _part(text, start, end, RegionKind.HTML)
        return
    first, last = _without_empty_tags(text, start, end)
    yield from _part(text, start, first, RegionKind.HTML)
    yield from lines(text, first, last)
    yield from _part(text, last, end, RegionKind.HTML)


def _without_empty_tags(text: str, start: int, end: int) -> tuple[int, int]:
    leading = _LEADING.match(text, start, end)
    first, last = leading.end() if leading else start, end
    while last > first:
        opener = text.rfind("<", first, last)
        if text[last - 1].isspace():
            last -= 1
        elif opener >= 0 and _EMPTY.fullmatch(text, opener, last):
            last = opener
        else:
            break
    return first, last


def _part(text: str, start: int, end: int, kind: RegionKind) -> Iterator[tuple[Span, RegionKind]]:
    span = trim(text, start, end)
    if span is not None:
        yield span, kind
