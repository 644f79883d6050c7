"""The visible text of an HTML block inside Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from quoth.text.spans import trim
from quoth.types import RegionKind, Span

_INLINE = (
    "a|abbr|b|bdi|bdo|cite|code|data|del|dfn|em|font|i|img|ins|kbd|mark|q|s|samp|small|span|strong|sub|sup|time|u|var"
)
_SEPARATOR = re.compile(
    rf"""
    (?: <!--.*?(?:-->|\Z)
      | <(?P<whole>script|style|svg|template|noscript)\b.*?(?:</(?P=whole)\s*>|\Z)
      | <\?.*?(?:\?>|\Z) | <!\[CDATA\[.*?(?:\]\]>|\Z) | <![A-Za-z][^>]*(?:>|\Z)
      | </?(?!(?:{_INLINE})\b)[A-Za-z][^<>]*(?:>|\Z)
    )
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
"""Comments, scripts and block tags separate text; a `<b>` in the middle of a sentence does not."""
_TAG = re.compile(r"<[^<>]*>|&nbsp;")


def html_pieces(text: str, start: int, end: int) -> Iterator[tuple[Span, RegionKind]]:
    """Yield the parts of an HTML block in order: skipped HTML, and paragraphs of visible text."""
    at = start
    for separator in _SEPARATOR.finditer(text, start, end):
        yield from _between(text, at, separator.start())
        yield Span(separator.start(), separator.end()), RegionKind.HTML
        at = separator.end()
    yield from _between(text, at, end)


def _between(text: str, start: int, end: int) -> Iterator[tuple[Span, RegionKind]]:
    span = trim(text, start, end)
    if span is not None:
        said = _TAG.sub("", text[span.start : span.end])
        says_something = any(character.isalnum() for character in said)
        yield span, RegionKind.PARAGRAPH if says_something else RegionKind.HTML
