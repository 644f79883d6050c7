"""Marks: readers say whether an answer was right, and the service keeps that as labelled questions."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from quoth.http.answer_routes import Served, as_question, in_pool, plain
from quoth.http.http_faults import HttpFault, json_response, no_document
from quoth.http.request_bodies import MarkBody, PlaceBody, Verdict
from quoth.http.response_types import ErrorJson, MarkedJson, gives
from quoth.http.service import asker_of
from quoth.machine import replaced_file, usual_mode
from quoth.protocols import Reader
from quoth.types import Answer, Outcome, Span

router = APIRouter(tags=["questions"])
MOST_MARKS = 100_000
"""The limit of a mark file: each new mark writes the whole file."""


@router.post(
    "/marks",
    status_code=201,
    summary="Mark an answer right or wrong",
    responses={
        201: gives(MarkedJson, "Stored, or why not."),
        409: gives(ErrorJson, "The question has another answer by now."),
        507: gives(ErrorJson, "There is no room left."),
    },
)
@in_pool
def mark(request: Request, body: MarkBody, service: Served) -> Response:
    """The question is asked again, and stored as a labelled one that `quoth calibrate` takes. A right answer is stored
    with its sentences as gold. One that is wrong counts as a question that should not have been answered, unless `gold`
    names the places that do answer it. An abstention that is wrong can only be stored with `gold`. With `index` and
    `quoted` of the answer that was seen, no other answer is marked."""
    filters = plain(body.filters) if body.filters else {}
    if body.gold and body.verdict is Verdict.RIGHT:
        hint = "Mark it wrong, or leave gold out."
        raise HttpFault(422, "gold", "what is right needs no other places that answer", hint=hint)
    question = as_question({"question": body.question, "filters": filters, "doc_scope": body.doc_scope})
    asker, seen = asker_of(request), service.seen(request)
    marks = MarkFile(service.options.state / "labelled.jsonl")
    outcome = seen.ask(question)
    _check_seen(outcome, body)
    gold = seen.read(lambda reader: _gold(reader, body.gold or ()))
    label = _label(outcome, body.verdict, gold)
    identity = mark_id(body.question, {"filters": filters, "doc_scope": sorted(body.doc_scope or ())})
    line = {"id": identity, "question": body.question, **(label or {}), "gold_mode": "any"}
    given = {"doc_scope": body.doc_scope, "marked_by": asker.id or None, "filters": filters}
    line |= {name: value for name, value in given.items() if value}
    try:
        labelled = marks.count() if label is None else marks.put(line)
    except OSError as error:
        hint = "Ask the operator of the service to make the folder of its state writable."
        raise HttpFault(507, "no-room", f"the mark cannot be kept: {error.strerror}", hint=hint) from error
    note = "Nothing was stored: say which sentence answers it." if label is None else None
    return json_response(MarkedJson(identity, stored=label is not None, labelled=labelled, note=note), 201)


def _check_seen(outcome: Outcome, body: MarkBody) -> None:
    """Raise `HttpFault` if this is not the answer that the reader saw and judged."""
    citations = outcome.citations if isinstance(outcome, Answer) else ()
    quotes = [(citation.sentence.doc_id, citation.sentence.quote.span) for citation in citations]
    quoted = {(doc_id, span.start, span.end) for doc_id, span in quotes}
    seen = None if body.quoted is None else {(quote.doc_id, quote.start, quote.end) for quote in body.quoted}
    if body.index not in {None, outcome.notes.index} or seen not in (None, quoted):
        hint = "Ask the question again, and mark the answer that comes now."
        raise HttpFault(409, "index-changed", "the documents have changed since this answer was given", hint=hint)


def _label(outcome: Outcome, verdict: Verdict, gold: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the label of the question; None if the mark does not say enough to learn from."""
    if verdict is Verdict.WRONG and gold:
        return {"answerable": True, "gold": gold}
    if verdict is Verdict.RIGHT and isinstance(outcome, Answer):
        sentences = [citation.sentence for citation in outcome.citations]
        quoted = [_place(sentence.doc_id, sentence.quote.span, sentence.text) for sentence in sentences]
        return {"answerable": True, "gold": quoted}
    if isinstance(outcome, Answer) == (verdict is Verdict.WRONG):
        return {"answerable": False, "gold": []}
    return None


def _gold(reader: Reader, spans: Sequence[PlaceBody]) -> list[dict[str, Any]]:
    """Return the slices that answer the question, with their text; raise `HttpFault` if one does not exist."""
    gold = []
    for span in spans:
        document = reader.document(span.doc_id)
        if document is None:
            raise no_document(span.doc_id)
        if not span.start < span.end <= len(document.text):
            hint = f"It has {len(document.text)} characters."
            raise HttpFault(422, "span", f"{span.start}:{span.end} is no slice of '{span.doc_id}'", hint=hint)
        text = document.text[span.start : span.end]
        if not text.strip():
            hint = "Give the place of a sentence, as GET /documents/{id}/span shows it."
            raise HttpFault(422, "span", f"{span.start}:{span.end} of '{span.doc_id}' is blank", hint=hint)
        gold.append(_place(span.doc_id, span, text))
    return gold


def _place(doc_id: str, span: Span | PlaceBody, text: str) -> dict[str, Any]:
    return {"doc_id": doc_id, "start": span.start, "end": span.end, "text": text}


class MarkFile:
    """A JSON Lines file with one labelled question per line; a new mark of a question replaces the old one."""

    def __init__(self, path: Path, *, most: int = MOST_MARKS) -> None:
        self._path = path
        self._most = most

    def put(self, labelled: Mapping[str, Any]) -> int:
        """Store a labelled question and return how many there are; raise `HttpFault` if there is no room for it."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.with_name(f".{self._path.name}.lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # no other thread or process writes meanwhile
            lines = self._read()
            if labelled["id"] not in lines and len(lines) >= self._most:
                hint = "Ask the operator of the service to take in those that there are, and to empty the file."
                raise HttpFault(507, "no-room", "as many answers are marked as are kept", hint=hint)
            lines[labelled["id"]] = json.dumps(labelled, ensure_ascii=False).encode("utf-8", "backslashreplace")
            with replaced_file(self._path) as file:
                os.fchmod(file.fileno(), usual_mode())
                file.writelines(line + b"\n" for line in lines.values())
            return len(lines)

    def count(self) -> int:
        return len(self._read())

    def _read(self) -> dict[str, bytes]:
        """Return the lines by id. A line that was written by hand and is wrong is kept, with itself as its id."""
        try:
            lines = self._path.read_bytes().splitlines()
        except FileNotFoundError:
            return {}
        return {_id_of(line): line for line in lines if line.strip()}


def mark_id(question: str, filters: Mapping[str, Any]) -> str:
    """Return an id that depends on the question and its filters alone."""
    content = json.dumps([question, filters], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def _id_of(line: bytes) -> str:
    try:
        content = json.loads(line)
    except ValueError:
        content = None
    name = content.get("id") if isinstance(content, dict) else None
    return name if isinstance(name, str) else line.decode("utf-8", "backslashreplace")
