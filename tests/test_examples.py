"""The sample corpora: what they hold, and what the program makes of their questions with the real model."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from doors.command_line import MINILM, run
from end_to_end.samples import EXAMPLES, sample_index

CROPS = {"canola", "corn", "wheat", "tomato", "soy", "rice"}
PRACTICES = {"irrigation", "soil", "fertility", "weeds", "disease", "pests", "harvest", "planting", "storage"}
CORPORA = ("agriculture", "governance")

ABSENT = {
    "ag-29": "the company Verdanta Seeds",
    "ag-30": "the town of Pellworth, on a day of 2022",
    "ag-31": "a quarter of 2021",
    "ag-32": "the crop quinoa",
    "ag-34": "Dr. Helena Marchetti",
    "ag-35": "the year 1998",
    "ag-36": "the product ZX-4471",
    "ag-38": "the crop peanut",
    "gov-030": "a decision on Lot 305",
    "gov-031": "an amendment of 2024",
    "gov-033": "the year 2017",
    "gov-035": "application 2023-031 of a Dr. Halloran",
    "gov-036": "the district R-3",
}
"""Unanswerable questions that name a person, company, place, date, code or crop that their corpus never mentions."""


@lru_cache
def _questions(corpus: str) -> list[dict[str, Any]]:
    lines = (EXAMPLES / corpus / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@lru_cache
def _text(corpus: str, doc_id: str) -> str:
    return (EXAMPLES / corpus / doc_id).read_bytes().decode("utf-8")


@pytest.fixture(scope="session")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {corpus: sample_index(corpus, tmp_path_factory) for corpus in CORPORA}


@pytest.fixture(scope="session")
def results(indexes: dict[str, Path]) -> dict[str, dict[str, Any]]:
    """What came of every sample question, by the question's id."""
    found: dict[str, dict[str, Any]] = {}
    for corpus, index in indexes.items():
        ran = run("batch", EXAMPLES / corpus / "questions.jsonl", "--index", index, variables=MINILM)
        assert (ran.code, ran.talk) == (0, "")
        found |= {one["question_id"]: one for one in ran.objects}
    return found


@pytest.mark.parametrize(
    ("corpus", "documents", "questions", "unanswerable"), [("agriculture", 18, 30, 8), ("governance", 7, 25, 5)]
)
def test_a_corpus_is_large_enough_to_learn_from(
    corpus: str, *, documents: int, questions: int, unanswerable: int
) -> None:
    asked = _questions(corpus)

    assert len(list((EXAMPLES / corpus).rglob("*.md"))) >= documents
    assert len(asked) >= questions
    assert sum(not question["answerable"] for question in asked) >= unanswerable


def test_the_agriculture_guides_hold_1500_sentences_on_every_crop_and_practice(indexes: dict[str, Path]) -> None:
    ids = [one["doc_id"] for one in run("docs", "--index", indexes["agriculture"], "--json").objects]
    sentences = [
        one
        for doc_id in ids
        for one in run("show", doc_id, "--sentences", "--json", "--index", indexes["agriculture"]).objects
    ]

    assert len(sentences) >= 1_500
    assert {one["tags"]["crop"] for one in sentences} >= CROPS
    assert {one["tags"]["practice"] for one in sentences} >= PRACTICES


def test_the_governing_documents_say_what_binds_since_when_and_what_was_replaced(indexes: dict[str, Path]) -> None:
    documents = run("docs", "--index", indexes["governance"], "--json").objects

    assert all(one["document_type"] and one["title"] and one["effective_date"] for one in documents)
    assert {one["is_binding"] for one in documents} == {True, False}
    assert len({one["title"] for one in documents}) == len(documents)
    replacing = {later["by"] for one in documents for later in one["superseded_by"]}
    assert replacing
    assert replacing <= {one["doc_id"] for one in documents}


@pytest.mark.parametrize("corpus", CORPORA)
def test_question_ids_are_unique(corpus: str) -> None:
    ids = [question["id"] for question in _questions(corpus)]

    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("corpus", CORPORA)
def test_every_gold_span_is_an_exact_slice(corpus: str) -> None:
    for question in _questions(corpus):
        assert bool(question["gold"]) == question["answerable"], question["id"]
        for gold in question["gold"]:
            assert _text(corpus, gold["doc_id"])[gold["start"] : gold["end"]] == gold["text"], question["id"]


@pytest.mark.parametrize("corpus", CORPORA)
def test_no_citation_of_any_sample_question_is_inexact(corpus: str, results: dict[str, dict[str, Any]]) -> None:
    for question in _questions(corpus):
        result = results[question["id"]]
        cited = result["answer_sentences"] + result["nearest"]
        assert cited
        leads = [{**one["lead"], "doc_id": one["doc_id"]} for one in cited if one["lead"]]
        for one in [*cited, *leads]:
            assert _text(corpus, one["doc_id"])[one["start"] : one["end"]] == one["text"]


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("ag-01", "Canola grows best at pH 6.0-7.0."),
        ("ag-03", "Plant corn 4 to 5 cm deep."),
        ("ag-05", "Harvest soybeans at 13 to 14% moisture."),
        ("ag-07", "Seed winter wheat between 20 September and 5 October."),
        ("ag-15", "Corn following corn needs about 150 lb N/acre on basin loams."),
    ],
)
def test_a_plain_question_is_answered_by_the_sentence_that_says_it(
    question: str, sentence: str, results: dict[str, dict[str, Any]]
) -> None:
    assert sentence in [one["text"] for one in results[question]["answer_sentences"]]


@pytest.mark.parametrize(("question", "absent"), ABSENT.items(), ids=ABSENT)
def test_a_question_about_something_that_the_corpus_never_mentions_is_declined(
    question: str, absent: str, results: dict[str, dict[str, Any]]
) -> None:
    assert results[question]["abstained"], f"an answer about {absent}"


def test_an_answer_from_governing_documents_says_what_binds(results: dict[str, dict[str, Any]]) -> None:
    cited = [one for id_, result in results.items() if id_.startswith("gov") for one in result["answer_sentences"]]

    assert cited
    assert {one["authority"] for one in cited} <= {"binding", "guidance", "precedent"}
    assert all(one["document_type"] and one["effective_date"] for one in cited)
