"""What a worker sends arrives as it was, and what does not fit its text is refused."""

from __future__ import annotations

import numpy as np
import pytest

from quoth.documents.worker.process import pack, unpack
from quoth.types import Extract, Page, Region, RegionKind, Span

TEXT = "Sowing 🌾\nSow at 2.5 cm.\nÜber"
EXTRACT = Extract(
    text=TEXT,
    regions=(
        Region(Span(0, 8), RegionKind.HEADING, ("Sowing",), None),
        Region(Span(9, 23), RegionKind.LIST_ITEM, ("Sowing",), Span(0, 8)),
        Region(Span(24, 28), RegionKind.FURNITURE, (), None),
    ),
    pages=(
        Page(1, 595.3, 841.9, (Span(0, 8), Span(24, 28)), np.arange(48, dtype=np.float32).reshape(12, 4)),
        Page(2, 10.0, 20.0, (), np.empty((0, 4), dtype=np.float32)),
        Page(3, 10.0, 20.0, (Span(9, 23),), np.ones((14, 4), dtype=np.float32)),
    ),
    recognised=((Span(9, 23), 0.75),),
    properties={"title": "Sowing"},
    notes=("page 2 is a picture",),
)


def test_an_extract_arrives_as_it_was() -> None:
    arrived = unpack(pack(EXTRACT))

    for name in ("text", "regions", "recognised", "properties", "notes"):
        assert getattr(arrived, name) == getattr(EXTRACT, name)
    for there, here in zip(arrived.pages, EXTRACT.pages, strict=True):
        assert (there.number, there.width, there.height, there.spans) == (
            here.number,
            here.width,
            here.height,
            here.spans,
        )
        assert np.array_equal(there.boxes, here.boxes)


def test_text_without_regions_arrives_without() -> None:
    assert unpack(pack(Extract("Sow.", None, (), (), {}, ()))).regions is None


@pytest.mark.parametrize("end", [29, 10**9])
def test_a_region_beyond_the_text_is_refused(end: int) -> None:
    wrong = Extract(TEXT, (Region(Span(24, end), RegionKind.PARAGRAPH, (), None),), (), (), {}, ())

    with pytest.raises(ValueError, match="is not in a text of 28"):
        unpack(pack(wrong))


def test_boxes_that_belong_to_no_character_are_refused() -> None:
    with pytest.raises(ValueError, match="boxes"):
        unpack(pack(EXTRACT) + bytes(16))
