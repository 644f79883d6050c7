"""reStructuredText, read by its blocks: sections, lists, tables, literal blocks, directives and comments.

The blocks are found here, by offset, because a quote is a slice of the source. So marks of roles and emphasis stay
inside the sentences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from quoth.documents.formats.source import rst_directives as directives
from quoth.documents.formats.source.rst_directives import Directive, Use
from quoth.documents.formats.source.rst_tables import GRID, SIMPLE, mark_csv, mark_grid, mark_list_table, mark_simple
from quoth.documents.formats.source.source_text import BLANK, SourceText, read_source
from quoth.types import Extract, RegionKind

VERSION = "rst / 1"

_DEEPEST = 40  # nested blocks; what lies deeper is kept as plain paragraphs
_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1+")
_BULLET = re.compile(r"[-*+•‣⁃](?:\s+|$)")
_LABEL = r"(?:\d{1,4}|[A-Za-z]|[ivxlcdm]{1,8}|[IVXLCDM]{1,8}|#)"
_ENUMERATOR = re.compile(rf"(?:\({_LABEL}\)|{_LABEL}[.)])(?:\s+|$)")
_FIELD = re.compile(r":(?![:\s])(?:[^:`\\]|\\.|:(?=\S))*?[^\s:`]:(?:\s+|$)")
_OPTION = re.compile(r"(?:--?|/)\w[\w-]*(?:[ =]<?[\w.-]+>?)?(?:, (?:--?|/)\w[\w-]*(?:[ =]<?[\w.-]+>?)?)*(?:\s{2,}|$)")
_EXPLICIT = re.compile(r"\.\.(?:\s+|$)")
_NOTE = re.compile(r"\[[^\]\s]+\](?:\s+|$)")
_TARGET = re.compile(r"_[^\s]|__:")
_ANONYMOUS = re.compile(r"__(?:\s|$)")
_ROLE = re.compile(r"(?::[\w:.+-]+:)?`([^`<]*?)(?:\s*<[^`>]*>)?`_{0,2}(?::[\w:.+-]+:)?")
_EMPHASIS = re.compile(r"\*{1,2}|\||\\(?=\W)|(?<=\w)_{1,2}(?!\w)")


@dataclass(frozen=True, slots=True)
class _Around:
    """What the blocks at one place belong to. `level` counts the lists around them."""

    kind: RegionKind
    level: int
    depth: int


def extract(data: bytes) -> Extract:
    """Return the source with its regions; raise `UnreadableFile` when it is no text."""
    return read_source(data, _read)


def _read(source: SourceText) -> Mapping[str, str]:
    _Reader(source).body(0, len(source), 0, _Around(RegionKind.PARAGRAPH, 0, 0))
    return {}


class _Reader:
    """Follows the lines of a document and marks its regions."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._styles: list[str] = []
        """The adornments of the sections, the highest rank first."""
        self._plain: set[int] = set()
        """Lines that begin a paragraph whatever they look like: the mark of a field or an option belongs to it."""
        self._opening = False
        """Whether the next list item is the first of its list."""
        self._readers: dict[str, Callable[[int, int, int, _Around], int]] = {
            "paragraph": self._paragraph,
            "definition": self._definition,
            "heading": self._heading,
            "explicit": self._explicit,
            "anonymous": self._anonymous,
            "grid": self._grid,
            "simple": self._simple,
            "doctest": self._doctest,
            "verse": self._verse,
            "option": self._field,
            "bullet": self._bullet,
            "enumerated": self._enumerated,
            "field": self._field,
        }

    def body(self, first: int, stop: int, indent: int, around: _Around) -> None:
        """Read the blocks of these lines, whose indent is `indent` or deeper."""
        source = self._source
        before = ""
        at = first
        while (at := source.past_blank(at, stop)) < stop:
            indent = min(indent, source.indents[at])
            if around.depth >= _DEEPEST:
                at = self._paragraph_lines(at, stop, around)
            elif source.indents[at] > indent:
                end = source.indented_end(at, stop, indent)
                inner = RegionKind.QUOTE if around.kind is RegionKind.PARAGRAPH else around.kind
                self.body(
                    at, end, source.least_indent(at, end) or 0, replace(around, kind=inner, depth=around.depth + 1)
                )
                at = end
            else:
                kind = self._kind(at, stop, indent, around)
                if kind in _LISTS:
                    self._opening = kind != before
                at = self._readers[kind](at, stop, indent, around)
                before = kind

    def _kind(self, at: int, stop: int, indent: int, around: _Around) -> str:
        """Return what kind of block begins on a line."""
        source = self._source
        line = source.lines[at]
        following = source.lines[at + 1] if at + 1 < stop else ""
        if at in self._plain:
            return "paragraph"
        if _EXPLICIT.match(line):
            return "explicit"
        if around.depth == 0 and self._is_heading(at, stop, line, following):
            return "heading"
        found = next((kind for kind, pattern in _KINDS if pattern.match(line)), "")
        if found == "enumerated" and not self._goes_on_as_item(at, stop, indent):
            found = ""
        if found:
            return found
        deeper = at + 1 < stop and source.indents[at + 1] > indent
        return "definition" if deeper and not line.endswith("::") else "paragraph"

    def _is_heading(self, at: int, stop: int, line: str, following: str) -> bool:
        if _ADORNMENT.fullmatch(line):
            overlined = at + 2 < stop and self._source.lines[at + 2] == line and bool(following)
            return overlined or len(line) >= 4
        under = _ADORNMENT.fullmatch(following)
        return under is not None and self._source.indents[at + 1] == 0 and len(following) >= min(4, len(line))

    def _goes_on_as_item(self, at: int, stop: int, indent: int) -> bool:
        """Return whether `A.` at the start of a line is an enumerator, and not an initial: the next line tells."""
        source = self._source
        if at + 1 >= stop or source.indents[at + 1] == BLANK:
            return True
        return source.indents[at + 1] > indent or _ENUMERATOR.match(source.lines[at + 1]) is not None

    def _heading(self, at: int, stop: int, _indent: int, _around: _Around) -> int:
        source = self._source
        line = source.lines[at]
        style, title = line[0], at
        if _ADORNMENT.fullmatch(line):
            if at + 2 >= stop or source.lines[at + 2] != line or not source.lines[at + 1]:
                source.mark_lines(RegionKind.MARKUP, at, at + 1)  # a transition between paragraphs
                return at + 1
            style, title = line[0] * 2, at + 1
            source.mark_lines(RegionKind.MARKUP, at, at + 1)
        else:
            style = source.lines[at + 1][0]
        if style not in self._styles:
            self._styles.append(style)
        level = self._styles.index(style) + 1
        text = _title(source.lines[title])
        source.mark(RegionKind.HEADING, source.starts[title], source.end(title), level=level, title=text)
        source.mark_lines(RegionKind.MARKUP, title + 1, title + 2)
        return title + 2

    def _paragraph_lines(self, at: int, stop: int, around: _Around) -> int:
        source = self._source
        end = at + 1
        while end < stop and source.indents[end] != BLANK:
            end += 1
        self._mark(source.starts[at], source.end(end - 1), around)
        return end

    def _mark(self, start: int, end: int, around: _Around) -> None:
        opens = around.kind is RegionKind.LIST_ITEM and self._opening
        self._source.mark(around.kind, start, end, level=around.level, opens=opens)
        self._opening = False

    def _paragraph(self, at: int, stop: int, indent: int, around: _Around) -> int:
        source = self._source
        end = at + 1
        while end < stop and source.indents[end] >= indent and not source.lines[end - 1].endswith("::"):
            end += 1
        start, last = source.starts[at], source.end(end - 1)
        literal = source.lines[end - 1].endswith("::")
        if literal:
            last -= 1 if source.text[last - 3 : last - 2].strip() and last - 3 >= start else 2
        self._mark(start, last, around)
        return self._literal(end, stop, indent) if literal else end

    def _literal(self, at: int, stop: int, indent: int) -> int:
        """Read the literal block behind a paragraph that ends in `::`: indented, or quoted by one sign."""
        source = self._source
        first = source.past_blank(at, stop)
        if first >= stop:
            return first
        end = source.indented_end(first, stop, indent)
        if end == first and first > at and not source.lines[first][0].isalnum():
            sign = source.lines[first][0]
            while end < stop and source.lines[end].startswith(sign):
                end += 1
        source.mark_lines(RegionKind.CODE, first, end)
        return max(at, end)

    def _definition(self, at: int, stop: int, indent: int, around: _Around) -> int:
        """Read a term, and what it means one level below."""
        source = self._source
        term = replace(around, kind=_item_kind(around), level=around.level + 1)
        self._mark(source.starts[at], source.end(at), term)
        end = source.indented_end(at + 1, stop, indent)
        self._below(at + 1, end, term)
        return end

    def _below(self, first: int, end: int, around: _Around) -> None:
        """Read what belongs to an item, one level below it."""
        self._opening = True
        deeper = replace(around, level=around.level + 1, depth=around.depth + 1)
        self.body(first, end, self._source.least_indent(first, end) or 0, deeper)

    def _item(self, at: int, stop: int, indent: int, around: _Around, mark: int) -> int:
        """Read a list item whose mark has so many characters."""
        source = self._source
        end = max(at + 1, source.indented_end(at + 1, stop, indent))
        source.begin_at(at, mark, indent=indent + mark)
        inner = replace(around, kind=_item_kind(around), level=around.level + 1, depth=around.depth + 1)
        self.body(at, end, indent + mark, inner)
        return end

    def _bullet(self, at: int, stop: int, indent: int, around: _Around) -> int:
        mark = _BULLET.match(self._source.lines[at])
        return self._item(at, stop, indent, around, mark.end() if mark else 0)

    def _enumerated(self, at: int, stop: int, indent: int, around: _Around) -> int:
        mark = _ENUMERATOR.match(self._source.lines[at])
        return self._item(at, stop, indent, around, mark.end() if mark else 0)

    def _field(self, at: int, stop: int, indent: int, around: _Around) -> int:
        """Read a field or an option with its name, without which its text says little. An empty field only sets."""
        source = self._source
        end = max(at + 1, source.indented_end(at + 1, stop, indent))
        mark = _FIELD.match(source.lines[at])
        if mark is not None and mark.end() == len(source.lines[at]) and end == at + 1:
            source.mark_lines(RegionKind.MARKUP, at, end)
            return end
        inner = replace(around, kind=_item_kind(around), level=around.level + 1, depth=around.depth + 1)
        least = source.least_indent(at + 1, end)
        self._plain.add(at)
        if least is not None:
            source.indents[at] = least
        self.body(at, end, source.indents[at], inner)
        return end

    def _doctest(self, at: int, stop: int, _indent: int, _around: _Around) -> int:
        end = at
        while end < stop and self._source.indents[end] != BLANK:
            end += 1
        self._source.mark_lines(RegionKind.CODE, at, end)
        return end

    def _verse(self, at: int, _stop: int, _indent: int, around: _Around) -> int:
        """Read a line of a block whose line breaks are kept."""
        source = self._source
        source.begin_at(at, 1, indent=source.indents[at])
        self._mark(source.starts[at], source.end(at), around)
        return at + 1

    def _anonymous(self, at: int, _stop: int, _indent: int, _around: _Around) -> int:
        self._source.mark_lines(RegionKind.MARKUP, at, at + 1)
        return at + 1

    def _grid(self, at: int, stop: int, indent: int, around: _Around) -> int:
        return mark_grid(self._source, at, stop) or self._paragraph(at, stop, indent, around)

    def _simple(self, at: int, stop: int, indent: int, around: _Around) -> int:
        return mark_simple(self._source, at, stop) or self._paragraph(at, stop, indent, around)

    def _explicit(self, at: int, stop: int, indent: int, around: _Around) -> int:
        """Read what begins with two dots: a note, a target, a directive or a comment."""
        source = self._source
        line = source.lines[at]
        dots = _EXPLICIT.match(line)
        mark = dots.end() if dots else 2
        blank_below = at + 1 < stop and source.indents[at + 1] == BLANK
        end = at + 1 if mark >= len(line) and blank_below else max(at + 1, source.indented_end(at + 1, stop, indent))
        note = _NOTE.match(line, mark)
        found = directives.parse(source, at, end, mark)
        if note is not None:
            source.begin_at(at, note.end(), indent=indent + 3)
            least = min(indent + 3, source.least_indent(at + 1, end) or indent + 3)
            self.body(at, end, least, replace(around, kind=RegionKind.FOOTNOTE, depth=around.depth + 1))
        elif found is not None and not _TARGET.match(line, mark):
            self._directive(found, at, end, around)
        else:
            source.mark_lines(RegionKind.MARKUP, at, end)
        return end

    def _directive(self, found: Directive, at: int, end: int, around: _Around) -> None:
        source = self._source
        content = source.past_blank(found.content, end)
        if found.use in {Use.TEXT, Use.RELEASE}:
            self._text_directive(found, at, end, around)
            return
        head = source.starts[at] + found.argument
        source.mark(RegionKind.MARKUP, source.starts[at], head)
        match found.use:
            case Use.CODE | Use.SKIPPED | Use.CONTENTS:
                kind = {Use.CODE: RegionKind.CODE, Use.CONTENTS: RegionKind.CONTENTS}.get(found.use, RegionKind.MARKUP)
                math = found.name == "math" and found.argument < len(source.lines[at])
                source.mark(RegionKind.CODE if math else RegionKind.MARKUP, head, source.end(found.options - 1))
                source.mark_lines(RegionKind.MARKUP, found.options, content)
                source.mark_lines(kind, content, end)
                return
            case Use.OBJECT:
                named = replace(around, kind=_item_kind(around), level=around.level + 1)
                for line in range(at, found.options):
                    start = head if line == at else source.starts[line]
                    self._mark(start, source.end(line), named)
                source.mark_lines(RegionKind.MARKUP, found.options, content)
                self._below(content, end, named)
                return
            case Use.TITLED:
                source.mark(RegionKind.CAPTION, head, source.end(found.options - 1))
            case _:
                source.mark(RegionKind.MARKUP, head, source.end(found.options - 1))
        if found.name == "csv-table":
            mark_csv(source, found.options, content, end, header=found.header_rows)
            return
        source.mark_lines(RegionKind.MARKUP, found.options, content)
        if found.name == "list-table":
            mark_list_table(source, content, end, header=found.header_rows)
        else:
            if found.use is Use.FIGURE and content < end:
                content = self._paragraph_lines(content, end, replace(around, kind=RegionKind.CAPTION))
            inner = replace(around, depth=around.depth + 1)
            self.body(content, end, source.least_indent(content, end) or 0, inner)

    def _text_directive(self, found: Directive, at: int, end: int, around: _Around) -> None:
        """Read a directive whose argument is text already. The release in `versionadded` needs the word before it."""
        source = self._source
        least = source.least_indent(at + 1, end)
        if found.use is Use.RELEASE:
            self._plain.add(at)
            source.indents[at] = least if least is not None else source.indents[at]
        else:
            source.begin_at(at, found.argument, indent=least if least is not None else source.indents[at])
        if found.content > found.options and source.indents[at] == BLANK:
            source.mark_lines(RegionKind.MARKUP, found.options, found.content)
            at = found.content
        inner = replace(around, depth=around.depth + 1)
        self.body(at, end, source.least_indent(at, end) or 0, inner)


_KINDS = (
    ("anonymous", _ANONYMOUS),
    ("grid", GRID),
    ("simple", SIMPLE),
    ("doctest", re.compile(r">>> ")),
    ("verse", re.compile(r"\|(?:\s|$)")),
    ("option", _OPTION),
    ("bullet", _BULLET),
    ("enumerated", _ENUMERATOR),
    ("field", _FIELD),
)


_LISTS = frozenset({"bullet", "enumerated", "definition", "field", "option", "explicit"})


def _item_kind(around: _Around) -> RegionKind:
    return around.kind if around.kind is RegionKind.FOOTNOTE else RegionKind.LIST_ITEM


def _title(line: str) -> str:
    """Return a heading as people read it: without roles, targets and emphasis."""
    return " ".join(_EMPHASIS.sub("", _ROLE.sub(r"\1", line.replace("``", ""))).split())
