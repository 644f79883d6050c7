"""Regions: what each run of a document is. Every visible character lies in exactly one."""

from __future__ import annotations

import re
from collections.abc import Iterable

from quoth.text.markdown import markdown_blocks
from quoth.text.plain import plain_blocks
from quoth.text.spans import trim
from quoth.types import Region, RegionKind

_LETTER = re.compile(r"[^\W\d_]")


def markdown_regions(text: str) -> tuple[Region, ...]:
    """Return the regions of a Markdown document in reading order."""
    return _filled(text, markdown_blocks(text))


def plain_regions(text: str) -> tuple[Region, ...]:
    """Return the regions of a plain text in reading order."""
    return _filled(text, plain_blocks(text))


def _filled(text: str, blocks: Iterable[Region]) -> tuple[Region, ...]:
    """Name what lies between the blocks, so that nothing visible is lost.

    Marks (`>`, `-`, `|`, a byte order mark) are markup. Words that no block claimed are kept as a paragraph: better an
    odd quote than a lost one.
    """
    regions: list[Region] = []
    at = 0
    for block in blocks:
        regions += [*_gap(text, at, block.span.start, block.section), block]
        at = block.span.end
    regions += _gap(text, at, len(text), regions[-1].section if regions else ())
    return tuple(regions)


def _gap(text: str, start: int, end: int, section: tuple[str, ...]) -> list[Region]:
    span = trim(text, start, end)
    if span is None:
        return []
    kind = RegionKind.PARAGRAPH if _LETTER.search(text, span.start, span.end) else RegionKind.MARKUP
    return [Region(span, kind, section, lead=None)]
