"""Captions: what a figure or a table shows, in a block of its own."""

from __future__ import annotations

import re

_CAPTION = re.compile(
    r"""
    [*_]{0,3}
    (?:(?:supplement(?:ary|al)|extended\ data|appendix)\s+)?
    (?:figure|fig|table|tab|plate|chart|box|map|scheme|photo|illustration|image)s?\.?\s{1,3}
    (?:[A-Z]{1,2}[-.]?)?\d{1,3}(?:[.\-–]\d{1,3})*(?:[a-z]|\([a-z]\))?(?!\w)
    (?P<stop>[*_]{0,3}\s{0,3}[.:|–—\-]|[*_]{1,3}|\s{2,}|[^\S\r\n]*(?:[\r\n]\s*|$))
    """,
    re.VERBOSE | re.IGNORECASE,
)


def is_caption(block: str) -> bool:
    """Whether a block begins as a caption does: `Figure 3. Yield`; not `Figure 3 shows the yield`."""
    found = _CAPTION.match(block)
    if found is None or not block.lstrip("*_")[:1].isupper():
        return False
    return not found["stop"].isspace() or not block[found.end() :][:1].islower()
