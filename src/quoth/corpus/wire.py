"""An `Extract` as bytes and back: what a worker process sends. Data only, so that a hostile file cannot send code."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from quoth.types import Extract, Page, Region, RegionKind, Span


def pack(extract: Extract) -> bytes:
    """A line of JSON, then the boxes of every page, one behind the other."""
    sections: dict[tuple[str, ...], int] = {}
    regions = extract.regions and [
        [
            region.span.start,
            region.span.end,
            region.kind.value,
            sections.setdefault(region.section, len(sections)),
            *((region.lead.start, region.lead.end) if region.lead else ()),
        ]
        for region in extract.regions
    ]
    header = {
        "text": extract.text,
        "regions": regions,
        "sections": list(sections),
        "pages": [[page.number, page.width, page.height, _pairs(page.spans)] for page in extract.pages],
        "recognised": [[span.start, span.end, confidence] for span, confidence in extract.recognised],
        "properties": dict(extract.properties),
        "notes": extract.notes,
    }
    boxes = b"".join(np.ascontiguousarray(page.boxes, dtype="<f4").tobytes() for page in extract.pages)
    return json.dumps(header, ensure_ascii=True).encode() + b"\n" + boxes


def unpack(data: bytes) -> Extract:
    """The value that `pack` made bytes of; ValueError when the spans do not fit the text."""
    line, _, rest = data.partition(b"\n")
    header = json.loads(line)
    text: str = header["text"]
    sections = [tuple(section) for section in header["sections"]]
    boxes = np.frombuffer(rest, dtype="<f4").reshape(-1, 4)
    pages = []
    for number, width, height, pairs in header["pages"]:
        spans = tuple(_span(start, end, text) for start, end in pairs)
        rows = sum(map(len, spans))
        pages.append(Page(number, width, height, spans, boxes[:rows]))
        boxes = boxes[rows:]
    if len(boxes):
        raise ValueError("more boxes than characters")
    return Extract(
        text=text,
        regions=None if header["regions"] is None else tuple(_region(row, sections, text) for row in header["regions"]),
        pages=tuple(pages),
        recognised=tuple((_span(start, end, text), float(sure)) for start, end, sure in header["recognised"]),
        properties=header["properties"],
        notes=tuple(header["notes"]),
    )


def _pairs(spans: tuple[Span, ...]) -> list[tuple[int, int]]:
    return [(span.start, span.end) for span in spans]


def _region(row: list[Any], sections: list[tuple[str, ...]], text: str) -> Region:
    start, end, kind, section, *lead = row
    return Region(
        span=_span(start, end, text),
        kind=RegionKind(kind),
        section=sections[section],
        lead=_span(lead[0], lead[1], text) if lead else None,
    )


def _span(start: int, end: int, text: str) -> Span:
    if end > len(text):
        raise ValueError(f"{start}:{end} is not in a text of {len(text)}")
    return Span(start, end)
