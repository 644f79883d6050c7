"""Sentences: the smallest slices that are quoted. Splitting is lossless, and only whitespace lies between them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from quoth.text.boundaries import cuts
from quoth.text.overlong import SOFT_LIMIT, pieces
from quoth.text.regions import markdown_regions, plain_regions
from quoth.text.spans import trim
from quoth.types import Region, RegionKind, Span

SPLITTER_VERSION = 2
"""Changes when the same text would be split otherwise, so that an index knows to split it again."""

_ONE_SENTENCE = frozenset({RegionKind.HEADING, RegionKind.TABLE_HEADER, RegionKind.TABLE_ROW})
_BLANK_LINE = re.compile(r"(?<=\S)[^\S\r\n]*(?:\r\n?|\n)(?:[^\S\r\n]*(?:\r\n?|\n))+")


def split(text: str, *, format: str) -> tuple[tuple[Region, tuple[Span, ...]], ...]:  # noqa: A002 - the word users know
    """Return every region of a `markdown` or `text` document with its sentences, in reading order."""
    regions = markdown_regions(text) if format == "markdown" else plain_regions(text)
    return tuple((region, sentences(text, region)) for region in regions)


def sentences(text: str, region: Region) -> tuple[Span, ...]:
    """Return the sentences of a region; together they hold its every visible character. A skipped region has none."""
    if region.kind.skipped:
        return ()
    start, end = region.span.start, region.span.end
    if region.kind in _ONE_SENTENCE:
        return tuple(_parts(text, start, [], end))
    if region.kind is RegionKind.CODE:
        return tuple(_parts(text, start, (gap.start() for gap in _BLANK_LINE.finditer(text, start, end)), end))
    return tuple(
        piece
        for sentence in _parts(text, start, cuts(text, start, end), end)
        for piece in ([sentence] if len(sentence) <= SOFT_LIMIT else _shortened(text, sentence))
    )


def _parts(text: str, start: int, inner: Iterable[int], end: int) -> Iterable[Span]:
    """Yield the parts of `[start, end)` between the `inner` offsets, without surrounding whitespace."""
    for stop in (*inner, end):
        span = trim(text, start, stop)
        if span is not None:
            yield span
        start = stop


def _shortened(text: str, sentence: Span) -> list[Span]:
    return list(_parts(text, sentence.start, pieces(text, sentence.start, sentence.end), sentence.end))
