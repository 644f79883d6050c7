"""What is read of the sources of documents: reStructuredText, AsciiDoc and LaTeX."""

from __future__ import annotations

from collections.abc import Callable

from quoth.types import Extract, RegionKind

Reader = Callable[[bytes], Extract]


def blocks(extract: Reader, text: str) -> list[tuple[RegionKind, str]]:
    """Every region but markup; the canonical text must be the source itself."""
    found = extract(text.encode())
    assert found.text == text
    return [
        (region.kind, text[region.span.start : region.span.end])
        for region in found.regions or ()
        if region.kind is not RegionKind.MARKUP
    ]


def leads(extract: Reader, text: str) -> dict[str, str]:
    """The lead of each region that has one, with single spaces."""
    found = extract(text.encode())
    return {
        text[region.span.start : region.span.end]: " ".join(text[region.lead.start : region.lead.end].split())
        for region in found.regions or ()
        if region.lead
    }


def sections(extract: Reader, text: str) -> list[tuple[str, ...]]:
    """The paths of the headings, in order."""
    found = extract(text.encode())
    return [region.section for region in found.regions or () if region.kind is RegionKind.HEADING]


def assert_lossless(extract: Reader, text: str) -> None:
    """Regions come in order, do not overlap, and hold every visible character of the source."""
    found = extract(text.encode())
    at = 0
    for region in found.regions or ():
        assert region.span.start >= at
        assert not text[at : region.span.start].strip(" \t\r\n\f\v\ufeff")
        at = region.span.end
    assert not text[at:].strip()
    assert found.text == text
