"""A draft of a context: pieces that together stay within the budget."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

from quoth.context.blocks import block_text
from quoth.context.pieces import Piece, block_of, joined
from quoth.context.sources import Sources
from quoth.protocols import TokenCounter
from quoth.text.tokens import count_tokens
from quoth.types import Context, ContextBlock, Span

_SEAM = 2
"""Tokens by which a block's count may change when others stand beside it."""
_MEETING = 41
"""Characters on either side of where two blocks meet that show whether counting them together changes anything."""
_LINE, _LINES = "a\n", 7
_LEAST = 40
"""Tokens of the shortest block: a header takes most of them."""
_MOST_CHARACTERS = 8
"""Of a token, on average, in any text worth reading."""


class Draft:
    """Holds what was admitted. Blocks are counted once each, as tokenizing is what takes time."""

    def __init__(self, sources: Sources, counter: TokenCounter, budget: int) -> None:
        self.sources = sources
        self.pieces: tuple[Piece, ...] = ()
        self._counter = counter
        self._budget = budget
        self._blocks: dict[Piece, ContextBlock] = {}
        self._names: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    @property
    def room(self) -> int:
        """Tokens that are left, as far as counting each block alone tells."""
        return self._budget - sum(self._block(piece).tokens for piece in self.pieces)

    def has_room(self, doc_id: str, span: Span) -> bool:
        """Whether it is worth trying to add a slice, by a quick look."""
        room = self.room
        text = self.sources.source(doc_id).document.text
        return _LEAST + len(span) / _MOST_CHARACTERS <= room and _LEAST + 0.7 * tokens_in(text, span) <= room

    def add(self, piece: Piece) -> bool:
        """Take a piece in if it fits; say whether it did."""
        return self.change((*self.pieces, piece))

    def change(self, pieces: tuple[Piece, ...]) -> bool:
        """Hold these pieces instead, joined, if they fit."""
        together = tuple(joined(pieces, self.sources))
        if not self._fits(together):
            return False
        self.pieces = together
        return True

    def holds(self, doc_id: str, span: Span) -> bool:
        """Whether any of a slice is in the draft."""
        mine = (piece.span for piece in self.pieces if piece.doc_id == doc_id)
        return any(one.start < span.end and span.start < one.end for one in mine)

    def context(self, skipped: Iterable[str]) -> Context:
        """The finished context; what counting all of it together shows not to fit is left out, the least first."""
        missed = list(skipped)
        while (written := self._written(self.pieces))[1] > self._budget:
            least = max(self.pieces, key=lambda piece: piece.rank)
            missed += least.passages if least.found else ()
            self.pieces = tuple(piece for piece in self.pieces if piece is not least)
        return Context(tuple(self._block(piece) for piece in self.pieces), *written, tuple(missed))

    def _fits(self, pieces: tuple[Piece, ...]) -> bool:
        alone, seams = 0, _SEAM * len(pieces)
        for piece in pieces:
            alone += self._block(piece).tokens
            if alone > self._budget + seams:
                return False
        if abs(alone - self._budget) > seams or not all(piece.found for piece in pieces):
            return alone + seams <= self._budget  # what is only added is not worth the time of counting all again
        return self._written(pieces)[1] <= self._budget

    def _written(self, pieces: tuple[Piece, ...]) -> tuple[str, int]:
        """The text of a context of these pieces, and its tokens.

        Where joining the ends of any two that meet changes no count, the whole has as many tokens as its blocks.
        """
        blocks = [self._block(piece) for piece in pieces]
        texts = [block_text(block, number=number, names=self._names) for number, block in enumerate(blocks, start=1)]
        text = "".join(texts)
        if self._adds_up() and all(self._is_seamless(before, behind) for before, behind in pairwise(texts)):
            return text, sum(block.tokens for block in blocks)
        return text, self._counter.count(text) if text else 0

    def _adds_up(self) -> bool:
        """Whether the counter counts what stands there; a share of the length, rounded, shows in no single seam."""
        return self._counted(_LINE * _LINES) == self._counted(_LINE) * _LINES

    def _is_seamless(self, before: str, behind: str) -> bool:
        """Whether two blocks have together as many tokens as both alone, when the second is numbered 1."""
        end, start = before[-_MEETING:], behind[:_MEETING]
        alone = "[SOURCE 1]" + start.partition("]")[2]
        return self._counted(end + start) == self._counted(end) + self._counted(alone)

    def _counted(self, text: str) -> int:
        if text not in self._counts:
            self._counts[text] = self._counter.count(text)
        return self._counts[text]

    def _block(self, piece: Piece) -> ContextBlock:
        if piece not in self._blocks:
            block = block_of(piece, self.sources, tokens=0)
            self._learn(block)
            tokens = self._counter.count(block_text(block, number=1, names=self._names))
            self._blocks[piece] = replace(block, tokens=tokens)
        return self._blocks[piece]

    def _learn(self, block: ContextBlock) -> None:
        """The titles of the documents that replace the block, where they are in the index."""
        for one in block.superseded_by:
            if one.by not in self._names:
                info = self.sources.info(one.by)
                self._names[one.by] = (info.metadata.title or "") if info else ""


def tokens_in(text: str, span: Span) -> int:
    """About how many tokens a slice has: near enough for what is given of a section or a neighbour."""
    return count_tokens(text[span.start : span.end])
