"""Sets tables apart from the text of a page before its columns are looked for: ruled tables, and wide ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quoth.documents.formats.pdf.aligned_tables import wide_tables
from quoth.documents.formats.pdf.columns import Strip
from quoth.documents.formats.pdf.framed_tables import framed_tables
from quoth.documents.formats.pdf.grid_tables import grid_tables
from quoth.documents.formats.pdf.printed_lines import Fragment, HorizontalRule, PrintedPage, extent
from quoth.documents.formats.pdf.table_rows import PdfTable


def page_tables(
    page: PrintedPage, body: Sequence[Fragment], strips: Sequence[Strip]
) -> tuple[list[Fragment], dict[int, PdfTable]]:
    """Return the text of a page with a stand-in for each table, and each table by the `id()` of its stand-in.

    `strips` are the gutters of earlier pages.
    """
    tables: dict[int, PdfTable] = {}
    rest = _without(body, grid_tables(page, body), tables)
    for turn in range(4):
        rules = turned_rules(page, turn)
        if rules:
            along = [item for item in rest if item.direction == turn and id(item) not in tables]
            rest = _without(rest, framed_tables(along, rules, page.number), tables)
    upright = [item for item in rest if item.direction == 0 and id(item) not in tables]
    return _without(rest, wide_tables(upright, strips, page.number), tables), tables


def _without(
    body: Sequence[Fragment], found: Sequence[tuple[list[Fragment], PdfTable]], tables: dict[int, PdfTable]
) -> list[Fragment]:
    """Replace the text of each table that was found by a stand-in, and add the table to `tables`."""
    taken = {id(item) for inside, _ in found for item in inside}
    rest = [item for item in body if id(item) not in taken]
    for inside, table in found:
        (left, right), direction = extent(inside), inside[0].direction
        top, bottom = min(item.top for item in inside), max(item.bottom for item in inside)
        no_box = np.zeros((1, 4), dtype=np.float32)
        middle = (top + bottom) / 2
        stand_in = Fragment("\ufffc", no_box, left, right, top, bottom, middle, size=1.0, direction=direction)
        tables[id(stand_in)] = table
        rest.append(stand_in)
    return rest


def turned_rules(page: PrintedPage, turn: int) -> Sequence[HorizontalRule]:
    """Return the rules along the lines of text that is printed with `turn` quarter turns against the clock."""
    across = page.vertical_rules
    match turn:
        case 0:
            return page.rules
        case 1:
            return sorted(HorizontalRule(x, page.height - bottom, page.height - top) for x, top, bottom in across)
        case 2:
            return sorted(
                HorizontalRule(page.height - y, page.width - right, page.width - left) for y, left, right in page.rules
            )
        case 3:
            return sorted(HorizontalRule(page.width - x, top, bottom) for x, top, bottom in across)
    return ()
