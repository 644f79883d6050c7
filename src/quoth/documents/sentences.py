"""Sentences: the smallest slices that are quoted. Splitting is lossless, and only whitespace lies between them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from quoth.documents.clause_titles import SplitRegion, with_clause_titles
from quoth.documents.formats.text.markdown import markdown_blocks
from quoth.documents.formats.text.plain_text import plain_blocks
from quoth.documents.named_parts import Piece, named_parts
from quoth.documents.text_blocks import covered
from quoth.language.boundaries import cuts
from quoth.language.spans import Runs, trim
from quoth.types import Region, RegionKind, Span

_ONE_SENTENCE = frozenset({RegionKind.HEADING, RegionKind.TABLE_HEADER, RegionKind.TABLE_ROW, RegionKind.REFERENCES})
_BLANK_LINE = re.compile(r"(?<=\S)[^\S\r\n]*(?:\r\n?|\n)(?:[^\S\r\n]*(?:\r\n?|\n))+")


def split(
    text: str,
    *,
    format: str,  # noqa: A002 - the word users know
    language: str | None = None,
) -> tuple[SplitRegion, ...]:
    """Return every region of a `markdown` or `text` document with its sentences, in reading order."""
    return split_regions(text, regions_of(text, format=format), language=language)


def regions_of(text: str, *, format: str) -> tuple[Region, ...]:  # noqa: A002 - the word users know
    """Return the regions of a `markdown` or `text` document in reading order."""
    regions = markdown_regions(text) if format == "markdown" else plain_regions(text)
    kinds = named_parts([Piece(one.kind, " ".join(text[one.span.start : one.span.end].split())) for one in regions])
    return tuple(replace(region, kind=kind) for region, kind in zip(regions, kinds, strict=True))


def split_regions(text: str, regions: Iterable[Region], *, language: str | None = None) -> tuple[SplitRegion, ...]:
    """Return the regions with their sentences, by the rules of a language; those of English without one.

    The title of a clause is a region of its own.
    """
    return with_clause_titles(text, [(region, sentence_spans(text, region, language=language)) for region in regions])


def sentence_spans(text: str, region: Region, *, language: str | None = None) -> tuple[Span, ...]:
    """Return the sentences of a region; together they hold its every visible character. A skipped region has none."""
    if region.kind.skipped:
        return ()
    start, end = region.span.start, region.span.end
    if region.kind in _ONE_SENTENCE:
        return tuple(_parts(text, start, [], end))
    if region.kind is RegionKind.CODE:
        return tuple(_parts(text, start, (gap.start() for gap in _BLANK_LINE.finditer(text, start, end)), end))
    return tuple(
        span
        for sentence in _parts(text, start, cuts(text, start, end, language=language), end)
        for span in _parts(text, sentence.start, overlong_cuts(text, sentence.start, sentence.end), sentence.end)
    )


def _parts(text: str, start: int, inner: Iterable[int], end: int) -> Iterable[Span]:
    """Yield the parts of `[start, end)` between the `inner` offsets, without surrounding whitespace."""
    for stop in (*inner, end):
        span = trim(text, start, stop)
        if span is not None:
            yield span
        start = stop


SOFT_LIMIT = 2_000
"""Code points after which a sentence may be cut at a line break or between enumerated clauses."""
HARD_LIMIT = 4_000
"""Code points after which it is cut between two words, wherever that is safe."""

_CLAUSE = re.compile(r"[;:,](?:\s+(?:and|or|and/or))?(?P<gap>\s+)(?=\(?(?:[a-z]{1,4}|[A-Z]|\d{1,2})\)\s)")
_LINE = re.compile(r"(?<=[^\W\d]|[,;:])(?P<gap>[^\S\r\n]*+[\r\n]\s*+)(?=[^\W\d])")
_WORD_GAP = re.compile(r"(?<=[^\W\d_]{2}|[a-z][,;])(?P<gap>\s+)(?=[^\W\d_]{4})")
"""Between two words: no digit, unit, period or symbol on either side."""


def overlong_cuts(text: str, start: int, end: int) -> list[int]:
    """Return, in order, the offsets inside `[start, end)` at which a sentence is cut if it is too long."""
    found: list[int] = []
    if end - start <= SOFT_LIMIT:
        return found
    runs = Runs(text, start, end)
    while end - start > SOFT_LIMIT:
        at = (
            _last_gap(_CLAUSE, text, start, min(end, start + SOFT_LIMIT), runs)
            or _last_gap(_LINE, text, start, min(end, start + SOFT_LIMIT), runs)
            or (_last_gap(_WORD_GAP, text, start, start + HARD_LIMIT, None) if end - start > HARD_LIMIT else None)
        )
        if at is None:
            # Nothing to cut here: look behind the limit, or give up on a run without any gap.
            later = _WORD_GAP.search(text, start + SOFT_LIMIT, end) if end - start > HARD_LIMIT else None
            if later is None:
                break
            at = later.start("gap")
        found.append(at)
        start = at
    return found


def _last_gap(pattern: re.Pattern[str], text: str, start: int, end: int, runs: Runs | None) -> int | None:
    # The first quarter is passed over: a tiny head with a huge tail helps nobody.
    gaps = [match.start("gap") for match in pattern.finditer(text, start + (end - start) // 4, end)]
    return next((at for at in reversed(gaps) if runs is None or not runs.around(at)), None)


def markdown_regions(text: str) -> tuple[Region, ...]:
    """Return the regions of a Markdown document in reading order."""
    return covered(text, markdown_blocks(text))


def plain_regions(text: str) -> tuple[Region, ...]:
    """Return the regions of a plain text in reading order."""
    return covered(text, plain_blocks(text))
