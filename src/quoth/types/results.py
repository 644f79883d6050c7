"""Search results, the stages from candidates to evidence, and the answer or abstention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from quoth.errors import OffsetMismatch
from quoth.types.documents import Metadata, Sentence
from quoth.types.questions import Analysis, EncodedQuestion, Question, SubQuestion
from quoth.types.text import Span, Vectors


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence that full text or vectors found, with both scores, which are absolute.

    `lexical` is its BM25 divided by the BM25 of an ideal sentence that holds every term once, at most 1. `dense` is the
    cosine, 0 when the search had no vector. `found_by` is a subset of ("lexical", "dense"). `tokens` are its token
    codes for late interaction, two to a byte; empty when the index has none.
    """

    sentence: Sentence
    lexical: float
    dense: float
    found_by: tuple[str, ...]
    tokens: bytes


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Candidates ordered by sentence id, with a row of `vectors` for each."""

    items: tuple[Candidate, ...]
    vectors: Vectors


@dataclass(frozen=True, slots=True)
class Support:
    """How well a sentence supports an answer: a `score` from 0 to 1, and the named `features` it was computed from.

    `log_odds` are the log odds that the sentence is an answer, and sort like `score`; None without a model. `matches`
    holds the similarity of each question token to its best match in the sentence; empty when unknown.
    """

    score: float
    log_odds: float | None
    features: Mapping[str, float]
    matches: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with the scores of the stages.

    `row` is its row in `Candidates.vectors`. `fused` and `relevance` are absolute, and decisions depend on them;
    `relevance` and `support` come from the reranker. `order` is the relevance with the profile's boosts and only sorts.
    """

    candidate: Candidate
    row: int
    fused: float
    relevance: float
    order: float
    support: Support | None

    @property
    def sentence(self) -> Sentence:
        return self.candidate.sentence


@dataclass(frozen=True, slots=True)
class SentenceInContext:
    """A sentence as the cross-encoder reads it: with its headings, and the sentence before if it leans on that one."""

    text: str
    heading: str
    before: str


@dataclass(frozen=True, slots=True)
class TokenMark:
    """A token, `[start, end)` of what a cross-encoder reads, with the log odds that it is a part of the answer."""

    start: int
    end: int
    log_odds: float


@dataclass(frozen=True, slots=True)
class Confidence:
    """The probability that the quotes answer the question, and the `features` it was computed from.

    `terms` holds what each feature adds to the log odds. Without an evidence model `value` is the best fused score, and
    `terms` is empty.
    """

    value: float
    features: Mapping[str, float]
    terms: Mapping[str, float]


class QuoteRole(StrEnum):
    """What a quote does in an answer: it supports the answer by itself, or completes one that does."""

    ANSWER = "answer"
    CONTEXT = "context"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A sentence to quote. `companion_of` is the id of the sentence that it completes; None if it stands by itself.

    `also` are equal sentences in other places.
    """

    sentence: Sentence
    score: float
    companion_of: str | None
    role: QuoteRole
    also: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen evidence, every sentence that supports an answer, best first, and the redundancy before and after.

    `see_also` is what else is near the question, best first: it is not quoted as a part of the answer.
    """

    evidence: tuple[Evidence, ...]
    see_also: tuple[Evidence, ...]
    supporting: tuple[Ranked, ...]
    redundancy_before: float
    redundancy_after: float


class Reason(StrEnum):
    NO_RESULTS = "no_results"
    UNKNOWN_ENTITY = "unknown_entity"
    UNGROUNDED_NUMBER = "ungrounded_number"
    INSUFFICIENT_SUPPORT = "insufficient_support"
    LOW_CONFIDENCE = "low_confidence"
    SUPERSEDED_ONLY = "superseded_only"


class Outlook(StrEnum):
    """What an abstention leaves to people."""

    MAY_BE_RELEVANT = "may_be_relevant"
    """The nearest evidence is probably about the question, but does not surely answer it."""
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a check objects to an answer; `detail` is a sentence for people."""

    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True)
class SubAnswer:
    """A sub-question with its evidence, best first. `objection` says why it has no evidence."""

    sub_question: SubQuestion
    evidence: tuple[Ranked, ...]
    objection: Objection | None


class ConflictKind(StrEnum):
    QUANTITY = "quantity"
    PERMISSION = "permission"


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence to compare with others, with the authority of its document and whether it is in force."""

    sentence: Sentence
    document_name: str
    authority: str | None
    authority_guessed: bool
    in_force: bool


@dataclass(frozen=True, slots=True)
class Conflict:
    """Statements in force that disagree about a subject, binding statements first.

    `says` holds the words that disagree (`six (6) feet`, `prohibited`), in the order of `statements`. `detail` is a
    sentence for people.
    """

    kind: ConflictKind
    subject: str
    statements: tuple[Statement, ...]
    says: tuple[str, ...]
    detail: str


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens, attempts and cost of an API request. `cost` is in dollars, None when the price is unknown."""

    model: str
    prompt_tokens: int
    completion_tokens: int
    attempts: int
    cost: float | None


@dataclass(frozen=True, slots=True)
class RunNotes:
    """How a result was made. It holds no times, so that the same question gives the same bytes."""

    retriever: str
    k_initial: int
    rerank_topk: int
    decision: tuple[str, ...]
    max_retrieval: float
    support_count: int
    redundancy_before: float
    redundancy_after: float
    degraded: tuple[str, ...]
    warnings: tuple[str, ...]
    profile: str
    calibrated: bool
    index: str
    settings: str


@dataclass(frozen=True, slots=True)
class Citation:
    """A verified quote in an answer or an abstention."""

    sentence: Sentence
    score: float
    doc_sha256: str
    metadata: Metadata
    authority: str | None
    """The authority of its document; None in a profile without authority."""
    companion_of: str | None
    """The id of the cited sentence that this quote completes."""
    why: str | None
    """For the nearest evidence of an abstention: what it lacks. Written by Quoth, not quoted."""
    cells: str | None
    """The cells of a spreadsheet that it quotes, `Sheet1!A5:D5`; None for other documents."""
    display: str
    """The sentence for people, on one line and with words joined that a line break hyphenates. It is not exact."""
    lead_display: str | None
    """The lead for people; None for a sentence without one."""
    role: QuoteRole
    also: tuple[Sentence, ...]
    """Equal sentences in other places, verified too."""
    highlights: tuple[Span, ...]
    """The words that answer, in order and apart from each other; () when no words stand out."""

    def __post_init__(self) -> None:
        """Raise `OffsetMismatch` for a highlight that is no part of the quote."""
        end = self.sentence.quote.span.start
        for span in self.highlights:
            if not self.sentence.quote.span.holds(span) or span.start < end:
                raise OffsetMismatch(self.sentence.doc_id, span.start, span.end)
            end = span.end


@dataclass(frozen=True, slots=True)
class Answer:
    """`unsupported_parts` are the texts of the sub-questions without evidence.

    `see_also` is what else is near the question: verified like the citations, and no part of the answer. `understood`
    is the question that a follow-up was answered as; None when it was asked as it stands.
    """

    question: Question
    citations: tuple[Citation, ...]
    see_also: tuple[Citation, ...]
    unsupported_parts: tuple[str, ...]
    conflicts: tuple[Conflict, ...]
    confidence: float
    notes: RunNotes
    understood: str | None


@dataclass(frozen=True, slots=True)
class Abstention:
    """`missing` lists the names, dates, numbers, words and sub-questions of the question that have no evidence.

    `unsupported_parts` are only the sub-questions among them. `understood` is as in `Answer`.
    """

    question: Question
    objection: Objection
    outlook: Outlook
    missing: tuple[str, ...]
    unsupported_parts: tuple[str, ...]
    nearest: tuple[Citation, ...]
    confidence: float
    notes: RunNotes
    understood: str | None


Outcome: TypeAlias = Answer | Abstention


@dataclass(frozen=True, slots=True)
class Trace:
    """Every stage of a question with its scores, for `--why`."""

    analysis: Analysis
    fused: tuple[Ranked, ...]
    """All candidates, by fused score."""
    ranked: tuple[Ranked, ...]
    sub_answers: tuple[SubAnswer, ...]
    """() for a question without sub-questions."""
    selection: Selection
    encoded: EncodedQuestion
    confidence: Confidence
    """The confidence before calibration."""
    objections: tuple[tuple[str, Objection | None], ...]
    """The name and objection of every check, including the checks after the first objection."""
    usage: Usage | None
    """The request of an LLM reranker; None without one."""


@dataclass(frozen=True, slots=True)
class AskResult:
    """The outcome of a question with its trace."""

    outcome: Outcome
    trace: Trace
