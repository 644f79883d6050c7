"""Questions limited to documents by their authors, year or DOI, at every door that takes filters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quoth import Filters
from quoth.errors import QuestionError

from .command_line import failed, run

QUESTION = "How deep should lentils be sown?"
ANSWER_ALL = ("--set", "decision.abstain=false", "--set", "selection.max_sentences=1")
PAPERS = {
    "old.md": ("[Gül Öztürk, Ann Kim]", 2011, "10.1000/Old.1", "Lentils should be sown 3 cm deep."),
    "new.md": ("[Ann Kim]", 2019, "10.1000/new.2", "Lentils should be sown 5 cm deep."),
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("papers")
    for name, (authors, year, doi, text) in PAPERS.items():
        front = f"---\ntitle: {name}\nauthors: {authors}\nyear: {year}\ndoi: {doi}\n---\n\n"
        (folder / name).write_text(f"{front}# Sowing\n\n{text}\n", encoding="utf-8")
    (folder / "nobody.md").write_text("# Sowing\n\nLentils should be sown 4 cm deep.\n", encoding="utf-8")
    index = tmp_path_factory.mktemp("index") / "index"
    assert run("ingest", folder, "--index", index).code == 0
    return index


def documents(answer: dict[str, object]) -> set[str]:
    quotes = answer["answer_sentences"]
    assert isinstance(quotes, list)
    return {quote["doc_id"] for quote in quotes}


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (("--year", "2011"), {"old.md"}),
        (("--year", "2012-"), {"new.md"}),
        (("--year", "-2012"), {"old.md"}),
        (("--year", "2010-2020"), {"old.md", "new.md"}),
        (("--author", "OZTURK"), {"old.md"}),
        (("--author", "ann kim"), {"old.md", "new.md"}),
        (("--author", "Kim Ozturk"), set()),
        (("--author", "Kim", "--year", "2019"), {"new.md"}),
        (("--doi", "https://doi.org/10.1000/OLD.1"), {"old.md"}),
        (("--doi", "10.1000/new.2", "--doc", "old.md"), set()),
    ],
)
def test_only_documents_that_pass_are_searched(index: Path, options: tuple[str, ...], found: set[str]) -> None:
    answer = run("ask", QUESTION, "--index", index, "--json", *options, *ANSWER_ALL).object

    assert documents(answer) <= found
    passages = run("retrieve", QUESTION, "--index", index, "--json", *options, "--set", "context.nothing=0").object
    assert {passage["doc_id"] for passage in passages["passages"]} == found


def test_a_quote_says_who_wrote_it_and_when(index: Path) -> None:
    [quote] = run("ask", QUESTION, "--index", index, "--json", "--year", "2011", *ANSWER_ALL).object["answer_sentences"]

    assert (quote["byline"], quote["doi"]) == ("Gül Öztürk and Ann Kim, 2011", "10.1000/Old.1")
    shown = run("ask", QUESTION, "--index", index, "--year", "2011", *ANSWER_ALL).text
    assert "Gül Öztürk and Ann Kim 2011" in shown
    nobody = run("ask", QUESTION, "--index", index, "--json", "--doc", "nobody.md", *ANSWER_ALL).object
    assert "byline" not in nobody["answer_sentences"][0]


def test_a_question_of_a_batch_names_years_and_authors(index: Path, tmp_path: Path) -> None:
    questions = tmp_path / "questions.jsonl"
    filters = [{"year": 2011}, {"author": ["Kim"], "year": "2019-2020"}, {"year": "soon"}]
    lines = [{"question": QUESTION, "filters": one} for one in filters]
    questions.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    ran = run("batch", questions, "--index", index, *ANSWER_ALL)

    assert [documents(answer) for answer in ran.objects] == [{"old.md"}, {"new.md"}]
    assert "'soon' is no year" in ran.talk


def test_what_is_no_year_is_refused_with_the_forms_there_are(index: Path) -> None:
    assert failed(run("ask", QUESTION, "--index", index, "--year", "20-21"), "'20-21'", "2015-2020")
    with pytest.raises(QuestionError, match="no year"):
        Filters(years="1999-20000")
