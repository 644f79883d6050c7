"""BM25 by the statistics of the whole index, worked out as tantivy does it: in single precision, step by step.

Tantivy adds up the words of a question in the order in which they are asked for, and the tokens of a variant rarest
first, as they are in each of its segments: of three tokens or more, the last bit may be another than here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

import numpy as np
import tantivy

from quoth.stores.embedded.lexical import share
from quoth.stores.sharded.values import WeighedVariant, Weights
from quoth.stores.variants import MAX_GROUPS, Variant, alternatives, stemmer
from quoth.stores.weights import norm, weigh
from quoth.text.terms import index_terms

_K1, _B = np.float32(1.2), np.float32(0.75)
_ONE = np.float32(1)


def asked(groups: Sequence[Sequence[str]]) -> tuple[tuple[Variant, ...], ...]:
    """The variants of each group of words that can be searched for, each group once."""
    found = dict.fromkeys(alternatives(group, _analyzer()) for group in groups[:MAX_GROUPS])
    return tuple(filter(None, found))


def lookups(groups: Sequence[Sequence[Variant]]) -> tuple[Variant, ...]:
    """What must be counted to weigh `groups`: every variant, and every token alone."""
    variants = [variant for group in groups for variant in group]
    return tuple(dict.fromkeys([*variants, *((token,) for variant in variants for token in variant)]))


def weights(groups: Sequence[Sequence[Variant]], held: Mapping[Variant, int], *, evidence: int, terms: int) -> Weights:
    """`evidence` sentences hold `terms` terms; `held` says how many hold each of `lookups`."""
    weighed = [weigh(group, evidence, held=held.__getitem__) for group in groups]
    return Weights(
        groups=tuple(
            tuple(
                tuple(
                    (token, _weight(evidence, held[(token,)], boost))
                    for token in sorted(variant, key=lambda token: held[(token,)])
                )
                for variant, boost in boosts.items()
            )
            for boosts, _ in weighed
            if boosts
        ),
        ideal=sum(worth for _, worth in weighed),
        average=average(evidence, terms),
    )


def average(evidence: int, terms: int) -> float:
    """The length of a sentence in terms, in single precision."""
    return float(np.float32(terms) / np.float32(evidence)) if evidence else 0.0


def natural(evidence: int, held: int) -> float:
    """What tantivy gives a token, before any boost, in an index of so many sentences of which so many hold it."""
    return _weight(evidence, held, 1.0)


def terms_of(search_text: str) -> Sequence[str]:
    """The terms that tantivy indexes of a sentence."""
    found: Sequence[str] = _analyzer().analyze(index_terms(search_text))
    return found


class Scorer:
    """Scores sentences for one question."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._factors: dict[tuple[int, int], float] = {}

    def share(self, search_text: str) -> float:
        """Of what the ideal sentence scores, 0 to 1."""
        return share(self.score(search_text), self._weights.ideal)

    def score(self, search_text: str) -> float:
        counts, length = _counted(search_text)
        total = 0.0
        for group in self._weights.groups:
            total = _single(total + self._best(group, counts, length))
        return total

    def _best(self, group: Sequence[WeighedVariant], counts: Mapping[str, int], length: int) -> float:
        best = 0.0
        for variant in group:
            points = []
            for token, weight in variant:
                often = counts.get(token)
                if often is None:
                    break
                points.append(_single(weight * self._factor(often, length)))
            else:
                best = max(best, points[0] if len(points) == 1 else _together(points))
        return best

    def _factor(self, often: int, length: int) -> float:
        factor = self._factors.get((often, length))
        if factor is None:
            slowed = _K1 * (_ONE - _B + _B * np.float32(length) / np.float32(self._weights.average))
            factor = self._factors[often, length] = float(np.float32(often) / (np.float32(often) + slowed))
        return factor


def _together(points: Sequence[float]) -> float:
    """The points of a variant's tokens, rarest first: of the first two, and then of all others."""
    others = 0.0
    for one in points[2:]:
        others = _single(others + one)
    return _single(_single(points[0] + points[1]) + others)


def _single(value: float) -> float:
    """To single precision. Of a product or a sum of two such numbers, that is what working in it would give."""
    return float(np.float32(value))


@lru_cache(maxsize=8192)  # the same sentences come up for one question after the other
def _counted(search_text: str) -> tuple[Mapping[str, int], int]:
    """How often a sentence holds each term, and its length as tantivy keeps it."""
    found = terms_of(search_text)
    return dict(Counter(found)), norm(len(found))


def _weight(evidence: int, held: int, boost: float) -> float:
    # As tantivy: a quotient and a logarithm in single precision, then times k1 + 1, then times the boost.
    rare = (np.float32(evidence - held) + np.float32(0.5)) / (np.float32(held) + np.float32(0.5))
    single = np.float32(np.log(np.float64(_ONE + rare)))
    return float(single * (_ONE + _K1) * np.float32(boost))


@cache
def _analyzer() -> tantivy.TextAnalyzer:
    return stemmer()
