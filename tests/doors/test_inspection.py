"""`docs`, `show`, `status` and `export`: what the index holds, byte for byte."""

from __future__ import annotations

import hashlib
import json
from html.parser import HTMLParser
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from quoth.models.hash_embedder import HashEmbedder
from quoth.output.document_json_types import InspectedDocumentJson
from quoth.output.json_schema import object_schema

from .command_line import failed, run, write_files
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


@pytest.fixture
def troubled(own: SmallCorpus) -> SmallCorpus:
    """The small corpus with a file that is refused, one that is empty, and a title that would be a script."""
    write_files(
        own.folder,
        {
            "broken.docx": b"PK\x03\x04 and nothing more",
            "empty.md": b"",
            "odd.md": '---\ntitle: <script>alert("x")</script>\nsuperseded_by: gone & lost.md\n---\nSow at 2 cm.\n',
        },
    )
    return own


def test_docs_problems_lists_what_is_wrong_and_what_to_do(troubled: SmallCorpus) -> None:
    assert run("ingest", troubled.folder, "--index", troubled.index).code == 1
    ran = run("docs", "--problems", "--index", troubled.index)

    assert ran.code == 0
    assert [line for line in ran.lines if not line.startswith("  ")] == ["Content is missing", "Content looks wrong"]
    missing = ran.text.partition("Content looks wrong")[0]
    assert "broken.docx: refused: it is not a .docx" in missing
    assert "  empty.md: the file is empty\n    Copy it again, or leave it out.\n" in missing
    assert "odd.md: it is superseded by 'gone & lost.md', which the index does not hold" in ran.text
    assert ran.talk == "3 of 7 documents and refused files have problems\n"


def test_docs_problems_as_json_is_an_object_for_each_document_with_problems(troubled: SmallCorpus) -> None:
    run("ingest", troubled.folder, "--index", troubled.index)
    found = run("docs", "--problems", "--json", "--index", troubled.index).objects

    assert [one["doc_id"] for one in found] == ["broken.docx", "empty.md", "odd.md"]
    assert [one["in_index"] for one in found] == [False, True, True]
    assert [problem["kind"] for one in found for problem in one["problems"]] == ["refused", "empty", "successor"]
    schema = object_schema(InspectedDocumentJson)
    for one in found:
        jsonschema.validate(one, schema)


def test_an_index_without_problems_says_so(small: SmallCorpus) -> None:
    ran = run("docs", "--problems", "--index", small.index)

    assert (ran.code, ran.data) == (0, b"")
    assert ran.talk == "0 of 4 documents and refused files have problems\n"


class _Page(HTMLParser):
    """Collects the elements of a page and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_report_of_an_ingest_is_one_page_that_loads_and_runs_nothing(troubled: SmallCorpus, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    ran = run("ingest", troubled.folder, "--index", troubled.index, "--report", path)
    page = _Page(path.read_text(encoding="utf-8"))

    assert ran.code == 1  # a file was refused, and the page is there all the same
    assert "script" not in {tag for tag, _ in page.elements}
    assert [of.get("href") for _, of in page.elements if "href" in of or "src" in of] == ["data:,", "#documents"]
    policy = next(of["content"] for tag, of in page.elements if tag == "meta" and "http-equiv" in of)
    assert policy is not None
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'sha256-")
    assert '<script>alert("x")</script>' in page.text
    assert page.text.index("broken.docx") < page.text.index("gone & lost.md") < page.text.index("rules.md")
    assert "2 documents read, 4 unchanged" in page.text


def test_the_same_index_gives_the_same_page(troubled: SmallCorpus, tmp_path: Path) -> None:
    run("ingest", troubled.folder, "--index", troubled.index)
    for name in ("a.html", "b.html"):
        run("ingest", troubled.folder, "--index", troubled.index, "--report", tmp_path / name)

    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_a_report_that_cannot_be_written_stops_the_ingest_before_it_begins(own: SmallCorpus, tmp_path: Path) -> None:
    ran = run("ingest", own.folder, "--index", tmp_path / "new", "--report", tmp_path / "none" / "report.html")

    assert failed(ran, "cannot be written")
    assert not (tmp_path / "new").exists()


def test_where_nothing_can_be_read_the_report_lists_all_of_it(tmp_path: Path) -> None:
    write_files(tmp_path / "scans", {f"{name}.pdf": b"" for name in "abcde"} | {"f.zip": b"PK\x03\x04 broken"})
    path = tmp_path / "report.html"
    ran = run("ingest", tmp_path / "scans", "--index", tmp_path / "index", "--report", path)

    assert failed(ran, "none of 6 files could be read (", "a.pdf: the file is empty")
    page = _Page(path.read_text(encoding="utf-8"))
    assert "There is no index" in page.text
    assert page.text.count("refused: ") == 6


def test_a_folder_of_broken_archives_says_why_there_are_no_documents(tmp_path: Path) -> None:
    write_files(tmp_path / "packed", {"a.zip": b"PK\x03\x04 broken"})

    ran = run("ingest", tmp_path / "packed", "--index", tmp_path / "index")
    assert failed(ran, "none of 1 files could be read (a.zip: the archive cannot be opened")
