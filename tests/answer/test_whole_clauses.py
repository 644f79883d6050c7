"""Answers about clauses, exceptions, lists, equal clauses and tables, from real corpora and the real model."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from doors.command_line import MINILM, run
from end_to_end.samples import sample_index
from quoth.answer.whole_clauses import asks_for_all
from quoth.library import Quoth
from quoth.types import Answer, Citation, QuoteRole

HERE = Path(__file__).parent / "clauses"
CASES: list[dict[str, Any]] = msgspec.yaml.decode((HERE / "questions.yaml").read_bytes())


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Quoth]:
    zoning = tmp_path_factory.mktemp("zoning") / "index"
    ran = run("ingest", HERE / "zoning.md", "--index", zoning, "--profile", "governance", variables=MINILM)
    assert ran.code == 0, ran.talk
    samples = {corpus: sample_index(corpus, tmp_path_factory) for corpus in ("governance", "agriculture")}
    return {corpus: Quoth.open(index) for corpus, index in {**samples, "zoning": zoning}.items()}


@lru_cache
def _words(text: str) -> str:
    return " ".join(text.split())


def _holding(citations: tuple[Citation, ...], words: str) -> list[Citation]:
    return [citation for citation in citations if words in _words(citation.sentence.text)]


def test_there_are_forty_questions() -> None:
    assert len({case["question"] for case in CASES}) >= 40


@pytest.mark.parametrize("case", CASES, ids=[case["question"] for case in CASES])
def test_an_answer_is_whole(case: dict[str, Any], libraries: dict[str, Quoth]) -> None:
    outcome = libraries[case["corpus"]].ask(case["question"])

    assert isinstance(outcome, Answer)
    first, *others = outcome.citations
    lead = _words(first.sentence.lead.text) if first.sentence.lead else ""
    assert first.role is QuoteRole.ANSWER
    assert case["first"] in _words(first.sentence.text)
    assert case.get("header", "") in lead
    assert all(_holding(outcome.citations, words) for words in case.get("with", ()))
    for words in case.get("context", ()):
        assert [citation.role for citation in _holding(tuple(others), words)] == [QuoteRole.CONTEXT]
    assert not any(_holding(outcome.citations, words) for words in case.get("without", ()))
    assert len(outcome.citations) <= case.get("most", 12)
    if "also" in case:
        assert [place.section[-1] for place in first.also] == case["also"]


@pytest.mark.parametrize("case", CASES, ids=[case["question"] for case in CASES])
def test_every_part_of_a_unit_is_an_exact_slice(case: dict[str, Any], libraries: dict[str, Quoth]) -> None:
    library = libraries[case["corpus"]]
    outcome = library.ask(case["question"])

    assert isinstance(outcome, Answer)
    ids = {citation.sentence.id for citation in outcome.citations}
    for citation in outcome.citations:
        for place in (citation.sentence, *citation.also):
            document = library.document(place.doc_id)
            assert document is not None
            for quote in filter(None, (place.quote, place.lead)):
                assert document.text[quote.span.start : quote.span.end] == quote.text
        assert citation.companion_of is None or citation.companion_of in ids
        assert citation.sentence.kind.evidence


def test_the_terminal_leads_with_the_answer_names_other_places_and_marks_context(libraries: dict[str, Quoth]) -> None:
    question = "How high may a garden wall be in district R-2?"
    ran = run("ask", question, "--index", libraries["zoning"].location, variables=MINILM)
    words = _words(ran.data.decode())

    assert words.startswith("No garden wall shall exceed")
    assert "also in §9.1.3, §9.3.3" in words
    assert words.count("· context") == 1 and words.index("· context") > words.index("Notwithstanding")


def test_a_definition_brings_its_term(tmp_path: Path) -> None:
    page = tmp_path / "glossary.html"
    page.write_text(
        "<h1>Definitions</h1>"
        "<p><b>Parapet</b></p><p>A low wall at the edge of a roof that keeps people from falling.</p>"
        "<p><b>Swale</b></p><p>A shallow channel that carries rain water to the street.</p>",
        encoding="utf-8",
    )
    ran = run("ingest", page, "--index", tmp_path / "index", variables=MINILM)
    assert ran.code == 0, ran.talk

    outcome = Quoth.open(tmp_path / "index").ask("What keeps people from falling off a roof?")

    assert isinstance(outcome, Answer)
    assert [(citation.sentence.text, citation.role) for citation in outcome.citations] == [
        ("A low wall at the edge of a roof that keeps people from falling.", QuoteRole.ANSWER),
        ("Parapet", QuoteRole.CONTEXT),
    ]


def test_what_is_near_stands_beside_the_answer(libraries: dict[str, Quoth]) -> None:
    outcome = libraries["governance"].ask("How large may a for-sale sign be?")

    assert isinstance(outcome, Answer)
    quoted = {citation.sentence.id for citation in outcome.citations}
    assert outcome.see_also
    for near in outcome.see_also:
        assert near.sentence.id not in quoted
        document = libraries["governance"].document(near.sentence.doc_id)
        assert document is not None
        assert document.quote(near.sentence.quote.span) == near.sentence.text


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which signs may be displayed?", True),
        ("What are the quiet hours?", True),
        ("List the trees to avoid.", True),
        ("What does the duty include?", True),
        ("What is the fine?", False),
        ("How high may a fence be?", False),
        ("Which glass is used?", False),
        ("What was decided?", False),
    ],
)
def test_a_question_for_all_of_a_kind_is_told_by_its_words(question: str, *, expected: bool) -> None:
    assert asks_for_all(question) is expected
