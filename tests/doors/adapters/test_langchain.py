"""The retriever inside LangChain: chains, batches, event loops, tools."""

from __future__ import annotations

import asyncio

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import ConfigurableField, RunnableLambda, RunnablePassthrough
from langchain_core.tools import create_retriever_tool
from pydantic import ValidationError

from quoth import Quoth
from quoth.adapters.langchain import QuothRetriever

from ..small_corpus import CANOLA, HALVORSEN, WHEAT, SmallCorpus
from .conftest import SETTINGS


def cited(documents: list[Document]) -> str:
    return "\n".join(f"{one.page_content} [{one.metadata['source']}]" for one in documents)


def test_it_is_a_part_of_a_chain(quoth: Quoth) -> None:
    retriever = QuothRetriever(index=quoth, kind="sentences", most=1)
    prompt = ChatPromptTemplate.from_template("{context}\n\nQuestion: {question}")
    chain = {"context": retriever | RunnableLambda(cited), "question": RunnablePassthrough()} | prompt

    assert chain.invoke(CANOLA).to_string() == f"Human: {CANOLA} [canola.md]\n\nQuestion: {CANOLA}"


def test_it_answers_several_questions_and_in_an_event_loop(quoth: Quoth) -> None:
    retriever = QuothRetriever(index=quoth, kind="sentences", most=1)
    questions = [CANOLA, WHEAT, HALVORSEN]

    async def together() -> list[list[Document]]:
        return [await retriever.ainvoke(CANOLA), *(await retriever.abatch(questions[1:]))]

    assert retriever.batch(questions) == asyncio.run(together())
    assert [[one.page_content for one in found] for found in retriever.batch(questions)] == [[CANOLA], [WHEAT], []]


def test_a_field_can_be_chosen_at_the_call_without_opening_the_index_again(small: SmallCorpus) -> None:
    opened = QuothRetriever(index=small.index, settings=SETTINGS)
    retriever = opened.configurable_fields(most=ConfigurableField(id="most"), doc_ids=ConfigurableField(id="documents"))

    assert isinstance(opened.index, Quoth)
    assert len(retriever.invoke("Sow wheat or canola", config={"configurable": {"most": 1}})) == 1
    found = retriever.invoke("Sow wheat or canola", config={"configurable": {"documents": ["wheat.md"]}})
    assert {one.metadata["doc_id"] for one in found} == {"wheat.md"}


def test_it_is_a_tool(quoth: Quoth) -> None:
    tool = create_retriever_tool(QuothRetriever(index=quoth, kind="sentences"), "guides", "Quotes from the guides.")

    assert CANOLA in tool.invoke({"query": CANOLA})


def test_the_tags_of_langchain_stay_its_own(quoth: Quoth) -> None:
    seen: list[object] = []

    class Listener(BaseCallbackHandler):
        def on_retriever_start(self, *_: object, **about: object) -> None:
            seen.append(about["tags"])

    retriever = QuothRetriever(index=quoth, tags=["guides"], corpus_tags={"crop": "wheat"})
    found = retriever.invoke("Sow wheat or canola", config={"callbacks": [Listener()]})

    assert seen == [["guides"]]
    assert all("canola" not in one.metadata["doc_id"] for one in found)


def test_a_kind_that_there_is_not_is_refused(quoth: Quoth) -> None:
    with pytest.raises(ValidationError, match="'passages' or 'sentences'"):
        QuothRetriever.model_validate({"index": quoth, "kind": "pages"})
