"""A PDF in columns, a Word file, a web page and a scanned page, asked with the real model."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from doors.command_line import MINILM, run

from .samples import EXAMPLES


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("formats") / "index"
    assert run("ingest", EXAMPLES / "formats", "--index", place, variables=MINILM).code == 0
    return place


def ask(index: Path, question: str) -> dict[str, Any]:
    ran = run("ask", question, "--index", index, "--json", variables=MINILM)
    found: dict[str, Any] = ran.object["answer_sentences"][0]
    return found


def words(citation: dict[str, Any]) -> str:
    return " ".join(citation["text"].split())


def test_a_sentence_of_a_pdf_is_quoted_whole_with_its_page_and_section(index: Path) -> None:
    found = ask(index, "How often is each silo inspected in winter?")

    assert words(found) == (
        "From April to October each silo is inspected every two weeks, and from November to March every four weeks."
    )
    assert (found["doc_id"], found["page"]) == ("handbook.pdf", 2)
    assert found["section"][1:] == ["3 Keeping grain", "3.2 Inspection"]
    assert found["ocr_confidence"] is None


def test_a_number_at_the_start_of_a_line_does_not_end_its_sentence(index: Path) -> None:
    found = ask(index, "What do members pay for each tonne and month of storage?")

    assert words(found).startswith("Members pay 9.40 for each tonne received")
    assert words(found).endswith("1.80 for each tonne and month of storage after the first month.")


def test_a_row_of_a_pdf_table_comes_with_its_header(index: Path) -> None:
    found = ask(index, "What is the safe moisture of canola for a year?")

    assert found["text"] == "Canola | 9.0 percent | 8.0 percent"
    assert found["lead"]["text"] == "Crop | Safe moisture for six months | Safe moisture for a year"


def test_what_runs_on_every_page_is_never_quoted(index: Path) -> None:
    listed = run("show", "handbook.pdf", "--sentences", "--json", "--index", index).objects
    text = run("show", "handbook.pdf", "--text", "--index", index).text

    assert "Page 2" in text
    assert not any("Page 2" in one["text"] for one in listed)


def test_a_quote_of_a_pdf_is_found_on_its_page(index: Path) -> None:
    found = ask(index, "How often is each silo inspected in winter?")
    place = f"{found['start']}:{found['end']}"
    shown = run("show", "handbook.pdf", "--span", place, "--json", "--index", index).object
    boxes = [one["box"] for one in shown["rectangles"]]

    assert shown["text"] == found["text"]
    assert {one["page"] for one in shown["rectangles"]} == {found["page"]}
    assert len(boxes) == found["text"].count("\n") + 1
    assert boxes == sorted(boxes, key=lambda box: box[1])
    # In one column of two: no line is wider than half of the page of 17.6 cm.
    assert all(0 < right - left < 250 and 5 < bottom - top < 20 for left, top, right, bottom in boxes)


def test_an_item_of_a_word_file_comes_with_what_introduces_it(index: Path) -> None:
    found = ask(index, "May trailers without brakes enter the yard?")

    assert (found["doc_id"], found["text"]) == ("delivery-rules.docx", "• trailers without working brakes;")
    assert found["lead"]["text"] == "The following vehicles may not enter the yard:"


def test_a_web_page_is_read_without_its_menu(index: Path) -> None:
    assert words(ask(index, "When is the weighbridge open in winter?")).startswith("From 1 December to 28 February")
    text = run("show", "winter-hours.html", "--text", "--index", index).text
    assert "Members" not in text


@pytest.mark.skipif(find_spec("rapidocr") is None, reason="the extra 'ocr' (rapidocr) is not installed")
def test_a_scanned_page_is_read_and_says_how_surely(index: Path) -> None:
    found = ask(index, "Which filter did the board decide to replace?")

    assert "dust filter of silo 3" in words(found)
    assert (found["doc_id"], found["page"]) == ("minutes-scan.pdf", 1)
    assert 0.5 < found["ocr_confidence"] <= 1
    shown = run("ask", "Which filter did the board decide to replace?", "--index", index, variables=MINILM)
    assert "read from a picture" in " ".join(shown.text.split())


def test_every_sentence_slices_its_text_and_the_files_give_the_same_text_again(index: Path) -> None:
    ran = run("verify", "--index", index, "--root", EXAMPLES / "formats", "--json")

    assert (ran.code, ran.object["failures"]) == (0, [])
