"""`quoth find`: the words wherever they stand, with section, page, exact offsets and counts, at every door."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from starlette.testclient import TestClient

from documents.formats.pdf_files import Sheet, lines, pdf
from quoth import Filters, Quoth
from quoth.errors import CorpusError, QuestionError
from quoth.http.document_catalog import DocumentCatalog
from quoth.mcp.tools import tools_for
from quoth.output.json_schema import object_schema
from quoth.output.match_json import FoundJson, MatchCountJson, MatchJson
from quoth.types import EVERYTHING

from .command_line import PATIENCE, Ran, environment, failed, run, start, write_files
from .http.serving import opened, plan
from .small_corpus import SmallCorpus

PAGES = (
    "Liming raises the pH of acid soil. Lime pays for itself in",
    "a single year on most farms. Sulphur lowers it.",
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("papers")
    write_files(
        folder,
        {
            "paper.pdf": pdf([Sheet(lines(text)) for text in PAGES]),
            "one.md": (
                "---\ntitle: One\nauthors: [Gül Öztürk]\nyear: 2011\ndocument_type: guide\n---\n\n# 9.1.7 Liming\n\n"
                "Lime raises the pH.\nThe infor-\nmation on lime is old.\n\n"
                "## References\n\n1. Lee S, Bevan DR (2010) Lime on young maize plants. Plant J 59: 149-155.\n\n"
                "2. Glick B, Lee S (2014) Ethylene and maize. FEMS Lett 251: 1-7.\n\n"
                "3. Das S, Vasudevan D (2006) Tulsi and its uses. Indian J Nat Prod 5: 279-283.\n"
            ),
            "two.txt": "Lime, lime, LIME: \N{EAR OF RICE} limestone and lime\r\nrock.\r\n",
        },
    )
    place = tmp_path_factory.mktemp("index") / "index"
    assert run("ingest", folder, "--index", place).code == 0
    return place


@pytest.fixture(scope="module")
def quoth(index: Path) -> Quoth:
    return Quoth.open(index)


def find(index: Path, *arguments: str) -> Ran:
    ran = run("find", *arguments, "--index", index)
    assert ran.code == 0, ran.talk
    return ran


def exact(quoth: Quoth, match: dict[str, Any]) -> None:
    document = quoth.document(match["doc_id"])
    assert document is not None
    for quote in (match, match["context"]):
        assert document.text[quote["start"] : quote["end"]] == quote["text"]
    assert match["doc_sha256"] == document.sha256
    if match["sentence"]:
        spans = [sentence.quote.span for sentence in quoth.sentences(match["doc_id"])]
        assert match["sentence"]["start"] in {span.start for span in spans}
        assert match["sentence"]["end"] in {span.end for span in spans}


def test_every_match_is_an_exact_slice_with_its_place(index: Path, quoth: Quoth) -> None:
    found = find(index, "lime", "--json").objects

    assert [(match["doc_id"], match["text"]) for match in found] == [
        *[("one.md", text) for text in ("Lime", "lime", "Lime")],
        ("paper.pdf", "Lime"),
        *[("two.txt", text) for text in ("Lime", "lime", "LIME", "lime")],
    ]
    for match in found:
        exact(quoth, match)
        Draft202012Validator(object_schema(MatchJson)).validate(match)
    assert [match["section"] for match in found[:3]] == [["9.1.7 Liming"]] * 2 + [["9.1.7 Liming", "References"]]
    assert [match["region"] for match in found[:3]] == ["paragraph", "paragraph", "references"]


def test_counts_are_given_for_each_document(index: Path) -> None:
    counted = find(index, "lime", "--count")
    objects = find(index, "lime", "--count", "--json").objects

    assert counted.lines == ["      3  one.md", "      1  paper.pdf", "      4  two.txt"]
    assert counted.talk == "8 matches in 3 documents\n"
    assert [(one["doc_id"], one["count"]) for one in objects] == [("one.md", 3), ("paper.pdf", 1), ("two.txt", 4)]
    for one in objects:
        Draft202012Validator(object_schema(MatchCountJson)).validate(one)


def test_people_see_documents_places_and_the_words_around(index: Path) -> None:
    shown = find(index, "lime rock")

    assert shown.lines[0] == "two.txt (1)"
    assert shown.lines[1].strip().endswith("limestone and lime rock.")
    assert find(index, "raises the pH").lines[1].startswith("  §9.1.7 Liming, [")
    assert shown.talk == "1 match in 1 document\n"


def test_a_match_knows_the_page_that_it_begins_on(index: Path, quoth: Quoth) -> None:
    pages = {word: find(index, word, "--json").object["page"] for word in ("liming raises", "a single", "sulphur")}

    assert pages == {"liming raises": 1, "a single": 2, "sulphur": 2}
    assert find(index, "sulphur").lines[1].startswith("  p. 2, [")


def test_words_are_found_over_line_ends(index: Path) -> None:
    assert [match["text"] for match in find(index, "information", "on", "--json").objects] == ["infor-\nmation on"]


def test_near_words_and_expressions_are_found(index: Path) -> None:
    assert find(index, "ph", "lime", "--near", "3", "--json").object["text"] == "Lime raises the pH"
    assert find(index, "--regex", r"\bl\w+stone", "--json").object["text"] == "limestone"
    assert find(index, "LIME", "--case", "--count").lines == ["      1  two.txt"]


@pytest.mark.parametrize(
    ("options", "documents"),
    [
        (("--doc", "one.md"), {"one.md"}),
        (("--doc", "one.md", "--doc", "two.txt"), {"one.md", "two.txt"}),
        (("--type", "guide"), {"one.md"}),
        (("--author", "ozturk"), {"one.md"}),
        (("--year", "2012-"), set()),
        (("--regions", "references"), {"one.md"}),
        (("--as-of", "2020-01-01"), {"one.md", "paper.pdf", "two.txt"}),
    ],
)
def test_filters_are_those_of_questions(index: Path, options: tuple[str, ...], documents: set[str]) -> None:
    assert {match["doc_id"] for match in find(index, "lime", "--json", *options).objects} == documents


def test_a_tag_limits_the_sentences(small: SmallCorpus) -> None:
    everywhere = find(small.index, "sow", "--json").objects
    wheat = find(small.index, "sow", "--tag", "crop=wheat", "--json").objects

    assert len(everywhere) == 2
    assert [match["doc_id"] for match in wheat] == ["wheat.md"]
    assert find(small.index, "sow", "--tag", "crop=wheat", "--count").lines == ["      1  wheat.md"]


def test_front_matter_is_searched_though_it_is_never_quoted(small: SmallCorpus) -> None:
    match = find(small.index, "document_type: guide", "--json").object

    assert (match["sentence"], match["region"], match["section"]) == (None, None, [])
    assert match["context"]["text"] == "document_type: guide"


def test_at_most_so_many_are_shown_and_all_are_counted(index: Path) -> None:
    ran = find(index, "lime", "--max", "4", "--json")

    assert len(ran.objects) == 4
    assert ran.talk == "4 of 8 matches in 3 documents\n"


def test_nothing_found_is_no_error(index: Path) -> None:
    ran = find(index, "terraforming")

    assert (ran.data, ran.talk) == (b"", "0 matches\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((" ",), "the pattern is empty"),
        (("--regex", "("), "the regular expression cannot be read"),
        (("lime", "--near", "2"), "a single word"),
        (("lime", "--doc", "no.md"), "the index holds no document 'no.md'"),
        (("lime", "--year", "soon"), "'soon' is no year"),
    ],
)
def test_what_cannot_be_looked_for_is_said(index: Path, arguments: tuple[str, ...], message: str) -> None:
    ran = run("find", *arguments, "--index", index)

    assert failed(ran, message)


def test_no_model_is_loaded(index: Path) -> None:
    code = (
        "import sys; from quoth.cli import main; sys.argv = sys.argv[:1] + ['find', 'lime', '--index', sys.argv[1]]\n"
        "try: main()\nexcept SystemExit: pass\n"
        "heavy = [name for name in ('onnxruntime', 'tokenizers', 'faiss', 'rich') if name in sys.modules]\n"
        "print(*heavy, file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, str(index)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment({}))

    assert done.stderr.splitlines() == ["8 matches in 3 documents", ""]


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    write_files(tmp_path / "docs", {"many.txt": "lime and water. " * 30_000})
    assert run("ingest", tmp_path / "docs", "--index", tmp_path / "index").code == 0
    with start("find", "lime", "--index", tmp_path / "index") as program:
        assert program.stdout
        assert program.stderr
        assert program.stdout.readline() == b"many.txt (30,000)\n"
        program.stdout.close()

        assert (program.wait(timeout=PATIENCE), program.stderr.read()) == (0, b"")


def test_python_gets_the_same_as_values(quoth: Quoth, index: Path) -> None:
    result = quoth.find("lime", most=4)

    assert (result.count, result.missing) == (8, ())
    assert [(one.doc_id, one.count, len(one.matches)) for one in result.documents] == [
        ("one.md", 3, 3),
        ("paper.pdf", 1, 1),
        ("two.txt", 4, 0),
    ]
    given = [(one.doc_id, match.quote.span.start) for one in result.documents for match in one.matches]
    assert given == [(one["doc_id"], one["start"]) for one in find(index, "lime", "--json", "--max", "4").objects]
    assert quoth.find("lime", filters=Filters(document_types="guide")).count == 3
    with pytest.raises(CorpusError):
        quoth.find("lime", filters=Filters(doc_ids="no.md"))
    with pytest.raises(QuestionError, match="took longer"):
        quoth.find("lime", seconds=-1)


@pytest.fixture(scope="module")
def client(index: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with opened(plan(index, tmp_path_factory.mktemp("state"))) as one:
        yield one


def test_http_gives_the_matches_of_the_command_line(client: TestClient, index: Path) -> None:
    found = client.post("/find", json={"pattern": "lime", "max_matches": 5}).json()

    Draft202012Validator(object_schema(FoundJson)).validate(found)
    assert (found["count"], len(found["matches"]), found["missing_shards"]) == (8, 5, [])
    assert found["matches"] == find(index, "lime", "--json", "--max", "5").objects
    assert found["documents"] == find(index, "lime", "--count", "--json").objects
    narrowed = {"pattern": "lime raises", "near": 2, "filters": {"document_type": "guide"}, "doc_scope": ["one.md"]}
    assert client.post("/find", json=narrowed).json()["count"] == 1
    assert client.post("/find", json={"pattern": "LIME", "case": True}).json()["count"] == 1


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"pattern": ""}, 422),
        ({"pattern": " "}, 422),
        ({"pattern": "(", "regex": True}, 422),
        ({"pattern": "lime", "near": 0}, 422),
        ({"pattern": "lime", "max_matches": 1_001}, 422),
        ({"pattern": "lime", "doc_scope": ["no.md"]}, 404),
    ],
)
def test_http_says_what_is_wrong_with_a_pattern(client: TestClient, body: dict[str, Any], status: int) -> None:
    reply = client.post("/find", json=body)

    assert reply.status_code == status
    assert reply.json()["error"]["hint"]


def test_agents_read_the_words_around_each_match(quoth: Quoth) -> None:
    tool = next(tool for tool in tools_for(quoth, DocumentCatalog(quoth)) if tool.name == "find")
    found = tool.call(EVERYTHING, {"pattern": "raises", "doc_ids": ["one.md"], "limit": 1})

    Draft202012Validator(tool.output).validate(found)
    [text] = tool.texts(found)
    assert text.startswith('1 matches in 1 documents; the first 1 follow.\n- one.md: 1\n\n[1] "Lime raises the pH."')
