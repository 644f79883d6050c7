"""Directives of reStructuredText and Sphinx: which of them hold text, and which only instruct a program."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto

from quoth.documents.formats.source.source_text import BLANK, SourceText

_DIRECTIVE = re.compile(r"(?:\|[^|]+\|\s+)?(?P<name>[A-Za-z][\w:.+-]*?)\s?::(?:\s+|$)")
_OPTION = re.compile(r":[\w-]+(?:\s[^:]*)?:(?:\s|$)")
_HEADER_ROWS = re.compile(r":header-rows:\s*(\d{1,2})$")


class Use(Enum):
    """What a directive does with its argument and its content."""

    TEXT = auto()
    """Both are text: `.. note:: Mind the gap.`"""
    RELEASE = auto()
    """The argument is a release, then text: `.. versionadded:: 3.2`"""
    CODE = auto()
    CONTENTS = auto()
    TITLED = auto()
    """The argument is a title, the content text."""
    FIGURE = auto()
    """The argument is a file; the content begins with its caption."""
    OBJECT = auto()
    """The argument names what the content describes: `.. function:: sow(depth)`"""
    WRAPPER = auto()
    """The argument instructs, the content is text."""
    SKIPPED = auto()


_USES = {
    **dict.fromkeys(
        """attention caution danger error hint important note tip warning seealso todo epigraph highlights pull-quote
        impl-detail centered""".split(),
        Use.TEXT,
    ),
    **dict.fromkeys("deprecated deprecated-removed versionadded versionchanged versionremoved".split(), Use.RELEASE),
    **dict.fromkeys(
        """code code-block sourcecode parsed-literal math productionlist testcode testoutput testsetup testcleanup
        doctest prompt ipython graphviz digraph graph uml mermaid literalinclude highlight-block jupyter-execute
        code-cell""".split(),
        Use.CODE,
    ),
    **dict.fromkeys("contents toctree autosummary".split(), Use.CONTENTS),
    **dict.fromkeys("admonition topic sidebar rubric table csv-table list-table flat-table".split(), Use.TITLED),
    "figure": Use.FIGURE,
    **dict.fromkeys("compound container only ifconfig class-wrapper rst-class hlist tabs grid".split(), Use.WRAPPER),
    **dict.fromkeys(
        """raw include image index highlight meta sectnum section-numbering default-role role currentmodule module
        tabularcolumns header footer title replace unicode date target-notes bibliography program
        sectionauthor moduleauthor codeauthor acks restructuredtext-test-directive""".split(),
        Use.SKIPPED,
    ),
}


@dataclass(frozen=True, slots=True)
class Directive:
    """A directive, by its lines. The argument begins on the first line, and may go on until `options`.

    `argument` counts the characters of the first line before it.
    """

    name: str
    use: Use
    argument: int
    options: int
    content: int
    header_rows: int


def parse(source: SourceText, at: int, end: int, mark: int) -> Directive | None:
    """Return the directive that begins on a line behind so many characters of its mark, None when it is none."""
    found = _DIRECTIVE.match(source.lines[at], mark)
    if found is None:
        return None
    name = found["name"].lower()
    domain, _, local = name.rpartition(":")
    options = at + 1
    while options < end and source.indents[options] != BLANK and not _OPTION.match(source.lines[options]):
        options += 1
    content = options
    while content < end and source.indents[content] != BLANK:
        content += 1
    rows = [_HEADER_ROWS.match(source.lines[line]) for line in range(options, content)]
    header_rows = sum(int(row[1]) for row in rows if row)
    use = _use(name, local if domain in {"py", "std"} else name, described=source.past_blank(content, end) < end)
    if options == content and use in {Use.CODE, Use.WRAPPER} and found.end() == len(source.lines[at]):
        options = content = at + 1  # without a blank line the content begins at once
    return Directive(name, use, found.end(), options, content, header_rows)


def _use(name: str, local: str, *, described: bool) -> Use:
    if (known := _USES.get(name) or _USES.get(local)) is not None:
        return known
    if name.startswith("auto"):
        return Use.OBJECT if described else Use.SKIPPED
    return Use.OBJECT if described or ":" in name or name in _OBJECTS else Use.SKIPPED


_OBJECTS = frozenset(
    """function method class attribute data exception classmethod staticmethod property decorator option cmdoption
    envvar describe object confval opcode macro type member var cfunction glossary term""".split()
)
"""Directives that name something even where nothing describes it."""
