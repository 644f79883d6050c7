"""AsciiDoc, read by its blocks: sections, lists, tables, listings, admonitions and comments.

Marks of emphasis and macros stay inside the sentences: a quote is a slice of the source. No file is included, and no
attribute is replaced.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from quoth.documents.formats.source.asciidoc_tables import mark_table
from quoth.documents.formats.source.source_text import BLANK, SourceText, read_source
from quoth.types import Extract, RegionKind

VERSION = "asciidoc / 1"

_HEADING = re.compile(r"(={1,6}|#{1,6})[ \t]+(?=\S)")
_UNDERLINES = "=-~^+"
_UNDERLINE = re.compile(r"=+|-+|~+|\^+|\++")
_DELIMITER = re.compile(r"-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|--|`{3,}[\w, -]*|~~~+")
_TABLE = re.compile(r"[|,:!]={3,}")
_ATTRIBUTE = re.compile(r":!?\w[\w-]*!?:(?:\s|$)")
_ANNOTATION = re.compile(r"\[(?:[^\[\]]|\[[^\[\]]*\])*\]$")
_TITLE = re.compile(r"\.(?=[^\s.])")
_MACRO = re.compile(
    r"(?:image|video|audio|include|toc|ifdef|ifndef|ifeval|endif|link|asciimath|icon|gist)::\S*\[.*\]$|toc::"
)
_PICTURES = re.compile(r"(?:image:[^\s\[\]]+\[[^\[\]]*\]\s*)+")
_RULE = re.compile(r"'{3,}$|<<<+$|-{3}$|\*{3}$|- - -$|\* \* \*$")
_BULLET = re.compile(r"(\*{1,6}|-|•)[ \t]+(?:\[[ *x]\][ \t]+)?(?=\S)")
_NUMBER = re.compile(r"(\.{1,6}|\d{1,4}\.|[a-zA-Z]\.|[ivxIVX]{1,6}\))[ \t]+(?=\S)")
_CALLOUT = re.compile(r"<(?:\d{1,3}|\.)>[ \t]+(?=\S)")
_TERM = re.compile(r"(?P<term>\S.*?)(?P<mark>:{2,4}|;;)(?:[ \t]+(?=\S)|$)")
_EMPHASIS = re.compile(r"[*`#]+|(?<!\w)_+|_+(?!\w)|\[\[[^\]]*\]\]|\{[\w-]+\}|\[\w*#?[^\]]*\](?=#)")
_LINK = re.compile(r"(?:link:|xref:|https?://)[^\s\[\]]*\[([^\]]*)\]")
_AUTHOR = re.compile(r"[^\W\d_][^<>]*(?:<[^<>\s]+>)?(?:;.*)?$|v?\d[\w.]*,.*$")
_CODE_STYLE = r"\[(?:source|listing|literal|stem|latexmath|asciimath)\b|\[,"
_WORD = re.compile(r"\w")
_DEEPEST = 20  # delimited blocks in each other; what lies deeper is kept as paragraphs


@dataclass(slots=True)
class _Annotations:
    """What the lines above a block say of it."""

    lines: list[str] = field(default_factory=list)

    def holds(self, pattern: str) -> bool:
        return any(re.search(pattern, line) for line in self.lines)


def extract(data: bytes) -> Extract:
    """Return the source with its regions; raise `UnreadableFile` when it is no text."""
    return read_source(data, lambda source: _Reader(source).read())


class _Reader:
    """Follows the lines of a document and marks its regions."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._annotations = _Annotations()
        self._marks: list[str] = []
        """The marks of the open lists, outermost first."""
        self._continued = False
        """Whether a line with a `+` attaches the next block to the list item above."""
        self._kind = RegionKind.PARAGRAPH
        self._title = ""

    def read(self) -> Mapping[str, str]:
        at = self._header()
        self._blocks(at, len(self._source), depth=0)
        return {"title": self._title} if self._title else {}

    def _header(self) -> int:
        """Read the title of the document, its author and its attributes, which end at a blank line."""
        source = self._source
        at = 0
        while at < len(source) and (source.indents[at] == BLANK or self._is_setting(source.lines[at])):
            source.mark_lines(RegionKind.MARKUP, at, at + 1)
            at += 1
        if at >= len(source) or not (source.lines[at].startswith(("= ", "# ")) or self._underlined(at) == 1):
            return at
        self._title = _plain(source.lines[at].lstrip("=# "))
        at = self._heading(at, len(source))
        if at < len(source) and _AUTHOR.match(source.lines[at]):
            source.mark_lines(RegionKind.PARAGRAPH, at, at + 1)  # who wrote it is worth a quote
            at += 1
        while at < len(source) and source.indents[at] != BLANK:
            source.mark_lines(RegionKind.MARKUP, at, at + 1)
            at += 1
        return at

    def _is_setting(self, line: str) -> bool:
        comment = line.startswith("//") and not line.startswith("////")
        return comment or _ATTRIBUTE.match(line) is not None or _MACRO.match(line) is not None

    def _blocks(self, at: int, stop: int, *, depth: int) -> None:
        """Read the blocks of these lines."""
        source = self._source
        while (first := source.past_blank(at, stop)) < stop:
            if first > at + 1 or (first > at and not self._is_item(first)):
                self._end_lists(first)
            at = self._block(first, stop, depth)

    def _end_lists(self, at: int) -> None:
        """End the open lists at a blank line before a block that neither goes on with them nor is attached."""
        if not self._continued and not self._is_item(at):
            self._marks.clear()

    def _is_item(self, at: int) -> bool:
        line = self._source.lines[at]
        return self._is_marked(line) or _TERM.match(line) is not None or line == "+"

    def _block(self, at: int, stop: int, depth: int) -> int:
        source = self._source
        line = source.lines[at]
        if self._is_setting(line) or _RULE.match(line) or line == "+" or self._is_annotation(line):
            self._continued = line == "+"
            source.mark_lines(RegionKind.MARKUP, at, at + 1)
            return at + 1
        if _TITLE.match(line) and not _NUMBER.match(line) and source.indents[at] == 0:
            source.begin_at(at, 1, indent=0)
            source.mark_lines(RegionKind.CAPTION, at, at + 1)
            return at + 1
        reader = self._reader(at, stop, depth)
        end = reader(at, stop)
        self._annotations = _Annotations()
        self._continued = False
        return max(end, at + 1)

    def _is_annotation(self, line: str) -> bool:
        """Return whether a line in brackets describes the next block, and remember it."""
        if not line.startswith("[") or not _ANNOTATION.fullmatch(line):
            return False
        self._annotations.lines.append(line)
        return True

    def _reader(self, at: int, stop: int, depth: int) -> Callable[[int, int], int]:
        """Return what reads the block that begins on a line."""
        source = self._source
        line = source.lines[at]
        if _TABLE.fullmatch(line):
            return self._table
        if _DELIMITER.fullmatch(line) and depth < _DEEPEST and not self._underlined(at):
            return lambda first, end: self._delimited(first, end, depth)
        if source.indents[at] == 0 and (_HEADING.match(line) or self._underlined(at)):
            return self._heading
        if _TERM.match(line) and not self._is_marked(line):
            return self._definition
        if self._is_marked(line):
            return self._item
        return self._literal if source.indents[at] > 0 and not self._marks else self._paragraph

    def _is_marked(self, line: str) -> bool:
        return any(pattern.match(line) for pattern in (_BULLET, _NUMBER, _CALLOUT))

    def _underlined(self, at: int) -> int:
        """Return the level of a title that is underlined by signs of about its length, 0 when it is none."""
        source = self._source
        if at + 1 >= len(source) or source.indents[at] != 0 or source.indents[at + 1] != 0:
            return 0
        line, under = source.lines[at], source.lines[at + 1]
        if not _UNDERLINE.fullmatch(under) or len(under) < 2 or abs(len(line) - len(under)) > 2:
            return 0
        if line.startswith(("[", ".", "|", "* ", "- ")) or not _WORD.search(line):
            return 0
        return _UNDERLINES.index(under[0]) + 1

    def _heading(self, at: int, _stop: int) -> int:
        source = self._source
        self._marks.clear()
        level = self._underlined(at)
        marks = _HEADING.match(source.lines[at])
        end = at + 1
        if level:
            end = at + 2
        elif marks is not None:
            level = len(marks[1])
            source.begin_at(at, marks.end(), indent=0)
        closing = re.search(r"[ \t]+[=#]+$", source.lines[at]) if marks else None
        stop = source.starts[at] + closing.start() if closing else source.end(at)
        title = _plain(source.text[source.starts[at] : stop])
        kind = RegionKind.CAPTION if self._annotations.holds(r"\[(?:discrete|float)") else RegionKind.HEADING
        source.mark(kind, source.starts[at], stop, level=level, title=title)
        source.mark(RegionKind.MARKUP, stop, source.end(end - 1))
        return end

    def _delimited(self, at: int, stop: int, depth: int) -> int:
        """Read a block between two equal lines. Its sign says whether it is code, a quote, text or nothing."""
        source = self._source
        line = source.lines[at]
        fence = line[:3] if line.startswith(("```", "~~~")) else line
        end = next((other for other in range(at + 1, stop) if source.lines[other] == fence), stop)
        source.mark_lines(RegionKind.MARKUP, at, at + 1)
        sign = line[0]
        styled = self._annotations.holds(_CODE_STYLE)
        if sign in "/+":
            source.mark_lines(RegionKind.MARKUP if sign == "/" else RegionKind.HTML, at + 1, end)
        elif sign in ".`~" or (sign == "-" and (len(line) > 2 or styled)):
            source.mark_lines(RegionKind.CODE, at + 1, end)
        else:
            self._inside(at + 1, end, quoted=sign == "_", depth=depth + 1)
        source.mark_lines(RegionKind.MARKUP, end, min(stop, end + 1))
        return end + 1

    def _inside(self, first: int, end: int, *, quoted: bool, depth: int) -> None:
        """Read the blocks inside a delimited one; a list around it goes on behind it."""
        marks, kind = self._marks, self._kind
        self._marks = []
        self._annotations = _Annotations()
        self._kind = RegionKind.QUOTE if quoted else kind
        self._blocks(first, end, depth=depth)
        self._marks, self._kind = marks, kind

    def _table(self, at: int, stop: int) -> int:
        source = self._source
        line = source.lines[at]
        end = next((other for other in range(at + 1, stop) if source.lines[other] == line), stop)
        source.mark_lines(RegionKind.MARKUP, at, at + 1)
        mark_table(source, at + 1, end, separator=line[0], options=" ".join(self._annotations.lines))
        source.mark_lines(RegionKind.MARKUP, end, min(stop, end + 1))
        return end + 1

    def _level(self, mark: str) -> tuple[int, bool]:
        """Return the depth of an item with this mark, and whether it opens its list."""
        if mark in self._marks:
            del self._marks[self._marks.index(mark) + 1 :]
            return len(self._marks), False
        self._marks.append(mark)
        return len(self._marks), True

    def _item(self, at: int, stop: int) -> int:
        source = self._source
        line = source.lines[at]
        mark = _BULLET.match(line) or _NUMBER.match(line) or _CALLOUT.match(line)
        if mark is None:
            return self._paragraph(at, stop)
        sign = mark[1] if mark.re is not _CALLOUT else "<>"
        level, opens = self._level("1." if sign[0].isalnum() else sign)
        source.begin_at(at, mark.end(), indent=source.indents[at])
        end = self._text_end(at, stop)
        source.mark(RegionKind.LIST_ITEM, source.starts[at], source.end(end - 1), level=level, opens=opens)
        return end

    def _definition(self, at: int, stop: int) -> int:
        """Read a term, and on the same line or below what it means, one level deeper."""
        source = self._source
        found = _TERM.match(source.lines[at])
        if found is None:
            return self._paragraph(at, stop)
        level, opens = self._level(found["mark"])
        self._marks.append("")  # what is attached below belongs to the meaning, not to the term
        start = source.starts[at]
        source.mark(RegionKind.LIST_ITEM, start, start + found.end("term"), level=level, opens=opens)
        source.begin_at(at, found.end(), indent=source.indents[at])
        first = at if source.lines[at] else source.past_blank(at + 1, stop)
        if first >= stop or (first > at and (self._is_item(first) or self._begins_block(first))):
            return at + 1
        end = self._text_end(first, stop)
        source.mark(RegionKind.LIST_ITEM, source.starts[first], source.end(end - 1), level=level + 1, opens=True)
        return end

    def _begins_block(self, at: int) -> bool:
        line = self._source.lines[at]
        patterns = (_HEADING, _DELIMITER, _TABLE, _ANNOTATION, _TITLE)
        return line == "+" or line.startswith("//") or any(pattern.match(line) for pattern in patterns)

    def _text_end(self, at: int, stop: int) -> int:
        """Return the line behind the text that begins on a line: a blank line, an item or another block ends it."""
        source = self._source
        end = at + 1
        while end < stop and source.indents[end] != BLANK and not self._breaks(end):
            end += 1
        return end

    def _breaks(self, at: int) -> bool:
        line = self._source.lines[at]
        if line == "+" or line.startswith("//") or _DELIMITER.fullmatch(line) or _TABLE.fullmatch(line):
            return True
        if self._marks and self._is_item(at):
            return True
        return _ANNOTATION.fullmatch(line) is not None or _MACRO.match(line) is not None

    def _literal(self, at: int, stop: int) -> int:
        """Read indented lines, which are set as they stand."""
        end = at + 1
        while end < stop and self._source.indents[end] != BLANK:
            end += 1
        self._source.mark_lines(RegionKind.CODE, at, end)
        return end

    def _paragraph(self, at: int, stop: int) -> int:
        """Read a paragraph; attached to an item it belongs to the list."""
        source = self._source
        end = self._text_end(at, stop)
        start, last = source.starts[at], source.end(end - 1)
        if self._annotations.holds(_CODE_STYLE):
            source.mark(RegionKind.CODE, start, last)
        elif _PICTURES.fullmatch(source.text, start, last):
            source.mark(RegionKind.MARKUP, start, last)
        elif self._marks and self._continued:
            source.mark(RegionKind.LIST_ITEM, start, last, level=len(self._marks))
        elif self._annotations.holds(r"\[(?:quote|verse)"):
            source.mark(RegionKind.QUOTE, start, last)
        else:
            source.mark(self._kind, start, last)
        return end


def _plain(title: str) -> str:
    """Return a title as people read it, without emphasis, anchors and the targets of links."""
    return " ".join(_EMPHASIS.sub("", _LINK.sub(r"\1", title)).split())
