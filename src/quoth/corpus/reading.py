"""One file of a corpus: its bytes with what is said of them, and then, where it changed, its text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quoth.corpus.documents import Source
from quoth.corpus.extraction import Extraction
from quoth.corpus.kinds import AS_TEXT
from quoth.corpus.load import SourceFile, read_bytes
from quoth.corpus.manifest import Rule, fields_beside, fields_for, merged, read_manifest
from quoth.corpus.worker import version
from quoth.errors import SettingsError, UnreadableFile
from quoth.profile import Profile
from quoth.text.sentences import SPLITTER_VERSION

_LONGEST_NAME = 2_000
"""Bytes of a document's id: what a database can still index."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A file whose text was not looked at yet. `fingerprint` changes when its stored form would."""

    file: SourceFile
    data: bytes
    sha256: str
    extractor: str
    fields: Mapping[str, Any]
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Read:
    """A file as it was read. `fields` are what its manifest and the file beside it say of it."""

    source: Source
    fields: Mapping[str, Any]
    fingerprint: str


class Reading:
    """Reads files under one profile. Threads may share it; the manifest of a folder is read once."""

    def __init__(self, profile: Profile, *, max_file_mb: int) -> None:
        self._profile = profile
        self._facets = [facet.name for facet in profile.facets]
        self._max_file_mb = max_file_mb
        self._manifests: dict[Path, tuple[Rule, ...]] = {}

    def opened(self, file: SourceFile) -> Opened:
        """The file's bytes and its fingerprint; `UnreadableFile` says why it cannot be taken."""
        _check_name(file)
        fields = merged(fields_for(file.doc_id, self._manifest(file.root)), self._beside(file))
        data = read_bytes(file.path, label=file.doc_id, most_mb=self._max_file_mb)
        sha256 = hashlib.sha256(data).hexdigest()
        extractor = "" if file.format in AS_TEXT else version(file.format)
        fingerprint = _fingerprint(sha256, file.format, extractor, fields=fields, profile=self._profile)
        return Opened(file, data, sha256, extractor, fields, fingerprint)

    def _manifest(self, root: Path) -> tuple[Rule, ...]:
        if root not in self._manifests:
            self._manifests[root] = read_manifest(root, facets=self._facets)
        return self._manifests[root]

    def _beside(self, file: SourceFile) -> dict[str, Any]:
        try:
            return fields_beside(file.path, facets=self._facets)
        except OSError as error:
            why = f"the file with its metadata cannot be read: {error.strerror}"
            raise UnreadableFile(file.doc_id, why, hint="Check the rights of the file.") from error
        except SettingsError as error:  # it concerns this document alone
            raise UnreadableFile(file.doc_id, str(error), hint=error.hint) from error


def extracted(opened: Opened, extraction: Extraction) -> Read:
    """The text of the file; `UnreadableFile` says why there is none."""
    file = opened.file
    extract, encoding = extraction.read(opened.data, form=file.format, label=file.doc_id)
    return Read(Source(file, opened.sha256, encoding, opened.extractor, extract), opened.fields, opened.fingerprint)


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
