"""A draft of a context: excerpts that together stay within the token budget, and their written form."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from quoth.answer.source_texts import SourceTexts
from quoth.answer.verification import verify_quote
from quoth.domain.authority import authority_of, supersessions
from quoth.language.resolve_reference import shared_headings
from quoth.language.words import count_tokens
from quoth.passages.context.excerpts import Excerpt, joined
from quoth.protocols import TokenCounter
from quoth.types import BlockReason, Context, ContextBlock, FoundPassage, RegionKind, Sentence, Span, Supersession

_SEAM = 2
"""Tokens by which a block's count may change when others stand beside it."""
_LEAST = 40
"""Tokens of the shortest block: a header takes most of them."""
_MOST_CHARACTERS = 8
"""Characters per token, on average, that no readable text exceeds."""
_ADDED = 1_000_000
"""The rank of what was added: behind everything that was found."""


class ContextDraft:
    """Holds the admitted excerpts. Counts the tokens of each block once, since tokenizing takes the most time."""

    def __init__(self, sources: SourceTexts, counter: TokenCounter, budget: int) -> None:
        self.sources = sources
        self.excerpts: tuple[Excerpt, ...] = ()
        self._counter = counter
        self._budget = budget
        self._blocks: dict[Excerpt, ContextBlock] = {}

    @property
    def room(self) -> int:
        """The tokens left, counting each block alone."""
        return self._budget - sum(self._block(excerpt).tokens for excerpt in self.excerpts)

    def has_room(self, doc_id: str, span: Span) -> bool:
        """Return whether a slice may fit, by a quick estimate."""
        room = self.room
        if _LEAST + len(span) / _MOST_CHARACTERS > room:
            return False
        return _LEAST + 0.7 * count_tokens(self.sources.source(doc_id).document.quote(span)) <= room

    def add(self, excerpt: Excerpt) -> bool:
        """Add an excerpt if it fits; return whether it did."""
        return self.change((*self.excerpts, excerpt))

    def explain(
        self,
        doc_id: str,
        spans: Iterable[Span],
        section: tuple[str, ...],
        *,
        page: int | None,
        reason: BlockReason,
        because: str,
        rank: int,
    ) -> None:
        """Add the first of `spans` that fits and is not held yet: it was not found, but explains what was."""
        superseded_by = supersessions(self.sources.info(doc_id).metadata, section)
        for span in spans:
            if self.holds(doc_id, span) or not self.has_room(doc_id, span):
                continue
            passages = self.sources.source(doc_id).passages
            inside = tuple(passage.id for passage in passages if passage.span.overlaps(span))
            excerpt = Excerpt(doc_id, span, section, page, superseded_by, inside, reason, because, _ADDED + rank)
            if self.add(excerpt):
                return

    def change(self, excerpts: tuple[Excerpt, ...]) -> bool:
        """Hold these excerpts instead, joined, if they fit; return whether they did."""
        together = tuple(joined(excerpts, self.sources))
        if not self._fits(together):
            return False
        self.excerpts = together
        return True

    def holds(self, doc_id: str, span: Span) -> bool:
        """Return whether the draft holds any of a slice."""
        return any(excerpt.doc_id == doc_id and excerpt.span.overlaps(span) for excerpt in self.excerpts)

    def context(self, skipped: Iterable[str]) -> Context:
        """Return the finished context. If all of it together is too long, drop the lowest-ranked excerpts."""
        missed = list(skipped)
        while (written := self._written(self.excerpts))[1] > self._budget:
            least = max(self.excerpts, key=lambda excerpt: excerpt.rank)
            missed += least.passages if least.found else ()
            self.excerpts = tuple(excerpt for excerpt in self.excerpts if excerpt is not least)
        return Context(tuple(self._block(excerpt) for excerpt in self.excerpts), *written, tuple(missed))

    def _fits(self, excerpts: tuple[Excerpt, ...]) -> bool:
        alone, seams = 0, _SEAM * len(excerpts)
        for excerpt in excerpts:
            alone += self._block(excerpt).tokens
            if alone > self._budget + seams:
                return False
        if abs(alone - self._budget) > seams or not all(excerpt.found for excerpt in excerpts):
            return alone + seams <= self._budget  # what is only added is not worth the time of counting all again
        return self._written(excerpts)[1] <= self._budget

    def _written(self, excerpts: tuple[Excerpt, ...]) -> tuple[str, int]:
        """Return the text of a context of these excerpts, and its tokens."""
        blocks = enumerate(map(self._block, excerpts), start=1)
        text = "".join(block_text(block, number=number, title_of=self.sources.title) for number, block in blocks)
        return text, self._counter.count(text) if text else 0

    def _block(self, excerpt: Excerpt) -> ContextBlock:
        if excerpt not in self._blocks:
            block = _laid_out(excerpt, self.sources)
            tokens = self._counter.count(block_text(block, number=1, title_of=self.sources.title))
            self._blocks[excerpt] = replace(block, tokens=tokens)
        return self._blocks[excerpt]


def _laid_out(excerpt: Excerpt, sources: SourceTexts) -> ContextBlock:
    """Return the block, not counted yet; raise `OffsetMismatch` unless the document holds exactly its sentences."""
    source, info = sources.source(excerpt.doc_id), sources.info(excerpt.doc_id)
    inside = source.inside(excerpt.span)
    for sentence in (*inside[:1], *inside[-1:]):
        verify_quote(source.document, sentence.quote)
    stated = [sentence.section for sentence in inside if sentence.kind is not RegionKind.HEADING]
    # An excerpt may hold several small sections, each replaced by another document.
    sections = dict.fromkeys((excerpt.section, *(sentence.section for sentence in inside)))
    replaced = [each for section in sections for each in supersessions(info.metadata, section)]
    return ContextBlock(
        document=info,
        span=excerpt.span,
        content=source.document.quote(excerpt.span),
        section=shared_headings(stated) if stated else excerpt.section,
        page=inside[0].page if inside else excerpt.page,
        authority=authority_of(info.metadata, sources.profile),
        superseded_by=tuple(dict.fromkeys((*excerpt.superseded_by, *replaced))),
        passages=excerpt.passages,
        reason=excerpt.reason,
        because=excerpt.because,
        tokens=0,
    )


_JOINERS = "\u200c\u200d"
"""Invisible, but letters of some scripts change without them."""


def block_text(block: ContextBlock, *, number: int, title_of: Callable[[str], str]) -> str:
    """Return a block with its header; `title_of` gives the title of a successor by its id.

    The content stands in it exactly as in the document, whatever it holds.
    """
    header = "".join(f"{label}: {value}\n" for label, value in _header(block, title_of) if value)
    return f"[SOURCE {number}]\n{header}\nContent:\n{block.content}\n\n---\n"


def one_line(text: str) -> str:
    """Return a name on one line: white space folded, no control characters."""
    folded = " ".join(text.split())
    if folded.isprintable():  # nearly every name is, and this is far quicker than looking at each character
        return folded
    shown = (c for c in folded if c in _JOINERS or unicodedata.category(c) not in {"Cc", "Cf", "Cs"})
    return " ".join("".join(shown).split())


def _header(block: ContextBlock, title_of: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    metadata = block.document.metadata
    binding = metadata.is_binding if block.authority is None else block.authority == "binding"
    yield "Document", one_line(metadata.title or "") or one_line(block.document.id)
    yield "Section", " > ".join(name for heading in block.section if (name := one_line(heading)))
    yield "Page", "" if block.page is None else str(block.page)
    guessed = " (guessed from its title)" if metadata.type_guessed else ""
    yield "Binding", "" if binding is None else f"{'Yes' if binding else 'No'}{guessed}"
    yield "Effective", one_line(metadata.effective_date or "")
    yield "Superseded-by", "; ".join(_successor(successor, block, title_of) for successor in block.superseded_by)
    yield "Added-for", one_line(block.because)


def _successor(supersession: Supersession, block: ContextBlock, title_of: Callable[[str], str]) -> str:
    """Return the successor by title and id; where it replaces only a part of the block, with the name of that part."""
    doc_id, title = one_line(supersession.by), one_line(title_of(supersession.by))
    named = f"{title} ({doc_id})" if title else doc_id
    whole = supersession.section is None or supersession in supersessions(block.document.metadata, block.section)
    return named if whole else f"{named} for {one_line(supersession.section or '')}"


def sentences_in(found: Sequence[FoundPassage], draft: ContextDraft) -> list[Sentence]:
    """Return every sentence of the found excerpts once: what the search did not find first, then what it did."""
    excerpts = sorted((excerpt for excerpt in draft.excerpts if excerpt.found), key=lambda excerpt: excerpt.rank)
    inside = [each for excerpt in excerpts for each in draft.sources.source(excerpt.doc_id).inside(excerpt.span)]
    # Of a document that is too long to be read, these are all that is known.
    inside += [ranked.sentence for passage in found for ranked in passage.sentences]
    last_of_each = {sentence.id: sentence for sentence in reversed(inside)}
    return [
        sentence
        for sentence in reversed(last_of_each.values())
        if sentence.kind is not RegionKind.HEADING and draft.holds(sentence.doc_id, sentence.quote.span)
    ]
