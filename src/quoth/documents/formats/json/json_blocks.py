"""JSON values as blocks, whatever their shape.

The short values of an object say little alone, so they make one row: `crop: barley | depth: 3 cm`. A list of objects
with short values is a table. A longer string is a paragraph under its key.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from quoth.documents.text_blocks import CELL_GAP, Block, row_text
from quoth.errors import UnreadableFile
from quoth.types import RegionKind

MOST_BLOCKS = 400_000
"""Rows, paragraphs and headings of a file."""

_LONGEST_SHORT = 120
_LONGEST_ROW = 600
_MOST_COLUMNS = 50
_LEAST_FILLED = 0.5
_MOST_NUMBERS = 20
_LOWEST_HEADING = 6
_MOST_NAMED = 5
_UNSEEN = re.compile("[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")
"""What a string may escape (`\\u0000`, half a pair), but no text can hold."""
_BLANK_LINES = re.compile(r"\r?\n[^\S\n]*\r?\n\s*")


class Number(str):
    """A number as it is written in the file."""

    __slots__ = ()


class Titled(Protocol):
    def title_of(self, record: Any) -> str: ...  # noqa: ANN401 - JSON holds anything


def shown(value: object) -> str:
    """Return a single value in one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return " ".join(_UNSEEN.sub("\N{REPLACEMENT CHARACTER}", str(value)).split())


def paragraphs(text: str) -> list[Block]:
    """Return the paragraphs of a string, which blank lines separate; their own line ends stay."""
    whole = _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", text)
    parts = (part.strip() for part in _BLANK_LINES.split(whole))
    return [Block(RegionKind.PARAGRAPH, part, level=0, opens=False) for part in parts if part]


class JsonBlocks:
    """Makes blocks of values, and remembers which lists of numbers it left out."""

    def __init__(self, titles: Titled) -> None:
        self._titles = titles
        self._count = 0
        self._left_out: dict[str, None] = {}

    def notes(self) -> list[str]:
        if not self._left_out:
            return []
        more = " and others" if len(self._left_out) > _MOST_NAMED else ""
        return [f"Long lists of numbers are not read: {', '.join(list(self._left_out)[:_MOST_NAMED])}{more}."]

    def blocks(self, value: Any, *, level: int) -> list[Block]:  # noqa: ANN401
        """Return the blocks of a value. Headings begin at `level`. Raise `UnreadableFile` where there are too many."""
        found = []
        for block in self._value(value, "", level):
            self._count += 1
            if self._count > MOST_BLOCKS:
                hint = "Split it, or name the fields that hold text with ingest.json_text."
                raise UnreadableFile("", f"it holds more than {MOST_BLOCKS:,} values", hint=hint)
            found.append(block)
        return found

    def _value(self, value: Any, key: str, level: int) -> Iterator[Block]:  # noqa: ANN401
        if isinstance(value, dict):
            yield from self._object(value, level)
        elif isinstance(value, list):
            yield from self._list(value, key, level)
        elif isinstance(value, str) and not isinstance(value, Number):
            yield from paragraphs(value)
        elif value is not None:
            yield Block(RegionKind.PARAGRAPH, shown(value), level=0, opens=False)

    def _object(self, value: dict[str, Any], level: int) -> Iterator[Block]:
        short = {key: text for key, held in value.items() if (text := _short(held)) is not None}
        pairs = [f"{shown(key)}: {text}" for key, text in short.items() if text]
        for opens, row in _rows(pairs):
            yield Block(RegionKind.TABLE_ROW, row, level=0, opens=opens)
        for key, held in value.items():
            if key not in short and (inside := list(self._value(held, shown(key), level + 1))):
                yield _heading(shown(key), level)
                yield from inside

    def _list(self, value: list[Any], key: str, level: int) -> Iterator[Block]:
        if _is_numbers(value):
            self._left_out.setdefault(key or "the file itself")
        elif table := _table(value):
            yield from table
        elif all(isinstance(element, str | bool) or element is None for element in value):
            texts = [shown(element) for element in value if element is not None]
            yield from (
                Block(RegionKind.LIST_ITEM, text, level=1, opens=at == 0) for at, text in enumerate(texts) if text
            )
        else:
            for at, element in enumerate(value):
                inside = list(self._value(element, f"{key}[{at}]", level + 1))
                if inside:
                    yield _heading(self._titles.title_of(element) or f"{key}[{at}]", level)
                    yield from inside


def _heading(text: str, level: int) -> Block:
    return Block(RegionKind.HEADING, text or "-", level=min(level, _LOWEST_HEADING), opens=False)


def _short(value: Any) -> str | None:  # noqa: ANN401
    """Return a value that fits into a row, the empty string for nothing; None for one that does not fit."""
    if value is None:
        return ""
    if isinstance(value, list):
        if not all(isinstance(element, str | bool) or element is None for element in value):
            return None
        texts = [_short(element) for element in value]
        together = ", ".join(filter(None, texts))
        return None if None in texts or len(together) > _LONGEST_SHORT else together
    if isinstance(value, dict):
        return None if value else ""
    text = shown(value)
    fits = len(text) <= _LONGEST_SHORT and not (isinstance(value, str) and "\n" in value.strip())
    return text if fits else None


def _rows(pairs: Iterable[str]) -> Iterator[tuple[bool, str]]:
    """Yield the pairs of an object as one row, or more where they are many; and whether it is the first."""
    row: list[str] = []
    opens = True
    for pair in pairs:
        if row and sum(map(len, row)) + len(pair) > _LONGEST_ROW:
            yield opens, CELL_GAP.join(row)
            row, opens = [], False
        row.append(pair)
    if row:
        yield opens, CELL_GAP.join(row)


def _is_numbers(value: list[Any]) -> bool:
    """Return whether a list holds many numbers and nothing else, also in lists inside it, such as coordinates."""
    count = 0
    waiting = [value]
    while waiting:
        for element in waiting.pop():
            if isinstance(element, list):
                waiting.append(element)
            elif isinstance(element, Number):
                count += 1
            elif element is not None:
                return False
    return count > _MOST_NUMBERS


def _table(value: list[Any]) -> list[Block]:
    """Return a list of objects with short values as a table, a list of lists as its rows; nothing for other lists."""
    if len(value) < 2:
        return []
    if all(isinstance(element, dict) for element in value):
        rows = [{key: _short(held) for key, held in element.items()} for element in value]
        columns = list(dict.fromkeys(key for row in rows for key in row))
        if (
            len(columns) < 2
            or len(columns) > _MOST_COLUMNS
            or any(text is None for row in rows for text in row.values())
        ):
            return []
        if sum(map(len, rows)) < _LEAST_FILLED * len(rows) * len(columns):
            return []
        header = Block(RegionKind.TABLE_HEADER, row_text([shown(key) for key in columns]), level=0, opens=True)
        texts = [[row.get(key) or "" for key in columns] for row in rows]
        return [header, *_lines(texts, opens=False)]
    if all(isinstance(element, list) and element for element in value):
        cells = [[_short(held) for held in element] for element in value]
        if all(text is not None for row in cells for text in row):
            return _lines([[text or "" for text in row] for row in cells], opens=True)
    return []


def _lines(rows: Sequence[Sequence[str]], *, opens: bool) -> list[Block]:
    texts = [text for row in rows if (text := row_text(row))]
    return [
        Block(RegionKind.TABLE_ROW, text, level=0, opens=opens and at == 0) for at, text in enumerate(texts) if text
    ]
