"""Documents whose quotes are exported, and run files that quote them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from documents.formats.pdf_files import Sheet, Text, lines, pdf
from doors.command_line import run, write_files
from quoth.citations.cited_quotes import cited_documents, read_run, shown_of
from quoth.library import Quoth
from quoth.output.json_types import AnswerJson
from quoth.types import Document

PAPER = "Canola yields more in cold soil.\nWheat waits for rain & sun.\n\nThe last line of the first page."
TURNED = "Barley stands on a turned page."
CROPPED = "Oats stand on a cropped page."
RUNS_ON = "Rye runs over the end of a line and\ngoes on below it."
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Winter hours</title></head><body>
<nav><a href="/">Home</a></nav><main><h1>Winter hours</h1>
<p>The weighbridge is open on Mondays. Bring the papers.</p>
<p style="margin-top: 3000px">The scale is open on Fridays. Bring the papers.</p>
<p>Prices - wet, dry &amp; frozen - rise by 5% in May. C'est déjà l'été: ask for "Zoë".</p>
<h2>Prices</h2>
<table><tr><th>Service</th><th>Charge</th></tr><tr><td>Weighing only</td><td>6.00 a load</td></tr>
<tr><td>Cleaning</td><td>4.20 a tonne</td></tr></table>
<ul><li>Hand in the key before noon.</li><li>Hand in the key before dusk.</li></ul>
<p>Everyone who brings grain to the yard signs the book at the gate, waits until the lamp turns green, drives onto the
bridge at walking pace, stops the engine, and leaves the cab; nobody may stand on the bridge while it weighs, and a load
that was weighed twice is charged once.</p></main></body></html>"""
FILES: dict[str, bytes | str] = {
    "field notes/canola & co.md": (
        "---\ntitle: 100% of R&D {notes}_1\nauthors: [Zoë Müller, 'Food and Soil Office', 'Ali, Jane']\nyear: 2018\n"
        "doi: 10.1000/a_b{c}\nlanguage: en\n---\n\n# Canola\n\nSow canola at 2.5 cm. Sow canola again in May.\n\n"
        "1. *Not* a [list](x): <b>bold</b> & `code` | 2^3 ~ $4$ at C:\\x_y.\n\nSow canola at 2.5 cm. Rest.\n"
    ),
    "page.html": PAGE,
    "papers/first.pdf": pdf(
        [
            Sheet(lines(PAPER)),
            Sheet([Text(300, 700, TURNED, turned="0 1 -1 0")], entries="/Rotate 90"),
            Sheet(lines(CROPPED), entries="/CropBox [30 100 500 780]"),
            Sheet(lines(RUNS_ON), entries="/Rotate 270 /CropBox [20 60 560 790]"),
        ]
    ),
}
NOTES, HTML, PDF = FILES
NOTES_OF_RUN: dict[str, Any] = {
    "retriever": "bm25",
    "k_initial": 1,
    "rerank_topk": 1,
    "decision": ["answered"],
    "scores": {"max_retrieval": 1, "support_count": 1, "redundancy_before": 0, "redundancy_after": 0},
    "degraded": [],
    "warnings": [],
    "profile": "general",
    "calibrated": False,
    "index": "i",
    "settings": "s",
}


@dataclass(frozen=True)
class Corpus:
    folder: Path
    index: Path

    @cached_property
    def quoth(self) -> Quoth:
        return Quoth.open(self.index)

    def document(self, doc_id: str) -> Document:
        found = self.quoth.document(doc_id)
        assert found is not None
        return found

    def quote(self, doc_id: str, words: str, *, nth: int = 0) -> dict[str, Any]:
        """A citation of the nth place where a document has these words, as a run file has it."""
        document, start = self.document(doc_id), -1
        for _ in range(nth + 1):
            start = document.text.index(words, start + 1)
        sentences = self.quoth.sentences(doc_id)
        page = next((s.page for s in reversed(sentences) if s.quote.span.start <= start), None)
        return {
            "doc_id": doc_id,
            "start": start,
            "end": start + len(words),
            "text": words,
            "doc_sha256": document.sha256,
            "section": ["Canola"],
            "page": page,
            "lead": None,
            "display": words,
            "tags": {},
            "all_tags": {},
            "score": 0.9,
            "ocr_confidence": None,
            "region": "paragraph",
            "companion_of": None,
            "role": "answer",
            "label": doc_id,
            "highlights": [],
        }

    def questions(self, *results: dict[str, Any]) -> tuple[tuple[AnswerJson, ...], dict[str, Document]]:
        """The questions of a run file, with the documents that they quote."""
        found = read_run(map(json.dumps, results), name="run.jsonl")
        with self.quoth.reading() as reader:
            return found, cited_documents([it for one in found for it in shown_of(one)], reader)


def result(question: str, quotes: Sequence[dict[str, Any]] = (), **other: Any) -> dict[str, Any]:  # noqa: ANN401
    """A line of a run file."""
    answered = {"reason": None, "outcome": "answer"}
    declined = {"reason": {"code": "low_confidence", "detail": "Nothing *is* sure."}, "outcome": "nothing"}
    about = {
        "question_id": "1",
        "question": question,
        "abstained": not quotes,
        "answer_sentences": list(quotes),
        "final_answer": "",
        "confidence": 0.9,
        "nearest": [],
        "run_notes": NOTES_OF_RUN,
        "offset_unit": "codepoint",
        "unsupported_parts": [],
        "conflicts": [],
        "missing": [],
        "see_also": [],
    }
    return about | (answered if quotes else declined) | other


def write_run(path: Path, *results: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in results), encoding="utf-8")
    return path


@pytest.fixture(scope="module", name="corpus")
def exported_corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    place = tmp_path_factory.mktemp("exported")
    corpus = Corpus(write_files(place / "sources", FILES), place / "index")
    ran = run("ingest", corpus.folder, "--index", corpus.index)
    assert (ran.code, ran.data) == (0, b""), ran.talk
    return corpus
