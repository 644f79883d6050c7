"""What became of the files of an ingest: documents written, left as they were, refused, renamed and leaving."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from quoth.corpus.load import root_name
from quoth.errors import UnreadableFile
from quoth.types import Known


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that was not taken, and what to do about it. `kept`: the index still holds what it was before."""

    path: str
    why: str
    hint: str
    kept: bool


@dataclass(frozen=True, slots=True)
class Taken:
    """A document that is new or changed. `encoding` is that of a text file; `notes` tell what its text lacks."""

    doc_id: str
    root: str
    sha256: str
    encoding: str
    notes: tuple[str, ...]


class Tally:
    """Counts what becomes of each file. `gone` are known documents without a file; `prune` has them leave."""

    def __init__(self, known: Mapping[str, Known], *, gone: Sequence[str], prune: bool) -> None:
        self._known = known
        self.unchanged = 0
        self.leaving = list(gone) if prune else []
        """Grows: a file that has another name now is found late."""
        self.written: list[str] = []
        self.renamed: dict[str, str] = {}
        self.refused: list[Refused] = []
        self.converted: dict[str, str] = {}
        self.notes: dict[str, tuple[str, ...]] = {}
        self._moved_from: dict[str, list[str]] = {}
        for doc_id in reversed(gone):
            self._moved_from.setdefault(known[doc_id].source_sha256, []).append(doc_id)

    def refuse(self, error: UnreadableFile, *, kept: bool) -> None:
        self.refused.append(refused(error, kept=kept))

    def take(self, one: Taken) -> None:
        """A document that is to be written."""
        self.written.append(one.doc_id)
        if one.encoding not in {"", "utf-8"}:
            self.converted[one.doc_id] = one.encoding
        if one.notes:
            self.notes[one.doc_id] = one.notes
        if one.doc_id in self._known:
            self._note_replaced(one, self._known[one.doc_id])
        elif candidates := self._moved_from.get(one.sha256):
            before = candidates.pop()
            self.renamed[before] = one.doc_id
            self.leaving.append(before)

    def _note_replaced(self, one: Taken, stored: Known) -> None:
        """Two folders may each have a file of one id; the later one wins, but not in silence."""
        if stored.root != one.root and Path(stored.root, one.doc_id).is_file():
            told = f"it takes the place of the document of that id from {stored.root}"
            self.notes[one.doc_id] = (*self.notes.get(one.doc_id, ()), told)


def refused(error: UnreadableFile, *, kept: bool) -> Refused:
    return Refused(error.path, str(error).removeprefix(f"{error.path}: "), error.hint, kept)


def gone(known: Mapping[str, Known], found: Collection[str], given: Iterable[Path]) -> tuple[str, ...]:
    """Documents that came from one of the given folders and have no file there any more.

    A folder that is no longer where it was, while at least half of its documents are here, has moved here.
    """
    roots = {root_name(path) for path in given if path.is_dir()}
    held = Counter(one.root for one in known.values())
    here = Counter(known[doc_id].root for doc_id in found if doc_id in known)
    if roots:
        roots |= {root for root, count in here.items() if 2 * count >= held[root] and not Path(root).is_dir()}
    return tuple(sorted(doc_id for doc_id, one in known.items() if doc_id not in found and one.root in roots))
