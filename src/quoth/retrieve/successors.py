"""Successors: the documents that replace what was found, so that a rule is never shown without the one in force."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from quoth.corpus.authority import supersessions
from quoth.protocols import Reader
from quoth.types import NO_FILTERS, Filters, Ranked

_LONGEST_CHAIN = 8
"""Documents that replace each other in turn; a circle of them ends here as well."""


def successors_of(ranked: Sequence[Ranked], reader: Reader) -> tuple[str, ...]:
    """The documents, by id, that replace the best sentence, to the last one of a chain; () when it is in force."""
    best = min(ranked, key=lambda one: (-one.relevance, one.sentence.doc_id, one.sentence.quote.span), default=None)
    if best is None:
        return ()
    about = next(iter(reader.documents([best.sentence.doc_id])), None)
    direct = supersessions(about.metadata, best.sentence.section) if about else ()
    return last_of_chain([one.by for one in direct], reader)


def within_successors(filters: Filters, successors: Sequence[str]) -> Filters | None:
    """Filters for a search in the successors alone; None when the asker's choice of documents leaves them all out.

    What replaces a rule may be of another type or have other tags than the rule that was asked for.
    """
    wanted = [one for one in successors if not filters.doc_ids or one in filters.doc_ids]
    return replace(NO_FILTERS, doc_ids=tuple(sorted(wanted)), as_of=filters.as_of) if wanted else None


def last_of_chain(doc_ids: Sequence[str], reader: Reader) -> tuple[str, ...]:
    """The documents of `doc_ids` that are in the index, and what replaces them as a whole in turn."""
    found: dict[str, None] = {}
    waiting = list(doc_ids)
    for _ in range(_LONGEST_CHAIN):
        infos = reader.documents([one for one in waiting if one not in found]) if waiting else ()
        waiting = []
        for info in infos:
            found[info.id] = None
            waiting += [one.by for one in info.metadata.superseded_by if one.section is None]
    return tuple(found)
