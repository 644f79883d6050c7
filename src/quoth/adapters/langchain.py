"""A retriever for LangChain: `QuothRetriever(index=".quoth").invoke("…")`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Self

from quoth.adapters.cited_evidence import CitedEvidence, EvidenceKind, Texts, checked_most, find, opened
from quoth.errors import MissingExtra
from quoth.library import Quoth
from quoth.types import Filters

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import model_validator
except ModuleNotFoundError as error:
    raise MissingExtra("the retriever for LangChain", "langchain") from error


class QuothRetriever(BaseRetriever):
    """Returns verbatim texts of an index as LangChain documents. Threads may share it; `ainvoke` asks in a thread.

    `index` is a folder, the address of a database, or an open `Quoth`; afterwards it is always the open one.
    """

    index: Quoth | str | Path
    settings: Mapping[str, object] | None = None
    """Dotted keys for opening the index: {"context.floor": 0.4}. None afterwards, since the open index has them."""
    kind: EvidenceKind = "passages"
    document_types: Texts = ()
    doc_ids: Texts = ()
    corpus_tags: Mapping[str, Texts] | None = None
    """The `tags` of `Quoth.retrieve`: {"crop": "canola"}. LangChain's own `tags` name runs in its traces."""
    as_of: str | None = None
    regions: Texts = ()
    authors: Texts = ()
    years: str | None = None
    dois: Texts = ()
    languages: Texts = ()
    most: int | None = None

    @model_validator(mode="after")
    def _open(self) -> Self:
        self._filters()
        checked_most(self.most)
        # Not a private field: LangChain copies the public ones, and each copy would load the model again. Besides, an
        # address with a password does not stay in the representation.
        self.index, self.settings = opened(self.index, self.settings), None
        return self

    def _filters(self) -> Filters:
        return Filters(
            doc_ids=self.doc_ids,
            document_types=self.document_types,
            tags=self.corpus_tags,
            as_of=self.as_of,
            regions=self.regions,
            authors=self.authors,
            years=self.years,
            dois=self.dois,
            languages=self.languages,
        )

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        quoth = opened(self.index, self.settings)
        found = find(quoth, query, kind=self.kind, filters=self._filters(), most=self.most)
        return [_document(evidence) for evidence in found]


def _document(evidence: CitedEvidence) -> Document:
    # Chains of LangChain that name their sources read the document from `source`.
    metadata = evidence.metadata | {"source": evidence.metadata["doc_id"]}
    return Document(evidence.text, id=evidence.id, metadata=metadata)
