"""The documents of an index a page at a time, however many there are."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from quoth.interfaces.python import Quoth
from quoth.types import DocumentInfo


@dataclass(frozen=True, slots=True)
class ListedPage:
    """A page of documents in order of their ids; `total` counts them all, `next` is None on the last page."""

    documents: tuple[DocumentInfo, ...]
    total: int
    next: str | None


class Catalog:
    """Remembers the ids of one generation: reading every document again for each page would take minutes."""

    def __init__(self, quoth: Quoth) -> None:
        self._quoth = quoth
        # Replaced whole, so that threads need no lock.
        self._known: tuple[str, tuple[str, ...]] = ("", ())

    def page(self, *, prefix: str, after: str | None, limit: int) -> ListedPage:
        """The documents whose ids begin with `prefix` and come behind `after`, at most `limit` of them."""
        with self._quoth.reading() as reader:
            digest, ids = self._known
            if digest != reader.info.digest:
                ids = tuple(info.id for info in reader.documents())
                self._known = (reader.info.digest, ids)
            first = bisect_left(ids, prefix)
            end = bisect_right(ids, prefix, key=lambda one: one[: len(prefix)])
            begin = first if after is None else max(first, bisect_right(ids, after))
            wanted = ids[begin : min(end, begin + limit)]
            more = begin + limit < end
            documents = reader.documents(wanted) if wanted else ()
        return ListedPage(documents, end - first, wanted[-1] if more else None)
