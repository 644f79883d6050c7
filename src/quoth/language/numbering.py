"""Numbers in words, Roman numerals, and the numbers of sections: which are equal, which follows which."""

from __future__ import annotations

import re

UNDER_TWENTY = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
"""Each word's index is its value."""
ORDINALS = (
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth seventeenth eighteenth nineteenth"
).split()
"""Each word's index is its value."""
TENS = {
    word: 10 * count for count, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)
}
NUMBER_WORDS = {word: value for value, word in enumerate(UNDER_TWENTY)} | TENS
SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
SECTION_NUMBER_WORDS = "|".join(UNDER_TWENTY[1:13])
"""A pattern for the number of a section in words: `Article Seven`."""

LABEL = (
    r"(?i:sub-?sections?|sections?|secs?\.|sect\.|§§?|articles?|arts?\.|paragraphs?|paras?\.|chapters?|chap\.|ch\."
    r"|clauses?|appendix|appendices|schedules?|exhibits?|annex(?:es)?|attachments?|parts?|rules?)"
)
"""A pattern for a word that a number follows."""
NUMBER = (
    r"(?:\d{1,4}[A-Za-z]?(?:\.\d{1,4}[A-Za-z]?)+|\d{1,4}(?:-\d{1,4})+|[A-Z]-?\d{1,4}(?:\.\d{1,4})*|\d{1,4}[A-Za-z]?"
    r"|[IVXLC]{1,7}|[A-Z])(?!\w|\.\d)"
)
"""`7.3`, `17.40.030`, `17-40-030`, `A-1`, `4a`, `VII`, `B`."""
ITEM = r"\((?:[A-Za-z]|[ivxlc]{1,5}|[IVXLC]{1,5}|\d{1,3})\)"
"""`(c)`, `(iv)`, `(2)`."""

_LABELS = {
    **dict.fromkeys(("sec", "sect", "§", "subsection", "section"), "Section"),
    **dict.fromkeys(("art", "article"), "Article"),
    **dict.fromkeys(("para", "paragraph"), "Paragraph"),
    **dict.fromkeys(("ch", "chap", "chapter"), "Chapter"),
    **{"appendice": "Appendix", "annexe": "Annex"},
}
_ROMAN = re.compile(r"(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})|C")
_ROMAN_VALUES = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x")),
    *((9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)
_ROMAN_DIGITS = {numeral: value for value, numeral in _ROMAN_VALUES if len(numeral) == 1}


def to_roman(number: int) -> str:
    """Return a positive number as a Roman numeral in lower case."""
    written = ""
    for value, numeral in _ROMAN_VALUES:
        count, number = divmod(number, value)
        written += numeral * count
    return written


def from_roman(numeral: str) -> int:
    """Return the value of a Roman numeral in lower case; the order of its digits is not checked."""
    values = [_ROMAN_DIGITS[digit] for digit in numeral]
    return sum(-value if value < after else value for value, after in zip(values, [*values[1:], 0], strict=True))


def label_name(written: str) -> str:
    """Return the name of a label, whatever its form: `Secs.`, `§§` and `sections` are `Section`."""
    bare = written.lower().rstrip(".").replace("-", "")
    bare = "§" if bare.startswith("§") else bare.removesuffix("s")
    return _LABELS.get(bare, bare.capitalize())


def plain_number(number: str) -> str:
    """Return a number for comparison: `VII`, `Seven` and `7` are equal; `C` stays apart from `3`."""
    if number.lower() in UNDER_TWENTY[1:13]:
        return str(NUMBER_WORDS[number.lower()])
    if _ROMAN.fullmatch(number):
        return str(from_roman(number.lower()))
    return number.casefold()


def follows(later: str, number: str) -> bool:
    """Return whether a number comes right after another in the same list: `4.3` after `4.2`, `C` after `B`."""
    *outer, last = later.split(".")
    *outer_before, before = number.split(".")
    if outer != outer_before:
        return False
    if last.isdigit() and before.isdigit():
        return int(last) == int(before) + 1
    return len(last) == len(before) == 1 and ord(last) == ord(before) + 1


def is_later(later: str, number: str) -> bool:
    """Return whether a number ends the section of another: `4.3` ends `4.2`, `5.1` ends `4`, `2.5` ends no `9`."""
    outer, _, inner = later.partition(".")
    return follows(later, number) or (inner != "" and outer.isdigit() and follows(outer, number.partition(".")[0]))


def holds(number: str, inner: str) -> bool:
    """Return whether `inner` numbers something inside `number`: `4.2` lies in `4`."""
    return inner.startswith(f"{number}.")
