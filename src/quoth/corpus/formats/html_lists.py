"""The marks of list items as a reader sees them."""

from __future__ import annotations

import re

from quoth.corpus.formats.html_tree import Element

_STYLE = re.compile(r"list-style(?:-type)?:([a-z-]+)")
_TYPES = {"1": "decimal", "a": "lower-alpha", "A": "upper-alpha", "i": "lower-roman", "I": "upper-roman"}
_ROMAN = (
    (1000, "m"),
    (900, "cm"),
    (500, "d"),
    (400, "cd"),
    (100, "c"),
    (90, "xc"),
    (50, "l"),
    (40, "xl"),
    (10, "x"),
    (9, "ix"),
    (5, "v"),
    (4, "iv"),
    (1, "i"),
)
_GREEK = "αβγδεζηθικλμνξοπρστυφχψω"
_BULLET = "• "


class Marks:
    """Gives each item of one list its mark, in order."""

    def __init__(self, element: Element) -> None:
        self._style = _style_of(element)
        self._ordered = element.tag == "ol"
        self._step = -1 if "reversed" in element.attributes else 1
        items = sum(1 for child in element.children if isinstance(child, Element) and child.tag == "li")
        start = _integer(element.get("start"))
        self._number = start if start is not None else (items if self._step < 0 else 1)

    def next(self, item: Element) -> str:
        """The mark before the item's text, with its space; empty where the list shows none."""
        style = _style_of(item) or self._style
        if not self._ordered:
            return "" if style == "none" else _BULLET
        value = _integer(item.get("value"))
        number = self._number if value is None else value
        self._number = number + self._step
        if style == "none":
            return ""
        if style in {"disc", "circle", "square"}:
            return _BULLET
        return f"{_written(number, style)}. "


def _style_of(element: Element) -> str:
    if "style" in element.attributes and (found := _STYLE.search(element.style)):
        return found[1]
    return _TYPES.get(element.get("type").strip(), "")


def _integer(text: str) -> int | None:
    """Ten digits are more than any list needs; longer ones only cost time."""
    text = text.strip()
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,10}", text) else None


def _written(number: int, style: str) -> str:
    upper = style.startswith("upper")
    if style.endswith(("alpha", "latin")) and number > 0:
        letters = _letters(number)
        return letters.upper() if upper else letters
    if style.endswith("roman") and 0 < number < 4000:
        numeral = _roman(number)
        return numeral.upper() if upper else numeral
    if style == "lower-greek" and 0 < number <= len(_GREEK):
        return _GREEK[number - 1]
    return f"{number:02d}" if style == "decimal-leading-zero" else str(number)


def _letters(number: int) -> str:
    """a to z, then aa, ab, ..."""
    letters = ""
    while number > 0:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("a") + rest) + letters
    return letters


def _roman(number: int) -> str:
    numeral = ""
    for value, sign in _ROMAN:
        count, number = divmod(number, value)
        numeral += sign * count
    return numeral
