"""The route by which readers say whether an answer was right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from quoth.interfaces.guard.keys import Key
from quoth.interfaces.http import described
from quoth.interfaces.http.asking import Served, as_question, json_response, plain
from quoth.interfaces.http.faults import HttpFault, no_document
from quoth.interfaces.http.marks import MarksFull, mark_id
from quoth.interfaces.http.models import MarkBody, PlaceBody, Verdict
from quoth.protocols import Reader
from quoth.types import Answer, Outcome

router = APIRouter(tags=["questions"])
_POINT = "Give the place of a sentence, as GET /documents/{id}/span shows it."


@router.post(
    "/marks",
    status_code=201,
    summary="Mark an answer right or wrong",
    description=(
        "The question is asked again, and stored as a labelled one that `quoth calibrate` takes. A right answer is "
        "stored with its sentences as gold. One that is wrong counts as a question that should not have been answered, "
        "unless `gold` names the places that do answer it. An abstention that is wrong can only be stored with `gold`. "
        "With `index` and `quoted` of the answer that was seen, no other answer is marked."
    ),
    responses={
        201: {"model": described.Marked, "description": "Stored, or why not."},
        409: {"model": described.Error, "description": "The question has another answer by now."},
        507: {"model": described.Error, "description": "There is no room left."},
    },
)
async def mark(request: Request, body: MarkBody, service: Served) -> Response:
    filters = plain(body.filters) if body.filters else {}
    if body.gold and body.verdict is Verdict.RIGHT:
        hint = "Mark it wrong, or leave gold out."
        raise HttpFault(422, "gold", "what is right needs no other places that answer", hint=hint)
    asked = {"question": body.question, "filters": filters, "doc_scope": body.doc_scope}
    question = as_question(asked)
    key: Key | None = request.scope["state"].get("key")

    def work() -> dict[str, Any]:
        outcome = service.quoth.ask(question)
        _check_seen(outcome, body)
        places = service.quoth.read(lambda reader: _places(reader, body.gold or ()))
        label = _label(outcome, body.verdict, places)
        identity = mark_id(body.question, {"filters": filters, "doc_scope": sorted(body.doc_scope or ())})
        if label is None:
            note = "Nothing was stored: say which sentence answers it."
            return {"id": identity, "stored": False, "labelled": service.marks.count(), "note": note}
        scope = {"doc_scope": list(body.doc_scope)} if body.doc_scope else {}
        line = {"id": identity, "question": body.question, **label, "gold_mode": "any", **scope}
        line |= {"marked_by": key.id} if key else {}
        stored = service.marks.put(line | ({"filters": filters} if filters else {}))
        return {"id": identity, "stored": True, "labelled": stored, "note": None}

    try:
        return json_response(await service.run(request, work), 201)
    except MarksFull as error:
        hint = "Ask the operator of the service to take in those that there are, and to empty the file."
        raise HttpFault(507, "no-room", "as many answers are marked as are kept", hint=hint) from error
    except OSError as error:
        hint = "Ask the operator of the service to make the folder of its state writable."
        raise HttpFault(507, "no-room", f"the mark cannot be kept: {error.strerror}", hint=hint) from error


def _check_seen(outcome: Outcome, body: MarkBody) -> None:
    """A verdict is about the answer that the reader saw, which may not be the one that is given now."""
    citations = outcome.citations if isinstance(outcome, Answer) else ()
    spans = [(one.sentence.doc_id, one.sentence.quote.span) for one in citations]
    quoted = {(doc_id, span.start, span.end) for doc_id, span in spans}
    seen = None if body.quoted is None else {(one.doc_id, one.start, one.end) for one in body.quoted}
    if body.index not in {None, outcome.notes.index} or seen not in (None, quoted):
        hint = "Ask the question again, and mark the answer that comes now."
        raise HttpFault(409, "index-changed", "the documents have changed since this answer was given", hint=hint)


def _label(outcome: Outcome, verdict: Verdict, gold: list[dict[str, Any]]) -> dict[str, Any] | None:
    """What the mark says of the question; None where that is too little to learn from."""
    answered = isinstance(outcome, Answer)
    if verdict is Verdict.WRONG and gold:
        return {"answerable": True, "gold": gold}
    if verdict is Verdict.RIGHT and isinstance(outcome, Answer):
        quoted = [one.sentence for one in outcome.citations]
        return {
            "answerable": True,
            "gold": [
                {"doc_id": one.doc_id, "start": one.quote.span.start, "end": one.quote.span.end, "text": one.text}
                for one in quoted
            ],
        }
    if answered == (verdict is Verdict.WRONG):
        return {"answerable": False, "gold": []}
    return None


def _places(reader: Reader, given: Sequence[PlaceBody]) -> list[dict[str, Any]]:
    found = []
    for place in given:
        document = reader.document(place.doc_id)
        if document is None:
            raise no_document(place.doc_id)
        if not place.start < place.end <= len(document.text):
            hint = f"It has {len(document.text)} characters."
            raise HttpFault(422, "span", f"{place.start}:{place.end} is no slice of '{place.doc_id}'", hint=hint)
        text = document.text[place.start : place.end]
        if not text.strip():
            raise HttpFault(422, "span", f"{place.start}:{place.end} of '{place.doc_id}' is blank", hint=_POINT)
        found.append({"doc_id": place.doc_id, "start": place.start, "end": place.end, "text": text})
    return found
