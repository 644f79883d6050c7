"""The values of a grid: which questions are asked of which documents, and what each of them states."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any

from quoth.domain.authority import supersessions
from quoth.errors import CorpusError, QuestionError
from quoth.library import Quoth
from quoth.output.render import filters_json, outcome_json
from quoth.search.question_analysis import analyse
from quoth.types import Answer, DocumentInfo, Outcome, Question, Reason

_FIRST_DAY = "0001-01-01"
"""For a document without a date: before the date of any successor."""


class CellKind(StrEnum):
    STATED = "stated"
    NOT_STATED = "not stated"
    SUPERSEDED = "superseded"
    """The document states it, but a later one has replaced these words."""


@dataclass(frozen=True, slots=True)
class CellQuote:
    """A verbatim quote with its place in the document of its row.

    `lead` is the line that gives a list item or a table row its meaning, for people; "" without one.
    """

    text: str
    display: str
    lead: str
    start: int
    end: int
    section: tuple[str, ...]
    page: int | None

    @property
    def place(self) -> str:
        """Where it stands, in words."""
        page = "" if self.page is None else f"page {self.page}, "
        return f"{page}characters {self.start}-{self.end}"


@dataclass(frozen=True, slots=True)
class GridCell:
    """What one document states about one question.

    `quote` is the best quote of a stated cell, else the nearest miss; None when nothing came near. `more` are the other
    quotes of an answer. `why` says why a cell states nothing; "" for one that does.
    """

    doc_id: str
    question_id: str
    kind: CellKind
    quote: CellQuote | None
    more: tuple[CellQuote, ...]
    confidence: float
    why: str

    @property
    def text(self) -> str:
        """The cell of a plain table: the quote, exactly, and on a last line its place and confidence, in brackets."""
        if self.quote is None:
            return self.kind.value
        under = f", under “{self.quote.lead}”" if self.quote.lead else ""
        place = f"[{self.quote.place}{under}, confidence {self.confidence:.2f}]"
        if self.kind is CellKind.STATED:
            return f"{self.quote.text}\n{place}"
        label = "nearest" if self.kind is CellKind.NOT_STATED else "it says"
        return f"{self.kind.value}\n{label}: {self.quote.text}\n{place}"


@dataclass(frozen=True, slots=True)
class GridPlan:
    """The questions and documents of a grid, and the index and settings that answer them.

    Documents are ordered by id. A question with a `doc_scope` is asked only of the documents in it.
    """

    questions: tuple[Question, ...]
    documents: tuple[DocumentInfo, ...]
    index: str
    settings: str

    def asked(self) -> Iterator[Question]:
        """Yield the question of each cell, limited to the document of its row; row by row.

        A document that was replaced is asked as of its own day: a search of today would pass over what it says.
        """
        for document in self.documents:
            own_day = (document.metadata.effective_date or _FIRST_DAY) if document.metadata.superseded_by else None
            for question in self.questions:
                given = question.filters
                if not given.doc_ids or document.id in given.doc_ids:
                    yield replace(
                        question, filters=replace(given, doc_ids=(document.id,), as_of=given.as_of or own_day)
                    )

    def identity(self) -> dict[str, str]:
        """Return what the cells depend on, by a name for people."""
        questions = [[each.id, each.text, filters_json(each.filters)] for each in self.questions]
        return {
            "index": self.index,
            "settings": self.settings,
            "questions": _digest(questions),
            "documents": _digest([[each.id, each.sha256] for each in self.documents]),
        }


@dataclass(frozen=True, slots=True)
class Grid:
    """A finished grid. `lines` are its cells as JSON objects, row by row."""

    plan: GridPlan
    lines: tuple[Mapping[str, Any], ...]

    def rows(self) -> Iterator[tuple[DocumentInfo, tuple[GridCell | None, ...]]]:
        """Yield each document with a cell for each question; None where the question was not asked of it."""
        cells = {(cell.doc_id, cell.question_id): cell for cell in map(cell_of, self.lines)}
        for document in self.plan.documents:
            yield document, tuple(cells.get((document.id, question.id)) for question in self.plan.questions)


def plan_grid(
    quoth: Quoth, questions: Sequence[Question], *, docs: Sequence[str] = (), document_types: Sequence[str] = ()
) -> GridPlan:
    """Plan to ask each question of each document that an id or glob of `docs` names; of all of them without any.

    Raise `QuestionError` when there is no question, when two have the same id, or when one cannot be asked, and
    `CorpusError` when an id or a glob names no document.
    """
    for question in questions:
        check_question(quoth, question)
    ids = [question.id for question in questions]
    if twice := next((each for each in ids if ids.count(each) > 1), None):
        raise QuestionError(f"two questions have the id '{twice}'", hint="Give each question an id of its own.")
    if not questions:
        raise QuestionError("there is no question", hint="Write one question a line, or JSONL.")
    listed = quoth.documents()
    named = {info.id: info for pattern in docs for info in documents_named(pattern, listed)} if docs else None
    rows = [
        info
        for info in (listed if named is None else named.values())
        if not document_types or info.metadata.document_type in document_types
    ]
    if not rows:
        raise CorpusError("no document is asked", hint="quoth docs lists the documents with their types.")
    ordered = tuple(sorted(rows, key=lambda info: info.id))
    return GridPlan(tuple(questions), ordered, quoth.info.digest, quoth.engine().settings_digest)


def check_question(quoth: Quoth, question: Question) -> None:
    """Raise `QuestionError` when a question cannot be asked, of whatever document."""
    engine = quoth.engine()
    analyse(question, profile=engine.profile, settings=engine.settings.retrieval)


def documents_named(pattern: str, listed: Sequence[DocumentInfo]) -> list[DocumentInfo]:
    """Return the document with this id, else those that the glob matches. Raise `CorpusError` when there is none."""
    exact = [info for info in listed if info.id == pattern]
    matching = exact or [info for info in listed if fnmatchcase(info.id, pattern)]
    if not matching:
        hint = "quoth docs lists the ids; a glob such as 'contracts/*.pdf' names several."
        raise CorpusError(f"the index holds no document '{pattern}'", hint=hint)
    return matching


def cell_line(document: DocumentInfo, outcome: Outcome) -> dict[str, Any]:
    """Return a cell as a JSON object: the outcome as `quoth batch` writes it, after its document and its kind."""
    return {"doc_id": document.id, "cell": _kind(document, outcome).value, **outcome_json(outcome)}


def cell_of(line: Mapping[str, Any]) -> GridCell:
    """Read a cell from its JSON object."""
    quotes = [_quote(each) for each in line["answer_sentences"] or line["nearest"][:1]]
    nearest, reason = line["nearest"], line["reason"]
    return GridCell(
        doc_id=line["doc_id"],
        question_id=line["question_id"],
        kind=CellKind(line["cell"]),
        quote=quotes[0] if quotes else None,
        more=tuple(quotes[1:]),
        confidence=line["confidence"],
        why=" ".join(filter(None, [reason["detail"], nearest[0]["why"] if nearest else ""])) if reason else "",
    )


def _kind(document: DocumentInfo, outcome: Outcome) -> CellKind:
    if isinstance(outcome, Answer):
        replaced = supersessions(document.metadata, outcome.citations[0].sentence.section)
        return CellKind.SUPERSEDED if replaced else CellKind.STATED
    replaced_only = outcome.objection.reason is Reason.SUPERSEDED_ONLY and outcome.nearest
    return CellKind.SUPERSEDED if replaced_only else CellKind.NOT_STATED


def _quote(citation: Mapping[str, Any]) -> CellQuote:
    return CellQuote(
        text=citation["text"],
        display=citation["display"],
        lead=citation["lead"]["display"] if citation["lead"] else "",
        start=citation["start"],
        end=citation["end"],
        section=tuple(citation["section"]),
        page=citation["page"],
    )


def _digest(values: object) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:12]
