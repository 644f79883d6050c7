"""Scanned pages: renders a page that is a picture and recognises its text with RapidOCR, on this machine alone.

RapidOCR downloads a model that it does not find. That must never happen here, so every model is given by its path.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quoth.documents.formats.pdf.page_drawings import picture_share
from quoth.documents.formats.pdf.printed_lines import Fragment, PrintedPage, runs
from quoth.errors import MissingExtra, ModelError
from quoth.types import Box

FEWEST_CHARACTERS = 12
"""A page with less text and a picture over most of it was scanned. The text may be a stamp or a page number."""
LONGEST_SIDE = 2_000
"""Pixels. A larger picture is scaled down: it would take longer and be read no better."""
LEAST_CONFIDENCE = 0.5
"""A line with less confidence is more often a stain or a drawing than text."""

_COVERED = 0.5
_DPI = 200
_MOST_PIXELS = 12_000_000
_FEW_LETTERS = 3  # a line this short may be as high as it is wide
_UPRIGHT = 0.85  # mean confidence below which a page may be upside down: upright print reaches 0.95 and more
_STEPS = {"Det": "*_det_*.onnx", "Rec": "*_rec_*.onnx"}
"""The file names of the models that detect lines and that recognise them."""
_ROWS_OF_A_COLUMN = 3  # fewer rows side by side are a table or a letterhead, which are read across
_COLUMN_WIDTH = 9.0
"""In line heights. Columns of text have lines at least this long; most cells of a table are shorter."""
_LINES_BESIDE = 4  # a gutter has at least this many lines beside it for each line that crosses it
_WORD_GAP = 1.0  # in line heights. Closer boxes of a row are one line: the detector splits lines where it sees a space.


@dataclass(frozen=True, slots=True)
class OcrLine:
    """A recognised line of text, up to the next wide gap. `confidence` is from 0 to 1.

    `box` is left, top, right and bottom, in points from the top left corner.
    """

    text: str
    box: Box
    confidence: float

    @property
    def height(self) -> float:
        return self.box[3] - self.box[1]


def is_picture(page: Any, printed: PrintedPage) -> bool:  # noqa: ANN401 - a page of pypdfium2
    """Return whether a page shows its text only as a picture."""
    letters = sum(len(item.text) for item in printed.fragments)
    return letters < FEWEST_CHARACTERS and picture_share(page.raw) >= _COVERED


def read_picture(page: Any, printed: PrintedPage) -> PrintedPage:  # noqa: ANN401
    """Return the page with the lines of text recognised on it. Raise `MissingExtra` without the extra `ocr`."""
    if find_spec("rapidocr") is None:
        raise MissingExtra("reading scanned pages", "ocr")
    scale = min(_DPI / 72, (_MOST_PIXELS / max(1.0, printed.width * printed.height)) ** 0.5)
    bitmap = page.render(scale=scale, rev_byteorder=True, may_draw_forms=False)
    try:
        pixels = np.array(bitmap.to_numpy()[..., :3], dtype=np.uint8)
    finally:
        bitmap.close()
    lines = recognise(pixels, 1 / scale)
    usual = median(line.height for line in lines) if lines else 0.0
    return replace(printed, fragments=tuple(_fragment(line, usual) for line in lines))


def _fragment(line: OcrLine, usual: float) -> Fragment:
    """Return a recognised line: its letters get equal widths, and about the `usual` height counts as that height."""
    left, top, right, bottom = line.box
    edges = np.linspace(left, right, len(line.text) + 1, dtype=np.float32)
    boxes = np.empty((len(line.text), 4), dtype=np.float32)
    boxes[:, 0], boxes[:, 1], boxes[:, 2], boxes[:, 3] = edges[:-1], top, edges[1:], bottom
    height = usual if abs(line.height - usual) < 0.3 * usual else line.height
    baseline, size = bottom - 0.2 * line.height, round(0.8 * height) or 1.0
    return Fragment(line.text, boxes, left, right, top, bottom, baseline, size, confidence=line.confidence)


def recognise(pixels: NDArray[np.uint8], points_per_pixel: float) -> tuple[OcrLine, ...]:
    """Return the lines of a picture in reading order.

    `pixels` are rows of grey values, or of colours with 3 or 4 channels.
    """
    if pixels.size == 0:
        return ()
    best, turns = _read(pixels), 0
    if _on_its_side(best):
        # Lines on their side may have been read, but their order is only known once the page is upright.
        best, turns = max(((_read(np.rot90(pixels, turn)), turn) for turn in (1, 3)), key=lambda way: _weight(way[0]))
    elif _weight(best) < _UPRIGHT * sum(len(line.text) for line in best):  # the page may be upside down
        upside_down = _read(np.rot90(pixels, 2))
        best, turns = (upside_down, 2) if _weight(upside_down) > _weight(best) else (best, 0)
    height, width = pixels.shape[:2]
    lines = in_reading_order(best)
    return tuple(replace(line, box=_placed(line.box, turns, width, height, points_per_pixel)) for line in lines)


def _read(pixels: NDArray[np.uint8]) -> list[OcrLine]:
    """Return the boxes of text in a picture as it stands, in no order, in pixels."""
    found = _engine()(np.ascontiguousarray(pixels))
    if found.txts is None or found.boxes is None:
        return []
    lines = []
    for text, score, corners in zip(found.txts, found.scores, found.boxes, strict=True):
        if words := " ".join("".join(char if char.isprintable() else " " for char in text).split()):
            lines.append(OcrLine(words, _box_around(corners), min(1.0, float(score))))
    return lines


def _weight(lines: Sequence[OcrLine]) -> float:
    """Return how much was read, weighted by confidence."""
    return sum(len(line.text) * line.confidence for line in lines)


def _on_its_side(lines: Sequence[OcrLine]) -> bool:
    """Return whether most lines run upwards or downwards."""
    long = [line.box for line in lines if len(line.text) > _FEW_LETTERS]
    upwards = sum(1 for left, top, right, bottom in long if bottom - top > right - left)
    return 2 * upwards > len(long)


def _placed(box: Box, turns: int, width: int, height: int, points_per_pixel: float) -> Box:
    """Convert a box of a picture turned by so many quarters to points on the picture as it was given."""
    left, top, right, bottom = box
    for turn in range(turns, 0, -1):
        side = width if turn % 2 else height
        left, top, right, bottom = side - bottom, left, side - top, right
    return left * points_per_pixel, top * points_per_pixel, right * points_per_pixel, bottom * points_per_pixel


def _box_around(corners: NDArray[np.float32]) -> Box:
    """Return the upright box around points: the corners of a line, which may be slanted, or of several lines."""
    left, top = corners.min(axis=0).tolist()
    right, bottom = corners.max(axis=0).tolist()
    return left, top, right, bottom


def in_reading_order(lines: Sequence[OcrLine]) -> tuple[OcrLine, ...]:
    """Return the lines column by column, each from top to bottom; close boxes of a row are joined."""
    ordered: list[OcrLine] = []
    waiting = [list(lines)]
    while waiting:
        group = waiting.pop()
        if (columns := _columns(group)) is not None:
            waiting += [column for column in reversed(columns) if column]
        else:
            by_height = sorted(group, key=lambda line: (line.box[1] + line.box[3], line.box[0]))
            ordered += [line for row in runs(by_height, _beside) for line in _joined(row)]
    return tuple(ordered)


def _beside(row: Sequence[OcrLine], line: OcrLine) -> bool:
    # On a slightly slanted page the nearest line of the row is the one to compare with.
    near = min(row, key=lambda other: abs(other.box[0] - line.box[0]))
    middle = (line.box[1] + line.box[3]) / 2
    width_shared = min(near.box[2], line.box[2]) - max(near.box[0], line.box[0])
    return near.box[1] < middle < near.box[3] and width_shared <= min(near.height, line.height)


def _joined(row: Sequence[OcrLine]) -> list[OcrLine]:
    """Join the boxes of a row that are close together; the confidence of a line is the lowest of theirs."""
    by_place = sorted(row, key=lambda line: line.box[0])
    groups = runs(by_place, lambda group, line: line.box[0] - group[-1].box[2] < _WORD_GAP * line.height)
    return [
        OcrLine(
            " ".join(line.text for line in group),
            _box_around(np.array([line.box for line in group]).reshape(-1, 2)),
            min(line.confidence for line in group),
        )
        for group in groups
    ]


def _columns(lines: Sequence[OcrLine]) -> list[list[OcrLine]] | None:
    """Split the lines at a gutter into groups in reading order; return None where there is no gutter.

    A line across the gutter, such as a title, ends the columns above it and begins new ones below.
    """
    gutter = _gutter(lines)
    if gutter is None:
        return None
    across = sorted((line for line in lines if line.box[0] < gutter < line.box[2]), key=lambda line: line.box[1])
    beside = [line for line in lines if not line.box[0] < gutter < line.box[2]]
    edges = [float("-inf"), *(line.box[1] for line in across), float("inf")]
    groups: list[list[OcrLine]] = []
    for band, (top, bottom) in enumerate(pairwise(edges)):
        inside = [line for line in beside if top <= line.box[1] < bottom]
        left, right = ([line for line in inside if (line.box[0] >= gutter) is side] for side in (False, True))
        groups += [left, right] if _is_column(left) and _is_column(right) else [inside]
        groups.append(across[band : band + 1])
    return groups


def _is_column(lines: Sequence[OcrLine]) -> bool:
    return (
        len(lines) >= _ROWS_OF_A_COLUMN
        and median((line.box[2] - line.box[0]) / max(line.height, 1e-6) for line in lines) >= _COLUMN_WIDTH
    )


def _gutter(lines: Sequence[OcrLine]) -> float | None:
    """Return the left edge of the second column that the fewest lines cross; None where too many cross everywhere."""
    gutter: float | None = None
    fewest = len(lines) // _LINES_BESIDE + 1
    for x in sorted({line.box[0] for line in lines}):
        left = [line for line in lines if line.box[2] <= x]
        right = [line for line in lines if line.box[0] >= x]
        crossing = len(lines) - len(left) - len(right)
        if crossing < fewest and _is_column(left) and _is_column(right):
            gutter, fewest = x, crossing
    return gutter


@cache
def _engine() -> Any:  # noqa: ANN401 - the library has no types
    """Load RapidOCR once: reading its models takes a second."""
    import rapidocr

    models = _models(Path(rapidocr.__file__).parent / "models")
    _silence()
    engine = rapidocr.RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.max_side_len": LONGEST_SIDE,
            "Global.text_score": LEAST_CONFIDENCE,
            # It takes noisy lines for upside-down ones; `recognise` turns the whole page instead.
            "Global.use_cls": False,
            # One thread always adds in the same order, so results repeat. Files are read in parallel elsewhere.
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
            **{f"{step}.model_path": str(path) for step, path in models.items()},
            # The alphabet is inside the model. Should it ever be missing, this keeps RapidOCR from downloading one.
            "Rec.rec_keys_path": str(models["Rec"]),
        }
    )
    _silence()  # RapidOCR sets its logger up again
    return engine


def _models(folder: Path) -> dict[str, Path]:
    found = {}
    for step, pattern in _STEPS.items():
        paths = sorted(folder.glob(pattern))
        if not paths:
            raise ModelError(
                f"the text recogniser's model {pattern} is missing in {folder}",
                hint="Install it again: pip install --force-reinstall 'quoth[ocr]'",
            )
        found[step] = paths[0]
    return found


def _silence() -> None:
    """Silence the logger of RapidOCR, which writes to the terminal through a handler of its own."""
    logger = logging.getLogger("RapidOCR")
    logger.setLevel(logging.CRITICAL + 1)
    logger.propagate = False
    logger.handlers[:] = [logging.NullHandler()]
