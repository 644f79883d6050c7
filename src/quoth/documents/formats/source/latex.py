"""LaTeX source, read by its structure: sections, paragraphs, items, equations, tables, captions and listings.

Commands inside a sentence stay (`\\cite{ann}`, `\\emph{never}`): a quote is a slice of the source. What only instructs
the program, the preamble and comments are markup. Macros are not expanded, and no file is included.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from quoth.documents.formats.source.latex_commands import (
    CODE,
    DEFINITIONS,
    GRAPHICS,
    LEVELS,
    LISTS,
    MATH,
    QUOTES,
    RULES,
    SILENT,
    SWITCHES,
    TABLES,
    plain_title,
)
from quoth.documents.formats.source.source_text import SourceText, read_source
from quoth.types import Extract, RegionKind

VERSION = "latex / 1"

_FRAME_LEVEL = 9
"""The rank of a slide's title: below every section."""
_LONGEST_ARGUMENT = 5_000
_DEEPEST = 100  # environments in each other
_DOCUMENT = re.compile(r"^[^%\r\n]*?(\\begin\s*\{document\})", re.M)
_END_DOCUMENT = "\\end{document}"
_TITLE = re.compile(r"^[^%\r\n]*?\\title\s*(?=[\[{])", re.M)
_EVENT = re.compile(
    r"""
    \\verb\*?(?P<delimiter>[^A-Za-z\s*])[^\r\n]*?(?P=delimiter)
  | \\begin\s*\{(?P<begin>[^{}\\\r\n]{1,60})\}
  | \\end\s*\{(?P<end>[^{}\\\r\n]{1,60})\}
  | (?P<display>\\\[|\$\$)
  | \\(?P<command>[A-Za-z@]+)\*?
  | \\.
  | (?P<comment>%[^\r\n]*)
  | (?P<blank>(?>\r\n?|\n)[ \t]*(?>\r\n?|\n)\s*)
    """,
    re.VERBOSE | re.DOTALL,
)
_BRACE = re.compile(r"\\.|%[^\r\n]*|[{}]", re.S)
_OPTION = re.compile(r"\s*\[[^\[\]]{0,500}(?:\[[^\[\]]{0,200}\][^\[\]]{0,500})*\]")
_SPACE = re.compile(r"[ \t]*(?:%[^\r\n]*)?(?:\r\n?|\n)?[ \t]*")
_DEFINED = re.compile(r"\s*(?:\\[A-Za-z@]+|\\.)[^{}\r\n]{0,80}")
_BLANK = re.compile(r"\s*")
_WORD = re.compile(r"[^\W\d_]")
_COMMAND = re.compile(r"\\[A-Za-z@]+\*?|\\.|%[^\r\n]*")
_TRAILING = re.compile(
    r"\\(?:label|index|vspace|hspace|medskip|bigskip|smallskip|newline|par|qed|noindent)\*?(?:\{[^{}]*\})?\s*$"
)
_CLOSED = re.compile(r"[.!?:;][\"'”’)\]}]*\s*$")
_ROW_END = re.compile(  # or what must be passed over
    r"\\\\\*?(?:\[[^\]\r\n]{0,20}\])?|\\tabularnewline(?![A-Za-z])|\\begin\s*\{[^{}]*\}|\\end\s*\{[^{}]*\}|\\.|[{}]|%[^\r\n]*",
    re.S,
)


@dataclass(slots=True)
class _Environment:
    name: str
    kind: RegionKind
    depth: int
    """How many lists are open."""
    opened: bool
    """Whether an item of this list has been read."""


def extract(data: bytes) -> Extract:
    """Return the source with its regions; raise `UnreadableFile` when it is no text."""
    return read_source(data, lambda source: _Reader(source).read())


class _Reader:
    """Follows the commands of a document and marks the runs of text between them."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._text = source.text
        self._around = [_Environment("document", RegionKind.PARAGRAPH, 0, opened=True)]
        self._unclosed: set[str] = set()
        """Ends that do not come any more, so that they are not looked for again."""
        self._closing = _matching_braces(source.text)
        self._begun = 0
        """Where the text that is being read begins."""

    def read(self) -> Mapping[str, str]:
        text = self._text
        begin = _DOCUMENT.search(text)
        if begin is not None:
            self._skip(0, begin.end(1))
        # An example in the text may hold the command that ends the document, so the last one counts.
        last = text.rfind(_END_DOCUMENT, self._begun)
        stop = last if last >= 0 else len(text)
        at = self._begun
        while (event := _EVENT.search(text, at, stop)) is not None:
            at = max(self._event(event, stop), event.end() if event.end() > event.start() else at + 1)
        self._flush(stop)
        self._skip(stop, len(text))
        title = _TITLE.search(text)
        named = plain_title(text[slice(*self._group(title.end()))]) if title else ""
        return {"title": named} if named else {}

    def _event(self, event: re.Match[str], stop: int) -> int:
        """Read one command, comment or break, and return where reading goes on."""
        if event["blank"]:
            self._flush(event.start())
            self._begun = event.end()
        elif event["comment"]:
            return self._comment(event)
        elif event["begin"]:
            return self._begin(event, stop)
        elif event["end"]:
            self._end(event)
        elif event["display"]:
            closing = "\\]" if event["display"] == "\\[" else "$$"
            return self._display(event.start(), event.end(), closing, stop)
        elif event["command"]:
            return self._command(event, event["command"])
        return event.end()

    def _comment(self, event: re.Match[str]) -> int:
        """Leave out a comment, but not in the middle of a sentence: that would cut it."""
        before = self._text[max(self._begun, event.start() - 40) : event.start()]
        if self._is_fresh(event.start()) or _CLOSED.search(before):
            self._flush(event.start())
            self._skip(event.start(), event.end())
        return event.end()

    def _command(self, event: re.Match[str], name: str) -> int:
        start, end = event.span()
        level = _FRAME_LEVEL if name in {"frametitle", "framesubtitle"} else LEVELS.get(name)
        if level is not None:
            return self._heading(start, end, level)
        if name in {"caption", "captionof", "subcaption"}:
            return self._caption(start, end, name)
        if name in {"item", "bibitem"}:
            return self._item(start, end, name)
        if name == "par":
            self._flush(start)
            self._skip(start, end)
            return end
        return self._instruction(start, end, name)

    def _instruction(self, start: int, end: int, name: str) -> int:
        """Pass over a command that only instructs; inside a sentence it stays, as does any other command."""
        if name in DEFINITIONS:
            defined = _DEFINED.match(self._text, end) if name.endswith("def") or name == "let" else None
            end = self._arguments(defined.end() if defined else end)
        elif name in SILENT:
            end = self._arguments(end)
        elif name not in SWITCHES:
            return end
        if self._is_fresh(start):
            self._skip(start, end)
        return end

    def _is_fresh(self, at: int) -> bool:
        """Return whether only white space was read since the last region."""
        blank = _BLANK.match(self._text, self._begun, at)
        return blank is not None and blank.end() == at

    def _heading(self, start: int, end: int, level: int) -> int:
        option = _OPTION.match(self._text, end)
        opened, closed = self._group(option.end() if option else end)
        if closed <= opened:
            return end
        self._flush(start)
        self._skip(start, opened)
        title = plain_title(self._text[opened:closed])
        self._source.mark(RegionKind.HEADING, opened, closed, level=level, title=title)
        self._skip(closed, closed + 1)
        return self._begun

    def _item(self, start: int, end: int, name: str) -> int:
        """Begin an item or a reference. The label of an item is text: `\\item[Depth] Sow at 3 cm.`"""
        around = self._around[-1]
        if name == "bibitem" and around.kind is RegionKind.FOOTNOTE:
            end = self._arguments(end)
        elif around.kind is not RegionKind.LIST_ITEM:
            return end
        self._flush(start)
        self._skip(start, end)
        return end

    def _caption(self, start: int, end: int, name: str) -> int:
        if name == "captionof":
            _, kind_end = self._group(end)
            end = max(end, kind_end + 1)
        option = _OPTION.match(self._text, end)
        opened, closed = self._group(option.end() if option else end)
        if closed <= opened:
            return end
        self._flush(start)
        self._skip(start, opened)
        self._source.mark(RegionKind.CAPTION, opened, closed)
        self._skip(closed, closed + 1)
        return self._begun

    def _begin(self, event: re.Match[str], stop: int) -> int:
        name = event["begin"].strip()
        bare = name.rstrip("*")
        self._flush(event.start())
        if bare in MATH or bare in CODE or bare in GRAPHICS:
            kind = RegionKind.MARKUP if bare in GRAPHICS else RegionKind.CODE
            return self._whole(event.start(), event.end(), f"\\end{{{name}}}", kind, stop, options=bare in CODE)
        if bare in TABLES:
            return self._table(event.start(), event.end(), f"\\end{{{name}}}", stop)
        above = self._around[-1]
        kind, depth = above.kind, above.depth
        if bare in LISTS:
            kind, depth = RegionKind.LIST_ITEM, depth + 1
        elif bare == "thebibliography":
            kind = RegionKind.FOOTNOTE
        elif bare in QUOTES and kind is RegionKind.PARAGRAPH:
            kind = RegionKind.QUOTE
        if len(self._around) < _DEEPEST:
            self._around.append(_Environment(name, kind, depth, opened=bare not in LISTS))
        end = event.end()
        if bare == "frame":
            option = _OPTION.match(self._text, end)
            at = option.end() if option else end
            if self._text.startswith("{", at):
                return self._heading(event.start(), at, _FRAME_LEVEL)
        end = self._arguments(end) if bare in LISTS or bare in {"minipage", "thebibliography"} else self._options(end)
        self._skip(event.start(), end)
        return end

    def _end(self, event: re.Match[str]) -> None:
        self._flush(event.start())
        names = [environment.name for environment in self._around]
        name = event["end"].strip()
        if name in names[1:]:
            del self._around[len(names) - 1 - names[::-1].index(name) :]
        self._skip(event.start(), event.end())

    def _display(self, start: int, end: int, closing: str, stop: int) -> int:
        """Read a formula set apart; where its end is missing, the sign is text."""
        if self._find(closing, end, stop) is None:
            return end
        self._flush(start)
        return self._whole(start, end, closing, RegionKind.CODE, stop, options=False)

    def _whole(self, start: int, end: int, closing: str, kind: RegionKind, stop: int, *, options: bool) -> int:
        """Read an environment as one region, up to its end; where that is missing, it is text."""
        closed = self._find(closing, end, stop)
        if closed is None:
            self._skip(start, end)
            return end
        inner = self._options(end) if options else end
        inner = min(inner, closed)
        self._skip(start, inner)
        self._source.mark(kind, inner, closed)
        self._skip(closed, closed + len(closing))
        return self._begun

    def _find(self, closing: str, start: int, stop: int) -> int | None:
        if closing in self._unclosed:
            return None
        found = self._text.find(closing, start, stop)
        if found < 0:
            self._unclosed.add(closing)
            return None
        return found

    def _table(self, start: int, end: int, closing: str, stop: int) -> int:
        """Mark the rows of a table. The first row is the header where a rule follows it."""
        closed = self._find(closing, end, stop)
        if closed is None:
            self._skip(start, end)
            return end
        at = min(self._arguments(end), closed)
        self._skip(start, at)
        rows = self._rows(at, closed)
        ruled = [bool(RULES.match(self._text, first)) for first, _ in rows]
        headed = len(rows) > 2 and ruled[1] and sum(ruled) < len(rows)
        for number, (first, last) in enumerate(rows):
            self._row(first, last, header=headed and number == 0, opens=number == 0)
        self._skip(closed, closed + len(closing))
        return self._begun

    def _rows(self, start: int, stop: int) -> list[tuple[int, int]]:
        """Return the rows between two offsets: each ends in `\\\\`, but not inside braces or an inner table."""
        rows: list[tuple[int, int]] = []
        depth = 0
        for found in _ROW_END.finditer(self._text, start, stop):
            sign = found[0]
            if sign == "{" or sign.startswith("\\begin"):
                depth += 1
            elif sign == "}" or sign.startswith("\\end"):
                depth = max(0, depth - 1)
            elif depth == 0 and sign.startswith(("\\\\", "\\tabularnewline")):
                rows.append((start, found.start()))
                start = found.end()
        return [*rows, (start, stop)]

    def _row(self, first: int, last: int, *, header: bool, opens: bool) -> None:
        while (rule := RULES.match(self._text, first, last)) is not None and rule.end() > first:
            first = rule.end()
        self._skip(self._begun, first)
        row = self._text[first:last]
        if row.lstrip().startswith("\\caption"):
            event = _EVENT.search(self._text, first)
            if event is not None:
                self._begun = event.start()
                self._caption(event.start(), event.end(), "caption")
        elif _WORD.search(_COMMAND.sub("", row)) or re.search(r"\d", row):
            kind = RegionKind.TABLE_HEADER if header else RegionKind.TABLE_ROW
            self._source.mark(kind, first, last, opens=opens)
        self._skip(last, last)

    def _flush(self, end: int) -> None:
        """End the text that is being read, and mark it by what is around it."""
        start, stop = self._begun, end
        self._begun = end
        if start >= stop:
            return
        while (tail := _TRAILING.search(self._text, max(start, stop - 200), stop)) is not None:
            stop = tail.start()
        if not _WORD.search(_COMMAND.sub("", self._text[start:stop])):
            self._source.mark(RegionKind.MARKUP, start, end)
            return
        around = self._around[-1]
        level = around.depth if around.kind is RegionKind.LIST_ITEM else 0
        self._source.mark(around.kind, start, stop, level=level, opens=level > 0 and not around.opened)
        around.opened = True
        self._source.mark(RegionKind.MARKUP, stop, end)

    def _skip(self, start: int, end: int) -> None:
        self._source.mark(RegionKind.MARKUP, start, end)
        self._begun = max(self._begun, end)

    def _group(self, at: int) -> tuple[int, int]:
        """Return the inside of the braces that open at an offset; an empty range where none do, or none close."""
        opened = _SPACE.match(self._text, at)
        at = opened.end() if opened else at
        if not self._text.startswith("{", at):
            return at, at
        closed = self._closing.get(at, at)
        return (at + 1, closed) if at < closed <= at + _LONGEST_ARGUMENT else (at, at)

    def _arguments(self, at: int) -> int:
        """Return the offset behind the arguments, in braces and brackets, that begin at an offset."""
        while True:
            option = _OPTION.match(self._text, at)
            if option is not None and "\n\n" not in option[0]:
                at = option.end()
                continue
            opened, closed = self._group(at)
            if closed <= opened and not self._text.startswith("}", closed):
                return at
            if self._text[opened - 1 : opened] != "{":
                return at
            at = closed + 1

    def _options(self, at: int) -> int:
        """Return the offset behind the arguments in brackets, and short ones in braces, which name or measure."""
        option = _OPTION.match(self._text, at)
        at = option.end() if option else at
        if self._text.startswith("{", at):
            opened, closed = self._group(at)
            if opened < closed < opened + 60 and " " not in self._text[opened:closed]:
                return closed + 1
        return at


def _matching_braces(text: str) -> dict[int, int]:
    """Return where each brace closes, by the offset where it opens. One that is left open is not there."""
    opened: list[int] = []
    closing: dict[int, int] = {}
    for brace in _BRACE.finditer(text):
        if brace[0] == "{":
            opened.append(brace.start())
        elif brace[0] == "}" and opened:
            closing[opened.pop()] = brace.start()
    return closing
