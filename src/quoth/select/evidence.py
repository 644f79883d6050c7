"""The evidence reranker: late interaction and full text together, and a cross-encoder on the best few."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from quoth.protocols import CrossEncoder, Reader
from quoth.select.late import matches
from quoth.types import Candidate, Probe, Sentence, Support

Context = Callable[[Sentence], str]
"""What stands around a sentence: its heading and the sentence before it."""


@dataclass(frozen=True, slots=True)
class Logistic:
    """A probability from a few named numbers, each with its weight."""

    intercept: float
    weights: Mapping[str, float]

    def terms(self, parts: Mapping[str, float]) -> dict[str, float]:
        """What each part adds to the log odds."""
        return {name: weight * parts[name] for name, weight in self.weights.items()}

    def probability(self, parts: Mapping[str, float]) -> float:
        return logistic(self.intercept + sum(self.terms(parts).values()))


@dataclass(frozen=True, slots=True)
class EvidenceModel:
    """The weights that were fitted on labelled questions. `late` needs no cross-encoder, `cross` has its score too.

    Each pair holds the model of a sentence (does it support?) and that of an answer (do the quotes answer?).
    """

    late: tuple[Logistic, Logistic]
    cross: tuple[Logistic, Logistic]
    revision: str


def context_of(sentence: Sentence, reader: Reader) -> str:
    """The innermost heading over a sentence and the sentence before it."""
    before, _ = reader.neighbours(sentence)
    around = [*sentence.section[-1:], before.text if before and before.section == sentence.section else ""]
    return " ".join(filter(None, around))


class EvidenceReranker:
    """Implements `Reranker`. The `closer` best candidates are read by the cross-encoder, where there is one."""

    name = "evidence"

    def __init__(self, model: EvidenceModel, cross: CrossEncoder | None, *, closer: int) -> None:
        self._model = model
        self._cross = cross
        self._closer = closer

    def score(self, probe: Probe, candidates: Sequence[Candidate], context: Context) -> list[Support]:
        found = self._by_late_interaction(probe, candidates)
        if self._cross is None or not candidates:
            return found
        best = sorted(range(len(found)), key=lambda place: (-found[place].score, place))[: self._closer]
        read = [(candidates[place].sentence.search_text, context(candidates[place].sentence)) for place in best]
        for place, score in zip(best, self._cross.score(probe.text, read), strict=True):
            parts = {**found[place].parts, "cross": score}
            found[place] = Support(self._model.cross[0].probability(parts), parts, found[place].matches)
        # What was not read must not pass what was: it was worse at the first look.
        least = min(found[place].score for place in best)
        for place in set(range(len(found))) - set(best):
            found[place] = Support(min(least, found[place].score), found[place].parts, found[place].matches)
        return found

    def _by_late_interaction(self, probe: Probe, candidates: Sequence[Candidate]) -> list[Support]:
        if probe.tokens is None:
            raise ValueError("late interaction needs the tokens of the question")
        table = matches(probe.tokens, [candidate.tokens for candidate in candidates])
        late = table @ probe.weights
        found = []
        for candidate, value, row in zip(candidates, late, table, strict=True):
            parts = {"late": round(float(value), 6), "lexical": candidate.lexical}
            found.append(Support(self._model.late[0].probability(parts), parts, tuple(np.round(row, 3).tolist())))
        return found


def logistic(log_odds: float) -> float:
    return 1 / (1 + math.exp(-max(-40.0, min(40.0, log_odds))))
