"""What a hostile file may cost: little time, little memory, and nothing that is left behind."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import tracemalloc
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from documents.formats.docx_files import level, numbered, numbering, texts, word
from documents.formats.pdf_files import Sheet, Text
from documents.formats.pdf_files import pdf as pdf_file
from quoth.documents.files import read_bytes
from quoth.documents.formats.html import html_document as html
from quoth.documents.formats.html.page_source import MOST_ATTRIBUTES
from quoth.documents.formats.pdf import pdf_document as pdf
from quoth.documents.formats.recognition import recognise
from quoth.documents.worker import pool as extraction
from quoth.documents.worker import process as worker
from quoth.documents.worker.pool import Extraction
from quoth.documents.worker.process import FAILED, OK, write_message
from quoth.errors import UnreadableFile
from quoth.settings import IngestSettings

MEGABYTE = 2**20
HUGE_PAGE = b"<html><body>" + b"<p>Sow at 2.5 cm in spring.</p>" * 300_000


@contextmanager
def at_most(megabytes: int) -> Iterator[None]:
    """What is done inside takes no more memory than this."""
    tracemalloc.start()
    try:
        yield
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < megabytes * MEGABYTE


def test_a_file_that_says_it_is_too_large_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "holes.md").open("wb") as file:
        file.truncate(10 << 30)

    with at_most(1), pytest.raises(UnreadableFile, match="more than 50 MB"):
        read_bytes(tmp_path / "holes.md", label="holes.md", most_mb=50, workers=Extraction(IngestSettings()))


def test_nothing_is_unpacked_to_tell_what_an_archive_is(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("mimetype", b"\x00" * (50 * MEGABYTE))
        file.writestr("content.xml", "<x/>")

    with at_most(2):
        assert recognise(tmp_path / "bomb.zip") == "zip"


def test_no_endless_list_of_names_is_read_to_tell_what_an_archive_is(tmp_path: Path) -> None:
    end = b"PK\x05\x06" + bytes(8) + (1 << 30).to_bytes(4, "little") + bytes(6)
    with (tmp_path / "names.docx").open("wb") as file:
        file.write(b"PK\x03\x04")
        file.truncate(2 << 30)
        file.seek(0, os.SEEK_END)
        file.write(end)

    with at_most(2):
        assert recognise(tmp_path / "names.docx") == "docx"


def test_an_open_document_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        file.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        file.writestr("content.xml", "<x/>")
    (tmp_path / "letter").write_bytes(made.getvalue())
    (tmp_path / "template").write_bytes(made.getvalue().replace(b".text", b".text-template"))

    assert recognise(tmp_path / "letter") == "odt"
    assert recognise(tmp_path / "template") is None


def test_a_worker_that_is_ended_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Extraction(replace(IngestSettings(workers=1), seconds=0.2)) as reading:
        with pytest.raises(UnreadableFile, match=r"more than 0\.2 seconds"):
            reading.extract(HUGE_PAGE, form="html", label="a.html")
        assert list(tmp_path.iterdir()) == []

    with Extraction(IngestSettings(workers=1)) as reading:
        reading.extract(b"<p>Sow.</p>", form="html", label="a.html")
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_worker_whose_parent_is_gone_ends_by_itself() -> None:
    code = "import sys; from quoth.documents.worker import process; process._GRACE = 0.1; process.main()"
    with subprocess.Popen([sys.executable, "-c", code, "2048", "0.1"], stdin=subprocess.PIPE) as alone:
        assert alone.stdin is not None
        write_message(alone.stdin, b"html")
        write_message(alone.stdin, HUGE_PAGE)

        assert alone.wait(timeout=60) == -signal.SIGALRM


@pytest.mark.parametrize(
    "reply",
    [
        OK + b"junk",
        OK + json.dumps({"text": "Sow."}).encode() + b"\n",
        OK
        + json.dumps(
            {
                "text": "Sow.",
                "regions": [{"span": {"start": 0, "end": 9}, "kind": "paragraph", "section": [], "lead": None}],
                "pages": [],
                "recognised": [],
                "properties": {},
                "notes": [],
            }
        ).encode()
        + b"\n",
        b"-junk",
    ],
)
def test_an_extractor_that_contradicts_itself_costs_only_its_file(
    reply: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extraction._Worker, "_reply", lambda *_: reply)

    with Extraction(IngestSettings(workers=1)) as reading, pytest.raises(UnreadableFile, match="contradicts itself"):
        reading.extract(b"", form="html", label="a.html")


def test_the_reason_of_a_library_is_one_short_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(form: str, data: bytes, extend: object) -> None:
        raise ValueError("Traceback:\n  a line\n" + "more " * 1_000)

    monkeypatch.setattr(worker, "extract", fail)
    _, reply = worker._reply("html", b"", float)
    why, hint = json.loads(reply)

    assert why.startswith("it cannot be read: ValueError: Traceback: a line more")
    assert len(why) < 250
    assert hint


def test_a_sign_that_is_no_character_is_shown_as_unknown() -> None:
    signs = "".join(f'<w:r><w:sym w:font="x" w:char="{code}"/></w:r>' for code in ("D800", "DFFF", "2713"))

    assert texts(word(f"<w:p>{signs}</w:p>")) == ["\ufffd\ufffd\u2713"]


def test_a_label_is_short_however_long_its_pattern_is() -> None:
    found = texts(word(numbered("Item.") * 2_000, numbering=numbering(level(0, "decimal", "%1 x" * 20_000))))

    assert len(found) == 2_000
    assert max(map(len, found)) < 100


def test_a_tag_with_very_many_attributes_is_refused() -> None:
    attributes = " ".join(f"a{number}=x" for number in range(2 * MOST_ATTRIBUTES + 10))

    with pytest.raises(UnreadableFile, match="more than 2,000 attributes"):
        html.extract(f"<p {attributes}>Sow.</p>".encode())


def test_a_long_value_is_one_attribute() -> None:
    drawn = "M 0 0 L 1/1 = " * 10_000

    assert html.extract(f'<p title="{drawn}">Sow.</p><svg><path d="{drawn}"/></svg>'.encode()).text == "Sow."


def test_cells_that_span_the_whole_table_are_not_repeated_without_end() -> None:
    rows = "<tr>" + "<td rowspan=9999 colspan=100>x" * 200 + "<tr><td>y" * 500
    found = html.extract(f"<table>{rows}</table><p>Sow.</p>".encode())

    assert found.text.endswith("Sow.")
    assert len(found.text) < 3_000_000


def test_a_line_that_says_it_is_endless_costs_no_memory() -> None:
    texts = [Text(50, 100 + 12 * row, f"Line {row} of the text, as long as others.") for row in range(10)]
    wide = Text(50, 300, "Wide", turned="1000000000 0 0 1")

    with at_most(50):
        found = pdf.extract(pdf_file([Sheet([*texts, wide])]))
    assert "Line 9 of the text" in found.text


def test_a_file_that_fails_in_a_worker_others_have_used_gets_one_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[object] = []
    reply = extraction._Worker._reply

    def spoiled(self: extraction._Worker, *messages: bytes) -> bytes | None:
        tried.append(self)
        used = tried.count(self) > 1
        return (
            FAILED + json.dumps(["it needs more memory than is allowed", "Wait."]).encode()
            if used
            else reply(self, *messages)
        )

    monkeypatch.setattr(extraction._Worker, "_reply", spoiled)
    with Extraction(IngestSettings(workers=1)) as reading:
        for _ in range(3):
            assert reading.extract(b"<p>Sow.</p>", form="html", label="a.html").text == "Sow."

    assert len(set(map(id, tried))) == 3


def test_a_file_that_fails_alone_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[object] = []

    def failing(self: extraction._Worker, form: str, data: bytes) -> bytes:
        tried.append(self)
        return FAILED + json.dumps(["it needs more memory than is allowed", "Wait."]).encode()

    monkeypatch.setattr(extraction._Worker, "_reply", failing)
    with (
        Extraction(IngestSettings(workers=1)) as reading,
        pytest.raises(UnreadableFile, match=r"a\.html: it needs more"),
    ):
        reading.extract(b"", form="html", label="a.html")

    assert len(tried) == 1


@pytest.mark.parametrize("tag", ["footer", "header", "aside", 'div class="sidebar"', 'h1 role="banner"'])
def test_furniture_that_is_one_sentence_is_read_once(tag: str) -> None:
    said = "Sow the barley at 3 cm when the soil is warm."
    found = html.extract(f"<p>Wheat is sown deeper.</p><{tag}>{said}</{tag.split(maxsplit=1)[0]}>".encode())

    assert found.text.count(said) == 1


def test_a_worker_whose_parent_is_gone_removes_its_folder(tmp_path: Path) -> None:
    (tmp_path / "left").mkdir()
    command = [sys.executable, "-m", "quoth.documents.worker.process", "2048", "60", str(tmp_path / "left")]

    assert subprocess.run(command, stdin=subprocess.DEVNULL, check=True).returncode == 0
    assert list(tmp_path.iterdir()) == []
