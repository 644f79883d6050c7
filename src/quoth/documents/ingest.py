"""The write path: files -> detect changes -> extract -> split -> tag -> embed -> write."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from difflib import get_close_matches
from itertools import chain, islice

from quoth.documents.changes import changed_documents
from quoth.documents.files import CorpusFiles, check_files, none_readable
from quoth.documents.ingest_report import FileOutcomes, IngestReport, checked_supersessions
from quoth.domain.profile import Profile
from quoth.errors import CorpusError, IndexBusy, ModelError, NoIndex, SettingsError
from quoth.protocols import Embedder, Progress, Store
from quoth.settings import IngestSettings
from quoth.types import IndexInfo, ModelIdentity, QuestionTokens, SplitDocument, StoredDocument, Vectors

ChooseEmbedder = Callable[[Sequence[str | None]], Embedder]
"""Returns the model for a new index, given the languages of its first documents; None for an unknown one."""
_FIRST = 20
"""How many documents are read before the model is chosen."""


def ingest(
    files: CorpusFiles,
    *,
    store: Store,
    embedder: Embedder | ChooseEmbedder,
    profile: Profile,
    settings: IngestSettings,
    prune: bool,
    progress: Progress | None,
) -> IngestReport:
    """Bring the index up to date with `files`; only what changed is split and embedded again.

    For a new index the `embedder` may be chosen by the languages of its first documents.
    A document whose file is gone stays in the index, unless `prune` is true or its file only has another name.
    """
    check_files(files)
    stored = store.stored_documents()
    outcomes = FileOutcomes(files, stored, prune=prune)
    covered = {file.doc_id for file in files.files}.union(outcomes.gone if prune else ())
    before = _index_info(store)
    documents = changed_documents(
        files,
        stored=_as_changed(stored) if _read_otherwise(before, embedder) else stored,
        outcomes=outcomes,
        profile=profile,
        settings=settings,
        profile_changed=profile_changed(before, profile, stored, covered=covered),
        progress=progress,
    )
    with closing(documents):
        # A new index needs one readable document. An existing index is locked first, so that a second writer is told.
        first = () if stored else tuple(islice(documents, _FIRST if callable(embedder) else 1))
        if not stored and not first:
            raise none_readable(outcomes.refused)
        if callable(embedder):
            embedder = embedder([split.document.metadata.language_code for split in first])
        info = store.write(
            _unless_written_meanwhile(store, stored, chain(first, documents)),
            remove=outcomes.leaving,
            embedder=embedder,
            profile=(profile.name, profile.source),
            progress=progress,
            refusals=outcomes.refusals(),
            labels=outcomes.labels,
        )
    with store.read() as reader:
        ids = {document.id for document in reader.documents()}
        return outcomes.report(info, superseded=checked_supersessions(reader), ids=ids)


def _index_info(store: Store) -> IndexInfo | None:
    try:
        with store.read() as reader:
            return reader.info
    except NoIndex:
        return None


def _read_otherwise(info: IndexInfo | None, embedder: Embedder | ChooseEmbedder) -> bool:
    """Return whether the index is of the same model, but of other weights or of a version that reads them otherwise."""
    if info is None or callable(embedder):
        return False
    return embedder.identity.name == info.model.name and embedder.identity != info.model


def _as_changed(stored: Mapping[str, StoredDocument]) -> dict[str, StoredDocument]:
    """Return documents that count as changed, so that all are embedded again."""
    return {doc_id: replace(document, fingerprint="") for doc_id, document in stored.items()}


def profile_changed(
    info: IndexInfo | None, profile: Profile, stored: Collection[str], *, covered: Collection[str]
) -> bool:
    """Return whether the index was made with another profile, so that every stored document must be tagged again.

    Raise `SettingsError` when some are not `covered` by this run: tags of two profiles must not mix.
    """
    if info is None or info.profile_source == profile.source:
        return False
    if others := set(stored) - set(covered):
        raise SettingsError(
            f"the index holds {len(others)} other documents, tagged by its own '{info.profile_name}' profile",
            hint="Ingest all the folders again in one command (--prune if files are gone), or use another --index.",
        )
    return True


def _unless_written_meanwhile(
    store: Store, stored: Mapping[str, StoredDocument], documents: Iterable[SplitDocument]
) -> Iterator[SplitDocument]:
    """Yield the documents. Raise `IndexBusy` if another process wrote after the files were compared with `stored`."""
    if store.stored_documents() != stored:
        raise IndexBusy("another process has written the index meanwhile", hint="Run the same command again.")
    yield from documents


def remove(doc_ids: Collection[str], *, store: Store) -> IndexInfo:
    """Take documents out of the index. Raise `CorpusError` and remove none when one of them is not there."""
    with store.read() as reader:
        info, ids = reader.info, [document.id for document in reader.documents()]
    for doc_id in doc_ids:
        if doc_id not in ids:
            near = get_close_matches(doc_id, ids, n=1)
            hint = f"Did you mean '{near[0]}'?" if near else "quoth docs lists the ids."
            raise CorpusError(f"the index holds no document '{doc_id}'", hint=hint)
    profile = (info.profile_name, info.profile_source)
    return store.write((), remove=set(doc_ids), embedder=_NoEmbedder(info.model), profile=profile, progress=None)


class _NoEmbedder:
    """Stands for the index's model where nothing is embedded, so that it need not be loaded."""

    has_tokens = False

    def __init__(self, identity: ModelIdentity) -> None:
        self.identity = identity

    def embed_tokens(self, texts: Sequence[str], *, progress: Progress | None = None) -> tuple[Vectors, list[bytes]]:
        raise ModelError("nothing should be embedded here", hint="Please report this.")

    def embed_question(self, text: str) -> tuple[Vectors, QuestionTokens | None]:
        raise ModelError("nothing should be embedded here", hint="Please report this.")
