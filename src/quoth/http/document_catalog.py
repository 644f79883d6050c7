"""The documents of an index, a page at a time, for HTTP and MCP."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from quoth.answer.verification import TextOf
from quoth.library import Quoth
from quoth.output.document_json_types import ListingJson
from quoth.output.render import described_document
from quoth.protocols import Reader
from quoth.types import EVERYTHING, Access, DocumentInfo

_MOST_LISTINGS = 16


@dataclass(frozen=True, slots=True)
class DocumentListing:
    """The documents of one generation in order of their ids, and how many there are of each type."""

    digest: str
    documents: tuple[DocumentInfo, ...]
    types: Mapping[str, int]
    missing: tuple[str, ...]
    """Shards that do not answer; their documents are not in this listing."""

    def page(self, *, prefix: str, after: str, limit: int) -> ListingJson:
        """Return the documents whose ids begin with `prefix` and come behind `after`, at most `limit` of them."""
        matching = [info for info in self.documents if info.id.startswith(prefix)]
        rest = [info for info in matching if info.id > after]
        return ListingJson(
            documents=[described_document(info) for info in rest[:limit]],
            total=len(matching),
            next=rest[limit - 1].id if len(rest) > limit else None,
        )


def text_of(reader: Reader) -> TextOf:
    """Return a function from ids to texts, which keeps the last texts: citations of one document come together."""

    @lru_cache(maxsize=16)
    def text(doc_id: str) -> str | None:
        document = reader.document(doc_id)
        return document.text if document else None

    return text


class _Listings:
    """The last listings, by who may see them. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[Access, DocumentListing] = {}  # the last used is the last

    def get(self, access: Access) -> DocumentListing | None:
        with self._lock:
            listing = self._kept.pop(access, None)
            if listing is not None:
                self._kept[access] = listing
            return listing

    def keep(self, access: Access, listing: DocumentListing) -> None:
        with self._lock:
            self._kept.pop(access, None)
            self._kept[access] = listing
            while len(self._kept) > _MOST_LISTINGS:
                del self._kept[next(iter(self._kept))]


class DocumentCatalog:
    """Remembers the documents of one generation: reading all of them again for each page would take minutes."""

    def __init__(self, quoth: Quoth) -> None:
        self._quoth = quoth
        self._access = EVERYTHING
        self._cached = _Listings()

    def seen_by(self, access: Access) -> DocumentCatalog:
        """Return the catalog of the documents that `access` may see."""
        seen = DocumentCatalog(self._quoth.seen_by(access))
        seen._access, seen._cached = access, self._cached
        return seen

    def listing(self) -> DocumentListing:
        """Return the listing of the current generation."""
        listing = self._quoth.read(self._list)
        if not listing.missing:
            self._cached.keep(self._access, listing)
        return listing

    def _list(self, reader: Reader) -> DocumentListing:
        digest, cached = reader.info.digest, self._cached.get(self._access)
        if cached is not None and cached.digest == digest:
            return cached
        documents = reader.documents()
        types = Counter(info.metadata.document_type for info in documents if info.metadata.document_type)
        return DocumentListing(digest, documents, dict(sorted(types.items())), reader.missing)
