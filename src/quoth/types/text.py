"""Spans, quotes, regions and pages of a text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Vectors: TypeAlias = NDArray[np.float32]
"""Unit-length vectors, a row for each text. A single vector is a one-dimensional array."""

Tags: TypeAlias = Mapping[str, tuple[str, ...]]
"""The matching values of each facet (`crop`, `practice`, ...), the main value first."""

Box: TypeAlias = tuple[float, float, float, float]
"""A rectangle on a page: left, top, right and bottom, in points from the top left corner."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A half-open range `[start, end)` of code points in the text of a document."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise ValueError(f"span must satisfy 0 <= start < end, got {self.start}:{self.end}")

    def __len__(self) -> int:
        return self.end - self.start

    def overlaps(self, other: Span) -> bool:
        return self.start < other.end and other.start < self.end

    def holds(self, other: Span) -> bool:
        return self.start <= other.start and other.end <= self.end


@dataclass(frozen=True, slots=True)
class Quote:
    """A span of a document and the text that must be found there."""

    span: Span
    text: str


class RegionKind(StrEnum):
    """The kind of a run of text."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    TABLE_HEADER = "table_header"
    TABLE_ROW = "table_row"
    CODE = "code"
    QUOTE = "quote"
    FOOTNOTE = "footnote"
    CAPTION = "caption"
    # The kinds below are no evidence, unless a question asks for them.
    REFERENCES = "references"
    BACK_MATTER = "back_matter"
    MASTHEAD = "masthead"
    # The kinds below are never quoted. They exist so that the regions cover the whole text.
    FRONT_MATTER = "front_matter"
    MARKUP = "markup"
    HTML = "html"
    CONTENTS = "table_of_contents"
    FURNITURE = "page_furniture"

    @property
    def skipped(self) -> bool:
        return self in _SKIPPED

    @property
    def aside(self) -> bool:
        """Whether this is a part beside the text: a bibliography, who wrote and paid for it."""
        return self in _ASIDE

    @property
    def evidence(self) -> bool:
        """Whether a sentence of this kind can be an answer. A heading cannot: it states nothing."""
        return self not in _SKIPPED and self not in _LABELS and self not in _ASIDE


_SKIPPED = frozenset(
    {RegionKind.FRONT_MATTER, RegionKind.MARKUP, RegionKind.HTML, RegionKind.CONTENTS, RegionKind.FURNITURE}
)
_ASIDE = frozenset({RegionKind.REFERENCES, RegionKind.BACK_MATTER, RegionKind.MASTHEAD})
_LABELS = frozenset({RegionKind.HEADING, RegionKind.TABLE_HEADER})


@dataclass(frozen=True, slots=True)
class Region:
    """A run of text of one kind, with its headings, outermost first.

    `lead` is the line that introduces a list item, or the header row of a table row.
    """

    span: Span
    kind: RegionKind
    section: tuple[str, ...]
    lead: Span | None


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """A printed page of a document, with the position of every character. `number` counts from 1.

    `spans` are the runs of text on this page, in order; a footer comes after the paragraph that it interrupts. `boxes`
    has a row for each code point of the spans: left, top, right and bottom, in points from the top left corner. The row
    of a character that is not printed, such as a line end, is four zeros.
    """

    number: int
    width: float
    height: float
    spans: tuple[Span, ...]
    boxes: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Extract:
    """The text of a file with its structure, as an extractor returns it.

    `regions` is None when the text itself shows its structure (Markdown, plain text). `recognised` are the runs of text
    from OCR, each with a confidence from 0 to 1. `properties` may hold `title` and `language`. `notes` tell the user
    what is missing from the text.
    """

    text: str
    regions: tuple[Region, ...] | None
    pages: tuple[Page, ...]
    recognised: tuple[tuple[Span, float], ...]
    properties: Mapping[str, str]
    notes: tuple[str, ...]


_BROKEN_WORD = re.compile(r"(?<![^\W\d_])([^\W\d_]++)[-\u2010][^\S\r\n]*\r?\n\s*([^\W\d_A-Z][^\W\d_]*)")
"""A word broken by a hyphen at a line end, with a lower-case letter on the next line."""


def unbroken(text: str) -> str:
    """Return `text` for comparing: a word broken over two lines, `set-` / `back`, becomes `setback set-back`.

    Both forms are there because the text does not show whether the hyphen belongs to the word.
    """
    if "\u00ad" in text:
        text = text.replace("\u00ad", "")
    return _BROKEN_WORD.sub(r"\1\2 \1-\2", text) if "\n" in text else text


def unbroken_places(text: str) -> list[int]:
    """Return the place in `text` of each character of `unbroken(text)`.

    The space and the hyphen between the two forms of a broken word have the place of the hyphen at the line end.
    """
    kept = [at for at, character in enumerate(text) if character != "\u00ad"]
    places: list[int] = []
    done = 0
    for broken in _BROKEN_WORD.finditer(text.replace("\u00ad", "")):
        first, second = (kept[broken.start(half) : broken.end(half)] for half in (1, 2))
        sign = [kept[broken.end(1)]]
        places += kept[done : broken.start()] + first + second + sign + first + sign + second
        done = broken.end()
    return places + kept[done:]
