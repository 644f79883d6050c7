"""Read the text of a picture with RapidOCR, on this machine alone: its models come with the package.

The library fetches a model that it does not find. That must never happen here, so every model is given by its path.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from quoth.corpus.formats.ocr_order import in_reading_order
from quoth.errors import MissingExtra, ModelError

Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, right and bottom, in points from the top left corner."""

LONGEST_SIDE = 2_000
"""Pixels. A larger picture is scaled down: it takes longer and is read no better."""

LEAST_CONFIDENCE = 0.5
"""A line that the recogniser is less sure of is a stain or a drawing, more often than text."""

_FEW_LETTERS = 3
"""So short a line may stand as high as it is wide."""
_UPRIGHT = 0.85
"""Mean confidence below which a page may stand on its head: upright print is read with 0.95 and more."""

_STEPS = {"Det": "*_det_*.onnx", "Rec": "*_rec_*.onnx"}
"""The models of the two steps (where is text, what does it say) and how their files are named."""


def _version() -> str:
    try:
        return f"rapidocr {version('rapidocr')} / 1"
    except PackageNotFoundError:
        return "rapidocr (not installed) / 1"


VERSION = _version()


@dataclass(frozen=True, slots=True)
class OcrLine:
    """A line of text as it was recognised, in one piece as far as no wide gap parts it. `confidence` is from 0 to 1."""

    text: str
    box: Box
    confidence: float


def recognise(pixels: NDArray[np.uint8], points_per_pixel: float) -> tuple[OcrLine, ...]:
    """The lines of a picture in reading order; none where it shows no text.

    `pixels` are rows of grey values, or of colours with 3 or 4 channels. Without the extra `ocr` this is
    `MissingExtra`.
    """
    if find_spec("rapidocr") is None:
        raise MissingExtra("reading scanned pages", "ocr")
    if pixels.size == 0:
        return ()
    best, turns = _read(pixels), 0
    if _on_its_side(best):
        # Each line was turned by itself and may have been read, but their order is only known once the page is upright.
        best, turns = max(((_read(np.rot90(pixels, turn)), turn) for turn in (1, 3)), key=lambda way: _weight(way[0]))
    elif _doubtful(best):
        upside_down = _read(np.rot90(pixels, 2))
        best, turns = (upside_down, 2) if _weight(upside_down) > _weight(best) else (best, 0)
    height, width = pixels.shape[:2]
    return tuple(
        OcrLine(line.text, _scaled(_turned_back(line.box, turns, width, height), points_per_pixel), line.confidence)
        for line in in_reading_order(best, join=_joined)
    )


def _read(pixels: NDArray[np.uint8]) -> list[OcrLine]:
    """The pieces of lines in a picture as it stands, in no order; their boxes are in pixels."""
    found = _engine()(np.ascontiguousarray(pixels))
    if found.txts is None or found.boxes is None:
        return []
    lines = []
    for text, score, corners in zip(found.txts, found.scores, found.boxes, strict=True):
        if words := " ".join(text.split()):
            lines.append(OcrLine(words, _box(corners), min(1.0, float(score))))
    return lines


def _weight(lines: Sequence[OcrLine]) -> float:
    """How much was read, and how surely."""
    return sum(len(line.text) * line.confidence for line in lines)


def _on_its_side(lines: Sequence[OcrLine]) -> bool:
    """Whether most lines run upwards or downwards."""
    long = [line.box for line in lines if len(line.text) > _FEW_LETTERS]
    upwards = sum(1 for left, top, right, bottom in long if bottom - top > right - left)
    return 2 * upwards > len(long)


def _doubtful(lines: Sequence[OcrLine]) -> bool:
    """Whether so little could be made of the lines that they may stand on their heads."""
    return _weight(lines) < _UPRIGHT * sum(len(line.text) for line in lines)


def _turned_back(box: Box, turns: int, width: int, height: int) -> Box:
    """A box of the turned picture in the picture as it was given."""
    left, top, right, bottom = box
    match turns:
        case 1:
            return width - bottom, left, width - top, right
        case 2:
            return width - right, height - bottom, width - left, height - top
        case 3:
            return top, height - right, bottom, height - left
    return box


def _scaled(box: Box, factor: float) -> Box:
    left, top, right, bottom = box
    return left * factor, top * factor, right * factor, bottom * factor


def _box(corners: NDArray[np.float32]) -> Box:
    """The upright box around the four corners of a line, which may stand askew."""
    left, top = corners.min(axis=0)
    right, bottom = corners.max(axis=0)
    return float(left), float(top), float(right), float(bottom)


def _joined(pieces: Sequence[OcrLine]) -> OcrLine:
    """The pieces of one line; they are only as sure together as the least sure of them."""
    boxes = np.array([piece.box for piece in pieces])
    left, top = boxes[:, :2].min(axis=0)
    right, bottom = boxes[:, 2:].max(axis=0)
    return OcrLine(
        " ".join(piece.text for piece in pieces),
        (float(left), float(top), float(right), float(bottom)),
        min(piece.confidence for piece in pieces),
    )


@cache
def _engine() -> Any:  # noqa: ANN401 - the library has no types
    """The recogniser, made once: reading its models takes a second."""
    import rapidocr

    models = _models(Path(rapidocr.__file__).parent / "models")
    _silence()
    engine = rapidocr.RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.max_side_len": LONGEST_SIDE,
            "Global.text_score": LEAST_CONFIDENCE,
            # It takes a noisy line for one that stands on its head; `recognise` turns the whole page instead.
            "Global.use_cls": False,
            # With one thread the sums are always made in the same order, and pages are read in parallel elsewhere.
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
            **{f"{step}.model_path": str(path) for step, path in models.items()},
            # The alphabet is inside the model. Should it ever be missing, this keeps the library from fetching one.
            "Rec.rec_keys_path": str(models["Rec"]),
        }
    )
    _silence()  # it sets its logger up again
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
    """Its logger writes to the terminal by a handler of its own; nothing that it says is for our users."""
    logger = logging.getLogger("RapidOCR")
    logger.setLevel(logging.CRITICAL + 1)
    logger.propagate = False
    for handler in tuple(logger.handlers):
        logger.removeHandler(handler)
    logger.addHandler(logging.NullHandler())
