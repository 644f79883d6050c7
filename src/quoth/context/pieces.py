"""Pieces: the slices that a context is put together from, and the blocks that they make when laid out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from quoth.context.sources import Source, Sources
from quoth.errors import OffsetMismatch
from quoth.types import BlockReason, ContextBlock, RegionKind, Span, Supersession
from quoth.verify import verify_quote

_REASONS = tuple(BlockReason)
DEFINITION_OF = "definition of "
_FOUND = frozenset({BlockReason.RELEVANT, BlockReason.SUCCESSOR})


@dataclass(frozen=True, slots=True)
class Piece:
    """A slice of a document that is to be read. `rank` is its place by worth, 0 for the best.

    `superseded_by` is what is known beforehand; laying out adds what replaces the sections inside.
    """

    doc_id: str
    span: Span
    section: tuple[str, ...]
    page: int | None
    authority: str | None
    superseded_by: tuple[Supersession, ...]
    passages: tuple[str, ...]
    reason: BlockReason
    because: str
    rank: int

    @property
    def found(self) -> bool:
        """Whether it answers the question itself; what was added only explains."""
        return self.reason in _FOUND


def joined(pieces: Iterable[Piece], sources: Sources) -> list[Piece]:
    """The pieces with those that overlap or touch made one, ordered by the best of each document, then by place."""
    by_document: dict[str, list[Piece]] = {}
    for piece in sorted(pieces, key=lambda piece: piece.rank):
        by_document.setdefault(piece.doc_id, []).append(piece)
    return [one for doc_id, several in by_document.items() for one in _joined(several, sources.source(doc_id))]


def _joined(pieces: Sequence[Piece], source: Source) -> list[Piece]:
    done: list[Piece] = []
    for piece in sorted(pieces, key=lambda piece: (piece.span, piece.rank)):
        if done and _belong(done[-1], piece, source):
            done[-1] = _both(done[-1], piece)
        else:
            done.append(piece)
    return done


def _belong(first: Piece, second: Piece, source: Source) -> bool:
    if second.span.start < first.span.end:
        return True
    if first.section != second.section or not ((first.found and second.found) or first.reason is second.reason):
        return False
    if not source.sentences:
        return not any(sign.isalnum() for sign in source.document.text[first.span.end : second.span.start])
    between = source.places(second.span)[0] - source.places(first.span)[-1] - 1
    # One entry between two definitions costs less than another header.
    return between <= (1 if first.reason is BlockReason.DEFINITION else 0)


def _both(first: Piece, second: Piece) -> Piece:
    """Two pieces as one, the second of which begins no earlier."""
    return replace(
        first,
        span=Span(first.span.start, max(first.span.end, second.span.end)),
        section=_shared([first.section, second.section]),
        superseded_by=tuple(dict.fromkeys((*first.superseded_by, *second.superseded_by))),
        passages=tuple(dict.fromkeys((*first.passages, *second.passages))),
        reason=min(first.reason, second.reason, key=_REASONS.index),
        because="" if first.found or second.found else _because(first, second),
        rank=min(first.rank, second.rank),
    )


def _because(first: Piece, second: Piece) -> str:
    if first.reason is second.reason is BlockReason.DEFINITION:
        return f"{first.because}, {second.because.removeprefix(DEFINITION_OF)}"
    return f"{first.because}; {second.because}"


def _shared(sections: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The headings that all of these stand under."""
    levels = zip(*sections, strict=False)
    return tuple(level[0] for level in takewhile(lambda level: len(set(level)) == 1, levels))


def block_of(piece: Piece, sources: Sources, *, tokens: int) -> ContextBlock:
    """A piece as it leaves; `OffsetMismatch` unless the document holds exactly its sentences exactly there."""
    source, info = sources.source(piece.doc_id), sources.info(piece.doc_id)
    content = source.document.quote(piece.span)
    inside = source.inside(piece.span)
    for sentence in (*inside[:1], *inside[-1:]):
        verify_quote(source.document, sentence.quote)
    if info is None:
        raise OffsetMismatch(piece.doc_id, piece.span.start, piece.span.end)
    stated = [sentence.section for sentence in inside if sentence.kind is not RegionKind.HEADING]
    replaced = sources.superseded(source, piece.span, piece.section)
    return ContextBlock(
        document=info,
        span=piece.span,
        content=content,
        section=_shared(stated) if stated else piece.section,
        page=inside[0].page if inside else piece.page,
        authority=piece.authority,
        superseded_by=tuple(dict.fromkeys((*piece.superseded_by, *replaced))),
        passages=piece.passages,
        reason=piece.reason,
        because=piece.because,
        tokens=tokens,
    )
