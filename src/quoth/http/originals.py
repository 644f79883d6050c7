"""The files that documents were read from, and pictures of their pages. Only what was ingested is served."""

from __future__ import annotations

import hashlib
import math
import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from quoth.documents.containers import MOST_BYTES, container_path
from quoth.documents.files import UPLOADED
from quoth.documents.worker.pool import Extraction
from quoth.errors import JobsUnavailable, UnreadableFile
from quoth.http.blocking_work import BoundedPool
from quoth.http.http_faults import HttpFault
from quoth.http.page_drawers import PageDrawers
from quoth.http.shared_uploads import SharedContent
from quoth.protocols import Store
from quoth.settings import IngestSettings
from quoth.types import DocumentInfo, StoredDocument

_MOST_CACHED_BYTES = 32 * 2**20
_MOST_PROCESSES = 2
_MOST_WAITING = 16
_WAIT_SECONDS = 30
_RELOAD_SECONDS = 1.0
_REFUSED_SECONDS = 10.0
"""For how long a database that refused is not asked again."""
_ONE_WORKER = IngestSettings(workers=1)
_Found = TypeVar("_Found")


class Originals:
    """Original files of an index."""

    def __init__(self, store: Store, uploaded: SharedContent | None = None) -> None:
        """`uploaded` are files that a database keeps for every machine."""
        self._store = store
        self._uploaded = uploaded
        self._ask_again_at = 0.0
        self._lock = threading.Lock()
        self._stored: Mapping[str, StoredDocument] = {}
        self._loaded_at = -math.inf
        self._pages: dict[tuple[str, int, int], bytes] = {}  # the last used is the last
        # Threads of their own: slow pages must not keep questions from being answered.
        self._pool = BoundedPool(threads=_MOST_PROCESSES, queue=_MOST_WAITING, seconds=_WAIT_SECONDS)
        self._drawers = PageDrawers()

    def close(self) -> None:
        self._pool.close()
        self._drawers.close()

    def stored(self, doc_id: str) -> StoredDocument | None:
        """Return the record of a document; None if the index does not hold it."""
        return self._store.stored_documents().get(doc_id)

    def labels_of(self, doc_id: str) -> tuple[str, ...]:
        """Return the labels of a document; none if the index does not hold it."""
        stored = self.stored(doc_id)
        return stored.access if stored else ()

    def inside(self, doc_id: str) -> frozenset[str]:
        """Return the documents that were read out of the file of a document, such as the attachments of a message."""
        return frozenset(other for other in self._store.stored_documents() if other.startswith(f"{doc_id}/"))

    def is_here(self, document: DocumentInfo) -> bool:
        """Return whether the file exists; it may have changed."""
        doc_id, sha256 = document.id, document.source_sha256
        return self._find(document) is not None or bool(self._ask_database(lambda files: files.has(doc_id, sha256)))

    def read(self, document: DocumentInfo) -> bytes:
        """Return the bytes that were ingested; raise `HttpFault` if the file is missing, unreadable or changed."""
        doc_id, path = document.id, self._find(document)
        if path is None:
            uploaded = self._ask_database(lambda files: files.content(doc_id, document.source_sha256))
            if uploaded is not None:
                return uploaded
            hint = "Its text is at /documents/{id}/text."
            raise HttpFault(404, "no-original", f"the file of '{doc_id}' is not on this machine", hint=hint)
        try:
            data = _read(path, doc_id)
        except (OSError, UnreadableFile) as error:
            hint = "Ask the operator to check the rights of the file."
            raise HttpFault(404, "no-original", f"the file of '{doc_id}' cannot be read", hint=hint) from error
        if hashlib.sha256(data).hexdigest() != document.source_sha256:
            hint = "Ingest it again; its text as it was is at /documents/{id}/text."
            raise HttpFault(409, "original-changed", f"the file of '{doc_id}' was changed after its ingest", hint=hint)
        return data

    def _ask_database(self, ask: Callable[[SharedContent], _Found]) -> _Found | None:
        """Return what the database of uploads says; None without one, and where this role may not see uploads."""
        if self._uploaded is None or time.monotonic() < self._ask_again_at:
            return None
        try:
            return ask(self._uploaded)
        except JobsUnavailable:
            self._ask_again_at = time.monotonic() + _REFUSED_SECONDS
            return None

    async def drawn(self, document: DocumentInfo, *, number: int, width: int) -> bytes:
        """Return a PNG of a PDF page; raise `HttpFault` if too many requests wait for one, or it takes too long."""
        return await self._pool.run(lambda: self._page(document, number, width))

    def _page(self, document: DocumentInfo, number: int, width: int) -> bytes:
        data = self.read(document)
        key = (document.source_sha256, number, width)
        with self._lock:
            picture = self._pages.pop(key, None)
        picture = picture or self._drawers.draw(data, number=number, width=width)
        with self._lock:
            self._pages[key] = picture
            while sum(map(len, self._pages.values())) > _MOST_CACHED_BYTES:
                del self._pages[next(iter(self._pages))]
        return picture

    def _find(self, document: DocumentInfo) -> Path | None:
        """Return the file of a document; None if there is none, or a link leads out of its folder."""
        for reload in (False, True):  # its folder may have been moved
            if (stored := self._stored_document(document, reload=reload)) is not None:
                if stored.root == str(UPLOADED):
                    return None
                root = os.path.realpath(stored.root)
                path = Path(os.path.realpath(Path(root, document.id)))
                if path.is_relative_to(root) and (path.is_file() or container_path(path) is not None):
                    return path
        return None

    def _stored_document(self, document: DocumentInfo, *, reload: bool) -> StoredDocument | None:
        """Return what the store knows of a file; `reload` reads that again unless it was done a moment ago."""
        with self._lock:
            stored = self._stored.get(document.id)
            is_current = stored is not None and stored.source_sha256 == document.source_sha256
            if not is_current or (reload and time.monotonic() - self._loaded_at > _RELOAD_SECONDS):
                self._stored = self._store.stored_documents()
                self._loaded_at = time.monotonic()
            return self._stored.get(document.id)


def _read(path: Path, doc_id: str) -> bytes:
    try:
        return path.read_bytes()
    except NotADirectoryError:  # the path leads into a container
        with Extraction(_ONE_WORKER) as workers:
            return workers.read_content(path, label=doc_id, most_bytes=MOST_BYTES)
