"""The tools: each reads its arguments, calls one function of Quoth, and gives its result as JSON and in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from quoth.interfaces.mcp import schemas, wording
from quoth.interfaces.mcp.catalog import Catalog
from quoth.interfaces.python import Quoth
from quoth.interfaces.spans import span_json
from quoth.profiles import parse_profile
from quoth.protocols import Reader
from quoth.render import document_json, outcome_json
from quoth.render_retrieval import retrieval_json
from quoth.verify import TextOf, verify_run

Arguments = Mapping[str, Any]

_CITED = ("doc_id", "start", "end", "text")
_profile = lru_cache(maxsize=4)(parse_profile)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a tool found: an object of its output schema, and the same for a model to read."""

    content: dict[str, Any]
    texts: list[str]


@dataclass(frozen=True, slots=True)
class QuothTool:
    name: str
    title: str
    description: str
    input: schemas.Schema
    output: schemas.Schema
    call: Callable[[Arguments], Reply]


def tools_for(quoth: Quoth, catalog: Catalog) -> tuple[QuothTool, ...]:
    """The tools of one index. All of them only read."""
    return (
        QuothTool(
            "ask",
            "Ask a question",
            "Answer a question with 1 to 6 verbatim sentences of the documents, each with its exact citation, or "
            "abstain with the reason and the nearest evidence. Nothing is generated, and nothing may be added.",
            schemas.ASK_INPUT,
            schemas.published("answer"),
            lambda given: _ask(quoth, given),
        ),
        QuothTool(
            "retrieve",
            "Find passages",
            "Find the passages to read for a question or topic, ranked, as [SOURCE n] blocks with document, section, "
            "page and authority. For longer reading than `ask` gives.",
            schemas.RETRIEVE_INPUT,
            schemas.published("retrieval"),
            lambda given: _retrieve(quoth, given),
        ),
        QuothTool(
            "verify",
            "Verify citations",
            "Check that each citation is exact: that its document holds exactly its text exactly at its offsets.",
            schemas.VERIFY_INPUT,
            schemas.VERIFY_OUTPUT,
            lambda given: _verify(quoth, given),
        ),
        QuothTool(
            "list_documents",
            "List documents",
            "List the documents that can be asked about, in order of their ids, a page at a time.",
            schemas.LIST_INPUT,
            schemas.LIST_OUTPUT,
            lambda given: _list(catalog, given),
        ),
        QuothTool(
            "read_span",
            "Read a slice",
            "Read a slice of a document by its offsets, with the text around it, its section, where it is printed, and "
            "whether it has been superseded.",
            schemas.SPAN_INPUT,
            schemas.SPAN_OUTPUT,
            lambda given: _span(quoth, given),
        ),
    )


def _filters(given: Arguments) -> dict[str, Any]:
    return {
        "doc_ids": given.get("doc_ids", ()),
        "document_types": given.get("document_types", ()),
        "tags": given.get("tags"),
        "as_of": given.get("as_of"),
    }


def _ask(quoth: Quoth, given: Arguments) -> Reply:
    answer = outcome_json(quoth.ask(given["question"], **_filters(given)))
    return Reply(answer, [wording.answer_text(answer)])


def _retrieve(quoth: Quoth, given: Arguments) -> Reply:
    found = retrieval_json(quoth.retrieve(given["query"], most=given.get("match_count"), **_filters(given)))
    return Reply(found, wording.retrieval_texts(found))


def _verify(quoth: Quoth, given: Arguments) -> Reply:
    results = [
        {"question_id": str(number), "answer_sentences": [{name: one[name] for name in _CITED}]}
        for number, one in enumerate(given["citations"], 1)
    ]
    with quoth.reading() as reader:
        checked = verify_run(results, _text_of(reader))
    failures = [
        {"number": int(one.question_id), "doc_id": one.doc_id, "start": one.start, "end": one.end, "why": one.why}
        for one in checked.failures
    ]
    verification = {"verified": not failures, "citations": checked.citations, "failures": failures}
    return Reply(verification, [wording.verification_text(verification)])


def _text_of(reader: Reader) -> TextOf:
    @lru_cache(maxsize=16)
    def text_of(doc_id: str) -> str | None:
        document = reader.document(doc_id)
        return document.text if document else None

    return text_of


def _list(catalog: Catalog, given: Arguments) -> Reply:
    page = catalog.page(prefix=given.get("prefix", ""), after=given.get("after"), limit=given.get("limit", 100))
    listing = {"documents": [document_json(one) for one in page.documents], "total": page.total, "next": page.next}
    return Reply(listing, [wording.listing_text(listing)])


def _span(quoth: Quoth, given: Arguments) -> Reply:
    with quoth.reading() as reader:
        profile = _profile(reader.info.profile_source)
        span = span_json(
            reader,
            given["doc_id"],
            given["start"],
            given["end"],
            around=given.get("around", 800),
            profile=profile,
            cited=given.get("doc_sha256"),
        )
    return Reply(span, [wording.span_text(span)])
