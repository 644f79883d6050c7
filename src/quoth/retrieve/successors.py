"""Successors: the documents that replace what was found, so that a rule is never shown without the one in force."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from quoth.corpus.authority import supersessions
from quoth.protocols import Reader
from quoth.types import NO_FILTERS, Filters, Ranked


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
    """What `doc_ids` lead to: those of them, or of what replaces them as a whole in turn, that nothing replaces.

    Where they replace each other in a circle nothing is in force, and `doc_ids` themselves are given. Documents that
    the index does not hold are left out.
    """
    seen: dict[str, bool] = {}
    waiting = list(doc_ids)
    while waiting:
        infos = reader.documents(waiting)
        waiting = []
        for info in infos:
            further = [one.by for one in info.metadata.superseded_by if one.section is None]
            seen[info.id] = bool(further)
            waiting += [doc_id for doc_id in further if doc_id not in seen]
    last = tuple(doc_id for doc_id, replaced in seen.items() if not replaced)
    return last or tuple(doc_id for doc_id in doc_ids if doc_id in seen)
