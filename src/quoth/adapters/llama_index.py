"""A retriever for LlamaIndex: `QuothRetriever(".quoth").retrieve("…")`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from quoth.adapters.cited_evidence import CitedEvidence, Texts, checked_kind, checked_most, find, opened
from quoth.errors import MissingExtra
from quoth.library import Quoth
from quoth.types import Filters

try:
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode
except ModuleNotFoundError as error:
    raise MissingExtra("the retriever for LlamaIndex", "llama-index") from error

_FOR_THE_MODEL = frozenset(
    "document_name document_type section page authority effective_date superseded_by conflicts".split()
)
"""Metadata that LlamaIndex writes above a text for a model; offsets, hashes and scores would only cost tokens."""


class QuothRetriever(BaseRetriever):
    """Returns verbatim texts of an index as nodes with scores. Threads may share it; `aretrieve` asks in a thread.

    `index` is a folder, the address of a database, or an open `Quoth`; `settings` are for opening it.
    """

    def __init__(
        self,
        index: Quoth | str | Path,
        *,
        settings: Mapping[str, object] | None = None,
        kind: str = "passages",
        document_types: Texts = (),
        doc_ids: Texts = (),
        tags: Mapping[str, Texts] | None = None,
        as_of: str | None = None,
        regions: Texts = (),
        authors: Texts = (),
        years: str | None = None,
        dois: Texts = (),
        languages: Texts = (),
        most: int | None = None,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        super().__init__(callback_manager=callback_manager)
        self._kind = checked_kind(kind)
        self._filters = Filters(
            doc_ids,
            tags,
            document_types,
            as_of=as_of,
            regions=regions,
            authors=authors,
            years=years,
            dois=dois,
            languages=languages,
        )
        self._most = checked_most(most)
        self._quoth = opened(index, settings)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = find(self._quoth, query_bundle.query_str, kind=self._kind, filters=self._filters, most=self._most)
        return [NodeWithScore(node=_node(evidence), score=evidence.score) for evidence in found]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def _node(evidence: CitedEvidence) -> TextNode:
    metadata = evidence.metadata
    hidden = [name for name, value in metadata.items() if name not in _FOR_THE_MODEL or value in (None, [])]
    document = RelatedNodeInfo(node_id=metadata["doc_id"], hash=metadata["doc_sha256"])
    return TextNode(
        id_=evidence.id,
        text=evidence.text,
        metadata=metadata,
        excluded_llm_metadata_keys=hidden,
        excluded_embed_metadata_keys=list(metadata),
        start_char_idx=metadata["start"],
        end_char_idx=metadata["end"],
        relationships={NodeRelationship.SOURCE: document},
    )
