"""The report of an ingest: what became of every file, and what a user should know about the documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from quoth.documents.files import UPLOADED, CorpusFiles, refused, root_name
from quoth.domain.authority import names_section
from quoth.errors import UnreadableFile
from quoth.protocols import Reader
from quoth.types import IndexInfo, Refusals, Refused, StoredDocument, Supersession


@dataclass(frozen=True, slots=True)
class IngestReport:
    info: IndexInfo
    written: tuple[str, ...]
    unchanged: int
    refused: tuple[Refused, ...]
    converted: Mapping[str, str]
    """Documents that were not UTF-8, with the encoding they were read in."""
    notes: Mapping[str, tuple[str, ...]]
    """Remarks on a document: pages that are pictures, a successor that is not in the index."""
    ignored: Mapping[str, int]
    """Files of other formats, by ending."""
    renamed: Mapping[str, str]
    """Documents whose file now has another name: the old id, which is removed, and the new id."""
    removed: tuple[str, ...]
    """Documents that were removed because their files are gone."""
    gone: tuple[str, ...]
    """Documents whose files are gone, which stay in the index."""
    relabelled: tuple[str, ...] = ()
    """Unchanged documents whose files state other labels than before."""
    file_notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The notes that concern nothing but the file: neither other documents nor folders."""
    advice: tuple[str, ...] = ()
    """What a person should know of the index as a whole."""


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """The file of a new or changed document. `encoding` is empty unless it is a text file."""

    doc_id: str
    root: str
    sha256: str
    encoding: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CheckedSupersession:
    """`by` replaces a document, or only its `section`. `matched` is false when it has no such section."""

    by: str
    section: str | None
    matched: bool


class FileOutcomes:
    """Collects what becomes of each file. `gone` are the stored documents whose files are no longer there."""

    def __init__(self, files: CorpusFiles, stored: Mapping[str, StoredDocument], *, prune: bool) -> None:
        self._files = files
        self._stored = stored
        self._roots = {file.doc_id: root_name(file.root) for file in files.files}
        # A folder that could not be listed may still hold the files that seem to be gone.
        self.gone = () if files.closed else _gone(files, stored)
        self.leaving = list(self.gone) if prune else []
        """Documents to remove. The list grows while files are read: a new name is noticed late."""
        self.unchanged = 0
        self.labels: dict[str, tuple[str, ...]] = {}
        """The labels of unchanged documents whose files state other ones than before; it grows while files are read."""
        self.written: list[str] = []
        self._refused = [(root_name(place.root), refused(place.error, kept=False)) for place in files.closed]
        self.notes: dict[str, tuple[str, ...]] = {}
        self._file_notes: dict[str, tuple[str, ...]] = {}
        self._renamed: dict[str, str] = {}
        self._converted: dict[str, str] = {}
        self._gone_by_sha256: dict[str, list[str]] = {}
        for doc_id in reversed(self.gone):
            self._gone_by_sha256.setdefault(stored[doc_id].source_sha256, []).append(doc_id)

    @property
    def refused(self) -> tuple[Refused, ...]:
        """The files that were refused so far."""
        return tuple(one for _, one in self._refused)

    def refusals(self) -> Refusals:
        """Return the files that are refused, for the store. The list in it grows while files are read."""
        return Refusals(self._files.folders, frozenset(self._roots), self._refused)

    def refuse(self, error: UnreadableFile, *, doc_id: str) -> None:
        """Note a file that could not be read; the stored document of that id, if there is one, stays.

        What was said about it before, as a container, is replaced.
        """
        self._refused[:] = [(root, one) for root, one in self._refused if one.path != error.path]
        self._refused.append((self._roots.get(doc_id, ""), refused(error, kept=doc_id in self._stored)))

    def take(self, file: ChangedFile) -> None:
        """Note a document that will be written."""
        self.written.append(file.doc_id)
        if file.encoding not in {"", "utf-8"}:
            self._converted[file.doc_id] = file.encoding
        self._note(file.doc_id, *file.notes)
        self._file_notes[file.doc_id] = file.notes
        if known := self._stored.get(file.doc_id):
            if known.root != file.root and Path(known.root, file.doc_id).is_file():
                self._note(file.doc_id, f"it takes the place of the document of that id from {known.root}")
        elif candidates := self._gone_by_sha256.get(file.sha256):
            before = candidates.pop()
            self._renamed[before] = file.doc_id
            self.leaving.append(before)

    def _note(self, doc_id: str, *notes: str) -> None:
        if notes:
            self.notes[doc_id] = (*self.notes.get(doc_id, ()), *notes)

    def report(
        self, info: IndexInfo, *, superseded: Mapping[str, Sequence[CheckedSupersession]], ids: Collection[str]
    ) -> IngestReport:
        """Return the report. `ids` are the documents that the index holds now, `superseded` those that are replaced."""
        leaving = set(self.leaving)
        for doc_id, successors in superseded.items():
            self._note(doc_id, *supersession_notes(successors, ids))
        return IngestReport(
            info=info,
            written=tuple(self.written),
            unchanged=self.unchanged,
            refused=self.refused,
            converted=self._converted,
            notes=self.notes,
            ignored=dict(self._files.ignored),
            renamed=self._renamed,
            removed=tuple(doc_id for doc_id in self.gone if doc_id in leaving and doc_id not in self._renamed),
            gone=tuple(doc_id for doc_id in self.gone if doc_id not in leaving),
            relabelled=tuple(self.labels),
            file_notes=self._file_notes,
        )


def _gone(files: CorpusFiles, stored: Mapping[str, StoredDocument]) -> tuple[str, ...]:
    """Return the stored documents that came from one of the given folders and have no file there any more.

    A folder that no longer exists, while at least half of its documents are among the files, has been moved here.
    """
    found = {file.doc_id for file in files.files}
    roots = set(files.folders)
    if roots:
        stored_by_root = Counter(document.root for document in stored.values())
        found_by_root = Counter(stored[doc_id].root for doc_id in found if doc_id in stored)
        roots |= {
            root
            for root, count in found_by_root.items()
            if 2 * count >= stored_by_root[root] and not Path(root).is_dir() and root != str(UPLOADED)
        }
    return tuple(
        sorted(doc_id for doc_id, document in stored.items() if doc_id not in found and document.root in roots)
    )


def checked_supersessions(reader: Reader) -> dict[str, tuple[CheckedSupersession, ...]]:
    """Return the documents of an index that are replaced, as a whole or in part, with their successors."""
    replaced = [info for info in reader.documents() if info.metadata.superseded_by]
    return {info.id: _checked(reader, info.id, info.metadata.superseded_by) for info in replaced}


def _checked(reader: Reader, doc_id: str, successors: Sequence[Supersession]) -> tuple[CheckedSupersession, ...]:
    partly = any(successor.section is not None for successor in successors)
    sections = {sentence.section for sentence in reader.sentences(doc_id)} if partly else set()

    def matched(section: str | None) -> bool:
        return section is None or any(names_section(section, path) for path in sections)

    return tuple(CheckedSupersession(found.by, found.section, matched(found.section)) for found in successors)


def supersession_notes(successors: Sequence[CheckedSupersession], ids: Collection[str]) -> list[str]:
    """Return a note for each successor that the index lacks, or that replaces a section which is not there."""
    absent = dict.fromkeys(successor.by for successor in successors if successor.by not in ids)
    unmatched = [successor.section for successor in successors if not successor.matched]
    return [
        *(f"it is superseded by '{by}', which the index does not hold" for by in absent),
        *(f"its section '{name}' is superseded, but none of its headings is that section" for name in unmatched),
    ]
