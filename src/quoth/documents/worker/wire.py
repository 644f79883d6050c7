"""Encode an `Extract` as bytes and back. The bytes are data only, so that a hostile file cannot send code."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np

from quoth.types import Extract

_NO_BOXES = np.empty((0, 4), dtype=np.float32)


def pack(extract: Extract) -> bytes:
    """Return a line of JSON, followed by the boxes of every page as 32-bit floats."""
    boxes = b"".join(np.ascontiguousarray(page.boxes, dtype="<f4").tobytes() for page in extract.pages)
    header = msgspec.json.encode(
        extract, enc_hook=lambda value: None if isinstance(value, np.ndarray) else float(value)
    )
    return header + b"\n" + boxes


def unpack(data: bytes) -> Extract:
    """Return the value that `pack` encoded. Raise ValueError when the spans do not fit the text."""
    header, _, rest = data.partition(b"\n")
    extract = msgspec.json.decode(header, type=Extract, dec_hook=lambda _type, _value: _NO_BOXES)
    spans = [span for region in extract.regions or () for span in (region.span, region.lead) if span]
    spans += [span for span, _ in extract.recognised] + [span for page in extract.pages for span in page.spans]
    if beyond := next((span for span in spans if span.end > len(extract.text)), None):
        raise ValueError(f"{beyond.start}:{beyond.end} is not in a text of {len(extract.text)}")
    boxes = np.frombuffer(rest, dtype="<f4").reshape(-1, 4)
    counts = [sum(map(len, page.spans)) for page in extract.pages]
    if sum(counts) != len(boxes):
        raise ValueError(f"{len(boxes)} boxes for {sum(counts)} characters")
    parts = np.split(boxes, np.cumsum(counts)[:-1]) if counts else []
    return replace(
        extract, pages=tuple(replace(page, boxes=part) for page, part in zip(extract.pages, parts, strict=True))
    )
