"""Small pages for the tests, and what is read of them."""

from __future__ import annotations

from quoth.documents.formats.html.html_document import extract
from quoth.types import Extract, RegionKind


def page(body: str) -> Extract:
    return extract(f"<!doctype html><html><body>{body}</body></html>".encode())


def blocks(body: str) -> list[tuple[RegionKind, str]]:
    found = page(body)
    return [(region.kind, found.text[region.span.start : region.span.end]) for region in found.regions or ()]


def texts(body: str) -> list[str]:
    return [text for _, text in blocks(body)]


def leads(body: str) -> list[tuple[str, str | None]]:
    found = page(body)
    return [
        (
            found.text[region.span.start : region.span.end],
            None if region.lead is None else found.text[region.lead.start : region.lead.end],
        )
        for region in found.regions or ()
    ]
