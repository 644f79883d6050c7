"""Links that a browser opens at a quote: `#:~:text=prefix-,start,end,-suffix`.

A browser compares without case and accents, whole words only, and finds the first match. So the link is tried on the
text of the document first, with as many words around the quote as its place needs.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import quote as percent_encoded

from quoth.citations.cited_quotes import source_iri, span_of
from quoth.language.spans import trim
from quoth.output.json_types import CitationJson
from quoth.types import Document, Span

_LONGEST_EXACT = 200
"""Code points of a quote that is given whole; a longer one is given by its first and last words."""
_WORDS = (4, 7, 12, 20)
"""How many words of an end, or of what stands around a quote, are tried."""
_AROUND = 400
"""Code points before and after a quote that may tell its place."""
_BREAK = re.compile(r"\s*[\n\t]\s*|\s+\|\s+")
"""Where a browser may see another block: at a line end, and between the cells of a row."""
_MARKER = r"(?:[•▪◦‣]|\(?(?:\d{1,3}|[a-z]|[ivx]{2,4})[.)])(?=\s|$)"
"""The mark of a list item, which the text has and the page may draw by itself."""
_BEGINS_MARKED = re.compile(rf"\s*{_MARKER}\s*")
_GAP = rf"[\s|]*(?:{_MARKER})?\s*"


def text_fragment(text: str, span: Span) -> str | None:
    """Return the fragment of a link, with its `#`, that leads to `span`; None when no words tell its place."""
    marked = _BEGINS_MARKED.match(text, span.start, span.end)
    words = trim(text, marked.end() if marked else span.start, span.end) or trim(text, span.start, span.end)
    if words is None:
        return None
    span = words  # without the mark of a list item, which the page may draw by itself
    folded, places = _folded_text(text)
    target = Span(bisect_left(places, span.start), bisect_left(places, span.end))
    fitting = (parts for parts in _candidates(text, span) if _found(folded, *parts) == target)
    return next((_written(*parts) for parts in fitting), None)


def quote_link(quote: CitationJson, document: Document, *, base_url: str) -> str:
    """Return the address of a quote in its source below `base_url`: its words in a web page, its page in a PDF."""
    fragment = ""
    if document.format == "html":
        fragment = text_fragment(document.text, span_of(quote)) or ""
    elif document.format == "pdf" and quote.page is not None:
        fragment = f"#page={quote.page}"
    return source_iri(document.id, base_url) + fragment


_Parts = tuple[str, str, str, str]
"""Prefix, start, end and suffix; each may be empty but the start."""


def _candidates(text: str, span: Span) -> Iterator[_Parts]:
    """Yield the ways to name a quote, the shortest first: alone, then with more and more words around it."""
    items = (_unmarked(block) for block in _BREAK.split(text[span.start : span.end]))
    blocks = [item for item in items if item.strip()] or [text[span.start : span.end]]
    whole = len(blocks) == 1 and len(blocks[0]) <= _LONGEST_EXACT
    ends = [(blocks[0], "")] if whole else list(dict.fromkeys(_ends(blocks, count) for count in _WORDS))
    before, after = text[max(0, span.start - _AROUND) : span.start], text[span.end : span.end + _AROUND]
    above = [_unmarked(block) for block in _BREAK.split(before)]
    below = [block for block in _BREAK.split(after) if block.strip()][:1]
    for start, end in ends:
        yield "", start, end, ""
    for count in _WORDS:
        prefix = " ".join(next(filter(str.strip, reversed(above)), "").split()[-count:])
        suffix = "" if not below or _BEGINS_MARKED.match(below[0]) else " ".join(below[0].split()[:count])
        for start, end in ends:
            yield prefix, start, end, suffix


def _unmarked(block: str) -> str:
    marked = _BEGINS_MARKED.match(block)
    return block[marked.end() :] if marked else block


def _ends(blocks: list[str], count: int) -> tuple[str, str]:
    """Return the first and last words of a quote; one block is cut so that they do not overlap."""
    first, last = blocks[0].split(), blocks[-1].split()
    if len(blocks) == 1:
        count = min(count, len(first) // 2)
        if not count:
            return blocks[0], ""
    return " ".join(first[:count]), " ".join(last[-count:])


def _written(prefix: str, start: str, end: str, suffix: str) -> str:
    parts = [_encoded(prefix) + "-" if prefix else "", _encoded(start), _encoded(end)]
    return "#:~:text=" + ",".join(filter(None, [*parts, "-" + _encoded(suffix) if suffix else ""]))


def _encoded(words: str) -> str:
    """Percent-encode what has a meaning in the fragment: `-`, `,` and `&`, and all that addresses do not hold."""
    return percent_encoded(" ".join(words.split()), safe="").replace("-", "%2D")


@lru_cache(maxsize=4)
def _folded_text(text: str) -> tuple[str, list[int]]:
    """Return a text as a browser compares it, without case and accents, and the place of each of its letters.

    The last few are kept, since a document is often quoted several times.
    """
    folded = list(map(_folded, text))
    return "".join(folded), [at for at, signs in enumerate(folded) for _ in signs]


def _found(text: str, prefix: str, start: str, end: str, suffix: str) -> Span | None:
    """Return the first match in a folded text, as a browser finds it; None without one."""
    before, opening, closing, after = map(_flexible, (prefix, start, end, suffix))
    follows = rf"(?={_GAP}{after}(?!\w))" if after else ""
    leads = rf"(?<!\w){before}{_GAP}" if before else ""
    begins = re.search(rf"{leads}(?<!\w)(?P<start>{opening})(?!\w)" + ("" if end else follows), text)
    if begins is None or not end:
        return begins and Span(*begins.span("start"))
    ends = re.compile(rf"(?<!\w){closing}(?!\w){follows}").search(text, begins.end())
    return ends and Span(begins.start("start"), ends.end())


@lru_cache(maxsize=4096)
def _folded(letter: str) -> str:
    if letter.isspace():
        return " "
    plain = unicodedata.normalize("NFKD", letter)
    return "".join(sign for sign in plain if not unicodedata.combining(sign)).casefold()


def _flexible(words: str) -> str:
    """Return a pattern of words, folded, with any white space between them."""
    return r"\s+".join(re.escape("".join(map(_folded, word))) for word in words.split())
