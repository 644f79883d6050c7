"""Phrases of a question, and one put in the place of another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from quoth.domain.profile import Profile
from quoth.language.noun_phrases import DETERMINERS, PREPOSITIONS, WH_WORDS, noun_phrases, tokens
from quoth.language.words import POLAR_OPENERS, fold
from quoth.search.sub_questions import value_spans
from quoth.types import Span

SEVERAL_SENTENCES = re.compile(r"[.!?#]\s|##")
_QUESTION_START = WH_WORDS | POLAR_OPENERS


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A question without its opening words and its question mark.

    `continues` is true when it opened with `and` or `what about`, `marked` when it ended with a question mark.
    """

    text: str
    continues: bool
    marked: bool


def is_question(text: str) -> bool:
    """Return whether a text is one question and nothing else: people also type statements and stories."""
    words = [token.word.removesuffix("n't") for token in tokens(text)[:2]]
    return not SEVERAL_SENTENCES.search(text) and (
        words[:1] != [] and (words[0] in _QUESTION_START or (words[0] in PREPOSITIONS and words[-1] in WH_WORDS))
    )


def topics_of(text: str, profile: Profile) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, value) of the words that name a value of a presumed facet."""
    for facet in profile.facets:
        if facet.presumed:
            yield from value_spans(facet)(text)


def widened(span: Span, text: str) -> Span:
    """Return the span with the words before it in its phrase, if it ends the phrase: `winter wheat` for `wheat`."""
    found = (phrase.bare for phrase in noun_phrases(text) if phrase.bare.end == span.end)
    phrase = next((bare for bare in found if bare.start <= span.start), span)
    gerund = re.match(r"\w+ing\s+", text[phrase.start : span.start])  # `for storing wheat`
    return Span(phrase.start + gerund.end(), span.end) if gerund else phrase


def without_article(thing: str) -> str:
    """Return a phrase without its determiner."""
    first, _, rest = thing.partition(" ")
    return rest if rest and fold(first) in DETERMINERS else thing


def article_of(phrase: str) -> str:
    first = fold(phrase.split(maxsplit=1)[0])
    return first if first in DETERMINERS else ""


def text_at(text: str, span: Span) -> str:
    return text[span.start : span.end]


def replaced(text: str, span: Span, thing: str) -> str:
    """Return `text` with `thing` at `span`, without its determiner where the text has one before."""
    before = text[: span.start]
    determined = bool(before.split()) and fold(before.split()[-1]) in DETERMINERS
    return f"{before}{without_article(thing) if determined else thing}{text[span.end :]}"
