"""`quoth access`, and `--as`: what a holder of some labels sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from quoth import Quoth
from quoth.types import Access

from .command_line import failed, run, write_files

QUESTION = "How many days of annual leave do employees get?"


@pytest.fixture
def index(tmp_path: Path) -> Path:
    write_files(
        tmp_path / "docs",
        {
            "corpus.yaml": "documents:\n  - match: 'hr/**'\n    access: hr\n",
            "hr/leave.md": "# Leave\n\nEmployees get 25 days of annual leave.\n",
            "minutes.md": "---\naccess: [Board, legal]\n---\n\n# Minutes\n\nThe merger with Acme is near.\n",
            "office.md": "# Office\n\nThe office opens at 8 o'clock.\n",
        },
    )
    place = tmp_path / "index"
    assert run("ingest", tmp_path / "docs", "--index", place).code == 0
    return place


def ids(index: Path, *options: str) -> list[str]:
    return [line["doc_id"] for line in run("docs", "--json", "--index", index, *options).objects]


def test_the_owner_sees_every_document_with_its_labels(index: Path) -> None:
    assert ids(index) == ["hr/leave.md", "minutes.md", "office.md"]
    assert "board, legal" in run("docs", "--index", index).text
    assert run("access", "list", "--json", "--index", index).objects == [
        {"doc_id": "hr/leave.md", "access": ["hr"]},
        {"doc_id": "minutes.md", "access": ["board", "legal"]},
        {"doc_id": "office.md", "access": []},
    ]
    assert "minutes.md" in run("access", "list", "--index", index).text


def test_a_holder_of_labels_sees_what_shares_one(index: Path) -> None:
    assert ids(index, "--as", "BOARD") == ["minutes.md", "office.md"]
    assert ids(index, "--as", "hr,legal") == ["hr/leave.md", "minutes.md", "office.md"]
    assert ids(index, "--as", "") == ["office.md"]
    assert "board" not in run("docs", "--index", index, "--as", "board").text
    assert run("docs", "--problems", "--json", "--index", index, "--as", "").code == 0


def test_questions_are_asked_as_a_holder_of_labels(index: Path) -> None:
    asked = [run("ask", QUESTION, "--json", "--index", index, "--as", held).object for held in ("hr", "board")]

    assert [outcome["abstained"] for outcome in asked] == [False, True]
    assert "leave.md" not in str(asked[1])
    found = [run("retrieve", QUESTION, "--json", "--index", index, "--as", held).text for held in ("hr", "board")]
    assert ["leave.md" in text for text in found] == [True, False]
    counted = [run("find", "merger", "--index", index, "--as", held).talk for held in ("legal", "hr")]
    assert [talk.split()[0] for talk in counted] == ["1", "0"]


def test_labels_that_are_set_hold_from_the_next_question_on(index: Path) -> None:
    ran = run("access", "set", "office.md", "minutes.md", "--label", "Staff", "--label", "hr", "--index", index)
    assert (ran.code, ran.talk) == (0, "office.md, minutes.md: seen by who holds hr or staff\n")
    assert ids(index, "--as", "staff") == ["minutes.md", "office.md"]

    assert run("access", "set", "minutes.md", "--clear", "--index", index).code == 0
    assert ids(index, "--as", "") == ["minutes.md"]


def test_a_change_of_labels_says_to_what(index: Path) -> None:
    assert run("access", "set", "minutes.md", "--index", index).code == 2
    assert run("access", "set", "minutes.md", "--label", "a", "--clear", "--index", index).code == 2
    unknown = run("access", "set", "no.md", "--label", "hr", "--index", index)
    assert failed(unknown)
    assert "no.md" in unknown.talk


def test_documents_without_labels_are_closed_where_the_settings_say_so(index: Path) -> None:
    closed = {"QUOTH_ACCESS_DEFAULT": "closed", "QUOTH_EMBEDDING_MODEL_NAME": "hash", "QUOTH_RERANK_KIND": "late"}

    ran = run("docs", "--json", "--index", index, "--as", "hr", variables=closed)
    assert [line["doc_id"] for line in ran.objects] == ["hr/leave.md"]
    assert len(run("docs", "--json", "--index", index, variables=closed).objects) == 3


def test_an_ingest_says_how_many_documents_have_other_labels(index: Path) -> None:
    (index.parent / "docs/corpus.yaml").write_text("documents: []\n", encoding="utf-8")

    ran = run("ingest", index.parent / "docs", "--index", index)

    assert "documents with other labels than before, of unchanged text: 1" in ran.talk
    assert ids(index, "--as", "") == ["hr/leave.md", "office.md"]


def test_the_library_limits_everything_but_writes(index: Path) -> None:
    quoth = Quoth.open(index, settings={"access.default": "closed"})
    limited = quoth.seen_by(quoth.holder_of(["HR"]))

    assert quoth.holder_of(["HR"]) == Access(frozenset({"hr"}), unlabelled=False)
    assert [info.id for info in limited.documents()] == ["hr/leave.md"]
    assert limited.published() is None
    assert limited.size() == limited.documents()[0].characters < quoth.size()
    assert limited.document("minutes.md") is None
    assert limited.shown("minutes.md", "a\nb") == "a b"
    assert limited.info.generation == 1
    assert limited.remove("minutes.md").documents == 2
    limited.relabel({"office.md": ["hr"]})
    assert [info.id for info in limited.documents()] == ["hr/leave.md", "office.md"]


def test_views_of_an_index_share_the_engine(index: Path) -> None:
    quoth = Quoth.open(index, settings={"embedding.model_name": "hash"})
    engine = quoth.engine()

    assert quoth.seen_by(quoth.holder_of([])).engine() is engine
    assert quoth.seen_by(quoth.holder_of(["hr"])).loaded is engine


def test_a_cached_retrieval_tells_no_labels_of_what_the_owner_asked(index: Path) -> None:
    owner = Quoth.open(index, settings={"embedding.model_name": "hash", "cache.result_seconds": 600})
    holder = owner.seen_by(Access(frozenset({"hr", "legal"}), unlabelled=True))
    shown = [
        {block.document.access for block in quoth.retrieve("annual leave").context.blocks}
        for quoth in (owner, holder, owner)
    ]

    assert ("hr",) in shown[0]
    assert shown[1] == {()}
    assert shown[2] == shown[0]
