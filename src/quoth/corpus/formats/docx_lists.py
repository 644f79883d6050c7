"""How deep a list item stands and where a list begins: Word only says which definition a paragraph is counted by."""

from __future__ import annotations

from typing import NamedTuple

from quoth.corpus.formats.docx_numbering import Label


class _Open(NamedTuple):
    key: str
    level: int
    indent: int


class Lists:
    """Follows the paragraphs of a document and keeps the lists that are open, outermost first."""

    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._interrupted = False

    def item(self, label: Label, indent: int) -> tuple[int, bool]:
        """The depth of an item, 1 being the outermost, and whether it is the first of its list."""
        here = _Open(label.list_key, label.level, indent)
        known = [(one.key, one.level) for one in self._open]
        if self._interrupted and (label.bullet or label.first or here[:2] not in known):
            self._open.clear()
            known.clear()
        self._interrupted = False
        if here[:2] in known:
            del self._open[known.index(here[:2]) + 1 :]
            return len(self._open), label.first and not label.bullet
        while self._open and not _below(here, self._open[-1]):
            self._open.pop()
        self._open.append(here)
        return len(self._open), True

    def paragraph(self, indent: int) -> None:
        """A paragraph without a number goes on with an item when it is set in as far; else it ends the lists."""
        if self._open and (indent <= 0 or indent < self._open[0].indent):
            self._interrupted = True

    def end(self) -> None:
        self._open.clear()
        self._interrupted = False


def _below(item: _Open, above: _Open) -> bool:
    """In one list the level tells what is nested; in two only how far they are set in."""
    return item.level > above.level if item.key == above.key else item.indent > above.indent
