"""The language of documents: recognised at ingest, stated by people, listed, and filtered by."""

from __future__ import annotations

from pathlib import Path

import pytest

from quoth import Filters, Quoth
from quoth.errors import QuestionError

from .command_line import run, write_files

ENGLISH = "The tenant pays the rent on the first day of the month, and the deposit is returned when the lease ends.\n"
GERMAN = "Der Mieter zahlt die Miete am ersten Tag des Monats. Die Kaution wird nach dem Ende des Vertrags erstattet.\n"
TURKISH = "Kiracı kirayı her ayın ilk günü öder. Depozito sözleşme sona erdikten sonra iade edilir.\n"
SHORT = "Nr. 12\n"
FILES = {
    "a.txt": GERMAN,
    "b.txt": GERMAN.replace("Mieter", "Pächter"),
    "c.txt": ENGLISH,
    "d.md": f"---\nlanguage: tr-TR\n---\n\n{TURKISH}",
    "page.html": f'<html lang="en-US"><body><p>{TURKISH}</p></body></html>',
    "short.txt": SHORT,
}
LANGUAGES = {"a.txt": "de", "b.txt": "de", "c.txt": "en", "d.md": "tr-TR", "page.html": "tr", "short.txt": None}
SETTINGS = {"embedding.model_name": "hash", "rerank.kind": "none"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("corpus"), FILES)


@pytest.fixture(scope="module")
def index(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("index") / "index"
    assert run("ingest", folder, "--index", place, "--set", "embedding.model_name=hash").code == 0
    return place


def languages(place: Path) -> dict[str, str | None]:
    return {info["doc_id"]: info["language"] for info in run("docs", "--index", place, "--json").objects}


def test_each_document_has_its_language_and_says_whether_it_was_recognised(index: Path) -> None:
    listed = run("docs", "--index", index, "--json").objects

    assert {info["doc_id"]: info["language"] for info in listed} == LANGUAGES
    assert {info["doc_id"] for info in listed if info["language_recognised"]} == {
        "a.txt",
        "b.txt",
        "c.txt",
        "page.html",
    }
    assert run("status", "--index", index, "--json").object["languages"] == {"de": 2, "tr": 2, "en": 1}


def test_the_list_shows_which_language_a_short_document_is_taken_for(index: Path) -> None:
    rows = {line.split()[0]: line for line in run("docs", "--index", index).text.splitlines() if ".txt" in line}

    assert "(de)" in rows["short.txt"]
    assert "(de)" not in rows["a.txt"]


def test_an_option_states_the_language_of_what_states_none(folder: Path, index: Path, tmp_path: Path) -> None:
    hashed = ("--set", "embedding.model_name=hash")
    assert run("ingest", folder, "--index", tmp_path / "index", "--language", "az", *hashed).code == 0

    stated = languages(tmp_path / "index")

    assert stated == dict.fromkeys(FILES, "az") | {"d.md": "tr-TR"}
    assert not any(info["language_recognised"] for info in run("docs", "--index", tmp_path / "index", "--json").objects)


def test_what_is_no_language_is_refused(folder: Path, tmp_path: Path) -> None:
    refused = run(
        "ingest", folder, "--index", tmp_path / "i", "--language", "Klingonisch", "--set", "embedding.model_name=hash"
    )

    assert refused.code == 1
    assert "which is no language" in refused.talk


def test_the_languages_do_not_depend_on_the_order_of_the_files(folder: Path, index: Path, tmp_path: Path) -> None:
    for name in reversed(FILES):
        assert run("ingest", folder / name, "--index", tmp_path / "i", "--set", "embedding.model_name=hash").code == 0

    assert languages(tmp_path / "i") == languages(index)


def test_a_filter_takes_unsure_documents_for_the_usual_language(index: Path) -> None:
    quoth = Quoth.open(index, settings=SETTINGS)

    def found(*codes: str) -> set[str]:
        return {
            document.doc_id for document in quoth.find("[a-z]", regex=True, filters=Filters(languages=codes)).documents
        }

    assert found("de") == {"a.txt", "b.txt", "short.txt"}
    assert found("tr-TR") == {"d.md", "page.html"}
    assert found("de", "en") == {"a.txt", "b.txt", "c.txt", "short.txt"}
    assert found("fr") == set()
    with pytest.raises(QuestionError, match="is no language"):
        Filters(languages="Deutsch!")


def test_every_door_filters_by_language(index: Path, tmp_path: Path) -> None:
    command = run("find", "d", "--regex", "--index", index, "--filter-language", "en", "--json").objects
    questions = tmp_path / "questions.jsonl"
    questions.write_text('{"question": "Wer zahlt die Miete?", "filters": {"language": "de"}}\n', encoding="utf-8")
    settings = ("--set", "embedding.model_name=hash", "--set", "rerank.kind=none", "--set", "decision.abstain=false")
    (answer,) = run("batch", questions, "--index", index, *settings).objects

    assert {match["doc_id"] for match in command} == {"c.txt"}
    assert {quote["doc_id"] for quote in answer["answer_sentences"]} <= {"a.txt", "b.txt"}
    assert answer["answer_sentences"]
