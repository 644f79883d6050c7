"""What an inspection of an index found: figures of each document, and problems that a person can act on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from quoth.types.documents import DocumentInfo, IndexInfo, Refused
from quoth.types.text import RegionKind


class Severity(StrEnum):
    """How much a problem costs, worst first: content is missing, content looks wrong, something to know."""

    MISSING = "missing"
    DOUBTFUL = "doubtful"
    NOTE = "note"

    @property
    def rank(self) -> int:
        return list(Severity).index(self)


class ProblemKind(StrEnum):
    REFUSED = "refused"
    EMPTY = "empty"
    NO_EVIDENCE = "no_evidence"
    LITTLE_EVIDENCE = "little_evidence"
    PAGES_WITHOUT_TEXT = "pages_without_text"
    ODD_CHARACTERS = "odd_characters"
    GLUED_WORDS = "glued_words"
    SPACED_LETTERS = "spaced_letters"
    UNSURE_RECOGNITION = "unsure_recognition"
    PAGES_WITHOUT_SENTENCES = "pages_without_sentences"
    READER_NOTE = "reader_note"
    SUCCESSOR = "successor"
    UNKNOWN_TYPE = "unknown_type"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a document, or with its `pages`. `next_step` tells what to do; empty where nothing is."""

    kind: ProblemKind
    severity: Severity
    pages: tuple[int, ...]
    detail: str
    next_step: str


@dataclass(frozen=True, slots=True)
class InspectedDocument:
    """A document with its figures.

    `evidence_share` is the share of its visible text, markup apart, that can be quoted; None where there is no text.
    `left_out` counts the visible characters of each kind of region that is no evidence; it lacks the kinds that are
    never quoted where the index does not record them. `guessed` says what nobody stated, by field.
    """

    info: DocumentInfo
    evidence_share: float | None
    tables: int
    pages_without_text: tuple[int, ...]
    recognised_pages: tuple[int, ...]
    """Pages that were read from pictures."""
    left_out: Mapping[RegionKind, int]
    guessed: Mapping[str, str]
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class Inspection:
    """The documents of one generation, ordered by id, and the files that ingests refused."""

    info: IndexInfo | None
    """None where no index was made, because no file could be read."""
    documents: tuple[InspectedDocument, ...]
    refused: tuple[Refused, ...]
    missing: tuple[str, ...]
    """Shards that do not answer; their documents are not in this inspection."""
