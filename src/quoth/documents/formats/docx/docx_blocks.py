"""Reads the body of a DOCX, or a header, as blocks in reading order. Nothing recurses, however deep it nests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from quoth.documents.formats.docx.docx_tables import DocxBlock, DocxRow, cells, header_rows, is_layout, laid_out, rows
from quoth.documents.formats.docx.list_numbers import Label, Lists, Notes, Numbering
from quoth.documents.formats.docx.package import Element, child, name, value
from quoth.documents.formats.docx.paragraph_text import Paragraph, ParagraphReader, inside
from quoth.documents.formats.docx.styles import ParagraphStyle, Styles, indent_of, is_deleted, outline_rank
from quoth.documents.formats.text.plain_text import plain_blocks
from quoth.documents.text_blocks import row_text
from quoth.language.enumerations import ENUMERATOR
from quoth.types import RegionKind

_LONGEST_HEADING, _MOST_HEADING_WORDS = 200, 15
_SENTENCE_END = re.compile(r"[.;:,!?][\"'”’)\]]*$")
_RUNNING_TEXT = frozenset({RegionKind.PARAGRAPH, RegionKind.LIST_ITEM, RegionKind.QUOTE})
_LEFT_OUT = frozenset({"w:del", "w:moveFrom", "w:sectPr", "w:tcPr", "w:tblPr", "w:trPr", "w:altChunk", ""})
_LONGEST_ITEM = 300
"""Code points of an item without a mark; a longer paragraph is text."""
_WORD = re.compile(r"[^\W\d_]{3}")
LONGEST_ROW = 1_000
"""Code points. A longer row is text laid out in columns, and its cells are read one by one."""
_LONGEST_REPEATED = 200
"""Code points of a cell merged over rows that each row repeats: a row is quoted alone and needs it."""


class _Enclosure(NamedTuple):
    """Whether a paragraph or a table lies in a table of contents, or in a text box."""

    contents: bool
    box: bool


_BODY = _Enclosure(contents=False, box=False)


class _BlockQueue:
    """Yields the paragraphs and tables of a container in reading order; elements pushed meanwhile come next."""

    def __init__(self, container: Element) -> None:
        self._waiting: list[tuple[Element, _Enclosure]] = []
        self.push(container)

    def push(self, elements: Iterable[Element], enclosure: _Enclosure = _BODY) -> None:
        self._waiting.extend((element, enclosure) for element in reversed(list(elements)))

    def __iter__(self) -> Iterator[tuple[Element, _Enclosure]]:
        while self._waiting:
            element, enclosure = self._waiting.pop()
            tag = name(element)
            if tag in {"w:p", "w:tbl"}:
                yield element, enclosure
            elif tag == "w:sdt":
                gallery = value(child(child(element, "w:sdtPr"), "w:docPartObj"), "w:docPartGallery")
                contents = enclosure.contents or gallery == "Table of Contents"
                self.push(inside(element), enclosure._replace(contents=contents))
            elif tag not in _LEFT_OUT:
                self.push(inside(element), enclosure._replace(box=enclosure.box or tag == "w:txbxContent"))


class DocxReader:
    """Reads one part of a package, with its own fields and its own count of list numbers."""

    def __init__(self, root: Element, *, styles: Styles, numbering: Numbering, notes: Notes) -> None:
        self._styles = styles
        self._numbering, self._box_numbering, self._note_numbering = numbering, numbering.reset(), numbering.reset()
        self._notes = notes
        self._reader = ParagraphReader(root, styles)
        self._note_readers = {kind: ParagraphReader(part, styles) for kind, part in notes.roots.items()}
        self._lists = Lists()
        self._introduced: tuple[int, bool] | None = None
        """The indent of a line that introduces the next paragraph, and whether that would be its first item."""
        self._unended = Paragraph()  # a paragraph whose end was deleted, so that the next one continues it
        self.pictures = 0

    def blocks(self, container: Element) -> list[DocxBlock]:
        found: list[DocxBlock] = []
        queue = _BlockQueue(container)
        for element, enclosure in queue:
            if name(element) == "w:p":
                queue.push(self._paragraph(element, found, enclosure))
            else:
                queue.push(self._table(element, found))
        if rest := self._continued(Paragraph()).text.strip():
            found.append(DocxBlock(RegionKind.PARAGRAPH, rest, level=0, opens=False))
        return found

    def _paragraph(self, element: Element, found: list[DocxBlock], enclosure: _Enclosure) -> list[Element]:
        """Add a paragraph and its notes to `found`; return the text boxes that are anchored in it."""
        layout = child(element, "w:pPr")
        style = self._styles.paragraph(value(layout, "w:pStyle"))
        paragraph = self._continued(self._reader.read(element, style))
        self.pictures += paragraph.pictures
        if is_deleted(child(layout, "w:rPr")):
            self._unended = paragraph
            return []
        contents = enclosure.contents or paragraph.contents or style.kind is RegionKind.CONTENTS
        found.extend(self._classified(paragraph, style, layout, enclosure._replace(contents=contents)))
        for reference in paragraph.notes:
            found.extend(self._note(reference))
        return paragraph.boxes

    def _continued(self, paragraph: Paragraph) -> Paragraph:
        before, self._unended = self._unended, Paragraph()
        paragraph.texts[:0], paragraph.notes[:0], paragraph.boxes[:0] = before.texts, before.notes, before.boxes
        return paragraph

    def _classified(
        self, paragraph: Paragraph, style: ParagraphStyle, layout: Element | None, enclosure: _Enclosure
    ) -> Iterator[DocxBlock]:
        numbering = self._box_numbering if enclosure.box else self._numbering
        label = None if enclosure.contents else numbering.label(layout, style)
        text = paragraph.text.strip()
        if not text:
            return
        if style.kind is RegionKind.CODE:
            text = paragraph.text.strip("\n").rstrip()
        block = DocxBlock(
            style.kind, _numbered(label, text), 0, False, paragraph.set_bold, style.title, style.table_head
        )
        if enclosure.contents:
            yield replace(block, kind=RegionKind.CONTENTS)
            return
        rank = outline_rank(layout)
        rank = style.rank if rank is None else rank
        if rank and _reads_as_heading(text):
            self._lists.end()
            self._introduced = None
            yield replace(block, kind=RegionKind.HEADING, level=rank)
            return
        indent = indent_of(layout)
        if label is not None and style.kind is RegionKind.PARAGRAPH:
            self._introduced = None
            depth, opens = self._lists.item(label, indent or label.indent or style.indent or 0)
            yield from _split_lines(replace(block, kind=RegionKind.LIST_ITEM, level=depth, opens=opens))
            return
        indent = (style.indent if indent is None else indent) or 0
        self._lists.paragraph(indent)
        yield from _split_lines(self._item_without_mark(block, indent))

    def _item_without_mark(self, block: DocxBlock, indent: int) -> DocxBlock:
        """Return a paragraph as an item of a list whose items are only indented below the line that introduces them."""
        introduced, self._introduced = self._introduced, None
        if self._lists.inside or block.kind is not RegionKind.PARAGRAPH or ENUMERATOR.match(block.text):
            return block
        words = len(block.text) <= _LONGEST_ITEM and _WORD.search(block.text) is not None
        if introduced is not None and indent > introduced[0] and words:
            self._introduced = introduced[0], False
            return replace(block, kind=RegionKind.LIST_ITEM, level=1, opens=introduced[1])
        if block.text.endswith(":"):
            self._introduced = indent, True
        return block

    def _note(self, reference: Element) -> list[DocxBlock]:
        note = self._notes.take(reference)
        if note is None:
            return []
        kind, mark, content = note
        texts = []
        queue = _BlockQueue(content)
        for element, _ in queue:
            if name(element) == "w:p":
                layout = child(element, "w:pPr")
                style = self._styles.paragraph(value(layout, "w:pStyle"))
                paragraph = self._note_readers[kind].read(element, style)
                texts.append(_numbered(self._note_numbering.label(layout, style), paragraph.text.strip()))
                queue.push(paragraph.boxes)
            else:
                queue.push(_cell_elements(element))
        text = "\n".join(filter(str.strip, texts))
        return [DocxBlock(RegionKind.FOOTNOTE, f"{mark} {text}".strip(), level=0, opens=False)] if text else []

    def _table(self, table: Element, found: list[DocxBlock]) -> list[Element]:
        """Add the rows of a table; return what to read after it: nested tables, or the cells of a layout table."""
        if is_layout(table):
            return _cell_elements(table)
        outer_lists, self._lists = self._lists, Lists()
        nested: list[Element] = []
        above: dict[int, str] = {}
        read = laid_out([self._row(row, above, nested, marked=marked) for row, marked in rows(table)])
        headers = header_rows(read)
        opens = True
        for index, row in enumerate(read):
            kind = RegionKind.TABLE_HEADER if index in headers else RegionKind.TABLE_ROW
            text = row_text(row.texts)
            if len(text) > LONGEST_ROW and kind is RegionKind.TABLE_ROW:
                found.extend(DocxBlock(block.kind, block.text, block.level, block.opens) for block in row.blocks)
            elif text:
                found.append(DocxBlock(kind, text, level=0, opens=opens))
                opens = False
            found.extend(row.notes)
        self._lists = outer_lists
        self._lists.paragraph(0)
        return nested

    def _row(self, row: Element, above: dict[int, str], nested: list[Element], *, marked: bool) -> DocxRow:
        """Read a row. `above` holds the text of merged cells by column; nested tables are added to `nested`."""
        texts: list[str] = []
        blocks: list[DocxBlock] = []
        notes: list[DocxBlock] = []
        row_cells = list(cells(row))
        for cell in row_cells:
            read = self._cell(cell.element, nested)
            in_cell = [block for block in read if block.kind is not RegionKind.FOOTNOTE]
            notes += [block for block in read if block.kind is RegionKind.FOOTNOTE]
            blocks += in_cell
            text = " ".join(" ".join(block.text.split()) for block in in_cell)
            if cell.merged == "more" and not text:
                text = above.get(cell.column, "")
            above[cell.column] = text if cell.merged and len(text) <= _LONGEST_REPEATED else ""
            texts.append(text)
        return DocxRow(
            columns=tuple(cell.column for cell in row_cells),
            texts=tuple(texts),
            blocks=tuple(blocks),
            notes=tuple(notes),
            marked=marked or (bool(blocks) and all(block.table_head for block in blocks)),
            bold=all(block.bold for block in blocks),
            shaded=all(cell.shaded for cell in row_cells),
        )

    def _cell(self, cell: Element, nested: list[Element]) -> list[DocxBlock]:
        found: list[DocxBlock] = []
        queue = _BlockQueue(cell)
        for element, enclosure in queue:
            if name(element) == "w:p":
                queue.push(self._paragraph(element, found, enclosure))
            else:
                nested.append(element)
        return found


def _cell_elements(table: Element) -> list[Element]:
    return [cell.element for row, _ in rows(table) for cell in cells(row)]


def _numbered(label: Label | None, text: str) -> str:
    """Return the text behind its number, with a space where letters or digits would touch."""
    if label is None:
        return text
    touching = label.text[-1:].isalnum() and text[:1].isalnum()
    return f"{label.text} {text}" if touching else label.text + text


def _reads_as_heading(text: str) -> bool:
    """Return whether a paragraph in a heading style is a heading: contracts set whole clauses in such styles."""
    if len(text) > _LONGEST_HEADING:
        return False
    return len(text.split()) <= _MOST_HEADING_WORDS or _SENTENCE_END.search(text) is None


def _split_lines(block: DocxBlock) -> Iterator[DocxBlock]:
    """Split a paragraph at the line ends that begin something new: after a blank line, before an enumerator."""
    if "\n" not in block.text or block.kind not in _RUNNING_TEXT:
        yield block
        return
    cuts = [0, *(region.span.start for region in plain_blocks(block.text))][2:]
    for start, end in pairwise([0, *cuts, len(block.text)]):
        part = replace(block, text=block.text[start:end].rstrip())
        if start and block.kind is RegionKind.LIST_ITEM:
            part = replace(part, kind=RegionKind.PARAGRAPH, level=0, opens=False)
        yield part
