"""The retriever inside LlamaIndex: nodes, query engines, event loops."""

from __future__ import annotations

import asyncio

import pytest
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import CompactAndRefine
from llama_index.core.schema import MetadataMode, NodeRelationship, RelatedNodeInfo, TextNode

from quoth import Quoth
from quoth.adapters.llama_index import QuothRetriever
from quoth.errors import SettingsError

from ..small_corpus import CANOLA, HALVORSEN, WHEAT


def test_a_node_leads_to_its_document(quoth: Quoth) -> None:
    node = QuothRetriever(quoth, kind="sentences").retrieve(CANOLA)[0].node
    document = quoth.document("canola.md")

    assert isinstance(node, TextNode)
    assert document is not None
    assert document.text[node.start_char_idx : node.end_char_idx] == node.text == CANOLA
    assert node.ref_doc_id == "canola.md"
    source = node.relationships[NodeRelationship.SOURCE]
    assert isinstance(source, RelatedNodeInfo)
    assert source.hash == document.sha256


def test_a_model_reads_the_text_under_what_it_should_know_of_it(rules: Quoth) -> None:
    question = "What is the maximum height in feet of a fence in a rear yard or side yard?"
    found = QuothRetriever(rules, kind="sentences", doc_ids="amendment-2022-fences.md").retrieve(question)
    node = next(one.node for one in found if "six (6) feet" in one.text)

    assert node.get_content() == node.get_content(MetadataMode.EMBED) == node.get_content(MetadataMode.NONE)
    above, _, text = node.get_content(MetadataMode.LLM).partition("\n\n")
    assert text == node.get_content()
    assert above.splitlines()[0] == "document_name: First Amendment to the Declaration (Fences)"
    names = [line.partition(":")[0] for line in above.splitlines()]
    assert names == ["document_name", "document_type", "section", "authority", "effective_date"]


def test_it_answers_in_an_event_loop(quoth: Quoth) -> None:
    retriever = QuothRetriever(quoth)

    async def together() -> list[list[str]]:
        found = await asyncio.gather(*(retriever.aretrieve(question) for question in (CANOLA, WHEAT)))
        return [[one.node_id for one in nodes] for nodes in found]

    assert asyncio.run(together()) == [[one.node_id for one in retriever.retrieve(text)] for text in (CANOLA, WHEAT)]


def test_it_is_a_part_of_a_query_engine(quoth: Quoth) -> None:
    engine = RetrieverQueryEngine(
        QuothRetriever(quoth, kind="sentences", most=1),
        response_synthesizer=CompactAndRefine(llm=MockLLM()),  # gives back the prompt: no model is asked
        node_postprocessors=[SimilarityPostprocessor(similarity_cutoff=0.1)],
    )

    answered = engine.query(CANOLA)
    assert f"document_type: guide\nsection: ['Canola']\n\n{CANOLA}\n" in str(answered)
    assert [one.node_id for one in answered.source_nodes] == ["canola.md:54-91"]
    assert str(engine.query(HALVORSEN)) == "Empty Response"


def test_a_kind_that_there_is_not_is_refused(quoth: Quoth) -> None:
    with pytest.raises(SettingsError, match="no kind 'pages'"):
        QuothRetriever(quoth, kind="pages")
