"""Find a quote again in a text that has changed since. What cannot be told is said, and never guessed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib.util import find_spec
from itertools import islice
from os.path import commonprefix

from quoth.citations.verify_receipt import AROUND
from quoth.citations.word_matching import PreparedText, folded, runs_on, same_words
from quoth.errors import MissingExtra
from quoth.language.word_edits import WordEdit, word_edits
from quoth.types import Span

CLEAR_LEAD = 8
"""Code points of context by which one place must be nearer to the old one than any other with the same words."""
MOST_PLACES = 1_000
"""With the same words in so many places none is chosen, and no more are looked at."""
MOST_LISTED = 100
LEAST_SCORE = 70.0
"""A sentence less like the quote than this (0 to 100, `rapidfuzz.fuzz.ratio`) is another one: see docs/anchoring.md."""
LEAST_SCORE_IN_PLACE = 55.0
"""The same where the text before or after the quote is unchanged, so that the place itself speaks for it."""


class AnchorOutcome(StrEnum):
    EXACT = "exact"
    MOVED = "moved"
    CHANGED = "changed"
    GONE = "gone"
    AMBIGUOUS = "ambiguous"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class QuotedPlace:
    """A quote, where it stood in the text that it was taken from, and up to `AROUND` code points around it."""

    span: Span
    text: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class AnchoredPlace:
    """A place in the new text and its exact slice.

    `agreeing` counts the sides, 0 to 2, with the whole old context, also where that is the end of the text; `telling`
    counts those with at least `CLEAR_LEAD` code points of it. `context` is how many code points next to the quote are
    the same, white space folded.

    `normalised`: the words are the same, but their line breaks are not. `doc_id` is that of the `PreparedText`.
    """

    doc_id: str | None
    span: Span
    text: str
    normalised: bool
    agreeing: int
    telling: int
    context: int


@dataclass(frozen=True, slots=True)
class Anchor:
    """What became of a quote.

    `places` is where it stands now: one place if it is exact, moved or changed, none if it is gone or its document is
    unreadable, up to `MOST_LISTED` if it is ambiguous. `edits` lead from the old words to the new ones, which are
    `score` alike (0 to 100), and are only there when it changed. `why` explains an unreadable document, or tells how
    many places there are when not all are listed.
    """

    outcome: AnchorOutcome
    places: tuple[AnchoredPlace, ...]
    edits: tuple[WordEdit, ...] = ()
    score: float | None = None
    why: str | None = None


GONE = Anchor(AnchorOutcome.GONE, ())


def anchor(quote: QuotedPlace, text: str | PreparedText) -> Anchor:
    """Return what became of a quote in the present text of its document.

    Raise `MissingExtra` when it has to look for an edited sentence and cannot.
    """
    prepared = PreparedText(text) if isinstance(text, str) else text
    if (place := unmoved(quote, prepared)) is not None:
        return Anchor(AnchorOutcome.EXACT, (place,))
    return chosen(equal_places(quote, prepared)) or edited(quote, prepared) or GONE


def unmoved(quote: QuotedPlace, prepared: PreparedText) -> AnchoredPlace | None:
    """Return the old place if the same words still stand there, character for character."""
    span = quote.span
    if prepared.text[span.start : span.end] != quote.text or not _is_whole(quote, prepared.text, span):
        return None
    return _place(quote, prepared, span)


def equal_places(quote: QuotedPlace, prepared: PreparedText) -> list[AnchoredPlace]:
    """Return every place with the words of the quote, in order: the first `MOST_PLACES` of them."""
    spans = (span for span in prepared.places(quote.text) if _is_whole(quote, prepared.text, span))
    return [_place(quote, prepared, span) for span in islice(spans, MOST_PLACES)]


def chosen(places: Sequence[AnchoredPlace]) -> Anchor | None:
    """Return the only place, or the one that the old context names; None when there is no place.

    That is the only one with the whole context on the most sides, else one with `CLEAR_LEAD` more of it than any other.
    """
    if not places:
        return None
    if len(places) >= MOST_PLACES:
        return _ambiguous(places)
    first, *others = sorted(places, key=lambda place: (place.agreeing, place.context), reverse=True)
    second = others[0] if others else None
    if (
        second is None
        or first.agreeing > second.agreeing
        or first.context - max(place.context for place in others) >= CLEAR_LEAD
    ):
        return Anchor(AnchorOutcome.MOVED, (first,))
    return _ambiguous(places)


def _ambiguous(places: Sequence[AnchoredPlace]) -> Anchor:
    total = f"{len(places):,}" if len(places) < MOST_PLACES else f"at least {MOST_PLACES:,}"
    why = f"it stands at {total} places, and the first {MOST_LISTED} are listed" if len(places) > MOST_LISTED else None
    return Anchor(AnchorOutcome.AMBIGUOUS, tuple(places[:MOST_LISTED]), why=why)


def edited(quote: QuotedPlace, prepared: PreparedText) -> Anchor | None:
    """Return the sentence that the quote has become, or None. Of equally good ones, the nearest to the old place."""
    if find_spec("rapidfuzz") is None:
        raise MissingExtra("finding a sentence that was edited", "anchor")
    from rapidfuzz import fuzz

    wanted, size = " ".join(quote.text.split()), max(1, len(prepared.text))
    opens, closes = quote.before.rstrip(" \t")[-1:], quote.after.lstrip(" \t")[:1]
    lines = min(_MOST_LINES, quote.text.count("\n") + 1) if {opens, closes} <= {"", "\n", "\r"} else 0
    starts_item = _ITEM.match(quote.text)
    best: tuple[tuple[float, float, int], float, Span] | None = None
    for run in prepared.near(quote.text, lines=lines):
        item = None if starts_item else _ITEM.match(prepared.text, run.start, run.end)
        span = Span(item.end(), run.end) if item else run
        found = " ".join(prepared.text[span.start : span.end].split())
        score = fuzz.ratio(wanted, found, score_cutoff=LEAST_SCORE_IN_PLACE)
        if not score or found == wanted:  # the same words in a place that is not theirs
            continue
        agreeing, *_ = _context(quote, prepared.text, span)
        if score < (LEAST_SCORE_IN_PLACE if agreeing else LEAST_SCORE):
            continue
        if agreeing < 2 and _stood_beside(quote, found):
            continue
        order = (score + _SIDE * agreeing, -abs(span.start - quote.span.start) / size, -span.start)
        if best is None or order > best[0]:
            best = order, score, span
    if best is None:
        return None
    place = _place(quote, prepared, best[2])
    edits = word_edits(*(folded(text).replace("\n", "") for text in (quote.text, place.text)))
    return Anchor(AnchorOutcome.CHANGED, (place,), edits, round(best[1], 1))


_MOST_LINES = 40
_SIDE = 10.0
"""What an unchanged neighbour adds to the score, to choose among sentences that are alike."""


def _place(quote: QuotedPlace, prepared: PreparedText, span: Span) -> AnchoredPlace:
    text = prepared.text[span.start : span.end]
    if text == quote.text:
        text = quote.text  # one string for all places
    return AnchoredPlace(prepared.doc_id, span, text, text != quote.text, *_context(quote, prepared.text, span))


def _is_whole(quote: QuotedPlace, text: str, span: Span) -> bool:
    """Return whether the words at a place run on as those of the quote did: `5` is not found in `50`, nor in `5 kg`."""
    return runs_on(text, span.start, span.end) == _old_surroundings(quote)[0]


def _stood_beside(quote: QuotedPlace, found: str) -> bool:
    """Return whether words stood before or after the quote, so that they are a neighbour and not what it became.

    The old context may hold a part of them only: half of them, or `_CUT_OFF` code points, tell enough.
    """
    _, before, after = _old_surroundings(quote)
    around = f"{before} {after}".replace("\n", "-")
    if found in around:
        return True
    sizes = range(min(_CUT_OFF, (len(found) + 1) // 2), min(len(found), len(around)) + 1)
    return any(found.endswith(around[:size]) or found.startswith(around[-size:]) for size in sizes)


_CUT_OFF = 24
_ITEM = re.compile(r"(?:[-*+•|]|\d{1,3}[.)])\s+(?=\S)")


@lru_cache(maxsize=64)
def _old_surroundings(quote: QuotedPlace) -> tuple[tuple[str, str], str, str]:
    """Return how the words of a quote ran on, and the folded text before and after it."""
    around = quote.before + quote.text + quote.after
    start = len(quote.before)
    return runs_on(around, start, start + len(quote.text)), folded(quote.before), folded(quote.after)


def _context(quote: QuotedPlace, text: str, span: Span) -> tuple[int, int, int]:
    """Return how many sides have the old context, how many of them tell something, and the code points in common.

    A side that was at the end of the text must be there again.
    """
    agreeing = telling = common = 0
    before, after = text[max(0, span.start - _READ) : span.start], text[span.end : span.end + _READ]
    _, old_before, old_after = _old_surroundings(quote)
    for old, new, step in ((old_before, before, -1), (old_after, after, 1)):
        was, now = old[::step], folded(new)[::step]
        equal = len(commonprefix([was, now]))  # noqa: RUF071 - no paths, characters
        agrees = same_words(was, now[: len(was)]) if was else not now
        agreeing += agrees
        telling += agrees and len(was) >= CLEAR_LEAD
        common += equal
    return agreeing, telling, common


_READ = 4 * AROUND
"""Code points that are read beside a place, for a context whose white space has grown."""
