"""The styles of a DOCX. Built-in styles have their English names in every language."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from quoth.documents.formats.docx.package import Element, attribute, child, children, name, number, switched, value
from quoth.types import RegionKind

T = TypeVar("T")

_HEADING = re.compile(r"heading ?([1-9])", re.IGNORECASE)
_CONTENTS = re.compile(
    r"(?:toc|contents|index) ?(?:\d|heading)|table of (?:figures|authorities)|toa heading", re.IGNORECASE
)
_KINDS = {
    "caption": RegionKind.CAPTION,
    **dict.fromkeys(("quote", "intense quote", "block text", "quotations"), RegionKind.QUOTE),
    **dict.fromkeys(("html preformatted", "preformatted text", "source code"), RegionKind.CODE),
}
_MOST_ANCESTORS = 50  # the longest chain of styles that are based on each other; a longer chain is a circle
_BODY_TEXT = 9  # the outline level of text that is no heading


@dataclass(frozen=True, slots=True)
class ParagraphStyle:
    """The properties that a style gives its paragraphs. `rank` 1 is the highest heading, None is no heading."""

    kind: RegionKind
    rank: int | None
    title: bool
    numbering: tuple[str, int | None] | None
    """The list (`numId`) and the level of a numbered style."""
    owners: tuple[str, ...]
    """The ids of the style and of the styles it is based on, any of which may own a level of a list."""
    indent: int | None
    hidden: bool
    bold: bool
    table_head: bool


class Styles:
    """The styles of a document by id. An unknown id means an ordinary paragraph."""

    def __init__(self, root: Element | None) -> None:
        self._elements = {attribute(element, "styleId") or "": element for element in children(root, "w:style")}
        paragraphs = (element for element in self._elements.values() if attribute(element, "type") == "paragraph")
        default = [element for element in paragraphs if attribute(element, "default") in {"1", "true", "on"}]
        self._default = attribute(default[0], "styleId") or "" if default else ""
        self._style = cache(self._resolved)
        self.character = cache(self._character)
        defaults = child(child(root, "w:docDefaults"), "w:rPrDefault")
        self.language = self._language(self._elements.get(self._default)) or self._language(defaults)

    def paragraph(self, style_id: str | None) -> ParagraphStyle:
        return self._style(style_id or self._default)

    def _character(self, style_id: str | None) -> tuple[bool, str | None]:
        """Return whether a character style hides its text, and its position: `superscript`, `subscript` or None."""
        prints = [child(style, "w:rPr") for style in self._chain(style_id or "")] if style_id else []
        hides = any(switched(found, "w:vanish") for found in prints)
        return hides, next(filter(None, (value(found, "w:vertAlign") for found in prints)), None)

    def list_of(self, style_id: str) -> str | None:
        """Return the id of the list of a numbering style; None without a list."""
        return value(child(child(self._elements.get(style_id), "w:pPr"), "w:numPr"), "w:numId")

    def _chain(self, style_id: str) -> list[Element]:
        """Return the style and the styles it is based on, nearest first."""
        chain: list[Element] = []
        while (element := self._elements.get(style_id)) is not None and len(chain) < _MOST_ANCESTORS:
            chain.append(element)
            style_id = value(element, "w:basedOn") or ""
        return chain

    def _resolved(self, style_id: str) -> ParagraphStyle:
        chain = self._chain(style_id)
        names = [(value(element, "w:name") or "").lower() for element in chain] or [style_id.lower()]
        layouts = [child(element, "w:pPr") for element in chain]
        prints = [child(element, "w:rPr") for element in chain]
        kind = next((_KINDS[style_name] for style_name in names if style_name in _KINDS), RegionKind.PARAGRAPH)
        if any(_CONTENTS.fullmatch(style_name) for style_name in names):
            kind = RegionKind.CONTENTS
        return ParagraphStyle(
            kind=kind,
            rank=_rank(names, layouts),
            title=names[0] == "title",
            numbering=_numbering(layouts),
            owners=tuple(attribute(element, "styleId") or "" for element in chain),
            indent=_nearest(map(indent_of, layouts)),
            hidden=bool(_nearest(switched(found, "w:vanish") for found in prints)),
            bold=bool(_nearest(switched(found, "w:b") for found in prints)),
            table_head="table heading" in names,
        )

    @staticmethod
    def _language(element: Element | None) -> str | None:
        code = value(child(element, "w:rPr"), "w:lang")
        return code if code and code.lower() not in {"x-none", "none"} else None


def _nearest(given: Iterable[T | None]) -> T | None:
    """Return the first value that is given, as the nearest style of a chain sets it."""
    return next((given_value for given_value in given if given_value is not None), None)


def indent_of(layout: Element | None) -> int | None:
    """Return the indent of a paragraph in twentieths of a point; None when it is not set."""
    found = child(layout, "w:ind")
    return None if found is None else number(attribute(found, "left") or attribute(found, "start"))


def outline_rank(layout: Element | None) -> int | None:
    """Return the heading rank from the outline level; 0 for body text, None when no level is set."""
    level = number(value(layout, "w:outlineLvl"))
    if level is None:
        return None
    return level + 1 if 0 <= level < _BODY_TEXT else 0


def _rank(names: list[str], layouts: list[Element | None]) -> int | None:
    for style_name, layout in zip(names, layouts or [None], strict=True):
        rank = outline_rank(layout)
        if rank is not None:
            return rank or None
        if (heading := _HEADING.fullmatch(style_name)) is not None:
            return int(heading[1])
        if style_name == "title":
            return 1
    return None


def _numbering(layouts: list[Element | None]) -> tuple[str, int | None] | None:
    level: int | None = None
    for layout in layouts:
        found = child(layout, "w:numPr")
        if found is None:
            continue
        # A style may set the level and leave the list to the style it is based on.
        level = number(value(found, "w:ilvl")) if level is None else level
        if (list_id := value(found, "w:numId")) is not None:
            return list_id, level
    return None


def is_deleted(mark: Element | None) -> bool:
    """Return whether tracked changes deleted a paragraph mark or a table row."""
    return mark is not None and any(name(found) in {"w:del", "w:moveFrom"} for found in mark)
