"""Walk the chosen part of a page and give its blocks: headings, paragraphs, items, rows, quotes, code and notes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from quoth.corpus.blocks import Block
from quoth.corpus.formats.html_content import Content
from quoth.corpus.formats.html_context import TOP, Context, First, Item
from quoth.corpus.formats.html_inline import Line, paragraphs
from quoth.corpus.formats.html_lists import Marks
from quoth.corpus.formats.html_math import written
from quoth.corpus.formats.html_measure import BLOCKS, HEADINGS
from quoth.corpus.formats.html_notes import holds_notes, is_note_link, is_raised_mark
from quoth.corpus.formats.html_tables import is_layout, table_blocks
from quoth.corpus.formats.html_tree import Child, Element
from quoth.types import RegionKind

_CAPTIONS = frozenset({"caption", "figcaption", "legend", "summary"})
_LISTS = frozenset({"ul", "ol", "menu", "dir"})
_PREFORMATTED = frozenset({"pre", "listing", "xmp", "plaintext"})
_PROSE = re.compile(r"[^\W\d_]{2}[.?!](?:\s|$)")
_LONGEST_SCRIPT = 40
"""Letters in a raised or lowered piece; a longer one is running text that someone set so."""
_DISPLAY = re.compile(r"display:(inline|block|flex|grid|list-item|table)(?![\w-])")
_HEADING_NUMBER = re.compile(r"[1-6]")


_Task = tuple[Child | Callable[[], None], Context]


def read(content: Content, *, keeps_space: bool) -> list[Block]:
    """The blocks of a page in reading order; `keeps_space` for a text that its lines alone give shape to."""
    reader = _Reader(content, flat=False)
    for root in content.roots:
        reader.read(root, replace(TOP, keeps_space=keeps_space))
    return reader.blocks


def flat_text(element: Element, content: Content) -> str:
    """All the words of an element on one line."""
    reader = _Reader(content, flat=True)
    reader.read(element, TOP)
    return " ".join(" ".join(block.text.split()) for block in reader.blocks)


class _Reader:
    """`flat` reads a cell or a heading: tables and headings inside it are only words."""

    def __init__(self, content: Content, *, flat: bool) -> None:
        self.blocks: list[Block] = []
        self._content = content
        self._flat = flat
        self._line = Line()
        self._context = TOP
        self._tasks: list[_Task] = []

    def read(self, root: Element, context: Context) -> None:
        self._tasks = [(root, context)]
        while self._tasks:
            task, context = self._tasks.pop()
            if isinstance(task, Element):
                if id(task) not in self._content.left_out:
                    self._enter(task, context)
            elif isinstance(task, str):
                self._context = context
                (self._line.keep if context.keeps_space else self._line.add)(task)
            else:
                task()
        self._flush()

    # Elements

    def _enter(self, element: Element, context: Context) -> None:
        tag = element.tag
        if _is_block(element):
            self._block(element, context)
            return
        self._context = context
        if tag == "br":
            self._line.end_line()
        elif tag in {"sup", "sub"} or ("style" in element.attributes and _shifted(element)):
            self._script(element, context)
        elif tag == "math":
            self._line.add(written(element) if element.get("display") != "block" else f" {written(element)} ")
        elif tag == "q":
            opening, closing = ("“", "”") if context.quotes % 2 == 0 else ("‘", "’")
            self._line.add(opening)
            self._inside(element, replace(context, quotes=context.quotes + 1), then=lambda: self._line.add(closing))
        elif tag == "rt":
            self._line.add("(")
            self._inside(element, context, then=lambda: self._line.add(")"))
        elif tag == "a" and self._is_note_link(element):
            self._note_mark(self._words(element))
        elif tag == "img":
            self._picture(element, context)
        else:
            self._inside(element, context)

    def _inside(self, element: Element, context: Context, *, then: Callable[[], None] | None = None) -> None:
        """Read the children next, and do `then` behind them."""
        if then is not None:
            self._tasks.append((then, context))
        children: list[Child] = element.children
        if (kept := self._content.rescued.get(id(element))) is not None:
            children = list(kept)
        self._tasks += [(child, context) for child in reversed(children)]

    def _block(self, element: Element, context: Context) -> None:
        self._flush()
        tag = element.tag
        inner = context
        if holds_notes(element):
            inner = replace(inner, kind=RegionKind.FOOTNOTE)
        if "style" in element.attributes and "white-space:pre" in element.style:
            inner = replace(inner, keeps_space=True)
        level = _heading_level(element)
        if tag == "hr":
            return
        if not self._flat and level and self._content.measures[id(element)].tables == 0:
            self._emit(RegionKind.HEADING, flat_text(element, self._content), level)
        elif tag == "table" and not self._flat and not is_layout(element, self._content.measures):
            self.blocks += table_blocks(element, lambda cell: flat_text(cell, self._content))
        elif tag in _LISTS or tag == "dl":
            self._list(element, inner)
        elif tag in {"li", "dt", "dd"}:
            self._item(element, inner)
        elif tag in _PREFORMATTED:
            self._preformatted(element, inner)
        else:
            if tag in _CAPTIONS:
                inner = replace(inner, kind=RegionKind.CAPTION)
            elif tag == "blockquote" and inner.kind is RegionKind.PARAGRAPH:
                inner = replace(inner, kind=RegionKind.QUOTE)
            elif tag == "figure":
                inner = replace(inner, described=not self._content.measures[id(element)].captions)
            self._context = inner
            self._inside(element, inner, then=self._flush)

    def _list(self, element: Element, context: Context) -> None:
        first = First()
        marks = Marks(element) if element.tag != "dl" else None
        inner = replace(context, depth=context.depth + 1, marks=marks, first=first, item=None)
        if inner.kind is not RegionKind.FOOTNOTE:
            inner = replace(inner, kind=RegionKind.LIST_ITEM, level=inner.depth)
        self._context = inner
        self._inside(element, inner, then=self._flush)

    def _item(self, element: Element, context: Context) -> None:
        """An item; a term of a description list introduces the items that describe it. With a heading it is a part of
        the page that only happens to be listed."""
        first = context.first or First()
        mark = context.marks.next(element) if context.marks is not None and element.tag == "li" else ""
        if element.tag == "li" and context.marks is None:
            mark = "• "
        inner = replace(context, item=Item(mark, first), first=None, marks=None)
        if element.tag == "dd":
            inner = replace(inner, depth=context.depth + 1)
        if self._content.measures[id(element)].headings and not self._flat:
            inner = replace(TOP, quotes=context.quotes)
        elif inner.kind is not RegionKind.FOOTNOTE:
            inner = replace(inner, kind=RegionKind.LIST_ITEM, level=max(1, inner.depth))
        self._context = inner
        self._inside(element, inner, then=self._flush)

    def _preformatted(self, element: Element, context: Context) -> None:
        """Code as it stands; but many old pages set whole documents so, and those are prose."""
        code = self._content.measures[id(element)].code > 0 or bool(element.get("class"))
        inner = replace(context, keeps_space=True, kind=RegionKind.CODE, item=None)

        def end() -> None:
            text = self._line.take()
            if code or self._flat or not _is_prose(text):
                self._emit(RegionKind.CODE, text, 0)
            else:
                for part in paragraphs(text):
                    self._emit(RegionKind.PARAGRAPH, part, 0)

        self._inside(element, inner, then=end)

    # Words

    def _picture(self, element: Element, context: Context) -> None:
        if context.described and not self._flat and (text := " ".join(element.get("alt").split())):
            self._flush()
            self._line.add(text)
            self._emit(RegionKind.CAPTION, self._line.take(), 0)

    def _script(self, element: Element, context: Context) -> None:
        """A raised or lowered piece: a note's mark is left out, the rest keeps apart from the number before it."""
        measure = self._content.measures[id(element)]
        if measure.letters > _LONGEST_SCRIPT or measure.blocks:
            self._inside(element, context)
            return
        text = self._words(element)
        raised = element.tag == "sup" or "vertical-align:super" in element.style
        if raised and is_raised_mark(element, text):
            self._note_mark(text)
        elif raised and text.startswith("["):
            self._line.add(f" {text}")
        elif raised:
            self._line.raised(text)
        else:
            self._line.lowered(text)

    def _is_note_link(self, element: Element) -> bool:
        measure = self._content.measures[id(element)]
        return measure.letters <= _LONGEST_SCRIPT and is_note_link(element, measure, self._words(element))

    def _note_mark(self, text: str) -> None:
        """A mark at the beginning names the note that follows; elsewhere it only points to one."""
        if self._line.begins and text:
            self._line.add(text if text.startswith(("[", "(")) else f"[{text}]")
            self._line.space()

    def _words(self, element: Element) -> str:
        pieces: list[str] = []
        waiting: list[Child] = [element]
        while waiting:
            child = waiting.pop()
            if isinstance(child, str):
                pieces.append(child)
            elif id(child) not in self._content.left_out:
                waiting += reversed(child.children)
        return " ".join("".join(pieces).split())

    # Blocks

    def _flush(self) -> None:
        """End the block that is being collected."""
        context = self._context
        item = context.item
        for text in paragraphs(self._line.take()):
            mark = "" if item is None else item.take_mark()
            opens = item is not None and item.first.take()
            self._emit(context.kind, mark + text, context.level, opens=opens)

    def _emit(self, kind: RegionKind, text: str, level: int, *, opens: bool = False) -> None:
        if text.strip():
            level = level if kind in {RegionKind.HEADING, RegionKind.LIST_ITEM} else 0
            self.blocks.append(Block(kind, text, level, opens))


def _heading_level(element: Element) -> int:
    """From 1 to 6; 0 for what is no heading."""
    if element.tag in HEADINGS:
        return int(element.tag[1])
    if element.role == "heading":
        level = element.get("aria-level").strip()
        return int(level) if _HEADING_NUMBER.fullmatch(level) else 2
    return 0


def _is_block(element: Element) -> bool:
    """By its own style, else by its tag."""
    display = _DISPLAY.search(element.style) if "style" in element.attributes else None
    return element.tag in BLOCKS if display is None else display[1] != "inline"


def _shifted(element: Element) -> bool:
    style = element.style
    return "vertical-align:super" in style or "vertical-align:sub" in style


def _is_prose(text: str) -> bool:
    """Whether preformatted text is made of sentences, and mostly of letters."""
    letters = sum(1 for character in text if character.isalpha() or character in " \n,.'")
    return len(_PROSE.findall(text)) >= 3 and letters >= 0.9 * len(text)
