"""Paragraphs and tables in reading order, out of whatever wraps them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from quoth.corpus.formats.docx_package import Element, child, name, value
from quoth.corpus.formats.docx_runs import chosen, control_content

_LEFT_OUT = frozenset({"w:del", "w:moveFrom", "w:sectPr", "w:tcPr", "w:tblPr", "w:trPr", "w:altChunk", ""})


class Place(NamedTuple):
    """What a paragraph or a table lies in."""

    contents: bool
    """A table of contents."""
    box: bool
    """A text box."""


_BODY = Place(contents=False, box=False)


class InOrder:
    """A walk over a container that does not recurse; more can be put before the rest while it goes on."""

    def __init__(self, container: Element) -> None:
        self._tasks: list[tuple[Element, Place]] = [(part, _BODY) for part in reversed(container)]

    def push(self, elements: Iterable[Element]) -> None:
        """`elements` come next."""
        self._tasks.extend((element, _BODY) for element in reversed(list(elements)))

    def __iter__(self) -> Iterator[tuple[Element, Place]]:
        """Each with where it lies."""
        while self._tasks:
            element, place = self._tasks.pop()
            tag = name(element)
            if tag in {"w:p", "w:tbl"}:
                yield element, place
            elif tag == "w:sdt":
                gallery = value(child(child(element, "w:sdtPr"), "w:docPartObj"), "w:docPartGallery")
                place = place._replace(contents=place.contents or gallery == "Table of Contents")
                self._tasks.extend((part, place) for part in reversed(control_content(element)))
            elif tag == "mc:AlternateContent":
                self._tasks.extend((part, place) for part in reversed(chosen(element)))
            elif tag not in _LEFT_OUT:
                place = place._replace(box=place.box or tag == "w:txbxContent")
                self._tasks.extend((part, place) for part in reversed(element))
