"""The flow of the text: pieces in reading order, whole again where columns, pages and tables part them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from quoth.corpus.formats.pdf_ink import Inked
from quoth.corpus.formats.pdf_lines import Line
from quoth.corpus.formats.pdf_paragraphs import runs_on
from quoth.types import RegionKind

_MOST_LINES = 1_000  # of one paragraph
_MOST_BETWEEN = 24
"""Pieces that stand beside the text, or a table, between two halves of a paragraph."""
_RUNNING = frozenset({RegionKind.PARAGRAPH, RegionKind.LIST_ITEM, RegionKind.FOOTNOTE})
_BESIDE = frozenset(
    {RegionKind.FURNITURE, RegionKind.FOOTNOTE, RegionKind.CAPTION, RegionKind.TABLE_HEADER, RegionKind.TABLE_ROW}
)
_CLAUSE = re.compile(r"\((?:[a-z]{1,4}|[A-Z]|\d{1,2})\)\s")


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A block with the page of each of its lines. `first` and `last` are None for rows and for what goes on nowhere."""

    kind: RegionKind
    level: int
    opens: bool
    parts: tuple[tuple[int, Inked], ...]
    first: Line | None
    last: Line | None

    @property
    def text(self) -> str:
        """The lines as they are printed. Where a clause of the sentence begins a line, a space joins it: a line end
        there would mean a list to whoever reads the text alone."""
        lines = [ink.text for _, ink in self.parts]
        gaps = [" " if _CLAUSE.match(line) else "\n" for line in lines[1:]]
        return "".join(chain.from_iterable(zip(lines, [*gaps, ""], strict=True)))


def flowing(pieces: Sequence[Piece]) -> list[Piece]:
    """Return the pieces of a document with split paragraphs joined and lists marked."""
    return _in_lists(_joined(pieces))


def _joined(pieces: Sequence[Piece]) -> list[Piece]:
    """Bring the halves of a paragraph together that a column, a page or a table between them parts; notes as well."""
    result: list[Piece] = []
    text_at: int | None = None
    note_at: int | None = None
    for piece in pieces:
        for at in (text_at, note_at):
            if at is not None and len(result) - at <= _MOST_BETWEEN and _goes_on(result, at, piece):
                result[at] = replace(result[at], parts=result[at].parts + piece.parts, last=piece.last)
                break
        else:
            result.append(piece)
            if piece.kind is RegionKind.FOOTNOTE:
                note_at = len(result) - 1
            elif piece.kind not in _BESIDE:
                text_at = len(result) - 1
    return result


def _goes_on(result: Sequence[Piece], at: int, piece: Piece) -> bool:
    """Whether a piece goes on with the one at `at`, with what stands beside the text between them."""
    before = result[at]
    if len(before.parts) > _MOST_LINES:
        return False
    if piece.kind is not RegionKind.PARAGRAPH or before.kind not in _RUNNING:
        return False
    if before.last is None or piece.first is None or not runs_on(before.last, piece.first):
        return False
    if before.last.page != piece.first.page or before.last.part != piece.first.part:
        return True
    return at < len(result) - 1 and piece.first.text[:1].islower()


def _in_lists(pieces: Sequence[Piece]) -> list[Piece]:
    """Mark where lists open, and keep a paragraph that is set in below an item with the list."""
    result: list[Piece] = []
    item: Piece | None = None
    for piece in pieces:
        if piece.kind is RegionKind.LIST_ITEM:
            result.append(replace(piece, opens=item is None))
            item = piece
        elif item is not None and _below_item(item, piece):
            result.append(replace(piece, kind=RegionKind.LIST_ITEM, level=1))
        else:
            result.append(piece)
            if piece.kind not in _BESIDE:
                item = None
    return result


def _below_item(item: Piece, piece: Piece) -> bool:
    first, other = item.first, piece.first
    if first is None or other is None or piece.kind is not RegionKind.PARAGRAPH:
        return False
    same_part = first.page == other.page and first.part == other.part
    return same_part and other.size == first.size and other.left > first.left + 0.7 * first.size
