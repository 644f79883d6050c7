"""What the words at one place of a page belong to, while it is read."""

from __future__ import annotations

from dataclasses import dataclass

from quoth.corpus.formats.html_lists import Marks
from quoth.types import RegionKind


class First:
    """True until it is asked."""

    def __init__(self) -> None:
        self._waiting = True

    def take(self) -> bool:
        waiting, self._waiting = self._waiting, False
        return waiting


class Item:
    """A list item: its mark, until its first words take it, and whether it is the first of its list to speak."""

    def __init__(self, mark: str, first: First) -> None:
        self.first = first
        self._mark = mark

    def take_mark(self) -> str:
        mark, self._mark = self._mark, ""
        return mark


@dataclass(frozen=True, slots=True)
class Context:
    """What the text at this place belongs to."""

    kind: RegionKind
    level: int
    depth: int
    """How many lists are open."""
    marks: Marks | None
    first: First | None
    item: Item | None
    keeps_space: bool
    described: bool
    """Whether a picture's description stands for it: in a figure without a caption."""
    quotes: int


TOP = Context(RegionKind.PARAGRAPH, 0, 0, None, None, None, keeps_space=False, described=False, quotes=0)
