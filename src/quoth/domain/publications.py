"""Filters by authors, year, DOI and language: they name documents, which every store can limit a search to."""

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
    """Return filters that name the documents which `filters` describe by authors, year, DOI or language.

    A document whose language is unknown is taken for one in the most common language of the index.
    """
    if not (filters.authors or filters.years or filters.dois or filters.languages):
        return filters
    usual = next(iter(reader.info.languages), None)
    documents = reader.documents(filters.doc_ids or None)
    passing = tuple(document.id for document in documents if _passes(document.metadata, filters, usual=usual))
    return replace(filters, doc_ids=passing or (_NO_DOCUMENT,), authors=(), years=None, dois=(), languages=())


def _passes(metadata: Metadata, filters: Filters, *, usual: str | None) -> bool:
    if filters.languages and (metadata.language_code or usual) not in filters.languages:
        return False
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
