"""The regions of a Markdown document, from markdown-it's blocks.

markdown-it says on which lines each block lies; where its text begins on a line follows from the containers around it
(quotes and list items). What no block claims is filled in by `regions`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from quoth.documents.formats.text.contents_pages import is_contents_title
from quoth.language.boundaries import cuts
from quoth.language.enumerations import ENUMERATOR, Enumeration, introduction
from quoth.language.headings import SectionPath, is_caption
from quoth.language.sentence_ends import BREAK_TAGS
from quoth.language.spans import trim
from quoth.types import Region, RegionKind, Span

BOM = "\ufeff"
_LINE_END = re.compile(r"\r\n?|\n")
_FRONT_MATTER = re.compile(
    r"---[ \t]*(?:\r\n?|\n)(?![ \t]*(?:\r|\n))(?:.*?(?:\r\n?|\n))??(?:---|\.\.\.)[ \t]*(?=[\r\n]|\Z)", re.S
)
_ITEM_MARK = re.compile(r"[ \t]*(?:[-+*]|\d{1,9}[.)])")
_QUOTE_MARK = re.compile(r"[ \t]*>")
_QUOTED_LINE = re.compile(r"\s*[\r\n][ \t]*(?:>[ \t]*)+")
_BLANKS = re.compile(r"[ \t]*")
_HASHES = re.compile(r"#{1,6}[ \t]*")
_CLOSING_HASHES = re.compile(r"(?:(?<![ \t])[ \t]++|^)#+[ \t]*$")
_OUTER = "| \t"  # what surrounds the cells of a row
_FOOTNOTE = re.compile(r"\[\^[^\]\s]+\]:[ \t]*")
_ALERT = re.compile(r"\[!\w+\][ \t]*(?=[\r\n])")
_BLANK_LINES = re.compile(r"(?<=\S)(?:[^\S\r\n]*(?:\r\n?|\n)){2,}")
_LINK_TEXT = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_EMPHASIS = re.compile(r"[*`~]+|(?<!\w)_+|(?<!_)_++(?!\w)")
_HEADING_ID = re.compile(r"\s*\{#[^{}]*\}$")
_LISTS = frozenset({"bullet_list_open", "ordered_list_open"})
_ANCHOR_ITEM = re.compile(r"\s*(?:[-+*]|\d{1,9}[.)])\s+\[[^\r\n]*\]\(#[^()\s]*\)\s*")
_CONTENTS_MARK = re.compile(r"\[TOC\]|\[\[_?TOC_?\]\]|\{:toc\}", re.IGNORECASE)
_FEWEST_ENTRIES = 3  # links of a list without a title
_INTRODUCTORY = frozenset({RegionKind.PARAGRAPH, RegionKind.QUOTE, RegionKind.LIST_ITEM})
_DEEPEST = 60  # nested containers; what lies deeper is kept as plain paragraphs

_HTML_BLOCK = (
    "address|article|aside|blockquote|body|caption|center|col|colgroup|datalist|dd|details|dialog|dir|div|dl|dt|fieldset"
    "|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hgroup|hr|html|legend|li|link|main|menu|meta|nav"
    "|noframes|ol|optgroup|option|p|pre|search|section|select|summary|table|tbody|td|textarea|tfoot|th|thead|title|tr|ul"
)
"""Elements that HTML sets apart. Any other, even an unknown one, is shown in the line and may be in a sentence."""
_HTML_SEPARATOR = re.compile(
    rf"""
    (?: <!--.*?(?:-->|\Z)
      | <(?P<whole>script|style|svg|template|noscript)\b.*?(?:</(?P=whole)\s*>|\Z)
      | <\?.*?(?:\?>|\Z) | <!\[CDATA\[.*?(?:\]\]>|\Z) | <![A-Za-z][^>]*(?:>|\Z)
      | </?(?:{_HTML_BLOCK})(?![\w:-])[^<>]*(?:>|\Z)
    )
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
"""Comments, scripts and block tags separate text; a `<b>` or a `<br>` in the middle of a sentence does not."""
_HTML_TAG = re.compile(r"<[^<>]*>|&nbsp;")
_EMPTY_TAG = re.compile(r"<(?:br|wbr|img)\b[^<>]*>", re.IGNORECASE)
_LEADING_TAGS = re.compile(rf"(?:{_EMPTY_TAG.pattern}|\s)*+", re.IGNORECASE)
"""Tags that hold no text: at the edge of a paragraph they are no part of it."""


@dataclass(slots=True)
class _Container:
    """A quote, a list item or the document itself, while its blocks are read."""

    kind: RegionKind
    first_line: int
    lead: Span | None = None
    list_lead: Span | None = None
    first_block: Region | None = None
    before: Region | None = None
    enumeration: Enumeration = field(default_factory=Enumeration)


@cache
def _parser() -> MarkdownIt:
    options = {"inline_definitions": True, "maxNesting": _DEEPEST}
    parser = MarkdownIt("commonmark", options).enable("table")
    parser.core.ruler.disable("inline")
    return parser


def front_matter(text: str) -> Span | None:
    """Return the YAML front matter with its fences, None when the document does not begin with one."""
    found = _FRONT_MATTER.match(text, text.startswith(BOM))
    return Span(found.start(), found.end()) if found else None


def markdown_blocks(text: str) -> Iterator[Region]:
    """Yield the regions that Markdown's blocks claim, in reading order; marks between them are left out."""
    head = front_matter(text)
    start = int(text.startswith(BOM))
    if head is not None:
        yield Region(head, RegionKind.FRONT_MATTER, section=(), lead=None)
        start = head.end
    yield from _MarkdownWalk(text, start).regions()


class _MarkdownWalk:
    """One pass over the block tokens of `text[start:]`."""

    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self._source = text[start:]
        self._lines = [start, *(start + end.end() for end in _LINE_END.finditer(self._source)), len(text)]
        self._containers = [_Container(RegionKind.PARAGRAPH, -1)]
        self._outline = SectionPath()
        self._table_header: Span | None = None

    def regions(self) -> Iterator[Region]:
        tokens = iter(_parser().parse(self._source))
        for token in tokens:
            if token.type in _LISTS and token.map is not None and self._is_contents(token.level, *token.map):
                span = trim(self._text, self._lines[token.map[0]], self._lines[token.map[1]])
                yield from self._block(span, RegionKind.CONTENTS)
                while token.nesting > 0 or token.level > 0:
                    token = next(tokens)  # noqa: PLW2901 - the list is read to its end
            elif token.map is not None:
                yield from self._opened(token, token.map[0], token.map[1])
            elif token.type in {"blockquote_close", "list_item_close"}:
                self._containers.pop()
            if token.type in {"blockquote_close", "bullet_list_close", "ordered_list_close", "table_close", "hr"}:
                self._inner.before = None

    @property
    def _inner(self) -> _Container:
        return self._containers[-1]

    def _is_contents(self, level: int, first: int, stop: int) -> bool:
        """Return whether a list holds nothing but links into the document itself."""
        if level > 0:
            return False
        lines = [self._text[self._lines[line] : self._lines[line + 1]] for line in range(first, stop)]
        entries = [line for line in lines if line.strip()]
        titled = bool(self._outline.section) and is_contents_title(self._outline.section[-1])
        return len(entries) >= (1 if titled else _FEWEST_ENTRIES) and all(map(_ANCHOR_ITEM.fullmatch, entries))

    def _opened(self, token: Token, first: int, stop: int) -> Iterator[Region]:
        match token.type:
            case "paragraph_open":
                yield from self._paragraph(first, stop)
            case "heading_open":
                yield from self._heading(token, first, stop)
            case "blockquote_open":
                self._containers.append(_Container(RegionKind.QUOTE, first, lead=self._inner.lead))
            case "bullet_list_open" | "ordered_list_open":
                self._inner.list_lead = self._lead_of_list()
            case "list_item_open":
                self._containers.append(_Container(RegionKind.LIST_ITEM, first, lead=self._inner.list_lead))
            case "tr_open":
                yield from self._row(first)
            case "table_open":
                self._table_header = None
            case "fence":
                yield from self._fence(token, first, stop)
            case "code_block":
                yield from self._indented(first, stop)
            case "html_block":
                for span, kind in _html_parts(self._text, self._content_start(first), self._lines[stop]):
                    yield from self._block(span, kind, lead=None if kind.skipped else self._inner.lead)
            case "definition":
                yield from self._definition(first, stop)

    def _content_start(self, line: int) -> int:
        """Return where the text of a line begins, behind the marks of the containers around it."""
        at = self._lines[line]
        for container in self._containers:
            mark = None
            if container.kind is RegionKind.QUOTE:
                mark = _QUOTE_MARK.match(self._text, at)
            elif container.first_line == line:
                mark = _ITEM_MARK.match(self._text, at)
            at = mark.end() if mark else at
        blanks = _BLANKS.match(self._text, at)
        return min(blanks.end() if blanks else at, self._lines[line + 1])

    def _block(self, span: Span | None, kind: RegionKind, *, lead: Span | None = None) -> Iterator[Region]:
        """Yield one block of the current container and remember it as the last one read."""
        if span is None:
            return
        block = Region(span, kind, self._outline.section, lead)
        if not kind.skipped:
            self._inner.before = block
            self._inner.first_block = self._inner.first_block or block
        yield block

    def _lead_of_list(self) -> Span | None:
        """Return the last sentence before a list. Inside an item, that is the item itself, with its own lead-in."""
        block = self._inner.before
        if block is None or block.kind not in _INTRODUCTORY:
            block = self._inner.first_block if self._inner.kind is RegionKind.LIST_ITEM else None
        return introduction(self._text, block.span, block.lead) if block else self._inner.lead

    def _paragraph(self, first: int, stop: int) -> Iterator[Region]:
        starts = [self._content_start(line) for line in range(first, stop)]
        notes = [at for at in starts if _FOOTNOTE.match(self._text, at)]
        end = self._lines[stop]
        if starts[0] not in notes:
            yield from self._prose(starts[0], notes[0] if notes else end)
        for at, until in pairwise([*notes, end]):
            yield from self._footnote(at, until)

    def _prose(self, start: int, end: int) -> Iterator[Region]:
        alert = _ALERT.match(self._text, start, end) if self._inner.kind is RegionKind.QUOTE else None
        if alert is not None:
            yield Region(
                Span(start, start + len(alert.group().rstrip())), RegionKind.MARKUP, self._outline.section, None
            )
            mark = _QUOTED_LINE.match(self._text, alert.end(), end)
            start = mark.end() if mark else alert.end()
        span = trim(self._text, start, end)
        if span is None:
            return
        kind, lead = self._inner.kind, self._inner.lead
        if kind is RegionKind.PARAGRAPH:
            kind, lead = self._named(span)
        yield from self._blocks(span.start, span.end, kind, lead=lead)

    def _named(self, span: Span) -> tuple[RegionKind, Span | None]:
        """Return what a paragraph of the document itself is, and what introduces it."""
        if _CONTENTS_MARK.fullmatch(self._text, span.start, span.end):
            return RegionKind.CONTENTS, None
        if is_caption(self._text[span.start : span.end]):
            return RegionKind.CAPTION, None
        # A paragraph that begins with `(a)` is an item of a list that Markdown does not mark.
        mark = ENUMERATOR.match(self._text, span.start, span.end) if self._text[span.start] in "(•" else None
        lead = self._inner.enumeration.follow(self._text, span, mark)
        return (RegionKind.LIST_ITEM if mark else RegionKind.PARAGRAPH), lead

    def _blocks(self, start: int, end: int, kind: RegionKind, *, lead: Span | None) -> Iterator[Region]:
        """Yield a paragraph as blocks of one kind; marks between two sentences are in none of them."""
        for part in self._quoted_parts(start, end):
            for span, drawn in _broken_lines(self._text, part.start, part.end) if part else ():
                yield from self._block(span, drawn if drawn.skipped else kind, lead=None if drawn.skipped else lead)

    def _quoted_parts(self, start: int, end: int) -> Iterator[Span | None]:
        """Cut at the `>` between two sentences; inside a sentence the mark stays, as the slice must be exact."""
        if any(container.kind is RegionKind.QUOTE for container in self._containers):
            for cut in cuts(self._text, start, end):
                mark = _QUOTED_LINE.match(self._text, cut, end)
                if mark is not None:
                    yield trim(self._text, start, cut)
                    start = mark.end()
        yield trim(self._text, start, end)

    def _footnote(self, start: int, end: int) -> Iterator[Region]:
        label = _FOOTNOTE.match(self._text, start)
        if label is None:
            return
        yield Region(Span(start, start + len(label.group().rstrip())), RegionKind.MARKUP, self._outline.section, None)
        yield from self._blocks(label.end(), end, RegionKind.FOOTNOTE, lead=None)

    def _heading(self, token: Token, first: int, stop: int) -> Iterator[Region]:
        start, end = self._content_start(first), self._lines[stop]
        if token.markup.startswith("#"):
            hashes = _HASHES.match(self._text, start)
            start = hashes.end() if hashes else start
            closing = _CLOSING_HASHES.search(self._text[start:end].rstrip())
            end = start + closing.start() if closing else end
        else:
            end = self._lines[stop - 1]
        span = trim(self._text, start, end)
        title = _title(self._text[span.start : span.end]) if span else ""
        top_level = token.level == 0
        section = self._outline.enter(int(token.tag[1]), title) if top_level else (*self._outline.section, title)
        self._inner.before = None
        self._inner.enumeration = Enumeration()
        if span is not None:
            yield Region(span, RegionKind.HEADING, section, lead=None)

    def _row(self, line: int) -> Iterator[Region]:
        start = self._content_start(line)
        row = self._text[start : self._lines[line + 1]].rstrip()
        cells = row.rstrip(_OUTER)
        if cells.endswith("\\") and row[len(cells) :].startswith("|"):
            cells += "|"  # an escaped pipe is text
        span = trim(self._text, start + len(cells) - len(cells.lstrip(_OUTER)), start + len(cells))
        if self._table_header is None:
            self._table_header = span
            yield from self._block(span, RegionKind.TABLE_HEADER)
        else:
            yield from self._block(span, RegionKind.TABLE_ROW, lead=self._table_header)

    def _fence(self, token: Token, first: int, stop: int) -> Iterator[Region]:
        opening = trim(self._text, self._content_start(first), self._lines[first + 1])
        if opening is not None:
            yield Region(opening, RegionKind.MARKUP, self._outline.section, lead=None)
        last = self._text[self._content_start(stop - 1) : self._lines[stop]].strip()
        closed = stop - 1 > first and len(last) >= len(token.markup) and set(last) == {token.markup[0]}
        content_stop = stop - 1 if closed else stop
        if first + 1 < content_stop:
            span = trim(self._text, self._content_start(first + 1), self._lines[content_stop])
            yield from self._block(span, RegionKind.CODE)

    def _indented(self, first: int, stop: int) -> Iterator[Region]:
        start, end = self._content_start(first), self._lines[stop]
        if self._inner.before is None or self._inner.before.kind is not RegionKind.FOOTNOTE:
            yield from self._block(trim(self._text, start, end), RegionKind.CODE)
            return
        for blank in _BLANK_LINES.finditer(self._text, start, end):
            yield from self._block(trim(self._text, start, blank.start()), RegionKind.FOOTNOTE)
            start = blank.end()
        yield from self._block(trim(self._text, start, end), RegionKind.FOOTNOTE)

    def _definition(self, first: int, stop: int) -> Iterator[Region]:
        start = self._content_start(first)
        if _FOOTNOTE.match(self._text, start):
            yield from self._footnote(start, self._lines[stop])
        else:
            yield from self._block(trim(self._text, start, self._lines[stop]), RegionKind.MARKUP)


def _title(heading: str) -> str:
    """Return a heading as people read it: no emphasis, link targets or ids, and single spaces."""
    bare = _EMPHASIS.sub("", _LINK_TEXT.sub(r"\1", _HEADING_ID.sub("", heading)))
    return " ".join(bare.split())


def _html_parts(text: str, start: int, end: int) -> Iterator[tuple[Span, RegionKind]]:
    """Yield the parts of an HTML block in order: skipped HTML, and paragraphs of visible text."""
    at = start
    for separator in _HTML_SEPARATOR.finditer(text, start, end):
        yield from _between_tags(text, at, separator.start())
        yield Span(separator.start(), separator.end()), RegionKind.HTML
        at = separator.end()
    yield from _between_tags(text, at, end)


def _broken_lines(text: str, start: int, end: int) -> Iterator[tuple[Span, RegionKind]]:
    """Yield the parts of a paragraph in order, cut at each `<br>` between sentences; inside one the tag stays."""
    for cut in cuts(text, start, end) if _EMPTY_TAG.search(text, start, end) else ():
        tags = BREAK_TAGS.match(text, cut, end)
        if tags is not None:
            yield from _part(text, start, cut, RegionKind.PARAGRAPH)
            yield from _part(text, cut, tags.end(), RegionKind.HTML)
            start = tags.end()
    yield from _part(text, start, end, RegionKind.PARAGRAPH)


def _between_tags(text: str, start: int, end: int) -> Iterator[tuple[Span, RegionKind]]:
    visible = _HTML_TAG.sub("", text[start:end])
    if not any(character.isalnum() for character in visible):
        yield from _part(text, start, end, RegionKind.HTML)
        return
    first, last = _without_empty_tags(text, start, end)
    yield from _part(text, start, first, RegionKind.HTML)
    yield from _broken_lines(text, first, last)
    yield from _part(text, last, end, RegionKind.HTML)


def _without_empty_tags(text: str, start: int, end: int) -> tuple[int, int]:
    leading = _LEADING_TAGS.match(text, start, end)
    first, last = leading.end() if leading else start, end
    while last > first:
        opener = text.rfind("<", first, last)
        if text[last - 1].isspace():
            last -= 1
        elif opener >= 0 and _EMPTY_TAG.fullmatch(text, opener, last):
            last = opener
        else:
            break
    return first, last


def _part(text: str, start: int, end: int, kind: RegionKind) -> Iterator[tuple[Span, RegionKind]]:
    span = trim(text, start, end)
    if span is not None:
        yield span, kind
