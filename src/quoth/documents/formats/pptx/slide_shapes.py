"""The shapes of a slide as blocks: titles, bullet points, text boxes, tables and diagrams."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from quoth.documents.formats.docx.list_numbers import formatted
from quoth.documents.formats.docx.package import Element, child, children, name, number, relation
from quoth.documents.text_blocks import Block, row_text
from quoth.types import RegionKind

_TITLES = frozenset({"title", "ctrTitle"})
_FURNITURE = frozenset({"dt", "sldNum", "hdr", "sldImg"})
"""The date, the number of the slide, and on a page of notes the picture of the slide: none says anything."""
_MARKS = frozenset({"a:buChar", "a:buBlip", "a:buAutoNum"})
_NUMBERING = re.compile(r"(arabic|alphaLc|alphaUc|romanLc|romanUc)(?:Db|1|2)?(Period|ParenR|ParenBoth|Plain|Minus)?")
_FORMS = {
    **{"arabic": "decimal", "alphaLc": "lowerLetter", "alphaUc": "upperLetter"},
    **{"romanLc": "lowerRoman", "romanUc": "upperRoman"},
}
_AROUND = {"Period": "{}.", "ParenR": "{})", "ParenBoth": "({})", "Minus": "{} -"}
_LEVELS = 9
_LONGEST_REPEATED = 200
_MOST_COLUMNS = 1_000


class Bullets:
    """Says which levels of a text have bullets where the text itself does not: by the layout, else the master."""

    def __init__(self, layout: Element | None, master: Element | None) -> None:
        self._by_place: dict[str, Element] = {}
        self._by_kind: dict[str, Element] = {}
        for shape in _shapes(layout):
            holder = placeholder(shape)
            styles = child(child(shape, "p:txBody"), "a:lstStyle")
            if holder is not None and styles is not None:
                self._by_place.setdefault(holder.get("idx") or "0", styles)
                self._by_kind.setdefault(holder.get("type") or "obj", styles)
        self._body = child(child(master, "p:txStyles"), "p:bodyStyle")

    def mark(self, holder: Element | None, own: Element | None, level: int) -> Element | None:
        """Return the mark of a level; None where it has none. `own` are the list styles of the shape itself."""
        sources = [own]
        if holder is not None:
            by_kind = self._by_kind.get(holder.get("type") or "obj")
            sources += [self._by_place.get(holder.get("idx") or "0", by_kind), self._body]
        for styles in sources:
            decided, mark = mark_of(child(styles, f"a:lvl{level + 1}pPr"))
            if decided:
                return mark
        return None


def mark_of(properties: Element | None) -> tuple[bool, Element | None]:
    """Return whether the properties of a paragraph say anything about its mark, and the mark; None is no mark."""
    for element in () if properties is None else properties:
        if name(element) in _MARKS:
            return True, element
        if name(element) == "a:buNone":
            return True, None
    return False, None


def placeholder(shape: Element) -> Element | None:
    """Return what a shape declares itself to be: a title, a body, a footer."""
    for element in shape:
        if name(element) in {"p:nvSpPr", "p:nvGraphicFramePr", "p:nvPicPr"}:
            return child(child(element, "p:nvPr"), "p:ph")
    return None


def _shapes(root: Element | None) -> Iterator[Element]:
    """Yield the shapes of a slide in the order in which they are read aloud, those in groups included."""
    waiting = [child(child(root, "p:cSld"), "p:spTree")]
    while waiting:
        element = waiting.pop()
        if element is None:
            continue
        if name(element) in {"p:sp", "p:graphicFrame", "p:pic", "p:cxnSp"}:
            yield element
        elif name(element) == "mc:AlternateContent":
            waiting.append(_alternative(element))
        else:
            waiting.extend(reversed(element))


def _alternative(element: Element) -> Element | None:
    """Return the first choice that holds text, else what stands for programs that know none of them."""
    choices = [*children(element, "mc:Choice"), *children(element, "mc:Fallback")]
    return next((choice for choice in choices if text_of(choice).strip()), choices[-1] if choices else None)


def text_of(element: Element) -> str:
    """Return the text of a paragraph, with its line breaks and formulas."""
    texts: list[str] = []
    waiting = [element]
    while waiting:
        found = waiting.pop()
        match name(found):
            case "a:t" | "m:t":
                texts.append(found.text or "")
            case "a:br":
                texts.append("\n")
            case "mc:AlternateContent":
                waiting += [*children(found, "mc:Choice"), *children(found, "mc:Fallback")][:1]
            case _:
                waiting.extend(reversed(found))
    return "".join(texts).replace("\v", "\n").replace("\u2028", "\n")


class SlideReader:
    """Reads one slide. `diagram` returns the data of a diagram by the id of its relation."""

    def __init__(self, bullets: Bullets, diagram: Callable[[str], Element | None]) -> None:
        self._bullets = bullets
        self._diagram = diagram
        self.title = ""
        self.footers: list[str] = []
        self.pictures = 0

    def blocks(self, root: Element) -> list[Block]:
        """Return the blocks of a slide, the title first."""
        blocks: list[Block] = []
        for shape in _shapes(root):
            holder = placeholder(shape)
            kind = None if holder is None else holder.get("type") or "obj"
            if kind in _TITLES and not self.title:
                self.title = " ".join(text for text in _paragraph_texts(shape) for text in text.split())
            elif kind == "ftr":
                self.footers += [text.strip() for text in _paragraph_texts(shape) if text.strip()]
            elif kind not in _FURNITURE:
                blocks += self._shape(shape, holder)
        heading = [Block(RegionKind.HEADING, self.title, level=1, opens=False)] if self.title else []
        return [*heading, *blocks]

    def notes(self, root: Element) -> list[Block]:
        """Return the speaker notes of a slide."""
        return [
            block
            for shape in _shapes(root)
            if (holder := placeholder(shape)) is not None and holder.get("type") == "body"
            for block in self._text(shape, holder)
        ]

    def _shape(self, shape: Element, holder: Element | None) -> Iterator[Block]:
        if name(shape) == "p:pic":
            self.pictures += 1
            return
        if name(shape) != "p:graphicFrame":
            yield from self._text(shape, holder)
            return
        data = child(child(shape, "a:graphic"), "a:graphicData")
        for element in () if data is None else data:
            if name(element) == "a:tbl":
                yield from _table(element)
            elif name(element) == "dgm:relIds" and (key := relation(element, "dm")):
                yield from _points(self._diagram(key))
            else:
                self.pictures += 1

    def _text(self, shape: Element, holder: Element | None) -> Iterator[Block]:
        body = child(shape, "p:txBody")
        styles = child(body, "a:lstStyle")
        # The line below a title is set in the body's style, but is no list.
        within = None if holder is not None and holder.get("type") == "subTitle" else holder
        numbers: list[tuple[str, int]] = []
        opens = True
        for paragraph in children(body, "a:p"):
            text = "\n".join(filter(None, (line.strip() for line in text_of(paragraph).split("\n"))))
            if not text:
                continue
            properties = child(paragraph, "a:pPr")
            level = min(max(number(None if properties is None else properties.get("lvl")) or 0, 0), _LEVELS - 1)
            decided, mark = mark_of(properties)
            mark = mark if decided else self._bullets.mark(within, styles, level)
            del numbers[level + 1 :]
            numbers += [("", 0)] * (level + 1 - len(numbers))
            if mark is None:
                numbers[level] = ("", 0)
                yield Block(RegionKind.PARAGRAPH, text, level=0, opens=False)
                opens = True
                continue
            form, count = numbers[level]
            own = mark.get("type") or ""
            numbers[level] = (own, count + 1 if own == form else 1)
            item = _numbered(mark, numbers[level][1], text)
            yield Block(RegionKind.LIST_ITEM, item, level=level + 1, opens=opens)
            opens = False


def _numbered(mark: Element, count: int, text: str) -> str:
    """Return an item behind its number, if its list is numbered; a bullet is left out."""
    found = _NUMBERING.fullmatch(mark.get("type") or "") if name(mark) == "a:buAutoNum" else None
    if found is None:
        return text
    start = number(mark.get("startAt")) or 1
    label = formatted(start + count - 1, _FORMS[found[1]])
    return f"{_AROUND.get(found[2] or '', '{}').format(label)} {text}"


def _paragraph_texts(shape: Element) -> list[str]:
    return [text_of(paragraph) for paragraph in children(child(shape, "p:txBody"), "a:p")]


def _table(table: Element) -> Iterator[Block]:
    properties = child(table, "a:tblPr")
    has_header = properties is not None and properties.get("firstRow") in {"1", "true"}
    above: dict[int, str] = {}
    rows = [row for row in (_row(row, above) for row in children(table, "a:tr")) if any(row)]
    for at, row in enumerate(rows):
        is_header = at == 0 and has_header and len(rows) > 1
        kind = RegionKind.TABLE_HEADER if is_header else RegionKind.TABLE_ROW
        yield Block(kind, row_text(row), level=0, opens=at == 0)


def _row(row: Element, above: dict[int, str]) -> Sequence[str]:
    """Return the cells of a row. One merged over rows is said in each; `above` holds their text by column."""
    texts = []
    for column, cell in enumerate(children(row, "a:tc")):
        if column >= _MOST_COLUMNS:
            break
        text = " ".join(text_of(paragraph) for paragraph in children(child(cell, "a:txBody"), "a:p")).strip()
        if cell.get("vMerge") in {"1", "true"}:
            text = above.get(column, "")
        elif cell.get("hMerge") in {"1", "true"}:
            text = ""
        above[column] = text if len(text) <= _LONGEST_REPEATED else ""
        texts.append(text)
    return texts


def _points(data: Element | None) -> Iterator[Block]:
    """Yield the texts of a diagram, in the order in which they were written."""
    opens = True
    for points in children(data, "dgm:ptLst"):
        for point in children(points, "dgm:pt"):
            texts = [text_of(paragraph) for paragraph in children(child(point, "dgm:t"), "a:p")]
            text = " ".join(word for text in texts for word in text.split())
            if text:
                yield Block(RegionKind.LIST_ITEM, text, level=1, opens=opens)
                opens = False
