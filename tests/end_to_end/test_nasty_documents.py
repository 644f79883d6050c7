"""Documents that are hard on offsets: whatever a file holds, every sentence slices it exactly."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from doors.command_line import failed, run, write_files

_PROSE = "Sow canola at 2.5 cm (approx. 1 in.) by Apr. 15. Dr. Ames agrees. See Sec. 4.2, e.g. Fig. 3."
NASTY: dict[str, bytes] = {
    "crlf.md": f"# Head\r\n\r\n{_PROSE}\r\n\r\n- one\r\n- two\r\n".encode(),
    "cr.txt": f"{_PROSE}\r{_PROSE}\r".encode(),
    "mixed.txt": f"{_PROSE}\r\n{_PROSE}\n\r{_PROSE}\x0b\x0c\x85\u2028{_PROSE}".encode(),
    "bom.md": b"\xef\xbb\xbf# Head\n\n" + _PROSE.encode(),
    "bom-front-matter.md": b"\xef\xbb\xbf---\ntitle: T\n---\n\n" + _PROSE.encode(),
    "emoji.md": "🌾 Sow 🧑🏽‍🌾 now. 🇨🇦 Canola\ufe0f is 𝟤𝟧 cm. 👩‍👩‍👧‍👦!\n".encode(),
    "combining.md": "Cafe\u0301 no\u0308rd. Z\u0351\u036b\u0343\u036aalgo grows. किसान खेत में है। 你好。再见！\n".encode(),
    "bidi.md": "\u202eSow\u202c it. \u200f\u05e9\u05dc\u05d5\u05dd. \u200b Zero\u200bwidth\u00ad soft.\n".encode(),
    "tabs.md": b"\tcode\tblock\n\n1.\titem\n\t- nested\tone.\n\n|\ta\t|\tb\t|\n|---|---|\n|\t1.5\t|\t2\t|\n",
    "long-line.txt": (f"{_PROSE} " * 2_000).encode(),
    "one-word.txt": b"x" * 100_000,
    "digits.txt": b"3.14159 " * 5_000,
    "headings.md": b"# One\n\n## Two\n\n### Three\n\nSetext\n======\n",
    "tables.md": b"| a | b |\n|---|---|\n| 1 | |\n| | 2 |\n\n| lone |\n",
    "unclosed.md": b"---\ntitle: never closed\n\n```\ncode without end. Sow.\n\n<div>\n\n| a |\n|---\n",
    "quotes.md": "> “Sow at 2.5 cm.” ‘Now!’ (See p. 4.) [Link](http://a.b/c.d?e=1.2). <!-- hidden. --> End\n".encode(),
    "deep.md": b">" * 500 + b" deep.\n\n" + b"- " * 500 + b"nested.\n",
    "empty.md": b"",
    "blank.txt": b" \r\n\t\n\xc2\xa0\xe3\x80\x80\n",
    "only-bom.txt": b"\xef\xbb\xbf",
    "surrogate-like.txt": b'"\\ud800" \xef\xbf\xbd \xf4\x8f\xbf\xbf end.\n',
}


@pytest.fixture(scope="session")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("nasty")
    write_files(place / "corpus", NASTY)
    ran = run("ingest", place / "corpus", "--index", place / "index")
    assert (ran.code, ran.data) == (0, b""), ran.talk
    return place / "index"


@pytest.mark.parametrize("doc_id", sorted(NASTY))
def test_every_sentence_slices_the_document_exactly(index: Path, doc_id: str) -> None:
    text = NASTY[doc_id].decode("utf-8")
    sentences = run("show", doc_id, "--sentences", "--json", "--index", index).objects

    for one in [*sentences, *(one["lead"] for one in sentences if one["lead"])]:
        assert text[one["start"] : one["end"]] == one["text"]
        assert one["text"].strip()
    assert all(first["end"] <= second["start"] for first, second in pairwise(sentences))


@pytest.mark.parametrize("doc_id", sorted(NASTY))
def test_the_stored_text_is_the_file(index: Path, doc_id: str) -> None:
    assert run("show", doc_id, "--text", "--index", index).data == NASTY[doc_id]


def test_the_whole_index_verifies(index: Path) -> None:
    ran = run("verify", "--index", index)

    assert (ran.code, ran.talk) == (0, "")


def test_questions_over_it_are_answered_or_declined_and_never_wrong(index: Path) -> None:
    questions = "\n".join(["Sow canola at 2.5 cm by Apr. 15", "Café nörd", "किसान खेत में है", "🌾 Sow now", "Dr. Ames?"])
    ran = run("batch", "-", "--index", index, "--set", "decision.abstain=false", stdin=questions.encode())

    assert ran.code == 0
    for result in ran.objects:
        for one in result["answer_sentences"] + result["nearest"]:
            assert NASTY[one["doc_id"]].decode("utf-8")[one["start"] : one["end"]] == one["text"]


def test_a_corpus_of_nothing_but_empty_documents_declines_every_question(tmp_path: Path) -> None:
    write_files(tmp_path / "corpus", {"empty.md": b"", "head.md": b"# Head\n"})

    assert run("ingest", tmp_path / "corpus", "--index", tmp_path / "index").code == 0
    result = run("ask", "Head?", "--index", tmp_path / "index", "--json").object
    assert (result["abstained"], result["reason"]["code"]) == (True, "no_results")
    assert run("verify", "--index", tmp_path / "index").code == 0
    assert run("export", tmp_path / "out", "--index", tmp_path / "index").code == 0
    assert failed(run("show", "none.md", "--index", tmp_path / "index"), "none.md")
