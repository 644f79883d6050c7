"""Detect which files changed, and extract, split and tag those that did.

A file's fingerprint covers its bytes, its metadata, the profile and the versions of what reads it: as long as it equals
the stored one, the stored document is up to date.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from quoth.documents.containers import container_path
from quoth.documents.files import CorpusFiles, SourceFile, read_bytes, root_name
from quoth.documents.formats.recognition import AS_TEXT, MAY_BE_EMPTY
from quoth.documents.ingest_report import ChangedFile, FileOutcomes
from quoth.documents.split_document import ExtractedFile, labels_in, split_document
from quoth.documents.worker.pool import Extraction
from quoth.documents.worker.process import request, version
from quoth.domain.authority import authority_of
from quoth.domain.manifest import (
    ACCESS,
    MANIFEST_NAME,
    fields_beside,
    fields_for,
    merged,
    read_manifest,
    stated_labels,
)
from quoth.domain.profile import Profile
from quoth.errors import SettingsError, UnreadableFile
from quoth.language.boundaries import SPLITTER_VERSION
from quoth.language.identification import RECOGNITION_VERSION
from quoth.protocols import Progress
from quoth.settings import IngestSettings
from quoth.types import Document, SplitDocument, StoredDocument, primary_language

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_LONGEST_ID = 2_000
"""Bytes of a document's id: what a database can still index."""


def changed_documents(
    files: CorpusFiles,
    *,
    stored: Mapping[str, StoredDocument],
    outcomes: FileOutcomes,
    profile: Profile,
    settings: IngestSettings,
    profile_changed: bool,
    progress: Progress | None,
) -> Generator[SplitDocument]:
    """Yield the documents that are new or differ from what is `stored`, in order of their ids.

    `outcomes` learns what became of each file. Raise `SettingsError` when the profile changed and a stored document
    cannot be read again.
    """
    extraction = Extraction(settings)
    reader = FileReader(profile, settings, extraction)

    def extract_if_changed(file: SourceFile) -> ExtractedFile | _OtherLabels | None:
        opened = reader.open(file)
        known = stored.get(file.doc_id)
        if known and known.fingerprint == opened.fingerprint and known.root == root_name(file.root):
            labels = unchanged_labels(opened, known.stated_access, extraction)
            return None if labels == known.stated_access else _OtherLabels(labels)
        return extract_text(opened, extraction)

    # The extraction ends before the pool does, so that an interrupted run does not wait for files it no longer needs.
    with (
        ThreadPoolExecutor(extraction.workers) as pool,
        extraction,
        closing(_in_order(pool, extract_if_changed, files.files, ahead=2 * extraction.workers)) as results,
    ):
        for number, (file, result) in enumerate(results, 1):
            try:
                extracted = result()
                document = split_document(extracted, profile) if isinstance(extracted, ExtractedFile) else None
            except UnreadableFile as error:
                if profile_changed and file.doc_id in stored:
                    raise unread_under_new_profile(error) from error
                outcomes.refuse(error, doc_id=file.doc_id)
                continue
            finally:
                if progress:
                    progress("reading", number, len(files.files))
            if document is None or not isinstance(extracted, ExtractedFile):
                outcomes.unchanged += 1
                if isinstance(extracted, _OtherLabels):
                    outcomes.labels[file.doc_id] = extracted.labels
                continue
            known = stored.get(file.doc_id)
            if known and known.fingerprint == extracted.fingerprint:
                outcomes.unchanged += 1  # the same file under another root, which is all that has to be stored
            else:
                outcomes.take(changed_file(extracted, document.document, profile))
            yield document


def changed_file(extracted: ExtractedFile, document: Document, profile: Profile) -> ChangedFile:
    """Return what the report of an ingest needs to know about a file that was read."""
    about = document.metadata
    guess = f"{authority_of(about, profile)} ({about.document_type}), by its title: confirm in {MANIFEST_NAME}"
    return ChangedFile(
        doc_id=extracted.file.doc_id,
        root=root_name(extracted.file.root),
        sha256=extracted.sha256,
        encoding=extracted.encoding,
        notes=(*extracted.extract.notes, *([guess] if about.type_guessed else [])),
    )


def unread_under_new_profile(error: UnreadableFile) -> SettingsError:
    """Return the error for a stored document that would keep the tags of the old profile."""
    return SettingsError(f"with another profile every document must be read, but {error}", hint=error.hint)


@dataclass(frozen=True, slots=True)
class _OtherLabels:
    """Stands for a file of which only the labels changed."""

    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A file before its text is extracted. `fields` is its metadata from the manifest and the file beside it."""

    file: SourceFile
    data: bytes
    sha256: str
    extractor: str
    fields: Mapping[str, Any]
    fingerprint: str


class FileReader:
    """Reads files under one profile. Threads may share it; the manifest of each folder is read once."""

    def __init__(self, profile: Profile, settings: IngestSettings, extraction: Extraction) -> None:
        self._extraction = extraction
        self._profile = profile
        self._facets = [facet.name for facet in profile.facets]
        self._settings = settings
        if settings.language and primary_language(settings.language) is None:
            raise SettingsError(
                f"ingest.language is '{settings.language}', which is no language", hint="Give its code, such as de."
            )
        self._manifest = cache(partial(read_manifest, facets=self._facets))

    def open(self, file: SourceFile) -> OpenedFile:
        """Return the file's bytes and its fingerprint. Raise `UnreadableFile` when it cannot be read."""
        _check_id(file.doc_id)
        fields = merged(fields_for(file.doc_id, self._manifest(file.root)), self._fields_beside(file))
        if ACCESS not in fields and (container := container_path(file.path)) is not None:
            fields |= self._labels_of_container(file, container)
        fields = merged({"language": self._settings.language} if self._settings.language else {}, fields)
        most_mb = self._settings.max_file_mb
        data = read_bytes(file.path, label=file.doc_id, most_mb=most_mb, workers=self._extraction)
        sha256 = hashlib.sha256(data).hexdigest()
        extractor = "" if file.format in AS_TEXT else version(request(file.format, self._settings))
        # Labels say who may see a document, and nothing about what it says.
        described = {name: value for name, value in fields.items() if name != ACCESS}
        fields_json = json.dumps(described, sort_keys=True, default=str)
        versions = [SPLITTER_VERSION, RECOGNITION_VERSION]
        identity = [sha256, file.format, extractor, fields_json, self._profile.source, *versions]
        fingerprint = hashlib.sha256(json.dumps(identity).encode()).hexdigest()
        return OpenedFile(file, data, sha256, extractor, fields, fingerprint)

    def _labels_of_container(self, file: SourceFile, container: Path) -> dict[str, Any]:
        """Return the labels of the archive or the message that a file is in: what is attached is for its readers."""
        for around in file.path.parents:  # a container may be in another one
            outer = replace(file, doc_id=around.relative_to(file.root).as_posix(), path=around)
            fields = merged(fields_for(outer.doc_id, self._manifest(file.root)), self._fields_beside(outer))
            if ACCESS in fields:
                return {ACCESS: fields[ACCESS]}
            if around == container:
                break
        return {}

    def _fields_beside(self, file: SourceFile) -> dict[str, Any]:
        try:
            return fields_beside(file.path, facets=self._facets)
        except OSError as error:
            why = f"the file with its metadata cannot be read: {error.strerror}"
            raise UnreadableFile(file.doc_id, why, hint="Check the rights of the file.") from error
        except SettingsError as error:  # it concerns this document alone
            raise UnreadableFile(file.doc_id, str(error), hint=error.hint) from error


def unchanged_labels(opened: OpenedFile, stated: tuple[str, ...], extraction: Extraction) -> tuple[str, ...]:
    """Return the labels that the files of a document state, which stated other ones when its text was the same.

    Only text has labels in itself, and is read.
    """
    outside = stated_labels(opened.fields, source=opened.file.doc_id)
    if outside == stated or opened.file.format not in AS_TEXT:
        return outside
    return labels_in(extract_text(opened, extraction))


def extract_text(opened: OpenedFile, extraction: Extraction) -> ExtractedFile:
    """Return the file with its text. Raise `UnreadableFile` when there is none."""
    file = opened.file
    if not opened.data and file.format not in MAY_BE_EMPTY:
        raise UnreadableFile(file.doc_id, "the file is empty", hint="Copy it again, or leave it out.")
    extract, encoding = extraction.read(opened.data, form=file.format, label=file.doc_id)
    return ExtractedFile(
        file, opened.sha256, encoding, opened.extractor, extract, fields=opened.fields, fingerprint=opened.fingerprint
    )


def _check_id(doc_id: str) -> None:
    """Raise `UnreadableFile` for a name that is not Unicode, which could not be cited, or that is too long."""
    try:
        size = len(doc_id.encode())
    except UnicodeEncodeError as error:
        shown = doc_id.encode(errors="surrogateescape").decode(errors="backslashreplace")
        raise UnreadableFile(shown, "its name is not valid Unicode", hint="Rename the file.") from error
    if size > _LONGEST_ID:
        why = f"its path has more than {_LONGEST_ID} bytes"
        raise UnreadableFile(f"{doc_id[:80]}…", why, hint="Move it up, or ingest a folder nearer to it.")


def _in_order(
    pool: ThreadPoolExecutor, work: Callable[[_Item], _Result], items: Iterable[_Item], *, ahead: int
) -> Generator[tuple[_Item, Callable[[], _Result]]]:
    """Yield each item with a function that returns its result or raises its error, working `ahead` items in advance."""
    submitted = ((item, pool.submit(work, item)) for item in items)
    waiting = deque(islice(submitted, ahead))
    try:
        while waiting:
            waiting.extend(islice(submitted, 1))
            first, future = waiting.popleft()
            yield first, future.result
    finally:
        for _, future in waiting:
            future.cancel()
