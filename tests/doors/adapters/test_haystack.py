"""The retriever inside Haystack: pipelines, their files, run-time filters."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from haystack import Pipeline
from haystack.components.builders import PromptBuilder
from haystack.components.joiners import DocumentJoiner
from haystack.tools import ComponentTool
from haystack.utils import Secret

from quoth import Quoth
from quoth.adapters.haystack import QuothRetriever
from quoth.errors import NoIndex, QuestionError, SettingsError

from ..small_corpus import CANOLA, HALVORSEN, WHEAT, SmallCorpus
from .conftest import SETTINGS

MODULE = "quoth.adapters.haystack"
BOTH = "Sow wheat or canola into soil"
TEMPLATE = "{% for one in documents %}{{ one.content }} [{{ one.id }}]\n{% endfor %}Question: {{ question }}"


def prompting(retriever: QuothRetriever) -> Pipeline:
    pipeline = Pipeline()
    pipeline.add_component("retriever", retriever)
    pipeline.add_component("prompt", PromptBuilder(TEMPLATE, required_variables="*"))
    pipeline.connect("retriever.documents", "prompt.documents")
    return pipeline


def asked(question: str) -> dict[str, Any]:
    return {"retriever": {"query": question}, "prompt": {"question": question}}


def test_it_is_a_part_of_a_pipeline(quoth: Quoth) -> None:
    pipeline = prompting(QuothRetriever(quoth, kind="sentences", top_k=1))

    assert pipeline.run(asked(CANOLA))["prompt"]["prompt"] == f"{CANOLA} [canola.md:54-91]\nQuestion: {CANOLA}"
    assert pipeline.run(asked(HALVORSEN))["prompt"]["prompt"] == f"Question: {HALVORSEN}"


def test_it_answers_in_an_event_loop(quoth: Quoth) -> None:
    retriever = QuothRetriever(quoth, kind="sentences")

    async def together() -> list[dict[str, Any]]:
        return await asyncio.gather(*(retriever.run_async(question, top_k=1) for question in (CANOLA, WHEAT)))

    found = asyncio.run(together())
    assert [one.content for each in found for one in each["documents"]] == [CANOLA, WHEAT]
    pipeline = prompting(retriever)
    assert asyncio.run(pipeline.run_async(asked(WHEAT))) == pipeline.run(asked(WHEAT))


def test_it_is_a_tool(quoth: Quoth) -> None:
    tool = ComponentTool(QuothRetriever(quoth, kind="sentences"), name="guides", description="Quotes from the guides.")

    found = tool.invoke(query=CANOLA, top_k=1)["documents"]
    assert [one.content for one in found] == [CANOLA]


def test_ids_are_stable_so_that_what_two_retrievers_find_is_joined(quoth: Quoth) -> None:
    pipeline = Pipeline()
    pipeline.add_component("all", QuothRetriever(quoth))
    pipeline.add_component("guides", QuothRetriever(quoth, document_types="guide"))
    pipeline.add_component("join", DocumentJoiner())
    pipeline.connect("all", "join")
    pipeline.connect("guides", "join")

    joined = pipeline.run({"all": {"query": BOTH}, "guides": {"query": BOTH}})["join"]["documents"]

    assert sorted(one.id for one in joined) == sorted(one.id for one in QuothRetriever(quoth).run(BOTH)["documents"])


def test_a_pipeline_is_written_and_read_again(small: SmallCorpus) -> None:
    retriever = QuothRetriever(
        small.index,
        settings=SETTINGS,
        kind="sentences",
        document_types="guide",
        doc_ids=["canola.md", "wheat.md"],
        tags={"crop": "canola"},
        as_of="2026-01-01",
        regions="references",
        authors="Ek",
        years="2015-",
        dois=["10.1000/1"],
        languages=["de"],
        top_k=3,
    )
    pipeline = prompting(retriever)

    again = Pipeline.loads(pipeline.dumps(), allowed_modules=[MODULE])

    assert again.to_dict() == pipeline.to_dict()
    assert again.run(asked(CANOLA)) == pipeline.run(asked(CANOLA))
    assert again.to_dict()["components"]["retriever"] == {
        "type": f"{MODULE}.QuothRetriever",
        "init_parameters": {
            "index": str(small.index),
            "settings": SETTINGS,
            "kind": "sentences",
            "document_types": ["guide"],
            "doc_ids": ["canola.md", "wheat.md"],
            "tags": {"crop": ["canola"]},
            "as_of": "2026-01-01",
            "regions": ["references"],
            "authors": ["Ek"],
            "years": "2015-",
            "dois": ["10.1000/1"],
            "languages": ["de"],
            "top_k": 3,
        },
    }


def test_a_facet_that_is_called_type_survives_the_file(small: SmallCorpus) -> None:
    retriever = QuothRetriever(small.index, tags={"type": ["single"]})

    assert QuothRetriever.from_dict(retriever.to_dict()).to_dict() == retriever.to_dict()


def test_an_address_without_a_password_is_written() -> None:
    retriever = QuothRetriever("postgresql://ada@host/db")

    assert retriever.to_dict()["init_parameters"]["index"] == "postgresql://ada@host/db"


def test_an_address_can_be_a_secret(small: SmallCorpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUR_INDEX", str(small.index))
    retriever = QuothRetriever(Secret.from_env_var("OUR_INDEX"), settings=SETTINGS)

    written = retriever.to_dict()
    assert str(small.index) not in str(written)
    again = QuothRetriever.from_dict(written)
    assert again.run(CANOLA) == retriever.run(CANOLA)
    monkeypatch.delenv("OUR_INDEX")
    with pytest.raises(SettingsError, match="is not set"):
        QuothRetriever(Secret.from_env_var("OUR_INDEX", strict=False)).warm_up()


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ada:secret@host/db",
        "postgresql://host/db?user=ada&password=secret",
        "postgresql://host/db?sslpassword=secret",
        "postgresql://[ada:secret@host/db",
        "open",
    ],
)
def test_what_does_not_belong_in_a_file_is_not_written(quoth: Quoth, address: str) -> None:
    with pytest.raises(SettingsError) as caught:
        QuothRetriever(quoth if address == "open" else address).to_dict()

    assert caught.value.hint
    assert "secret" not in str(caught.value)


def test_an_index_is_opened_when_the_pipeline_runs(tmp_path: Path) -> None:
    retriever = QuothRetriever(tmp_path / "none")

    with pytest.raises(NoIndex):
        retriever.warm_up()
    with pytest.raises(NoIndex):
        prompting(retriever).run(asked(CANOLA))


def equal(field: str, value: object) -> dict[str, Any]:
    return {"field": field, "operator": "==", "value": value}


@pytest.mark.parametrize(
    ("filters", "documents"),
    [
        (equal("meta.document_type", "guide"), {"canola.md"}),
        (equal("tags.crop", "canola"), {"canola.md"}),
        ({"field": "meta.doc_id", "operator": "in", "value": ["canola.md", "wheat.md"]}, {"canola.md", "wheat.md"}),
        ({"operator": "AND", "conditions": [equal("doc_id", "wheat.md"), equal("tags.crop", "wheat")]}, {"wheat.md"}),
        ({"operator": "AND", "conditions": [equal("doc_id", "wheat.md"), equal("tags.crop", "canola")]}, set()),
        ({"document_type": ["guide"], "tags": {"crop": "canola"}}, {"canola.md"}),
        ({"is_binding": True}, set()),
    ],
)
def test_filters_of_a_call(quoth: Quoth, filters: dict[str, Any], documents: set[str]) -> None:
    found = QuothRetriever(quoth).run(BOTH, filters=filters)["documents"]

    assert {one.meta["doc_id"] for one in found} == documents


def test_what_a_call_names_takes_the_place_of_what_was_set(quoth: Quoth) -> None:
    retriever = QuothRetriever(quoth, doc_ids="wheat.md", document_types="guide")

    assert retriever.run(BOTH)["documents"] == []
    found = retriever.run(BOTH, filters={"doc_id": "canola.md"}, top_k=1)["documents"]
    assert [one.meta["doc_id"] for one in found] == ["canola.md"]


def test_a_day_of_a_call_is_the_day_that_is_asked_for(rules: Quoth) -> None:
    found = QuothRetriever(rules).run("How high may a fence be?", filters=equal("as_of", "2021-06-30"))["documents"]

    assert found
    assert all((one.meta["effective_date"] or "") <= "2021-06-30" for one in found)


@pytest.mark.parametrize(
    "filters",
    [
        {"operator": "OR", "conditions": [equal("doc_id", "wheat.md")]},
        {"operator": "NOT", "conditions": []},
        {"field": "meta.page", "operator": ">", "value": 3},
        {"operator": "AND", "conditions": [equal("doc_id", "wheat.md"), equal("meta.doc_id", "canola.md")]},
        equal("meta.publisher", "Ada"),
        equal("meta.year", "May"),
        equal("meta.is_binding", "yes"),
        equal("meta.as_of", "May"),
        equal("meta.regions", "footnote"),
        equal("meta.doc_id", []),
        equal("meta.doc_id", None),
        {"document_type": [3]},
        {"tags": "canola"},
    ],
)
def test_a_filter_that_cannot_be_applied_is_refused(quoth: Quoth, filters: dict[str, Any]) -> None:
    with pytest.raises(QuestionError) as caught:
        QuothRetriever(quoth).run(BOTH, filters=filters)

    assert caught.value.hint


def test_a_kind_that_there_is_not_is_refused(quoth: Quoth) -> None:
    with pytest.raises(SettingsError, match="no kind 'pages'"):
        QuothRetriever(quoth, kind="pages")
