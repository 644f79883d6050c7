"""References that restrict: `Except as provided in Section 11.4.4`, `Notwithstanding subsection (c)`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from quoth.language.numbering import ITEM
from quoth.language.references import OUTER_LABELS, Reference, references

_WORDS = (
    r"(?:except(?:ed|ing|ions?)?|unless|notwithstanding|despite|subject\sto|without\sprejudice\sto|other\sthan"
    r"|save\s(?:as|for|where)|(?:allowed|permitted|exempt(?:ed)?|excused|waived)\s(?:by|under|in|from))"
)
_RESTRICTS = re.compile(rf"\b{_WORDS}\b", re.IGNORECASE)
_MAY_RESTRICT = re.compile(_WORDS, re.IGNORECASE)
_BEGINNINGS = (
    "except unless notwithstanding despite subject without other save allowed permitted exempt excused waived"
).split()
"""What the words of `_WORDS` begin with."""
_POINTERS = (
    "sec § article art. arts. para chap ch. clause append schedule exhibit annex attachment part rule item division"
).split()
"""Each reference, and each match of `_OWN_ITEM`, holds one of them."""
_REACH = 90
"""Characters between a word that restricts and the reference that it restricts by."""
_OWN_ITEM = re.compile(
    rf"\b(?:sub-?)?(?:sections?|paragraphs?|clauses?|items?|divisions?)\s(?P<item>(?:{ITEM})+)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Restriction:
    """A reference to a section, or with None to an item of the text's own section. `item` is `(c)`, or empty."""

    reference: Reference | None
    item: str


def restrictions(text: str) -> Iterator[Restriction]:
    """Yield the references behind a word that restricts. Whole articles and chapters are too much to be meant."""
    words = list(_RESTRICTS.finditer(text))
    small = _small(text) if words else ""
    if not any(pointer in small for pointer in _POINTERS):
        return

    def restricts(start: int) -> bool:
        return any(0 <= start - word.end() <= _REACH and ". " not in text[word.end() : start] for word in words)

    for reference in references(text):
        if reference.label not in OUTER_LABELS and restricts(reference.span.start):
            yield Restriction(reference, reference.item)
    for own in _OWN_ITEM.finditer(text):
        if restricts(own.start()):
            yield Restriction(None, own["item"])


def restricting_places(text: str) -> Iterator[int]:
    """Yield the places where a word that restricts may begin: in a whole document much faster than a search for all."""
    small = _small(text)
    for beginning in _BEGINNINGS:
        at = small.find(beginning)
        while at >= 0:
            if _MAY_RESTRICT.match(text, at):
                yield at
            at = small.find(beginning, at + 1)


def _small(text: str) -> str:
    """Return a text of the same length in small letters, as patterns without case take them."""
    return text.replace("İ", "i").replace("ı", "i").replace("ſ", "s").lower()
