"""What the styles of a DOCX say about its paragraphs: a built-in style keeps its English name in every language."""

from __future__ import annotations

import re
from dataclasses import dataclass

from quoth.corpus.formats.docx_package import Element, attribute, child, children, name, number, switched, value
from quoth.types import RegionKind

_HEADING = re.compile(r"heading ?([1-9])", re.IGNORECASE)
_CONTENTS = re.compile(
    r"(?:toc|contents|index) ?(?:\d|heading)|table of (?:figures|authorities)|toa heading", re.IGNORECASE
)
_KINDS = {
    "caption": RegionKind.CAPTION,
    "quote": RegionKind.QUOTE,
    "intense quote": RegionKind.QUOTE,
    "block text": RegionKind.QUOTE,
    "quotations": RegionKind.QUOTE,
    "html preformatted": RegionKind.CODE,
    "preformatted text": RegionKind.CODE,
    "source code": RegionKind.CODE,
}
_MOST_ANCESTORS = 50
"""Styles that one style may rest on; a longer chain is a circle."""
_BODY_TEXT = 9
"""The outline level of what is no heading."""


@dataclass(frozen=True, slots=True)
class Style:
    """What a paragraph is by its style, before its own properties are looked at. `rank` 1 is the highest heading."""

    kind: RegionKind
    rank: int | None
    title: bool
    numbering: tuple[str, int | None] | None
    """The list (`numId`) and the level, where the style itself is numbered."""
    owners: tuple[str, ...]
    """The style and those it rests on: a level of a list may belong to one of them."""
    indent: int | None
    hidden: bool
    bold: bool
    table_head: bool


class Styles:
    """The styles of a document by id; an unknown id is an ordinary paragraph."""

    def __init__(self, root: Element | None) -> None:
        self._elements = {attribute(element, "styleId") or "": element for element in children(root, "w:style")}
        self._default = next(
            (
                style_id
                for style_id, element in self._elements.items()
                if attribute(element, "type") == "paragraph" and attribute(element, "default") in {"1", "true", "on"}
            ),
            "",
        )
        self._known: dict[str, Style] = {}
        self._prints: dict[str, tuple[bool, str | None]] = {}
        defaults = child(child(root, "w:docDefaults"), "w:rPrDefault")
        self.language = self._language(self._elements.get(self._default)) or self._language(defaults)

    def paragraph(self, style_id: str | None) -> Style:
        style_id = style_id or self._default
        if style_id not in self._known:
            self._known[style_id] = self._resolved(style_id)
        return self._known[style_id]

    def character(self, style_id: str | None) -> tuple[bool, str | None]:
        """Whether a character style hides its text, and whether it raises or lowers it (`superscript`, `subscript`)."""
        if not style_id:
            return False, None
        if style_id not in self._prints:
            prints = [child(style, "w:rPr") for style in self._chain(style_id)]
            hides = any(switched(found, "w:vanish") for found in prints)
            self._prints[style_id] = hides, next(filter(None, (value(found, "w:vertAlign") for found in prints)), None)
        return self._prints[style_id]

    def list_of(self, style_id: str) -> str | None:
        """The list that a numbering style stands for."""
        return value(child(child(self._elements.get(style_id), "w:pPr"), "w:numPr"), "w:numId")

    def _chain(self, style_id: str) -> list[Element]:
        """The style and the ones it rests on, nearest first."""
        chain: list[Element] = []
        while (element := self._elements.get(style_id)) is not None and len(chain) < _MOST_ANCESTORS:
            chain.append(element)
            style_id = value(element, "w:basedOn") or ""
        return chain

    def _resolved(self, style_id: str) -> Style:
        chain = self._chain(style_id)
        names = [(value(element, "w:name") or "").lower() for element in chain] or [style_id.lower()]
        layouts = [child(element, "w:pPr") for element in chain]
        prints = [child(element, "w:rPr") for element in chain]
        kind = next((_KINDS[known] for known in names if known in _KINDS), RegionKind.PARAGRAPH)
        if any(_CONTENTS.fullmatch(known) for known in names):
            kind = RegionKind.CONTENTS
        return Style(
            kind=kind,
            rank=_rank(names, layouts),
            title=names[0] == "title",
            numbering=_numbering(layouts),
            owners=tuple(attribute(element, "styleId") or "" for element in chain),
            indent=next((indent for layout in layouts if (indent := indent_of(layout)) is not None), None),
            hidden=next((is_on for found in prints if (is_on := switched(found, "w:vanish")) is not None), False),
            bold=next((is_on for found in prints if (is_on := switched(found, "w:b")) is not None), False),
            table_head="table heading" in names,
        )

    @staticmethod
    def _language(element: Element | None) -> str | None:
        code = value(child(element, "w:rPr"), "w:lang")
        return code if code and code.lower() not in {"x-none", "none"} else None


def indent_of(layout: Element | None) -> int | None:
    """How far a paragraph is set in, in twentieths of a point; None where its properties do not say."""
    found = child(layout, "w:ind")
    return None if found is None else number(attribute(found, "left") or attribute(found, "start"))


def outline_rank(layout: Element | None) -> int | None:
    """The rank that the outline level of a paragraph or style gives, 0 for body text, None where nothing is said."""
    level = number(value(layout, "w:outlineLvl"))
    if level is None:
        return None
    return level + 1 if 0 <= level < _BODY_TEXT else 0


def _rank(names: list[str], layouts: list[Element | None]) -> int | None:
    for known, layout in zip(names, layouts or [None], strict=True):
        rank = outline_rank(layout)
        if rank is not None:
            return rank or None
        if (heading := _HEADING.fullmatch(known)) is not None:
            return int(heading[1])
        if known == "title":
            return 1
    return None


def _numbering(layouts: list[Element | None]) -> tuple[str, int | None] | None:
    level: int | None = None
    for layout in layouts:
        found = child(layout, "w:numPr")
        if found is None:
            continue
        # A style may set the level and leave the list to the one it rests on.
        level = number(value(found, "w:ilvl")) if level is None else level
        if (list_id := value(found, "w:numId")) is not None:
            return list_id, level
    return None


def direct_numbering(layout: Element | None) -> tuple[str | None, int | None]:
    """The list and the level that a paragraph names itself; `"0"` takes it out of every list."""
    found = child(layout, "w:numPr")
    return value(found, "w:numId"), number(value(found, "w:ilvl"))


def is_deleted(mark: Element | None) -> bool:
    """Whether the end of a paragraph, or a row, was deleted while changes were tracked."""
    return mark is not None and any(name(found) in {"w:del", "w:moveFrom"} for found in mark)
