"""Copies of PDFs with quotes highlighted, as annotations that every viewer shows."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from io import BytesIO
from typing import Any, TypeAlias

from pypdfium2 import PdfDocument, PdfiumError

from quoth.citations.cited_quotes import span_of
from quoth.documents.formats.pdf.page_drawings import PageView, view_of
from quoth.documents.printed_boxes import printed
from quoth.errors import MissingExtra, QuothError
from quoth.output.json_types import AnswerJson
from quoth.output.source_slices import pages_holding
from quoth.protocols import Reader
from quoth.types import Box, DocumentInfo, Span

COLOUR = (1.0, 0.9, 0.35)
"""Red, green and blue of a highlight; the page is multiplied with it, so that black letters stay black."""
_AUTHOR = "Quoth"
_PRINTED_TOO = 4  # the flag of an annotation that is printed
_SAME_SIZE = 1.0  # points
_WIDEST_LETTER = 6  # times the height of its box, which is the width of an `i` in a line that runs up the page


class PdfRefused(QuothError):
    """A PDF cannot be given marks; the hint says what to do."""

    code = "pdf-refused"


@dataclass(frozen=True, slots=True)
class Highlight:
    """The lines of a quote on one page, in points from the top left corner of the page as it is shown, and a note.

    `width` and `height` are those of the page when it was indexed.
    """

    page: int
    width: float
    height: float
    boxes: tuple[Box, ...]
    note: str


def highlights_of(
    questions: Sequence[AnswerJson], reader: Reader, info: DocumentInfo
) -> tuple[tuple[Highlight, ...], int]:
    """Return the highlights of a document's quotes, and how many quotes are printed nowhere on its pages.

    A place that several questions quote is one highlight with all of them in its note.
    """
    notes: dict[Span, list[str]] = {}
    begins: dict[Span, int] = {}
    for question in questions:
        for quote in question.answer_sentences:
            if quote.doc_id == info.id:
                asked = notes.setdefault(span_of(quote), [])
                asked += [question.question] if question.question not in asked else []
                begins[span_of(quote)] = max(1, quote.page or 1)
    found = [tuple(_highlights(span, begins[span], "\n".join(notes[span]), reader, info)) for span in sorted(notes)]
    return tuple(mark for marks in found for mark in marks), sum(not marks for marks in found)


def _highlights(span: Span, begins: int, note: str, reader: Reader, info: DocumentInfo) -> Iterator[Highlight]:
    """Yield a highlight for each page that a quote is printed on, from the page where it begins."""
    for page in pages_holding(reader, info.id, span, first=begins):
        if boxes := _joined([box for _, box in printed([page], span)]):
            yield Highlight(page.number, page.width, page.height, boxes, note)


def _joined(boxes: Sequence[Box]) -> tuple[Box, ...]:
    """Join the boxes of letters that stand above each other, as they do in a line that runs up or down the page."""
    lines: list[Box] = []
    letter = False  # whether the last line began with the box of a letter
    for left, top, right, bottom in boxes:
        wide, narrow = right - left, right - left <= _WIDEST_LETTER * (bottom - top)
        before = lines[-1] if lines else (0.0, 0.0, 0.0, 0.0)
        apart = max(top - before[3], before[1] - bottom)
        if letter and narrow and max(abs(left - before[0]), abs(right - before[2])) <= _SAME_SIZE and apart <= wide:
            lines[-1] = (min(left, before[0]), min(top, before[1]), max(right, before[2]), max(bottom, before[3]))
        else:
            lines.append((left, top, right, bottom))
            letter = narrow
    return tuple(lines)


def highlighted_pdf(data: bytes, highlights: Sequence[Highlight], *, info: DocumentInfo) -> bytes:
    """Return a copy of a PDF with these highlights. The same values give the same bytes.

    Raise `MissingExtra` without pikepdf, and `PdfRefused` for a file that is not the one that was indexed, that is
    encrypted or signed, that is damaged, or whose pages have another size than the index says.
    """
    if hashlib.sha256(data).hexdigest() != info.source_sha256:
        raise PdfRefused(f"{info.id} is another file than the one that was indexed", hint="Ingest it, and ask again.")
    if find_spec("pikepdf") is None:
        raise MissingExtra("writing PDFs", "pdf")
    import pikepdf

    try:
        with pikepdf.open(BytesIO(data)) as pdf:
            _check_free(pdf, info.id)
            views = _views(data, {highlight.page for highlight in highlights})
            for highlight in highlights:
                _mark(pdf, highlight, views.get(highlight.page), info.id)
            out = BytesIO()
            pdf.save(out, deterministic_id=True, min_version="1.4")
    except pikepdf.PasswordError as error:
        raise _encrypted(info.id) from error
    except (pikepdf.PdfError, PdfiumError) as error:
        hint = "Open it in a PDF reader, save it again and ingest the copy."
        raise PdfRefused(f"{info.id} is damaged: {error}", hint=hint) from error
    return out.getvalue()


def _encrypted(doc_id: str) -> PdfRefused:
    return PdfRefused(f"{doc_id} is encrypted", hint="Save a copy without protection, if you may, and ingest that.")


def _check_free(pdf: Any, doc_id: str) -> None:  # noqa: ANN401 - pikepdf is optional
    from pikepdf import Dictionary

    if pdf.is_encrypted:
        raise _encrypted(doc_id)
    if any(isinstance(item, Dictionary) and "/ByteRange" in item for item in pdf.objects):
        hint = "Print it to a new PDF, which has no signature, and ingest that."
        raise PdfRefused(f"{doc_id} is signed, and marks would break its signature", hint=hint)


def _views(data: bytes, numbers: Collection[int]) -> dict[int, PageView]:
    """Return the visible boxes and turns of pages, as the boxes of the index were read with them."""
    views: dict[int, PageView] = {}
    with closing(PdfDocument(data)) as document:
        for number in numbers:
            if number <= len(document):
                with closing(document[number - 1]) as page:
                    views[number] = view_of(page.raw)
    return views


def _mark(pdf: Any, highlight: Highlight, view: PageView | None, doc_id: str) -> None:  # noqa: ANN401
    from pikepdf import Array, Dictionary, Name, String

    if view is None or max(abs(view.width - highlight.width), abs(view.height - highlight.height)) > _SAME_SIZE:
        hint = "Ingest the file again with this version of Quoth."
        raise PdfRefused(f"page {highlight.page} of {doc_id} has another size than in the index", hint=hint)
    page = pdf.pages[highlight.page - 1].obj
    quads = [_quad(view, box) for box in highlight.boxes]
    flat = [corner for quad in quads for corner in quad]
    across, up = [x for x, _ in flat], [y for _, y in flat]
    bounds = Array([min(across), min(up), max(across), max(up)])
    identity = f"{highlight.page} {highlight.boxes} {highlight.note}".encode("utf-8", "backslashreplace")
    mark = Dictionary(
        Type=Name.Annot,
        Subtype=Name.Highlight,
        Rect=bounds,
        QuadPoints=Array([number for corner in flat for number in corner]),
        C=Array(COLOUR),
        F=_PRINTED_TOO,
        T=String(_AUTHOR),
        Contents=String(highlight.note.encode("utf-8", "replace").decode("utf-8")),
        NM=String(f"quoth-{hashlib.sha256(identity).hexdigest()[:16]}"),
        P=page,
        AP=Dictionary(N=_appearance(pdf, bounds, quads)),
    )
    if not isinstance(page.get("/Annots"), Array):
        page.Annots = Array()
    page.Annots.append(pdf.make_indirect(mark))


_Quad: TypeAlias = list[tuple[float, float]]
"""The corners of a line in user space: top left, top right, bottom left and bottom right as it is read."""


def _appearance(pdf: Any, bounds: Any, quads: Sequence[_Quad]) -> Any:  # noqa: ANN401
    """Return the drawing of a highlight, for viewers that do not draw it by themselves."""
    from pikepdf import Dictionary, Name

    drawn = [f"/multiply gs {' '.join(map(str, COLOUR))} rg"]
    for first, second, third, fourth in quads:
        path = (f"{x} {y}" for x, y in (first, second, fourth, third))
        drawn.append("{} m {} l {} l {} l h f".format(*path))
    form = pdf.make_stream("\n".join(drawn).encode())
    form.Type, form.Subtype, form.BBox = Name.XObject, Name.Form, bounds
    form.Group = Dictionary(S=Name.Transparency)
    form.Resources = Dictionary(ExtGState=Dictionary(multiply=Dictionary(BM=Name.Multiply)))
    return form


def _quad(view: PageView, box: Box) -> _Quad:
    left, top, right, bottom = box
    corners = ((left, top), (right, top), (left, bottom), (right, bottom))
    return [(round(x, 2), round(y, 2)) for x, y in (view.in_user_space(*corner) for corner in corners)]
