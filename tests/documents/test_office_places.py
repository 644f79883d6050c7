"""Where a quote stands: the cells of a workbook or CSV file, the number of a slide."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from doors.command_line import HASH, run
from quoth.domain.profile import load_profile
from quoth.output.source_slices import span_json
from quoth.settings import StoreSettings
from quoth.wiring import open_store

from .formats.pptx_files import body, deck, title
from .formats.xlsx_files import row, workbook


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    corpus = tmp_path_factory.mktemp("places")
    sowing = row(3, "Crop", "Depth", "Unit", first=1) + row(4, "Barley", 3, "cm", first=1)
    (corpus / "seed.xlsx").write_bytes(workbook(("Seed rates", sowing)))
    (corpus / "rain.csv").write_bytes(b"town,rain\nEly,500\nDiss,600\n")
    (corpus / "talk.pptx").write_bytes(deck(title("Welcome"), title("Canola") + body("Seed it shallow.", "Roll it.")))
    (corpus / "prices.jsonl").write_bytes(b'{"name": "Rye", "body": "Rye costs 90."}\n')
    options = ["--set", "ingest.json_text=body", "--set", "ingest.json_title=name"]
    assert run("ingest", corpus, "--index", corpus / ".index", *options, variables=HASH).code == 0
    assert run("verify", "--index", corpus / ".index", "--root", corpus, *options).code == 0
    assert run("verify", "--index", corpus / ".index", "--root", corpus).code == 1
    return corpus / ".index"


def cited(index: Path, question: str) -> dict[str, Any]:
    found = run("ask", question, "--index", index, "--json", variables=HASH).object
    first: dict[str, Any] = (found["answer_sentences"] or found["nearest"])[0]
    return first


def test_a_row_of_a_workbook_is_cited_with_its_cells(index: Path) -> None:
    found = cited(index, "What is the depth of barley?")

    assert (found["text"], found["lead"]["text"]) == ("Barley | 3 | cm", "Crop | Depth | Unit")
    assert (found["section"], found["cells"]) == (["Seed rates"], "'Seed rates'!B4:D4")


def test_a_row_of_a_csv_file_is_cited_with_its_cells(index: Path) -> None:
    found = cited(index, "How much rain falls in Diss?")

    assert (found["text"], found["section"], found["cells"]) == ("Diss | 600", [], "A3:B3")


def test_a_point_is_cited_with_its_slide_and_led_by_its_title(index: Path) -> None:
    found = cited(index, "Should canola be seeded shallow?")

    assert (found["text"], found["lead"]["text"], found["page"]) == ("Seed it shallow.", "Canola", 2)
    assert "cells" not in found


def test_a_slide_has_no_boxes_to_draw(index: Path) -> None:
    with closing(open_store(index, StoreSettings())) as store, store.read() as reader:
        found = span_json(reader, "talk.pptx", 17, 33, around=0, profile=load_profile("general"), cited=None)

    assert (found["quote"], found["page"], found["pages"]) == ("Seed it shallow.", 2, [])


def test_a_mapped_field_is_the_text_of_a_record(index: Path) -> None:
    assert run("show", "prices.jsonl", "--text", "--index", index).text == "Rye\n\nRye costs 90."
