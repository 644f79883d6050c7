"""The write path: files -> Document -> regions -> sentences, passages, pages -> tags -> (embed) -> Store."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain, islice
from pathlib import Path

from quoth.corpus.authority import names_section
from quoth.corpus.changes import Changes
from quoth.corpus.load import Found, find_files, find_in
from quoth.corpus.tally import Refused, refused
from quoth.corpus.tally import gone as gone_of
from quoth.errors import CorpusError, IndexBusy, ModelError, NoIndex, SettingsError
from quoth.profile import Profile
from quoth.protocols import Embedder, Progress, Reader, Store
from quoth.settings import IngestSettings
from quoth.types import IndexInfo, Known, ModelIdentity, QuestionTokens, SplitDocument, Supersession, Vectors


@dataclass(frozen=True, slots=True)
class IngestReport:
    info: IndexInfo
    written: tuple[str, ...]
    unchanged: int
    refused: tuple[Refused, ...]
    converted: Mapping[str, str]
    """Documents that were not UTF-8, with the encoding they were read in."""
    notes: Mapping[str, tuple[str, ...]]
    """What there is to know about a document: pages that are pictures, a successor that is not in the index."""
    ignored: Mapping[str, int]
    """Files of other formats, by ending."""
    renamed: Mapping[str, str]
    """Documents whose file now has another name: the old id, which is removed, and the new one."""
    removed: tuple[str, ...]
    """Documents whose files are gone, where they were to be removed."""
    gone: tuple[str, ...]
    """Documents whose files are gone, which stay in the index."""


def ingest(
    paths: Iterable[Path],
    *,
    store: Store,
    embedder: Embedder,
    profile: Profile,
    settings: IngestSettings,
    prune: bool,
    progress: Progress | None,
) -> IngestReport:
    """Bring the index up to date with the files under `paths`; only what changed is split and embedded again.

    A document whose file is gone stays, unless `prune` says otherwise or its file only has another name.
    """
    given = list(paths)
    return _ingest(
        find_files(given),
        given,
        store=store,
        embedder=embedder,
        profile=profile,
        settings=settings,
        prune=prune,
        progress=progress,
    )


def ingest_files(
    root: Path,
    doc_ids: Iterable[str],
    *,
    store: Store,
    embedder: Embedder,
    profile: Profile,
    settings: IngestSettings,
    progress: Progress | None,
) -> IngestReport:
    """Bring the index up to date with certain files of a folder, and leave all others alone."""
    found = find_in(root, doc_ids)
    if not found.files and found.closed:
        raise none_read([refused(one, kept=False) for one in found.closed])
    return _ingest(
        found,
        (),
        store=store,
        embedder=embedder,
        profile=profile,
        settings=settings,
        prune=False,
        progress=progress,
    )


def _ingest(
    found: Found,
    given: Sequence[Path],
    *,
    store: Store,
    embedder: Embedder,
    profile: Profile,
    settings: IngestSettings,
    prune: bool,
    progress: Progress | None,
) -> IngestReport:
    check_found(found)
    ids = {file.doc_id for file in found.files}
    known = store.known()
    # What lies in a folder that could not be looked into is not gone.
    gone = () if found.closed else gone_of(known, ids, given)
    changes = Changes(
        found,
        profile,
        settings,
        profile_changed=_other_profile(store, profile, ids | set(gone) if prune else ids),
        known=known,
        gone=gone,
        prune=prune,
        progress=progress,
    )
    with closing(changes.documents()) as documents:
        # Before there is an index, a document is wanted first; else the right to write, so that a second writer knows.
        first = () if known else tuple(islice(documents, 1))
        if not known and not first:
            raise none_read(changes.refused) from None
        info = store.write(
            _unless_written(store, known, chain(first, documents)),
            remove=changes.leaving,
            embedder=embedder,
            profile=(profile.name, profile.source),
            progress=progress,
        )
    leaving = set(changes.leaving)
    return IngestReport(
        info=info,
        written=tuple(changes.written),
        unchanged=changes.unchanged,
        refused=tuple(changes.refused),
        converted=changes.converted,
        notes=_notes(changes.notes, store),
        ignored=dict(found.ignored),
        renamed=changes.renamed,
        removed=tuple(doc_id for doc_id in gone if doc_id in leaving and doc_id not in changes.renamed),
        gone=tuple(doc_id for doc_id in gone if doc_id not in leaving),
    )


def check_found(found: Found) -> None:
    """`CorpusError` where there is nothing to read."""
    if not found.files:
        others = ", ".join(f"{count} {ending}" for ending, count in found.ignored.most_common(5))
        raise CorpusError(
            "no documents found" + (f" (only {others})" if others else ""),
            hint="Give a folder with .pdf, .docx, .html, .md or .txt files.",
        )


def none_read(refused: Sequence[Refused]) -> CorpusError:
    """For a new index, none of whose files was taken."""
    told = "; ".join(f"{one.path}: {one.why}" for one in refused[:3])
    return CorpusError(f"none of {len(refused)} files could be read ({told})", hint=refused[0].hint)


def _unless_written(
    store: Store, known: Mapping[str, Known], documents: Iterable[SplitDocument]
) -> Iterator[SplitDocument]:
    """The documents; `IndexBusy` if another process wrote since the files were compared with what was `known`."""
    if store.known() != known:
        raise IndexBusy("another process has written the index meanwhile", hint="Run the same command again.")
    yield from documents


def _notes(found: Mapping[str, tuple[str, ...]], store: Store) -> dict[str, tuple[str, ...]]:
    """What there is to know about documents, such as a successor that nobody can be shown."""
    with store.read() as reader:
        return with_successors(found, replaced(reader), {info.id for info in reader.documents()})


@dataclass(frozen=True, slots=True)
class Replaced:
    """What is said of a document: `by` replaces it, or only `section` of it. `matched`: it has such a section."""

    by: str
    section: str | None
    matched: bool


def replaced(reader: Reader) -> dict[str, tuple[Replaced, ...]]:
    """The documents of an index that are said to be replaced, as a whole or in part."""
    return {
        info.id: _matched(reader, info.id, info.metadata.superseded_by)
        for info in reader.documents()
        if info.metadata.superseded_by
    }


def _matched(reader: Reader, doc_id: str, successors: Sequence[Supersession]) -> tuple[Replaced, ...]:
    wanted = any(one.section is not None for one in successors)
    sections = {sentence.section for sentence in reader.sentences(doc_id)} if wanted else set()
    return tuple(
        Replaced(
            one.by,
            one.section,
            matched=one.section is None or any(names_section(one.section, section) for section in sections),
        )
        for one in successors
    )


def with_successors(
    notes: Mapping[str, tuple[str, ...]], replaced: Mapping[str, Sequence[Replaced]], ids: Collection[str]
) -> dict[str, tuple[str, ...]]:
    """The notes with those on documents whose successor is not among `ids`, or replaces a section that is not there."""
    told = dict(notes)
    for doc_id, successors in replaced.items():
        said = [
            f"it is superseded by '{by}', which the index does not hold"
            for by in dict.fromkeys(one.by for one in successors if one.by not in ids)
        ]
        said += [
            f"its section '{one.section}' is superseded, but none of its headings is that section"
            for one in successors
            if not one.matched
        ]
        if said:
            told[doc_id] = (*told.get(doc_id, ()), *said)
    return told


def remove(doc_ids: Collection[str], *, store: Store) -> IndexInfo:
    """Take documents out of the index; `CorpusError` when one is not there, and then all stay."""
    with store.read() as reader:
        info, ids = reader.info, [document.id for document in reader.documents()]
    for doc_id in doc_ids:
        if doc_id not in ids:
            near = get_close_matches(doc_id, ids, n=1)
            hint = f"Did you mean '{near[0]}'?" if near else "quoth docs lists the ids."
            raise CorpusError(f"the index holds no document '{doc_id}'", hint=hint)
    profile = (info.profile_name, info.profile_source)
    return store.write((), remove=set(doc_ids), embedder=_NoModel(info.model), profile=profile, progress=None)


def _other_profile(store: Store, profile: Profile, found: Collection[str]) -> bool:
    try:
        with store.read() as reader:
            return profile_changed(reader.info, {document.id for document in reader.documents()}, profile, found=found)
    except NoIndex:
        return False


def profile_changed(info: IndexInfo, ids: Collection[str], profile: Profile, *, found: Collection[str]) -> bool:
    """Whether an index of the documents `ids` was made with another profile than this.

    Then every document is needed: tags of two must not mix.
    """
    if info.profile_source == profile.source:
        return False
    if others := set(ids) - set(found):
        raise SettingsError(
            f"the index holds {len(others)} other documents, tagged by its own '{info.profile_name}' profile",
            hint="Ingest all the folders again in one command (--prune if files are gone), or use another --index.",
        )
    return True


class _NoModel:
    """Stands for the index's model where nothing is embedded, so that it need not be loaded."""

    has_tokens = False

    def __init__(self, identity: ModelIdentity) -> None:
        self.identity = identity

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        raise ModelError("nothing should be embedded here", hint="Please report this.")

    def embed_tokens(self, texts: Sequence[str], *, progress: Progress | None = None) -> tuple[Vectors, list[bytes]]:
        raise ModelError("nothing should be embedded here", hint="Please report this.")

    def embed_question(self, text: str) -> tuple[Vectors, QuestionTokens | None]:
        raise ModelError("nothing should be embedded here", hint="Please report this.")
