"""Judge answers against their gold: ask the engine, or read the results of an earlier run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import isfinite
from typing import Any, Literal

from quoth.answer.verification import TextOf, verify_run
from quoth.errors import QuothError
from quoth.evaluation.labelled_questions import DocumentSpan, LabelledQuestion, first_ranks, reporting, touches
from quoth.library import Quoth
from quoth.output.render import main_tags, outcome_json
from quoth.protocols import Progress
from quoth.types import AskResult, Candidate, Evidence, QuoteRole, Ranked, Sentence, Span

FAULT_CONFIDENCE = 1.0
"""A question without a result counts as a wrong answer given with the highest confidence, so that it never helps."""


@dataclass(frozen=True, slots=True)
class QuotedSentence:
    """A quoted sentence; `tags` holds the main value of each facet. Raises `ValueError` for an impossible span.

    `highlights` are the words in it that answer; None where the run does not record them.
    """

    doc_id: str
    start: int
    end: int
    text: str
    score: float
    tags: Mapping[str, str]
    role: str = QuoteRole.ANSWER.value
    """Runs from before had no roles: every quote was there to answer."""
    highlights: tuple[Span, ...] | None = None

    def __post_init__(self) -> None:
        Span(self.start, self.end)

    @property
    def place(self) -> DocumentSpan:
        return self.doc_id, Span(self.start, self.end)


@dataclass(frozen=True, slots=True)
class Exactness:
    """How many citations were sliced again from their sources, and how many of them differ."""

    citations: int
    inexact: int


@dataclass(frozen=True, slots=True)
class ResultOrigin:
    """What produced a result: the profile, and the digests of the index and the settings."""

    profile: str
    index: str
    settings: str
    calibrated: bool


@dataclass(frozen=True, slots=True)
class Judgement:
    """A question and how it was answered.

    `quotes` come from the answer, best first; for an abstention, they are the withheld quotes, or the nearest evidence
    if none was chosen. `right` means that the question is answerable and one of the quotes touches gold. `fault` says
    why there is no result (then it counts as a wrong answer, see `FAULT_CONFIDENCE`). `exactness`, `redundancy` (before
    and after selection) and `stages` are None where the run does not record them.
    """

    labelled: LabelledQuestion
    abstained: bool
    confidence: float
    right: bool
    reason: str | None
    detail: str | None
    fault: str | None
    quotes: tuple[QuotedSentence, ...]
    exactness: Exactness | None
    redundancy: tuple[float, float] | None
    stages: StageRanks | None
    origin: ResultOrigin | None

    @property
    def answered(self) -> bool:
        """Return whether the engine answered; a question without a result counts as not answered."""
        return not self.abstained and self.fault is None


def judge_each(quoth: Quoth, items: Sequence[LabelledQuestion], *, progress: Progress | None) -> tuple[Judgement, ...]:
    """Ask every question and judge its result, in the given order.

    A question that raises is a fault and the others go on. What would stop all of them (the index, the model, the
    settings) is raised before the first question.
    """
    quoth.prepare()
    text_of = texts_of(quoth)
    return tuple(_judge_live(quoth, item, text_of) for item in reporting(items, "asking", progress))


def texts_of(quoth: Quoth) -> TextOf:
    """Return a function that gives a document's text by its id, or None; it caches the last 64."""

    @lru_cache(maxsize=64)
    def text_of(doc_id: str) -> str | None:
        document = quoth.document(doc_id)
        return document.text if document else None

    return text_of


def _judge_live(quoth: Quoth, item: LabelledQuestion, text_of: TextOf) -> Judgement:
    try:
        asked = quoth.explain(item.question)
    except Exception as error:  # whatever it is, it must be counted and not end the evaluation
        return faulty(item, f"{error.code if isinstance(error, QuothError) else type(error).__name__}: {error}")
    return judge_asked(item, asked, text_of=text_of)


def judge_asked(item: LabelledQuestion, asked: AskResult, *, text_of: TextOf | None) -> Judgement:
    """Judge what the engine returned. Without `text_of`, exactness is None."""
    judged = judge_result(item, outcome_json(asked.outcome), text_of=text_of)
    if judged.fault is not None:
        return judged
    withheld = tuple(map(_from_evidence, asked.trace.selection.evidence)) if judged.abstained else ()
    quotes = withheld or judged.quotes
    return replace(judged, quotes=quotes, right=is_right(item, quotes), stages=stages_of(asked, item))


def _from_evidence(evidence: Evidence) -> QuotedSentence:
    sentence, span, score = evidence.sentence, evidence.sentence.quote.span, round(evidence.score, 4)
    tags, role = main_tags(sentence.tags), evidence.role.value
    return QuotedSentence(sentence.doc_id, span.start, span.end, sentence.text, score, tags, role)


def judge_result(item: LabelledQuestion, result: Mapping[str, Any], *, text_of: TextOf | None) -> Judgement:
    """Judge one JSON object of a run; an object that is no result is a fault. Without `text_of`, exactness is None."""
    try:
        confidence = _confidence(result)
        abstained = result["abstained"]
        if not isinstance(abstained, bool):
            raise TypeError("abstained must be true or false")
        shown = result["answer_sentences"] or (result.get("nearest") if abstained else None) or []
        quotes = tuple(map(_from_citation, shown))
        reason = result.get("reason") or {}
        code, detail = (None if (value := reason.get(name)) is None else str(value) for name in ("code", "detail"))
        redundancy, origin = _notes(result.get("run_notes") or {})
        exactness = _exactness(result, text_of) if text_of else None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return faulty(item, f"the result cannot be read: {type(error).__name__}: {error}")
    return Judgement(
        labelled=item,
        abstained=abstained,
        confidence=confidence,
        right=is_right(item, quotes),
        quotes=quotes,
        reason=code,
        detail=detail,
        fault=None,
        exactness=exactness,
        redundancy=redundancy,
        stages=None,
        origin=origin,
    )


def faulty(item: LabelledQuestion, why: str) -> Judgement:
    """Return the judgement of a question without a result: wrong, fully confident, with one inexact citation."""
    return Judgement(
        labelled=item,
        abstained=False,
        confidence=FAULT_CONFIDENCE,
        right=False,
        quotes=(),
        reason=None,
        detail=None,
        fault=why,
        exactness=Exactness(1, 1),
        redundancy=None,
        stages=None,
        origin=None,
    )


def touches_gold(item: LabelledQuestion, sentence: Sentence) -> bool:
    """Return whether the sentence shares a character with gold of the question."""
    return any(touches(_place(sentence), gold) for gold in item.gold)


def is_right(item: LabelledQuestion, quotes: Sequence[QuotedSentence]) -> bool:
    """Return whether the question is answerable and at least one quote touches gold."""
    return item.answerable and any(touches(quote.place, gold) for quote in quotes for gold in item.gold)


def _confidence(result: Mapping[str, Any]) -> float:
    value = result["confidence"]
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or not 0 <= value <= 1:
        raise ValueError("confidence must be a number from 0 to 1")
    return float(value)


def _from_citation(content: Mapping[str, Any]) -> QuotedSentence:
    doc_id, text, start, end = (content[name] for name in ("doc_id", "text", "start", "end"))
    if not isinstance(doc_id, str) or not isinstance(text, str):
        raise TypeError("doc_id and text must be texts")
    if type(start) is not int or type(end) is not int:
        raise TypeError("start and end must be whole numbers")
    tags = {str(facet): str(value) for facet, value in (content.get("tags") or {}).items()}
    score = float(content.get("score") or 0.0)
    role = str(content.get("role") or QuoteRole.ANSWER.value)
    given = content.get("highlights")
    highlights = None if given is None else tuple(Span(*span) for span in given)
    return QuotedSentence(doc_id, start, end, text, score if isfinite(score) else 0.0, tags, role, highlights)


def _notes(notes: Mapping[str, Any]) -> tuple[tuple[float, float] | None, ResultOrigin | None]:
    scores = notes.get("scores") or {}
    before, after = scores.get("redundancy_before"), scores.get("redundancy_after")
    redundancy = None if before is None or after is None else (float(before), float(after))
    if not all(isinstance(notes.get(name), str) for name in ("profile", "index", "settings")):
        return redundancy, None
    return redundancy, ResultOrigin(notes["profile"], notes["index"], notes["settings"], bool(notes.get("calibrated")))


def _exactness(result: Mapping[str, Any], text_of: TextOf) -> Exactness:
    checked = verify_run([result], text_of)
    # A result whose words differ from what it cites counts as one more inexact citation.
    contradictions = sum(failure.doc_id == "-" for failure in checked.failures)
    return Exactness(checked.citations + contradictions, len(checked.failures))


STAGES = ("lexical", "dense", "fused", "reranked", "selected")
"""In the order of the pipeline. A lexical search has no dense stage, and the other way round."""
TOP = 5
"""Sentences that the precision of the order looks at."""
UNTAGGED = "other"
"""The value of a facet for a sentence in which nothing matched."""

_WITHOUT = {"bm25": "dense", "dense": "lexical"}
"""Which way a retriever does not search."""


@dataclass(frozen=True, slots=True)
class StageRanks:
    """`ranks` holds for each stage the rank, from 1, of the first sentence that touches each gold; None if none does.

    `boosted` and `unboosted` count the sentences that touch gold among the first `TOP`, ordered with and without the
    profile's boosts. `pairs_gained` is how many more combinations of tags the chosen sentences have than as many of
    the best ranked ones would.
    """

    ranks: Mapping[str, tuple[int | None, ...]]
    boosted: int
    unboosted: int
    pairs_gained: int


def stages_of(asked: AskResult, item: LabelledQuestion) -> StageRanks:
    """Return where each stage of the pipeline ranked the gold of a question."""
    trace = asked.trace
    candidates = [ranked.candidate for ranked in trace.fused]
    orders: dict[str, list[DocumentSpan]] = {
        "lexical": _by_score(candidates, "lexical"),
        "dense": _by_score(candidates, "dense"),
        "fused": [_place(ranked.sentence) for ranked in trace.fused],
        "reranked": [_place(ranked.sentence) for ranked in trace.ranked],
        "selected": [_place(evidence.sentence) for evidence in trace.selection.evidence],
    }
    absent = _WITHOUT.get(asked.outcome.notes.retriever)
    plain = sorted(trace.ranked, key=lambda ranked: (-ranked.relevance, _place(ranked.sentence)))
    chosen = (item for item in trace.selection.evidence if item.companion_of is None or item.role is QuoteRole.ANSWER)
    own = [item.sentence for item in chosen]
    best = [evidence.sentence for evidence in trace.selection.supporting[: len(own)]]
    return StageRanks(
        ranks={name: first_ranks(order, item.gold) for name, order in orders.items() if name != absent},
        boosted=_relevant(trace.ranked, item),
        unboosted=_relevant(plain, item),
        pairs_gained=len(_pairs(own)) - len(_pairs(best)),
    )


def tag_pairs(tags: Iterable[Mapping[str, str]]) -> set[tuple[str, ...]]:
    """Return the distinct combinations of main tags (crop x practice), leaving out sentences with an untagged facet."""
    return {
        tuple(tag_map[facet] for facet in sorted(tag_map))
        for tag_map in tags
        if tag_map and UNTAGGED not in tag_map.values()
    }


def _pairs(sentences: Sequence[Sentence]) -> set[tuple[str, ...]]:
    return tag_pairs(main_tags(sentence.tags) for sentence in sentences)


def _by_score(candidates: Sequence[Candidate], way: Literal["lexical", "dense"]) -> list[DocumentSpan]:
    """Return the places of the candidates that the lexical or the dense search found, ordered by its score."""
    found = [candidate for candidate in candidates if way in candidate.found_by]
    return [place for _, place in sorted((-getattr(candidate, way), _place(candidate.sentence)) for candidate in found)]


def _relevant(order: Sequence[Ranked], item: LabelledQuestion) -> int:
    return sum(touches_gold(item, ranked.sentence) for ranked in order[:TOP])


def _place(sentence: Sentence) -> DocumentSpan:
    return sentence.doc_id, sentence.quote.span
