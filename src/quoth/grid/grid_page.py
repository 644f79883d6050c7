"""A grid as a page: a single HTML file that loads nothing else, in which a click shows a quote in its surroundings.

The template `grid.html` escapes all that it is given, and the page's policy forbids every script but its own.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from quoth.errors import OffsetMismatch
from quoth.evaluation.report import inline_hash
from quoth.grid.grid_cells import CellKind, CellQuote, Grid, GridCell
from quoth.library import Quoth
from quoth.types import Document, DocumentInfo, Sentence

_AROUND = 2
"""Sentences shown on each side of a quote."""
_MOST_AROUND = 600
"""Code points on each side, at the most."""


def grid_page(quoth: Quoth, grid: Grid) -> bytes:
    """Return the page; the same grid gives the same bytes."""
    from jinja2 import Environment, StrictUndefined  # only a page needs it

    page, style, table, dialog = (
        files("quoth").joinpath(name).read_text("utf-8")
        for name in ("grid/grid.html", "grid/grid.css", "web/table.js", "grid/grid.js")
    )
    script = f"{table}\n{dialog}"
    template = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    rows = list(grid.rows())
    content = template.from_string(page).render(
        style=Markup(style),  # noqa: S704 - our own file
        style_hash=inline_hash(style),
        script=Markup(script),  # noqa: S704 - our own file
        script_hash=inline_hash(script),
        plan=grid.plan,
        counts=Counter(cell.kind.value for _, cells in rows for cell in cells if cell),
        rows=rows,
        band=_band,
        details=[_details(quoth, document, cells) for document, cells in rows],
    )
    return content.encode("utf-8", "backslashreplace")


def _band(cell: GridCell) -> str:
    """Return the class of a cell: `c9` is the surest, `absent` states nothing."""
    return f"c{min(9, int(cell.confidence * 10))}" if cell.kind is CellKind.STATED else "absent"


def _details(quoth: Quoth, info: DocumentInfo, cells: Sequence[GridCell | None]) -> list[dict[str, Any] | None]:
    """Return what a click on each cell of a row shows."""
    document = quoth.document(info.id)
    sentences = quoth.sentences(info.id)
    if document is None:
        raise OffsetMismatch(info.id, 0, 0)
    return [None if cell is None else _shown(cell, document, sentences) for cell in cells]


def _shown(cell: GridCell, document: Document, sentences: Sequence[Sentence]) -> dict[str, Any]:
    found = [cell.quote, *cell.more] if cell.quote else []
    quotes = [_in_context(quote, document.text, sentences) for quote in found]
    return {"kind": cell.kind.value, "confidence": cell.confidence, "why": cell.why, "quotes": quotes}


def _in_context(quote: CellQuote, text: str, sentences: Sequence[Sentence]) -> dict[str, Any]:
    """Return a quote with whole sentences on both sides, as the document has them."""
    starts = [sentence.quote.span.start for sentence in sentences]
    at = bisect_left(starts, quote.start)
    first = starts[max(0, at - _AROUND)] if at < len(starts) else quote.start
    behind = sentences[at : at + _AROUND + 1]
    last = behind[-1].quote.span.end if behind else quote.end
    first, last = max(first, quote.start - _MOST_AROUND), min(last, quote.end + _MOST_AROUND)
    return {
        "before": text[first : quote.start],
        "text": text[quote.start : quote.end],
        "after": text[quote.end : last],
        "place": quote.place,
        "section": " > ".join(quote.section),
    }
