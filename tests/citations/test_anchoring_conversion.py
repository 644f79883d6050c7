"""Quotes of a Word file are found again in the PDF that LibreOffice makes of it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from doors.command_line import run

SOURCE = Path(__file__).resolve().parents[2] / "examples" / "formats" / "delivery-rules.docx"
QUESTIONS = "When are deliveries booked?\nWhich vehicles may not enter the yard?\nWhat is tipped first?\n"


@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
def test_a_word_file_that_became_a_pdf_still_holds_its_quotes(tmp_path: Path) -> None:
    word, pdf = tmp_path / "word", tmp_path / "pdf"
    word.mkdir()
    shutil.copyfile(SOURCE, word / SOURCE.name)
    home = f"-env:UserInstallation=file://{tmp_path}/office"
    convert = ["soffice", home, "--headless", "--convert-to", "pdf", "--outdir", str(pdf), str(word / SOURCE.name)]
    subprocess.run(convert, check=True, capture_output=True, timeout=300)
    index, answers, receipts = tmp_path / "index", tmp_path / "run.jsonl", tmp_path / "receipts.jsonl"

    assert run("ingest", word, "--index", index).code == 0
    assert run("batch", "-", "-o", answers, "--index", index, stdin=QUESTIONS.encode()).code == 0
    assert run("receipt", answers, "-o", receipts, "--index", index).code == 0
    anchored = run("anchor", receipts, "--root", pdf, "--json")

    assert anchored.code == 0, anchored.talk
    assert len(anchored.objects) >= 3
    assert {quote["outcome"] for quote in anchored.objects} == {"moved"}
    assert {place["doc_id"] for quote in anchored.objects for place in quote["places"]} == {"delivery-rules.pdf"}
