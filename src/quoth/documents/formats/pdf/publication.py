"""What the first page of a paper prints about its publication: authors, year and DOI."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

_MOST_BLOCKS = 12
"""Blocks behind the title in which the authors are looked for: notes of a side column may come before them."""
_MARKERS = re.compile(r"[\d⁰¹²³⁴-⁹*∗†‡§¶#✉|€^˚°]+(?:\s*,\s*[\d⁰¹²³⁴-⁹*∗†‡§¶#✉]+)*|\b[a-f](?=\s*(?:,|$))|\([^)]*\)")
"""Signs that lead to addresses and notes: digits, raised or not, asterisks, daggers, single letters."""
_BETWEEN = re.compile(r"\s*(?:[,;·•&]|\band\b)\s*")
_DEGREE = re.compile(r"(?:[A-Z]{2,5}|(?:Ph|M|B|D)\.?\s?(?:D|Sc|Phil|Pharm|Med)\.?|Jr\.?|Sr\.?|I{2,3})")
_NAME_WORD = re.compile(r"(?:[A-ZÀ-ÖØ-ÞĀ-Ž][\w’'`‐‑-]*\.?|(?:[A-Z]\.-?)+|(?:d|l)[’'][A-Z][\w’'-]*)")
_PARTICLES = frozenset("al bin da de del della den der di do dos du el la le ten ter van von y zu".split())
_NO_NAMES = re.compile(
    r"@|\d{4}|:|https?|\b(?:universi\w+|institut\w*|departe?ment\w*|college|faculty|school|hospital|laborator\w+|cent(?:er|re)|"
    r"academy|ministry|corporation|inc|ltd|press|journal|research|review|article|access|protocol|science|sciences)\b",
    re.IGNORECASE,
)
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>]*[\w/]")
_YEAR = r"(?P<year>(?:19|20)\d\d)\b"
_YEARS = (
    re.compile(rf"(?:©|\(c\)|copyright)[^.]{{0,60}}?\b{_YEAR}", re.IGNORECASE),
    re.compile(rf"\bpublished(?: online)?\W[^.;]{{0,40}}?\b{_YEAR}", re.IGNORECASE),
    re.compile(rf"\bcit(?:ation|e this)\b.{{0,400}}?\b{_YEAR}", re.IGNORECASE),
    re.compile(rf"\b(?:accepted|available online)\W[^.;]{{0,40}}?\b{_YEAR}", re.IGNORECASE),
    re.compile(rf"\(?\b{_YEAR}\)?[,;:]?\s+(?:vol\.?\s*)?\d"),
)
"""Where the year of publication stands, the surest place first: rights, date of publication, citation, running head."""


def publication(blocks: Sequence[str], title: Sequence[int]) -> dict[str, str]:
    """Return `authors` (separated by semicolons), `year` and `doi`, as far as the blocks of a first page print them.

    `title` are the places of the blocks that print the title.
    """
    found = {"authors": "; ".join(_authors(blocks, title)), "year": _year(blocks), "doi": _doi(blocks)}
    return {name: value for name, value in found.items() if value}


def _authors(blocks: Sequence[str], title: Sequence[int]) -> tuple[str, ...]:
    first = max(title, default=-1) + 1
    for at, block in enumerate(blocks[first : first + _MOST_BLOCKS] if title else ()):
        names = tuple(_names(" ".join(block.split())))
        if len(names) > 1 or (names and at == 0):
            return names
    return ()


def _names(text: str) -> Iterator[str]:
    """Yield the names that a block lists, as printed but for markers and degrees; none when it lists anything else."""
    if _NO_NAMES.search(text):
        return
    parts = [" ".join(part.split()) for part in _BETWEEN.split(_MARKERS.sub(" ", text))]
    listed = [part for part in parts if part and not _DEGREE.fullmatch(part)]
    if sum(_is_name(part) for part in listed) > len(listed) / 2:
        yield from (part for part in listed if part[0].isupper() or _is_name(part))


def _is_name(text: str) -> bool:
    words = text.split()
    named = [word for word in words if word not in _PARTICLES]
    return 2 <= len(words) <= 6 and len(named) >= 2 and all(_NAME_WORD.fullmatch(word) for word in named)


def _year(blocks: Sequence[str]) -> str:
    texts = [" ".join(block.split()) for block in blocks]
    matches = (form.search(text) for form in _YEARS for text in texts if len(text) < 1000)
    return next((match["year"] for match in matches if match), "")


def _doi(blocks: Sequence[str]) -> str:
    """Return the DOI that is printed most often; of several, the first."""
    counts = Counter(match[0] for block in blocks for match in _DOI.finditer(" ".join(block.split())))
    return counts.most_common(1)[0][0] if counts else ""
