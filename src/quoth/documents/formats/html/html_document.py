"""Web pages: the document inside a page as headings, paragraphs, lists, tables, quotes, code and notes.

Menus, banners, controls and hidden elements belong to the page, not to the document, and are left out. So are the marks
that point to notes. Nothing is ever fetched: pictures, frames and scripts are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import version

from quoth.documents.formats.html.element_tree import BLOCKS, HEADINGS, Child, Element, Tree, parse, preorder
from quoth.documents.formats.html.html_tables import is_layout, table_blocks
from quoth.documents.formats.html.inline_text import (
    InlineText,
    formula_text,
    holds_notes,
    is_note_link,
    is_raised_mark,
    paragraphs,
)
from quoth.documents.formats.html.main_content import Content, choose_content
from quoth.documents.formats.html.page_source import decode_page
from quoth.documents.text_blocks import Block, assemble
from quoth.language.numbering import to_roman
from quoth.types import Extract, RegionKind

VERSION = f"selectolax {version('selectolax')} / 3"

_HASHES = re.compile(r"(#{1,6})[ \t]+(\S[^\n]*?)[ \t]*#*(?=\n|$)\n?")
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8})*")
_CAPTIONS = frozenset({"caption", "figcaption", "legend", "summary"})
_LISTS = frozenset({"ul", "ol", "menu", "dir"})
_PREFORMATTED = frozenset({"pre", "listing", "xmp", "plaintext"})
_PROSE = re.compile(r"[^\W\d_]{2}[.?!](?:\s|$)")
_LONGEST_SCRIPT = 40  # letters of a raised or lowered text; a longer one is running text that someone printed like this
_DISPLAY = re.compile(r"display:(inline|block|flex|grid|list-item|table)(?![\w-])")
_HEADING_NUMBER = re.compile(r"[1-6]")
_BULLET = "• "
_STYLE = re.compile(r"list-style(?:-type)?:([a-z-]+)")
_TYPES = {"1": "decimal", "a": "lower-alpha", "A": "upper-alpha", "i": "lower-roman", "I": "upper-roman"}
_GREEK = "αβγδεζηθικλμνξοπρστυφχψω"


@dataclass(frozen=True, slots=True)
class WebPage:
    """The document inside a page. `broken` counts the characters that could not be decoded."""

    blocks: tuple[Block, ...]
    title: str
    language: str
    """A language tag; empty where the page states none."""
    broken: int


def extract(data: bytes) -> Extract:
    """Return the document inside a web page; raise `UnreadableFile` with the reason where that fails."""
    page = read_page(data)
    assembled = assemble(page.blocks)
    properties = {"title": page.title, "language": page.language}
    notes = []
    if page.broken:
        notes.append(broken_note(page.broken))
    if not assembled.text:
        notes.append("no text was found: a script may put this page together")
    stated = {name: value for name, value in properties.items() if value}
    return Extract(assembled.text, assembled.regions, (), (), stated, tuple(notes))


def read_page(data: bytes) -> WebPage:
    """Return the blocks of a web page, a chapter of a book or the body of a message."""
    text, broken = decode_page(data)
    tree = parse(text)
    plain = _is_plain(tree)
    blocks = read_blocks(choose_content(tree), keeps_space=plain)
    if plain:
        blocks = [block for paragraph in blocks for block in _split_headings(paragraph)]
    language = tree.language.strip()
    return WebPage(tuple(blocks), tree.title, language if _LANGUAGE.fullmatch(language) else "", broken)


def broken_note(count: int) -> str:
    return f"{count:,} characters could not be decoded and are shown as \ufffd"


def _is_plain(tree: Tree) -> bool:
    """Return whether the page is plain text under the name of a page: no element begins a block or breaks a line."""
    inner = (element for element in preorder(tree.body) if element.tag != "body")
    return not any(element.tag in BLOCKS or element.tag == "br" for element in inner)


def _split_headings(paragraph: Block) -> list[Block]:
    """Return the headings marked with `#` at the top of a paragraph of plain text, then the rest of it."""
    blocks = []
    text = paragraph.text
    while heading := _HASHES.match(text):
        blocks.append(Block(RegionKind.HEADING, heading[2], len(heading[1]), opens=False))
        text = text[heading.end() :]
    return [*blocks, replace(paragraph, text=text)]


class _List:
    """A list that is being read. It gives each item its marker; `opened` says whether an item with text was read."""

    def __init__(self, element: Element) -> None:
        self.opened = False
        self._tag = element.tag
        self._style = _style_of(element)
        self._step = -1 if "reversed" in element.attributes else 1
        items = sum(1 for child in element.children if isinstance(child, Element) and child.tag == "li")
        start = _integer(element.get("start"))
        self._number = start if start is not None else (items if self._step < 0 else 1)

    def next(self, item: Element) -> str:
        """Return the marker of the next item with a space behind it; empty where the list shows none."""
        if self._tag not in _LISTS:
            return _BULLET  # an item outside of any list, or in a description list
        style = _style_of(item) or self._style
        if self._tag != "ol":
            return "" if style == "none" else _BULLET
        value = _integer(item.get("value"))
        number = self._number if value is None else value
        self._number = number + self._step
        if style == "none":
            return ""
        return _BULLET if style in {"disc", "circle", "square"} else f"{_written(number, style)}. "


@dataclass(slots=True)
class _Item:
    """A list item with the marker that its first paragraph takes."""

    marker: str
    list: _List


@dataclass(frozen=True, slots=True)
class _BlockContext:
    """What the text at one place of a page belongs to."""

    kind: RegionKind
    level: int
    depth: int
    """How many lists are open."""
    list: _List | None
    item: _Item | None
    keeps_space: bool
    described: bool
    """Whether the text stands in a figure without a caption, where a picture's description is read instead."""
    quotes: int


_TOP = _BlockContext(RegionKind.PARAGRAPH, 0, 0, None, None, keeps_space=False, described=False, quotes=0)
_Task = tuple[Child | Callable[[], None], _BlockContext]


def read_blocks(content: Content, *, keeps_space: bool) -> list[Block]:
    """Return the blocks of a page in reading order; `keeps_space` is for plain text, which only its lines structure."""
    reader = _BlockReader(content, flat=False)
    for root in content.roots:
        reader.read(root, replace(_TOP, keeps_space=keeps_space))
    return reader.blocks


def _flat_text(element: Element, content: Content) -> str:
    """Return all the text of an element on one line."""
    reader = _BlockReader(content, flat=True)
    reader.read(element, _TOP)
    return " ".join(" ".join(block.text.split()) for block in reader.blocks)


class _BlockReader:
    """Walks over elements and collects blocks. `flat` is for a cell or a heading: tables in it are read as text."""

    def __init__(self, content: Content, *, flat: bool) -> None:
        self.blocks: list[Block] = []
        self._content = content
        self._flat = flat
        self._text = InlineText()
        self._context = _TOP
        self._tasks: list[_Task] = []

    def read(self, root: Element, context: _BlockContext) -> None:
        self._tasks = [(root, context)]
        while self._tasks:
            task, context = self._tasks.pop()
            if isinstance(task, Element):
                if id(task) not in self._content.left_out:
                    self._enter(task, context)
            elif isinstance(task, str):
                self._context = context
                (self._text.add_preformatted if context.keeps_space else self._text.add)(task)
            else:
                task()
        self._flush()

    def _enter(self, element: Element, context: _BlockContext) -> None:
        tag = element.tag
        if _is_block(element):
            self._block(element, context)
            return
        self._context = context
        if tag == "br":
            self._text.end_line()
        elif tag in {"sup", "sub"} or ("style" in element.attributes and "vertical-align:su" in element.style):
            self._script(element, context)
        elif tag == "math":
            self._text.add(formula_text(element) if element.get("display") != "block" else f" {formula_text(element)} ")
        elif tag == "q":
            opening, closing = ("“", "”") if context.quotes % 2 == 0 else ("‘", "’")
            self._text.add(opening)
            self._inside(element, replace(context, quotes=context.quotes + 1), then=lambda: self._text.add(closing))
        elif tag == "rt":
            self._text.add("(")
            self._inside(element, context, then=lambda: self._text.add(")"))
        elif tag == "a" and element.inside.letters <= _LONGEST_SCRIPT and is_note_link(element, self._words(element)):
            self._note_mark(self._words(element))
        elif tag == "img":
            self._picture(element, context)
        else:
            self._inside(element, context)

    def _inside(self, element: Element, context: _BlockContext, *, then: Callable[[], None] | None = None) -> None:
        """Read the children next, and call `then` after them."""
        if then is not None:
            self._tasks.append((then, context))
        children = self._content.rescued.get(id(element), element.children)
        self._tasks += [(child, context) for child in reversed(children)]

    def _block(self, element: Element, context: _BlockContext) -> None:
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
        if not self._flat and level and element.inside.tables == 0:
            self._emit(RegionKind.HEADING, _flat_text(element, self._content), level)
        elif tag == "table" and not self._flat and not is_layout(element):
            self.blocks += table_blocks(element, lambda cell: _flat_text(cell, self._content))
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
                inner = replace(inner, described=not element.inside.captions)
            self._inside(element, inner, then=self._flush)

    def _list(self, element: Element, context: _BlockContext) -> None:
        inner = replace(context, depth=context.depth + 1, list=_List(element), item=None)
        if inner.kind is not RegionKind.FOOTNOTE:
            inner = replace(inner, kind=RegionKind.LIST_ITEM, level=inner.depth)
        self._inside(element, inner, then=self._flush)

    def _item(self, element: Element, context: _BlockContext) -> None:
        """Read a list item; a term of a description list introduces the items that describe it.

        An item with a heading inside is a section of the page that only happens to stand in a list.
        """
        around = context.list or _List(element)
        marker = around.next(element) if element.tag == "li" else ""
        inner = replace(context, item=_Item(marker, around), list=None)
        if element.tag == "dd":
            inner = replace(inner, depth=context.depth + 1)
        if element.inside.headings and not self._flat:
            inner = replace(_TOP, quotes=context.quotes)
        elif inner.kind is not RegionKind.FOOTNOTE:
            inner = replace(inner, kind=RegionKind.LIST_ITEM, level=max(1, inner.depth))
        self._inside(element, inner, then=self._flush)

    def _preformatted(self, element: Element, context: _BlockContext) -> None:
        """Read preformatted text as code, unless it is prose: many old pages are preformatted as a whole."""
        code = element.inside.code > 0 or bool(element.get("class"))
        inner = replace(context, keeps_space=True, kind=RegionKind.CODE, item=None)

        def end() -> None:
            text = self._text.take()
            if code or self._flat or not _is_prose(text):
                self._emit(RegionKind.CODE, text, 0)
            else:
                for paragraph in paragraphs(text):
                    self._emit(RegionKind.PARAGRAPH, paragraph, 0)

        self._inside(element, inner, then=end)

    def _picture(self, element: Element, context: _BlockContext) -> None:
        if context.described and not self._flat and (text := " ".join(element.get("alt").split())):
            self._flush()
            self._text.add(text)
            self._emit(RegionKind.CAPTION, self._text.take(), 0)

    def _script(self, element: Element, context: _BlockContext) -> None:
        """Read raised or lowered text: leave out the mark of a note, keep the rest apart from a number before it."""
        inside = element.inside
        if inside.letters > _LONGEST_SCRIPT or inside.blocks:
            self._inside(element, context)
            return
        text = self._words(element)
        raised = element.tag == "sup" or "vertical-align:super" in element.style
        if raised and is_raised_mark(element, text):
            self._note_mark(text)
        elif raised and text.startswith("["):
            self._text.add(f" {text}")
        else:
            self._text.add_script(text, raised=raised)

    def _note_mark(self, text: str) -> None:
        """Keep a mark at the start of a line: there it names the note that follows. Elsewhere it only points to one."""
        if self._text.is_line_start and text:
            self._text.add(text if text.startswith(("[", "(")) else f"[{text}]")
            self._text.add(" ")

    def _words(self, element: Element) -> str:
        return " ".join("".join(self._content.texts(element)).split())

    def _flush(self) -> None:
        """End the block whose text is being collected."""
        context = self._context
        item = context.item
        for text in paragraphs(self._text.take()):
            if item is None:
                self._emit(context.kind, text, context.level)
            else:
                self._emit(context.kind, item.marker + text, context.level, opens=not item.list.opened)
                item.marker, item.list.opened = "", True

    def _emit(self, kind: RegionKind, text: str, level: int, *, opens: bool = False) -> None:
        if text.strip():
            level = level if kind in {RegionKind.HEADING, RegionKind.LIST_ITEM} else 0
            self.blocks.append(Block(kind, text, level, opens))


def _heading_level(element: Element) -> int:
    """Return 1 to 6; 0 for an element that is no heading."""
    if element.tag in HEADINGS:
        return int(element.tag[1])
    if element.role == "heading":
        level = element.get("aria-level").strip()
        return int(level) if _HEADING_NUMBER.fullmatch(level) else 2
    return 0


def _is_block(element: Element) -> bool:
    """Decide by the element's own style, else by its tag."""
    display = _DISPLAY.search(element.style) if "style" in element.attributes else None
    return element.tag in BLOCKS if display is None else display[1] != "inline"


def _is_prose(text: str) -> bool:
    """Return whether preformatted text is made of sentences, and mostly of letters."""
    letters = sum(1 for character in text if character.isalpha() or character in " \n,.'")
    return len(_PROSE.findall(text)) >= 3 and letters >= 0.9 * len(text)


def _style_of(element: Element) -> str:
    if "style" in element.attributes and (found := _STYLE.search(element.style)):
        return found[1]
    return _TYPES.get(element.get("type").strip(), "")


def _integer(text: str) -> int | None:
    # No list needs more than ten digits; longer numbers only cost time.
    text = text.strip()
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,10}", text) else None


def _written(number: int, style: str) -> str:
    if style.endswith(("alpha", "latin")) and number > 0:
        written = _letters(number)
    elif style.endswith("roman") and 0 < number < 4000:
        written = to_roman(number)
    elif style == "lower-greek" and 0 < number <= len(_GREEK):
        return _GREEK[number - 1]
    else:
        return f"{number:02d}" if style == "decimal-leading-zero" else str(number)
    return written.upper() if style.startswith("upper") else written


def _letters(number: int) -> str:
    """Return a to z, then aa, ab, ..."""
    letters = ""
    while number > 0:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("a") + rest) + letters
    return letters
