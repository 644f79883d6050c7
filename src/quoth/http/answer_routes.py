"""Routes that answer: /answer, /answer/batch, /retrieve, the webhook for workflows, /verify."""

from __future__ import annotations

import asyncio
import json
import re
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict
from functools import partial, wraps
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from pydantic import ValidationError
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from quoth.answer.verification import verify_run
from quoth.errors import QuestionError, QuothError, SettingsError
from quoth.http import logs, telemetry
from quoth.http.document_catalog import text_of
from quoth.http.guard.askers import Asker
from quoth.http.http_faults import HttpFault, as_fault, busy, invalid_body, json_response, unforeseen
from quoth.http.request_bodies import AnswerBody, AskBody, BatchBody, FilterBody, HookBody, RetrieveBody, VerifyBody
from quoth.http.response_types import FailureJson, VerifiedJson, gives
from quoth.http.service import Service, asker_of
from quoth.output.in_words import in_words
from quoth.output.json_types import AnswerJson, RetrievalJson, to_json
from quoth.output.messages import Messages, languages, spoken
from quoth.output.render import json_line, outcome_json, retrieval_json, trace_json
from quoth.search.question_files import UnreadableLine, question_of, read_questions
from quoth.types import Abstention, Outcome, Question

router = APIRouter(tags=["questions"])
_JSONL = "application/jsonl"
_FOUND: dict[int | str, dict[str, Any]] = {200: gives(RetrievalJson, "What was found.")}
_MOST_BATCHES = 8
"""At once per process: a batch waits as long as it must, so only their number can be bounded."""
_MOST_CHARACTERS = 100_000  # far above any setting, so that longer questions are not even analysed


def service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def _served(request: Request) -> Service:
    # The framework would run a plain function in a thread, and wait for that behind the threads that answer.
    return service_of(request)


Served = Annotated[Service, Depends(_served)]


def in_pool(route: Callable[..., Response]) -> Callable[..., Coroutine[Any, Any, Response]]:
    """Run a route that blocks in a thread of the pool, once the body of its `request` has been read."""

    @wraps(route)
    async def run(*, request: Request, **arguments: Any) -> Response:  # noqa: ANN401 - as the route takes them
        return await service_of(request).run(request, partial(route, request=request, **arguments))

    return run


def as_question(content: Mapping[str, Any], *, default_id: str = "1") -> Question:
    """Return the question in a body; raise `HttpFault` if it is wrong."""
    try:
        return question_of(content, default_id=default_id)
    except ValueError as error:
        hint = "See /openapi.json for what a question may hold."
        raise HttpFault(422, "question", str(error), hint=hint) from error


def plain(body: AskBody | FilterBody) -> dict[str, Any]:
    return body.model_dump(exclude_none=True)


@router.post("/answer", summary="Answer a question", responses={200: gives(AnswerJson, "An answer or an abstention.")})
async def answer(request: Request, body: AnswerBody, service: Served) -> Response:
    """With verbatim, cited sentences, or with an abstention that says why. Both are a 200."""
    messages = _messages_in(body.lang)
    question = as_question(plain(body))
    note_question(request, service, question)
    watch = telemetry.Stopwatch("answer", service.traces)

    def work() -> dict[str, Any]:
        explained = service.seen(request).explain(question, done=watch)
        count_outcome(service, explained.outcome)
        trace = {"trace": trace_json(explained)} if body.why else {}
        spoken_too = {"in_words": to_json(in_words(explained.outcome, messages))} if messages else {}
        return outcome_json(explained.outcome) | trace | spoken_too

    return json_response(await service.run(request, work))


def _messages_in(wanted: str | None) -> Messages | None:
    if wanted is None:
        return None
    language = spoken(wanted)
    if language is None:
        hint = f"Send one of {', '.join(languages())}, or nothing for English."
        raise HttpFault(422, "language", "the service does not speak this language", hint=hint)
    return Messages(language)


@router.post(
    "/answer/batch",
    summary="Answer many questions",
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
)
async def answer_batch(request: Request, service: Served) -> Response:
    """Takes `{"questions": […]}`, or JSON Lines with one question each. The answers are streamed as JSON Lines, in the
    order of the questions; a question that cannot be asked has an `error` in its place."""
    questions = _questions(await request.body(), request.headers.get("content-type", ""), service.settings.max_batch)
    if service.batches >= _MOST_BATCHES:
        raise busy(service.pool.retry_seconds())
    return _BatchResponse(service, questions, asker_of(request))


class _BatchResponse(StreamingResponse):
    """Streams the answers of a batch; counts as running until it is sent, and cancels open questions if that fails."""

    def __init__(self, service: Service, questions: Sequence[Question | UnreadableLine], asker: Asker) -> None:
        self._service = service
        self._answers = _answers(service, questions, asker)
        super().__init__(self._answers, media_type=_JSONL)
        service.batches += 1  # now, since many batches could come in before the first is sent

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with aclosing(self._answers):
                await super().__call__(scope, receive, send)
        finally:
            self._service.batches -= 1


async def _answers(
    service: Service, questions: Sequence[Question | UnreadableLine], asker: Asker
) -> AsyncGenerator[bytes, None]:
    """Yield the lines in the order of the questions; begin no more than the client reads and the asker may ask."""
    running: deque[asyncio.Task[bytes]] = deque()
    try:
        for number, question in enumerate(questions):
            if number:  # the request itself was counted for the first question
                await _wait_for_allowance(service, asker)
            running.append(asyncio.create_task(_line(service, question, asker)))
            if len(running) >= service.settings.threads:
                yield await running.popleft()
        while running:
            yield await running.popleft()
    finally:
        for task in running:
            task.cancel()


async def _wait_for_allowance(service: Service, asker: Asker) -> None:
    """Wait until the rate limit of the asker allows one more question."""
    while service.access is not None:
        allowance = await service.access.allowance(asker)
        if allowance is None or allowance.granted:
            return
        await asyncio.sleep(max(1, allowance.retry_after))


async def _line(service: Service, question: Question | UnreadableLine, asker: Asker) -> bytes:
    if isinstance(question, UnreadableLine):
        fault = HttpFault(422, "question", question.why, hint="See docs/json.md for a line.")
        return _error_line(str(question.number), fault)

    def work() -> dict[str, Any]:
        seen = service.quoth.seen_by(service.accesses.of(asker))
        outcome = seen.explain(question, done=telemetry.Stopwatch("answer")).outcome
        count_outcome(service, outcome)
        return outcome_json(outcome)

    try:
        return (json_line(await service.pool.run(work, patient=True)) + "\n").encode()
    except HttpFault as fault:
        return _error_line(question.id, fault)
    except QuothError as error:
        return _error_line(question.id, as_fault(error))
    except Exception:  # the other questions are still answered
        logs.LOG.exception("a question of a batch failed")
        return _error_line(question.id, unforeseen(logs.REQUEST_ID.get()))


def _error_line(question_id: str, fault: HttpFault) -> bytes:
    return (json_line({"question_id": question_id, **fault.json()}) + "\n").encode()


def _questions(content: bytes, content_type: str, most: int) -> Sequence[Question | UnreadableLine]:
    """Return the questions in a body; raise `HttpFault` if there are none or more than `most`."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise HttpFault(400, "body", "the body is not UTF-8", hint="Encode it as UTF-8.") from error
    media = content_type.partition(";")[0].strip().lower()
    if media == "application/json":
        questions: Sequence[Question | UnreadableLine] = _listed_questions(text)
    elif media in {_JSONL, "application/x-ndjson", "text/plain"}:
        questions = list(read_questions(text.split("\n")))
    else:
        hint = f"Send application/json or {_JSONL}."
        raise HttpFault(415, "content-type", f"'{media[:100]}' is not taken", hint=hint)
    if not questions:
        raise HttpFault(422, "question", "there is no question in it", hint="Send at least one.")
    if len(questions) > most:
        hint = "Send several batches, or raise service.max_batch."
        raise HttpFault(413, "too-large", f"more than {most} questions are not taken at once", hint=hint)
    return questions


def _listed_questions(text: str) -> Sequence[Question]:
    hint = 'Send {"questions": [{"question": "…"}]}.'
    try:
        body = BatchBody.model_validate(json.loads(text))
    except ValidationError as error:
        raise invalid_body(error.errors(), hint=hint) from error
    except (ValueError, RecursionError) as error:
        raise HttpFault(422, "body", "the body is not JSON", hint=hint) from error
    return [as_question(plain(question), default_id=str(number)) for number, question in enumerate(body.questions, 1)]


@router.post("/retrieve", summary="Find passages for an agent", responses=_FOUND)
async def retrieve(request: Request, body: RetrieveBody, service: Served) -> Response:
    """Ranked passages with their authority, and a context made of them within a token budget."""
    filters = plain(body.filters) if body.filters else {}
    if body.document_types:
        if "document_type" in filters:
            hint = "Leave one of them out."
            raise HttpFault(422, "question", "document types are named twice, here and in filters", hint=hint)
        filters["document_type"] = list(body.document_types)
    question = as_question({"question": body.query, "filters": filters, "doc_scope": body.doc_scope})
    note_question(request, service, question)
    watch = telemetry.Stopwatch("retrieve", service.traces)

    def work() -> dict[str, Any]:
        retrieval = service.seen(request).explain_retrieval(question, most=body.match_count, done=watch).retrieval
        telemetry.RETRIEVALS.labels(retrieval.status.value).inc()
        _count_degraded(retrieval.degraded)
        service.count_caches()
        return retrieval_json(retrieval)

    return json_response(await service.run(request, work))


async def hook(request: Request, body: HookBody, service: Served) -> Response:
    """The same as /retrieve, with the fields that workflows send. Its path is a setting."""
    return await retrieve(request, RetrieveBody(**body.model_dump()), service)


def webhook_router(path: str) -> APIRouter:
    """Return the route for workflows at `path` (`service.webhook`); raise `SettingsError` if it is not a path."""
    if not re.fullmatch(r"(/[\w.~-]+)+", path):
        hint = "Give a path such as /webhook/retrieval, or nothing for no such route."
        raise SettingsError(f"service.webhook: '{path}' is not a path", hint=hint)
    router = APIRouter(tags=["questions"])
    router.post(path, summary="Find passages for a workflow", responses=_FOUND)(hook)
    return router


@router.post(
    "/verify", summary="Verify citations", responses={200: gives(VerifiedJson, "What holds and what does not.")}
)
@in_pool
def verify(request: Request, body: VerifyBody, service: Served) -> Response:
    """Slices the documents again, and compares with what an answer cites, character by character: its sentences, the
    sides of its conflicts, and the nearest evidence of an abstention. `verified` is true only when something was
    checked and all of it holds. Under `results`, an answer or abstention that cites nothing is fine too, so that the
    results of a batch can be checked as they are; an empty list is not verified."""
    if body.is_ambiguous:
        hint = "Send one answer, or several as `results`."
        raise HttpFault(422, "ambiguous", "one answer and a list of them: only one would be checked", hint=hint)
    result = service.seen(request).read(lambda reader: verify_run(body.answers(), text_of(reader)))
    verified = (result.citations > 0 or body.holds_outcomes) and not result.failures
    failures = [FailureJson(**asdict(failure)) for failure in result.failures]
    return json_response(VerifiedJson(verified, citations=result.citations, failures=failures))


def note_question(request: Request, service: Service, question: Question) -> None:
    """Add the question to the log entry if the operator wants that; raise `HttpFault` if it is far too long."""
    if service.settings.log_questions:
        request.scope["state"]["noted"]["question"] = question.text
    if len(question.text) > _MOST_CHARACTERS:
        raise as_fault(QuestionError("the question is too long", hint="Ask in fewer words."))


def count_outcome(service: Service, outcome: Outcome) -> None:
    if isinstance(outcome, Abstention):
        telemetry.OUTCOMES.labels("abstained", outcome.objection.reason.value).inc()
    else:
        telemetry.OUTCOMES.labels("answered", "none").inc()
    _count_degraded(outcome.notes.degraded)
    service.count_caches()


def _count_degraded(missing: Sequence[str]) -> None:
    for component in missing:
        telemetry.DEGRADED.labels(component).inc()
