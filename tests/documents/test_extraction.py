"""A file that hangs or crashes its extractor, or eats its memory, is named; the next one is read all the same."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from documents.formats.pdf_files import Sheet, Text, pdf
from quoth.documents.formats.pdf.pdf_document import extract
from quoth.documents.worker.pool import Extraction
from quoth.errors import UnreadableFile
from quoth.settings import IngestSettings

SETTINGS = IngestSettings(workers=1)
LINGERING = """#!/bin/sh
mkfifo alive
setsid sh -c 'read -r _ <alive; sleep 0.5; mkdir -p "$TMPDIR"' &
exec 8>alive
touch "$0.started"
sleep 100
"""
"""A converter that leaves a process behind, which makes its folder anew after its end."""
PAGE = b"<html><body><h1>Sowing</h1><p>Sow at 2.5 cm.</p></body></html>"
LARGE_PAGE = b"<html><body>" + b"<p>Sow at 2.5 cm in spring.</p>" * 20_000
"""A worker is busy with it for about half a second."""
HUGE_PAGE = LARGE_PAGE * 16


def children() -> set[int]:
    listed = (int(name) for name in os.listdir("/proc") if name.isdigit())  # noqa: PTH208 - names are all we need
    return {pid for pid in listed if parent(pid) == os.getpid()}


def parent(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:  # noqa: PTH123
            return int(file.read().rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return 0


def cpu_ticks(pid: int) -> int:
    """The hundredths of a second that a process has computed for."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_text_is_extracted_with_its_structure() -> None:
    with Extraction(SETTINGS) as extraction:
        found = extraction.extract(PAGE, form="html", label="a.html")

    assert found.text == "Sowing\n\nSow at 2.5 cm."
    assert [region.section for region in found.regions or ()] == [("Sowing",), ("Sowing",)]


def test_no_process_is_started_for_plain_text() -> None:
    before = children()
    with Extraction(SETTINGS) as extraction:
        found, encoding = extraction.read("Säen.".encode("cp1252"), form="text", label="a.txt")
        started = children() - before

    assert (found.text, encoding, started) == ("Säen.", "cp1252", set())


def test_one_worker_serves_many_files_and_none_is_left_behind() -> None:
    before = children()
    with Extraction(SETTINGS) as extraction:
        for _ in range(3):
            extraction.extract(PAGE, form="html", label="a.html")
            assert len(children() - before) == 1

    assert children() == before


def test_a_file_that_cannot_be_read_says_why() -> None:
    with Extraction(SETTINGS) as extraction, pytest.raises(UnreadableFile, match=r"a\.pdf: ") as caught:
        extraction.extract(b"%PDF-1.7 and nothing more", form="pdf", label="a.pdf")

    assert caught.value.path == "a.pdf"
    assert caught.value.hint


def test_a_file_that_takes_too_long_is_named_and_the_next_one_is_read() -> None:
    with Extraction(replace(SETTINGS, seconds=0.2)) as extraction:
        with pytest.raises(UnreadableFile, match=r"a\.html: reading it took more than 0\.2 seconds") as caught:
            extraction.extract(HUGE_PAGE, form="html", label="a.html")
        assert "ingest.seconds" in caught.value.hint
    with Extraction(SETTINGS) as extraction:
        assert extraction.extract(PAGE, form="html", label="b.html").text


def crash_soon(before: set[int]) -> threading.Thread:
    """Give the signal of a broken memory access to the worker that is there, or comes, once it is at work."""

    def crash() -> None:
        while not (workers := children() - before):
            time.sleep(0.01)
        (worker,) = workers
        worked = cpu_ticks(worker)
        while cpu_ticks(worker) < worked + 10:  # a tenth of a second
            time.sleep(0.01)
        os.kill(worker, signal.SIGSEGV)

    thread = threading.Thread(target=crash)
    thread.start()
    return thread


def test_a_file_that_crashes_its_extractor_is_named_and_the_next_one_is_read() -> None:
    with Extraction(SETTINGS) as extraction:
        crash = crash_soon(children())
        with pytest.raises(UnreadableFile, match=r"b\.html: it crashed its extractor \(SIGSEGV\)"):
            extraction.extract(HUGE_PAGE, form="html", label="b.html")
        crash.join()
        assert extraction.extract(PAGE, form="html", label="c.html").text


def test_a_crash_of_a_worker_that_others_have_used_is_not_held_against_the_file() -> None:
    before = children()
    with Extraction(SETTINGS) as extraction:
        extraction.extract(PAGE, form="html", label="a.html")
        crash = crash_soon(before)
        assert extraction.extract(LARGE_PAGE, form="html", label="b.html").text
        crash.join()


def test_what_lies_in_the_current_folder_is_never_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "selectolax.py").write_text("raise SystemExit('taken over')")
    (tmp_path / "json.py").write_text("raise SystemExit('taken over')")
    monkeypatch.chdir(tmp_path)
    with Extraction(SETTINGS) as extraction:
        assert extraction.extract(PAGE, form="html", label="a.html").text


def test_a_file_that_needs_too_much_memory_is_named_and_the_next_one_is_read() -> None:
    with Extraction(replace(SETTINGS, memory_mb=300)) as extraction:
        with pytest.raises(UnreadableFile, match=r"a\.html: (it needs more memory|it crashed|it cannot be read)"):
            extraction.extract(HUGE_PAGE, form="html", label="a.html")
        assert extraction.extract(PAGE, form="html", label="b.html").text


def test_threads_share_the_workers() -> None:
    before = children()
    with Extraction(replace(SETTINGS, workers=2)) as extraction, ThreadPoolExecutor(6) as pool:
        texts = list(pool.map(lambda _: extraction.extract(PAGE, form="html", label="a.html").text, range(12)))
        assert len(children() - before) <= 2

    assert len(set(texts)) == 1


def test_an_extraction_that_has_ended_starts_nothing() -> None:
    with Extraction(SETTINGS) as extraction:
        pass
    with pytest.raises(UnreadableFile, match="interrupted"):
        extraction.extract(PAGE, form="html", label="a.html")


def test_every_page_that_was_read_extends_the_deadline() -> None:
    extensions: list[float] = []
    extract(pdf([Sheet([Text(72, 72, "Sow at 2.5 cm in spring.")])] * 3), extensions.append)

    assert extensions == [1.0, 1.0, 1.0]


def test_a_worker_whose_deadline_was_extended_is_still_heard() -> None:
    pages = pdf([Sheet([Text(72, 72, "Sow at 2.5 cm in spring.")])] * 30)
    with Extraction(SETTINGS) as extraction:
        assert len(extraction.extract(pages, form="pdf", label="a.pdf").pages) == 30
        assert extraction.extract(PAGE, form="html", label="b.html").text


def test_nothing_that_outlives_its_converter_makes_its_folder_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    office = tmp_path / "bin" / "soffice"
    office.parent.mkdir()
    office.write_text(LINGERING, encoding="utf-8")
    office.chmod(0o755)
    (tmp_path / "scratch").mkdir()
    monkeypatch.setenv("PATH", str(office.parent), prepend=os.pathsep)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))

    with (
        Extraction(replace(SETTINGS, seconds=5)) as extraction,
        pytest.raises(UnreadableFile, match="more than 5 seconds"),
    ):
        extraction.extract(b"{\\rtf1 Sow.}", form="rtf", label="a.rtf")
    assert Path(f"{office}.started").exists()
    time.sleep(1)

    assert list((tmp_path / "scratch").iterdir()) == []
