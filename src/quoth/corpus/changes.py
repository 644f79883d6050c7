"""Which documents changed: each file is read, compared with what is stored, and made a document again if need be."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import TypeVar

from quoth.corpus.documents import split_document
from quoth.corpus.extraction import Extraction
from quoth.corpus.load import Found, SourceFile, root_name
from quoth.corpus.reading import Read, Reading, extracted
from quoth.corpus.tally import Refused, Taken, Tally
from quoth.errors import SettingsError, UnreadableFile
from quoth.profile import Profile
from quoth.protocols import Progress
from quoth.settings import IngestSettings
from quoth.types import Known, SplitDocument

__all__ = ["Changes", "Refused"]

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class Changes(Tally):
    """Walks the files once, as the store asks for documents, and counts what became of each."""

    def __init__(
        self,
        found: Found,
        profile: Profile,
        settings: IngestSettings,
        *,
        profile_changed: bool,
        known: Mapping[str, Known],
        gone: Sequence[str],
        prune: bool,
        progress: Progress | None,
    ) -> None:
        super().__init__(known, gone=gone, prune=prune)
        self._files = found.files
        self._profile = profile
        self._settings = settings
        self._profile_changed = profile_changed
        self._progress = progress
        self._reading = Reading(profile, max_file_mb=settings.max_file_mb)
        for error in found.closed:
            self.refuse(error, kept=False)

    def documents(self) -> Generator[SplitDocument]:
        """The documents whose stored form is missing or out of date."""
        extraction = Extraction(self._settings)
        # The extraction ends before the pool does, so that nobody waits for what an interrupted run no longer needs.
        with ThreadPoolExecutor(extraction.workers) as pool, extraction:
            work = partial(self._read_if_changed, extraction=extraction)
            with closing(_in_order(pool, work, self._files, ahead=2 * extraction.workers)) as read:
                yield from self._split(read)

    def _split(self, read: Iterable[tuple[SourceFile, Callable[[], Read | None]]]) -> Iterator[SplitDocument]:
        for number, (file, result) in enumerate(read, 1):
            try:
                found = result()
                document = self._document(found) if found else None
            except UnreadableFile as error:
                if self._profile_changed and file.doc_id in self._known:
                    raise unread_under_another(error) from error
                self.refuse(error, kept=file.doc_id in self._known)
                continue
            finally:
                if self._progress:
                    self._progress("reading", number, len(self._files))
            if document is None or found is None:
                self.unchanged += 1
                continue
            self._note(found)
            yield document

    def _document(self, found: Read) -> SplitDocument:
        return split_document(found.source, fields=found.fields, profile=self._profile, fingerprint=found.fingerprint)

    def _note(self, found: Read) -> None:
        doc_id = found.source.file.doc_id
        if self._is_stored(doc_id, found.fingerprint):
            self.unchanged += 1  # the same file under another root: only that is to be remembered
        else:
            self.take(taken(found))

    def _read_if_changed(self, file: SourceFile, extraction: Extraction) -> Read | None:
        opened = self._reading.opened(file)
        if self._is_stored(file.doc_id, opened.fingerprint) and self._known[file.doc_id].root == root_name(file.root):
            return None
        return extracted(opened, extraction)

    def _is_stored(self, doc_id: str, fingerprint: str) -> bool:
        return doc_id in self._known and self._known[doc_id].fingerprint == fingerprint


def taken(found: Read) -> Taken:
    """What there is to tell of a document that was read."""
    source = found.source
    return Taken(
        doc_id=source.file.doc_id,
        root=root_name(source.file.root),
        sha256=source.sha256,
        encoding=source.encoding,
        notes=source.extract.notes,
    )


def unread_under_another(error: UnreadableFile) -> SettingsError:
    """For a stored document that cannot be read under a new profile: its old form would stay, tagged by the old one."""
    return SettingsError(f"with another profile every document must be read, but {error}", hint=error.hint)


def _in_order(
    pool: ThreadPoolExecutor, work: Callable[[_Item], _Result], items: Iterable[_Item], *, ahead: int
) -> Generator[tuple[_Item, Callable[[], _Result]]]:
    """Each item with a function that gives its result or raises its error; a few items are worked on ahead."""
    waiting: deque[tuple[_Item, Future[_Result]]] = deque()
    try:
        for item in items:
            waiting.append((item, pool.submit(work, item)))
            if len(waiting) > ahead:
                first, future = waiting.popleft()
                yield first, future.result
        while waiting:
            first, future = waiting.popleft()
            yield first, future.result
    finally:
        for _, future in waiting:
            future.cancel()
