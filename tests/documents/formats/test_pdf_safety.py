"""PDF files that cannot be read, or that ask for too much."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pypdfium2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from quoth.documents.formats.pdf import scanned_pages as pdf_scan
from quoth.documents.formats.pdf.pdf_document import MAX_PAGES, extract
from quoth.documents.formats.pdf.scanned_pages import OcrLine
from quoth.errors import MissingExtra, UnreadableFile
from quoth.types import RegionKind

from .pdf_files import Sheet, Text, assembled, lines, pdf
from .test_pdf import PROSE, texts

GREY = np.full((80, 60, 3), 200, dtype=np.uint8)


LOCKED = f"/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <{'aa' * 32}> /U <{'bb' * 32}> >> /ID [<00> <00>]"


def test_a_file_with_a_password_says_so() -> None:
    with pytest.raises(UnreadableFile, match="protected by a password") as caught:
        extract(pdf([Sheet(lines(PROSE))], trailer=LOCKED))
    assert caught.value.hint


def test_a_file_without_pages_is_not_taken_for_the_one_before_it() -> None:
    with pytest.raises(UnreadableFile, match="protected by a password"):
        extract(pdf([Sheet(lines(PROSE))], trailer=LOCKED))
    with pytest.raises(UnreadableFile, match="not a PDF, or it is damaged"):
        extract(pdf([]))


@pytest.mark.parametrize("data", [b"", b"%PDF-1.7\n", b"hello", b"%PDF-1.4\n" + b"\xff" * 2_000])
def test_what_is_no_pdf_is_refused(data: bytes) -> None:
    with pytest.raises(UnreadableFile, match="not a PDF, or it is damaged"):
        extract(data)


def test_a_file_that_was_cut_off_is_refused() -> None:
    data = pdf([Sheet(lines(PROSE)) for _ in range(3)])
    assert extract(data).text.count(PROSE) == 3

    for end in range(0, len(data), 97):
        with pytest.raises(UnreadableFile, match="not a PDF, or it is damaged"):
            extract(data[:end])


def test_pages_without_anything_are_refused() -> None:
    with pytest.raises(UnreadableFile, match="no text on its 2 page"):
        extract(pdf([Sheet([]), Sheet([])]))


def test_too_many_pages_are_refused_before_any_is_read() -> None:
    kids = b" ".join([b"3 0 R"] * (MAX_PAGES + 1))
    bodies = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count %d /Kids [%b] >>" % (MAX_PAGES + 1, kids),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] >>",
    ]
    with pytest.raises(UnreadableFile, match="20,001 pages"):
        extract(assembled(bodies, "/Root 1 0 R"))


def test_a_loop_in_the_outline_ends() -> None:
    data = pdf([Sheet(lines(PROSE))], bookmarks=[("The barley", 1, 1), ("The plots", 1, 1)])
    looped = data.replace(b"/Title (The plots)", b"/Title (Loop) /Next 99 0 R")
    number = data[: data.index(b"/Title (The barley)")].rsplit(b" 0 obj", 1)[0].rsplit(b"\n", 1)[1]

    assert PROSE in extract(looped.replace(b"99 0 R", number + b" 0 R")).text


WORDS = "alpha Beta 12 (a) 3.4 • The of; and, x: . ____ 7. Table 1. Contents i Figure 2: www.a.b/c -".split()
ANYTHING = st.builds(
    Text,
    x=st.floats(-20, 600),
    y=st.one_of(st.floats(-10, 810), st.integers(1, 60).map(lambda line: 13.0 * line)),
    text=st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join),
    size=st.sampled_from([10, 10, 10, 8, 14, 20, 0.5, 60]),
    font=st.sampled_from(["plain", "plain", "bold", "typewriter"]),
    turned=st.sampled_from(["1 0 0 1", "1 0 0 1", "0 1 -1 0", "-1 0 0 -1", "0.7 0.7 -0.7 0.7", "0 0 0 0"]),
)
LINES = st.lists(
    st.one_of(
        st.tuples(st.floats(0, 500), st.floats(0, 800), st.floats(0, 400)),
        st.tuples(st.just(40.0), st.floats(0, 800), st.just(520.0)),  # as around and inside a table
    ),
    max_size=12,
)
SHEETS = st.builds(
    Sheet,
    texts=st.lists(ANYTHING, max_size=40),
    rules=LINES,
    uprights=LINES,
    entries=st.sampled_from(["", "", "/Rotate 90", "/Rotate 180", "/CropBox [100 100 500 700]", "/CropBox [0 0 0 0]"]),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(SHEETS, min_size=1, max_size=3))
def test_whatever_is_printed_every_visible_character_has_a_region_and_a_box(sheets: list[Sheet]) -> None:
    try:
        found = extract(pdf(sheets))
    except UnreadableFile:
        return
    assert found.regions is not None
    assert "\ufffc" not in found.text  # what stands in for a table while the page is read
    covered = [n for region in found.regions for n in range(region.span.start, region.span.end)]
    visible = {n for n, char in enumerate(found.text) if not char.isspace()}
    assert len(covered) == len(set(covered))
    assert visible <= set(covered)

    placed = [
        place
        for page in found.pages
        for place, box in zip((n for span in page.spans for n in range(span.start, span.end)), page.boxes, strict=True)
        if box.any()
    ]
    assert len(placed) == len(set(placed))
    assert set(placed) == {n for n in visible if found.text[n] != "|"}


def without_ocr(pixels: NDArray[np.uint8], points_per_pixel: float) -> tuple[OcrLine, ...]:
    raise MissingExtra("reading scanned pages", "ocr")


def test_scanned_pages_without_the_recogniser_are_refused_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf_scan, "recognise", without_ocr)

    with pytest.raises(UnreadableFile, match="pictures without text") as caught:
        extract(pdf([Sheet([], picture=GREY)]))
    assert "pip install 'quoth[ocr]'" in caught.value.hint


def test_some_scanned_pages_are_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf_scan, "recognise", without_ocr)
    picture = Sheet([], picture=GREY)
    found = extract(pdf([Sheet(lines(PROSE)), picture, picture, Sheet(lines(PROSE)), picture]))

    assert len(found.notes) == 1
    assert found.notes[0].startswith("pages 2-3, 5 are pictures without text")
    assert len(found.pages) == 5


def test_recognised_lines_are_placed_and_carry_their_confidence(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[tuple[tuple[int, ...], float]] = []

    def recognise(pixels: NDArray[np.uint8], points_per_pixel: float) -> tuple[OcrLine, ...]:
        shown.append((pixels.shape, points_per_pixel))
        return (
            OcrLine("The scanned letter says that the", (50, 100, 250, 112), 0.9),
            OcrLine("harvest was good.", (50, 114, 170, 126), 0.8),
        )

    monkeypatch.setattr(pdf_scan, "find_spec", lambda _: True)
    monkeypatch.setattr(pdf_scan, "recognise", recognise)
    found = extract(pdf([Sheet([], picture=GREY)]))

    assert found.text == "The scanned letter says that the\nharvest was good."
    assert [(found.text[span.start : span.end], sure) for span, sure in found.recognised] == [
        ("The scanned letter says that the", 0.9),
        ("harvest was good.", 0.8),
    ]
    assert tuple(found.pages[0].boxes[0]) == pytest.approx((50, 100, 50 + 200 / 32, 112), abs=0.01)
    ((shape, scale),) = shown
    assert shape[0] == pytest.approx(800 / scale, abs=2)


@pytest.mark.skipif(find_spec("rapidocr") is None, reason="the extra `ocr` is not installed")
def test_a_picture_of_a_page_is_read() -> None:
    source = pypdfium2.PdfDocument(pdf([Sheet([Text(50, 100, "Harvest begins in August.", 24)])]))
    pixels = np.array(source[0].render(scale=2, rev_byteorder=True).to_numpy()[..., :3])
    source.close()
    found = extract(pdf([Sheet([], picture=pixels)]))

    assert found.text == "Harvest begins in August."
    assert all(sure > 0.5 for _, sure in found.recognised)
    assert texts(found, RegionKind.PARAGRAPH) + texts(found, RegionKind.HEADING) == [found.text]
