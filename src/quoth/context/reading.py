"""What a reader of a draft sees, sentence by sentence, and the pieces that are added for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from quoth.context.draft import Draft
from quoth.context.pieces import Piece
from quoth.types import BlockReason, DocumentInfo, FoundPassage, RegionKind, Sentence, Span

ADDED = 1_000_000
"""The rank of what was added: behind everything that was found."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A sentence of the draft; `best` where it is the one that its passage was found by."""

    document: DocumentInfo
    sentence: Sentence
    best: bool


def seen_in(found: Sequence[FoundPassage], draft: Draft) -> list[Seen]:
    """Every sentence of what was found, each once: the best of each passage first."""
    best = [(one.document, one.sentences[0].sentence) for one in found if one.sentences]
    pieces = sorted((piece for piece in draft.pieces if piece.found), key=lambda piece: piece.rank)
    inside = [
        (info, sentence)
        for piece in pieces
        if (info := draft.sources.info(piece.doc_id)) is not None
        for sentence in draft.sources.source(piece.doc_id).inside(piece.span)
    ]
    # Of a document that is too long to be read, these are all that is known.
    others = [(one.document, ranked.sentence) for one in found for ranked in one.sentences]
    once = {sentence.id: (info, sentence) for info, sentence in reversed((*best, *inside, *others))}
    firsts = {sentence.id for _, sentence in best}
    return [
        Seen(info, sentence, sentence.id in firsts)
        for info, sentence in reversed(once.values())
        if sentence.kind is not RegionKind.HEADING and draft.holds(info.id, sentence.quote.span)
    ]


def added_piece(
    doc_id: str,
    span: Span,
    section: tuple[str, ...],
    draft: Draft,
    *,
    page: int | None,
    reason: BlockReason,
    because: str,
    rank: int,
) -> Piece:
    """A slice that was not found but is spoken of, with the passages that it lies in."""
    authority, superseded_by = draft.sources.about(doc_id, section)
    passages = draft.sources.source(doc_id).passages
    inside = tuple(one.id for one in passages if one.span.start < span.end and span.start < one.span.end)
    return Piece(doc_id, span, section, page, authority, superseded_by, inside, reason, because, rank)
