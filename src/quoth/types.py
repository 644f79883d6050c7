"""The values that flow through Quoth. All are frozen; a later stage makes new ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from quoth.errors import OffsetMismatch

Vectors: TypeAlias = NDArray[np.float32]
"""Unit-length row vectors, one per text; a single vector has one dimension less."""

Tags: TypeAlias = Mapping[str, tuple[str, ...]]
"""Every value that matched, by facet (`crop`, `practice`, ...); the main value comes first."""


Box: TypeAlias = tuple[float, float, float, float]
"""A rectangle on a page: left, top, right and bottom, in points from the top left corner."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Half-open `[start, end)` range of code points in one document's text."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise ValueError(f"span must satisfy 0 <= start < end, got {self.start}:{self.end}")

    def __len__(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Quote:
    """A slice of a document together with the text that must be found there."""

    span: Span
    text: str


class RegionKind(StrEnum):
    """What a run of document text is."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    TABLE_HEADER = "table_header"
    TABLE_ROW = "table_row"
    CODE = "code"
    QUOTE = "quote"
    FOOTNOTE = "footnote"
    CAPTION = "caption"
    # The kinds below are skipped: named, so that splitting stays lossless, but never quoted.
    FRONT_MATTER = "front_matter"
    MARKUP = "markup"
    HTML = "html"
    CONTENTS = "table_of_contents"
    FURNITURE = "page_furniture"

    @property
    def skipped(self) -> bool:
        return self in _SKIPPED

    @property
    def evidence(self) -> bool:
        """Whether a sentence of this kind can stand as an answer: a heading names, it does not state."""
        return self not in _SKIPPED and self not in _LABELS


_SKIPPED = frozenset(
    {RegionKind.FRONT_MATTER, RegionKind.MARKUP, RegionKind.HTML, RegionKind.CONTENTS, RegionKind.FURNITURE}
)
_LABELS = frozenset({RegionKind.HEADING, RegionKind.TABLE_HEADER})


@dataclass(frozen=True, slots=True)
class Region:
    """A run of text of one kind, with its headings (outermost first).

    `lead` is the line that introduces a list item, or the header row of a table row.
    """

    span: Span
    kind: RegionKind
    section: tuple[str, ...]
    lead: Span | None


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """One page of a document as it is printed, with the place of every character on it.

    `spans` are the runs of the text that stand on this page, in order: a footer comes behind the paragraph that it
    interrupts. `boxes` has one row for each of their code points: left, top, right and bottom, in points from the top
    left corner; a character without a place (a line end) has four zeros. `number` counts from 1.
    """

    number: int
    width: float
    height: float
    spans: tuple[Span, ...]
    boxes: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Extract:
    """What an extractor found in a file.

    `regions` is None where the text itself shows its structure (Markdown, plain text). `recognised` are the runs that
    were read from a picture, each with the recogniser's confidence from 0 to 1. `properties` may hold `title` and
    `language`. `notes` tell the user what the text lacks.
    """

    text: str
    regions: tuple[Region, ...] | None
    pages: tuple[Page, ...]
    recognised: tuple[tuple[Span, float], ...]
    properties: Mapping[str, str]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Supersession:
    """`by` (a document id) replaces the whole document, or only `section` of it."""

    by: str
    section: str | None


@dataclass(frozen=True, slots=True)
class Metadata:
    title: str | None
    document_type: str | None
    is_binding: bool | None
    effective_date: str | None
    """ISO 8601, `YYYY-MM-DD`."""
    superseded_by: tuple[Supersession, ...]
    language: str | None
    tags: Tags


@dataclass(frozen=True, slots=True)
class Document:
    """One source text. `id` is the POSIX path relative to the corpus root."""

    id: str
    text: str
    sha256: str
    """Of the canonical text, encoded as UTF-8."""
    source_sha256: str
    """Of the bytes that were read."""
    encoding: str
    """Of a text file; `""` where the text was extracted."""
    format: str
    extractor: str
    """What made the text from the bytes, with its version."""
    metadata: Metadata

    def quote(self, span: Span) -> str:
        """Return the text at `span`, exactly as stored."""
        if span.end > len(self.text):
            raise OffsetMismatch(self.id, span.start, span.end)
        return self.text[span.start : span.end]


@dataclass(frozen=True, slots=True)
class Sentence:
    """The smallest thing that is quoted: a sentence, a table row, a list item, a heading."""

    doc_id: str
    quote: Quote
    kind: RegionKind
    section: tuple[str, ...]
    lead: Quote | None
    page: int | None
    ocr: float | None
    """How sure the recogniser was, where the text was read from a picture; from 0 to 1."""
    tags: Tags

    @property
    def id(self) -> str:
        return f"{self.doc_id}:{self.quote.span.start}-{self.quote.span.end}"

    @property
    def text(self) -> str:
        return self.quote.text

    @property
    def search_text(self) -> str:
        """What is embedded and indexed: a row or an item means little without its lead."""
        text = f"{self.lead.text}\n{self.text}" if self.lead else self.text
        return unbroken(text)


_BROKEN_WORD = re.compile(r"(?<![^\W\d_])([^\W\d_]++)[-\u2010][^\S\r\n]*\r?\n\s*([^\W\d_A-Z][^\W\d_]*)")
"""A word with a hyphen and a line end in it: what follows goes on in lower case."""


def unbroken(text: str) -> str:
    """`text` for comparing, with each word that is broken over two lines given whole: as one word and with its hyphen,
    since nobody can tell which was meant."""
    if "\u00ad" in text:
        text = text.replace("\u00ad", "")
    return _BROKEN_WORD.sub(r"\1\2 \1-\2", text) if "\n" in text else text


@dataclass(frozen=True, slots=True)
class Passage:
    """A run of whole sentences inside one section: what an agent reads. `first` and `last` are their ordinals.

    Neighbours are the passages before and after in the list of their document; each overlaps the next a little.
    """

    doc_id: str
    span: Span
    first: int
    last: int
    section: tuple[str, ...]
    page: int | None
    tokens: int

    @property
    def id(self) -> str:
        return f"{self.doc_id}:{self.span.start}-{self.span.end}"


@dataclass(frozen=True, slots=True)
class SplitDocument:
    """A document with its sentences in reading order, ready to be stored.

    `fingerprint` changes when the stored form would: the bytes, the metadata, the profile, the extractor or the
    splitter. `root` is the folder it was found in, for `--prune`; it is no part of the index's identity.
    """

    document: Document
    sentences: tuple[Sentence, ...]
    passages: tuple[Passage, ...]
    pages: tuple[Page, ...]
    root: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Known:
    """What a store knows of a document before it is read again."""

    fingerprint: str
    source_sha256: str
    root: str


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """A document without its text, as listings show it."""

    id: str
    sha256: str
    source_sha256: str
    encoding: str
    format: str
    extractor: str
    characters: int
    sentences: int
    pages: int
    """How many it has; 0 for a format without pages."""
    metadata: Metadata


@dataclass(frozen=True, slots=True)
class ShardState:
    """A part of an index that is elsewhere, for operators. `why` it is not `up`, where it is not."""

    name: str
    up: bool
    calls: int
    faults: int
    quiet_seconds: float | None
    """Since it last answered; None where it never did."""
    why: str


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """Vectors of two identities never mix."""

    name: str
    revision: str
    precision: str
    dimension: int


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """What an index says about itself. `digest` depends on its content alone, never on a clock."""

    format: int
    generation: int
    digest: str
    model: ModelIdentity
    profile_name: str
    profile_source: str
    """The profile's YAML as it was at ingest."""
    documents: int
    sentences: int


@dataclass(frozen=True, slots=True)
class Filters:
    """Restrict a search. Fields are combined by AND, the values of one field by OR; empty means any."""

    doc_ids: tuple[str, ...]
    tags: Tags
    document_types: tuple[str, ...]
    is_binding: bool | None
    as_of: str | None
    """ISO 8601: only documents in effect on that day, and those without a date."""


NO_FILTERS = Filters(doc_ids=(), tags={}, document_types=(), is_binding=None, as_of=None)


@dataclass(frozen=True, slots=True, eq=False)
class QuestionTokens:
    """The tokens of a question, ready for late interaction.

    `spans` are their places in the search text. The likeness of token `i` to a stored one is
    `offsets[i] + slopes[i] @ codes`.
    """

    spans: tuple[tuple[int, int], ...]
    slopes: Vectors
    offsets: Vectors


@dataclass(frozen=True, slots=True, eq=False)
class Probe:
    """A question made ready to be compared with sentences.

    `tokens` is None where the model gives none. `weights` say how much each token tells; they sum to 1.
    """

    text: str
    vector: Vectors | None
    tokens: QuestionTokens | None
    weights: Vectors


@dataclass(frozen=True, slots=True)
class Query:
    """What a store searches for.

    `vector` None means full text only. `terms` holds one group for each content word of the question: the word as
    asked, then its synonyms, any of which stands for it. A store gives up to `candidates` sentences by each way.
    """

    vector: Vectors | None
    terms: tuple[tuple[str, ...], ...]
    candidates: int
    filters: Filters


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence found, with both absolute scores whichever way found it.

    `lexical` is BM25 over the score of an ideal sentence that holds every term once, at most 1; `dense` is the
    cosine (0 when the search had no vector). `found_by` is a subset of ("lexical", "dense"). `tokens` are the codes of
    its tokens for late interaction, two to a byte; empty where the index has none.
    """

    sentence: Sentence
    lexical: float
    dense: float
    found_by: tuple[str, ...]
    tokens: bytes


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Search results ordered by sentence id, and their vectors, one row each."""

    items: tuple[Candidate, ...]
    vectors: Vectors


class EntityKind(StrEnum):
    NAME = "name"
    YEAR = "year"
    DATE = "date"
    CODE = "code"
    QUOTED = "quoted"


@dataclass(frozen=True, slots=True)
class Entity:
    """Something particular that a question presumes to exist. `words` are folded; a text mentions the entity when
    all of them stand close together in it."""

    text: str
    kind: EntityKind
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number, or a range, with its unit, converted: `low` and `high` are in the base unit of `dimension`."""

    span: Span
    low: float
    high: float
    dimension: str


class QuestionKind(StrEnum):
    """What kind of question it is; the kind sets the weights of the two ways of searching."""

    GENERAL = "general"
    TERMINOLOGY = "terminology"
    MEANING = "meaning"
    LOCATION = "location"


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    text: str
    filters: Filters


@dataclass(frozen=True, slots=True)
class Analysis:
    """What a question asks for. `search_text` is normalised, for search only; `quantities` are those it presumes.

    `entities` are groups as well: the thing as asked for, then what else it is called.
    """

    question: Question
    search_text: str
    kind: QuestionKind
    terms: tuple[tuple[str, ...], ...]
    tags: Tags
    entities: tuple[tuple[Entity, ...], ...]
    quantities: tuple[Quantity, ...]
    document_types: tuple[str, ...]
    """Those that the question names in words of the profile; () where it names none, or has filters of its own."""
    types_asked: bool
    """Whether one of them is asked for, and not only hinted at."""
    alpha_lexical: float
    alpha_semantic: float


@dataclass(frozen=True, slots=True)
class Part:
    """One of several things that a question asks about, as a question of its own. `text` names it, for people.

    `distinguishing` are groups as in `Analysis.entities`: what only this part names, and a sentence must mention to be
    evidence for it. For a whole `clause` it is enough that the sentence answers it better than the other clauses.
    """

    text: str
    analysis: Analysis
    distinguishing: tuple[tuple[Entity, ...], ...]
    clause: bool


@dataclass(frozen=True, slots=True)
class Support:
    """How far a sentence supports an answer: `score` from 0 to 1, and the named `parts` that it was made from.

    `log_odds` are those of its being an answer, None where no model says; the order is the same. `matches` holds for
    each token of the question how like its best match in the sentence is; empty if unknown.
    """

    score: float
    log_odds: float | None
    parts: Mapping[str, float]
    matches: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate on its way through the stages.

    `row` is its place in the search's vectors. `fused` and `relevance` (the reranker's) are absolute and decide;
    `order` is the relevance with the profile's boosts, and only orders. `support` is what the reranker saw.
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
class Confidence:
    """The probability that the quotes answer, the `parts` it was made from, and what each added to its log odds.

    Without a model of the evidence `value` is the best fused score, and `terms` is empty.
    """

    value: float
    parts: Mapping[str, float]
    terms: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Evidence:
    """A sentence to be quoted. `companion_of` is the id of the sentence that it was added to complete."""

    sentence: Sentence
    score: float
    companion_of: str | None


@dataclass(frozen=True, slots=True)
class Selection:
    """What was chosen, what could have been (best first), and how alike the sentences were before and after."""

    evidence: tuple[Evidence, ...]
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


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a check would not let an answer out; `detail` is a sentence for people."""

    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True)
class Cover:
    """A part of a question with the sentences that are evidence for it, best first; `objection` is why it has none."""

    part: Part
    evidence: tuple[Ranked, ...]
    objection: Objection | None


class ConflictKind(StrEnum):
    QUANTITY = "quantity"
    PERMISSION = "permission"


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence as one side of a comparison: what its document is worth, and whether it is in force."""

    sentence: Sentence
    document_name: str
    authority: str | None
    in_force: bool


@dataclass(frozen=True, slots=True)
class Conflict:
    """Statements in force that disagree about one subject, the binding ones first.

    `says` has for each what it says, in its own words (`six (6) feet`, `prohibited`); `detail` is a sentence for
    people.
    """

    kind: ConflictKind
    subject: str
    statements: tuple[Statement, ...]
    says: tuple[str, ...]
    detail: str


class Source(StrEnum):
    """Which way of searching found a passage."""

    BOTH = "both"
    VECTOR = "vector"
    FULL_TEXT = "full_text"


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A passage found for a question. Each score is the best of its sentences', and absolute.

    `relevance` decides; `order` is the relevance with the profile's boosts, and only orders. `sentences` are those that
    the search found in it, best first. `superseded_by` is what replaces it and is in force. `successor_of` is the id of
    the passage whose successor this is, where it was brought in for that. `reasoning` is what a judging model said.
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
    source: Source
    successor_of: str | None
    reasoning: str | None


class BlockReason(StrEnum):
    """Why a text stands in a context."""

    RELEVANT = "relevant"
    SUCCESSOR = "successor"
    REFERENCE = "reference"
    DEFINITION = "definition"


@dataclass(frozen=True, slots=True)
class ContextBlock:
    """One `[SOURCE n]` of a context: exactly `document.text[span]`. `passages` are the ids of what it was made from.

    `because` names the reference or the term that it was added for; empty for what was found.
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
    """What an agent is given to read. `tokens` are those of the whole `text`; `skipped` did not fit the budget."""

    blocks: tuple[ContextBlock, ...]
    text: str
    tokens: int
    skipped: tuple[str, ...]


class Status(StrEnum):
    SUCCESS = "success"
    LOW_CONFIDENCE = "low_confidence"
    NO_RESULTS = "no_results"


@dataclass(frozen=True, slots=True)
class Usage:
    """What a model behind an API used for one request; `cost` in dollars, None where the price is not known."""

    model: str
    prompt_tokens: int
    completion_tokens: int
    attempts: int
    cost: float | None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a judging model says about a passage: a score from 0 to 1 and its reason."""

    score: float
    reasoning: str


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What was found for an agent. `best` is the highest relevance; `filters` are those that were in force.

    `detected` names the document types that were read from the question's words. `message` says why there is nothing,
    `warning` what to be careful about. `weights` are the lexical and the dense one.
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
    """How a retrieval came about: every passage that was judged, in order, the reranker, and what a model used."""

    analysis: Analysis
    candidates: int
    passages: tuple[FoundPassage, ...]
    reranker: str
    usage: Usage | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A retrieval and how it came about."""

    retrieval: Retrieval
    trace: RetrievalTrace


@dataclass(frozen=True, slots=True)
class RunNotes:
    """How a result came about; no clock and no timing, so that the same question gives the same bytes."""

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
    """A verified quote as it leaves the engine."""

    sentence: Sentence
    score: float
    doc_sha256: str
    metadata: Metadata
    authority: str | None
    """Of its document, in a profile that knows authority."""
    companion_of: str | None
    """The id of the cited sentence that this one completes."""
    why: str | None
    """For the nearest evidence of an abstention: why it is no answer. In our words, never part of the quote."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`unsupported_parts` names the parts of the question that no citation is evidence for."""

    question: Question
    citations: tuple[Citation, ...]
    unsupported_parts: tuple[str, ...]
    conflicts: tuple[Conflict, ...]
    confidence: float
    notes: RunNotes


@dataclass(frozen=True, slots=True)
class Abstention:
    """`missing` names what the question asks for and no evidence was found of: names, dates, numbers, parts, words.

    `unsupported_parts` are those parts alone.
    """

    question: Question
    objection: Objection
    missing: tuple[str, ...]
    unsupported_parts: tuple[str, ...]
    nearest: tuple[Citation, ...]
    confidence: float
    notes: RunNotes


Outcome: TypeAlias = Answer | Abstention


@dataclass(frozen=True, slots=True)
class Trace:
    """Every stage of one question with its scores, for `--why`."""

    analysis: Analysis
    fused: tuple[Ranked, ...]
    """Everything that the search found, by fused score."""
    ranked: tuple[Ranked, ...]
    parts: tuple[Cover, ...]
    """Empty for a question of one part."""
    selection: Selection
    probe: Probe
    confidence: Confidence
    """Before a calibration."""
    objections: tuple[tuple[str, Objection | None], ...]
    """Each check by name and what it said, the ones after the first objection included."""
    usage: Usage | None
    """Of a judging model."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The outcome of a question and how it came about."""

    outcome: Outcome
    trace: Trace
