"""A retriever for LangChain: `QuothRetriever(index=".quoth").invoke("…")`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Self

from quoth.errors import MissingExtra
from quoth.interfaces.adapters.evidence import Evidence, Kind, Texts, checked_most, filters_of, find, opened
from quoth.interfaces.python import Quoth
from quoth.types import Filters

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import model_validator
except ModuleNotFoundError as error:
    raise MissingExtra("the retriever for LangChain", "langchain") from error


class QuothRetriever(BaseRetriever):
    """Verbatim texts of an index as LangChain documents; `ainvoke` asks in a thread, and threads may share it.

    `index` is a folder, the address of a database, or an open `Quoth`, and always the open one afterwards.
    """

    index: Quoth | str | Path
    settings: Mapping[str, object] | None = None
    """Dotted keys, for opening a place: {"context.floor": 0.4}. None afterwards: the open index has them."""
    kind: Kind = "passages"
    document_types: Texts = ()
    doc_ids: Texts = ()
    corpus_tags: Mapping[str, Texts] | None = None
    """The `tags` of `Quoth.retrieve`: {"crop": "canola"}. LangChain's own `tags` name runs in its traces."""
    as_of: str | None = None
    most: int | None = None

    @model_validator(mode="after")
    def _open(self) -> Self:
        self._filters()
        checked_most(self.most)
        # Here rather than in a private field: LangChain makes copies from the public ones, and each would load the
        # model again. An address with a password does not stay in the representation either.
        self.index, self.settings = opened(self.index, self.settings), None
        return self

    def _filters(self) -> Filters:
        return filters_of(
            doc_ids=self.doc_ids, document_types=self.document_types, tags=self.corpus_tags, as_of=self.as_of
        )

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        quoth = opened(self.index, self.settings)
        found = find(quoth, query, kind=self.kind, filters=self._filters(), most=self.most)
        return [_document(one) for one in found]


def _document(one: Evidence) -> Document:
    # `source` is where LangChain's chains that name their sources look for the document.
    return Document(one.text, id=one.id, metadata=one.metadata | {"source": one.metadata["doc_id"]})
