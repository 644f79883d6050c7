"""Read the best candidates: a cross-encoder judges each together with the question, in the context it stands in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from quoth.protocols import Neighbours, PairReader, Reader
from quoth.search.asking_sentences import asks
from quoth.search.fusion import ROUND
from quoth.search.logistic import Logistic, logistic
from quoth.types import Ranked, Sentence, SentenceInContext, Support, TokenMark

_HEADINGS = 2
"""How many headings are read with a sentence, the innermost ones."""
_BEFORE = 300
"""Characters of the sentence before."""
_LEANS_ON_THE_LAST = re.compile(
    r"\W*(?:(?:and|but|or|so|yet|however|therefore|thus|moreover|furthermore|also|otherwise|then|here|instead"
    r"|in addition|as a result|for example|for instance|in this case)\b[\s,]*)?"
    r"(?:it|its|he|she|his|her|they|them|their|this|these|that|those|such|both|each|one|some|others"
    r"|the (?:former|latter|same))\b",
    re.IGNORECASE,
)
"""The beginning of a sentence that can only be understood after the one before it."""


@dataclass(frozen=True, slots=True)
class SentenceReader:
    """Judges the `most` best candidates by the cross-encoder, late interaction and words together."""

    encoder: PairReader
    most: int
    notes: tuple[str, ...]
    """What to be careful about, in sentences for people."""

    def judge(self, ranked: Sequence[Ranked], *, question: str, reader: Reader, model: Logistic) -> tuple[Ranked, ...]:
        """Return the candidates that were read; their relevance is now the probability that they answer.

        `model` weighs the features `reader` and `lexical`, and `late` where the reranker compared tokens.
        """
        read = ranked[: self.most]
        logits = self.encoder.read(question, _contexts([item.sentence for item in read], reader))
        return tuple(_judged(item, logit, model) for item, logit in zip(read, logits, strict=True))

    def mark(self, sentences: Sequence[Sentence], *, question: str, reader: Reader) -> list[tuple[TokenMark, ...]]:
        """Return for each sentence the tokens of its search text; none if the cross-encoder marks no words."""
        return self.encoder.mark(question, _contexts(sentences, reader))


def _contexts(sentences: Sequence[Sentence], reader: Reader) -> list[SentenceInContext]:
    return [
        in_context(sentence, beside) for sentence, beside in zip(sentences, reader.neighbours(sentences), strict=True)
    ]


def _judged(item: Ranked, logit: float, model: Logistic) -> Ranked:
    known, matches = (item.support.features, item.support.matches) if item.support else ({}, ())
    features = {"lexical": item.candidate.lexical, **known, "reader": logit}
    log_odds = model.log_odds(features)
    score = round(logistic(log_odds), ROUND)
    return replace(item, relevance=score, order=score, support=Support(score, log_odds, features, matches))


def in_context(sentence: Sentence, beside: Neighbours) -> SentenceInContext:
    """Return what the cross-encoder reads of a sentence; `beside` are its neighbours."""
    before = beside[0]
    needed = before is not None and before.section == sentence.section and _needs_the_last(sentence, before)
    return SentenceInContext(
        text=sentence.search_text,
        heading=" > ".join(sentence.section[-_HEADINGS:]),
        before=before.text[-_BEFORE:] if before is not None and needed else "",
    )


def _needs_the_last(sentence: Sentence, before: Sentence) -> bool:
    """Return whether a sentence needs the one before it: it opens with a pronoun, or follows a question."""
    return _LEANS_ON_THE_LAST.match(sentence.text) is not None or asks(before)
