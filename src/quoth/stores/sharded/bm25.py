"""BM25 by the statistics of the whole index, worked out as tantivy does it: in single precision, step by step.

Tantivy adds up the words of a question in the order in which they are asked for, and the tokens of a variant rarest
first, as they are in each of its segments: of three tokens or more, the last bit may be another than here.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from quoth.stores.embedded.lexical_index import share
from quoth.stores.query_terms import Variant, norm, stems_of, weigh
from quoth.stores.sharded.shard_protocol import QueryWeights, WeighedVariant

_K1, _B = np.float32(1.2), np.float32(0.75)
_ONE = np.float32(1)
_LOG = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_float)(("logf", ctypes.CDLL(None)))
"""The C library's logarithm, which tantivy calls too: its last bit is not always that of a more exact one."""


def lookups(groups: Sequence[Sequence[Variant]]) -> tuple[Variant, ...]:
    """Return what must be counted to weigh `groups`: every variant, and every token alone."""
    variants = [variant for group in groups for variant in group]
    return tuple(dict.fromkeys([*variants, *((token,) for variant in variants for token in variant)]))


def weights(
    groups: Sequence[Sequence[Variant]], held: Mapping[Variant, int], *, evidence: int, terms: int
) -> QueryWeights:
    """Weigh groups. `evidence` sentences hold `terms` terms; `held` counts those with each of `lookups`."""
    weighed = [weigh(group, evidence, held=held.__getitem__) for group in groups]
    return QueryWeights(
        groups=tuple(
            tuple(
                tuple(
                    (token, token_weight(evidence, held[(token,)], boost))
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
    """Return the average number of terms per sentence, in single precision."""
    return float(np.float32(terms) / np.float32(evidence)) if evidence else 0.0


class Scorer:
    """Scores sentences for one question."""

    def __init__(self, weights: QueryWeights) -> None:
        self.ideal = weights.ideal
        self._weights = weights
        self._factors: dict[tuple[int, int], float] = {}

    def share(self, search_text: str, language: str) -> float:
        """Return the share of the ideal sentence's score, 0 to 1. `language`: see `stems_of`."""
        return share(self.score(search_text, language), self.ideal)

    def score(self, search_text: str, language: str) -> float:
        counts, length = _counted(search_text, language)
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
    """Add up the points of a variant's tokens, rarest first, in tantivy's order."""
    others = 0.0
    for point in points[2:]:
        others = _single(others + point)
    return _single(_single(points[0] + points[1]) + others)


def _single(value: float) -> float:
    """Round to single precision. After one sum or product that equals computing in single precision."""
    return float(np.float32(value))


@lru_cache(maxsize=8192)  # the same sentences come up for one question after the other
def _counted(search_text: str, language: str) -> tuple[Mapping[str, int], int]:
    """Count the terms of a sentence, and return its length as tantivy keeps it."""
    found = stems_of(search_text, language)
    return dict(Counter(found)), norm(len(found))


def token_weight(evidence: int, held: int, boost: float) -> float:
    """Return tantivy's weight of a token that `held` of `evidence` sentences hold; without boost, that is 1."""
    # As tantivy: a quotient and a logarithm in single precision, then times k1 + 1, then times the boost.
    rare = (np.float32(evidence - held) + np.float32(0.5)) / (np.float32(held) + np.float32(0.5))
    single = np.float32(_LOG(_ONE + rare))
    return float(single * (_ONE + _K1) * np.float32(boost))
