"""Routes that answer: /answer, /answer/batch, /retrieve, /webhook/arc-retrieval, /verify."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from pydantic import ValidationError
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from quoth.errors import QuestionError, QuothError
from quoth.interfaces.guard.keys import Key
from quoth.interfaces.http import described, logs, metrics
from quoth.interfaces.http.faults import HttpFault, as_fault, busy, error_json, unforeseen
from quoth.interfaces.http.models import AskBody, BatchBody, FilterBody, HookBody, RetrieveBody, VerifyBody
from quoth.interfaces.http.service import Service
from quoth.protocols import Reader
from quoth.questions import UnreadableLine, question_of, read_questions
from quoth.render import json_line, outcome_json, trace_json
from quoth.render_retrieval import retrieval_json
from quoth.types import Abstention, Outcome, Question, Retrieval
from quoth.verify import Verification, verify_run

router = APIRouter()
_JSONL = "application/jsonl"
_MOST_BATCHES = 8
"""At once in each process: a batch waits as long as it must, so that only its number can be bounded."""


def service_of(request: Request) -> Service:
    found: Service = request.app.state.service
    return found


Served = Annotated[Service, Depends(service_of)]


def as_question(content: Mapping[str, Any], *, default_id: str = "1") -> Question:
    try:
        return question_of(content, default_id=default_id)
    except ValueError as error:
        hint = "See /openapi.json for what a question may hold."
        raise HttpFault(422, "question", str(error), hint=hint) from error


def plain(body: AskBody | FilterBody) -> dict[str, Any]:
    return body.model_dump(exclude_none=True)


def json_response(value: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(json_line(value), status, headers=dict(headers or {}), media_type="application/json")


@router.post(
    "/answer",
    summary="Answer a question",
    description="With verbatim, cited sentences, or with an abstention that says why. Both are a 200.",
    responses={200: {"description": "An answer or an abstention.", "content": {"application/json": {}}}},
    tags=["questions"],
)
async def answer(request: Request, body: AskBody, service: Served) -> Response:
    question = as_question(plain(body))
    note_question(request, service, question)
    watch = metrics.Stopwatch("answer")

    def work() -> dict[str, Any]:
        asked = service.quoth.explain(question, done=watch)
        count_outcome(service, asked.outcome)
        return outcome_json(asked.outcome) | ({"trace": trace_json(asked)} if body.why else {})

    found = await service.run(request, work)
    service.traces.stages("answer", watch.stages)
    return json_response(found)


@router.post(
    "/answer/batch",
    summary="Answer many questions",
    description=(
        'Takes `{"questions": […]}`, or JSON Lines with one question each. The answers are streamed as JSON Lines, in '
        "the order of the questions; a question that cannot be asked has an `error` in its place."
    ),
    responses={200: {"description": "One answer a line.", "content": {_JSONL: {"schema": {"type": "string"}}}}},
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/BatchBody"}},
                _JSONL: {"schema": {"type": "string"}, "example": '{"question": "What soil pH is best for canola?"}\n'},
            },
        }
    },
    tags=["questions"],
)
async def answer_batch(request: Request, service: Served) -> Response:
    questions = _batch(await request.body(), request.headers.get("content-type", ""), service.settings.max_batch)
    if service.batches >= _MOST_BATCHES:
        raise busy(service.desk.retry_seconds())
    return _Batch(service, questions, request.scope["state"].get("key"))


class _Batch(StreamingResponse):
    """Counts while it is sent, and ends what it began however the sending ends."""

    def __init__(self, service: Service, questions: Sequence[Question | UnreadableLine], key: Key | None) -> None:
        self._service = service
        self._answers = _answers(service, questions, key)
        super().__init__(self._answers, media_type=_JSONL)
        service.batches += 1  # not when the sending begins: until then many could come in

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with aclosing(self._answers):
                await super().__call__(scope, receive, send)
        finally:
            self._service.batches -= 1


async def _answers(
    service: Service, questions: Sequence[Question | UnreadableLine], key: Key | None
) -> AsyncGenerator[bytes, None]:
    """A few at a time, in order; no more is begun than the client reads, and no more than its key may ask.

    The request itself has paid for the first question.
    """
    running: deque[asyncio.Task[bytes]] = deque()
    try:
        for number, question in enumerate(questions):
            if number and key is not None:
                await _pay(service, key)
            running.append(asyncio.create_task(_line(service, question)))
            if len(running) >= service.settings.threads:
                yield await running.popleft()
        while running:
            yield await running.popleft()
    finally:
        for task in running:
            task.cancel()


async def _pay(service: Service, key: Key) -> None:
    """Wait until the key may ask once more: a batch counts question by question."""
    while service.admission is not None:
        taken = await service.admission.allowance(key)
        if taken is None or taken.granted:
            return
        await asyncio.sleep(max(1, taken.retry_after))


async def _line(service: Service, question: Question | UnreadableLine) -> bytes:
    if isinstance(question, UnreadableLine):
        return _error_line(str(question.number), "question", question.why, "See docs/json.md for a line.")

    def work() -> dict[str, Any]:
        outcome = service.quoth.explain(question, done=metrics.Stopwatch("answer")).outcome
        count_outcome(service, outcome)
        return outcome_json(outcome)

    try:
        return (json_line(await service.desk.run(work, patient=True)) + "\n").encode()
    except HttpFault as fault:
        return _error_line(question.id, fault.code, str(fault.detail), fault.hint)
    except QuothError as error:
        told = as_fault(error)
        return _error_line(question.id, told.code, str(told.detail), told.hint)
    except Exception:  # the other questions are answered all the same
        logs.LOG.exception("a question of a batch failed")
        told = unforeseen(logs.REQUEST_ID.get())
        return _error_line(question.id, told.code, str(told.detail), told.hint)


def _error_line(question_id: str, code: str, message: str, hint: str) -> bytes:
    return (json_line({"question_id": question_id, **error_json(code, message, hint)}) + "\n").encode()


def _batch(content: bytes, kind: str, most: int) -> Sequence[Question | UnreadableLine]:
    """The questions of a body; `HttpFault` when there is none or too many."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise HttpFault(400, "body", "the body is not UTF-8", hint="Encode it as UTF-8.") from error
    media = kind.partition(";")[0].strip().lower()
    if media == "application/json":
        found: Sequence[Question | UnreadableLine] = _listed(text)
    elif media in {_JSONL, "application/x-ndjson", "text/plain"}:
        found = list(read_questions(text.split("\n")))
    else:
        hint = f"Send application/json or {_JSONL}."
        raise HttpFault(415, "content-type", f"'{media[:100]}' is not taken", hint=hint)
    if not found:
        raise HttpFault(422, "question", "there is no question in it", hint="Send at least one.")
    if len(found) > most:
        hint = "Send several batches, or raise service.max_batch."
        raise HttpFault(413, "too-large", f"more than {most} questions are not taken at once", hint=hint)
    return found


def _listed(text: str) -> Sequence[Question]:
    try:
        body = BatchBody.model_validate(json.loads(text))
    except (ValueError, RecursionError) as error:  # a ValidationError is a ValueError
        said = _first(error) if isinstance(error, ValidationError) else "the body is not JSON"
        raise HttpFault(422, "body", said, hint='Send {"questions": [{"question": "…"}]}.') from error
    return [as_question(plain(one), default_id=str(number)) for number, one in enumerate(body.questions, 1)]


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


@router.post(
    "/retrieve",
    summary="Find passages for an agent",
    description="Ranked passages with their authority, and a context made of them within a token budget.",
    responses={200: {"description": "What was found.", "content": {"application/json": {}}}},
    tags=["questions"],
)
async def retrieve(request: Request, body: RetrieveBody, service: Served) -> Response:
    filters = plain(body.filters) if body.filters else {}
    if body.document_types:
        if "document_type" in filters:
            hint = "Leave one of them out."
            raise HttpFault(422, "question", "document types are named twice, here and in filters", hint=hint)
        filters["document_type"] = list(body.document_types)
    asked = {"question": body.query, "filters": filters, "doc_scope": body.doc_scope}
    return await _retrieve(request, as_question(asked), body.match_count, service)


@router.post(
    "/webhook/arc-retrieval",
    summary="Find passages for a workflow",
    description="The same as /retrieve, with the fields that workflows send.",
    responses={200: {"description": "What was found.", "content": {"application/json": {}}}},
    tags=["questions"],
)
async def hook(request: Request, body: HookBody, service: Served) -> Response:
    asked = {"question": body.query, "filters": {"document_type": body.document_types}}
    return await _retrieve(request, as_question(asked), body.match_count, service)


async def _retrieve(request: Request, question: Question, most: int | None, service: Service) -> Response:
    note_question(request, service, question)
    watch = metrics.Stopwatch("retrieve")

    def work() -> Retrieval:
        found = service.quoth.explain_retrieval(question, most=most, done=watch).retrieval
        metrics.RETRIEVALS.labels(found.status.value).inc()
        _count_degraded(found.degraded)
        service.count_caches()
        return found

    retrieval = await service.run(request, work)
    service.traces.stages("retrieve", watch.stages)
    return json_response(retrieval_json(retrieval))


@router.post(
    "/verify",
    summary="Verify citations",
    description=(
        "Slices the documents again, and compares with what an answer cites, character by character: its sentences, "
        "the sides of its conflicts, and the nearest evidence of an abstention. `verified` is true only when something "
        "was checked and all of it holds. Under `results`, an answer or abstention that cites nothing is fine too, so "
        "that the results of a batch can be checked as they are; an empty list is not verified."
    ),
    responses={200: {"model": described.Verified, "description": "What holds and what does not."}},
    tags=["questions"],
)
async def verify(request: Request, body: VerifyBody, service: Served) -> Response:
    if body.is_ambiguous:
        hint = "Send one answer, or several as `results`."
        raise HttpFault(422, "ambiguous", "one answer and a list of them: only one would be checked", hint=hint)

    def checked(reader: Reader) -> Verification:
        texts: dict[str, str | None] = {}

        def text_of(doc_id: str) -> str | None:
            if doc_id not in texts:
                document = reader.document(doc_id)
                texts[doc_id] = document.text if document else None
            return texts[doc_id]

        return verify_run(body.answers(), text_of)

    def work() -> str:
        found = service.quoth.read(checked)
        failures = [
            {"question_id": one.question_id, "doc_id": one.doc_id, "start": one.start, "end": one.end, "why": one.why}
            for one in found.failures
        ]
        verified = (found.citations > 0 or body.holds_outcomes) and not failures
        return json_line({"verified": verified, "citations": found.citations, "failures": failures})

    return Response(await service.run(request, work), media_type="application/json")


def note_question(request: Request, service: Service, question: Question) -> None:
    """For the log; a question is nobody's business unless the operator chose so."""
    if service.settings.log_questions:
        request.scope["state"]["noted"]["question"] = question.text
    if len(question.text) > _LONGEST_QUESTION:
        raise as_fault(QuestionError("the question is too long", hint="Ask in fewer words."))


_LONGEST_QUESTION = 100_000  # far above any setting; what is longer is not even looked at


def count_outcome(service: Service, outcome: Outcome) -> None:
    declined = isinstance(outcome, Abstention)
    reason = outcome.objection.reason.value if isinstance(outcome, Abstention) else "none"
    metrics.OUTCOMES.labels("abstained" if declined else "answered", reason).inc()
    _count_degraded(outcome.notes.degraded)
    service.count_caches()


def _count_degraded(parts: Sequence[str]) -> None:
    for part in parts:
        metrics.DEGRADED.labels(part).inc()
