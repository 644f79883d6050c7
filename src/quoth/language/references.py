"""Cross-references: `see Section 7.3`, `Sections 4.1 and 7.5(c)`, `Article VII of the Declaration`.

Only references inside a corpus can be followed, so citations of laws are none: `42 U.S.C. § 1983`, `§ 55 BGB`. Nor are
the numbers of the text's own headings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from quoth.text.numerals import ITEM, LABEL, NUMBER, is_plural, label_name
from quoth.text.quantities import quantities
from quoth.text.words import FUNCTION_WORDS
from quoth.types import Span


@dataclass(frozen=True, slots=True)
class Reference:
    """A place that a text points to. `item` is `(c)`, or empty; `within` is what it lies in, `("Article", "VII")`.

    `document` is the name of another document as written (`Declaration`); None for the text's own.
    """

    span: Span
    label: str
    number: str
    item: str
    within: tuple[str, str] | None
    document: str | None

    @property
    def name(self) -> str:
        """As an agent would write it: `Section 7.3(c)`."""
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
    """The places that `text` points to, in order; of a range, its ends."""
    found: list[Reference] = []
    for match in _FIRST.finditer(text):
        if not _may_point(text, match):
            continue
        listed = list(_listed(text, match))
        if found and _holds(text, found[-1], listed[0]):  # `Article VII, Section 3`
            outer = found.pop()
            start, within = outer.span.start, (outer.label, outer.number)
            listed = [replace(one, span=Span(start, one.span.end), within=within) for one in listed]
            found += [replace(one, document=one.document or outer.document) for one in listed]
        elif not (found and match.start() < found[-1].span.end):
            found += listed
    return tuple(found)


def _may_point(text: str, match: re.Match[str]) -> bool:
    label, number = match["label"], match["number"]
    before, end = text[max(0, match.start() - 40) : match.start()], match.end()
    if label.islower() and (label in _CAPITAL_ONLY or not any(sign.isdigit() for sign in number)):
        return False  # `schedule 2 visits`, `part B`
    if label[-1].isalpha() and match.start("number") == match.end("label"):
        return False
    cited = (_CITED_BEFORE if label.startswith("§") else _CITED_CODE).search(before)
    if cited or _CITED_BEHIND.match(text, end):
        return False
    return not _is_own_heading(text, match)


def _is_own_heading(text: str, match: re.Match[str]) -> bool:
    """`Section 7.3 Fences` where a line begins, behind the end of a sentence."""
    before = text[: match.start()].rstrip(" \t*#>_")
    at_line = not before or before.endswith("\n")
    opened = not before.strip() or before.rstrip()[-1] in ".:;!?)" or before.rstrip(" \t").endswith(("\n\n", "\n\r\n"))
    return at_line and opened and _HEADS.match(text, match.end()) is not None


def _listed(text: str, match: re.Match[str]) -> Iterator[Reference]:
    """The reference and those that are listed with it, all with the document that is named behind the last."""
    numbers = [(match.start(), match.end(), match["number"], match["item"])]
    plural = is_plural(match["label"])
    while len(numbers) < _MOST_LISTED and (more := _NEXT.match(text, numbers[-1][1])):
        if more["more"]:
            if not numbers[-1][3]:
                break
            numbers.append((more.start("more"), more.end(), numbers[-1][2], more["more"]))
        elif _goes_on(text, numbers[0][2], more, plural=plural):
            numbers.append((more.start("number"), more.end(), more["number"], more["item"]))
        else:
            break
    numbers = [part for one in numbers for part in (_ends(*one) if plural else [one])]
    outer = _OUTER.match(text, numbers[-1][1])
    within = (label_name(outer["label"]), outer["number"]) if outer else None
    document = _named_behind(text, outer.end() if outer else numbers[-1][1]) or _named_before(text, match.start())
    for start, end, number, item in numbers:
        span = Span(start, outer.end() if outer else end)
        yield Reference(span, label_name(match["label"]), number, "".join(item.split()), within, document)


def _goes_on(text: str, first: str, more: re.Match[str], *, plural: bool) -> bool:
    """Whether a number behind `and` belongs to the list: `Section 7.3 and 30 days` names one section."""
    number = more["number"]
    alike = number.count(".") == first.count(".") and number[0].isdigit() == first[0].isdigit()
    measured = any(one.span.start == 0 for one in quantities(text[more.start("number") : more.end() + 20]))
    return alike and not measured and (plural or "." in number)


def _ends(start: int, end: int, number: str, item: str) -> list[tuple[int, int, str, str]]:
    """`§§ 4-6` is a range; only its ends are named."""
    parts = number.split("-")
    if len(parts) == 2 and all(part.isdigit() for part in parts):
        return [(start, end, part, "") for part in parts]
    return [(start, end, number, item)]


def _named_behind(text: str, end: int) -> str | None:
    """The document named behind a reference: `of the Declaration`; `of this Declaration` names none other."""
    found = _OTHER.match(text, end)
    return None if found is None else " ".join((found["name"] or found["plain"] or found["away"]).split())


def _named_before(text: str, start: int) -> str | None:
    """The document named right before one: `the Municipal Code Section 17.40`. What opens a sentence is no name."""
    lead = text[max(0, start - 120) : start]
    found = _BEFORE.search(lead)
    if found is None:
        return None
    words = found["name"].split()
    if _OPENS.search(lead[: found.start()]):
        words = words[1:]
    while words and words[0].lower() in _NO_NAMES:
        words = words[1:]
    return " ".join(words) if words and words[-1].lower() not in _NO_NAMES else None


def _holds(text: str, outer: Reference, inner: Reference) -> bool:
    between = text[outer.span.end : inner.span.start] if outer.span.end <= inner.span.start else "-"
    held = outer.label in OUTER_LABELS and inner.label not in OUTER_LABELS and outer.within is None
    return held and re.fullmatch(r"\s*[,:]?\s*", between) is not None and bool(between)
