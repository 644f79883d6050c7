from __future__ import annotations

import logging
import socket
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from quoth.errors import MissingExtra, ModelError

pytest.importorskip("rapidocr", reason="the extra 'ocr' (rapidocr) is not installed")

from PIL import Image, ImageDraw, ImageFont

from quoth.documents.formats.pdf import scanned_pages as ocr
from quoth.documents.formats.pdf.printed_lines import PrintedPage
from quoth.documents.formats.pdf.scanned_pages import OcrLine, in_reading_order, recognise

POINTS = 72 / 150
"""Points in a pixel of a page that was scanned with 150 pixels to the inch."""


def picture(texts: list[tuple[int, int, str]], *, size: tuple[int, int] = (600, 500)) -> NDArray[np.uint8]:
    """A white page with each text drawn at its pixel; the nearer to a square, the sooner it is read."""
    image = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(size=26)
    for x, y, text in texts:
        draw.text((x, y), text, fill="black", font=font)
    return np.asarray(image)


def test_a_line_comes_with_its_spaces_its_numbers_and_its_place() -> None:
    drawn = picture([(100, 200, "Canola grows best at pH 6.0-7.0 in 2.5 cm of soil.")], size=(800, 500))

    (line,) = recognise(drawn, POINTS)

    assert line.text == "Canola grows best at pH 6.0-7.0 in 2.5 cm of soil."
    assert 0.9 < line.confidence <= 1
    left, top, right, bottom = (side / POINTS for side in line.box)
    assert left == pytest.approx(100, abs=8)
    assert 195 <= top <= 212
    assert 220 <= bottom <= 240
    assert 650 < right < 800


def test_lines_come_from_top_to_bottom() -> None:
    texts = ["Sow in the first week of September.", "Roll the field after the rain.", "Do not plough it again."]

    lines = recognise(picture([(80, 60 + 50 * row, text) for row, text in enumerate(texts)]), POINTS)

    assert [line.text for line in lines] == texts


def test_a_grey_picture_is_read_like_a_coloured_one() -> None:
    coloured = picture([(80, 60, "Keep the gate shut.")])

    assert [line.text for line in recognise(coloured[:, :, 0].copy(), POINTS)] == ["Keep the gate shut."]


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_a_page_that_lies_on_its_side_or_its_head_is_read(turns: int) -> None:
    texts = ["Sow in the first week of September.", "Roll the field after the rain.", "Do not plough it again."]
    upright = picture([(80, 60 + 50 * row, text) for row, text in enumerate(texts)])

    lines = recognise(np.rot90(upright, turns), POINTS)

    assert [line.text for line in lines] == texts
    left, top, right, bottom = (side / POINTS for side in lines[0].box)
    across = (right - left) > (bottom - top)
    assert across is (turns == 2)
    ink = np.rot90(upright, turns)[int(top) : int(bottom), int(left) : int(right)]
    assert ink.min() == 0


@pytest.mark.parametrize("pixels", [np.full((400, 300, 3), 255, np.uint8), np.zeros((0, 0), np.uint8)])
def test_a_picture_without_text_gives_nothing(pixels: NDArray[np.uint8]) -> None:
    assert recognise(pixels, POINTS) == ()


def test_a_large_picture_is_scaled_down_and_its_boxes_are_not() -> None:
    small = Image.fromarray(picture([(100, 200, "Keep the gate shut.")], size=(1000, 500)))
    wide = ocr.LONGEST_SIDE + 600
    large = np.asarray(small.resize((wide, wide // 2)))

    (line,) = recognise(large, 1.0)

    assert line.text == "Keep the gate shut."
    assert line.box[0] == pytest.approx(100 * wide / 1000, abs=40)


def test_the_same_picture_is_always_read_alike_and_quietly(capfd: pytest.CaptureFixture[str]) -> None:
    pixels = picture([(80, 60, "Sow in the first week."), (80, 110, "Roll after the rain.")])
    before = logging.getLogger().handlers[:]

    first, second = recognise(pixels, POINTS), recognise(pixels, POINTS)

    assert first == second
    assert capfd.readouterr() == ("", "")
    assert logging.getLogger().handlers == before


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    ocr._engine.cache_clear()

    assert [line.text for line in recognise(picture([(80, 60, "Keep the gate shut.")]), POINTS)]


def test_a_missing_model_is_named(tmp_path: Path) -> None:
    (tmp_path / "some_det_small.onnx").touch()

    with pytest.raises(ModelError, match=r"\*_rec_\*\.onnx is missing"):
        ocr._models(tmp_path)


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rapidocr", None)

    with pytest.raises(MissingExtra, match="reading scanned pages needs the optional extra 'ocr'"):
        ocr.read_picture(None, PrintedPage(1, 612.0, 792.0, (), (), ()))


def boxed(text: str, left: float, top: float, width: float) -> OcrLine:
    return OcrLine(text, (left, top, left + width, top + 10), 0.9)


def test_columns_are_read_one_after_the_other_below_their_title() -> None:
    title = boxed("title", 50, 0, 400)
    left = [boxed(f"l{row}", 50, 30 + 12 * row, 190) for row in range(5)]
    right = [boxed(f"r{row}", 260, 30 + 12 * row, 190) for row in range(5)]

    ordered = in_reading_order([*right, *left, title])

    assert [line.text for line in ordered] == ["title", "l0", "l1", "l2", "l3", "l4", "r0", "r1", "r2", "r3", "r4"]


def test_three_columns_are_read_from_left_to_right() -> None:
    lines = [boxed(f"{column}{row}", 200 * column, 12 * row, 170) for row in range(4) for column in range(3)]

    ordered = in_reading_order(lines)

    assert [line.text for line in ordered] == [f"{column}{row}" for column in range(3) for row in range(4)]


def test_a_table_is_read_row_by_row() -> None:
    lines = [boxed(f"{row}{column}", 100 * column, 14 * row, 40) for column in range(3) for row in range(4)]

    ordered = in_reading_order(lines)

    assert [line.text for line in ordered] == [f"{row}{column}" for row in range(4) for column in range(3)]


def test_close_pieces_of_a_row_are_one_line_with_the_lower_confidence() -> None:
    pieces = [boxed("of soil.", 106, 1, 60), OcrLine("2.5 cm", (50, 0, 100, 10), 0.7)]

    (line,) = in_reading_order(pieces)

    assert line == OcrLine("2.5 cm of soil.", (50, 0, 166, 11), 0.7)
