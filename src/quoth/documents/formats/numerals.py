"""Roman numerals, written and read, as list items and page numbers carry them."""

from __future__ import annotations

_VALUES = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x")),
    *((9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)
_DIGITS = {numeral: value for value, numeral in _VALUES if len(numeral) == 1}


def to_roman(number: int) -> str:
    """Return a positive number as a Roman numeral in lower case."""
    written = ""
    for value, numeral in _VALUES:
        count, number = divmod(number, value)
        written += numeral * count
    return written


def from_roman(numeral: str) -> int:
    """Return the value of a Roman numeral in lower case; the order of its digits is not checked."""
    values = [_DIGITS[digit] for digit in numeral]
    return sum(-value if value < after else value for value, after in zip(values, [*values[1:], 0], strict=True))
