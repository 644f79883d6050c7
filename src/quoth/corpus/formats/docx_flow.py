"""The body of a DOCX, a note or a header as blocks in reading order. Nothing recurses, however deep it is nested."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from quoth.corpus.blocks import Block, row_text
from quoth.corpus.formats.docx_lists import Lists
from quoth.corpus.formats.docx_notes import Notes
from quoth.corpus.formats.docx_numbering import Label, Numbering
from quoth.corpus.formats.docx_order import InOrder, Place
from quoth.corpus.formats.docx_package import Element, child, name, switched, value
from quoth.corpus.formats.docx_runs import Paragraph, Reader
from quoth.corpus.formats.docx_styles import Style, Styles, direct_numbering, indent_of, is_deleted, outline_rank
from quoth.corpus.formats.docx_tables import (
    LONGEST_REPEATED,
    LONGEST_ROW,
    Said,
    cells,
    header_rows,
    is_layout,
    laid_out,
    rows,
)
from quoth.text.plain import plain_blocks
from quoth.types import RegionKind

_LONGEST_HEADING, _MOST_HEADING_WORDS = 200, 15
_SENTENCE_END = re.compile(r"[.;:,!?][\"'”’)\]]*$")
_OWN_WORDS = frozenset({RegionKind.PARAGRAPH, RegionKind.LIST_ITEM, RegionKind.QUOTE})


@dataclass(frozen=True, slots=True)
class Look:
    """What the print of a paragraph tells about it."""

    bold: bool
    title: bool
    table_head: bool


@dataclass(frozen=True, slots=True)
class Piece:
    block: Block
    look: Look


_PLAIN = Look(bold=False, title=False, table_head=False)


class Flow:
    """Reads one part, with its own fields and its own count of numbers."""

    def __init__(self, root: Element, *, styles: Styles, numbering: Numbering, notes: Notes | None) -> None:
        self._styles = styles
        self._numbering, self._box_numbering, self._note_numbering = numbering, numbering.anew(), numbering.anew()
        self._notes = notes
        self._reader = Reader(root, styles)
        self._note_readers = {kind: Reader(part, styles) for kind, part in (notes.roots if notes else {}).items()}
        self._lists = Lists()
        self._joined = Paragraph()
        self.pictures = 0

    def pieces(self, container: Element) -> list[Piece]:
        found: list[Piece] = []
        queue = InOrder(container)
        for element, place in queue:
            if name(element) == "w:p":
                queue.push(self._paragraph(element, found, place))
            else:
                queue.push(self._table(element, found))
        rest = self._after_joined(Paragraph()).text.strip()  # the last end of all was deleted
        if rest:
            found.append(Piece(Block(RegionKind.PARAGRAPH, rest, level=0, opens=False), _PLAIN))
        return found

    def _paragraph(self, element: Element, found: list[Piece], place: Place) -> list[Element]:
        """Add a paragraph and its notes; return the text boxes that are anchored in it."""
        layout = child(element, "w:pPr")
        style = self._styles.paragraph(value(layout, "w:pStyle"))
        said = self._after_joined(self._reader.read(element, style))
        self.pictures += said.pictures
        if is_deleted(child(layout, "w:rPr")):  # it goes on in the next paragraph
            self._joined = said
            return []
        contents = place.contents or said.contents or style.kind is RegionKind.CONTENTS
        counted = self._box_numbering if place.box else self._numbering
        label = None if contents else _label(counted, layout, style)
        blocks = self._blocks(said, style, label, layout=layout, contents=contents)
        look = Look(bold=said.set_bold, title=style.title, table_head=style.table_head)
        found.extend(Piece(block, look) for block in blocks)
        for reference in said.notes:
            found.extend(self._note(reference))
        return said.boxes

    def _after_joined(self, said: Paragraph) -> Paragraph:
        before, self._joined = self._joined, Paragraph()
        said.pieces[:0], said.notes[:0], said.boxes[:0] = before.pieces, before.notes, before.boxes
        return said

    def _blocks(
        self, said: Paragraph, style: Style, label: Label | None, *, layout: Element | None, contents: bool
    ) -> Iterator[Block]:
        text = said.text.strip()
        if not text:
            return
        if style.kind is RegionKind.CODE:
            text = said.text.strip("\n").rstrip()
        if contents:
            yield Block(RegionKind.CONTENTS, text, level=0, opens=False)
            return
        numbered = _numbered(label, text)
        rank = outline_rank(layout)
        rank = style.rank if rank is None else rank
        if rank and _reads_as_heading(text):
            self._lists.end()
            yield Block(RegionKind.HEADING, numbered, level=rank, opens=False)
            return
        indent = indent_of(layout)
        if label is not None and style.kind is RegionKind.PARAGRAPH:
            depth, opens = self._lists.item(label, next((n for n in (indent, label.indent, style.indent) if n), 0))
            yield from _lines(Block(RegionKind.LIST_ITEM, numbered, level=depth, opens=opens))
            return
        self._lists.paragraph((style.indent if indent is None else indent) or 0)
        yield from _lines(Block(style.kind, numbered, level=0, opens=False))

    def _note(self, reference: Element) -> list[Piece]:
        taken = self._notes.take(reference) if self._notes is not None else None
        if taken is None:
            return []
        kind, mark, content = taken
        texts = []
        queue = InOrder(content)
        for element, _ in queue:
            if name(element) == "w:p":
                layout = child(element, "w:pPr")
                style = self._styles.paragraph(value(layout, "w:pStyle"))
                said = self._note_readers[kind].read(element, style)
                text = _numbered(_label(self._note_numbering, layout, style), said.text.strip())
                texts.append(text)
                queue.push(said.boxes)
            else:
                queue.push(cell.element for row, _ in rows(element) for cell in cells(row))
        text = "\n".join(filter(str.strip, texts))
        block = Block(RegionKind.FOOTNOTE, f"{mark} {text}".strip(), level=0, opens=False)
        return [Piece(block, _PLAIN)] if text else []

    def _table(self, table: Element, found: list[Piece]) -> list[Element]:
        """Add the rows of a table; return what comes after it: nested tables, or the text that it only frames."""
        if is_layout(table):
            return [cell.element for row, _ in rows(table) for cell in cells(row)]
        around, self._lists = self._lists, Lists()
        nested: list[Element] = []
        said: list[Said] = []
        above: dict[int, str] = {}
        for row, marked in rows(table):
            said.append(self._row(row, above, nested, marked=marked))
        said = laid_out(said)
        heads = header_rows(said)
        opens = True
        for place, row in enumerate(said):
            kind = RegionKind.TABLE_HEADER if place in heads else RegionKind.TABLE_ROW
            text = row_text(row.texts)
            if len(text) > LONGEST_ROW and kind is RegionKind.TABLE_ROW:
                found.extend(Piece(block, _PLAIN) for cell in row.blocks for block in cell)
            elif text:
                found.append(Piece(Block(kind, text, level=0, opens=opens), _PLAIN))
                opens = False
            found.extend(Piece(block, _PLAIN) for block in row.notes)
        self._lists = around
        self._lists.paragraph(0)
        return nested

    def _row(self, row: Element, above: dict[int, str], nested: list[Element], *, marked: bool) -> Said:
        texts: list[str] = []
        blocks: list[tuple[Block, ...]] = []
        notes: list[Block] = []
        looks: list[Look] = []
        found = list(cells(row))
        for cell in found:
            said = self._cell(cell.element, nested)
            own = [piece.block for piece in said if piece.block.kind is not RegionKind.FOOTNOTE]
            notes += [piece.block for piece in said if piece.block.kind is RegionKind.FOOTNOTE]
            looks += [piece.look for piece in said if piece.block.kind is not RegionKind.FOOTNOTE]
            text = " ".join(" ".join(block.text.split()) for block in own)
            if cell.merged == "more" and not text:
                text = above.get(cell.column, "")
            above[cell.column] = text if cell.merged and len(text) <= LONGEST_REPEATED else ""
            texts.append(text)
            blocks.append(tuple(own))
        return Said(
            columns=tuple(cell.column for cell in found),
            texts=tuple(texts),
            blocks=tuple(blocks),
            notes=tuple(notes),
            marked=marked or (bool(looks) and all(look.table_head for look in looks)),
            bold=all(look.bold for look in looks),
            shaded=all(cell.shaded for cell in found),
        )

    def _cell(self, cell: Element, nested: list[Element]) -> list[Piece]:
        found: list[Piece] = []
        queue = InOrder(cell)
        for element, place in queue:
            if name(element) == "w:p":
                queue.push(self._paragraph(element, found, place))
            else:
                nested.append(element)
        return found


def _label(numbering: Numbering, layout: Element | None, style: Style) -> Label | None:
    list_id, level = direct_numbering(layout)
    if list_id is None and style.numbering is not None:
        list_id, own = style.numbering
        level = own if level is None else level
    if list_id is None or list_id == "0" or switched(child(layout, "w:rPr"), "w:vanish"):
        return None
    if level is None:
        level = numbering.level_of(list_id, style.owners)
    return numbering.label(list_id, level)


def _numbered(label: Label | None, text: str) -> str:
    """The text behind its number; never glued to it where both end in letters or digits."""
    if label is None:
        return text
    glued = label.text[-1:].isalnum() and text[:1].isalnum()
    return f"{label.text} {text}" if glued else label.text + text


def _reads_as_heading(text: str) -> bool:
    """Whether a paragraph in a heading's style names what follows: contracts set whole clauses in one."""
    if len(text) > _LONGEST_HEADING:
        return False
    return len(text.split()) <= _MOST_HEADING_WORDS or _SENTENCE_END.search(text) is None


def _lines(block: Block) -> Iterator[Block]:
    """A paragraph cut where a line end inside it begins something new: after a blank line, at an enumerator."""
    if "\n" not in block.text or block.kind not in _OWN_WORDS:
        yield block
        return
    cuts = [0, *(region.span.start for region in plain_blocks(block.text))][2:]
    for start, end in pairwise([0, *cuts, len(block.text)]):
        piece = replace(block, text=block.text[start:end].rstrip())
        if start and block.kind is RegionKind.LIST_ITEM:
            piece = replace(piece, kind=RegionKind.PARAGRAPH, level=0, opens=False)
        yield piece
