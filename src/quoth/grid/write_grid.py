"""A grid as a file: JSON Lines, CSV, an Excel workbook or a page."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable
from pathlib import Path

from quoth.errors import QuothError
from quoth.grid.grid_cells import Grid
from quoth.library import Quoth
from quoth.machine import replaced_file, usual_mode
from quoth.output.render import json_line

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
"""How a text begins that a spreadsheet takes for a formula, or that would be mistaken for one that was disarmed."""


def write_grid(quoth: Quoth, grid: Grid, path: Path) -> None:
    """Write a grid aside and put it into place, in the format of the suffix of `path`."""
    content = format_of(path)(quoth, grid)
    with replaced_file(path) as file:
        os.fchmod(file.fileno(), usual_mode())
        file.write(content)


def format_of(path: Path) -> Callable[[Quoth, Grid], bytes]:
    """Return what makes the content of such a file. Raise `QuothError` when its suffix names no format."""
    try:
        return FORMATS[path.suffix.lower()]
    except KeyError:
        hint = f"Use one of {', '.join(FORMATS)}."
        raise QuothError(f"'{path.name}' does not say in which format to write it", hint=hint) from None


def grid_jsonl(_: Quoth, grid: Grid) -> bytes:
    return "".join(json_line(line) + "\n" for line in grid.lines).encode()


def grid_csv(_: Quoth, grid: Grid) -> bytes:
    """Return the table as CSV with a byte order mark, without which a spreadsheet takes the text for another encoding.

    A cell that a spreadsheet would take for a formula has an apostrophe before it; see `disarmed`.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(map(disarmed, ["document", "title", *(question.text for question in grid.plan.questions)]))
    for document, cells in grid.rows():
        row = [document.id, document.metadata.title or "", *(cell.text if cell else "" for cell in cells)]
        writer.writerow(map(disarmed, row))
    return text.getvalue().encode("utf-8-sig", "backslashreplace")


def disarmed(text: str) -> str:
    """Return the text with an apostrophe before it if a spreadsheet would take it for a formula.

    Remove the first apostrophe of a text that begins with apostrophes and one of `= + - @`, a tab or a carriage return,
    and you have the exact text again.
    """
    return f"'{text}" if _FORMULA.match(text) else text


def _xlsx(_: Quoth, grid: Grid) -> bytes:
    from quoth.grid.grid_workbook import grid_workbook

    return grid_workbook(grid)


def _html(quoth: Quoth, grid: Grid) -> bytes:
    from quoth.grid.grid_page import grid_page

    return grid_page(quoth, grid)


FORMATS: dict[str, Callable[[Quoth, Grid], bytes]] = {
    ".html": _html,
    ".csv": grid_csv,
    ".xlsx": _xlsx,
    ".jsonl": grid_jsonl,
}
