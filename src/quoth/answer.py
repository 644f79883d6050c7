"""Assembly: evidence to citations, each one verified against its document before it leaves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from quoth.corpus.authority import authority_of
from quoth.errors import OffsetMismatch
from quoth.profile import Profile
from quoth.types import Citation, Document, Evidence
from quoth.verify import verify_quote


def cite(evidence: Iterable[Evidence], documents: Mapping[str, Document], profile: Profile) -> tuple[Citation, ...]:
    """A verified citation for each sentence; `OffsetMismatch` stops the answer."""
    return tuple(_citation(one, documents.get(one.sentence.doc_id), profile) for one in evidence)


def _citation(evidence: Evidence, document: Document | None, profile: Profile) -> Citation:
    sentence = evidence.sentence
    if document is None:
        raise OffsetMismatch(sentence.doc_id, sentence.quote.span.start, sentence.quote.span.end)
    verify_quote(document, sentence.quote)
    if sentence.lead:
        verify_quote(document, sentence.lead)
    metadata = document.metadata
    authority = authority_of(metadata, profile)
    return Citation(sentence, evidence.score, document.sha256, metadata, authority, evidence.companion_of, why=None)
