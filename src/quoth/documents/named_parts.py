"""Find the parts of a document that are no evidence: its bibliography, and who paid for it, wrote what and owns it.

They stay in the text under a name of their own, so that a reader finds them and an answer does not quote them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile

from quoth.types import RegionKind


@dataclass(frozen=True, slots=True)
class Piece:
    """A block or a region of a document: its kind, and its text with the white space evened out."""

    kind: RegionKind
    text: str


_NUMBER = r"(?:(?:chapter|section|appendix)?\s*(?:\d{1,2}|[IVX]{1,5}|[A-Z])(?:\.\d{1,2})*[.):]?\s+)?"
_BIBLIOGRAPHY = re.compile(
    _NUMBER
    + r"(?:(?:list of )?references?(?: list)?(?: cited| and notes| and further reading)?|(?:selected )?bibliography|"
    r"(?:literature|works|sources|references)(?: cited)?|notes and references|cited (?:literature|works)|"
    r"(?:further|suggested|recommended) reading|literaturverzeichnis|références|bibliographie|referencias|"
    r"bibliografía)\W*",
    re.IGNORECASE,
)
_BACK_MATTER = (
    r"(?:funding(?: (?:statement|sources?|information))?|(?:financial|sources? of) (?:support|disclosures?|assistance)|"
    r"(?:declarations? of )?(?:conflicts?|competing|declarations?) (?:of |financial )?interests?(?: statement)?|"
    r"disclosures?|"
    r"authors?[’']?s?[’']? (?:contributions?|information|details|disclosures?)|contribution of authors|"
    r"credit authorship contribution statement|publisher[’']?s?[’']? note|(?:pre-?publication|review) history|"
    r"how to cite(?: this article)?|open access|licen[cs]e statement|rights and permissions|peer review)"
)
_BACK_TITLE = re.compile(_NUMBER + _BACK_MATTER + r"\W*", re.IGNORECASE)
_BACK_RUN_IN = re.compile(_BACK_MATTER + r"\s?[:.–—]\s?\S", re.IGNORECASE)
_OTHER_TITLE = re.compile(
    _NUMBER + r"(?:acknowledge?ments?|appendi(?:x|ces)\b.*|annex\b.*|supplement(?:ary|al)\b.*|supporting information.*|"
    r"additional (?:information|files?|material)|tables?|figures?(?: legends?)?|index|glossary|abbreviations|"
    r"abstract|introduction|conclusions?|methods|data availability.*|about the authors?|schedule\b.*|exhibit\b.*)\W*",
    re.IGNORECASE,
)

_NAME = r"(?:(?:d[aeiu]|d[eo]s|de la|van(?: de[rn]?)?|von|le|la|el|al|ter|ten)[ -])?[A-ZÀ-Þ][\w’'‐-]+"
_INITIALS = r"(?:[A-ZÀ-Þ]\.?[ ‐-]?){1,4}"
_AUTHOR = re.compile(
    rf"(?:\W*\d{{1,3}}[.\])]?\s+)?(?:{_NAME}(?: {_NAME})?,? {_INITIALS}(?=[\s,;.:&(]|$)|{_INITIALS} ?{_NAME}[,.;: ])"
)
"""A reference begins with an author, as `Lee S,`, `Lee, S.` or `S. Lee,`, perhaps after its number."""
_NUMBERED = re.compile(r"\W?\d{1,3}[.\])]\s")
_WHERE = re.compile(
    r"\b\d{1,4}(?:\s?\([\w\s.–-]{1,12}\))?\s?[:,;]\s?(?:pp?\.?\s?)?[eE]?\d{1,6}\s?[-–‐]\s?\d{1,6}\b|\bdoi\b|https?://|\bpp\.\s?\d",
    re.IGNORECASE,
)
"""Volume and pages, or an address."""
_SIGNS = (
    _WHERE,
    re.compile(r"\b(?:1[89]|20)\d\d[a-z]?\b"),
    re.compile(rf"{_NAME},? {_INITIALS}(?=[,;&]|\s?and\b|\set\sal)|\bet al\b"),
    re.compile(r"\bvol\.?\s?\d|\bno\.\s?\d|\bISBN\b|\bpubmed\b|\bcrossref\b|\bin press\b", re.IGNORECASE),
    re.compile(
        r"\(Eds?\.?\)|\beds?\.|\bedn?\.|\b(?:press|publish(?:ers|ing)|proceedings|thesis|journal|proc\.|j\.)\b",
        re.IGNORECASE,
    ),
)
_LONGEST_REFERENCE = 700
_LONGEST_SCRAP = 300
_PAGE = 40
"""Pieces on a page, at most."""
_NEAR = 6
"""Pieces before or behind that count as the neighbours of a scrap."""
_FEW, _FEWEST = 2, 5
"""References that make a list: on the page below its title, and in a row without a title."""
_BESIDE = frozenset({RegionKind.FURNITURE, RegionKind.MARKUP, RegionKind.HTML, RegionKind.CONTENTS, RegionKind.CODE})
_TABLE = frozenset({RegionKind.TABLE_HEADER, RegionKind.TABLE_ROW})


def named_parts(pieces: Sequence[Piece]) -> list[RegionKind]:
    """Return the kind of each piece, now with the parts that are no evidence."""
    kinds = [piece.kind for piece in pieces]
    _name_references(pieces, kinds)
    _name_back_matter(pieces, kinds)
    return kinds


def _name_references(pieces: Sequence[Piece], kinds: list[RegionKind]) -> None:
    """Name the entries below the title of a bibliography, and any long run of entries without a title.

    Columns may bring other text between the entries, so each piece behind the title is judged by itself and its
    neighbours.
    """
    shown = [at for at, piece in enumerate(pieces) if piece.kind not in _BESIDE]
    likely = [is_reference(pieces[at].text) for at in shown]
    titles = [place for place, at in enumerate(shown) if _is_title(pieces[at], _BIBLIOGRAPHY)]
    titled = next((place for place in titles if sum(likely[place + 1 : place + _PAGE]) >= _FEW), len(shown))
    if titled < len(shown):
        likely[titled] = True  # for its neighbours
    runs = [run for run in _runs(likely[:titled]) if len(run) >= _FEWEST]
    untitled = [place for run in runs if _AUTHOR.match(pieces[shown[run[0]]].text) for place in run]
    # The title may stand in the last column of the list's first page.
    first = max(0, titled - _PAGE) if titled < len(shown) else titled
    below = [place for place in range(first, len(shown)) if place != titled and _belongs(pieces, shown, likely, place)]
    for place in _without_floats([pieces[at] for at in shown], [*untitled, *below], likely):
        kinds[shown[place]] = RegionKind.REFERENCES
    if below:
        kinds[shown[titled]] = RegionKind.HEADING


def _runs(likely: Sequence[bool]) -> list[list[int]]:
    places = enumerate(likely)
    return [[place for place, _ in run] for is_likely, run in groupby(places, key=lambda pair: pair[1]) if is_likely]


def _belongs(pieces: Sequence[Piece], shown: Sequence[int], likely: Sequence[bool], place: int) -> bool:
    """Return whether a piece below the title is an entry, or a scrap of one: then it stands among entries."""

    def near(places: Iterable[int]) -> list[bool]:
        return [likely[at] for at in takewhile(lambda at: not _is_other_title(pieces[shown[at]]), places)]

    before = near(range(place - 1, max(-1, place - 1 - _NEAR), -1))
    behind = near(range(place + 1, min(len(shown), place + 1 + _NEAR)))
    if likely[place]:
        return any(before) or any(behind) or not behind
    piece = pieces[shown[place]]
    scrap = len(piece.text) <= _LONGEST_SCRAP and not _is_other_title(piece)
    return scrap and any(before) and (any(behind) or not behind)


def _without_floats(pieces: Sequence[Piece], places: Sequence[int], likely: Sequence[bool]) -> list[int]:
    """Leave out captions, and the table below one, that a page put between the references."""
    kept: list[int] = []
    in_table = False
    for place in places:
        kind = pieces[place].kind
        if kind is RegionKind.CAPTION and not likely[place]:
            in_table = True
        elif kind not in _TABLE or likely[place]:
            in_table = False
        if not in_table:
            kept.append(place)
    return kept


def is_reference(text: str) -> bool:
    """Return whether a text looks like an entry of a bibliography, or like several in a row."""
    if len(text) > _LONGEST_REFERENCE:  # several of them, or prose that cites
        return len(_WHERE.findall(text)) >= len(text) / _LONGEST_REFERENCE
    signs = sum(sign.search(text) is not None for sign in _SIGNS)
    if _NUMBERED.match(text) or _AUTHOR.match(text):
        return signs >= 2
    return signs >= 3


def is_bibliography_title(text: str) -> bool:
    return len(text) <= 80 and _BIBLIOGRAPHY.fullmatch(text) is not None


def _is_other_title(piece: Piece) -> bool:
    return _is_title(piece, _OTHER_TITLE) or _is_title(piece, _BACK_TITLE)


def _is_title(piece: Piece, titles: re.Pattern[str]) -> bool:
    return len(piece.text) <= 80 and piece.kind is not RegionKind.CAPTION and titles.fullmatch(piece.text) is not None


def _name_back_matter(pieces: Sequence[Piece], kinds: list[RegionKind]) -> None:
    """Name what stands below such titles in a paper. A contract may have a clause `Disclosure`."""
    titles = {piece.text.casefold() for piece in pieces if _is_title(piece, _BACK_TITLE)}
    if RegionKind.REFERENCES not in kinds and len(titles) < _FEW:
        return
    inside = False
    for at, piece in enumerate(pieces):
        if piece.kind in _BESIDE or kinds[at] is RegionKind.REFERENCES:
            continue
        if kinds[at] is RegionKind.HEADING or _is_other_title(piece):
            inside = _is_title(piece, _BACK_TITLE)
            if inside:
                kinds[at] = RegionKind.HEADING
        elif inside or _BACK_RUN_IN.match(piece.text):
            kinds[at] = RegionKind.BACK_MATTER
