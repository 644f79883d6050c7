"""Highlights: the words of a quote that answer, chosen from what the cross-encoder says of each token."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from quoth.language.quantities import quantities
from quoth.language.stems import INSIDE_WORDS
from quoth.language.words import NEGATIONS, fold, singular
from quoth.protocols import Reader
from quoth.search.reading import SentenceReader
from quoth.types import Citation, QuoteRole, Sentence, Span, TokenMark


@dataclass(frozen=True, slots=True)
class HighlightRule:
    """Which words stand out, in log odds. Chosen by `training/highlights.py` on documents held out from training."""

    sure: float
    """What the best word must reach; else the model is unsure, and nothing stands out."""
    near: float
    """How far the other words of a run may lie behind the best word."""
    rival: float
    """How far the best word of another run may lie behind the best word."""


RULE = HighlightRule(sure=-1.0, near=1.0, rival=0.25)

_MOST_RUNS = 3
"""With more runs than this, the model is unsure what answers."""
_WHOLE = 0.8
"""From this share of the sentence on, the sentence as a whole is the answer, and no words stand out of it."""
_BACK_TO_NEGATION = 3
"""Words in front of a run among which a negation is looked for: `not be permitted`."""

# Chinese and Japanese write no spaces between words: each sign counts as a word.
_SIGN = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_RUN = rf"(?:[^\W_{_SIGN}]|[{INSIDE_WORDS}])+"
_JOINT = r"[-‐‑./'’&@_\u00ad]|[-‐\u00ad][^\S\r\n]*(?:\r\n?|\n)\s*|(?<=\d)[,:–](?=\d)|(?<=\d)[ ](?=[AaPp]\.?[Mm]\b)"
_WORD = re.compile(rf"[{_SIGN}]|[$€£¥]?(?:(?<!\w)\.(?=\d))?{_RUN}(?:(?:{_JOINT}){_RUN})*(?:[%‰°]|(?<=[AaPp]\.[Mm])\.)?")
_LETTERS = re.compile(r"\w+")
_PAIRS = (("(", ")"), ("[", "]"), ("“", "”"), ("«", "»"))
_BARE = frozenset("a an the of to in on at by for with from and or as is are was were be been it its that".split())
"""Words that say nothing at the edges of a run."""
_OPEN = _BARE.union(
    "after before within between during until when where while if than into through per any this these those their"
    " which who has have had".split()
)
"""Words that lead on, and say nothing at the end of a run."""


def highlighted(
    citations: Sequence[Citation], asked: Mapping[str, str], *, encoder: SentenceReader | None, reader: Reader
) -> tuple[Citation, ...]:
    """Return the citations with the words that answer; `asked` is the question for each sentence id.

    Context does not answer by itself and has no highlights, nor has anything without a cross-encoder.
    """
    if encoder is None:
        return tuple(citations)
    spans: dict[str, tuple[Span, ...]] = {}
    for question in dict.fromkeys(asked.values()):
        sentences = [
            cited.sentence
            for cited in citations
            if cited.role is QuoteRole.ANSWER and asked[cited.sentence.id] == question
        ]
        for sentence, marks in zip(sentences, encoder.mark(sentences, question=question, reader=reader), strict=True):
            spans[sentence.id] = answering_words(sentence, marks, question)
    return tuple(replace(cited, highlights=spans.get(cited.sentence.id, ())) for cited in citations)


def answering_words(
    sentence: Sentence, marks: Sequence[TokenMark], question: str, *, rule: HighlightRule = RULE
) -> tuple[Span, ...]:
    """Return the words of a sentence that answer, as spans of its document, in order; () when no words stand out.

    `marks` are the tokens of its search text. A span begins and ends with a whole word, and never inside a quantity.
    """
    text = sentence.text
    words = _words(text)
    repeated = {singular(word) for word in _LETTERS.findall(fold(question))}
    scores = [
        float("-inf") if _all_in(text[word.start : word.end], repeated) else score
        for word, score in zip(words, _scores(words, sentence, marks), strict=True)
    ]
    top = max(scores, default=float("-inf"))
    if top < rule.sure:
        return ()
    likely = [score >= top - rule.near for score in scores]
    runs = [run for run in _runs(text, words, likely) if max(scores[run.start : run.stop]) >= top - rule.rival]
    # Cells of a row compete: which column is meant is what the model cannot tell when several look alike.
    cells = {text.count("|", 0, word.start) for word, is_likely in zip(words, likely, strict=True) if is_likely}
    if len(runs) > _MOST_RUNS or len(cells) > 1:
        return ()
    kept = _trimmed(text, words, runs, repeated)
    spans = [_closed(text, Span(words[run[0]].start, words[run[-1]].end)) for run in kept]
    if sum(map(len, spans)) >= _WHOLE * len(text):
        return ()
    start = sentence.quote.span.start
    return tuple(Span(start + span.start, start + span.end) for span in spans)


def _words(text: str) -> list[Span]:
    """Return the words of a text; a quantity with its unit, `2.5 cm`, is one word."""
    words = [Span(*word.span()) for word in _WORD.finditer(text)]
    for quantity in quantities(text):
        inside = [word for word in words if word.overlaps(quantity.span)]
        if inside:
            start, end = quantity.span.start, quantity.span.end - text[: quantity.span.end].endswith(".")
            whole = Span(min(start, inside[0].start), max(end, inside[-1].end))
            words = sorted([*(word for word in words if not word.overlaps(whole)), whole])
    return words


def _scores(words: Sequence[Span], sentence: Sentence, marks: Sequence[TokenMark]) -> list[float]:
    """Return the mean log odds of the tokens of each word; minus infinity for a word that was not read."""
    places = sentence.search_places
    odds: dict[int | None, list[float]] = {}
    for mark in marks:
        for at in range(mark.start, mark.end):
            odds.setdefault(places[at], []).append(mark.log_odds)
    start = sentence.quote.span.start
    of_words = ([odd for at in range(word.start, word.end) for odd in odds.get(start + at, ())] for word in words)
    return [sum(found) / len(found) if found else float("-inf") for found in of_words]


def _runs(text: str, words: Sequence[Span], chosen: Sequence[bool]) -> list[range]:
    """Return the runs of chosen words; one word between two of them belongs to the run, unless a cell ends there."""
    runs: list[range] = []
    for at in (at for at, is_chosen in enumerate(chosen) if is_chosen):
        last = runs[-1].stop - 1 if runs else None
        if last is not None and at - last <= 2 and "|" not in text[words[last].end : words[at].start]:
            runs[-1] = range(runs[-1].start, at + 1)
        else:
            runs.append(range(at, at + 1))
    return runs


def _trimmed(text: str, words: Sequence[Span], runs: Sequence[range], repeated: set[str]) -> list[range]:
    """Return the runs without bare and repeated words at their edges, but with the negation in front of them."""
    written = [text[word.start : word.end] for word in words]
    trimmed: list[range] = []
    for run in runs:
        own = [at for at in run if not _all_in(written[at], repeated)]
        kept = [at for at in own if fold(written[at]) not in _BARE]
        last = max((at for at in own if fold(written[at]) not in _OPEN), default=None)
        if not kept or last is None:
            continue
        floor = trimmed[-1].stop if trimmed else 0
        before = range(max(floor, kept[0] - _BACK_TO_NEGATION), kept[0])
        negated = [at for at in before if fold(written[at]) in NEGATIONS]
        trimmed.append(range(min([*negated, kept[0]]), last + 1))
    return trimmed


def _all_in(word: str, repeated: set[str]) -> bool:
    return all(singular(part) in repeated for part in _LETTERS.findall(fold(word)))


def _closed(text: str, span: Span) -> Span:
    """Return a span with the bracket or quotation mark beside it that belongs to one inside it."""
    inside, before, behind = text[span.start : span.end], text[: span.start][-1:], text[span.end : span.end + 1]
    for opening, closing in _PAIRS:
        excess = inside.count(opening) - inside.count(closing)
        if excess > 0 and behind == closing:
            return Span(span.start, span.end + 1)
        if excess < 0 and before == opening:
            return Span(span.start - 1, span.end)
    return span
