"""The text of a file in a markup language: its lines, and the regions that a reader of that language marks in it.

The canonical text is the file as decoded, so that every region is an exact slice of the source.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from quoth.documents.encodings import decode
from quoth.documents.text_blocks import Block, RegionBuilder, covered
from quoth.language.spans import trim
from quoth.types import Extract, Region, RegionKind

BLANK = -1
"""The indent of a line without visible text."""
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|\Z)")
_TAB = 8


class SourceText:
    """The lines of a text, and the regions marked so far.

    A reader may move the start of a line behind a mark (`- `, `.. [1]`): the line then begins there, as deep as its
    text is indented, and what lies before it becomes markup.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines: list[str] = []
        """Each line from its start on, without its line end and the white space around it."""
        self.starts: list[int] = []
        """The offset of the first visible character of each line."""
        self.indents: list[int] = []
        """The column of that character, or `BLANK`."""
        first = int(text.startswith("\ufeff"))
        for found in _LINE.finditer(text, first):
            whole = found[0]
            if not whole and found.start() == len(text):
                break
            line = whole.strip()
            left = len(whole) - len(whole.lstrip()) if line else 0
            self.lines.append(line)
            self.starts.append(found.start() + left)
            self.indents.append(len(whole[:left].expandtabs(_TAB)) if line else BLANK)
        self._builder = RegionBuilder(text)
        self._regions: list[Region] = []
        self._at = 0

    def __len__(self) -> int:
        return len(self.lines)

    def end(self, line: int) -> int:
        """Return the offset behind the last visible character of a line."""
        return self.starts[line] + len(self.lines[line])

    def begin_at(self, line: int, skipped: int, *, indent: int) -> None:
        """Let a line begin `skipped` characters later, at column `indent`, and pass over white space."""
        self.mark(RegionKind.MARKUP, self.starts[line], self.starts[line] + skipped)
        rest = self.lines[line][skipped:]
        content = rest.lstrip()
        self.starts[line] += len(self.lines[line]) - len(content) if content else len(self.lines[line])
        self.lines[line] = content
        self.indents[line] = indent if content else BLANK

    def past_blank(self, line: int, stop: int) -> int:
        """Return the first line from `line` on that is not blank, or `stop`."""
        while line < stop and self.indents[line] == BLANK:
            line += 1
        return line

    def indented_end(self, line: int, stop: int, indent: int) -> int:
        """Return the line behind the block from `line` on that is indented by more than `indent`."""
        end = line
        for at in range(line, stop):
            if self.indents[at] > indent:
                end = at + 1
            elif self.indents[at] != BLANK:
                break
        return end

    def least_indent(self, line: int, stop: int) -> int | None:
        """Return the indent that all these lines share, None when all are blank."""
        return min((self.indents[at] for at in range(line, stop) if self.indents[at] != BLANK), default=None)

    def mark(
        self, kind: RegionKind, start: int, end: int, *, level: int = 0, opens: bool = False, title: str = ""
    ) -> None:
        """Make `[start, end)` a region. Regions come in reading order; what is marked already stays as it is."""
        span = trim(self.text, max(start, self._at), min(end, len(self.text))) if start < end else None
        if span is None:
            return
        self._regions.append(self._builder.region(Block(kind, title, level, opens), span))
        self._at = span.end

    def mark_lines(self, kind: RegionKind, first: int, stop: int) -> None:
        """Make these lines one region."""
        while stop > first and self.indents[stop - 1] == BLANK:
            stop -= 1
        first = self.past_blank(first, stop)
        if first < stop:
            self.mark(kind, self.starts[first], self.end(stop - 1))

    def extract(self, properties: Mapping[str, str]) -> Extract:
        """Return the whole text; what no region holds is named by `covered`."""
        return Extract(self.text, covered(self.text, self._regions), (), (), properties, ())


def read_source(data: bytes, read: Callable[[SourceText], Mapping[str, str]]) -> Extract:
    """Decode a file and let `read` mark its regions; it returns what the file says of itself."""
    text, _ = decode(data, label="")
    source = SourceText(text)
    return source.extract(read(source))
