"""Which documents changed: each file is read, compared with what is stored, and made a document again if need be."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from quoth.corpus.documents import Source, split_document
from quoth.corpus.extraction import Extraction
from quoth.corpus.kinds import AS_TEXT
from quoth.corpus.load import Found, SourceFile, read_bytes, root_name
from quoth.corpus.manifest import Rule, fields_beside, fields_for, merged, read_manifest
from quoth.corpus.worker import version
from quoth.errors import SettingsError, UnreadableFile
from quoth.profile import Profile
from quoth.protocols import Progress
from quoth.settings import IngestSettings
from quoth.text.sentences import SPLITTER_VERSION
from quoth.types import Known, SplitDocument

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that was not taken, and what to do about it. `kept`: the index still holds what it was before."""

    path: str
    why: str
    hint: str
    kept: bool


class Changes:
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
        self._files = found.files
        self._profile = profile
        self._settings = settings
        self._profile_changed = profile_changed
        self._known = known
        self._progress = progress
        self.unchanged = 0
        self.leaving = list(gone) if prune else []
        """Grows during the walk: a file that has another name now is found late."""
        self.written: list[str] = []
        self.renamed: dict[str, str] = {}
        self.refused = [_refused(error, kept=False) for error in found.closed]
        self.converted: dict[str, str] = {}
        self.notes: dict[str, tuple[str, ...]] = {}
        self._moved_from: dict[str, list[str]] = {}
        for doc_id in reversed(gone):
            self._moved_from.setdefault(known[doc_id].source_sha256, []).append(doc_id)
        self._manifests: dict[Path, tuple[Rule, ...]] = {}

    def documents(self) -> Generator[SplitDocument]:
        """The documents whose stored form is missing or out of date."""
        extraction = Extraction(self._settings)
        # The extraction ends before the pool does, so that nobody waits for what an interrupted run no longer needs.
        with ThreadPoolExecutor(extraction.workers) as pool, extraction:
            work = partial(self._read_if_changed, extraction=extraction)
            with closing(_in_order(pool, work, self._files, ahead=2 * extraction.workers)) as read:
                yield from self._split(read)

    def _split(self, read: Iterable[tuple[SourceFile, Callable[[], _Read | None]]]) -> Iterator[SplitDocument]:
        for number, (file, result) in enumerate(read, 1):
            try:
                found = result()
                document = self._document(found) if found else None
            except UnreadableFile as error:
                if file.doc_id in self._known and self._profile_changed:
                    # Its old form would stay in the index, tagged by the old profile.
                    raise SettingsError(
                        f"with another profile every document must be read, but {error}", hint=error.hint
                    ) from error
                self.refused.append(_refused(error, kept=file.doc_id in self._known))
                continue
            finally:
                if self._progress:
                    self._progress("reading", number, len(self._files))
            if document is None or found is None:
                self.unchanged += 1
                continue
            self._note(found)
            yield document

    def _document(self, found: _Read) -> SplitDocument:
        return split_document(found.source, fields=found.fields, profile=self._profile, fingerprint=found.fingerprint)

    def _note(self, found: _Read) -> None:
        source, doc_id = found.source, found.source.file.doc_id
        if found.only_moved:
            self.unchanged += 1
            return
        self.written.append(doc_id)
        if source.encoding not in {"", "utf-8"}:
            self.converted[doc_id] = source.encoding
        if source.extract.notes:
            self.notes[doc_id] = source.extract.notes
        if doc_id in self._known:
            self._note_replaced(source, self._known[doc_id])
        elif candidates := self._moved_from.get(source.sha256):
            before = candidates.pop()
            self.renamed[before] = doc_id
            self.leaving.append(before)

    def _note_replaced(self, source: Source, stored: Known) -> None:
        """Two folders may each have a file of one id; the later one wins, but not in silence."""
        doc_id = source.file.doc_id
        if stored.root != root_name(source.file.root) and Path(stored.root, doc_id).is_file():
            told = f"it takes the place of the document of that id from {stored.root}"
            self.notes[doc_id] = (*self.notes.get(doc_id, ()), told)

    def _read_if_changed(self, file: SourceFile, extraction: Extraction) -> _Read | None:
        _check_name(file)
        fields = merged(fields_for(file.doc_id, self._manifest(file.root)), self._beside(file))
        data = read_bytes(file.path, label=file.doc_id, most_mb=self._settings.max_file_mb)
        sha256 = hashlib.sha256(data).hexdigest()
        extractor = "" if file.format in AS_TEXT else version(file.format)
        fingerprint = _fingerprint(sha256, file.format, extractor, fields=fields, profile=self._profile)
        stored = self._known.get(file.doc_id)
        same = stored is not None and stored.fingerprint == fingerprint
        if same and stored is not None and stored.root == root_name(file.root):
            return None
        extract, encoding = extraction.read(data, form=file.format, label=file.doc_id)
        return _Read(Source(file, sha256, encoding, extractor, extract), fields, fingerprint, only_moved=same)

    def _manifest(self, root: Path) -> tuple[Rule, ...]:
        if root not in self._manifests:
            facets = [facet.name for facet in self._profile.facets]
            self._manifests[root] = read_manifest(root, facets=facets)
        return self._manifests[root]

    def _beside(self, file: SourceFile) -> dict[str, Any]:
        try:
            return fields_beside(file.path, facets=[facet.name for facet in self._profile.facets])
        except OSError as error:
            why = f"the file with its metadata cannot be read: {error.strerror}"
            raise UnreadableFile(file.doc_id, why, hint="Check the rights of the file.") from error
        except SettingsError as error:  # it concerns this document alone
            raise UnreadableFile(file.doc_id, str(error), hint=error.hint) from error


@dataclass(frozen=True, slots=True)
class _Read:
    """A file that is new or changed, as it was read."""

    source: Source
    fields: Mapping[str, Any]
    fingerprint: str
    only_moved: bool
    """The same file under another root: only that is to be remembered."""


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


_LONGEST_NAME = 2_000
"""Bytes of a document's id: what a database can still index."""


def _check_name(file: SourceFile) -> None:
    """A file name may be any bytes; one that is not Unicode cannot be cited."""
    try:
        file.doc_id.encode()
    except UnicodeEncodeError as error:
        shown = file.doc_id.encode(errors="surrogateescape").decode(errors="backslashreplace")
        raise UnreadableFile(shown, "its name is not valid Unicode", hint="Rename the file.") from error
    if len(file.doc_id.encode()) > _LONGEST_NAME:
        why = f"its path has more than {_LONGEST_NAME} bytes"
        raise UnreadableFile(f"{file.doc_id[:80]}…", why, hint="Move it up, or ingest a folder nearer to it.")


def _fingerprint(sha256: str, form: str, extractor: str, *, fields: Mapping[str, Any], profile: Profile) -> str:
    described = json.dumps(fields, sort_keys=True, default=str)
    parts = [sha256, form, extractor, described, profile.source, SPLITTER_VERSION]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _refused(error: UnreadableFile, *, kept: bool) -> Refused:
    return Refused(error.path, str(error).removeprefix(f"{error.path}: "), error.hint, kept)
