"""The results of retrieval for an agent: passages, the context made from them, and the trace."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from quoth.types.documents import DocumentInfo, Passage, Supersession
from quoth.types.questions import Analysis, Filters, Question, QuestionKind
from quoth.types.results import Conflict, Ranked, Usage
from quoth.types.text import Span


class FoundBy(StrEnum):
    """The kind of search that found a passage."""

    BOTH = "both"
    VECTOR = "vector"
    FULL_TEXT = "full_text"


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A passage that a search found. Each score is absolute: the best score among its sentences.

    `relevance` decides whether the passage is shown. `order` is the relevance with the profile's boosts and only sorts.
    `sentences` are those that the search found in the passage, best first. `superseded_by` are its successors in force.
    `successor_of` is the id of the passage that this one replaces, if it was added for that reason. `reasoning` is the
    explanation of an LLM reranker, None without such a reranker.
    """

    passage: Passage
    content: str
    document: DocumentInfo
    authority: str | None
    superseded_by: tuple[Supersession, ...]
    sentences: tuple[Ranked, ...]
    dense: float
    lexical: float
    fused: float
    relevance: float
    order: float
    source: FoundBy
    successor_of: str | None
    reasoning: str | None


class BlockReason(StrEnum):
    """Why a block is in a context."""

    RELEVANT = "relevant"
    SUCCESSOR = "successor"
    REFERENCE = "reference"
    DEFINITION = "definition"


@dataclass(frozen=True, slots=True)
class ContextBlock:
    """One `[SOURCE n]` of a context. `content` is exactly the text of the document at `span`.

    `passages` are the ids of the passages that it was made from. `because` is the reference or the term that it was
    added for; empty for a block that the search found.
    """

    document: DocumentInfo
    span: Span
    content: str
    section: tuple[str, ...]
    page: int | None
    authority: str | None
    superseded_by: tuple[Supersession, ...]
    passages: tuple[str, ...]
    reason: BlockReason
    because: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Context:
    """The text for an agent to read. `tokens` is the length of `text`; the ids in `skipped` did not fit the budget."""

    blocks: tuple[ContextBlock, ...]
    text: str
    tokens: int
    skipped: tuple[str, ...]


class Status(StrEnum):
    SUCCESS = "success"
    LOW_CONFIDENCE = "low_confidence"
    NO_RESULTS = "no_results"


@dataclass(frozen=True, slots=True)
class LlmScore:
    """The score of a passage from an LLM reranker, from 0 to 1, and its explanation."""

    score: float
    reasoning: str


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The passages and the context for an agent. `best` is the highest relevance of a passage.

    `filters` are those that the search applied. `detected` are the document types that the question names. `message`
    says why there is no result, `warning` what to be careful about. `weights` are (lexical, dense).
    """

    question: Question
    status: Status
    best: float
    message: str | None
    warning: str | None
    passages: tuple[FoundPassage, ...]
    filters: Filters
    detected: tuple[str, ...]
    kind: QuestionKind
    weights: tuple[float, float]
    degraded: tuple[str, ...]
    conflicts: tuple[Conflict, ...]
    context: Context
    index: str
    settings: str


@dataclass(frozen=True, slots=True)
class RetrievalTrace:
    """How a retrieval was made: every ranked passage in order, the reranker, and what an LLM request used."""

    analysis: Analysis
    candidates: int
    passages: tuple[FoundPassage, ...]
    reranker: str
    usage: Usage | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RetrieveResult:
    """A retrieval with its trace."""

    retrieval: Retrieval
    trace: RetrievalTrace
