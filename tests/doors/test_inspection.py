"""`docs`, `show`, `status` and `export`: what the index holds, byte for byte."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from quoth.models.hash_embedder import HashEmbedder

from .command_line import failed, run
from .small_corpus import FILES, SmallCorpus


def test_docs_lists_the_documents_by_id(small: SmallCorpus) -> None:
    ran = run("docs", "--index", small.index)

    assert ran.code == 0
    assert [line.split()[0] for line in ran.lines] == ["document", *sorted(FILES)]


def test_docs_as_json_tells_what_is_known_of_each(small: SmallCorpus) -> None:
    documents = run("docs", "--index", small.index, "--json").objects

    assert [one["doc_id"] for one in documents] == sorted(FILES)
    canola = documents[0]
    source = (small.folder / "canola.md").read_bytes()
    assert (canola["title"], canola["document_type"], canola["encoding"]) == ("Canola", "guide", "utf-8")
    assert canola["characters"] == len(source.decode("utf-8"))
    assert canola["doc_sha256"] == canola["source_sha256"] == hashlib.sha256(source).hexdigest()


@pytest.mark.parametrize("doc_id", sorted(FILES))
def test_show_text_gives_the_bytes_of_the_source(small: SmallCorpus, doc_id: str) -> None:
    ran = run("show", doc_id, "--text", "--index", small.index)

    assert (ran.code, ran.talk) == (0, "")
    assert ran.data == (small.folder / doc_id).read_bytes()


@pytest.mark.parametrize("doc_id", sorted(FILES))
def test_show_sentences_gives_offsets_that_slice_the_source(small: SmallCorpus, doc_id: str) -> None:
    source = small.source(doc_id)
    sentences = run("show", doc_id, "--sentences", "--json", "--index", small.index).objects

    assert sentences
    for one in [*sentences, *(one["lead"] for one in sentences if one["lead"])]:
        assert source[one["start"] : one["end"]] == one["text"]
    assert sentences == sorted(sentences, key=lambda one: int(one["start"]))


def test_show_sentences_for_people_has_one_line_each(small: SmallCorpus) -> None:
    plain = run("show", "canola.md", "--sentences", "--index", small.index)
    listed = run("show", "canola.md", "--sentences", "--json", "--index", small.index)

    assert len(plain.lines) == len(listed.objects)
    assert [line.split("\t")[2] for line in plain.lines] == [repr(one["text"]) for one in listed.objects]


def test_show_tells_what_is_known_of_a_document(small: SmallCorpus) -> None:
    ran = run("show", "rules.md", "--index", small.index)

    assert ran.code == 0
    assert "document_type   rule" in ran.lines
    assert run("show", "rules.md", "--json", "--index", small.index).object["document_type"] == "rule"


def test_a_document_that_is_not_there_is_named(small: SmallCorpus) -> None:
    assert failed(run("show", "maize.md", "--index", small.index), "no document 'maize.md'", "quoth docs")


def test_status_tells_what_made_the_index(small: SmallCorpus) -> None:
    status = run("status", "--index", small.index, "--json").object
    plain = run("status", "--index", small.index)

    assert (status["documents"], status["profile"], status["model"]) == (4, "fields", "hash")
    assert status["bytes"] == sum(path.stat().st_size for path in small.index.rglob("*") if path.is_file())
    assert [line.split()[0] for line in plain.lines] == list(status)


def test_an_export_holds_the_documents_the_sentences_and_their_vectors(small: SmallCorpus, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    ran = run("export", out, "--index", small.index)
    assert (ran.code, ran.data) == (0, b"")

    documents = {doc_id: (out / "documents" / doc_id).read_bytes() for doc_id in FILES}
    assert documents == {doc_id: (small.folder / doc_id).read_bytes() for doc_id in FILES}
    listing = (out / "documents.jsonl").read_bytes()
    assert listing == run("docs", "--index", small.index, "--json").data

    sentences = [json.loads(line) for line in (out / "sentences.jsonl").read_text(encoding="utf-8").splitlines()]
    vectors = np.load(out / "embeddings.npy")
    rows = [one["embedding"] for one in sentences if one["embedding"] is not None]
    assert rows == list(range(len(vectors)))
    for one in sentences:
        assert documents[one["doc_id"]].decode("utf-8")[one["start"] : one["end"]] == one["text"]
        if one["embedding"] is not None:
            lead = f"{one['lead']['text']}\n" if one["lead"] else ""
            expected = HashEmbedder().embed([lead + one["text"]])[0]
            assert vectors[one["embedding"]] == pytest.approx(expected, abs=0.001)


def test_an_export_never_writes_over_what_is_there(small: SmallCorpus, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious", encoding="utf-8")

    assert failed(run("export", tmp_path, "--index", small.index), "is not empty", "Name a new folder")
    assert failed(run("export", tmp_path / "mine.txt", "--index", small.index), "cannot write")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_an_exported_corpus_can_be_ingested_again(small: SmallCorpus, tmp_path: Path) -> None:
    run("export", tmp_path / "out", "--index", small.index)
    again = ("ingest", tmp_path / "out" / "documents", "--index", tmp_path / "again", "--profile", small.profile)
    assert run(*again).code == 0

    digests = [
        run("status", "--index", index, "--json").object["digest"] for index in (small.index, tmp_path / "again")
    ]
    assert digests[0] == digests[1]


def test_docs_shows_only_columns_that_say_something(small: SmallCorpus) -> None:
    header = run("docs", "--index", small.index).lines[0].split()

    assert {"document", "format", "sentences", "title"} <= set(header)
    assert not {"pages", "superseded"} & set(header)


def test_show_passages_slices_the_text(small: SmallCorpus) -> None:
    source = small.source("canola.md")
    passages = run("show", "canola.md", "--passages", "--json", "--index", small.index).objects
    plain = run("show", "canola.md", "--passages", "--index", small.index)

    assert passages
    assert len(plain.lines) == len(passages)
    for one in passages:
        assert source[one["start"] : one["end"]] == one["text"]
        assert one["passage_id"] == f"canola.md:{one['start']}-{one['end']}"


def test_show_span_prints_the_slice_and_its_places(small: SmallCorpus) -> None:
    source = small.source("canola.md")
    plain = run("show", "canola.md", "--span", "3:20", "--index", small.index)
    listed = run("show", "canola.md", "--span", "3:20", "--json", "--index", small.index).object

    assert plain.text == source[3:20] + "\n"
    assert listed == {
        "doc_id": "canola.md",
        "start": 3,
        "end": 20,
        "text": source[3:20],
        "unit": "point",
        "rectangles": [],
    }


@pytest.mark.parametrize("span", ["3", "20:3", "a:b", "0:99999999"])
def test_a_span_that_is_none_is_refused(small: SmallCorpus, span: str) -> None:
    assert failed(run("show", "canola.md", "--span", span, "--index", small.index))
