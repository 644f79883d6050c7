"""Cross-references: `see Section 7.3`, `Sections 4.1 and 7.5(c)`, `Article VII of the Declaration`.

Only references inside a corpus can be followed, so citations of laws are none: `42 U.S.C. § 1983`, `§ 55 BGB`. Nor are
the numbers of the text's own headings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import dropwhile

from quoth.language.numbering import ITEM, LABEL, NUMBER, label_name
from quoth.language.quantities import quantities
from quoth.language.words import FUNCTION_WORDS
from quoth.types import Span


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference to a section. `item` is `(c)`, or empty; `within` is what contains it, `("Article", "VII")`.

    `document` is the name of another document as written (`Declaration`), None for the text's own.
    """

    span: Span
    label: str
    number: str
    item: str
    within: tuple[str, str] | None
    document: str | None

    @property
    def name(self) -> str:
        """The reference as an agent would write it: `Section 7.3(c)`."""
        inner = f"{self.label} {self.number}{self.item}"
        return f"{' '.join(self.within)}, {inner}" if self.within else inner


_FIRST = re.compile(rf"(?<!\w)(?P<label>{LABEL})\s*(?:(?i:nos?\.)\s*)?(?P<number>{NUMBER})(?P<item>(?:\s?{ITEM})*)")
_NEXT = re.compile(
    r"(?:\s*,\s*(?:(?:and/or|and|or|&)\s+)?|\s+(?:and/or|and|or|&|through|thru|to)\s+|\s*[-–—]\s*)"
    rf"(?:(?P<number>{NUMBER})(?P<item>(?:\s?{ITEM})*)|(?P<more>(?:{ITEM})+))"
)
_OUTER = re.compile(rf"\s*,?\s+of\s+(?:the\s+)?(?P<label>{LABEL})\s*(?P<number>{NUMBER})")
_NAME = r"[A-Z][\w&'’/-]*(?:\s+(?:(?:of|and|for|the|&)\s+){0,2}[A-Z][\w&'’/-]*)*"
_OTHER = re.compile(
    rf"\s*,?\s+(?:of|in|under|to)\s+(?:the|said|such|that|our|your)\s+(?:\d{{4}}\s+)?(?P<name>{_NAME})"
    r"|\s*,?\s+of\s+(?:the|said|such|that|our|your)\s+(?P<plain>[a-z&-]+)"
    r"|\s+(?P<away>thereof|therein)\b"
)
_BEFORE = re.compile(r"(?:(?<=\s)|^)(?P<name>(?:[A-Z][\w&'’/-]*\s+){1,6})$")
_CITED_CODE = re.compile(r"(?:(?:[A-Z]\.\s?){2,}|\bTitle\s+\d+,?\s*)$")
_CITED_BEFORE = re.compile(rf"{_CITED_CODE.pattern}|\b[A-Z][a-z]{{1,6}}\.,?\s*$")
_CITED_BEHIND = re.compile(r"\s+(?:Abs\.\s*\d+\s*)?(?![IVXLC]+\b)[A-Z]{2,}[A-Za-z]*\b")
_OPENS = re.compile(r"(?:^|[.!?:;(\[\"“•*#>]|\n\s*\n)\s*$")
_HEADS = re.compile(r"[ \t]*(?:[.:–—-]+(?=\s|$)[ \t]*)?(?:[A-Z(\"“]|\r?\n|$)")
_NO_NAMES = FUNCTION_WORDS | {"see", "under", "pursuant", "subject", "notwithstanding", "cf", "per", "violating"}
_CAPITAL_ONLY = frozenset("schedule exhibit annex part attachment rule schedules exhibits parts rules".split())
OUTER_LABELS = frozenset({"Article", "Chapter", "Part", "Appendix", "Schedule", "Exhibit", "Annex", "Attachment"})
_MOST_LISTED = 6


def references(text: str) -> tuple[Reference, ...]:
    """Return the references in `text`, in order; of a range, its two ends."""
    found: list[Reference] = []
    for match in _FIRST.finditer(text):
        if not _may_point(text, match):
            continue
        listed = list(_listed(text, match))
        if found and _holds(text, found[-1], listed[0]):  # `Article VII, Section 3`
            outer = found.pop()
            start, within = outer.span.start, (outer.label, outer.number)
            listed = [replace(reference, span=Span(start, reference.span.end), within=within) for reference in listed]
            found += [replace(reference, document=reference.document or outer.document) for reference in listed]
        elif not (found and match.start() < found[-1].span.end):
            found += listed
    return tuple(found)


def _may_point(text: str, match: re.Match[str]) -> bool:
    label = match["label"]
    if label.islower() and (label in _CAPITAL_ONLY or not any(map(str.isdigit, match["number"]))):
        return False  # `schedule 2 visits`, `part B`
    if label[-1].isalpha() and match.start("number") == match.end("label"):
        return False
    before = text[max(0, match.start() - 40) : match.start()]
    cited = (_CITED_BEFORE if label.startswith("§") else _CITED_CODE).search(before)
    return not (cited or _CITED_BEHIND.match(text, match.end()) or _is_own_heading(text, match))


def _is_own_heading(text: str, match: re.Match[str]) -> bool:
    """Return whether the match is a heading of the text itself: `Section 7.3 Fences` at the start of a line."""
    before = text[: match.start()].rstrip(" \t*#>_")
    at_line = not before or before.endswith("\n")
    opened = not before.strip() or before.rstrip()[-1] in ".:;!?)" or before.rstrip(" \t").endswith(("\n\n", "\n\r\n"))
    return at_line and opened and _HEADS.match(text, match.end()) is not None


def _listed(text: str, match: re.Match[str]) -> Iterator[Reference]:
    """Yield the reference and all others in its list, each with the document named after or before the list."""
    numbers = [(match.start(), match.end(), match["number"], match["item"])]
    plural = match["label"].lower().rstrip(".").endswith(("s", "§§", "ices"))
    while len(numbers) < _MOST_LISTED and (more := _NEXT.match(text, numbers[-1][1])):
        if more["more"] and numbers[-1][3]:
            numbers.append((more.start("more"), more.end(), numbers[-1][2], more["more"]))
        elif more["number"] and _goes_on(text, numbers[0][2], more, plural=plural):
            numbers.append((more.start("number"), more.end(), more["number"], more["item"]))
        else:
            break
    if plural:
        numbers = [end for number in numbers for end in _ends(*number)]
    outer = _OUTER.match(text, numbers[-1][1])
    within = (label_name(outer["label"]), outer["number"]) if outer else None
    # `of the Declaration` names another document, `of this Declaration` does not.
    behind = _OTHER.match(text, outer.end() if outer else numbers[-1][1])
    named = " ".join((behind["name"] or behind["plain"] or behind["away"]).split()) if behind else None
    document = named or _named_before(text, match.start())
    for start, end, number, item in numbers:
        span = Span(start, outer.end() if outer else end)
        yield Reference(span, label_name(match["label"]), number, "".join(item.split()), within, document)


def _goes_on(text: str, first: str, more: re.Match[str], *, plural: bool) -> bool:
    """Return whether a number behind `and` belongs to the list: `Section 7.3 and 30 days` names one section."""
    number = more["number"]
    alike = number.count(".") == first.count(".") and number[0].isdigit() == first[0].isdigit()
    measured = any(quantity.span.start == 0 for quantity in quantities(text[more.start("number") : more.end() + 20]))
    return alike and not measured and (plural or "." in number)


def _ends(start: int, end: int, number: str, item: str) -> list[tuple[int, int, str, str]]:
    """Return the two ends of a range such as `§§ 4-6`, else the number itself."""
    parts = number.split("-")
    if len(parts) == 2 and all(part.isdigit() for part in parts):
        return [(start, end, part, "") for part in parts]
    return [(start, end, number, item)]


def _named_before(text: str, start: int) -> str | None:
    """Return the document named right before a reference: `the Municipal Code Section 17.40`."""
    lead = text[max(0, start - 120) : start]
    found = _BEFORE.search(lead)
    if found is None:
        return None
    opens = _OPENS.search(lead[: found.start()]) is not None  # a word that opens a sentence is no name
    words = list(dropwhile(lambda word: word.lower() in _NO_NAMES, found["name"].split()[opens:]))
    return " ".join(words) if words and words[-1].lower() not in _NO_NAMES else None


def _holds(text: str, outer: Reference, inner: Reference) -> bool:
    between = text[outer.span.end : inner.span.start] if outer.span.end <= inner.span.start else "-"
    held = outer.label in OUTER_LABELS and inner.label not in OUTER_LABELS and outer.within is None
    return held and re.fullmatch(r"\s*[,:]?\s*", between) is not None and bool(between)
