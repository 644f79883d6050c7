"""Notes of a page: the marks in the text that point to them, and the blocks that hold them."""

from __future__ import annotations

import re

from quoth.corpus.formats.html_content import NOTES
from quoth.corpus.formats.html_measure import Measure, preorder
from quoth.corpus.formats.html_tree import Element

_MARK = re.compile(
    r"[\[(]?(?:[\d*†‡§¶#]{1,4}|[a-zA-Z]|[ivxIVX]{1,5})(?:\s?[,;–-]\s?[\da-z]{1,4})*[\])]?|\[[^\[\]]{1,10}\]"
)
_LONGEST_MARK = 12
_RAISED_NAMES = frozenset("reference footnote fn footnotereference".split())
_LINK_NAMES = frozenset(
    """footnote-ref footnote-reference footnoteref fnref noteref doc-noteref endnote-ref sdfootnotesym
    sdendnotesym""".split()
)
_TARGET = re.compile(r"#(?:_ftn|_edn|sdfootnote|sdendnote|fn:?-?\d|fnref|cite_note|footnote)", re.IGNORECASE)
"""Names that programs give to notes and to the places that refer to them."""
_BLOCK_ID = re.compile(r"(?:sdfootnote|sdendnote|ftn|edn|fn:?-?)\d+")
_WHOLE = frozenset({"body", "main", "article"})


def holds_notes(element: Element) -> bool:
    """Whether a block is a note, or the notes of the document."""
    if not element.attributes or element.tag in _WHOLE:
        return False
    return not element.names.isdisjoint(NOTES) or _BLOCK_ID.fullmatch(element.get("id")) is not None


def is_note_link(link: Element, measure: Measure, text: str) -> bool:
    """Whether a link's `text` is the mark of a note: it is raised, or is named or leads where only notes do."""
    if not 0 < measure.letters <= _LONGEST_MARK or measure.blocks or _MARK.fullmatch(text) is None:
        return False
    inner = [child for child in link.children if isinstance(child, Element) or child.strip()]
    raised = len(inner) == 1 and isinstance(inner[0], Element) and inner[0].tag == "sup" and "#" in link.get("href")
    return raised or not link.names.isdisjoint(_LINK_NAMES) or _TARGET.search(link.get("href")) is not None


def is_raised_mark(element: Element, text: str) -> bool:
    """Whether raised `text` is the mark of a note. A number that links elsewhere may be an exponent, and stays."""
    if _MARK.fullmatch(text) is None:
        return False
    if text.startswith("[") or not element.names.isdisjoint(_RAISED_NAMES | _LINK_NAMES):
        return True
    links = [inner for inner in preorder(element) if inner.tag == "a"]
    return any("#" in link.get("href") or not link.names.isdisjoint(_LINK_NAMES) for link in links)
