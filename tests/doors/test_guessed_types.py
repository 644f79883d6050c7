"""A type that a title gives away: told at ingest, marked in every output, and gone once it is confirmed."""

from __future__ import annotations

from pathlib import Path

import pytest

from quoth import Quoth
from quoth.output.source_slices import span_json

from .command_line import run, write_files

BYLAWS = "# Bylaws of Tamarind Hollow\n\nThe Board meets on the first Monday of every month.\n"
LETTER = "Dear Ms. Lee,\n\nBylaws aside, the Board meets when it likes, and so do all of us in Tamarind Hollow.\n"
STATED = "---\ntitle: Bylaws\nis_binding: false\n---\n\n# Bylaws\n\nThe Board met on the first Monday in 1990.\n"
QUESTION = "When does the Board meet?"
SHOW = ("--set", "decision.abstain=false", "--set", "context.nothing=0", "--doc", "bylaws.md")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = {"bylaws.md": BYLAWS, "letter.txt": LETTER, "stated.md": STATED}
    return write_files(tmp_path_factory.mktemp("corpus"), files)


@pytest.fixture(scope="module")
def index(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    index = tmp_path_factory.mktemp("index") / "index"
    ran = run("ingest", folder, "--index", index, "--profile", "governance")
    assert (ran.code, ran.talk.count("by its title")) == (0, 1), ran.talk
    assert "note on bylaws.md: binding (bylaws), by its title: confirm in corpus.yaml" in ran.talk
    return index


def test_the_documents_are_listed_with_what_was_guessed(index: Path) -> None:
    listed = {info["doc_id"]: info for info in run("docs", "--index", index, "--json").objects}

    types = {doc_id: (info["document_type"], info["type_guessed"]) for doc_id, info in listed.items()}
    assert types == {"bylaws.md": ("bylaws", True), "letter.txt": (None, False), "stated.md": (None, False)}
    assert (listed["bylaws.md"]["is_binding"], listed["stated.md"]["is_binding"]) == (True, False)
    assert "bylaws (guessed)" in run("docs", "--index", index).text


def test_an_answer_says_that_the_authority_is_guessed(index: Path) -> None:
    (quote,) = run("ask", QUESTION, "--index", index, "--json", *SHOW).object["answer_sentences"]

    assert (quote["document_type"], quote["authority"], quote["authority_guessed"]) == ("bylaws", "binding", True)
    assert "· binding, guessed" in " ".join(run("ask", QUESTION, "--index", index, *SHOW).text.split())


def test_a_retrieval_and_its_context_say_it_too(index: Path) -> None:
    found = run("retrieve", QUESTION, "--index", index, "--json", *SHOW).object

    assert [(passage["authority"], passage["authority_guessed"]) for passage in found["passages"]] == [
        ("binding", True)
    ]
    assert "Binding: Yes (guessed from its title)\n" in found["context"]
    assert "[binding, guessed]" in " ".join(run("retrieve", QUESTION, "--index", index, *SHOW).text.split())


def test_a_slice_for_the_page_says_it(index: Path) -> None:
    quoth = Quoth.open(index, settings={"embedding.model_name": "hash"})
    with quoth.reading() as reader:
        span = span_json(reader, "bylaws.md", 0, 8, around=0, profile=quoth.engine().profile, cited=None)

    assert (span["authority"], span["authority_guessed"]) == ("binding", True)


def test_a_confirmed_type_is_no_guess(folder: Path, tmp_path: Path) -> None:
    confirmed = write_files(tmp_path / "confirmed", {path.name: path.read_bytes() for path in folder.iterdir()})
    rule = 'documents:\n  - {match: "bylaws.md", document_type: bylaws}\n'
    write_files(confirmed, {"corpus.yaml": rule})
    ran = run("ingest", confirmed, "--index", tmp_path / "index", "--profile", "governance")
    (quote,) = run("ask", QUESTION, "--index", tmp_path / "index", "--json", *SHOW).object["answer_sentences"]

    assert "by its title" not in ran.talk
    assert (quote["authority"], quote["authority_guessed"]) == ("binding", False)


def test_other_profiles_guess_nothing(folder: Path, tmp_path: Path) -> None:
    ran = run("ingest", folder, "--index", tmp_path / "index")
    (quote,) = run("ask", QUESTION, "--index", tmp_path / "index", "--json", *SHOW).object["answer_sentences"]

    assert "by its title" not in ran.talk
    assert "authority_guessed" not in quote
