"""The same questions asked of two versions of a document: what is the same, what changed, and what only one states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from quoth.errors import CorpusError
from quoth.grid.grid_cells import CellKind, CellQuote, Grid, GridCell, documents_named, plan_grid
from quoth.grid.run_grid import ask_cells
from quoth.language.display import Vocabulary, displayed_lead, displayed_sentence
from quoth.language.word_edits import WordEdit, word_edits
from quoth.library import Quoth
from quoth.protocols import Progress
from quoth.types import DocumentInfo, Question, Sentence


class Change(StrEnum):
    SAME = "same"
    CHANGED = "changed"
    ONLY_IN_A = "only in A"
    ONLY_IN_B = "only in B"
    IN_NEITHER = "in neither"


@dataclass(frozen=True, slots=True)
class VersionSide:
    """What one version says: the `quote` of its cell, or the same words as the other's, which its cell did not quote.

    `nearest` is the nearest miss of a version that does not state it.
    """

    quote: CellQuote | None
    nearest: CellQuote | None
    confidence: float
    why: str


@dataclass(frozen=True, slots=True)
class VersionChange:
    """How two versions answer a question. `edits` lead from the quote of A to the one of B, as people read
    them; () unless it changed.

    Of a change, `a_in_b` is whether B still holds the quote of A, word for word, and `b_in_a` the reverse: then the
    better quote is new, and the old one was not taken back.
    """

    question: Question
    change: Change
    a: VersionSide
    b: VersionSide
    edits: tuple[WordEdit, ...]
    a_in_b: bool
    b_in_a: bool


def version_named(quoth: Quoth, pattern: str) -> DocumentInfo:
    """Return the document that an id or a glob names. Raise `CorpusError` unless it is exactly one."""
    found = documents_named(pattern, quoth.documents())
    if len(found) > 1:
        names = ", ".join(info.id for info in found[:3])
        raise CorpusError(f"'{pattern}' names {len(found)} documents: {names} …", hint="Give the id of one of them.")
    return found[0]


def compare_versions(
    quoth: Quoth, a: str, b: str, questions: Sequence[Question], *, workers: int, progress: Progress | None = None
) -> Iterator[VersionChange]:
    """Ask each question of the documents with the ids `a` and `b`, and return how their answers differ, in order.

    White space is no difference. A version that holds the other's quote word for word states it, even where its own
    cell quotes another sentence or none.
    """
    plan = plan_grid(quoth, questions, docs=[a, b])
    lines: list[dict[str, Any]] = []

    def keep(line: dict[str, Any]) -> None:
        lines.append(line)
        if progress:
            progress("asking", len(lines), len(plan.documents) * len(questions))

    ask_cells(quoth, plan, keep, workers=workers)
    cells = {document.id: found for document, found in Grid(plan, tuple(lines)).rows()}
    held_a, held_b = _held(quoth, a), _held(quoth, b)
    for question, of_a, of_b in zip(questions, cells[a], cells[b], strict=True):
        yield _compared(question, of_a, of_b, held_a, held_b)


def _held(quoth: Quoth, doc_id: str) -> dict[str, CellQuote]:
    """Return every sentence of a document by its words; of equal ones, the first."""
    document = quoth.document(doc_id)
    vocabulary = Vocabulary(document.text if document else "")
    quotes = [_quote_of(sentence, vocabulary) for sentence in quoth.sentences(doc_id)]
    return {_words(quote): quote for quote in reversed(quotes)}


def _quote_of(sentence: Sentence, vocabulary: Vocabulary) -> CellQuote:
    span = sentence.quote.span
    return CellQuote(
        text=sentence.text,
        display=displayed_sentence(sentence, vocabulary),
        lead=displayed_lead(sentence, vocabulary) or "",
        start=span.start,
        end=span.end,
        section=sentence.section,
        page=sentence.page,
    )


def _compared(
    question: Question,
    cell_a: GridCell | None,
    cell_b: GridCell | None,
    held_a: dict[str, CellQuote],
    held_b: dict[str, CellQuote],
) -> VersionChange:
    quote_a, quote_b = _stated(cell_a), _stated(cell_b)
    in_b = held_b.get(_words(quote_a)) if quote_a else None
    in_a = held_a.get(_words(quote_b)) if quote_b else None
    if (quote_a or quote_b) and (in_b or not quote_a) and (in_a or not quote_b):
        change = Change.SAME
    elif quote_a and quote_b:
        change = Change.CHANGED
    else:
        change = Change.ONLY_IN_A if quote_a else Change.ONLY_IN_B if quote_b else Change.IN_NEITHER
    edits = word_edits(quote_a.display, quote_b.display) if change is Change.CHANGED and quote_a and quote_b else ()
    return VersionChange(
        question,
        change,
        _side(cell_a, quote_a or in_a),
        _side(cell_b, quote_b or in_b),
        edits,
        a_in_b=in_b is not None,
        b_in_a=in_a is not None,
    )


def _stated(cell: GridCell | None) -> CellQuote | None:
    """Return the quote of a cell. A version that was replaced states what it states."""
    return None if cell is None or cell.kind is CellKind.NOT_STATED else cell.quote


def _side(cell: GridCell | None, quote: CellQuote | None) -> VersionSide:
    if cell is None:
        return VersionSide(quote, None, 0.0, "")
    return VersionSide(quote, None if quote else cell.quote, cell.confidence, "" if quote else cell.why)


def _words(quote: CellQuote) -> str:
    """Return the words to compare: line breaks and the hyphens that they cause are no difference."""
    return " ".join(quote.display.split())


def change_json(a: str, b: str, change: VersionChange) -> dict[str, Any]:
    """Return a change as a JSON object; `a` and `b` are the ids of the documents."""
    return {
        "question_id": change.question.id,
        "question": change.question.text,
        "change": change.change.value,
        "a": {"doc_id": a, **asdict(change.a)},
        "b": {"doc_id": b, **asdict(change.b)},
        "edits": [asdict(edit) for edit in change.edits],
        "a_in_b": change.a_in_b,
        "b_in_a": change.b_in_a,
        "offset_unit": "codepoint",
    }
