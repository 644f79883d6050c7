"""PPTX: the slides in order, each with its title, its text and its speaker notes. A slide is a page.

The title of a slide is the section of all that stands on it, and introduces its bullet points: without it a point says
little. Speaker notes follow their slide, in a section of their own. Hidden slides are left out, and the notes say so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from lxml import etree

from quoth.documents.formats.docx.package import Element, Package, child, children, number, relation
from quoth.documents.formats.pptx.slide_shapes import Bullets, SlideReader
from quoth.documents.text_blocks import Block, assemble
from quoth.errors import UnreadableFile
from quoth.types import Extract, Page, Region, RegionKind, Span

VERSION = f"lxml {'.'.join(map(str, etree.LXML_VERSION[:3]))} / pptx 1"

MOST_SLIDES = 5_000
MOST_CHARACTERS = 32_000_000

_MAIN_PART = "ppt/presentation.xml"
_NOT_SLIDES = "Only presentations can be read here: .pptx, .pptm or .ppsx."
_SPLIT = "Split the presentation."
_NOTES = "Speaker notes"
_GAP = "\n\n"
_POINTS = 12_700  # English metric units in a point


@dataclass(frozen=True, slots=True)
class _Slide:
    """What a slide holds, nothing if it is hidden; `number` counts from 1, hidden slides included."""

    number: int
    title: str
    blocks: tuple[Block, ...]
    notes: tuple[Block, ...]
    footers: tuple[str, ...]
    pictures: int
    hidden: bool


def extract(data: bytes) -> Extract:
    """Return the text and the regions of a presentation; raise `UnreadableFile` with the reason where that fails."""
    package = Package(data, ".pptx")
    main, root = package.main(_MAIN_PART, "p:presentation", "presentation", hint=_NOT_SLIDES)
    parts = _slide_parts(package, main, root)
    reader = _Reader(package)
    slides = [reader.slide(part, count) for count, part in enumerate(parts, 1)]
    hidden = [slide.number for slide in slides if slide.hidden]
    layout = _Layout(_size(root))
    for slide in slides:
        layout.add(slide)
    layout.add_furniture(dict.fromkeys(text for slide in slides for text in slide.footers))
    silent = [slide.number for slide in slides if slide.pictures and not slide.blocks]
    notes = [
        *([f"Hidden slides are not read: {_numbers(hidden)}."] if hidden else []),
        *([f"Slides that hold pictures and no text: {_numbers(silent)}."] if silent else []),
    ]
    return Extract(
        text=layout.text,
        regions=tuple(layout.regions),
        pages=tuple(layout.pages),
        recognised=(),
        properties=package.properties(),
        notes=tuple(notes),
    )


def _slide_parts(package: Package, main: str, root: Element) -> list[str]:
    targets = package.related_by_id(main)
    listed = [relation(slide) for slides in children(root, "p:sldIdLst") for slide in children(slides, "p:sldId")]
    # A file that lies may name a slide twice; a reader would see it twice, but nobody made it so.
    parts = dict.fromkeys(targets[key] for key in listed if key in targets)
    if len(parts) > MOST_SLIDES:
        raise UnreadableFile("", f"it has more than {MOST_SLIDES:,} slides", hint=_SPLIT)
    return [part for part in parts if package.holds(part)]


def _size(root: Element) -> tuple[float, float]:
    """Return the width and the height of the slides in points."""
    size = child(root, "p:sldSz")
    sides = (0, 0) if size is None else (number(size.get("cx")) or 0, number(size.get("cy")) or 0)
    return sides[0] / _POINTS, sides[1] / _POINTS


class _Reader:
    """Reads the slides of a package; the layouts that they share are read once."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self._bullets: dict[str, Bullets] = {}

    def slide(self, part: str, count: int) -> _Slide:
        root = self._package.xml(part)
        if root is None or root.get("show") in {"0", "false"}:
            return _Slide(count, "", (), (), (), pictures=0, hidden=True)
        related = self._package.related(part)
        diagrams = self._package.related_by_id(part)
        reader = SlideReader(
            self._bullets_of(related.get("slideLayout", ())), lambda key: self._package.xml(diagrams.get(key, ""))
        )
        blocks = reader.blocks(root)
        notes: list[Block] = []
        for notes_part in related.get("notesSlide", ()):
            if (notes_root := self._package.xml(notes_part)) is not None:
                notes += SlideReader(Bullets(None, None), lambda _: None).notes(notes_root)
        footers = tuple(reader.footers)
        return _Slide(count, reader.title, tuple(blocks), tuple(notes), footers, reader.pictures, hidden=False)

    def _bullets_of(self, layouts: Iterable[str]) -> Bullets:
        layout = next(iter(layouts), "")
        if layout not in self._bullets:
            masters = self._package.related(layout).get("slideMaster", ()) if layout else ()
            master = next((self._package.xml(part) for part in masters), None)
            self._bullets[layout] = Bullets(self._package.xml(layout) if layout else None, master)
        return self._bullets[layout]


class _Layout:
    """Puts slides one after another. Each is laid out by itself, so that no list goes on from one to the next."""

    def __init__(self, size: tuple[float, float]) -> None:
        self.regions: list[Region] = []
        self.pages: list[Page] = []
        self._size = size
        self._texts: list[str] = []
        self._length = 0

    @property
    def text(self) -> str:
        return _GAP.join(self._texts)

    def add(self, slide: _Slide) -> None:
        section = (slide.title or f"Slide {slide.number}",)
        start = self._length
        first = len(self.regions)
        self._add(slide.blocks, section)
        title = next((region.span for region in self.regions[first:] if region.kind is RegionKind.HEADING), None)
        self.regions[first:] = [_led(region, title) for region in self.regions[first:]]
        self._add(slide.notes, (*section, _NOTES))
        end = max(start, self._length - len(_GAP))
        spans = (Span(start, end),) if end > start else ()
        # A slide says where on it a text stands only in part; a box of zeros is that of a character without a place.
        boxes = np.zeros((end - start, 4), dtype=np.float32)
        self.pages.append(Page(slide.number, *self._size, spans, boxes))

    def add_furniture(self, texts: Iterable[str]) -> None:
        self._add([Block(RegionKind.FURNITURE, text, level=0, opens=False) for text in texts], ())

    def _add(self, blocks: Iterable[Block], section: tuple[str, ...]) -> None:
        assembled = assemble(list(blocks))
        if not assembled.text:
            return
        by = self._length
        self.regions += [
            replace(region, span=_moved(region.span, by), section=section, lead=region.lead and _moved(region.lead, by))
            for region in assembled.regions
        ]
        self._texts.append(assembled.text)
        self._length += len(assembled.text) + len(_GAP)
        if self._length > MOST_CHARACTERS:
            raise UnreadableFile("", f"it holds more than {MOST_CHARACTERS:,} characters", hint=_SPLIT)


def _moved(span: Span, by: int) -> Span:
    return Span(span.start + by, span.end + by)


def _led(region: Region, title: Span | None) -> Region:
    if title is None or region.kind is not RegionKind.LIST_ITEM or region.lead or region.span.start < title.end:
        return region
    return replace(region, lead=title)


def _numbers(slides: list[int]) -> str:
    more = f" and {len(slides) - 10} more" if len(slides) > 10 else ""
    return ", ".join(map(str, slides[:10])) + more
