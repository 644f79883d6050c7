"""How sections are numbered in writing: the labels before a number, and which two numbers are the same one."""

from __future__ import annotations

import re

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
_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
_WORDS = "one two three four five six seven eight nine ten eleven twelve".split()


def label_name(written: str) -> str:
    """A label as one name, whatever its form: `Secs.`, `§§` and `sections` are `Section`."""
    bare = written.lower().rstrip(".").replace("-", "")
    bare = "§" if bare.startswith("§") else bare.removesuffix("s")
    return _LABELS.get(bare, bare.capitalize())


def is_plural(written: str) -> bool:
    return written.lower().rstrip(".").endswith(("s", "§§", "ices"))


def plain_number(number: str) -> str:
    """A number for comparing: `VII`, `Seven` and `7` are the same; `C` stays apart from `3`."""
    if number.lower() in _WORDS:
        return str(_WORDS.index(number.lower()) + 1)
    if _ROMAN.fullmatch(number):
        worth = [_VALUES[letter] for letter in number]
        following = [*worth[1:], 0]
        return str(sum(-one if one < after else one for one, after in zip(worth, following, strict=True)))
    return number.casefold()
