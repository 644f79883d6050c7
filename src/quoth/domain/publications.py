"""Filters by authors, year and DOI: they name documents, which every store can limit a search to."""

from __future__ import annotations

import re
from dataclasses import replace

from quoth.language.words import fold
from quoth.protocols import Reader
from quoth.types import Filters, Metadata, year_range

_NO_DOCUMENT = ""
"""An id that no document has, since an id is the path of a file."""
_WORD = re.compile(r"\w+")
_DOI_ADDRESS = re.compile(r"^(?:https?://(?:dx\.)?doi\.org/|doi:\s*)")


def within_publications(filters: Filters, reader: Reader) -> Filters:
    """Return filters that name the documents which `filters` describe by authors, year or DOI."""
    if not (filters.authors or filters.years or filters.dois):
        return filters
    documents = reader.documents(filters.doc_ids or None)
    passing = tuple(document.id for document in documents if _passes(document.metadata, filters))
    return replace(filters, doc_ids=passing or (_NO_DOCUMENT,), authors=(), years=None, dois=())


def _passes(metadata: Metadata, filters: Filters) -> bool:
    if filters.years is not None:
        earliest, latest = year_range(filters.years)
        if metadata.year is None or not earliest <= metadata.year <= latest:
            return False
    if filters.dois and _bare(metadata.doi or "") not in map(_bare, filters.dois):
        return False
    names = [_words(author) for author in metadata.authors]
    return not filters.authors or any(_words(wanted) <= name for wanted in filters.authors for name in names)


def _words(name: str) -> set[str]:
    return set(_WORD.findall(fold(name)))


def _bare(doi: str) -> str:
    """Return a DOI without the address that it is often written with; its letters have no case."""
    return _DOI_ADDRESS.sub("", doi.strip().casefold())
